"""Gantt charts of schedules: which processors serve each job, and when."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.formats import duration
from workloadkit.analysis.schedules.measures import (
    busiest_week,
    plot_queue_length,
    time_axis,
    utilization_over_time,
    window_of,
)
from workloadkit.clock import equal_parts
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.metrics import use_over_time
from workloadkit.simulation import Schedule, simulate
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = {"started immediately": style.BLUE, "waited": style.ORANGE}  # colours of the bars

When = Callable[[NDArray], NDArray]  # from times of the log to places on the axis

#: Bars in a chart; of more, the shares in use are drawn.
MOST_BARS = 2000

_MOST_LINES = 200  # between nodes
_INTERVALS = 168  # of the load: hours of a week
_CELLS = (60, 360)  # of these shares: processors, time


def gantt(
    schedule: Schedule | Trace, *, begin: float | None = None, until: float | None = None
) -> pd.DataFrame:
    """Assign the jobs that run in an interval to processors, for a Gantt chart.

    Schedules do not record processors: each job gets the lowest free ones at its start, on a
    machine of nodes those of its nodes. The processors of node 1 come first, then those of node 2.

    Parameters
    ----------
    schedule : Schedule or Trace
        Of a log, its recorded schedule.
    begin, until : float, optional
        The interval; by default the whole schedule. [s]

    Returns
    -------
    DataFrame
        One row per range of adjacent processors of a job, in the order of starts:
        `job`, `start`, `end`, `wait` [s], `first` (its lowest processor, from 0) and `procs`.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> bars = gantt(simulate(trace, "easy", procs=4))
    >>> bars[["job", "start", "first", "procs"]].to_numpy().tolist()
    [[1, 0, 0, 3], [3, 2, 3, 1], [2, 10, 0, 4]]
    """
    schedule = _recorded(schedule)
    w, start, end = schedule.workload, schedule.start, schedule.end
    begin, until = window_of(schedule, begin, until)
    if not until > begin:
        raise ParameterError("until", f"is {until:g} s; it must be later than begin, {begin:g} s")
    seen = np.flatnonzero((start <= until) & (end >= begin))  # jobs of run time 0 at both ends, too
    on_nodes = {run.row: run.nodes for run in schedule.runs if run.nodes}
    cores = nodes_of(schedule)
    free = {node: [(first, n)] for node, (first, n) in enumerate(cores, 1)}
    free[0] = [(sum(n for _, n in cores), _most_at_once(schedule))]  # of jobs without nodes
    held: list[tuple[float, int, dict[int, _Ranges]]] = []  # a heap: end, job, its processors
    rows = []
    # a job of run time 0 frees its processors within the second, so it comes before longer ones
    for i in seen[np.lexsort((w.job[seen], end[seen] > start[seen], start[seen]))]:
        while held and held[0][0] <= start[i]:
            for node, ranges in heappop(held)[2].items():
                free[node] = _joined(free[node] + ranges)
        taken = {}
        for node, procs in on_nodes.get(int(i), ((0, int(w.procs[i])),)):
            taken[node], free[node] = _take(free[node], procs)
        heappush(held, (end[i], i, taken))
        parts = [part for ranges in taken.values() for part in ranges]
        rows += [(w.job[i], start[i], end[i], start[i] - w.submit[i], *part) for part in parts]
    return pd.DataFrame(rows, columns=["job", "start", "end", "wait", "first", "procs"])


def nodes_of(schedule: Schedule) -> list[tuple[int, int]]:
    """Return the first processor of each node, from 0, and its number of processors."""
    if schedule.described is None or not any(run.nodes for run in schedule.runs[:1]):
        return []
    kinds = schedule.described.description.nodes
    cores = np.repeat([kind.cores for kind in kinds], [kind.count for kind in kinds])
    return list(zip((np.cumsum(cores) - cores).tolist(), cores.tolist(), strict=True))


_Ranges = list[tuple[int, int]]  # ranges of adjacent processors, ascending: first, count


def _take(free: _Ranges, procs: int) -> tuple[_Ranges, _Ranges]:
    """Take the lowest processors; return the taken and the remaining ranges."""
    taken = []
    for place, (first, count) in enumerate(free):
        part = min(count, procs)
        taken.append((first, part))
        procs -= part
        if procs == 0:
            rest = [(first + part, count - part)] if count > part else []
            return taken, rest + free[place + 1 :]
    raise WorkloadError(
        f"the schedule needs {plural(procs, 'more processor')} than its maximum in use"
    )


def _most_at_once(schedule: Schedule) -> int:
    """Return the processors of the machine, or the most in use at once if that is more."""
    procs, for_no_time = schedule.workload.procs, schedule.workload.run == 0
    _, in_use = use_over_time(schedule.start, schedule.end, procs)
    return max(schedule.machine, int(in_use.max()) + int(procs[for_no_time].max(initial=0)))


def _joined(ranges: _Ranges) -> _Ranges:
    """Sort ranges and join adjacent ones."""
    joined: _Ranges = []
    for first, count in sorted(ranges):
        if joined and sum(joined[-1]) == first:
            joined[-1] = (joined[-1][0], joined[-1][1] + count)
        else:
            joined.append((first, count))
    return joined


def plot_gantt(
    schedule: Schedule | Trace,
    ax: "Axes | None" = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> "Axes":
    """Draw a Gantt chart: jobs over time and processors; jobs that waited have another colour.

    Of more than 2,000 jobs, the share of the time in which processors are in use is drawn.

    Parameters
    ----------
    schedule : Schedule or Trace
        Of a log, its recorded schedule.
    begin, until : float, optional
        The interval to show; by default the whole schedule. [s]

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = simulate(log, "easy", procs=4)
    >>> ax = plot_gantt(schedule, Figure().subplots())
    >>> ax.get_ylabel(), ax.get_ylim()[1].item(), len(ax.collections)
    ('processors', 4.0, 2)
    """
    ax, schedule = style.current_axes(ax), _recorded(schedule)
    begin, until = window_of(schedule, begin, until)
    bars = gantt(schedule, begin=begin, until=until)
    when = time_axis(ax, schedule, begin, until)
    top = max(schedule.machine, int((bars["first"] + bars["procs"]).max()) if len(bars) else 0)
    dense = len(bars) > MOST_BARS
    if dense:
        _draw_shares(ax, bars, when, (begin, until), top)
    else:
        _draw_bars(ax, bars, when)
    ax.set_xlim(*when(np.array([begin, until])))
    ax.set_ylim(0, top)
    nodes = nodes_of(schedule)
    if 1 < len(nodes) <= _MOST_LINES:
        ax.hlines([first for first, _ in nodes], *ax.get_xlim(), color=style.MUTED, linewidth=0.3)
    if top > schedule.machine:
        ax.axhline(schedule.machine, color=style.MUTED, linewidth=0.8)
    ax.set_ylabel("processors, by node" if nodes else "processors")
    style.count_axis(ax.yaxis)
    ax.grid(visible=False)
    keys = {"in use": style.BLUE} if dense else _KEYS
    patches = [Patch(color=colour, label=label) for label, colour in keys.items()]
    ax.legend(handles=patches, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def plot_schedule(
    schedule: Schedule | Trace,
    ax: "Axes | None" = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> "list[Axes]":
    """Draw a schedule: its Gantt chart, its queue and its utilization, one above the other.

    Parameters
    ----------
    schedule : Schedule or Trace
        Of a log, its recorded schedule.
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.
    begin, until : float, optional
        The interval to show; by default the week around the longest queue. [s]

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = simulate(log, "easy", procs=4)
    >>> axes = plot_schedule(schedule, Figure().subplots())
    >>> [ax.get_ylabel() for ax in axes]
    ['processors', 'waiting jobs', 'utilization']
    """
    schedule = _recorded(schedule)
    week = busiest_week(schedule)
    begin, until = week[0] if begin is None else begin, week[1] if until is None else until
    axes = style.panels(style.current_axes(ax), 3, rows=3)
    plot_gantt(schedule, axes[0], begin=begin, until=until)
    plot_queue_length(schedule, axes[1], begin=begin, until=until)
    edges = equal_parts(begin, until, _INTERVALS)
    used = utilization_over_time(schedule, edges=edges)["utilization"]
    when = time_axis(axes[2], schedule, begin, until)
    axes[2].stairs(used, when(edges), color=style.PALE, fill=True, label="processors in use")
    axes[2].set_ylim(0, max(1.0, float(used.max())))
    axes[2].set_ylabel("utilization")
    style.share_axis(axes[2].yaxis)
    for panel in axes[:-1]:
        panel.set_xlabel("")
    for panel in axes[1:]:
        panel.set_xlim(axes[0].get_xlim())
    return axes


def _draw_bars(ax: "Axes", bars: pd.DataFrame, when: When) -> None:
    """Draw a rectangle for each range of processors of a job."""
    waited = bars["wait"].to_numpy() > 0
    bars = bars.assign(all_procs=bars.groupby(["job", "start"])["procs"].transform("sum"))
    for (name, colour), these in zip(_KEYS.items(), (~waited, waited), strict=True):
        some = bars[these]
        if some.empty:
            continue
        left, right = when(some["start"].to_numpy()), when(some["end"].to_numpy())
        low = some["first"].to_numpy()
        high = low + some["procs"].to_numpy()
        x, y = (np.stack(ends, axis=1) for ends in ((left, left, right, right), (low, high) * 2))
        y[:, 2:] = y[:, [1, 0]]
        drawn = PolyCollection(
            list(np.stack([x, y], axis=2)), facecolors=colour, edgecolors="white", linewidths=0.3
        )
        drawn.set_label(name)
        style.label_each(drawn, [_of_bar(bar) for bar in some.itertuples()])
        ax.add_collection(drawn)


def _of_bar(bar: Any) -> str:
    wait = f"waited {duration(bar.wait)}" if bar.wait > 0 else "did not wait"
    procs = plural(bar.all_procs, "processor")
    here = f" ({bar.procs} here)" if bar.procs < bar.all_procs else ""
    return f"job {bar.job}, {procs}{here}, {wait}, ran {duration(bar.end - bar.start)}"


def _draw_shares(
    ax: "Axes", bars: pd.DataFrame, when: When, interval: tuple[float, float], top: int
) -> None:
    """Draw the shares in use as an image, transparent where processors are free."""
    shares = busy_shares(bars, interval, top, (min(_CELLS[0], top), _CELLS[1]))
    image = np.broadcast_to(to_rgba(style.BLUE), (*shares.shape, 4)).copy()
    image[..., 3] = shares
    left, right = when(np.array(interval))
    drawn = ax.imshow(image, extent=(left, right, 0, top), origin="lower", aspect="auto")
    drawn.set_label("in use")


def busy_shares(
    bars: pd.DataFrame, interval: tuple[float, float], top: int, cells: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the share of each cell of processors and time that bars of a Gantt chart cover.

    Parameters
    ----------
    bars : DataFrame
        As returned by `gantt`.
    interval : (float, float)
        Begin and end. [s]
    top : int
        Number of processors.
    cells : (int, int)
        Cells of processors, and of time.

    Returns
    -------
    ndarray of float, shape `cells`

    Examples
    --------
    >>> bars = pd.DataFrame({"start": [0], "end": [15], "first": [1], "procs": [2]})
    >>> busy_shares(bars, (0, 20), 4, (2, 2)).tolist()
    [[0.5, 0.25], [0.5, 0.25]]
    """
    found = np.zeros(cells)
    rows, columns = np.linspace(0, top, cells[0] + 1), np.linspace(*interval, cells[1] + 1)
    for bar in bars.itertuples():
        high, share = _covered(rows, bar.first, bar.first + bar.procs)
        wide, lasts = _covered(columns, bar.start, bar.end)
        found[high, wide] += np.outer(share, lasts)
    return np.minimum(found, 1.0)


def _covered(edges: NDArray, low: float, high: float) -> tuple[slice, NDArray[np.float64]]:
    """Return the intervals between edges that a range meets, and the covered share of each."""
    first = max(int(np.searchsorted(edges, low, side="right")) - 1, 0)
    last = max(int(np.searchsorted(edges, high, side="left")), first)
    met = edges[first : last + 1]
    covered = np.diff(np.clip(met, low, high)) / np.diff(met)
    return slice(first, first + covered.size), covered


def _recorded(schedule: Schedule | Trace) -> Schedule:
    """Return a schedule as it is, and the recorded schedule of a log."""
    return simulate(schedule, "recorded") if isinstance(schedule, Trace) else schedule
