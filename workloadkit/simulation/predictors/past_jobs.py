"""Ended jobs like a job: those of its user, or of its user, size and request; for both engines.

Such jobs form a group. In compiled form, a group is named by its first job, which a hash table
finds; its ended jobs are linked from the last one back.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import BuiltIn, PlainForm
from workloadkit.simulation.workload import Workload

_PRIMES = 1_000_003, 31, 2_654_435_761  # a remainder, a factor, and one that spreads the bits
_SPREAD = 16


@dataclass(frozen=True)
class OfGroups(BuiltIn):
    """A predictor that learns from the ended jobs like a job: a base class."""

    by_job: ClassVar[bool] = False  #: Whether they are of one user, size and request.

    def remember(self, part: Any, workload: Workload) -> dict[str, Any]:
        """Return what it has learned of each group: run times, or sums of them and of weights."""
        past, groups = part.memory.past, []
        run = np.append(workload.run, past.older)
        for key, first in _first_jobs(workload, by_job=self.by_job).items():
            runs: list[Any] = []
            other = past.last[first]
            while other >= 0 and len(runs) < past.recent.size:
                runs.append(run[other].item())
                other = past.before[other]
            if learned := self.sums(part.memory, first) or runs[::-1]:
                groups.append([key, learned])
        return {"groups": groups}

    def recall(self, part: Any, workload: Workload, memory: Mapping[str, Any]) -> Any:
        """Return the part of the compiled state with what `remember` returned."""
        first, size = _first_jobs(workload, by_job=self.by_job), workload.submit.size
        last, before, older = part.memory.past.last, [], []
        for key, learned in memory["groups"]:
            if (group := first.get(tuple(key))) is None or self.set_sums(
                part.memory, group, learned
            ):
                continue
            for run in learned:
                before.append(last[group])
                older.append(run)
                last[group] = size + len(older) - 1
        window = getattr(self, "window", None) or 0
        past = part.memory.past._replace(
            before=np.append(part.memory.past.before, np.array(before, np.int32)),
            older=np.array(older, workload.run.dtype),
            recent=np.zeros(min(window, size + len(older)), workload.run.dtype),
        )
        return part._replace(memory=part.memory._replace(past=past))

    def sums(self, memory: Any, group: int) -> list[float]:
        """Return sums of the run times of a group and of their weights, if it keeps these."""
        return []

    def set_sums(self, memory: Any, group: int, sums: Sequence[float]) -> bool:
        """Set the sums of a group; return whether it keeps them."""
        return False


def _first_jobs(workload: Workload, *, by_job: bool) -> dict[tuple[Any, ...], int]:
    """Return the first job of each group by what its jobs have in common."""
    columns = [workload.user, *([workload.procs, workload.estimate] if by_job else [])]
    keys = [*zip(*(column.tolist() for column in columns), strict=True)]
    return dict(zip(keys[::-1], range(len(keys))[::-1], strict=True))


class OfPastJobs(PlainForm):
    """A predictor in plain Python that knows the last ended jobs of each group: a base class."""

    def __init__(self, its: Any, window: int | None = None) -> None:
        super().__init__(its)
        self._runs: dict[Any, deque] = defaultdict(lambda: deque(maxlen=window))

    def key(self, job: JobView) -> Any:
        """Return the group of a job."""
        return (job.user,)

    def runs(self, job: JobView) -> Sequence[Any]:
        """Return the run times of the ended jobs like a job, the oldest first."""
        return self._runs[self.key(job)]

    def learn(self, job: JobView) -> None:
        """Record the run time of a job that has ended."""
        self._runs[self.key(job)].append(job.run)

    def remember(self) -> dict[str, Any]:
        """Return the run times of each group, the oldest first."""
        return {"groups": [[key, [*runs]] for key, runs in self._runs.items() if runs]}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with what `remember` returned."""
        for key, runs in memory["groups"]:
            self._runs[tuple(key)].extend(runs)


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
    older : ndarray
        Run times of the jobs that had ended before the simulation began; these are numbered behind
        its own. [s]
    """

    groups: GroupMemory
    last: NDArray[np.int32]
    before: NDArray[np.int32]
    recent: NDArray
    older: NDArray


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
    older = np.empty(0, dtype)
    return PastJobs(new_groups(workload, by_job=by_job), last, before, recent, older)


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
        recent[count] = run[other] if other < run.size else past.older[other - run.size]
        other = past.before[other]
        count += 1
    return count


@bare
def learn(state, job, now):
    """Record a job that has ended, for a predictor whose memory has a field `past`."""
    past = state.predictor.past
    group = past.groups.first[job]
    past.before[job], past.last[group] = past.last[group], job
