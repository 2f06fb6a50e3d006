"""The recorded schedule of a log, compiled, for users who react."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.ledger import start_job
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.running import insert_end_in_order
from workloadkit.simulation.state import N_WAITING, State


class Due(NamedTuple):
    """A part of the state: the starts of the waiting jobs.

    Parameters
    ----------
    wait : ndarray, shape (n_jobs,)
        Wait of each job in the log. [s]
    time : ndarray, shape (n_jobs,)
        Starts of waiting jobs, descending. [s]
    job : ndarray of int64, shape (n_jobs,)
        The jobs that start then.
    """

    wait: NDArray
    time: NDArray
    job: NDArray[np.int64]


class CompiledRecorded(CompiledPolicy):
    """Each job starts its recorded wait after its submission."""

    @property
    def capacity(self) -> int:
        """Number of jobs that can run at once: logs may exceed their machines."""
        return int(self.workload.submit.size)

    def begin(self, state: State) -> State:
        """Return the state without waiting jobs."""
        submit = state.jobs.submit
        part = Due(self.workload.wait, np.empty_like(submit), np.empty(submit.size, np.int64))
        return state._replace(policy=part)


@inline
def job_arrived(state, job, now):
    """Record the start of a job."""
    due = state.policy
    count = state.at[N_WAITING] - 1
    insert_end_in_order(due.time, due.job, count, now + due.wait[job], job)


@inline
def next_timer(state, what, now):
    """Return the start of the next job."""
    return state.policy.time[state.at[N_WAITING] - 1] if state.at[N_WAITING] > 0 else state.never


@inline
def allocate(state, new, now):
    """Start the jobs that are due."""
    due = state.policy
    while state.at[N_WAITING] > 0 and due.time[state.at[N_WAITING] - 1] <= now:
        start_job(state, due.job[state.at[N_WAITING] - 1], now)


register_functions(Due, sys.modules[__name__])
