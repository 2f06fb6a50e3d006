"""Convert records of LSF to columns of jobs."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.io.cells import Cells, Words
from workloadkit.io.lsf.record import ABSURD, hosts_of, with_index
from workloadkit.io.names import n_tasks
from workloadkit.io.records import Records

# Job states of LSF (bits of jStatus) and its termination reasons.

#: Bits of jStatus of jobs that have ended; DONE may occur with others.
EXIT, DONE = 32, 64

#: States of jobs that have not ended.
UNFINISHED = {1: "PEND", 2: "PSUSP", 4: "RUN", 8: "SSUSP", 16: "USUSP", 65536: "UNKWN"}

#: Termination reasons and the resulting status, by the number in exitInfo: cancelled if a user, an
#: administrator or a limit stopped the job.
REASONS = (
    ("", FAILED),  # 0: TERM_UNKNOWN, used for most jobs that failed by themselves
    ("TERM_PREEMPT", FAILED),
    ("TERM_WINDOW", CANCELLED),
    ("TERM_LOAD", FAILED),
    ("TERM_OTHER", FAILED),
    ("TERM_RUNLIMIT", CANCELLED),
    ("TERM_DEADLINE", CANCELLED),
    ("TERM_PROCESSLIMIT", CANCELLED),
    ("TERM_FORCE_OWNER", CANCELLED),
    ("TERM_FORCE_ADMIN", CANCELLED),
    ("TERM_REQUEUE_OWNER", CANCELLED),
    ("TERM_REQUEUE_ADMIN", CANCELLED),
    ("TERM_CPULIMIT", CANCELLED),
    ("TERM_CHKPNT", CANCELLED),
    ("TERM_OWNER", CANCELLED),
    ("TERM_ADMIN", CANCELLED),
    ("TERM_MEMLIMIT", CANCELLED),
    ("TERM_EXTERNAL_SIGNAL", FAILED),
    ("TERM_RMS", FAILED),
    ("TERM_ZOMBIE", FAILED),
    ("TERM_SWAP", CANCELLED),
    ("TERM_THREADLIMIT", CANCELLED),
    ("TERM_SLURM", FAILED),
    ("TERM_BUCKET_KILL", CANCELLED),
    ("TERM_CTRL_PID", FAILED),
    ("TERM_CWD_NOTEXIST", FAILED),
    ("TERM_REMOVE_HUNG_JOB", CANCELLED),
    ("TERM_ORPHAN_SYSTEM", FAILED),
    ("TERM_PRE_EXEC_FAIL", FAILED),
    ("TERM_DATA", FAILED),
    ("TERM_MC_RECALL", FAILED),
    ("TERM_RC_RECLAIM", FAILED),
    ("TERM_CSM_ALLOC", FAILED),
    ("TERM_KUBE", FAILED),
    ("TERM_RC", FAILED),
)


#: States of jobs that have ended.
STATES = ("DONE", "EXIT")

_NO_LIMIT = 2**31 - 1
_EXCLUSIVE = 0x40  # the bit of `bsub -x` in the options
_PTILE = re.compile(r"\bspan\[[^\]]*\bptile=(\d{1,9})\b", re.ASCII)
_ELEMENTS = re.compile(r"\[(\d[\d,:-]*)\](?:%\d+)?$", re.ASCII)

_REASONS = [word for word, _ in REASONS]
_STATUSES = np.array([status for _, status in REASONS])


def add_jobs(
    records: Records,
    numbers: Mapping[str, NDArray[np.float64]],
    cells: Cells,
    places: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Add the jobs that have ended; count the others.

    Parameters
    ----------
    records : Records
    numbers : dict of str to ndarray, shape (n_records,)
        The numbers of `Finish`, by name.
    cells : Cells
        Its texts.
    places : ndarray of int64, shape (n_records,)

    Returns
    -------
    ndarray of int64
        Lines of the jobs whose size changed.
    """
    number = {
        name: np.where(np.abs(column) < ABSURD, column, np.nan) for name, column in numbers.items()
    }
    state = np.nan_to_num(number["state"]).astype(np.int64)
    rows = _that_ended(records, state, number, places)
    if not rows.size:
        return places[:0]
    number = {name: column[rows] for name, column in number.items()}
    places, done, cells = places[rows], (state[rows] & DONE) > 0, cells.take(rows)
    start, run, suspended = _runs(records, number, done, places)
    started, end = ~np.isnan(start), number["end"]
    procs = np.where(started, _positive(number["slots"]), np.nan)
    requested = _positive(number["requested_procs"])
    records.note_where(
        "ran on another number of processors than requested", np.abs(procs - requested) > 0, places
    )
    records.note_where(
        "run limit not found: unknown order of fields", number["known_order"] == 0, places
    )
    cpu = number["user_time"] + number["system_time"]
    unused = (number["user_time"] < 0) | (number["system_time"] < 0)
    limit = number["run_limit"]
    exit_info = number["exit_info"]
    known = ~done & (exit_info >= 0) & (exit_info < len(REASONS))
    reason = np.where(known, exit_info, 0).astype(np.int64)
    submit = number["submit"]
    records.extend(
        rows.size,
        place=places,
        **_ids(records, cells, number["array_index"], places),
        submit=submit,
        eligible=_eligible(submit, start, number["begin"], number["ineligible"]),
        start=start,
        end=end,
        run=run,
        suspended=suspended,
        procs=procs,
        nodes=np.where(started, _positive(number["nodes"]), np.nan),
        requested_procs=requested,
        procs_per_node=cells.words("requirements").of(_per_host),
        exclusive=Words((_options(number["options"]) & _EXCLUSIVE > 0) * 1, ["", "yes"]),
        node_list=cells.combined(("hosts",), _node_list).where(started),
        cpu=np.where(unused, np.nan, cpu) / procs,
        memory=_positive(number["max_memory"]) / procs,
        requested_time=np.where((limit > 0) & (limit < _NO_LIMIT), limit, np.nan),
        status=np.where(done, COMPLETED, np.where(started, _STATUSES[reason], CANCELLED)),
        state=Words(1 - done.astype(np.int64), [*STATES]),
        exit_code=cells.words("exit_status"),
        reason=Words(reason, _REASONS),
        user=cells.words("user"),
        account=cells.words("project"),
        queue=cells.words("queue"),
        qos=cells.words("service_class"),
        executable=cells.combined(("name", "command"), _executable),
    )
    return places[(number["last_resize"] > start) & (number["last_resize"] <= end)]


