"""Compiled backfilling with lookahead."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import (
    FREE,
    SPARE,
    fits,
    may_pass,
    passes,
    reserve,
    room,
    start_job,
)
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    COUNT,
    WaitingList,
    forget_started,
    job_ended,
    job_returned,
    new_arrivals,
    plans_void,
    some_fit,
)


class Packing(NamedTuple):
    """A part of the state: the waiting jobs, and the search for the best set.

    Parameters
    ----------
    queue : WaitingList
    unit : int
        Processors that divide the sizes of all jobs: the table counts in these.
    depth : int
        Most jobs that are considered.
    candidate : ndarray of int64, shape (depth,)
        Their places in the list.
    most : ndarray of int32, shape ((depth + 1) * (units + 1) ** 2,)
        Most units that the candidates from each one on can use, by free and spare units.
    """

    queue: WaitingList
    unit: int
    depth: int
    candidate: NDArray[np.int64]
    most: NDArray[np.int32]


def new_packing(n_jobs: int, unit: int, units: int, depth: int) -> Packing:
    """Return an empty queue, for a machine of so many units."""
    return Packing(
        queue=new_arrivals(n_jobs),
        unit=unit,
        depth=depth,
        candidate=np.empty(depth, np.int64),
        most=np.empty((depth + 1) * (units + 1) ** 2, np.int32),
    )


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then the set that fills the machine best."""
    if some_fit(state, new, now):
        queue = state.policy.queue
        head = 0
        while head < queue.at[COUNT] and fits(state, queue.waiting[head], now):
            _start(state, head, now)
            head += 1
        if head < queue.at[COUNT]:
            reserve(state, queue.waiting[head], now)
            _backfill(state, head, now)
        forget_started(queue)


@inline
def _start(state, place, now):
    waiting = state.policy.queue.waiting
    start_job(state, waiting[place], now)
    waiting[place] = -1


@bare
def _backfill(state, head, now):
    """Start the candidates that use the most processors together; in doubt, the earliest."""
    packing, waiting = state.policy, state.policy.queue.waiting
    candidate, count, place = packing.candidate, 0, head + 1
    while place < packing.queue.at[COUNT] and count < packing.depth:
        if may_pass(state, waiting[place], now):
            candidate[count] = place
            count += 1
        place += 1
    free, spare = room(state, FREE, 0) // packing.unit, room(state, SPARE, 0) // packing.unit
    spare = min(max(spare, 0), free)
    _count_most(state, count, free, spare, now)
    across, width = (free + 1) * (spare + 1), spare + 1
    most, left, left_spare = packing.most, free, spare
    for i in range(count):
        job = waiting[candidate[i]]
        size = state.jobs.procs[job] // packing.unit
        late = size if _is_late(state, job, now) else 0
        if size <= left and late <= left_spare:
            then = (i + 1) * across
            skipped = most[then + left * width + left_spare]
            taken = size + most[then + (left - size) * width + left_spare - late]
            if taken >= skipped:
                left, left_spare = left - size, left_spare - late
                passes(state, job, now)
                _start(state, candidate[i], now)


@inline
def _is_late(state, job, now):
    return now + state.jobs.estimate[job] > state.machine.shadow[0]


@bare
def _count_most(state, count, free, spare, now):
    """Find the most units that the candidates from each on can use, for all that may be left."""
    packing, waiting = state.policy, state.policy.queue.waiting
    most, width, across = packing.most, spare + 1, (free + 1) * (spare + 1)
    for cell in range(count * across, (count + 1) * across):
        most[cell] = 0
    for i in range(count - 1, -1, -1):
        job = waiting[packing.candidate[i]]
        size = state.jobs.procs[job] // packing.unit
        late = size if _is_late(state, job, now) else 0
        here, then = i * across, (i + 1) * across
        for left in range(free + 1):
            for left_spare in range(spare + 1):
                best = most[then + left * width + left_spare]
                if size <= left and late <= left_spare:
                    taken = size + most[then + (left - size) * width + left_spare - late]
                    best = max(best, taken)
                most[here + left * width + left_spare] = best


register_functions(Packing, sys.modules[__name__])
