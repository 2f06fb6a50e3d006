"""The passes of a schedule made again, compiled: see the package.

No part of the simulator's loop, queue or machine is used: this is its checker.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, counting, kernel
from workloadkit.simulation import orders
from workloadkit.simulation.policies.creasy import priority as worth
from workloadkit.simulation.replaying.codes import (
    BY_PLACE,
    BY_UNICEF,
    BY_WFP3,
    DIFFERING,
    HEAD,
    NOW,
    PASSES,
    SHADOW,
    STARTS,
    WAITS,
)

_wfp3, _unicef, _priority = (bare(order) for order in (orders.wfp3, orders.unicef, worth.priority))


class Jobs(NamedTuple):
    """The jobs of a schedule, in the order of arrival; times in seconds."""

    submit: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    planned_end: NDArray[np.int64]
    estimate: NDArray[np.int64]
    procs: NDArray[np.int64]


class State(NamedTuple):
    """What holds at a moment of the schedule."""

    waiting: NDArray[np.int64]  # jobs by rank
    running: NDArray[np.int64]  # jobs by planned end
    started: NDArray[np.int64]  # when in the order of the starts; -1 for not yet
    chosen: NDArray[np.int64]  # by a pass, in order
    due: NDArray[np.int64]  # terminations of an instant, in the order of the starts
    at: NDArray[np.int64]  # the places below


_N_WAITING, _N_RUNNING, _FREE, _N_STARTED, _N_CHOSEN, _HEAD, _SHADOW = range(7)


def new_state(n_jobs: int) -> State:
    """Return the state before anything has happened."""
    columns = (np.full(n_jobs, -1) for _ in range(5))
    return State._make((*columns, np.zeros(7, np.int64)))


@bare
def _insert(jobs, n_jobs, key, job):
    """Put a job among others that are in the order of a key, behind those of an equal one."""
    place = n_jobs
    while place > 0 and key[jobs[place - 1]] > key[job]:
        jobs[place] = jobs[place - 1]
        place -= 1
    jobs[place] = job


@bare
def _remove(jobs, n_jobs, job):
    """Take a job from among others."""
    place = 0
    while jobs[place] != job:
        place += 1
    for i in range(place, n_jobs - 1):
        jobs[i] = jobs[i + 1]


@bare
def _wait(rule, state, job):
    """Put a job among those that wait."""
    _insert(state.waiting, state.at[_N_WAITING], rule.rank, job)
    state.at[_N_WAITING] += 1


@bare
def _run(jobs, state, job):
    """Start a job that waits."""
    at = state.at
    _remove(state.waiting, at[_N_WAITING], job)
    at[_N_WAITING] -= 1
    _insert(state.running, at[_N_RUNNING], jobs.planned_end, job)
    at[_N_RUNNING] += 1
    at[_FREE] -= jobs.procs[job]
    state.started[job] = at[_N_STARTED]
    at[_N_STARTED] += 1


@bare
def _stop(jobs, state, job):
    """Give back the processors of a job that runs."""
    at = state.at
    _remove(state.running, at[_N_RUNNING], job)
    at[_N_RUNNING] -= 1
    at[_FREE] += jobs.procs[job]


@counting
def _in_order(jobs, rule, waiting, now):
    """Return the waiting jobs in the order of the queue."""
    if rule.order == BY_PLACE:
        return waiting.copy()
    key = np.empty(waiting.size)
    for i in range(waiting.size):
        job = waiting[i]
        submit, estimate, procs = jobs.submit[job], jobs.estimate[job], jobs.procs[job]
        if rule.order == BY_WFP3:
            key[i] = _wfp3(now, submit, estimate, procs, 0)
        elif rule.order == BY_UNICEF:
            key[i] = _unicef(now, submit, estimate, procs, 0)
        else:
            key[i] = -_priority(rule.bonus, now - submit, estimate)
    return waiting[np.argsort(key, kind="mergesort")]


@counting
def _choose(jobs, rule, state, now):
    """Find the jobs that the policy starts now."""
    at, chosen, procs = state.at, state.chosen, jobs.procs
    at[_N_CHOSEN], at[_HEAD], at[_SHADOW] = 0, -1, now
    free, n_chosen = at[_FREE], 0
    if free == 0 or at[_N_WAITING] == 0:
        return
    order = _in_order(jobs, rule, state.waiting[: at[_N_WAITING]], now)
    place = 0
    while place < order.size and procs[order[place]] <= free:
        chosen[n_chosen] = order[place]
        free -= procs[order[place]]
        n_chosen += 1
        place += 1
    at[_N_CHOSEN] = n_chosen
    if place == order.size:
        return
    head = order[place]
    at[_HEAD] = head
    shadow, spare = _reservation(jobs, state, head, free, now)
    at[_SHADOW] = shadow
    if not rule.backfills:
        return
    others = order[place + 1 :]
    if rule.own_order:
        others = others[procs[others] <= free]
        others = others[np.argsort(rule.backfill_rank[others], kind="mergesort")]
    for job in others:
        if procs[job] > free:
            continue
        end = now + jobs.estimate[job]
        in_time = end < shadow or (end == shadow and not rule.overtaking.strict)
        if in_time or (rule.overtaking.spares and procs[job] <= spare):
            if end > shadow:
                spare -= procs[job]
            free -= procs[job]
            chosen[n_chosen] = job
            n_chosen += 1
    at[_N_CHOSEN] = n_chosen


@counting
def _reservation(jobs, state, head, free, now):
    """When a job will fit, by the estimates of what runs and was chosen; and what it leaves then.

    Who has outlived the estimate is taken to end at this very second.
    """
    at = state.at
    n_running = at[_N_RUNNING]
    n = n_running + at[_N_CHOSEN]
    end, procs = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        chosen = i >= n_running
        job = state.chosen[i - n_running] if chosen else state.running[i]
        ends = now + jobs.estimate[job] if chosen else jobs.planned_end[job]
        place = i
        while place > 0 and end[place - 1] > ends:
            end[place], procs[place] = end[place - 1], procs[place - 1]
            place -= 1
        end[place], procs[place] = ends, jobs.procs[job]
    shadow, place = now, 0
    while free < jobs.procs[head] or (place < n and end[place] <= shadow):
        shadow = max(shadow, end[place])
        free += procs[place]
        place += 1
    return shadow, free - jobs.procs[head]


@counting
def _pass(jobs, rule, state, now, due, found):
    """Make a pass as the policy does; `due` are those that start now in the schedule.

    Returns whether the schedule may be alike: all that the policy starts do start now.
    """
    found[PASSES] += 1
    _choose(jobs, rule, state, now)
    chosen, n_chosen = state.chosen, state.at[_N_CHOSEN]
    for i in range(n_chosen):
        if jobs.start[chosen[i]] != now:
            _note(state, now, chosen[i], _first_other(state, due), found)
            return False
    for i in range(n_chosen):
        _run(jobs, state, chosen[i])
    return True


@bare
def _first_other(state, due):
    """First job that starts now in the schedule and has neither started nor been chosen; or -1."""
    for job in due:
        if state.started[job] < 0:
            other = True
            for i in range(state.at[_N_CHOSEN]):
                other = other and state.chosen[i] != job
            if other:
                return job
    return -1


@bare
def _note(state, now, waits, starts, found):
    """Take down that a pass differs; of the first one also how."""
    if found[DIFFERING] == 0:
        found[NOW], found[WAITS], found[STARTS] = now, waits, starts
        found[HEAD], found[SHADOW] = state.at[_HEAD], state.at[_SHADOW]
    found[DIFFERING] += 1


@counting
def _follow(jobs, state, now, due, found, alike):
    """Start what the schedule starts now and the policy has not."""
    for job in due:
        if state.started[job] < 0:
            if alike:
                _note(state, now, -1, job, found)
                alike = False
            _run(jobs, state, job)
            if jobs.end[job] == now:
                _stop(jobs, state, job)


@counting
def _play_instant(jobs, rule, state, now, arrived, ended, due, found):
    """All that ends and arrives, then one pass; again as long as it starts jobs of run time 0."""
    for job in ended:
        _stop(jobs, state, job)
    for job in range(arrived[0], arrived[1]):
        _wait(rule, state, job)
    again = alike = True
    while again and alike:
        alike = _pass(jobs, rule, state, now, due, found)
        again = False
        if alike:
            for i in range(state.at[_N_CHOSEN]):
                if jobs.end[state.chosen[i]] == now:
                    _stop(jobs, state, state.chosen[i])
                    again = True
    _follow(jobs, state, now, due, found, alike)


@counting
def _play_events(jobs, rule, state, now, arrived, ended, due, found):
    """Make a pass after each submission, then after each termination, in the order of the starts.

    What ends as planned counts as ended in all of them.
    """
    n_ended = ended.size
    order = np.argsort(state.started[ended], kind="mergesort")
    for i in range(n_ended):
        state.due[i] = ended[order[i]]
        if jobs.planned_end[ended[i]] == now:
            _stop(jobs, state, ended[i])
    alike = True
    for job in range(arrived[0], arrived[1]):
        _wait(rule, state, job)
        if alike:
            alike = _pass(jobs, rule, state, now, due, found)
            n_ended = _add_moments(jobs, state, now, n_ended, alike)
    place = 0
    while place < n_ended:
        job = state.due[place]
        place += 1
        if jobs.planned_end[job] != now:
            _stop(jobs, state, job)
        if alike:
            alike = _pass(jobs, rule, state, now, due, found)
            n_ended = _add_moments(jobs, state, now, n_ended, alike)
    _follow(jobs, state, now, due, found, alike)


@bare
def _add_moments(jobs, state, now, n_ended, alike):
    """Jobs of run time 0 that have started end in this very second, after the others."""
    if alike:
        for i in range(state.at[_N_CHOSEN]):
            if jobs.end[state.chosen[i]] == now:
                state.due[n_ended] = state.chosen[i]
                n_ended += 1
    return n_ended


@kernel
def replay(jobs, rule, state, by_time, how, found):
    """Go through the instants of a schedule; what came of it stands in `found`."""
    by_start, by_end = by_time
    machine, by_event = how
    n_jobs = jobs.submit.size
    state.at[_FREE] = machine
    arrived = started = ended = 0
    while arrived < n_jobs or started < n_jobs or ended < by_end.size:
        now = jobs.start[by_start[started]] if started < n_jobs else jobs.end[by_end[ended]]
        if arrived < n_jobs:
            now = min(now, jobs.submit[arrived])
        if ended < by_end.size:
            now = min(now, jobs.end[by_end[ended]])
        first = arrived, started, ended
        while arrived < n_jobs and jobs.submit[arrived] == now:
            arrived += 1
        while started < n_jobs and jobs.start[by_start[started]] == now:
            started += 1
        while ended < by_end.size and jobs.end[by_end[ended]] == now:
            ended += 1
        due, gone = by_start[first[1] : started], by_end[first[2] : ended]
        if by_event:
            _play_events(jobs, rule, state, now, (first[0], arrived), gone, due, found)
        else:
            _play_instant(jobs, rule, state, now, (first[0], arrived), gone, due, found)
