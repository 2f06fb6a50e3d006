"""Comparison of schedules of the same jobs, paired job by job."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import __version__
from workloadkit.analysis.calibration import warn_of_calibration
from workloadkit.analysis.schedules.relative_slowdown import (
    check_confidence,
    check_same_jobs,
    jackknifed,
    means_without_each,
    percentiles_without_each,
    same_order,
    served_in_order,
)
from workloadkit.clock import WEEK
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadWarning, plural, quoted
from workloadkit.experiments.measuring import (
    Metric,
    Metrics,
    identities,
    measure,
    named_metrics,
    started_later,
)
from workloadkit.provenance import plain
from workloadkit.simulation import Schedule
from workloadkit.simulation.schedule.measures import (
    MEANS,
    OF_JOBS,
    OF_PROMISES,
    OF_UTILITIES,
    PERCENTILES,
    QUANTITIES,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Metrics of a comparison by default.
MEASURED = (
    *("mean_wait", "wait_p50", "wait_p98", "mean_slowdown", "mean_bounded_slowdown"),
    *("utilization", "makespan"),
)

#: Metrics of which larger values are better; of all others, smaller values are better.
LARGER_IS_BETTER = (
    *("jobs", "utilization", "throughput_per_hour", "jain_fairness"),
    *("makespan_utilization", "makespan_throughput_per_hour"),
    *("jobs_per_session", "promised_share", *OF_UTILITIES),
)


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """Comparison of schedules of the same jobs.

    Parameters
    ----------
    schedules : mapping of str to Schedule
    reference : str
        Name of the schedule that the others are compared with.
    table : DataFrame
        By `metric`, one column per schedule.
    differences : DataFrame
        One row per metric and schedule except the reference: `metric`, `schedule`, `reference` and
        `value` (the metric under both), `difference` and its interval from `low` to `high`;
        `relative`, the difference divided by the reference's value, from `relative_low` to
        `relative_high`. NaN if undefined.
    objective : Series or None
        Weighted objective by schedule; None without weights.
    parameters : mapping of str to object
        Parameters of the comparison: metrics, weights, confidence, block.
    """

    schedules: Mapping[str, Schedule]
    reference: str
    table: pd.DataFrame
    differences: pd.DataFrame
    objective: pd.Series | None
    parameters: Mapping[str, Any]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the difference of each metric from the reference, with its interval."""
        from workloadkit.analysis.schedules.comparison_plots import plot_differences

        ax = plot_differences(self, ax)
        ax.set_ylabel("metric")
        return ax

    def to_html(self) -> str:
        """Return a self-contained page: differences, waits, queues, and Gantt charts of a week."""
        from workloadkit.analysis.schedules.comparison_plots import comparison_page

        return comparison_page(self).to_html()

    def _summary(self) -> str:
        flagged = [name for name, is_flagged in self.saturated.items() if is_flagged]
        names = ", ".join(f"{n} (saturated)" if n in flagged else n for n in self.schedules)
        return f"{names}; {plural(len(self.table), 'metric')}, reference {self.reference!r}"

    @property
    def saturated(self) -> dict[str, bool | None]:
        """Whether each schedule saturated, see `Schedule.saturated`; its metrics are shown, too."""
        return {name: schedule.saturated for name, schedule in self.schedules.items()}

    def pair(self, column: str) -> pd.DataFrame:
        """Return a column of `Schedule.jobs` under each schedule, one row per job.

        Returns
        -------
        DataFrame
            By `job`, in the order of (submit, job number); one column per schedule.
        """
        values = {
            name: schedule.jobs[column].to_numpy()[same_order(schedule)]
            for name, schedule in self.schedules.items()
        }
        first = self.schedules[self.reference]
        index = pd.Index(first.workload.job[same_order(first)], name="job")
        return pd.DataFrame(values, index=index)

    @cached_property
    def contributions(self) -> pd.DataFrame:
        """Contribution of each metric to the objective: by metric, one column per schedule.

        Raises
        ------
        ParameterError
            If the comparison has no weights.
        """
        weights = self.parameters["weights"]
        if not weights:
            raise ParameterError("the comparison has no weights, so it has no objective")
        return _contributions(self.table, weights, self.reference)

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, parameters, and the provenance of each schedule."""
        return {
            "workloadkit": __version__,
            "parameters": plain({"reference": self.reference, **self.parameters}),
            "schedules": {name: s.provenance for name, s in self.schedules.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return metrics by schedule, differences, objective and provenance as JSON values.

        Also which schedules `saturated`; and if it is known, whether they reproduce the recorded
        service, as `calibration`.
        """
        result: dict[str, Any] = {
            "metrics": self.table.to_dict(),
            "differences": self.differences.to_dict("records"),
            "saturated": self.saturated,
        }
        if self.objective is not None:
            result["objective"] = self.objective.to_dict()
        known = {name: one for name, s in self.schedules.items() if (one := s.calibration)}
        if known:
            result["calibration"] = known
        return plain({**result, "provenance": self.provenance})


