"""Self-adaptive parameterization: a scheduler that selects its policy by simulation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, ClassVar, Literal

from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, check_choice, quoted
from workloadkit.simulation.engine import Job, JobView, Scheduler, User
from workloadkit.simulation.plain.ahead import Ahead, copy_of
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.multi_queue import MOST_PARTITIONS, MultiQueue
from workloadkit.simulation.policies.multi_queue.plain import MultiQueueScheduler
from workloadkit.simulation.policies.policy import Policy, check_types, plain_form
from workloadkit.simulation.policies.self_adaptive.compiled import (
    MEASURES,
    ONLY_REPLAYED,
    WeeklyDecisions,
)
from workloadkit.simulation.supports import Memory, supporting, supports
from workloadkit.simulation.workload import Rules, Workload

Forecast = Literal["waiting", "replay", "actual"]
RunTimes = Literal["estimated", "actual"]

#: Largest weight of criticality in the family "creasy"; the others are evenly spaced below.
_LARGEST_ALPHA = 6000

#: Families of policies, by number of members.
FAMILIES: dict[str, Callable[[int], tuple[Policy, ...]]] = {
    "multi-queue": lambda most: tuple(MultiQueue(p + 1) for p in range(most)),
    "creasy": lambda most: tuple(
        Creasy(_LARGEST_ALPHA * i / max(most - 1, 1)) for i in range(most)
    ),
}


@dataclass(frozen=True)
class SelfAdaptive:
    """A scheduler that selects its policy week by week, by simulation [1]_.

    It starts with its first candidate. At the start of each week, if the mean slowdown of the jobs
    that ended in the previous week exceeds a threshold, each candidate is simulated from exactly
    the present state. The candidate with the smallest mean over the jobs that end in the simulated
    weeks is selected; among equal ones the present one, then the first.

    By default the simulations do not know run times: every job runs for its estimate, and jobs that
    have outlived it end at once. Nor do they know future jobs or outages.

    The present candidate keeps its state, such as reservations. Another one receives the waiting
    jobs as if they arrived now, in order of arrival; but multiple queues take over the partitions
    of multiple queues [1]_.

    Parameters
    ----------
    threshold : float
        Mean of the measure above which candidates are simulated.
    weeks : int
        Length of the simulations.
    most : int
        Candidates of the family: multiple queues with 1 to `most` partitions, or CREASY with `most`
        weights between 0 and 6000.
    forecast : {"waiting", "replay", "actual"}, default "replay"
        Jobs that arrive in the simulations. "waiting": none but those that wait already, a possible
        reading of [1]_. "replay": those of the past weeks once more; only with these does the
        number of weeks have the effect that [1]_ reports. "actual": the future jobs, unknown to a
        real scheduler.
    measure : {"bounded_slowdown", "slowdown", "response", "wait"}
        The measure compared with the threshold and among candidates. Bounded slowdown is that of
        wait / max(10 s, run).
    family : {"multi-queue", "creasy"}
        Family of the candidates.
    candidates : tuple of policies, optional
        Any policies, in place of a family.
    run_times : {"estimated", "actual"}
        Run times in the simulations; schedulers plan with estimates in any case. "actual": those of
        the log, unknown to a real scheduler. With actual arrivals as well, this is a bound on what
        better forecasts can gain.

    Notes
    -----
    At the second in which a week starts, ends and arrivals come first, then there is one pass,
    whatever the order of passes.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", TR-05-01, University
       of Richmond, 2005, section 3 and appendix A.
    """

    name: ClassVar[str] = "self-adaptive"
    supports: ClassVar = supporting("state", without=("nodes", "outages of users", "adaptation"))
    memory: ClassVar = Memory(
        "the selected policy with its memory, and the past weeks' jobs", of_machine=True
    )

    threshold: float = 10.0
    weeks: int = 1
    most: int = 4
    forecast: str = "replay"
    measure: str = "bounded_slowdown"
    family: str = "multi-queue"
    candidates: tuple = ()
    run_times: str = "estimated"

    def __post_init__(self) -> None:
        check_types(self)
        for parameter, known in (
            ("forecast", Forecast),
            ("run_times", RunTimes),
            ("measure", MEASURES),
            ("family", FAMILIES),
        ):
            check_choice(f"scheduler {self.name}: {parameter}", getattr(self, parameter), known)
        if not self.threshold >= 0:
            self._refuse("threshold", "not negative")
        if not self.weeks >= 1:
            self._refuse("weeks", "at least 1")
        if not 1 <= self.most <= MOST_PARTITIONS:
            self._refuse("most", f"from 1 to {MOST_PARTITIONS}")
        if not isinstance(self.candidates, tuple | list):
            self._refuse("candidates", "several policies")
        for policy in self.candidates:
            if not isinstance(policy, Policy) or not supports(policy, "adaptation"):
                self._refuse("candidates", "any policies but self-adaptive and recorded")

    def _refuse(self, parameter: str, advice: str) -> None:
        value = getattr(self, parameter)
        raise ParameterError(f"scheduler {self.name}: {parameter} is {quoted(value)}; {advice}")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The candidates, or the members of the family."""
        return self.candidates or FAMILIES[self.family](self.most)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return SelfAdaptiveScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.self_adaptive.compiled import CompiledSelfAdaptive

        return CompiledSelfAdaptive(self, workload, rules)


