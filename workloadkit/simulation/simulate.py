"""Simulate a scheduler serving users."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadWarning,
    check_choice,
    check_number,
    check_positive,
)
from workloadkit.fields import MAX_PROCS
from workloadkit.header import Header
from workloadkit.io.outages import Outages, read_outages
from workloadkit.metrics import use_over_time
from workloadkit.parameters import describe
from workloadkit.provenance import seed_of
from workloadkit.simulation import populations, schedulers
from workloadkit.simulation import users as behaviours
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.machine.outages import NumberedProcessors
from workloadkit.simulation.machine.shutdowns import settle
from workloadkit.simulation.made_up import as_log
from workloadkit.simulation.playing import (
    Play,
    copies,
    play_crowd_compiled,
    play_crowd_plain,
    play_log_compiled,
    play_plain,
    submitted,
    with_changed_runs,
)
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.policies.recorded import Recorded
from workloadkit.simulation.populations import Resampled, ResampledUsers
from workloadkit.simulation.populations.population import Population
from workloadkit.simulation.scaling import AsWorkload, scaled_machine
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.users import BatchUser, OpenUsers
from workloadkit.simulation.users.batches.crowd import BatchCrowd
from workloadkit.simulation.users.behaviour import (
    Behaviour,
    Community,
    LogBehaviour,
    draws,
    is_plain_only,
)
from workloadkit.simulation.workload import (
    Estimates,
    Interrupted,
    Overrun,
    Oversize,
    Passes,
    Rules,
    UtilityAt,
    Workload,
    machine_size,
)
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from workloadkit.simulation.users.crowd import Crowd

Engine = Literal["compiled", "python"]


def simulate(
    trace: Trace | None = None,
    scheduler: str | Policy | Scheduler = "easy",
    users: str
    | OpenUsers
    | type[BatchUser]
    | Behaviour
    | LogBehaviour
    | Community
    | Sequence[User] = "open",
    *,
    population: str | Population = "recorded",
    procs: int | None = None,
    oversize: Oversize = "error",
    estimates: Estimates = "user",
    overrun: Overrun = "raise",
    passes: Passes = "instant",
    offered_load: float | None = None,
    scale_arrivals: float = 1.0,
    scale_runs: float = 1.0,
    scale_sizes: float = 1.0,
    scale_machine: float = 1.0,
    warmup: float = 0.0,
    cooldown: float = 0.0,
    uncounted: ArrayLike = (),
    outages: Outages | str | os.PathLike[str] | None = None,
    interrupted: Interrupted = "requeue",
    utility_at: UtilityAt = "turnaround",
    rng: np.random.Generator | int | None = None,
    engine: Engine | None = None,
) -> Schedule:
    """Simulate a scheduler serving the users of a log, or users of one's own.

    A job needs the processors it requested, else those it used. The scheduler plans with the
    requested time, where it is known, else with the run time, and with 1 s at the least. Jobs
    that never ran are left out and counted.

    Parameters
    ----------
    trace : Trace, optional
        The log whose jobs are simulated; not needed with users of one's own.
    scheduler : str or object, default "easy"
        A name with parameters as on the command line, a policy of `workloadkit.schedulers`, or an
        instance of a subclass of `Scheduler`, which is copied for the simulation.
    users : str, object or sequence of User, default "open"
        How the users of the log behave, or users who need no log: a name with parameters, or an
        object of `workloadkit.users`; or users of one's own: a subclass of `BatchUser`, who go
        through a log, or a list of users who need none (copied, too).
    population : str or object, default "recorded"
        Which users of the log are present: a name with parameters, or an object of
        `workloadkit.populations`.
    procs : int, optional
        Processors of the machine; by default the header's MaxProcs.
    oversize : {"error", "drop"}
        What to do with jobs larger than the machine.
    estimates : {"user", "exact"}
        Plan with the users' estimates or with the run times.
    overrun : {"raise", "kill", "late"}
        What happens to a job that outlives its estimate: the estimate is raised to the run time
        from the start; the job is stopped at its estimate; it runs on, and counts as ending at
        every present second.
    passes : {"instant", "event"}
        Allocate processors once an instant, when nothing more happens in it; or, as older
        simulators do, after each single event, at equal times submissions first, in the order
        of the log, then terminations in the order of the starts.
    offered_load : float, optional
        Stretch or compress the submit times until work / (processors × submit span) is this.
    scale_arrivals : float, default 1
        Stretch or compress them by this factor of all inter-arrival times instead.
    scale_runs, scale_sizes : float, default 1
        Factors of the run times and their estimates, and of the processors that jobs need,
        rounded half up; no job that fits into the machine grows larger than it. Utility functions
        stay as they are.
    scale_machine : float, default 1
        Factor of the machine's processors.
    warmup, cooldown : float, default 0
        Leave jobs submitted in the first and last such time out of the metrics. [s]
    uncounted : array_like of int, optional
        Users whose jobs are simulated and left out of the metrics, such as the `rare_users` of a
        resampled log.
    outages : Outages or path, optional
        When which processors are down. From the second on at which an outage was announced jobs
        are planned around it: none starts on processors that go down before its planned end. The
        processors of outages that do not name theirs are taken in turn, see
        `workloadkit.simulation.machine.settle`.
    interrupted : {"requeue", "lose"}
        What becomes of a job whose processors go down while it runs: it waits again, by its first
        submission, and then runs from the beginning; or it ends there, failed (status 0).
    utility_at : {"turnaround", "start"}
        When the value of a job that has a utility function is read: at its end or at its start.
    rng : Generator or int, optional
        Where the seed comes from of all that draws: schedulers and users of one's own, and
        `genetic`. It is recorded in `parameters` then, and gives the same again.
    engine : {"compiled", "python"}, optional
        By default compiled for all that is built in, plain Python for what is one's own. Both
        give the same schedule.

    Returns
    -------
    Schedule

    Raises
    ------
    ParameterError
        For an unknown name or a value that cannot be.
    WorkloadError
        Where the log cannot be simulated: no job ran, the machine is unknown, jobs are larger
        than it.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> simulate(trace, "fcfs", procs=4).jobs["start"].tolist()
    [0, 10, 20]
    >>> simulate(trace, "easy", procs=4).jobs["start"].tolist()
    [0, 10, 2]
    """
    if trace is not None:
        check_trace(trace)
    policy = _policy(scheduler)
    behaviour = _behaviour(users)
    who = populations.parse(population) if isinstance(population, str) else population
    of_log = isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour)
    _check_presence(trace, behaviour, who, of_log=of_log)
    if isinstance(who, Resampled):
        assert trace is not None  # as was seen above
        who = who.prepare(trace)
    recorded = isinstance(policy, Recorded)
    if recorded and isinstance(behaviour, Community):
        raise ParameterError(
            f"scheduler recorded follows the waits of a log, and users {_name(behaviour)} have none"
        )
    down = _outages(outages, trace, recorded=recorded)
    own = isinstance(policy, Scheduler) or type(behaviour) not in behaviours.known().values()
    plain_only = own or is_plain_only(behaviour)
    engine = engine or ("python" if plain_only else "compiled")
    check_choice("engine", engine, Engine)
    check_choice("oversize", oversize, Oversize)
    check_choice("overrun", overrun, Overrun)
    check_choice("passes", passes, Passes)
    check_choice("interrupted", interrupted, Interrupted)
    check_choice("utility_at", utility_at, UtilityAt)
    for name, value in (("warmup", warmup), ("cooldown", cooldown)):
        check_number(name, value)
        if not 0 <= value < np.inf:
            raise ParameterError(f"{name} is {value} s; it cannot be negative or endless")
    if engine == "compiled" and own:
        raise ParameterError(
            "the compiled engine runs only what is built in; take engine='python' for schedulers "
            "or users of one's own"
        )
    log: Any = trace  # a population that has its own needs none
    header = trace.header if trace is not None else Header()
    if isinstance(who, ResampledUsers):
        header = who.header_of(trace)
    scales = {
        "scale_arrivals": scale_arrivals,
        "scale_runs": scale_runs,
        "scale_sizes": scale_sizes,
        "scale_machine": scale_machine,
    }
    scales = {name: factor for name, factor in scales.items() if factor != 1}
    check_positive(**scales)
    if offered_load is not None and "scale_arrivals" in scales:
        raise ParameterError("offered_load and scale_arrivals both set the submit times; give one")
    unknown = recorded and (procs, header.procs, offered_load) == (None, None, None)
    unknown = unknown and "scale_machine" not in scales
    if procs is None and isinstance(behaviour, Community):
        procs = behaviour.processors
    if (procs, header.procs, trace) == (None, None, None) and not unknown:
        raise ParameterError("procs is None, and there is no log to name the machine's processors")
    machine = MAX_PROCS if unknown else scaled_machine(machine_size(header, procs), scale_machine)
    if recorded:
        overrun = "late"  # nothing is killed, and no estimate is raised
    parameters: dict[str, Any] = {
        "scheduler": scheduler if isinstance(scheduler, str) else _name(policy),
        "users": users if isinstance(users, str) else _name(behaviour),
    }
    if not isinstance(who, populations.Recorded):
        parameters["population"] = describe(getattr(who, "choice", who))
    if not unknown:
        parameters["procs"] = machine
    if not recorded:
        parameters["overrun"] = overrun
    if passes != "instant":
        parameters["passes"] = passes
    if own or draws(policy) or draws(behaviour) or draws(who):
        parameters["seed"] = seed_of(rng)
    if down is not None:
        text = f"{down.name} (sha256 {down.digest})" if down.digest else down.text()
        parameters |= {"outages": text, "interrupted": interrupted}
    if warmup or cooldown:
        parameters |= {"warmup": warmup, "cooldown": cooldown}
    if skipped := _users(uncounted):
        parameters["uncounted"] = skipped
    parameters |= scales
    hardware = None
    if down is not None:
        hardware = _numbered(policy, down, machine, requeues=interrupted == "requeue")
    rules = Rules(machine, overrun, passes, parameters.get("seed", 0), hardware)
    outage_rules: dict[str, Any] = {"utility_at": utility_at}
    as_workload = AsWorkload(
        machine=machine,
        oversize=None if recorded else oversize,
        estimates=estimates,
        overrun=overrun,
        offered_load=offered_load,
        passes=passes,
        utility_at=utility_at,
        **scales,
    )
    if of_log and not recorded:
        parameters |= {"oversize": oversize, "estimates": estimates}
    if offered_load is not None:
        parameters["offered_load"] = offered_load
    play_with: Any = partial(play_plain, policy, _name(policy), rules, **outage_rules)
    compiles = engine == "compiled" and not isinstance(policy, Scheduler)
    if isinstance(behaviour, OpenUsers):
        unscaled = who.log(log, rules.seed)
        trace = as_workload.scaled(unscaled)
        workload = as_workload.of(trace)
        if compiles:
            assert not isinstance(policy, Scheduler)
            play = play_log_compiled(policy, _name(policy), workload, rules)
        else:
            jobs, outcome, runs = play_with(behaviour.plain(workload))
            play = Play(with_changed_runs(workload, jobs), outcome, runs=runs)
    elif isinstance(behaviour, Behaviour | LogBehaviour | Community):
        if offered_load is not None or "scale_arrivals" in scales:
            raise ParameterError(
                "offered_load and scale_arrivals are for users who submit by timestamps; the load "
                f"of users {_name(behaviour)} follows from what they do: add users or take some "
                "away, or scale run times, sizes or the machine"
            )
        if made_up := isinstance(behaviour, Community):
            _check_made_up(_name(behaviour), oversize, estimates, scales)
            crowd: Crowd = behaviour.crowd(machine)
        elif isinstance(behaviour, LogBehaviour):
            played = who.log(log, rules.seed)
            crowd = behaviour.crowd_of(played, as_workload(played))
        else:
            present = who.present(log, as_workload, rules.seed)
            if hasattr(behaviour, "adapted"):
                present = behaviour.adapted(present)
            crowd = BatchCrowd(who, behaviour, log, present)
        if compiles:
            assert not isinstance(policy, Scheduler)
            play = play_crowd_compiled(policy, _name(policy), rules, crowd)
        else:
            play = play_crowd_plain(policy, _name(policy), rules, crowd, **outage_rules)
        unscaled, workload, notes = crowd.result(play.workload, play.notes, machine)
        trace = unscaled if made_up else as_workload.scaled(unscaled)
        play = play._replace(workload=workload, notes=notes)
    else:
        own_load = {**scales, "offered_load": 1} if offered_load is not None else scales
        _check_made_up("of one's own", oversize, estimates, own_load)
        jobs, outcome, runs = play_with(behaviour)
        play = Play(submitted(jobs), outcome, runs=runs)
        points = {place: job.utility for place, job in enumerate(jobs) if job.utility}
        unscaled, workload = as_log(play.workload, machine, utilities=points)
        trace = unscaled
        play = play._replace(workload=workload)
    workload = replace(play.workload, utility_at=utility_at)
    start = play.outcome.start  # recorded waits may be fractions where no other time is
    start = start.astype(np.result_type(start, workload.submit), copy=False)
    if workload.utilities is not None:
        parameters["utility_at"] = utility_at
    if recorded:
        largest = _warn_of_use(workload, start, machine)
        machine = largest if unknown else machine
    return Schedule(
        trace,
        workload,
        start,
        machine,
        parameters,
        {**play.notes, **play.outcome.columns},
        {**play.history, **play.outcome.history},
        warmup,
        cooldown,
        play.runs,
        skipped,
        unscaled,
    )


def _check_presence(
    trace: Trace | None, behaviour: object, population: object, *, of_log: bool
) -> None:
    """Refuse a log where nobody needs one, and the lack of one where somebody does."""
    if not isinstance(population, Population | Resampled):
        raise ParameterError(
            f"population is {population!r}; give a name or an object of workloadkit.populations"
        )
    if trace is None and of_log and not isinstance(population, ResampledUsers):
        raise ParameterError("there is no log to simulate; give a trace, or users of one's own")
    if not of_log and (trace is not None or not isinstance(population, populations.Recorded)):
        name = _name(behaviour) if isinstance(behaviour, Community) else "of one's own"
        raise ParameterError(
            f"users {name} submit their own jobs: a log and a population are for users who replay "
            "one"
        )


def _check_made_up(
    who: str, oversize: Oversize, estimates: Estimates, changes: dict[str, float]
) -> None:
    """Refuse what is for the jobs of a log, where users submit jobs of their own."""
    asked = [name for name in changes if name != "scale_machine"]
    asked += ["oversize"] * (oversize != "error") + ["estimates"] * (estimates != "user")
    if asked:
        raise ParameterError(f"users {who} submit their own jobs: {asked[0]} is for those of a log")


def _users(uncounted: ArrayLike) -> list[int]:
    """Return the numbers of users that were meant, ascending."""
    try:
        given = np.atleast_1d(np.asarray(uncounted))
    except ValueError:  # lists of different lengths
        given = np.array([None])
    if given.size and not (given.dtype.kind in "iuf" and np.array_equal(given, np.rint(given))):
        raise ParameterError(f"uncounted is {uncounted!r}; give numbers of users")
    return sorted({int(user) for user in given})


def _outages(
    outages: Outages | str | os.PathLike[str] | None, trace: Trace | None, *, recorded: bool
) -> Outages | None:
    """Return the outages that were meant, if any; say where they are another log's."""
    if outages is None:
        return None
    if recorded:
        warnings.warn(
            "the schedule that the log tells of is what it is: outages play no part in it",
            WorkloadWarning,
            stacklevel=3,
        )
        return None
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    if not isinstance(outages, Outages):
        raise ParameterError(f"outages is {outages!r}; give a path or an instance of Outages")
    if not outages.digest:  # else it was said as they were read
        for line in outages.oddities:
            warnings.warn(line, WorkloadWarning, stacklevel=3)
    if trace is not None and (other := outages.other_log(trace)):
        warnings.warn(
            f"{outages.name} tells of the outages of {other}, not of {trace.name}",
            WorkloadWarning,
            stacklevel=3,
        )
    return outages


