"""Conservative backfilling in the compiled engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.simulation.policies.compiled import CompiledPolicy, promises
from workloadkit.simulation.policies.conservative import kernel, slots
from workloadkit.simulation.state import N_SEEN, State, running_jobs, waiting_jobs
from workloadkit.simulation.workload import Rules, Workload


class CompiledConservative(CompiledPolicy):
    """A reservation for each job.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    compression : int
        Treatment of reservations when a job ends early, see `kernel`.
    """

    def __init__(self, workload: Workload, rules: Rules, compression: int = kernel.FULL) -> None:
        super().__init__(workload, rules)
        self.compression = compression

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the plan needs."""
        return slots.n_rows(n_jobs)

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        part = kernel.new_promises(state.jobs.submit, self.rules.machine, self.compression)
        return state._replace(policy=part)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the promised start of each job."""
        return {"promised_start": promises(state.policy.promised)}

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the reservations of another one.

        They are void for another kind of machine, such as one without outages, and where a job has
        outlived its estimate.
        """
        if type(state.machine) is not type(other.machine):
            return self.take_over(state, other, low)
        state = self.begin(state)
        policy, waiting, n_seen = state.policy, waiting_jobs(state), state.at[N_SEEN]
        policy.reserved[:n_seen] = other.policy.reserved[low : low + n_seen]
        policy.promised[:n_seen] = other.policy.promised[low : low + n_seen]
        waiting = waiting[waiting < n_seen]
        policy.waiting[: waiting.size] = waiting
        before, n_ended = other.policy, other.policy.at[kernel.ENDED]
        planned = np.concatenate((running_jobs(other), before.ended[:n_ended]))
        planned_end = other.start[planned] + other.jobs.estimate[planned]
        late, early = planned_end < state.clock[0], planned_end[-n_ended:] > state.clock[0]
        policy.at[kernel.WAIT] = waiting.size
        ended_early = n_ended > 0 and (self.compression == kernel.FULL or early.any())
        policy.at[kernel.ROOM] = before.at[kernel.ROOM] or ended_early
        policy.at[kernel.VOID] = before.at[kernel.VOID] or late.any()
        return state
