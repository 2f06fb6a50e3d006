"""The recorded service of the simulated jobs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.provenance import moved_times
from workloadkit.simulation.schedule.measures import OF_JOBS, ServedJobs
from workloadkit.trace import Trace

#: If the simulated and the recorded mean wait of the same jobs differ by a larger factor, or the
#: utilization by more, the calibration fails: the simulation does not describe the site.
MUCH = 2
MUCH_UTILIZATION = 0.1

#: What a log does not contain, and a site's waits depend on.
MISSING = ("limits", "priorities", "nodes out of service")

#: What a calibration compares.
COMPARED = (
    *("simulated_mean_wait", "recorded_mean_wait"),
    *("simulated_utilization", "recorded_utilization"),
)

# Mean waits below it count as equal. [s]
_NO_WAIT = 60


def as_recorded(
    log: Trace, rows: NDArray[np.int64], machine: int, held: NDArray | None = None
) -> dict[str, float]:
    """Measure jobs as a log records them.

    Parameters
    ----------
    log : Trace
    rows : ndarray of int64
        The jobs to measure. Those with an unknown wait are left out.
    machine : int
        Processors of the machine.
    held : ndarray, shape (log.n_jobs,), optional
        What each job of the log holds of the machine; by default its processors.

    Returns
    -------
    dict of str to float
        `jobs`, the number of measured jobs; `makespan`; `utilization` and `throughput_per_hour`, in
        the window of their submissions, `tail` and `tail_work` after it; and the measures that
        depend on jobs alone, by the names of `Schedule.describe`. Empty if no wait is known, and
        for a log that is not a site's record: one that was resampled, shaken or simulated, or had
        its load set.

    Examples
    --------
    >>> jobs = {"submit": [0, 0], "wait": [0, 60], "run": [60, 60], "procs": [1, 1]}
    >>> found = as_recorded(Trace.from_columns(jobs), np.arange(2), 2)
    >>> found["jobs"], found["utilization"], found["mean_wait"]
    (2, 0.5, 30.0)
    """
    return {} if moved_times(log.header) else measured(log, rows, machine, held)


def measured(
    log: Trace, rows: NDArray[np.int64], machine: int, held: NDArray | None = None
) -> dict[str, float]:
    """Measure jobs by their waits in any log, also one that was made; see `as_recorded`."""
    rows = np.flatnonzero(np.bincount(rows, minlength=1))
    submit, wait, run, user = (log.column(n)[rows] for n in ("submit", "wait", "run", "user"))
    procs = log.used_procs[rows].astype(np.int64)
    known = (wait >= 0) & (run >= 0) & (procs > 0)
    if not known.any():
        return {}
    requested = log.column("requested_time")[rows]
    requested = np.where(requested >= 0, requested, run)
    nothing = np.broadcast_to(np.nan, submit.size)
    each = procs if held is None else held[rows]
    jobs = ServedJobs(submit, wait, run, requested, user, each, nothing, nothing, nothing).take(
        known
    )
    start = jobs.submit + jobs.wait
    end = start + jobs.run
    inside = log.window.contains(jobs.submit)
    inside = inside if inside.any() else np.ones(inside.size, dtype=bool)
    window = metrics.submission_window(jobs.submit[inside], end[inside])
    return {
        "jobs": jobs.submit.size,
        "makespan": metrics.makespan(jobs.submit, end),
        "utilization": metrics.utilization(start, end, jobs.procs, machine, *window),
        "throughput_per_hour": metrics.throughput_per_hour(end, *window),
        "tail": max(float(end.max()) - window[1], 0.0),
        "tail_work": metrics.work_after(start, end, jobs.procs, window[1]),
        **{name: measure(jobs) for name, measure in OF_JOBS.items()},
    }


def differ_much(simulated: Mapping[str, float], recorded: Mapping[str, float]) -> bool:
    """Return whether mean wait or utilization are far from the recorded ones of the same jobs.

    The mean waits differ by more than a factor of 2, where a shorter one counts as one minute, or
    the utilizations, where both are known, by more than 0.1. False if nothing is recorded.

    Examples
    --------
    >>> differ_much({"mean_wait": 600}, {"mean_wait": 3600})
    True
    >>> differ_much({"mean_wait": 0}, {"mean_wait": 50})
    False
    >>> both = {"mean_wait": 60, "utilization": 0.9}, {"mean_wait": 60, "utilization": 0.7}
    >>> differ_much(*both)
    True
    """
    if not recorded:
        return False
    used = [of.get("utilization", np.nan) for of in (simulated, recorded)]
    factor = _factor(simulated["mean_wait"], recorded["mean_wait"])
    return factor > MUCH or abs(used[0] - used[1]) > MUCH_UTILIZATION


def _factor(one: float, other: float) -> float:
    """Return the factor between two mean waits, at least 1."""
    waits = max(one, _NO_WAIT), max(other, _NO_WAIT)
    return max(waits) / min(waits)


def distance(calibration: Mapping[str, Any]) -> float:
    """Return the factor between the two mean waits of a calibration."""
    return _factor(calibration["simulated_mean_wait"], calibration["recorded_mean_wait"])


def calibration(
    simulated: Mapping[str, float], recorded: Mapping[str, float], *, outages: bool = False
) -> dict[str, Any]:
    """Judge whether a simulation reproduces the recorded service of the same jobs.

    Parameters
    ----------
    simulated, recorded : mapping of str to float
        `mean_wait` [s] and `utilization` of the same jobs.
    outages : bool, default False
        Whether nodes out of service were simulated.

    Returns
    -------
    dict of str to object
        `holds`, see `differ_much`; `simulated_mean_wait recorded_mean_wait simulated_utilization
        recorded_utilization`; `missing`, what the log does not contain.
    """
    pairs = (("simulated", simulated), ("recorded", recorded))
    return {
        "holds": not differ_much(simulated, recorded),
        **{f"{of}_mean_wait": float(values["mean_wait"]) for of, values in pairs},
        **{f"{of}_utilization": float(values["utilization"]) for of, values in pairs},
        "missing": list(MISSING[:-1] if outages else MISSING),
    }
