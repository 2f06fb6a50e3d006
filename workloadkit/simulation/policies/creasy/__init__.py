"""CREASY: EASY in an order by the criticality of jobs for their users' sessions."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.parameters import Duration
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.creasy.kernel import bonus, priority
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.order import Order
from workloadkit.simulation.policies.policy import (
    AS_USUAL,
    Backfilling,
    Overtaking,
    Policy,
    check_types,
    overtaking_of,
)
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Creasy(Backfilling):
    """EASY in an order that favours jobs that keep their users' sessions alive [1]_.

    A job's priority is alpha · 0.04 / (0.05 r + 1)² + wait (eq. 5.3 and 5.4). Here r, the expected
    response time, is the wait so far plus the estimate, all in minutes. The order is computed again
    in each pass, ties by arrival; backfilling uses the same order. As the first term is bounded and
    the wait is not, every job becomes the first in time: no job starves.

    Parameters
    ----------
    alpha : float
        Weight of criticality, not negative; with 0 this is EASY. The default is the largest value
        of the source, beyond which results changed little.
    light : float, default inf
        Estimated work that halves the criticality of a job: it is divided by 1 + w / `light`, with
        estimate × processors w. Light, interactive jobs are then more critical than heavy batch
        jobs. [processors × s]
    fairness : float, default 0
        The criticality is divided by 1 + `fairness` × the estimated work of all of the user's jobs
        that run or wait, in processor-hours.
    experience : float, default 0
        The criticality is divided by 1 + `experience` × the user's work up to now, in processor
        hours: experienced users are less impatient.
    half_life : float, default inf
        Half-life of that work: short ones stand for the time of present use. [s]
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    Notes
    -----
    The source proposes to revise CREASY for classes of jobs, fairness, and the experience of users
    and the time of their use (chapter 6), without formulas; those above are this project's. No job
    starves with them, either: they only lower the bounded term.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel systems
       schedulers", PhD thesis, The Hebrew University of Jerusalem, 2008, section 5.4.
    """

    name: ClassVar[str] = "creasy"
    supports: ClassVar = supporting("each pass", "parts", "benchmark", "state")
    memory: ClassVar = Memory("the work of users", only="fairness or experience", kept=False)

    alpha: float = 6000.0
    light: float = inf
    fairness: float = 0.0
    experience: float = 0.0
    half_life: Duration = inf

    def __post_init__(self) -> None:
        check_types(self)
        overtaking_of(self)
        if not 0 <= self.alpha < inf:
            raise ParameterError(
                f"scheduler {self.name}: alpha is {self.alpha}; it must be finite and not negative"
            )
        for name in ("fairness", "experience"):
            if not 0 <= getattr(self, name) < inf:
                given = f"{name} is {getattr(self, name)}; it must be finite and not negative"
                raise ParameterError(f"scheduler {self.name}: {given}")
        for name in ("light", "half_life"):
            if not getattr(self, name) > 0:
                given = f"{name} is {getattr(self, name)}; it must be above 0"
                raise ParameterError(f"scheduler {self.name}: {given}")

    @property
    def remembers(self) -> bool:
        """Whether it remembers more than the running and waiting jobs."""
        return bool(self.fairness or self.experience)

    @property
    def as_order(self) -> Policy:
        """The order of a revised CREASY; else the policy itself."""
        divisors = {
            "(1 + estimate * procs / light)": self.light < inf,
            "(1 + fairness * (running_work + waiting_work) / 1h)": self.fairness,
            "(1 + experience * usage / 1h)": self.experience,
        }
        taken = [divisor for divisor, is_taken in divisors.items() if is_taken]
        if not taken:
            return self
        stretch = "(0.05 * ((wait + estimate) / 60) + 1) ** 2"
        names = ("light", "fairness", "experience")
        return Order(
            f"-(bonus / ({' * '.join((stretch, *taken))}) + wait / 60)",
            half_life=self.half_life,
            parameters={
                "bonus": bonus(float(self.alpha)),
                **{name: getattr(self, name) for name in names if name in " ".join(taken)},
            },
            spare=self.spare,
            strict=self.strict,
        )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        if (order := self.as_order) is not self:
            return order.plain()
        return CreasyScheduler(self.alpha, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        if (order := self.as_order) is not self:
            return order.compiled(workload, rules)
        from workloadkit.simulation.policies.creasy.trees import CompiledCreasy

        return CompiledCreasy(workload, rules, self.alpha, overtaking=overtaking_of(self))


# CREASY in plain Python.


class CreasyScheduler(OrderedScheduler):
    """EASY in the order of the priorities at the beginning of a pass."""

    def __init__(self, alpha: float, overtaking: Overtaking = AS_USUAL) -> None:
        super().__init__(overtaking=overtaking)
        self.bonus = bonus(alpha)

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs by priority, ties by arrival."""
        return sorted(self.queue, key=self._priority, reverse=True)  # stable with reverse, too

    def _priority(self, job: JobView) -> float:
        return priority(self.bonus, self.now - job.submit, job.estimate)
