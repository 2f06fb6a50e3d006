"""A machine of nodes for one log, for both engines."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.hardware import Hardware, enlarged
from workloadkit.simulation.machine.nodes_level import NodeSite
from workloadkit.simulation.machine.nodes_plain import NodeMachine
from workloadkit.simulation.machine.outages import Runs, outage_columns
from workloadkit.simulation.machine.places import (
    Pair,
    list_claims,
    parts_of,
    set_claim,
    set_parts,
)
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.machine.shapes import Shape
from workloadkit.simulation.machine.shutdowns import Shutdown, what_stays_down
from workloadkit.simulation.supports import Memory


@dataclass(frozen=True, eq=False)
class Nodes(Hardware):
    """Nodes that serve the jobs of one log.

    Parameters
    ----------
    procs : int
    site : NodeSite
    numbers : sequence of int
        Number of each node in the machine that it belongs to, from 1.
    row : ndarray of int64, optional
        Place in the log of each job of the simulation; by default the jobs are those of the log.
    shutdowns : sequence of Shutdown, optional
        Outages; None for a machine that is always available.
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    site: NodeSite
    numbers: Sequence[int]
    row: NDArray[np.int64] | None = None
    shutdowns: Sequence[Shutdown] | None = None
    requeues: bool = True

    memory_of_places: ClassVar = Memory(
        "the nodes of the running jobs", "nodes for the running jobs in the order of their starts"
    )

    @cached_property
    def numbering(self) -> str:  # type: ignore[override]
        """Digest of the nodes."""
        return hashlib.sha256(repr((self.numbers, self.site.capacity)).encode()).hexdigest()[:16]

    def in_order(self, state: State) -> NDArray[np.int64]:
        """Return the running jobs in the order of their starts."""
        running = state.end_jobs[: state.at.n_running]
        order: NDArray[np.int64] = running[np.argsort(_nodes_of(state).first[running])]
        return order

    def places(self, state: State, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return the nodes of running jobs, with the processors on each."""
        nodes, runs = _nodes_of(state), np.isin(jobs, state.end_jobs[: state.at.n_running])
        pair = nodes.history.node, nodes.history.procs
        found = iter(parts_of(nodes, pair, jobs[runs]))
        return {"place": [self._place(next(found)) if its else None for its in runs]}

    def put(self, state: State, jobs: NDArray[np.int64], places: Sequence[Any]) -> None:
        """Set the nodes of jobs that are about to run."""
        nodes = _nodes_of(state)
        pair, parts = (nodes.history.node, nodes.history.procs), [*map(self._parts, places)]
        nodes.at.n_parts = set_parts(nodes, pair, jobs, parts)
        nodes.at.given = True

    def settle(self, state: State, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the jobs that run that have found no nodes."""
        nodes = _nodes_of(state)
        nodes.at.given = False
        return jobs[nodes.first[jobs] == nodes.last[jobs]]

    def claims(self, state: State, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return begins, ends and nodes of what jobs have claimed."""
        claims = getattr(state.machine, "claims", None)
        if claims is None or not claims.held[jobs].any():
            return {}
        times = zip(claims.begin[jobs].tolist(), claims.end[jobs].tolist(), strict=True)
        parts = parts_of(claims, (claims.node, claims.procs), jobs)
        found = zip(claims.held[jobs], times, parts, strict=True)
        return {"claim": [[*when, self._place(on)] if is_ else None for is_, when, on in found]}

    def claim_again(self, state: State, jobs: NDArray[np.int64], claims: Sequence[Any]) -> None:
        """Claim nodes for jobs again."""
        known = [i for i, claim in enumerate(claims) if claim is not None]
        if not known:
            return
        made = state.machine.claims
        for i in known:
            begin, end, place = claims[i]
            set_claim(made, (made.node, made.procs), jobs[i], (begin, end), self._parts(place))
        made.held[jobs[known]] = True
        list_claims(state.machine, jobs[known])

    def _place(self, parts: Pair) -> list[tuple[int, int]]:
        pairs = zip(*(numbers.tolist() for numbers in parts), strict=True)
        return sorted((self.numbers[node], procs) for node, procs in pairs)

    def _parts(self, place: Any) -> Pair:
        node = np.array([self.numbers.index(number) for number, _ in place], np.int64)
        return node, np.array([procs for _, procs in place], np.int64)

    @property
    def has_outages(self) -> bool:  # type: ignore[override]
        """Whether jobs may be stopped."""
        return self.shutdowns is not None

    @property
    def cuts_runs(self) -> bool:  # type: ignore[override]
        """Whether jobs may run for less than their run time."""
        return self.has_outages and not self.requeues

    def what_stays_down(self) -> str:
        """Describe the outages that never end, if there are any."""
        return what_stays_down(self.shutdowns or (), self.procs)

    def plain(self) -> NodeMachine:
        """Return the machine for one simulation in the plain-Python engine."""
        return NodeMachine(self.site, self.numbers, self.shutdowns or (), requeues=self.requeues)

    def serving(self, workload: Any) -> "Nodes":
        """Return the machine for the jobs of a workload."""
        users = workload.users
        return self if users is None else replace(self, row=users.tables.row)

    def kinds(self, jobs: Any) -> NDArray[np.int64] | None:
        """Return a number for the needs of each job, ascending with its processors."""
        if self.has_outages or self.row is not None:
            return None
        shapes = self.site.shapes
        number = np.empty(len(shapes.table), np.int64)
        number[np.argsort(Shape(*shapes.table.T).procs, kind="stable")] = np.arange(number.size)
        kinds: NDArray[np.int64] = number[shapes.of_job]
        return kinds

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state."""
        from workloadkit.simulation.machine import nodes_ledger  # noqa: F401 acts for it
        from workloadkit.simulation.machine.nodes import new_nodes

        if self.shutdowns is not None:
            from workloadkit.simulation.machine import failing_nodes_ledger  # noqa: F401
            from workloadkit.simulation.machine.failing_nodes import new_failing

            nodes = new_nodes(self.site, jobs, self.row)
            how = {"requeues": self.requeues, "plans_many": n_planned > 0}
            return new_failing(nodes, jobs, self.shutdowns, **how)
        if n_planned == 0 or self.site.claim == "amounts":
            from workloadkit.simulation.machine import core_nodes

            if core_nodes.suit(self.site):
                from workloadkit.simulation.machine import core_nodes_ledger  # noqa: F401

                return core_nodes.new_core_nodes(self.site, jobs, n_planned)
            return new_nodes(self.site, jobs, self.row, n_planned)
        from workloadkit.simulation.machine.nodes_claims import new_claimed

        return new_claimed(new_nodes(self.site, jobs, self.row), jobs)

    def go_on(self, state: State) -> State:
        """Return the state with room for what the next instant may record."""
        from workloadkit._kernels.compile import in_python
        from workloadkit.simulation.machine.nodes_ledger import lacks_room

        nodes = _nodes_of(state)
        if in_python(lacks_room)(nodes):
            nodes = nodes._replace(history=enlarged(nodes.history))
        if nodes is not state.machine and hasattr(state.machine, "nodes"):
            nodes = state.machine._replace(nodes=nodes)
        return state._replace(machine=nodes)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return interruptions, losses and lost work of each job, if there are outages."""
        return outage_columns(state.machine) if self.has_outages else {}

    def runs(self, state: State) -> "NodeRuns":
        """Return the runs of jobs, with the jobs as places."""
        nodes = _nodes_of(state)
        return NodeRuns(nodes.history, int(nodes.at.n_runs), nodes=self.numbers)


def _nodes_of(state: State) -> Any:
    return getattr(state.machine, "nodes", state.machine)


@dataclass(frozen=True, eq=False)
class NodeRuns(Runs):
    """Runs on nodes, in the order in which these were released; each is made on access.

    Parameters
    ----------
    nodes : sequence of int
        Number of each node.
    """

    nodes: Sequence[int] = ()

    def _run(self, place: int) -> Run:
        history = self.history
        parts = range(history.first[place], history.last[place])
        job = history.job[place]
        held = ((self.nodes[history.node[part]], int(history.procs[part])) for part in parts)
        return Run(
            job=int(job if self.numbers is None else self.numbers[job]),
            start=history.start[place].item(),
            end=history.end[place].item(),
            processors=(),
            interrupted=bool(history.stopped[place : place + 1].any()),
            row=int(job if self.rows is None else self.rows[job]),
            nodes=tuple(sorted(held)),
        )
