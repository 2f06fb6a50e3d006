"""Compiled EASY in an order that is computed again in each pass: the common part of such policies.

Between two terminations, free resources only shrink and the shadow time stays. So a job that cannot
be backfilled remains so until the next termination, unless another job becomes the head of the
queue: with the same head, only new jobs are examined. If no waiting job fits, the order is not
needed. If changes of the machine are ahead, all are examined each time.

A policy's part has a field `queue`, and these functions of (state, -, now):

- ``join`` and ``leave``, of (state, job, now), add a job to the queue and remove it as it starts
  or is cancelled;
- ``rank`` prepares a pass, if necessary;
- ``first_in_order`` returns the first of the waiting jobs; at least one job waits;
- ``backfill_all`` and ``backfill_new`` return the first job that may pass the head, -1 for none,
  among all waiting jobs or those from `at.new` on; without `at.again` they begin again.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.parts import by_part
from workloadkit.simulation.compiled.queue import Classes, link
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    is_full,
    may_have_moved,
    passes,
    release_all,
    reserve,
    some_overdue,
    start_job,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.policy import AS_USUAL, Overtaking
from workloadkit.simulation.workload import Rules, Workload


class QueueAt(Record):
    """What the queue remembers; policies add to it."""

    known: bool  # whether the reservation is known and all others were refused
    head: int  # the job of the reservation
    new: int  # the first job that no pass has examined
    smallest: int  # a job that no waiting one is smaller than
    all: bool  # whether this pass examines all
    again: bool  # whether backfilling has begun


class Queue(NamedTuple):
    """The waiting jobs, in rings in the order of arrival.

    Parameters
    ----------
    after, before : ndarray of int64, shape (n_jobs + n_rings,)
        Neighbours of each job; ring r begins and ends at n_jobs + r.
    by_size : bool
        Whether a job fits wherever a larger one fits.
    long_queue : int
        A queue longer than this is searched by trees, until it is half as long.
    at : QueueAt
        Or one with more fields.
    """

    after: NDArray[np.int64]
    before: NDArray[np.int64]
    by_size: bool
    long_queue: int
    at: Any


def new_queue(state: State, n_rings: int, at: QueueAt, *, by_size: bool, long_queue: int) -> Queue:
    """Return empty rings; the loop adds the state's jobs that have arrived."""
    after = np.arange(state.start.size + n_rings)
    at.new = state.at.arrived
    return Queue(after, after.copy(), by_size, long_queue, at)


@inline
def _nothing(state, what, now):
    pass


_join = by_part("policy", "join")
_leave = by_part("policy", "leave")
_rank = by_part("policy", "rank", _nothing)
_first_in_order = by_part("policy", "first_in_order")
_backfill_all = by_part("policy", "backfill_all")
_backfill_new = by_part("policy", "backfill_new")


@inline
def join_ring(state, job, ring):
    """Add a job to a ring, at its place in the order of arrival."""
    queue, procs = state.policy.queue, state.jobs.procs
    link(queue.after, queue.before, state.start.size + ring, job)
    if procs[job] < procs[queue.at.smallest]:
        queue.at.smallest = job


@inline
def job_returned(state, job, now):
    """Return a stopped job to the queue."""
    _join(state, job, now)
    state.policy.queue.at.known = False


@inline
def job_left(state, job, now):
    """Remove a cancelled job from the queue."""
    _leave(state, job, now)
    state.policy.queue.at.known = False


@inline
def job_ended(state, job, now):
    """Request an examination of all waiting jobs."""
    state.policy.queue.at.known = False


@inline
def plans_void(state, what, now):
    """Request an examination of all waiting jobs."""
    state.policy.queue.at.known = False


@inline
def list_must_return(state, what, now):
    """Whether the queue is long enough for trees."""
    return state.at.n_waiting > state.policy.queue.long_queue


