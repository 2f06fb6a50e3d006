"""What a schedule looks like: who ran where and when, and how long the queue was."""

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np
import pandas as pd
from matplotlib import dates as mdates
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from numpy.typing import NDArray

from analysis import style
from analysis.clock import DAY, WEEK, Clock
from analysis.formats import duration
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulate import Schedule

_MOST_STEPS = 2000  # more steps than a figure can show become intervals


def queue_length(schedule: Schedule) -> pd.DataFrame:
    """Count the waiting jobs over time.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    DataFrame
        `time` [s], when it changes, ascending; `waiting`, the jobs that wait from then on.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [4, 4, 4]})
    >>> queue_length(simulate(trace, "fcfs", procs=4)).to_numpy().tolist()
    [[0, 0], [1, 1], [2, 2], [10, 1], [20, 0]]
    """
    submit, start = schedule.workload.submit, schedule.start
    time, event = np.unique(np.concatenate([submit, start]), return_inverse=True)
    change = np.where(np.arange(event.size) < submit.size, 1, -1)
    steps = np.bincount(event, change, minlength=time.size)
    return pd.DataFrame({"time": time, "waiting": np.cumsum(steps).astype(np.int64)})


def gantt(
    schedule: Schedule, *, begin: float | None = None, until: float | None = None
) -> pd.DataFrame:
    """Lay the jobs that run between two instants on the processors of the machine.

    Which processors a job held is not known: each takes the lowest that are free when it starts.

    Parameters
    ----------
    schedule : Schedule
    begin, until : float, optional
        The instants; by default the whole schedule. [s]

    Returns
    -------
    DataFrame
        One row for each stretch of neighbouring processors of a job, in the order of starts:
        `job`, `start`, `end`, `wait` [s], `first` (its lowest processor, from 0) and `procs`.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> bars = gantt(simulate(trace, "easy", procs=4))
    >>> bars[["job", "start", "first", "procs"]].to_numpy().tolist()
    [[1, 0, 0, 3], [3, 2, 3, 1], [2, 10, 0, 4]]
    """
    w, start, end = schedule.workload, schedule.start, schedule.end
    begin, until = _window(schedule, begin, until)
    if not until > begin:
        raise ParameterError(f"until is {until:g} s; it must be later than begin, {begin:g} s")
    seen = np.flatnonzero((start <= until) & (end >= begin))  # jobs of run time 0 at both, too
    free: _Stretches = [(0, schedule.machine)]
    held: list[tuple[float, int, _Stretches]] = []  # a heap: end, job, its processors
    rows = []
    # a job of run time 0 gives way within its second, so it comes before those that stay
    for i in seen[np.lexsort((w.job[seen], end[seen] > start[seen], start[seen]))]:
        while held and held[0][0] <= start[i]:
            free = _joined(free + heappop(held)[2])
        taken, free = _take(free, int(w.procs[i]))
        heappush(held, (end[i], i, taken))
        rows += [(w.job[i], start[i], end[i], start[i] - w.submit[i], *part) for part in taken]
    return pd.DataFrame(rows, columns=["job", "start", "end", "wait", "first", "procs"])


_Stretches = list[tuple[int, int]]  # neighbouring processors, ascending: the first, how many


def _take(free: _Stretches, procs: int) -> tuple[_Stretches, _Stretches]:
    """Take the lowest processors; return what was taken and what is left."""
    taken = []
    for place, (first, count) in enumerate(free):
        part = min(count, procs)
        taken.append((first, part))
        procs -= part
        if procs == 0:
            rest = [(first + part, count - part)] if count > part else []
            return taken, rest + free[place + 1 :]
    raise WorkloadError(f"the schedule holds {procs:,} processors more than the machine has")


def _joined(stretches: _Stretches) -> _Stretches:
    """Sort stretches and join neighbours."""
    joined: _Stretches = []
    for first, count in sorted(stretches):
        if joined and sum(joined[-1]) == first:
            joined[-1] = (joined[-1][0], joined[-1][1] + count)
        else:
            joined.append((first, count))
    return joined


def busiest_week(schedule: Schedule) -> tuple[float, float]:
    """Begin and end of the seven days around the longest queue, within the schedule. [s].

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [4, 4]})
    >>> busiest_week(simulate(trace, "fcfs", procs=4))
    (0.0, 20.0)
    """
    queue = queue_length(schedule)
    first, last = _window(schedule)
    middle = float(queue["time"].iloc[int(queue["waiting"].argmax())])
    begin = max(first, min(middle - WEEK / 2, last - WEEK))
    return begin, min(begin + WEEK, last)


