"""The recorded service of the simulated jobs."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.provenance import moved_times
from workloadkit.simulation.measures import OF_JOBS, ServedJobs
from workloadkit.trace import Trace

#: A larger factor between two mean waits suggests that the site did more than is simulated.
MUCH = 2

#: Mean waits below it count as equal. [s]
_NO_WAIT = 60


def as_recorded(log: Trace, rows: NDArray[np.int64], machine: int) -> dict[str, float]:
    """Measure jobs as a log records them.

    Parameters
    ----------
    log : Trace
    rows : ndarray of int64
        The jobs to measure. Those with an unknown wait are left out.
    machine : int
        Processors of the machine.

    Returns
    -------
    dict of str to float
        `jobs`, the number of measured jobs; `makespan`, `utilization` and `throughput_per_hour`,
        from their first submission to their last end; and the measures that depend on jobs alone,
        by the names of `Schedule.describe`. Empty if no wait is known, and for a log that is not a
        site's record: one that was resampled, shaken or simulated, or had its load set.

    Examples
    --------
    >>> jobs = {"submit": [0, 0], "wait": [0, 60], "run": [60, 60], "procs": [1, 1]}
    >>> found = as_recorded(Trace.from_columns(jobs), np.arange(2), 2)
    >>> found["jobs"], found["utilization"], found["mean_wait"]
    (2, 0.5, 30.0)
    """
    if moved_times(log.header):
        return {}
    rows = np.flatnonzero(np.bincount(rows, minlength=1))
    submit, wait, run, user = (log.column(n)[rows] for n in ("submit", "wait", "run", "user"))
    procs = log.used_procs[rows].astype(np.int64)
    known = (wait >= 0) & (run >= 0) & (procs > 0)
    if not known.any():
        return {}
    requested = log.column("requested_time")[rows]
    requested = np.where(requested >= 0, requested, run)
    nothing = np.broadcast_to(np.nan, submit.size)
    jobs = ServedJobs(submit, wait, run, requested, user, procs, nothing, nothing, nothing).take(
        known
    )
    start = jobs.submit + jobs.wait
    end = start + jobs.run
    begin, until = float(jobs.submit.min()), float(end.max())
    n_jobs = jobs.submit.size
    return {
        "jobs": n_jobs,
        "makespan": until - begin,
        "utilization": metrics.utilization(start, end, jobs.procs, machine, begin, until),
        "throughput_per_hour": 3600 * n_jobs / (until - begin) if until > begin else np.nan,
        **{name: measure(jobs) for name, measure in OF_JOBS.items()},
    }


def differ_much(simulated: Mapping[str, float], recorded: Mapping[str, float]) -> bool:
    """Return whether the mean wait is much longer or shorter than the recorded one.

    False if nothing is recorded.

    Examples
    --------
    >>> differ_much({"mean_wait": 600}, {"mean_wait": 3600})
    True
    >>> differ_much({"mean_wait": 0}, {"mean_wait": 50})
    False
    """
    if not recorded:
        return False
    waits = [max(of["mean_wait"], _NO_WAIT) for of in (simulated, recorded)]
    return max(waits) > MUCH * min(waits)
