"""Nodes where jobs need nothing but processors: their state in the compiled engine.

The nodes with equally many free cores are a *group*, a set of bits, and the groups are in the order
of the placement. So a job takes whole groups, and some nodes of the next one: no node is looked at
in vain. See `core_nodes_ledger`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.nodes import NodeHistory, history_room, new_history
from workloadkit.simulation.machine.shapes import CORES, FIRST, PACKED, SPREAD
from workloadkit.simulation.machine.words import WORD, n_words


class _At(Record):
    """What is known of the nodes."""

    n_parts: int  # written
    n_runs: int  # written
    given: bool  # whether jobs start where their parts say
    knows_then: bool  # whether `then` is kept
    n_over: int  # running jobs that are over at the shadow time
    claims: int  # the job for which nodes are reserved; -1 if they are to be found again
    partial: int  # the node that is reserved in part, -1 for none
    held: int  # how many of its cores
    late: int  # the job that starts and uses what is spare at the shadow time, -1 for none
    late_started: bool  # whether there was one since the reservation
    least_known: bool  # whether `least` is up to date
    least: int  # cores that are free now and spare then


class Level(NamedTuple):
    """Nodes by their free cores, at some second.

    Parameters
    ----------
    cores : ndarray of int64, shape (n_nodes,)
        Free cores.
    sets : ndarray of int64, shape (n_groups * width,)
        For each group `n_words` words with the nodes in it, a bit each, those of one word in turn;
        then words with the words of these that are not 0, in the same way.
    """

    cores: NDArray[np.int64]
    sets: NDArray[np.int64]


class CoreNodes(NamedTuple):
    """Nodes that serve jobs with processors only.

    Parameters
    ----------
    level, shadow : ndarray
        As in `hardware.PoolState`.
    now, then : Level
        The nodes now; at the shadow time, before anything is reserved then.
    place_of : ndarray of int64, shape (most + 1,)
        Where in `sets` the group of nodes with so many free cores begins; that of full nodes is the
        last one.
    cores_of : ndarray of int64, shape (n_groups,)
        The free cores of each node of a group; 0 where they differ, and at last for full nodes.
    width, n_words : int
        Words of a group in `sets`, and those of them that have nodes.
    reserved : ndarray of int64, shape (n_words,)
        The nodes that are reserved, as bits.
    is_over : ndarray of bool, shape (n_jobs,)
        Whether a running job is over at the shadow time, so that its cores are free in `then`.
    first, last : ndarray of int64, shape (n_jobs,)
        The parts of each job, in the history.
    history : NodeHistory
    headroom : int
        Parts and runs that the next instant may record.
    by_amounts : bool
        Whether reservations are of a number of processors.
    unsteady : bool
        As in `nodes.NodesState`.
    at : record
    """

    level: NDArray[np.int64]
    shadow: NDArray
    now: Level
    then: Level
    place_of: NDArray[np.int64]
    cores_of: NDArray[np.int64]
    width: int
    n_words: int
    reserved: NDArray[np.int64]
    is_over: NDArray[np.bool_]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    history: NodeHistory
    headroom: int
    by_amounts: bool
    unsteady: bool
    at: _At


def suit(site: Any) -> bool:
    """Whether no job of a site needs more than processors, and groups come one after the other."""
    return site.placement in (FIRST, PACKED, SPREAD) and bool(site.only_processors.all())


def new_core_nodes(site: Any, jobs: Jobs, n_planned: int = 0) -> CoreNodes:
    """Return nodes, all free, with `n_planned` rows for a profile of processors.

    Parameters
    ----------
    site : NodeSite
        One that they suit.
    jobs : Jobs
    """
    dtype, n_jobs = jobs.submit.dtype, jobs.submit.size
    cores = np.fromiter((node[CORES] for node in site.capacity), np.int64, len(site.capacity))
    free = np.arange(1, int(cores.max()) + 1)
    each = {FIRST: np.zeros(1, np.int64), PACKED: free, SPREAD: free[::-1]}[site.placement]
    group_of = np.append(each.size, each - 1 if each[0] else 0 * free)
    sets, words = _sets(group_of[cores], each.size + 1)
    level = np.empty(PLANNED + n_planned, np.int64)
    level[FREE] = cores.sum()
    headroom = history_room(cores)
    by_amounts = site.claim == "amounts"
    return CoreNodes(
        level=level,
        shadow=np.empty(1, dtype),
        now=Level(cores, sets.ravel()),
        then=Level(np.empty_like(cores), np.empty(sets.size, np.int64)),
        place_of=group_of * sets.shape[1],
        cores_of=np.append(each, 0),
        width=sets.shape[1],
        n_words=words,
        reserved=np.empty(words, np.int64),
        is_over=np.zeros(n_jobs, np.bool_),
        first=np.empty(n_jobs, np.int64),
        last=np.empty(n_jobs, np.int64),
        history=new_history(jobs, cores.size, headroom),
        headroom=headroom,
        by_amounts=by_amounts,
        unsteady=cores.size > 1 and not by_amounts and site.placement != FIRST,
        at=_At(claims=-1, partial=-1, late=-1),
    )


def _sets(group: NDArray[np.int64], n_groups: int) -> tuple[NDArray[np.int64], int]:
    """Return the sets of nodes that are in a group each, by group, and the words for the nodes."""
    words = _bits(group, np.arange(group.size), (n_groups, group.size))
    some_of, word = np.nonzero(words)
    others = _bits(some_of, word, words.shape)
    return np.hstack([words, others]), words.shape[1]


def _bits(
    group: NDArray[np.int64], element: NDArray[np.int64], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return sets of elements as bits of words, by group."""
    found = np.zeros((shape[0], n_words(shape[1])), np.int64)
    np.bitwise_or.at(found, (group, element // WORD), 1 << element % WORD)
    return found
