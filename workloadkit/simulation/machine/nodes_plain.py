"""Machines of nodes in the plain-Python engine.

With ``claim="nodes"``, a reservation is a *claim* on certain nodes from some second on, and a job
fits if there is room for it on what is free and not claimed until its planned end. With
``claim="amounts"``, the reservation of the first job takes the sums of what its nodes give.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation.machine.nodes_level import NodeLevel, NodeSite, Place
from workloadkit.simulation.machine.plain import Claim, Machine, Pool, Run, is_kept_at, just_after
from workloadkit.simulation.machine.processors import FailingMachine
from workloadkit.simulation.machine.shapes import CORES
from workloadkit.simulation.machine.shutdowns import Shutdown, what_stays_down
from workloadkit.simulation.plain.job import JobView


class NodeMachine(FailingMachine):
    """Nodes, which may go down and come up, and pools.

    Of an announced outage the start and the end are known; of others, the scheduler learns them as
    they happen. A node of which all cores are down has no other resources either. Where too few
    cores are left, the jobs that started last are stopped.

    Parameters
    ----------
    site : NodeSite
    numbers : sequence of int
        Number of each node, from 1, in the machine that the site belongs to.
    shutdowns : sequence of Shutdown
        What goes down, by the cores of the nodes: those of the first node come first.
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    is_placed = True

    def __init__(
        self,
        site: NodeSite,
        numbers: Sequence[int],
        shutdowns: Sequence[Shutdown] = (),
        *,
        requeues: bool = True,
    ) -> None:
        self._places: dict[JobView, Place] = {}
        self._nodes = NodeLevel(site, self._places)
        is_one_pool = site.is_one_pool and not shutdowns
        level = None if is_one_pool else self._nodes
        super().__init__(self._nodes.free, level, shutdowns=shutdowns, requeues=requeues)
        self._active: list[Shutdown] = []  # begun, and not over
        cores = [node[CORES] for node in site.capacity]
        self._node_of = np.repeat(np.arange(len(cores)), cores)  # each core
        self._numbers, self._by_nodes = numbers, site.claim == "nodes"
        self._claims: dict[JobView, Claim] = {}
        self._accepted: dict[JobView, Claim] = {}  # claims of requests

    def _go_down(self, shutdown: Shutdown) -> None:
        """Begin an outage, and stop the jobs that started last where cores are missing."""
        self._announced = [other for other in self._announced if other is not shutdown]
        n_down = self._change_active([*self._active, shutdown])
        hit = []
        for job in reversed(list(self._places)):
            if any(self._nodes.nodes[node][CORES] < 0 for node in self._places[job]):
                hit.append(job)
                self._simulation.interrupt(job, requeues=self._requeues)
        self._tell_down(shutdown, n_down, hit[::-1])

    def _come_up(self, shutdown: Shutdown) -> None:
        n_down = self._change_active([other for other in self._active if other is not shutdown])
        if n_down:
            self._simulation.scheduler.processors_up(-n_down)
        if shutdown.announced is None:
            self._simulation.scheduler.plans_void()

    def _change_active(self, active: list[Shutdown]) -> int:
        """Replace the present outages; return how many more cores are down."""
        before, after = self._down(self._active), self._down(active)
        self._active = active
        self._change_down(self._nodes, before, after)
        more = int((after - before).sum())
        self.working -= more
        self._simulation.scheduler.free = self.level.free
        return more

    def _down(self, shutdowns: Iterable[Shutdown]) -> NDArray[np.int64]:
        """Return the number of cores of each node that are down in some outages."""
        down = np.zeros(self._node_of.size, dtype=bool)
        for shutdown in shutdowns:
            down[shutdown.processors] = True
        counts: NDArray[np.int64] = np.bincount(self._node_of[down], minlength=len(self._numbers))
        return counts

    def _change_down(
        self, level: NodeLevel, before: NDArray[np.int64], after: NDArray[np.int64]
    ) -> None:
        """Change what is free for other numbers of cores that are down."""
        for node in np.flatnonzero(before != after).tolist():
            free, capacity = level.nodes[node], level.site.capacity[node]
            free[CORES] += int(before[node] - after[node])
            level.free += int(before[node] - after[node])
            full = int(before[node] == capacity[CORES]) - int(after[node] == capacity[CORES])
            for resource in range(CORES + 1, len(free)):
                free[resource] += full * capacity[resource]

    def lasting_losses(self) -> str:
        """Describe the outages that never end."""
        return what_stays_down(self._shutdowns, self.procs)

    def changes_ahead(self, now: float) -> bool:
        """Whether reservations are of certain nodes."""
        return self._by_nodes

    def fits(self, job: JobView, now: float) -> bool:
        """Whether there is room for a job until its planned end, on what is not claimed."""
        return self._place_now(job, now) is not None

    def _place_now(self, job: JobView, now: float) -> Place | None:
        """Return where a job can start now, None for nowhere.

        One whose reservation has begun starts in its own place or not at all.
        """
        own = self._claims.get(job)
        if isinstance(self.level, Pool):
            return self._nodes.place(job)
        if own is not None and own.begin <= now:
            rest = self.level.copy()
            rest.change(job, own.place, -1)
            free = min(*(amount for node in rest.nodes for amount in node), *rest.pools, 0) >= 0
            return own.place if free else None
        place: Place | None = self._least(job, now, now).place(job)
        return place

    def start(self, job: JobView, now: float) -> None:
        """Start a job in the given place, else where there is room until its planned end.

        If there is none, anywhere.
        """
        if (given := self._given.pop(job, None)) is not None:
            place: Place | None = self._by_node(given)
        else:
            place = self._place_now(job, now) or self._nodes.place(job)
        assert place is not None  # it fits
        self._claims.pop(job, None)
        self._places[job] = place
        if is_kept_at(end := now + job.estimate, self._claims.values()):
            self._claims[job] = Claim(end, just_after(end), place=place)
        self._nodes.change(job, place, -1)
        if self.level is not self._nodes:
            self.level.take(job)

    def place_of(self, job: JobView) -> Any:
        """Return the nodes of a running job, with the processors on each."""
        place = self._places.get(job)
        return None if place is None else self._by_number(place)

    def _by_node(self, place: Any) -> Place:
        return {self._numbers.index(number): procs for number, procs in place}

    def _by_number(self, place: Place) -> list[tuple[int, int]]:
        return [(self._numbers[node], procs) for node, procs in sorted(place.items())]

    def claim_again(self, job: JobView, claim: Any) -> None:
        """Claim nodes for a job again."""
        begin, end, place = claim
        self._claims[job] = Claim(begin, end, place=self._by_node(place))

    def claim_of(self, job: JobView) -> Any:
        """Return the begin, the end and the nodes of a claim."""
        claim = self._claims.get(job)
        return claim and [claim.begin, claim.end, self._by_number(claim.place)]

    def end(self, job: JobView, now: float, interrupted: bool) -> None:
        """Release the place of a job."""
        self._claims.pop(job, None)
        self._nodes.give_back(job)
        if self.level is not self._nodes:
            self.level.give_back(job)
        place = self._places.pop(job)
        nodes = tuple(self._by_number(place))
        self.runs.append((job, Run(job.number, job.start, now, (), interrupted, nodes=nodes)))

    def reserve(self, job: JobView, now: float, *, strictly: bool = False) -> Any:
        """Claim nodes for a job, from the earliest possible second on; return that second."""
        self.release(job)
        claim = self.first_claim(job, now, now)
        if claim is None:
            return inf
        self._claims[job] = claim._replace(strictly=strictly)
        return claim.begin

    def first_claim(self, job: JobView, earliest: float, now: float) -> Claim | None:
        """Return the first claim for a job, from some second on; None if there is no place."""
        ends = {running.start + running.estimate for running in self._places}
        ends.update(claim.end for claim in self._all_claims.values())
        ends.update(down.end for down in (*self._active, *self._announced) if down.end < inf)
        for time in [earliest, *sorted(end for end in ends if end > earliest)]:
            place = self._least(job, time, now, is_free=False).place(job)
            if place is not None:
                return Claim(time, time + job.estimate, place=place)
        return None

    @property
    def _all_claims(self) -> dict[JobView, Claim]:
        """Claims of requests and of waiting jobs."""
        return {**self._accepted, **self._claims}

    def _least(self, job: JobView, begin: float, now: float, *, is_free: bool = True) -> NodeLevel:
        """Return what is available to a job from `begin` on, for its estimate.

        By the plans, running jobs that have outlived their estimates end now; what they hold is
        not free (`is_free`) now.
        """
        end = begin + job.estimate
        claims = [claim for other, claim in self._all_claims.items() if other is not job]
        starts = [claim.begin for claim in claims if claim.is_in_the_way(begin, end)]
        strikes = {down.start for down in self._announced if begin < down.start < end}
        levels = [self._planned(job, time, now) for time in [begin, *starts]]
        levels += [self._planned(job, time, now, strikes=True) for time in strikes]
        return levels[0].least([*levels[1:], *([self.level] if is_free else [])])

    def _planned(
        self, job: JobView, time: float, now: float, *, strikes: bool = False
    ) -> NodeLevel:
        """Return the level planned for some second, without the claim of a job.

        As an outage begins (`strikes`), others that end then are not over, and no claim begins.
        """
        level: NodeLevel = self.level.copy()
        for running in self._places:
            if max(running.start + running.estimate, now) <= time:
                level.give_back(running)
        for other, claim in self._all_claims.items():
            has_begun = claim.begin < time or (claim.begin == time and not strikes)
            if other is not job and has_begun and time < claim.end:
                level.change(other, claim.place, -1)
        if self._active or self._announced:
            then = [
                down
                for down in (*self._active, *self._announced)
                if down.start <= time
                and (down.announced is None or time < down.end or (strikes and time == down.end))
            ]
            self._change_down(level, self._down(self._active), self._down(then))
        return level

    def release(self, job: JobView | None) -> None:
        """Cancel the reservation of a job, or all."""
        if job is None:
            self._claims.clear()
        else:
            self._claims.pop(job, None)

    def without_outages(self) -> Machine:
        """Raise an error: its jobs are those of one simulation."""
        raise WorkloadError("a machine of nodes cannot be simulated within a simulation")
