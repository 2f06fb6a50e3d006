"""The orders of a queue at the beginning of a pass, in plain Python.

The orders themselves are definitions that the engines share: functions of `orders`, priorities and
scores. What they are computed from is repeated here.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from workloadkit._kernels.floats import in_floats
from workloadkit.simulation import orders
from workloadkit.simulation.check.replaying.standing import ReplayedJob, Standing
from workloadkit.simulation.orders import VARYING, VisibleJob, as_number
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.creasy import kernel as worth
from workloadkit.simulation.policies.easy import SettledOrder
from workloadkit.simulation.policies.order import Order
from workloadkit.simulation.policies.order.arithmetic import decayed
from workloadkit.simulation.policies.order.kernel import Score
from workloadkit.simulation.policies.order.plain import run as run_program
from workloadkit.simulation.policies.user_priority import UserPriority
from workloadkit.simulation.policies.user_priority import kernel as of_users
from workloadkit.simulation.policies.varying import CustomOrder, InVaryingOrder

_ALIKE = 1e-9  # keys that differ by no more than this share may be equal, if times were rounded

Key = Callable[[ReplayedJob], Any]


class Orderings:
    """The order of the queue and that of backfilling, under one policy."""

    def __init__(self, policy: Any, standing: Standing) -> None:
        self.policy, self.standing = policy, standing
        self.used = UserUse(policy.half_life if isinstance(policy, Order) else math.inf)
        self.latest: dict[int, Any] = {}  # submission of each user
        self.settled: dict[Any, Any] = {}  # values that last as long as an estimate
        self.backfill: Any = getattr(policy, "backfill", "same")
        if isinstance(policy, Order):
            self.backfill = policy.scores[1]
        if self.backfill in orders.SETTLED:
            self.backfill = partial(orders.SETTLED[self.backfill], numbers=())

    def job_arrives(self, job: ReplayedJob) -> None:
        """Record the submission of a job."""
        self.latest[job.user] = max(job.submit, self.latest.get(job.user, job.submit))
        self.used.arrives(job)

    def job_starts(self, job: ReplayedJob) -> None:
        """Record the start of a job."""
        self.used.starts(job, self.standing.now)

    def job_ends(self, job: ReplayedJob) -> None:
        """Record the end of a job."""
        self.used.ends(job, self.standing.now)

    def of_pass(self) -> tuple[list[ReplayedJob], Callable[[Sequence[ReplayedJob]], list]]:
        """Return the queue in order, and a function that puts its jobs in that of backfilling."""
        policy, waiting = self.policy, self.standing.waiting
        if isinstance(policy, UserPriority):
            place = self._places_of_users()
            alpha, now = policy.alpha_user, self.standing.now
            queue = self._sorted(
                waiting, lambda job: -of_users.priority(alpha, place[job.user], now - job.submit)
            )
            return queue, lambda jobs: sorted(jobs, key=lambda job: (place[job.user], job.place))
        queue, backfill = self._sorted(waiting, self._key()), self.backfill
        if backfill in ("same", "none"):
            return queue, list
        of: Any = self._scored if isinstance(backfill, Score) else self._visible
        return queue, lambda jobs: sorted(jobs, key=lambda job: (of(backfill, job), job.place))

    def _key(self) -> Key | None:
        """Return the key of the queue; None for the order of arrival."""
        policy, standing = self.policy, self.standing
        if isinstance(policy, Order):
            return lambda job: self._scored(policy.scores[0], job)
        if isinstance(policy, Creasy):
            bonus = worth.bonus(float(policy.alpha))
            return lambda job: -worth.priority(bonus, standing.now - job.submit, job.estimate)
        if isinstance(policy, InVaryingOrder | CustomOrder):
            custom = isinstance(policy, CustomOrder)
            by: Any = python(policy.order) if custom else VARYING[policy.order]  # type: ignore[arg-type, index]
            return lambda job: as_number(
                by(standing.now, job.submit, job.estimate, job.procs, job.user)
            )
        assert isinstance(policy, SettledOrder)
        if policy.order == "arrival" and not policy.custom_key:
            return None
        return lambda job: self._visible(policy.place, job)

    def _sorted(self, jobs: list[ReplayedJob], key: Key | None) -> list[ReplayedJob]:
        """Sort jobs, ties by arrival; record that rounding may decide."""
        if key is None:
            return list(jobs)
        values = {job: key(job) for job in jobs}
        found = sorted(jobs, key=values.__getitem__)
        if self.standing.rounding.tie > 0:
            for job, after in pairwise(found):
                apart = abs(values[after] - values[job])
                self.standing.rounding.decides |= apart <= _ALIKE * abs(values[job])
        return found

    def _visible(self, by: Callable[[VisibleJob], Any], job: ReplayedJob) -> Any:
        """Return a settled key."""
        columns = job.submit, job.estimate, job.procs, job.user, job.queue, self.standing.first
        return self._once(by, job, lambda: by(VisibleJob(*columns)))

    def _scored(self, score: Score, job: ReplayedJob) -> Any:
        """Return the score of a waiting job."""
        if score.is_settled:
            return self._once(score, job, lambda: self._computed(score, job))
        waited = self.standing.now - job.submit
        return -math.inf if waited > score.oldest_first else self._computed(score, job)

    def _once(self, what: Any, job: ReplayedJob, compute: Callable[[], Any]) -> Any:
        """Return a value that is computed once for each estimate."""
        key = what, job, job.estimate
        if key not in self.settled:
            self.settled[key] = compute()
        return self.settled[key]

    def _computed(self, score: Score, job: ReplayedJob) -> float:
        stack = run_program(score.program, lambda name: float(self._feature(name, job)))
        value = stack[0]
        if score.function is not None:
            if score.function not in self.settled:
                self.settled[score.function] = in_floats(python(score.function))
            value = self.settled[score.function](*stack)
        return as_number(value, f"job {job.number}")

    def _feature(self, name: str, job: ReplayedJob) -> Any:
        """Return a feature of a waiting job."""
        now = self.standing.now
        if name == "now":
            return now
        if name == "wait":
            return now - job.submit
        if name == "since":
            return job.submit - self.standing.first
        if name == "usage":
            return self.used.usage(job.user, now)
        if name in ("waiting_work", "running_work"):
            return getattr(self.used, name)[job.user]
        return getattr(job, name)

    def _places_of_users(self) -> dict[int, int]:
        """Return the places of users with waiting jobs, from 1; ties by user number.

        By recency, the latest submission comes first; by load, the least waiting work.
        """
        key: dict[int, Any] = defaultdict(float)
        for job in self.standing.waiting:
            if self.policy.by == "load":
                key[job.user] += of_users.work(job.estimate, job.procs)
            else:
                key[job.user] = -self.latest[job.user]
        ranked = sorted(key, key=lambda user: (key[user], user))
        return {user: place for place, user in enumerate(ranked, 1)}


class UserUse:
    """The work of each user that waits and runs, and the decayed usage."""

    def __init__(self, half_life: float) -> None:
        self.rate = math.log(2.0) / half_life
        self.waiting_work: dict[int, float] = defaultdict(float)
        self.running_work: dict[int, float] = defaultdict(float)
        self.in_use: dict[int, int] = defaultdict(int)
        self.until: dict[int, tuple[float, Any]] = {}  # usage of each user up to a time

    def arrives(self, job: ReplayedJob) -> None:
        """Add a job that waits."""
        self.waiting_work[job.user] += _work(job)

    def leaves(self, job: ReplayedJob) -> None:
        """Remove a job that waits."""
        self.waiting_work[job.user] -= _work(job)

    def renews(self, job: ReplayedJob, before: Any) -> None:
        """Take a waiting job with its new prediction."""
        self.waiting_work[job.user] -= float(before) * job.procs
        self.waiting_work[job.user] += _work(job)

    def starts(self, job: ReplayedJob, now: float) -> None:
        """Count a waiting job as running."""
        self.leaves(job)
        self.running_work[job.user] += _work(job)
        self._change(job.user, now, job.procs)

    def ends(self, job: ReplayedJob, now: float) -> None:
        """Remove a running job."""
        self.running_work[job.user] -= _work(job)
        self._change(job.user, now, -job.procs)

    def _change(self, user: int, now: float, procs: int) -> None:
        self.until[user] = self.usage(user, now), now
        self.in_use[user] += procs

    def usage(self, user: int, now: float) -> float:
        """Return the decayed usage of a user."""
        before, since = self.until.get(user, (0.0, now))
        return decayed(before, self.in_use[user], float(now - since), self.rate)


def _work(job: ReplayedJob) -> float:
    return float(job.prediction) * job.procs


def python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a compiled one; others unchanged."""
    return getattr(function, "py_func", function)
