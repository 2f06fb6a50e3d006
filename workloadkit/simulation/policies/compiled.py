"""The base of policies in the compiled engine: preparation, returns of the loop, results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation.compiled.cancellations import Cancellations, new_cancellations
from workloadkit.simulation.compiled.loop import begin_at, change_before, let_wait, play
from workloadkit.simulation.compiled.mechanisms import reacting
from workloadkit.simulation.compiled.predicting import (
    NO_PREDICTOR,
    Predicting,
    compiled_predictor,
    predicting,
)
from workloadkit.simulation.compiled.state import (
    LACKS_ROOM,
    REQUESTED,
    Jobs,
    State,
    jobs_there,
    never,
    new_state,
    waiting_jobs,
)
from workloadkit.simulation.machine.ledger import FREE
from workloadkit.simulation.machine.plain import has_no_place, just_before
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.policies.policy import AS_USUAL
from workloadkit.simulation.supports import OF_INTERRUPTED, Memories, recalling
from workloadkit.simulation.workload import Rules, Workload


class CompiledPolicy:
    """Base of the results of `Policy.compiled`, for one simulation; override `begin`, and more.

    Parameters
    ----------
    workload : Workload
        The jobs, or tables for them if users react or a predictor plans.
    rules : Rules
    """

    def __init__(self, workload: Workload, rules: Rules) -> None:
        self.workload, self.rules = workload, rules
        hardware: Any = rules.hardware or OnePool(rules.machine)
        self.hardware = hardware.serving(workload)
        self.rng = np.random.default_rng(rules.seed)
        self.kept: Any = ()  # what native functions refer to

    def new_state(self) -> State:
        """Return the state before the first submission, without a policy."""
        w, rules = self.workload, self.rules
        run, estimate = w.run, w.estimate
        if w.users is not None:
            w.procs[:] = rules.machine  # upper limit until the jobs arrive
        else:
            run = run.copy() if self.hardware.cuts_runs else run
            estimate = estimate.copy() if rules.predictor is not None else estimate
        jobs = Jobs(w.submit, run, estimate, w.procs, w.user, w.queue)
        if w.limit is not None:
            jobs = jobs._replace(limit=w.limit)
        jobs, users = self.hardware.submissions(jobs)
        if w.users is not None:
            users = reacting(w.users, jobs.submit.dtype)
        return new_state(
            jobs,
            self.hardware.compiled(jobs, self.n_planned(jobs.submit.size)),
            capacity=self.capacity,
            late=rules.overrun == "late" or rules.predictor is not None,
            by_event=rules.passes == "event",
            users=users,
            predictor=self._predicting(),
            cancellations=self._cancellations(),
        )

    def _cancellations(self) -> Cancellations | None:
        """Return when jobs leave the queue, or none, as a part of the state."""
        leaves = self.workload.leaves
        return None if leaves is None else new_cancellations(leaves, never(leaves.dtype))

    def _predicting(self) -> Predicting:
        """Return the predictor, or none, as a part of the state."""
        if self.rules.predictor is None:
            return NO_PREDICTOR
        predictor = compiled_predictor(self.workload, self.rules)
        self.kept = (*self.kept, predictor)
        return predicting(predictor, self.workload.submit.dtype)

    @property
    def jobs_are_known(self) -> bool:
        """Whether the tables contain all jobs, with their estimates, from the start."""
        submitted = self.workload.users is None and not self.hardware.is_reservable
        return submitted and self.rules.predictor is None

    @property
    def capacity(self) -> int:
        """Number of jobs that can run at once."""
        return int(self.hardware.capacity)

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the policy's profile needs."""
        return 0

    def begin(self, state: State) -> State:
        """Return the state with the policy's part, before any job.

        The jobs are those of the state, perhaps only some of the workload's.
        """
        raise NotImplementedError(f"{type(self).__name__} must define begin")

    def take_over(self, state: State, other: State, low: int) -> State:
        """Return the state with this policy's part in place of another one's.

        Waiting jobs are presented as if they arrived now, in order of arrival. The previous
        policy's part is in `other`, whose jobs from `low` on are those of `state`.
        """
        state = self.begin(state._replace(**AS_USUAL._asdict()))  # with this policy's own rule
        let_wait(state, waiting_jobs(state))
        return state

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with a part that continues from that of `other`, by the same policy.

        Override it in policies with more state than the waiting and running jobs.
        """
        return self.take_over(state, other, low)

    def turn_week(self, state: State) -> None:
        """Handle the end of a week with jobs; weeks are counted from the first submission."""

    def go_on(self, state: State) -> State:
        """Return the state to continue with, after the policy has requested a return."""
        return state

    def run(
        self, state: State, begin: float | None = None, until: float | None = None
    ) -> tuple[State, int]:
        """Run from a pass at `begin`, if given, to `until` or the end; return the reason."""
        why = play(state, begin, until)
        while why in (REQUESTED, LACKS_ROOM):
            if why == REQUESTED:
                state = self.go_on(state)
            state = self.hardware.go_on(state)
            why = play(state, None, until)
        return state, why

    def play(self, state: State) -> State:
        """Run from the first submission to the end of the last job; return the last state."""
        return self.play_until(state)

    def play_until(self, state: State, until: float | None = None) -> State:
        """Run from the first submission to a time, or the end of the last job."""
        begin = self.rules.begin
        state = self.begin(state) if begin is None else self.begin_at(state, begin)
        is_over = begin is not None and begin == until
        return state if is_over else self.run(state, self.first_pass, until)[0]

    @property
    def first_pass(self) -> Any:
        """When the simulation begins with a pass; None if it goes on as it was cut."""
        return None if self.rules.memory.goes_on else self.rules.begin

    def cut(self, until: float | None) -> State:
        """Return the state before all events of a time; by default the last one."""
        state = self.new_state()
        state.at.cut = True
        return self.play_until(state, until)

    def remembered(self, state: State) -> tuple[NDArray[np.int64], Memories]:
        """Return the jobs that run or wait in a state, and what is remembered then."""
        there, running = jobs_there(state), self.hardware.in_order(state)
        turn = dict(zip(running.tolist(), range(running.size), strict=True))
        columns = {"turn": [*map(turn.get, there.tolist())], **self.hardware.places(state, there)}
        if self.hardware.has_outages:
            columns |= {x: getattr(state.machine, x)[there].tolist() for x in OF_INTERRUPTED}
        scheduler, claims = self.remember(state), self.hardware.claims(state, there)
        scheduler = {**scheduler, "jobs": {**scheduler.get("jobs", {}), **claims}}
        predictor = None
        if self.rules.predictor is not None:
            planned = {
                x: getattr(state.jobs, x)[there].tolist() for x in ("prediction", "estimate")
            }
            learns = getattr(self.rules.predictor, "remember", None)
            learned = learns(self.kept[-1], self.workload) if learns else {}
            predictor = {**learned, "jobs": planned}
        return there, Memories(scheduler, {"jobs": columns}, predictor)

    def remember(self, state: State) -> dict[str, Any]:
        """Return what decides starts besides the running and waiting jobs, see `Scheduler`."""
        return {}

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with what `remember` returned; override both."""
        return state

    def begin_at(self, state: State, now: float) -> State:
        """Return the state with the jobs that are there as the simulation begins."""
        n_there = int(np.searchsorted(self.workload.submit, now))
        assert self.workload.begun is not None  # as it begins at a time
        start, run = self.workload.begun[:n_there], self.workload.run[:n_there]
        memory, begun = self.rules.memory, np.flatnonzero(start != state.never)
        over = begun[start[begun] + run[begun] < now]
        there = np.delete(np.arange(n_there), over)
        state.first[0] = self.workload.submit[0]
        if self.hardware.has_outages:
            change_before(state, now)
        with recalling():
            self._resume(state, now, start, there)
        state = self.take_over(self.hardware.go_on(state), state, 0)
        if memory.scheduler is None:
            return state
        with recalling():
            state = self.recall(state, memory.scheduler)
            self.hardware.claim_again(state, there, memory.scheduler["jobs"].get("claim", ()))
        if memory.goes_on:
            state.clock[0] = just_before(state.clock[0].item())  # all that happens then is due
        return state

    def _resume(self, state: State, now: float, start: NDArray, there: NDArray[np.int64]) -> None:
        """Continue the running jobs, on the places that the machine remembers."""
        columns = (self.rules.memory.machine or {}).get("jobs", {})
        turn = given_values(columns.get("turn", there.tolist()), there, 0)
        order = np.lexsort((turn, start[there]))
        order = order[start[there[order]] != state.never]
        running, places, hardware = there[order], columns.get("place"), self.hardware
        if places is not None:
            hardware.put(state, running, [places[i] for i in order])
        for name in OF_INTERRUPTED & columns.keys():
            if hardware.has_outages:
                getattr(state.machine, name)[there] = columns[name]
        held = np.cumsum(state.jobs.procs[running])
        if hardware.numbering and held.size and held[-1] > state.machine.level[FREE]:
            first = running[np.argmax(held > state.machine.level[FREE])]
            raise WorkloadError(has_no_place(int(self.workload.job[first])))
        planned = (self.rules.memory.predictor or {}).get("jobs", {})
        begin_at(state, now, start, running, (there, planned))
        without = hardware.settle(state, running)
        if without.size:
            raise WorkloadError(has_no_place(int(self.workload.job[without[0]])))

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def history(self, state: State) -> Mapping[str, Any]:
        """Return the policy's decisions over time, for `Schedule.history`."""
        return {}


