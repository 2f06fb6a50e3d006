"""Slack-based backfilling: a new job may move others, within the slack of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, Literal

from workloadkit.errors import ParameterError, check_choice
from workloadkit.simulation.compiled.state import State, jobs_there
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.compiled import given_values
from workloadkit.simulation.policies.conservative import CompiledConservative, ConservativeScheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.priority_fifo import QueuePriority
from workloadkit.simulation.policies.profile import Profile
from workloadkit.simulation.policies.slack import kernel
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload

Cost = Literal["wait", "slowdown"]


@dataclass(frozen=True)
class Slack(QueuePriority):
    """Conservative backfilling in which a new job may delay others, within their slack [1]_.

    Each job has a reservation from its submission on, first for its promised start. Its slack is
    how much later than that it may start at most; important jobs, and jobs that need much of the
    machine, have little. So the wait of each job is bounded, yet better schedules remain possible.

    A new job takes the earliest slot that delays no reservation. If that is not now, alternatives
    are examined: the jobs with the latest reservations are taken out of the plan, one after the
    other. Whenever the new job can start earlier than in all alternatives before, it does so, and
    the jobs that were taken out take the earliest slots again, in the order of their reservations.
    An alternative is possible if each job starts by its promised start plus its slack. Of all plans
    the cheapest is chosen; of equal ones, the one that takes out the fewest jobs. When a job ends,
    all reservations move forward, as in `Conservative`.

    A job's slack is factor · w · p · (1 - n / N): w is the mean wait of the jobs that have started
    before its submission, 0 before the first start; n are its processors, N those of the machine; p
    is 1, or the place of its queue among `queues`, from 0, divided by their number.

    Only the abstract of the source was available: each waiting job has a slack, which bounds its
    wait and is small for important and heavy jobs; priorities are those of users and of
    administrators. The formula of the slack, the measure of the cost and the plans that are
    examined are choices of this implementation. Priorities are those of queues, as users choose
    them and administrators define them.

    Promises hold if estimates do. If a job outlives its estimate, or an outage was not announced,
    all reservations are made again, in the order of arrival; while an outage is announced or under
    way, and in such a pass, new jobs delay no others. `Schedule.jobs` contains ``promised_start``
    and ``slack``.

    Parameters
    ----------
    factor : float
        The slack of jobs in mean waits. With 0, each job still starts by its promised start, but a
        new job may move it back to there after it has moved forward.
    cost : {"wait", "slowdown"}
        What makes a plan cheap: a small sum of the waits of all jobs, or of their waits divided by
        their estimates.
    queues : str
        Numbers of the important queues, the most important first, as in ``"5/2/1"``; jobs of the
        first one have no slack. By default all are equal.
    depth : int
        Largest number of jobs that are taken out of the plan.

    References
    ----------
    .. [1] D. Talby, D. G. Feitelson, "Supporting priorities and improving utilization of the IBM SP
       scheduler using slack-based backfilling", IPPS/SPDP 1999.
    """

    name: ClassVar[str] = "slack"
    supports: ClassVar = supporting(
        "each pass", "parts", "benchmark", "state", without=("nodes", "outages of users")
    )
    memory: ClassVar = Memory(
        "the promised starts of waiting jobs",
        "promises in the order of submission, and no slack until jobs have started",
        of_machine=True,
    )
    repeated_as: ClassVar[str] = "Slacking"

    factor: float = 1.0
    cost: str = "wait"
    queues: str = ""
    depth: int = 50

    def __post_init__(self) -> None:
        check_types(self)
        self.check_queues()
        check_choice(f"scheduler {self.name}: cost", self.cost, Cost)
        if not (isfinite(self.factor) and self.factor >= 0):
            raise ParameterError(
                f"scheduler {self.name}: factor is {self.factor:g}; a finite number, at least 0"
            )
        if not self.depth >= 1:
            raise ParameterError(f"scheduler {self.name}: depth is {self.depth}; at least 1")

    def warn_of_queues(self, queues: set[int]) -> None:
        """Warn if `queues` names queues without jobs."""
        if self.queues:
            self.warn_of_equals(queues)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return SlackScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return CompiledSlack(self, workload, rules)


# Slack-based backfilling, in plain Python.


class SlackScheduler(ConservativeScheduler):
    """Slack-based backfilling, in plain Python."""

    supports = supporting("parts", without=("outages of users",))

    def __init__(self, policy: "Slack") -> None:
        super().__init__()
        self.policy = policy
        self.waited: Any = 0  # by the jobs that have started
        self.n_started = 0
        self.slack: dict[JobView, float] = {}
        self._void = True  # jobs of another scheduler arrive at once; their promises are new

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the reservations and promises of another one, as `ConservativeScheduler`."""
        super().continue_from(other, copies)
        if type(self._at.hardware) is type(other._at.hardware):
            self.waited, self.n_started = other.waited, other.n_started
            self.slack |= {copies[job]: other.slack[job] for job in copies}

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return reservations, promises and the waits until now."""
        memory = super().remember(jobs)
        memory["jobs"]["slack"] = [self.slack[job] for job in jobs]
        return {**memory, "waited": self.waited, "started": self.n_started}

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with reservations, promises and waits."""
        super().recall(memory, jobs)
        self.slack = dict(zip(jobs, memory["jobs"]["slack"], strict=True))
        self.waited, self.n_started = memory["waited"], memory["started"]
        self._void = False

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the promised start and the slack of each job."""
        self.policy.warn_of_queues({job.queue for job in jobs})
        slack = [self.slack.get(job, 0.0) for job in jobs]  # of those that ran before, none
        return {**super().columns(jobs), "slack": slack}

    def job_arrives(self, job: JobView) -> None:
        """Determine the slack of a new job, by the waits until now."""
        mean = self.waited / self.n_started if self.n_started else 0.0
        queues = self.policy.urgent_queues
        share = self.policy.priority(job.queue) / len(queues) if queues else 1.0
        self.slack[job] = self.policy.factor * mean * share * (1 - job.procs / self._at.machine)
        super().job_arrives(job)

    def start(self, job: JobView) -> None:
        """Start a waiting job."""
        self.waited += self.now - job.submit
        self.n_started += 1
        super().start(job)

    def place(self, profile: Profile, job: JobView) -> None:
        """Reserve for a job without a reservation."""
        super().place(profile, job)
        if not (self._void or self._outlived) and self.now < self.reserved[job] < inf:
            self._improve(profile, job)
        self._promised.setdefault(job, self.reserved[job])

    def _improve(self, profile: Profile, new: JobView) -> None:
        """Move the jobs with the latest reservations, as long as that is cheaper."""
        goal = self.reserved[new]
        begins = ((begin, job.arrival, job) for job, begin in self.reserved.items())
        later = sorted(which for which in begins if self.now < which[0] < inf and which[2] != new)
        taken_out = [new]
        profile.release(goal, new)
        lowest, best = 0.0, self.reserved
        for begin, _, job in reversed(later[-self.policy.depth :]):
            if goal <= self.now:
                break
            profile.release(begin, job)
            taken_out.insert(1, job)
            earliest = profile.earliest(new)
            if earliest < goal:
                goal = earliest
                cost, begins_then = self._replace(profile, taken_out)
                if cost < lowest:
                    lowest, best = cost, begins_then
        for job in taken_out:
            self.reserved[job] = best.get(job, self.reserved[job])
            profile.take(self.reserved[job], job)

    def _replace(self, profile: Profile, jobs: list[JobView]) -> tuple[float, dict[JobView, Any]]:
        """Return what it costs to give jobs, of which the first is new, the earliest slots."""
        cost, begins = 0.0, {}
        for job in jobs:
            begin = profile.earliest(job)
            if begin > self._latest(job):
                cost = inf
                break
            profile.take(begin, job)
            begins[job] = begin
            weight = job.estimate if self.policy.cost == "slowdown" else 1
            cost += ratio(begin - self.reserved[job], weight)
        for job, begin in begins.items():
            profile.release(begin, job)
        return cost, begins

    def _latest(self, job: JobView) -> Any:
        """Return the latest start of a job; promises that cannot be kept are not broken further."""
        if job not in self._promised:
            return self.reserved[job]
        return max(self._promised[job] + self.slack[job], self.reserved[job])


# Slack-based backfilling in the compiled engine.


class CompiledSlack(CompiledConservative):
    """Slack-based backfilling."""

    def __init__(self, policy: "Slack", workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        self.policy = policy

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        policy = self.policy
        slacks = kernel.new_slacks(
            state.jobs.submit,
            self.rules.machine,
            self.compression,
            factor=float(policy.factor),
            by_slowdown=policy.cost == "slowdown",
            queues=policy.urgent_queues,
            depth=policy.depth,
        )
        return state._replace(policy=slacks)

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the reservations and promises of another one."""
        continued = super().continue_from(state, other, low)
        if type(state.machine) is type(other.machine):
            policy, n_there = continued.policy, state.at.arrived
            policy.slack[:n_there] = other.policy.slack[low : low + n_there]
            policy.waited[:], policy.n_started[:] = other.policy.waited, other.policy.n_started
        return continued

    def remember(self, state: State) -> dict[str, Any]:
        """Return reservations, promises and the waits until now."""
        policy, memory = state.policy, super().remember(state)
        memory["jobs"]["slack"] = policy.slack[jobs_there(state)].tolist()
        return {**memory, "waited": policy.waited[0].item(), "started": int(policy.n_started[0])}

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with reservations, promises and waits."""
        state = super().recall(state, memory)
        policy, jobs = state.policy, jobs_there(state)
        policy.slack[jobs] = given_values(memory["jobs"]["slack"], jobs, 0.0)
        policy.waited[0], policy.n_started[0] = memory["waited"], memory["started"]
        return state

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the promised start and the slack of each job."""
        self.policy.warn_of_queues(set(self.workload.queue[: state.at.arrived].tolist()))
        return {**super().columns(state), "slack": state.policy.slack}
