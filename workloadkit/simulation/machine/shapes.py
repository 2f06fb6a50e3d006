"""The shapes of jobs: what they need of a machine of nodes, each distinct need once."""

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
    """What a job needs, or columns of what jobs need.

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
