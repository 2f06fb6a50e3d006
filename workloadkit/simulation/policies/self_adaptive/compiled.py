"""Compiled self-adaptive parameterization: copies of the state are simulated with estimates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, fsum, inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.record import by_reference
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.parameters import describe
from workloadkit.simulation.compiled.agenda import is_wake_up, take_due, take_first
from workloadkit.simulation.compiled.loop import begin_at
from workloadkit.simulation.compiled.mechanisms import WAKE_UP, perform_action
from workloadkit.simulation.compiled.state import (
    OVER,
    State,
    never,
    running_jobs,
    waiting_jobs,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.multi_queue import MultiQueue
from workloadkit.simulation.policies.policy import Policy, compiled_form
from workloadkit.simulation.workload import Rules, Workload

if TYPE_CHECKING:
    from workloadkit.simulation.policies.self_adaptive import SelfAdaptive


# The weekly decisions of self-adaptive parameterization.


#: Measures to minimise, of (wait, run).
MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "bounded_slowdown": lambda wait, run: 1 + wait / max(run, 10),
    "slowdown": lambda wait, run: 1 + wait / max(run, 1),
    "response": lambda wait, run: wait + run,
    "wait": lambda wait, run: wait,
}

ONLY_REPLAYED = "scheduler self-adaptive: forecast is 'actual'; only for users who replay a log"


def label(policy: Policy) -> Any:
    """Return the label of a policy in the history: a number of partitions, or its name."""
    return policy.partitions if isinstance(policy, MultiQueue) else describe(policy)


class WeeklyDecisions:
    """The decisions at the starts of the weeks."""

    def __init__(self, policy: "SelfAdaptive") -> None:
        self.policy = policy
        self.present = 0  # index of the active candidate
        self.tests = 0
        self.changes: list[dict[str, Any]] = []

    def are_due(self, ended: Sequence[tuple[Any, Any]]) -> bool:
        """Whether candidates are to be simulated after a week in which such jobs ended."""
        return bool(ended) and self.mean(ended) > self.policy.threshold

    def mean(self, ended: Sequence[tuple[Any, Any]]) -> float:
        """Return the mean of the measure over jobs given as (wait, run); inf without jobs."""
        measure = MEASURES[self.policy.measure]
        if not ended:
            return inf
        return fsum(measure(wait, run) for wait, run in ended) / len(ended)

    def take_best(self, means: list[float], second: Any, week: int) -> bool:
        """Select the candidate with the smallest mean; return whether it is another one."""
        self.tests += 1
        before, least = self.present, min(means)
        if means[before] > least:
            self.present = means.index(least)
            names = [label(policy) for policy in self.policy.policies]
            finite = [None if mean == inf else mean for mean in means]
            self.changes.append(
                {
                    "second": second,
                    "week": week,
                    "from": names[before],
                    "to": names[self.present],
                    "measures": dict(zip(map(str, names), finite, strict=True)),
                }
            )
        return self.present != before

    def remember(self, candidate: Mapping[str, Any], first: Any, week: int) -> dict[str, Any]:
        """Return the decisions for a saved state, and what the active candidate remembers."""
        decided = {"selected": self.present, "tests": self.tests, "changes": self.changes}
        times = {"first": first, "week": week, "past": self.policy.weeks * WEEK}
        others = {name: value for name, value in candidate.items() if name != "jobs"}
        columns = candidate.get("jobs", {})
        return {"jobs": columns, **decided, **times, "candidate": others}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with decisions."""
        self.present, self.tests = memory["selected"], memory["tests"]
        self.changes = [*memory["changes"]]

    def history(self, duration: Any) -> dict[str, Any]:
        """Return the decisions of a simulation of this length [s]."""
        weeks = ceil(duration / WEEK)
        return {"weeks": weeks, "tests": self.tests, "changes": self.changes}


# The first submission of users who react.


@kernel
def wait_for_first(users, jobs, by_event):
    """Wake users until one is about to submit a job; return whether any event is left."""
    users, jobs = by_reference(users), by_reference(jobs)
    agenda = users.agenda
    while agenda.at.size > 0 and is_wake_up(agenda):
        now, n_due = agenda.time[0], 1
        if by_event:
            agenda.due[0] = take_first(agenda)
        else:
            n_due = take_due(agenda, now)
        for i in range(n_due):
            perform_action(users, jobs, WAKE_UP, -1 - agenda.due[i], 0, now)
    return agenda.at.size > 0


