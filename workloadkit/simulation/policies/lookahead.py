"""Backfilling with lookahead: the jobs that fill the machine best overtake together."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.engine import JobView, Scheduler
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
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    WaitingList,
    forget_started,
    job_ended,
    job_left,
    job_returned,
    new_arrivals,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Lookahead:
    """EASY that backfills the set of jobs with the most processors, by dynamic programming [1]_.

    Jobs start in the order of arrival while they fit; the first that does not gets the reservation,
    as in EASY. Of the waiting jobs that may overtake it, a set is chosen that uses as many free
    processors as possible: those that run beyond the shadow time must fit into its spare processors
    together. Among equal sets, the one with the earliest jobs.

    Parameters
    ----------
    depth : int
        Number of jobs considered: the first ones of which each alone could overtake.

    References
    ----------
    .. [1] E. Shmueli, D. G. Feitelson, "Backfilling with lookahead to optimize the packing of
       parallel jobs", J. Parallel and Distributed Computing 65(9), 2005.
    """

    name: ClassVar[str] = "lookahead"
    supports: ClassVar = supporting(
        "each pass", "parts", "benchmark", "state", without=("machines", "nodes")
    )
    repeated_as: ClassVar[str] = "Looking"

    depth: int = 50

    def __post_init__(self) -> None:
        check_types(self)
        if not self.depth >= 1:
            raise ParameterError(f"scheduler {self.name}: depth is {self.depth}; at least 1")

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return LookaheadScheduler(self.depth)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return CompiledLookahead(self.depth, workload, rules)


# Backfilling with lookahead, in plain Python.


class LookaheadScheduler(OrderedScheduler):
    """Backfilling with lookahead, in plain Python.

    Parameters
    ----------
    depth : int
        Number of jobs that are considered.
    """

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def allocate(self) -> None:
        """Start jobs in order while they fit, then the set that fills the machine best."""
        self.release()
        waiting = self.queue.copy()
        while waiting and self.fits(waiting[0]):
            self.start(waiting.pop(0))
        if not waiting or self.free <= 0:
            return
        room = self.reserve_for(waiting[0])
        rooms = ((job, room(self.now + job.estimate)) for job in waiting[1:])
        candidates = list(islice((pair for pair in rooms if pair[0].procs <= pair[1]), self.depth))
        for job in best_set(candidates):
            self.start(job)

    def reserve_for(self, head: JobView) -> Callable[[Any], int]:
        """Make the reservation; return how many processors jobs may use that end at some time."""
        if self.outages_ahead:
            self.reserve(head)
            return self.room_until
        shadow, level = self.reservation(head)
        spare = min(max(level.free, 0), self.free)
        return lambda end: self.free if end <= shadow else spare


def best_set(candidates: Sequence[tuple[JobView, int]]) -> list[JobView]:
    """Return the set of jobs with the most processors; of equal ones, that with the earliest jobs.

    Parameters
    ----------
    candidates : sequence of (JobView, int)
        Each with the processors that it may use together with all others that end no sooner.
    """
    by_room = sorted(range(len(candidates)), key=lambda place: candidates[place][1])
    chosen: list[int] = []

    def most(undecided: int) -> int:
        """Return the most processors of the chosen jobs and some of those from a place on."""
        reached = 1  # bit n: n processors can be used
        for place in by_room:
            job, room = candidates[place]
            more = reached << job.procs & (2 << room) - 1
            if place in chosen:
                reached = more
            elif place >= undecided:
                reached |= more
        return reached.bit_length() - 1

    best = left = most(0)
    for place, (job, _) in enumerate(candidates):
        if left == 0:
            break
        chosen.append(place)
        if most(place + 1) == best:
            left -= job.procs
        else:
            chosen.pop()
    return [candidates[place][0] for place in chosen]


# Compiled backfilling with lookahead.


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
        while head < queue.at.count and fits(state, queue.waiting[head], now):
            _start(state, head, now)
            head += 1
        if head < queue.at.count:
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
    while place < packing.queue.at.count and count < packing.depth:
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


# Backfilling with lookahead, in the compiled engine.


class CompiledLookahead(CompiledPolicy):
    """Backfilling with lookahead."""

    def __init__(self, depth: int, workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        known = workload.users is None
        self.unit = int(np.gcd.reduce(workload.procs)) if known else 1
        self.units, self.depth = rules.machine // self.unit, depth

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        n_jobs = state.jobs.submit.size
        return state._replace(policy=new_packing(n_jobs, self.unit, self.units, self.depth))
