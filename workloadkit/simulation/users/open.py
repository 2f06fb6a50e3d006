"""Users who do not react: each job is submitted at its recorded time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any, ClassVar

import numpy as np

from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.state import never
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class OpenUsers:
    """Jobs arrive at their recorded times, whatever the scheduler does."""

    name: ClassVar[str] = "open"

    def plain(self, workload: Workload) -> list[User]:
        """Return the users of a workload in plain Python, for one simulation."""
        return [Replay(workload)]


class Replay(User):
    """A user who submits the jobs of all users at their recorded times."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.workload = workload

    def begin(self) -> None:
        """Submit every job for its recorded time."""
        self._at.add_all(self.known_jobs())

    def known_jobs(self) -> Iterator[Job]:
        """Return the jobs, in the order of their submissions."""
        w = self.workload
        columns = (w.user, w.procs, w.run, w.estimate, w.submit, w.job, w.killed, w.queue, w.wait)
        utility = repeat(()) if w.utilities is None else map(w.utilities.of, range(w.submit.size))
        groups = [repeat(None) if c is None else c.tolist() for c in (w.group, w.partition)]
        groups.append(w.tiers.tolist())
        jobs = map(Job, repeat(self), *(c.tolist() for c in columns), utility, *groups, count())
        return jobs if w.leaves is None else map(_leaving, jobs, w.leaves.tolist())


def _leaving(job: Job, time: Any) -> Job:
    """Set when a job leaves the queue, unless it does not."""
    job.leaves = None if time == never(np.asarray(time).dtype) else time
    return job
