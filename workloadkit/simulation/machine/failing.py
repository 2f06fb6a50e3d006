"""Machines that outages change, in plain Python: what they have in common."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.machine.shutdowns import Shutdown
from workloadkit.simulation.plain.job import JobView

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation

_DOWN, _UP, _ANNOUNCED = range(3)  # the order of changes of the machine at one instant


class FailingMachine(Machine):
    """Base of machines with outages; subclasses define `_go_down` and `_come_up`.

    Parameters
    ----------
    procs : int
        Processors.
    level : Any, optional
        As in `Machine`.
    shutdowns : sequence of Shutdown
        What goes down, and when.
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    def __init__(
        self,
        procs: int,
        level: Any = None,
        *,
        shutdowns: Sequence[Shutdown],
        requeues: bool,
    ) -> None:
        super().__init__(procs, level)
        self._shutdowns, self._requeues = shutdowns, requeues
        self._announced: list[Shutdown] = []  # known outages; subclasses say until when

    def begin(self, simulation: "Simulation") -> None:
        """Schedule the outages: announcements, starts and ends."""
        self._simulation = simulation
        for shutdown in self._shutdowns:
            if shutdown.announced is not None:
                simulation.change_at(shutdown.announced, _ANNOUNCED, self._announce, shutdown)
            simulation.change_at(shutdown.start, _DOWN, self._go_down, shutdown)
            if shutdown.end < inf:
                simulation.change_at(shutdown.end, _UP, self._come_up, shutdown)

    def _announce(self, shutdown: Shutdown) -> None:
        self._announced.append(shutdown)
        self._simulation.scheduler.plans_void()

    def _go_down(self, shutdown: Shutdown) -> None:
        """Begin an outage, and stop jobs."""
        raise NotImplementedError

    def _come_up(self, shutdown: Shutdown) -> None:
        """End an outage."""
        raise NotImplementedError

    def _tell_down(self, shutdown: Shutdown, n_down: int, hit: Sequence[JobView]) -> None:
        """Notify the scheduler of processors that are down, and of the jobs that were stopped."""
        scheduler = self._simulation.scheduler
        if n_down:
            scheduler.processors_down(n_down)
        if hit or shutdown.announced is None:
            scheduler.plans_void()
        for job in hit:
            if self._requeues:
                scheduler.job_interrupted(job)
            else:
                scheduler.job_ends(job)
