"""Users who go through what they did in a log, batch by batch.

The batches of a user keep their order. One is *released* at the first instant when all jobs of the
batch before have been submitted and all that it depends on has ended. When it arrives then is what
behaviours differ in [1]_. Within a batch jobs keep their recorded gaps.

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
from workloadkit.simulation.populations.present import Incarnations, Present


class BatchContext:
    """What all users of a simulation act out, in Python's own numbers.

    Parameters
    ----------
    present : Present
    rng : Generator
        For whatever users draw, shared by all.

    Attributes
    ----------
    activities : Activities
        Of lists.
    users : Incarnations
        Of lists.
    batch : list of int
        The batch of each job of `Activities.job`.
    first_time, pause : list
        As of `Present`. [s]
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

    def beginning_again(self, member: int, now: Any, before: Any) -> tuple[Any, Any]:
        """Say when one who has done with everything now begins again, and with what shift."""
        from workloadkit._kernels.local_time import seconds, weeks_until

        zone, first = self.present.clock.for_kernels(), self.first_time[member]
        shift = weeks_until(*zone, first, now + self.pause[member])
        if seconds(*zone, first + shift) <= before:  # all took no time, and would never end
            shift += WEEK
        arrival = seconds(*zone, first + shift)
        return (int(arrival), int(shift)) if isinstance(now, int) else (arrival, shift)

    def job(self, user: User, place: int, batch: int, submit: Any) -> Job:
        """Make a job of the log, to be submitted by a user at some second."""
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
    """One who goes through the batches of a user of a log; `decide` says when each arrives.

    Parameters
    ----------
    context : BatchContext
    who : int
        Who it is, a place in `Incarnations`.

    Attributes
    ----------
    batches : range
        All of the user's, in `Activities`.
    next : int
        The batch that is next in line.
    sent : list of Job
        The jobs of the batch before.
    last_submission : int or float
        When the last of these is, or was, submitted. [s]
    shift : int or float
        Local time of what the user does less that of the member: whole weeks. [s]
    """

    def __init__(self, context: BatchContext, who: int) -> None:
        super().__init__()
        activities, member = context.activities, context.users.member[who]
        self.context = context
        self.who, self.member = who, member
        self.batches = range(activities.first_batch[member], activities.first_batch[member + 1])
        self._first_session = activities.first_session[member]

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Say when a batch arrives that is released now; `inf` for never.

        Parameters
        ----------
        batch : int
        by_end : bool
            Whether the end of a job has released it, the last that it waited for; else the last
            submission of the batch before has.
        """
        raise NotImplementedError(f"{type(self).__name__} must say when a batch arrives")

    def all_ended(self) -> None:
        """Begin again, if that is what the user does: after a pause, with the very first job.

        It comes at the same weekday and time of day as it did.
        """
        context = self.context
        if context.users.again[self.who]:
            arrival, shift = context.beginning_again(self.member, self.now, self._began)
            self.set_out(context.activities.first_job[self.batches[0]], arrival, shift)

    def begin(self) -> None:
        """Plan the first batch."""
        users, who = self.context.users, self.who
        self.set_out(users.opening[who], users.begin[who], users.shift[who])

    def set_out(self, opening: int, arrival: Any, shift: Any) -> None:
        """Begin with a job, a place in `Activities.job`, as if all before had been done."""
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
        """Release the next batch if this was what it waited for."""
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
        """Release the next batch, the first of a session, if it waited for the one before."""
        self._submitted = True
        if self._all_over():
            self._release(by_end=False)

    def _opens_session(self, batch: int) -> bool:
        """Whether a batch that is not the user's first opens a session."""
        session = self.context.activities.session
        return session[batch] != session[batch - 1]

    def _all_over(self) -> bool:
        """Whether all sessions have ended that the next batch, the first of one, depends on."""
        return self._n_over >= self.context.activities.needs[self.next]

    def _close(self, session: int) -> None:
        """Count the sessions, by recorded end, that have ended without one that has not between."""
        self._over.add(self.context.activities.place[session])
        while self._n_over in self._over:
            self._n_over += 1

    def _release(self, *, by_end: bool) -> None:
        arrival = self.decide(self.next, by_end=by_end)
        # written so that NaN is refused, and what a decision without a return gives
        if not (isinstance(arrival, Real) and arrival >= self.now):
            raise WorkloadError(
                f"{type(self).__name__} decides at {self.now} s that a batch arrives at {arrival} s"
            )
        self._send(self.context.activities.first_job[self.next], arrival)

    def _send(self, opening: int, arrival: Any) -> None:
        """Hand over the jobs of a batch from one on, and go on to the next batch."""
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
        # inside a session the next batch waits for the end of this one, and so for its submissions
        opens = self.next < self.batches.stop and self._opens_session(self.next)
        if opens and self.last_submission < until:
            self._at.wake_at(self, self.last_submission)
