"""Intervals before and after the start of a job, and waits over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.clock import DAY, Clock, enclosing, interval_of
from workloadkit.errors import ParameterError, WorkloadError, check_choice, check_count
from workloadkit.executions import executions_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Groupings of jobs; SWF has no field for accounts and qualities of service.
By = Literal["partition", "account", "user", "queue", "qos"]

#: Lengths of a period.
Period = Literal["day", "week", "month"]

#: Intervals of a wait.
Interval = Literal["submit_to_start", "submit_to_eligible", "eligible_to_start"]

#: Name of the combined small groups.
OTHERS = "others"

#: A percentile is measured if at least so many values exceed it: below, single jobs decide it.
FEWEST_BEYOND = 5

_SHORT, _LONG = 28 * DAY, 182 * DAY


def wait_intervals(trace: Trace) -> pd.DataFrame:
    """Return the intervals of each job: held, eligible, running.

    A job becomes eligible when only other jobs keep it from starting: before, it depends on another
    job, is held, or has a later begin time. Only the side-car of an imported log has this time.

    Returns
    -------
    DataFrame
        One row per job of `trace.jobs` [s]: `submit_to_start`, the wait, which is the sum of
        `submit_to_eligible` and `eligible_to_start`; `start_to_end`, including suspension. Unknown
        intervals, and all intervals of a job that never started, are NaN. Eligible times before
        the submission or after the start are moved to it. Of a requeued job, the intervals are
        those of the attempt with which it ended.

    Examples
    --------
    >>> from dataclasses import replace
    >>> log = Trace.from_columns({"submit": [0], "wait": [90], "run": [60], "procs": [1]})
    >>> sidecar = pd.DataFrame({"submit": [100], "eligible": [130], "start": [190], "end": [250]})
    >>> wait_intervals(replace(log, sidecar=sidecar)).iloc[0].to_dict()
    {'submit_to_start': 90.0, 'submit_to_eligible': 30.0, 'eligible_to_start': 60.0,
     'start_to_end': 60.0}
    """
    check_trace(trace)
    sidecar = trace.sidecar
    if sidecar is None or not {"submit", "eligible", "start", "end"} <= set(sidecar):
        # in SWF, the wait of a job that never ran is the time until its cancellation
        wait = np.where(trace.ran, trace.column("wait"), np.nan)
        run = np.where(trace.ran, trace.column("run"), np.nan)
        held = waited = np.full(trace.n_jobs, np.nan)
    else:
        submit, eligible, start, end = (
            sidecar[name].to_numpy(dtype=np.float64)
            for name in ("submit", "eligible", "start", "end")
        )
        submit, start = _of_last_attempt(trace, submit, start)
        wait, run = start - submit, end - start
        held = np.clip(eligible - submit, 0, np.maximum(wait, 0))
        waited = wait - held
        if "submit_by" in sidecar:  # some submissions are unknown
            waited = np.where(sidecar["submit_by"] == "eligible", start - eligible, waited)
    columns = {
        "submit_to_start": wait,
        "submit_to_eligible": held,
        "eligible_to_start": waited,
        "start_to_end": run,
    }
    return pd.DataFrame(columns, copy=False)


def _of_last_attempt(
    trace: Trace, submit: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return submissions and starts, of requeued jobs those of the attempt that ended."""
    executions = executions_of(trace)
    if executions.empty or trace.header.start is None:
        return submit, start
    first = executions[executions["last"]].groupby("row").first()
    rows = first.index.to_numpy()
    submit, start = submit.copy(), start.copy()
    known = ~np.isnan(submit[rows])  # else the log has another time in its place
    submit[rows] = np.where(known, first["submit"] + trace.header.start, np.nan)
    start[rows] = first["start"] + trace.header.start
    return submit, start


def names_of(trace: Trace, by: str) -> pd.Categorical:
    """Return the group of each job: names if known, else numbers; code -1 is unknown.

    Raises
    ------
    ParameterError
    WorkloadError
        If the log has no such groups.
    """
    check_choice("by", by, By)
    return trace.names(by)


