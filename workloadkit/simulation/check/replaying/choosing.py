"""The jobs that a pass starts under new or kept reservations, compiled."""

import numpy as np

from workloadkit._kernels.compile import bare, counting
from workloadkit.simulation import orders
from workloadkit.simulation.check.replaying.state import (
    BY_LOAD,
    BY_PLACE,
    BY_RECENCY,
    BY_UNICEF,
    BY_WFP3,
    FULL,
    NONE,
    earliest,
    fits_now,
    forget,
    is_before,
    plan_running,
    take,
    take_at,
)
from workloadkit.simulation.policies.creasy import kernel as creasy
from workloadkit.simulation.policies.user_priority import kernel as user_priority

_wfp3, _unicef, _by_worth, _by_user, _work = (
    bare(function)
    for function in (
        orders.wfp3,
        orders.unicef,
        creasy.priority,
        user_priority.priority,
        user_priority.work,
    )
)

#: Keys that differ by no more than this share may be equal, if times were rounded.
_ALIKE = 1e-9


@counting
def choose(jobs, rule, state, now):
    """Find the jobs that start now, in the order of the queue and then of backfilling."""
    at, procs = state.at, jobs.procs
    at.n_chosen, at.head = 0, -1
    free = at.free
    if free <= 0 or at.n_waiting == 0:
        return
    order = _in_order(jobs, rule, state, state.waiting[: at.n_waiting], now)
    place = 0
    while place < order.size and procs[order[place]] <= free:
        free -= _choose(jobs, state, order[place])
        place += 1
    if place == order.size or not rule.backfills:
        return
    plan_running(jobs, state, now)
    for job in order[:place]:
        take(state, now, _end(jobs, job, now), procs[job])
    n_reserved = 0
    while place < order.size and n_reserved < rule.reservations:
        job = order[place]
        begin = earliest(state, jobs.estimate[job], procs[job], state.never)
        if begin == now and procs[job] <= free:
            take(state, now, _end(jobs, job, now), procs[job])
            free -= _choose(jobs, state, job)
        else:
            take(state, begin, begin + jobs.estimate[job], procs[job])
            if n_reserved == 0:
                at.head, state.at.shadow = job, begin
            if rule.reservations == 1 and jobs.estimate[job] == 0 and begin < state.never:
                take_at(state, begin, procs[job])
            n_reserved += 1
        place += 1
    shadow, strict = state.at.shadow, rule.overtaking.strict
    others = order[place:][procs[order[place:]] <= free]
    if rule.orders_differ:
        others = _to_backfill(jobs, rule, state, others)
    for job in others:
        end = _end(jobs, job, now)
        in_time = is_before(state, end, shadow) if strict else not is_before(state, shadow, end)
        allowed = in_time or rule.overtaking.spares
        if procs[job] <= free and allowed and fits_now(state, end, procs[job], strict):
            take(state, now, end, procs[job])
            if not (in_time or is_before(state, shadow, end)):
                take_at(state, shadow, procs[job])
            free -= _choose(jobs, state, job)


@bare
def _choose(jobs, state, job):
    """Start a job; return its processors."""
    state.chosen[state.at.n_chosen] = job
    state.at.n_chosen += 1
    return jobs.procs[job]


@bare
def _end(jobs, job, now):
    """Return the planned end of a job that starts now."""
    return jobs.planned_end[job] if jobs.start[job] == now else now + jobs.estimate[job]


@counting
def _in_order(jobs, rule, state, waiting, now):
    """Return the waiting jobs in the order of the queue."""
    if rule.order == BY_PLACE:
        return waiting.copy()
    if rule.order >= BY_LOAD:
        _rank_users(jobs, rule, state, waiting)
    key = np.empty(waiting.size)
    for i in range(waiting.size):
        job = waiting[i]
        submit, estimate, procs = jobs.submit[job], jobs.estimate[job], jobs.procs[job]
        if rule.order == BY_WFP3:
            key[i] = _wfp3(now, submit, estimate, procs, 0)
        elif rule.order == BY_UNICEF:
            key[i] = _unicef(now, submit, estimate, procs, 0)
        elif rule.order >= BY_LOAD:
            key[i] = -_by_user(rule.weight, state.rank[jobs.user[job]], now - submit)
        else:
            key[i] = -_by_worth(rule.weight, now - submit, estimate)
    by_key = np.argsort(key, kind="mergesort")
    if state.tie > 0:
        _compare(state, key[by_key])
    return waiting[by_key]


