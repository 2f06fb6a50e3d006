"""How jobs and their attempts end, in words that all batch systems share."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED, COMPLETED, FAILED

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
