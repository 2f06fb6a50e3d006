"""The passes of policies, in plain Python: the jobs that each starts, given all that happened.

Each is a class with the same methods: what happens to jobs, and `choose`, which returns the jobs
that start now, in the order of their starts.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

from workloadkit.simulation.check.replaying.orderings import Orderings
from workloadkit.simulation.check.replaying.standing import ReplayedJob, ReplayedPlan, Standing
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.policy import rule_of


class Passing:
    """A policy that makes all reservations again in each pass: a base class.

    Attributes
    ----------
    head : ReplayedJob or None
        The job with the first reservation of the last pass.
    shadow : int or float
        When that begins. [s]
    timer : int or float
        When there is a pass, even if nothing happens then. [s]
    """

    #: Whether decisions depend on those of earlier passes.
    keeps = False

    def __init__(self, policy: Any, standing: Standing) -> None:
        self.policy, self.standing = policy, standing
        self.head: ReplayedJob | None = None
        self.shadow: float = inf
        self.timer: Any = inf

    def job_arrives(self, job: ReplayedJob) -> None:
        """Handle a submission."""

    def job_starts(self, job: ReplayedJob) -> None:
        """Handle a start, before the job is running."""

    def job_ends(self, job: ReplayedJob) -> None:
        """Handle an end; its processors are free again."""

    def job_leaves(self, job: ReplayedJob) -> None:
        """Handle a waiting job that leaves the queue."""

    def prediction_renewed(self, job: ReplayedJob, before: Any) -> None:
        """Handle a new prediction of a waiting job."""

    def plans_void(self) -> None:
        """Handle what was not planned: changes of the machine, corrections, other schedules."""

    def choose(self) -> list[ReplayedJob]:
        """Return the jobs that start now."""
        raise NotImplementedError

    @property
    def _may_start(self) -> bool:
        """Whether any waiting job fits."""
        free = self.standing.free
        return any(job.procs <= free for job in self.standing.waiting)

    def _reserve(self, plan: ReplayedPlan, job: ReplayedJob) -> Any:
        """Give a job the earliest slot; return its begin."""
        begin = plan.earliest(job.estimate, job.procs)
        plan.take(begin, begin + job.estimate, job.procs)
        return begin


class InOrder(Passing):
    """EASY in any order, with any number of reservations; FCFS."""

    def __init__(self, policy: Any, standing: Standing) -> None:
        super().__init__(policy, standing)
        self.orderings = Orderings(policy, standing)
        self.backfills = self.orderings.backfill != "none"
        self.reservations = getattr(policy, "reservations", 1)
        self.spares, self.strict = rule_of(policy)
        self.job_arrives = self.orderings.job_arrives  # type: ignore[method-assign]
        self.job_starts = self.orderings.job_starts  # type: ignore[method-assign]
        self.job_ends = self.orderings.job_ends  # type: ignore[method-assign]
        self.job_leaves = self.orderings.used.leaves  # type: ignore[method-assign]
        self.prediction_renewed = self.orderings.used.renews  # type: ignore[method-assign]

    def choose(self) -> list[ReplayedJob]:
        """Start jobs in order while they fit, then backfill around the reservations."""
        self.head, free = None, self.standing.free
        chosen: list[ReplayedJob] = []
        if not self._may_start:
            return chosen
        queue, to_backfill = self.orderings.of_pass()
        while queue and queue[0].procs <= free:
            chosen.append(queue.pop(0))
            free -= chosen[-1].procs
        if not self.backfills or not any(job.procs <= free for job in queue):
            return chosen
        plan, now = self.standing.plan(), self.standing.now
        for job in chosen:
            plan.take(now, now + job.estimate, job.procs)
        n_reserved = 0
        while queue and n_reserved < self.reservations:
            job = queue.pop(0)
            begin = self._reserve(plan, job)
            if begin == now and job.procs <= free:
                chosen.append(job)
                free -= job.procs
            else:
                if n_reserved == 0:
                    self.head, self.shadow = job, begin
                if self.reservations == 1 and job.estimate == 0:
                    plan.take_at(begin, job.procs)
                n_reserved += 1
        return chosen + self._overtaking(to_backfill(queue), plan, free)

    def _overtaking(
        self, jobs: Sequence[ReplayedJob], plan: ReplayedPlan, free: int
    ) -> list[ReplayedJob]:
        """Return the jobs that start without delaying a reservation.

        If `strict`, a job that does not end before the shadow time needs processors that are spare
        then, up to and including the second of its end.
        """
        chosen, now, is_before = [], self.standing.now, self.standing.rounding.is_before
        for job in jobs:
            end = now + job.estimate
            if self.strict:
                in_time = is_before(end, self.shadow)
                end += 0 if in_time else max(1, 2 * self.standing.rounding.tie)
            else:
                in_time = not is_before(self.shadow, end)
            if job.procs <= free and (in_time or self.spares) and plan.fits(end, job.procs):
                plan.take(now, end, job.procs)
                free -= job.procs
                chosen.append(job)
        return chosen


class Selecting(InOrder):
    """Selective backfilling: jobs that have reached the threshold have reservations."""

    def __init__(self, policy: Any, standing: Standing) -> None:
        super().__init__(Easy(), standing)
        self.threshold = policy.threshold

    def _due(self, job: ReplayedJob) -> Any:
        return job.submit + (self.threshold - 1) * job.estimate

    def choose(self) -> list[ReplayedJob]:
        """Reserve for the jobs that are due, or start them; then backfill the others."""
        self.head = None
        chosen: list[ReplayedJob] = []
        if not self._may_start:
            return chosen
        standing, plan, free = self.standing, self.standing.plan(), self.standing.free
        is_before = standing.rounding.is_before
        due = [job for job in standing.waiting if not is_before(standing.now, self._due(job))]
        for job in sorted(due, key=self._due):
            begin = self._reserve(plan, job)
            if begin == standing.now and job.procs <= free:
                chosen.append(job)
                free -= job.procs
            elif self.head is None:
                self.head, self.shadow = job, begin
        reserved = set(due)
        others = [job for job in standing.waiting if job not in reserved]
        return chosen + self._overtaking(others, plan, free)


class Looking(InOrder):
    """Backfilling with lookahead: the set of jobs that fills the machine best."""

    def __init__(self, policy: Any, standing: Standing) -> None:
        super().__init__(Easy(), standing)
        self.depth = policy.depth

    def _overtaking(
        self, jobs: Sequence[ReplayedJob], plan: ReplayedPlan, free: int
    ) -> list[ReplayedJob]:
        """Return the set of jobs with the most processors; of equal ones, that of the earliest."""
        spare = plan.level(self.shadow) if self.shadow < inf else inf
        late = {
            job: self.standing.rounding.is_before(self.shadow, self.standing.now + job.estimate)
            for job in jobs
        }
        may = [job for job in jobs if job.procs <= (min(free, spare) if late[job] else free)]
        return _fullest([(j, j.procs, j.procs * late[j]) for j in may[: self.depth]], free, spare)


def _fullest(jobs: list[tuple[Any, int, int]], free: int, spare: Any) -> list[Any]:
    """Return the set of jobs with the most processors, each with its needs of free and spare ones.

    Of two sets that first differ in a job, the one with it comes first: its number is larger, if
    each job is a binary digit, the first job the highest.
    """
    best = {(0, 0): 0}  # by the processors that a set uses
    for _, procs, late in jobs:
        without = {use: number << 1 for use, number in best.items()}
        best = without.copy()
        for (used, used_late), number in without.items():
            use = used + procs, used_late + late
            if use[0] <= free and use[1] <= spare:
                best[use] = max(best.get(use, 0), number + 1)
    _, number = max((used, number) for (used, _), number in best.items())
    return [job for place, (job, _, _) in enumerate(reversed(jobs)) if number >> place & 1][::-1]
