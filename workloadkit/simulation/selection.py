"""Select the parts of a simulation: population, users' behaviour, scheduler and machine."""

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.clock import DAY
from workloadkit.custom import is_custom, source_digest
from workloadkit.errors import ParameterError, WorkloadWarning, plural
from workloadkit.fields import MAX_PROCS
from workloadkit.header import Header
from workloadkit.io.machine import read_machine
from workloadkit.io.outages import Outages, read_outages
from workloadkit.io.reservations import ReservationRequests, read_reservations
from workloadkit.machine.description import MachineDescription
from workloadkit.parameters import describe
from workloadkit.provenance import seed_of
from workloadkit.settings import Simulate
from workloadkit.settings.simulation import Engine
from workloadkit.simulation import populations, predictors, schedulers
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.engines import copies
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.one_pool import OnePool
from workloadkit.simulation.machine.outages import NumberedProcessors
from workloadkit.simulation.machine.reservable import ReservablePool
from workloadkit.simulation.machine.shutdowns import holds_of, settle
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.policies.recorded import RecordedSchedule
from workloadkit.simulation.populations import Resampled, ResampledUsers
from workloadkit.simulation.populations.population import Population
from workloadkit.simulation.predictors import BuiltIn
from workloadkit.simulation.scaling import AsWorkload, scaled_machine
from workloadkit.simulation.users import BatchUser, CustomUsers, OpenUsers
from workloadkit.simulation.users.behaviour import (
    Behaviour,
    Community,
    LogBehaviour,
    draws,
    is_plain_only,
)
from workloadkit.simulation.workload import Rules, machine_size, overrun_of
from workloadkit.trace import Trace, check_trace

# A partition with a smaller share of the jobs causes no warning.
_LEAST_SHARE = 0.01

# Schedulers that support requests for reservations: those that plan with jobs only, not with users.
_WITH_RESERVATIONS = (
    *("easy", "fcfs", "sjf", "ljf", "smallest", "largest", "f1", "wfp3", "unicef"),
    *("reservations", "conservative", "selective"),
)

# Settings that change the times of jobs or the machine, with their defaults.
_WITHOUT_RESERVATIONS = {
    "outages": None,
    "predictor": None,
    "offered_load": None,
    "scale_arrivals": 1.0,
    "scale_runs": 1.0,
    "scale_sizes": 1.0,
    "passes": "instant",
    "population": "recorded",
}

# Jobs submitted before the window cause a warning if the log is longer by at least this share.
_MUCH_LONGER = 0.1


