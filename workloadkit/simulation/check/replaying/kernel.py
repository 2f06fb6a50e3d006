"""The passes of a schedule, repeated and compared; compiled.

No part of the simulator's loop, queue or machine is used, as this is its checker.
"""

import numpy as np

from workloadkit._kernels.compile import bare, counting, kernel
from workloadkit.simulation.check.replaying.choosing import choose, keep
from workloadkit.simulation.check.replaying.state import (
    LEFT,
    MADE_AGAIN,
    end,
    leave,
    run,
    stop,
    wait,
)


@counting
def _pass(jobs, rule, state, how, now, due, found):
    """Perform a pass of the policy; `due` are the jobs that start now in the schedule.

    Returns whether the schedule may be equal: all jobs that the policy starts do start now.
    """
    found.passes += 1
    if rule.reserving == MADE_AGAIN:
        choose(jobs, rule, state, now)
    else:
        keep(jobs, rule, state, now)
    chosen, n_chosen = state.chosen, state.at.n_chosen
    for i in range(n_chosen):
        if jobs.start[chosen[i]] != now and _is_listed(jobs, state, how, chosen[i]):
            _note(state, now, chosen[i], _first_other(state, due), found)
            return False
    for i in range(n_chosen):
        if not _is_listed(jobs, state, how, chosen[i]):
            _begin_brief(jobs, state, chosen[i], now)
        run(jobs, state, chosen[i])
    return True


@bare
def _is_listed(jobs, state, how, job):
    """Whether the schedule contains when a job starts, or that it does not."""
    return how.starts_known or jobs.leaves[job] >= state.never


@bare
def _begin_brief(jobs, state, job, now):
    """Set the run of a cancelled job that the policy starts; the schedule does not contain it."""
    jobs.start[job], jobs.end[job] = now, now + jobs.run[job]
    jobs.planned_end[job] = now + jobs.estimate[job]
    if jobs.run[job] > 0:
        state.brief[state.at.n_brief] = job
        state.at.n_brief += 1


@bare
def _first_other(state, due):
    """Return the first job that starts now but has neither started nor been chosen; or -1."""
    for job in due:
        if state.started[job] < 0:
            other = True
            for i in range(state.at.n_chosen):
                other = other and state.chosen[i] != job
            if other:
                return job
    return -1


@bare
def _note(state, now, waits, starts, found):
    """Record that an instant differs, with details of the first one. Reservations become void."""
    state.at.void = True
    if state.at.unclear:
        found.undetermined += 1
        return
    if found.differing == 0:
        found.waits, found.starts, found.reserved = waits, starts, state.at.head
        found.now, found.begin = now, state.at.shadow
    found.differing += 1


@counting
def _follow(jobs, rule, state, now, due, found, alike):
    """Start the jobs that the schedule starts now and the policy has not."""
    for job in due:
        if state.started[job] < 0:
            if alike:
                _note(state, now, -1, job, found)
                alike = False
            if state.started[job] == LEFT:
                wait(jobs, rule, state, job)
            run(jobs, state, job)
            if jobs.end[job] == now:
                end(jobs, rule, state, job, now)


@counting
def _play_instant(jobs, rule, state, how, now, events, due, found):
    """Process all ends and arrivals, then one pass; again if it starts jobs of run time 0."""
    arrived, ended, left = events
    for job in ended:
        end(jobs, rule, state, job, now)
    for job in range(arrived[0], arrived[1]):
        wait(jobs, rule, state, job)
    for job in left:
        if state.started[job] < 0:
            leave(jobs, rule, state, job)
    again = alike = True
    while again and alike:
        alike = _pass(jobs, rule, state, how, now, due, found)
        again = False
        if alike:
            for i in range(state.at.n_chosen):
                if jobs.end[state.chosen[i]] == now:
                    end(jobs, rule, state, state.chosen[i], now)
                    again = True
    return alike


@counting
def _play_events(jobs, rule, state, how, now, events, due, found):
    """Perform a pass after each submission, then after each termination, in start order.

    The processors of jobs that end as planned are free in all of them. Then jobs leave the queue.
    Without any of these, there is a pass for a reservation.
    """
    arrived, ended, left = events
    n_ended = ended.size
    order = np.argsort(state.started[ended], kind="mergesort")
    for i in range(n_ended):
        state.due[i] = ended[order[i]]
        if jobs.planned_end[ended[i]] == now:
            stop(jobs, rule, state, ended[i], now)
    alike = True
    n_passes = max(arrived[1] - arrived[0], n_ended == 0 and not _some_leave(state, left))
    for i in range(n_passes):
        if arrived[0] + i < arrived[1]:
            wait(jobs, rule, state, arrived[0] + i)
        if alike:
            alike = _pass(jobs, rule, state, how, now, due, found)
            n_ended += _add_moments(jobs, state, now, n_ended) if alike else 0
    place = n_left = 0
    while place < n_ended or n_left < left.size:
        if place < n_ended:
            job = state.due[place]
            place += 1
            state.at.ended = True
            if jobs.planned_end[job] != now or jobs.start[job] == now:
                stop(jobs, rule, state, job, now)
        else:
            n_left += 1
            if state.started[left[n_left - 1]] >= 0:
                continue
            leave(jobs, rule, state, left[n_left - 1])
        if alike:
            alike = _pass(jobs, rule, state, how, now, due, found)
            n_ended += _add_moments(jobs, state, now, n_ended) if alike else 0
    return alike


