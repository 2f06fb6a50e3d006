"""Compiled processors that can be reserved: the functions of `ledger`, with claims on amounts.

Each claim knows how many processors are planned to be free at its begin, after all claims. A job
fits if the least of them, over the claims that begin before its planned end, is enough. All jobs
end as planned or earlier.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.machine.claims import add_claim, remove_claim
from workloadkit.simulation.machine.hardware import (
    copy_row,
    has_room,
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
    PLANNED,
    ends_in_time,
    hold,
    is_spare,
    reserve_spare,
)
from workloadkit.simulation.machine.numbered import ClaimsAt

__all__ = [
    "copy_row",
    "has_room",
    "is_full",
    "move_rows",
    "need_of",
    "occupy",
    "room",
    "same_rows",
    "vacate",
]


class _At(ClaimsAt):
    """What is known of requests."""

    first_request: int  # among the jobs
    n_pending: int  # accepted requests that have not begun


class AmountClaims(NamedTuple):
    """Claims on numbers of processors: of jobs, then of requests.

    Parameters
    ----------
    begin, end : ndarray, shape (n_jobs,)
        [s]
    held : ndarray of bool, shape (n_jobs,)
        Whether there is a claim.
    left : ndarray of int64, shape (n_jobs,)
        Processors planned to be free at its begin, after all claims.
    by_begin, by_end : ndarray of int64, shape (n_jobs,)
        Existing claims, ascending.
    """

    begin: NDArray
    end: NDArray
    held: NDArray[np.bool_]
    left: NDArray[np.int64]
    by_begin: NDArray[np.int64]
    by_end: NDArray[np.int64]


class ReservableState(NamedTuple):
    """Free processors, and claims on them.

    Parameters
    ----------
    level, shadow : ndarray
        As of one pool.
    claims : AmountClaims
    pending : ndarray of int64, shape (n_requests,)
        Accepted requests that have not begun, by their begins, descending.
    at : record
    """

    level: NDArray[np.int64]
    shadow: NDArray
    claims: AmountClaims
    pending: NDArray[np.int64]
    at: _At


def new_reservable(procs: int, jobs: Jobs, n_requests: int, n_planned: int) -> ReservableState:
    """Return free processors for jobs and requests, with `n_planned` rows for a profile."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    level = np.empty(PLANNED + n_planned, np.int64)
    level[FREE] = procs
    begin, end = (np.empty(n_jobs, dtype) for _ in range(2))
    left, by_begin, by_end = (np.empty(n_jobs, np.int64) for _ in range(3))
    claims = AmountClaims(begin, end, np.zeros(n_jobs, np.bool_), left, by_begin, by_end)
    at = _At(first_request=n_jobs - n_requests)
    return ReservableState(level, np.empty(1, dtype), claims, np.empty(n_requests, np.int64), at)


@inline
def changes_ahead(state, what, now):
    """Whether reservations are ahead."""
    return state.machine.at.n_pending > 0


@inline
def fits(state, job, now):
    """Whether there is room for a job until its planned end, next to what is claimed."""
    machine = state.machine
    return machine.level[FREE] >= state.jobs.procs[job] and (
        machine.at.n_claims == 0 or _is_left(state, job, now)
    )


@bare
def _is_left(state, job, now):
    """Whether the claims that begin during a job leave enough for it."""
    claims, at = state.machine.claims, state.machine.at
    end, needed = now + state.jobs.estimate[job], state.jobs.procs[job]
    for place in range(at.n_claims):
        claim = claims.by_begin[place]
        begin = claims.begin[claim]
        if begin > end:
            break
        if claim == job or (begin == end and not (state.strict and claim < at.first_request)):
            continue
        left = claims.left[claim]
        if claims.held[job] and claims.begin[job] <= begin < claims.end[job]:
            left += needed
        if left < needed:
            return False
    return True


@inline
def may_pass(state, job, now):
    """Whether a job can start now without delaying those with a reservation."""
    needed, in_time = state.jobs.procs[job], ends_in_time(state, job, now)
    if changes_ahead(state, 0, now):
        return (in_time or state.spares) and fits(state, job, now)
    return state.machine.level[FREE] >= needed and (in_time or is_spare(state, needed))


@inline
def reserve(state, job, now):
    """Claim processors for a job if reservations are ahead; else reserve as for one pool."""
    if changes_ahead(state, 0, now):
        release(state, job, now)
        begin, left = find_slot(state, job, now, 0)
        if begin < state.never:
            claim(state, job, begin, left)
        state.machine.shadow[0] = begin
        return begin
    return reserve_spare(state, job, now)


