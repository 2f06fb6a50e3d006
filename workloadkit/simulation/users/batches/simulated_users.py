"""The users of one simulation who submit recorded batches."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Notes, Present, no_end
from workloadkit.simulation.users.batches.distribution import COUNTED, DrawingUser
from workloadkit.simulation.workload import Workload
from workloadkit.simulation.workload.from_log import synthetic_workload
from workloadkit.trace import Trace


@dataclass(frozen=True, eq=False)
class SimulatedBatchUsers:
    """Users who submit the recorded batches of a log's users.

    Parameters
    ----------
    population : object
        Who is present, see `workloadkit.simulation.populations`.
    behaviour : object
        Their behaviour, see `workloadkit.simulation.users`.
    trace : Trace
        The log.
    present : Present
        The result of the population for this log.
    """

    population: Any
    behaviour: Any
    trace: Trace
    present: Present

    @property
    def of_log(self) -> tuple[Trace, Workload]:
        """The log of the users, and its jobs."""
        return self.trace, self.present.workload

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs."""
        activities, users = self.present.activities, self.present.users
        first_job = activities.first_job[activities.first_batch]
        jobs = (first_job[users.member + 1] - users.opening).sum()
        # Unknown is how often a user begins again; if more than once, the tables are too small.
        return int(jobs + np.diff(first_job)[users.member[users.again]].sum())

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python."""
        return self.behaviour.plain(self.present, rng)

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables with room for so many jobs, and the users who fill them in."""
        from workloadkit.simulation.compiled.agenda import new_agenda
        from workloadkit.simulation.compiled.mechanisms import begin_all
        from workloadkit.simulation.users.batches import kernel as kernels

        log, users = self.present.workload, self.present.users
        dtype = log.submit.dtype
        if hasattr(self.behaviour, "compiled"):
            behaviour = self.behaviour.compiled(self.present)
        else:
            behaviour = kernels.Adjusting(np.empty(0, np.int64))
        incarnations = self._incarnations()
        mechanism = kernels.BatchUsers(
            agenda=new_agenda(room + 2 * users.member.size, dtype),
            tables=kernels.new_tables(room, dtype),
            rng=rng,
            by_event=by_event,
            behaviour=behaviour,
            activities=self._activities(),
            source=self._source(),
            incarnations=incarnations,
            progress=kernels.new_progress(incarnations, dtype),
            zone=self.present.clock.for_kernels(),
        )
        begin_all(mechanism, dtype)
        tables = mechanism.tables
        made = synthetic_workload(
            submit=np.empty(room, dtype),
            run=np.empty(room, dtype),
            estimate=np.empty(room, dtype),
            procs=np.empty(room, np.int64),
            user=tables.user,
            queue=tables.queue,
            users=mechanism,
        )
        return replace(
            made,
            wait=tables.wait,
            utilities=log.utilities,
            utility_at=log.utility_at,
            user_numbers=self._numbers(),
        )

    def _numbers(self) -> NDArray[np.int64] | None:
        """Return the numbers of the users in the log, if they have any."""
        if not self.present.numbered:
            return None
        return self.present.activities.user[self.present.users.member]

    def _activities(self) -> Any:
        """Return the activities of the members."""
        from workloadkit.simulation.users.batches.kernel import MemberActivities

        activities = self.present.activities
        batch = np.repeat(np.arange(activities.arrival.size), np.diff(activities.first_job))
        known = {
            name: getattr(activities, name) for name in MemberActivities._fields if name != "batch"
        }
        return MemberActivities(**known, batch=batch)

    def _incarnations(self) -> Any:
        """Return the incarnations."""
        from workloadkit.simulation.users.batches.kernel import IncarnationTable

        activities, users = self.present.activities, self.present.users
        first_left, first_over = (
            np.append(0, np.cumsum(np.diff(first)[users.member]))
            for first in (activities.first_batch, activities.first_session)
        )
        return IncarnationTable(
            member=users.member,
            opening=users.opening,
            begin=users.begin.copy(),
            again=users.again,
            until=users.until,
            pause=self.present.pause[users.member],
            first_time=self.present.first_time[users.member],
            first_left=first_left,
            first_over=first_over,
        )

    def _source(self) -> Any:
        """Return the jobs in the order of the users' activities; the result is kept."""
        from workloadkit.simulation.compiled.agenda import UNNUMBERED
        from workloadkit.simulation.users.batches.kernel import JobTable

        log, job = self.present.workload, self.present.activities.job
        if JobTable not in self.present.kept:
            if self.present.numbered:
                key = np.unique(log.job, return_inverse=True)[1][job]
            else:
                key = np.full(job.size, UNNUMBERED)
            self.present.kept[JobTable] = JobTable(
                run=log.run[job],
                estimate=log.estimate[job],
                wait=log.wait.astype(log.submit.dtype)[job],
                procs=log.procs[job],
                queue=log.queue[job],
                key=key,
            )
        return self.present.kept[JobTable]

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
        log, made = self.present.workload, tables.users.tables
        row, batch = made.row[:n_jobs], tables.users.activities.batch[made.at[:n_jobs]]
        job = log.job[row] if self.present.numbered else np.arange(1, n_jobs + 1)
        workload = Workload(
            row=row,
            job=job,
            user=made.user[:n_jobs],
            submit=tables.submit[:n_jobs],
            run=tables.run[:n_jobs],
            estimate=tables.estimate[:n_jobs],
            procs=tables.procs[:n_jobs],
            killed=log.killed[row],
            queue=made.queue[:n_jobs],
            wait=log.wait[row],
            left_out=0,
        )
        notes = {"session": self.present.activities.session[batch], "batch": batch}
        drawing = getattr(tables.users.behaviour, "drawing", None)
        counts = {} if drawing is None else {x: getattr(drawing.counts, x) for x in COUNTED}
        return workload, notes, self._history(counts)

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return the history of users in plain Python."""
        return self._history(users[0].history() if isinstance(users[0], DrawingUser) else {})

    def _history(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Return the end of submissions, if there is one, and the counts of the users."""
        until, dtype = self.present.until, self.present.workload.submit.dtype
        return counts if until == no_end(dtype) else {"until": dtype.type(until).item(), **counts}

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the jobs, and the jobs as a workload of that log."""
        return self.population.result(self.present, self.trace, workload, notes)
