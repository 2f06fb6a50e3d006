"""The passes of policies that keep reservations, in plain Python."""

from math import inf
from typing import Any

from workloadkit.simulation.check.replaying.passing import Passing
from workloadkit.simulation.check.replaying.standing import ReplayedJob, ReplayedPlan, Standing
from workloadkit.simulation.policies.slack import Slack


class Keeping(Passing):
    """Conservative backfilling: each job keeps its reservation, unless that may be earlier.

    Attributes
    ----------
    reserved : dict of ReplayedJob to time
        Begins of reservations. [s]
    """

    keeps = True

    def __init__(self, policy: Any, standing: Standing) -> None:
        super().__init__(policy, standing)
        self.compression = getattr(policy, "compression", "full")
        self.reserved: dict[ReplayedJob, Any] = {}
        self.may_move, self.is_void = False, True

    def job_ends(self, job: ReplayedJob) -> None:
        """Record that others may move, or that the plan was wrong."""
        self.may_move |= self.standing.now < job.planned_end or self.compression == "full"
        self.is_void |= self.standing.now > job.planned_end

    def job_leaves(self, job: ReplayedJob) -> None:
        """Free the reservation of a job."""
        self.reserved.pop(job, None)
        self.may_move = True

    def plans_void(self) -> None:
        """Void all reservations."""
        self.is_void = True

    def choose(self) -> list[ReplayedJob]:
        """Move reservations, reserve for new jobs, and start those that are due."""
        standing, now, is_overdue = self.standing, self.standing.now, self.standing.is_overdue
        self.is_void |= is_overdue
        if self.is_void:
            self.reserved.clear()
        plan = standing.plan()
        for job, begin in self.reserved.items():
            plan.take(begin, begin + job.estimate, job.procs)
        for job in standing.waiting:
            if job not in self.reserved:
                self._add(plan, job)
            elif self.may_move and self.compression != "none":
                self._move(plan, job)
        chosen, free = [], standing.free
        self.head = None
        for job in standing.waiting:
            if self.reserved[job] <= now and job.procs <= free:
                chosen.append(job)
                free -= job.procs
            elif self.head is None:
                self.head, self.shadow = job, self.reserved[job]
        for job in chosen:
            del self.reserved[job]
        self.may_move = self.is_void = False
        if self.compression != "full" and not is_overdue:
            begins = (begin for begin in self.reserved.values() if begin > now)
            self.timer = min(begins, default=inf)
        else:
            self.timer = inf
        return chosen

    def _add(self, plan: ReplayedPlan, job: ReplayedJob) -> None:
        """Reserve the earliest slot for a job without a reservation."""
        self.reserved[job] = self._reserve(plan, job)

    def _move(self, plan: ReplayedPlan, job: ReplayedJob) -> None:
        """Move a reservation to the earliest slot, or only to a start now."""
        kept = self.reserved[job]
        plan.take(kept, kept + job.estimate, -job.procs)
        begin = min(plan.earliest(job.estimate, job.procs), kept)  # for 0 s, `kept` is not free
        if self.compression == "start" and begin > self.standing.now:
            begin = kept
        plan.take(begin, begin + job.estimate, job.procs)
        self.reserved[job] = begin


class Slacking(Keeping):
    """Slack-based backfilling: new jobs may move others, within the slack of each."""

    def __init__(self, policy: Slack, standing: Standing) -> None:
        super().__init__(policy, standing)
        self.waited: Any = 0
        self.n_started = 0
        self.slack: dict[ReplayedJob, float] = {}
        self.promised: dict[ReplayedJob, Any] = {}

    def job_arrives(self, job: ReplayedJob) -> None:
        """Determine the slack of a job, once."""
        if job in self.slack:
            return
        policy, queues = self.policy, self.policy.urgent_queues
        mean = self.waited / self.n_started if self.n_started else 0.0
        share = policy.priority(job.queue) / len(queues) if queues else 1.0
        self.slack[job] = policy.factor * mean * share * (1 - job.procs / self.standing.machine)

    def job_starts(self, job: ReplayedJob) -> None:
        """Add the wait of a job."""
        self.waited += self.standing.now - job.submit
        self.n_started += 1

    def _add(self, plan: ReplayedPlan, job: ReplayedJob) -> None:
        """Reserve for a new job, which may move others; its promise is the result."""
        super()._add(plan, job)
        if not self.is_void and self.standing.now < self.reserved[job] < inf:
            self._delay_others(plan, job)
        self.promised.setdefault(job, self.reserved[job])

    def _delay_others(self, plan: ReplayedPlan, new: ReplayedJob) -> None:
        """Examine plans without the latest reservations; take the cheapest."""
        now, goal, reserved = self.standing.now, self.reserved[new], self.reserved
        others = [job for job, begin in reserved.items() if now < begin < inf and job is not new]
        others.sort(key=lambda job: (reserved[job], job.place))
        plan.take(goal, goal + new.estimate, -new.procs)
        moved, lowest, best = [new], 0.0, {new: goal}
        for job in others[: -self.policy.depth - 1 : -1]:
            if goal <= now:
                break
            plan.take(reserved[job], reserved[job] + job.estimate, -job.procs)
            moved.insert(1, job)
            earliest = plan.earliest(new.estimate, new.procs)
            if earliest < goal:
                goal = earliest
                cost, begins = self._placed(plan.copy(), moved)
                if cost < lowest:
                    lowest, best = cost, begins
        for job in moved:
            reserved[job] = best.get(job, reserved[job])
            plan.take(reserved[job], reserved[job] + job.estimate, job.procs)

    def _placed(
        self, plan: ReplayedPlan, jobs: list[ReplayedJob]
    ) -> tuple[float, dict[ReplayedJob, Any]]:
        """Give jobs the earliest slots; return the cost, infinite if one is too late, and begins.

        The first job is new. A promise that cannot be kept is not broken further.
        """
        cost, begins = 0.0, {}
        for job in jobs:
            begin = begins[job] = self._reserve(plan, job)
            latest = self.reserved[job]
            if job in self.promised:
                latest = max(self.promised[job] + self.slack[job], latest)
            if begin > latest:
                return inf, begins
            weight = job.estimate if self.policy.cost == "slowdown" else 1
            cost += (begin - self.reserved[job]) / weight
        return cost, begins
