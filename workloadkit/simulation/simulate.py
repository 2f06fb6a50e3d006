"""Simulate a scheduler serving users."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadWarning
from workloadkit.metrics import use_over_time
from workloadkit.provenance import moved_times
from workloadkit.record_fields import PROMISED_START
from workloadkit.settings import Simulate
from workloadkit.settings.setting import takes
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.engines import EngineResult
from workloadkit.simulation.execution import execute
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.selection import SimulationParts, select_parts, uncounted_users
from workloadkit.simulation.users import BatchUser, OpenUsers
from workloadkit.simulation.users.behaviour import Behaviour, Community, LogBehaviour
from workloadkit.simulation.workload import Workload, are_whole, shortest_estimate
from workloadkit.trace import Trace


def calibrate(
    trace: Trace, scheduler: str | Policy | Scheduler, settings: Simulate
) -> dict[str, Any]:
    """Simulate a log as it is; return `Schedule.calibration`, empty if nothing can be compared."""
    is_record = not moved_times(trace.header) and (trace.column("wait")[trace.ran] >= 0).any()
    if not is_record or settings.scales:
        return {}
    return simulate(trace, scheduler, settings=settings).calibration


@takes(Simulate)
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
    settings: Simulate | None = None,
    **keywords: Any,
) -> Schedule:
    """Simulate a scheduler serving the users of a log, or custom users.

    A job needs the processors it requested, else those it used. The scheduler plans with the
    requested time, where it is known, else with the run time; in whole seconds, with 1 s at the
    least. Jobs that never ran are left out and counted; those cancelled while they waited may be
    kept.

    Parameters
    ----------
    trace : Trace, optional
        The log to simulate; not needed with custom users.
    scheduler : str or object, default "easy"
        A name with parameters as on the command line, a policy of `workloadkit.schedulers`, or an
        instance of a subclass of `Scheduler`, which is copied for the simulation.
    users : str, object or sequence of User, default "open"
        The behaviour of the log's users, or users who need no log: a name with parameters, or an
        object of `workloadkit.users`; or custom users: a subclass of `BatchUser`, for users of a
        log, or a list of users who need none (also copied).
    settings : workloadkit.settings.Simulate, optional
        All parameters below as one object; keywords override it.
    {settings}

    Returns
    -------
    Schedule

    Raises
    ------
    ParameterError
        For an unknown name or an invalid value.
    WorkloadError
        If the log cannot be simulated: no job ran, the machine is unknown, or jobs are larger than
        the machine.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> simulate(trace, "fcfs", procs=4).jobs["start"].tolist()
    [0, 10, 20]
    >>> simulate(trace, "easy", procs=4).jobs["start"].tolist()
    [0, 10, 2]
    """
    asked = Simulate.of(settings, keywords)
    parts = select_parts(trace, scheduler, users, asked)
    return report(parts, asked, *execute(parts, asked))


def report(
    parts: SimulationParts, settings: Simulate, trace: Trace, unscaled: Trace, play: EngineResult
) -> Schedule:
    """Return the schedule of a finished simulation."""
    workload = replace(play.workload, utility_at=settings.utility_at)
    start = play.outcome.start  # recorded waits may be fractions while all other times are whole
    start = start.astype(np.result_type(start, workload.submit), copy=False)
    parameters, procs = parts.parameters, parts.rules.machine
    if workload.utilities is not None:
        parameters["utility_at"] = settings.utility_at
    if shortest_estimate(workload.submit) == 0 and _look_whole(workload):
        parameters["shortest_estimate"] = 0  # which the log that is written does not show
    promises = {}
    if parts.follows_log:
        promises = _recorded_promises(trace, workload)
        largest = _warn_of_use(workload, start, procs)
        procs = procs if parts.knows_machine else largest
    return Schedule(
        trace,
        workload,
        start,
        procs,
        parameters,
        {**play.notes, **play.outcome.columns, **promises},
        {**play.history, **play.outcome.history},
        settings.warmup,
        settings.cooldown,
        play.runs,
        uncounted_users(settings.uncounted),
        unscaled,
        parts.rules.hardware if isinstance(parts.rules.hardware, Described) else None,
        play.cancelled,
    )


def _recorded_promises(trace: Trace, workload: Workload) -> dict[str, NDArray]:
    """Return the promised starts in the side-car of a log, unless submissions have moved."""
    submit = trace.column("submit")[workload.row]
    known = trace.sidecar is not None and PROMISED_START in trace.sidecar
    if not (known and np.array_equal(submit, workload.submit)):
        return {}
    return {PROMISED_START: trace.column(PROMISED_START)[workload.row]}


def _look_whole(workload: Workload) -> bool:
    """Whether all times of the jobs are whole numbers."""
    estimate = workload.estimate if workload.limit is None else workload.limit
    return are_whole(workload.submit, workload.run, estimate)


def _warn_of_use(workload: Workload, start: NDArray, machine: int) -> int:
    """Warn if a log uses more than its machine; return the most processors in use at once."""
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
            f"the log uses up to {largest:,} processors of {machine:,}: more than the machine has "
            f"for {hours:,.1f} hours in all, first by job {first}",
            WorkloadWarning,
            stacklevel=4,
        )
    return largest
