"""What schedulers and users share."""

from typing import TYPE_CHECKING, Any

from workloadkit.errors import WorkloadError

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


class _Outside:
    """Where participants are before a simulation begins, which then hides it from them."""

    def __get__(self, participant: object, kind: type) -> Any:
        if participant is None:  # the class itself is looked at
            return self
        raise WorkloadError(f"{kind.__name__} is not part of a simulation yet")


class Participant:
    """Somebody who takes part in a simulation, and reads its clock."""

    _simulation: Any = _Outside()

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self._simulation.now

    @property
    def _at(self) -> "Simulation":
        return self._simulation
