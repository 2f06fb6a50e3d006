"""Users who draw the times between their batches from recorded ones, in plain Python."""

from dataclasses import dataclass
from typing import Any

from workloadkit.simulation.engine import Job
from workloadkit.simulation.users.batches import BatchContext, BatchUser
from workloadkit.simulation.users.batches.times_between_batches import times_between_batches

#: Counts of users who draw, by the names in `Schedule.history`: values that users without recorded
#: ones drew from those of all; users who left for good; how often users at work continued, and did
#: not.
COUNTED = ("borrowed", "left", "continued", "aborted")


@dataclass
class DrawnTimes:
    """Recorded times to draw from, and counts.

    Parameters
    ----------
    context : BatchContext
    """

    context: BatchContext

    def __post_init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        value, first = times_between_batches(self.context.present.activities)
        self._value, self._first = value.tolist(), first.tolist()
        self._zone = self.context.present.clock.for_kernels()
        self._whole = value.dtype.kind == "i"

    def draw(self, member: int, *, by_end: bool, between: bool) -> Any:
        """Draw a think time, or an inter-arrival time, within sessions or between them. [s]."""
        first = self._first[2 * between + by_end]
        own = self._value[first[member] : first[member + 1]]
        if not own:
            self.counts["borrowed"] += 1
            own = self._value[first[0] : first[-1]]
        return own[int(self.context.rng.random() * len(own))] if own else 0

    def local(self, time: Any) -> Any:
        """Return local time."""
        from workloadkit._kernels.local_time import local_time

        return self.as_time(local_time(*self._zone, time))

    def seconds(self, local: Any) -> Any:
        """Return when clocks first show a local time."""
        from workloadkit._kernels.local_time import seconds

        return self.as_time(seconds(*self._zone, local))

    def as_time(self, time: Any) -> Any:
        """Return a time as the simulation has it: of whole seconds, or a float."""
        return int(time) if self._whole else float(time)


class DrawingUser(BatchUser):
    """A user who draws, and knows the response time of the previous work.

    Parameters
    ----------
    times : DrawnTimes
    who : int
    """

    def __init__(self, times: DrawnTimes, who: int) -> None:
        super().__init__(times.context, who)
        self.times = times

    def _send(self, opening: int, arrival: Any) -> None:
        """Submit a batch; none of its jobs has ended, as far as the user knows."""
        self._ended: list[Job] = []
        super()._send(opening, arrival)

    def job_ended(self, job: Job) -> None:
        """Record which jobs of the previous batch have ended, in the order of their ends."""
        if job.notes["batch"] == self.next - 1:
            self._ended.append(job)
        super().job_ended(job)

    def response(self, *, of_last: bool) -> Any:
        """Return the response of the previous batch, or its time so far. [s].

        Parameters
        ----------
        of_last : bool
            Of the job submitted last; otherwise of the last to end. If several have not ended, the
            one submitted first has taken the longest so far.
        """
        running = [job for job in self.sent if job not in self._ended]
        last = running[0] if running else self._ended[-1]
        job = self.sent[-1] if of_last else last
        return (self.now if job.end is None else job.end) - job.submit

    def continues_session(self, waited: Any) -> bool:
        """Draw whether the user continues after this response [s], by Shmueli's curve."""
        return bool(self.context.rng.random() < 0.8 / (0.05 * (waited / 60) + 1))

    def history(self) -> dict[str, int]:
        """Return the counts of all users."""
        return self.times.counts
