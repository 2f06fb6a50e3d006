"""The jobs of a log as a site accounts for them: hours, outcomes and names."""

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.load.overview import choices
from analysis.waits.measures import wait_intervals
from workloadkit.errors import WorkloadError
from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.trace import Trace, check_trace

HOUR = 3600

#: What accounting is grouped by.
By = Literal["user", "account", "partition", "queue", "qos"]

#: How jobs end.
Outcome = Literal[
    "completed",
    "failed",
    "timed out",
    "out of memory",
    "node failure",
    "preempted",
    "cancelled",
    "unknown",
]
OUTCOMES: tuple[str, ...] = get_args(Outcome)

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

#: What jobs spend, by column: each is elapsed time × the column given here. Power is a mean.
SPENT = {"core_hours": "procs", "node_hours": "nodes", "gpu_hours": "gpus", "energy_kwh": "power"}

_JOULES = 3.6e6  # in 1 kWh


def accounted_jobs(trace: Trace) -> pd.DataFrame:
    """Return what a site accounts for, job by job.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    DataFrame
        One row per job of `trace.jobs`: `submit`, `start` and `end` [s of the log], `wait` and
        `held`, its part before the job was eligible [s]; `started`; `procs`, `nodes`, `gpus`, and
        the mean `power` [kW]; `core_hours`, `node_hours` and `gpu_hours`, elapsed time × number;
        `energy_kwh`, the energy it consumed [kWh]; `cpu_hours`, CPU time; `limit_hours`, requested
        time × processors; `memory` and `requested_memory`, in KB per allocated processor; and the
        `outcome`. NaN is unknown; a job that never started has no hours.

    Examples
    --------
    >>> log = {"submit": [0, 60], "wait": [0, 9], "run": [3600, 60], "procs": [4, 1]}
    >>> jobs = accounted_jobs(Trace.from_columns(log | {"status": [1, 0]}))
    >>> jobs[["core_hours", "outcome"]].to_numpy().tolist()
    [[4.0, 'completed'], [0.016666666666666666, 'failed']]
    """
    check_trace(trace)
    return _accounted(trace).copy(deep=False)


@lru_cache(maxsize=1)  # all tables of a section use it
def _accounted(trace: Trace) -> pd.DataFrame:
    intervals = wait_intervals(trace)
    started, submit = intervals["start_to_end"].notna().to_numpy(), trace.column("submit")
    run = np.where(started, trace.column("run"), np.nan)
    hours = run / HOUR
    energy = np.where(started, _of_sidecar(trace, "energy"), np.nan) / _JOULES
    counts = {
        "procs": np.where(trace.used_procs > 0, trace.used_procs, np.nan),
        "nodes": _of_sidecar(trace, "nodes"),
        "gpus": _of_sidecar(trace, "gpus"),
        "power": np.divide(energy, hours, out=np.full(trace.n_jobs, np.nan), where=hours > 0),
    }
    spent = {name: hours * counts[counted] for name, counted in SPENT.items()}
    jobs = {
        "submit": submit,
        "start": trace.end - run,
        "end": np.where(started, trace.end, np.nan),
        "wait": np.maximum(intervals["submit_to_start"].to_numpy(), 0),
        "held": intervals["submit_to_eligible"].to_numpy(),
        "run": run,
        "started": started,
        **counts,
        **spent,
        "energy_kwh": energy,
        "cpu_hours": trace.column("cpu") * counts["procs"] / HOUR,
        "limit_hours": trace.column("requested_time") * counts["procs"] / HOUR,
        "memory": trace.column("memory"),
        "requested_memory": _requested_memory(trace, counts["procs"]),
        "outcome": outcomes_of(trace),
    }
    return pd.DataFrame(jobs)


def outcomes_of(trace: Trace) -> pd.Categorical:
    """Return how each job ended, one of `OUTCOMES`: by its state, else by its status."""
    status = trace.column("status")
    code = np.full(trace.n_jobs, OUTCOMES.index("unknown"))
    for number, outcome in _BY_STATUS.items():
        code[status == number] = OUTCOMES.index(outcome)
    for column, meaning in (("state", _BY_STATE), ("reason", _BY_REASON)):
        if (words := names_of(trace, column)) is not None:
            known = [OUTCOMES.index(meaning[w]) if w in meaning else -1 for w in words.categories]
            found = np.array([*known, -1])[words.codes]
            code = np.where(found >= 0, found, code)
    return pd.Categorical.from_codes(code, list(OUTCOMES))


def is_part(trace: Trace) -> bool:
    """Whether the jobs were chosen by fields, so that others ran on the machine, too."""
    return any("where " in choice for choice in choices(trace))


def names_of(trace: Trace, field: str) -> pd.Categorical | None:
    """Return the names of a field, None if the log does not have them."""
    try:
        return trace.names(field)
    except WorkloadError:
        return None


def _of_sidecar(trace: Trace, name: str) -> NDArray[np.float64]:
    """Return a column of numbers of the side-car, NaN for unknown."""
    if trace.sidecar is None or name not in trace.sidecar:
        return np.full(trace.n_jobs, np.nan)
    return trace.sidecar[name].to_numpy(dtype=np.float64)


def _requested_memory(trace: Trace, procs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the requested memory per allocated processor; the log has it per requested one."""
    requested = trace.column("requested_procs")
    scale = np.where(requested > 0, requested / procs, 1.0)
    if trace.sidecar is not None and "requested_memory_per" in trace.sidecar:
        # requested for each processor, it grows with the processors that a job gets
        scale[(trace.sidecar["requested_memory_per"] == "cpu").to_numpy()] = 1.0
    return trace.column("requested_memory") * scale
