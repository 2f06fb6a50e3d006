"""CREASY in the compiled engine."""

from typing import Any, ClassVar

import numpy as np

from workloadkit.simulation.classes import Classes, sort_into_classes
from workloadkit.simulation.policies.creasy import trees
from workloadkit.simulation.policies.creasy.kernel import Ring
from workloadkit.simulation.policies.creasy.priority import bonus
from workloadkit.simulation.policies.long_queue import LongQueuePolicy
from workloadkit.simulation.state import State
from workloadkit.simulation.workload import Rules, Workload


class CompiledCreasy(LongQueuePolicy):
    """EASY in the order of the jobs' priorities.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    alpha : float
        Weight of criticality.
    **how
        Of `LongQueuePolicy`.
    """

    trees: ClassVar[Any] = trees
    tree_part: ClassVar[type] = trees.CreasyTrees

    def __init__(self, workload: Workload, rules: Rules, alpha: float, **how: Any) -> None:
        super().__init__(workload, rules, **how)
        self.bonus = bonus(float(alpha))

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        return self.with_queue(state, Ring(self.empty_queue(state), self.bonus))

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs: those of equal size."""
        procs = state.jobs.procs
        return sort_into_classes(procs, np.zeros(procs.size, np.int64), 1, state.jobs.submit.dtype)
