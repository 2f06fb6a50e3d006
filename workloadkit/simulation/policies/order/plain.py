"""EASY in the order of a score, in plain Python."""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from workloadkit._kernels.compile import in_python
from workloadkit._kernels.floats import in_floats
from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.orders import as_number, refused_errors
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.order.arithmetic import decayed, of_one, of_two
from workloadkit.simulation.policies.order.expression import (
    ADD,
    CHOOSE,
    FEATURE,
    FEATURES,
    NUMBER,
    Program,
)
from workloadkit.simulation.policies.order.kernel import Score
from workloadkit.simulation.policies.policy import AS_USUAL, Overtaking


class ScoredScheduler(OrderedScheduler):
    """EASY in the order of a score, in plain Python.

    Parameters
    ----------
    score : Score
    backfill : Score or str
        Order of backfilling: a score, or as in `Ordered`.
    overtaking : Overtaking
    reservations : int
    """

    def __init__(
        self,
        score: Score,
        backfill: Score | str,
        overtaking: Overtaking = AS_USUAL,
        reservations: int = 1,
    ) -> None:
        by_name = backfill if isinstance(backfill, str) else "same"
        super().__init__(backfill=by_name, reservations=reservations, overtaking=overtaking)
        self.score = score
        self.backfill_score = None if isinstance(backfill, str) else backfill
        self.work = UserWork(score.half_life)
        self.settled: dict[tuple[Score | None, JobView], float] = {}
        self.to_compare: dict[JobView, float] = {}
        self.functions: dict[Callable[..., Any], Callable[..., Any]] = {}

    def job_arrives(self, job: JobView) -> None:
        """Add a job to its user's waiting work."""
        if not self._at.jobs[1:]:
            self._check_users()
        self.work.arrives(job)
        super().job_arrives(job)

    def prediction_renewed(self, job: JobView, before: Any) -> None:
        """Change its user's waiting work, and forget its scores."""
        self.work.renews(job, before)
        for score in (self.score, self.backfill_score):
            self.settled.pop((score, job), None)
        super().prediction_renewed(job, before)

    def start(self, job: JobView) -> None:
        """Start a job, of its user's running work from now on."""
        super().start(job)
        self.work.starts(job, self.now)

    def job_ends(self, job: JobView) -> None:
        """Remove a job from its user's running work."""
        self.work.ends(job, self.now)
        super().job_ends(job)

    def job_interrupted(self, job: JobView) -> None:
        """Return a job to its user's waiting work."""
        self.work.ends(job, self.now)
        self.work.arrives(job)
        super().job_interrupted(job)

    def job_leaves(self, job: JobView) -> None:
        """Remove a cancelled job from its user's waiting work."""
        self.work.leaves(job)
        super().job_leaves(job)

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the order of the queue at the start of a pass."""
        if self.backfill_score is not None:
            score = self.backfill_score
            self.to_compare = {job: self.value(score, job) for job in self.queue}
        return sorted(self.queue, key=lambda job: self.value(self.score, job))

    def to_backfill(self, jobs: list[JobView]) -> list[JobView]:
        """Return waiting jobs, given in the order of the queue, in the order of backfilling."""
        if self.backfill_score is None:
            return super().to_backfill(jobs)
        return sorted(jobs, key=lambda job: (self.to_compare[job], job.arrival))

    def value(self, score: Score, job: JobView) -> float:
        """Return the score of a waiting job."""
        if not score.is_settled:
            if self.now - job.submit > score.oldest_first:
                return -math.inf
            return self.computed(score, job)
        if (score, job) not in self.settled:
            self.settled[score, job] = self.computed(score, job)
        return self.settled[score, job]

    def computed(self, score: Score, job: JobView) -> float:
        """Compute the score of a waiting job."""
        stack = run(score.program, lambda name: float(self.feature(name, job)))
        found = stack[0] if score.function is None else self._call(score.function, stack, job)
        return as_number(found, f"job {job.number}")

    def _call(self, function: Callable[..., Any], given: list[float], job: JobView) -> Any:
        if function not in self.functions:
            self.functions[function] = in_floats(in_python(function))
        with refused_errors(function, job):
            return self.functions[function](*given)

    def feature(self, name: str, job: JobView) -> Any:
        """Return a feature of a waiting job."""
        if name == "now":
            return self.now
        if name == "wait":
            return self.now - job.submit
        if name == "since":
            return job.submit - self._at.first
        if name in ("group", "partition", "tier"):
            return getattr(job._record, name)
        if name in ("running_work", "waiting_work", "usage"):
            return getattr(self.work, name)(job.user, self.now)
        return getattr(job, name)

    def _check_users(self) -> None:
        check_log(
            (self.score, self.backfill_score),
            all(user.known_jobs() is not None for user in self._at.users),
        )


def check_log(scores: Any, is_there: bool) -> None:
    """Refuse scores of what only jobs of a log have, where there are others."""
    if not is_there and any(score is not None and score.is_of_log for score in scores):
        raise ParameterError(
            "scheduler order: number, group, partition and tier are known only of jobs that arrive "
            "at the timestamps of a log"
        )


def run(program: Program, feature: Callable[[str], float]) -> list[float]:
    """Run a program; return the numbers that it leaves on the stack."""
    stack: list[float] = []
    for what, which in program.steps:
        if what == NUMBER:
            stack.append(program.numbers[which])
        elif what == FEATURE:
            stack.append(feature(FEATURES[which]))
        elif what < ADD:
            stack.append(of_one(what, stack.pop()))
        elif what < CHOOSE:
            y, x = stack.pop(), stack.pop()
            stack.append(of_two(what, x, y))
        else:
            no, yes, condition = stack.pop(), stack.pop(), stack.pop()
            stack.append(yes if condition != 0.0 else no)
    return stack


class UserWork:
    """What each user has waiting and running, and has used.

    Parameters
    ----------
    half_life : float
        Of the usage. [s]
    """

    def __init__(self, half_life: float) -> None:
        self.decay = math.log(2.0) / half_life
        self.waiting: dict[int, float] = defaultdict(float)
        self.running: dict[int, float] = defaultdict(float)
        self.busy: dict[int, float] = defaultdict(float)
        self.used: dict[int, tuple[float, Any]] = {}  # up to a time

    def arrives(self, job: JobView) -> None:
        """Add a job that waits."""
        self.waiting[job.user] += _work(job)

    def renews(self, job: JobView, before: Any) -> None:
        """Take a waiting job with its new prediction."""
        self.waiting[job.user] -= float(before) * job.procs
        self.waiting[job.user] += _work(job)

    def leaves(self, job: JobView) -> None:
        """Remove a job that waits."""
        self.waiting[job.user] -= _work(job)

    def starts(self, job: JobView, now: float) -> None:
        """Take a job from the waiting ones to the running ones."""
        self.waiting[job.user] -= _work(job)
        self.running[job.user] += _work(job)
        self._use(job.user, now, job.procs)

    def ends(self, job: JobView, now: float) -> None:
        """Remove a running job."""
        self.running[job.user] -= _work(job)
        self._use(job.user, now, -job.procs)

    def _use(self, user: int, now: float, more: int) -> None:
        self.used[user] = self.usage(user, now), now
        self.busy[user] += more

    def waiting_work(self, user: int, now: float) -> float:
        """Return the waiting work of a user."""
        return self.waiting[user]

    def running_work(self, user: int, now: float) -> float:
        """Return the running work of a user."""
        return self.running[user]

    def usage(self, user: int, now: float) -> float:
        """Return the decayed usage of a user."""
        before, since = self.used.get(user, (0.0, now))
        return decayed(before, self.busy[user], float(now - since), self.decay)


def _work(job: JobView) -> float:
    return float(job.prediction) * job.procs
