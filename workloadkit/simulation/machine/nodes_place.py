"""Compiled placement on nodes, by the rules of placement in `shapes`.

Arrays are looked up before loops: in loops that write, the compiler would look them up each time.
"""

import numpy as np

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.nodes import (
    CONSECUTIVE,
    CONTIGUOUS,
    FEWEST,
    KINDS,
    LIMITED,
    MOST,
    PACKED,
    PER_NODE,
    PROCS,
    SIMPLE,
    SPREAD,
    WHOLE,
    WORD,
)
from workloadkit.simulation.machine.shapes import CORES

# A single bit of a word times this number has other highest bits for each place of the bit.
_DE_BRUIJN = 0x077CB531
_PLACE = np.empty(WORD, np.int64)
_PLACE[[(_DE_BRUIJN << place & 0xFFFFFFFF) >> 27 for place in range(WORD)]] = np.arange(WORD)


@inline
def list_open(machine, row):
    """List the nodes that may have free cores, by number; return how many."""
    open_, order, count = machine.open, machine.scratch.order, 0
    for word in range(open_.shape[1]):
        bits = open_[row, word]
        while bits != 0:
            lowest = bits & -bits
            order[count] = word * WORD + _PLACE[(lowest * _DE_BRUIJN & 0xFFFFFFFF) >> 27]
            bits ^= lowest
            count += 1
    return count


@inline
def pools_suffice(machine, row, shape):
    """Whether the pools have what a job needs."""
    pools, need = machine.pools, machine.of_pools
    for pool in range(need.shape[1]):
        if pools[row, pool] < need[shape, pool]:
            return False
    return True


@inline
def room_of(machine, row, shape, node):
    """Return how many processors of a job fit on a node."""
    table, free = machine.table, machine.free
    room = free[row, CORES, node]
    if room <= 0 or table[shape, KINDS] >> machine.kind[node] & 1 == 0:
        return 0
    if table[shape, WHOLE] != 0 and room < machine.capacity[node, CORES]:
        return 0
    room = min(room, table[shape, PER_NODE])
    of_proc, of_node = machine.of_proc, machine.of_node
    for resource in range(1, free.shape[1]):
        left = free[row, resource, node] - of_node[shape, resource]
        if left < 0:
            return 0
        if room * of_proc[shape, resource] > left:  # a division takes long
            room = left // of_proc[shape, resource]
    return room


@bare
def can_place(machine, row, shape):
    """Whether a job fits on a level."""
    table, free, order = machine.table, machine.free, machine.scratch.order
    if not pools_suffice(machine, row, shape):
        return False
    left = table[shape, PROCS]
    if table[shape, SIMPLE] != 0:
        for place in range(list_open(machine, row)):
            left -= max(free[row, CORES, order[place]], 0)
            if left <= 0:
                return True
        return False
    if machine.placement == CONTIGUOUS:
        return find_place(machine, row, shape) > 0
    if table[shape, LIMITED] != 0:
        n_nodes, _ = _gather(machine, row, shape)
        _count_rooms(machine, n_nodes)
        return _can_follow(machine, shape, left, n_nodes, 0)
    for place in range(list_open(machine, row)):
        left -= room_of(machine, row, shape, order[place])
        if left <= 0:
            return True
    return False


@bare
def find_place(machine, row, shape):
    """Find where a job is placed; return on how many nodes, 0 if it does not fit."""
    machine.at.chosen = -1
    if not pools_suffice(machine, row, shape):
        return 0
    table, placement, scratch = machine.table, machine.placement, machine.scratch
    count, total = _gather(machine, row, shape)
    if total < table[shape, PROCS]:
        return 0
    if placement == CONTIGUOUS:
        return _fill_run(machine, shape, count)
    if placement in (PACKED, SPREAD):
        _sort_by_free(machine, count)
        order = scratch.other
    elif placement == CONSECUTIVE:
        _sort_by_runs(machine, table[shape, PROCS], count)
        order = scratch.other
    else:
        order = scratch.order
    if table[shape, LIMITED] != 0:
        return _fill_limited(machine, shape, order, count)
    room, node, taken, left = scratch.room, scratch.node, scratch.taken, table[shape, PROCS]
    place = 0
    while left > 0:
        node[place] = order[place]
        taken[place] = min(room[order[place]], left)
        left -= taken[place]
        place += 1
    return place


@inline
def _gather(machine, row, shape):
    """Collect the nodes with room, by number; return their number and all their room."""
    scratch, free = machine.scratch, machine.free
    order, rooms, cores = scratch.order, scratch.room, scratch.size
    simple = machine.table[shape, SIMPLE] != 0
    count, total = 0, 0
    for place in range(list_open(machine, row)):
        node = order[place]
        room = free[row, CORES, node] if simple else room_of(machine, row, shape, node)
        if room > 0:
            rooms[node], order[count] = room, node
            cores[count] = room if simple else free[row, CORES, node]
            count += 1
            total += room
    return count, total


