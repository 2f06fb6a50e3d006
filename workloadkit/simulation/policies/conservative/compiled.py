"""Conservative backfilling, in the compiled engine."""

from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.conservative import kernel
from workloadkit.simulation.state import State


class CompiledConservative(CompiledPolicy):
    """A reservation for each job."""

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the profile needs."""
        return kernel.n_rows(n_jobs)

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        return state._replace(policy=kernel.new_promises(state.jobs.submit))
