"""The users of one simulation who react, in the forms of both engines."""

from typing import Any, Protocol

import numpy as np

from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Notes
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


class SimulatedUsers(Protocol):
    """Users in the forms of both engines, each for one simulation.

    In a workload of their jobs, `row` is the place of each job in the user's log, -1 for none, and
    `user` counts the users from 0. The jobs are in the order of arrival.
    """

    @property
    def of_log(self) -> tuple[Trace, Workload] | None:
        """The log of the users, and its jobs; None for users without a log."""
        ...

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs."""
        ...

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python, who draw from `rng`."""
        ...

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables with room for so many jobs, and the users who fill them in."""
        ...

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
        ...

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return the history of users in plain Python."""
        ...

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the jobs, and the jobs as a workload of that log."""
        ...
