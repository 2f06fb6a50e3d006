"""Conservative backfilling, in the compiled engine."""

from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.conservative import kernel
from workloadkit.simulation.state import N_SEEN, State, waiting_jobs


class CompiledConservative(CompiledPolicy):
    """A reservation for each job."""

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the profile needs."""
        return kernel.n_rows(n_jobs)

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        return state._replace(policy=kernel.new_promises(state.jobs.submit))

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the reservations of another one.

        They say nothing of another kind of machine, such as one without outages.
        """
        if type(state.machine) is not type(other.machine):
            return self.take_over(state, other, low)
        state = self.begin(state)
        policy, waiting, n_seen = state.policy, waiting_jobs(state), state.at[N_SEEN]
        policy.reserved[:n_seen] = other.policy.reserved[low : low + n_seen]
        waiting = waiting[waiting < n_seen]
        policy.waiting[: waiting.size] = waiting
        policy.at[kernel.WAIT] = waiting.size
        return state
