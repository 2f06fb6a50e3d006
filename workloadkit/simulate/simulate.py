"""Simulate a scheduler serving users."""

import copy
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.fields import MAX_PROCS, UNKNOWN
from workloadkit.metrics import use_over_time
from workloadkit.provenance import seed_of
from workloadkit.simulate import schedulers
from workloadkit.simulate import users as behaviours
from workloadkit.simulate.engine import Job, Scheduler, Simulation, User
from workloadkit.simulate.schedule import Schedule
from workloadkit.simulate.schedulers.policy import Outcome, Policy
from workloadkit.simulate.schedulers.recorded import Recorded
from workloadkit.simulate.users import OpenUsers
from workloadkit.simulate.workload import (
    Estimates,
    Overrun,
    Oversize,
    Passes,
    Rules,
    Workload,
    check_choice,
    machine_size,
    make_workload,
)
from workloadkit.trace import Header, Trace

Engine = Literal["compiled", "python"]


def simulate(
    trace: Trace | None = None,
    scheduler: str | Policy | Scheduler = "easy",
    users: str | OpenUsers | Sequence[User] = "open",
    *,
    procs: int | None = None,
    oversize: Oversize = "error",
    estimates: Estimates = "user",
    overrun: Overrun = "raise",
    passes: Passes = "instant",
    offered_load: float | None = None,
    warmup: float = 0.0,
    cooldown: float = 0.0,
    machine_changes: Iterable[tuple[float, int]] = (),
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
    users : str or sequence of User, default "open"
        How the users of the log behave, or users of one's own (copied, too).
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
    warmup, cooldown : float, default 0
        Leave jobs submitted in the first and last such time out of the metrics. [s]
    machine_changes : iterable of (time, int), optional
        Processors that come up (positive) or go down (negative) at a second; plain engine only.
    rng : Generator or int, optional
        Where the seed of users of one's own comes from; it is recorded in `parameters`, and
        gives the same again. What is built in draws nothing.
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
    policy = _policy(scheduler)
    behaviour = behaviours.parse(users) if isinstance(users, str) else users
    changes = _changes(machine_changes)
    own = isinstance(policy, Scheduler) or not isinstance(behaviour, OpenUsers) or bool(changes)
    engine = engine or ("python" if own else "compiled")
    check_choice("engine", engine, Engine)
    check_choice("oversize", oversize, Oversize)
    check_choice("overrun", overrun, Overrun)
    check_choice("passes", passes, Passes)
    for name, value in (("warmup", warmup), ("cooldown", cooldown)):
        if not 0 <= value < np.inf:
            raise ParameterError(f"{name} is {value} s; it cannot be negative or endless")
    if own and engine == "compiled":
        raise ParameterError(
            "the compiled engine runs only what is built in; take engine='python' for schedulers "
            "or users of one's own and for machine changes"
        )
    recorded = isinstance(policy, Recorded)
    header = trace.header if trace is not None else Header()
    unknown = recorded and (procs, header.procs, offered_load) == (None, None, None)
    machine = MAX_PROCS if unknown else machine_size(header, procs)
    if recorded:
        overrun = "late"  # nothing is killed, and no estimate is raised
    parameters: dict[str, Any] = {
        "scheduler": scheduler if isinstance(scheduler, str) else _name(policy),
        "users": _name(behaviour),
    }
    if not unknown:
        parameters["procs"] = machine
    if not recorded:
        parameters["overrun"] = overrun
    if passes != "instant":
        parameters["passes"] = passes
    if own:
        parameters["seed"] = seed_of(rng)
    if changes:
        parameters["machine_changes"] = changes
    if warmup or cooldown:
        parameters |= {"warmup": warmup, "cooldown": cooldown}
    rules = Rules(machine, overrun, passes)
    plain = partial(_play, policy, rules, changes, parameters.get("seed", 0))

    if isinstance(behaviour, OpenUsers):
        if trace is None:
            raise ParameterError("users who replay a log need a log (trace)")
        if not recorded:
            parameters |= {"oversize": oversize, "estimates": estimates}
        if offered_load is not None:
            parameters["offered_load"] = offered_load
        workload = make_workload(
            trace,
            machine,
            oversize=None if recorded else oversize,
            estimates=estimates,
            overrun=overrun,
            offered_load=offered_load,
            passes=passes,
        )
        if engine == "compiled" and not isinstance(policy, Scheduler):
            outcome = policy.compiled(workload, rules)
        else:
            jobs, player = plain(behaviour.plain(workload))
            start = np.array([job.start for job in jobs])
            outcome = Outcome(start, player.columns(jobs), player.history())
    else:
        if trace is not None or (oversize, estimates, offered_load) != ("error", "user", None):
            raise ParameterError(
                "users of one's own submit their own jobs: a log, oversize, estimates and "
                "offered_load are for users who replay a log"
            )
        jobs, player = plain(_copies(behaviour))
        jobs.sort(key=lambda job: (job.submit, job.number))
        trace, workload, start = _submitted(jobs, machine)
        outcome = Outcome(start, player.columns(jobs), player.history())
    if recorded:
        largest = _warn_of_use(workload, outcome.start, machine)
        machine = largest if unknown else machine
    return Schedule(
        trace,
        workload,
        outcome.start,
        machine,
        parameters,
        outcome.columns,
        outcome.history,
        warmup,
        cooldown,
    )


def _play(
    policy: Policy | Scheduler,
    rules: Rules,
    changes: list[tuple[float, int]],
    seed: int,
    users: list[User],
) -> tuple[list[Job], Scheduler]:
    """Run the plain engine; the jobs come in the order of submission, with who scheduled them."""
    scheduler = copy.deepcopy(policy) if isinstance(policy, Scheduler) else policy.plain()
    rng = np.random.default_rng(seed)
    simulation = Simulation(
        rules.machine,
        scheduler,
        users,
        overrun=rules.overrun,
        passes=rules.passes,
        rng=rng,
        machine_changes=changes,
    )
    return simulation.go(), scheduler


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


def _copies(users: Sequence[User]) -> list[User]:
    """Copy users of one's own, who change as they act."""
    if not isinstance(users, list | tuple) or not all(isinstance(user, User) for user in users):
        raise ParameterError(
            f"users is {users!r}; give a name or a list of instances of a subclass of "
            "workloadkit.users.User"
        )
    if len({id(user) for user in users}) < len(users):
        raise ParameterError("users: the same object stands for several users; make one for each")
    return copy.deepcopy(list(users))


def _changes(machine_changes: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """Check changes of the machine; plain numbers, as they go into the provenance."""
    changes = [tuple(np.asarray(x).item() for x in change) for change in machine_changes]
    for time, change in changes:
        if not (np.isfinite(time) and change == int(change)):
            raise ParameterError(f"machine_changes: {change:+} processors at {time} s")
    return [(time, int(change)) for time, change in changes]


def _name(thing: object) -> str:
    """Name a policy, a behaviour or somebody's own class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    return getattr(thing, "name", type(thing).__name__)


def _submitted(jobs: list[Job], machine: int) -> tuple[Trace, Workload, NDArray]:
    """Make a log of jobs that users of one's own submitted, its workload and their starts.

    The jobs are in the order of (submit, job number).
    """
    if not jobs:
        raise WorkloadError("the users submitted no job")
    table = {
        name: np.array([getattr(job, name) for job in jobs])
        for name in ("number", "user", "submit", "run", "estimate", "procs", "killed", "start")
    }
    times = ("submit", "run", "estimate", "start")
    dtype = np.result_type(*(table[name] for name in times))
    for name in times:
        table[name] = table[name].astype(dtype)
    trace = Trace.from_columns(
        {
            "job": table["number"],
            "submit": table["submit"],
            "run": table["run"],
            "procs": table["procs"],
            "requested_procs": table["procs"],
            "requested_time": table["estimate"],
            "user": table["user"],
        },
        header=Header(("; Version: 2.2", f"; MaxProcs: {machine}")),
        name="simulation",
    )
    workload = Workload(
        row=np.arange(len(jobs)),
        job=table["number"],
        user=table["user"],
        submit=table["submit"],
        run=table["run"],
        estimate=table["estimate"],
        procs=table["procs"],
        killed=table["killed"],
        queue=np.full(len(jobs), UNKNOWN),
        wait=np.zeros(len(jobs), dtype),
        left_out=0,
    )
    return trace, workload, table["start"]
