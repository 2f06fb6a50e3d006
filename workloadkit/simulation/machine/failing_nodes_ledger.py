"""Compiled nodes that go down and come up: functions of `ledger`.

While changes are expected, or if a policy makes many reservations, reservations are claims on
certain nodes, as in `nodes_claims`; otherwise there is one, as in `nodes_ledger`.
"""

import sys

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine import nodes_claims
from workloadkit.simulation.machine.changes import change, next_change
from workloadkit.simulation.machine.failing_nodes import (
    FailingNodes,
    announce,
    lose_cores,
    reopen,
    shut,
)
from workloadkit.simulation.machine.ledger import FREE, ends_in_time, is_spare
from workloadkit.simulation.machine.nodes import LATE
from workloadkit.simulation.machine.nodes_claims import (
    copy_row,
    is_full,
    must_return,
    need_of,
    occupy,
    same_rows,
    vacate,
)
from workloadkit.simulation.machine.nodes_ledger import (
    end_refusals,
    fits_on,
    give_back,
    pass_head,
    places_matter,
    record_run,
    reserve_level,
    shape_of,
    take_place,
)

__all__ = [
    "announce",
    "change",
    "copy_row",
    "is_full",
    "must_return",
    "need_of",
    "next_change",
    "occupy",
    "places_matter",
    "reopen",
    "same_rows",
    "shut",
    "vacate",
]


@inline
def _has_claims(machine):
    """Whether reservations are claims."""
    return machine.plans_many or machine.at.n_claims > 0


@inline
def changes_ahead(state, what, now):
    """Whether a refused job may pass the first one though no job has ended."""
    return _has_claims(state.machine) or state.machine.nodes.unsteady


@inline
def may_have_moved(state, what, now):
    """Whether the reservation may be another one if it is made again."""
    return _has_claims(state.machine) or (
        state.machine.nodes.unsteady and state.machine.nodes.at.late_started != 0
    )


@inline
def has_room(state, row, job):
    """Whether a job fits on a level."""
    return fits_on(state.machine.nodes, row, job)


@inline
def fits(state, job, now):
    """Whether there is room for a job: until its planned end, if others have claims."""
    return has_room(state, FREE, job) and (
        not _has_claims(state.machine) or _is_available(state, job, now)
    )


@bare
def _is_available(state, job, now):
    """Whether there is room for a job until its planned end, on what is not claimed.

    If a shape is refused, it is refused to longer jobs, too, while time and claims are the same.
    """
    machine, nodes, estimate = state.machine, state.machine.nodes, state.jobs.estimate[job]
    if _comes_first(machine, now + estimate):
        return True
    if machine.since[0] != now:
        machine.since[0] = now
        nodes.at.since_late += 1
    if machine.claims.held[job]:
        return nodes_claims.fits(state, job, now)
    shape, since = shape_of(nodes, job), nodes.at.since_late
    is_known = nodes.refused[LATE, shape] == since
    if is_known and estimate >= machine.refused[shape]:
        return False
    if nodes_claims.fits(state, job, now):
        return True
    nodes.refused[LATE, shape], machine.refused[shape] = since, estimate
    return False


@inline
def _comes_first(machine, end):
    """Whether all claims begin after a planned end."""
    claims = machine.claims
    return machine.at.n_claims == 0 or claims.begin[claims.by_begin[0]] > end


@inline
def release(state, job, now):
    """Cancel the claim of a job."""
    nodes_claims.release(state, job, now)
    state.machine.nodes.at.since_late += 1


@inline
def release_all(state, what, now):
    """Cancel all claims of jobs."""
    nodes_claims.release_all(state, what, now)
    state.machine.nodes.at.since_late += 1


@inline
def reserve(state, job, now):
    """Reserve nodes for a job; return its start."""
    if not _has_claims(state.machine):
        return reserve_level(state, state.machine.nodes, job, now)
    state.machine.nodes.at.since_late += 1
    state.machine.shadow[0] = nodes_claims.reserve(state, job, now)
    return state.machine.shadow[0]


@inline
def may_pass(state, job, now):
    """Whether a job can start now without delaying those with a reservation."""
    in_time = ends_in_time(state, job, now)
    if _has_claims(state.machine):
        return (in_time or state.spares) and fits(state, job, now)
    return has_room(state, FREE, job) and (in_time or is_spare(state, job))


@inline
def passes(state, job, now):
    """Choose the place of a job that may pass."""
    if not _has_claims(state.machine):
        pass_head(state, state.machine.nodes, job, now)


@inline
def move_in(state, job, now):
    """Give a job its place."""
    machine, has_claim = state.machine, state.machine.claims.held[job]
    comes_first = not has_claim and _comes_first(machine, now + state.jobs.estimate[job])
    if not (machine.nodes.at.given or comes_first):
        nodes_claims.move_in(state, job, now)
        machine.nodes.at.since_late += has_claim
    else:
        take_place(machine.nodes, job)


@inline
def move_out(state, job, now):
    """Release the place of a job, and record its run."""
    give_back(state.machine.nodes, FREE, job)
    end_refusals(state.machine.nodes)
    record_run(state, state.machine.nodes, job, now)


@bare
def n_down(state, what, now):
    """Return the number of cores that are down."""
    count = 0
    for cores in state.machine.outages.down:
        count += cores
    return count


@inline
def begin_claim(state, row, claim):
    """Take from a level what a job claims, or what changes."""
    nodes, claims = state.machine.nodes, state.machine.claims
    if claim < state.start.size:
        nodes_claims.change_claim(state, row, claim, -1)
        return
    for part in range(claims.first[claim], claims.last[claim]):
        whole = state.machine.outages.whole[part]
        lose_cores(nodes, row, claims.node[part], claims.procs[part], whole)


@inline
def is_later(state, claim, end):
    """Whether a claim is of a change that comes as a job ends."""
    return claim >= state.start.size and state.machine.claims.begin[claim] == end


@bare
def or_sooner(state, time, begin):
    """Return a time, or that of an expected change between `begin` and it."""
    claims, n_jobs = state.machine.claims, state.start.size
    for place in range(state.machine.at.n_claims):
        claim = claims.by_begin[place]
        if claim >= n_jobs and claims.begin[claim] > begin:
            return min(time, claims.begin[claim])
    return time


register_functions(FailingNodes, sys.modules[__name__])
