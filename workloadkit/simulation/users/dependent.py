"""Users whose jobs wait for preceding jobs, from SWF fields 17 and 18."""

import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError, WorkloadWarning
from workloadkit.preceding import find_preceding
from workloadkit.simulation.compiled.agenda import Agenda, enter
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.populations.population import Notes
from workloadkit.simulation.users.batches.kernel import JobTable
from workloadkit.simulation.workload import Workload
from workloadkit.simulation.workload.from_log import synthetic_workload
from workloadkit.trace import Trace


@dataclass(frozen=True)
class Dependent:
    """A job with a preceding job arrives its think time after the end of that one.

    The preceding job is field 17 of the log, the think time field 18; an unknown one counts as 0.
    All other jobs arrive at their recorded times: also a job whose preceding job is not simulated,
    is the job itself, or waits for it in turn.
    """

    name: ClassVar[str] = "dependent"

    def users_of(self, trace: Trace, workload: Workload) -> "SimulatedDependentUsers":
        """Return the users of a log.

        Parameters
        ----------
        trace : Trace
        workload : Workload
            Its jobs.

        Raises
        ------
        WorkloadError
            If no job of the log has a preceding job.

        Warns
        -----
        WorkloadWarning
            If preceding jobs are not simulated, or jobs wait for themselves; with their number.
        """
        row = workload.row
        if not (trace.column("preceding_job") > 0).any():
            raise WorkloadError(
                f"{trace.name}: no job names a preceding job in field 17; `workloadkit "
                "dependencies` (in Python with_dependencies) writes them"
            )
        found = find_preceding(
            trace.column("job")[row],
            trace.column("submit")[row],
            trace.column("preceding_job")[row],
        )
        for count, what in (
            (found.absent, "preceding jobs that are not simulated"),
            (found.circular, "jobs that would wait for themselves"),
        ):
            if count:
                warnings.warn(
                    f"{trace.name}: {what}: {count:,}; jobs that name them arrive at their "
                    "recorded times",
                    WorkloadWarning,
                    stacklevel=3,
                )
        think_time = np.nan_to_num(trace.column("think_time")[row])
        delay = np.maximum(think_time, 0).astype(workload.submit.dtype)
        return SimulatedDependentUsers(trace, workload, successors(found.place, delay))


def successors(preceding: NDArray[np.int64], delay: NDArray) -> "Successors":
    """Return the inverse of the table of preceding jobs (places, -1 for none)."""
    waits = np.flatnonzero(preceding >= 0)
    job = waits[np.argsort(preceding[waits], kind="stable")]
    first = np.searchsorted(preceding[job], np.arange(preceding.size + 1))
    return Successors(first, job, delay[job])


@dataclass(frozen=True, eq=False)
class SimulatedDependentUsers:
    """The users of one simulation, who act as one user.

    Parameters
    ----------
    trace : Trace
    workload : Workload
        Its jobs, at their recorded times.
    successors : Successors
    """

    trace: Trace
    workload: Workload
    successors: "Successors"

    @property
    def of_log(self) -> tuple[Trace, Workload]:
        """The log of the users, and its jobs."""
        return self.trace, self.workload

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs."""
        return self.workload.submit.size

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python."""
        return [DependentUser(self.workload, self.successors)]

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables for all jobs, and the users who fill them in."""
        from workloadkit.simulation.compiled.agenda import new_agenda
        from workloadkit.simulation.compiled.mechanisms import begin_all
        from workloadkit.simulation.users.batches.kernel import JobTable

        log, dtype = self.workload, self.workload.submit.dtype
        row, user, queue = (np.empty(room, np.int64) for _ in range(3))
        submit, run, estimate, wait = (np.empty(room, dtype) for _ in range(4))
        waits = np.zeros(log.submit.size, np.bool_)
        waits[self.successors.job] = True
        mechanism = DependentUsers(
            agenda=new_agenda(room, dtype),
            tables=DependentTables(row, user, queue, wait),
            by_event=by_event,
            source=JobTable(
                run=log.run,
                estimate=log.estimate,
                wait=log.wait.astype(dtype),
                procs=log.procs,
                queue=log.queue,
                key=np.unique(log.job, return_inverse=True)[1],
            ),
            user=np.unique(log.user, return_inverse=True)[1],
            successors=self.successors,
            times=log.submit,
            waits=waits,
        )
        begin_all(mechanism, dtype)
        procs = np.empty(room, np.int64)
        made = synthetic_workload(submit, run, estimate, procs, user, queue, mechanism)
        return replace(
            made,
            wait=wait,
            utilities=log.utilities,
            utility_at=log.utility_at,
            user_numbers=distinct(log.user),
        )

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted."""
        place = tables.users.tables.row[:n_jobs]
        submit, run = tables.submit[:n_jobs], tables.run[:n_jobs]
        return replace(self.workload.take(place), row=place, submit=submit, run=run), {}, {}

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return nothing, as nothing is counted."""
        return {}

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log, and its jobs as submitted."""
        names = ("submit", "run", "estimate", "killed")
        submitted = {name: getattr(workload, name) for name in names}
        left_out = self.trace.n_jobs - workload.row.size
        taken = self.workload.take(workload.row)
        return self.trace, replace(taken, **submitted, left_out=left_out), notes


