"""The passes of a schedule made again, compiled: see the package.

No part of the simulator's loop, queue or machine is used: this is its checker.
"""

import numpy as np

from workloadkit._kernels.compile import bare, counting, kernel
from workloadkit.simulation.replaying.choosing import choose
from workloadkit.simulation.replaying.codes import (
    DIFFERING,
    FOR,
    HEAD,
    MADE_AGAIN,
    N_CHOSEN,
    NOW,
    PASSES,
    RESERVED,
    SHADOW,
    STARTS,
    TIMER,
    UNCLEAR,
    UNTIL,
    UNTOLD,
    VOID,
    WAITS,
)
from workloadkit.simulation.replaying.keeping import keep
from workloadkit.simulation.replaying.state import run, stop, wait


@counting
def _pass(jobs, rule, state, now, due, found):
    """Make a pass as the policy does; `due` are those that start now in the schedule.

    Returns whether the schedule may be alike: all that the policy starts do start now.
    """
    found[0][PASSES] += 1
    if rule.reserving == MADE_AGAIN:
        choose(jobs, rule, state, now)
    else:
        keep(jobs, rule, state, now)
    chosen, n_chosen = state.chosen, state.at[N_CHOSEN]
    for i in range(n_chosen):
        if jobs.start[chosen[i]] != now:
            _note(state, now, chosen[i], _first_other(state, due), found)
            return False
    for i in range(n_chosen):
        run(jobs, state, chosen[i])
    return True


@bare
def _first_other(state, due):
    """First job that starts now in the schedule and has neither started nor been chosen; or -1."""
    for job in due:
        if state.started[job] < 0:
            other = True
            for i in range(state.at[N_CHOSEN]):
                other = other and state.chosen[i] != job
            if other:
                return job
    return -1


@bare
def _note(state, now, waits, starts, found):
    """Take down that an instant differs; of the first one also how. No reservation counts then."""
    counts, when = found
    state.at[VOID] = True
    if state.at[UNCLEAR]:
        counts[UNTOLD] += 1
        return
    if counts[DIFFERING] == 0:
        counts[WAITS], counts[STARTS], counts[RESERVED] = waits, starts, state.at[HEAD]
        when[NOW], when[FOR] = now, state.when[SHADOW]
    counts[DIFFERING] += 1


@counting
def _follow(jobs, rule, state, now, due, found, alike):
    """Start what the schedule starts now and the policy has not."""
    for job in due:
        if state.started[job] < 0:
            if alike:
                _note(state, now, -1, job, found)
                alike = False
            run(jobs, state, job)
            if jobs.end[job] == now:
                stop(jobs, rule, state, job, now)


@counting
def _play_instant(jobs, rule, state, now, arrived, ended, due, found):
    """All that ends and arrives, then one pass; again as long as it starts jobs of run time 0."""
    for job in ended:
        stop(jobs, rule, state, job, now)
    for job in range(arrived[0], arrived[1]):
        wait(jobs, rule, state, job)
    again = alike = True
    while again and alike:
        alike = _pass(jobs, rule, state, now, due, found)
        again = False
        if alike:
            for i in range(state.at[N_CHOSEN]):
                if jobs.end[state.chosen[i]] == now:
                    stop(jobs, rule, state, state.chosen[i], now)
                    again = True
    return alike


@counting
def _play_events(jobs, rule, state, now, arrived, ended, due, found):
    """Make a pass after each submission, then after each termination, in the order of the starts.

    What ends as planned counts as ended in all of them. If there is none of either, there is a pass
    for a reservation.
    """
    n_ended = ended.size
    order = np.argsort(state.started[ended], kind="mergesort")
    for i in range(n_ended):
        state.due[i] = ended[order[i]]
        if jobs.planned_end[ended[i]] == now:
            stop(jobs, rule, state, ended[i], now)
    alike = True
    n_passes = max(arrived[1] - arrived[0], n_ended == 0)
    for i in range(n_passes):
        if arrived[0] + i < arrived[1]:
            wait(jobs, rule, state, arrived[0] + i)
        if alike:
            alike = _pass(jobs, rule, state, now, due, found)
            n_ended = _add_moments(jobs, state, now, n_ended, alike)
    place = 0
    while place < n_ended:
        job = state.due[place]
        place += 1
        if jobs.planned_end[job] != now:
            stop(jobs, rule, state, job, now)
        if alike:
            alike = _pass(jobs, rule, state, now, due, found)
            n_ended = _add_moments(jobs, state, now, n_ended, alike)
    return alike


@bare
def _add_moments(jobs, state, now, n_ended, alike):
    """Jobs of run time 0 that have started end in this very second, after the others."""
    if alike:
        for i in range(state.at[N_CHOSEN]):
            if jobs.end[state.chosen[i]] == now:
                state.due[n_ended] = state.chosen[i]
                n_ended += 1
    return n_ended


@bare
def _is_untold(jobs, state, how, arrived, ended, due):
    """Whether the schedule does not tell in which order the events of an instant come.

    With decimals rounding decides whether what ends is one instant with what else happens. Users
    who react may submit before or after what ends with them, and once more after a job of run time
    0, which starts and ends in one second.
    """
    n_arrived = arrived[1] - arrived[0]
    if state.tie > 0 and ended.size > 0 and ended.size + n_arrived > 1:
        return True
    if not how.reacting or n_arrived == 0:
        return False
    several = how.by_event and n_arrived + ended.size > 1
    for job in due:
        several = several or jobs.end[job] == jobs.start[job]
    return several


@kernel
def replay(jobs, rule, state, by_time, how, found):
    """Go through the instants of a schedule; what came of it stands in `found`."""
    by_start, by_end = by_time
    n_jobs = jobs.submit.size
    arrived = started = ended = 0
    while arrived < n_jobs or started < n_jobs or ended < by_end.size:
        timer = now = state.when[TIMER]
        if started < n_jobs:
            now = min(now, jobs.start[by_start[started]])
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
        due, gone, new = by_start[first[1] : started], by_end[first[2] : ended], (first[0], arrived)
        state.at[UNCLEAR] = _is_untold(jobs, state, how, new, gone, due)
        alike = True
        if new[1] > new[0] or gone.size > 0 or timer == now or how.reacting:  # users may wake up
            if how.by_event:
                alike = _play_events(jobs, rule, state, now, new, gone, due, found)
            else:
                alike = _play_instant(jobs, rule, state, now, new, gone, due, found)
        _follow(jobs, rule, state, now, due, found, alike)
        if state.at[UNCLEAR] and rule.reserving != MADE_AGAIN:  # which reservations are kept
            found[0][UNTOLD] = 1
            found[1][UNTIL] = now
            break