@dataclass(frozen=True)
class SimulationParts:
    """The parts of one simulation.

    Parameters
    ----------
    trace : Trace or None
        The log.
    policy : Policy or Scheduler
    behaviour : object
        How users behave, see `users`; or a list of custom users.
    population : object
        Who is present, see `populations`.
    engine : {"compiled", "python"}
    rules : Rules
    as_workload : AsWorkload
        The rules by which jobs of a log become a workload.
    knows_machine : bool
        Whether the number of processors is known.
    parameters : dict
        The settings recorded in the schedule.
    """

    trace: Trace | None
    policy: Policy | Scheduler
    behaviour: Any
    population: Any
    engine: Engine
    rules: Rules
    as_workload: AsWorkload
    knows_machine: bool
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the policy, for messages."""
        return name_of(self.policy)

    @property
    def follows_log(self) -> bool:
        """Whether the schedule is the recorded one."""
        return isinstance(self.policy, RecordedSchedule)


def select_parts(
    trace: Trace | None, scheduler: Any, users: Any, settings: Simulate
) -> SimulationParts:
    """Select the parts of a simulation and check that they fit together; see `simulate`."""
    if trace is not None:
        check_trace(trace)
    overrun = overrun_of(trace, settings.overrun)
    settings = replace(settings, overrun=overrun)
    policy, behaviour = _policy(scheduler), _behaviour(users)
    population, machine = settings.population, _machine(settings, trace)
    predictor = _predictor(settings.predictor)
    who = populations.parse(population) if isinstance(population, str) else population
    _check_presence(trace, behaviour, who)
    if isinstance(who, Resampled):
        assert trace is not None  # checked above
        who = who.prepare(trace)
    recorded = isinstance(policy, RecordedSchedule)
    _check_parts(policy, behaviour, machine, predictor)
    if isinstance(machine, Described):
        _check_described(policy, behaviour, machine)
        machine = replace(machine, plans_many=_plans_many(policy))
    own = isinstance(policy, Scheduler) or _is_plain(behaviour)
    engine = settings.engine or ("python" if own or is_plain_only(behaviour) else "compiled")
    if engine == "compiled" and own:
        raise ParameterError(
            "the compiled engine runs only parts that have a compiled form; take engine='python' "
            "for custom schedulers and users in plain Python"
        )
    down = _outages(settings.outages, trace, recorded=recorded)
    holds = holds_of(down) if down is not None else []
    if holds:
        _check_holds(policy, behaviour, settings)
        engine = "python"
    strikes = down is not None and len(holds) < len(down)  # processors, too
    if down is not None and strikes and machine is not None:
        machine = _with_outages(machine, down, policy, settings)
    procs = _processors(trace, behaviour, who, settings, machine, recorded=recorded)
    if trace is not None and machine is None and isinstance(policy, Policy) and not recorded:
        _warn_of_partitions(trace)
        _warn_of_jobs_before_window(trace)
    hardware: Hardware = machine or OnePool(procs or MAX_PROCS)
    if down is not None and strikes and machine is None:
        hardware = _numbered(policy, down, hardware.procs, settings.interrupted == "requeue")
    asked = _requests(settings.reservations, trace)
    if asked is not None:
        _check_reservable(policy, behaviour, asked, settings)
        if isinstance(machine, Described):
            hardware = machine = _with_reservations(machine, asked)
        else:
            hardware = ReservablePool(hardware.procs, asked)
        if machine is not None or not isinstance(behaviour, OpenUsers):
            engine = "python"
    if isinstance(machine, Described) and machine.has_tiers:
        _warn_of_tiers(policy, behaviour, machine)
    chosen = {
        "scheduler": scheduler if isinstance(scheduler, str) else identity_of(policy),
        "users": users if isinstance(users, str) else identity_of(behaviour),
    }
    if not isinstance(who, populations.Recorded):
        chosen["population"] = describe(getattr(who, "choice", who))
    for name, part in (("machine", machine), ("predictor", predictor)):
        if part is not None:
            chosen[name] = identity_of(part)
    if isinstance(machine, Described):
        chosen["machine"] = f"{machine.name} (sha256 {machine.digest})"
    of_log = isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour)
    parameters = _parameters(settings, procs, down, recorded=recorded, of_log=of_log)
    if asked is not None:
        parameters["reservations"] = asked.identity
    if own or any(map(draws, (policy, behaviour, who, predictor))):
        parameters["seed"] = seed_of(settings.rng)
    if recorded:  # no estimate is raised, nothing is killed
        overrun = "late"
    rules = Rules(
        hardware.procs,
        overrun,
        settings.passes,
        parameters.get("seed", 0),
        hardware,
        None if _is_request(predictor) else predictor,
        holds,
        settings.interrupted == "requeue",
    )
    return SimulationParts(
        trace,
        policy,
        behaviour,
        who,
        engine,
        rules,
        AsWorkload.by(
            replace(settings, overrun=overrun),
            hardware.procs,
            of_any_size=recorded,
            described=machine if isinstance(machine, Described) else None,
            waits_count=recorded and not isinstance(behaviour, OpenUsers),
        ),
        procs is not None,
        chosen | parameters,
    )


def machine_named(machine: Any, trace: Trace | None, **how: Any) -> Any:
    """Return a machine that is given by its description, a file or a name; others unchanged."""
    name = "machine"
    if isinstance(machine, str) and machine == "log":
        machine = trace.machine if trace is not None else None
        if machine is None:
            raise ParameterError(
                "machine is 'log', and there is no description of a machine next to the log"
            )
    elif isinstance(machine, str | os.PathLike):
        name = Path(machine).name
        machine = read_machine(machine)
    if isinstance(machine, MachineDescription):
        return Described.of(machine, name=name, **how)
    return machine


def described_machine(machine: Any, trace: Trace, **how: Any) -> Described:
    """Return a machine that is given by its description, a file or a name.

    Raises
    ------
    ParameterError
        If it has no description.
    """
    found = machine_named(machine, trace, **how)
    if not isinstance(found, Described):
        raise ParameterError(f"machine is {machine!r}; give a machine that has a description")
    return found


def _machine(settings: Simulate, trace: Trace | None) -> Any:
    """Return the machine of a simulation; None for identical processors."""
    how = {x: getattr(settings, x) for x in ("placement", "claim", "memory")}
    machine = machine_named(settings.machine, trace, **how)
    changed = [x for x in how if x in settings.changed]
    if changed and not isinstance(machine, Described):
        raise ParameterError(f"{changed[0]} applies to a machine that has a description")
    return machine


def _plans_many(policy: Any) -> bool:
    """Whether a built-in policy makes more than one reservation."""
    name, depth = getattr(policy, "name", ""), getattr(policy, "depth", 1)
    return (
        name in ("conservative", "selective") or max(depth, getattr(policy, "reservations", 1)) > 1
    )


def _check_described(policy: Any, behaviour: Any, machine: Described) -> None:
    """Check that a machine of nodes can serve a policy and users."""
    if not isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour):
        who = f"users {name_of(behaviour)}" if isinstance(behaviour, Community) else "custom users"
        raise ParameterError(
            f"{who} submit their own jobs: a described machine serves the jobs of a log"
        )
    if machine.has_nodes and not getattr(policy, "serves_nodes", True):
        raise ParameterError(f"scheduler {name_of(policy)}: it does not support machines of nodes")


def _warn_of_tiers(policy: Any, behaviour: Any, machine: Described) -> None:
    """Warn if the tiers of partitions make no difference."""
    from workloadkit.simulation.policies.order.tiers import knows_tiers

    who, knows = f"scheduler {name_of(policy)}", knows_tiers(policy)
    if knows and not isinstance(behaviour, OpenUsers):
        who, knows = f"with users who react, {who}", False
    elif knows and machine.reservations is not None:
        who, knows = f"with requests for reservations, {who}", False
    if not knows:
        warnings.warn(
            f"{machine.name}: {who} does not consider the tiers of partitions that share nodes",
            WorkloadWarning,
            stacklevel=4,
        )


def _is_plain(behaviour: Any) -> bool:
    """Whether users have a form in plain Python only.

    A class derived from a built-in behaviour may differ from its compiled form.
    """
    built_in = behaviours.known().loaded
    if type(behaviour) in built_in:
        return False
    whole = isinstance(behaviour, LogBehaviour | Community) and not isinstance(behaviour, built_in)
    return not whole


def _processors(
    trace: Trace | None,
    behaviour: Any,
    population: Any,
    settings: Simulate,
    machine: Hardware | None,
    *,
    recorded: bool,
) -> int | None:
    """Return the processors of the machine; None where the recorded schedule needs none."""
    if machine is not None:
        if settings.procs is not None or "scale_machine" in settings.scales:
            raise ParameterError("machine sets the number of processors; do not give procs as well")
        return int(machine.procs)
    header = trace.header if trace is not None else Header()
    if isinstance(population, ResampledUsers):
        header = population.header_of(trace)
    procs = settings.procs
    given = procs, header.procs, settings.offered_load
    if recorded and given == (None, None, None) and "scale_machine" not in settings.scales:
        return None
    if procs is None and isinstance(behaviour, Community):
        procs = behaviour.processors
    if (procs, header.procs, trace) == (None, None, None):
        raise ParameterError(
            "procs is None, and there is no log that names the machine's processors"
        )
    return scaled_machine(machine_size(header, procs), settings.scale_machine)


def _warn_of_partitions(trace: Trace) -> None:
    """Warn that jobs of several partitions share one simulated machine."""
    partition = trace.column("partition")[trace.ran]
    numbers, n_jobs = np.unique(partition[partition >= 0], return_counts=True)
    used = n_jobs >= _LEAST_SHARE * partition.size
    if used.sum() > 1:
        each = (f"{n:,} in {number:.0f}" for number, n in zip(numbers, n_jobs, strict=True))
        described = trace.machine is not None and trace.machine.partitions
        advice = "; machine='log' (--machine log) simulates them as described" if described else ""
        warnings.warn(
            f"{trace.name}: its partitions ({', '.join(each)}) are simulated as one machine, on "
            f"which any job may use any processor{advice}",
            WorkloadWarning,
            stacklevel=4,
        )


def _warn_of_jobs_before_window(trace: Trace) -> None:
    """Warn of jobs submitted long before the window: the machine is nearly empty until then."""
    submit, window = trace.column("submit"), trace.window
    if trace.n_jobs and window.begin - submit[0] >= _MUCH_LONGER * window.length > 0:
        n_before = int((submit < window.begin).sum())
        warnings.warn(
            f"{trace.name}: {plural(n_before, 'job was', 'jobs were')} submitted up to "
            f"{(window.begin - submit[0]) / DAY:.1f} days before the window of "
            f"{window.length / DAY:.1f} days in which the log is complete; a warm-up, which begins "
            "with the window, leaves them out of the metrics",
            WorkloadWarning,
            stacklevel=4,
        )


def _parameters(
    settings: Simulate, procs: int | None, down: Outages | None, *, recorded: bool, of_log: bool
) -> dict[str, Any]:
    """Return the recorded settings, without the parts."""
    values = settings.recorded
    for name in (
        "population",
        "machine",
        "predictor",
        "utility_at",
        "outages",
        "reservations",
        "uncounted",
    ):
        values.pop(name, None)  # parts, exclusions, and settings recorded in another form
    if recorded or not of_log:
        del values["oversize"], values["estimates"]
    if recorded:
        del values["overrun"]
    values["procs"] = procs
    if procs is None:
        del values["procs"]
    if down is not None:
        text = f"{down.name} (sha256 {down.digest})" if down.digest else down.text()
        values |= {"outages": text, "interrupted": settings.interrupted}
    if skipped := uncounted_users(settings.uncounted):
        values["uncounted"] = skipped
    return values


def uncounted_users(uncounted: ArrayLike) -> list[int]:
    """Return the numbers of the users excluded from the metrics, ascending."""
    try:
        given = np.atleast_1d(np.asarray(uncounted))
    except ValueError:  # lists of different lengths
        given = np.array([None])
    if given.size and not (given.dtype.kind in "iuf" and np.array_equal(given, np.rint(given))):
        raise ParameterError(f"uncounted is {uncounted!r}; give numbers of users")
    return sorted({int(user) for user in given})


def _check_parts(policy: Any, behaviour: Any, machine: Any, predictor: Any) -> None:
    """Check that the parts are valid and fit together."""
    if machine is not None and not isinstance(machine, Hardware):
        raise ParameterError(
            f"machine is {machine!r}; give a path, a MachineDescription, or an object of "
            "workloadkit.simulation.machine"
        )
    if machine is not None and getattr(policy, "one_pool", False):
        raise ParameterError(
            f"scheduler {policy.name}: it supports one pool of processors, no other machine"
        )
    if isinstance(policy, RecordedSchedule):
        if isinstance(behaviour, Community):
            raise ParameterError(
                f"scheduler recorded follows the waits of a log, and users {name_of(behaviour)} "
                "have none"
            )
        if machine is not None or predictor is not None:
            raise ParameterError(
                "scheduler recorded follows the log: machine and predictor have no effect"
            )


def _check_presence(trace: Trace | None, behaviour: object, population: object) -> None:
    """Check that a log is given exactly when the users need one."""
    of_log = isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour)
    if not isinstance(population, Population | Resampled):
        raise ParameterError(
            f"population is {population!r}; give a name or an object of workloadkit.populations"
        )
    if trace is None and of_log and not isinstance(population, ResampledUsers):
        raise ParameterError("there is no log to simulate; give a trace, or custom users")
    if not of_log and (trace is not None or not isinstance(population, populations.Recorded)):
        who = f"users {name_of(behaviour)}" if isinstance(behaviour, Community) else "custom users"
        raise ParameterError(
            f"{who} submit their own jobs: a log and a population are for users of a log"
        )


def check_synthetic(who: str, settings: Simulate) -> None:
    """Refuse settings that apply to the jobs of a log, where users submit their own jobs."""
    of_jobs = ("scale_arrivals", "scale_runs", "scale_sizes", "offered_load", "oversize")
    for name in (*of_jobs, "estimates"):
        if name in settings.changed:
            raise ParameterError(f"{who} submit their own jobs: {name} applies to jobs of a log")


def _outages(
    outages: Outages | str | os.PathLike[str] | None, trace: Trace | None, *, recorded: bool
) -> Outages | None:
    """Return the outages, if any; warn where they belong to another log."""
    if outages is None:
        return None
    if recorded:
        warnings.warn(
            "the recorded schedule does not change: outages have no effect on it",
            WorkloadWarning,
            stacklevel=4,
        )
        return None
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    if not isinstance(outages, Outages):
        raise ParameterError(f"outages is {outages!r}; give a path or an instance of Outages")
    if not outages.digest:  # else this was checked when they were read
        for line in outages.oddities:
            warnings.warn(line, WorkloadWarning, stacklevel=4)
    if trace is not None and (other := outages.other_log(trace)):
        warnings.warn(
            f"{outages.name} describes the outages of {other}, not of {trace.name}",
            WorkloadWarning,
            stacklevel=4,
        )
    return outages


def _requests(requests: Any, trace: Trace | None) -> ReservationRequests | None:
    """Return the requests for reservations, if any; warn where they belong to another log."""
    if requests is None:
        return None
    if isinstance(requests, str | os.PathLike):
        requests = read_reservations(requests)
    if not isinstance(requests, ReservationRequests):
        raise ParameterError(
            f"reservations is {requests!r}; give a path or an instance of ReservationRequests"
        )
    if trace is not None and (other := requests.other_log(trace)):
        warnings.warn(
            f"{requests.name} contains requests of the users of {other}, not of {trace.name}",
            WorkloadWarning,
            stacklevel=4,
        )
    return requests


def _check_reservable(
    policy: Any, behaviour: Any, requests: ReservationRequests, settings: Simulate
) -> None:
    """Check that reservations apply to the other settings."""
    react = not isinstance(behaviour, OpenUsers)
    if react and any(request.jobs for request in requests):
        raise ParameterError(
            "reservations for jobs are requested at recorded times: they apply to users who do not "
            "react (open); others are served around reservations for no job, such as maintenance"
        )
    if react and not isinstance(behaviour, Behaviour | LogBehaviour):
        raise ParameterError("reservations apply to users of a log")
    if settings.engine == "compiled" and (react or settings.machine is not None):
        what = "with users who react" if react else "of nodes"
        raise ParameterError(f"reservations {what}: the compiled engine does not simulate them")
    for name, usual in _WITHOUT_RESERVATIONS.items():
        if getattr(settings, name) != usual:
            raise ParameterError(f"reservations do not apply to simulations with {name}")
    if settings.overrun == "late":
        raise ParameterError(
            "overrun is 'late'; a reservation cannot begin while jobs hold its processors beyond "
            "their estimates: take overrun='raise' or 'kill'"
        )
    name = getattr(policy, "name", "")
    custom = getattr(policy, "custom_key", False) or isinstance(policy, Scheduler)
    if custom or name not in _WITH_RESERVATIONS:
        raise ParameterError(
            f"scheduler {name_of(policy)}: it does not support reservations; take one of "
            f"{', '.join(_WITH_RESERVATIONS)}"
        )


def _with_reservations(machine: Described, requests: ReservationRequests) -> Described:
    """Return a machine of nodes that can be reserved, which the plain-Python engine simulates."""
    if [bool(group.kinds) for group in machine.groups] != [True]:
        raise ParameterError(
            "reservations apply to plain processors, or to nodes that all partitions share"
        )
    if machine.claim == "amounts":
        raise ParameterError("reservations of nodes require claim='nodes' (--claim nodes)")
    return replace(machine, reservations=requests)


def _with_outages(
    machine: Any, outages: Outages, policy: Policy | Scheduler, settings: Simulate
) -> Described:
    """Return a machine of nodes with outages, for a policy that supports them."""
    if not isinstance(machine, Described) or not all(group.kinds for group in machine.groups):
        raise ParameterError("outages apply to plain processors, or to a machine of nodes")
    if settings.claim == "amounts":
        raise ParameterError("outages of nodes require claim='nodes' (--claim nodes)")
    scheduler = policy if isinstance(policy, Scheduler) else policy.plain()
    if scheduler.overcommits or not scheduler.bears_outages:
        raise ParameterError(f"scheduler {name_of(policy)}: it does not support outages")
    return replace(machine, outages=outages, requeues=settings.interrupted == "requeue")


def _check_holds(policy: Policy | Scheduler, behaviour: Any, settings: Simulate) -> None:
    """Check that outages of users apply to the other settings."""
    if settings.engine == "compiled":
        raise ParameterError("outages of users: the compiled engine does not simulate them")
    if not isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour):
        raise ParameterError("outages of users apply to users of a log")
    scheduler = policy if isinstance(policy, Scheduler) else policy.plain()
    if scheduler.overcommits or not scheduler.bears_holds:
        raise ParameterError(f"scheduler {name_of(policy)}: it does not support outages of users")


def _numbered(
    policy: Policy | Scheduler, outages: Outages, procs: int, requeues: bool
) -> NumberedProcessors:
    """Return processors with outages, for a policy that supports them."""
    scheduler = policy if isinstance(policy, Scheduler) else policy.plain()
    if scheduler.overcommits or not scheduler.bears_outages:
        raise ParameterError(f"scheduler {name_of(policy)}: it does not support outages")
    return NumberedProcessors(procs, settle(outages, procs), requeues)


def _policy(scheduler: str | Policy | Scheduler) -> Policy | Scheduler:
    """Return the policy that a name or an object stands for."""
    if isinstance(scheduler, str):
        return schedulers.parse(scheduler)
    if isinstance(scheduler, type) or not isinstance(scheduler, Scheduler | Policy):
        raise ParameterError(
            f"scheduler is {scheduler!r}; give a name, a policy of workloadkit.schedulers, or an "
            "instance of a subclass of its Scheduler"
        )
    return scheduler


def _predictor(predictor: Any) -> Any:
    """Return the predictor that a name or an object stands for."""
    if isinstance(predictor, str):
        return predictors.parse(predictor)
    if predictor is not None and not all(hasattr(predictor, f) for f in ("plain", "compiled")):
        raise ParameterError(
            f"predictor is {predictor!r}; give a name, an object of workloadkit.predictors, or one "
            "with methods plain and compiled"
        )
    return predictor


def _is_request(predictor: Any) -> bool:
    """Whether a predictor repeats the request, as no predictor does."""
    return isinstance(predictor, BuiltIn) and predictor.name == "requested"


def _behaviour(users: Any) -> Any:
    """Return the behaviour that a name or an object stands for; custom users are copied."""
    if isinstance(users, str):
        return behaviours.parse(users)
    if isinstance(users, type) and issubclass(users, BatchUser):
        return CustomUsers(users)
    if isinstance(users, type) and not issubclass(users, User):
        raise ParameterError(f"users is the class {users.__name__}; give an instance of it")
    built = isinstance(users, OpenUsers | Behaviour | LogBehaviour | Community)
    return users if built else copies(users)


def name_of(thing: object) -> str:
    """Return the name of a policy, a behaviour or a custom class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    if isinstance(thing, Policy | Behaviour | LogBehaviour | Community | BuiltIn):
        return describe(thing)
    return getattr(thing, "name", "") or type(thing).__name__


def identity_of(thing: object) -> str:
    """Return the name of a part as in a provenance: a custom one with its source's digest."""
    return (
        f"{name_of(thing)} (source {source_digest(thing)})" if is_custom(thing) else name_of(thing)
    )
