"""How jobs and their executions ended, and the executions of a job as text."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, quoted
from workloadkit.fields import CANCELLED, COMPLETED, FAILED

if TYPE_CHECKING:
    from workloadkit.trace import Trace


#: How jobs end; only an attempt that another one followed is "requeued".
OUTCOMES = (
    *("completed", "failed", "timed out", "out of memory", "node failure"),
    *("preempted", "requeued", "cancelled", "unknown"),
)

#: Outcomes without a result, in the order of the tables; a cancelled job may have served its user.
WITHOUT_RESULT = ("failed", "timed out", "out of memory", "node failure")

# States of Slurm, and termination reasons of LSF. Other systems only have a status.
_BY_STATE = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "LAUNCH_FAILED": "failed",
    "TIMEOUT": "timed out",
    "DEADLINE": "timed out",
    "OUT_OF_MEMORY": "out of memory",
    "NODE_FAIL": "node failure",
    "BOOT_FAIL": "node failure",
    "PREEMPTED": "preempted",
    "REVOKED": "cancelled",
    "CANCELLED": "cancelled",
}
_BY_REASON = {
    "TERM_RUNLIMIT": "timed out",
    "TERM_DEADLINE": "timed out",
    "TERM_MEMLIMIT": "out of memory",
    "TERM_PREEMPT": "preempted",
}
_BY_STATUS = {COMPLETED: "completed", FAILED: "failed", CANCELLED: "cancelled"}

# What says that an attempt was requeued: Slurm, PBS, Grid Engine; LSF. As the end of a job it says
# that it failed or was cancelled.
_AGAIN_BY_STATE = dict.fromkeys(("REQUEUED", "R", "migrating", "rescheduling"), "requeued")
_AGAIN_BY_REASON = dict.fromkeys(("TERM_REQUEUE_OWNER", "TERM_REQUEUE_ADMIN"), "requeued")


def outcomes_by(
    status: NDArray[np.int64],
    state: pd.Categorical | None,
    reason: pd.Categorical | None,
    *,
    requeued: bool = False,
) -> pd.Categorical:
    """Return how jobs ended, each one of `OUTCOMES`: by state or reason, else by status.

    Parameters
    ----------
    status : ndarray of int, shape (n_jobs,)
        Status in the Standard Workload Format.
    state, reason : Categorical, optional
        In the words of the accounting system.
    requeued : bool, default False
        Whether these are attempts that another one followed.

    Examples
    --------
    >>> state = pd.Categorical(["NODE_FAIL", "REQUEUED", ""])
    >>> list(outcomes_by(np.array([0, -1, 5]), state, None, requeued=True))
    ['node failure', 'requeued', 'cancelled']
    """
    code = np.full(status.size, OUTCOMES.index("unknown"))
    for number, outcome in _BY_STATUS.items():
        code[status == number] = OUTCOMES.index(outcome)
    again = (_AGAIN_BY_STATE, _AGAIN_BY_REASON) if requeued else ({}, {})
    for words, meaning, more in zip((state, reason), (_BY_STATE, _BY_REASON), again, strict=True):
        if words is not None:
            code = _by_words(words, meaning | more, code)
    return pd.Categorical.from_codes(code, list(OUTCOMES))


def _by_words(
    words: pd.Categorical, meaning: Mapping[str, str], otherwise: NDArray[np.int64]
) -> NDArray[np.int64]:
    known = [OUTCOMES.index(meaning[w]) if w in meaning else -1 for w in words.categories]
    found = np.array([*known, -1])[words.codes]
    return np.where(found >= 0, found, otherwise)


#: The column of the side-car.
EXECUTIONS = "executions"

#: The outcome of a part of a resized job: the next execution is part of the same attempt.
RESIZED = "resized"

#: Numbers of an execution, named as in `workloadkit.record_fields`. Times count from the submission
#: of the job.
NUMBERS = ("submit", "start", "run", "procs", "nodes", "gpus", "cpu", "energy")

_TIMES = ("submit", "start")  # may be before the submission of the job
_LARGEST = 1e18


def _no_number(word: str) -> float:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def executions_text(executions: Iterable[Mapping[str, Any]]) -> str:
    """Return the executions of one job as JSON; unknown numbers are left out.

    Examples
    --------
    >>> executions_text([{"outcome": "node failure", "start": 60.0, "run": 9.5, "gpus": np.nan}])
    '[{"outcome": "node failure", "start": 60, "run": 9.5}]'
    """
    return json.dumps([{n: _shortest(v) for n, v in one.items() if v == v} for one in executions])


def _shortest(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def executions_of(trace: "Trace") -> pd.DataFrame:
    """Return the executions of the jobs that have several, in order.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    DataFrame
        `row` of the job; its `attempt` 0, 1, …; `last`, whether the job ended with that attempt;
        the `outcome`, for a part of a resized job that of its attempt; and `NUMBERS`, NaN for
        unknown, times in seconds of the log.

    Raises
    ------
    WorkloadError
        If the column of the side-car is invalid.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from workloadkit import Trace
    >>> text = '[{"outcome": "preempted", "start": -90, "run": 60, "procs": 4}, {"start": 30}]'
    >>> sidecar = pd.DataFrame({EXECUTIONS: [text]})
    >>> log = replace(Trace.from_columns({"submit": [100]}), sidecar=sidecar)
    >>> executions_of(log)[["row", "attempt", "last", "outcome", "start"]].to_numpy().tolist()
    [[0, 0, False, 'preempted', 10.0], [0, 1, True, 'unknown', 130.0]]
    """
    return _executions(trace).copy(deep=False)


@lru_cache(maxsize=1)  # several sections of a report use them
def _executions(trace: "Trace") -> pd.DataFrame:
    columns = ["row", "attempt", "last", "outcome", *NUMBERS]
    texts = None if trace.sidecar is None else trace.sidecar.get(EXECUTIONS)
    rows = [] if texts is None else [*_parsed(trace, texts.astype(object).fillna("").to_numpy())]
    if not rows:
        empty = pd.DataFrame({name: np.empty(0) for name in columns})
        return empty.astype({"row": int, "attempt": int, "last": bool, "outcome": object})
    found = pd.DataFrame(rows, columns=["row", "outcome", *NUMBERS])
    job = found["row"].to_numpy()
    new = np.append(True, job[1:] != job[:-1])
    begins = new | np.append(True, found["outcome"].to_numpy()[:-1] != RESIZED)
    count = np.cumsum(begins) - 1
    ends = np.append(begins[1:], True)
    found["attempt"] = count - count[new][np.cumsum(new) - 1]
    found["outcome"] = found["outcome"].to_numpy()[ends][count]
    found["last"] = found["attempt"] == found.groupby("row")["attempt"].transform("max")
    submit = trace.column("submit")[job]
    return found.assign(submit=found["submit"] + submit, start=found["start"] + submit)[columns]


def _parsed(trace: "Trace", texts: Any) -> Iterator[list[Any]]:
    """Yield row, outcome and `NUMBERS` of each execution."""
    named = [trace.unit if name == "procs" else name for name in NUMBERS]
    for row in np.flatnonzero(texts != "").tolist():
        try:
            for one in _DECODER.decode(texts[row]):
                outcome = one.get("outcome", "unknown")
                plausible = all(
                    -_LARGEST * (name in _TIMES) <= one.get(name, 0) < _LARGEST for name in NUMBERS
                )
                if outcome not in (*OUTCOMES, RESIZED) or not plausible:
                    raise ValueError
                yield [row, outcome, *(float(one.get(name, np.nan)) for name in named)]
        except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
            raise WorkloadError(
                f"{trace.name}: in the side-car, executions of job {trace.column('job')[row]} are "
                f"{quoted(texts[row], 80)}; they must be a list as `convert` writes it"
            ) from None