def waits_over_time(
    trace: Trace,
    by: By = "partition",
    percentiles: Sequence[int] = (50, 90, 99),
    *,
    interval: Interval = "submit_to_start",
    period: Period | None = None,
    largest: int | None = None,
) -> pd.DataFrame:
    """Measure waits by group of jobs and time of submission.

    Parameters
    ----------
    trace : Trace
        Jobs with an unknown wait, and jobs that never started, are left out.
    by : {"partition", "account", "user", "queue", "qos"}
        Grouping; jobs of unknown groups are left out.
    percentiles : sequence of int, default (50, 90, 99)
        Nearest-rank percentiles, see `workloadkit.metrics.percentile`.
    interval : {"submit_to_start", "submit_to_eligible", "eligible_to_start"}
        See `wait_intervals`.
    period : {"day", "week", "month"}, optional
        Local time is used if known; otherwise a month is 30 days, counted from second 0. By default
        days for a log of up to four weeks, months for half a year or more, and weeks in between.
    largest : int, optional
        Number of separate groups, those with the most jobs; the others are combined as `OTHERS`.

    Returns
    -------
    DataFrame
        One row per period and group with submissions in it, ordered by time and number of jobs:
        `begin` and `end` of the period [s], `date` of its beginning if local time is known, `name`,
        `jobs`, and the `mean`, `p50`, … of their waits [s].

    Raises
    ------
    ParameterError
    WorkloadError
        If no job has both a known wait and a known group.

    Examples
    --------
    >>> log = {"submit": [0, 60, 99], "wait": [5, 60, 9], "run": [1] * 3, "procs": [1] * 3}
    >>> waits = waits_over_time(Trace.from_columns(log | {"queue": [1, 1, 2]}), "queue", (50,))
    >>> waits[["name", "jobs", "mean", "p50"]].to_numpy().tolist()
    [['queue 1', 2, 32.5, 32.5], ['queue 2', 1, 9.0, 9.0]]
    """
    check_trace(trace)
    check_choice("interval", interval, Interval)
    checked = [check_count("percentiles", percent, least=1, most=100) for percent in percentiles]
    if period is not None:
        check_choice("period", period, Period)
    if largest is not None:
        largest = check_count("largest", largest, least=1)
    waits = wait_intervals(trace)[interval].to_numpy()
    return grouped_waits(trace, waits, by, checked, period=period, largest=largest)


def grouped_waits(
    trace: Trace,
    waits: NDArray[np.float64],
    by: By,
    percentiles: Sequence[int],
    *,
    period: Period | None,
    largest: int | None,
) -> pd.DataFrame:
    """Return `waits_over_time` of given waits [s], shape (n_jobs,); NaN is unknown."""
    names = names_of(trace, by)
    chosen = ~np.isnan(waits) & (names.codes >= 0)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job has both a known {by} and a known wait")
    submit = trace.column("submit")[chosen]
    clock = Clock.between(trace.header, submit[0] - 31 * DAY, submit[-1] + 31 * DAY)
    edges = periods(clock, submit[0], submit[-1], period or period_of(submit[-1] - submit[0]))
    code, ordered = ranked(names[chosen], largest)
    cell = interval_of(edges, submit) * len(ordered) + code
    grouped = pd.Series(waits[chosen]).groupby(cell)
    measured = grouped.agg(jobs="size", mean="mean")
    for percent in percentiles:
        measured[f"p{percent}"] = grouped.agg(metrics.percentile, percent)
    place, code = np.divmod(measured.index.to_numpy(), len(ordered))
    given = {"begin": edges[place], "end": edges[place + 1]}
    if clock.known:
        given["date"] = clock.dates(edges[place])
    given["name"] = np.array(ordered, dtype=object)[code]
    return pd.DataFrame(given).join(measured.reset_index(drop=True))


