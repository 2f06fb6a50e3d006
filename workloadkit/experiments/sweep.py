"""Sweeps: schedulers at several loads, with several runs each."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.experiments.experiment import Experiment, Schedulers
from workloadkit.experiments.intervals import warn_of_saturation
from workloadkit.experiments.measuring import identities, named_metrics
from workloadkit.experiments.results import Results
from workloadkit.provenance import plain, provenance
from workloadkit.settings import ExperimentSettings
from workloadkit.settings import Sweep as SweepSettings
from workloadkit.settings.setting import takes
from workloadkit.settings.simulation import LoadBy
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.schedule.notes import identity_of
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.selected_machine import described_machine
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import machine_size, overrun_of
from workloadkit.simulation.workload.scaling import scaled_machine
from workloadkit.trace import Trace, check_trace
from workloadkit.units import counted_log

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Default offered loads of a sweep, and default factors of the numbers of users.
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)


@dataclass(frozen=True, eq=False)
class SweepResults(Results):
    """Metrics of schedulers at several loads.

    Parameters
    ----------
    runs : DataFrame
        One row per load, scheduler and run: `load`, `scheduler`, `run`, whether the system was
        `saturated` (None if the run is too short to decide), and a column for each metric.
    metrics : tuple of str
    confidence : float
        Level of the intervals.
    provenance : mapping of str to object
        Origin of the results.
    size : int
        Number of simulations.
    load_by : {"arrivals", "users"}
        How the load was set.
    """

    load_by: LoadBy = "arrivals"

    @property
    def load_title(self) -> str:
        """What the loads are: offered loads, or factors of the number of users."""
        return self._title_of(self.load_by)

    @property
    def baseline(self) -> str | None:
        """The first scheduler, if others are compared with it over several runs."""
        names = self.runs["scheduler"].unique()
        return str(names[0]) if len(names) > 1 and self.runs["run"].nunique() > 1 else None

    def to_csv(self) -> str:
        """Return the table as CSV, with paired differences and ratios to the first scheduler."""
        table = self.table
        if (baseline := self.baseline) is not None:
            table = table.assign(baseline=baseline)
            for name in self.metrics:
                compared = self.compare(name, baseline).set_index(["load", "scheduler"])
                columns = compared.filter(regex="^(difference|ratio)").add_prefix(f"{name}_")
                table = table.join(columns, on=["load", "scheduler"])
        return table.to_csv(index=False, lineterminator="\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the table, comparison, runs and provenance for JSON; the calibration, if known."""
        data = super().to_dict()
        if (baseline := self.baseline) is not None:
            data["baseline"] = baseline
            data["comparison"] = {
                name: plain(self.compare(name, baseline).to_dict("records"))
                for name in self.metrics
            }
        return data