@bare
def find_slot(state, job, begin, least):
    """Find the first slot for a job from `begin` on, by running jobs and claims from `least` on.

    Returns the time, and the number of processors that are free then; `never` for no slot.
    """
    claims, count = state.machine.claims, state.machine.at.n_claims
    ends, jobs, procs = state.planned_ends, state.planned_jobs, state.jobs.procs
    by_begin, by_end = claims.by_begin, claims.by_end
    left, place, begun, over = state.machine.level[FREE], state.at.n_running, 0, 0
    while True:
        while place > 0 and ends[place - 1] <= begin:
            place -= 1
            left += procs[jobs[place]]
        while begun < count and claims.begin[by_begin[begun]] <= begin:
            left -= procs[by_begin[begun]] if by_begin[begun] >= least else 0
            begun += 1
        while over < count and claims.end[by_end[over]] <= begin:
            left += procs[by_end[over]] if by_end[over] >= least else 0
            over += 1
        if left >= procs[job] and _stays(state, job, begin, least, (left, place, begun, over)):
            return begin, left
        later = ends[place - 1] if place > 0 else state.never
        if over < count:
            later = min(later, claims.end[by_end[over]])
        if later == state.never:
            return later, left
        begin = later


@inline
def _stays(state, job, begin, least, since):
    """Whether enough stays free during a job, where other claims begin."""
    claims, count = state.machine.claims, state.machine.at.n_claims
    ends, jobs, procs = state.planned_ends, state.planned_jobs, state.jobs.procs
    by_begin, by_end = claims.by_begin, claims.by_end
    left, place, begun, over = since
    end = begin + state.jobs.estimate[job]
    while begun < count and claims.begin[by_begin[begun]] < end:
        time = claims.begin[by_begin[begun]]
        if by_begin[begun] >= least:
            while place > 0 and ends[place - 1] <= time:
                place -= 1
                left += procs[jobs[place]]
            while over < count and claims.end[by_end[over]] <= time:
                left += procs[by_end[over]] if by_end[over] >= least else 0
                over += 1
            left -= procs[by_begin[begun]]
            if left < procs[job]:
                return False
        begun += 1
    return True


@inline
def claim(state, job, begin, left):
    """Claim processors for a job, of those that are free at its begin."""
    claims, procs = state.machine.claims, state.jobs.procs[job]
    claims.begin[job], claims.end[job] = begin, begin + state.jobs.estimate[job]
    claims.left[job], claims.held[job] = left - procs, True
    _change_left(state, begin, claims.end[job], -procs)
    add_claim(state, job)


@inline
def _change_left(state, begin, end, by):
    """Change what is free at the begins of claims during some time."""
    claims, left = state.machine.claims, state.machine.claims.left
    for place in range(state.machine.at.n_claims):
        other = claims.by_begin[place]
        if claims.begin[other] >= end:
            break
        if claims.begin[other] >= begin:
            left[other] += by


@inline
def release(state, job, now):
    """Cancel the claim of a job."""
    claims = state.machine.claims
    if claims.held[job]:
        claims.held[job] = False
        remove_claim(state, job)
        _change_left(state, claims.begin[job], claims.end[job], state.jobs.procs[job])


@inline
def release_all(state, what, now):
    """Cancel the claims of all jobs, but not of requests."""
    if state.machine.at.n_claims > state.machine.at.n_pending:
        _release_jobs(state, now)


@bare
def _release_jobs(state, now):
    claims, at = state.machine.claims, state.machine.at
    for place in range(at.n_claims - 1, -1, -1):
        if claims.by_begin[place] < at.first_request:
            release(state, claims.by_begin[place], now)


@inline
def move_in(state, job, now):
    """Subtract a starting job's processors from those free at each later claim."""
    if state.machine.at.n_claims > 0:
        release(state, job, now)
        end, procs = now + state.jobs.estimate[job], state.jobs.procs[job]
        _change_left(state, -state.never, end, -procs)
        if state.strict:
            _keep(state, end, procs)


@inline
def _keep(state, end, procs):
    """Take processors during the second in which a job ends of what is left at claims of jobs."""
    claims, at = state.machine.claims, state.machine.at
    for place in range(at.n_claims):
        claim = claims.by_begin[place]
        if claims.begin[claim] == end and claim < at.first_request:
            claims.left[claim] -= procs


@inline
def move_out(state, job, now):
    """Return what a job that ends has taken."""
    if state.machine.at.n_claims > 0:
        planned_end = state.start[job] + state.jobs.estimate[job]
        _change_left(state, -state.never, planned_end, state.jobs.procs[job])


@bare
def begin_request(state, row, now):
    """Begin a reservation."""
    release(state, row, now)
    state.start[row] = now
    hold(state, row, now)


register_functions(ReservableState, sys.modules[__name__])
