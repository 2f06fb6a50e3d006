"""The users of a log, as they were."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloadkit.clock import Clock
from workloadkit.simulate.populations.present import (
    Incarnations,
    Present,
    SessionTimes,
    activities_of,
    no_end,
)
from workloadkit.simulate.workload import Workload
from workloadkit.trace import Trace


@dataclass(frozen=True)
class Recorded:
    """Each user of the log is there once, from the first job to the last."""

    name: ClassVar[str] = "recorded"

    def present(self, trace: Trace, workload: Workload) -> Present:
        """Return the users of a log.

        Parameters
        ----------
        trace : Trace
        workload : Workload
            Its jobs.
        """
        workload, acts = activities_of(trace, workload)
        dtype = workload.submit.dtype
        clock = Clock.of(trace)
        n_users = acts.user.size
        nothing = np.zeros(n_users, dtype)
        first = acts.arrival[acts.first_batch[:-1]]
        users = Incarnations(
            member=np.arange(n_users),
            opening=acts.first_job[acts.first_batch[:-1]],
            begin=first,
            shift=nothing,
            again=np.zeros(n_users, dtype=bool),
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
