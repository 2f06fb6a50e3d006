"""A machine that a description describes: the machines of its partitions, for the jobs of a log.

Partitions that share nodes are one machine, with one queue. All others are machines of their own.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, parameter, plural
from workloadkit.io.machine import machine_text
from workloadkit.io.outages import Outages
from workloadkit.io.reservations import ReservationRequests
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.requests import Requests, requests_of
from workloadkit.record_fields import amounts_on
from workloadkit.settings.simulation import Claim, Memory, Placement
from workloadkit.simulation.machine.hardware import GroupMachine, Hardware
from workloadkit.simulation.machine.nodes_level import NodeSite
from workloadkit.simulation.machine.pools import OnePool, Pools
from workloadkit.simulation.machine.reservable import ReservableNodes
from workloadkit.simulation.machine.shapes import (
    CONTIGUOUS,
    UNLIMITED,
    Shapes,
    find_place,
    shapes_of,
)
from workloadkit.simulation.machine.shutdowns import Shutdown, settle
from workloadkit.simulation.machine.site import Nodes
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

_SHOWN = 5  # jobs that an error lists


class Group(NamedTuple):
    """Partitions that share nodes.

    Parameters
    ----------
    name : str
        Their names; empty for a machine without partitions.
    partitions : tuple of int
        Their places in the description.
    kinds : tuple of int
        Places of the node types.
    procs : int
        Processors.
    """

    name: str
    partitions: tuple[int, ...]
    kinds: tuple[int, ...]
    procs: int


@dataclass(frozen=True, eq=False)
class Described(Hardware):
    """A described machine.

    Parameters
    ----------
    procs : int
    description : MachineDescription
    placement : str
        See `placement.PLACEMENTS`.
    claim : {"nodes", "amounts"}
    memory : {"requested", "used", "none"}
        Which memory jobs need.
    name : str
        Of the description, for messages.
    plans_many : bool
        Whether it serves a policy with many reservations.
    outages : Outages, optional
        Of its nodes, by their processors: those of the first node come first.
    requeues : bool
        Whether jobs that an outage stops return to the queue; otherwise they are lost.
    reservations : ReservationRequests, optional
        Requests for reservations of its nodes.
    """

    is_described = True
    memory_of_places: ClassVar = Nodes.memory_of_places

    description: MachineDescription
    placement: Placement = "packed"
    claim: Claim = "nodes"
    memory: Memory = "requested"
    name: str = "machine"
    plans_many: bool = False
    outages: Outages | None = None
    requeues: bool = True
    reservations: ReservationRequests | None = None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, description: MachineDescription, **how: Any) -> "Described":
        """Return the machine of a description.

        Raises
        ------
        ParameterError
            If it has no processors, or pools that several machines would share.
        """
        machine = cls(0, description, **how)
        groups = machine.groups
        if not any(group.procs for group in groups):
            raise ParameterError("the machine has neither nodes nor partitions with processors")
        if len(groups) > 1 and description.pools:
            raise ParameterError(
                f"the machine has pools ({', '.join(description.pools)}) and partitions that share "
                "no nodes: simulations of separate partitions cannot share pools"
            )
        return replace(machine, procs=sum(group.procs for group in groups))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the description's text."""
        return hashlib.sha256(machine_text(self.description).encode()).hexdigest()

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The partitions that share nodes, together; those without processors are left out."""
        machine = self.description
        place = {partition.name: i for i, partition in enumerate(machine.partitions)}
        groups = []
        for names in machine.groups or ((),):
            kinds = tuple(
                i
                for i, kind in enumerate(machine.nodes)
                if not machine.partitions or not set(names).isdisjoint(kind.partitions)
            )
            members = tuple(place[name] for name in names)
            procs = sum(machine.nodes[kind].procs for kind in kinds)
            procs += sum(machine.partitions[i].procs or 0 for i in members)
            if procs:
                groups.append(Group("+".join(names), members, kinds, procs))
        return tuple(groups)

    @property
    def has_tiers(self) -> bool:
        """Whether partitions that share nodes are of different tiers."""
        partitions = self.description.partitions
        tiers = [{partitions[i].tier for i in group.partitions} for group in self.groups]
        return any(len(different) > 1 for different in tiers)

    @property
    def has_nodes(self) -> bool:
        """Whether jobs need more than a number of processors."""
        return bool(self.description.pools) or any(group.kinds for group in self.groups)

    def _parts(self, trace: Trace, workload: Workload, requests: Requests) -> list[GroupMachine]:
        """Return the machines of the groups for their jobs."""
        partition = requests.partition[workload.row]
        parts = []
        on_nodes = []
        for group in self.groups:
            serves = np.isin(partition, group.partitions) | (len(self.groups) == 1)
            jobs = np.flatnonzero(serves)
            hardware: Hardware = OnePool(group.procs)
            if not group.kinds and self.description.pools:
                amounts, need = [*self.description.pools.values()], requests.pools[workload.row]
                hardware = Pools(group.procs, amounts, need[jobs])
            elif group.kinds:
                procs, row = workload.procs[jobs], workload.row[jobs]
                on_nodes.append(row)
                shapes = shapes_of(procs, requests, row, self.description, group.kinds)
                site, numbers = self._site(group, shapes)
                if self.plans_many and self.claim == "amounts" and not site.is_one_pool:
                    raise ParameterError(
                        "claim",
                        "is 'amounts'; many reservations are of certain nodes, except where "
                        f"jobs need processors only: take {parameter('claim', 'nodes')}",
                    )
                hardware = Nodes(group.procs, site, numbers, None, *self._outages_of(numbers))
                if self.reservations is not None:
                    hardware = ReservableNodes(group.procs, self.reservations, nodes=hardware)
            parts.append(GroupMachine(group.name, hardware, jobs))
        self._kept["on_nodes"] = np.concatenate([np.empty(0, np.int64), *on_nodes])
        return parts

    def _site(self, group: Group, shapes: Shapes) -> tuple[NodeSite, Sequence[int]]:
        """Return the nodes of a group, and their numbers."""
        capacity: list[Sequence[int]] = []
        kinds: list[int] = []
        numbers: list[int] = []
        first = 1
        for kind, node in enumerate(self.description.nodes):
            if kind in group.kinds:
                capacity += [amounts_on(node, UNLIMITED)] * node.count
                kinds += [group.kinds.index(kind)] * node.count
                numbers += range(first, first + node.count)
            first += node.count
        pools = list(self.description.pools.values())
        site = NodeSite(capacity, kinds, pools, shapes, self.placement, self.claim)
        return site, numbers

    def _outages_of(self, numbers: Sequence[int]) -> tuple[list[Shutdown] | None, bool]:
        """Return the outages of the nodes of a group, and whether jobs return to the queue."""
        if self.outages is None:
            return None, self.requeues
        kinds = self.description.nodes
        cores = np.repeat([kind.cores for kind in kinds], [kind.count for kind in kinds])
        its = np.zeros(cores.size, dtype=bool)
        its[np.array(numbers) - 1] = True
        mine = np.repeat(its, cores)
        place = np.cumsum(mine) - 1
        found = []
        for shutdown in settle(self.outages, int(cores.sum()), self.description):
            which = shutdown.processors[mine[shutdown.processors]]
            if which.size:
                found.append(shutdown._replace(processors=place[which]))
        return found, self.requeues

    def requests(self, trace: Trace) -> Requests:
        """Return what the jobs of a log request; that of the last log is kept."""
        if self._kept.get("trace") is not trace:
            requests = requests_of(trace, self.description, memory=self.memory)
            self._kept.update(trace=trace, requests=requests)
        found: Requests = self._kept["requests"]
        return found

    def assumed(self, trace: Trace) -> dict[str, Any]:
        """Return how many requests were assumed or are not modelled, for a schedule's history.

        Of the jobs that were last served on nodes: nothing is assumed of others.
        """
        noted, on_nodes = self.requests(trace).noted, self._kept["on_nodes"]
        counts = {kind: int(which[on_nodes].sum()) for kind, which in noted.items()}
        counts = {kind: count for kind, count in counts.items() if count}
        return {"requests": counts} if counts else {}

    def admit(self, trace: Trace, workload: Workload, *, drops: bool) -> Workload:
        """Check that each job fits, within the limits of its partition; or leave others out.

        Raises
        ------
        WorkloadError
            For jobs that do not, unless they are left out.
        """
        requests = self.requests(trace)
        fits = np.zeros(workload.submit.size, dtype=bool)
        for part in self._parts(trace, workload, requests):
            fits[part.jobs] = _fit_when_idle(part.hardware, workload.procs[part.jobs])
        fits &= self._are_within_limits(workload, requests)
        if self.has_tiers:
            tier = np.array([*(p.tier for p in self.description.partitions), 1])  # of none: 1
            workload = replace(workload, tier=tier[requests.partition[workload.row]])
        if fits.all():
            return workload
        if not fits.any():
            raise WorkloadError(f"{trace.name}: no job fits the machine and its limits")
        if not drops:
            jobs = workload.job[~fits]
            shown = ", ".join(map(str, jobs[:_SHOWN].tolist()))
            more = f" and {jobs.size - _SHOWN:,} more" if jobs.size > _SHOWN else ""
            raise WorkloadError(
                f"{trace.name}: {plural(jobs.size, 'job does', 'jobs do')} not fit the machine, or "
                f"the limits of a partition: {shown}{more}; leave them out with "
                f"{parameter('oversize', 'drop')}"
            )
        left_out = workload.left_out + int((~fits).sum())
        return replace(workload.take(np.flatnonzero(fits)), left_out=left_out)

    def _are_within_limits(self, workload: Workload, requests: Requests) -> NDArray[np.bool_]:
        """Return which jobs are within the limits of their partitions."""
        partitions = self.description.partitions
        place, nodes = (getattr(requests, name)[workload.row] for name in ("partition", "nodes"))
        within = np.ones(place.size, dtype=bool)
        for number, limit in enumerate(partitions):
            its = place == number
            if limit.max_procs is not None:
                within &= ~its | (workload.procs <= limit.max_procs)
            if limit.max_time is not None:
                within &= ~its | (workload.estimate <= limit.max_time)
            if limit.max_nodes is not None:
                within &= ~its | (nodes <= limit.max_nodes)
            if limit.min_nodes is not None:
                within &= ~its | (nodes == 0) | (nodes >= limit.min_nodes)
        return within

    def parts(self, trace: Trace, workload: Workload) -> list[GroupMachine]:
        """Return the machines of the partitions, each with its jobs; those without are left out."""
        parts = self._parts(trace, workload, self.requests(trace))
        return [part for part in parts if part.jobs.size]

    def one(self, trace: Trace, workload: Workload, *, who: str) -> Hardware:
        """Return the machine, where it serves all jobs with one queue.

        Raises
        ------
        ParameterError
            If its partitions are separate machines.
        """
        if len(self.groups) > 1:
            raise ParameterError(
                f"the machine has {len(self.groups)} partitions that share no nodes, each with a "
                f"queue of its own, and users {who} react to all: they need one queue"
            )
        return self._parts(trace, workload, self.requests(trace))[0].hardware


def _fit_when_idle(hardware: Hardware, procs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which jobs fit on an idle machine."""
    if isinstance(hardware, Pools):
        return (procs <= hardware.procs) & (hardware.need <= hardware.amounts).all(axis=1)
    nodes = hardware.nodes if isinstance(hardware, ReservableNodes) else hardware
    if not isinstance(nodes, Nodes):
        return procs <= hardware.procs
    site = nodes.site
    fits = np.array([_fits(site, number) for number in range(len(site.shapes.table))], bool)
    return fits[site.shapes.of_job]


def _fits(site: NodeSite, number: int) -> bool:
    """Whether a shape fits on idle nodes."""
    if (site.shapes.pools[number] > site.pools).any():
        return False
    shape = site.shapes.shape(number)
    # nodes of one type are alike; without neighbours their order makes no difference
    place = find_place(
        shape,
        site.capacity,
        site.capacity,
        site.kinds,
        site.placement if site.placement == CONTIGUOUS else "first",
    )
    return place is not None