def promises(start: NDArray) -> NDArray[np.float64]:
    """Return promised starts: `inf` for never, NaN if there is none (a time before all times)."""
    latest = never(start.dtype)
    found = np.where(start == latest, np.inf, start.astype(np.float64))
    return np.where(start == -latest, np.nan, found)


def known_values(values: NDArray, known: NDArray[np.bool_]) -> list[Any]:
    """Return values as a column of a saved state, None where they are not known.

    A time after all times is `inf`, as in plain Python.

    Examples
    --------
    >>> known_values(np.array([7, 0, never(np.dtype(int))]), np.array([True, False, True]))
    [7, None, inf]
    """
    latest = never(values.dtype)
    found = [np.inf if value == latest else value for value in values.tolist()]
    return [None if hides else value for value, hides in zip(found, ~known, strict=True)]


def given_values(
    column: Sequence[Any], jobs: NDArray[np.int64], unknown: Any, latest: float = np.inf
) -> list[Any]:
    """Return a column of a saved state, with a value for each of `jobs`.

    In place of None another value, and in place of `inf` a time after all times.

    Examples
    --------
    >>> given_values([7, None, np.inf], np.array([3, 4, 5]), -1, 99)
    [7, -1, 99]
    """
    known = [unknown if value is None else value for _, value in zip(jobs, column, strict=True)]
    return [latest if value == np.inf else value for value in known]
