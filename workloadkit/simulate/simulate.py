"""Simulate a scheduler serving users."""

import copy
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    check_choice,
    check_number,
    check_positive,
)
from workloadkit.fields import MAX_PROCS, UNKNOWN
from workloadkit.io.outages import Outages, read_outages
from workloadkit.metrics import use_over_time
from workloadkit.provenance import seed_of
from workloadkit.simulate import schedulers
from workloadkit.simulate import users as behaviours
from workloadkit.simulate.engine import Job, Scheduler, Simulation, User
from workloadkit.simulate.machine import Run, settle
from workloadkit.simulate.scaling import scaled_log, scaled_machine
from workloadkit.simulate.schedule import Schedule
from workloadkit.simulate.schedulers.policy import Outcome, Policy, draws
from workloadkit.simulate.schedulers.recorded import Recorded
from workloadkit.simulate.users import OpenUsers
from workloadkit.simulate.workload import (
    Estimates,
    Interrupted,
    Overrun,
    Oversize,
    Passes,
    Rules,
    UtilityAt,
    Workload,
    machine_size,
    make_workload,
)
from workloadkit.trace import Header, Trace, check_trace
from workloadkit.utility import pack

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
        When which processors are down; plain engine only. From the second on at which an outage
        was announced jobs are planned around it: none starts on processors that go down before
        its planned end. The processors of outages that do not name theirs are taken in turn, see
        `workloadkit.simulate.machine.settle`.
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
    behaviour = behaviours.parse(users) if isinstance(users, str) else users
    if trace is None and isinstance(behaviour, OpenUsers):
        raise ParameterError("there is no log to simulate; give a trace, or users of one's own")
    recorded = isinstance(policy, Recorded)
    down = _outages(outages, trace, recorded=recorded)
    own = isinstance(policy, Scheduler) or not isinstance(behaviour, OpenUsers)
    engine = engine or ("python" if own or down is not None else "compiled")
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
    if engine == "compiled" and (own or down is not None):
        raise ParameterError(
            "the compiled engine runs only what is built in; take engine='python' for schedulers "
            "or users of one's own and for outages"
        )
    header = trace.header if trace is not None else Header()
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
    machine = MAX_PROCS if unknown else scaled_machine(machine_size(header, procs), scale_machine)
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
    if own or draws(policy):
        parameters["seed"] = seed_of(rng)
    if down is not None:
        text = f"{down.name} (sha256 {down.digest})" if down.digest else down.text()
        parameters |= {"outages": text, "interrupted": interrupted}
    if warmup or cooldown:
        parameters |= {"warmup": warmup, "cooldown": cooldown}
    if skipped := _users(uncounted):
        parameters["uncounted"] = skipped
    parameters |= scales
    rules = Rules(machine, overrun, passes, parameters.get("seed", 0))
    plain = partial(_play, policy, rules, down, interrupted, utility_at)
    runs: Sequence[Run] = ()

    if isinstance(behaviour, OpenUsers):
        assert trace is not None  # as was seen above
        if not recorded:
            parameters |= {"oversize": oversize, "estimates": estimates}
        if offered_load is not None:
            parameters["offered_load"] = offered_load
        trace = scaled_log(trace, machine, runs=scale_runs, sizes=scale_sizes)
        workload = make_workload(
            trace,
            machine,
            oversize=None if recorded else oversize,
            estimates=estimates,
            overrun=overrun,
            offered_load=offered_load,
            scale_arrivals=scale_arrivals,
            passes=passes,
            utility_at=utility_at,
        )
        if engine == "compiled" and not isinstance(policy, Scheduler):
            outcome = policy.compiled(workload, rules)
        else:
            jobs, outcome, runs = plain(behaviour.plain(workload))
            if any(job.lost for job in jobs):
                run = np.array([job.run for job in jobs])
                killed = np.array([job.killed for job in jobs])
                workload = replace(workload, run=run, killed=killed)
    else:
        replayed = (oversize, estimates, offered_load) != ("error", "user", None)
        if trace is not None or replayed or scales.keys() - {"scale_machine"}:
            raise ParameterError(
                "users of one's own submit their own jobs: a log, oversize, estimates, "
                "offered_load and factors but that of the machine are for users who replay a log"
            )
        jobs, outcome, runs = plain(_copies(behaviour))
        trace, workload = _submitted(jobs, machine, utility_at)
        outcome = outcome._replace(start=outcome.start.astype(workload.submit.dtype))
    if workload.utilities is not None:
        parameters["utility_at"] = utility_at
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
        runs,
        skipped,
    )


def _users(uncounted: ArrayLike) -> list[int]:
    """Return the numbers of users that were meant, ascending."""
    try:
        given = np.atleast_1d(np.asarray(uncounted))
    except ValueError:  # lists of different lengths
        given = np.array([None])
    if given.size and not (given.dtype.kind in "iuf" and np.array_equal(given, np.rint(given))):
        raise ParameterError(f"uncounted is {uncounted!r}; give numbers of users")
    return sorted({int(user) for user in given})


def _play(
    policy: Policy | Scheduler,
    rules: Rules,
    outages: Outages | None,
    interrupted: Interrupted,
    utility_at: UtilityAt,
    users: list[User],
) -> tuple[list[Job], Outcome, list[Run]]:
    """Run the plain engine; the jobs come in the order of submission."""
    scheduler = copy.deepcopy(policy) if isinstance(policy, Scheduler) else policy.plain()
    scheduler.name = _name(policy)
    if outages is not None and (scheduler.overcommits or not scheduler.bears_outages):
        raise ParameterError(f"scheduler {_name(policy)}: it knows nothing of outages")
    rng = np.random.default_rng(rules.seed)
    simulation = Simulation(
        rules.machine,
        scheduler,
        users,
        overrun=rules.overrun,
        passes=rules.passes,
        rng=rng,
        outages=settle(outages, rules.machine) if outages is not None else None,
        interrupted=interrupted,
        utility_at=utility_at,
    )
    jobs = simulation.go()
    if rules.passes == "instant":
        jobs.sort(key=lambda job: (job.submit, job.number))
    columns: dict[str, Any] = dict(scheduler.columns(jobs))
    if outages is not None:
        for name in ("interruptions", "lost", "lost_work"):
            columns[name] = np.array([getattr(job, name) for job in jobs])
    start = np.array([job.start for job in jobs])
    return jobs, Outcome(start, columns, scheduler.history()), simulation.runs


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


def _name(thing: object) -> str:
    """Name a policy, a behaviour or somebody's own class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    if isinstance(thing, Policy):
        return schedulers.describe(thing)
    return getattr(thing, "name", "") or type(thing).__name__


def _submitted(jobs: list[Job], machine: int, utility_at: UtilityAt) -> tuple[Trace, Workload]:
    """Make a log of jobs that users of one's own submitted, and its workload.

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
    points = [(row, *point) for row, job in enumerate(jobs) for point in job.utility]
    utilities = None
    if points:
        utility = pd.DataFrame(points, columns=["row", "time", "value"])
        trace = replace(trace, utility=utility)
        utilities = pack(utility, len(jobs))
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
        utilities=utilities,
        utility_at=utility_at,
    )
    return trace, workload
