"""Backfilling with lookahead: the jobs that fill the machine best overtake together."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Lookahead:
    """EASY that backfills the set of jobs with the most processors, by dynamic programming [1]_.

    Jobs start in the order of arrival while they fit; the first that does not gets the reservation,
    as in EASY. Of the waiting jobs that may overtake it, a set is chosen that uses as many free
    processors as possible: those that run beyond the shadow time must fit into its spare processors
    together. Among equal sets, the one with the earliest jobs.

    Parameters
    ----------
    depth : int
        Number of jobs that are considered: the first that may overtake by themselves.

    References
    ----------
    .. [1] E. Shmueli, D. G. Feitelson, "Backfilling with lookahead to optimize the packing of
       parallel jobs", J. Parallel and Distributed Computing 65(9), 2005.
    """

    name: ClassVar[str] = "lookahead"

    #: Whether it supports one pool of processors only.
    one_pool: ClassVar[bool] = True

    depth: int = 50

    def __post_init__(self) -> None:
        check_types(self)
        if not self.depth >= 1:
            raise ParameterError(f"scheduler {self.name}: depth is {self.depth}; at least 1")

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.lookahead.plain import LookaheadScheduler

        return LookaheadScheduler(self.depth)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.lookahead.compiled import CompiledLookahead

        return CompiledLookahead(self.depth, workload, rules)
