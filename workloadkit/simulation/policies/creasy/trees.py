"""Compiled CREASY for long queues of known jobs, by classes of equal size.

During a pass, the limits of time and processors only shrink. So the best job that a class had
before another one started is never behind its present best: it is kept, and tested again later.
"""

import sys
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline, kernel
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import Classes, margin, set_leaf, sort_into_classes
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.ledger import FREE, ends_in_time, has_room, is_spare, may_pass
from workloadkit.simulation.policies import dynamic
from workloadkit.simulation.policies.creasy import kernel as priorities
from workloadkit.simulation.policies.creasy import kernel as ring
from workloadkit.simulation.policies.creasy.kernel import ROUNDING, Ring, RingAt, bonus
from workloadkit.simulation.policies.dynamic import LongQueuePolicy, Queue
from workloadkit.simulation.workload import Rules, Workload

# The head is searched among so many of the first to arrive, then by the trees.
FIRST = 64

_priority = inline(priorities.priority)


class CreasyTrees(NamedTuple):
    """A part of the state: the waiting jobs, in a ring and by classes.

    Parameters
    ----------
    queue : Queue
    bonus : float
        Priority of a job with response time 0. [min]
    classes : Classes
    best : ndarray of int64, shape (n_classes,)
    highest : ndarray of float64, shape (n_classes,)
        During a pass: the first job of each class that may pass the head, and its priority.
    longest : scalar
        The largest of all estimates. [s]
    slack : scalar
        More than the rounding error of a sum of times. [s]
    """

    queue: Queue
    bonus: float
    classes: Classes
    best: NDArray[np.int64]
    highest: NDArray[np.float64]
    longest: Any
    slack: Any


def as_trees(state: State, classes: Classes) -> CreasyTrees:
    """Return the trees for the waiting jobs of a state with a `Ring`."""
    n_classes, jobs = classes.size.size, state.jobs
    trees = CreasyTrees(
        queue=state.policy.queue,
        bonus=state.policy.bonus,
        classes=classes,
        best=np.empty(n_classes, np.int64),
        highest=np.empty(n_classes),
        longest=jobs.estimate.max(),
        slack=margin(jobs),
    )
    _fill(classes, trees.queue.after, jobs.estimate)
    return trees


def as_rings(state: State) -> Ring:
    """Return the ring of a state with `CreasyTrees`, which are emptied."""
    trees = state.policy
    _fill(trees.classes, trees.queue.after, np.full(state.start.size, state.never))
    return Ring(trees.queue, trees.bonus)


@kernel
def _fill(classes, after, estimate):
    end = job = estimate.size
    while after[job] != end:
        job = after[job]
        _set(classes, job, estimate[job])


@inline
def _set(classes, job, estimate):
    set_leaf(classes.tree, classes.root[classes.job_class[job]], classes.node[job], estimate)


allocate, must_return, plans_void = dynamic.allocate, dynamic.trees_must_return, dynamic.plans_void
job_ended, job_returned, job_left = dynamic.job_ended, dynamic.job_returned, dynamic.job_left
backfill_new = ring.backfill_new


@inline
def join(state, job, now):
    """Add a job to the queue."""
    ring.join(state, job, now)
    _set(state.policy.classes, job, state.jobs.estimate[job])


@inline
def leave(state, job, now):
    """Remove a job from the queue."""
    ring.leave(state, job, now)
    _set(state.policy.classes, job, state.never)


@inline
def first_in_order(state, what, now):
    """Return the job of the highest priority; ties by arrival."""
    best, highest, sure = ring.first_of_oldest(state, FIRST, now)
    if not sure:
        for c in range(state.policy.classes.size.size):
            best, highest = _first_of_class(state, c, True, now, best, highest)
    return best


@inline
def backfill_all(state, what, now):
    """Return the first job in order that may pass the head."""
    trees, at = state.policy, state.policy.queue.at
    if at.again:
        _look_at_class(state, at.next_class, now)
    else:
        _look_at_classes(state, now)
    while True:
        job = _best_of_classes(state)
        if job < 0:
            at.smallest = _smallest(trees.classes, trees.longest)
            return job
        at.next_class = trees.classes.job_class[job]
        if may_pass(state, job, now):
            return job
        _look_at_class(state, at.next_class, now)


