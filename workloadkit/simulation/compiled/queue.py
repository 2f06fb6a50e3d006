"""The waiting jobs, as lists, rings or trees; and the running jobs, by their ends.

Jobs of equal needs form a class, and each class has a tree of smallest estimates whose leaves are
its jobs in the order of backfilling. "The first job in order that fits and ends in time" is then
the earliest of the classes' first hits, at a cost that hardly grows with the length of the queue.
The head of the queue is found along the line of all jobs in the order of the queue, with marks for
those that wait; blocks without marks are skipped.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, in_python, inline, when_compiling
from workloadkit.distinct import distinct
from workloadkit.simulation.compiled.orders import stable_order
from workloadkit.simulation.compiled.parts import functions_of
from workloadkit.simulation.compiled.state import never

BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS  # places of the line that are skipped at once


class Forest(NamedTuple):
    """The trees over all jobs of a simulation; a job has a place in both orders.

    A tree has its top at node 1, the children of node i are 2 i and 2 i + 1, and the last half of
    its nodes are the leaves. A node holds the smallest of what is below it.

    Parameters
    ----------
    tree : ndarray, shape (n_nodes,)
        Trees of the estimates of each class, one behind the other; that of class c begins at
        `root[c]`.
    root, width, size : ndarray of int64, shape (n_classes,)
        Where each tree begins, its number of leaves, and the processors of its jobs, ascending.
    need : ndarray of int64, shape (n_classes,)
        What the jobs of each class need, as `ledger.need_of` returns it.
    first : ndarray of int64, shape (n_classes,)
        Where the jobs of each class begin in `member`.
    member : ndarray of int64, shape (n_jobs,)
        The jobs by class, and within one by backfilling: their places in that order.
    job_at : ndarray of int64, shape (n_jobs,)
        The job at each place in the order of backfilling.
    job_class : ndarray of int64, shape (n_jobs,)
        Class of each job.
    node : ndarray of int64, shape (n_jobs,)
        Leaf of each job, as a node of its class's tree.
    line : ndarray of int64, shape (n_jobs,)
        The job at each place in the order of the queue.
    """

    tree: NDArray
    root: NDArray[np.int64]
    width: NDArray[np.int64]
    size: NDArray[np.int64]
    need: NDArray[np.int64]
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    job_at: NDArray[np.int64]
    job_class: NDArray[np.int64]
    node: NDArray[np.int64]
    line: NDArray[np.int64]


def grow_forest(
    state: Any,
    kind: NDArray[np.int64],
    rank: NDArray[np.int64],
    backfill_rank: NDArray[np.int64],
) -> Forest:
    """Make the trees, empty.

    Parameters
    ----------
    state : State
    kind, rank, backfill_rank : ndarray of int64, shape (n_jobs,)
        Number of the needs of each job, see `Hardware.kinds`; its place in the order of the queue,
        and in that of backfilling.
    """
    procs, needs = state.jobs.procs, in_python(functions_of(type(state.machine)).need_of)
    line = _inverse(rank)
    job_at = line if backfill_rank is rank else _inverse(backfill_rank)
    member = stable_order(kind[job_at])
    jobs = job_at[member]
    kinds = kind[jobs]
    first = np.append(np.flatnonzero(np.diff(kinds, prepend=kinds[0] - 1)), kinds.size)
    count = np.diff(first)
    width = np.array([_power_of_two(n) for n in count.tolist()])
    root = np.cumsum(2 * width) - 2 * width
    job_class = np.empty(procs.size, np.int64)
    node = np.empty(procs.size, np.int64)
    job_class[jobs] = np.repeat(np.arange(count.size), count)
    node[jobs] = np.arange(procs.size) + np.repeat(width - first[:-1], count)
    return Forest(
        tree=np.full(2 * width.sum(), state.never, state.jobs.submit.dtype),
        root=root,
        width=width,
        size=procs[jobs[first[:-1]]],
        need=np.array([needs(state, job, 0) for job in jobs[first[:-1]]], np.int64),
        first=first[:-1],
        member=member,
        job_at=job_at,
        job_class=job_class,
        node=node,
        line=line,
    )


def _inverse(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the job at each place."""
    job_at = np.empty(rank.size, np.int64)
    job_at[rank] = np.arange(rank.size)
    return job_at


