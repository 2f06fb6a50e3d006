"""Compiled nodes where jobs need nothing but processors: the functions of `ledger`.

The rules are those of `nodes_plain`. A reservation takes whole nodes, in the order of the
placement, and a part of a last one, from what is free at the shadow time. This level is that of now
and what running jobs return by then; it is kept from one reservation to the next, as most of it
stays: what a job returns that ends before the shadow time was counted, and so is what one takes
that starts and ends before it. No node has less free cores then than now. So those that are not
reserved have all their free cores to spare.
"""

import sys

from workloadkit._kernels.bits import count_ones, place_of_lowest
from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.core_nodes import CoreNodes
from workloadkit.simulation.machine.hardware import (
    copy_row,
    is_full,
    move_rows,
    need_of,
    occupy,
    room,
    same_rows,
    vacate,
)
from workloadkit.simulation.machine.ledger import (
    FREE,
    SPARE,
    ends_by,
    ends_in_time,
    last_counts,
)
from workloadkit.simulation.machine.nodes_ledger import (
    changes_ahead,
    may_have_moved,
    must_return,
    places_matter,
    record_run,
)
from workloadkit.simulation.machine.words import WORD, WORD_BITS, clear

__all__ = [
    "changes_ahead",
    "copy_row",
    "is_full",
    "may_have_moved",
    "move_rows",
    "must_return",
    "need_of",
    "occupy",
    "places_matter",
    "room",
    "same_rows",
    "vacate",
]


@inline
def has_room(state, row, need):
    """Whether so many processors are free; for SPARE, whether they are spare as well."""
    machine = state.machine
    if machine.level[row] < need:
        return False
    return row != SPARE or machine.by_amounts or _least(machine) >= need


@inline
def _least(machine):
    """Return how many cores are free now and spare at the shadow time."""
    if not machine.at.least_known:
        machine.at.least = _count_least(machine)
        machine.at.least_known = True
    return machine.at.least


@bare
def _count_least(machine):
    cores, sets, reserved = machine.now.cores, machine.now.sets, machine.reserved
    cores_of, width, n_words = machine.cores_of, machine.width, machine.n_words
    total = _spare_in_part(machine)
    for group in range(cores_of.size - 1):
        base, each = group * width, cores_of[group]
        for place in range(width - n_words):
            words = sets[base + n_words + place]
            while words != 0:
                word = place * WORD + place_of_lowest(words)
                words &= words - 1
                bits = sets[base + word] & ~reserved[word]
                if each > 0:
                    total += each * count_ones(bits)
                    continue
                while bits != 0:
                    total += cores[word * WORD + place_of_lowest(bits)]
                    bits &= bits - 1
    return total


@inline
def _spare_in_part(machine):
    """Return the cores of the node that is reserved in part that are free now and spare then."""
    now, then, node = machine.now.cores, machine.then.cores, machine.at.partial
    return min(now[node], then[node] - machine.at.held) if node >= 0 else 0


@inline
def reserve(state, job, now):
    """Reserve nodes, or their sum, for a job that does not fit; return its start."""
    return _reserve(state, job, now)


@bare
def _reserve(state, job, now):
    machine, at, place = state.machine, state.machine.at, state.at.n_running - 1
    jobs, procs, needed = state.planned_jobs, state.jobs.procs, state.jobs.procs[job]
    at.late_started, at.least_known = False, False
    free = machine.level[FREE]
    while free < needed:
        if place < 0:
            machine.shadow[0] = state.never
            return state.never
        free += procs[jobs[place]]
        place -= 1
    shadow = last_counts(state, place, now)
    while ends_by(state, place, shadow):
        free += procs[jobs[place]]
        place -= 1
    machine.level[SPARE] = free - needed
    machine.shadow[0] = shadow
    if not machine.by_amounts:
        _look_then(state, place)
        if at.claims != job:
            _find_nodes(machine, needed)
            at.claims = job
    return shadow


@inline
def _look_then(state, place):
    """Let the running jobs behind a place by planned ends be over at the shadow time, no others."""
    machine, at, jobs, is_over = (
        state.machine,
        state.machine.at,
        state.planned_jobs,
        state.machine.is_over,
    )
    if not at.knows_then:
        _copy_now(machine)
    for over in range(place + 1, state.at.n_running):
        job = jobs[over]
        if not is_over[job]:
            is_over[job] = True
            at.n_over += 1
            _change_then(machine, job, 1)
    n_over = state.at.n_running - 1 - place
    while at.n_over > n_over:
        job = jobs[place]
        if is_over[job]:
            is_over[job] = False
            at.n_over -= 1
            _change_then(machine, job, -1)
        place -= 1


@bare
def _copy_now(machine):
    """Begin with the level of now, as if no running job were over at the shadow time."""
    now, then = machine.now, machine.then
    for node in range(now.cores.size):
        then.cores[node] = now.cores[node]
    for word in range(now.sets.size):
        then.sets[word] = now.sets[word]
    machine.at.knows_then = True


