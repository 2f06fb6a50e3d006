"""The shapes of jobs on a machine of nodes, and where they are placed, in plain Python."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.machine.requests import Requests

#: More processors, nodes or kilobytes than any machine has; sums of it over nodes do not overflow.
UNLIMITED = 1 << 40

# Resources of a node.
CORES, MEMORY, GPUS = range(3)


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
    memory, node_memory : int
        Memory for each processor, and on each node. [KB]
    gpus : int
        GPUs on each node.
    whole : int
        Whether nodes are given as a whole.
    kinds : int
        Set of the node types that can serve the job, as bits.
    """

    procs: Any
    per_node: Any
    fewest: Any
    most: Any
    memory: Any
    node_memory: Any
    gpus: Any
    whole: Any
    kinds: Any

    @property
    def limits_nodes(self) -> bool:
        """Whether the number of nodes is limited."""
        return bool(self.fewest > 1 or self.most < self.procs)


class Shapes(NamedTuple):
    """The distinct needs of jobs.

    Parameters
    ----------
    table : ndarray of int64, shape (n_shapes, 9)
        The fields of `Shape`.
    pools : ndarray of int64, shape (n_shapes, n_pools)
        Amounts of pools.
    of_job : ndarray of int64, shape (n_jobs,)
        The shape of each job, by its place in the log's workload.
    """

    table: NDArray[np.int64]
    pools: NDArray[np.int64]
    of_job: NDArray[np.int64]

    def shape(self, number: int) -> Shape:
        """Return a shape."""
        return Shape(*self.table[number].tolist())

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
        more = need.memory + need.node_memory + need.gpus + need.whole + self.pools.sum(axis=1)
        few = (need.fewest <= 1) & (need.most >= need.procs) & (need.per_node >= cores)
        only: NDArray[np.bool_] = few & (more == 0) & (need.kinds & kinds == kinds)
        return only


def shapes_of(
    procs: NDArray[np.int64],
    requests: Requests,
    row: NDArray[np.int64],
    machine: MachineDescription,
    kinds: Sequence[int],
) -> Shapes:
    """Return what jobs need of the nodes of some types.

    GPUs are requested for a whole job. It takes as many on each node; if its number of nodes is
    unknown, it runs on the fewest nodes that have them.

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
    gpus, few = _gpus(procs, nodes, requests.gpus[row], eligible, types)
    fewest, most = np.where(few > 0, few, fewest), np.where(few > 0, few, most)
    memory, on_node = _memory(requests, row, types)
    per_node = requests.per_node[row]
    needs = Shape(
        procs=procs,
        per_node=np.where(per_node > 0, per_node, UNLIMITED),
        fewest=fewest,
        most=most,
        memory=memory,
        node_memory=on_node,
        gpus=gpus,
        whole=requests.exclusive[row],
        kinds=eligible @ (1 << np.arange(len(types))),
    )
    pools = requests.pools[row]
    first, of_job = _distinct([*needs, *pools.T])
    table = np.column_stack([need[first] for need in needs]).astype(np.int64)
    return Shapes(table, np.ascontiguousarray(pools[first]), of_job)


def _memory(
    requests: Requests, row: NDArray[np.int64], types: Sequence[NodeType]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the memory for each processor and on each node; 0 where it cannot be lacking.

    That is so if no job needs more than its processors' share in any node.
    """
    memory, on_node = (
        np.ceil(amount[row]).astype(np.int64) for amount in (requests.memory, requests.node_memory)
    )
    shares = [kind.memory // kind.cores for kind in types if kind.memory is not None]
    if not shares or (not on_node.any() and memory.max(initial=0) <= min(shares)):
        memory, on_node = np.zeros_like(memory), np.zeros_like(on_node)
    return memory, on_node


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


def _gpus(
    procs: NDArray[np.int64],
    nodes: NDArray[np.int64],
    gpus: NDArray[np.int64],
    eligible: NDArray[np.bool_],
    types: Sequence[NodeType],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the GPUs on each node, and the number of nodes that follows from GPUs, else 0."""
    there = np.array([kind.gpus for kind in types])
    cores = np.array([kind.cores for kind in types])
    serves = eligible & (there > 0)
    largest = np.where(serves, there, 0).max(axis=1, initial=0)
    widest = np.where(serves, cores, 0).max(axis=1, initial=0)
    few = np.maximum(-(-gpus // np.maximum(largest, 1)), -(-procs // np.maximum(widest, 1)))
    few = np.where((gpus > 0) & (nodes == 0), np.minimum(few, procs), 0)
    n_nodes = np.where(nodes > 0, nodes, np.maximum(few, 1))
    return -(-gpus // n_nodes), few


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

#: Free cores, memory and GPUs of each node.
Free = Sequence[Sequence[int]]


def find_place(
    shape: Shape, free: Free, capacity: Free, kinds: Sequence[int], placement: str
) -> dict[int, int] | None:
    """Return the processors that a job takes on nodes, None if it does not fit.

    Parameters
    ----------
    shape : Shape
        What it needs.
    free, capacity : sequence of (int, int, int)
        Cores, memory and GPUs of each node: free, and all.
    kinds : sequence of int
        Type of each node.
    placement : str
        One of `PLACEMENTS`.

    Examples
    --------
    >>> job = Shape(5, 8, 1, 8, 0, 0, 0, 0, 1)
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
    if free[MEMORY] < shape.node_memory or free[GPUS] < shape.gpus:
        return 0
    room = min(free[CORES], shape.per_node)
    return min(room, free[MEMORY] // shape.memory) if shape.memory else room


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
