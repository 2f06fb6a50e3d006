"""Compiled EASY in a settled order for long queues of known jobs, searched by trees.

During a pass, the limits of time and processors only shrink. So the first hit that a class had
before a job started is never behind its present one: hits are kept, and tested again later.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline, kernel
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.orders import by_arrival, ranks
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import (
    BLOCK,
    Forest,
    grow_forest,
    join_line,
    leave_line,
    margin,
    next_in_line,
    next_leaf,
    set_leaf,
)
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.ledger import (
    FREE,
    fits,
    has_room,
    is_full,
    is_spare,
    may_have_moved,
    may_pass,
    passes,
    places_matter,
    reserve,
    room,
    some_overdue,
    start_job,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy.kernel import (
    SettledList,
    new_line,
)
from workloadkit.simulation.policies.policy import AS_USUAL, Overtaking
from workloadkit.simulation.policies.settled import in_turn
from workloadkit.simulation.workload import Rules, Workload


class _At(Record):
    """The state of the trees."""

    foremost: int  # the head of the queue, -1 for none
    look_at_all: bool  # whether all waiting jobs must be examined
    known: bool  # whether the reservation is known


class EasyTrees(NamedTuple):
    """A part of the state: the waiting jobs in trees.

    Parameters
    ----------
    line : Line
        The list, empty.
    forest : Forest
    waits : ndarray of bool, shape (n_jobs,)
        Whether the job at a place in the order of the queue waits.
    in_block : ndarray of int64, shape (n_blocks,)
        Number of waiting jobs in each block of places.
    hit : ndarray of int64, shape (n_classes,)
        The first place of each class that may start in this pass.
    few : int
        With fewer waiting jobs a list is faster.
    longest : scalar
        The largest of all estimates. [s]
    slack : scalar
        More than the rounding error of a sum of times; whole seconds have none. [s]
    at : record
    """

    line: SettledList
    forest: Forest
    waits: NDArray[np.bool_]
    in_block: NDArray[np.int64]
    hit: NDArray[np.int64]
    few: int
    longest: Any
    slack: Any
    at: _At


def grow(state: State, kind: NDArray[np.int64]) -> Forest:
    """Make the trees for the jobs of a state with a `SettledList`, by their kinds."""
    line = state.policy
    rank = line.rank.astype(np.int64)
    other = line.backfill_rank.astype(np.int64) if line.orders_differ else rank
    return grow_forest(state, kind, rank, other)


def as_trees(state: State, forest: Forest, few: int) -> EasyTrees:
    """Return trees with the waiting jobs of a state with a `SettledList`."""
    line, jobs = state.policy, state.jobs
    n_jobs = jobs.submit.size
    trees = EasyTrees(
        line=line,
        forest=forest,
        waits=np.zeros(n_jobs, np.bool_),
        in_block=np.zeros(n_jobs // BLOCK + 1, np.int64),
        hit=np.empty(forest.size.size, np.int64),
        few=few,
        longest=jobs.estimate.max(),
        slack=margin(jobs),
        at=_At(foremost=line.at.head, look_at_all=True),
    )
    _plant(trees, jobs, line.waiting[line.at.first : line.at.last])
    return trees


def as_line(state: State) -> SettledList:
    """Return a list with the waiting jobs of a state with `EasyTrees`."""
    trees, line = state.policy, state.policy.line
    waiting = trees.forest.line[np.flatnonzero(trees.waits)]
    _clear(trees.forest, waiting, state.never)
    line.waiting[: waiting.size] = waiting[np.argsort(line.backfill_rank[waiting], kind="stable")]
    line.at.first, line.at.last, line.at.head = 0, waiting.size, trees.at.foremost
    line.at.look, line.at.patience = True, 0
    return line


@kernel
def _plant(trees, jobs, waiting):
    for job in waiting:
        _join(trees, jobs, job)


@kernel
def _clear(forest, waiting, nothing):
    for job in waiting:
        set_leaf(forest.tree, forest.root[forest.job_class[job]], forest.node[job], nothing)


@inline
def _join(trees, jobs, job):
    """Add a job to the queue."""
    forest, line = trees.forest, trees.line
    join_line(trees.waits, trees.in_block, int(line.rank[job]))
    if line.backfills:
        root = forest.root[forest.job_class[job]]
        set_leaf(forest.tree, root, forest.node[job], jobs.estimate[job])
    at = trees.at
    if at.foremost < 0 or line.rank[job] < line.rank[at.foremost]:
        at.foremost = job


@inline
def _leave(state, job):
    """Remove a job from the queue."""
    trees, forest = state.policy, state.policy.forest
    leave_line(trees.waits, trees.in_block, int(trees.line.rank[job]))
    if trees.line.backfills:
        set_leaf(forest.tree, forest.root[forest.job_class[job]], forest.node[job], state.never)


@inline
def job_ended(state, job, now):
    """Request an examination of all waiting jobs."""
    state.policy.at.look_at_all = True


@inline
def job_left(state, job, now):
    """Remove a cancelled job; another one may become the head."""
    trees, at, n_new = state.policy, state.policy.at, state.at.arrived - state.at.n_seen
    _leave(state, job)
    if job == at.foremost:
        at.foremost = -1
        if state.at.n_waiting - n_new > 1:
            place = next_in_line(trees.waits, trees.in_block, int(trees.line.rank[job]) + 1)
            at.foremost = trees.forest.line[place]
    at.look_at_all = True


@inline
def must_return(state, what, now):
    """Whether the queue is short enough for a list."""
    return state.at.n_waiting < state.policy.few


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    trees = state.policy
    look = (
        trees.at.look_at_all
        or may_have_moved(state, 0, now)
        or (state.late and some_overdue(state, now))
        or not in_turn(trees.line, new, state.at.arrived)
    )
    if not look:
        new = _look_at_new(state, new, now)
        look = new < state.at.arrived
    if look:
        _look_at_all(state, new, now)


@inline
def _look_at_new(state, new, now):
    """Start new jobs that may; return the first for which all must be examined."""
    trees, rank, at = state.policy, state.policy.line.rank, state.policy.at
    while new < state.at.arrived:
        head = at.foremost
        ahead = head >= 0 and rank[new] < rank[head]
        if ahead and trees.line.backfills and places_matter(state, 0, now):
            break
        starts = fits(state, new, now)
        if starts and head >= 0:
            starts = ahead
            if trees.line.backfills:
                if not at.known:
                    reserve(state, head, now)
                    at.known = True
                starts = may_pass(state, new, now)
                if starts:
                    passes(state, new, now)
        if starts:
            start_job(state, new, now)
        elif ahead:
            break
        else:
            _join(trees, state.jobs, new)
        new += 1
    return new


@inline
def _look_at_all(state, new, now):
    trees, at, line = state.policy, state.policy.at, state.policy.forest.line
    at.look_at_all = at.known = False
    while new < state.at.arrived:
        _join(trees, state.jobs, new)
        new += 1
    while at.foremost >= 0 and fits(state, at.foremost, now):
        head = at.foremost
        start_job(state, head, now)
        _leave(state, head)
        at.foremost = -1
        if state.at.n_waiting > 0:
            place = next_in_line(trees.waits, trees.in_block, int(trees.line.rank[head]) + 1)
            at.foremost = line[place]
    if trees.line.backfills and at.foremost >= 0 and not is_full(state, 0, now):
        reserve(state, at.foremost, now)
        at.known = True
        _backfill(state, now)


@inline
def _backfill(state, now):
    """Start jobs that may pass, in the order of backfilling."""
    trees, forest = state.policy, state.policy.forest
    size, width, hit, n_jobs = forest.size, forest.width, trees.hit, state.start.size
    limit = state.machine.shadow[0] - now + trees.slack
    n_open = 0  # classes of jobs that are not too large
    while n_open < size.size and size[n_open] <= room(state, FREE, 0):
        hit[n_open] = _next_hit(state, n_open, 0, limit)
        n_open += 1
    while True:
        while n_open > 0 and size[n_open - 1] > room(state, FREE, 0):
            n_open -= 1
        place = n_jobs
        for c in range(n_open):
            place = min(place, hit[c])
        if place == n_jobs:
            break
        job = forest.job_at[place]
        c = forest.job_class[job]
        if may_pass(state, job, now):
            passes(state, job, now)
            _leave(state, job)
            start_job(state, job, now)
        hit[c] = _next_hit(state, c, forest.node[job] - width[c] + 1, limit)


@inline
def _next_hit(state, c, leaf, limit):
    """Return the place of the first job of a class, from a leaf on, that may start.

    That is the number of all jobs if there is none.
    """
    trees, forest = state.policy, state.policy.forest
    need = forest.need[c]
    if has_room(state, FREE, need):
        most = trees.longest if is_spare(state, need) else limit
        found = next_leaf(forest.tree, forest.root[c], forest.width[c], leaf, most)
        if found >= 0:
            return forest.member[forest.first[c] + found]
    return state.start.size


register_functions(EasyTrees, sys.modules[__name__])


# EASY in a settled order, in the compiled engine.

# A queue longer than this is searched by trees, until it is half as long. Measured: for shorter
# ones, an examination of each waiting job is faster; for much longer ones, much slower.
LONG_QUEUE = 512
# Building the trees takes about as long as this many examinations for each job of the log. As much
# time is first spent on lists of longer queues: few logs have such queues for long.
EXAMINATIONS = 16


class CompiledEasy(CompiledPolicy):
    """One reservation, and backfilling.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    order, backfill_order : NamedTuple or None
        See `orders`; None for no backfilling.
    overtaking : Overtaking
        Which jobs may overtake.
    long_queue, patience : int
        See the constants.
    """

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        order: Any,
        backfill_order: Any,
        overtaking: Overtaking = AS_USUAL,
        *,
        long_queue: int = LONG_QUEUE,
        patience: int = EXAMINATIONS,
    ) -> None:
        super().__init__(workload, rules)
        self.orders = order, order if backfill_order is None else backfill_order
        self.backfills, self.overtaking = backfill_order is not None, overtaking
        self.long_queue, self.patience = long_queue, patience
        self.forest: Any = None

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        self.forest = None  # a forest that still contains jobs cannot be reused
        order, backfill_order = self.orders
        n_jobs = state.jobs.submit.size
        how: dict[str, Any] = {"backfills": self.backfills, "long_queue": n_jobs, "patience": 1}
        if self.jobs_are_known or by_arrival(order, backfill_order):
            rank = ranks(state, order)
            backfill_rank = rank if backfill_order is order else ranks(state, backfill_order)
            in_turn = not self.backfills and bool((rank[1:] > rank[:-1]).all())
            if not in_turn and self.jobs_are_known and self.hardware.kinds(state.jobs) is not None:
                # a list in the order of arrival, changed only at its ends, needs no trees
                patience = self.patience * n_jobs if self.backfills else 0
                how |= {"long_queue": self.long_queue, "patience": patience}
        else:
            how["orders"] = self.orders
            rank = np.empty(n_jobs)
            backfill_rank = rank if backfill_order is order else np.empty(n_jobs)
        line = new_line(rank, backfill_rank, **how)
        return state._replace(policy=line, **self.overtaking._asdict())

    def go_on(self, state: State) -> State:
        """Switch to trees when the queue has become long, or back to the list."""
        if isinstance(state.policy, EasyTrees):
            self.forest = state.policy.forest
            return state._replace(policy=as_line(state))
        if self.forest is None:
            self.forest = grow(state, self.hardware.kinds(state.jobs))
        few = min(self.long_queue, state.at.n_waiting) // 2
        return state._replace(policy=as_trees(state, self.forest, few))
