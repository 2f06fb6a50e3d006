"""Processors that are all alike, and always there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workloadkit.simulation.machine.processors import Run


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

    #: Whether jobs may run for less time than they need.
    cuts_runs = False

    @property
    def capacity(self) -> int:
        """How many jobs can run at once."""
        return self.procs

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the part of the compiled engine's state, with so many rows for a profile."""
        from workloadkit.simulation.machine.pool import new_pool

        return new_pool(self.procs, jobs.submit.dtype, n_planned)

    def go_on(self, state: Any) -> Any:
        """Return the state to go on with, where the loop has returned."""
        return state

    def columns(self, state: Any) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def runs(self, state: Any) -> Sequence[Run]:
        """Return who ran on which processors, where these have numbers."""
        return ()

    def what_stays_down(self) -> str:
        """Name what keeps processors from jobs for ever."""
        return ""
