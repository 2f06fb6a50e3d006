"""Many simulations at once: sweeps over load, with intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError, check_number
from workloadkit.provenance import plain, provenance, seed_of
from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.measures import OF_UTILITIES
from workloadkit.simulate.schedule import FURTHER, METRICS, Schedule
from workloadkit.simulate.schedulers import Fcfs
from workloadkit.simulate.schedulers.policy import Policy
from workloadkit.simulate.simulate import simulate
from workloadkit.simulate.workload import Rules, machine_size
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: What a sweep measures unless told otherwise.
MEASURED = ("mean_wait", "mean_bounded_slowdown", "utilization")

_KEYS = ["load", "scheduler"]
_LATER = "later_than_fcfs"


@dataclass(frozen=True, eq=False)
class Sweep:
    """Metrics of schedulers under several loads.

    Parameters
    ----------
    runs : DataFrame
        One row for each load, scheduler and run: `load`, `scheduler`, `run`, and a column for each
        metric.
    metrics : tuple of str
    confidence : float
        Of the intervals.
    provenance : mapping of str to object
        What made it.
    """

    runs: pd.DataFrame
    metrics: tuple[str, ...]
    confidence: float
    provenance: Mapping[str, Any]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each load and scheduler.

        Columns: `load`, `scheduler`, `runs`, and for each metric its mean over the runs under its
        own name, and the ends of the mean's interval as `_low` and `_high`, NaN for a single run.
        """
        rows = []
        for (load, scheduler), runs in self.runs.groupby(_KEYS, sort=False):
            row = {"load": load, "scheduler": scheduler, "runs": len(runs)}
            for name in self.metrics:
                interval = mean_interval(runs[name], confidence=self.confidence)
                row |= zip((name, f"{name}_low", f"{name}_high"), interval, strict=True)
            rows.append(row)
        return pd.DataFrame(rows)

    def to_csv(self) -> str:
        """Return the table as CSV, numbers in full."""
        return self.table.to_csv(index=False, lineterminator="\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the table, the runs and the provenance, ready for JSON."""
        tables = {"table": self.table.to_dict("records"), "runs": self.runs.to_dict("records")}
        return plain({**tables, "provenance": self.provenance})


def sweep(
    trace: Trace,
    schedulers: Sequence[str | Policy | Scheduler] | Mapping[str, str | Policy | Scheduler] = (
        "fcfs",
        "easy",
    ),
    loads: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9),
    *,
    metrics: Sequence[str] = MEASURED,
    runs: int = 1,
    rng: np.random.Generator | int | None = None,
    confidence: float = 0.95,
    procs: int | None = None,
    executor: "Executor | None" = None,
    **options: Any,
) -> Sweep:
    """Simulate schedulers under several offered loads, each several times.

    A single run takes the log as it is. Several runs need workloads that differ: each takes as
    many weeks as the log has whole ones, drawn from these with replacement (`resample_weeks`; a
    block bootstrap [1]_). Run i is the same workload for all schedulers and loads, so that these
    differ by nothing else. Its submit times are then stretched or compressed to each load.

    Parameters
    ----------
    trace : Trace
    schedulers : sequence of str or object, or mapping of str to these
        As `simulate` takes them; a mapping gives them names.
    loads : sequence of float
        Offered loads.
    metrics : sequence of str
        Names of `Schedule.describe`, and `later_than_fcfs`.
    runs : int, default 1
    rng : Generator or int, optional
        Run i gets the i-th stream spawned from its seed, which is recorded where it matters: of
        several runs, and for schedulers of one's own.
    confidence : float, default 0.95
        Of the intervals of the means over the runs, by Student's t. They tell how well the mean
        over workloads such as these is known, and narrow as runs are added; what other weeks than
        the log's would bring they do not tell.
    procs : int, optional
        Processors of the machine; by default the header's.
    executor : Executor, optional
        Who does the simulations; by default this process, one after the other. The result is the
        same.
    **options
        Of `simulate`: `estimates`, `overrun`, `warmup` and so on.

    Returns
    -------
    Sweep

    Raises
    ------
    ParameterError
        For an unknown name or a value that cannot be.
    WorkloadError
        Where the log cannot be simulated, or several runs are wanted of less than two weeks.

    References
    ----------
    .. [1] E. Carlstein, "The use of subseries values for estimating the variance of a general
       statistic from a stationary sequence", The Annals of Statistics 14(3), 1986.

    Examples
    --------
    >>> jobs = {"submit": [0, 1, 2, 12], "run": [10, 10, 5, 5], "procs": [3, 4, 1, 1]}
    >>> found = sweep(Trace.from_columns(jobs), loads=[1, 2], metrics=["mean_wait"], procs=4)
    >>> found.table[["load", "scheduler", "mean_wait"]]
       load scheduler  mean_wait
    0     1      fcfs       6.25
    1     1      easy       2.00
    2     2      fcfs       9.25
    3     2      easy       4.75
    """
    check_trace(trace)
    named = _named(schedulers)
    loads, metrics = list(loads), tuple(dict.fromkeys(metrics))
    _check(named, loads, metrics, runs, confidence)
    if changing := {"offered_load", "outages"} & set(options):
        raise ParameterError(f"a sweep takes no {changing.pop()}: it changes the log's time itself")
    machine = machine_size(trace.header, procs)
    seed = seed_of(rng)
    tasks = []
    for run, stream in enumerate(np.random.default_rng(seed).spawn(runs)):
        weeks = _draw_weeks(trace, stream) if runs > 1 else None
        of_run = int(stream.integers(2**63))  # for schedulers of one's own that draw
        tasks += [_Task(load, run, weeks, of_run) for load in loads]
    work = partial(_simulate, trace, named, metrics, {**options, "procs": machine})
    done = list((map if executor is None else executor.map)(work, tasks))
    table = pd.DataFrame([row for rows in done for row in rows])
    place = {key: i for i, key in enumerate((x, name) for x in loads for name in named)}
    order = [place[key] for key in zip(table["load"], table["scheduler"], strict=True)]
    table = table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    parameters: dict[str, Any] = {
        "schedulers": list(named),
        "loads": loads,
        "runs": runs,
        "procs": machine,
        "confidence": confidence,
        **options,
    }
    if runs > 1 or any(isinstance(scheduler, Scheduler) for scheduler in named.values()):
        parameters["seed"] = seed
    return Sweep(table, metrics, confidence, provenance(trace, **parameters))


def resample_weeks(trace: Trace, weeks: ArrayLike) -> Trace:
    """Set weeks of a log one after the other, in any order, any of them as often as wanted.

    Weeks are counted from the first submission; jobs keep their times within their week. Jobs are
    numbered 1, 2, … by submission; waits and other fields are kept, fields 17 and 18 are unknown.

    Parameters
    ----------
    trace : Trace
    weeks : array_like of int, shape (n_weeks,)
        From 0.

    Returns
    -------
    Trace

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 5, 604801], "user": [7, 8, 9]})
    >>> resample_weeks(trace, [1, 0]).jobs[["job", "submit", "user"]].to_numpy().tolist()
    [[1.0, 1.0, 9.0], [2.0, 604800.0, 7.0], [3.0, 604805.0, 8.0]]
    """
    submit = trace.column("submit")
    weeks = np.asarray(weeks, dtype=np.int64)
    if not trace.n_jobs or not weeks.size or (weeks < 0).any():
        raise ParameterError("weeks of a log are 0, 1, 2, …, and it needs jobs")
    begins = submit[0] + WEEK * weeks
    low, high = np.searchsorted(submit, begins), np.searchsorted(submit, begins + WEEK)
    rows = np.concatenate([np.arange(*part) for part in zip(low, high, strict=True)])
    moved = np.repeat(WEEK * np.arange(weeks.size) - WEEK * weeks, high - low)
    if not rows.size:
        raise WorkloadError(f"{trace.name}: no job in the weeks taken")
    jobs = trace.jobs.iloc[rows].reset_index(drop=True)
    jobs = jobs.assign(
        submit=submit[rows] + moved,
        job=np.arange(1, rows.size + 1),
        preceding_job=-1,
        think_time=np.nan,
    )
    places = pd.DataFrame({"row": rows, "place": np.arange(rows.size)})
    utility = places.merge(trace.utility, on="row").drop(columns="row")
    return Trace(
        jobs,
        trace.header,
        utility=utility.rename(columns={"place": "row"}),
        name=trace.name,
    )


def started_later(schedule: Schedule) -> NDArray[np.bool_]:
    """Tell which jobs started later than first come, first served would have let them.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    ndarray of bool, shape (n_jobs,)
        Of the same jobs on the same machine, by the same rules.

    Raises
    ------
    WorkloadError
        Where FCFS could not have served them: jobs larger than the machine, or outages.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 99], "procs": [3, 4, 1]}
    >>> trace = Trace.from_columns(log | {"requested_time": [10, 10, 5]})
    >>> started_later(simulate(trace, "easy", procs=4, overrun="late")).tolist()
    [False, True, False]
    """
    parameters, workload = schedule.parameters, schedule.workload
    too_large = workload.procs.max() > schedule.machine
    if too_large or "outages" in parameters:
        what = "jobs larger than the machine" if too_large else "outages"
        raise WorkloadError(f"FCFS on the same machine is not known: the schedule has {what}")
    overrun, passes = parameters.get("overrun", "late"), parameters.get("passes", "instant")
    fcfs = Fcfs().compiled(workload, Rules(schedule.machine, overrun, passes))
    return np.asarray(schedule.start > fcfs.start)


