"""The jobs of a compiled simulation, and where it stands: a value to be copied and continued."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Places in State.at.
N_RUNNING, FREE, ARRIVED, N_WAITING = range(4)


class Jobs(NamedTuple):
    """The jobs of a simulation, in the order of (submit, job number).

    Parameters
    ----------
    submit, run, estimate : ndarray of int64 or all of float64, shape (n_jobs,)
        Estimates are at least 1. [s]
    procs : ndarray of int64, shape (n_jobs,)
        From 1 to the size of the machine.
    """

    submit: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]


class State(NamedTuple):
    """Where a simulation stands between two instants.

    Parameters
    ----------
    start : ndarray, shape (n_jobs,)
        Start of each job that has started. [s]
    ends, planned_ends : ndarray, shape (capacity,)
        Ends of the running jobs, real and as planned, descending. [s]
    end_jobs, planned_procs : ndarray of int64, shape (capacity,)
        The jobs that end then; the processors that are planned to be free then.
    waiting : ndarray of int64, shape (n_jobs,)
        The waiting jobs, in order of arrival.
    at : ndarray of int64, shape (4,)
        Jobs that run, free processors, jobs that have arrived, jobs that wait.
    """

    start: NDArray
    ends: NDArray
    end_jobs: NDArray[np.int64]
    planned_ends: NDArray
    planned_procs: NDArray[np.int64]
    waiting: NDArray[np.int64]
    at: NDArray[np.int64]


def new_state(jobs: Jobs, machine: int) -> State:
    """Return the state before the first submission to an empty machine."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    capacity = min(n_jobs, machine) + 1
    return State(
        start=np.empty(n_jobs, dtype),
        ends=np.empty(capacity, dtype),
        end_jobs=np.empty(capacity, np.int64),
        planned_ends=np.empty(capacity, dtype),
        planned_procs=np.empty(capacity, np.int64),
        waiting=np.empty(n_jobs, np.int64),
        at=np.array([0, machine, 0, 0]),
    )


def copy_state(state: State) -> State:
    """Return a state that can be continued without touching `state`."""
    return State(*(array.copy() for array in state))
