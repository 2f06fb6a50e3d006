"""Policies of `dynamic` in the compiled engine, which switch to trees for long queues."""

from typing import Any, ClassVar

from workloadkit.simulation.classes import Classes
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.dynamic import Queue, new_queue
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking
from workloadkit.simulation.state import State
from workloadkit.simulation.workload import Rules, Workload

# A queue longer than this is searched by trees, until it is half as long.
LONG_QUEUE = 512


class LongQueuePolicy(CompiledPolicy):
    """Base of policies that search long queues by trees; override `begin` and `classify`.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    overtaking : Overtaking
        Which jobs may overtake.
    long_queue : int
        See the constant.
    """

    #: Module with the functions `as_trees` and `as_rings`.
    trees: ClassVar[Any]
    #: Part of the state with trees.
    tree_part: ClassVar[type[Any]]

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        *,
        overtaking: Overtaking = AS_USUAL,
        long_queue: int = LONG_QUEUE,
    ) -> None:
        super().__init__(workload, rules)
        self.overtaking, self.long_queue = overtaking, long_queue
        self.classes: Classes | None = None  # empty ones

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs."""
        raise NotImplementedError

    def empty_queue(self, state: State, n_rings: int = 1) -> Queue:
        """Return a queue of `n_rings` rings."""
        by_size = getattr(self.hardware, "by_size", False)
        long_queue = self.long_queue if by_size and self.jobs_are_known else state.start.size
        return new_queue(state, n_rings, by_size=by_size, long_queue=long_queue)

    def with_queue(self, state: State, part: Any) -> State:
        """Return the state with the policy's part and its rule of overtaking."""
        return state._replace(policy=part, **self.overtaking._asdict())

    def go_on(self, state: State) -> State:
        """Switch to trees when the queue has become long, or back to the rings alone."""
        if isinstance(state.policy, self.tree_part):
            self.classes = state.policy.classes
            return state._replace(policy=self.trees.as_rings(state))
        classes, self.classes = self.classes, None  # a state that may be copied owns them now
        return state._replace(policy=self.trees.as_trees(state, classes or self.classify(state)))
