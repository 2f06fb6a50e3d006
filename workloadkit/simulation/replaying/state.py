"""The state of a schedule at an instant: waiting and running jobs, compiled."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.simulation.replaying.codes import (
    ENDED,
    FREE,
    LATEST,
    LEFT,
    MADE_AGAIN,
    N_RUNNING,
    N_STARTED,
    N_WAITING,
    ROOM,
    VOID,
)
from workloadkit.simulation.replaying.plan import take


class ReplayJobs(NamedTuple):
    """The jobs of a schedule, in the order of arrival; times in seconds."""

    submit: NDArray
    start: NDArray
    end: NDArray
    planned_end: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    user: NDArray[np.int64]  # 0, 1, ... in the order of their numbers
    run: NDArray
    leaves: NDArray  # when cancelled jobs leave the queue, unless they start before; or never


class ReplayState(NamedTuple):
    """The state at an instant of the schedule."""

    waiting: NDArray[np.int64]  # jobs by rank
    running: NDArray[np.int64]  # jobs by planned end
    started: NDArray[np.int64]  # when in the order of the starts; -1 for not yet, or LEFT
    chosen: NDArray[np.int64]  # by a pass, in order
    brief: NDArray[np.int64]  # cancelled jobs that the policy started, in order
    due: NDArray[np.int64]  # terminations of an instant, in the order of the starts
    reserved: NDArray  # reserved starts of waiting jobs
    last_submit: NDArray  # of each user
    load: NDArray[np.float64]  # work of a user's waiting jobs
    rank: NDArray[np.int64]  # of a user among those with waiting jobs, from 1
    times: NDArray  # when each step of the plan begins
    free: NDArray[np.int64]  # processors free in it
    at: NDArray[np.int64]  # see `codes`
    when: NDArray
    never: int | float  # after all times
    tie: int | float  # times that are no further apart may be one


def new_state(jobs: ReplayJobs, machine: int, tie: Any) -> ReplayState:
    """Return the state before the first event."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    never = LATEST if dtype.kind == "i" else np.inf
    waiting, running, started, chosen, brief, due = (np.full(n_jobs, -1) for _ in range(6))
    at, when = np.zeros(13, np.int64), np.full(2, never, dtype)
    at[FREE], at[VOID] = machine, True  # no plan yet
    return ReplayState(
        waiting,
        running,
        started,
        chosen,
        brief,
        due,
        reserved=np.full(n_jobs, never, dtype),
        last_submit=np.full(n_jobs, -never, dtype),
        load=np.zeros(n_jobs),
        rank=np.zeros(n_jobs, np.int64),
        times=np.empty(2 * n_jobs + 2, dtype),
        free=np.empty(2 * n_jobs + 2, np.int64),
        at=at,
        when=when,
        never=never,
        tie=tie,
    )


@bare
def _insert(jobs, n_jobs, key, job):
    """Insert a job into others in the order of a key, behind equal ones."""
    place = n_jobs
    while place > 0 and key[jobs[place - 1]] > key[job]:
        jobs[place] = jobs[place - 1]
        place -= 1
    jobs[place] = job


@bare
def _remove(jobs, n_jobs, job):
    """Remove a job from others."""
    place = 0
    while place < n_jobs - 1 and jobs[place] != job:
        place += 1
    for i in range(place, n_jobs - 1):
        jobs[i] = jobs[i + 1]


@bare
def wait(jobs, rule, state, job):
    """Add a job to the waiting ones."""
    _insert(state.waiting, state.at[N_WAITING], rule.rank, job)
    state.at[N_WAITING] += 1
    user = jobs.user[job]
    state.last_submit[user] = max(state.last_submit[user], jobs.submit[job])


@bare
def leave(jobs, rule, state, job):
    """Remove a cancelled job from the waiting ones; its reservation becomes free."""
    at, own = state.at, state.reserved[job]
    _remove(state.waiting, at[N_WAITING], job)
    at[N_WAITING] -= 1
    state.started[job] = LEFT
    if rule.reserving != MADE_AGAIN and not at[VOID]:
        take(state, own, own + jobs.estimate[job], -jobs.procs[job])
        at[ENDED] = at[ROOM] = True


@bare
def run(jobs, state, job):
    """Start a waiting job."""
    at = state.at
    _remove(state.waiting, at[N_WAITING], job)
    at[N_WAITING] -= 1
    _insert(state.running, at[N_RUNNING], jobs.planned_end, job)
    at[N_RUNNING] += 1
    at[FREE] -= jobs.procs[job]
    state.started[job] = at[N_STARTED]
    at[N_STARTED] += 1


@bare
def end(jobs, rule, state, job, now):
    """End a job whose termination is processed."""
    stop(jobs, rule, state, job, now)
    state.at[ENDED] = True


@bare
def stop(jobs, rule, state, job, now):
    """Release the processors of a running job, and its plan beyond now."""
    at, procs = state.at, jobs.procs[job]
    _remove(state.running, at[N_RUNNING], job)
    at[N_RUNNING] -= 1
    at[FREE] += procs
    planned = jobs.planned_end[job]
    if planned < now:
        at[VOID] = True
    elif planned > now:
        at[ROOM] = True
        if rule.reserving != MADE_AGAIN and not at[VOID]:
            take(state, now, planned, -procs)
