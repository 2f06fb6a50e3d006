"""Self-adaptive parameterization: a scheduler that simulates what it would best do next."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum, inf
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Job, Scheduler, Simulation, User
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.largest import Largest
from workloadkit.simulation.policies.ljf import Ljf
from workloadkit.simulation.policies.multi_queue import MOST_PARTITIONS, WEEK, MultiQueue
from workloadkit.simulation.policies.multi_queue.plain import MultiQueueScheduler
from workloadkit.simulation.policies.policy import Outcome, Policy, check_types
from workloadkit.simulation.policies.sjf import Sjf
from workloadkit.simulation.policies.smallest import Smallest
from workloadkit.simulation.workload import Rules, Workload

Forecast = Literal["waiting", "replay", "actual"]

#: What can be made small, of (wait, run).
MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "bounded_slowdown": lambda wait, run: 1 + wait / max(run, 10),
    "slowdown": lambda wait, run: 1 + wait / max(run, 1),
    "response": lambda wait, run: wait + run,
    "wait": lambda wait, run: wait,
}

ONLY_REPLAYED = "scheduler self-adaptive: forecast is 'actual'; only for users who replay a log"

#: The largest weight of criticality in the family "creasy"; the others lie evenly below.
_LARGEST_ALPHA = 6000

#: Families of policies: so many of them.
FAMILIES: dict[str, Callable[[int], tuple[Policy, ...]]] = {
    "multi-queue": lambda most: tuple(MultiQueue(p + 1) for p in range(most)),
    "creasy": lambda most: tuple(
        Creasy(_LARGEST_ALPHA * i / max(most - 1, 1)) for i in range(most)
    ),
}


@dataclass(frozen=True)
class SelfAdaptive:
    """A scheduler that simulates, week by week, which policy serves best, and takes it [1]_.

    It starts with the first of its candidates. At the start of each week, if the mean slowdown of
    the jobs that ended in the past week exceeds a threshold, each candidate is simulated from
    exactly the present state on. The one with the least mean over the jobs that end in the
    simulated weeks is taken; of equals the present one, then the first.

    What runs how long is not known in the simulations: every job runs as long as its estimate,
    and what has outlived it ends at once. Nor is it known which jobs will arrive.

    Parameters
    ----------
    threshold : float
        Mean of the measure above which candidates are simulated.
    weeks : int
        Length of the simulations.
    most : int
        Candidates of the family: multiple queues, 1 to `most`; or CREASY with so many weights
        between 0 and 6000.
    forecast : {"waiting", "replay", "actual"}
        Which jobs arrive in the simulations: none but those that wait already, as in [1]_; those
        of the past weeks once more; those that will indeed arrive, which no real scheduler knows.
    measure : {"bounded_slowdown", "slowdown", "response", "wait"}
        What is compared, and compared with the threshold. Bounded slowdown is that of [1]_, 1 +
        wait / max(10 s, run).
    family : {"multi-queue", "creasy"}
        Which candidates.
    candidates : tuple of policies, optional
        Instead of a family: either multiple queues, or any of CREASY and the orders of EASY.

    Notes
    -----
    At the second in which a week starts, what ends and arrives is taken first, then there is one
    pass, whatever the order of passes.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", TR-05-01, University
       of Richmond, 2005, section 3 and appendix A.
    """

    name: ClassVar[str] = "self-adaptive"

    threshold: float = 10.0
    weeks: int = 1
    most: int = 4
    forecast: str = "waiting"
    measure: str = "bounded_slowdown"
    family: str = "multi-queue"
    candidates: tuple = ()

    def __post_init__(self) -> None:
        check_types(self)
        for parameter, known in (
            ("forecast", get_args(Forecast)),
            ("measure", tuple(MEASURES)),
            ("family", tuple(FAMILIES)),
        ):
            if getattr(self, parameter) not in known:
                self._refuse(parameter, f"known: {', '.join(known)}")
        if not self.threshold >= 0:
            self._refuse("threshold", "not negative")
        if not self.weeks >= 1:
            self._refuse("weeks", "at least 1")
        if not 1 <= self.most <= MOST_PARTITIONS:
            self._refuse("most", f"from 1 to {MOST_PARTITIONS}")
        if not isinstance(self.candidates, tuple | list):
            self._refuse("candidates", "several policies")
        if self.candidates and not (
            all(isinstance(policy, MultiQueue) for policy in self.candidates)
            or all(_forgets(policy) for policy in self.candidates)
        ):
            self._refuse("candidates", "all of them multi-queue, or CREASY and orders of EASY")

    def _refuse(self, parameter: str, advice: str) -> None:
        value = getattr(self, parameter)
        raise ParameterError(f"scheduler {self.name}: {parameter} is {value!r}; {advice}")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The candidates, or those of the family."""
        return self.candidates or FAMILIES[self.family](self.most)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return SelfAdaptiveScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit.simulation.policies.online import adapt

        return adapt(self, workload, rules)


