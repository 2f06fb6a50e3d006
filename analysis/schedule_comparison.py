"""Schedules of the same jobs side by side, paired job by job."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis import style
from analysis.clock import WEEK
from analysis.formats import is_time, metric_title
from analysis.marginals import cumulative_shares, plot_cumulative
from analysis.schedules import (
    busiest_week,
    means_over_time,
    plot_gantt,
    time_axis,
)
from workloadkit import __version__, metrics
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.experiments import measure, started_later, student_t
from workloadkit.provenance import plain
from workloadkit.simulate import Schedule
from workloadkit.simulate.measures import MEANS, OF_JOBS, PERCENTILES, QUANTITIES, Served

#: What a comparison measures unless told otherwise.
MEASURED = (
    *("mean_wait", "wait_p50", "wait_p98", "mean_slowdown", "mean_bounded_slowdown"),
    *("utilization", "makespan"),
)

#: Metrics that are better the larger they are; all others, the smaller.
LARGER_IS_BETTER = (
    *("jobs", "utilization", "throughput_per_hour", "jain_fairness", "aggregate_utility"),
    "jobs_per_session",
)

_MOST_POINTS = 500  # of a line in a figure
_SHORT_RUN, _LONG_REQUEST = 10.0, 60.0  # what Lawson and Smirni leave out [s]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Schedules of the same jobs, by name.

    Parameters
    ----------
    schedules : mapping of str to Schedule
    reference : str
        Name of the schedule that the others are compared with.
    table : DataFrame
        By `metric`, a column for each schedule.
    differences : DataFrame
        One row for each metric and schedule but the reference: `metric`, `schedule`, `reference`
        and `value` (the metric under both), `difference`, and its interval from `low` to `high`;
        `relative`, the difference in units of the reference's value, from `relative_low` to
        `relative_high`. NaN where there is none.
    objective : Series or None
        By schedule, the weighted objective; None without weights.
    parameters : mapping of str to object
        What was chosen: metrics, weights, confidence, block.
    """

    schedules: Mapping[str, Schedule]
    reference: str
    table: pd.DataFrame
    differences: pd.DataFrame
    objective: pd.Series | None
    parameters: Mapping[str, Any]

    def pair(self, column: str) -> pd.DataFrame:
        """Return a column of `Schedule.jobs` under each schedule, one row a job.

        Parameters
        ----------
        column : str

        Returns
        -------
        DataFrame
            By `job`, in the order of (submit, job number); a column for each schedule.
        """
        values = {
            name: schedule.jobs[column].to_numpy()[_order(schedule)]
            for name, schedule in self.schedules.items()
        }
        first = self.schedules[self.reference]
        index = pd.Index(first.workload.job[_order(first)], name="job")
        return pd.DataFrame(values, index=index)

    @cached_property
    def contributions(self) -> pd.DataFrame:
        """What each metric adds to the objective: by metric, a column for each schedule.

        Raises
        ------
        ParameterError
            Without weights.
        """
        weights = self.parameters["weights"]
        if not weights:
            raise ParameterError("weights say what the objective is made of; there are none")
        return _contributions(self.table, weights, self.reference)

    @property
    def provenance(self) -> dict[str, Any]:
        """What made it: the version, what was chosen, and what made each schedule."""
        return {
            "workloadkit": __version__,
            "parameters": plain({"reference": self.reference, **self.parameters}),
            "schedules": {name: s.provenance for name, s in self.schedules.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return metrics by schedule, differences, objective and provenance, ready for JSON."""
        result: dict[str, Any] = {
            "metrics": self.table.to_dict(),
            "differences": self.differences.to_dict("records"),
        }
        if self.objective is not None:
            result["objective"] = self.objective.to_dict()
        return plain({**result, "provenance": self.provenance})


def compare_schedules(
    *schedules: Schedule | Mapping[str, Schedule],
    metrics: Sequence[str] = MEASURED,
    weights: Mapping[str, float] | None = None,
    reference: str | None = None,
    confidence: float = 0.95,
    block: float = WEEK,
) -> Comparison:
    """Set schedules of the same jobs side by side, paired job by job.

    Where they were made on machines of different sizes, or jobs that outlive their estimates were
    dealt with in different ways, differences are not the schedulers' alone, and a warning says so.

    Parameters
    ----------
    *schedules : Schedule, or one mapping of str to Schedule
        Without names they are called by their schedulers, and by whatever else they differ in.
    metrics : sequence of str
        Names of `Schedule.describe`, and `later_than_fcfs`.
    weights : mapping of str to float, optional
        Weights of metrics in the objective. Each metric is divided by that of the reference (where
        more is better, as of the utilization, the reference's is divided by it), and the objective
        is the weighted mean of these ratios: less is better, the reference has 1.
    reference : str, optional
        Name of the schedule to compare the others with; by default the first.
    confidence : float, default 0.95
        Of the intervals of the differences.
    block : float, default one week
        Jobs submitted in the same such time are left out together, see the notes. [s]

    Returns
    -------
    Comparison

    Raises
    ------
    WorkloadError
        If the schedules are not of the same jobs, or do not count the same.
    ParameterError
        For metrics, names, weights or values that cannot be.

    Notes
    -----
    What jobs near in time got is alike, so jobs are not independent. The interval of a difference
    is that of the jackknife [1]_ over blocks of time [2]_: it is measured again without the jobs of
    each week in turn, the same under both schedules, and how it varies gives the standard error;
    Student's t with one degree of freedom less than there are weeks makes it an interval. For means
    over jobs this is the difference of job-by-job pairs, with weeks as clusters. Weeks are taken
    for independent: with queues that last for weeks, take longer blocks. Less than two blocks,
    maxima, and what is measured of the schedule as a whole (utilization, makespan, queue length)
    have no interval.

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
    """
    named = _named(schedules)
    names = list(named)
    reference = names[0] if reference is None else reference
    if reference not in named:
        raise ParameterError(f"reference is {reference!r}; known: {', '.join(names)}")
    weights = _checked(weights)
    chosen = list(dict.fromkeys([*metrics, *weights]))
    if not chosen:
        raise ParameterError("metrics: none to compare by")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence:g}; it lies between 0 and 1")
    if not 0 < block < np.inf:
        raise ParameterError(f"block is {block} s; it must be positive")
    _check_same_jobs(named)
    _warn_of_other_rules(named)
    table = pd.DataFrame(
        {name: [measure(s, metric) for metric in chosen] for name, s in named.items()},
        index=pd.Index(chosen, name="metric"),
    )
    rows = []
    for metric in chosen:
        left_out = {name: _without_each(s, metric, block) for name, s in named.items()}
        for name in names:
            if name == reference:
                continue
            values = {"reference": table.at[metric, reference], "value": table.at[metric, name]}
            difference = values["value"] - values["reference"]
            half = _jackknifed(left_out[name] - left_out[reference], confidence)
            row = {"metric": metric, "schedule": name, **values, "difference": difference}
            row |= {"low": difference - half, "high": difference + half}
            relative = float(_over(difference, values["reference"]))
            half = _jackknifed(_over(left_out[name], left_out[reference]), confidence)
            row |= {"relative": relative}
            rows.append(row | {"relative_low": relative - half, "relative_high": relative + half})
    objective = _contributions(table, weights, reference).sum() if weights else None
    return Comparison(
        named,
        reference,
        table,
        pd.DataFrame(rows),
        objective,
        {"metrics": chosen, "weights": dict(weights), "confidence": confidence, "block": block},
    )


@dataclass(frozen=True, eq=False)
class SlowdownRatio:
    """Lawson and Smirni's slowdown ratio of a schedule and another.

    Parameters
    ----------
    mean, low, high : float
        Mean over the jobs, and its interval; positive where the other schedule is the better.
    weeks : DataFrame
        By `week`, from the first submission: `begin` [s], `jobs`, and the `mean` of those
        submitted in it, NaN where there are none.
    left_out : int
        Jobs that ran less than 10 s and requested more than 60 s, which do not count.
    """

    mean: float
    low: float
    high: float
    weeks: pd.DataFrame
    left_out: int


def slowdown_ratio(first: Schedule, other: Schedule, *, confidence: float = 0.95) -> SlowdownRatio:
    """Measure how much better another schedule serves the same jobs, by Lawson and Smirni [1]_.

    Job by job R = (s1 - s) / min(s1, s), s = 1 + wait / max(10 s, run); then the mean.

    Parameters
    ----------
    first, other : Schedule
        Of the same jobs.
    confidence : float, default 0.95
        Of the interval, which is that of `compare_schedules`: weeks are taken for independent.

    Returns
    -------
    SlowdownRatio

    Notes
    -----
    The source's snapshots of a week are those of the jobs submitted in it, which are the same under
    both schedules; the source does not say whether it counts by submission or by end.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report
       TR-05-01, University of Richmond, 2005, section 2.2.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> jobs = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> log = Trace.from_columns(jobs)
    >>> ratio = slowdown_ratio(*(simulate(log, name, procs=4) for name in ("fcfs", "easy")))
    >>> round(ratio.mean, 3)  # the last job waits 18 s or not at all
    0.6
    """
    _check_same_jobs({"the first": first, "the other": other})
    one, two = _served(first), _served(other)
    ratio = metrics.slowdown_ratio(
        metrics.lawson_slowdown(one.wait, one.run), metrics.lawson_slowdown(two.wait, two.run)
    )
    left_out = (one.run < _SHORT_RUN) & (one.requested_time > _LONG_REQUEST)
    ratio, submit = ratio[~left_out], one.submit[~left_out]
    week = ((submit - one.submit[0]) // WEEK).astype(np.int64)
    n_weeks = int((one.submit[-1] - one.submit[0]) // WEEK) + 1
    jobs, total = np.bincount(week, minlength=n_weeks), np.bincount(week, ratio, n_weeks)
    weeks = pd.DataFrame(
        {
            "begin": one.submit[0] + WEEK * np.arange(n_weeks),
            "jobs": jobs,
            "mean": np.divide(total, jobs, out=np.full(n_weeks, np.nan), where=jobs > 0),
        },
        index=pd.RangeIndex(n_weeks, name="week"),
    )
    mean = float(ratio.mean()) if ratio.size else np.nan
    _, block = np.unique(week, return_inverse=True)
    half = _jackknifed(_means_without_each(ratio, block), confidence)
    return SlowdownRatio(mean, mean - half, mean + half, weeks, int(left_out.sum()))


def plot_slowdown_ratio(ratio: SlowdownRatio, ax: Axes | None = None) -> Axes:
    """Plot the slowdown ratio of each week, with the mean over all jobs.

    Parameters
    ----------
    ratio : SlowdownRatio
    ax : Axes, optional
        By default the current ones.
    """
    ax = style.current_axes(ax)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    ax.plot(ratio.weeks.index + 1, ratio.weeks["mean"], color=style.BLUE, label="each week")
    ax.axhline(ratio.mean, **style.LINES[5], label="mean over the jobs")
    ax.set_xlabel("week of submission")
    ax.set_ylabel("slowdown ratio R")
    style.count_axis(ax.xaxis)
    style.legend_above(ax)
    return ax


def plot_distributions(
    comparison: Comparison, quantity: str = "wait", ax: Axes | None = None
) -> Axes:
    """Plot which share of the jobs had how much of a quantity at most, under each schedule.

    Parameters
    ----------
    comparison : Comparison
    quantity : {"wait", "response", "slowdown", "bounded_slowdown", "expansion_factor"}
    ax : Axes, optional
        By default the current ones.
    """
    if quantity not in QUANTITIES:
        raise ParameterError(f"quantity is {quantity!r}; known: {', '.join(QUANTITIES)}")
    values = {name: QUANTITIES[quantity](s.served) for name, s in comparison.schedules.items()}
    label = quantity.replace("_", " ")
    times = is_time(quantity)
    return plot_cumulative(cumulative_shares(values), ax, times=times, label=label)


def plot_queue_lengths(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Plot the number of waiting jobs over time under each schedule: means of intervals.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        By default the current ones.
    """
    ax = style.current_axes(ax)
    all_of_them = list(comparison.schedules.values())
    begin = min(float(s.workload.submit[0]) for s in all_of_them)
    until = max(max(float(s.end.max()) for s in all_of_them), begin + 1)
    edges = np.linspace(begin, until, _MOST_POINTS + 1)
    when = time_axis(ax, all_of_them[0], begin, until)
    for (name, schedule), line in zip(
        comparison.schedules.items(), cycle(style.LINES), strict=False
    ):
        ax.stairs(means_over_time(schedule, edges), when(edges), baseline=None, label=name, **line)
    ax.set_xlim(*when(edges[[0, -1]]))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("waiting jobs")
    style.count_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_gantts(
    comparison: Comparison,
    ax: Axes | None = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> list[Axes]:
    """Plot the Gantt charts of the schedules side by side.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        The Axes in whose place they stand; by default the current ones.
    begin, until : float, optional
        The instants between which to look; by default the week around the longest queue of the
        reference. [s]

    Returns
    -------
    list of Axes
        One a schedule.
    """
    week = busiest_week(comparison.schedules[comparison.reference])
    begin, until = week[0] if begin is None else begin, week[1] if until is None else until
    panels = style.panels(style.current_axes(ax), len(comparison.schedules), share_y=True)
    for i, (panel, name) in enumerate(zip(panels, comparison.schedules, strict=True)):
        plot_gantt(comparison.schedules[name], panel, begin=begin, until=until)
        panel.set_title(name, loc="right", fontsize=10)
        if i:
            panel.set_ylabel("")
            panel.legend_ = None
    return panels


def plot_differences(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Plot the differences to the reference in percent of it, with their intervals.

    Metrics that are 0 under the reference are left out.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        By default the current ones.
    """
    ax = style.current_axes(ax)
    table = comparison.differences
    table = table[table["relative"].notna()]  # of nothing there are no percent
    names = [name for name in comparison.schedules if name != comparison.reference]
    shown = list(dict.fromkeys(table["metric"]))
    for i, (name, line) in enumerate(zip(names, cycle(style.LINES), strict=False)):
        rows = table[table["schedule"] == name]
        ends = [rows["relative"] - rows["relative_low"], rows["relative_high"] - rows["relative"]]
        at = np.arange(len(rows)) + 0.6 * ((i + 0.5) / len(names) - 0.5)
        ax.errorbar(
            rows["relative"], at, xerr=np.array(ends), fmt="o", markersize=4,
            color=line["color"], label=name, elinewidth=1.2, capsize=2,
        )  # fmt: skip
    ax.axvline(0, color=style.MUTED, linewidth=0.8)
    ax.set_yticks(range(len(shown)), [metric_title(metric) for metric in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"difference to {comparison.reference}")
    style.share_axis(ax.xaxis)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
    return ax


def plot_objective(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Plot the weighted objective of each schedule, and what the metrics add to it.

    Parameters
    ----------
    comparison : Comparison
        With weights.
    ax : Axes, optional
        By default the current ones.
    """
    parts = comparison.contributions
    ax = style.current_axes(ax)
    at, left = np.arange(parts.shape[1]), np.zeros(parts.shape[1])
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.PALE, style.MUTED)
    for i, (metric, values) in enumerate(parts.iterrows()):
        colour = colours[i % len(colours)]
        ax.barh(at, values, 0.6, left, color=colour, label=metric_title(str(metric)))
        left += values.to_numpy()
    ax.axvline(1, color=style.INK, linewidth=0.8, linestyle=":")
    ax.set_yticks(at, list(parts))
    ax.set_ylim(parts.shape[1] - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"objective, {comparison.reference} = 1; less is better")
    style.legend_above(ax)
    return ax


def _named(schedules: Sequence[Schedule | Mapping[str, Schedule]]) -> dict[str, Schedule]:
    """Name the schedules: by their schedulers, and by whatever else they differ in."""
    if len(schedules) == 1 and isinstance(schedules[0], Mapping):
        named = dict(schedules[0])
        given = list(named.values())
    else:
        given = list(schedules)  # type: ignore[arg-type]  # looked at below
    if len(given) < 2 or not all(isinstance(schedule, Schedule) for schedule in given):
        raise ParameterError("give two Schedules or more, or one mapping of names to Schedules")
    if isinstance(schedules[0], Mapping):
        return named
    asked = [{k: str(v) for k, v in schedule.parameters.items()} for schedule in given]
    names = [parameters.pop("scheduler") for parameters in asked]
    for key in dict.fromkeys(key for parameters in asked for key in parameters):
        if len(set(names)) < len(names) and len({p.get(key) for p in asked}) > 1:
            told = [f", {key.replace('_', ' ')} {p[key]}" if key in p else "" for p in asked]
            names = [name + more for name, more in zip(names, told, strict=True)]
    if len(set(names)) < len(names):
        raise ParameterError(f"schedules are called {', '.join(names)}; a mapping gives them names")
    return dict(zip(names, given, strict=True))


def _checked(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Refuse weights that cannot be."""
    weights = dict(weights or {})
    for metric, weight in weights.items():
        if not 0 <= weight < np.inf:
            raise ParameterError(f"weight of {metric} is {weight}; it cannot be negative")
    if weights and not sum(weights.values()) > 0:
        raise ParameterError("weights: one at least must be larger than 0")
    return weights


def _contributions(
    table: pd.DataFrame, weights: Mapping[str, float], reference: str
) -> pd.DataFrame:
    """Return what each metric adds to the objective."""
    rows = {}
    for metric, weight in weights.items():
        values = table.loc[metric]
        inverse = metric in LARGER_IS_BETTER
        over, under = (values[reference], values) if inverse else (values, values[reference])
        ratio = over / under
        if not np.isfinite(ratio).all():
            raise ParameterError(
                f"{metric} is {', '.join(f'{x:g}' for x in values)}; it cannot be weighed by ratios"
            )
        rows[metric] = ratio * weight / sum(weights.values())
    return pd.DataFrame(rows).T.rename_axis("metric")


def _order(schedule: Schedule) -> NDArray[np.intp]:
    """Order of (submit, job number, place in the log), which is the same in every schedule."""
    w = schedule.workload
    return np.lexsort((w.row, w.job, w.submit))


def _served(schedule: Schedule) -> Served:
    """Return the jobs that count, in that order."""
    order = _order(schedule)
    place = np.cumsum(schedule.counted) - 1  # of each job among those that count
    return schedule.served.take(place[order[schedule.counted[order]]])


def _check_same_jobs(named: Mapping[str, Schedule]) -> None:
    """Refuse schedules that are not of the same jobs, or do not count the same."""
    (name, first), *others = named.items()
    mine = _order(first)
    for other_name, other in others:
        theirs = _order(other)
        who = f"{name} and {other_name} are not of the same jobs: "
        if mine.size != theirs.size:
            raise WorkloadError(f"{who}{mine.size:,} and {theirs.size:,}")
        for what, unit in (("job", ""), ("submit", " s"), ("procs", " processors")):
            one, two = getattr(first.workload, what)[mine], getattr(other.workload, what)[theirs]
            if (differs := one != two).any():
                i = int(np.argmax(differs))
                job = "" if what == "job" else f", of job {first.workload.job[mine[i]]}"
                raise WorkloadError(f"{who}{what} {one[i]}{unit} and {two[i]}{unit}{job}")
        if (first.counted[mine] != other.counted[theirs]).any():
            raise WorkloadError(
                f"{name} and {other_name} do not count the same jobs: warm-up or cool-down differ"
            )


def _warn_of_other_rules(named: Mapping[str, Schedule]) -> None:
    """Say where schedules differ by more than their schedulers."""
    for rule, what in (("procs", "machines of different sizes"), ("overrun", "different overruns")):
        rules = {n: s.parameters[rule] for n, s in named.items() if rule in s.parameters}
        if len(set(rules.values())) > 1:
            shown = ", ".join(f"{name} with {rule} {value}" for name, value in rules.items())
            warnings.warn(
                f"the schedules compared are of {what}: {shown}", WorkloadWarning, stacklevel=3
            )


def _without_each(schedule: Schedule, metric: str, block: float) -> NDArray[np.float64]:
    """Measure again without the jobs of each block of time; empty where that makes no sense."""
    jobs = _served(schedule)
    _, of_block = np.unique((jobs.submit - jobs.submit[0]) // block, return_inverse=True)
    if of_block.max() == 0:
        return np.empty(0)
    if metric == "later_than_fcfs":
        order = _order(schedule)
        later = started_later(schedule)[order][schedule.counted[order]]
        return _means_without_each(later, of_block)
    if metric in MEANS:
        return _means_without_each(MEANS[metric](jobs), of_block)
    if metric in PERCENTILES:
        quantity, percent = PERCENTILES[metric]
        if percent == 100:
            return np.empty(0)
        return _percentiles_without_each(QUANTITIES[quantity](jobs), of_block, percent)
    if metric in OF_JOBS:
        rest = (jobs.take(of_block != b) for b in range(of_block.max() + 1))
        return np.array([OF_JOBS[metric](some) for some in rest])
    return np.empty(0)


def _over(values: ArrayLike, by: ArrayLike) -> NDArray[np.float64]:
    """Divide; NaN where there is nothing to divide by."""
    values, by = np.asarray(values, np.float64), np.asarray(by, np.float64)
    return np.divide(values, by, out=np.full(values.shape, np.nan), where=by != 0)


def _means_without_each(values: NDArray, block: NDArray[np.integer]) -> NDArray[np.float64]:
    """Means of the values without those of each block; NaN values do not count."""
    known = ~np.isnan(np.asarray(values, dtype=np.float64))
    total, number = np.bincount(block, np.where(known, values, 0)), np.bincount(block, known)
    rest = number.sum() - number
    return np.divide(total.sum() - total, rest, out=np.full(rest.size, np.nan), where=rest > 0)


def _percentiles_without_each(
    values: NDArray, block: NDArray[np.integer], percent: int
) -> NDArray[np.float64]:
    """Percentiles of the values without those of each block."""
    ascending = np.argsort(values, kind="stable")
    result = []
    for places in _members(block[ascending]):
        place = metrics.rank(values.size - places.size, percent) - 1
        # so many of the block's own values lie below: the others move down by as many
        below = np.searchsorted(places - np.arange(places.size), place, side="right")
        result.append(float(values[ascending[place + below]]))
    return np.array(result)


def _members(block: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """Places of each block's members, ascending."""
    order = np.argsort(block, kind="stable")
    return np.split(order, np.cumsum(np.bincount(block))[:-1])


def _jackknifed(values: NDArray[np.float64], confidence: float) -> float:
    """Half of the interval of what was measured without each of so many blocks."""
    n = values.size
    if n < 2:
        return np.nan
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    return student_t(confidence, n - 1) * float(error)
