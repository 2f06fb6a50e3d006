"""Simulate a scheduler serving users."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import WorkloadWarning
from workloadkit.io.outages import Outages
from workloadkit.metrics import use_over_time
from workloadkit.simulation.arranging import Arrangement, arrange
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.performing import perform
from workloadkit.simulation.playing import Play
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.populations.population import Population
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.settings import Engine, Settings
from workloadkit.simulation.users import BatchUser, OpenUsers
from workloadkit.simulation.users.behaviour import Behaviour, Community, LogBehaviour
from workloadkit.simulation.workload import (
    AskedOverrun,
    Estimates,
    Interrupted,
    Oversize,
    Passes,
    UtilityAt,
    Workload,
)
from workloadkit.trace import Trace


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
    overrun: AskedOverrun = "raise",
    passes: Passes = "instant",
    offered_load: float | None = None,
    scale_arrivals: float = 1.0,
    scale_runs: float = 1.0,
    scale_sizes: float = 1.0,
    scale_machine: float = 1.0,
    warmup: float = 0.0,
    cooldown: float = 0.0,
    uncounted: ArrayLike = (),
    machine: Hardware | None = None,
    predictor: Any = None,
    outages: Outages | str | os.PathLike[str] | None = None,
    interrupted: Interrupted = "requeue",
    utility_at: UtilityAt = "turnaround",
    rng: np.random.Generator | int | None = None,
    engine: Engine | None = None,
) -> Schedule:
    """Simulate a scheduler serving the users of a log, or custom users.

    A job needs the processors it requested, else those it used. The scheduler plans with the
    requested time, where it is known, else with the run time, and with 1 s at the least. Jobs
    that never ran are left out and counted.

    Parameters
    ----------
    trace : Trace, optional
        The log whose jobs are simulated; not needed with custom users.
    scheduler : str or object, default "easy"
        A name with parameters as on the command line, a policy of `workloadkit.schedulers`, or an
        instance of a subclass of `Scheduler`, which is copied for the simulation.
    users : str, object or sequence of User, default "open"
        How the users of the log behave, or users who need no log: a name with parameters, or an
        object of `workloadkit.users`; or custom users: a subclass of `BatchUser`, who go
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
    overrun : {"raise", "kill", "late", "header"}
        What happens to a job that outlives its estimate: the estimate is raised to the run time
        from the start; the job is stopped at its estimate; it runs on, and counts as ending at
        every present second; or whichever the log's AllowOveruse and MaxRuntime say.
    passes : {"instant", "event"}
        Allocate processors once an instant, when nothing more happens in it; or, as older
        simulators do, after each single event, at equal times submissions first, in the order
        of the log, then terminations in the order of the starts. A job that ends as planned
        counts as ended in every pass of that second, also before its own termination.
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
        Leave jobs submitted in the first and last such time out of the metrics, and those outside
        the window of the log, if there are any. [s]
    uncounted : array_like of int, optional
        Users whose jobs are simulated and left out of the metrics, such as the `rare_users` of a
        resampled log.
    machine : Hardware, optional
        What serves, where it is more than so many processors that are all alike: an object of a
        subclass of `workloadkit.simulation.machine.hardware.Hardware`.
    predictor : object, optional
        What the scheduler plans with in the place of the estimates; see CONTRIBUTING. Jobs may
        outlive what it plans, and are killed at their limits only.
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
        Where the seed comes from of all that draws: schedulers and custom users, and
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
    settings = Settings(
        population=population,
        machine=machine,
        predictor=predictor,
        outages=outages,
        rng=rng,
        engine=engine,
        procs=procs,
        oversize=oversize,
        estimates=estimates,
        overrun=overrun,
        passes=passes,
        offered_load=offered_load,
        scale_arrivals=scale_arrivals,
        scale_runs=scale_runs,
        scale_sizes=scale_sizes,
        scale_machine=scale_machine,
        warmup=warmup,
        cooldown=cooldown,
        uncounted=uncounted,
        interrupted=interrupted,
        utility_at=utility_at,
    )
    parts = arrange(trace, scheduler, users, settings)
    return _report(parts, settings, *perform(parts, settings))


def _report(
    parts: Arrangement, settings: Settings, trace: Trace, unscaled: Trace, play: Play
) -> Schedule:
    """Return the schedule that was played."""
    workload = replace(play.workload, utility_at=settings.utility_at)
    start = play.outcome.start  # recorded waits may be fractions where no other time is
    start = start.astype(np.result_type(start, workload.submit), copy=False)
    parameters, procs = parts.parameters, parts.rules.machine
    if workload.utilities is not None:
        parameters["utility_at"] = settings.utility_at
    if parts.follows_log:
        largest = _warn_of_use(workload, start, procs)
        procs = procs if parts.knows_machine else largest
    return Schedule(
        trace,
        workload,
        start,
        procs,
        parameters,
        {**play.notes, **play.outcome.columns},
        {**play.history, **play.outcome.history},
        settings.warmup,
        settings.cooldown,
        play.runs,
        settings.uncounted_users,
        unscaled,
    )


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
            stacklevel=4,
        )
    return largest
