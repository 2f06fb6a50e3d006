"""Utility of jobs over time, and the share of it that schedules earn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import count, duration, number, share
from workloadkit.analysis.section import Figure, Section, facts
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.trace import Trace, check_trace
from workloadkit.utility import Utilities, pack, start_value, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.simulation import Schedule

_STEPS = 200  # time steps of a drawn function
_SHOWN = 4  # jobs drawn by default
_MOST = 500  # steps of a drawn curve
_ALL = "mean of all jobs"


def utility_shapes(trace: Trace, jobs: ArrayLike | None = None) -> pd.DataFrame:
    """Sample utility functions of jobs, and their mean, from submission to deadline.

    The deadline is the time of the last point of a utility function: beyond it, utility is 0.

    Parameters
    ----------
    jobs : array_like of int, optional
        Numbers of the jobs; by default four, spread evenly from the shortest to the longest
        deadline.

    Returns
    -------
    DataFrame
        By `time`, relative to the deadline, from 0 to 1: the utility relative to the start value,
        of each job and the mean of all jobs. Jobs with a start value or deadline of 0 are left out.

    Raises
    ------
    WorkloadError
        If no job has a decreasing utility function.
    ParameterError
        If a requested job has none.

    Examples
    --------
    >>> points = pd.DataFrame({"row": [0, 0, 1, 1], "time": [0, 9] * 2, "value": [4, 0, 5, 5.0]})
    >>> log = Trace.from_columns({"submit": [0, 1], "job": [7, 8]})
    >>> from dataclasses import replace
    >>> shapes = utility_shapes(replace(log, utility=points), [7])
    >>> shapes.loc[[0, 0.5, 1]].reset_index().to_numpy().tolist()
    [[0.0, 1.0, 1.0], [0.5, 0.75, 0.5], [1.0, 0.5, 0.0]]
    """
    check_trace(trace)
    utilities = pack(trace.utility, trace.n_jobs)
    start, last = start_value(utilities), deadlines(utilities)
    chosen = np.flatnonzero((start > 0) & (last > 0))  # NaN is neither
    if not chosen.size:
        raise WorkloadError(f"{trace.name}: no job has a utility function to draw")
    if jobs is None:
        order = chosen[np.argsort(last[chosen], kind="stable")]
        places = np.linspace(0, order.size - 1, min(_SHOWN, order.size)).round().astype(np.int64)
        shown = order[places]
    else:
        number = trace.column("job")
        requested = np.atleast_1d(np.asarray(jobs))
        known = number[chosen].tolist()
        for job in requested.tolist():
            if job not in known:
                raise ParameterError("jobs", f": job {job} has no utility function to draw")
        shown = np.array([chosen[known.index(job)] for job in requested.tolist()])
    # job numbers may repeat in a log; column names must be unique
    shown = shown[np.sort(np.unique(trace.column("job")[shown], return_index=True)[1])]
    functions, worth, length = utilities.take(chosen), start[chosen], last[chosen]
    place = np.searchsorted(chosen, shown)
    rows = []
    for part in (times := np.linspace(0, 1, _STEPS + 1)):
        shares = value(functions, part * length) / worth
        rows.append([shares.mean(), *shares[place]])
    names = [f"job {number}" for number in trace.column("job")[shown].tolist()]
    return pd.DataFrame(rows, columns=[_ALL, *names], index=pd.Index(times, name="time"))


def deadlines(utilities: Utilities) -> NDArray[np.float64]:
    """Return the time of the last point of each utility function, NaN without one. [s]."""
    last = np.full(utilities.first.size - 1, np.nan)
    last[utilities.known] = utilities.time[utilities.first[1:][utilities.known] - 1]
    return last


def plot_utilities(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw utility functions.

    Parameters
    ----------
    data : DataFrame
        Result of `utility_shapes`.
    """
    ax = style.current_axes(ax)
    ax.fill_between(data.index, data[_ALL], color=style.PALE, linewidth=0, label=_ALL)
    for name, line in zip(data.columns.drop(_ALL), style.LINES, strict=False):
        ax.plot(data.index, data[name], label=name, **{**line, "linewidth": 1.2})
    return label_decay(ax)


