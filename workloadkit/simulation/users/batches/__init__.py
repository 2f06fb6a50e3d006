"""Users of a log who submit their recorded batches, one after the other.

The batches of a user keep their order. A batch is *released* at the first instant when all jobs of
the previous batch have been submitted and all that it depends on has ended. Behaviours differ in
the time from this release to its arrival [1]_. Within a batch, jobs keep their recorded gaps.
.. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
   of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
   on feedback-based simulation, sections VI and VII.
"""

from numbers import Real
from typing import Any

import numpy as np

from workloadkit.clock import WEEK
from workloadkit.dependencies import Activities
from workloadkit.errors import WorkloadError
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.populations.population import Incarnations, Present


class BatchContext:
    """The recorded activities that all users of a simulation share, in Python's own numbers.

    Parameters
    ----------
    present : Present
    rng : Generator
        For all random draws of the users, who share it.

    Attributes
    ----------
    activities : Activities
        With lists in place of arrays.
    users : Incarnations
        With lists in place of arrays.
    batch : list of int
        The batch of each job of `Activities.job`.
    first_time, pause : list
        As in `Present`. [s]
    """

    def __init__(self, present: Present, rng: np.random.Generator) -> None:
        activities = present.activities
        self.activities = Activities(*(values.tolist() for values in activities))
        self.users = Incarnations(*(values.tolist() for values in present.users))
        self.batch = np.repeat(
            np.arange(activities.session.size), np.diff(activities.first_job)
        ).tolist()
        self.first_time, self.pause = present.first_time.tolist(), present.pause.tolist()
        self.present = present
        self.rng = rng
        columns = ("user", "procs", "run", "estimate", "job", "killed", "queue", "wait")
        self._jobs = [getattr(present.workload, name).tolist() for name in columns]

    def beginning_again(self, member: int, now: float, before: Any) -> tuple[Any, Any]:
        """Return when a user who has finished begins again, and the shift of the activities."""
        from workloadkit._kernels.local_time import seconds, weeks_until

        zone, first = self.present.clock.for_kernels(), self.first_time[member]
        shift = weeks_until(*zone, first, now + self.pause[member])
        if seconds(*zone, first + shift) <= before:  # all jobs took no time: this would never end
            shift += WEEK
        arrival = seconds(*zone, first + shift)
        return (int(arrival), int(shift)) if isinstance(now, int) else (arrival, shift)

    def job(self, user: User, place: int, batch: int, submit: float) -> Job:
        """Create a job of the log, to be submitted by a user at some second."""
        of, procs, run, estimate, number, killed, queue, wait = (
            values[place] for values in self._jobs
        )
        if not self.present.numbered:
            of, number = user.number, None
        job = Job(user, of, procs, run, estimate, submit, number, killed, queue, wait)
        job.row = place
        job.notes = {"session": self.activities.session[batch], "batch": batch}
        if self.present.workload.utilities is not None:
            job.utility = self.present.workload.utilities.of(place)
        return job