def _power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least `count`."""
    return 1 << (count - 1).bit_length()


@inline
def set_leaf(tree, root, node, value):
    """Set the value of a leaf, and update the minimum of the nodes above it."""
    tree[root + node] = value
    while node > 1:
        node >>= 1
        smallest = min(tree[root + 2 * node], tree[root + 2 * node + 1])
        if tree[root + node] == smallest:
            return
        tree[root + node] = smallest


@inline
def next_leaf(tree, root, width, place, most):
    """Return the first leaf from `place` on, from 0, with at most `most`; -1 for none."""
    if place >= width or not tree[root + 1] <= most:
        return -1
    node = width + place if place > 0 else 1
    while not tree[root + node] <= most:  # go on to the next subtree to the right
        while node & 1:
            node >>= 1
        if node == 0:
            return -1
        node += 1
    while node < width:  # down to its first leaf with at most `most`
        node *= 2
        if not tree[root + node] <= most:
            node += 1
    return node - width


@inline
def join_line(waits, in_block, place):
    """Mark a place in the order of the queue, as its job waits."""
    waits[place] = True
    in_block[place >> BLOCK_BITS] += 1


@inline
def leave_line(waits, in_block, place):
    """Unmark a place in the order of the queue."""
    waits[place] = False
    in_block[place >> BLOCK_BITS] -= 1


@inline
def next_in_line(waits, in_block, place):
    """Return the first marked place from `place` on; there is one."""
    while not waits[place]:
        place += 1
        while place & (BLOCK - 1) == 0 and in_block[place >> BLOCK_BITS] == 0:
            place += BLOCK
    return place


@inline
def comes_before(rank, job, other):
    """Whether a job comes before another one, ties by arrival."""
    return rank[job] < rank[other] or (rank[job] == rank[other] and job < other)


@inline
def insert_waiting(waiting, first, last, rank, job):
    """Insert a job into waiting[first:last], which is in the order of `rank`, ties by arrival."""
    place = last
    while place > first and comes_before(rank, job, waiting[place - 1]):
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job


@inline
def move_waiting(waiting, first, last, rank, job):
    """Move a job in waiting[first:last] to the place of its new rank; return if it is there."""
    place = first
    while place < last and waiting[place] != job:
        place += 1
    if place == last:
        return False
    while place + 1 < last:
        waiting[place] = waiting[place + 1]
        place += 1
    insert_waiting(waiting, first, last - 1, rank, job)
    return True


@inline
def foremost(waiting, first, last, rank):
    """Return the job of waiting[first:last] that comes first by `rank`, ties by arrival."""
    head = waiting[first]
    for place in range(first + 1, last):
        if comes_before(rank, waiting[place], head):
            head = waiting[place]
    return head


@inline
def take_out(waiting, first, job):
    """Remove a job from waiting[first:last]; the list then begins one place later."""
    place = first
    while waiting[place] != job:
        place += 1
    while place > first:
        waiting[place] = waiting[place - 1]
        place -= 1


@inline
def link(after, before, end, job):
    """Add a job to the ring in the order of arrival that begins and ends at `end`."""
    last = before[end]
    while last != end and last > job:
        last = before[last]
    behind = after[last]
    after[last] = before[behind] = job
    before[job], after[job] = last, behind


@inline
def unlink(after, before, job):
    """Remove a job from its ring."""
    after[before[job]] = after[job]
    before[after[job]] = before[job]


def margin(jobs: Any) -> Any:
    """Return an upper bound of the rounding error of a sum of times; 0 for whole seconds. [s]."""
    dtype = jobs.submit.dtype
    last_instant = float(np.abs(jobs.submit).max() + np.maximum(jobs.run, jobs.estimate).sum())
    return dtype.type(0 if dtype.kind == "i" else 4 * np.spacing(last_instant))


# The running jobs, in arrays ordered by descending end: the next end comes last.
#
# Two pairs of arrays contain them: (ends, jobs) by their ends, and (planned_ends, planned_procs) by
# the planned ends. Only the first `n_running` entries are in use. Inserting or removing a job takes
# as many steps as jobs end before it: few for the hundreds that run on real machines, many for
# hundreds of thousands. Helpers take the arrays one by one, as the compiler counts references to
# arrays inside a tuple at every use.


@bare
def insert_end(ends, values, count, end, value):
    """Insert (`end`, `value`) into the first `count` entries, behind equal ends."""
    place = count
    while place > 0 and ends[place - 1] < end:
        ends[place] = ends[place - 1]
        values[place] = values[place - 1]
        place -= 1
    ends[place] = end
    values[place] = value


@bare
def insert_end_in_order(ends, jobs, count, end, job):
    """Insert as `insert_end` does, but before equal ends: the first start is taken first."""
    place = count
    while place > 0 and ends[place - 1] <= end:
        ends[place] = ends[place - 1]
        jobs[place] = jobs[place - 1]
        place -= 1
    ends[place] = end
    jobs[place] = job


@bare
def remove_end(ends, values, count, end, value):
    """Remove one entry (`end`, `value`) from the first `count` entries, which hold it."""
    place = count - 1
    moved_end, moved = ends[place], values[place]
    while moved != value or moved_end != end:
        place -= 1
        ends[place], moved_end = moved_end, ends[place]
        values[place], moved = moved, values[place]


def move(values, low, high, by):
    """Move values[low:high] by `by` places."""
    values[low + by : high + by] = values[low:high].copy()


@when_compiling
def _move_at_once():
    """Move by one call of the C library."""
    from numba.core import cgutils, types
    from numba.extending import lower_builtin, type_callable

    @type_callable(move)
    def _type_of_move(context):
        return lambda values, low, high, by: types.none

    @lower_builtin(move, types.Array, types.Integer, types.Integer, types.Integer)
    def _move(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        low, high, by = (
            context.cast(builder, argument, kind, types.int64)
            for argument, kind in zip(arguments[1:], signature.args[1:], strict=True)
        )
        to, size = builder.gep(data, [builder.add(low, by)]), builder.sub(high, low)
        width = context.get_abi_sizeof(data.type.pointee)
        cgutils.raw_memmove(builder, to, builder.gep(data, [low]), size, width)
        return context.get_dummy_value()


# Classes of waiting jobs of equal size, each with a tree that finds those with short estimates.


class Classes(NamedTuple):
    """The classes of all jobs of a simulation, by group, then by size.

    Parameters
    ----------
    tree : ndarray, shape (n_nodes,)
        Smallest estimates of the waiting jobs. The tree of class c begins at `root[c]`; its node 1
        is the top, the children of node i are 2 i and 2 i + 1, its last `width[c]` nodes the
        leaves.
    root, width, size : ndarray of int64, shape (n_classes,)
        Where each tree begins, its number of leaves, and the processors of its jobs.
    first : ndarray of int64, shape (n_classes,)
        Where the jobs of each class begin in `member`.
    member : ndarray of int64, shape (n_jobs,)
        Jobs by class, and within one by arrival.
    job_class, node : ndarray of int64, shape (n_jobs,)
        Class of each job, and its leaf as a node of the tree of its class.
    group_first : ndarray of int64, shape (n_groups + 1,)
        Where the classes of each group begin.
    """

    tree: NDArray
    root: NDArray[np.int64]
    width: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    job_class: NDArray[np.int64]
    node: NDArray[np.int64]
    group_first: NDArray[np.int64]


def sort_into_classes(
    procs: NDArray[np.int64],
    group: NDArray[np.int64],
    n_groups: int,
    dtype: np.dtype,
) -> Classes:
    """Return the classes, with empty trees, of jobs numbered in the order of arrival."""
    sizes = np.flatnonzero(np.bincount(procs)) if procs.max() < 2**16 else distinct(procs)
    key = group * sizes.size + np.searchsorted(sizes, procs)
    member = stable_order(key)
    ordered = key[member]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    count = np.diff(np.append(first, procs.size))
    width = np.int64(1) << np.ceil(np.log2(count)).astype(np.int64)
    root = np.cumsum(2 * width) - 2 * width
    job_class = np.empty(procs.size, np.int64)
    node = np.empty(procs.size, np.int64)
    job_class[member] = np.repeat(np.arange(count.size), count)
    node[member] = np.arange(procs.size) + np.repeat(width - first, count)
    return Classes(
        tree=np.full(2 * width.sum(), never(dtype), dtype),
        root=root,
        width=width,
        size=sizes[ordered[first] % sizes.size],
        first=first,
        member=member,
        job_class=job_class,
        node=node,
        group_first=np.searchsorted(ordered[first], np.arange(n_groups + 1) * sizes.size),
    )