def compare_schedules(
    *schedules: Schedule | Mapping[str, Schedule],
    metrics: Metrics = MEASURED,
    weights: Mapping[str, float] | None = None,
    reference: str | None = None,
    confidence: float = 0.95,
    block: float = WEEK,
) -> Comparison:
    """Compare schedules of the same jobs, paired job by job.

    A warning is issued if the schedules differ in the size of the machine or in the treatment of
    jobs that exceed their estimates, since differences are then not due to the schedulers alone.

    Parameters
    ----------
    *schedules : Schedule, or one mapping of str to Schedule
        Unnamed schedules are named by scheduler and by other parameters that differ.
    metrics : sequence of str, or mapping of str to str or callable
        Names of `Schedule.describe`, and `later_than_fcfs`; or a mapping from the names in the
        tables to these, and to functions of a `Schedule` that return a number. Differences of
        custom metrics have no interval.
    weights : mapping of str to float, optional
        Weights of metrics in the objective. Each metric is divided by that of the reference (the
        inverse, if larger values are better, as for utilization); the objective is the weighted
        mean of these ratios. Less is better; the reference has 1.
    reference : str, optional
        Name of the schedule that the others are compared with; by default the first.
    confidence : float, default 0.95
        Confidence of the intervals of the differences.
    block : float, default one week
        Length of the jackknife's time blocks, see Notes. [s]

    Raises
    ------
    WorkloadError
        If the schedules have different jobs, or count different jobs.
    ParameterError
        If a metric, name, weight or other value is invalid.

    Notes
    -----
    Jobs close in time have correlated results. The interval of a difference is therefore that of
    the jackknife [1]_ over blocks of time [2]_: the difference is measured without the jobs of each
    week in turn, the same under both schedules, and its variation gives the standard error; the
    interval uses Student's t with one degree of freedom fewer than there are weeks. For means over
    jobs, this is the paired difference with weeks as clusters. Weeks are assumed independent: if
    queues last for weeks, use longer blocks. There is no interval with fewer than two blocks, for
    maxima, and for measures of the schedule as a whole (utilization, makespan, queue length).

    References
    ----------
    .. [1] R. G. Miller, "The jackknife: a review", Biometrika 61(1), 1974.
    .. [2] H. R. Künsch, "The jackknife and the bootstrap for general stationary observations",
       The Annals of Statistics 17(3), 1989.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> jobs = {"submit": [0, 1, 2, 12], "run": [10, 10, 5, 5], "procs": [3, 4, 1, 1]}
    >>> log = Trace.from_columns(jobs)
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> found = compare_schedules(*both, metrics=["mean_wait", "utilization"])
    >>> found.table.loc["mean_wait"].to_dict()
    {'fcfs': 8.75, 'easy': 4.25}
    >>> found.pair("wait")["easy"].tolist()
    [0, 9, 0, 8]

    A custom metric is a function of a schedule:

    >>> waiting = {"waited": lambda schedule: (schedule.wait > 0).mean(), "mean": "mean_wait"}
    >>> compare_schedules(*both, metrics=waiting).table["easy"].to_dict()
    {'waited': 0.5, 'mean': 4.25}
    """
    named = _named(schedules)
    names = list(named)
    reference = names[0] if reference is None else reference
    if reference not in named:
        raise ParameterError(f"reference is {quoted(reference)}; known: {', '.join(names)}")
    weights = _checked(weights)
    functions = _functions(metrics, weights)
    chosen = list(functions)
    if not chosen:
        raise ParameterError("metrics", ": at least one is required")
    check_confidence(confidence)
    if not 0 < block < np.inf:
        raise ParameterError(f"block is {block} s; it must be positive")
    check_same_jobs(named)
    _warn_of_differences(named)
    warn_of_calibration(named)
    table = pd.DataFrame(
        {
            name: [measure(s, of, metric) for metric, of in functions.items()]
            for name, s in named.items()
        },
        index=pd.Index(chosen, name="metric"),
    )
    rows = []
    for metric in chosen:
        of = functions[metric]
        left_out = {
            name: _without_each(s, of, block) if isinstance(of, str) else np.empty(0)
            for name, s in named.items()
        }
        for name in names:
            if name == reference:
                continue
            values = {"reference": table.at[metric, reference], "value": table.at[metric, name]}
            difference = values["value"] - values["reference"]
            half = jackknifed(left_out[name] - left_out[reference], confidence)
            row = {"metric": metric, "schedule": name, **values, "difference": difference}
            row |= {"low": difference - half, "high": difference + half}
            relative = float(_over(difference, values["reference"]))
            half = jackknifed(_over(left_out[name], left_out[reference]), confidence)
            row |= {"relative": relative}
            rows.append(row | {"relative_low": relative - half, "relative_high": relative + half})
    objective = _contributions(table, weights, reference).sum() if weights else None
    return Comparison(
        named,
        reference,
        table,
        pd.DataFrame(rows),
        objective,
        {
            "metrics": identities(functions),
            "weights": dict(weights),
            "confidence": confidence,
            "block": block,
        },
    )


