"""Sweeps: schedulers under several loads, each several times."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.errors import WorkloadWarning
from workloadkit.experiments.experiment import Experiment, Schedulers
from workloadkit.experiments.results import Results
from workloadkit.provenance import provenance
from workloadkit.settings import Experiment as InCommon
from workloadkit.settings import Sweep as Asked
from workloadkit.settings.setting import takes
from workloadkit.settings.simulation import LoadBy
from workloadkit.simulation.arranging import identity_of
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.scaling import scaled_machine
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import machine_size, overrun_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: The offered loads of a sweep, and its factors of the numbers of users, unless told otherwise.
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)


@dataclass(frozen=True, eq=False)
class Sweep(Results):
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
    size : int
        Number of simulations.
    load_by : {"arrivals", "users"}
        By what the load was set.
    """

    load_by: LoadBy = "arrivals"


@takes(Asked)
def sweep(
    trace: Trace,
    schedulers: Schedulers = ("fcfs", "easy"),
    loads: Sequence[float] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
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
    folder : path, optional
        Where results are kept, so that the sweep goes on from there after an interruption.
    executor : Executor, optional
        Runs the simulations; by default this process. The result is the same.
    progress : callable, optional
        Called with the numbers of finished simulations and of all. For all three see
        `Experiment.run`.
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
    asked = Asked.of(settings, keywords)
    if loads is None:
        loads = FACTORS if asked.load_by == "users" else LOADS
    experiment = Experiment(
        {trace.name: trace},
        schedulers,
        users={"": asked.users},
        loads=loads,
        settings=asked.into(InCommon),
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
        **asked.recorded,
        "overrun": overrun_of(trace, asked.overrun),
        "procs": scaled_machine(machine_size(trace.header, asked.procs), asked.scale_machine),
        **({"users": identity_of(behaviour)} if not isinstance(behaviour, OpenUsers) else {}),
    }
    parameters |= parameters.pop("resampling", {})
    _warn_of_saturation(runs)
    if asked.runs > 1 or asked.load_by == "users" or _any_draws(named):
        parameters["seed"] = results.provenance["common"]["seed"]
    made = provenance(trace, **parameters)
    return Sweep(runs, results.metrics, asked.confidence, made, results.size, asked.load_by)


def _warn_of_saturation(runs: pd.DataFrame) -> None:
    """Warn of the runs that saturated, and under which loads."""
    saturated = runs[runs["saturated"] == True]  # noqa: E712  # None is not
    if len(saturated):
        counts = saturated.groupby(["load", "scheduler"], sort=False).size()
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
