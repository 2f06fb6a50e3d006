"""Jobs that are cancelled while they wait: they leave the queue at known times, compiled.

A part of the state, or none: then nothing of it is compiled.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.events import leave_queue
from workloadkit.simulation.compiled.parts import by_part, register_functions


class _At(Record):
    """Where in the order of the times the simulation is."""

    next: int


class Cancellations(NamedTuple):
    """The jobs that are cancelled, unless they start before.

    Parameters
    ----------
    time : ndarray, shape (n_jobs,)
        When each job is cancelled; a time after all times for jobs that are not. [s]
    job : ndarray of int64, shape (n_cancelled,)
        These jobs in the order of the times, ties by arrival.
    left : ndarray of bool, shape (n_jobs,)
        Whether the job has left the queue.
    at : record
    """

    time: NDArray
    job: NDArray[np.int64]
    left: NDArray[np.bool_]
    at: _At


def new_cancellations(time: NDArray, never: object) -> Cancellations:
    """Return the cancellations at given times, before the first."""
    job = np.argsort(time, kind="stable")[: np.count_nonzero(time != never)]
    return Cancellations(time, job, np.zeros(time.size, np.bool_), _At())


@inline
def _never(state, what, now):
    return state.never


@inline
def _nothing(state, what, now):
    pass


@bare
def next_cancellation(state, what, now):
    """Return the time of the next cancellation of a job that has not started."""
    part = state.cancellations
    at, job = part.at, part.job
    while at.next < job.size and state.start[job[at.next]] != state.never:
        at.next += 1
    return part.time[job[at.next]] if at.next < job.size else state.never


@bare
def cancel(state, one, now):
    """Let the due jobs leave the queue; only the first one, if `one`."""
    part = state.cancellations
    while next_cancellation(state, 0, now) <= now:
        job = part.job[part.at.next]
        part.left[job] = True
        leave_queue(state, job, now)
        if one:
            break


@inline
def returned(state, what, now):
    """Look at all jobs again, as one that had started waits again."""
    state.cancellations.at.next = 0


@inline
def may_be_cancelled(state, job, now):
    """Whether a job is cancelled unless it starts before."""
    return state.cancellations.time[job] != state.never


#: (state, -, now): the time of the next cancellation; a time after all times if there is none.
next_to_leave = by_part("cancellations", "next_cancellation", _never)

#: (state, one, now): let the due jobs leave the queue; only the first one, if `one`.
let_leave = by_part("cancellations", "cancel", _nothing)


#: (state, -, -): a job that had started waits again.
waits_again = by_part("cancellations", "returned", _nothing)


register_functions(Cancellations, sys.modules[__name__])
