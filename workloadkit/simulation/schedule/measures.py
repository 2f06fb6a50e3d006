"""The measures of schedules: names, functions of the served jobs, accuracy of predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.display import Displayed
from workloadkit.settings.resampling import Classify
from workloadkit.simulation.schedule.productivity import NAMES
from workloadkit.trace import Trace
from workloadkit.user_classes import CLASSES, classes_of

if TYPE_CHECKING:
    import pandas as pd


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
    return metrics.percentile(jobs.wait, 50)


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


# Names of the measures of schedules, in the order in which they are printed.

#: Names that `Schedule.metrics` has if jobs have utility functions.
UTILITY = ("aggregate_utility",)

#: Those of them that are means or medians over jobs.
MEASURED = ("mean_wait", "median_wait", "mean_response", "mean_slowdown", "mean_bounded_slowdown")

#: Names of `Schedule.metrics`.
METRICS: tuple[str, ...] = (
    *("jobs", "left_out", "killed", "makespan", "utilization", "throughput_per_hour"),
    *MEASURED,
)

#: Names that `Schedule.describe` adds if users react.
PRODUCTIVITY: tuple[str, ...] = (*NAMES, "aborted_share")

#: Names that it adds for all.
FURTHER: tuple[str, ...] = (
    *("mean_queue_length", "tail", "tail_work", "makespan_utilization"),
    *("makespan_throughput_per_hour", "backlog_growth"),
    *(name for name in OF_JOBS if name not in METRICS),
)

#: Names that `Schedule.measure` knows.
MEASURES: tuple[str, ...] = (*METRICS, *FURTHER, *PRODUCTIVITY, *OF_UTILITIES, *PROMISES)


# How well run times were predicted.

#: The class of jobs whose user belongs to none: outside the log's window, or unknown.
OTHERS = "others"


@dataclass(frozen=True, eq=False)
class Predictions(Displayed):
    """How well run times were predicted, as returned by `Schedule.predictions`.

    Parameters
    ----------
    classes : DataFrame
        By class of users, see `classify_users`, and for "all": `jobs`; the mean
        `prediction_accuracy`; the share `under_predicted`; `mean_error`, the mean of prediction
        minus run time, and `mean_absolute_error` [s]. NaN for classes without jobs.

    Notes
    -----
    The accuracy of a prediction is the smaller of prediction and run time divided by the larger
    [1]_. A prediction shorter than the run time is an under-prediction.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    classes: "pd.DataFrame"

    @property
    def summary(self) -> dict[str, float]:
        """Mean accuracy, and the share of under-predicted jobs, of all jobs."""
        return {name: float(self.classes.loc["all", name]) for name in _SUMMARY}


_SUMMARY = ("prediction_accuracy", "under_predicted")


def prediction_accuracy(prediction: ArrayLike, run: ArrayLike) -> NDArray[np.float64]:
    """Return the accuracy of predictions, from 0 to 1; see `Predictions`.

    Parameters
    ----------
    prediction, run : array_like
        Predictions are positive. [s]

    Examples
    --------
    >>> prediction_accuracy([60, 60, 60], [60, 30, 120]).tolist()
    [1.0, 0.5, 0.5]
    """
    larger = np.maximum(prediction, run)
    return np.asarray(np.minimum(prediction, run) / larger)


def measure_predictions(
    prediction: NDArray,
    run: NDArray,
    user: NDArray[np.int64],
    counted: NDArray[np.bool_],
    trace: Trace,
) -> Predictions:
    """Measure the predictions of the counted jobs, by the classes of a log's users."""
    import pandas as pd

    found = classes_of(trace, Classify())
    kind = pd.Series(found.kind, found.user).reindex(user).fillna(len(CLASSES)).to_numpy(np.int64)
    error = prediction.astype(np.float64) - run
    jobs = pd.DataFrame(
        {
            "class": np.array([*CLASSES, OTHERS], dtype=object)[kind],
            "jobs": 1,
            "prediction_accuracy": prediction_accuracy(prediction, run),
            "under_predicted": error < 0,
            "mean_error": error,
            "mean_absolute_error": np.abs(error),
        }
    )[counted]
    how = {name: "sum" if name == "jobs" else "mean" for name in jobs.columns[1:]}
    whole = jobs.assign(**{"class": "all"})
    table = pd.concat([whole, jobs]).groupby("class").agg(how)
    names = ["all", *CLASSES, *([OTHERS] if OTHERS in table.index else [])]
    return Predictions(table.reindex(names).fillna({"jobs": 0}).astype({"jobs": np.int64}))
