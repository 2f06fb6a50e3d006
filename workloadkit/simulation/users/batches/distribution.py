"""Users with working hours who draw the times between their batches from recorded ones."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from workloadkit.errors import WorkloadWarning, check_choice
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.populations.population import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser
from workloadkit.simulation.users.batches.recorded_times import times_between_batches, working_hours

# Users who draw the times between their batches from recorded ones, in plain Python.

#: Counts of users who draw, by the names in `Schedule.history`: values that users without recorded
#: ones drew from those of all; users who left for good; how often users at work continued, and did
#: not.
COUNTED = ("borrowed", "left", "continued", "aborted")


@dataclass
class DrawnTimes:
    """Recorded times to draw from, and counts."""

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

    def local(self, time: float) -> Any:
        """Return local time."""
        from workloadkit._kernels.local_time import local_time

        return self.as_time(local_time(*self._zone, time))

    def seconds(self, local: Any) -> Any:
        """Return when clocks first show a local time."""
        from workloadkit._kernels.local_time import seconds

        return self.as_time(seconds(*self._zone, local))

    def as_time(self, time: float) -> Any:
        """Return a time as the simulation has it: of whole seconds, or a float."""
        return int(time) if self._whole else float(time)


class DrawingUser(BatchUser):
    """A user who draws, and knows the response time of the previous work."""

    def __init__(self, times: DrawnTimes, who: int) -> None:
        super().__init__(times.context, who)
        self.times = times

    def _send(self, opening: int, arrival: float) -> None:
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


Response = Literal["last", "end"]


@dataclass(frozen=True)
class Distribution:
    """Users work in shifts, and are more likely to continue a session after a short response.

    Each works by day (7:30 to 17:30; 70 %) or by night, on weekdays (80 %) or at weekends, moved by
    up to an hour. A batch released outside these hours arrives at their next begin. Within them,
    the user continues with a probability of 0.8 / (0.05 r + 1), where r is the response time of the
    previous work in minutes: the batch arrives after a time drawn from the user's recorded think
    times within sessions (if the end of a job released it) or inter-arrival times (if a submission
    did). Otherwise it arrives after a time drawn from those between the user's sessions, of less
    than 8 h, or, if that is outside the hours, at their next begin [1]_. The model is adapted from
    that of [2]_. Users without such a time draw from those of all users.

    A user's first batch arrives at its recorded time, whatever the hours. If the log's local time
    is unknown, its second 0 is taken as a Monday, 0:00, with a warning.

    Parameters
    ----------
    response : {"last", "end"}, default "last"
        Response time of the previous batch: that of the job submitted last, as in [2]_, or of the
        last to end. If that job has not ended yet, its time so far; if several have not, that of
        the first.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.B.
    .. [2] E. Shmueli, D. G. Feitelson, "On simulation and design of parallel-systems schedulers:
       are we doing the right thing?", IEEE TPDS 20(7), 2009.
    """

    name: ClassVar[str] = "distribution"
    draws: ClassVar[bool] = True

    response: Response = "last"

    def __post_init__(self) -> None:
        check_choice("response", self.response, Response)

    def compiled(self, present: Present) -> Any:
        """Return the behaviour in the form for kernels, for one simulation."""
        _check_clock(present)
        return working_hours(present, of_last=self.response == "last")

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        _check_clock(present)
        times = DrawnTimes(BatchContext(present, rng))
        n_users = present.users.member.size
        return [ShiftUser(times, who, of_last=self.response == "last") for who in range(n_users)]


def _check_clock(present: Present) -> None:
    """Warn if the hours of the day are unknown."""
    if not present.clock.known:
        warnings.warn(
            "distribution: all users have working hours, but the log's local time is unknown: its "
            "second 0 is taken as Monday, 0:00",
            WorkloadWarning,
            stacklevel=2,
        )


class ShiftUser(DrawingUser):
    """A user who works in shifts.

    Parameters
    ----------
    times : DrawnTimes
    who : int
    of_last : bool
        Whether the response is that of the job submitted last.
    """

    def __init__(self, times: DrawnTimes, who: int, *, of_last: bool) -> None:
        super().__init__(times, who)
        self.of_last = of_last

    def begin(self) -> None:
        """Draw the hours, and plan the first batch."""
        from workloadkit._kernels.local_time import draw_shift

        self.hours = draw_shift(self.context.rng)
        super().begin()

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Continue the session, take a break, or wait for the next shift."""
        if not self._works_at(self.now):
            return self._next_shift(self.now)
        if self.continues_session(self.response(of_last=self.of_last)):
            self.times.counts["continued"] += 1
            return self.now + self.times.draw(self.member, by_end=by_end, between=False)
        self.times.counts["aborted"] += 1
        back = self.now + self.times.draw(self.member, by_end=by_end, between=True)
        return back if self._works_at(back) else self._next_shift(back)

    def _works_at(self, time: float) -> bool:
        from workloadkit._kernels.local_time import is_active

        return is_active(self.times.local(time), *self.hours)

    def _next_shift(self, time: float) -> Any:
        from workloadkit._kernels.local_time import next_beginning

        begin = self.times.seconds(next_beginning(self.times.local(time), *self.hours))
        return max(begin, time)  # clocks that are set back show it twice
