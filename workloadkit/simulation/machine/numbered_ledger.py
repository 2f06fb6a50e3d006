"""Compiled processors with numbers: the functions of `ledger` and, in outages, of `changes`.

Without announced outages and reservations, a job receives the free processors with the lowest
numbers.
"""

import sys

from workloadkit._kernels.bits import count_ones, place_of_lowest
from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import insert_waiting
from workloadkit.simulation.machine.changes import change, next_change, stop
from workloadkit.simulation.machine.claims import (
    add_claim,
    are_left,
    choose,
    claims_before,
    n_left,
    promise,
    remove_claim,
    remove_promises,
)
from workloadkit.simulation.machine.hardware import (
    copy_row,
    has_room,
    is_full,
    need_of,
    occupy,
    room,
    same_rows,
    vacate,
)
from workloadkit.simulation.machine.ledger import FREE, ends_in_time, is_spare, reserve_spare
from workloadkit.simulation.machine.numbered import (
    Numbered,
)
from workloadkit.simulation.machine.words import WORD_BITS, clear, lowest_of

__all__ = [
    "announce",
    "change",
    "copy_row",
    "has_room",
    "is_full",
    "need_of",
    "next_change",
    "occupy",
    "reopen",
    "room",
    "same_rows",
    "shut",
    "vacate",
]


# Outages of numbered processors: the functions of `changes`.


@inline
def announce(state, outage, now):
    """Claim the processors of an outage."""
    machine, claim = state.machine, state.start.size + outage
    add_claim(state, claim)
    if machine.claims.end[claim] < state.never:
        machine.at.n_ending += 1
    else:
        latest = machine.timetable.latest
        latest[0] = max(latest[0], machine.claims.begin[claim])


@inline
def shut(state, outage, now):
    """Begin an outage, and stop the jobs on its processors; return how many."""
    machine, struck = state.machine, state.machine.scratch.taken
    n_struck = _strike(state, outage, machine.timetable.surprise[outage])
    n_hit = _find_hit(state, struck)
    for place in range(n_hit):
        stop(state, machine.hit[place], now)
        machine.history.stopped[machine.at.n_runs - 1] = True
    for word in range(struck.size):
        machine.free[word] &= ~struck[word]
    machine.level[FREE] -= n_struck
    return n_hit


@inline
def _strike(state, outage, surprise):
    """Count an outage on its processors; collect those that worked, return their number."""
    machine, claims = state.machine, state.machine.claims
    n_down, struck, n_struck = machine.n_down, machine.scratch.taken, 0
    clear(struck)
    claim = state.start.size + outage
    for part in range(claims.first[claim], claims.last[claim]):
        word, rest = claims.word[part], claims.mask[part]
        while rest != 0:
            number = (word << WORD_BITS) + place_of_lowest(rest)
            bit = rest & -rest
            if n_down[number] == 0:
                struck[word] |= bit
                n_struck += 1
            n_down[number] += 1
            machine.n_surprises[number] += surprise
            _note_whether_away(machine, number, word, bit)
            rest ^= bit
    return n_struck


@inline
def _note_whether_away(machine, number, word, bit):
    if machine.n_down[number] > 0 and machine.n_surprises[number] == 0:
        machine.away[word] |= bit
    else:
        machine.away[word] &= ~bit


@inline
def _find_hit(state, struck):
    """Collect the jobs that run on some processors, in the order of their starts."""
    machine, busy = state.machine, False
    for word in range(struck.size):
        busy |= struck[word] & ~machine.free[word] != 0
    if not busy:
        return 0
    n_hit = 0
    for place in range(state.at.n_running):
        job = state.end_jobs[place]
        if _runs_on(machine, job, struck):
            insert_waiting(machine.hit, 0, n_hit, machine.first, job)
            n_hit += 1
    return n_hit


@inline
def _runs_on(machine, job, words):
    word, mask = machine.history.word, machine.history.mask
    for part in range(machine.first[job], machine.last[job]):
        if mask[part] & words[word[part]] != 0:
            return True
    return False


