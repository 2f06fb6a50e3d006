"""Compiled multiple-queue backfilling.

Between two terminations, free processors only decrease and time only passes. So a refused job stays
refused, and only the new job is examined if it arrives behind the pivot of its queue. Exceptions: a
pivot has started, which releases its reservation, or processors have been lent, which moves the
reservations of both partitions; then all waiting jobs are examined once more. If no waiting job
fits, reservations are not computed.
"""

import sys

from workloadkit._kernels.compile import bare, in_python, inline, kernel, uncached
from workloadkit._kernels.local_time import WEEK
from workloadkit._kernels.record import by_reference
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    release_all,
    reserve,
    some_due,
    start_job,
)
from workloadkit.simulation.policies.multi_queue.reservations import (
    DEMOTED,
    ORDINARY,
    UNSET,
    Partitions,
    find_reservations,
    put_back,
)


@inline
def job_arrived(state, job, now):
    """Add a job to the queue of its partition."""
    part, at = state.policy, state.policy.at
    _turn_weeks(state, now)
    part.partition[job] = _partition_of(part.criteria, state.jobs.estimate[job])
    part.waiting[at.n_listed] = job
    at.n_listed += 1
    at.n_new += 1


@inline
def job_ended(state, job, now):
    """Record a job for the next criteria."""
    part, at = state.policy, state.policy.at
    _turn_weeks(state, now)
    if now > state.first[0] + at.n_weeks * WEEK:
        part.ended[at.n_ended] = state.jobs.estimate[job]
        at.n_ended += 1
    _leave(state, job)


@inline
def job_returned(state, job, now):
    """Return a stopped job to its old place."""
    waiting, at = state.policy.waiting, state.policy.at
    _leave(state, job)
    place = at.n_listed
    while place > 0 and waiting[place - 1] > job:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job
    at.n_listed += 1
    at.look = True


@inline
def job_left(state, job, now):
    """Remove a cancelled job, which may be a pivot."""
    part, at, place = state.policy, state.policy.at, 0
    while part.waiting[place] != job:
        place += 1
    at.n_listed -= 1
    for behind in range(place, at.n_listed):
        part.waiting[behind] = part.waiting[behind + 1]
    if part.pivot[part.partition[job]] == job:
        part.pivot[part.partition[job]] = UNSET
    elif part.standing[job] == DEMOTED:
        _leave_demoted(part, job)
    part.standing[job] = ORDINARY
    at.look = True


@inline
def plans_void(state, what, now):
    """Request an examination of all waiting jobs."""
    state.policy.at.look = True


@inline
def _leave(state, job):
    part, procs = state.policy, state.jobs.procs[job]
    part.used[part.partition[job]] -= procs
    part.at.idle += procs
    part.at.known = part.at.settled = False


@inline
def _partition_of(criteria, estimate):
    """Return the partition of a job by its estimate."""
    for place in range(criteria.size):
        if estimate < criteria[place]:
            return place
    return criteria.size - 1


