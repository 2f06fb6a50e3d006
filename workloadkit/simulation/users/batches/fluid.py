"""Users whose sessions keep their times, while batches move between them."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import ParameterError, check_choice, check_number
from workloadkit.parameters import Duration
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Present
from workloadkit.simulation.users.batches import BatchContext
from workloadkit.simulation.users.batches.distribution import DrawingUser, DrawnTimes
from workloadkit.simulation.users.batches.recorded_times import (
    End,
    Recycled,
    Reinserted,
    Skipped,
    flow,
    session_times,
)


@dataclass(frozen=True)
class Fluid:
    """Users keep the times of their sessions; batches arrive within them, earlier or later.

    A batch released during a session arrives after a time drawn from the user's recorded times
    between batches of one session: a think time if the end of a job released it, an inter-arrival
    time if the last submission did. If that is after the session's end, or if no session is under
    way, it arrives at the begin of the next session [1]_. Users without such a time draw from those
    of all users. The first batch arrives at its recorded time.

    Parameters
    ----------
    end : {"submit", "end", "threshold"}, default "threshold"
        End of a session: its last submission, the latest end of its jobs, or 60 min after its last
        submission. Begin and end belong to the session.
    skipped : {"recycle", "reinsert"}, default "recycle"
        Sessions after the recorded ones. "recycle": all of them are repeated after their length in
        whole weeks [1]_. "reinsert": each session without a submission is repeated weekly until it
        is used; when all have been used, all are available again [2]_. Weekdays and times of day
        stay.
    patience : float, default inf
        A user who waited longer than this for the last of the previous work does not continue in
        this session. [s]
    leave : float, default inf
        A user who waited longer than this leaves for good and, in a resampled population, does not
        begin again. [s]
    overtime : bool, default False
        Whether users continue beyond the end of a session if service is good. A batch that would
        have to wait for the next session arrives after a drawn time instead, if that is before the
        next session, with a probability of 0.8 / (0.05 r + 1), where r is the response time of the
        last of the previous work in minutes.

    Notes
    -----
    The source leaves to future work that "a user may leave the system due to poor performance or
    send more jobs if the performance is good" [1]_, section IX. `leave` is as for users of a site.
    The form of `overtime` is this project's; its probability is that of `Distribution`.

    The source does not specify when a session ends. With 60 min after the last submission,
    recycled, mean waits under EASY come closest to its printed values; with the last submission
    they are half as long (study ``zakay-feedback``). Under the source's own EASY, without spare
    processors and with late jobs, they are then within 4 % of those for HPC2N, SDSC-SP2 and
    SDSC-DS, and differ from those for KTH by 8 %, SDSC-BLUE by 11 % and LANL-CM5 by 23 %.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.C.
    .. [2] The same: trace-based users-oriented simulation, section III.B.
    """

    name: ClassVar[str] = "fluid"
    draws: ClassVar[bool] = True

    end: End = "threshold"
    skipped: Skipped = "recycle"
    patience: Duration = inf
    leave: Duration = inf
    overtime: bool = False

    def __post_init__(self) -> None:
        check_choice("end", self.end, End)
        check_choice("skipped", self.skipped, Skipped)
        for name in ("patience", "leave"):
            value = getattr(self, name)
            check_number(name, value)
            if not value >= 0:
                raise ParameterError(name, f"is {value:g}; it must be 0 or more")

    def compiled(self, present: Present) -> Any:
        """Return the behaviour in the form for kernels, for one simulation."""
        return flow(present, **vars(self))

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        times = DrawnTimes(BatchContext(present, rng))
        recorded, local = (
            list(zip(*(column.tolist() for column in columns), strict=True))
            for columns in session_times(present, self.end)
        )
        n_users = present.users.member.size
        return [FluidUser(times, who, self, recorded, local) for who in range(n_users)]


class FluidUser(DrawingUser):
    """A user whose batches arrive within sessions.

    Parameters
    ----------
    times : DrawnTimes
    who : int
    behaviour : Fluid
    recorded, local : list of (number, number)
        Begin and end of all sessions, as in `recorded_times`. [s]
    """

    def __init__(
        self,
        times: DrawnTimes,
        who: int,
        behaviour: Fluid,
        recorded: list[tuple[Any, Any]],
        local: list[tuple[Any, Any]],
    ) -> None:
        super().__init__(times, who)
        self.behaviour = behaviour
        first = self.context.activities.first_session
        own = slice(first[self.member], first[self.member + 1])
        self._recorded, self._local = recorded[own], local[own]

    def begin_with(self, opening: int, arrival: Any, shift: Any) -> None:
        """Begin with the sessions moved by `shift`."""
        sessions = self._recorded, self._local, shift
        if self.behaviour.skipped == "recycle":
            self.sessions = Recycled(*sessions, seconds=self.times.seconds)
        else:
            activities, batch = self.context.activities, self.context.batch[opening]
            n_over = activities.session[batch] - activities.first_session[self.member]
            self.sessions = Reinserted(*sessions, seconds=self.times.seconds, n_over=n_over)
        self.sessions.use(arrival)
        super().begin_with(opening, arrival, shift)

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Continue in the present session, or wait for the next."""
        counts, sessions, behaviour = self.times.counts, self.sessions, self.behaviour
        waited = self.response(of_last=False)
        if self._leaves(waited):
            return inf
        end = sessions.latest_end(self.now)
        arrival = inf
        if waited <= behaviour.patience and (end is not None or behaviour.overtime):
            arrival = self.now + self.times.draw(self.member, by_end=by_end, between=False)
        goes_on = end is not None and arrival <= end
        if not goes_on:
            begin = sessions.next_begin(self.now)
            goes_on = behaviour.overtime and arrival < begin and self.continues_session(waited)
            if not goes_on:
                arrival = begin
        counts["continued"] += goes_on
        counts["aborted"] += end is not None and not goes_on
        sessions.use(arrival)
        return arrival

    def all_ended(self) -> None:
        """Begin again, unless the user leaves for good."""
        if self.context.users.again[self.who] and not self._leaves(self.response(of_last=False)):
            super().all_ended()

    def _leaves(self, waited: Any) -> bool:
        """Whether the user leaves for good after waiting this long."""
        leaves = waited > self.behaviour.leave
        self.times.counts["left"] += leaves
        return bool(leaves)
