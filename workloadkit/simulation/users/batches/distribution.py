"""Users with working hours, who continue a session or take a break."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from workloadkit.errors import WorkloadWarning, check_choice
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches import BatchContext
from workloadkit.simulation.users.batches.compiled_behaviours import working_hours
from workloadkit.simulation.users.batches.drawing import DrawingUser, DrawnTimes

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
        from workloadkit._kernels.shifts import draw_shift

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

    def _works_at(self, time: Any) -> bool:
        from workloadkit._kernels.shifts import is_active

        return is_active(self.times.local(time), *self.hours)

    def _next_shift(self, time: Any) -> Any:
        from workloadkit._kernels.shifts import next_beginning

        begin = self.times.seconds(next_beginning(self.times.local(time), *self.hours))
        return max(begin, time)  # clocks that are set back show it twice