def _that_ended(
    records: Records,
    state: NDArray[np.int64],
    number: Mapping[str, NDArray[np.float64]],
    places: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the rows of jobs that have ended, and count the others."""
    keep = (state & (DONE | EXIT)) > 0
    for other in distinct(state[~keep]):
        where = np.flatnonzero(state == other)
        word = UNFINISHED.get(int(other))
        kind = f"not ended: {word}" if word else "unknown state"
        records.leave_out(kind, int(places[where[0]]), where.size)
    for name, kind in (("submit", "without a submit time"), ("end", "without an end time")):
        missing = keep & ~(number[name] > 0)
        records.leave_out_where(kind, missing, places)
        keep &= ~missing
    return np.flatnonzero(keep)


def _runs(
    records: Records,
    number: Mapping[str, NDArray[np.float64]],
    done: NDArray[np.bool_],
    places: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return when jobs started, how long they ran, and how long they were suspended."""
    started = number["start"] > 0
    used = (number["run_time"] > 0) | (number["user_time"] > 0) | (number["system_time"] > 0)
    nowhere = started & (number["slots"] == 0) & ~used & ~done
    records.note_where("without execution hosts and run time: never started", nowhere, places)
    start = np.where(started & ~nowhere, number["start"], np.nan)
    elapsed = number["end"] - start
    records.note_where("ended before it started: run time unknown", elapsed < 0, places)
    elapsed = np.where(elapsed < 0, np.nan, elapsed)
    recorded = (number["run_time"] > 0) & (number["run_time"] <= elapsed)
    run = np.where(recorded, number["run_time"], elapsed)
    suspended = np.where(recorded, elapsed - run, np.nan)
    records.note_where("suspended: run time without the suspension", suspended > 0, places)
    records.suspends |= bool((suspended > 0).any())
    return start, run, suspended


def _ids(
    records: Records, cells: Cells, index: NDArray[np.float64], places: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the columns of ids, and count the records of several elements of an array."""
    elements = cells.words("name").of(_n_elements)
    one = index > 0
    several = ~one & (elements > 0)
    if not (one | several).any():
        return {"id": cells.strings("id")}
    whole = cells.texts("id")
    for row in np.flatnonzero(several).tolist():
        records.note_array(int(places[row]), int(elements[row]))
    ids = whole.copy()
    for i in np.flatnonzero(one).tolist():
        ids[i] = with_index(ids[i], index[i])
    array_job = np.where(one | several, whole, "")
    return {"id": ids, "array_job": array_job, "array_task": np.where(one, index, np.nan)}


def _node_list(hosts: str) -> str:
    return hosts_of(hosts)[2]


def _n_elements(name: str) -> float:
    """Return the number of elements that the name of a job lists; 0 if it lists none.

    Examples
    --------
    >>> _n_elements("sweep[201-500]%20"), _n_elements("sweep[a]"), _n_elements("sweep")
    (300.0, 0.0, 0.0)
    """
    match = _ELEMENTS.search(name) if "[" in name else None
    return float(n_tasks(match[1])) if match else 0.0


def _options(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bits of the options of `bsub`."""
    return np.where((column >= 0) & (column < 2**53), column, 0).astype(np.int64)


def _per_host(requirements: str) -> float:
    """Return the slots per host of a resource requirement.

    Examples
    --------
    >>> _per_host("select[type==any] span[ptile=16]"), _per_host("span[hosts=1]")
    (16.0, nan)
    """
    match = _PTILE.search(requirements)
    return float(match[1]) if match else np.nan


def _positive(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace values of 0 or less, which LSF writes for unknown, by NaN."""
    return np.where(column > 0, column, np.nan)


def _eligible(
    submit: NDArray[np.float64],
    start: NDArray[np.float64],
    begin: NDArray[np.float64],
    ineligible: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return when jobs became eligible, at most their start."""
    at_begin = np.where(begin > 0, np.maximum(begin, submit), np.nan)
    eligible = np.where(ineligible >= 0, submit + ineligible, at_begin)
    return np.where(eligible > start, start, eligible)


def _executable(name: str, command: str) -> str:
    """Return the name of a job without array indices, else its program.

    Examples
    --------
    >>> _executable("sweep[1-100]", "a.out"), _executable("", "wrf -n 4"), _executable("", "#!sh")
    ('sweep', 'wrf', '')
    """
    if name:
        return name.partition("[")[0] or name
    return "" if command.startswith("#") else next(iter(command.split(None, 1)), "")
