"""Compiled claims: the processors set aside for outages and for promised starts.

Arrays are looked up before loops: in loops that write, the compiler would look them up each time.
"""

import numpy as np

from workloadkit._kernels.bits import count_ones
from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.words import (
    clear,
    clear_digits,
    count_claim,
    size_of,
    size_without,
    take_lowest,
    uncount_claim,
)
from workloadkit.simulation.rules import counted_end


@bare
def add_claim(state, claim):
    """Add a claim."""
    claims, count = state.machine.claims, state.machine.at.n_claims
    _insert(claims.by_begin, claims.begin, count, claim)
    _insert(claims.by_end, claims.end, count, claim)
    state.machine.at.n_claims = count + 1
    state.machine.at.n_stakes += 1


@bare
def remove_claim(state, claim):
    """Remove a claim, if it is there."""
    claims, count = state.machine.claims, state.machine.at.n_claims
    if _remove(claims.by_begin, count, claim):
        _remove(claims.by_end, count, claim)
        state.machine.at.n_claims = count - 1
        state.machine.at.n_stakes += 1


@bare
def remove_promises(state):
    """Remove all claims except those of outages."""
    claims, count = state.machine.claims, state.machine.at.n_claims
    n_jobs = state.start.size
    state.machine.at.n_claims = _keep_from(claims.by_begin, count, n_jobs)
    _keep_from(claims.by_end, count, n_jobs)
    state.machine.at.n_stakes += 1


@inline
def _insert(order, key, count, claim):
    place = count
    while place > 0 and key[order[place - 1]] > key[claim]:
        order[place] = order[place - 1]
        place -= 1
    order[place] = claim


@inline
def _remove(order, count, claim):
    place = 0
    while place < count and order[place] != claim:
        place += 1
    for behind in range(place + 1, count):
        order[behind - 1] = order[behind]
    return place < count


@inline
def _keep_from(order, count, least):
    kept = 0
    for place in range(count):
        if order[place] >= least:
            order[kept] = order[place]
            kept += 1
    return kept


@inline
def join(words, claims, claim):
    """Add the processors of a claim to a set."""
    word, mask = claims.word, claims.mask
    for part in range(claims.first[claim], claims.last[claim]):
        words[word[part]] |= mask[part]


@bare
def are_left(state, job, now):
    """Whether enough of the free processors are available to a job until its end."""
    machine, claims = state.machine, state.machine.claims
    by_begin, begin, end = claims.by_begin, claims.begin, now + state.jobs.estimate[job]
    count, own = 0, False
    while count < machine.at.n_claims and begin[by_begin[count]] < end:
        own |= by_begin[count] == job
        count += 1
    if count == 0:
        return True
    if not own:
        return n_left(machine, count) >= state.jobs.procs[job]
    claimed = machine.scratch.claimed
    clear(claimed)
    for place in range(count):
        if by_begin[place] != job:
            join(claimed, claims, by_begin[place])
    return size_without(machine.free, claimed) >= state.jobs.procs[job]


@inline
def claims_before(state, end):
    """Return the number of claims that begin before some time."""
    claims, count = state.machine.claims, 0
    while count < state.machine.at.n_claims and claims.begin[claims.by_begin[count]] < end:
        count += 1
    return count


@bare
def n_left(machine, count):
    """Return the number of free processors outside the first claims; known values are kept."""
    at, claims = machine.at, machine.claims
    claimed, left = machine.scratch.first_claimed, machine.scratch.n_left
    since = at.n_changes + at.n_parts + at.n_runs + at.n_stakes
    if at.since != since:
        at.since, at.n_known = since, 0
        clear(claimed)
    for place in range(at.n_known, count):
        join(claimed, claims, claims.by_begin[place])
        left[place] = size_without(machine.free, claimed)
    at.n_known = max(at.n_known, count)
    return left[count - 1]


