"""Compiled nodes: the functions of `ledger`, by the rules of `nodes_plain`.

The need of a job is its number. Between two terminations, free resources only shrink. So a shape
that has been refused, now or next to the reservation, stays refused until then.
"""

import sys

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import FREE, PLANNED, SPARE, ends_in_time
from workloadkit.simulation.machine.nodes import (
    CHOSEN,
    LATE,
    LEAST,
    N_CHOSEN,
    N_PARTS,
    N_RUNS,
    NOW,
    ON_NODE,
    ON_NODE_GPUS,
    PER_PROC,
    PROCS,
    SIMPLE,
    SINCE_LATE,
    SINCE_NOW,
    WHOLE,
    NodesState,
)
from workloadkit.simulation.machine.nodes_place import can_place, find_place
from workloadkit.simulation.machine.pools import row_of
from workloadkit.simulation.machine.shapes import CORES, GPUS, MEMORY
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.state import N_RUNNING


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
def is_full(state, what, now):
    """Whether no processor is free."""
    return state.machine.level[FREE] <= 0


@inline
def has_room(state, row, job):
    """Whether a job fits on a level."""
    machine = state.machine
    shape = shape_of(machine, job)
    if machine.level[row] < machine.table[shape, PROCS]:
        return False
    if row >= PLANNED:
        return True
    if row != FREE:
        return can_place(machine, row, shape)
    return machine.table[shape, SIMPLE] != 0 or _fits_now(machine, shape)


@inline
def fits(state, job, now):
    """Whether a job can start now."""
    return has_room(state, FREE, job)


@bare
def _fits_now(machine, shape):
    """Whether a shape fits now; each is refused once."""
    refused, since = machine.refused, machine.at[SINCE_NOW]
    if refused[NOW, shape] == since:
        return False
    if can_place(machine, FREE, shape):
        return True
    refused[NOW, shape] = since
    return False


@inline
def may_pass(state, job, now):
    """Whether a job can start now without delaying the one with the reservation."""
    return has_room(state, FREE, job) and (
        ends_in_time(state, job, now) or (state.spares and _is_spare(state.machine, job))
    )


@inline
def _is_spare(machine, job):
    shape = shape_of(machine, job)
    return machine.level[SPARE] >= machine.table[shape, PROCS] and _fits_late(machine, shape)


@bare
def _fits_late(machine, shape):
    """Whether a shape fits next to the reservation; each is refused once.

    By amounts it is not: on other nodes a job may take less.
    """
    if machine.by_amounts:
        return _are_spare(machine, shape)
    refused, since = machine.refused, machine.at[SINCE_LATE]
    if refused[LATE, shape] == since:
        return False
    find_least(machine)
    if can_place(machine, LEAST, shape):
        return True
    refused[LATE, shape] = since
    return False


@bare
def find_least(machine):
    """Find what is free now and next to the reservation."""
    free, pools = machine.free, machine.pools
    for node in range(free.shape[1]):
        for resource in range(free.shape[2]):
            free[LEAST, node, resource] = min(
                free[FREE, node, resource], free[SPARE, node, resource]
            )
    for pool in range(pools.shape[1]):
        pools[LEAST, pool] = min(pools[FREE, pool], pools[SPARE, pool])


@inline
def _are_spare(machine, shape):
    """Whether the sums that a job would take now are spare."""
    count = find_place(machine, FREE, shape)
    spare, n_resources = machine.spare, machine.free.shape[2]
    for resource in range(n_resources):
        if spare[resource] < _sum_of(machine, shape, count, resource):
            return False
    for pool in range(machine.of_pools.shape[1]):
        if spare[n_resources + pool] < machine.of_pools[shape, pool]:
            return False
    return True


@inline
def _amount(machine, shape, node, procs, resource):
    """Return what a job takes of a node on which it has so many processors."""
    table = machine.table
    if table[shape, WHOLE] != 0:
        return machine.capacity[node, resource]
    if resource == CORES:
        return procs
    if resource == MEMORY:
        return table[shape, ON_NODE] + procs * table[shape, PER_PROC]
    return table[shape, ON_NODE_GPUS]


@inline
def _sum_of(machine, shape, count, resource):
    """Return what a job takes of all nodes in the place that was found."""
    node, taken, total = machine.scratch.node, machine.scratch.taken, 0
    for place in range(count):
        total += _amount(machine, shape, node[place], taken[place], resource)
    return total


@inline
def passes(state, job, now):
    """Choose the place of a job that may pass, if it ends after the shadow time."""
    machine = state.machine
    end, shadow = now + state.jobs.estimate[job], machine.shadow[0]
    if not ends_in_time(state, job, now):
        _choose_late(machine, job, end > shadow)


@bare
def _choose_late(machine, job, is_taken):
    """Choose a place that the reservation leaves, and take it from there if it is needed then."""
    shape = shape_of(machine, job)
    if machine.by_amounts:
        count = find_place(machine, FREE, shape)
        if is_taken:
            _take_sums(machine, shape, count)
        return
    find_least(machine)
    count = find_place(machine, LEAST, shape)
    machine.at[CHOSEN], machine.at[N_CHOSEN] = job, count
    if is_taken:
        take_found(machine, SPARE, shape, count)


