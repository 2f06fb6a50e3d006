"""Processors that are all alike, and always there."""

from dataclasses import dataclass
from typing import Any

from workloadkit.simulation.machine.plain import Machine


@dataclass(frozen=True)
class OnePool:
    """A machine of so many processors.

    Parameters
    ----------
    procs : int
    """

    procs: int

    #: Whether what a job takes depends on its processors alone.
    by_size = True

    @property
    def capacity(self) -> int:
        """How many jobs can run at once."""
        return self.procs

    def plain(self) -> Machine:
        """Return the machine for one simulation in the plain engine."""
        return Machine(self.procs)

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the part of the compiled engine's state, with so many rows for a profile."""
        from workloadkit.simulation.machine.pool import new_pool

        return new_pool(self.procs, jobs.submit.dtype, n_planned)