class BatchUser(User):
    """A user who submits the batches of a log's user; `decide` returns when each arrives.

    Parameters
    ----------
    context : BatchContext
    who : int
        Index in `Incarnations`.

    Attributes
    ----------
    batches : range
        The user's batches in `Activities`.
    next : int
        The next batch.
    sent : list of Job
        The jobs of the previous batch.
    last_submission : int or float
        Submission of the last of these. [s]
    shift : int or float
        Local time of the user's activities minus that of the member's: whole weeks. [s]
    """

    def __init__(self, context: BatchContext, who: int) -> None:
        super().__init__()
        activities, member = context.activities, context.users.member[who]
        self.context = context
        self.who, self.member = who, member
        self.batches = range(activities.first_batch[member], activities.first_batch[member + 1])
        self._first_session = activities.first_session[member]

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Return when a batch that is released now arrives; `inf` for never.

        Parameters
        ----------
        batch : int
        by_end : bool
            Whether the end of a job released it, the last for which it waited; otherwise the last
            submission of the previous batch did.
        """
        raise NotImplementedError(f"{type(self).__name__} must define decide")

    def all_ended(self) -> None:
        """Begin again, if the user does so: after a pause, with the first job.

        It keeps its recorded weekday and time of day.
        """
        context = self.context
        if context.users.again[self.who]:
            arrival, shift = context.beginning_again(self.member, self.now, self._began)
            self.begin_with(context.activities.first_job[self.batches[0]], arrival, shift)

    def begin(self) -> None:
        """Plan the first batch."""
        users, who = self.context.users, self.who
        self.begin_with(users.opening[who], users.begin[who], users.shift[who])

    def begin_with(self, opening: int, arrival: float, shift: Any) -> None:
        """Begin with a job, a place in `Activities.job`, as if all before it had been done."""
        self.shift, self._began = shift, arrival
        activities = self.context.activities
        first = self.context.batch[opening]
        rest = range(first, self.batches.stop)
        self._left = {
            batch: activities.first_job[batch + 1] - activities.first_job[batch] for batch in rest
        }
        self._left[first] = activities.first_job[first + 1] - opening
        self._to_end = sum(self._left.values())
        self._over: set[int] = set()
        self._n_over = 0
        for session in range(self._first_session, activities.session[first]):
            self._close(session)
        self._send(opening, arrival)

    def job_ended(self, job: Job) -> None:
        """Release the next batch if it waited for this job."""
        batch = job.notes["batch"]
        self._to_end -= 1
        self._left[batch] -= 1
        if self._left[batch] > 0:
            return
        if batch + 1 == self.batches.stop or self._opens_session(batch + 1):
            self._close(self.context.activities.session[batch])
        if self.next < self.batches.stop:
            if self._opens_session(self.next):
                free = self._submitted and self._all_over()
            else:
                free = self.next == batch + 1
            if free:
                self._release(by_end=True)
        elif self._to_end == 0:
            self.all_ended()

    def wake_up(self) -> None:
        """Release the next batch, the first of a session, if it waited for the previous one."""
        self._submitted = True
        if self._all_over():
            self._release(by_end=False)

    def _opens_session(self, batch: int) -> bool:
        """Whether a batch opens a session; not for the user's first."""
        session = self.context.activities.session
        return session[batch] != session[batch - 1]

    def _all_over(self) -> bool:
        """Whether all sessions have ended on which the next batch, the first of one, depends."""
        return self._n_over >= self.context.activities.needs[self.next]

    def _close(self, session: int) -> None:
        """Count the leading sessions, by recorded end, that have all ended."""
        self._over.add(self.context.activities.place[session])
        while self._n_over in self._over:
            self._n_over += 1

    def _release(self, *, by_end: bool) -> None:
        arrival = self.decide(self.next, by_end=by_end)
        # written so that NaN is refused, and the None of a decision without a return
        if not (isinstance(arrival, Real) and arrival >= self.now):
            raise WorkloadError(
                f"{type(self).__name__} decides at {self.now} s that a batch arrives at {arrival} s"
            )
        self._send(self.context.activities.first_job[self.next], arrival)

    def _send(self, opening: int, arrival: Any) -> None:
        """Submit the jobs of a batch from one on, and continue with the next batch."""
        activities, batch = self.context.activities, self.context.batch[opening]
        until = self.context.users.until[self.who]
        rest = range(opening, activities.first_job[batch + 1])
        times = [arrival + (activities.gap[at] - activities.gap[opening]) for at in rest]
        self.sent = [
            self.context.job(self, activities.job[at], batch, time)
            for at, time in zip(rest, times, strict=True)
            if time < until
        ]
        for job in self.sent:
            self._at.add(job)
        self.next = batch + 1
        self.last_submission = times[-1]
        self._submitted = False
        # within a session the next batch waits for the end of this one, and so for its submissions
        opens = self.next < self.batches.stop and self._opens_session(self.next)
        if opens and self.last_submission < until:
            self._at.wake_at(self, self.last_submission)