def _named(schedules: Sequence[Schedule | Mapping[str, Schedule]]) -> dict[str, Schedule]:
    """Name the schedules by scheduler and by other parameters that differ."""
    if len(schedules) == 1 and isinstance(schedules[0], Mapping):
        named = dict(schedules[0])
        given = list(named.values())
    else:
        given = list(schedules)  # type: ignore[arg-type]  # checked below
    if len(given) < 2 or not all(isinstance(schedule, Schedule) for schedule in given):
        raise ParameterError("give two Schedules or more, or one mapping of names to Schedules")
    if isinstance(schedules[0], Mapping):
        return named
    parameters = [{k: str(v) for k, v in schedule.parameters.items()} for schedule in given]
    names = [p.pop("scheduler") for p in parameters]
    for key in dict.fromkeys(key for p in parameters for key in p):
        if len(set(names)) < len(names) and len({p.get(key) for p in parameters}) > 1:
            title = key.replace("_", " ")
            suffixes = [f", {title} {p[key]}" if key in p else "" for p in parameters]
            names = [name + suffix for name, suffix in zip(names, suffixes, strict=True)]
    if len(set(names)) < len(names):
        raise ParameterError(f"schedules have equal names: {', '.join(names)}; pass a mapping")
    return dict(zip(names, given, strict=True))


def _functions(metrics: Metrics, weights: Mapping[str, float]) -> dict[str, str | Metric]:
    """Return the metrics by their names in the tables, with those that have weights."""
    named = metrics if isinstance(metrics, Mapping) else {name: name for name in metrics}
    return named_metrics({**named, **{name: name for name in weights if name not in named}})


def _checked(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Check the weights of the objective."""
    weights = dict(weights or {})
    for metric, weight in weights.items():
        if not 0 <= weight < np.inf:
            raise ParameterError(f"weight of {metric} is {weight}; it must be 0 or more")
    if weights and not sum(weights.values()) > 0:
        raise ParameterError("weights", ": at least one must be larger than 0")
    return weights


def _contributions(
    table: pd.DataFrame, weights: Mapping[str, float], reference: str
) -> pd.DataFrame:
    """Return the contribution of each metric to the objective."""
    rows = {}
    for metric, weight in weights.items():
        values = table.loc[metric]
        inverse = metric in LARGER_IS_BETTER
        over, under = (values[reference], values) if inverse else (values, values[reference])
        ratio = over / under
        if not np.isfinite(ratio).all():
            raise ParameterError(
                f"{metric} is {', '.join(f'{x:g}' for x in values)}; it has no finite ratio to the "
                "reference"
            )
        rows[metric] = ratio * weight / sum(weights.values())
    return pd.DataFrame(rows).T.rename_axis("metric")


def _warn_of_differences(named: Mapping[str, Schedule]) -> None:
    """Warn if schedules differ in more than their schedulers."""
    parameters = {"procs": "machines of different sizes", "overrun": "different overrun modes"}
    for rule, what in parameters.items():
        rules = {n: s.parameters[rule] for n, s in named.items() if rule in s.parameters}
        if len(set(rules.values())) > 1:
            shown = ", ".join(f"{name} with {rule} {value}" for name, value in rules.items())
            warnings.warn(
                f"the compared schedules have {what}: {shown}", WorkloadWarning, stacklevel=3
            )


def _without_each(schedule: Schedule, metric: str, block: float) -> NDArray[np.float64]:
    """Return the metric without each block of jobs; empty if it has no interval."""
    jobs = served_in_order(schedule)
    _, of_block = np.unique((jobs.submit - jobs.submit[0]) // block, return_inverse=True)
    if of_block.max() == 0:
        return np.empty(0)
    if metric == "later_than_fcfs":
        order = same_order(schedule)
        later = started_later(schedule)[order][schedule.counted[order]]
        return means_without_each(later, of_block)
    if by_job := {**MEANS, **OF_PROMISES}.get(metric):
        return means_without_each(by_job(jobs), of_block)
    if metric in PERCENTILES:
        quantity, percent = PERCENTILES[metric]
        if percent == 100:
            return np.empty(0)
        return percentiles_without_each(QUANTITIES[quantity](jobs), of_block, percent)
    if metric == "aggregate_utility":  # a total, estimated from the mean of the remaining jobs
        n_valued = np.count_nonzero(~np.isnan(jobs.utility))
        return n_valued * means_without_each(jobs.utility, of_block)
    if metric != "earned_p100" and (measured := {**OF_JOBS, **OF_UTILITIES}.get(metric)):
        rest = (jobs.take(of_block != b) for b in range(of_block.max() + 1))
        return np.array([measured(some) for some in rest])
    return np.empty(0)


def _over(values: ArrayLike, by: ArrayLike) -> NDArray[np.float64]:
    """Divide; NaN where the divisor is 0."""
    values, by = np.asarray(values, np.float64), np.asarray(by, np.float64)
    return np.divide(values, by, out=np.full(values.shape, np.nan), where=by != 0)
