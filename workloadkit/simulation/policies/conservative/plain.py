"""Conservative backfilling in plain Python."""

from collections.abc import Mapping
from typing import Any

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.profile import plan_running


class ConservativeScheduler(Scheduler):
    """Conservative backfilling in plain Python, the profile made again in each pass."""

    def __init__(self) -> None:
        super().__init__()
        self.reserved: dict[JobView, Any] = {}  # starts of waiting jobs, in order of arrival
        self._room = False  # a job has ended since the last pass
        self._void = False  # promises cannot be kept

    def continue_from(self, other: Any, twins: Mapping[JobView, JobView]) -> None:
        """Take over the reservations of another one, unless its machine was of another kind.

        They cannot be kept where a job has outlived its estimate.
        """
        if type(self._at.hardware) is type(other._at.hardware):
            self.reserved = {twins[job]: begin for job, begin in other.reserved.items()}
            self._room, self._void = other._room, other._void or other._outlived

    def job_ends(self, job: JobView) -> None:
        """Learn of the end of a job: there may be room for others to start earlier."""
        self._room = True
        self._void |= self.now > job.start + job.estimate
        super().job_ends(job)

    def plans_void(self) -> None:
        """Learn that processors are, or will be, other than planned: no promise counts."""
        self._void = True

    @property
    def _outlived(self) -> bool:
        """Whether a running job has outlived its estimate."""
        return any(job.start + job.estimate < self.now for job in self.running)

    def allocate(self) -> None:
        """Move reservations forward, reserve for new jobs, start those whose time has come."""
        if self._void or self._outlived:
            self.reserved.clear()
            self.release()
        if self.outages_ahead:
            self.reserve_processors()
        else:
            self.release()
            self.reserve_room()
        for job in self.queue:
            if self.reserved[job] <= self.now and self.fits(job):
                del self.reserved[job]
                self.start(job)
        self._room = self._void = False

    def reserve_room(self) -> None:
        """Move reservations forward and reserve for new jobs."""
        profile = plan_running(self)
        for job, begin in self.reserved.items():
            profile.take(begin, job)
        for job in self.queue:
            if job in self.reserved:
                if not self._room:
                    continue
                begin = self.reserved[job]
                profile.release(begin, job)
            begin = profile.earliest(job)
            profile.take(begin, job)
            self.reserved[job] = begin

    def reserve_processors(self) -> None:
        """Do the same where outages are ahead: reservations are of certain processors then."""
        for job in self.queue:
            if self._room or job not in self.reserved:
                self.reserved[job] = self.reserve(job)
