"""Classes of waiting jobs of equal size, each with a tree that finds those with short estimates.

No tree can follow priorities that change with time. These trees keep the order of arrival, which
at least bounds the priorities. Jobs may be split into groups first, such as the jobs of each user.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.simulation.compiled.orders import stable_order
from workloadkit.simulation.compiled.state import never


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
