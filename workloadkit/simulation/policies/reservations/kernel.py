"""Compiled backfilling with any number of reservations, in any settled orders.

A full pass makes the profile of the running jobs again, with all reservations. It is necessary
after a termination, and then only if a waiting job fits now. Until the next planned end, no
reservation begins and no step of the profile is passed: reservations stay, refused jobs stay
refused, and only a new job is examined if it arrives behind the reserved ones. Reservations are
made only as long as a job may start now; if one arrives, further ones, as long as it may.

If a threshold is set, only jobs whose expansion factor reaches it get a reservation. The order of
the queue is then that in which they reach it.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.compiled.profile import (
    StepProfile,
    find_slot,
    fits_now,
    new_profile,
    pass_time,
    plan_running,
    step_at,
    take_between,
    take_steps,
)
from workloadkit.simulation.compiled.queue import comes_before, insert_waiting, move, move_waiting
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    is_full,
    need_of,
    release_all,
    reserve,
    some_due,
    start_job,
)
from workloadkit.simulation.policies import settled
from workloadkit.simulation.policies.settled import in_turn

#: So many reservations are made without a look at which jobs may still start, and when the next one
#: has a slot at the earliest: that would take longer.
FEW = 16


class _At(Record):
    """What is known of the queue."""

    wait: int  # waiting jobs
    known: bool  # whether the profile contains the running jobs and the reservations
    n_reserved: int  # jobs with a reservation
    last_reserved: int  # the last of them
    n_bounds: int


class Reserving(NamedTuple):
    """A part of the state: the waiting jobs, and a profile.

    Parameters
    ----------
    order, backfill_order : NamedTuple or None
        See `orders`; None where the places of all jobs are known from the start.
    rank, backfill_rank : ndarray of float64, shape (n_jobs,)
        Place of each job in both orders.
    reservations : int
        Number of waiting jobs with a reservation.
    threshold : float
        Least expansion factor of such a job: wait + estimate over estimate.
    queue, others : ndarray of int64, shape (n_jobs,)
        The waiting jobs in both orders.
    orders_differ : bool
        Whether the two orders differ; otherwise both lists are one.
    waits : ndarray of bool, shape (n_jobs,)
        Whether each job waits.
    promised : ndarray, shape (n_jobs,)
        Start of each job, or its reservation, in the pass of its submission; before it, and
        without one, a time before all times. Empty if there is a threshold. [s]
    profile : StepProfile
    by_size : bool
        Whether a job has a slot wherever one has that needs no less processors and time.
    bounds : ndarray of int64, shape (n_jobs,)
        Jobs whose slots are bounds of others, by these.
    slot : ndarray, shape (n_jobs,)
        The slots of these. [s]
    at : record
    """

    order: Any
    backfill_order: Any
    rank: NDArray[np.float64]
    backfill_rank: NDArray[np.float64]
    reservations: int
    threshold: float
    queue: NDArray[np.int64]
    others: NDArray[np.int64]
    orders_differ: bool
    waits: NDArray[np.bool_]
    promised: NDArray
    profile: StepProfile
    by_size: bool
    bounds: NDArray[np.int64]
    slot: NDArray
    at: _At


def new_reserving(
    rank: NDArray[np.float64],
    backfill_rank: NDArray[np.float64],
    *,
    orders: tuple[Any, Any] = (None, None),
    reservations: int,
    threshold: float | None = None,
    by_size: bool,
    dtype: np.dtype,
) -> Reserving:
    """Return an empty queue; with `orders` the ranks are tables, filled in as jobs arrive."""
    n_jobs, orders_differ = rank.size, rank is not backfill_rank
    queue = np.empty(n_jobs, np.int64)
    return Reserving(
        *orders,
        rank,
        backfill_rank,
        reservations,
        1.0 if threshold is None else float(threshold),
        queue=queue,
        others=np.empty(n_jobs, np.int64) if orders_differ else queue,
        orders_differ=orders_differ,
        waits=np.zeros(n_jobs, np.bool_),
        promised=np.full(n_jobs if threshold is None else 0, -never(dtype)),
        profile=new_profile(n_jobs, dtype),
        by_size=by_size,
        bounds=np.empty(n_jobs, np.int64),
        slot=np.empty(n_jobs, dtype),
        at=_At(),
    )


job_arrived = settled.job_arrived


@inline
def _nothing(state, what, now):
    pass


#: For orders that vary with time, see `varying`.
_sort_again = by_part("policy", "sort_again", _nothing)
_job_started = by_part("policy", "job_started", _nothing)


@inline
def job_ended(state, job, now):
    """Request a full pass."""
    state.policy.at.known = False


@inline
def job_returned(state, job, now):
    """Return a stopped job to the queue."""
    _join(state.policy, job)
    state.policy.at.known = False


@inline
def job_left(state, job, now):
    """Remove a cancelled job from the queue."""
    state.policy.waits[job] = False
    _compact(state.policy)
    state.policy.at.known = False


@inline
def plans_void(state, what, now):
    """Request a full pass."""
    state.policy.at.known = False


@inline
def prediction_renewed(state, job, now):
    """Give a job its new places in the orders."""
    policy, count = state.policy, state.policy.at.wait
    job_arrived(state, job, now)
    if policy.order is not None:
        move_waiting(policy.queue, 0, count, policy.rank, job)
        if policy.orders_differ:
            move_waiting(policy.others, 0, count, policy.backfill_rank, job)


@inline
def allocate(state, new, now):
    """Start jobs in order or reserve for them, then backfill."""
    policy, at, count = state.policy, state.policy.at, state.at.n_running
    ahead = changes_ahead(state, 0, now)
    if ahead or some_due(state, now):
        at.known = False
    if at.known and _come_behind(policy, new, state.at.arrived):
        pass_time(policy.profile, now)
        for job in range(new, state.at.arrived):
            _look_at_one(state, job, now)
    else:
        for job in range(new, state.at.arrived):
            _join(policy, job)
        _sort_again(state, 0, now)
        at.known = False
        release_all(state, 0, now)
        if ahead:
            _reserve_parts(state, now)
            _backfill(state, True, now)
        elif _any_fits(state, now):
            if _reserve_room(state, now):
                _backfill(state, False, now)
            at.known = True  # otherwise nothing is free, and nothing starts before the next one
        if state.at.n_running > count:
            _compact(policy)
    if policy.promised.size > 0 and not ahead and (new < state.at.arrived or state.by_event):
        _promise(state, now)


@bare
def _promise(state, now):
    """Promise the reserved jobs that were submitted now their starts."""
    policy, at = state.policy, state.policy.at
    n_reserved, some = min(policy.reservations, at.wait), False
    for place in range(n_reserved):
        some = some or _may_promise(state, policy.queue[place], now)
    if some:
        plan_running(state, policy.profile, now)
        at.n_bounds = 0
        for place in range(n_reserved):
            begin = _reserve_slot(state, policy.queue[place], now)
            if _may_promise(state, policy.queue[place], now):
                policy.promised[policy.queue[place]] = begin
        at.known = False


@inline
def _may_promise(state, job, now):
    """Whether a job was submitted now and has no promise."""
    return state.jobs.submit[job] == now and state.policy.promised[job] == -state.never


@inline
def _come_behind(policy, new, arrived):
    """Whether new jobs come behind the reserved ones, in the same sequence in both orders."""
    at = policy.at
    if new < arrived and at.n_reserved > 0 and comes_before(policy.rank, new, at.last_reserved):
        return False
    return in_turn(policy, new, arrived)


@inline
def _is_due(state, job, now):
    """Whether a job has waited long enough for a reservation."""
    jobs, threshold = state.jobs, state.policy.threshold
    return threshold == 1.0 or jobs.submit[job] + (threshold - 1.0) * jobs.estimate[job] <= now


@inline
def _look_at_one(state, job, now):
    """Start a new job that delays no reservation, or add it to the queue."""
    policy, at = state.policy, state.policy.at
    need, end = need_of(state, job, now), now + state.jobs.estimate[job]
    # those that were not reserved yet because it made no difference
    may_start = fits(state, job, now) and fits_now(state, policy.profile, need, end)
    while may_start and _reserves_more(state, at.n_reserved, now):
        _reserve_slot(state, policy.queue[at.n_reserved], now)
        at.last_reserved = policy.queue[at.n_reserved]
        at.n_reserved += 1
        may_start = fits_now(state, policy.profile, need, end)
    if may_start:
        take_between(state, policy.profile, need, now, end)
        _start_job(state, job, now)
    else:
        _join(policy, job)


@inline
def _join(policy, job):
    """Add a job to the queue."""
    count = policy.at.wait
    insert_waiting(policy.queue, 0, count, policy.rank, job)
    if policy.orders_differ:
        insert_waiting(policy.others, 0, count, policy.backfill_rank, job)
    policy.waits[job] = True
    policy.at.wait = count + 1


@inline
def _start(state, job, now):
    state.policy.waits[job] = False
    _start_job(state, job, now)


@inline
def _start_job(state, job, now):
    """Start a job; at its submission that is the promise."""
    promised = state.policy.promised
    if promised.size > 0 and _may_promise(state, job, now):
        promised[job] = now
    start_job(state, job, now)
    _job_started(state, job, now)


@bare
def _reserve_slot(state, job, now):
    """Reserve the earliest slot for a job; return its start.

    Room only shrinks while slots are found. So it is not before that of a job that needs no more.
    """
    policy, holes, estimate = state.policy, state.policy.profile, state.jobs.estimate[job]
    need, place = need_of(state, job, now), holes.at.first
    is_bounded = policy.by_size and policy.at.n_reserved >= FEW
    if is_bounded:
        place = step_at(holes, _bound(policy, state.jobs, job, now))
    begin, first, last = find_slot(state, holes, need, estimate, place)
    if begin < state.never:
        take_steps(state, holes, need, first, last, begin, begin + estimate)
    if is_bounded and begin > now:
        _add_bound(policy, state.jobs, job, begin)
    return begin


@inline
def _needs_no_more(jobs, job, other):
    """Whether a job needs neither more processors nor more time than another one."""
    return jobs.procs[job] <= jobs.procs[other] and jobs.estimate[job] <= jobs.estimate[other]


@inline
def _bound(policy, jobs, job, now):
    """Return a time before which a job has no slot."""
    place = policy.at.n_bounds - 1
    while place >= 0 and not _needs_no_more(jobs, policy.bounds[place], job):
        place -= 1
    return policy.slot[policy.bounds[place]] if place >= 0 else now


@inline
def _add_bound(policy, jobs, job, begin):
    """Let a slot be a bound of others, in place of earlier ones of jobs that need no less."""
    bounds, slot, kept, count = policy.bounds, policy.slot, 0, policy.at.n_bounds
    slot[job], place = begin, count
    while place > 0 and slot[bounds[place - 1]] > begin:
        place -= 1
    for i in range(place):
        if not _needs_no_more(jobs, job, bounds[i]):
            bounds[kept] = bounds[i]
            kept += 1
    move(bounds, place, count, kept + 1 - place)
    bounds[kept] = job
    policy.at.n_bounds = count + kept + 1 - place


@inline
def _any_fits(state, now):
    """Whether a waiting job fits now."""
    policy, place = state.policy, 0
    while place < policy.at.wait and not fits(state, policy.queue[place], now):
        place += 1
    return place < policy.at.wait


@inline
def _reserves_more(state, place, now):
    """Whether the next job at a place of the queue gets a reservation."""
    policy, at = state.policy, state.policy.at
    some = place < at.wait and at.n_reserved < policy.reservations
    return some and _is_due(state, policy.queue[place], now)


@bare
def _reserve_room(state, now):
    """Start jobs in order or reserve the earliest slots for them; return whether for all.

    Room only shrinks in a pass. So once no job at all can start now, further reservations make no
    difference, and are left out.
    """
    policy, at = state.policy, state.policy.at
    plan_running(state, policy.profile, now)
    at.n_reserved = at.n_bounds = place = candidate = 0
    begin = now
    while _reserves_more(state, place, now):
        if is_full(state, 0, now):
            return False
        if at.n_reserved >= FEW and (
            candidate <= place or begin < now + state.jobs.estimate[policy.queue[candidate]]
        ):
            candidate = _next_candidate(state, max(candidate, place), now)
            if candidate == at.wait:
                return False
        job = policy.queue[place]
        begin = _reserve_slot(state, job, now)
        if begin <= now and fits(state, job, now):
            _start(state, job, now)
        else:
            at.n_reserved += 1
            at.last_reserved = job
        place += 1
    return True


@bare
def _next_candidate(state, place, now):
    """Return the place of the first job in the queue, from one on, that may start now."""
    policy, jobs = state.policy, state.jobs
    while place < policy.at.wait:
        job = policy.queue[place]
        need, end = need_of(state, job, now), now + jobs.estimate[job]
        if fits(state, job, now) and fits_now(state, policy.profile, need, end):
            break
        place += 1
    return place


@inline
def _reserve_parts(state, now):
    """Do the same if changes of the machine are ahead, which then makes the reservations."""
    policy = state.policy
    n_reserved = place = 0
    while (
        place < policy.at.wait and n_reserved < policy.reservations and not is_full(state, 0, now)
    ):
        job = policy.queue[place]
        if not _is_due(state, job, now):
            break
        if fits(state, job, now):
            _start(state, job, now)
        else:
            reserve(state, job, now)
            n_reserved += 1
        place += 1


@inline
def _backfill(state, ahead, now):
    """Start jobs that delay no reservation."""
    policy = state.policy
    for place in range(policy.at.wait):
        if is_full(state, 0, now):
            break
        job = policy.others[place]
        if policy.waits[job] and fits(state, job, now):
            if not ahead:
                need, end = need_of(state, job, now), now + state.jobs.estimate[job]
                if _is_reserved(policy, job) or not fits_now(state, policy.profile, need, end):
                    continue
                take_between(state, policy.profile, need, now, end)
            _start(state, job, now)


@inline
def _is_reserved(policy, job):
    """Whether a waiting job has a reservation, and so a time of its own, also if it needs 0 s."""
    at = policy.at
    return at.n_reserved > 0 and not comes_before(policy.rank, at.last_reserved, job)


@inline
def _compact(policy):
    """Remove jobs that no longer wait from both lists."""
    count = policy.at.wait
    policy.at.wait = _keep_waiting(policy.queue, count, policy.waits)
    if policy.orders_differ:
        _keep_waiting(policy.others, count, policy.waits)


@inline
def _keep_waiting(jobs, count, waits):
    kept = 0
    for place in range(count):
        job = jobs[place]
        if waits[job]:
            jobs[kept] = job
            kept += 1
    return kept


register_functions(Reserving, sys.modules[__name__])
