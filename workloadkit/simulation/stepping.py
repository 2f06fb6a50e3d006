"""A simulation that pauses wherever the scheduler has a choice."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, WorkloadError, check_count, plural, quoted
from workloadkit.settings import Simulate
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.policies.stepped import Stepped
from workloadkit.simulation.policies.stepped.decisions import Decisions, NoDecisionError
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.selection import select_parts
from workloadkit.simulation.simulate import execute, report
from workloadkit.trace import Trace


class SteppedSimulation:
    """A simulation that pauses wherever the scheduler has a choice, and continues with a decision.

    The scheduler is EASY around a head of the queue that is chosen from outside. A decision is
    pending whenever, after all events of an instant, several jobs wait and one of them fits the
    free processors. A decision lists waiting jobs. They start in this order while they fit. The
    first that does not fit gets the reservation, and other jobs overtake it as in EASY: first those
    listed behind it, then the others in the order of arrival. If all listed jobs start, the next
    decision is for the same instant. A single waiting job starts without a decision if it fits.

    So always to decide for the first job is EASY, and to list all jobs in an order of the queue is
    EASY in that order.

    Parameters
    ----------
    trace : Trace, optional
        As in `workloadkit.simulate`.
    users : str or object, default "open"
        As in `workloadkit.simulate`; users may react.
    settings : workloadkit.settings.Simulate, optional
        As in `workloadkit.simulate`; keywords override it.
    backfill : {"arrival", "none"}
        Order in which jobs that are not listed overtake; "none" for no backfilling at all.
    spare, strict
        Which jobs may overtake, as in `workloadkit.schedulers.Easy`.
    **keywords
        Settings of `workloadkit.simulate`, such as `procs`, `engine`, `population` and `rng`.

    Raises
    ------
    ParameterError, WorkloadError
        As in `workloadkit.simulate`.

    Examples
    --------
    >>> trace = Trace.from_columns(
    ...     {"submit": [0, 1, 2, 3], "run": [10, 10, 5, 5], "procs": [3, 4, 1, 1]}
    ... )
    >>> simulation = SteppedSimulation(trace, procs=4, engine="python")
    >>> simulation.now, simulation.free, simulation.waiting["procs"].tolist()
    (2, 1, [4, 1])
    >>> other = simulation.copy()
    >>> while simulation.pending:
    ...     _ = simulation.step(0)  # the job that arrived first
    >>> simulation.schedule.jobs["start"].tolist()
    [0, 10, 2, 20]
    >>> while other.pending:
    ...     _ = other.step(other.n_waiting - 1)  # the last
    >>> other.schedule.jobs["start"].tolist()
    [0, 12, 2, 7]
    """

    def __init__(
        self,
        trace: Trace | None = None,
        users: Any = "open",
        settings: Simulate | None = None,
        *,
        backfill: str = "arrival",
        spare: str = "extra",
        strict: bool = False,
        **keywords: Any,
    ) -> None:
        self._settings = Simulate.of(settings, keywords)
        rule = Stepped(backfill=backfill, spare=spare, strict=strict)
        self._parts = select_parts(trace, rule, users, self._settings)
        machine = self._parts.rules.hardware
        if isinstance(machine, Described) and len(machine.groups) > 1:
            raise ParameterError(
                f"the machine has {len(machine.groups)} partitions that share no nodes: each has a "
                "queue of its own, and the decisions are those of one queue"
            )
        self._decisions: list[tuple[int, ...]] = []
        self._paused: Any = None
        self._begin()

    def __repr__(self) -> str:
        """Name the log, the number of decisions, and the time of the next."""
        trace, decisions = self._parts.trace, plural(self.n_decisions, "decision")
        until = f"the next at {self.now} s" if self.pending else "over"
        of = "" if trace is None else f"{trace.name!r}, "
        return f"{type(self).__name__}({of}{decisions}, {until})"

    def _begin(self) -> None:
        """Simulate as far as the decisions suffice."""
        try:
            self._execute()
            self._paused = None
        except NoDecisionError as pending:
            self._paused = pending.paused

    def _execute(self) -> tuple[Any, ...]:
        """Simulate from the beginning with the decisions made so far."""
        policy: Any = self._parts.policy
        behaviour = self._parts.behaviour
        parts = replace(
            self._parts,
            policy=replace(policy, decisions=Decisions(self._decisions)),
            behaviour=copy.deepcopy(behaviour) if isinstance(behaviour, list) else behaviour,
        )
        return execute(parts, self._settings)

    @property
    def pending(self) -> bool:
        """Whether a decision is pending; otherwise the simulation is over."""
        return self._paused is not None

    @property
    def n_decisions(self) -> int:
        """Number of decisions made so far."""
        return len(self._decisions)

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self._there.now

    @property
    def free(self) -> int:
        """Free processors."""
        return int(self._there.free)

    @property
    def machine_size(self) -> int:
        """Processors of the machine."""
        return self._parts.rules.machine

    @property
    def n_waiting(self) -> int:
        """Number of waiting jobs."""
        return int(self._there.n_waiting)

    @property
    def waiting(self) -> dict[str, NDArray[Any]]:
        """The waiting jobs in the order of arrival, as columns.

        `arrival` (its place among all jobs, from 0), `user`, `queue`, `submit` [s], `estimate` [s],
        `limit` [s] and `procs`, each of shape (n_waiting,).
        """
        return dict(self._there.waiting())

    @property
    def running(self) -> dict[str, NDArray[Any]]:
        """The running jobs in the order of their starts, as columns.

        `arrival`, `user`, `procs`, `start` [s] and `planned_end` [s], each of shape (n_running,).
        """
        return dict(self._there.running())

    @property
    def _there(self) -> Any:
        """What waits for a decision."""
        if self._paused is None:
            raise WorkloadError("the simulation is over: no decision is pending")
        return self._paused

    def step(self, places: int | Sequence[int]) -> bool:
        """Decide, and continue to the next decision.

        Parameters
        ----------
        places : int or sequence of int
            Places in `waiting`, from 0: one, or several in order.

        Returns
        -------
        bool
            Whether another decision is pending.

        Raises
        ------
        ParameterError
            If there is no such place, one occurs twice, or none is given.
        WorkloadError
            If the simulation is over.
        """
        paused = self._there
        listed = _listed(places)
        n_waiting = paused.n_waiting
        if not listed or not 0 <= min(listed) <= max(listed) < n_waiting:
            raise ParameterError(
                f"places is {quoted(places)}; list places from 0 to {n_waiting - 1}"
            )
        if len(set(listed)) < len(listed):
            raise ParameterError(f"places is {quoted(places)}; list each place once")
        self._decisions.append(listed)
        if not paused.go_on(listed):
            self._paused = None
            if paused.lacks_room:
                self._begin()  # with larger tables
        return self.pending

    def copy(self) -> Self:
        """Return an independent copy, which continues from here.

        In the compiled engine a log whose users do not react is copied as it is. Otherwise the copy
        repeats all decisions from the beginning.
        """
        other = copy.copy(self)
        other.__dict__.pop("schedule", None)
        other._decisions = self._decisions.copy()
        if self._paused is not None:
            other._paused = self._paused.copy()
            if other._paused is None:
                other._begin()
        return other

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule at the end, as of `workloadkit.simulate`.

        The decisions are simulated once more for it, without pauses. Its provenance contains their
        number and digest.

        Raises
        ------
        WorkloadError
            If a decision is pending.
        """
        if self._paused is not None:
            raise WorkloadError(
                f"there is no schedule yet: a decision is pending at {self.now} s, after "
                f"{self.n_decisions:,} decisions"
            )
        parameters = {**self._parts.parameters, "decisions": str(Decisions(self._decisions))}
        parts = replace(self._parts, parameters=parameters)
        return report(parts, self._settings, *self._execute())


