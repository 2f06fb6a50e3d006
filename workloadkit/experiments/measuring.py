"""Metrics of each simulation of an experiment."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.measures import OF_UTILITIES
from workloadkit.simulation.names import FURTHER, METRICS, PRODUCTIVITY
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedulers import Fcfs
from workloadkit.simulation.workload import Rules

LATER = "later_than_fcfs"

#: Names of all metrics.
KNOWN = (*METRICS, *FURTHER, *PRODUCTIVITY, *OF_UTILITIES, LATER)


def started_later(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs started later than under first come, first served.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    ndarray of bool, shape (n_jobs,)
        For the same jobs on the same machine, by the same rules.

    Raises
    ------
    WorkloadError
        If FCFS cannot serve the jobs: with jobs larger than the machine, or outages.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 99], "procs": [3, 4, 1]}
    >>> trace = wk.Trace.from_columns(log | {"requested_time": [10, 10, 5]})
    >>> started_later(wk.simulate(trace, "easy", procs=4, overrun="late")).tolist()
    [False, True, False]
    """
    parameters, workload = schedule.parameters, schedule.workload
    too_large = workload.procs.max() > schedule.machine
    if too_large or "outages" in parameters:
        what = "jobs larger than the machine" if too_large else "outages"
        raise WorkloadError(f"FCFS cannot be simulated for comparison: the schedule has {what}")
    overrun, passes = parameters.get("overrun", "late"), parameters.get("passes", "instant")
    fcfs = play_compiled(Fcfs(), workload, Rules(schedule.machine, overrun, passes))
    return np.asarray(schedule.start > fcfs.outcome.start)


def later_than_fcfs(schedule: Schedule) -> float:
    """Share of the counted jobs that started later than under FCFS, see `started_later`.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> later_than_fcfs(wk.simulate(wk.Trace.from_columns(log), "easy", procs=4))
    0.0
    """
    return float(started_later(schedule)[schedule.counted].mean())


def measure(schedule: Schedule, metric: str) -> float:
    """Return a metric of a schedule: one of `Schedule.describe`, or `later_than_fcfs`."""
    if metric == LATER:
        return later_than_fcfs(schedule)
    try:
        return schedule.measure(metric)
    except ParameterError as error:
        raise ParameterError(f"{error}, {LATER}") from None
