"""Compiled nodes: the functions of `ledger`, by the rules of `nodes_plain`.

The need of a job is its number. Between two terminations, free resources only shrink. So a shape
that has been refused, now or next to the reservation, stays refused until then.
"""

import sys

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import (
    FREE,
    PLANNED,
    SPARE,
    ends_by,
    ends_in_time,
    last_counts,
)
from workloadkit.simulation.machine.nodes import (
    LATE,
    LEAST,
    NOW,
    PROCS,
    SIMPLE,
    WHOLE,
    WORD,
    WORD_BITS,
    NodesState,
)
from workloadkit.simulation.machine.nodes_place import can_place, find_place, list_open
from workloadkit.simulation.machine.pools import row_of
from workloadkit.simulation.machine.shapes import CORES


@inline
def need_of(state, job, now):
    """Return the job."""
    return job


@inline
def shape_of(machine, job):
    """Return the number of a job's shape."""
    return machine.shape[row_of(machine.row, job)]


@inline
def changes_ahead(state, what, now):
    """Whether a refused job may pass the first one though no job has ended."""
    return state.machine.unsteady


@inline
def places_matter(state, what, now):
    """Whether a job may get another place next to a reservation than without one."""
    return True


@inline
def may_have_moved(state, what, now):
    """Whether the reservation may be another one if it is made again."""
    return state.machine.unsteady and state.machine.at.late_started != 0


@inline
def is_full(state, what, now):
    """Whether no processor is free."""
    return state.machine.level[FREE] <= 0


@inline
def has_room(state, row, job):
    """Whether a job fits on a level."""
    return fits_on(state.machine, row, job)


@inline
def fits_on(machine, row, job):
    """Whether a job fits on a level."""
    shape = shape_of(machine, job)
    if machine.level[row] < machine.table[shape, PROCS]:
        return False
    if row >= PLANNED:
        return True
    if row == SPARE:
        return _fits_late(machine, shape)
    return machine.table[shape, SIMPLE] != 0 or _fits_now(machine, shape)


@inline
def room(state, row, now):
    """Return the free processors."""
    return state.machine.level[row]


@inline
def fits(state, job, now):
    """Whether a job can start now."""
    return has_room(state, FREE, job)


@bare
def _fits_now(machine, shape):
    """Whether a shape fits now; each is refused once."""
    refused, since = machine.refused, machine.at.since_now
    if refused[NOW, shape] == since:
        return False
    if can_place(machine, FREE, shape):
        return True
    refused[NOW, shape] = since
    return False


@bare
def _fits_late(machine, shape):
    """Whether a shape fits next to the reservation; each is refused once.

    By amounts it is not: on other nodes a job may take less.
    """
    if machine.by_amounts:
        return _are_spare(machine, shape)
    refused, since = machine.refused, machine.at.since_late
    if refused[LATE, shape] == since:
        return False
    _update_least(machine)
    if machine.table[shape, SIMPLE] != 0:
        return machine.at.least_cores >= machine.table[shape, PROCS]
    if can_place(machine, LEAST, shape):
        return True
    refused[LATE, shape] = since
    return False


@inline
def _update_least(machine):
    """Find what is free now and next to the reservation, unless it is known."""
    if machine.at.least_known == 0:
        find_least(machine)
        machine.at.least_known = 1


@bare
def find_least(machine):
    """Find what is free now and next to the reservation, on the nodes that have free cores then."""
    free, pools, open_, order = machine.free, machine.pools, machine.open, machine.scratch.order
    for word in range(open_.shape[1]):
        open_[LEAST, word] = open_[FREE, word] & open_[SPARE, word]
    total = 0
    for place in range(list_open(machine, LEAST)):
        node = order[place]
        for resource in range(free.shape[1]):
            free[LEAST, resource, node] = min(
                free[FREE, resource, node], free[SPARE, resource, node]
            )
        total += free[LEAST, CORES, node]
    machine.at.least_cores = total
    for pool in range(pools.shape[1]):
        pools[LEAST, pool] = min(pools[FREE, pool], pools[SPARE, pool])


@inline
def _are_spare(machine, shape):
    """Whether the sums that a job would take now are spare."""
    count = find_place(machine, FREE, shape)
    spare, n_resources = machine.spare, machine.free.shape[1]
    for resource in range(n_resources):
        if spare[resource] < _sum_of(machine, shape, count, resource):
            return False
    for pool in range(machine.of_pools.shape[1]):
        if spare[n_resources + pool] < machine.of_pools[shape, pool]:
            return False
    return True