def _listed(places: Any) -> tuple[int, ...]:
    """Return one place, or several, as a tuple."""
    try:
        return (index(places),)
    except TypeError:
        pass
    try:
        return tuple(map(index, places))
    except TypeError:
        raise ParameterError(
            f"places is {quoted(places)}; give a whole number, or several in order"
        ) from None


class SteppedSimulations:
    """Many simulations in the compiled engine that are stepped together, by one call.

    A step continues all of them, each with the head of its queue. What an agent sees are arrays
    over all simulations, so that it can decide for all at once; the next step overwrites them.

    Parameters
    ----------
    simulations : sequence of SteppedSimulation
        Each with a pending decision; they are copied. Users must not react, there is one pool of
        processors, and no predictor.
    window : int, default 64
        Number of waiting jobs that are shown and can be chosen.

    Raises
    ------
    ParameterError
        If a simulation is over or cannot be stepped together with the others.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample().take(np.arange(400))
    >>> many = SteppedSimulations([SteppedSimulation(log, procs=p) for p in (96, 128)])
    >>> while many.pending.any():
    ...     many.step(np.argmin(np.where(many.procs > 0, many.estimate, np.inf), axis=1))
    >>> [many.simulation(i).schedule.machine for i in range(2)]
    [96, 128]
    """

    def __init__(self, simulations: Sequence[SteppedSimulation], *, window: int = 64) -> None:
        from workloadkit.simulation.policies.stepped.kernel import Together

        check_count("window", window, least=1)
        for place, each in enumerate(simulations):
            if each._paused is None or each._paused.copy() is None:
                raise ParameterError(
                    f"simulation {place} cannot be stepped together with others: it is over, or "
                    "not of the compiled engine with users who do not react, one pool of "
                    "processors and no predictor"
                )
        self._simulations = [each.copy() for each in simulations]
        self._together = Together([each._paused for each in self._simulations], window)
        self._steps: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []

    def __repr__(self) -> str:
        """Tell how many there are, and how many of them are pending."""
        pending = int(self.pending.sum())
        return (
            f"{type(self).__name__}({plural(self.pending.size, 'simulation')}, {pending} pending)"
        )

    @property
    def pending(self) -> NDArray[np.bool_]:
        """Whether each simulation has a pending decision, shape (n_simulations,)."""
        return self._together.pending

    @property
    def now(self) -> NDArray[Any]:
        """The clock of each simulation, shape (n_simulations,). [s]."""
        return self._together.now

    @property
    def submit(self) -> NDArray[np.float64]:
        """Submit times of the first waiting jobs, shape (n_simulations, window). [s]."""
        return self._together.shown[:, :, 0]

    @property
    def estimate(self) -> NDArray[np.float64]:
        """Estimates of these jobs. [s]."""
        return self._together.shown[:, :, 1]

    @property
    def procs(self) -> NDArray[np.float64]:
        """Processors that these jobs need; 0 where there is no job."""
        return self._together.shown[:, :, 2]

    def step(self, places: ArrayLike) -> None:
        """Decide for all simulations, and continue each to its next decision.

        Parameters
        ----------
        places : array_like of int, shape (n_simulations,)
            Place of the head among the waiting jobs of each; ignored where no decision is pending.

        Raises
        ------
        ParameterError
            If there is no job at a place.
        """
        pending, places = self.pending, np.asarray(places)
        if places.shape != pending.shape or places.dtype.kind not in "iu":
            raise ParameterError(
                f"places has shape {places.shape} and type {places.dtype}; give one whole number "
                f"for each simulation, shape {pending.shape}"
            )
        heads = np.where(pending, places, 0).astype(np.int64)
        procs = self.procs
        inside = (heads >= 0) & (heads < procs.shape[1])
        there = inside & (procs[np.arange(heads.size), np.where(inside, heads, 0)] > 0)
        if not there[pending].all():
            which = int(np.flatnonzero(pending & ~there)[0])
            raise ParameterError(
                f"places is {heads[which]} for simulation {which}; no job is shown there"
            )
        self._steps.append((pending, heads))
        self._together.go_on(heads)

    def simulation(self, which: int) -> SteppedSimulation:
        """Return one of the simulations as it is now; it repeats all decisions."""
        one = self._simulations[which].copy()
        one._decisions += [(int(heads[which]),) for pending, heads in self._steps if pending[which]]
        one._begin()
        return one
