"""The jobs of pools of users as one log, and the times of their members' sessions."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import Clock
from workloadkit.dependencies import Activities
from workloadkit.resample.pools import LONG_TERM_USER, ResamplingPools
from workloadkit.resample.runs import Resampling
from workloadkit.simulation.populations.population import SessionTimes
from workloadkit.trace import Trace


def log_of(pools: ResamplingPools) -> tuple[Trace, NDArray[np.int64]]:
    """Return the jobs of the pools as a log of the members, and their places in the pools."""
    order = np.argsort(pools.trace.column("submit"), kind="stable")
    user = np.repeat(np.arange(pools.members.log.size), pools.members.n_jobs)[order]
    trace = pools.trace.take(order).with_columns(user=user)
    name = " and ".join(log.name for log in pools.logs)
    return trace.replaced(header=pools.logs[0].header, name=name, changes=()), order


def times_of(
    resampling: Resampling, acts: Activities, job: NDArray[np.int64], *, pause: bool
) -> tuple[SessionTimes, NDArray, NDArray]:
    """Return local times of sessions and of members' first jobs, and the members' pauses."""
    pools, plan = resampling.pools, resampling.plan
    dtype = acts.arrival.dtype
    local = pools.time[job[acts.job]] + plan.origin  # of each job, in the order of the activities
    n_sessions = acts.begin.size
    last_batch = np.searchsorted(acts.session, np.arange(n_sessions), side="right") - 1
    begin = local[acts.first_job[np.searchsorted(acts.session, np.arange(n_sessions))]]
    until = local[acts.first_job[last_batch + 1] - 1]
    end = until.copy()
    first_session = acts.first_session
    of_log = np.repeat(pools.members.log[acts.user], np.diff(first_session))
    for number, log in enumerate(pools.logs):
        mine = of_log == number
        if mine.any():
            clock = Clock.between(log.header, log.begin, float(acts.end[mine].max()))
            end[mine] += clock.local(acts.end[mine]) - clock.local(acts.until[mine])
    sessions = SessionTimes(*(times.astype(dtype) for times in (begin, until, end)))
    first_time = local[acts.first_job[acts.first_batch[:-1]]].astype(dtype)
    length = np.array([log.end - log.begin for log in pools.logs])[pools.members.log[acts.user]]
    activity = acts.until[first_session[1:] - 1] - acts.begin[first_session[:-1]]
    rests = pause & (pools.members.kind[acts.user] == LONG_TERM_USER)
    rest = np.where(rests, np.maximum(length - activity, 0), 0)
    return sessions, first_time, rest.astype(dtype)