class DependentUser(User):
    """A user who submits the jobs of all users: on time, or after the end of another job."""

    def __init__(self, workload: Workload, following: "Successors") -> None:
        super().__init__()
        w = workload
        columns = (w.user, w.procs, w.run, w.estimate, w.submit, w.job, w.killed, w.queue, w.wait)
        self._jobs = list(zip(*(column.tolist() for column in columns), strict=True))
        self._utilities = w.utilities
        self._first, self._next, self._delay = (values.tolist() for values in following)

    def begin(self) -> None:
        """Submit the jobs that wait for none."""
        waiting = set(self._next)
        for place in range(len(self._jobs)):
            if place not in waiting:
                self._submit(place)

    def job_ended(self, job: Job) -> None:
        """Submit the jobs that waited for this one."""
        for i in range(self._first[job.row], self._first[job.row + 1]):
            self._submit(self._next[i], self.now + self._delay[i])

    def _submit(self, place: int, time: float | None = None) -> None:
        job = Job(self, *self._jobs[place])
        job.row = place
        if time is not None:
            job.submit = time
        if self._utilities is not None:
            job.utility = self._utilities.of(place)
        self._at.add(job)


# Users whose jobs wait for the end of one other job, or of none, compiled.
#
# They act as one user, who submits the jobs of the log.


class Successors(NamedTuple):
    """The jobs that wait for each job.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        Jobs that wait for job i: `job[first[i]:first[i + 1]]`.
    job : ndarray of int64
    delay : ndarray
        Time from the end of that job to the submission. [s]
    """

    first: NDArray[np.int64]
    job: NDArray[np.int64]
    delay: NDArray


class DependentTables(NamedTuple):
    """Information on each job that has arrived; as in `batches.kernel`."""

    row: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    wait: NDArray


class DependentUsers(NamedTuple):
    """The mechanism of users whose jobs wait for others.

    `user` is the user of each job, from 0; `by_event`, whether there is a pass after each event
    (submissions of one second then keep the order in which they were planned); `times`, the
    submit times of jobs that wait for none; `waits`, whether a job waits.
    """

    agenda: Agenda
    tables: DependentTables
    by_event: bool
    source: JobTable
    user: NDArray[np.int64]
    successors: Successors
    times: NDArray
    waits: NDArray[np.bool_]


@bare
def begin(users):
    """Plan the jobs that wait for none."""
    times = users.times
    for row in range(times.size):
        if not users.waits[row]:
            _plan(users, row, times[row])


@bare
def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    source, tables = users.source, users.tables
    jobs.run[place], jobs.estimate[place] = source.run[item], source.estimate[item]
    jobs.procs[place] = source.procs[item]
    tables.row[place], tables.queue[place] = item, source.queue[item]
    tables.user[place], tables.wait[place] = users.user[item], source.wait[item]


@bare
def job_ended(users, jobs, place, now):
    """Plan the jobs that waited for this one."""
    following = users.successors
    first, job, delay = following.first, following.job, following.delay
    row = users.tables.row[place]
    for i in range(first[row], first[row + 1]):
        _plan(users, job[i], now + delay[i])


@bare
def wake_up(users, jobs, who, now):
    """Do nothing, as these users never sleep."""


@bare
def _plan(users, row, time):
    enter(users.agenda, time, 0 if users.by_event else users.source.key[row], row)


register_functions(DependentUsers, sys.modules[__name__])
