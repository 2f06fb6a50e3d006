"""Many waiting jobs: trees that find the first one to backfill.

Jobs of the same size form a class, and each class has a tree of smallest estimates whose leaves
are its jobs in the order of arrival. "The first job in order that needs at most so many
processors and ends in time" is then the earliest of the classes' first hits, at a cost that hardly
grows with the length of the queue.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper


class Forest(NamedTuple):
    """The classes of all jobs of a simulation, and their trees.

    Parameters
    ----------
    tree : ndarray, shape (n_nodes,)
        Smallest estimates. The tree of class c begins at `root[c]`; its node 1 is the top, the
        children of node i are 2 i and 2 i + 1, and its last `width[c]` nodes are the leaves.
    root, width, size : ndarray of int64, shape (n_classes,)
        Where each tree begins, its number of leaves, and the processors of its jobs, ascending.
    first : ndarray of int64, shape (n_classes + 1,)
        Where the jobs of each class begin in `member`.
    member : ndarray of int64, shape (n_jobs,)
        Jobs by class, and within one by arrival.
    job_class : ndarray of int64, shape (n_jobs,)
        Class of each job.
    node : ndarray of int64, shape (n_jobs,)
        Leaf of each job, as a node of its class's tree.
    """

    tree: NDArray
    root: NDArray[np.int64]
    width: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    job_class: NDArray[np.int64]
    node: NDArray[np.int64]


def grow_forest(procs: NDArray[np.int64], nothing: float, dtype: np.dtype) -> Forest:
    """Make the empty trees for jobs that are numbered in the order of arrival.

    Parameters
    ----------
    procs : ndarray of int64, shape (n_jobs,)
    nothing : scalar
        What an empty leaf holds: more than any estimate.
    dtype : dtype
        Of the estimates.
    """
    narrow = procs.astype(np.uint16) if procs.max() < 2**16 else procs  # radix sort up to 16 bits
    member = np.argsort(narrow, kind="stable")
    ordered = procs[member]
    first = np.append(np.flatnonzero(np.diff(ordered, prepend=0)), procs.size)
    count = np.diff(first)
    width = np.int64(1) << np.ceil(np.log2(count)).astype(np.int64)
    root = np.cumsum(2 * width) - 2 * width
    job_class = np.empty(procs.size, np.int64)
    node = np.empty(procs.size, np.int64)
    job_class[member] = np.repeat(np.arange(count.size), count)
    node[member] = np.arange(procs.size) + np.repeat(width - first[:-1], count)
    tree = np.full(2 * width.sum(), nothing, dtype)
    return Forest(tree, root, width, ordered[first[:-1]], first, member, job_class, node)


@helper
def set_leaf(tree, root, node, estimate):
    """Give a leaf an estimate, and the nodes above it the smallest below them."""
    tree[root + node] = estimate
    while node > 1:
        node >>= 1
        smallest = min(tree[root + 2 * node], tree[root + 2 * node + 1])
        if tree[root + node] == smallest:
            return
        tree[root + node] = smallest


@helper
def next_member(tree, root, width, members, place, longest, none):
    """First waiting job from `place` on in a class with an estimate of at most `longest`.

    `members` are all jobs of the class; `none` is returned where there is no such job.
    """
    if place >= members.size or not tree[root + 1] <= longest:
        return none
    node = width + place
    while not tree[root + node] <= longest:  # on to the next subtree to the right
        while node & 1:
            node >>= 1
        if node == 0:
            return none
        node += 1
    while node < width:  # down to its first leaf that will do
        node *= 2
        if not tree[root + node] <= longest:
            node += 1
    return members[node - width]
