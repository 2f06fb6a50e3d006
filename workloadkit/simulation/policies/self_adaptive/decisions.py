"""The weekly decisions of self-adaptive parameterization."""

from collections.abc import Callable, Sequence
from math import ceil, fsum, inf
from typing import TYPE_CHECKING, Any

from workloadkit.clock import WEEK
from workloadkit.parameters import describe
from workloadkit.simulation.policies.multi_queue import MultiQueue
from workloadkit.simulation.policies.policy import Policy

if TYPE_CHECKING:
    from workloadkit.simulation.policies.self_adaptive import SelfAdaptive

#: Measures to minimise, of (wait, run).
MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "bounded_slowdown": lambda wait, run: 1 + wait / max(run, 10),
    "slowdown": lambda wait, run: 1 + wait / max(run, 1),
    "response": lambda wait, run: wait + run,
    "wait": lambda wait, run: wait,
}

ONLY_REPLAYED = "scheduler self-adaptive: forecast is 'actual'; only for users who replay a log"


def label(policy: Policy) -> Any:
    """Return the label of a policy in the history: a number of partitions, or its name."""
    return policy.partitions if isinstance(policy, MultiQueue) else describe(policy)


class WeeklyDecisions:
    """The decisions at the starts of the weeks.

    Parameters
    ----------
    policy : SelfAdaptive
    """

    def __init__(self, policy: "SelfAdaptive") -> None:
        self.policy = policy
        self.present = 0  # index of the active candidate
        self.tests = 0
        self.changes: list[dict[str, Any]] = []

    def are_due(self, ended: Sequence[tuple[Any, Any]]) -> bool:
        """Whether candidates are to be simulated after a week in which such jobs ended."""
        return bool(ended) and self.mean(ended) > self.policy.threshold

    def mean(self, ended: Sequence[tuple[Any, Any]]) -> float:
        """Return the mean of the measure over jobs given as (wait, run); inf without jobs."""
        measure = MEASURES[self.policy.measure]
        if not ended:
            return inf
        return fsum(measure(wait, run) for wait, run in ended) / len(ended)

    def take_best(self, means: list[float], second: Any, week: int) -> bool:
        """Select the candidate with the smallest mean; return whether it is another one."""
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
        """Return the decisions of a simulation of this length [s]."""
        weeks = ceil(duration / WEEK)
        return {"weeks": weeks, "tests": self.tests, "changes": self.changes}