@inline
def _sort_by_free(machine, count):
    """Sort the collected nodes by free cores, the fewest or the most first; by number if equal."""
    scratch, packed = machine.scratch, machine.placement == PACKED
    order, other, begin, cores = scratch.order, scratch.other, scratch.number, scratch.size
    most = begin.size - 2
    for number in range(begin.size):
        begin[number] = 0
    for place in range(count):
        begin[(cores[place] if packed else most - cores[place]) + 1] += 1
    for number in range(1, begin.size):
        begin[number] += begin[number - 1]
    for place in range(count):
        number = cores[place] if packed else most - cores[place]
        other[begin[number]] = order[place]
        begin[number] += 1


@inline
def _find_runs(machine, count):
    """Find the runs of neighbours among the collected nodes; return their number."""
    scratch = machine.scratch
    order, room, run, size = scratch.order, scratch.room, scratch.run, scratch.size
    n_runs = 0
    for place in range(count):
        if place == 0 or order[place] > order[place - 1] + 1:
            run[n_runs], size[n_runs] = place, 0
            n_runs += 1
        size[n_runs - 1] += room[order[place]]
    run[n_runs] = count
    return n_runs


@inline
def _best_run(size, n_runs, left):
    """Return the smallest run that holds so much, else the largest; -1 if none is left."""
    best = -1
    for run in range(n_runs):
        if size[run] > 0:
            if best < 0:
                best = run
            elif size[best] >= left:
                if left <= size[run] < size[best]:
                    best = run
            elif size[run] > size[best]:
                best = run
    return best


@inline
def _sort_by_runs(machine, left, count):
    """Sort the collected nodes: the smallest run that holds the job, or the largest first."""
    scratch = machine.scratch
    order, other, run, size = scratch.order, scratch.other, scratch.run, scratch.size
    n_runs, sorted_ = _find_runs(machine, count), 0
    while sorted_ < count:
        best = _best_run(size, n_runs, left)
        if size[best] >= left:
            left = 0  # the others come smallest first
        size[best] = 0
        for place in range(run[best], run[best + 1]):
            other[sorted_] = order[place]
            sorted_ += 1


@inline
def _fill_run(machine, shape, count):
    """Take neighbours from the smallest run that holds a job; return how many, 0 for none."""
    scratch, left = machine.scratch, machine.table[shape, PROCS]
    run, size = scratch.run, scratch.size
    n_runs = _find_runs(machine, count)
    while True:
        best = _best_run(size, n_runs, left)
        if best < 0 or size[best] < left:
            return 0
        size[best] = 0
        for begin in range(run[best], run[best + 1]):
            taken = _fill_from(machine, shape, begin, run[best + 1])
            if taken > 0:
                return taken


@inline
def _fill_from(machine, shape, begin, end):
    """Take neighbours from one on; return how many, 0 if they do not suffice."""
    table, scratch = machine.table, machine.scratch
    left = table[shape, PROCS]
    for count in range(end - begin):
        node = scratch.order[begin + count]
        number = min(scratch.room[node], left - max(table[shape, FEWEST] - count - 1, 0))
        if number <= 0 or count == table[shape, MOST]:
            return 0
        scratch.node[count], scratch.taken[count] = node, number
        left -= number
        if left == 0:
            return count + 1 if count + 1 >= table[shape, FEWEST] else 0
    return 0


@inline
def _count_rooms(machine, n_nodes):
    """Count the first collected nodes by their room."""
    scratch = machine.scratch
    count = scratch.number
    for room in range(count.size):
        count[room] = 0
    for place in range(n_nodes):
        count[scratch.room[scratch.order[place]]] += 1


@inline
def _can_follow(machine, shape, left, n_nodes, n_taken):
    """Whether the rest of a job fits on the counted nodes, as far as it may use them."""
    table, count = machine.table, machine.scratch.number
    if table[shape, FEWEST] - n_taken > min(left, n_nodes):
        return False
    most, room = table[shape, MOST] - n_taken, count.size - 1
    while left > 0 and most > 0 and room > 0:
        number = min(count[room], most)
        left -= number * room
        most -= number
        room -= 1
    return left <= 0


@inline
def _fill_limited(machine, shape, order, n_nodes):
    """Take nodes in order, if the rest can be placed on those behind; return how many, or 0."""
    table, scratch, left, n_taken = machine.table, machine.scratch, machine.table[shape, PROCS], 0
    count, rooms = scratch.number, scratch.room
    _count_rooms(machine, n_nodes)
    for place in range(n_nodes):
        room = rooms[order[place]]
        count[room] -= 1
        number = min(room, left - max(table[shape, FEWEST] - n_taken - 1, 0))
        if (
            number > 0
            and n_taken < table[shape, MOST]
            and _can_follow(machine, shape, left - number, n_nodes - place - 1, n_taken + 1)
        ):
            scratch.node[n_taken], scratch.taken[n_taken] = order[place], number
            left -= number
            n_taken += 1
            if left == 0:
                return n_taken if n_taken >= table[shape, FEWEST] else 0
    return 0
