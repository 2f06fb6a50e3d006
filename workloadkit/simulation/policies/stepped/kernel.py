"""Compiled EASY around heads that are chosen from outside.

The part of the state contains the decisions to come. If they do not suffice, the loop returns in
the middle of a pass, and continues it with the next decision.
"""

import copy
import sys
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import (
    bare,
    bound,
    chosen_by_type,
    inline,
    interpreted,
    kernel,
    native,
)
from workloadkit._kernels.memory import lay_out, pack
from workloadkit._kernels.record import Record
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.loop import go_on, play, player
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import OVER, State, running_jobs
from workloadkit.simulation.machine.hardware import FREE
from workloadkit.simulation.machine.ledger import fits, may_pass, passes, reserve, start_job
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.policies import arrivals
from workloadkit.simulation.policies.arrivals import (
    WaitingList,
    any_fits,
    forget_started,
    new_arrivals,
    some_fit,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.policy import overtaking_of
from workloadkit.simulation.policies.stepped.decisions import NoDecisionError
from workloadkit.simulation.workload import Rules, Workload

if TYPE_CHECKING:
    from workloadkit.simulation.policies.stepped import Stepped


class StepsAt(Record):
    """The state of the decisions."""

    followed: int  # decisions that are followed
    given: int
    pending: bool  # whether another one is pending


class Steps(NamedTuple):
    """A part of the state: the waiting jobs, and the decisions to come.

    Parameters
    ----------
    queue : WaitingList
    places : ndarray of int64
        The decisions, one behind the other: places in `queue.waiting`.
    first : ndarray of int64
        Where each decision begins in `places`, and where the last one ends.
    backfills : bool
        Whether jobs may overtake.
    at : record
    shown : ndarray of float64, shape (window, 3)
        With each pending decision filled with submit, estimate and processors of the first waiting
        jobs, and with 0 processors behind them.
    """

    queue: WaitingList
    places: NDArray[np.int64]
    first: NDArray[np.int64]
    backfills: bool
    at: StepsAt
    shown: NDArray[np.float64]


job_ended = arrivals.job_ended
job_left = arrivals.job_left
job_returned = arrivals.job_returned
plans_void = arrivals.plans_void


@inline
def must_return(state, what, now):
    """Whether a decision is pending."""
    return state.policy.at.pending != 0


@inline
def pass_is_open(state, what, now):
    """Whether the loop returned in the middle of a pass."""
    return state.policy.at.pending != 0


@inline
def finish_pass(state, what, now):
    """Continue this pass."""
    _follow_all(state, now)


@inline
def allocate(state, new, now):
    """Begin a pass."""
    if some_fit(state, new, now):
        _follow_all(state, now)


@bare
def _follow_all(state, now):
    """Follow decisions until the pass is over or needs another one."""
    queue, at = state.policy.queue, state.policy.at
    at.pending = 0
    while any_fits(state, 0, now):
        if queue.at.count == 1:
            start_job(state, queue.waiting[0], now)
            queue.at.count = 0
        elif at.followed == at.given:
            at.pending = 1
            _show(state)
            break
        else:
            at.followed += 1
            if not _follow(state, at.followed - 1, now):
                break


@inline
def _show(state):
    """Show the first waiting jobs."""
    queue, jobs, shown = state.policy.queue, state.jobs, state.policy.shown
    for place in range(shown.shape[0]):
        if place < queue.at.count:
            job = queue.waiting[place]
            shown[place, 0], shown[place, 1] = jobs.submit[job], jobs.estimate[job]
            shown[place, 2] = jobs.procs[job]
        else:
            shown[place, 0] = shown[place, 1] = shown[place, 2] = 0.0


@inline
def _follow(state, which, now):
    """Follow one decision; return whether all listed jobs start."""
    steps = state.policy
    waiting, places = steps.queue.waiting, steps.places
    place, last = steps.first[which], steps.first[which + 1]
    while place < last and fits(state, waiting[places[place]], now):
        start_job(state, waiting[places[place]], now)
        waiting[places[place]] = -1
        place += 1
    if place < last and steps.backfills:
        reserve(state, waiting[places[place]], now)
        for listed in range(place + 1, last):
            _start_if_harmless(state, places[listed], now)
        for other in range(steps.queue.at.count):
            # again the head and those listed, which are refused again
            _start_if_harmless(state, other, now)
    forget_started(steps.queue)
    return place == last


@inline
def _start_if_harmless(state, place, now):
    """Start a waiting job if it does not delay the head."""
    waiting = state.policy.queue.waiting
    job = waiting[place]
    if job >= 0 and may_pass(state, job, now):
        passes(state, job, now)
        start_job(state, job, now)
        waiting[place] = -1


register_functions(Steps, sys.modules[__name__])


# EASY around heads that are chosen from outside, in the compiled engine.


class CompiledStepped(CompiledPolicy):
    """A policy that pauses the simulation where it has no decision."""

    def __init__(self, policy: "Stepped", workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        self.policy = policy

    def begin(self, state: State) -> State:
        """Return the state with an empty queue, and the decisions to come."""
        n_jobs, decisions = state.jobs.submit.size, self.policy.decisions
        flat = np.fromiter(chain.from_iterable(decisions), np.int64)
        first = [0, *accumulate(map(len, decisions))]
        steps = Steps(
            new_arrivals(n_jobs),
            np.append(flat, np.zeros(max(n_jobs - flat.size, 0), np.int64)),
            np.array([*first, 0]),  # room for one decision
            self.policy.backfill != "none",
            StepsAt(given=len(decisions)),
            np.empty((0, 3)),
        )
        return state._replace(policy=steps, **overtaking_of(self.policy)._asdict())

    def play(self, state: State) -> State:
        """Run until the decisions do not suffice, the tables overflow, or all is over."""
        state = self.begin(state)
        while play(state) != OVER and not _overflows(state):
            state = self.hardware.go_on(state)
            if state.policy.at.pending:
                raise NoDecisionError(PausedState(self, state))
        return state


class PausedState:
    """A simulation in the compiled engine that waits for a decision."""

    def __init__(self, how: CompiledStepped, state: State) -> None:
        self.how, self.state = how, state

    def go_on(self, places: Sequence[int]) -> bool:
        """Follow a decision; return whether another one is pending."""
        steps, count = self.state.policy, len(places)
        steps.places[:count] = places
        steps.first[:2] = 0, count
        steps.at.followed, steps.at.given = 0, 1
        while self._play() != OVER:
            if (state := self.how.hardware.go_on(self.state)) is not self.state:
                self.state = state
                del self._play
            if state.policy.at.pending:
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
        return int(self.state.policy.queue.at.count)

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
    return state.users is not None and bool(state.users.agenda.at.overflows)


# Many paused simulations in the compiled engine, which continue in one call.


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
            self._play_all = bound(_play_all, self._code.address, self._memories, is_short=True)

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
            self._play_all()


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
