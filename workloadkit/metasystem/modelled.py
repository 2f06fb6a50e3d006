"""A site of which only the waits are modelled."""

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.metasystem.jobs import MetaJobs, PreparedSite
from workloadkit.metasystem.views import Published


class ModelledSite:
    """A site that starts each job after a wait that is drawn, whatever other jobs there are.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
        Its site has `waits`.
    jobs : MetaJobs
    """

    def __init__(self, place: int, prepared: PreparedSite, jobs: MetaJobs) -> None:
        self.place, self.prepared = place, prepared
        self.published: Any = None  # when it published last
        self.moves = True  # it never waits for a job to end
        self._starts: list[tuple[Any, int]] = []
        self._cancelled: set[int] = set()
        waits: Any = prepared.site.waits
        rng, n_jobs = np.random.default_rng(prepared.seed), jobs.number.size
        drawn = np.full(n_jobs, float(waits.mean))
        if waits.law == "exponential":
            drawn = rng.exponential(waits.mean, n_jobs)
        predicted = drawn * np.exp(waits.error * rng.standard_normal(n_jobs))
        whole = jobs.submit.dtype.kind == "i"
        self._wait, self._predicted = (
            np.rint(x).astype(np.int64) if whole else x for x in (drawn, predicted)
        )

    @property
    def next_time(self) -> Any:
        """The time of its next start; None if there is none."""
        while self._starts and self._starts[0][1] in self._cancelled:
            self._cancelled.remove(heappop(self._starts)[1])
        return self._starts[0][0] if self._starts else None

    def play_instant(self, now: Any) -> list[int]:
        """Return the meta jobs that start at an instant."""
        started = []
        while self.next_time == now:
            started.append(heappop(self._starts)[1])
        return started

    def send(self, i: int, arrival: Any) -> None:
        """Let a meta job arrive at a time."""
        heappush(self._starts, (arrival + self._wait[i].item(), i))

    def cancel(self, i: int, now: Any) -> None:
        """Cancel a meta job that has not started."""
        self._cancelled.add(i)

    def publish(self, now: Any) -> Published:
        """Return the predicted waits of all jobs, and nothing else."""
        return Published(now, 0, 0, 0, lambda: self._predicted)

    def local_starts(self) -> NDArray:
        """Return no starts."""
        return self.prepared.workload.submit