def ranked(names: pd.Categorical, largest: int | None = None) -> tuple[NDArray, list[str]]:
    """Return codes by decreasing frequency; names after the `largest` are combined as others.

    Examples
    --------
    >>> code, ordered = ranked(pd.Categorical(["b", "a", "b", "c"]), 1)
    >>> code.tolist(), ordered
    ([0, 1, 0, 1], ['b', 'others'])
    """
    jobs = np.bincount(names.codes, minlength=names.categories.size)
    order = np.argsort(-jobs, kind="stable")[: np.count_nonzero(jobs)]
    rank = np.zeros(jobs.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    ordered = [str(names.categories[i]) for i in order]
    code = rank[names.codes]
    if largest is None or len(ordered) <= largest + 1:  # a single other group keeps its name
        return code, ordered
    rest = OTHERS
    while rest in ordered:  # if a site uses this name
        rest = f"({rest})"
    return np.minimum(code, largest), [*ordered[:largest], rest]


def enough(n: ArrayLike, percent: int) -> NDArray[np.bool_]:
    """Whether a percentile of `n` values is measured: at least `FEWEST_BEYOND` exceed it.

    Examples
    --------
    >>> enough([9, 10, 49, 50], 50).tolist(), enough([9, 10, 49, 50], 90).tolist()
    ([False, True, True, True], [False, False, False, True])
    """
    return np.asarray(n) * (100 - percent) >= 100 * FEWEST_BEYOND


def period_of(length: float) -> Period:
    """Choose the length of a period for a log of some length [s]."""
    if length <= _SHORT:
        return "day"
    return "week" if length < _LONG else "month"


def periods(clock: Clock, first: float, last: float, period: str) -> NDArray[np.float64]:
    """Return the edges of the days, weeks or months that cover two seconds of a log."""
    if period != "month":
        return clock.midnights(first, last, days=7 if period == "week" else 1)
    if not clock.known:
        month = 30 * DAY
        return enclosing(month * np.floor(first / month), last, month)
    begin, end = clock.dates([first, last]).to_numpy().astype("datetime64[M]").astype(np.int64)
    months = np.arange(begin, end + 2).astype("datetime64[M]")
    local = months.astype("datetime64[s]").astype(np.int64)
    return clock.seconds(local + 3 * DAY)  # local time starts on a Monday


# Figures of waits over time.

_SHORTEST = 1.0  # a logarithmic axis has no 0 [s]


def plot_waits(data: pd.DataFrame, ax: "Axes | None" = None, *, percent: int = 90) -> "Axes":
    """Draw a percentile of waits over time, one line per group.

    Periods in which too few waits exceed the percentile are left out, see `enough`.

    Parameters
    ----------
    data : DataFrame
        Result of `waits_over_time` with this percentile.
    percent : int, default 90

    Raises
    ------
    ParameterError
        If the data have no such percentile.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> log = {"submit": range(0, 3000, 60), "wait": [60] * 50, "run": [1] * 50, "procs": [1] * 50}
    >>> data = waits_over_time(Trace.from_columns(log | {"queue": [1] * 50}), "queue", (50,))
    >>> ax = plot_waits(data, Figure().subplots(), percent=50)
    >>> ax.get_ylabel(), len(ax.lines)
    ('median wait', 1)
    """
    column = f"p{percent}"
    if column not in data:
        raise ParameterError(f"percent is {percent}, but the data have no {column}")
    ax = style.current_axes(ax)
    each = data.drop_duplicates("begin").set_index("begin").sort_index()
    half = (each["end"] - each.index).to_numpy() / 2 / DAY
    if "date" in each:
        from matplotlib.dates import date2num

        place = date2num(each["date"].to_numpy()) + half
    else:
        place = each.index.to_numpy() / DAY + half
    names = data.groupby("name", sort=False)["jobs"].sum().sort_values(ascending=False)
    order = [name for name in names.index if name != OTHERS]
    order += [OTHERS] * (OTHERS in names.index)
    for name, line in zip(order, style.LINES, strict=False):
        of_it = data[(data["name"] == name) & enough(data["jobs"], percent)]
        waits = of_it.set_index("begin")[column].reindex(each.index)
        shown = np.maximum(waits.to_numpy(), _SHORTEST)
        ax.plot(
            place,
            shown,
            label=style.label(name),
            marker="o",
            markersize=2.5,
            clip_on=False,
            **{**line, "linewidth": 1.2},
        )
    style.time_axis(ax.yaxis)
    style.headroom(ax)
    ax.set_ylabel("median wait" if percent == 50 else f"wait, {percent}th percentile")
    ax.margins(x=0.02)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax
