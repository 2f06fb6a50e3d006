"""Sweeps: schedulers under several loads, each several times."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.errors import (
    ParameterError,
    WorkloadWarning,
    check_number,
)
from workloadkit.experiments.intervals import mean_interval
from workloadkit.experiments.measuring import KNOWN, measure
from workloadkit.experiments.workloads import (
    Logs,
    Reacting,
    Resampled,
    Stretched,
    Task,
    draw_weeks,
)
from workloadkit.parameters import describe
from workloadkit.provenance import plain, provenance, seed_of
from workloadkit.settings import Simulate
from workloadkit.settings import Sweep as Asked
from workloadkit.settings.setting import takes
from workloadkit.settings.simulation import LoadBy
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.arranging import identity_of
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.measures import OF_UTILITIES
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.scaling import AsWorkload, scaled_machine
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.simulate import simulate
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.users.behaviour import Behaviour
from workloadkit.simulation.workload import machine_size, overrun_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: The offered loads of a sweep, and its factors of the numbers of users, unless told otherwise.
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)

_KEYS = ["load", "scheduler"]
_PARTS = 32  # that the runs are divided into: the log goes to the workers once with each


@dataclass(frozen=True, eq=False)
class Sweep:
    """Metrics of schedulers under several loads.

    Parameters
    ----------
    runs : DataFrame
        One row for each load, scheduler and run: `load`, `scheduler`, `run`, whether the system
        was `saturated` (None where a run is too short to tell), and a column for each metric.
    metrics : tuple of str
    confidence : float
        Of the intervals.
    provenance : mapping of str to object
        What made it.
    load_by : {"arrivals", "users"}
        By what the load was set.
    """

    runs: pd.DataFrame
    metrics: tuple[str, ...]
    confidence: float
    provenance: Mapping[str, Any]
    load_by: LoadBy = "arrivals"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each load and scheduler.

        Columns: `load`, `scheduler`, `runs`; for each metric its mean over the runs under its own
        name, and the ends of the mean's interval as `_low` and `_high`, NaN for a single run; and
        how many runs `saturated` (NaN where none is long enough to tell).

        Where runs saturate there is no mean: what is measured of them grows with the length of the
        run. The columns are NaN, and those with `_others` tell the mean of the runs that do not
        saturate, which is one under a condition; elsewhere they are NaN.
        """
        rows = []
        for (load, scheduler), runs in self.runs.groupby(_KEYS, sort=False):
            told = runs["saturated"].dropna().astype(np.float64)
            row = {"load": load, "scheduler": scheduler, "runs": len(runs)}
            none, others = runs.iloc[:0], runs[runs["saturated"] != True]  # noqa: E712  # not None
            saturates = told.sum() > 0
            row |= self._means(none if saturates else runs)
            row["saturated"] = told.sum() if told.size else np.nan
            rows.append(row | self._means(others if saturates else none, "_others"))
        return pd.DataFrame(rows)

    def _means(self, runs: pd.DataFrame, suffix: str = "") -> dict[str, float]:
        """Return the means of some runs, and their intervals."""
        found: dict[str, float] = {}
        for name in self.metrics:
            positive = name not in OF_UTILITIES
            interval = mean_interval(runs[name], confidence=self.confidence, positive=positive)
            ends = (f"{name}{suffix}{end}" for end in ("", "_low", "_high"))
            found |= zip(ends, interval, strict=True)
        return found

    def to_csv(self) -> str:
        """Return the table as CSV, numbers in full."""
        return self.table.to_csv(index=False, lineterminator="\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the table, the runs and the provenance, ready for JSON."""
        tables = {"table": self.table.to_dict("records"), "runs": self.runs.to_dict("records")}
        return plain({**tables, "provenance": self.provenance})


@takes(Asked)
def sweep(
    trace: Trace,
    schedulers: Sequence[str | Policy | Scheduler] | Mapping[str, str | Policy | Scheduler] = (
        "fcfs",
        "easy",
    ),
    loads: Sequence[float] | None = None,
    *,
    executor: "Executor | None" = None,
    settings: Asked | None = None,
    **keywords: Any,
) -> Sweep:
    """Simulate schedulers under several loads, each several times.

    Load is set in one of two ways.

    By *arrivals*, submit times are stretched or compressed until each offered load is met exactly.
    This serves any log, and moves its nights and weekends. A single run takes the log as it is.
    Several need workloads that differ: each takes as many weeks as the log has whole ones, drawn
    from these with replacement (`resample_weeks`; a block bootstrap [1]_).

    By *users*, there are more or fewer of them [2]_: each run is a log resampled by its users (see
    `resample`), and a load is the factor of their numbers, so that days and weeks stay as long as
    they are, and the load itself varies from run to run. It takes a log of known users and five
    weeks. Runs that saturate are counted, see `Schedule.saturated` and `Sweep.table`.

    Users who react (`users`) set their submit times themselves, so that their load is set by their
    number alone: each run draws a population, see `workloadkit.populations.Resampled`.

    Run i is the same for all schedulers, and for all loads by arrivals, so that these differ by
    nothing else. It gets the i-th stream spawned from the seed, which is recorded where it matters:
    of several runs, of runs by users, and for schedulers that draw. By users, run i is that of
    `resamples` with this seed; users who react are drawn from the stream of the run.

    Parameters
    ----------
    trace : Trace
    schedulers : sequence of str or object, or mapping of str to these
        As `simulate` takes them; a mapping gives them names.
    loads : sequence of float, optional
        Offered loads, by default 0.5 to 0.9 by tenths; by users, factors of the numbers of users,
        by default 0.8 to 1.5.
    executor : Executor, optional
        Who does the simulations; by default this process, one after the other. The result is the
        same.
    settings : workloadkit.settings.Sweep, optional
        All that follows, in one object; keywords count first.
    {settings}

    Returns
    -------
    Sweep

    Raises
    ------
    ParameterError
        For an unknown name or a value that cannot be.
    WorkloadError
        Where the log cannot be simulated or resampled, or several runs are wanted of less than two
        weeks.

    Warns
    -----
    WorkloadWarning
        Where runs saturate.

    References
    ----------
    .. [1] E. Carlstein, "The use of subseries values for estimating the variance of a general
       statistic from a stationary sequence", The Annals of Statistics 14(3), 1986.
    .. [2] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 6.3.

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
    asked, named = Asked.of(settings, keywords), _named(schedulers)
    by_users = asked.load_by == "users"
    if loads is None:
        loads = FACTORS if by_users else LOADS
    loads, metrics = list(loads), tuple(dict.fromkeys(asked.metrics))
    _check(named, loads, metrics)
    users, resampling = asked.users, dict(asked.resampling or {})
    behaviour = behaviours.parse(users) if isinstance(users, str) else users
    reacting = not isinstance(behaviour, OpenUsers)
    if reacting and not isinstance(behaviour, Behaviour):
        raise ParameterError(f"users is {users!r}; a sweep takes those who go through a log")
    if reacting and not by_users:
        raise ParameterError(
            f"the load of users {behaviour.name} follows from what they do; it is set by "
            "load_by='users' (--load-by users)"
        )
    if resampling and not by_users:
        raise ParameterError("resampling goes with load_by='users'")
    machine = machine_size(trace.header, asked.procs)
    scaled, runs = scaled_machine(machine, asked.scale_machine), int(asked.runs)
    seed = seed_of(asked.rng)
    simulated = asked.into(Simulate, procs=machine, overrun=overrun_of(trace, asked.overrun))
    logs: Logs = Stretched(trace)
    if reacting:
        logs = Reacting.make(trace, behaviour, loads, resampling, AsWorkload.by(simulated, scaled))
    elif by_users:
        logs = Resampled.make(trace, loads, resampling, seed)
    tasks = []
    for run, stream in enumerate(np.random.default_rng(seed).spawn(runs)):
        weeks = draw_weeks(trace, stream) if runs > 1 and not by_users else None
        of_run = seed_of(stream)  # for schedulers that draw
        tasks += [Task(load, run, weeks, of_run) for load in loads]
    work = partial(_simulate, logs, named, metrics, simulated)
    if executor is None:
        done = list(map(work, tasks))
    else:
        done = list(executor.map(work, tasks, chunksize=-(-len(tasks) // _PARTS)))
    table = pd.DataFrame([row for rows in done for row in rows])
    place = {key: i for i, key in enumerate((x, name) for x in loads for name in named)}
    order = [place[key] for key in zip(table["load"], table["scheduler"], strict=True)]
    table = table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    parameters: dict[str, Any] = {
        "schedulers": {
            name: scheduler if isinstance(scheduler, str) else identity_of(scheduler)
            for name, scheduler in named.items()
        },
        "loads": loads,
        **asked.recorded,
        "overrun": simulated.overrun,
        "procs": scaled,
        **({"users": describe(behaviour)} if reacting else {}),
    }
    parameters |= parameters.pop("resampling", {})
    _warn_of_saturation(table)
    if runs > 1 or by_users or _any_draws(named):
        parameters["seed"] = seed
    return Sweep(table, metrics, asked.confidence, provenance(trace, **parameters), asked.load_by)


def _simulate(
    logs: Logs,
    schedulers: Mapping[str, str | Policy | Scheduler],
    metrics: Sequence[str],
    settings: Simulate,
    task: Task,
) -> list[dict[str, Any]]:
    """Simulate all schedulers in one run under one load."""
    log, told = logs.log(task)
    rows = []
    for name, scheduler in schedulers.items():
        schedule = simulate(log, scheduler, settings=settings, rng=task.seed, **told)
        row = {"load": task.load, "scheduler": name, "run": task.run}
        row["saturated"] = schedule.saturated
        rows.append(row | {metric: measure(schedule, metric) for metric in metrics})
    return rows


def _warn_of_saturation(runs: pd.DataFrame) -> None:
    """Say how many runs saturated, and under which loads."""
    saturated = runs[runs["saturated"] == True]  # noqa: E712  # None is not
    if len(saturated):
        counts = saturated.groupby(_KEYS, sort=False).size()
        where = (f"{n} at load {load:g} under {name}" for (load, name), n in counts.items())
        warnings.warn(
            f"{len(saturated)} of {len(runs)} simulations saturate, and no mean is given where "
            f"some do: {', '.join(where)}",
            WorkloadWarning,
            stacklevel=3,
        )


def _any_draws(named: Mapping[str, str | Policy | Scheduler]) -> bool:
    """Whether a scheduler draws random numbers, or may: custom ones."""
    policies = (parse(x) if isinstance(x, str) else x for x in named.values())
    return any(isinstance(policy, Scheduler) or draws(policy) for policy in policies)


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
) -> None:
    """Refuse what cannot be before anything is simulated."""
    for what, values in (("schedulers", named), ("loads", loads), ("metrics", metrics)):
        if not values:
            raise ParameterError(f"a sweep needs {what}")
    for scheduler in named.values():
        if isinstance(scheduler, str):
            parse(scheduler)
    for metric in metrics:
        if metric not in KNOWN:
            raise ParameterError(f"unknown metric {metric!r}; known: {', '.join(KNOWN)}")
    for load in loads:
        check_number("loads", load)
        if not 0 < load < np.inf:
            raise ParameterError(f"loads: {load:g}; a load must be positive")
    if len(set(loads)) < len(loads):
        raise ParameterError("loads: one is there twice")