@inline
def _amount(machine, shape, node, procs, resource):
    """Return how much of one resource a job uses on a node where it has `procs` processors."""
    if machine.table[shape, WHOLE] != 0:
        return machine.capacity[node, resource]
    return machine.of_node[shape, resource] + procs * machine.of_proc[shape, resource]


@inline
def _sum_of(machine, shape, count, resource):
    """Return what a job takes of all nodes in the place that was found."""
    node, taken, total = machine.scratch.node, machine.scratch.taken, 0
    for place in range(count):
        total += _amount(machine, shape, node[place], taken[place], resource)
    return total


@inline
def passes(state, job, now):
    """Choose the place of a job that may pass, if it uses what is spare at the shadow time."""
    pass_head(state, state.machine, job, now)


@inline
def pass_head(state, machine, job, now):
    """Do so on the nodes of a machine."""
    if not ends_in_time(state, job, now):
        _choose_late(machine, job)


@bare
def _choose_late(machine, job):
    """Take a place that the reservation leaves."""
    shape = shape_of(machine, job)
    machine.at.late_started = 1
    if machine.by_amounts:
        _take_sums(machine, shape, find_place(machine, FREE, shape))
        return
    _update_least(machine)
    count = find_place(machine, LEAST, shape)
    machine.at.chosen, machine.at.n_chosen = job, count
    take_found(machine, SPARE, shape, count)


@inline
def _take_sums(machine, shape, count):
    """Take sums from those that the reservation leaves."""
    spare, n_resources = machine.spare, machine.free.shape[1]
    for resource in range(n_resources):
        spare[resource] -= _sum_of(machine, shape, count, resource)
    for pool in range(machine.of_pools.shape[1]):
        spare[n_resources + pool] -= machine.of_pools[shape, pool]
    machine.level[SPARE] = spare[CORES]


@inline
def take_found(machine, row, shape, count):
    """Take the place that was found from a level."""
    _change_nodes(machine, row, shape, (machine.scratch.node, machine.scratch.taken, 0, count), -1)
    change_pools(machine, row, shape, -1)


@inline
def _change_nodes(machine, row, shape, parts, sign):
    """Return (1) or take (-1) what a job takes of several nodes."""
    node, procs, first, last = parts
    if machine.free.shape[1] > 1:
        for part in range(first, last):
            change_node(machine, row, shape, node[part], procs[part], sign)
        return
    free, open_, capacity = machine.free, machine.open, machine.capacity
    whole, total = machine.table[shape, WHOLE] != 0, 0
    for part in range(first, last):
        place = node[part]
        cores = capacity[place, CORES] if whole else procs[part]
        total += cores
        left = free[row, CORES, place] + sign * cores
        free[row, CORES, place] = left
        word, bit = place >> WORD_BITS, 1 << (place & (WORD - 1))
        open_[row, word] = open_[row, word] | bit if left > 0 else open_[row, word] & ~bit
    machine.level[row] += sign * total


@inline
def change_node(machine, row, shape, node, procs, sign):
    """Return (1) or take (-1) what a job takes of a node."""
    free = machine.free
    change_cores(machine, row, node, sign * _amount(machine, shape, node, procs, CORES))
    for resource in range(1, free.shape[1]):
        free[row, resource, node] += sign * _amount(machine, shape, node, procs, resource)


@inline
def change_cores(machine, row, node, cores):
    """Change the free cores of a node."""
    free, level, open_ = machine.free, machine.level, machine.open
    free[row, CORES, node] += cores
    level[row] += cores
    if free[row, CORES, node] > 0:
        open_[row, node >> WORD_BITS] |= 1 << (node & (WORD - 1))
    else:
        open_[row, node >> WORD_BITS] &= ~(1 << (node & (WORD - 1)))


@inline
def change_pools(machine, row, shape, sign):
    """Return (1) or take (-1) what a job takes of the pools."""
    pools, need = machine.pools, machine.of_pools
    for pool in range(need.shape[1]):
        pools[row, pool] += sign * need[shape, pool]


@inline
def reserve(state, job, now):
    """Reserve nodes, or their sums, for a job that does not fit; return its start."""
    return reserve_level(state, state.machine, job, now)


