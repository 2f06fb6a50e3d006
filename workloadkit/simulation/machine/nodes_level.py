"""Nodes and what is free on them, in the plain-Python engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.machine.shapes import CONTIGUOUS, CORES, Shape, Shapes, find_place
from workloadkit.simulation.plain.job import Job, JobView

#: Processors of a job by node.
Place = Mapping[int, int]


class NodeSite(NamedTuple):
    """Nodes, what jobs need of them, and how they are placed.

    Parameters
    ----------
    capacity : sequence of sequence of int
        Cores and other resources of each node, see `amounts_on`.
    kinds : sequence of int
        Type of each node.
    pools : sequence of int
        Amounts of the pools.
    shapes : Shapes
    placement, claim : str
    """

    capacity: Sequence[Sequence[int]]
    kinds: Sequence[int]
    pools: Sequence[int]
    shapes: Shapes
    placement: str
    claim: str

    @property
    def only_processors(self) -> NDArray[np.bool_]:
        """Which shapes fit wherever enough processors are free."""
        cores, kinds = max(node[CORES] for node in self.capacity), set(self.kinds)
        only = self.shapes.need_processors_only(cores, sum(1 << kind for kind in kinds))
        return only & (self.placement != CONTIGUOUS)

    @property
    def is_one_pool(self) -> bool:
        """Whether reservations by amounts are those of one pool."""
        return self.claim == "amounts" and bool(self.only_processors.all())

    def shape(self, job: Job | JobView) -> Shape:
        """Return what a job needs of nodes."""
        return self.shapes.shape(self._number(job))

    def of_pools(self, job: Job | JobView) -> list[int]:
        """Return what a job needs of the pools."""
        amounts: list[int] = self.shapes.pools[self._number(job)].tolist()
        return amounts

    def _number(self, job: Job | JobView) -> int:
        record = job if isinstance(job, Job) else job._record
        return int(self.shapes.of_job[record.row])

    def amounts(self, job: Job | JobView, place: Place) -> dict[int, Sequence[int]]:
        """Return what a job takes of each of its nodes."""
        shape = self.shape(job)
        if shape.whole:
            return {node: self.capacity[node] for node in place}
        return {node: shape.amounts(procs) for node, procs in place.items()}


class NodeLevel:
    """What is free on nodes and of pools.

    Parameters
    ----------
    site : NodeSite
    places : mapping of JobView to Place
        Of the running jobs.
    live : NodeLevel, optional
        The present level, of which this one is a copy.

    Attributes
    ----------
    free : int
        Free processors.
    nodes : list of list of int
        Free cores and other resources of each node.
    pools : list of int
        Free amounts of pools.
    spare : list of int or None
        What a reservation by amounts leaves: sums over the nodes, and of pools.
    """

    __slots__ = ("free", "live", "nodes", "places", "pools", "site", "spare")

    def __init__(
        self, site: NodeSite, places: Mapping[JobView, Place], live: "NodeLevel | None" = None
    ) -> None:
        self.site, self.places, self.live = site, places, live
        nodes: Iterable[Iterable[int]] = site.capacity if live is None else live.nodes
        self.nodes: list[list[int]] = [list(node) for node in nodes]
        self.pools: list[int] = list(site.pools if live is None else live.pools)
        self.free: int = sum(node[CORES] for node in self.nodes) if live is None else live.free
        self.spare: list[int] | None = None

    def place(self, job: Job | JobView) -> Place | None:
        """Return where a job would be placed, None if it does not fit."""
        site = self.site
        if any(a > b for a, b in zip(site.of_pools(job), self.pools, strict=True)):
            return None
        return find_place(site.shape(job), self.nodes, site.capacity, site.kinds, site.placement)

    def fits(self, job: Job | JobView) -> bool:
        """Whether a job fits; behind a reservation by amounts, whether its amounts are spare."""
        if self.spare is None or self.live is None:
            return self.place(job) is not None
        place = self.live.place(job)
        return place is not None and all(
            a <= b for a, b in zip(self._sums(job, place), self.spare, strict=True)
        )

    def take(self, job: JobView) -> None:
        """Reserve for a job, or take the amounts of one that is about to start."""
        level = self if self.spare is None or self.live is None else self.live
        place = level.place(job)
        assert place is not None  # it fits
        free = self.spare or [*map(sum, zip(*self.nodes, strict=True)), *self.pools]
        self.spare = [a - b for a, b in zip(free, self._sums(job, place), strict=True)]

    def _sums(self, job: Job | JobView, place: Place) -> list[int]:
        """Return what a job takes: sums over its nodes, and of pools."""
        taken = self.site.amounts(job, place).values()
        return [*map(sum, zip(*taken, strict=True)), *self.site.of_pools(job)]

    def give_back(self, job: JobView) -> None:
        """Return what a running job holds."""
        self.change(job, self.places[job], 1)

    def change(self, job: JobView, place: Place, sign: int) -> None:
        """Return (1) or take (-1) what a job takes in a place."""
        for node, amounts in self.site.amounts(job, place).items():
            free = self.nodes[node]
            self.free += sign * amounts[CORES]
            for resource, amount in enumerate(amounts):
                free[resource] += sign * amount
        for pool, amount in enumerate(self.site.of_pools(job)):
            self.pools[pool] += sign * amount

    def least(self, others: Iterable["NodeLevel"]) -> "NodeLevel":
        """Return what is free in this level and in others."""
        found = NodeLevel(self.site, self.places, self)
        for other in others:
            pairs = zip(found.nodes, other.nodes, strict=True)
            found.nodes = [list(map(min, mine, its)) for mine, its in pairs]
            found.pools = list(map(min, found.pools, other.pools))
        return found

    def copy(self) -> "NodeLevel":
        """Return a copy."""
        return NodeLevel(self.site, self.places, self)

    def __eq__(self, other: object) -> bool:
        """Whether as much is free."""
        return isinstance(other, NodeLevel) and (self.nodes, self.pools) == (
            other.nodes,
            other.pools,
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Describe the level."""
        return f"{len(self.nodes)} nodes with {self.free} free processors"
