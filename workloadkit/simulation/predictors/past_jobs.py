"""Ended jobs like a job: those of its user, or of its user, size and request; for both engines.

Such jobs form a group. In compiled form, a group is named by its first job, which a hash table
finds; its ended jobs are linked from the last one back.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import PlainForm
from workloadkit.simulation.workload import Workload

_PRIMES = 1_000_003, 31, 2_654_435_761  # a remainder, a factor, and one that spreads the bits
_SPREAD = 16


class OfPastJobs(PlainForm):
    """A predictor in plain Python that knows the last ended jobs of each group: a base class."""

    def __init__(self, its: Any, window: int | None = None) -> None:
        super().__init__(its)
        self._runs: dict[Any, deque] = defaultdict(lambda: deque(maxlen=window))

    def key(self, job: JobView) -> Any:
        """Return the group of a job."""
        return job.user

    def runs(self, job: JobView) -> Sequence[Any]:
        """Return the run times of the ended jobs like a job, the oldest first."""
        return self._runs[self.key(job)]

    def learn(self, job: JobView) -> None:
        """Record the run time of a job that has ended."""
        self._runs[self.key(job)].append(job.run)


class GroupMemory(NamedTuple):
    """Groups of jobs.

    Parameters
    ----------
    by_job : bool
        Whether they are of one user, size and request; otherwise of one user.
    table : ndarray of int32
        First jobs of groups by hash, -1 for none; the size is a power of two.
    first : ndarray of int32, shape (n_jobs,)
        The first job of the group of each job that has arrived.
    """

    by_job: bool
    table: NDArray[np.int32]
    first: NDArray[np.int32]


class PastJobs(NamedTuple):
    """The ended jobs of each group.

    Parameters
    ----------
    groups : GroupMemory
    last : ndarray of int32, shape (n_jobs,)
        By first job of a group: the last of its ended jobs, -1 for none.
    before : ndarray of int32, shape (n_jobs,)
        By ended job: the one of its group that ended before, -1 for none.
    recent : ndarray, shape (window,)
        Work space: the run times of the last jobs. [s]
    """

    groups: GroupMemory
    last: NDArray[np.int32]
    before: NDArray[np.int32]
    recent: NDArray


def new_groups(workload: Workload, *, by_job: bool = False) -> GroupMemory:
    """Return groups without jobs."""
    n_jobs = workload.submit.size
    table = np.full(1 << (n_jobs + n_jobs // 8).bit_length(), -1, np.int32)
    return GroupMemory(by_job, table, np.empty(n_jobs, np.int32))


def new_past_jobs(workload: Workload, window: int, *, by_job: bool = False) -> PastJobs:
    """Return groups of which no job has ended."""
    n_jobs, dtype = workload.submit.size, workload.submit.dtype
    last, before = np.full(n_jobs, -1, np.int32), np.empty(n_jobs, np.int32)
    recent = np.empty(min(window, n_jobs), dtype)
    return PastJobs(new_groups(workload, by_job=by_job), last, before, recent)


@bare
def group_of(groups, jobs, job):
    """Return the first job of the group of a job that arrives or waits."""
    first = groups.first[job] = _first_like(groups, jobs, job)
    return first


@bare
def _first_like(groups, jobs, job):
    table, mask = groups.table, groups.table.size - 1
    remainder, factor, spread = _PRIMES
    number = jobs.user[job] % remainder
    if groups.by_job:
        number = (number * factor + jobs.procs[job]) % remainder
        number = (number * factor + int(jobs.limit[job])) % remainder
    place = (number * spread >> _SPREAD) & mask
    while table[place] >= 0:
        first = table[place]
        if jobs.user[first] == jobs.user[job] and (
            not groups.by_job
            or (jobs.procs[first] == jobs.procs[job] and jobs.limit[first] == jobs.limit[job])
        ):
            return first
        place = (place + 1) & mask
    table[place] = job
    return job


@inline
def recall(past, jobs, job):
    """Set the run times of the last ended jobs like a job, the last first; return their number."""
    recent, run, count = past.recent, jobs.run, 0
    other = past.last[group_of(past.groups, jobs, job)]
    while other >= 0 and count < recent.size:
        recent[count] = run[other]
        other = past.before[other]
        count += 1
    return count


@bare
def learn(state, job, now):
    """Record a job that has ended, for a predictor whose memory has a field `past`."""
    past = state.predictor.past
    group = past.groups.first[job]
    past.before[job], past.last[group] = past.last[group], job