@bare
def choose(state, job, now):
    """Choose free processors for a job: first those available until its end.

    Of these, the soonest claimed come first; of the others, the latest claimed.
    """
    remove_claim(state, job)
    machine, claims, scratch = state.machine, state.machine.claims, state.machine.scratch
    end, needed = now + state.jobs.estimate[job], state.jobs.procs[job]
    free, claimed, left, taken = machine.free, scratch.claimed, scratch.left, scratch.taken
    clear(claimed)
    clear(taken)
    heeded, count = 0, machine.at.n_claims
    while heeded < count and claims.begin[claims.by_begin[heeded]] < end:
        join(claimed, claims, claims.by_begin[heeded])
        heeded += 1
    for place in range(free.size):
        left[place] = free[place] & ~claimed[place]
    needed = _take_soonest_claimed(machine, heeded, left, needed)
    if needed > 0:
        _take_latest_claimed(machine, heeded, needed)
    _hold_taken(machine, job)


@inline
def _take_soonest_claimed(machine, place, left, needed):
    """Take the soonest claimed, by the claims from a place on; return how many are missing."""
    claims, taken, group = machine.claims, machine.scratch.taken, machine.scratch.group
    by_begin, begin, count = claims.by_begin, claims.begin, machine.at.n_claims
    while needed > 0 and place < count:
        time = begin[by_begin[place]]
        clear(group)
        while place < count and begin[by_begin[place]] == time:
            join(group, claims, by_begin[place])
            place += 1
        _meet(group, left)
        needed = take_lowest(group, taken, needed)
        _subtract(left, taken)
    return take_lowest(left, taken, needed)


@bare
def _take_latest_claimed(machine, place, needed):
    """Take the latest claimed, by the claims before a place."""
    claims, scratch = machine.claims, machine.scratch
    by_begin, begin, group, claimed = claims.by_begin, claims.begin, scratch.group, scratch.claimed
    while needed > 0 and place > 0:
        time = begin[by_begin[place - 1]]
        clear(group)
        while place > 0 and begin[by_begin[place - 1]] == time:
            place -= 1
            join(group, claims, by_begin[place])
        clear(claimed)
        for earlier in range(place):
            join(claimed, claims, by_begin[earlier])
        _meet(group, machine.free)
        _subtract(group, claimed)
        needed = take_lowest(group, scratch.taken, needed)


@inline
def _meet(words, others):
    for place in range(words.size):
        words[place] &= others[place]


@inline
def _subtract(words, others):
    for place in range(words.size):
        words[place] &= ~others[place]


@inline
def _unite(words, others):
    for place in range(words.size):
        words[place] |= others[place]


@inline
def _hold_taken(machine, job):
    """Assign the taken processors to a job."""
    taken, free, at = machine.scratch.taken, machine.free, machine.at
    word, mask, part = machine.history.word, machine.history.mask, machine.at.n_parts
    machine.first[job] = part
    for place in range(taken.size):
        if taken[place] != 0:
            word[part], mask[part] = place, taken[place]
            free[place] ^= taken[place]
            part += 1
    machine.last[job] = at.n_parts = part


@bare
def promise(state, job, now):
    """Promise a job processors from the earliest possible second on; return that second."""
    remove_claim(state, job)
    claims, scratch = state.machine.claims, state.machine.scratch
    begin, place, over = _find_slot(state, job, now)
    if begin == state.never:
        return begin
    claims.begin[job], claims.end[job] = begin, begin + state.jobs.estimate[job]
    _choose_for_later(state, job, now, place, over)
    if state.strict:
        move_time(claims.begin, job, state.never, -1)
    part, word, mask, taken = claims.first[job], claims.word, claims.mask, scratch.taken
    for number in range(taken.size):
        if taken[number] != 0:
            word[part], mask[part] = number, taken[number]
            part += 1
    claims.last[job] = part
    add_claim(state, job)
    return begin


@inline
def move_time(times, place, never, by):
    """Move a time to the next one or the one before (-1); whole seconds by a second."""
    if never == np.inf:
        times[place] = np.nextafter(times[place], by * np.inf)
    else:
        times[place] += by


