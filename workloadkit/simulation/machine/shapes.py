"""The shapes of jobs on a machine of nodes, and where they are placed, in plain Python."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.machine.requests import Requests
from workloadkit.record_fields import NODE_RESOURCES, amounts_on

#: More processors, nodes or kilobytes than any machine has; sums of it over nodes do not overflow.
UNLIMITED = 1 << 40

# The first resource of a node; those of `NODE_RESOURCES` follow.
CORES = 0


# What a job needs of each resource for each processor, and on each node, if only processors.
ONLY_CORES = (1, *(0 for _ in NODE_RESOURCES))
NO_AMOUNTS = (0,) * len(ONLY_CORES)


class Shape(NamedTuple):
    """The resources that one job requests; with arrays as fields, those of many jobs.

    Parameters
    ----------
    procs : int
        Processors.
    per_node : int
        The most processors on one node.
    fewest, most : int
        Limits of the number of nodes.
    whole : int
        Whether nodes are given as a whole.
    kinds : int
        Set of the node types that can serve the job, as bits.
    of_proc, of_node : sequence of int
        What it needs of each resource for each processor, and on each node; processors come first.
    """

    procs: Any
    per_node: Any
    fewest: Any
    most: Any
    whole: Any
    kinds: Any
    of_proc: Any = ONLY_CORES
    of_node: Any = NO_AMOUNTS

    @property
    def limits_nodes(self) -> bool:
        """Whether the number of nodes is limited."""
        return bool(self.fewest > 1 or self.most < self.procs)

    def amounts(self, procs: int) -> list[int]:
        """Return what it takes of each resource of a node where it has so many processors."""
        return [on + procs * each for on, each in zip(self.of_node, self.of_proc, strict=True)]


class Shapes(NamedTuple):
    """The distinct needs of jobs.

    Parameters
    ----------
    table : ndarray of int64, shape (n_shapes, 6)
        The fields of `Shape` but the last two.
    of_proc, of_node : ndarray of int64, shape (n_shapes, n_resources)
        These two.
    pools : ndarray of int64, shape (n_shapes, n_pools)
        Amounts of pools.
    of_job : ndarray of int64, shape (n_jobs,)
        The shape of each job, by its place in the log's workload.
    """

    table: NDArray[np.int64]
    of_proc: NDArray[np.int64]
    of_node: NDArray[np.int64]
    pools: NDArray[np.int64]
    of_job: NDArray[np.int64]

    def shape(self, number: int) -> Shape:
        """Return a shape."""
        others: list[Any] = [column[number].tolist() for column in (self.of_proc, self.of_node)]
        return Shape(*self.table[number].tolist(), *others)

    @property
    def need_more(self) -> NDArray[np.bool_]:
        """Which shapes need other resources of nodes than processors."""
        return np.any(np.hstack([self.of_proc[:, CORES + 1 :], self.of_node]), axis=1)

    def need_processors_only(self, cores: int, kinds: int) -> NDArray[np.bool_]:
        """Return which shapes fit on any nodes that have enough processors free.

        Parameters
        ----------
        cores : int
            The most processors of a node.
        kinds : int
            Set of the existing node types, as bits.
        """
        need = Shape(*self.table.T)
        more = need.whole + self.pools.sum(axis=1) + self.need_more
        few = (need.fewest <= 1) & (need.most >= need.procs) & (need.per_node >= cores)
        only: NDArray[np.bool_] = few & (more == 0) & (need.kinds & kinds == kinds)
        return only


def joined(shapes: Shapes, more: Sequence[Shape], pools: Sequence[NDArray[np.int64]]) -> Shapes:
    """Return shapes, and behind them one for each of further jobs."""
    if not more:
        return shapes
    first = len(shapes.table)
    *others, of_proc, of_node = (np.array(column, np.int64) for column in zip(*more, strict=True))
    return Shapes(
        np.concatenate([shapes.table, np.column_stack(others)]),
        np.concatenate([shapes.of_proc, of_proc]),
        np.concatenate([shapes.of_node, of_node]),
        np.concatenate([shapes.pools, pools]),
        np.append(shapes.of_job, np.arange(first, first + len(more))),
    )


def shapes_of(
    procs: NDArray[np.int64],
    requests: Requests,
    row: NDArray[np.int64],
    machine: MachineDescription,
    kinds: Sequence[int],
) -> Shapes:
    """Return what jobs need of the nodes of some types.

    What a whole job requests, such as GPUs, it takes in equal parts on each node; if its number of
    nodes is unknown, it runs on the fewest nodes that have it.

    Parameters
    ----------
    procs : ndarray of int64, shape (n_jobs,)
        Processors of each job.
    requests : Requests
    row : ndarray of int64, shape (n_jobs,)
        Row of each job in the log.
    machine : MachineDescription
    kinds : sequence of int
        Places of the types in the machine's.
    """
    types = [machine.nodes[kind] for kind in kinds]
    eligible = requests.eligible[row][:, list(kinds)]
    nodes, fewest, most = _nodes(procs, requests, row, machine)
    there = np.array([amounts_on(kind, UNLIMITED) for kind in types]).reshape(len(types), -1)
    of_job, few = requests.of_job[row], np.zeros_like(procs)
    for resource in range(of_job.shape[1]):
        fewer = _fewest(procs, of_job[:, resource], there[:, [CORES, resource + 1]], eligible)
        few = np.maximum(few, np.where(nodes > 0, 0, fewer))
    fewest, most = np.where(few > 0, few, fewest), np.where(few > 0, few, most)
    n_nodes = np.where(nodes > 0, nodes, np.maximum(few, 1))[:, np.newaxis]
    of_proc, of_node = (np.ceil(need[row]) for need in (requests.of_proc, requests.of_node))
    of_node = of_node.astype(np.int64) - (-of_job // n_nodes)
    of_proc, of_node = _lacking(of_proc.astype(np.int64), of_node, types)
    per_node = requests.per_node[row]
    needs = Shape(
        procs=procs,
        per_node=np.where(per_node > 0, per_node, UNLIMITED),
        fewest=fewest,
        most=most,
        whole=requests.exclusive[row],
        kinds=eligible @ (1 << np.arange(len(types))),
        of_proc=np.pad(of_proc, ((0, 0), (1, 0)), constant_values=1),
        of_node=np.pad(of_node, ((0, 0), (1, 0))),
    )
    *others, of_proc, of_node = needs
    pools = requests.pools[row]
    first, shape_of_job = _distinct([*others, *of_proc.T[1:], *of_node.T[1:], *pools.T])
    table = np.column_stack([need[first] for need in others]).astype(np.int64)
    of_proc, of_node, pools = (
        np.ascontiguousarray(need[first]) for need in (of_proc, of_node, pools)
    )
    return Shapes(table, of_proc, of_node, pools, shape_of_job)


def _lacking(
    of_proc: NDArray[np.int64], of_node: NDArray[np.int64], types: Sequence[NodeType]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what jobs need for each processor and on each node; 0 of what cannot be lacking.

    That is so if no job needs more than its processors' share in any node.
    """
    lacks = np.ones(len(NODE_RESOURCES), bool)
    for i, resource in enumerate(NODE_RESOURCES):
        known = [(resource.of(kind, None), kind.cores) for kind in types]
        shares = [amount // cores for amount, cores in known if amount is not None]
        most = of_proc[:, i].max(initial=0)
        lacks[i] = bool(shares) and (of_node[:, i].any() or most > min(shares))
    return of_proc * lacks, of_node * lacks


def _distinct(columns: Sequence[NDArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each distinct one, and which of these each row is."""
    import pandas as pd

    codes = np.zeros(columns[0].size, np.int64)
    for column in columns:
        its, values = pd.factorize(column)
        codes = pd.factorize(codes * max(len(values), 1) + its)[0].astype(np.int64)
    first = np.empty(codes.max(initial=-1) + 1, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return first, codes


def _nodes(
    procs: NDArray[np.int64],
    requests: Requests,
    row: NDArray[np.int64],
    machine: MachineDescription,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of nodes of each job, 0 for unknown, and its limits.

    Each node serves at least one processor. The limits of a job's partition apply if it does not
    request a number of nodes.
    """
    nodes = np.minimum(requests.nodes[row], procs)
    partition = requests.partition[row]
    least = np.array([*(p.min_nodes or 1 for p in machine.partitions), 1])
    largest = np.array([*(p.max_nodes or UNLIMITED for p in machine.partitions), UNLIMITED])
    fewest = np.where(nodes > 0, nodes, np.minimum(least[partition], procs))
    most = np.where(nodes > 0, nodes, largest[partition])
    return nodes, fewest, most


def _fewest(
    procs: NDArray[np.int64],
    of_job: NDArray[np.int64],
    there: NDArray[np.int64],
    eligible: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the fewest nodes that have what jobs need of a resource, 0 for those that need none.

    `there` has the processors and the resource of a node of each type.
    """
    serves = eligible & (there[:, 1] > 0)
    widest, largest = (np.where(serves, has, 0).max(axis=1, initial=0) for has in there.T)
    few = np.maximum(-(-of_job // np.maximum(largest, 1)), -(-procs // np.maximum(widest, 1)))
    return np.where(of_job > 0, np.minimum(few, procs), 0)


# Where jobs are placed on nodes, in plain Python.
#
# The room of a node for a job is the number of the job's processors that fit there; a job that gets
# whole nodes has room on empty nodes only. A job fits if there is room for all its processors. It
# takes the nodes that come first in the order of the placement: as many processors on each as there
# is room for, and a node only if the others can be placed on the nodes behind it, which matters if
# the number of its nodes is limited.

#: Orders of nodes: by number; fewest free processors first; most first; from the smallest run of
#: neighbours that holds the job, or the largest runs; from one run that must hold it.
PLACEMENTS = ("first", "packed", "spread", "consecutive", "contiguous")
FIRST, PACKED, SPREAD, CONSECUTIVE, CONTIGUOUS = PLACEMENTS

#: Free cores and other resources of each node.
Free = Sequence[Sequence[int]]


def find_place(
    shape: Shape, free: Free, capacity: Free, kinds: Sequence[int], placement: str
) -> dict[int, int] | None:
    """Return the processors that a job takes on nodes, None if it does not fit.

    Parameters
    ----------
    shape : Shape
        What it needs.
    free, capacity : sequence of sequence of int
        Cores and other resources of each node: free, and all.
    kinds : sequence of int
        Type of each node.
    placement : str
        One of `PLACEMENTS`.

    Examples
    --------
    >>> job = Shape(5, 8, 1, 8, 0, 1)
    >>> free = [(2, 0, 0), (0, 0, 0), (3, 0, 0), (4, 0, 0), (1, 0, 0)]
    >>> [find_place(job, free, free, [0] * 5, placement) for placement in PLACEMENTS[:3]]
    [{0: 2, 2: 3}, {4: 1, 0: 2, 2: 2}, {3: 4, 2: 1}]
    """
    room = {
        node: fitting
        for node, left in enumerate(free)
        if (fitting := _room(shape, left, capacity[node], kinds[node])) > 0
    }
    if placement == CONTIGUOUS:
        for run in sorted(_runs(room), key=lambda run: sum(room[node] for node in run)):
            for begin in range(len(run)):
                taken = _fill(shape, run[begin:], room, skips=False)
                if taken is not None:
                    return taken
        return None
    return _fill(shape, _order(shape, free, room, placement), room, skips=True)


def _room(shape: Shape, free: Sequence[int], capacity: Sequence[int], kind: int) -> int:
    """Return how many processors of a job fit on a node."""
    if not shape.kinds >> kind & 1 or (shape.whole and free[CORES] < capacity[CORES]):
        return 0
    room = min(free[CORES], shape.per_node)
    for left, on_node, each in zip(free, shape.of_node, shape.of_proc, strict=True):
        if left < on_node:
            return 0
        room = min(room, (left - on_node) // each) if each else room
    return room


def _runs(room: dict[int, int]) -> list[list[int]]:
    """Return the nodes with room as runs of neighbours."""
    runs: list[list[int]] = []
    for node in room:
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _order(shape: Shape, free: Free, room: dict[int, int], placement: str) -> list[int]:
    """Return the nodes with room in the order of a placement; equal ones by number."""
    if placement == PACKED:
        return sorted(room, key=lambda node: free[node][CORES])
    if placement == SPREAD:
        return sorted(room, key=lambda node: -free[node][CORES])
    if placement == FIRST:
        return list(room)
    runs = _runs(room)
    size = {run[0]: sum(room[node] for node in run) for run in runs}
    runs.sort(key=lambda run: size[run[0]])
    holding = [run for run in runs if size[run[0]] >= shape.procs]
    if holding:
        runs.remove(holding[0])
        runs.insert(0, holding[0])
    else:
        runs.sort(key=lambda run: -size[run[0]])
    return [node for run in runs for node in run]


def _fill(
    shape: Shape, order: Sequence[int], room: dict[int, int], *, skips: bool
) -> dict[int, int] | None:
    """Take processors of nodes in their order, without or with nodes that are skipped."""
    if not shape.limits_nodes and skips and sum(room.values()) < shape.procs:
        return None
    left = shape.procs
    taken: dict[int, int] = {}
    for place, node in enumerate(order):
        if left == 0:
            break
        further = max(shape.fewest - len(taken) - 1, 0)  # each of these takes at least one
        number = min(room[node], left - further)
        taken[node] = number
        left -= number
        if number <= 0 or len(taken) > shape.most:
            suits = False
        else:
            suits = not (skips and shape.limits_nodes) or _can_follow(
                shape, left, [room[other] for other in order[place + 1 :]], len(taken)
            )
        if not suits:
            if not skips:
                return None
            del taken[node]
            left += number
    return taken if left == 0 and len(taken) >= shape.fewest else None


def _can_follow(shape: Shape, left: int, rooms: list[int], n_taken: int) -> bool:
    """Whether the rest of a job fits on nodes that come later."""
    best = sorted(rooms, reverse=True)[: shape.most - n_taken]
    return left <= sum(best) and shape.fewest - n_taken <= min(left, len(rooms))
