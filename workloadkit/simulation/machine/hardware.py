"""What a simulation is played on, as it is before one begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Hardware:
    """Base of machines: both forms of one, and what is known of it; override `plain`, `compiled`.

    Parameters
    ----------
    procs : int
        Processors.
    """

    procs: int

    #: Whether what a job takes depends on its processors alone, so that long queues may be searched
    #: by size.
    by_size = False

    #: Whether jobs may run for less time than they need.
    cuts_runs = False

    @property
    def capacity(self) -> int:
        """How many jobs can run at once."""
        return self.procs

    @property
    def without_outages(self) -> "Hardware":
        """The machine that a policy simulates in its turn: without outages."""
        return self

    def plain(self) -> Any:
        """Return a `machine.plain.Machine` for one simulation in the plain-Python engine."""
        raise NotImplementedError

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return a part of the compiled engine's state, with so many rows for a profile.

        See `machine.ledger`.
        """
        raise NotImplementedError

    def go_on(self, state: Any) -> Any:
        """Return the state to go on with, where the loop has returned."""
        return state

    def columns(self, state: Any) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def runs(self, state: Any) -> Sequence[Any]:
        """Return who ran on which processors, where these have numbers."""
        return ()

    def what_stays_down(self) -> str:
        """Name what keeps processors from jobs for ever, for messages."""
        return ""
