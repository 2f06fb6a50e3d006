"""The measures of schedules: names, and functions of the served jobs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics


@dataclass(frozen=True, eq=False)
class ServedJobs:
    """Jobs in the order of (submit, job number), with their service.

    Parameters
    ----------
    submit, wait, run : ndarray, shape (n_jobs,)
        As simulated. [s]
    requested_time : ndarray, shape (n_jobs,)
        The user's request; the run time where that is unknown. [s]
    user : ndarray of int64, shape (n_jobs,)
    procs : ndarray of int64, shape (n_jobs,)
    utility, start_value : ndarray of float64, shape (n_jobs,)
        What the job earned and its start value; NaN for a job without a utility function.
    promise_error : ndarray of float64, shape (n_jobs,)
        How much later than promised it started; NaN without a promise. [s]
    """

    submit: NDArray
    wait: NDArray
    run: NDArray
    requested_time: NDArray
    user: NDArray[np.int64]
    procs: NDArray[np.int64]
    utility: NDArray[np.float64]
    start_value: NDArray[np.float64]
    promise_error: NDArray[np.float64]

    def take(self, which: NDArray | slice) -> "ServedJobs":
        """Return some of the jobs, by mask, places or slice."""
        return ServedJobs(*(getattr(self, f.name)[which] for f in fields(self)))


#: Measures of single jobs.
QUANTITIES: Mapping[str, Callable[[ServedJobs], NDArray]] = {
    "wait": lambda jobs: jobs.wait,
    "response": lambda jobs: jobs.wait + jobs.run,
    "slowdown": lambda jobs: metrics.slowdown(jobs.wait, jobs.run),
    "bounded_slowdown": lambda jobs: metrics.bounded_slowdown(jobs.wait, jobs.run),
    "expansion_factor": lambda jobs: metrics.expansion_factor(jobs.wait, jobs.requested_time),
}


def earned_percent(jobs: ServedJobs) -> NDArray[np.float64]:
    """Return the earned share of each job's start value, in percent.

    NaN for jobs without a utility function, and for those whose start value is 0.
    """
    worth = np.where(jobs.start_value > 0, jobs.start_value, np.nan)
    return np.asarray(100 * (jobs.utility / worth))


_IN_CLASSES = ("wait", "bounded_slowdown")
_DISTRIBUTED = ("wait", "expansion_factor", "bounded_slowdown")


def of_class(jobs: ServedJobs, name: str) -> NDArray[np.bool_]:
    """Return which jobs are of a class of run time: up to one minute, up to ten minutes, longer."""
    bounds = list(metrics.RUN_CLASSES.values())
    place = list(metrics.RUN_CLASSES).index(name)
    shortest = bounds[place - 1] if place else -np.inf
    return (jobs.run > shortest) & (jobs.run <= bounds[place])


def _in_class(jobs: ServedJobs, *, quantity: str, name: str) -> NDArray[np.float64]:
    return np.where(of_class(jobs, name), QUANTITIES[quantity](jobs), np.nan)


def _by_lee(jobs: ServedJobs) -> NDArray[np.float64]:
    values = np.full(jobs.wait.size, np.nan)
    counted = metrics.lee_jobs(values.size)
    values[counted] = QUANTITIES["bounded_slowdown"](jobs)[counted]
    return values


#: Means over the jobs: values by job, NaN for a job that does not count.
MEANS: Mapping[str, Callable[[ServedJobs], NDArray]] = {
    **{f"mean_{quantity}": values for quantity, values in QUANTITIES.items()},
    **{
        f"mean_{quantity}_{name}": partial(_in_class, quantity=quantity, name=name)
        for name in metrics.RUN_CLASSES
        for quantity in _IN_CLASSES
    },
    "lee_bounded_slowdown": _by_lee,
}


def _late(jobs: ServedJobs) -> NDArray[np.float64]:
    return np.where(np.isnan(jobs.promise_error), np.nan, jobs.promise_error > 0)


#: Means over the jobs of promised against actual starts, likewise.
OF_PROMISES: Mapping[str, Callable[[ServedJobs], NDArray]] = {
    "promised_share": lambda jobs: 1.0 - np.isnan(jobs.promise_error),
    "mean_promise_error": lambda jobs: np.abs(jobs.promise_error),
    "late_share": _late,
    "mean_lateness": lambda jobs: np.maximum(jobs.promise_error, 0.0),
}


def _mean(jobs: ServedJobs, *, of: Callable[[ServedJobs], NDArray]) -> float:
    values = of(jobs)
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else np.nan


#: Percentiles: the quantity and the percentage.
PERCENTILES = {
    f"{quantity}_p{percent}": (quantity, percent)
    for quantity in _DISTRIBUTED
    for percent in metrics.PERCENTILES
}


def _percentile(jobs: ServedJobs, *, name: str) -> float:
    quantity, percent = PERCENTILES[name]
    return metrics.percentile(QUANTITIES[quantity](jobs), percent)


def _median_wait(jobs: ServedJobs) -> float:
    wait, middle = np.sort(jobs.wait), jobs.wait.size // 2  # np.median is slow to load
    return float((wait[~middle] + wait[middle]) / 2) if wait.size else np.nan


def _jain_fairness(jobs: ServedJobs) -> float:
    _, user = np.unique(jobs.user, return_inverse=True)
    total = np.bincount(user, metrics.slowdown(jobs.wait, jobs.run))
    return metrics.jain_fairness(total / np.bincount(user))


def _aggregate_utility(jobs: ServedJobs) -> float:
    return float(np.nansum(jobs.utility))


def _utility_per_proc_hour(jobs: ServedJobs) -> float:
    hours = float((jobs.run * jobs.procs.astype(np.float64)).sum()) / 3600
    return _aggregate_utility(jobs) / hours if hours > 0 else np.nan


def _earned(jobs: ServedJobs, *, percent: int) -> float:
    earned = earned_percent(jobs)
    return metrics.percentile_from_best(earned[~np.isnan(earned)], percent)


#: Aggregates of the earned utility.
OF_UTILITIES: Mapping[str, Callable[[ServedJobs], float]] = {
    "aggregate_utility": _aggregate_utility,
    "utility_per_proc_hour": _utility_per_proc_hour,
    **{f"earned_p{percent}": partial(_earned, percent=percent) for percent in metrics.PERCENTILES},
}

#: Aggregates of promised against actual starts.
PROMISES: Mapping[str, Callable[[ServedJobs], float]] = {
    name: partial(_mean, of=of) for name, of in OF_PROMISES.items()
}

#: Aggregates that depend on the served jobs alone.
OF_JOBS: Mapping[str, Callable[[ServedJobs], float]] = {
    **{name: partial(_mean, of=of) for name, of in MEANS.items()},
    "median_wait": _median_wait,
    **{name: partial(_percentile, name=name) for name in PERCENTILES},
    "jain_fairness": _jain_fairness,
}
