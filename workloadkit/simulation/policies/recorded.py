"""The recorded schedule of a log."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import insert_end_in_order
from workloadkit.simulation.compiled.state import State, never
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.machine.ledger import start_job
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload

#: Column of a saved state that becomes the waits of the workload.
RECORDED_START = "recorded_start"


@dataclass(frozen=True)
class RecordedSchedule:
    """Each job starts its recorded wait after its submission; an unknown wait counts as 0.

    Estimates, the size of the machine and its outages have no effect, and no job is killed: real
    logs exceed their machines at times, through gang scheduling or clock errors. The result is the
    schedule of the log's own scheduler, as a reference for others.
    """

    name: ClassVar[str] = "recorded"
    supports: ClassVar = supporting("recorded starts", "state", base=())
    memory: ClassVar = Memory("the recorded starts of waiting jobs")

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return RecordedScheduler()

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        if workload.users is None:  # all starts are known
            leaves = workload.leaves
            left = {} if leaves is None else {"left": leaves != never(leaves.dtype)}
            return Outcome(workload.submit + workload.wait, left)
        return CompiledRecorded(workload, rules)


# The recorded schedule of a log, in plain Python.


class RecordedScheduler(Scheduler):
    """The recorded schedule of a log, in plain Python."""

    overcommits = True

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[Any, int, JobView]] = []  # a heap: start, serial, job
        self._serial = count()

    def job_arrives(self, job: JobView) -> None:
        """Record the start of a job."""
        start = job.submit + job.recorded_wait
        heappush(self._due, (start, next(self._serial), job))
        self.sleep(start - self.now)

    def job_leaves(self, job: JobView) -> None:
        """Remove a cancelled job."""
        self._due.remove(next(due for due in self._due if due[2] is job))
        heapify(self._due)
        super().job_leaves(job)

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the start of each job."""
        return {"jobs": {RECORDED_START: [job.submit + job.recorded_wait for job in jobs]}}

    def allocate(self) -> None:
        """Start the jobs that are due."""
        while self._due and self._due[0][0] <= self.now:
            self.start(heappop(self._due)[2])

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self._due)


# The recorded schedule of a log, compiled, for users who react.


class Due(NamedTuple):
    """A part of the state: the starts of the waiting jobs.

    Parameters
    ----------
    wait : ndarray, shape (n_jobs,)
        Wait of each job in the log. [s]
    time : ndarray, shape (n_jobs,)
        Starts of waiting jobs, descending. [s]
    job : ndarray of int64, shape (n_jobs,)
        The jobs that start then.
    """

    wait: NDArray
    time: NDArray
    job: NDArray[np.int64]


class CompiledRecorded(CompiledPolicy):
    """Each job starts its recorded wait after its submission."""

    @property
    def capacity(self) -> int:
        """Number of jobs that can run at once: logs may exceed their machines."""
        return int(self.workload.submit.size)

    def begin(self, state: State) -> State:
        """Return the state without waiting jobs."""
        submit = state.jobs.submit
        part = Due(self.workload.wait, np.empty_like(submit), np.empty(submit.size, np.int64))
        return state._replace(policy=part)


@inline
def job_arrived(state, job, now):
    """Record the start of a job."""
    due = state.policy
    count = state.at.n_waiting - 1
    insert_end_in_order(due.time, due.job, count, now + due.wait[job], job)


@inline
def next_timer(state, what, now):
    """Return the start of the next job."""
    return state.policy.time[state.at.n_waiting - 1] if state.at.n_waiting > 0 else state.never


@inline
def allocate(state, new, now):
    """Start the jobs that are due."""
    due = state.policy
    while state.at.n_waiting > 0 and due.time[state.at.n_waiting - 1] <= now:
        start_job(state, due.job[state.at.n_waiting - 1], now)


register_functions(Due, sys.modules[__name__])
