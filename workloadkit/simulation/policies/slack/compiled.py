"""Slack-based backfilling in the compiled engine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workloadkit.simulation.policies.conservative.compiled import CompiledConservative
from workloadkit.simulation.policies.slack import kernel
from workloadkit.simulation.state import ARRIVED, State
from workloadkit.simulation.workload import Rules, Workload

if TYPE_CHECKING:
    from workloadkit.simulation.policies.slack import Slack


class CompiledSlack(CompiledConservative):
    """Slack-based backfilling.

    Parameters
    ----------
    policy : Slack
    workload : Workload
    rules : Rules
    """

    def __init__(self, policy: "Slack", workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        self.policy = policy

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        policy = self.policy
        slacks = kernel.new_slacks(
            state.jobs.submit,
            self.rules.machine,
            self.compression,
            factor=float(policy.factor),
            by_slowdown=policy.cost == "slowdown",
            queues=policy.urgent_queues,
            depth=policy.depth,
        )
        return state._replace(policy=slacks)

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the reservations and promises of another one."""
        continued = super().continue_from(state, other, low)
        if type(state.machine) is type(other.machine):
            policy, n_there = continued.policy, state.at[ARRIVED]
            policy.slack[:n_there] = other.policy.slack[low : low + n_there]
            policy.waited[:], policy.n_started[:] = other.policy.waited, other.policy.n_started
        return continued

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the promised start and the slack of each job."""
        self.policy.warn_of_queues(set(self.workload.queue[: state.at[ARRIVED]].tolist()))
        return {**super().columns(state), "slack": state.policy.slack}
