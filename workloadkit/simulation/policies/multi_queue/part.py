"""The state of multiple-queue backfilling in the compiled engine."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.state import State

# Places in Partitions.at: waiting jobs, and those of them that have just arrived; demoted jobs;
# jobs that have ended since a week began; past weeks; processors that run nothing, including those
# that are down; whether a waiting job may become a pivot; whether the reservations are known;
# whether all waiting jobs have been refused and stay so; whether a job has started in this pass,
# and whether that moves reservations.
(
    N_LISTED, N_NEW, N_DEMOTED, N_ENDED, N_WEEKS, IDLE, LOOK, KNOWN, SETTLED, BEGUN, MOVED,
) = range(11)  # fmt: skip

# Places in PartitionPlan.at.
N_STEPS, N_RESERVED = range(2)

# The standing of a job: no promise; promise as a pivot; demoted, with a kept reservation.
ORDINARY, PROMISED, DEMOTED = range(3)

UNSET = -1


class PartitionPlan(NamedTuple):
    """The profile of the partitions, and the reservations with the levels at which they begin.

    The last column of `left`, `left_at` and `least` is that of the machine.

    Parameters
    ----------
    times : ndarray, shape (most_steps,)
        When each step begins. [s]
    left : ndarray of int64, shape (most_steps, n_partitions + 1)
        Processors that are left from then on.
    reserved : ndarray of int64, shape (most_reserved,)
        Jobs with a reservation.
    begins, ends : ndarray, shape (most_reserved,)
        Begin and end of each reservation. [s]
    kept_for : ndarray of int64, shape (most_reserved, n_partitions)
        Processors that it takes of each partition.
    left_at : ndarray of int64, shape (most_reserved, n_partitions + 1)
        Processors left as it begins.
    least : ndarray of int64, shape (n_partitions + 1,)
        Smallest number of processors left during a period.
    at : ndarray of int64, shape (2,)
        Numbers of steps and reservations.
    """

    times: NDArray
    left: NDArray[np.int64]
    reserved: NDArray[np.int64]
    begins: NDArray
    ends: NDArray
    kept_for: NDArray[np.int64]
    left_at: NDArray[np.int64]
    least: NDArray[np.int64]
    at: NDArray[np.int64]


class Partitions(NamedTuple):
    """A part of the state: partitions with one queue each.

    Parameters
    ----------
    waiting : ndarray of int64, shape (n_jobs,)
        The waiting jobs, in the order of arrival.
    partition, standing : ndarray of int64, shape (n_jobs,)
        Of the jobs that have arrived.
    promised : ndarray, shape (n_jobs,)
        Promised starts of pivots, and reserved starts of demoted jobs. [s]
    ended : ndarray, shape (n_jobs,)
        Estimates of the jobs that have ended since a week began, in any order. [s]
    size, used, pivot : ndarray of int64, shape (n_partitions,)
        Of each partition: its processors, those in use, its pivot or UNSET.
    criteria : ndarray of float64, shape (n_partitions,)
        A job belongs to the first partition with a criterion above its estimate. [s]
    demoted : ndarray of int64
        The demoted jobs, in order of arrival.
    plan : PartitionPlan
    at : ndarray of int64, shape (11,)
    """

    waiting: NDArray[np.int64]
    partition: NDArray[np.int64]
    standing: NDArray[np.int64]
    promised: NDArray
    ended: NDArray
    size: NDArray[np.int64]
    used: NDArray[np.int64]
    pivot: NDArray[np.int64]
    criteria: NDArray[np.float64]
    demoted: NDArray[np.int64]
    plan: PartitionPlan
    at: NDArray[np.int64]


def new_partitions(state: State, size: NDArray[np.int64]) -> Partitions:
    """Return partitions of these sizes, without jobs."""
    n_jobs, dtype = state.jobs.submit.size, state.jobs.submit.dtype
    at = np.zeros(11, np.int64)
    at[IDLE], at[LOOK] = size.sum(), True
    return Partitions(
        waiting=np.empty(n_jobs, np.int64),
        partition=np.full(n_jobs, UNSET),
        standing=np.zeros(n_jobs, np.int64),
        promised=np.empty(n_jobs, dtype),
        ended=np.empty(n_jobs, dtype),
        size=size,
        used=np.zeros(size.size, np.int64),
        pivot=np.full(size.size, UNSET),
        criteria=np.full(size.size, np.inf),
        demoted=np.empty(0, np.int64),
        plan=new_plan(state, size.size, 0),
        at=at,
    )


def new_plan(state: State, n_partitions: int, n_demoted: int) -> PartitionPlan:
    """Return an empty profile, with room for reservations of pivots and `n_demoted` jobs."""
    most, dtype = n_partitions + n_demoted, state.jobs.submit.dtype
    n_steps = state.ends.size + 2 * most + 2
    return PartitionPlan(
        times=np.empty(n_steps, dtype),
        left=np.empty((n_steps, n_partitions + 1), np.int64),
        reserved=np.empty(most, np.int64),
        begins=np.empty(most, dtype),
        ends=np.empty(most, dtype),
        kept_for=np.empty((most, n_partitions), np.int64),
        left_at=np.empty((most, n_partitions + 1), np.int64),
        least=np.empty(n_partitions + 1, np.int64),
        at=np.zeros(2, np.int64),
    )
