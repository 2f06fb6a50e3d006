"""The common base of schedulers and users."""

from typing import TYPE_CHECKING, Any

from workloadkit.errors import WorkloadError

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


class _Outside:
    """Stands for the simulation until one begins and replaces it."""

    def __get__(self, participant: object, kind: type) -> Any:
        if participant is None:  # access through the class
            return self
        raise WorkloadError(f"{kind.__name__} is not part of a simulation yet")


class Participant:
    """A participant of a simulation, with access to its clock."""

    _simulation: Any = _Outside()

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self._simulation.now

    @property
    def _at(self) -> "Simulation":
        return self._simulation
