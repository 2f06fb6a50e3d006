"""Self-adaptive parameterization: a scheduler that selects its policy by simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workloadkit.errors import ParameterError, check_choice, quoted
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.multi_queue import MOST_PARTITIONS, MultiQueue
from workloadkit.simulation.policies.policy import Policy, check_types
from workloadkit.simulation.workload import Rules, Workload

Forecast = Literal["waiting", "replay", "actual"]

#: Measures to minimise, of (wait, run).
MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "bounded_slowdown": lambda wait, run: 1 + wait / max(run, 10),
    "slowdown": lambda wait, run: 1 + wait / max(run, 1),
    "response": lambda wait, run: wait + run,
    "wait": lambda wait, run: wait,
}

ONLY_REPLAYED = "scheduler self-adaptive: forecast is 'actual'; only for users who replay a log"

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

    The simulations do not know run times: every job runs for its estimate, and jobs that have
    outlived it end at once. Nor do they know future jobs or outages.

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
    serves_nodes: ClassVar[bool] = False

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
            ("forecast", Forecast),
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
            if not isinstance(policy, Policy) or policy.name in (self.name, "recorded"):
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
        from workloadkit.simulation.policies.self_adaptive.plain import SelfAdaptiveScheduler

        return SelfAdaptiveScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.self_adaptive.compiled import CompiledSelfAdaptive

        return CompiledSelfAdaptive(self, workload, rules)