@bare
def reserve_level(state, machine, job, now):
    """Reserve what is left at the earliest possible start of a job; return that second."""
    jobs, shape, place = state.planned_jobs, shape_of(machine, job), state.at.n_running - 1
    needed = machine.table[shape, PROCS]
    machine.at.late_started = 0
    copy_level(machine, SPARE, FREE)
    simple = machine.table[shape, SIMPLE] != 0
    while machine.level[SPARE] < needed or not (simple or can_place(machine, SPARE, shape)):
        if place < 0:
            machine.shadow[0] = state.never
            return state.never
        give_back(machine, SPARE, jobs[place])
        place -= 1
    shadow = last_counts(state, place, now)
    while ends_by(state, place, shadow):
        give_back(machine, SPARE, jobs[place])
        place -= 1
    count = find_place(machine, SPARE, shape)
    if machine.by_amounts:
        _find_sums(machine)
        _take_sums(machine, shape, count)
    else:
        take_found(machine, SPARE, shape, count)
    machine.shadow[0] = shadow
    machine.at.since_late += 1
    machine.at.least_known = 0
    return shadow


@inline
def _find_sums(machine):
    """Find the sums of what is free at the shadow time."""
    free, spare = machine.free, machine.spare
    for resource in range(free.shape[1]):
        spare[resource] = 0
        for node in range(free.shape[2]):
            spare[resource] += free[SPARE, resource, node]
    for pool in range(machine.pools.shape[1]):
        spare[free.shape[1] + pool] = machine.pools[SPARE, pool]


@inline
def copy_row(state, row, other):
    """Copy a level."""
    if row >= PLANNED:
        state.machine.level[row] = state.machine.level[other]
    else:
        copy_level(state.machine, row, other)


@inline
def same_rows(state, row, other):
    """Whether two levels of a profile are equal."""
    return state.machine.level[row] == state.machine.level[other]


@bare
def copy_level(machine, row, other):
    """Copy what is free."""
    free, pools, open_ = machine.free, machine.pools, machine.open
    machine.level[row] = machine.level[other]
    for word in range(open_.shape[1]):
        open_[row, word] = open_[other, word]
    for resource in range(free.shape[1]):
        for node in range(free.shape[2]):
            free[row, resource, node] = free[other, resource, node]
    for pool in range(pools.shape[1]):
        pools[row, pool] = pools[other, pool]


@bare
def give_back(machine, row, job):
    """Return what a running job holds."""
    node, procs, shape = machine.history.node, machine.history.procs, shape_of(machine, job)
    parts = node, procs, machine.first[job], machine.last[job]
    _change_nodes(machine, row, shape, parts, 1)
    change_pools(machine, row, shape, 1)


@inline
def occupy(state, row, job):
    """Give a job its place: the chosen one, else one on what is free."""
    if row >= PLANNED:
        state.machine.level[row] -= state.jobs.procs[job]
    else:
        take_place(state.machine, job)


@bare
def take_place(machine, job):
    """Give a job the given or the chosen place, else one on what is free."""
    at, shape, scratch = machine.at, shape_of(machine, job), machine.scratch
    node, procs, part = machine.history.node, machine.history.procs, at.n_parts
    if at.given:
        parts = node, procs, machine.first[job], machine.last[job]
        _change_nodes(machine, FREE, shape, parts, -1)
        change_pools(machine, FREE, shape, -1)
        return
    chosen = at.chosen == job
    count = at.n_chosen if chosen else find_place(machine, FREE, shape)
    take_found(machine, FREE, shape, count)
    machine.first[job] = part
    for place in range(count):
        node[part], procs[part] = scratch.node[place], scratch.taken[place]
        part += 1
    machine.last[job] = at.n_parts = part
    at.chosen, at.least_known = -1, 0


@inline
def vacate(state, row, job):
    """Release the place of a job that has ended."""
    machine = state.machine
    if row >= PLANNED:
        machine.level[row] += state.jobs.procs[job]
        return
    give_back(machine, FREE, job)
    end_refusals(machine)


@inline
def end_refusals(machine):
    """Forget what was found, and which shapes were refused, as more may be free."""
    machine.at.chosen, machine.at.least_known = -1, 0
    machine.at.since_now += 1
    machine.at.since_late += 1


@inline
def move_out(state, job, now):
    """Record the run of a job that has ended."""
    record_run(state, state.machine, job, now)


@inline
def record_run(state, machine, job, now):
    """Record the run of a job that has ended."""
    history, run = machine.history, machine.at.n_runs
    history.job[run], history.first[run] = job, machine.first[job]
    history.last[run] = machine.last[job]
    history.start[run], history.end[run] = state.start[job], now
    machine.at.n_runs = run + 1


@inline
def must_return(state, what, now):
    """Whether the history has less room than the next instant may need."""
    return lacks_room(state.machine)


@inline
def lacks_room(machine):
    """Whether the history has less room than the next instant may need."""
    history, at = machine.history, machine.at
    room = min(history.node.size - at.n_parts, history.job.size - at.n_runs)
    return room < machine.headroom


register_functions(NodesState, sys.modules[__name__])
