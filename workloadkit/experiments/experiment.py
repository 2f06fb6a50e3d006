"""Experiments: a grid of simulations, run as independent tasks."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from workloadkit import __version__
from workloadkit.custom import is_custom
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, among, parameter, quoted
from workloadkit.executors import Mapped, check_reach_workers, each_done
from workloadkit.experiments.grid import (
    COLUMNS,
    MOST_SIMULATIONS,
    Cell,
    Grid,
    GridTask,
    check_loads,
    identified,
    named,
)
from workloadkit.experiments.kept_tasks import Checkpoints
from workloadkit.experiments.measuring import (
    Call,
    Metric,
    identities,
    named_metrics,
    simulate_task,
    without,
)
from workloadkit.experiments.results import Results, results_of
from workloadkit.experiments.results_file import (
    RESULTS,
    cell_of,
    made,
    read_file,
    write_results,
)
from workloadkit.experiments.stopping import relative_width, stages
from workloadkit.experiments.workloads import (
    DrawnPopulations,
    ResampledLogs,
    Source,
    StretchedLogs,
    mapping_folder,
)
from workloadkit.io.files import is_file
from workloadkit.provenance import seed_of
from workloadkit.settings import ExperimentSettings, Simulate
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.schedule.notes import identity_of, name_of
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.selected_machine import described_machine
from workloadkit.simulation.supports import supports
from workloadkit.simulation.users import Behaviour, OpenUsers
from workloadkit.simulation.users import parse as parse_users
from workloadkit.simulation.workload import machine_size, overrun_of
from workloadkit.simulation.workload.scaling import AsWorkload, scaled_machine
from workloadkit.trace import Trace, check_trace
from workloadkit.units import counted_log

if TYPE_CHECKING:
    from concurrent.futures import Executor

Schedulers = Sequence[str | Policy | Scheduler] | Mapping[str, str | Policy | Scheduler]

#: Settings that are the same for all readings of an experiment.
COMMON = ("load_by", "metrics", "runs", "precision", "confidence", "rng", "unit")


@dataclass(frozen=True, eq=False)
class Experiment(Displayed):
    """A grid of simulations: log × users × reading × load × run × scheduler.

    Run i uses the same random numbers for all logs, users, readings, loads and schedulers, see
    `sweep`, so that these are compared under equal conditions.

    Parameters
    ----------
    logs : mapping of str to Trace
        By their names in the results.
    schedulers : sequence of str or object, or mapping of str to these
        As for `simulate`; a mapping gives them names.
    users : sequence of str or object, or mapping of str to these, default ("open",)
        Behaviour of the users, as for `sweep`.
    loads : sequence of float, optional
        As for `sweep`: offered loads, at most 3, or by users factors of their number; by default
        the logs' own load.
    readings : mapping of str to mapping of str to object, optional
        Settings of each reading, by its name; see `workloadkit.settings.ExperimentSettings`.
    settings : workloadkit.settings.ExperimentSettings, optional
        Settings of all simulations.

    Raises
    ------
    ParameterError
        For an unknown name or an invalid value.
    WorkloadError
        If a log cannot be simulated.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> jobs = {"submit": [0, 1, 2, 12], "run": [10, 10, 5, 5], "procs": [3, 4, 1, 1]}
    >>> readings = {"whole": {}, "half": {"scale_runs": 0.5}}
    >>> options = ExperimentSettings(metrics=["mean_wait"], procs=4)
    >>> experiment = Experiment(
    ...     {"a": Trace.from_columns(jobs)}, ["fcfs", "easy"], readings=readings, settings=options
    ... )
    >>> experiment.run().table[["reading", "scheduler", "mean_wait"]]
      reading scheduler  mean_wait
    0   whole      fcfs       8.75
    1   whole      easy       4.25
    2    half      fcfs       3.00
    3    half      easy       1.00
    """

    logs: Mapping[str, Trace]
    schedulers: Schedulers
    users: Sequence[str | Behaviour] | Mapping[str, str | Behaviour] = ("open",)
    loads: Sequence[float | None] | None = None
    readings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})
    settings: ExperimentSettings = field(default_factory=ExperimentSettings)

    def __post_init__(self) -> None:
        """Check everything that does not need a simulation."""
        loads: Sequence[float | None] = [1.0 if self._by_users else None]
        if self.loads is not None:
            loads = list(self.loads)
        object.__setattr__(self, "loads", loads)
        given: dict[str, Any] = {"logs": self.logs, "schedulers": self.named_schedulers}
        given |= {"users": self.behaviours, "loads": loads, "readings": self.readings}
        for name, values in (given | {"metrics": self._metrics}).items():
            if not values:
                raise ParameterError(f"no {name} given")
        check_loads(loads, are_factors=self._by_users)
        size = prod(map(len, given.values())) * self.settings.runs
        if size > MOST_SIMULATIONS:
            raise ParameterError(
                "runs",
                f"is {quoted(self.settings.runs)}: an experiment of {size:,} simulations "
                f"is too large; the most are {MOST_SIMULATIONS:,}",
            )
        for name in self._metrics:
            if name in COLUMNS:
                raise ParameterError(f"a metric is named {name}, as is a column of the results")
        for scheduler in self.named_schedulers.values():
            if isinstance(scheduler, str):
                parse(scheduler)
        for log in self.logs.values():
            check_trace(log)
        self._count()
        for users in self.behaviours.values():
            self._check_users(users)
        if self.settings.resampling and not self._by_users:
            raise ParameterError(f"resampling requires {parameter('load_by', 'users')}")
        for reading in self.readings:
            self._under(reading)

    def _count(self) -> None:
        """See the logs in the unit that is counted."""
        asked = self.settings
        if asked.unit != "procs" and any("machine" in each for each in self.readings.values()):
            what = f"is {asked.unit!r}; {parameter('machine')} must then be one of all readings"
            raise ParameterError("unit", what)
        seen = {name: counted_log(log, asked) for name, log in self.logs.items()}
        object.__setattr__(self, "logs", seen)

    def _table(self) -> pd.DataFrame:
        """Return one row a group of runs."""
        axes = (self.logs, self.behaviours, self.readings, self.loads, self.named_schedulers)
        names = ("log", "users", "reading", "load", "scheduler")
        return pd.DataFrame(product(*(axis or () for axis in axes)), columns=names)

    @property
    def _by_users(self) -> bool:
        return self.settings.load_by == "users"

    @cached_property
    def named_schedulers(self) -> dict[str, str | Policy | Scheduler]:
        """Schedulers by name."""
        return named("scheduler", self.schedulers)

    @cached_property
    def behaviours(self) -> dict[str, Behaviour | OpenUsers]:
        """Behaviours of users by name."""
        found = named("users", self.users)
        return {n: parse_users(x) if isinstance(x, str) else x for n, x in found.items()}

    @cached_property
    def _metrics(self) -> dict[str, str | Metric]:
        return named_metrics(self.settings.metrics)

    def _check_users(self, users: Any) -> None:
        """Check that users can take part."""
        reacting = not isinstance(users, OpenUsers)
        if reacting and any(self._under(name).machine is not None for name in self.readings):
            raise ParameterError(
                f"users {name_of(users)} and machine: experiments with described machines require "
                "users who do not react (open)"
            )
        if reacting and not isinstance(users, Behaviour):
            raise ParameterError(
                "users", f"is {quoted(users)}; an experiment requires users of a log"
            )
        if reacting and not self._by_users:
            raise ParameterError(
                f"the load of users {users.name} follows from their behaviour; set it with "
                f"{parameter('load_by', 'users')}"
            )

    def _under(self, reading: str) -> ExperimentSettings:
        """Return the settings of a reading."""
        changed = self.readings[reading]
        for name in changed:
            if name in COMMON:
                raise ParameterError(
                    f"reading {reading}: {name} must be the same for all readings of an experiment"
                )
        return ExperimentSettings.of(self.settings, changed)

    def _simulated(self, log: str, reading: str) -> Simulate:
        """Return the settings of the simulations of a log and a reading."""
        trace, options = self.logs[log], self._under(reading)
        overrun = overrun_of(trace, options.overrun)
        if options.machine is not None:
            machine = described_machine(options.machine, trace)
            return options.into(Simulate, machine=machine.description, overrun=overrun)
        procs = machine_size(trace.header, options.procs)
        return options.into(Simulate, procs=procs, overrun=overrun)

    def _identified(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values for JSON, with the identity of objects, and of the machine of each log."""
        found = dict(values)
        if found.get("machine") is not None:
            machines = {
                name: described_machine(found["machine"], log) for name, log in self.logs.items()
            }
            found["machine"] = {name: machine.digest for name, machine in machines.items()}
        return identified(found)

    def grid(self, seed: int) -> Grid:
        """Return the axes with the identity of each name, and the common settings."""
        recorded = self.settings.recorded
        runs = int(recorded.pop("runs"))
        recorded.pop("confidence")  # affects the intervals only
        common: dict[str, Any] = {"workloadkit": __version__, "seed": seed, **recorded}
        common |= {"metrics": identities(self._metrics), "weeks are drawn": self._redrawn}
        return Grid(
            log={name: trace.identity for name, trace in self.logs.items()},
            users={name: identity_of(users) for name, users in self.behaviours.items()},
            reading={name: self._identified(changed) for name, changed in self.readings.items()},
            load=self.loads or [],
            runs=runs,
            scheduler={
                name: x if isinstance(x, str) else identity_of(x)
                for name, x in self.named_schedulers.items()
            },
            common=self._identified(common),
        )

    @property
    def _redrawn(self) -> bool:
        """Whether each run draws weeks of the log."""
        return self.settings.runs > 1 and not self._by_users

    def _source(self, log: str, users: str, reading: str, seed: int) -> Source:
        """Return the workloads of a log and its users."""
        trace, behaviour = self.logs[log], self.behaviours[users]
        resampling, loads = self.settings.resampling or {}, list(self.loads or ())
        if not isinstance(behaviour, OpenUsers):
            simulated = self._simulated(log, reading)
            machine = machine_size(trace.header, simulated.procs)
            how = AsWorkload.by(simulated, scaled_machine(machine, simulated.scale_machine))
            return DrawnPopulations.make(trace, behaviour, loads, resampling, how, seed)
        if self._by_users:
            return ResampledLogs.make(trace, loads, resampling, seed)
        return StretchedLogs(trace, seed, self._redrawn)

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        executor: "Executor | None" = None,
        shard: tuple[int, int] = (1, 1),
        progress: Callable[[int, int], Any] | None = None,
        baseline: str | None = None,
    ) -> Results:
        """Run the simulations without results; with a `precision`, until it is reached.

        Parameters
        ----------
        folder : path, optional
            Where the results are kept, in the file `results.parquet`. It is written every few
            seconds and at the end; after an interruption the same experiment continues, and gives
            the same file. An experiment may be extended, but must contain all simulations that
            have results. By default results are not kept.
        executor : Executor, optional
            Runs the tasks, such as a pool of processes or `distributed.Client.get_executor()`; by
            default this process. Workers on other machines must find the folder under the same
            path. The result does not depend on it.
        shard : tuple of int, default (1, 1)
            Part k of n of the tasks to run: task i is in part 1 + i mod n.
        progress : callable, optional
            Called with the numbers of finished and of all simulations.
        baseline : str, optional
            The scheduler from which the differences have the requested `precision`; by default
            the first.

        Raises
        ------
        ParameterError
            If the folder has results of another experiment.
        WorkloadError
            If a log cannot be simulated or resampled, or a file cannot be read or written.
        """
        part, n_parts = shard
        if not 1 <= part <= n_parts:
            raise ParameterError(
                "shard", f"is {part}/{n_parts}; it must be k/n, with k from 1 to n"
            )
        if n_parts > 1 and self.settings.rng is None:
            raise ParameterError("the shards of an experiment require a common seed")
        if n_parts > 1 and self.settings.precision is not None:
            raise ParameterError("shard", "and precision are both given: no part knows all runs")
        names = self.named_schedulers
        if baseline is not None and baseline not in names:
            raise ParameterError("baseline", f"is {quoted(baseline)}; {among(baseline, names)}")
        with ExitStack() as stack:
            place = None if folder is None else stack.enter_context(made(Path(folder)))
            return self._run(place, executor, shard, progress, baseline)

    def _run(
        self,
        folder: Path | None,
        executor: "Executor | None",
        shard: tuple[int, int],
        progress: Callable[[int, int], Any] | None,
        baseline: str | None,
    ) -> Results:
        """Run the simulations that are missing in the folder, in stages if there is a precision."""
        for kind, things in (("scheduler", self.named_schedulers), ("metric", self._metrics)):
            custom = {name: thing for name, thing in things.items() if is_custom(thing)}
            check_reach_workers(executor, kind, custom)
        file = None if folder is None else folder / RESULTS
        whole, rows = self._known(file)
        precision, begun = self.settings.precision, max((cell.run + 1 for cell in rows), default=0)
        numbers = [whole.runs] if precision is None else stages(whole.runs, begun=begun)
        for runs in numbers:
            grid = replace(whole, runs=runs)
            self._run_missing(grid, rows, folder, executor, shard, progress)
            results = results_of(grid, rows, self.settings.confidence)
            if precision is not None and relative_width(results, baseline) <= precision:
                break
        return results

    def _run_missing(
        self,
        grid: Grid,
        rows: dict[Cell, dict[str, Any]],
        folder: Path | None,
        executor: "Executor | None",
        shard: tuple[int, int],
        progress: Callable[[int, int], Any] | None,
    ) -> None:
        """Add the rows that a grid lacks, and keep them."""
        file = None if folder is None else folder / RESULTS
        part, n_parts = shard
        ours = [task for i, task in enumerate(grid.tasks) if i % n_parts == part - 1]
        missing = [rest for task in ours if (rest := without(task, rows)).schedulers]
        total = sum(len(task.schedulers) for task in ours)
        n_left = sum(len(task.schedulers) for task in missing)
        with _checkpoints(file, grid, rows) as checkpoints:
            for done in self._simulate_all(missing, grid.common["seed"], folder, executor):
                rows |= {cell_of(row): row for row in done}
                checkpoints.changed()
                n_left -= len(done)
                if progress is not None:
                    progress(total - n_left, total)

    @cached_property
    def _calibrating(self) -> tuple[tuple[str, float | None, int], str] | None:
        """Users, load and run of the tasks that also simulate their log as it is; the scheduler.

        None if the grid has the logs as they are, or all users react. The scheduler is EASY, as it
        is close to what most sites do, else the first; those that draw random numbers and custom
        ones are left out.
        """
        loads = self.loads or [None]
        users = [n for n, users in self.behaviours.items() if isinstance(users, OpenUsers)]
        as_they_are = None in loads and not self._redrawn and not self._by_users
        named = {n: parse(x) if isinstance(x, str) else x for n, x in self.named_schedulers.items()}
        known = [
            (policy.name != "easy", place, name)
            for place, (name, policy) in enumerate(named.items())
            if isinstance(policy, Policy)
            and not (supports(policy, "recorded starts") or draws(policy))
        ]
        if as_they_are or not users or not known:
            return None
        return (users[0], loads[0], 0), min(known)[-1]

    def _known(self, file: Path | None) -> tuple[Grid, dict[Cell, dict[str, Any]]]:
        """Return the grid and the existing results."""
        if file is None or not is_file(file):
            return self.grid(seed_of(self.settings.rng)), {}
        there, found = read_file(file)
        rng = there.common["seed"] if self.settings.rng is None else self.settings.rng
        grid = self.grid(seed_of(rng))
        grid.check_contains(there, file)
        return grid, {cell_of(row): row for row in found}

    def _simulate_all(
        self,
        tasks: Sequence[GridTask],
        seed: int,
        folder: Path | None,
        executor: "Executor | None",
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of each task when it is done."""
        with ExitStack() as stack:
            if executor is None:
                place = None
            elif folder is None:
                place = Path(stack.enter_context(TemporaryDirectory()))
            else:
                place = stack.enter_context(mapping_folder(folder))
            for _, rows in each_done(simulate_task, self._calls(tasks, seed, place), executor):
                yield rows

    def _calls(self, tasks: Sequence[GridTask], seed: int, place: Path | None) -> Iterator[Call]:
        """Yield the calls for the tasks; workloads are prepared lazily, and once."""
        sources: dict[Any, Source | Mapped] = {}
        at, name = self._calibrating or (None, "")
        simulated = {
            (log, reading): self._simulated(log, reading)
            for log, reading in dict.fromkeys((task.log, task.reading) for task in tasks)
        }
        for task in tasks:
            reacting = not isinstance(self.behaviours[task.users], OpenUsers)
            key = (task.log, task.users, task.reading) if reacting else (task.log,)
            if key not in sources:
                source: Any = self._source(task.log, task.users, task.reading, seed)
                if place is not None:
                    source = Mapped.write(source, place / str(len(sources)))
                else:
                    sources.clear()  # free the previous workloads
                sources[key] = source
            chosen = {name: self.named_schedulers[name] for name in task.schedulers}
            settings = simulated[task.log, task.reading]
            call = Call(sources[key], chosen, self._metrics, settings, task)
            if (task.users, task.load, task.run) == at and name in chosen:
                call = call._replace(calibrates=(self.logs[task.log], name))
            yield call


def _checkpoints(file: Path | None, grid: Grid, rows: Mapping[Cell, dict[str, Any]]) -> Checkpoints:
    """Return the checkpoints of a results file, if there is one."""
    if file is None:
        return Checkpoints(lambda: None)
    return Checkpoints(lambda: write_results(file, grid, rows), is_written=is_file(file))
