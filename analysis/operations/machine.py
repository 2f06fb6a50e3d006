"""Whether the machine is big enough: its use and its queue, and what more processors would do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.load.over_time import held_between
from workloadkit.analysis.operations.accounting import (
    HOUR,
    SPENT,
    accounted_executions,
    accounted_jobs,
)
from workloadkit.analysis.operations.groups import hours_between
from workloadkit.analysis.section import AnalysisResult
from workloadkit.analysis.waits.measures import enough
from workloadkit.clock import Clock
from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError, check_positive
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Percentiles of hours.
OF_HOURS = (10, 25, 50, 75, 90, 99)

#: Percentiles of the waits of a simulation.
_OF_WAITS = (50, 90, 99)

_CLASSES = 24  # of sizes, for what fits


def full_days(trace: Trace) -> pd.DataFrame:
    """Return jobs and hours of each day that lies wholly in the log's window.

    Returns
    -------
    DataFrame
        One row per local day: `begin` and `end` [s], `date` if local time is known; `jobs`
        submitted; the `core_hours`, `node_hours`, `gpu_hours` and `energy_kwh` that jobs spent in
        it, NaN if unknown; `utilization`, the processors in use as a share of the machine's, NaN if
        its size is unknown.

    Examples
    --------
    >>> from workloadkit import Header
    >>> log = {"submit": [0, 172800], "wait": [0, 0], "run": [43200, 60], "procs": [4, 1]}
    >>> header = Header(("; MaxProcs: 8",))
    >>> days = full_days(Trace.from_columns(log, header=header))
    >>> days[["jobs", "core_hours", "utilization"]].to_numpy().tolist()
    [[1.0, 48.0, 0.25], [0.0, 0.0, 0.0]]
    """
    jobs, clock, window = accounted_jobs(trace), Clock.of(trace), trace.window
    edges = clock.midnights(window.begin, window.until)
    edges = edges[(edges >= window.begin) & (edges <= window.until)]
    if edges.size < 2:
        edges = np.empty(0)
    submit = jobs["submit"].to_numpy()
    table = pd.DataFrame({"begin": edges[:-1], "end": edges[1:]})
    if clock.known:
        table["date"] = clock.dates(table["begin"])
    table["jobs"] = np.diff(np.searchsorted(submit, edges)) if edges.size else np.empty(0, int)
    used = accounted_executions(trace)
    for name, counted in SPENT.items():
        table[name] = hours_between(used, counted, edges)
    capacity = (trace.header.procs or np.nan) * (table["end"] - table["begin"]) / HOUR
    table["utilization"] = hours_between(used, "procs", edges) / capacity
    return table


def full_hours(trace: Trace) -> pd.DataFrame:
    """Return the use of the machine and its queue in each hour of the log's window.

    A job is in the queue from when it is eligible, else from its submission, until it starts.

    Returns
    -------
    DataFrame
        One row per hour: `begin` [s]; `in_use` and `gpus_in_use`, mean processors and GPUs in use;
        `waiting` and `waiting_procs`, mean jobs and processors in the queue; and at the begin of
        the hour `free`, processors not in use, and `fits`, whether a job in the queue requests no
        more than these. Both are NaN if the size of the machine is unknown.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> full_hours(load_sample()).loc[99, ["in_use", "waiting"]].round(1).tolist()
    [86.0, 7.1]
    """
    jobs, window = accounted_jobs(trace), trace.window
    n_hours = int(window.length // HOUR) if window.length >= HOUR else 0
    edges = window.begin + HOUR * np.arange(n_hours + 1)
    queued = jobs["submit"] + jobs["held"].fillna(0)
    with_procs = (jobs["started"] & jobs["procs"].notna()).to_numpy()
    chosen = with_procs & jobs["wait"].notna().to_numpy()
    since, start = queued[chosen].to_numpy(), jobs.loc[chosen, "start"].to_numpy()
    start = np.maximum(start, since)
    procs = jobs.loc[chosen, "procs"].to_numpy()
    table = pd.DataFrame({"begin": edges[:-1]})
    used = accounted_executions(trace)
    table["in_use"] = hours_between(used, "procs", edges)
    table["gpus_in_use"] = hours_between(used, "gpus", edges)
    table["waiting"] = held_between(edges, since, start, np.ones(since.size)) / HOUR
    table["waiting_procs"] = held_between(edges, since, start, procs) / HOUR
    at = edges[:-1]
    known = (used["started"] & used["procs"].notna()).to_numpy()
    begin, end, each = (used[name].to_numpy()[known] for name in ("start", "end", "procs"))
    free = (trace.header.procs or np.nan) - (_at(begin, each, at) - _at(end, each, at))
    table["free"] = free
    table["fits"] = np.where(np.isnan(free), np.nan, _fits(since, start, procs, at, free))
    return table


def of_hours(trace: Trace) -> pd.DataFrame:
    """Return the use and the queue at percentiles of the hours.

    Returns
    -------
    DataFrame
        By percentile of the hours, each column by itself: `in_use`, `used_share` of the machine,
        `gpus_in_use`, `waiting`, `waiting_procs`, and `backlog`, waiting processors relative to
        the machine. Percentiles that fewer than five hours exceed are left out.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> of_hours(load_sample())["in_use"].round(1).to_dict()
    {10: 2.0, 25: 24.5, 50: 68.5, 75: 91.0, 90: 96.0, 99: 96.0}
    """
    hours = full_hours(trace)
    machine = trace.header.procs or np.nan
    hours["used_share"] = hours["in_use"] / machine
    hours["backlog"] = hours["waiting_procs"] / machine
    columns = ["in_use", "used_share", "gpus_in_use", "waiting", "waiting_procs", "backlog"]
    chosen = [percent for percent in OF_HOURS if enough(len(hours), percent)]
    rows = [[metrics.percentile(hours[c].to_numpy(), p) for c in columns] for p in chosen]
    return pd.DataFrame(rows, index=pd.Index(chosen, name="percentile"), columns=columns)


@dataclass(frozen=True, eq=False)
class LargerMachine(AnalysisResult):
    """What a larger machine would do, by simulation: result of `larger_machine`.

    Parameters
    ----------
    waits : DataFrame
        By `case` (recorded, simulated, and simulated with more processors): `procs`, `jobs`, the
        `mean`, `p50`, `p90` and `p99` of their waits from eligible to start, and `longest` [s].
    n_left_out : int
        Jobs that did not run, have no known wait, or are larger than the machine.
    ratio : float
        Mean simulated wait over mean recorded wait.
    calibration : dict
        Whether the simulation of the same machine reproduces the recorded mean wait and
        utilization, see `Schedule.calibration`.
    """

    waits: pd.DataFrame
    n_left_out: int
    ratio: float
    calibration: dict[str, Any]

    @property
    def is_calibrated(self) -> bool:
        """Whether the calibration holds."""
        return bool(self.calibration["holds"])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean waits."""
        ax = style.current_axes(ax)
        ax.barh(self.waits.index, self.waits["mean"] / HOUR, color=style.BLUE)
        ax.invert_yaxis()
        ax.set(xlabel="mean wait [h]", ylabel="case")
        return ax


