"""Compiled nodes with many reservations, each a claim on certain nodes: functions of `ledger`.

By the plans, running jobs that have outlived their estimates end now; what they hold is not free.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.machine import nodes_ledger
from workloadkit.simulation.machine.claims import (
    add_claim,
    move_time,
    remove_claim,
    remove_promises,
)
from workloadkit.simulation.machine.ledger import FREE, SPARE
from workloadkit.simulation.machine.nodes import LEAST, PROCS, NodesState
from workloadkit.simulation.machine.nodes_ledger import (
    change_node,
    change_pools,
    copy_level,
    find_least,
    give_back,
    need_of,
    shape_of,
    take_place,
)
from workloadkit.simulation.machine.nodes_place import can_place, find_place
from workloadkit.simulation.machine.numbered import ClaimsAt

__all__ = ["need_of"]

# Rows of NodesState.free: what is planned at some second, and later.
PLAN, LATER = SPARE, 3


@inline
def _no(state, what, now):
    return False


@inline
def _same(state, what, now):
    return what


@inline
def _begin_its_claim(state, row, claim):
    change_claim(state, row, claim, -1)


# What a machine may define that has other claims than those of jobs, too.

#: (state, row, claim): take from a level what is claimed.
_begin_claim = by_part("machine", "begin_claim", _begin_its_claim)

#: (state, claim, end): whether a claim does not concern a job that ends as it begins, even if those
#: of jobs do.
_is_later = by_part("machine", "is_later", _no)

#: (state, time, begin): a time, or an earlier one after `begin` at which more comes free.
_or_sooner = by_part("machine", "or_sooner", _same)


class NodeClaims(NamedTuple):
    """Claims of jobs on nodes.

    Parameters
    ----------
    begin, end : ndarray, shape (n_jobs,)
        [s]
    held : ndarray of bool, shape (n_jobs,)
        Whether a job has a claim.
    first, last : ndarray of int64, shape (n_jobs,)
        The parts of each, node[first:last].
    node, procs : ndarray of int64, shape (n_parts,)
    by_begin, by_end : ndarray of int64, shape (n_jobs,)
        Existing claims, ascending.
    """

    begin: NDArray
    end: NDArray
    held: NDArray[np.bool_]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    node: NDArray[np.int64]
    procs: NDArray[np.int64]
    by_begin: NDArray[np.int64]
    by_end: NDArray[np.int64]


class ClaimedNodes(NamedTuple):
    """Nodes and claims on them.

    Parameters
    ----------
    level, shadow : ndarray
        Those of the nodes.
    nodes : NodesState
    claims : NodeClaims
    at : record
    """

    level: NDArray[np.int64]
    shadow: NDArray
    nodes: NodesState
    claims: NodeClaims
    at: ClaimsAt


def new_claimed(nodes: NodesState, jobs: Jobs) -> ClaimedNodes:
    """Return nodes without claims."""
    claims = new_claims(jobs, np.minimum(jobs.procs, nodes.kind.size))
    return ClaimedNodes(nodes.level, nodes.shadow, nodes, claims, ClaimsAt())


def new_claims(jobs: Jobs, n_parts: NDArray[np.int64]) -> NodeClaims:
    """Return no claims, with room for so many parts of each possible one."""
    n_claims, dtype, last = n_parts.size, jobs.submit.dtype, np.cumsum(n_parts, dtype=np.int64)
    node, procs = (np.empty(int(last[-1]), np.int64) for _ in range(2))
    by_begin, by_end = (np.empty(n_claims, np.int64) for _ in range(2))
    begin, end = (np.empty(n_claims, dtype) for _ in range(2))
    held = np.zeros(n_claims, np.bool_)
    return NodeClaims(begin, end, held, last - n_parts, last, node, procs, by_begin, by_end)


@inline
def changes_ahead(state, what, now):
    """Whether reservations are of certain nodes."""
    return True


@inline
def is_full(state, what, now):
    """Whether no processor is free."""
    return state.machine.level[FREE] <= 0


@inline
def fits(state, job, now):
    """Whether there is room for a job until its planned end, on what is not claimed."""
    nodes = state.machine.nodes
    if nodes.level[FREE] < nodes.table[shape_of(nodes, job), PROCS]:
        return False
    return _fits_now(state, job, now)


@bare
def _fits_now(state, job, now):
    nodes, claims = state.machine.nodes, state.machine.claims
    if claims.held[job] and claims.begin[job] <= now:
        return _is_free(state, job)
    shape = shape_of(nodes, job)
    if not can_place(nodes, FREE, shape):
        return False
    _find_available(state, job, now)
    return can_place(nodes, LEAST, shape)


@inline
def _is_free(state, job):
    """Whether the place that a job has claimed is free."""
    nodes, claims = state.machine.nodes, state.machine.claims
    change_claim(state, FREE, job, -1)
    suits = True
    for part in range(claims.first[job], claims.last[job]):
        for resource in range(nodes.free.shape[1]):
            suits &= nodes.free[FREE, resource, claims.node[part]] >= 0
    for pool in range(nodes.pools.shape[1]):
        suits &= nodes.pools[FREE, pool] >= 0
    change_claim(state, FREE, job, 1)
    return suits


@inline
def change_claim(state, row, job, sign):
    """Return (1) or take (-1) on a level what a job has claimed."""
    nodes, claims = state.machine.nodes, state.machine.claims
    shape = shape_of(nodes, job)
    for part in range(claims.first[job], claims.last[job]):
        change_node(nodes, row, shape, claims.node[part], claims.procs[part], sign)
    change_pools(nodes, row, shape, sign)


@inline
def _find_available(state, job, now):
    """Find what is available to a job from now until its planned end."""
    claims, count = state.machine.claims, state.machine.at.n_claims
    copy_level(state.machine.nodes, PLAN, FREE)
    place = _end_running(state, PLAN, state.at.n_running, now)
    begun = 0
    while begun < count and claims.begin[claims.by_begin[begun]] <= now:
        if claims.by_begin[begun] != job and claims.end[claims.by_begin[begun]] > now:
            _begin_claim(state, PLAN, claims.by_begin[begun])
        begun += 1
    over = 0
    while over < count and claims.end[claims.by_end[over]] <= now:
        over += 1
    find_least(state.machine.nodes)
    _look_ahead(state, job, place, begun, over, now)


@inline
def _end_running(state, row, place, time):
    """Return what running jobs hold that end by a time, as planned; return the place of others."""
    ends, jobs = state.planned_ends, state.planned_jobs
    while place > 0 and ends[place - 1] <= time:
        place -= 1
        give_back(state.machine.nodes, row, jobs[place])
    return place


@bare
def _look_ahead(state, job, place, begun, over, begin):
    """Subtract from what is available what other jobs claim before the planned end of a job.

    The planned ends before `place`, and the claims from `begun` on by their begins and from `over`
    on by their ends, come after `begin`.
    """
    nodes, claims, count = state.machine.nodes, state.machine.claims, state.machine.at.n_claims
    end, copied = begin + state.jobs.estimate[job], False
    while begun < count:
        claim = claims.by_begin[begun]
        time = claims.begin[claim]
        if time > end or (time == end and not state.strict):
            break
        begun += 1
        if claim == job or _is_later(state, claim, end):
            continue
        if not copied:
            copy_level(nodes, LATER, PLAN)
            copied = True
        place = _end_running(state, LATER, place, time)
        while over < count and claims.end[claims.by_end[over]] <= time:
            if claims.by_end[over] != job:
                change_claim(state, LATER, claims.by_end[over], 1)
            over += 1
        _begin_claim(state, LATER, claim)
        _reduce(state, claim)


@inline
def _reduce(state, claim):
    """Let no more be available on the nodes of a claim, and of pools, than when it has begun."""
    nodes, claims = state.machine.nodes, state.machine.claims
    free, pools = nodes.free, nodes.pools
    for part in range(claims.first[claim], claims.last[claim]):
        node = claims.node[part]
        for resource in range(free.shape[1]):
            free[LEAST, resource, node] = min(
                free[LEAST, resource, node], free[LATER, resource, node]
            )
    for pool in range(pools.shape[1]):
        pools[LEAST, pool] = min(pools[LEAST, pool], pools[LATER, pool])


@inline
def reserve(state, job, now):
    """Claim nodes for a job, from the earliest possible second on; return that second."""
    return _reserve(state, job, now)


@bare
def _reserve(state, job, now):
    _release(state, job)
    nodes, claims, count = state.machine.nodes, state.machine.claims, state.machine.at.n_claims
    ends, place, shape = state.planned_ends, state.at.n_running, shape_of(nodes, job)
    copy_level(nodes, PLAN, FREE)
    begun, over, begin = 0, 0, now
    while True:
        place = _end_running(state, PLAN, place, begin)
        while begun < count and claims.begin[claims.by_begin[begun]] <= begin:
            _begin_claim(state, PLAN, claims.by_begin[begun])
            begun += 1
        while over < count and claims.end[claims.by_end[over]] <= begin:
            change_claim(state, PLAN, claims.by_end[over], 1)
            over += 1
        # free processors are no bound: jobs may hold cores that an outage is about to take
        if can_place(nodes, PLAN, shape):
            copy_level(nodes, LEAST, PLAN)
            _look_ahead(state, job, place, begun, over, begin)
            found = find_place(nodes, LEAST, shape)
            if found > 0:
                break
        soonest = ends[place - 1] if place > 0 else state.never
        if over < count:
            soonest = min(soonest, claims.end[claims.by_end[over]])
        begin = _or_sooner(state, soonest, begin)
        if begin == state.never:
            return begin
    state.machine.claims.end[job] = begin + state.jobs.estimate[job]
    _claim_found(state, job, begin, found)
    return begin


@inline
def _claim_found(state, job, begin, count):
    """Claim the place that was found, until the end that is set."""
    claims, scratch = state.machine.claims, state.machine.nodes.scratch
    claims.begin[job], part = begin, claims.first[job]
    for place in range(count):
        claims.node[part], claims.procs[part] = scratch.node[place], scratch.taken[place]
        part += 1
    claims.last[job], claims.held[job] = part, True
    add_claim(state, job)


@inline
def _release(state, job):
    if state.machine.claims.held[job]:
        remove_claim(state, job)
        state.machine.claims.held[job] = False


@inline
def release(state, job, now):
    """Cancel the claim of a job."""
    _release(state, job)


@inline
def release_all(state, what, now):
    """Cancel all claims."""
    claims = state.machine.claims
    for place in range(state.machine.at.n_claims):
        claims.held[claims.by_begin[place]] = False
    if state.machine.at.n_claims > 0:
        remove_promises(state)


@inline
def move_in(state, job, now):
    """Give a job its place: where there is room until its planned end, else anywhere."""
    _move_in(state, job, now)


@bare
def _move_in(state, job, now):
    nodes, claims, scratch = state.machine.nodes, state.machine.claims, state.machine.nodes.scratch
    if nodes.at.given:
        take_place(nodes, job)
        return
    if claims.held[job] and claims.begin[job] <= now and _is_free(state, job):
        count = claims.last[job] - claims.first[job]
        for place in range(count):
            scratch.node[place] = claims.node[claims.first[job] + place]
            scratch.taken[place] = claims.procs[claims.first[job] + place]
        nodes.at.chosen, nodes.at.n_chosen = job, count
    else:
        _find_available(state, job, now)
        count = find_place(nodes, LEAST, shape_of(nodes, job))
        if count > 0:
            nodes.at.chosen, nodes.at.n_chosen = job, count
    _release(state, job)
    take_place(nodes, job)
    if state.strict and count > 0:
        _keep_if_claimed(state, job, now + state.jobs.estimate[job], count)


@inline
def _keep_if_claimed(state, job, end, count):
    """Let a job that ends as a claim of another one begins keep its place during that second."""
    claims = state.machine.claims
    for place in range(state.machine.at.n_claims):
        claim = claims.by_begin[place]
        if claims.begin[claim] == end and claim < state.start.size:
            claims.end[job] = end
            move_time(claims.end, job, state.never, 1)
            _claim_found(state, job, end, count)
            break


@inline
def move_out(state, job, now):
    """Release the place of a job that has ended, and record its run."""
    give_back(state.machine.nodes, FREE, job)
    nodes_ledger.record_run(state, state.machine.nodes, job, now)


@inline
def must_return(state, what, now):
    """Whether the history has less room than the next instant may need."""
    return nodes_ledger.lacks_room(state.machine.nodes)


# Policies that plan with claims do not call these.


@inline
def has_room(state, row, need):
    """Whether so much is free."""
    return False


@inline
def occupy(state, row, need):
    """Leave it to `move_in`."""


@inline
def vacate(state, row, need):
    """Leave it to `move_out`."""


@inline
def copy_row(state, row, other):
    """Copy nothing."""


@inline
def same_rows(state, row, other):
    """Compare nothing."""
    return False


register_functions(ClaimedNodes, sys.modules[__name__])
