"""EASY in an order that a genetic search finds at each pass, in the compiled engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.simulation.orders import settled
from workloadkit.simulation.policies.arrivals import new_arrivals
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.genetic import WITHOUT_UTILITIES, Genetic
from workloadkit.simulation.policies.genetic.evaluation import SearchSettings, new_search
from workloadkit.simulation.policies.genetic.kernel import N_SEARCHES, SINCE, Evolved
from workloadkit.simulation.state import ARRIVED, State
from workloadkit.simulation.workload import Rules, Workload

# Searches after which the loop returns, so that the process can be interrupted.
RETURN_INTERVAL = 64


class CompiledGenetic(CompiledPolicy):
    """EASY in orders that a genetic search finds.

    Parameters
    ----------
    policy : Genetic
    workload : Workload
    rules : Rules
    return_interval : int
        See the constant.
    """

    def __init__(
        self,
        policy: Genetic,
        workload: Workload,
        rules: Rules,
        *,
        return_interval: int = RETURN_INTERVAL,
    ) -> None:
        super().__init__(workload, rules)
        if workload.utilities is None:
            raise WorkloadError(WITHOUT_UTILITIES)
        self.policy, self.utilities, self.return_interval = (
            policy,
            workload.utilities,
            return_interval,
        )

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        policy, n_jobs, users = self.policy, state.jobs.submit.size, self.workload.users
        at_start = self.workload.utility_at == "start"
        how = policy.individuals, policy.generations, float(policy.mutation), at_start
        search = new_search(
            SearchSettings(*how),
            self.utilities,
            self.rng,
            length=min(policy.window, n_jobs),
            capacity=state.ends.size,
            dtype=state.jobs.submit.dtype,
        )
        evolved = Evolved(
            queue=new_arrivals(n_jobs),
            line=np.empty(n_jobs, np.int64),
            priority=settled("urgency", policy.urgent_queues),
            valued=np.arange(n_jobs) if users is None else users.tables.row,
            machine=self.rules.machine,
            search=search,
            return_interval=self.return_interval,
            at=np.zeros(2, np.int64),
        )
        return state._replace(policy=evolved)

    def go_on(self, state: State) -> State:
        """Reset the count of searches."""
        state.policy.at[SINCE] = 0
        return state

    def columns(self, state: State) -> Mapping[str, Any]:
        """Warn if `queues` names queues without jobs."""
        self.policy.warn_of_queues(set(self.workload.queue[: state.at[ARRIVED]].tolist()))
        return super().columns(state)

    def history(self, state: State) -> Mapping[str, Any]:
        """Return the number of searches."""
        return {"searches": int(state.policy.at[N_SEARCHES])}