@inline
def trees_must_return(state, what, now):
    """Whether the queue is short enough for a list."""
    return state.at.n_waiting < state.policy.queue.long_queue // 2


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    at = state.policy.queue.at
    _join_new(state, now)
    if state.late and some_overdue(state, now):
        at.known = False
    if not at.known:
        release_all(state, 0, now)
    if _some_may_start(state, now):
        _rank(state, 0, now)
        if _start_heads(state, now):
            _backfill(state, now)
    if may_have_moved(state, 0, now):
        at.known = False
    at.new = state.at.arrived


@inline
def _join_new(state, now):
    """Add the jobs that have arrived since the last pass."""
    at, arrived = state.policy.queue.at, state.at.arrived
    if 0 < arrived - at.new == state.at.n_waiting:
        at.smallest = at.new
    for job in range(at.new, arrived):
        _join(state, job, now)


@inline
def _some_may_start(state, now):
    """Whether a waiting job may fit."""
    queue = state.policy.queue
    if state.at.n_waiting == 0 or is_full(state, 0, now):
        return False
    return not queue.by_size or changes_ahead(state, 0, now) or fits(state, queue.at.smallest, now)


@inline
def _start_heads(state, now):
    """Start jobs in order while they fit, and make the reservation; return whether there is one."""
    at = state.policy.queue.at
    while True:
        job = _first_in_order(state, 0, now)
        if not fits(state, job, now):
            break
        at.known = False
        _start(state, job, now)
        if not _some_may_start(state, now):
            return False
    at.all = not at.known or job != at.head
    if at.all:
        reserve(state, job, now)
        at.head, at.known = job, True
    return True


@inline
def _backfill(state, now):
    """Start jobs that may pass: among all, or among new ones if the others were refused."""
    at = state.policy.queue.at
    at.again = False
    while _some_may_start(state, now):
        job = _backfill_all(state, 0, now) if at.all else _backfill_new(state, 0, now)
        if job < 0:
            break
        at.again = True
        passes(state, job, now)
        _start(state, job, now)


@inline
def _start(state, job, now):
    _leave(state, job, now)
    start_job(state, job, now)


# These policies in the compiled engine, which switch to trees for long queues.

# A queue longer than this is searched by trees, until it is half as long.
LONG_QUEUE = 512


class LongQueuePolicy(CompiledPolicy):
    """Base of policies that search long queues by trees; override `begin` and `classify`.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    overtaking : Overtaking
        Which jobs may overtake.
    long_queue : int
        See the constant.
    """

    #: Module with the functions `as_trees` and `as_rings`.
    trees: ClassVar[Any]
    #: Part of the state with trees.
    tree_part: ClassVar[type[Any]]

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        *,
        overtaking: Overtaking = AS_USUAL,
        long_queue: int = LONG_QUEUE,
    ) -> None:
        super().__init__(workload, rules)
        self.overtaking, self.long_queue = overtaking, long_queue
        self.classes: Classes | None = None  # empty ones

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs."""
        raise NotImplementedError

    def empty_queue(self, state: State, at: QueueAt, n_rings: int = 1) -> Queue:
        """Return a queue of `n_rings` rings."""
        by_size = getattr(self.hardware, "by_size", False)
        long_queue = self.long_queue if by_size and self.jobs_are_known else state.start.size
        return new_queue(state, n_rings, at, by_size=by_size, long_queue=long_queue)

    def with_queue(self, state: State, part: Any) -> State:
        """Return the state with the policy's part and its rule of overtaking."""
        return state._replace(policy=part, **self.overtaking._asdict())

    def go_on(self, state: State) -> State:
        """Switch to trees when the queue has become long, or back to the rings alone."""
        if isinstance(state.policy, self.tree_part):
            self.classes = state.policy.classes
            return state._replace(policy=self.trees.as_rings(state))
        classes, self.classes = self.classes, None  # a state that may be copied owns them now
        return state._replace(policy=self.trees.as_trees(state, classes or self.classify(state)))