@inline
def _look_at_classes(state, now):
    """Examine all fitting classes."""
    size, n_open = state.policy.classes.size, 0
    while n_open < size.size and has_room(state, FREE, size[n_open]):
        _look_at_class(state, n_open, now)
        n_open += 1
    state.policy.queue.at.n_open = n_open


@inline
def _look_at_class(state, c, now):
    """Find the first job of a class that may pass."""
    trees = state.policy
    always = is_spare(state, trees.classes.size[c])
    trees.best[c], trees.highest[c] = _first_of_class(state, c, always, now, -1, -1.0)


@inline
def _best_of_classes(state):
    """Return the first in order of the kept jobs of all classes; -1 for none."""
    trees, at = state.policy, state.policy.queue.at
    best, highest, size = trees.best, trees.highest, trees.classes.size
    n_open = at.n_open
    while n_open > 0 and not has_room(state, FREE, size[n_open - 1]):
        n_open -= 1
    at.n_open = n_open
    job, top = -1, -1.0
    for c in range(n_open):
        if highest[c] > top or (highest[c] == top and best[c] < job):
            job, top = best[c], highest[c]
    return job


@inline
def _smallest(classes, longest):
    """Return the smallest waiting job; there is one."""
    c = 0
    while classes.tree[classes.root[c] + 1] > longest:
        c += 1
    return classes.member[classes.first[c]]


@bare
def _first_of_class(state, c, always, now, best, highest):
    """Return the first of a class that ends by the shadow time (or `always`), if before `best`.

    A subtree is skipped if neither its oldest nor its newest job with its smallest estimate would
    be better; no waiting job arrived before the first of the ring.
    """
    trees, classes, submit = state.policy, state.policy.classes, state.jobs.submit
    tree, root, width, member = classes.tree, classes.root[c], classes.width[c], classes.member
    first, n_jobs = classes.first[c], submit.size
    last = classes.first[c + 1] if c + 1 < classes.first.size else n_jobs
    oldest = submit[trees.queue.after[n_jobs]]
    most = trees.longest if always else state.machine.shadow[0] - now + trees.slack
    node, leaves = 1, width
    while True:
        below = tree[root + node]
        if below <= most:
            place = first + node * leaves - width
            if leaves == 1:
                job = member[place]
                if always or ends_in_time(state, job, now):
                    priority = ring.priority_of(state, job, now)
                    if priority > highest or (priority == highest and job < best):
                        best, highest = job, priority
            else:
                longest = now - max(submit[member[place]], oldest)
                shortest = max(now - submit[member[min(place + leaves, last) - 1]], 0)
                ceiling = _ceiling(trees.bonus, longest, shortest, below)
                if ceiling > highest or (ceiling == highest and member[place] < best):
                    node *= 2
                    leaves >>= 1
                    continue
        while node & 1:  # go on to the next subtree to the right
            node >>= 1
            leaves <<= 1
        if node == 0:
            return best, highest
        node += 1


@inline
def _ceiling(bonus, longest, shortest, estimate):
    """Return a bound of the priority after such a wait, with an estimate of at least `estimate`.

    The sum of a falling convex and a rising linear term is largest at one of the ends.
    """
    if longest == shortest:
        return _priority(bonus, longest, estimate)
    ends = max(_priority(bonus, longest, estimate), _priority(bonus, shortest, estimate))
    return ends * ROUNDING


register_functions(CreasyTrees, sys.modules[__name__])


# CREASY in the compiled engine.


class CompiledCreasy(LongQueuePolicy):
    """EASY in the order of the jobs' priorities.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    alpha : float
        Weight of criticality.
    **how
        Of `LongQueuePolicy`.
    """

    trees: ClassVar[Any] = sys.modules[__name__]
    tree_part: ClassVar[type] = CreasyTrees

    def __init__(self, workload: Workload, rules: Rules, alpha: float, **how: Any) -> None:
        super().__init__(workload, rules, **how)
        self.bonus = bonus(float(alpha))

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        return self.with_queue(state, Ring(self.empty_queue(state, RingAt()), self.bonus))

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs: those of equal size."""
        procs = state.jobs.procs
        return sort_into_classes(procs, np.zeros(procs.size, np.int64), 1, state.jobs.submit.dtype)