def _numbered(
    policy: Policy | Scheduler, outages: Outages, procs: int, *, requeues: bool
) -> NumberedProcessors:
    """Return processors with outages, for a policy that can do with them."""
    scheduler = policy if isinstance(policy, Scheduler) else policy.plain()
    if scheduler.overcommits or not scheduler.bears_outages:
        raise ParameterError(f"scheduler {_name(policy)}: it knows nothing of outages")
    return NumberedProcessors(procs, settle(outages, procs), requeues)


def _warn_of_use(workload: Workload, start: NDArray, machine: int) -> int:
    """Say where a log holds more than its machine; return the most processors in use at once."""
    time, in_use = use_over_time(start, start + workload.run, workload.procs)
    largest = max(int(in_use.max()), 1)
    if largest > machine:
        above = in_use > machine
        hours = np.diff(time)[above[:-1]].sum() / 3600
        when = np.argmax(above)
        begins = np.flatnonzero((start == time[when]) & (workload.run > 0))
        upon = in_use[when] - workload.procs[begins][::-1].cumsum()[::-1]  # use before each
        first = workload.job[begins[np.argmax(upon + workload.procs[begins] > machine)]]
        warnings.warn(
            f"the log holds up to {largest:,} processors of {machine:,}, more than there are for "
            f"{hours:,.1f} hours in all, first by job {first}",
            WorkloadWarning,
            stacklevel=3,
        )
    return largest


def _policy(scheduler: str | Policy | Scheduler) -> Policy | Scheduler:
    """Return the policy that was meant."""
    if isinstance(scheduler, str):
        return schedulers.parse(scheduler)
    if isinstance(scheduler, type) or not isinstance(scheduler, Scheduler | Policy):
        raise ParameterError(
            f"scheduler is {scheduler!r}; give a name, a policy of workloadkit.schedulers, or an "
            "instance of a subclass of its Scheduler"
        )
    return scheduler


def _behaviour(users: Any) -> Any:
    """Return the behaviour that was meant; of users of one's own, who change, copies."""
    if isinstance(users, str):
        return behaviours.parse(users)
    if isinstance(users, type) and issubclass(users, BatchUser):
        return behaviours.OwnUsers(users)
    if isinstance(users, type) and not issubclass(users, User):
        raise ParameterError(f"users is the class {users.__name__}; give an instance of it")
    built = isinstance(users, OpenUsers | Behaviour | LogBehaviour | Community)
    return users if built else copies(users)


def _name(thing: object) -> str:
    """Name a policy, a behaviour or somebody's own class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    if isinstance(thing, Policy | Behaviour | LogBehaviour | Community):
        return describe(thing)
    return getattr(thing, "name", "") or type(thing).__name__
