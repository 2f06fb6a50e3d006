"""EASY around heads that are chosen from outside, in the compiled engine."""

import copy
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.agenda import OVERFLOWS
from workloadkit.simulation.loop import play, player
from workloadkit.simulation.machine.one_pool import OnePool
from workloadkit.simulation.machine.pool import FREE
from workloadkit.simulation.policies.arrivals import COUNT, new_arrivals
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.overtaking import overtaking_of
from workloadkit.simulation.policies.stepped import NoDecisionError, Stepped, kernel
from workloadkit.simulation.state import OVER, State, running_jobs
from workloadkit.simulation.workload import Rules, Workload


class CompiledStepped(CompiledPolicy):
    """A policy that pauses the simulation where it has no decision.

    Parameters
    ----------
    policy : Stepped
    workload : Workload
    rules : Rules
    """

    def __init__(self, policy: Stepped, workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        self.policy = policy

    def begin(self, state: State) -> State:
        """Return the state with an empty queue, and the decisions to come."""
        n_jobs, decisions = state.jobs.submit.size, self.policy.decisions
        flat = np.fromiter(chain.from_iterable(decisions), np.int64)
        first = [0, *accumulate(map(len, decisions))]
        steps = kernel.Steps(
            new_arrivals(n_jobs),
            np.append(flat, np.zeros(max(n_jobs - flat.size, 0), np.int64)),
            np.array([*first, 0]),  # room for one decision
            self.policy.backfill != "none",
            np.array([0, len(decisions), 0]),
            np.empty((0, 3)),
        )
        return state._replace(policy=steps, **overtaking_of(self.policy)._asdict())

    def play(self, state: State) -> State:
        """Run until the decisions do not suffice, the tables overflow, or all is over.

        Raises
        ------
        NoDecisionError
        """
        state = self.begin(state)
        while play(state) != OVER and not _overflows(state):
            state = self.hardware.go_on(state)
            if state.policy.at[kernel.PENDING]:
                raise NoDecisionError(PausedState(self, state))
        return state


class PausedState:
    """A simulation in the compiled engine that waits for a decision.

    Parameters
    ----------
    how : CompiledStepped
    state : State
    """

    def __init__(self, how: CompiledStepped, state: State) -> None:
        self.how, self.state = how, state

    def go_on(self, places: Sequence[int]) -> bool:
        """Follow a decision; return whether another one is pending."""
        steps, count = self.state.policy, len(places)
        steps.places[:count] = places
        steps.first[:2] = 0, count
        steps.at[:2] = 0, 1
        while self._play() != OVER:
            if (state := self.how.hardware.go_on(self.state)) is not self.state:
                self.state = state
                del self._play
            if state.policy.at[kernel.PENDING]:
                return not self.lacks_room
        return False

    @cached_property
    def _play(self) -> Any:
        return player(self.state)

    @property
    def lacks_room(self) -> bool:
        """Whether the tables of users who react have overflowed, so that nothing counts."""
        return _overflows(self.state)

    def copy(self) -> Self | None:
        """Return a copy; None if it must be made by repeating the decisions."""
        how = self.how
        if not how.jobs_are_known or not isinstance(how.hardware, OnePool):
            return None
        return type(self)(how, copy.deepcopy(self.state))

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self.state.clock[0].item()

    @property
    def free(self) -> int:
        """Processors that work and are free."""
        return int(self.state.machine.level[FREE])

    @property
    def n_waiting(self) -> int:
        """Number of waiting jobs."""
        return int(self.state.policy.queue.at[COUNT])

    def waiting(self) -> dict[str, NDArray]:
        """Return the waiting jobs."""
        waiting = self.state.policy.queue.waiting[: self.n_waiting].copy()
        jobs = self.state.jobs
        names = ("queue", "submit", "estimate", "limit", "procs")
        own = {"arrival": waiting, "user": self._users_of(waiting)}
        return own | {name: getattr(jobs, name)[waiting] for name in names}

    def running(self) -> dict[str, NDArray]:
        """Return the running jobs."""
        running = running_jobs(self.state)
        jobs, start = self.state.jobs, self.state.start[running]
        return {
            "arrival": running,
            "user": self._users_of(running),
            "procs": jobs.procs[running],
            "start": start,
            "planned_end": start + jobs.estimate[running],
        }

    def _users_of(self, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        user, known_by = self.state.jobs.user[jobs], self.how.workload.known_by
        return user if known_by is None else known_by[user]


def _overflows(state: State) -> bool:
    """Whether the tables of users who react have overflowed."""
    return state.users is not None and bool(state.users.agenda.at[OVERFLOWS])