def _forgets(policy: object) -> bool:
    """Whether all that a policy needs to know are the waiting and the running jobs."""
    orders = (Easy, Sjf, Ljf, Smallest, Largest)
    return isinstance(policy, Creasy) or (isinstance(policy, orders) and policy.reservations == 1)


def label(policy: Policy) -> Any:
    """Return what stands for a policy in the history: a number of partitions, or its name."""
    from workloadkit.simulation.schedulers import describe

    return policy.partitions if isinstance(policy, MultiQueue) else describe(policy)


class Decisions:
    """What was decided at the starts of the weeks.

    Parameters
    ----------
    policy : SelfAdaptive
    """

    def __init__(self, policy: SelfAdaptive) -> None:
        self.policy = policy
        self.present = 0  # which of the candidates
        self.tests = 0
        self.changes: list[dict[str, Any]] = []

    def are_due(self, ended: Sequence[tuple[Any, Any]]) -> bool:
        """Whether candidates are to be simulated after a week that ended such jobs."""
        return bool(ended) and self.mean(ended) > self.policy.threshold

    def mean(self, ended: Sequence[tuple[Any, Any]]) -> float:
        """Mean of the measure over jobs given as (wait, run); inf over none."""
        measure = MEASURES[self.policy.measure]
        if not ended:
            return inf
        return fsum(measure(wait, run) for wait, run in ended) / len(ended)

    def take_best(self, means: list[float], second: Any, week: int) -> bool:
        """Take the candidate with the least mean; whether it is another one."""
        self.tests += 1
        before, least = self.present, min(means)
        if means[before] > least:
            self.present = means.index(least)
            names = [label(policy) for policy in self.policy.policies]
            finite = [None if mean == inf else mean for mean in means]
            self.changes.append(
                {
                    "second": second,
                    "week": week,
                    "from": names[before],
                    "to": names[self.present],
                    "measures": dict(zip(map(str, names), finite, strict=True)),
                }
            )
        return self.present != before

    def history(self, duration: Any) -> dict[str, Any]:
        """Return the decisions of a simulation that lasted so long [s]."""
        weeks = ceil(duration / WEEK)
        return {"weeks": weeks, "tests": self.tests, "changes": self.changes}


