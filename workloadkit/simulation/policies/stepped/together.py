"""Many paused simulations in the compiled engine, which continue in one call."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import chosen_by_type, interpreted, kernel, native
from workloadkit._kernels.memory import lay_out, pack
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.loop import go_on, play
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.policies.stepped.kernel import PausedState


class Together:
    """Paused simulations, and what is shown of their pending decisions.

    Parameters
    ----------
    paused : sequence of PausedState
        They must not continue elsewhere.
    window : int
        Number of waiting jobs that are shown.

    Raises
    ------
    ParameterError
        If their states are of different types.
    """

    def __init__(self, paused: Sequence[PausedState], window: int) -> None:
        n_states = len(paused)
        self.shown = np.zeros((n_states, window, 3))
        self._places = np.zeros((n_states, 1), np.int64)
        self._at = np.stack([each.state.policy.at.memory for each in paused])
        self._clock = np.array([each.state.clock for each in paused])
        first = np.array([0, 1])
        self.states = [
            each.state._replace(
                policy=each.state.policy._replace(
                    places=self._places[i],
                    first=first,
                    at=each.state.policy.at.over(self._at[i, ...]),
                    shown=self.shown[i],
                ),
                clock=self._clock[i],
            )
            for i, each in enumerate(paused)
        ]
        self._show()
        if not interpreted():
            laid_out = [lay_out(state) for state in self.states]
            if len({layout for layout, _ in laid_out}) > 1:
                raise ParameterError(
                    "simulations of different kinds: whole seconds and decimals, or other machines"
                )
            packed = [pack(*each) for each in laid_out]
            self._memory = np.array([np.frombuffer(each, np.int8) for each in packed])
            self._memories = np.array([row.ctypes.data for row in self._memory])
            self._code = native(_play_on, (self.states[0],), is_cached=True)

    def _show(self) -> None:
        """Show the decisions that are pending at the beginning."""
        for state, shown in zip(self.states, self.shown, strict=True):
            jobs, queue = state.jobs, state.policy.queue
            waiting = queue.waiting[: min(queue.at.count, len(shown))]
            for column, values in enumerate((jobs.submit, jobs.estimate, jobs.procs)):
                shown[: waiting.size, column] = values[waiting]

    @property
    def pending(self) -> NDArray[np.bool_]:
        """Whether each simulation waits for a decision."""
        return self._at["pending"].copy()

    @property
    def now(self) -> NDArray:
        """The clock of each simulation. [s]."""
        return self._clock[:, 0]

    def go_on(self, places: NDArray[np.int64]) -> None:
        """Continue all simulations, each with a head."""
        self._places[:, 0] = places
        self._at["followed"], self._at["given"] = 0, 1
        if interpreted():
            for state in self.states:
                play(state)
        else:
            _play_all(self._code.address, self._memories)


def _play_on(state: State) -> None:
    go_on(state, False, None)


def _play_one(function: int, memory: int) -> None:
    """Continue one simulation, by addresses."""


@chosen_by_type(_play_one, "bare")
def _compiled_play_one(function: Any, memory: Any) -> Any:
    from workloadkit._kernels.native_calls import call_with

    return lambda function, memory: call_with(function, memory)


@kernel
def _play_all(function: Any, memories: Any) -> None:
    for memory in memories:
        _play_one(function, memory)
