"""Users with working hours, who go on with a session or take a break."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from workloadkit.errors import check_choice
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches import BatchContext
from workloadkit.simulation.users.batches.compiled_behaviours import working_hours
from workloadkit.simulation.users.batches.drawing import DrawingUser, DrawnTimes

Response = Literal["last", "end"]


@dataclass(frozen=True)
class Distribution:
    """Users work in shifts, and go on with a session the rather the sooner the system responded.

    Each works by day (7:30 to 17:30; 70 %) or by night, on weekdays (80 %) or at weekends, moved by
    up to an hour. A batch that is released outside these hours arrives as they begin again. Within
    them its user goes on with a probability of 0.8 / (0.05 r + 1), where r is the response time
    of the work before in minutes: the batch arrives after one of the user's own think times within
    sessions, where the end of a job released it, or inter-arrival times, where the last submission
    before did. Else it arrives after one of the user's own such times between sessions of less
    than 8 h or, if that is outside the hours, as they begin again [1]_. The model is adapted from
    that of [2]_. Users without any such time draw from those of all.

    A user's first batch arrives at its recorded time, whatever the hours.

    Parameters
    ----------
    response : {"last", "end"}, default "last"
        The response time that counts of the batch before: of the job submitted last, as in [2]_, or
        of the last to end. If that has not ended yet, its time so far; if several have not, that of
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
        """Return the behaviour in the form that kernels take, fresh for one simulation."""
        return working_hours(present, of_last=self.response == "last")

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, fresh for one simulation."""
        times = DrawnTimes(BatchContext(present, rng))
        n_users = present.users.member.size
        return [ShiftUser(times, who, of_last=self.response == "last") for who in range(n_users)]


class ShiftUser(DrawingUser):
    """One who works in shifts.

    Parameters
    ----------
    times : DrawnTimes
    who : int
    of_last : bool
        Whether the response that counts is that of the job submitted last.
    """

    def __init__(self, times: DrawnTimes, who: int, *, of_last: bool) -> None:
        super().__init__(times, who)
        self.of_last = of_last

    def begin(self) -> None:
        """Choose the hours, and plan the first batch."""
        from workloadkit._kernels.shifts import draw_shift

        self.hours = draw_shift(self.context.rng)
        super().begin()

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Go on with the session or take a break, or wait for the next shift."""
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
        return max(begin, time)  # clocks that are put back show it twice
