"""A policy in the compiled engine: what it needs before the loop, between its turns, and after."""

from collections.abc import Mapping
from typing import Any

from workloadkit.simulation.loop import play
from workloadkit.simulation.state import ASKED, State
from workloadkit.simulation.workload import Rules, Workload


class CompiledPolicy:
    """Base of what `Policy.compiled` returns, for one simulation; override `begin`, and more.

    Parameters
    ----------
    workload : Workload
        The jobs, or tables of them where users react or a predictor plans.
    rules : Rules
    """

    def __init__(self, workload: Workload, rules: Rules) -> None:
        self.workload, self.rules = workload, rules

    @property
    def jobs_are_known(self) -> bool:
        """Whether the tables hold all jobs, with their estimates, from the start."""
        return self.workload.users is None and self.rules.predictor is None

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the policy's profile needs."""
        return 0

    def begin(self, state: State) -> State:
        """Return the state with the part of the policy, before it has met any job."""
        raise NotImplementedError(f"{type(self).__name__} must return its part of the state")

    def go_on(self, state: State) -> State:
        """Return the state to go on with, where the policy has asked the loop to return."""
        return state

    def run(self, state: State, begin: Any = None, until: Any = None) -> tuple[State, int]:
        """Go on, from a pass at `begin` if given, to `until` or the end; return why it ended."""
        why = play(state, begin, until)
        while why == ASKED:
            state = self.go_on(state)
            why = play(state, None, until)
        return state, why

    def play(self, state: State) -> State:
        """Play from the first submission to the end of the last job."""
        return self.run(self.begin(state))[0]

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def history(self, state: State) -> Mapping[str, Any]:
        """Return what the policy decided over time, for `Schedule.history`."""
        return {}
