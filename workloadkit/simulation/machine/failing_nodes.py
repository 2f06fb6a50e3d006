"""Nodes that go down and come up: their state in the compiled engine.

An expected change of the nodes is a *claim* that never ends: on the cores that go down then, less
those that come up. See `failing_nodes_ledger`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.machine.nodes import NodesState
from workloadkit.simulation.machine.nodes_claims import NodeClaims, new_claims
from workloadkit.simulation.machine.numbered import ANNOUNCED, Timetable, new_timetable
from workloadkit.simulation.machine.shapes import CORES
from workloadkit.simulation.machine.shutdowns import Shutdown
from workloadkit.simulation.state import Jobs, never

# A place in FailingNodes.at, after those of `numbered`: the changes in the timetable up to the last
# one that is known.
N_FORESEEN = 7


class NodeOutages(NamedTuple):
    """Which cores are down, and which outages are announced.

    Parameters
    ----------
    first, last : ndarray of int64, shape (n_outages,)
        The cores of each outage, core[first:last].
    core : ndarray of int64
    node : ndarray of int64, shape (n_cores,)
        Node of each core.
    n_down, n_then : ndarray of int64, shape (n_cores,)
        Outages of each core, now and at some later second.
    down, down_then : ndarray of int64, shape (n_nodes,)
        Number of cores of each node that are down then.
    announced : ndarray of bool, shape (n_outages,)
        Whether an outage has been announced.
    final : ndarray of int64, shape (n_outages,)
        The changes in the timetable up to its last one.
    part : ndarray of int64, shape (n_nodes,)
        Work array: a part of a claim for each node.
    whole : ndarray of int64, shape (n_parts,)
        For each part of the claims: 1 where a node loses its memory and GPUs, as all its cores are
        down; -1 where it has them again.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    core: NDArray[np.int64]
    node: NDArray[np.int64]
    n_down: NDArray[np.int64]
    n_then: NDArray[np.int64]
    down: NDArray[np.int64]
    down_then: NDArray[np.int64]
    announced: NDArray[np.bool_]
    final: NDArray[np.int64]
    part: NDArray[np.int64]
    whole: NDArray[np.int64]


class FailingNodes(NamedTuple):
    """Nodes with outages.

    Parameters
    ----------
    level, shadow : ndarray
        Those of the nodes.
    nodes : NodesState
    claims : NodeClaims
        Of the jobs; then, from n_jobs on, of the seconds with expected changes.
    outages : NodeOutages
    timetable : numbered.Timetable
    interruptions, lost, lost_work, hit, requeues
        As in `numbered.Numbered`.
    plans_many : bool
        Whether all reservations are claims; otherwise they are while changes are expected.
    refused : ndarray, shape (n_shapes,)
        Shortest estimate of a job of each shape that does not fit next to the claims now. [s]
    since : ndarray, shape (1,)
        The second of these refusals. [s]
    at : ndarray of int64, shape (8,)
        See the names of its places.
    """

    level: NDArray[np.int64]
    shadow: NDArray
    nodes: NodesState
    claims: NodeClaims
    outages: NodeOutages
    timetable: Timetable
    interruptions: NDArray[np.int64]
    lost: NDArray[np.bool_]
    lost_work: NDArray
    hit: NDArray[np.int64]
    requeues: bool
    plans_many: bool
    refused: NDArray
    since: NDArray
    at: NDArray[np.int64]


def new_failing(
    nodes: NodesState,
    jobs: Jobs,
    shutdowns: Sequence[Shutdown],
    *,
    requeues: bool,
    plans_many: bool,
) -> FailingNodes:
    """Return nodes that all work."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    node = np.repeat(np.arange(nodes.kind.size), nodes.capacity[:, CORES])
    timetable = new_timetable(shutdowns, dtype)
    outages = _new_outages(shutdowns, node, timetable)
    expected = (timetable.kind != ANNOUNCED) & ~timetable.surprise[timetable.outage]
    n_cores = (outages.last - outages.first)[timetable.outage[expected]]
    n_parts = np.append(np.minimum(jobs.procs, nodes.kind.size), n_cores)
    claims = new_claims(jobs, n_parts)
    claims.end[n_jobs:] = never(dtype)
    history = nodes.history._replace(stopped=np.zeros(nodes.history.job.size, np.bool_))
    return FailingNodes(
        level=nodes.level,
        shadow=nodes.shadow,
        nodes=nodes._replace(history=history),
        claims=claims,
        outages=outages._replace(whole=np.empty(claims.node.size, np.int64)),
        timetable=timetable,
        interruptions=np.zeros(n_jobs, np.int64),
        lost=np.zeros(n_jobs, np.bool_),
        lost_work=np.zeros(n_jobs, dtype),
        hit=np.empty(node.size, np.int64),
        requeues=requeues,
        plans_many=plans_many,
        refused=np.empty(len(nodes.table), dtype),
        since=np.full(1, -never(dtype)),
        at=np.zeros(8, np.int64),
    )


def _new_outages(
    shutdowns: Sequence[Shutdown], node: NDArray[np.int64], timetable: Timetable
) -> NodeOutages:
    """Return the outages before the first one, on cores of some nodes; without parts of claims."""
    n_outages, n_nodes = len(shutdowns), int(node[-1]) + 1
    last = np.cumsum([shutdown.processors.size for shutdown in shutdowns], dtype=np.int64)
    final = np.zeros(n_outages, np.int64)
    final[timetable.outage] = 1 + np.arange(timetable.outage.size)
    n_down, n_then, down, down_then, part = (
        np.zeros(size, np.int64) for size in (node.size, node.size, n_nodes, n_nodes, n_nodes)
    )
    return NodeOutages(
        first=np.append(0, last)[:-1],
        last=last,
        core=np.concatenate(
            [np.empty(0, np.int64), *(shutdown.processors for shutdown in shutdowns)]
        ),
        node=node,
        n_down=n_down,
        n_then=n_then,
        down=down,
        down_then=down_then,
        announced=np.zeros(n_outages, np.bool_),
        final=final,
        part=part,
        whole=np.empty(0, np.int64),
    )