def larger_machine(trace: Trace, *, more: float = 0.1) -> LargerMachine:
    """Simulate the jobs on the machine as it is and on a larger one.

    Jobs arrive when they became eligible, and EASY backfilling serves them on one pool of
    processors. Partitions, limits, priorities and reservations are not in accounting, so the
    recorded waits next to the simulated ones show how far the simulation is from the site.

    Parameters
    ----------
    trace : Trace
    more : float, default 0.1
        Additional processors, as a share of the machine.

    Raises
    ------
    WorkloadError
        If the size of the machine is unknown, or no job can be simulated.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> larger_machine(load_sample().take(range(200))).waits["procs"].to_dict()
    {'recorded': 96, 'simulated': 96, 'with 10 % more': 106}
    """
    import workloadkit as wk

    check_positive(more=more)
    machine = trace.header.procs
    if machine is None:
        raise WorkloadError(f"{trace.name}: the size of the machine is unknown; give procs")
    jobs = accounted_jobs(trace)
    chosen = (jobs["started"] & jobs["wait"].notna() & (jobs["procs"] <= machine)).to_numpy()
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job has a known wait and fits into the machine")
    jobs = jobs.loc[chosen, ["submit", "held", "start", "run", "procs"]]
    queued = (jobs["submit"] + jobs["held"].fillna(0)).to_numpy()
    recorded = np.maximum(jobs["start"].to_numpy() - queued, 0)
    log = Trace.from_columns(
        {
            "submit": queued,
            "wait": recorded,
            "run": jobs["run"],
            "procs": jobs["procs"],
            "requested_time": trace.column("requested_time")[chosen],
            "user": trace.column("user")[chosen],
        },
        name=trace.name,
    )
    larger = int(np.ceil(machine * (1 + more)))
    rows = {"recorded": _waits(machine, recorded)}
    del jobs, queued, recorded
    same = wk.simulate(log, "easy", procs=machine)
    rows["simulated"] = _waits(machine, same.wait.astype(np.float64))
    calibration = same.calibration
    del same  # two schedules at once take twice the memory
    more_procs = wk.simulate(log, "easy", procs=larger)
    rows[f"with {100 * more:g} % more"] = _waits(larger, more_procs.wait.astype(np.float64))
    waits = pd.DataFrame.from_dict(rows, orient="index").rename_axis("case")
    means = waits["mean"]
    ratio = 1.0 if means.iloc[0] == means.iloc[1] else float(means.iloc[1] / means.iloc[0])
    return LargerMachine(waits, trace.n_jobs - log.n_jobs, ratio, calibration)


def _waits(procs: int, waits: NDArray[np.float64]) -> dict[str, float]:
    return {
        "procs": procs,
        "jobs": waits.size,
        "mean": float(waits.mean()),
        **{
            f"p{p}": metrics.percentile(waits, p) if enough(waits.size, p) else np.nan
            for p in _OF_WAITS
        },
        "longest": float(waits.max()),
    }


def _at(times: NDArray, procs: NDArray, at: NDArray) -> NDArray[np.float64]:
    """Return the sum of `procs` over the times up to each instant."""
    order = np.argsort(times, kind="stable")
    total = np.append(0, np.cumsum(procs[order]))
    return total[np.searchsorted(times[order], at, side="right")]


def _fits(
    since: NDArray, start: NDArray, procs: NDArray, at: NDArray, free: NDArray
) -> NDArray[np.bool_]:
    """Whether a job waits at each instant that needs at most the free processors.

    Sizes are in classes, each with its largest size, so that some fitting jobs may be missed.
    """
    found = np.zeros(at.size, dtype=bool)
    if not procs.size:
        return found
    edges = distinct(np.quantile(distinct(procs), np.linspace(0, 1, _CLASSES), method="higher"))
    code = np.searchsorted(edges, procs, side="left")
    for i, largest in enumerate(edges):
        mine = code == i
        waiting = np.searchsorted(np.sort(since[mine]), at, side="right")
        waiting -= np.searchsorted(np.sort(start[mine]), at, side="right")
        found |= (waiting > 0) & (free >= largest)
    return found
