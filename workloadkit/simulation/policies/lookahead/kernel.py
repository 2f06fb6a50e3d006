"""Compiled backfilling with lookahead."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import (
    FREE,
    SPARE,
    changes_ahead,
    ends_in_time,
    fits,
    reserve,
    room,
    room_until,
    start_job,
)
from workloadkit.simulation.machine.words import WORD, WORD_BITS, clear, n_words
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    COUNT,
    WaitingList,
    forget_started,
    job_ended,
    job_left,
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
        Processors that divide the sizes of all jobs: the search counts in these.
    depth : int
        Most jobs that are considered.
    candidate : ndarray of int64, shape (depth,)
        Their places in the list.
    size, room : ndarray of int64, shape (depth,)
        Units of each, and those that it may use together with all others that end no sooner.
    by_room : ndarray of int64, shape (depth,)
        The candidates with the least room first.
    chosen : ndarray of bool, shape (depth,)
    reached : ndarray of int64, shape (n_words,)
        Numbers of units that can be used, as bits of words.
    """

    queue: WaitingList
    unit: int
    depth: int
    candidate: NDArray[np.int64]
    size: NDArray[np.int64]
    room: NDArray[np.int64]
    by_room: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    reached: NDArray[np.int64]


def new_packing(n_jobs: int, unit: int, units: int, depth: int) -> Packing:
    """Return an empty queue, for a machine of so many units."""
    depth = min(depth, n_jobs)
    candidate, size, most, by_room = (np.empty(depth, np.int64) for _ in range(4))
    return Packing(
        queue=new_arrivals(n_jobs),
        unit=unit,
        depth=depth,
        candidate=candidate,
        size=size,
        room=most,
        by_room=by_room,
        chosen=np.empty(depth, np.bool_),
        reached=np.empty(n_words(units + 1), np.int64),
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
    packing = state.policy
    count = _find_candidates(state, head, now)
    chosen, size = packing.chosen, packing.size
    best = left = _most(packing, count, 0)
    place = 0
    while left > 0:
        chosen[place] = True
        chosen[place] = _most(packing, count, place + 1) == best
        if chosen[place]:
            left -= size[place]
            _start(state, packing.candidate[place], now)
        place += 1


@inline
def _find_candidates(state, head, now):
    """List the first jobs that may overtake by themselves; return their number."""
    packing, waiting, procs = state.policy, state.policy.queue.waiting, state.jobs.procs
    by_room, count, place = packing.by_room, 0, head + 1
    while place < packing.queue.at[COUNT] and count < packing.depth:
        job = waiting[place]
        most = _room_for(state, job, now)
        if procs[job] <= most:
            packing.candidate[count], packing.size[count] = place, procs[job] // packing.unit
            packing.room[count] = most // packing.unit
            behind = count
            while behind > 0 and packing.room[by_room[behind - 1]] > packing.room[count]:
                by_room[behind] = by_room[behind - 1]
                behind -= 1
            by_room[behind] = count
            count += 1
        place += 1
    return count


@inline
def _room_for(state, job, now):
    """Return the processors that a job may use together with all others that end no sooner."""
    if changes_ahead(state, 0, now):
        return room_until(state, now + state.jobs.estimate[job], now)
    free = room(state, FREE, 0)
    return free if ends_in_time(state, job, now) else min(max(room(state, SPARE, 0), 0), free)


@inline
def _most(packing, count, undecided):
    """Return the most units of a set with the chosen candidates, and of those from a place on."""
    reached, chosen = packing.reached, packing.chosen
    clear(reached)
    reached[0] = 1
    for i in range(count):
        place = packing.by_room[i]
        if place >= undecided or chosen[place]:
            _add(packing, place, place < undecided)
    for word in range(reached.size - 1, -1, -1):
        for bit in range(WORD - 1, -1, -1):
            if reached[word] >> bit & 1:
                return word * WORD + bit
    return -1


@inline
def _add(packing, place, surely):
    """Add a candidate to the sets, or to all of them (`surely`), as far as there is room."""
    reached, size, most = packing.reached, packing.size[place], packing.room[place]
    words, bits = size >> WORD_BITS, size & (WORD - 1)
    for word in range(reached.size - 1, -1, -1):
        more, source = 0, word - words
        if source >= 0:
            more = reached[source] << bits & (1 << WORD) - 1
        if source > 0:
            more |= reached[source - 1] >> (WORD - bits)
        last = most - word * WORD  # bits up to this one
        if last < WORD - 1:
            more &= (2 << last) - 1 if last >= 0 else 0
        reached[word] = more if surely else reached[word] | more


register_functions(Packing, sys.modules[__name__])
