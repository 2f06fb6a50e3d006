"""Conservative backfilling in plain Python."""

from collections.abc import Mapping, Sequence
from math import inf, nan
from typing import Any

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.profile import Profile, plan_running


class ConservativeScheduler(Scheduler):
    """Conservative backfilling in plain Python; each pass makes the profile again.

    Parameters
    ----------
    compression : str
        As in `Conservative`.
    """

    def __init__(self, compression: str = "full") -> None:
        super().__init__()
        self.compression = compression
        self.reserved: dict[JobView, Any] = {}  # starts of waiting jobs, in order of arrival
        self._promised: dict[JobView, Any] = {}  # the first of these
        self._room = False  # whether reservations may move into free room
        self._void = False  # whether reservations cannot be kept

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the reservations of another one, unless its machine was of another kind.

        They are void if a job has outlived its estimate.
        """
        if type(self._at.hardware) is type(other._at.hardware):
            self.reserved = {copies[job]: begin for job, begin in other.reserved.items()}
            self._promised = {
                copies[job]: begin for job, begin in other._promised.items() if job in copies
            }
            self._room, self._void = other._room, other._void or other._outlived

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the promised start of each job."""
        return {"promised_start": [float(self._promised.get(job, nan)) for job in jobs]}

    def job_ends(self, job: JobView) -> None:
        """Record the end of a job: others may start earlier."""
        is_early = self.now < job.start + job.estimate
        self._room |= is_early or self.compression == "full"
        self._void |= self.now > job.start + job.estimate
        super().job_ends(job)

    def job_leaves(self, job: JobView) -> None:
        """Free the slot of a cancelled job: others may start earlier."""
        self.reserved.pop(job, None)
        self.release(job)
        self._room = True
        super().job_leaves(job)

    def plans_void(self) -> None:
        """Void all reservations, as the machine differs from what was planned."""
        self._void = True

    @property
    def kept(self) -> Mapping[JobView, Any]:
        """Starts of the waiting jobs with reservations that are not void."""
        return {} if self._void else self.reserved

    @property
    def _outlived(self) -> bool:
        """Whether a running job has outlived its estimate."""
        return any(job.start + job.estimate < self.now for job in self.running)

    def allocate(self) -> None:
        """Move reservations forward, reserve for new jobs, start jobs with a reservation now."""
        if self._void or self._outlived:
            self.reserved.clear()
            self.release()
        if self.outages_ahead:
            self.reserve_processors()
        else:
            self.release()
            self.reserve_room()
        for job in self.queue:
            self._promised.setdefault(job, self.reserved[job])
            if self.reserved[job] <= self.now and self.fits(job):
                del self.reserved[job]
                self.start(job)
        self._room = self._void = False
        if self.compression != "full":  # perhaps no other event when a reservation begins
            begins = [begin for begin in self.reserved.values() if self.now < begin < inf]
            self.set_alarm(None if self._outlived else min(begins, default=None))

    def reserve_room(self) -> None:
        """Move reservations forward and reserve for new jobs."""
        profile = plan_running(self)
        for job, begin in self.reserved.items():
            profile.take(begin, job)
        for job in self.queue:
            kept = self.reserved.get(job)
            if kept is None:
                self.place(profile, job)
            elif self._room and self.compression != "none":
                profile.release(kept, job)
                begin = min(profile.earliest(job), kept)  # 0 s kept no room
                if self.compression == "start" and begin > self.now:
                    begin = kept
                profile.take(begin, job)
                self.reserved[job] = begin

    def place(self, profile: Profile, job: JobView) -> None:
        """Reserve for a job without a reservation."""
        self.reserved[job] = profile.earliest(job)
        profile.take(self.reserved[job], job)

    def reserve_processors(self) -> None:
        """Reserve if outages are ahead: certain processors then."""
        for job in self.queue:
            if job not in self.reserved or (self._room and self._may_move(job)):
                self.reserved[job] = self.reserve(job)

    def _may_move(self, job: JobView) -> bool:
        """Whether a reservation must be made again, if there may be room."""
        return self.compression == "full" or (self.compression == "start" and self.fits(job))