@bare
def _some_leave(state, left):
    """Whether any of the cancelled jobs has not started."""
    some = False
    for job in left:
        some = some or state.started[job] < 0
    return some


@bare
def _add_moments(jobs, state, now, n_ended):
    """Let started jobs of run time 0 end now, after the others; return how many."""
    n_moments = 0
    for i in range(state.at.n_chosen):
        if jobs.end[state.chosen[i]] == now:
            state.due[n_ended + n_moments] = state.chosen[i]
            n_moments += 1
    return n_moments


@bare
def _is_undetermined(jobs, state, by_time, how, counts, due, now):
    """Whether the schedule does not contain what decides an instant.

    With decimals, rounding decides whether an end is at the same instant as another event. Users
    who react may submit before or after the ends of the same instant, and again after a job of run
    time 0, which starts and ends in one second. So may the machine change, with a pass after each
    event; and while an outage is announced, the choice of processors matters.
    """
    n_arrived, n_ended, n_changes = counts
    if state.tie > 0 and n_ended > 0 and n_ended + n_arrived > 1:
        return True
    if how.by_event and n_changes > 0 and n_changes + n_ended + n_arrived > 1:
        return True
    for i in range(by_time.known.size):
        if by_time.known[i] <= now <= by_time.until[i]:
            return True
    if not how.reacting or n_arrived == 0:
        return False
    several = how.by_event and n_arrived + n_ended > 1
    for job in due:
        several = several or jobs.end[job] == jobs.start[job]
    return several


@bare
def _break_down(jobs, rule, state, by_time, stops, changes, now):
    """Change the machine; stopped jobs return to the queue, unless they are lost."""
    for i in range(stops[0], stops[1]):
        job = by_time.stopping[i]
        stop(jobs, rule, state, job, now)
        state.started[job] = -1
        jobs.start[job] = by_time.following[0, i]
        jobs.end[job] = by_time.following[1, i]
        jobs.planned_end[job] = by_time.following[2, i]
        wait(jobs, rule, state, job)
    for i in range(changes[0], changes[1]):
        state.at.free += by_time.up[i]
    state.at.void |= stops[0] < stops[1] or changes[0] < changes[1]


@bare
def _pass_over(times, place, now):
    """Return the first place after all events of this instant."""
    while place < times.size and times[place] == now:
        place += 1
    return place


@bare
def _soonest(times, place, other):
    """Return the time of the next event, or `other` if that is earlier."""
    return min(times[place], other) if place < times.size else other


@bare
def _end_of_brief(jobs, state):
    """Return the next end of a cancelled job that the policy has started."""
    at = state.at
    if at.n_brief_ended == at.n_brief:
        return state.never
    return jobs.end[state.brief[at.n_brief_ended]]


@counting
def _pass_over_brief(jobs, state, now):
    """Return the cancelled jobs that end now; they run equally long, so they end in order."""
    first = state.at.n_brief_ended
    while _end_of_brief(jobs, state) == now:
        state.at.n_brief_ended += 1
    return state.brief[first : state.at.n_brief_ended]


@kernel
def replay(jobs, rule, state, by_time, how, found, at, n_instants):
    """Process the next instants of a schedule; return whether more are left.

    The results are in `found`; how many events are processed is in `at`.
    """
    submit, starts, ends = jobs.submit, by_time.start, by_time.end
    arrived, started, ended = at.arrived, at.started, at.ended
    stopped, changed, left = at.stopped, at.changed, at.left
    while arrived < submit.size or started < starts.size or ended < ends.size:
        if n_instants == 0:
            at.arrived, at.started, at.ended = arrived, started, ended
            at.stopped, at.changed, at.left = stopped, changed, left
            return True
        n_instants -= 1
        while left < by_time.leave.size and state.started[by_time.leaving[left]] >= 0:
            left += 1
        now = _soonest(submit, arrived, _soonest(starts, started, state.at.timer))
        now = _soonest(by_time.change, changed, _soonest(ends, ended, now))
        now = _soonest(by_time.stop, stopped, _soonest(by_time.leave, left, now))
        now = min(now, _end_of_brief(jobs, state))
        timer = state.at.timer == now
        new = arrived, _pass_over(submit, arrived, now)
        due = by_time.starting[started : _pass_over(starts, started, now)]
        gone = by_time.ending[ended : _pass_over(ends, ended, now)]
        stops = stopped, _pass_over(by_time.stop, stopped, now)
        changes = changed, _pass_over(by_time.change, changed, now)
        away = by_time.leaving[left : _pass_over(by_time.leave, left, now)]
        arrived, stopped, changed = new[1], stops[1], changes[1]
        started, ended, left = started + due.size, ended + gone.size, left + away.size
        if _end_of_brief(jobs, state) == now:
            gone = np.concatenate((gone, _pass_over_brief(jobs, state, now)))
        counts = new[1] - new[0] + away.size, gone.size, changes[1] - changes[0]
        state.at.unclear = _is_undetermined(jobs, state, by_time, how, counts, due, now)
        alike = True
        _break_down(jobs, rule, state, by_time, stops, changes, now)
        if max(counts) > 0 or timer or how.reacting:  # users may wake up and submit nothing
            if how.by_event:
                alike = _play_events(jobs, rule, state, how, now, (new, gone, away), due, found)
            else:
                alike = _play_instant(jobs, rule, state, how, now, (new, gone, away), due, found)
        _follow(jobs, rule, state, now, due, found, alike)
        if state.at.unclear and rule.reserving != MADE_AGAIN:  # kept reservations are unknown
            found.undetermined, found.until = 1, now
            break
    return False