@inline
def _take_sums(machine, shape, count):
    """Take sums from those that the reservation leaves."""
    spare, n_resources = machine.spare, machine.free.shape[2]
    for resource in range(n_resources):
        spare[resource] -= _sum_of(machine, shape, count, resource)
    for pool in range(machine.of_pools.shape[1]):
        spare[n_resources + pool] -= machine.of_pools[shape, pool]
    machine.level[SPARE] = spare[CORES]


@inline
def take_found(machine, row, shape, count):
    """Take the place that was found from a level."""
    node, taken = machine.scratch.node, machine.scratch.taken
    for place in range(count):
        change_node(machine, row, shape, node[place], taken[place], -1)
    change_pools(machine, row, shape, -1)


@inline
def change_node(machine, row, shape, node, procs, sign):
    """Return (1) or take (-1) what a job takes of a node."""
    free, level = machine.free, machine.level
    cores = sign * _amount(machine, shape, node, procs, CORES)
    free[row, node, CORES] += cores
    level[row] += cores
    if free.shape[2] > 1:
        free[row, node, MEMORY] += sign * _amount(machine, shape, node, procs, MEMORY)
        free[row, node, GPUS] += sign * _amount(machine, shape, node, procs, GPUS)


@inline
def change_pools(machine, row, shape, sign):
    """Return (1) or take (-1) what a job takes of the pools."""
    pools, need = machine.pools, machine.of_pools
    for pool in range(need.shape[1]):
        pools[row, pool] += sign * need[shape, pool]


@inline
def reserve(state, job, now):
    """Reserve nodes, or their sums, for a job that does not fit; return its start."""
    return _reserve(state, job, now)


@bare
def _reserve(state, job, now):
    machine, ends, jobs = state.machine, state.planned_ends, state.planned_jobs
    shape, place = shape_of(machine, job), state.at[N_RUNNING] - 1
    needed = machine.table[shape, PROCS]
    copy_level(machine, SPARE, FREE)
    while machine.level[SPARE] < needed or not can_place(machine, SPARE, shape):
        if place < 0:
            machine.shadow[0] = state.never
            return state.never
        give_back(machine, SPARE, jobs[place])
        place -= 1
    shadow = now if place + 1 == state.at[N_RUNNING] else max(ends[place + 1], now)
    while place >= 0 and ends[place] <= shadow:
        give_back(machine, SPARE, jobs[place])
        place -= 1
    count = find_place(machine, SPARE, shape)
    if machine.by_amounts:
        _find_sums(machine)
        _take_sums(machine, shape, count)
    else:
        take_found(machine, SPARE, shape, count)
    machine.shadow[0] = shadow
    machine.at[SINCE_LATE] += 1
    return shadow


@inline
def _find_sums(machine):
    """Find the sums of what is free at the shadow time."""
    free, spare = machine.free, machine.spare
    for resource in range(free.shape[2]):
        spare[resource] = 0
        for node in range(free.shape[1]):
            spare[resource] += free[SPARE, node, resource]
    for pool in range(machine.pools.shape[1]):
        spare[free.shape[2] + pool] = machine.pools[SPARE, pool]


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
    free, pools = machine.free, machine.pools
    machine.level[row] = machine.level[other]
    for node in range(free.shape[1]):
        for resource in range(free.shape[2]):
            free[row, node, resource] = free[other, node, resource]
    for pool in range(pools.shape[1]):
        pools[row, pool] = pools[other, pool]


@bare
def give_back(machine, row, job):
    """Return what a running job holds."""
    node, procs, shape = machine.history.node, machine.history.procs, shape_of(machine, job)
    for part in range(machine.first[job], machine.last[job]):
        change_node(machine, row, shape, node[part], procs[part], 1)
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
    """Give a job the chosen place, else one on what is free."""
    at, shape, scratch = machine.at, shape_of(machine, job), machine.scratch
    chosen = at[CHOSEN] == job
    count = at[N_CHOSEN] if chosen else find_place(machine, FREE, shape)
    take_found(machine, FREE, shape, count)
    node, procs, part = machine.history.node, machine.history.procs, at[N_PARTS]
    machine.first[job] = part
    for place in range(count):
        node[part], procs[part] = scratch.node[place], scratch.taken[place]
        part += 1
    machine.last[job] = at[N_PARTS] = part
    at[CHOSEN] = -1


@inline
def vacate(state, row, job):
    """Release the place of a job that has ended."""
    machine = state.machine
    if row >= PLANNED:
        machine.level[row] += state.jobs.procs[job]
        return
    give_back(machine, FREE, job)
    machine.at[CHOSEN] = -1
    machine.at[SINCE_NOW] += 1
    machine.at[SINCE_LATE] += 1


@inline
def move_out(state, job, now):
    """Record the run of a job that has ended."""
    record_run(state, state.machine, job, now)


@inline
def record_run(state, machine, job, now):
    """Record the run of a job that has ended."""
    history, run = machine.history, machine.at[N_RUNS]
    history.job[run], history.first[run] = job, machine.first[job]
    history.last[run] = machine.last[job]
    history.start[run], history.end[run] = state.start[job], now
    machine.at[N_RUNS] = run + 1


@inline
def must_return(state, what, now):
    """Whether the history has less room than the next instant may need."""
    return lacks_room(state.machine)


@inline
def lacks_room(machine):
    """Whether the history has less room than the next instant may need."""
    history = machine.history
    most = machine.free.shape[1] * machine.scratch.number.size
    return (
        history.node.size - machine.at[N_PARTS] < most
        or history.job.size - machine.at[N_RUNS] < most
    )


register_functions(NodesState, sys.modules[__name__])