@inline
def reopen(state, outage, now):
    """End an outage."""
    machine, claims, at = state.machine, state.machine.claims, state.machine.at
    surprise, claim = machine.timetable.surprise[outage], state.start.size + outage
    for part in range(claims.first[claim], claims.last[claim]):
        word, rest = claims.word[part], claims.mask[part]
        at.lowest = min(at.lowest, word)
        while rest != 0:
            number = (word << WORD_BITS) + place_of_lowest(rest)
            bit = rest & -rest
            machine.n_down[number] -= 1
            machine.n_surprises[number] -= surprise
            if machine.n_down[number] == 0:
                machine.free[word] |= bit
                machine.level[FREE] += 1
            _note_whether_away(machine, number, word, bit)
            rest ^= bit
    if not surprise:
        remove_claim(state, claim)
        at.n_ending -= 1


@inline
def changes_ahead(state, what, now):
    """Whether outages are announced, or under way with a known end."""
    machine = state.machine
    return machine.at.n_ending > 0 or machine.timetable.latest[0] >= now


@inline
def fits(state, job, now):
    """Whether enough processors are free and available to a job until its planned end."""
    machine, needed = state.machine, state.jobs.procs[job]
    return machine.level[FREE] >= needed and (machine.at.n_claims == 0 or are_left(state, job, now))


@inline
def room_until(state, end, now):
    """Return how many free processors are available until some time."""
    count = claims_before(state, end)
    return n_left(state.machine, count) if count > 0 else state.machine.level[FREE]


@inline
def reserve(state, job, now):
    """Reserve certain processors for a job if changes are ahead; else a number of them."""
    if changes_ahead(state, 0, now):
        state.machine.shadow[0] = promise(state, job, now)
        return state.machine.shadow[0]
    return reserve_spare(state, job, now)


@inline
def may_pass(state, job, now):
    """Whether a job can start now without delaying those with a reservation."""
    needed, in_time = state.jobs.procs[job], ends_in_time(state, job, now)
    if changes_ahead(state, 0, now):
        return (in_time or state.spares) and fits(state, job, now)
    return state.machine.level[FREE] >= needed and (in_time or is_spare(state, needed))


@inline
def release(state, job, now):
    """Cancel the reservation of a job."""
    remove_claim(state, job)


@inline
def release_all(state, what, now):
    """Cancel all reservations."""
    if state.machine.at.n_claims > 0:
        remove_promises(state)


@inline
def move_in(state, job, now):
    """Assign processors to a job."""
    if state.machine.at.given:
        _take_given(state.machine, job)
    elif state.machine.at.n_claims > 0:
        choose(state, job, now)
    else:
        _take_first(state.machine, job, state.jobs.procs[job])


@bare
def _take_given(machine, job):
    """Assign its parts to a job."""
    free, word, mask = machine.free, machine.history.word, machine.history.mask
    for part in range(machine.first[job], machine.last[job]):
        free[word[part]] &= ~mask[part]


@bare
def _take_first(machine, job, needed):
    """Assign the first free processors to a job."""
    free, at = machine.free, machine.at
    word, mask = machine.history.word, machine.history.mask
    place, part = at.lowest, at.n_parts
    machine.first[job] = part
    while needed > 0:
        taken = lowest_of(free[place], needed)
        if taken != 0:
            free[place] ^= taken
            word[part], mask[part] = place, taken
            part += 1
            needed -= count_ones(taken)
        place += 1
    at.lowest = place - 1
    machine.last[job] = at.n_parts = part


@inline
def move_out(state, job, now):
    """Release the processors of a job."""
    _take_back(state, job, now)


@bare
def _take_back(state, job, now):
    """Release the processors of a job; record its run."""
    machine, history, at = state.machine, state.machine.history, state.machine.at
    free, word, mask = machine.free, history.word, history.mask
    first, last = machine.first[job], machine.last[job]
    at.lowest = min(at.lowest, word[first])
    for part in range(first, last):
        free[word[part]] |= mask[part]
    run = at.n_runs
    history.job[run], history.first[run], history.last[run] = job, first, last
    history.start[run], history.end[run] = state.start[job], now
    at.n_runs = run + 1


@bare
def n_down(state, what, now):
    """Return the number of processors that are down."""
    count = 0
    for outages in state.machine.n_down:
        count += outages > 0
    return count


@inline
def must_return(state, what, now):
    """Whether the history has less room than the next instant may need."""
    history, at, most = state.machine.history, state.machine.at, state.machine.n_down.size
    return history.word.size - at.n_parts < most or history.job.size - at.n_runs < most


register_functions(Numbered, sys.modules[__name__])
