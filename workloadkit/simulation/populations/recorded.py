"""The users of a log, as recorded."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from workloadkit.clock import DAY, Clock
from workloadkit.simulation.populations.present import (
    Incarnations,
    Notes,
    Present,
    SessionTimes,
    activities_of,
    no_end,
)
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

#: Period after the log for which clock changes are computed. [s]
_BEYOND = 20 * 365 * DAY


@dataclass(frozen=True)
class Recorded:
    """Each user of the log is present once, from the first job to the last."""

    name: ClassVar[str] = "recorded"

    def log(self, trace: Trace, seed: int) -> Trace:
        """Return the log unchanged."""
        return trace

    def present(self, trace: Trace, as_workload: Callable[[Trace], Workload], seed: int) -> Present:
        """Return the users of a log; see `Population.present`."""
        workload, acts = activities_of(trace, as_workload(trace))
        dtype = workload.submit.dtype
        clock = Clock.of(trace, beyond=_BEYOND)
        n_users = acts.user.size
        nothing = np.zeros(n_users, dtype)
        first = acts.arrival[acts.first_batch[:-1]]
        users = Incarnations(
            member=np.arange(n_users),
            opening=acts.first_job[acts.first_batch[:-1]],
            begin=first,
            shift=nothing,
            again=np.zeros(n_users, dtype=bool),
            until=np.full(n_users, no_end(dtype), dtype),
        )
        local = [clock.local(times).astype(dtype) for times in (acts.begin, acts.until, acts.end)]
        return Present(
            workload=workload,
            activities=acts,
            users=users,
            clock=clock,
            sessions=SessionTimes(*local),
            first_time=clock.local(first).astype(dtype),
            pause=nothing,
            until=no_end(dtype),
        )

    def result(
        self, present: Present, trace: Trace, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log, and its jobs as submitted; see `Population.result`."""
        taken = present.workload.take(workload.row)
        names = ("submit", "run", "estimate", "limit", "killed")
        submitted = {name: getattr(workload, name) for name in names}
        left_out = trace.n_jobs - workload.row.size
        return trace, replace(taken, **submitted, left_out=left_out), notes