class CompiledSelfAdaptive(CompiledPolicy):
    """The candidates of a policy, one of which is active."""

    def __init__(self, policy: "SelfAdaptive", workload: Workload, rules: Rules) -> None:
        super().__init__(workload, rules)
        self.policy, self.decisions = policy, WeeklyDecisions(policy)
        self.candidates: list[CompiledPolicy] = [
            compiled_form(candidate, workload, rules) for candidate in policy.policies
        ]
        for candidate in self.candidates:
            candidate.rng = self.rng
        self.first = self.last = self.week = 0

    @property
    def present(self) -> CompiledPolicy:
        """The active candidate."""
        return self.candidates[self.decisions.present]

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the profiles of the candidates need."""
        return max(candidate.n_planned(n_jobs) for candidate in self.candidates)

    def play_until(self, state: State, until: float | None = None) -> State:
        """Run week by week, with a decision at the start of each."""
        users, now, low = state.users, self.rules.begin, 0
        if users is not None and not wait_for_first(users, state.jobs, state.by_event):
            return state
        if now is None:
            self.first = state.jobs.submit[0] if users is None else users.agenda.time[0]
            state = self.present.begin(state)
        else:
            state, now = self.begin_at(state, now), self.first_pass
        self.last, before = self.first, self._ended_before(state)
        while True:
            there, arrived = unfinished(state, low), state.at.arrived
            if not there.size:
                self.week = max(self.week, self._next_week_with_jobs(state))
            week = self.week
            begins, ends = self.first + week * WEEK, self.first + (week + 1) * WEEK
            stop = ends if until is None else min(ends, until)
            state.at.cut = stop == until  # before the events of that second
            state, why = self.present.run(state, None if now == stop else now, stop)
            if state.at.cut:
                return state
            ended, before = np.append(ended_jobs(state, there, arrived), before), before[:0]
            if state.cancellations is not None:
                ended = ended[~state.cancellations.left[ended]]
            end = state.start[ended] + state.jobs.run[ended]
            self.last = end.max(initial=self.last)
            if why == OVER:
                return state
            now = ends
            self.week = week = week + 1
            self.present.turn_week(state)
            left = unfinished(state, low)
            low = left.min(initial=state.at.arrived)
            if left.size and self.decisions.are_due(
                waits_and_runs(state, self._as_usual(ended[end > begins]))
            ):
                state = self._decide(state, low, now, week)

    def _ended_before(self, state: State) -> NDArray[np.int64]:
        """Return the jobs that have ended as the simulation begins."""
        started = np.flatnonzero(state.start[: state.at.arrived] != state.never)
        return np.setdiff1d(started, running_jobs(state))

    def take_over(self, state: State, other: State, low: int) -> State:
        """Return the state with the active candidate's part in place of another one's."""
        return self.present.take_over(state, other, low)

    def remember(self, state: State) -> dict[str, Any]:
        """Return the decisions, and what the active candidate remembers."""
        first, candidate = np.asarray(self.first).item(), self.present.remember(state)
        return self.decisions.remember(candidate, first, int(self.week))

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with decisions, and with the candidate that they have selected."""
        self.decisions.recall(memory)
        if memory["first"] is None:  # no job has arrived
            self.first = state.first[0]
            return state
        state.first[0] = memory["first"]
        self.first, self.week = state.first[0], memory["week"]
        state = self.present.take_over(state, state, 0)
        candidate = {**memory["candidate"], "jobs": memory["jobs"]}
        return self.present.recall(state, candidate)

    def _as_usual(self, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some jobs that are not cancelled while they wait."""
        leaves = self.workload.leaves
        return jobs if leaves is None else jobs[leaves[jobs] == never(leaves.dtype)]

    def _next_week_with_jobs(self, state: State) -> int:
        """Return the week of the next submission, 0 if there is none."""
        if state.users is None:
            coming = state.jobs.submit[state.at.arrived :]
        else:
            coming = state.users.agenda.time[: state.users.agenda.at.size]
        return ceil((coming[0] - self.first) / WEEK) - 1 if coming.size else 0

    def _decide(self, state: State, low: int, now: Any, week: int) -> State:
        """Simulate each candidate for the coming weeks; switch to the best one."""
        present, means = self.policy.policies[self.decisions.present], []
        until = now + self.policy.weeks * WEEK
        for candidate in self.policy.policies:
            window, how = self._forecast_state(candidate, state, low, now)
            if candidate == present:
                window = how.continue_from(window, state, low)
            else:
                window = how.take_over(window, state, low)
            there, arrived = unfinished(window, 0), window.at.arrived
            window, _ = how.run(window, now, until)
            means.append(
                self.decisions.mean(waits_and_runs(window, ended_jobs(window, there, arrived)))
            )
        if self.decisions.take_best(means, now.item(), week):
            return self.present.take_over(state, state, 0)
        return state

    def _forecast_state(
        self, candidate: Any, state: State, low: int, now: Any
    ) -> tuple[State, CompiledPolicy]:
        """Return a state to simulate, of the jobs from `low` on, and a candidate.

        Jobs that have outlived their estimates have ended, unless run times are known.
        """
        which, submit = self._jobs_to_simulate(state, low, now)
        workload = self._workload(state, which, submit)
        hardware = getattr(self.hardware, "without_outages", self.hardware)
        rules = Rules(self.rules.machine, passes=self.rules.passes, hardware=hardware)
        how = compiled_form(candidate, workload, rules)
        window = how.new_state()
        running = running_jobs(state) - low
        goes_on = state.start[low + running] + workload.run[running] > now
        begin_at(window, now, state.start[low : state.at.arrived], running[goes_on])
        window.first[:], window.at.n_seen = state.first, max(state.at.n_seen - low, 0)
        return window, how

    def _jobs_to_simulate(
        self, state: State, low: int, now: Any
    ) -> tuple[NDArray[np.int64], NDArray]:
        """Return the jobs to simulate, forecast ones included, and when they are submitted."""
        arrived, length, later = state.at.arrived, self.policy.weeks * WEEK, 0
        submit, first, last = state.jobs.submit, arrived, arrived
        if self.policy.forecast == "actual":
            if not self.jobs_are_known:
                raise ParameterError(ONLY_REPLAYED)
            last = np.searchsorted(submit, now + length, side="right")
        elif self.policy.forecast == "replay":
            first = np.searchsorted(submit[:arrived], now - length, side="right")
            later = length
        which = np.concatenate((np.arange(low, arrived), np.arange(first, last)))
        times = submit[which]
        times[arrived - low :] += later
        return which, times

    def _workload(self, state: State, which: NDArray[np.int64], submit: NDArray) -> Workload:
        """Return some of the jobs, with their estimates as run times, unless these are known."""
        w, utilities, estimate = self.workload, self.workload.utilities, state.jobs.estimate[which]
        if utilities is not None:
            utilities = utilities.take(which if w.users is None else w.users.tables.row[which])
        taken = replace(w, users=None, user_numbers=None, utilities=None, leaves=None).take(which)
        return replace(
            taken,
            submit=submit,
            run=estimate if self.policy.run_times == "estimated" else state.jobs.run[which],
            estimate=estimate,
            utilities=utilities,
            user_numbers=w.known_by,
        )

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the candidates' columns for each job."""
        return self.present.columns(state)

    def history(self, state: State) -> Mapping[str, Any]:
        """Return the decisions."""
        return self.decisions.history(np.asarray(self.last - self.first).item())


def unfinished(state: State, low: int) -> NDArray[np.int64]:
    """Return the jobs from `low` on that run or wait."""
    return np.concatenate((state.end_jobs[: state.at.n_running], waiting_jobs(state, low)))


def ended_jobs(state: State, there: NDArray[np.int64], arrived: int) -> NDArray[np.int64]:
    """Return the jobs that have ended, among those unfinished when `arrived` jobs had arrived."""
    there = np.concatenate((there, np.arange(arrived, state.at.arrived)))
    return np.setdiff1d(there, unfinished(state, there.min(initial=arrived)))


def waits_and_runs(state: State, ended: NDArray[np.int64]) -> list[tuple[Any, Any]]:
    """Return (wait, run) of ended jobs."""
    wait = state.start[ended] - state.jobs.submit[ended]
    return list(zip(wait.tolist(), state.jobs.run[ended].tolist(), strict=True))
