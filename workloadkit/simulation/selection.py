"""Select the parts of a simulation: population, users' behaviour, scheduler and machine."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workloadkit._kernels.compile import DISABLE_JIT, lacks_compiler
from workloadkit._kernels.object_code import is_in_use
from workloadkit._kernels.prebuilt import library
from workloadkit.errors import ParameterError, parameter, quoted
from workloadkit.parameters import describe
from workloadkit.provenance import seed_of
from workloadkit.settings import Simulate
from workloadkit.settings.simulation import Engine, Overrun
from workloadkit.simulation import populations, predictors, schedulers
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.engines import copies
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.populations.population import Population
from workloadkit.simulation.schedule.notes import identity_of, name_of, users_noted
from workloadkit.simulation.selected_machine import NO_EFFECT, SelectedMachine, select_machine
from workloadkit.simulation.supports import supports
from workloadkit.simulation.users import (
    Community,
    LogBehaviour,
    OpenUsers,
    is_of_log,
    is_plain_only,
)
from workloadkit.simulation.workload import Rules, overrun_of, overrun_with
from workloadkit.simulation.workload.scaling import AsWorkload
from workloadkit.trace import Trace, check_trace


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

    def names_on(self, machine: Hardware) -> dict[str, str]:
        """Return the names by which saved states know the parts, on a machine or a part of it."""
        names = {"scheduler": self.name, "machine": machine.numbering}
        return names | {"predictor": str(self.parameters.get("predictor", ""))}

    @property
    def settings_in_states(self) -> dict[str, str]:
        """The settings by which a simulation goes on as it was cut."""
        others = self.parameters.keys() - {"engine", "seed", "state"}
        return {name: str(self.parameters[name]) for name in sorted(others)}

    @property
    def follows_log(self) -> bool:
        """Whether the schedule is the recorded one."""
        return supports(self.policy, "recorded starts")


def select_parts(
    trace: Trace | None, scheduler: Any, users: Any, settings: Simulate
) -> SimulationParts:
    """Select the parts of a simulation and check that they fit together; see `simulate`."""
    if trace is not None:
        check_trace(trace)
    overrun = overrun_of(trace, settings.overrun)
    settings = replace(settings, overrun=overrun)
    policy, behaviour = _policy(scheduler), _behaviour(users)
    population, predictor = settings.population, _predictor(settings.predictor)
    if settings.state is not None:
        from workloadkit.simulation.continuing import check_continuing

        check_continuing(trace, policy, behaviour, predictor, settings)
    who = populations.parse(population) if isinstance(population, str) else population
    _check_presence(trace, behaviour, who)
    if not isinstance(who, Population):  # it makes one for the log
        assert trace is not None  # checked above
        who = who.prepare(trace)
    recorded = supports(policy, "recorded starts")
    _check_parts(policy, behaviour, predictor)
    _check_cancelled(behaviour, settings)
    site = select_machine(trace, policy, behaviour, who, settings)
    own = isinstance(policy, Scheduler) or _is_plain(behaviour)
    chosen = {
        "scheduler": scheduler if isinstance(scheduler, str) else identity_of(policy),
        "users": users if isinstance(users, str) else identity_of(behaviour),
        **_further_parts(who, site, predictor),
    }
    parameters = _parameters(settings, site, recorded=recorded, of_log=is_of_log(behaviour))
    if own or any(map(draws, (policy, behaviour, who, predictor))):
        parameters["seed"] = seed_of(settings.rng)
    predictor = None if _is_request(predictor) else predictor
    # of a recorded schedule no estimate is raised, and nothing is killed
    overrun = overrun_with(predictor, "late" if recorded else overrun)
    return SimulationParts(
        trace,
        policy,
        behaviour,
        who,
        _engine(settings.engine, site, own, is_plain_only(behaviour)),
        _rules(trace, predictor, overrun, site, settings, parameters.get("seed", 0)),
        AsWorkload.by(
            replace(settings, overrun=overrun),
            site.hardware.procs,
            of_any_size=recorded,
            described=site.described,
            reacting=not isinstance(behaviour, OpenUsers),
            decimals=settings.state is not None and settings.state.has_fractions,
        ),
        site.procs is not None,
        chosen | parameters,
    )


def _rules(
    trace: Trace | None,
    predictor: Any,
    overrun: Overrun,
    site: SelectedMachine,
    settings: Simulate,
    seed: int,
) -> Rules:
    """Return the rules of a simulation on a machine."""
    state = settings.state
    return Rules(
        site.hardware.procs,
        overrun,
        settings.passes,
        seed,
        site.hardware,
        predictor,
        site.holds,
        settings.interrupted == "requeue",
        None if state is None or trace is None else trace.header.state_time,
    )


def _engine(asked: Engine | None, site: SelectedMachine, own: bool, plain_only: bool) -> Engine:
    """Return the engine that runs the parts; `own` ones have no compiled form."""
    engine = asked or ("python" if own or plain_only else "compiled")
    if engine == "compiled" and own:
        raise ParameterError(
            "the compiled engine runs only parts that have a compiled form; take engine='python' "
            "for custom schedulers and users in plain Python"
        )
    return "python" if site.is_plain else engine


def engine_in_words() -> str:
    """Return the engine in which simulations run here, and whether kernels are compiled already."""
    if DISABLE_JIT:
        return "plain Python: NUMBA_DISABLE_JIT is set"
    if library():
        return "compiled; the usual kernels came with the package"
    if lacks_compiler():
        return "plain Python: there is no compiler that is known here"
    return f"compiled; {'some kernels' if is_in_use() else 'no kernel yet'} in the cache"


def _further_parts(who: Any, site: SelectedMachine, predictor: Any) -> dict[str, str]:
    """Return what a schedule records of population, machine and predictor."""
    found = {}
    if not isinstance(who, populations.Recorded):
        found["population"] = describe(getattr(who, "choice", who))
    for name, part in (("machine", site.machine), ("predictor", predictor)):
        if part is not None:
            found[name] = identity_of(part)
    if site.described is not None:
        found["machine"] = f"{site.described.name} (sha256 {site.described.digest})"
    return found


def _is_plain(behaviour: Any) -> bool:
    """Whether users have a form in plain Python only.

    A class derived from a built-in behaviour may differ from its compiled form.
    """
    built_in = behaviours.known().loaded
    if type(behaviour) in built_in:
        return False
    whole = isinstance(behaviour, LogBehaviour | Community) and not isinstance(behaviour, built_in)
    return not whole


def _parameters(
    settings: Simulate, site: SelectedMachine, *, recorded: bool, of_log: bool
) -> dict[str, Any]:
    """Return the recorded settings, without the parts."""
    values, down = settings.recorded, site.outages
    for name in (
        "population",
        "machine",
        "predictor",
        "utility_at",
        "outages",
        "reservations",
        "state",
        "uncounted",
    ):
        values.pop(name, None)  # parts, exclusions, and settings recorded in another form
    if recorded or not of_log:
        del values["oversize"], values["estimates"]
    if recorded:
        del values["overrun"]
    values["procs"] = site.procs
    if site.procs is None:
        del values["procs"]
    if down is not None:
        text = f"{down.name} (sha256 {down.digest})" if down.digest else down.text()
        values |= {"outages": text, "interrupted": settings.interrupted}
    if skipped := uncounted_users(settings.uncounted):
        values["uncounted"] = skipped
    for name, given in (("reservations", site.requests), ("state", settings.state)):
        if given is not None:
            values[name] = given.identity
    return values


def uncounted_users(uncounted: ArrayLike) -> list[int]:
    """Return the numbers of the users excluded from the metrics, ascending."""
    try:
        given = np.atleast_1d(np.asarray(uncounted))
    except ValueError:  # lists of different lengths
        given = np.array([None])
    if given.size and not (given.dtype.kind in "iuf" and np.array_equal(given, np.rint(given))):
        raise ParameterError(f"uncounted is {quoted(uncounted)}; give numbers of users")
    return sorted({int(user) for user in given})


def _check_parts(policy: Any, behaviour: Any, predictor: Any) -> None:
    """Check that policy, users and predictor fit together."""
    if supports(policy, "recorded starts"):
        if isinstance(behaviour, Community):
            raise ParameterError(
                f"scheduler recorded follows the waits of a log, and users {name_of(behaviour)} "
                "have none"
            )
        if predictor is not None:
            raise ParameterError(NO_EFFECT)


def _check_cancelled(behaviour: Any, settings: Simulate) -> None:
    """Check that jobs that are cancelled while they wait arrive at the timestamps of a log."""
    if settings.cancelled == "keep":
        if not isinstance(behaviour, OpenUsers):
            why = f"is 'keep'; users {name_of(behaviour)} submit and await jobs that ran only"
            raise ParameterError("cancelled", why)
        if settings.reservations is not None:
            why = f"is 'keep', and {parameter('reservations')} are given; give one"
            raise ParameterError("cancelled", why)


def _check_presence(trace: Trace | None, behaviour: object, population: object) -> None:
    """Check that a log is given exactly when the users need one."""
    of_log = is_of_log(behaviour)
    if not isinstance(population, Population) and not isinstance(population, populations.Resampled):
        raise ParameterError(
            "population",
            f"is {quoted(population)}; give a name or an object of workloadkit.populations",
        )
    if trace is None and of_log and not getattr(population, "has_log", False):
        raise ParameterError("there is no log to simulate; give a trace, or custom users")
    if not of_log and (trace is not None or not isinstance(population, populations.Recorded)):
        raise ParameterError(
            f"{users_noted(behaviour)} submit their own jobs: a log and a population are for users "
            "of a log"
        )


def check_synthetic(who: str, settings: Simulate) -> None:
    """Refuse settings that apply to the jobs of a log, where users submit their own jobs."""
    of_jobs = ("unit", "scale_arrivals", "scale_runs", "scale_sizes", "offered_load", "oversize")
    for name in (*of_jobs, "estimates"):
        if name in settings.changed:
            raise ParameterError(f"{who} submit their own jobs: {name} applies to jobs of a log")


def _policy(scheduler: str | Policy | Scheduler) -> Policy | Scheduler:
    """Return the policy that a name or an object stands for."""
    if isinstance(scheduler, str):
        return schedulers.parse(scheduler)
    if isinstance(scheduler, type) or not isinstance(scheduler, Scheduler | Policy):
        raise ParameterError(
            "scheduler",
            f"is {quoted(scheduler)}; give a name, a policy of workloadkit.schedulers, or an "
            "instance of a subclass of its Scheduler",
        )
    return scheduler


def _predictor(predictor: Any) -> Any:
    """Return the predictor that a name or an object stands for."""
    if isinstance(predictor, str):
        return predictors.parse(predictor)
    if predictor is not None and not all(hasattr(predictor, f) for f in ("plain", "compiled")):
        raise ParameterError(
            "predictor",
            f"is {quoted(predictor)}; give a name, an object of workloadkit.predictors, or one "
            "with methods plain and compiled",
        )
    return predictor


def _is_request(predictor: Any) -> bool:
    """Whether a predictor repeats the request, as no predictor does."""
    return predictor is not None and (
        isinstance(predictor, predictors.BuiltIn) and predictor.name == "requested"
    )


def _behaviour(users: Any) -> Any:
    """Return the behaviour that a name or an object stands for; custom users are copied."""
    if isinstance(users, str):
        return behaviours.parse(users)
    if isinstance(users, type) and issubclass(users, behaviours.BatchUser):
        return behaviours.CustomUsers(users)
    if isinstance(users, type) and not issubclass(users, User):
        raise ParameterError("users", f"is the class {users.__name__}; give an instance of it")
    return users if is_of_log(users) or isinstance(users, Community) else copies(users)
