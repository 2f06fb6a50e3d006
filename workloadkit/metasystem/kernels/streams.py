"""The jobs of a site in the compiled engine: local ones in a table, meta jobs in an inbox.

The two streams are merged as the jobs arrive, by submit time and job number, local jobs first. They
take the place of users in the state of a simulation; each job gets the next row of the state's
tables when it arrives. A site goes on to just before a given time, and can then be surveyed.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record, Time
from workloadkit.metasystem.kernels.slots import earliest_slot, free_from, start_plan, take_slot
from workloadkit.simulation.compiled.events import allocate, arrive
from workloadkit.simulation.compiled.loop import _next_instant, _policy_asks, _take_instant
from workloadkit.simulation.compiled.orders import seen, settled_key
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.machine.hardware import FREE
from workloadkit.simulation.orders import ARRIVAL, FixedOrder
from workloadkit.simulation.rules import counted_end


class StreamsAt(Record):
    """What a site counts, and what it shows when it is surveyed."""

    n_local: int  # local jobs that have arrived
    sent: int  # meta jobs in the inbox
    taken: int  # those of them that have arrived
    low: int  # the first row that may wait
    asks: bool  # whether the policy requests a return, or the passes are used up
    left: int  # passes until the site returns
    in_line: int  # jobs in the line
    until: Time  # the site goes on to just before this time [s]
    work_arrived: Time  # work of all jobs that have arrived [processor-seconds]
    work_ended: Time  # work of those that have ended [processor-seconds]
    free: int  # free processors
    n_waiting: int
    remaining: Time  # remaining work by the estimates [processor-seconds]
    last: Time  # the planned start of the last waiting job [s]
    first: Time  # the first arrival of all, or `never` [s]


class ArrivingJobs(NamedTuple):
    """Jobs that arrive; times in seconds.

    Parameters
    ----------
    submit : ndarray, shape (n_jobs,)
        Not of meta jobs, whose arrivals are in the inbox.
    run, estimate : ndarray, shape (n_jobs,)
    procs, user, queue, number : ndarray of int64, shape (n_jobs,)
    """

    submit: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    number: NDArray[np.int64]


class Streams(NamedTuple):
    """The local and the meta jobs of a site: a part of the state.

    Parameters
    ----------
    local, meta : ArrivingJobs
    inbox_time : ndarray, shape (n_meta,)
        Arrivals of the meta jobs that are sent to the site, ascending. [s]
    inbox_job : ndarray of int64, shape (n_meta,)
    origin : ndarray of int64, shape (n_rows,)
        The job in each row of the state's tables: i for a local one, -1 - i for a meta job.
    at : record
    plan_time, plan_level, plan_count : ndarray
        When surveyed: see `slots`; without room if no plan is published.
    line_key, line_procs, line_estimate : ndarray, shape (n_rows,)
        When surveyed: the waiting jobs, if their order is not that of arrival.
    order : FixedOrder
        That of the queue.
    overtakes : bool
        Whether jobs overtake others that come first.
    """

    local: ArrivingJobs
    meta: ArrivingJobs
    inbox_time: NDArray
    inbox_job: NDArray[np.int64]
    origin: NDArray[np.int64]
    at: StreamsAt
    plan_time: NDArray
    plan_level: NDArray[np.int64]
    plan_count: NDArray[np.int64]
    line_key: NDArray[np.float64]
    line_procs: NDArray[np.int64]
    line_estimate: NDArray
    order: FixedOrder
    overtakes: bool


@inline
def _none(state, job, now):
    return state.never


#: (state, job, now) of a policy: the start of a waiting job by its reservation; `never` for none.
reserved_start = by_part("policy", "reserved_start", _none)


@inline
def _meta_is_next(streams, never):
    """Whether the next job is from the inbox."""
    at, local = streams.at, streams.local
    if at.taken == at.sent:
        return False
    if at.n_local == local.submit.size:
        return True
    sent, submit = streams.inbox_time[at.taken], local.submit[at.n_local]
    number = streams.meta.number[streams.inbox_job[at.taken]]
    return sent < submit or (sent == submit and number < local.number[at.n_local])


@inline
def next_coming(state, what, now):
    """Return the next arrival."""
    streams = state.users
    at, soonest = streams.at, state.never
    if at.n_local < streams.local.submit.size:
        soonest = streams.local.submit[at.n_local]
    if at.taken < at.sent:
        soonest = min(soonest, streams.inbox_time[at.taken])
    return soonest


@bare
def submission_is_due(state, what, now):
    """Whether an arrival is due."""
    return next_coming(state, what, now) <= now


@inline
def _copy(state, table, job, origin, now):
    """Put a job into the next row of the tables."""
    row, jobs = state.at.arrived, state.jobs
    jobs.submit[row], jobs.run[row] = now, table.run[job]
    jobs.estimate[row], jobs.procs[row] = table.estimate[job], table.procs[job]
    jobs.user[row], jobs.queue[row] = table.user[job], table.queue[job]
    state.users.origin[row] = origin
    state.users.at.work_arrived += table.procs[job] * table.estimate[job]


@bare
def take_one(state, what, now):
    """Let the next job arrive."""
    streams = state.users
    at = streams.at
    if _meta_is_next(streams, state.never):
        job = streams.inbox_job[at.taken]
        at.taken += 1
        _copy(state, streams.meta, job, -1 - job, now)
    else:
        job = at.n_local
        at.n_local += 1
        _copy(state, streams.local, job, job, now)
    arrive(state, now)


@bare
def look_ahead(state, what, now):
    """Do nothing, as no users plan."""


@bare
def act_on_all(state, what, now):
    """Let all due jobs arrive."""
    while next_coming(state, what, now) <= now:
        take_one(state, what, now)


@bare
def act_on_submissions(state, what, now):
    """Let all due jobs arrive."""
    act_on_all(state, what, now)


@bare
def notify_user(state, job, now):
    """Count the work of a job that has ended."""
    jobs = state.jobs
    state.users.at.work_ended += jobs.procs[job] * jobs.estimate[job]


@bare
def advance(state):
    """Process all instants before a time, unless the policy requests a return or passes end."""
    at, streams = state.at, state.users
    until, now = streams.at.until, state.clock[0]
    while True:
        now = _next_instant(state, now)
        if not now < until:
            break
        state.clock[0] = now
        _take_instant(state, now)
        allocate(state, at.n_seen, now)
        at.n_seen = at.arrived
        if _policy_asks(state, 0, now):
            streams.at.asks = True
            break
        streams.at.left -= 1
        if streams.at.left == 0:
            streams.at.asks = True
            break


@bare
def survey(state):
    """Show the state just before a time."""
    at, jobs, streams = state.at, state.jobs, state.users
    now = streams.at.until
    of_running = remaining = streams.at.work_ended * 0
    for place in range(at.n_running):
        job = state.planned_jobs[place]
        of_running += jobs.procs[job] * jobs.estimate[job]
        remaining += jobs.procs[job] * max(state.planned_ends[place] - now, 0)
    if at.n_waiting > 0:
        remaining += streams.at.work_arrived - streams.at.work_ended - of_running
    streams.at.remaining = remaining
    streams.at.free, streams.at.n_waiting = state.machine.level[FREE], at.n_waiting
    if streams.plan_time.size > 0:
        _make_plan(state, now)


@bare
def _make_plan(state, now):
    """Plan the free processors, as `SitePlan` does."""
    at, jobs, streams = state.at, state.jobs, state.users
    time, level, count = streams.plan_time, streams.plan_level, streams.plan_count
    start_plan(time, level, count, now, state.machine.level[FREE])
    for place in range(at.n_running - 1, -1, -1):
        end, job = state.planned_ends[place], state.planned_jobs[place]
        free_from(time, level, count, counted_end(end, now), jobs.procs[job])
    streams.at.last = now
    streams.at.first = state.first[0] if at.arrived > 0 else state.never
    streams.at.in_line = 0
    row = streams.at.low
    while row < at.arrived and state.start[row] != state.never:
        row += 1
    streams.at.low = row
    while row < at.arrived:
        if state.start[row] == state.never:
            if streams.order.code == ARRIVAL:
                _plan_one(state, row, now)
            else:
                _put_in_line(state, row)
        row += 1


@inline
def _plan_one(state, row, now):
    """Let a waiting job take the slot of its reservation, or the next one."""
    jobs, streams = state.jobs, state.users
    time, level, count = streams.plan_time, streams.plan_level, streams.plan_count
    procs, estimate = jobs.procs[row], jobs.estimate[row]
    begin = max(reserved_start(state, row, now), now)
    if begin == state.never:
        after = now if streams.overtakes else streams.at.last
        begin = earliest_slot(time, level, count, procs, estimate, after)
    take_slot(time, level, count, begin, estimate, procs)
    streams.at.last = begin


@inline
def _put_in_line(state, row):
    """Show a waiting job with the key of its order."""
    jobs, streams = state.jobs, state.users
    place, order = streams.at.in_line, streams.order
    streams.line_key[place] = settled_key(order.code, seen(state, row), order.numbers)
    streams.line_procs[place], streams.line_estimate[place] = jobs.procs[row], jobs.estimate[row]
    streams.at.in_line += 1


def go(state: Any) -> None:
    """Advance a site, and survey it when it is there: the native function of its state."""
    advance(state)
    if not state.users.at.asks:
        survey(state)


register_functions(Streams, sys.modules[__name__])
