"""Backfilling with lookahead, in the compiled engine."""

import numpy as np

from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.lookahead import kernel
from workloadkit.simulation.state import State
from workloadkit.simulation.workload import Rules, Workload


class CompiledLookahead(CompiledPolicy):
    """Backfilling with lookahead.

    Parameters
    ----------
    depth : int
    workload : Workload
    rules : Rules
    """

    def __init__(self, depth: int, workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        known = workload.users is None
        self.unit = int(np.gcd.reduce(workload.procs)) if known else 1
        self.units, self.depth = rules.machine // self.unit, depth

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        n_jobs = state.jobs.submit.size
        return state._replace(policy=kernel.new_packing(n_jobs, self.unit, self.units, self.depth))