@takes(SweepSettings)
def sweep(
    trace: Trace,
    schedulers: Schedulers = ("fcfs", "easy"),
    loads: Sequence[float] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
    settings: SweepSettings | None = None,
    **keywords: Any,
) -> SweepResults:
    """Simulate schedulers at several loads, with several runs each.

    The load is set in one of two ways.

    By *arrivals*, submit times are stretched or compressed to reach each offered load exactly.
    This works for any log, but changes the lengths of days and weeks. A single run uses the log
    itself. Several runs need different workloads: each consists of as many weeks as the log has
    whole ones, drawn with replacement (`resample_weeks`; a block bootstrap [1]_).

    By *users*, their number is changed [2]_: each run is a log resampled by its users (see
    `resample`), and a load is the factor of their numbers, so days and weeks keep their lengths
    and the load varies between runs. It requires a log of known users and five weeks.

    Saturated runs are counted; means are of all runs, and of those that are not saturated, see
    `Schedule.saturated` and `SweepResults.table`.

    Users who react (`users`) determine their submit times themselves, so their load is set by their
    number only: each run draws a population, see `workloadkit.populations.Resampled`.

    Run i is the same for all schedulers, and for all loads by arrivals, so that these are compared
    under equal conditions. It uses the i-th stream spawned from the seed, which is recorded if it
    matters: with several runs, by users, and for schedulers that draw random numbers. By users,
    run i is that of `resamples` with this seed; users who react are drawn from the run's stream.

    Parameters
    ----------
    trace : Trace
    schedulers : sequence of str or object, or mapping of str to these
        As for `simulate`; a mapping gives them names.
    loads : sequence of float, optional
        Offered loads, at most 3, by default 0.5 to 0.9 in steps of 0.1; by users, factors of the
        numbers of users, by default 0.8 to 1.5.
    folder : path, optional
        Where results are kept, so that the sweep continues after an interruption.
    executor : Executor, optional
        Runs the simulations; by default this process. The result does not depend on it.
    progress : callable, optional
        Called with the numbers of finished and of all simulations. For details see
        `Experiment.run`.
    settings : workloadkit.settings.Sweep, optional
        All following parameters as one object; keyword arguments take precedence.
    {settings}

    Raises
    ------
    ParameterError
        For an unknown name or an invalid value.
    WorkloadError
        If the log cannot be simulated or resampled, or is shorter than two weeks while several runs
        are requested.

    Warns
    -----
    WorkloadWarning
        If runs saturate.

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
    options = SweepSettings.of(settings, keywords)
    trace = counted_log(trace, options)
    if loads is None:
        loads = FACTORS if options.load_by == "users" else LOADS
    experiment = Experiment(
        {trace.name: trace},
        schedulers,
        users={"": options.users},
        loads=loads,
        settings=options.into(ExperimentSettings),
    )
    results = experiment.run(folder, executor=executor, progress=progress)
    behaviour, named = experiment.behaviours[""], experiment.named_schedulers
    axes = ["load", "scheduler", "run"]
    place = {name: i for i, name in enumerate(named)}
    rank = [
        results.runs["load"].map({x: i for i, x in enumerate(loads)}),
        results.runs["scheduler"].map(place),
    ]
    runs = results.runs.iloc[np.lexsort(rank[::-1])].reset_index(drop=True)
    runs = runs[[*axes, "saturated", *results.metrics]]
    parameters: dict[str, Any] = {
        "schedulers": results.provenance["scheduler"],
        "loads": list(loads),
        **options.recorded,
        "runs": results.provenance["runs"],  # with a precision, fewer than the most
        "overrun": overrun_of(trace, options.overrun),
        **_size(trace, options),
        **({"users": identity_of(behaviour)} if not isinstance(behaviour, OpenUsers) else {}),
    }
    parameters |= parameters.pop("resampling", {})
    metrics = identities(named_metrics(options.metrics))
    if isinstance(metrics, dict):
        parameters["metrics"] = metrics
    if options.runs > 1 or options.load_by == "users" or _any_draws(named):
        parameters["seed"] = results.provenance["common"]["seed"]
    made = provenance(trace, **parameters)
    found = SweepResults(
        *(runs, results.metrics, options.confidence, made, results.size, options.load_by),
        calibration=results.calibration,
        of_log=results.of_log,
    )
    _warn_of_saturation(found)
    return found


def _size(trace: Trace, options: SweepSettings) -> dict[str, Any]:
    """Return the machine, or its number of processors, as it is recorded."""
    if options.machine is None:
        procs = machine_size(trace.header, options.procs)
        return {"procs": scaled_machine(procs, options.scale_machine)}
    machine = described_machine(options.machine, trace)
    return {"procs": machine.procs, "machine": f"{machine.name} (sha256 {machine.digest})"}


def _warn_of_saturation(found: SweepResults) -> None:
    """Warn of saturated runs, with their loads."""
    runs = found.runs
    saturated = runs[runs["saturated"] == True]  # noqa: E712  # excludes None
    counts = saturated.groupby(["load", "scheduler"], sort=False).size()
    where = {f" at {found.load_title} {x:g} under {name}": n for (x, name), n in counts.items()}
    warn_of_saturation(where, len(runs), stacklevel=3)


def _any_draws(named: Mapping[str, str | Policy | Scheduler]) -> bool:
    """Whether a scheduler draws random numbers; custom ones may."""
    policies = (parse(x) if isinstance(x, str) else x for x in named.values())
    return any(isinstance(policy, Scheduler) or draws(policy) for policy in policies)
