"""Hardware threads of a core: what a processor of a log is."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.machine.description import NodeType
from workloadkit.machine.hostlists import expand
from workloadkit.machine.requests import partitions_of

if TYPE_CHECKING:
    from workloadkit.trace import Trace


def threads_of_jobs(trace: "Trace") -> NDArray[np.int64] | None:
    """Return how many processors of each job are one core; None if it is not known of all jobs.

    The description of the machine states it by node type. If types differ, a job's partition
    determines its type, else its list of nodes. Jobs that got no processors count as 1.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from workloadkit import MachineDescription, NodeType, Trace
    >>> machine = MachineDescription(nodes=(NodeType(count=2, cores=8, threads_per_core=2),))
    >>> log = Trace.from_columns({"submit": [0, 5], "procs": [4, 8]})
    >>> threads_of_jobs(replace(log, machine=machine))
    array([2, 2])
    """
    machine = trace.machine
    if machine is None or not machine.nodes:
        return None
    stated = {kind.threads_per_core for kind in machine.nodes}
    if len(stated) == 1:
        (threads,) = stated
        return None if threads is None else np.full(trace.n_jobs, threads)
    found = np.append([_common(machine.nodes_of(part.name)) for part in machine.partitions], 0)
    of_job = found[partitions_of(trace, machine)].astype(np.int64)
    of_job[~(trace.used_procs > 0)] = 1
    rows = np.flatnonzero(of_job == 0)
    if rows.size and trace.sidecar is not None and "node_list" in trace.sidecar:
        lists = trace.sidecar["node_list"].iloc[rows].astype("category")
        lists = lists.cat.remove_unused_categories()
        of_node = {
            node: kind.threads_per_core or 0
            for kind in machine.nodes
            for node in (expand(kind.names) if kind.names else ())
        }
        of_list = np.array([*(_of_nodes(text, of_node) for text in lists.cat.categories), 0])
        of_job[rows] = of_list[lists.cat.codes]
    return of_job if of_job.all() else None


def _of_nodes(text: str, of_node: dict[str, int]) -> int:
    """Return the threads of a core of the nodes in a list, 0 if they differ or are unknown."""
    try:
        stated = {of_node.get(node, 0) for node in expand(text)}
    except WorkloadError:
        return 0
    return stated.pop() if len(stated) == 1 else 0


def _common(kinds: tuple[NodeType, ...]) -> int:
    """Return the threads of a core that all node types have, else 0."""
    stated = {kind.threads_per_core or 0 for kind in kinds}
    return stated.pop() if len(stated) == 1 else 0