class SelfAdaptiveScheduler(Scheduler):
    """Self-adaptive parameterization in plain Python: a simulation inside the simulation.

    Parameters
    ----------
    policy : SelfAdaptive
    """

    bears_outages = False  # what it simulates has none

    def __init__(self, policy: SelfAdaptive) -> None:
        super().__init__()
        self.policy = policy
        self.decisions = Decisions(policy)
        self.inner = policy.policies[0].plain()
        self.ended: list[Job] = []
        self.first: Any = None
        self.week = 0  # weeks that are over

    @property
    def queue(self) -> list[Job]:
        """The waiting jobs, in the order of their arrival: the queue of the present candidate."""
        return self.inner.queue

    @queue.setter
    def queue(self, jobs: list[Job]) -> None:
        self.inner.queue = jobs

    def columns(self, jobs: Sequence[Job]) -> dict[str, list]:
        """Return what the candidates tell of each job."""
        return self.inner.columns(jobs)

    def history(self) -> dict[str, Any]:
        """Return the number of weeks, of weeks with simulations, and the changes."""
        last = max((job.end for job in self._at.jobs), default=self.first)
        return self.decisions.history(0 if last is None else last - self.first)

    def job_arrives(self, job: Job) -> None:
        """Hand the job to the present candidate."""
        if self.first is None:
            self.first = self.now
            self._employ(self.inner)
            self.sleep(self.next_week - self.now)
        self.inner.job_arrives(job)

    def job_ends(self, job: Job) -> None:
        """Take note of how the job fared."""
        if self.now > self.first + self.week * WEEK:
            self.ended.append(job)
        self.inner.job_ends(job)

    def allocate(self) -> None:
        """Let the present candidate do it; at the start of a week only when that was thought of."""
        if self.first is not None and self.now < self.next_week:
            self.inner.allocate()

    @property
    def next_week(self) -> Any:
        """When the next week starts. [s]."""
        return self.first + (self.week + 1) * WEEK

    def wake_up(self) -> None:
        """Start a week: simulate the candidates if the jobs of the past one fared badly."""
        if isinstance(self.inner, MultiQueueScheduler):
            self.inner.turn_week()
        self.week += 1
        fared = [(job.start - job.submit, job.run) for job in self.ended]
        self.ended = []
        if (self.queue or self.running) and self.decisions.are_due(fared):
            means = [self._simulated(policy) for policy in self.policy.policies]
            if self.decisions.take_best(means, self.now, self.week):
                self._change_to(self.policy.policies[self.decisions.present])
        self.sleep(self.next_week - self.now)

    def _employ(self, scheduler: Scheduler) -> None:
        """Let a scheduler work on this simulation and this queue."""
        scheduler._simulation, scheduler.queue = self._simulation, self.queue
        self.inner = scheduler

    def _change_to(self, policy: Policy) -> None:
        if isinstance(self.inner, MultiQueueScheduler) and isinstance(policy, MultiQueue):
            self.inner.repartition(policy.partitions)
        else:
            self._employ(policy.plain())

    def _simulated(self, policy: Policy) -> float:
        """Mean of the measure if a policy served the coming weeks."""
        until = self.now + self.policy.weeks * WEEK
        coming, scheduler = Coming(self._forecast(until)), policy.plain()
        simulation = Simulation(
            self._at.machine,
            scheduler,
            [coming],
            passes="event" if self._at.by_event else "instant",
            rng=np.random.default_rng(0),  # nobody draws
        )
        simulation.now = self.now
        twins = {
            job: replace(job, submitter=coming, run=job.estimate)
            for job in (*self.running, *self.queue)
        }
        for job in sorted(self.running, key=lambda job: (job.start, job.arrival)):
            planned_end = job.start + job.estimate
            if planned_end > self.now:  # else it has ended
                simulation.resume(twins[job], planned_end)
        for job in self.queue:
            simulation.arrive(twins[job])
        present = self.inner
        if isinstance(scheduler, MultiQueueScheduler) and isinstance(present, MultiQueueScheduler):
            n_partitions = scheduler.n_partitions
            scheduler.continue_from(present, twins)
            if n_partitions != present.n_partitions:
                scheduler.repartition(n_partitions)
        scheduler.sleep(0)
        jobs = (*simulation.running, *simulation.go())
        return self.decisions.mean(
            [(job.start - job.submit, job.run) for job in jobs if job.end <= until]
        )

    def _forecast(self, until: Any) -> list[tuple]:
        """Return (user, procs, estimate, submit, job number) of whatever is taken to arrive."""
        length = self.policy.weeks * WEEK
        if self.policy.forecast == "replay":
            return [
                (job.user, job.procs, job.estimate, job.submit + length, job.number)
                for job in self._at.jobs
                if self.now - length < job.submit <= self.now
            ]
        if self.policy.forecast == "waiting":
            return []
        logs = [getattr(user, "workload", None) for user in self._at.users]
        if None in logs:
            raise ParameterError(ONLY_REPLAYED)
        columns = ("user", "procs", "estimate", "submit", "job")
        return [
            job
            for log in logs
            for job in zip(*(getattr(log, name).tolist() for name in columns), strict=True)
            if self.now < job[3] <= until
        ]


class Coming(User):
    """Who submits the jobs that are forecast.

    Parameters
    ----------
    jobs : list of (user, procs, estimate, submit, job number)
    """

    def __init__(self, jobs: list[tuple]) -> None:
        super().__init__()
        self.jobs = jobs

    def begin(self) -> None:
        """Submit every job for its time."""
        for user, procs, estimate, submit, number in self.jobs:
            self._at.add(Job(self, user, procs, estimate, estimate, submit, number))