@bare
def _turn_weeks(state, now):
    """Compute the criteria at the ends of the weeks before this second."""
    part, first = state.policy, state.first[0]
    while first + (part.at.n_weeks + 1) * WEEK < now:
        _end_week(part.criteria, part.ended, part.at)
        part.at.n_weeks = max(part.at.n_weeks, int((now - first) // WEEK) - 1)  # empty weeks


@bare
def _end_week(criteria, ended, at):
    """Compute the criteria that would have balanced the jobs of the past week, if enough ended.

    The i-th of P is the i/P quantile of their estimates.
    """
    n_ended, n = at.n_ended, criteria.size
    if n_ended >= n:
        for place in range(n):
            nth = ((place + 1) * n_ended + n - 1) // n - 1
            criteria[place] = _nth_smallest(ended, n_ended, nth)
    at.n_ended = 0
    at.n_weeks += 1


end_week = kernel(in_python(_end_week))


@bare
def _nth_smallest(values, count, nth):
    """Sort the first values until the n-th (from 0) is in place; return it."""
    low, high = 0, count - 1
    while low < high:
        middle, left, right = values[nth], low, high
        while left <= right:
            while values[left] < middle:
                left += 1
            while values[right] > middle:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < nth:
            low = left
        if left > nth:
            high = right
    return values[nth]


@inline
def allocate(state, new, now):
    """Start jobs that delay no pivot, in the order of arrival.

    If changes of the machine are ahead, it keeps the reservations itself.
    """
    part, at = state.policy, state.policy.at
    waiting, pivot = part.waiting, part.pivot
    release_all(state, 0, now)
    around = changes_ahead(state, 0, now)
    newcomers, last = _without_pivot(part), at.n_listed
    must_return = _begin_pass(
        state, newcomers, around, now
    )  # for the reservations, whatever may start
    first = last - at.n_new if at.settled else 0
    kept = first
    for place in range(first, last + 1):
        job, can = UNSET, False
        if place < last:
            job = waiting[place]
            can = fits(state, job, now)
        elif at.settled and newcomers > 0 and kept > first:  # examined before, and refused
            pivot[part.partition[waiting[first]]] = waiting[first]
            must_return = True
        if must_return or (can and not (at.known or around)):
            find_reservations(state, not at.begun, now)
            at.known, must_return = True, False
        if can and _borrows(state, job, now):
            if _start(state, job, now):
                home = part.partition[job]
                pivot[home] = _first_in_queue(part, home, 0, kept)
                if pivot[home] == UNSET:
                    pivot[home] = _first_in_queue(part, home, place + 1, last)
        elif place < last:
            if around and (pivot[part.partition[job]] == job or part.standing[job] == DEMOTED):
                reserve(state, job, now)
            waiting[kept] = job
            kept += 1
    at.n_listed, at.n_new, at.look = kept, 0, around
    at.settled = not at.moved
    at.known = at.known and at.settled


@inline
def _without_pivot(part):
    """Return how many jobs have just arrived in queues without pivots."""
    count, listed = 0, part.at.n_listed
    for place in range(listed - part.at.n_new, listed):
        count += part.pivot[part.partition[part.waiting[place]]] == UNSET
    return count


@inline
def _begin_pass(state, newcomers, around, now):
    """Determine which jobs to examine; return whether reservations are needed in any case."""
    part, at = state.policy, state.policy.at
    at.begun = at.moved = False
    if around or at.n_listed == at.n_new:
        part.plan.at.n_reserved = 0
        at.known = at.settled = True
    overdue = some_due(state, now)
    several = newcomers > 0 and at.n_new > 1  # new pivots, and others that they may block
    if at.look or around or several or at.n_demoted > 0 or (overdue and at.n_listed > at.n_new):
        at.known = at.settled = False
    must_return = at.n_demoted > 0
    if not at.settled:
        name_pivots(part, 0 if at.look else at.n_listed - at.n_new)
        for p in range(part.pivot.size):
            must_return |= part.pivot[p] != UNSET and part.standing[part.pivot[p]] == ORDINARY
    return must_return and not around


@bare
def name_pivots(part, first):
    """Name the first waiting jobs, from a place on, pivots of partitions without one."""
    for place in range(first, part.at.n_listed):
        job = part.waiting[place]
        if part.pivot[part.partition[job]] == UNSET and part.standing[job] != DEMOTED:
            part.pivot[part.partition[job]] = job


@bare
def _first_in_queue(part, home, first, last):
    """First of the jobs waiting[first:last] in the queue of a partition, or UNSET."""
    for place in range(first, last):
        job = part.waiting[place]
        if part.partition[job] == home and part.standing[job] != DEMOTED:
            return job
    return UNSET


@bare
def _borrows(state, job, now):
    """Let the partition of a fitting job obtain the processors for it, if no pivot is delayed.

    Returns whether it has them.
    """
    part, plan = state.policy, state.policy.plan
    begins, left_at, n = plan.begins, plan.left_at, part.size.size
    home, needed, end = part.partition[job], state.jobs.procs[job], now + state.jobs.estimate[job]
    mine = _reservation_of(part, job)
    if mine != UNSET:  # a job does not block itself
        put_back(plan, mine, needed, 1)
    enough, room = True, part.size[home] - part.used[home]
    for place in range(plan.at.n_reserved):
        if begins[place] < end:
            enough &= needed <= left_at[place, n]
            room = min(room, left_at[place, home])
    if enough and room < needed:
        enough = _lend(part, home, needed, end)
        part.at.moved |= enough
    if enough:
        for place in range(plan.at.n_reserved):
            if begins[place] < end:
                left_at[place, home] -= needed
                left_at[place, n] -= needed
    elif mine != UNSET:
        put_back(plan, mine, needed, -1)
    return enough


@inline
def _reservation_of(part, job):
    """Place of the reservation of a job, UNSET for none."""
    if part.pivot[part.partition[job]] == job or part.standing[job] == DEMOTED:
        for place in range(part.plan.at.n_reserved):
            if part.plan.reserved[place] == job:
                return place
    return UNSET


@bare
def _lend(part, home, needed, end):
    """Let a partition borrow the missing processors for a job until `end`, if others have them.

    In order of the partitions; only idle processors, without delaying a reservation. Returns
    whether that was enough.
    """
    plan, size, n = part.plan, part.size, part.size.size
    begins, left_at, idle, n_reserved = plan.begins, plan.left_at, plan.least, plan.at.n_reserved
    in_all = 0
    for p in range(n):
        least = size[p] - part.used[p]
        for place in range(n_reserved):
            if begins[place] < end:
                least = min(least, left_at[place, p])
        idle[p] = max(least, 0)
        in_all += idle[p]
    if in_all < needed:
        return False
    missing = needed - idle[home]
    for p in range(n):
        if p != home and missing > 0:
            count = min(idle[p], missing)
            missing -= count
            size[p] -= count
            size[home] += count
            for place in range(n_reserved):
                left_at[place, p] -= count
                left_at[place, home] += count
    return True


@inline
def _start(state, job, now):
    """Start a job that has its processors; return whether it was the pivot of its partition."""
    part, at = state.policy, state.policy.at
    home, procs = part.partition[job], state.jobs.procs[job]
    part.used[home] += procs
    at.idle -= procs
    at.begun = True
    was_pivot = part.pivot[home] == job
    if was_pivot:
        part.pivot[home] = UNSET
    elif part.standing[job] == DEMOTED:
        _leave_demoted(part, job)
    if was_pivot or part.standing[job] == DEMOTED:
        at.known, at.moved = False, True
    part.standing[job] = ORDINARY
    start_job(state, job, now)
    return was_pivot


@inline
def _leave_demoted(part, job):
    demoted, place = part.demoted, 0
    while demoted[place] != job:
        place += 1
    part.at.n_demoted -= 1
    for rest in range(place, part.at.n_demoted):
        demoted[rest] = demoted[rest + 1]


@bare
def _find(state, now):
    """Find the reservations as at the beginning of a pass."""
    name_pivots(state.policy, 0)
    find_reservations(state, True, now)


def _find_in(state, now):
    _find(by_reference(state), now)


find_now = kernel(_find_in)
find_now_custom = uncached(_find_in)


register_functions(Partitions, sys.modules[__name__])