@bare
def _compare(state, keys):
    """Record that rounding may decide which of two jobs comes first; infinite keys do not round."""
    for i in range(1, keys.size):
        finite = abs(keys[i - 1]) < np.inf and abs(keys[i]) < np.inf
        if finite and keys[i] - keys[i - 1] <= _ALIKE * abs(keys[i]):
            state.at.unclear = True


@counting
def _rank_users(jobs, rule, state, waiting):
    """Rank the users with waiting jobs, from 1.

    By recency, the latest submission comes first; by load, the least waiting work, summed in the
    order of arrival; ties by user number.
    """
    users = np.unique(jobs.user[waiting])
    if rule.order == BY_RECENCY:
        key = -state.last_submit[users].astype(np.float64)
    else:
        state.load[users] = 0
        for job in waiting:
            state.load[jobs.user[job]] += _work(jobs.estimate[job], jobs.procs[job])
        key = state.load[users]
    by_key = np.argsort(key, kind="mergesort")
    if state.tie > 0:
        _compare(state, key[by_key])
    state.rank[users[by_key]] = np.arange(1, users.size + 1)


@counting
def _to_backfill(jobs, rule, state, others):
    """Return jobs in the order of backfilling: a settled one, or by users, then by arrival."""
    if rule.order < BY_LOAD:
        return others[np.argsort(rule.backfill_rank[others], kind="mergesort")]
    others = np.sort(others)
    return others[np.argsort(state.rank[jobs.user[others]], kind="mergesort")]


# The jobs that a pass starts if all waiting jobs keep their reservations, compiled.


@bare
def keep(jobs, rule, state, now):
    """Move reservations, reserve for new jobs, and find those that are due."""
    at = state.at
    overdue = at.n_running > 0 and jobs.planned_end[state.running[0]] < now
    if overdue or at.void:
        plan_running(jobs, state, now)
        for place in range(at.n_waiting):
            state.reserved[state.waiting[place]] = state.never
        at.room = False
    else:
        forget(state, now)
    _reserve(jobs, rule, state, now)
    at.ended = at.void = False
    _find_due(jobs, state, now)
    if rule.reserving == FULL or overdue:  # an end occurs at every reservation, or none is kept
        state.at.timer = state.never


@bare
def _reserve(jobs, rule, state, now):
    """Reserve the earliest slots, in the order of arrival.

    If jobs have ended and resources were freed, reserved jobs may move to an earlier slot, or only
    to a start now.
    """
    at = state.at
    may_move = at.ended and at.room and rule.reserving != NONE
    moved = False
    for place in range(at.n_waiting):
        job = state.waiting[place]
        own, estimate, procs = state.reserved[job], jobs.estimate[job], jobs.procs[job]
        is_new = own == state.never
        if is_new or may_move:
            begin = earliest(state, estimate, procs, own)
            if begin < own and (is_new or begin == now or rule.reserving == FULL):
                take(state, own, own + estimate, -procs)
                take(state, begin, begin + estimate, procs)
                state.reserved[job] = begin
                moved |= not is_new
    if may_move:
        at.room = moved and rule.reserving == FULL


@bare
def _find_due(jobs, state, now):
    """Choose the due jobs, and record the begin of the next reservation."""
    at, free = state.at, state.at.free
    at.n_chosen, at.head, at.timer = 0, -1, state.never
    for place in range(at.n_waiting):
        job = state.waiting[place]
        begin = state.reserved[job]
        if begin <= now and jobs.procs[job] <= free:
            state.chosen[at.n_chosen] = job
            at.n_chosen += 1
            free -= jobs.procs[job]
            continue
        if at.head < 0:
            at.head, at.shadow = job, begin
        if begin > now:
            at.timer = min(at.timer, begin)
