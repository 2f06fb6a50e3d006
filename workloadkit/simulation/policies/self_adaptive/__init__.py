"""Self-adaptive parameterization: a scheduler that simulates what it would best do next."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.multi_queue import MOST_PARTITIONS, MultiQueue
from workloadkit.simulation.policies.policy import Policy, check_types
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
    and what has outlived it ends at once. Nor is it known which jobs will arrive, or any outage.

    The present candidate goes on with all that it knows, such as reservations. Another one meets
    the jobs that wait as if they arrived now, in order of arrival; but multiple queues take over
    the partitions of multiple queues [1]_.

    Parameters
    ----------
    threshold : float
        Mean of the measure above which candidates are simulated.
    weeks : int
        Length of the simulations.
    most : int
        Candidates of the family: multiple queues, 1 to `most`; or CREASY with so many weights
        between 0 and 6000.
    forecast : {"waiting", "replay", "actual"}, default "replay"
        Which jobs arrive in the simulations: none but those that wait already, as the text of [1]_
        may be read; those of the past weeks once more, with which alone the number of weeks makes
        the difference that [1]_ finds; those that will indeed arrive, which no scheduler knows.
    measure : {"bounded_slowdown", "slowdown", "response", "wait"}
        What is compared, and compared with the threshold. Bounded slowdown is that of [1]_, 1 +
        wait / max(10 s, run).
    family : {"multi-queue", "creasy"}
        Which candidates.
    candidates : tuple of policies, optional
        Any policies, instead of a family.

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
    forecast: str = "replay"
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
        for policy in self.candidates:
            if not isinstance(policy, Policy) or policy.name in (self.name, "recorded"):
                self._refuse("candidates", "any policies but self-adaptive and recorded")

    def _refuse(self, parameter: str, advice: str) -> None:
        value = getattr(self, parameter)
        raise ParameterError(f"scheduler {self.name}: {parameter} is {value!r}; {advice}")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The candidates, or those of the family."""
        return self.candidates or FAMILIES[self.family](self.most)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        from workloadkit.simulation.policies.self_adaptive.plain import SelfAdaptiveScheduler

        return SelfAdaptiveScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.self_adaptive.compiled import CompiledSelfAdaptive

        return CompiledSelfAdaptive(self, workload, rules)