@inline
def _find_slot(state, job, now):
    """Find when enough processors are available for long enough: now, or at planned ends.

    A running job that has outlived its estimate counts as ending now.

    Returns
    -------
    begin : scalar
        [s]
    place, over : int
        The planned ends before `place`, and the claims from `over` on by their ends, come later.
    """
    machine, claims, scratch = state.machine, state.machine.claims, state.machine.scratch
    needed, estimate = state.jobs.procs[job], state.jobs.estimate[job]
    ends, jobs, place = state.planned_ends, state.planned_jobs, state.at.n_running
    left, claimed, count = scratch.left, scratch.claimed, machine.at.n_claims
    by_begin, by_end, claim_end = claims.by_begin, claims.by_end, claims.end
    clear(claimed)
    used = clear_digits(scratch.digits, left.size, count)
    n_left = _unite_with(machine.free, machine.away, left)
    begun, over, begin = 0, 0, now
    while True:
        while place > 0 and ends[place - 1] <= begin:
            place -= 1
            _vacate(machine, left, jobs[place])
            n_left += state.jobs.procs[jobs[place]]
        while begun < count and claims.begin[by_begin[begun]] < begin + estimate:
            count_claim(scratch, claims, by_begin[begun])
            begun += 1
        while over < count and claim_end[by_end[over]] <= begin:
            uncount_claim(scratch, claims, by_end[over], used)
            over += 1
        if n_left >= needed and size_without(left, claimed) >= needed:
            return begin, place, over
        begin = ends[place - 1] if place > 0 else state.never
        if over < count:
            begin = min(begin, claim_end[by_end[over]])
        if begin == state.never:
            return begin, place, over


@inline
def _unite_with(words, others, union):
    """Unite two sets in place; return the size."""
    size = 0
    for place in range(union.size):
        both = words[place] | others[place]
        union[place] = both
        size += count_ones(both)
    return size


@inline
def _vacate(machine, words, job):
    """Add the processors of a job to a set."""
    word, mask = machine.history.word, machine.history.mask
    for part in range(machine.first[job], machine.last[job]):
        words[word[part]] |= mask[part]


@inline
def _choose_for_later(state, job, now, place, over):
    """Choose for a job among the processors available at its begin: shortest idle time first.

    Among processors that are idle since the same second, the soonest claimed come first.
    """
    machine, claims, scratch = state.machine, state.machine.claims, state.machine.scratch
    left, taken, needed = scratch.left, scratch.taken, state.jobs.procs[job]
    begin, end, count = claims.begin[job], claims.end[job], state.at.n_running
    clear(taken)
    _subtract(left, scratch.claimed)
    if begin <= now:
        group, free = scratch.group, machine.free
        for word in range(left.size):
            group[word] = left[word] & free[word]
        if size_of(group) >= needed:  # without those of a job that has outlived its estimate
            for word in range(left.size):
                left[word] = group[word]
    after = 0
    while after < machine.at.n_claims and claims.begin[claims.by_begin[after]] < end:
        after += 1
    among = scratch.among
    while needed > 0 and (place < count or over > 0):
        place, over = _gather_idle(state, now, place, over)
        _meet(among, left)
        size = size_of(among)
        if size > needed:
            left = among
            break
        _subtract(left, among)
        _unite(taken, among)
        needed -= size
    _take_soonest_claimed(machine, after, left, needed)


@inline
def _gather_idle(state, now, place, over):
    """Collect the processors with the shortest planned idle time, from the latest ends on."""
    machine, claims, among = state.machine, state.machine.claims, state.machine.scratch.among
    ends, by_end, count = state.planned_ends, claims.by_end, state.at.n_running
    clear(among)
    last = -state.never
    if place < count:
        last = counted_end(ends[place], now)
    if over > 0:
        last = max(last, claims.end[by_end[over - 1]])
    while place < count and counted_end(ends[place], now) == last:
        _vacate(machine, among, state.planned_jobs[place])
        place += 1
    while over > 0 and claims.end[by_end[over - 1]] == last:
        over -= 1
        join(among, claims, by_end[over])
    return place, over