def plot_queue_length(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Plot the number of waiting jobs over time.

    Where it changes more often than a figure can show, the mean and the largest number of each
    interval are drawn.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        By default the current ones.
    """
    ax = style.current_axes(ax)
    queue = queue_length(schedule)
    time, waiting = queue["time"].to_numpy(), queue["waiting"].to_numpy()
    when = _time_axis(ax, schedule, time[0], time[-1])
    if time.size <= _MOST_STEPS:
        ax.step(when(time), waiting, where="post", color=style.BLUE, label="waiting jobs")
    else:
        edges = np.linspace(time[0], time[-1], _MOST_STEPS // 4 + 1)
        mean, largest = _means_and_maxima(time, waiting, edges)
        width = duration(edges[1] - edges[0])
        ax.fill_between(
            when(edges), np.append(largest, largest[-1]), step="post", color=style.PALE,
            label=f"longest in {width}",
        )  # fmt: skip
        ax.step(
            when(edges), np.append(mean, mean[-1]), where="post", color=style.BLUE,
            label=f"mean of {width}",
        )  # fmt: skip
        style.legend_above(ax)
    ax.set_ylim(0, None if waiting.any() else 1)
    ax.set_xlim(*when(np.array(_window(schedule))))
    if not waiting.any():
        ax.text(0.5, 0.5, "no job waits", transform=ax.transAxes, ha="center", color=style.MUTED)
    ax.set_ylabel("waiting jobs")
    style.count_axis(ax.yaxis)
    return ax


def plot_gantt(
    schedule: Schedule,
    ax: Axes | None = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> Axes:
    """Plot which processors ran jobs when; jobs that waited have another colour.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        By default the current ones.
    begin, until : float, optional
        The instants between which to look; by default the whole schedule. [s]
    """
    ax = style.current_axes(ax)
    begin, until = _window(schedule, begin, until)
    bars = gantt(schedule, begin=begin, until=until)
    when = _time_axis(ax, schedule, begin, until)
    left, right = when(bars["start"].to_numpy()), when(bars["end"].to_numpy())
    low = bars["first"].to_numpy()
    high = low + bars["procs"].to_numpy()
    x, y = np.stack([left, right, right, left], axis=1), np.stack([low, low, high, high], axis=1)
    colours = np.where(bars["wait"].to_numpy() > 0, style.ORANGE, style.BLUE)
    ax.add_collection(
        PolyCollection(
            list(np.stack([x, y], axis=2)), facecolors=colours, edgecolors="white", linewidths=0.3
        )
    )
    ax.set_xlim(*when(np.array([begin, until])))
    ax.set_ylim(0, schedule.machine)
    ax.set_ylabel("processors")
    style.count_axis(ax.yaxis)
    ax.grid(visible=False)
    keys = [
        Patch(color=style.BLUE, label="started at once"),
        Patch(color=style.ORANGE, label="waited"),
    ]
    ax.legend(handles=keys, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def _window(
    schedule: Schedule, begin: float | None = None, until: float | None = None
) -> tuple[float, float]:
    """Fill in the whole schedule: from the first start to the last end, a second at the least."""
    first = float(schedule.start.min())
    last = max(float(schedule.end.max()), first + 1)
    return first if begin is None else begin, last if until is None else until


def _means_and_maxima(time: NDArray, value: NDArray, edges: NDArray) -> tuple[NDArray, NDArray]:
    """Mean over time and maximum of a step function between neighbouring edges."""
    area = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    mean = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    at = np.searchsorted(time, edges[:-1], side="right") - 1  # the step that each edge falls into
    last = np.searchsorted(time, edges[1:], side="left") - 1  # and the one that leads up to it
    return mean, np.maximum(np.maximum.reduceat(value, at), value[last])


def _time_axis(
    ax: Axes, schedule: Schedule, begin: float, until: float
) -> Callable[[NDArray], NDArray]:
    """Label the x axis with time, and return the function from seconds to its units."""
    clock = Clock.of(schedule.source)
    if clock.known and until - begin > 2 * DAY:
        style.calendar_axis(ax.xaxis)
        ax.set_xlabel(f"local time ({clock.zone})")
        return lambda time: mdates.date2num(clock.dates(time).to_numpy())
    unit, seconds = next(
        (unit, seconds)
        for unit, seconds in (("days", DAY), ("hours", 3600), ("minutes", 60), ("seconds", 1))
        if until - begin > 2 * seconds or seconds == 1
    )
    ax.set_xlabel(f"time since the log's second 0 [{unit}]")
    return lambda time: np.asarray(time) / seconds
