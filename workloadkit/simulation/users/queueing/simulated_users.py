"""The users of a queueing model, in the forms of both engines."""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.fields import MAX_JOBS_MADE
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Notes
from workloadkit.simulation.users.queueing.again import (
    ConstantAgain,
    CustomAgain,
    ExponentialAgain,
    HyperbolicAgain,
)
from workloadkit.simulation.users.queueing.customers import (
    CLOSED,
    OPEN,
    ArrivalProcess,
    BreakPause,
    Customer,
    CustomPause,
    Shared,
    Visitors,
)
from workloadkit.simulation.users.queueing.service import Given, Law, Service
from workloadkit.simulation.workload import Workload
from workloadkit.simulation.workload.from_log import as_log, synthetic_workload
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.simulation.users.queueing.kernel import Again as AgainArrays
    from workloadkit.simulation.users.queueing.kernel import Needs, Thinking

#: Initial size of the tables if the number of jobs is unknown.
ROOM = 4096


@dataclass(frozen=True, eq=False)
class SimulatedQueueUsers:
    """The users of one simulation of a queueing model.

    Parameters
    ----------
    visitors : Visitors
        The users of the model.
    run, law, procs
        Needs of their jobs, see `Service`.
    jobs : int, optional
        Maximal number of submissions.
    until : float, optional
        End of submissions. [s]
    """

    visitors: Visitors
    run: float | Given
    law: Law
    procs: int | Given
    jobs: int | None
    until: float | None

    of_log: ClassVar[None] = None

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs."""
        return ROOM if self.jobs is None else self.jobs

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python."""
        service = Service(self.run, self.law, self.procs, rng)
        shared = Shared(self.visitors, service, rng, jobs=self.jobs, until=self.until)
        users: list[User] = [Customer(shared, CLOSED) for _ in range(self.visitors.users)]
        if self.visitors.rate > 0:
            users.append(ArrivalProcess(shared))
        return users

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables with room for so many jobs, and the users who fill them in."""
        from workloadkit.simulation.compiled.agenda import new_agenda
        from workloadkit.simulation.compiled.mechanisms import begin_all
        from workloadkit.simulation.users.queueing import kernel as kernels

        who = self.visitors
        if self.jobs is None and room > MAX_JOBS_MADE:
            raise WorkloadError(
                f"the users submit more than {room // 2:,} jobs by {self.until:g} s; limit the "
                "number of jobs, or give an earlier end"
            )
        user, visit, queue, procs, made_user, made_visit, made_procs = (
            np.empty(room, np.int64) for _ in range(7)
        )
        submit, run, estimate, made_run = (np.empty(room) for _ in range(4))
        # no user has more than one plan: one entry for each user, and one for the next arrival
        users = kernels.QueueUsers(
            agenda=new_agenda(room + who.users + 2, np.dtype(np.float64)),
            tables=kernels.QueueTables(user, visit, queue),
            rng=rng,
            by_event=by_event,
            rate=float(who.rate),
            n_closed=who.users,
            thinking=self._thinking(),
            until=inf if self.until is None else float(self.until),
            longest=int(min(who.longest, MAX_JOBS_MADE)),
            pause=float(who.pause),
            needs=self._needs(),
            again=self._again(),
            made=kernels.MadeJobs(made_user, made_visit, made_procs, made_run),
            counts=kernels.QueueUserCounts(most=-1 if self.jobs is None else self.jobs),
        )
        begin_all(users, submit.dtype)
        return synthetic_workload(submit, run, estimate, procs, user, queue, users)

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
        made = tables.users.tables
        workload = synthetic_workload(
            tables.submit[:n_jobs],
            tables.run[:n_jobs],
            tables.estimate[:n_jobs],
            tables.procs[:n_jobs],
            made.user[:n_jobs],
            made.queue[:n_jobs],
        )
        kind = np.where(workload.user < self.visitors.users, CLOSED, OPEN)
        return workload, {"kind": kind, "visit": made.visit[:n_jobs]}, self._history

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return the history of users in plain Python."""
        return self._history

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the jobs, and the jobs as a workload of that log."""
        trace, workload = as_log(workload, machine)
        return trace, workload, {"user": workload.user, **notes}

    @property
    def _history(self) -> dict[str, Any]:
        """Return the end of submissions, if it was given."""
        return {} if self.until is None else {"until": self.until}

    def _needs(self) -> "Needs":
        """Return the needs of jobs, for the compiled engine."""
        from workloadkit.simulation.users.queueing import kernel as kernels

        laws = {
            "fixed": kernels.FIXED,
            "exponential": kernels.EXPONENTIAL,
            "drawn": kernels.DRAWN,
            "listed": kernels.LISTED,
        }
        given = isinstance(self.run, Given)
        sizes = self.procs.values if isinstance(self.procs, Given) else np.array([self.procs])
        return kernels.Needs(
            law=laws[self.law],
            mean=1.0 if given else float(self.run),  # type: ignore[arg-type]  # mypy
            run=self.run.values.copy() if isinstance(self.run, Given) else np.zeros(1),
            procs=sizes.copy(),
        )

    def _thinking(self) -> "Thinking":
        """Return the think times of users, for the compiled engine."""
        from workloadkit.simulation.users.queueing import kernel as kernels

        law = kernels.FIXED if self.visitors.think_law == "fixed" else kernels.EXPONENTIAL
        think: Any = self.visitors.think
        nowhere = np.zeros(1)
        if not callable(think):
            return kernels.Thinking(law, kernels.SAME, float(think), 0.0, 0.0, nowhere, nowhere)
        if isinstance(think, BreakPause):
            means = (float(think.short), float(think.long), float(think.limit))
            return kernels.Thinking(law, kernels.BREAKS, *means, nowhere, nowhere)
        table = think.tabulated() if isinstance(think, CustomPause) else think
        points = (np.array(table.times), np.array(table.means))
        return kernels.Thinking(law, kernels.ON_LINES, 0.0, 0.0, 0.0, *points)

    def _again(self) -> "AgainArrays":
        """Return the probability of another job of open users, for the compiled engine."""
        from workloadkit.simulation.users.queueing import kernel as kernels

        again = self.visitors.again
        form, a, b = kernels.NEVER, 0.0, 0.0
        times = values = np.zeros(1)
        if isinstance(again, ConstantAgain):
            form, a = kernels.CONSTANT, again.p
        elif isinstance(again, ExponentialAgain):
            form, a = kernels.FALLING, again.theta
        elif isinstance(again, HyperbolicAgain):
            form, a, b = kernels.HYPERBOLA, again.a, again.b
        elif again is not None:
            table: Any = again.tabulated() if isinstance(again, CustomAgain) else again
            form = kernels.TABLE
            times, values = np.array(table.times), np.array(table.probabilities)
        return kernels.Again(form, float(a), float(b), times, values)