@bare
def _find_nodes(machine, needed):
    """Reserve nodes for so many processors at the shadow time."""
    cores, sets, reserved, at = machine.then.cores, machine.then.sets, machine.reserved, machine.at
    cores_of, width, n_words = machine.cores_of, machine.width, machine.n_words
    clear(reserved)
    at.partial, group = -1, 0
    while needed > 0:
        base, each = group * width, cores_of[group]
        for place in range(width - n_words):
            words = sets[base + n_words + place]
            while words != 0 and needed > 0:
                word = place * WORD + place_of_lowest(words)
                words &= words - 1
                bits = sets[base + word]
                if 0 < each * count_ones(bits) <= needed:
                    reserved[word] |= bits
                    needed -= each * count_ones(bits)
                    continue
                while bits != 0 and needed > 0:
                    node = word * WORD + place_of_lowest(bits)
                    reserved[word] |= bits & -bits
                    bits &= bits - 1
                    if cores[node] > needed:
                        at.partial, at.held = node, needed
                    needed -= cores[node]
        group += 1


@inline
def passes(state, job, now):
    """Let a job that does not end by the shadow time use what is spare then."""
    if not ends_in_time(state, job, now):
        state.machine.level[SPARE] -= state.jobs.procs[job]
        state.machine.at.late, state.machine.at.late_started = job, True


@inline
def move_in(state, job, now):
    """Give a job its nodes: the given ones, or the first in the order of the placement."""
    machine, at = state.machine, state.machine.at
    if at.given:
        _change(machine, machine.now, job, -1)
        return
    machine.first[job] = at.n_parts
    if at.late == job and not machine.by_amounts:
        _take_spare(machine, state.jobs.procs[job])
        at.least -= state.jobs.procs[job]
    else:
        _take(machine, state.jobs.procs[job], 0)
        at.least_known = False
    machine.last[job] = at.n_parts
    if at.knows_then:
        if at.late != job and now + state.jobs.estimate[job] <= machine.shadow[0]:
            machine.is_over[job] = True
            at.n_over += 1
        else:
            _change_then(machine, job, -1)
    at.late = -1


@bare
def _take_spare(machine, needed):
    """Take processors that are spare at the shadow time."""
    reserved, node, hidden = machine.reserved, machine.at.partial, 0
    if node >= 0:
        word, bit = node >> WORD_BITS, 1 << (node & (WORD - 1))
        hidden = machine.now.cores[node] - _spare_in_part(machine)
        _move(machine, node, -hidden)
        reserved[word] ^= bit
    _take(machine, needed, -1)
    if node >= 0:
        _move(machine, node, hidden)
        reserved[word] ^= bit


@bare
def _take(machine, needed, mask):
    """Take processors of nodes in the order of the placement; `mask` (-1): not reserved ones."""
    cores, sets, reserved = machine.now.cores, machine.now.sets, machine.reserved
    its_node, its_procs, part = machine.history.node, machine.history.procs, machine.at.n_parts
    base, width, n_words = 0, machine.width, machine.n_words
    full = sets.size - width
    while needed > 0:
        for place in range(width - n_words):
            words = sets[base + n_words + place]
            while words != 0 and needed > 0:
                word = place * WORD + place_of_lowest(words)
                words &= words - 1
                bits, taken = sets[base + word] & ~(reserved[word] & mask), 0
                while bits != 0 and needed > 0:
                    bit, node = bits & -bits, word * WORD + place_of_lowest(bits)
                    bits ^= bit
                    its_node[part], its_procs[part] = node, min(cores[node], needed)
                    part += 1
                    if cores[node] > needed:
                        _move(machine, node, -needed)
                        needed = 0
                    else:
                        needed -= cores[node]
                        cores[node] = 0
                        taken |= bit
                if taken != 0:
                    _regroup(sets, n_words, word, taken, base, full)
        base += width
    machine.at.n_parts = part


@inline
def _regroup(sets, n_words, word, bits, old, new):
    """Move nodes of one word from one group to another; these begin at `old` and `new`."""
    place, bit = n_words + (word >> WORD_BITS), 1 << (word & (WORD - 1))
    left = sets[old + word] ^ bits
    sets[old + word] = left
    sets[old + place] ^= bit if left == 0 else 0
    sets[new + word] |= bits
    sets[new + place] |= bit


@inline
def _move(machine, node, more):
    """Let more cores of a node be free now: it moves to another group."""
    cores, place_of = machine.now.cores, machine.place_of
    free = cores[node]
    cores[node] = free + more
    word, bit = node >> WORD_BITS, 1 << (node & (WORD - 1))
    _regroup(machine.now.sets, machine.n_words, word, bit, place_of[free], place_of[free + more])


@bare
def _change(machine, level, job, sign):
    """Return (1) or take (-1) the cores of a job."""
    cores, sets, place_of, n_words = level.cores, level.sets, machine.place_of, machine.n_words
    node, procs = machine.history.node, machine.history.procs
    for part in range(machine.first[job], machine.last[job]):
        its = node[part]
        free = cores[its]
        then = free + sign * procs[part]
        cores[its] = then
        word, bit = its >> WORD_BITS, 1 << (its & (WORD - 1))
        _regroup(sets, n_words, word, bit, place_of[free], place_of[then])


@inline
def _change_then(machine, job, sign):
    """Return or take them at the shadow time."""
    _change(machine, machine.then, job, sign)
    machine.at.claims = -1


@inline
def move_out(state, job, now):
    """Release the nodes of a job that has ended, and record its run."""
    machine, at = state.machine, state.machine.at
    _change(machine, machine.now, job, 1)
    if machine.is_over[job]:
        machine.is_over[job] = False
        at.n_over -= 1
    elif at.knows_then:
        _change_then(machine, job, 1)
    record_run(state, machine, job, now)


register_functions(CoreNodes, sys.modules[__name__])
