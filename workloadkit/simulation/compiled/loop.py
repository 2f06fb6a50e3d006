"""The event loop of the compiled engine.

At one instant, due events are processed in rounds: ends of jobs, changes of the machine,
submissions, wake-ups, cancellations and timers; events that these create in the same second follow
in the same order. Then the policy allocates, once. If it starts a job of run time 0, the next
instant is the same second. With a pass after each event, submissions come first, then ends in the
order of the starts, changes of the machine, cancellations, timers and wake-ups, one by one; jobs
that end as planned are free from the first of them on.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, bound, inline, kernel, uncached
from workloadkit._kernels.notices import report_progress
from workloadkit._kernels.record import by_reference
from workloadkit._kernels.slices import run_in_slices
from workloadkit.simulation.compiled import recorded_stream  # noqa: F401 acts where no users react
from workloadkit.simulation.compiled.cancellations import let_leave, next_to_leave
from workloadkit.simulation.compiled.events import (
    allocate,
    correct_outlived,
    end_due,
    free_what_ends,
    job_arrived,
    job_returned,
    plan,
    renew_predictions,
    take_end,
)
from workloadkit.simulation.compiled.parts import by_part, is_built_in, register_functions
from workloadkit.simulation.compiled.state import (
    LACKS_ROOM,
    OVER,
    PAUSED,
    REQUESTED,
    STOPPED,
    State,
)
from workloadkit.simulation.compiled.streams import (
    act_on_all,
    act_on_submissions,
    look_ahead,
    next_coming,
    notify_user,
    submission_is_due,
    take_one,
)
from workloadkit.simulation.machine.ledger import (
    change,
    hold,
    must_return,
    next_change,
    release_all,
)
from workloadkit.simulation.machine.plain import just_before


@inline
def _never(state, what, now):
    return state.never


@inline
def _no(state, what, now):
    return False


@inline
def _nothing(state, what, now):
    pass


#: (state, -, -) of a policy: the next time at which it requires a pass, without other events.
_next_timer = by_part("policy", "next_timer", _never)

#: (state, -, now) of a policy: whether the loop must return after this pass.
_policy_asks = by_part("policy", "must_return", _no)

#: (state, -, now) of a policy: whether the loop has returned in the middle of a pass; continue it.
_pass_is_open = by_part("policy", "pass_is_open", _no)
_finish_pass = by_part("policy", "finish_pass", _nothing)


def play(state: State, begin: float | None = None, until: float | None = None) -> int:
    """Run until nothing is left to do, or until a part of the state requires a return.

    Parameters
    ----------
    state : State
        Changed in place.
    begin : scalar, optional
        Finish this second first, with a pass. [s]
    until : scalar, optional
        Stop at this second, after the ends and submissions in it. [s]

    Returns
    -------
    int
        Reason: OVER, STOPPED, REQUESTED or LACKS_ROOM.
    """
    time = state.never.dtype.type
    begun = begin is not None
    if begun:
        state.clock[0] = begin
    kernel, end, at = _kernel_for(state), None if until is None else time(until), state.at
    runs = [bound(kernel, state, each, end) for each in (False, True)[: 1 + begun]]

    def run(n_passes: int) -> bool:
        at.pause = at.n_passes + n_passes
        (runs.pop() if len(runs) > 1 else runs[0])()
        report_progress(at.arrived - at.n_waiting, state.start.size)
        return bool(at.why == PAUSED)

    run_in_slices(run)
    at.pause = 0
    return int(at.why)


def player(state: State) -> Callable[[], int]:
    """Return `play` for many calls with one state, to which nothing but its arrays changes."""
    run = bound(_kernel_for(state), state, False, None, is_short=True)

    def play_on() -> int:
        run()
        return int(state.at.why)

    return play_on


def _kernel_for(state):
    parts = (state.machine, state.policy, state.users)
    return _play if all(map(is_built_in, parts)) else _play_custom


@bare
def go_on(state, begun, until):
    """Run as `play` does; the reason is in the state."""
    at = state.at
    at.why = OVER
    now = state.clock[0]
    while True:
        if _pass_is_open(state, 0, now):
            _finish_pass(state, 0, now)
        else:
            if not begun:
                now = _next_instant(state, now)
                if now == state.never:
                    break
                if until is not None and now >= until:  # None is removed at compilation
                    state.clock[0] = until
                    if not at.cut:
                        _take_until(state, until)
                    at.why = STOPPED
                    break
                state.clock[0] = now
            if not state.by_event:
                _take_instant(state, now)
            elif begun:
                free_what_ends(state, now)
            else:
                _take_event(state, now)
            begun = False
            if state.predictor.corrects:
                correct_outlived(state, now)
            if state.predictor.renews and at.stale:
                renew_predictions(state, now)
            allocate(state, at.n_seen, now)
            at.n_seen = at.arrived
        if _policy_asks(state, 0, now):
            at.why = REQUESTED
            break
        if must_return(state, 0, now):
            at.why = LACKS_ROOM
            break
        at.n_passes += 1
        if at.n_passes == at.pause:
            at.why = PAUSED
            break


def _run(state, begun, until):
    go_on(by_reference(state), begun, until)


_play = kernel(_run)
_play_custom = uncached(_run)


def begin_at(
    state: State,
    now: float,
    start: NDArray,
    running: NDArray[np.int64],
    planned: tuple[Any, Mapping[str, Any]] = ((), {}),
) -> None:
    """Let the first jobs of a new state be there at a time, before the policy is.

    Parameters
    ----------
    state : State
        Changed in place.
    now : scalar
        The time. [s]
    start : ndarray, shape (n_there,)
        Starts of the jobs that are there, `never` for those that wait. [s]
    running : ndarray of int64
        Those of them that run, in the order of their starts; others that have one have ended.
    planned : (ndarray of int64, mapping)
        Jobs that a predictor has planned, and columns of their plans.
    """
    state.start[: start.size] = start
    state.clock[0] = now
    state.at.arrived = state.at.n_seen = start.size
    state.at.n_waiting = int(np.count_nonzero(start == state.never))
    if state.predictor.is_there:
        _plan_there(state)
        for name, values in planned[1].items():
            getattr(state.jobs, name)[planned[0]] = values
    _resume(state, running)


class _Nobody(NamedTuple):
    """A policy before any job."""

    none: int


register_functions(_Nobody, SimpleNamespace(__name__=__name__, job_returned=_nothing))


def change_before(state: State, time: float) -> None:
    """Apply the changes of the machine before a time, while nothing runs or waits. [s]."""
    before = just_before(state.never.dtype.type(time).item())
    _change_until(state._replace(policy=_Nobody(0)), state.never.dtype.type(before))


@kernel
def _change_until(state, time):
    """Apply the changes up to a time."""
    change(by_reference(state), False, time)


@kernel
def _resume(state, running):
    """Continue jobs that have started, in the order of their starts."""
    _hold_all(by_reference(state), running)


@bare
def _hold_all(state, running):
    for job in running:
        hold(state, job, state.start[job])


@kernel
def _plan_there(state):
    """Let the predictor plan the jobs that are there, in the order of arrival."""
    _plan_all(by_reference(state))


@bare
def _plan_all(state):
    for job in range(state.at.arrived):
        plan(state, job, state.clock[0])


def let_wait(state: State, waiting: Any) -> None:
    """Present waiting jobs to a policy, in order of arrival, as if they arrived now."""
    run = _let_wait if is_built_in(state.policy) else _let_wait_custom
    run(state, waiting)
    state.at.n_seen = state.at.arrived


@bare
def _meet(state, waiting):
    release_all(state, 0, state.clock[0])
    for job in waiting:
        job_arrived(state, job, state.clock[0])
        job_returned(state, job, state.clock[0])


def _let_all_wait(state, waiting):
    _meet(by_reference(state), waiting)


_let_wait = kernel(_let_all_wait)
_let_wait_custom = uncached(_let_all_wait)


@inline
def _next_instant(state, now):
    """Return the time of the next event; a time after all times if no relevant one is left."""
    at, ends = state.at, state.ends
    if at.n_ended < at.n_due:
        return now
    soonest = min(next_coming(state, 0, now), next_to_leave(state, 0, now))
    if at.n_running > 0:
        soonest = min(soonest, ends[at.n_running - 1])
    if soonest < state.never or at.n_waiting > 0:
        soonest = min(soonest, next_change(state, 0, now), _next_timer(state, 0, now))
    return soonest


@inline
def _take_ends(state, now):
    """End all due jobs, then notify their users, in the order of the ends."""
    at, ends, end_jobs = state.at, state.ends, state.end_jobs
    before = at.n_running
    while at.n_running > 0 and ends[at.n_running - 1] <= now:
        end_due(state, now)
    for place in range(before - 1, at.n_running - 1, -1):
        notify_user(state, end_jobs[place], now)


@inline
def _take_instant(state, now):
    """Process all due events."""
    look_ahead(state, 0, now)
    _take_ends(state, now)
    change(state, False, now)
    act_on_all(state, 0, now)
    let_leave(state, False, now)


@bare
def _take_event(state, now):
    """Process the first due event."""
    free_what_ends(state, now)
    if submission_is_due(state, 0, now):
        take_one(state, 0, now)
    elif state.at.n_ended < state.at.n_due:
        notify_user(state, take_end(state, now), now)
    elif next_change(state, 0, now) <= now:
        change(state, True, now)
    elif next_to_leave(state, 0, now) <= now:
        let_leave(state, True, now)
    elif next_coming(state, 0, now) <= now and _next_timer(state, 0, now) > now:
        take_one(state, 0, now)


@bare
def _take_until(state, now):
    """Process the events that come before timers."""
    if state.by_event:
        free_what_ends(state, now)
        while _comes_before_timers(state, now):
            _take_event(state, now)
    else:
        look_ahead(state, 0, now)
        _take_ends(state, now)
        change(state, False, now)
        act_on_submissions(state, 0, now)
        let_leave(state, False, now)


@inline
def _comes_before_timers(state, now):
    return (
        submission_is_due(state, 0, now)
        or state.at.n_ended < state.at.n_due
        or next_change(state, 0, now) <= now
        or next_to_leave(state, 0, now) <= now
    )