# Self-adaptive parameterization in plain Python: a simulation inside the simulation.


class SelfAdaptiveScheduler(Scheduler):
    """Self-adaptive parameterization in plain Python: a simulation inside the simulation."""

    supports = supporting(without=("outages of users",))

    def __init__(self, policy: SelfAdaptive) -> None:
        super().__init__()
        self.policy = policy
        self.decisions = WeeklyDecisions(policy)
        self.inner, *_ = [plain_form(candidate) for candidate in policy.policies]
        self.ended: list[JobView] = []
        self.first: Any = None
        self.week = 0  # weeks that are over
        self.alarm: Any = -inf  # time of the next wake-up, -inf for none

    @property
    def queue(self) -> list[JobView]:
        """The waiting jobs, in the order of arrival: the queue of the active candidate."""
        return self.inner.queue

    @queue.setter
    def queue(self, jobs: list[JobView]) -> None:
        self.inner.queue = jobs

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the decisions, and what the active candidate remembers."""
        candidate = self.inner.remember(jobs) if self.first is not None else {}
        return self.decisions.remember(candidate, self.first, self.week)

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with decisions, and with the candidate that they have selected."""
        self.decisions.recall(memory)
        if memory["first"] is None:  # nothing has happened
            return
        self._at.first = self.first = memory["first"]
        self.week = memory["week"]
        self._attach(plain_form(self.policy.policies[self.decisions.present]))
        self.inner.recall({**memory["candidate"], "jobs": memory["jobs"]}, jobs)
        begins = self.first + self.week * WEEK
        self.ended = [
            job for job in self._at.jobs if job._record.end is not None and job.end > begins
        ]
        if jobs:
            self.alarm = self.next_week
            self.sleep(self.alarm - self.now)

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the candidates' columns for each job."""
        return self.inner.columns(jobs)

    def history(self) -> dict[str, Any]:
        """Return the number of weeks, of weeks with simulations, and the changes."""
        ends = (job._record.end for job in self._at.jobs if not job._record.left)
        last = max(ends, default=self.first)
        return self.decisions.history(0 if last is None else last - self.first)

    def job_arrives(self, job: JobView) -> None:
        """Pass the job to the active candidate."""
        if self.first is None:
            self.first = self.now
            self._attach(self.inner)
        elif self.alarm == -inf:  # the weeks since the last job are over
            passed = ceil((self.now - self.first) / WEEK) - 1
            self.week = max(self.week, passed)
        self.inner.job_arrives(job)
        self._set_alarm()

    def job_ends(self, job: JobView) -> None:
        """Record the service of a job."""
        if self.now > self.first + self.week * WEEK:
            self.ended.append(job)
        self.inner.job_ends(job)

    def job_interrupted(self, job: JobView) -> None:
        """Pass the job to the active candidate."""
        self.inner.job_interrupted(job)

    def job_leaves(self, job: JobView) -> None:
        """Pass the job to the active candidate."""
        self.inner.job_leaves(job)

    def processors_down(self, count: int) -> None:
        """Notify the active candidate."""
        self.inner.processors_down(count)

    def processors_up(self, count: int) -> None:
        """Notify the active candidate."""
        self.inner.processors_up(count)

    def prediction_renewed(self, job: JobView, before: Any) -> None:
        """Notify the active candidate."""
        self.inner.prediction_renewed(job, before)

    def plans_void(self) -> None:
        """Notify the active candidate."""
        self.inner.plans_void()

    def allocate(self) -> None:
        """Let the active candidate allocate; at the start of a week, after the decision."""
        if self.first is not None and self.now < self.next_week:
            self.inner.allocate()
            self._set_alarm()

    @property
    def next_week(self) -> Any:
        """Start of the next week. [s]."""
        return self.first + (self.week + 1) * WEEK

    def wake_up(self) -> None:
        """Start a week: simulate the candidates if the previous week exceeded the threshold."""
        self.alarm = -inf
        if isinstance(self.inner, MultiQueueScheduler):
            self.inner.turn_week()
        self.week += 1
        served = (job for job in self.ended if job._record.leaves is None)
        fared = [(job.start - job.submit, job.run) for job in served]
        self.ended = []
        if (self.queue or self.running) and self.decisions.are_due(fared):
            means = [self._simulated(policy) for policy in self.policy.policies]
            if self.decisions.take_best(means, self.now, self.week):
                self._change_to(self.policy.policies[self.decisions.present])
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Request a wake-up next week, unless no job is there, or the others wait for ever."""
        goes_on = self.running or (self.queue and not self._at.is_idle)
        if self.alarm < self.next_week and goes_on:
            self.alarm = self.next_week
            self.sleep(self.alarm - self.now)

    def _attach(self, scheduler: Scheduler) -> None:
        """Attach a scheduler to this simulation and this queue."""
        scheduler._simulation, scheduler.queue = self._simulation, self.queue
        self.inner = scheduler

    def _change_to(self, policy: Policy) -> None:
        """Switch to another candidate, which receives the waiting jobs as if they arrived now."""
        if isinstance(self.inner, MultiQueueScheduler) and isinstance(policy, MultiQueue):
            self.inner.repartition(policy.partitions)
            return
        waiting = self.queue
        self.release()
        self.inner = plain_form(policy)
        self.inner._simulation, self.queue = self._simulation, []
        for job in waiting:
            self.inner.job_arrives(job)

    def _simulated(self, policy: Policy) -> float:
        """Return the mean of the measure if a policy served the coming weeks."""
        until = self.now + self.policy.weeks * WEEK
        scheduler, hardware = plain_form(policy), self._at.hardware.without_outages()
        simulation = Ahead(
            self._at,
            hardware,
            scheduler,
            [*self._forecast(User(), until)],
            passes="event" if self._at.by_event else "instant",
            utility_at=self.utility_at,
            with_run_times=self._knows_run_times,
        )
        copies = simulation.copies
        present = self.inner
        if isinstance(scheduler, MultiQueueScheduler) and isinstance(present, MultiQueueScheduler):
            n_partitions = scheduler.n_partitions
            scheduler.continue_from(present, copies)
            if n_partitions != present.n_partitions:
                scheduler.repartition(n_partitions)
        elif policy == self.policy.policies[self.decisions.present]:
            scheduler.continue_from(present, copies)
        simulation.go()
        ended = [job for job in simulation.jobs if job.end <= until]
        return self.decisions.mean([(job.start - job.submit, job.run) for job in ended])

    @property
    def _knows_run_times(self) -> bool:
        return self.policy.run_times == "actual"

    def _forecast(self, submitter: User, until: float) -> Iterator[Job]:
        """Yield the jobs that are assumed to arrive until then."""
        length = self.policy.weeks * WEEK
        if self.policy.forecast == "replay":
            past = [job for job in self._at.jobs if self.now - length < job.submit <= self.now]
            # new jobs with new numbers: jobs of one second keep their order
            for number, job in enumerate(past, 1):
                copy = copy_of(job, submitter, with_run_time=self._knows_run_times)
                copy.submit, copy.number = job.submit + length, number
                yield copy
        elif self.policy.forecast == "actual":
            if self._at.predictor is not None:
                raise ParameterError(ONLY_REPLAYED)
            for user in self._at.users:
                if (jobs := user.known_jobs()) is None:
                    raise ParameterError(ONLY_REPLAYED)
                yield from (
                    copy_of(job, submitter, with_run_time=self._knows_run_times)
                    for job in jobs
                    if self.now < job.submit <= until
                )