def label_decay(ax: "Axes") -> "Axes":
    """Label the axes of utility over time, both as shares."""
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("time since the submission, as a share of the deadline")
    ax.set_ylabel("share of the start value")
    style.share_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def earned_shares(schedule: "Schedule") -> pd.DataFrame:
    """Sort jobs by the share of their start value that they earned, in descending order.

    Returns
    -------
    DataFrame
        One row per counted job with a start value above 0: `earned`, the share of the start value,
        descending; `jobs`, the share of the jobs that earned at least as much.

    Raises
    ------
    WorkloadError
        If there is no such job.
    """
    from workloadkit.simulation.schedule.measures import earned_percent

    percent = earned_percent(schedule.served)
    earned = np.sort(percent[~np.isnan(percent)])[::-1] / 100
    if not earned.size:
        raise WorkloadError(f"{schedule.source.name}: no counted job has a start value above 0")
    return pd.DataFrame({"earned": earned, "jobs": np.arange(1, earned.size + 1) / earned.size})


def plot_earned(schedules: "Schedule | Mapping[str, Schedule]", ax: "Axes | None" = None) -> "Axes":
    """Draw the share of jobs that earned at least a given share of their start value.

    Parameters
    ----------
    schedules : Schedule, or mapping of str to Schedule
    """
    ax = style.current_axes(ax)
    if not isinstance(schedules, Mapping):
        schedules = {str(schedules.parameters["scheduler"]): schedules}
    for (name, schedule), line in zip(schedules.items(), style.LINES, strict=False):
        data = earned_shares(schedule)
        if len(data) > _MOST:  # more than a figure resolves
            data = data.iloc[np.linspace(0, len(data) - 1, _MOST).round().astype(np.int64)]
        ax.stairs(data["earned"], np.append(0, data["jobs"]), baseline=None, label=name, **line)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("share of the jobs, highest utility first")
    ax.set_ylabel("share of the start value earned")
    style.share_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def section(trace: Trace) -> Section | None:
    """Report the utility of jobs; None for a log without utility functions."""
    if not len(trace.utility):
        return None
    utilities = pack(trace.utility, trace.n_jobs)
    start, last = (x[utilities.known] for x in (start_value(utilities), deadlines(utilities)))
    names = {25: "25th percentile", 50: "median", 75: "75th percentile"}
    names |= {98: "98th percentile", 100: "maximum"}
    rows: dict[str, tuple[object, str]] = {
        "jobs with a utility function": (start.size, count(start.size)),
        "jobs without one": (trace.n_jobs - start.size, count(trace.n_jobs - start.size)),
        "jobs with a start value of 0": (int((start == 0).sum()), count(int((start == 0).sum()))),
        "sum of the start values": (float(start.sum()), number(float(start.sum()))),
    }
    for percent in (50, 98, 100):
        at = metrics.percentile(start, percent)
        rows[f"start value, {names[percent]}"] = (at, number(at))
    for percent in (25, 50, 75, 100):
        at = metrics.percentile(last, percent)
        rows[f"deadline, {names[percent]}"] = (at, duration(at))
    values = {
        "n_jobs": int(start.size),
        "start_value": float(start.sum()),
        "median_start_value": metrics.percentile(start, 50),
        "median_deadline": metrics.percentile(last, 50),
    }
    finding = (
        f"{plural(start.size, 'job')} ({share(start.size / trace.n_jobs)}) have utility functions; "
        f"the median deadline is {duration(values['median_deadline'])}."
    )
    tables = (facts("summary", "Start values and deadlines of the utility functions.", rows),)
    figures: tuple[Figure, ...] = ()
    if ((start > 0) & (last > 0)).any():
        caption = (
            "Utility over time of single jobs, from a short to a long deadline, and the mean of "
            "all jobs, relative to start value and deadline."
        )
        shapes = utility_shapes(trace)
        figures = (Figure("shapes", "Utility functions", caption, shapes, plot_utilities),)
    return Section("utilities", "Utility of the jobs", finding, (), values, tables, figures)
