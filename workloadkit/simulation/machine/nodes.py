"""Nodes and pools: their state in the compiled engine.

The place of a job is a list of *parts*, each of one node, written at its start and kept, so that
the history of all runs costs nothing more. See `nodes_ledger`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.shapes import CORES, PLACEMENTS

# Columns of NodesState.table: those of `Shapes.table`, whether the number of nodes is limited, and
# whether only processors matter.
PROCS, PER_NODE, FEWEST, MOST, WHOLE, KINDS, LIMITED, SIMPLE = range(8)

# Rows of NodesState.free and pools after FREE and SPARE: what is free in both.
LEAST = 2

# Rows of NodesState.refused: shapes that do not fit now; that do not fit next to the reservation.
NOW, LATE = range(2)

# Nodes in a word of bits, and its logarithm.
WORD_BITS = 5
WORD = 1 << WORD_BITS

FIRST, PACKED, SPREAD, CONSECUTIVE, CONTIGUOUS = range(len(PLACEMENTS))


class _At(Record):
    """What is known of the nodes."""

    since_now: int  # counter of the changes that end refusals now
    since_late: int  # and of those next to the reservation
    n_parts: int  # written
    n_runs: int  # written
    chosen: int  # the job whose place is chosen, -1 for none
    n_chosen: int  # its number of nodes
    late_started: bool  # whether a job has started that runs beyond the shadow time
    least_known: bool  # whether LEAST is up to date
    least_cores: int  # its free cores
    given: bool  # whether jobs start where their parts say


class NodeHistory(NamedTuple):
    """Runs of jobs on nodes, in the order in which these were released.

    Parameters
    ----------
    node, procs : ndarray of int64, shape (room,)
        The parts: a node, and the processors on it.
    job, first, last : ndarray of int64, shape (room,)
        By run: its job, and its parts, node[first:last].
    start, end : ndarray, shape (room,)
        [s]
    stopped : ndarray of bool, shape (room,)
        Whether an outage stopped the run; empty on a machine without outages.
    """

    node: NDArray[np.int64]
    procs: NDArray[np.int64]
    job: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    start: NDArray
    end: NDArray
    stopped: NDArray[np.bool_]


class NodeScratch(NamedTuple):
    """Work arrays.

    Parameters
    ----------
    order, other, room : ndarray of int64, shape (n_nodes,)
        Nodes in order; the same, to be sorted; the room of each node.
    run, size : ndarray of int64, shape (n_nodes + 1,)
        Begins of the runs of neighbours in `order`, and their room; before these are found, `size`
        has the free cores of the nodes in `order`.
    number : ndarray of int64, shape (most cores + 2,)
        Nodes by free cores, or by room.
    node, taken : ndarray of int64, shape (n_nodes,)
        The place that was found.
    """

    order: NDArray[np.int64]
    other: NDArray[np.int64]
    room: NDArray[np.int64]
    run: NDArray[np.int64]
    size: NDArray[np.int64]
    number: NDArray[np.int64]
    node: NDArray[np.int64]
    taken: NDArray[np.int64]


class NodesState(NamedTuple):
    """Nodes and pools.

    Parameters
    ----------
    level, shadow : ndarray
        As in `pool.PoolState`: free processors by row.
    free : ndarray of int64, shape (4, n_resources, n_nodes)
        Free cores and, if they matter, other resources of each node, by row: FREE, SPARE, LEAST,
        and another one.
    open : ndarray of int64, shape (4, n_words)
        The nodes that may have free cores, by row: a bit each, those of one word in turn.
    capacity : ndarray of int64, shape (n_nodes, n_resources)
    pools : ndarray of int64, shape (4, n_pools)
        Free amounts, by row.
    spare : ndarray of int64, shape (n_resources + n_pools,)
        What a reservation by amounts leaves: sums over nodes, and of pools.
    kind : ndarray of int64, shape (n_nodes,)
        Type of each node.
    table : ndarray of int64, shape (n_shapes, 8)
        See the names of its columns.
    of_proc, of_node : ndarray of int64, shape (n_shapes, n_resources)
        As in `Shapes`.
    of_pools : ndarray of int64, shape (n_shapes, n_pools)
    shape : ndarray of int64
        The shape of each job of the log.
    row : ndarray of int64, shape (n_jobs,), or None
        As in `pools.PoolsState`.
    refused : ndarray of int64, shape (2, n_shapes)
        Value of the counter at the last refusal of each shape.
    first, last : ndarray of int64, shape (n_jobs,)
        The parts of each job, in the history.
    history : NodeHistory
    headroom : int
        Parts and runs that the next instant may record.
    scratch : NodeScratch
    placement : int
    by_amounts : bool
    unsteady : bool
        Whether the reservation of a job may change when another one starts that runs beyond the
        shadow time: its nodes depend on what others hold then.
    at : record
    """

    level: NDArray[np.int64]
    shadow: NDArray
    free: NDArray[np.int64]
    open: NDArray[np.int64]
    capacity: NDArray[np.int64]
    pools: NDArray[np.int64]
    spare: NDArray[np.int64]
    kind: NDArray[np.int64]
    table: NDArray[np.int64]
    of_proc: NDArray[np.int64]
    of_node: NDArray[np.int64]
    of_pools: NDArray[np.int64]
    shape: NDArray[np.int64]
    row: NDArray[np.int64] | None
    refused: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    history: NodeHistory
    headroom: int
    scratch: NodeScratch
    placement: int
    by_amounts: bool
    unsteady: bool
    at: _At


def new_nodes(
    site: Any, jobs: Jobs, row: NDArray[np.int64] | None, n_planned: int = 0
) -> NodesState:
    """Return nodes, all free, with `n_planned` rows for a profile of processors.

    Parameters
    ----------
    site : NodeSite
    jobs : Jobs
    row : ndarray of int64, shape (n_jobs,), optional
        Place in the log of each job of the state; by default the jobs are those of the log.
    """
    dtype = jobs.submit.dtype
    capacity, shapes = np.array(site.capacity, np.int64), site.shapes
    if not shapes.need_more.any():
        capacity = np.ascontiguousarray(capacity[:, :1])
    n_nodes, n_resources = capacity.shape
    n_pools, n_shapes, n_jobs = len(site.pools), len(shapes.table), jobs.submit.size
    free, pools = np.empty((4, n_resources, n_nodes), np.int64), np.empty((4, n_pools), np.int64)
    free[FREE], pools[FREE] = capacity.T, site.pools
    level = np.empty(max(PLANNED + n_planned, 4), np.int64)
    level[FREE] = capacity[:, CORES].sum()
    most = int(capacity[:, CORES].max())
    sizes = (n_nodes,) * 3 + (n_nodes + 1,) * 2 + (most + 2,) + (n_nodes,) * 2
    scratch = NodeScratch(*(np.empty(size, np.int64) for size in sizes))
    table = _table(shapes.table, site.only_processors, n_nodes)
    by_amounts, is_first = site.claim == "amounts", site.placement == "first"
    headroom = history_room(capacity[:, CORES])
    return NodesState(
        level=level,
        shadow=np.empty(1, dtype),
        free=free,
        open=_all_open(n_nodes),
        capacity=capacity,
        pools=pools,
        spare=np.empty(n_resources + n_pools, np.int64),
        kind=np.array(site.kinds, np.int64),
        table=table,
        of_proc=shapes.of_proc,
        of_node=shapes.of_node,
        of_pools=shapes.pools,
        shape=shapes.of_job,
        row=row,
        refused=np.zeros((2, n_shapes), np.int64),
        first=np.empty(n_jobs, np.int64),
        last=np.empty(n_jobs, np.int64),
        history=new_history(jobs, n_nodes, headroom),
        headroom=headroom,
        scratch=scratch,
        placement=PLACEMENTS.index(site.placement),
        by_amounts=by_amounts,
        unsteady=n_nodes > 1 and not (site.is_one_pool or (not by_amounts and is_first)),
        at=_At(chosen=-1, since_now=1, since_late=1),
    )


def _all_open(n_nodes: int) -> NDArray[np.int64]:
    """Return rows of bits for nodes; those of `FREE` are set."""
    node = np.arange(n_nodes)
    found = np.zeros((4, -(-n_nodes // WORD)), np.int64)
    np.bitwise_or.at(found[FREE], node // WORD, 1 << node % WORD)
    return found


def _table(table: NDArray[np.int64], simple: NDArray[np.bool_], n_nodes: int) -> NDArray[np.int64]:
    """Return the shapes with two more columns."""
    limited = (table[:, FEWEST] > 1) | (table[:, MOST] < np.minimum(table[:, PROCS], n_nodes))
    return np.ascontiguousarray(np.column_stack([table, limited, simple]).astype(np.int64))


def history_room(cores: NDArray[np.int64]) -> int:
    """Return more parts and runs than an instant may record on nodes with so many cores."""
    return cores.size * (int(cores.max()) + 2)


def new_history(jobs: Jobs, n_nodes: int, headroom: int) -> NodeHistory:
    """Return an empty history; what is not used of it takes no memory."""
    n_parts = int(np.minimum(jobs.procs, n_nodes).sum()) + headroom
    n_runs = jobs.submit.size + headroom
    node, procs = (np.empty(n_parts, np.int64) for _ in range(2))
    job, first, last = (np.empty(n_runs, np.int64) for _ in range(3))
    start, end = (np.empty(n_runs, jobs.submit.dtype) for _ in range(2))
    return NodeHistory(node, procs, job, first, last, start, end, np.empty(0, np.bool_))
