"""Processors that are all alike and always available."""

from dataclasses import dataclass
from typing import Any

from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.plain import Machine


@dataclass(frozen=True)
class OnePool(Hardware):
    """A machine of identical processors."""

    by_size = True

    def plain(self) -> Machine:
        """Return the machine for one simulation in the plain-Python engine."""
        return Machine(self.procs)

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile."""
        from workloadkit.simulation.machine.pool import new_pool

        return new_pool(self.procs, jobs.submit.dtype, n_planned)
