"""Orders of waiting jobs: the numbers that jobs are sorted by, smallest first.

Both engines call these functions, the plain one by `in_python`, so that they sort by the same bits.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, kernel

# Orders that are settled as a job arrives, for `Keys`.
ARRIVAL, SJF, LJF, SMALLEST, LARGEST, F1, PRIORITY = range(7)

# Behind all queues; as a float it is the same.
LAST_QUEUE = 2**62


class Keys(NamedTuple):
    """What jobs of users who react are ranked by, as they arrive.

    Parameters
    ----------
    order, backfill : int
        Orders of the queue and of backfilling.
    queues : ndarray of int64, shape (n_queues,)
        Queues from the most urgent to the least, for PRIORITY.
    """

    order: int
    backfill: int
    queues: NDArray[np.int64]


@bare
def f1(first, submit, estimate, procs):
    """log10(estimate) · processors + 870 · log10(max(submit - first, 1)), the smallest first."""
    return math.log10(estimate) * procs + 870.0 * math.log10(max(submit - first, 1))


@kernel
def f1_of_all(submit, estimate, procs):
    """F1 of each job of a log."""
    value = np.empty(submit.size)
    for job in range(submit.size):
        value[job] = f1(submit[0], submit[job], estimate[job], procs[job])
    return value


@bare
def urgency(queue, queues):
    """Place of a queue among `queues`, behind them all if it is not there.

    Without any it is its number, and what is unknown comes last.
    """
    if queues.size == 0:
        return queue if queue >= 0 else LAST_QUEUE
    place = 0
    while place < queues.size and queues[place] != queue:
        place += 1
    return place


@bare
def settled_key(order, queues, first, submit, estimate, procs, queue):
    """Return what an order ranks a job by; the first submission of all was at `first`."""
    if order == ARRIVAL:
        return 0.0
    if order == SJF:
        return float(estimate)
    if order == LJF:
        return -float(estimate)
    if order == SMALLEST:
        return float(procs)
    if order == LARGEST:
        return -float(procs)
    if order == F1:
        return f1(first, submit, estimate, procs)
    return float(urgency(queue, queues))


@bare
def rank_arrivals(users, jobs, keys, rank, backfill_rank, arrived, n_arrived):
    """Rank the jobs from `arrived` on, if they are of users who react; ties go by arrival."""
    if users is not None:
        submit, _, estimate, procs = jobs
        for job in range(arrived, n_arrived):
            of_job = (submit[0], submit[job], estimate[job], procs[job], users.tables.queue[job])
            backfill_rank[job] = settled_key(keys.backfill, keys.queues, *of_job)
            rank[job] = settled_key(keys.order, keys.queues, *of_job)


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it was before it was compiled, if it was."""
    return getattr(function, "py_func", function)