def later_than_fcfs(schedule: Schedule) -> float:
    """Share of the jobs that count which `started_later`.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> later_than_fcfs(simulate(Trace.from_columns(log), "easy", procs=4))
    0.0
    """
    return float(started_later(schedule)[schedule.counted].mean())


def measure(schedule: Schedule, metric: str) -> float:
    """Return an aggregate of a schedule: one of `Schedule.describe`, or `later_than_fcfs`."""
    if metric == _LATER:
        return later_than_fcfs(schedule)
    try:
        return schedule.measure(metric)
    except ParameterError as error:
        raise ParameterError(f"{error}, {_LATER}") from None


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Mean of independent values and its interval by Student's t; no interval of less than two.

    Parameters
    ----------
    values : array_like, shape (n,)
    confidence : float, default 0.95

    Returns
    -------
    mean, low, high : float

    Examples
    --------
    >>> [round(x, 3) for x in mean_interval([1, 2, 3, 4])]
    [2.5, 0.446, 4.554]
    """
    values = np.asarray(values, dtype=np.float64)
    mean = float(values.mean()) if values.size else np.nan
    if values.size < 2:
        return mean, np.nan, np.nan
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_t(confidence, values.size - 1) * error
    return mean, mean - half, mean + half


def student_t(confidence: float, freedom: int) -> float:
    """Return what |T| exceeds with probability 1 − confidence, for Student's T.

    Parameters
    ----------
    confidence : float
        Between 0 and 1.
    freedom : int
        Degrees of freedom, 1 or more.

    Examples
    --------
    >>> [round(student_t(0.95, n), 3) for n in (1, 2, 9, 10, 1000)]
    [12.706, 4.303, 2.262, 2.228, 1.962]
    """
    from scipy.special import stdtrit

    if not (0 < confidence < 1 and freedom >= 1):
        raise ParameterError(f"confidence is {confidence}, of {freedom} degrees of freedom")
    return float(stdtrit(freedom, (1 + confidence) / 2))


class _Task(NamedTuple):
    load: float
    run: int
    weeks: NDArray[np.int64] | None
    seed: int


def _simulate(
    trace: Trace,
    schedulers: Mapping[str, str | Policy | Scheduler],
    metrics: Sequence[str],
    options: Mapping[str, Any],
    task: _Task,
) -> list[dict[str, Any]]:
    """Simulate all schedulers in one run under one load."""
    log = trace if task.weeks is None else resample_weeks(trace, task.weeks)
    rows = []
    for name, scheduler in schedulers.items():
        schedule = simulate(log, scheduler, offered_load=task.load, rng=task.seed, **options)
        row = {"load": task.load, "scheduler": name, "run": task.run}
        rows.append(row | {metric: measure(schedule, metric) for metric in metrics})
    return rows


def _draw_weeks(trace: Trace, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many weeks as the log has whole ones, with replacement."""
    submit = trace.column("submit")
    whole = int((submit[-1] - submit[0]) // WEEK) if submit.size else 0
    if whole < 2:
        raise WorkloadError(
            f"{trace.name}: several runs draw weeks of the log, and it has {whole} whole; two are "
            "the least"
        )
    return rng.integers(whole, size=whole)


def _named(
    schedulers: Sequence[str | Policy | Scheduler] | Mapping[str, str | Policy | Scheduler],
) -> dict[str, str | Policy | Scheduler]:
    """Give the schedulers names by which rows are told apart."""
    if isinstance(schedulers, Mapping):
        return dict(schedulers)
    if isinstance(schedulers, str):
        schedulers = [schedulers]
    named = {}
    for scheduler in schedulers:
        name = scheduler if isinstance(scheduler, str) else getattr(scheduler, "name", None)
        name = name or type(scheduler).__name__
        if name in named:
            raise ParameterError(f"two schedulers are called {name}; a mapping gives them names")
        named[name] = scheduler
    return named


def _check(
    named: Mapping[str, Any],
    loads: Sequence[float],
    metrics: Sequence[str],
    runs: int,
    confidence: float,
) -> None:
    """Refuse what cannot be before anything is simulated."""
    from workloadkit.simulate.schedulers import parse

    for what, values in (("schedulers", named), ("loads", loads), ("metrics", metrics)):
        if not values:
            raise ParameterError(f"a sweep needs {what}")
    for scheduler in named.values():
        if isinstance(scheduler, str):
            parse(scheduler)
    known = (*METRICS, *FURTHER, *OF_UTILITIES, _LATER)
    for metric in metrics:
        if metric not in known:
            raise ParameterError(f"unknown metric {metric!r}; known: {', '.join(known)}")
    for load in loads:
        check_number("loads", load)
        if not 0 < load < np.inf:
            raise ParameterError(f"loads: {load:g}; an offered load must be positive")
    if len(set(loads)) < len(loads):
        raise ParameterError("loads: one is there twice")
    if runs < 1:
        raise ParameterError(f"runs is {runs}; one is the least")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence:g}; it lies between 0 and 1")
