"""The User Priority Scheduler in the compiled engine."""

from typing import Any, ClassVar

import numpy as np

from workloadkit.simulation.classes import Classes, sort_into_classes
from workloadkit.simulation.policies.long_queue import LongQueuePolicy
from workloadkit.simulation.policies.user_priority import trees
from workloadkit.simulation.policies.user_priority.kernel import Rings, new_ranking
from workloadkit.simulation.state import ARRIVED, State
from workloadkit.simulation.workload import Rules, Workload


class CompiledUserPriority(LongQueuePolicy):
    """EASY in the order of users and waits.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    alpha_user : float
        Weight of the users' priorities.
    by_load : bool
        Whether the user with the least waiting work comes first, not the last one to submit.
    **how
        Of `LongQueuePolicy`.
    """

    trees: ClassVar[Any] = trees
    tree_part: ClassVar[type] = trees.UserTrees

    def __init__(
        self, workload: Workload, rules: Rules, alpha_user: float, by_load: bool, **how: Any
    ) -> None:
        super().__init__(workload, rules, **how)
        self.alpha_user, self.by_load = float(alpha_user), by_load

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        users = self.workload.users
        if users is None:
            numbers, user = np.unique(state.jobs.user, return_inverse=True)
            n_users = numbers.size
        else:  # numbered already; the agenda has room for one plan of each
            user, n_users = state.jobs.user, users.agenda.time.size
        ranking = new_ranking(
            user,
            n_users,
            alpha=self.alpha_user,
            by_load=self.by_load,
            whole_seconds=state.jobs.submit.dtype.kind == "i",
        )
        return self.with_queue(state, Rings(self.empty_queue(state, n_users), ranking))

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the latest submissions of users in another one."""
        state = self.take_over(state, other, low)
        if not self.by_load:
            n_there, mine, theirs = state.at[ARRIVED], state.policy.ranking, other.policy.ranking
            mine.key[mine.user[:n_there]] = theirs.key[theirs.user[low : low + n_there]]
        return state

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs: those of equal user and size."""
        ranking, jobs = state.policy.ranking, state.jobs
        return sort_into_classes(jobs.procs, ranking.user, ranking.key.size, jobs.submit.dtype)
