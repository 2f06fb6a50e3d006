"""An environment of `gymnasium` in which an agent schedules the jobs of a log."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    among,
    check_choice,
    check_count,
    quoted,
)
from workloadkit.provenance import seed_of
from workloadkit.simulation import populations
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.measures import MEASURES
from workloadkit.simulation.stepping import SteppedSimulation
from workloadkit.trace import Trace

try:
    import gymnasium
except ImportError:
    raise WorkloadError(
        "workloadkit.gym needs the package gymnasium: pip install 'workloadkit[gym]'"
    ) from None

Action = Literal["head", "order"]

_HOUR = 3600.0

#: The profile of free processors at these times from now. [s]
_AHEAD = np.array([0.0, 60.0, 600.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 24 * 3600.0, 72 * 3600.0])


class SchedulingEnv(gymnasium.Env[dict[str, NDArray], Any]):
    """Schedule the jobs of a log: each step is one decision of a `SteppedSimulation`.

    An episode is a whole simulation. Its reward is that of the last step, 0 before. Only the first
    `window` waiting jobs are shown and can be chosen; the others overtake as in EASY.

    An observation has ``jobs``, shape (window, 4): by waiting job its wait, estimate, share of the
    machine's processors, and whether it is a job (1) or nothing (0); and ``free``, shape (8,): the
    free share of the processors by the planned ends, now and after 1 and 10 minutes, 1, 4, 12, 24
    and 72 hours. A time t is shown as t / (t + 1 h), so that all numbers are from 0 to 1.

    Parameters
    ----------
    trace : Trace, optional
        The log.
    procs : int, optional
        Processors of the machine; by default those of the log.
    window : int, default 128
    action : {"head", "order"}
        "head": the place of a job, which becomes the head of the queue; a place without a job
        stands for the first. "order": a score for each place, by which the window is sorted, the
        smallest first.
    reward : str or callable
        Name of a measure of `Schedule.measure`, with "-" if it is to be small; or a function of
        the `Schedule`.
    users : str or object, default "open"
        As in `workloadkit.simulate`; users may react.
    **keywords
        Further settings of `SteppedSimulation`. With ``population="resampled"`` each episode is
        another log like the original. `rng` seeds them, unless `reset` does.

    Attributes
    ----------
    simulation : SteppedSimulation
        That of the present episode.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample().take(np.arange(300))
    >>> env = SchedulingEnv(log, window=16, engine="python")
    >>> observation, info = env.reset(seed=1)
    >>> over = False
    >>> while not over:
    ...     observation, reward, over, _, info = env.step(0)
    >>> reward == -wk.simulate(log, "easy").metrics["mean_bounded_slowdown"]
    True
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 as gymnasium declares it

    def __init__(
        self,
        trace: Trace | None = None,
        procs: int | None = None,
        *,
        window: int = 128,
        action: Action = "head",
        reward: str | Callable[[Schedule], float] = "-mean_bounded_slowdown",
        users: Any = "open",
        **keywords: Any,
    ) -> None:
        check_count("window", window, least=1)
        check_choice("action", action, Action)
        if not (callable(reward) or isinstance(reward, str)):
            raise ParameterError(
                f"reward is {quoted(reward)}; give the name of a measure or a function"
            )
        if isinstance(reward, str) and (name := reward.removeprefix("-")) not in MEASURES:
            raise ParameterError(f"reward is {quoted(reward)}; {among(name, MEASURES)}")
        self.window, self.action, self.reward = window, action, reward
        rng = keywords.pop("rng", None)
        self._seed = None if rng is None else seed_of(rng)
        population = keywords.pop("population", "recorded")
        if isinstance(population, str):
            population = populations.parse(population)
        if isinstance(population, populations.Resampled) and trace is not None:
            population = population.prepare(trace)  # once, not at each reset
        self._how: dict[str, Any] = {
            "procs": procs,
            "users": users,
            "population": population,
            **keywords,
        }
        self._trace = trace
        self.simulation: Any = None
        box = gymnasium.spaces.Box
        spaces: Any = gymnasium.spaces.Dict(
            jobs=box(0.0, 1.0, (window, 4), np.float32),
            free=box(0.0, 1.0, (_AHEAD.size,), np.float32),
        )
        self.observation_space = spaces
        self.action_space = (
            gymnasium.spaces.Discrete(window)
            if action == "head"
            else box(-1.0, 1.0, (window,), np.float32)
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Of this and all later episodes.
        options : dict, optional
            Unused.

        Returns
        -------
        observation, info : dict
            See `step`.

        Raises
        ------
        WorkloadError
            If no decision is ever pending.
        """
        super().reset(seed=self._seed if seed is None else seed)
        self._seed = None
        rng = int(self.np_random.integers(2**31))
        self.simulation = SteppedSimulation(self._trace, rng=rng, **self._how)
        if not self.simulation.pending:
            raise WorkloadError("the episode is over before it begins: no decision is ever pending")
        return self._observation(), self._info()

    def step(
        self, action: Any
    ) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Decide, and continue to the next decision.

        Parameters
        ----------
        action : int or array_like of float, shape (window,)

        Returns
        -------
        observation : dict
            All 0 at the end.
        reward : float
        terminated, truncated : bool
        info : dict
            The time `now` [s] and the `action_mask`; at the end the `schedule`.

        Raises
        ------
        WorkloadError
            If no episode has begun, or this one is over.
        """
        simulation = self.simulation
        if simulation is None:
            raise WorkloadError("no episode has begun: call reset first")
        n_shown = min(simulation.n_waiting, self.window)
        places: Any
        if self.action == "head":
            places = int(action) if 0 <= action < n_shown else 0
        else:
            places = np.argsort(np.asarray(action)[:n_shown], kind="stable")
        if simulation.step(places):
            return self._observation(), 0.0, False, False, self._info()
        schedule = simulation.schedule
        spaces: Any = self.observation_space
        nothing = {name: np.zeros(box.shape, box.dtype) for name, box in spaces.items()}
        return nothing, self._value_of(schedule), True, False, {"schedule": schedule}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which places have a job, shape (window,)."""
        return np.arange(self.window) < self.simulation.n_waiting

    def _value_of(self, schedule: Schedule) -> float:
        """Return the reward of an episode."""
        if callable(self.reward):
            return float(self.reward(schedule))
        name = self.reward.removeprefix("-")
        value = schedule.measure(name)
        return float(value if name == self.reward else -value)

    def _info(self) -> dict[str, Any]:
        return {"now": self.simulation.now, "action_mask": self.action_masks()}

    def _observation(self) -> dict[str, NDArray]:
        simulation = self.simulation
        now, machine = simulation.now, simulation.machine_size
        waiting = {name: column[: self.window] for name, column in simulation.waiting.items()}
        running, count = simulation.running, waiting["procs"].size
        jobs = np.zeros((self.window, 4), np.float32)
        jobs[:count, 0] = _shown(now - waiting["submit"])
        jobs[:count, 1] = _shown(waiting["estimate"])
        jobs[:count, 2] = waiting["procs"] / machine
        jobs[:count, 3] = 1
        ended = running["planned_end"] <= now + _AHEAD[1:, np.newaxis]
        free = simulation.free + np.append(0, ended @ running["procs"])
        return {"jobs": jobs, "free": (free / machine).astype(np.float32)}


def _shown(time: NDArray) -> NDArray:
    """Return times as numbers from 0 to 1."""
    return time / (time + _HOUR)
