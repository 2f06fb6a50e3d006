"""Nodes that go down and come up, compiled: their state, and the functions of `changes`.

An expected change of the nodes is a *claim* that never ends: on the cores that go down then, less
those that come up. See `failing_nodes_ledger`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.queue import insert_waiting
from workloadkit.simulation.compiled.state import Jobs, never
from workloadkit.simulation.machine.changes import stop
from workloadkit.simulation.machine.ledger import FREE
from workloadkit.simulation.machine.nodes import NodesState
from workloadkit.simulation.machine.nodes_claims import NodeClaims, new_claims
from workloadkit.simulation.machine.nodes_ledger import change_cores, end_refusals
from workloadkit.simulation.machine.numbered import (
    ANNOUNCED,
    DOWN,
    ChangesAt,
    Timetable,
    new_timetable,
)
from workloadkit.simulation.machine.shapes import CORES
from workloadkit.simulation.machine.shutdowns import Shutdown


class _At(ChangesAt):
    """What is known of nodes that fail."""

    n_foreseen: int  # changes in the timetable up to the last one that is known


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
    at : record
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
    at: _At


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
        at=_At(),
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


# Outages of nodes: the functions of `changes`.


@inline
def announce(state, outage, now):
    """Expect an outage."""
    outages, at = state.machine.outages, state.machine.at
    outages.announced[outage] = True
    at.n_foreseen = max(at.n_foreseen, outages.final[outage])
    _foresee(state)


@inline
def shut(state, outage, now):
    """Begin an outage, and stop the jobs that started last where cores are missing."""
    _change_free(state, outage, 1)
    n_hit = _stop_last(state, _find_lacking(state), now)
    _foresee(state)
    return n_hit


@inline
def reopen(state, outage, now):
    """End an outage."""
    _change_free(state, outage, -1)
    _foresee(state)


@bare
def _change_free(state, outage, sign):
    """Let the cores of an outage go down (1) or come up (-1)."""
    nodes, outages = state.machine.nodes, state.machine.outages
    for place in range(outages.first[outage], outages.last[outage]):
        core = outages.core[place]
        node = outages.node[core]
        cores, whole = _count(nodes, outages.n_down, outages.down, core, node, sign)
        lose_cores(nodes, FREE, node, cores, whole)
    end_refusals(nodes)


@inline
def _count(nodes, n_down, down, core, node, sign):
    """Count an outage of a core; return what its node loses: cores, and whether all else (1)."""
    n_down[core] += sign
    cores = sign if n_down[core] == max(sign, 0) else 0
    most = max(down[node], down[node] + cores)
    down[node] += cores
    return cores, cores if most == nodes.capacity[node, CORES] else 0


@inline
def lose_cores(nodes, row, node, cores, whole):
    """Let fewer cores of a node be free on a level, and if all are down, nothing else."""
    free, capacity = nodes.free, nodes.capacity
    change_cores(nodes, row, node, -cores)
    for resource in range(1, free.shape[1]):
        free[row, resource, node] -= whole * capacity[node, resource]


@bare
def _find_lacking(state):
    """Collect the jobs on nodes that lack cores, in the order of their starts."""
    nodes, n_found = state.machine.nodes, 0
    lacks = False
    for node in range(nodes.free.shape[2]):
        lacks |= nodes.free[FREE, CORES, node] < 0
    if lacks:
        for place in range(state.at.n_running):
            job = state.end_jobs[place]
            if _lacks_cores(nodes, job):
                insert_waiting(state.machine.hit, 0, n_found, nodes.first, job)
                n_found += 1
    return n_found


@inline
def _lacks_cores(nodes, job):
    """Whether a node of a job lacks cores."""
    for part in range(nodes.first[job], nodes.last[job]):
        if nodes.free[FREE, CORES, nodes.history.node[part]] < 0:
            return True
    return False


@inline
def _stop_last(state, n_found, now):
    """Stop the last of the jobs that were found, while their nodes lack cores; return how many."""
    nodes, hit, kept = state.machine.nodes, state.machine.hit, n_found
    for place in range(n_found - 1, -1, -1):
        job = hit[place]
        if _lacks_cores(nodes, job):
            stop(state, job, now)
            nodes.history.stopped[nodes.at.n_runs - 1] = True
            kept -= 1
            hit[kept] = job
    for place in range(kept, n_found):
        hit[place - kept] = hit[place]
    return n_found - kept


@bare
def _foresee(state):
    """Replace the claims of expected changes: those of announced outages, from now on.

    At one second outages begin before others end, so that no job is planned on what comes up then
    instead of what goes down. Cores that are down for another outage stay down, by the plans.
    """
    machine, n_jobs, n_claims = state.machine, state.start.size, state.machine.at.n_claims
    claims, outages, table, at = machine.claims, machine.outages, machine.timetable, machine.at
    _keep_jobs(claims.by_end, n_claims, n_jobs)
    at.n_claims = _keep_jobs(claims.by_begin, n_claims, n_jobs)
    place, last, claim = at.n_changes, at.n_foreseen, n_jobs
    if place >= last:
        return
    _copy(outages.n_down, outages.n_then)
    _copy(outages.down, outages.down_then)
    part = claims.first[claim]
    while place < last:
        time, kind = table.time[place], table.kind[place]
        claims.begin[claim], claims.first[claim], claims.last[claim] = time, part, part
        while place < last and table.time[place] == time and table.kind[place] == kind:
            outage = table.outage[place]
            if kind != ANNOUNCED and outages.announced[outage]:
                _claim_change(state, claim, outage, 1 if kind == DOWN else -1)
            place += 1
        if claims.last[claim] > part:
            _add_change(state, claim)
            part = claims.last[claim]
            claim += 1


@inline
def _keep_jobs(order, count, n_jobs):
    """Keep the claims of jobs; return how many."""
    kept = 0
    for place in range(count):
        if order[place] < n_jobs:
            order[kept] = order[place]
            kept += 1
    return kept


@inline
def _copy(numbers, to):
    for place in range(numbers.size):
        to[place] = numbers[place]


@bare
def _claim_change(state, claim, outage, sign):
    """Claim cores that go down (1), or return those that come up (-1), by nodes."""
    nodes, claims, outages = state.machine.nodes, state.machine.claims, state.machine.outages
    for place in range(outages.first[outage], outages.last[outage]):
        core = outages.core[place]
        node = outages.node[core]
        cores, whole = _count(nodes, outages.n_then, outages.down_then, core, node, sign)
        if cores == 0:
            continue
        part = outages.part[node]
        if not (claims.first[claim] <= part < claims.last[claim] and claims.node[part] == node):
            part = outages.part[node] = claims.last[claim]
            claims.node[part], claims.procs[part], outages.whole[part] = node, 0, 0
            claims.last[claim] = part + 1
        claims.procs[part] += cores
        outages.whole[part] += whole


@inline
def _add_change(state, claim):
    """Add a claim: by its begin before those of jobs, and by its end, which never comes, last."""
    claims, at = state.machine.claims, state.machine.at
    place, begin = at.n_claims, claims.begin[claim]
    claims.by_end[place] = claim
    while place > 0 and (
        claims.begin[claims.by_begin[place - 1]] > begin
        or (
            claims.begin[claims.by_begin[place - 1]] == begin
            and claims.by_begin[place - 1] < state.start.size
        )
    ):
        claims.by_begin[place] = claims.by_begin[place - 1]
        place -= 1
    claims.by_begin[place] = claim
    at.n_claims += 1
