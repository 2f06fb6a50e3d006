"""The jobs that a pass starts if all waiting jobs keep their reservations, compiled."""

from workloadkit._kernels.compile import bare
from workloadkit.simulation.replaying.codes import (
    ENDED,
    FREE,
    FULL,
    HEAD,
    N_CHOSEN,
    N_RUNNING,
    N_WAITING,
    NONE,
    ROOM,
    SHADOW,
    TIMER,
    VOID,
)
from workloadkit.simulation.replaying.plan import earliest, forget, plan_running, take


@bare
def keep(jobs, rule, state, now):
    """Move reservations, reserve for new jobs, and find those that are due."""
    at = state.at
    overdue = at[N_RUNNING] > 0 and jobs.planned_end[state.running[0]] < now
    if overdue or at[VOID]:
        plan_running(jobs, state, now)
        for place in range(at[N_WAITING]):
            state.reserved[state.waiting[place]] = state.never
        at[ROOM] = False
    else:
        forget(state, now)
    _reserve(jobs, rule, state, now)
    at[ENDED] = at[VOID] = False
    _find_due(jobs, state, now)
    if rule.reserving == FULL or overdue:  # an end occurs at every reservation, or none is kept
        state.when[TIMER] = state.never


@bare
def _reserve(jobs, rule, state, now):
    """Reserve the earliest slots, in the order of arrival.

    If jobs have ended and resources were freed, reserved jobs may move to an earlier slot, or only
    to a start now.
    """
    at = state.at
    may_move = at[ENDED] and at[ROOM] and rule.reserving != NONE
    moved = False
    for place in range(at[N_WAITING]):
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
        at[ROOM] = moved and rule.reserving == FULL


@bare
def _find_due(jobs, state, now):
    """Choose the due jobs, and record the begin of the next reservation."""
    at, when, free = state.at, state.when, state.at[FREE]
    at[N_CHOSEN], at[HEAD], when[TIMER] = 0, -1, state.never
    for place in range(at[N_WAITING]):
        job = state.waiting[place]
        begin = state.reserved[job]
        if begin <= now and jobs.procs[job] <= free:
            state.chosen[at[N_CHOSEN]] = job
            at[N_CHOSEN] += 1
            free -= jobs.procs[job]
            continue
        if at[HEAD] < 0:
            at[HEAD], when[SHADOW] = job, begin
        if begin > now:
            when[TIMER] = min(when[TIMER], begin)
