"""Online simulation in the compiled engine: from a copy of the state, on estimates alone."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels import creasy, easy, multi_queue
from workloadkit._kernels.agenda import SIZE
from workloadkit._kernels.first_submission import wait_for_first
from workloadkit._kernels.multi_queue import PartitionedState
from workloadkit._kernels.orders import rank_arrivals
from workloadkit._kernels.state import ARRIVED, FREE, N_RUNNING, N_WAITING, Jobs, State, new_state
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.multi_queue import WEEK, MultiQueue
from workloadkit.simulation.policies.ordered import (
    place_in_order,
    places_to_backfill,
    tables_of_ranks,
)
from workloadkit.simulation.policies.policy import Outcome, Policy
from workloadkit.simulation.policies.self_adaptive import ONLY_REPLAYED, Decisions, SelfAdaptive
from workloadkit.simulation.workload import Rules, Workload


def adapt(policy: SelfAdaptive, workload: Workload, rules: Rules) -> Outcome:
    """Simulate self-adaptive parameterization, week by week."""
    jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
    candidates, decisions = policy.policies, Decisions(policy)
    family = _Partitioned if isinstance(candidates[0], MultiQueue) else _Memoryless
    users = workload.users
    site: Any = family(rules, candidates, users)
    state = site.new_state(jobs)
    if users is not None and not wait_for_first(users, jobs, rules.passes == "event"):
        return Outcome(state.start)
    first, week = jobs.submit[0] if users is None else users.agenda.time[0], 0
    now, last = site.before(first), first
    while _more_to_come(jobs, state, users) or unfinished(state).size:
        begins, ends = first + week * WEEK, first + (week + 1) * WEEK
        ended = site.advance(jobs, state, candidates[decisions.present], now, ends, users)
        end = state.start[ended] + jobs.run[ended]
        last, ended = end.max(initial=last), ended[end > begins]
        now, week = ends, week + 1
        site.turn_week(jobs, state)
        present = decisions.present
        if unfinished(state).size and decisions.are_due(how_they_fared(jobs, state, ended)):
            means = []
            forecast = arrivals(policy, jobs, state, now, all_known=users is None)
            for candidate in candidates:
                window, copied = site.window(jobs, state, now, forecast)
                if candidate != candidates[present]:
                    site.change(window, copied, candidate, now)
                ended = site.advance(window, copied, candidate, now, now + policy.weeks * WEEK)
                means.append(decisions.mean(how_they_fared(window, copied, ended)))
            if decisions.take_best(means, now.item(), week):
                site.change(jobs, state, candidates[decisions.present], now)
    return Outcome(state.start, site.columns(state), decisions.history((last - first).item()))


def _more_to_come(jobs: Jobs, state: Any, users: Any) -> bool:
    """Whether anything happens any more but ends of jobs."""
    if users is None:
        return state.at[ARRIVED] < jobs.submit.size
    return users.agenda.at[SIZE] > 0


def unfinished(state: Any) -> NDArray[np.int64]:
    """Return the jobs that run or wait."""
    return np.concatenate(
        (state.end_jobs[: state.at[N_RUNNING]], state.waiting[: state.at[N_WAITING]])
    )


def how_they_fared(jobs: Jobs, state: Any, ended: NDArray[np.int64]) -> list[tuple[Any, Any]]:
    """Return (wait, run) of jobs that have ended."""
    wait = state.start[ended] - jobs.submit[ended]
    return list(zip(wait.tolist(), jobs.run[ended].tolist(), strict=True))


def arrivals(
    policy: SelfAdaptive, jobs: Jobs, state: Any, now: Any, *, all_known: bool = True
) -> Jobs:
    """Return the jobs that are forecast to arrive in the coming weeks, as long as estimated.

    Raises
    ------
    ParameterError
        If jobs that have not arrived are asked for where not all are known.
    """
    length, later = policy.weeks * WEEK, 0
    first = last = state.at[ARRIVED]
    if policy.forecast == "actual":
        if not all_known:
            raise ParameterError(ONLY_REPLAYED)
        last = np.searchsorted(jobs.submit, now + length, side="right")
    elif policy.forecast == "replay":
        first = np.searchsorted(jobs.submit[:last], now - length, side="right")
        later = length
    submit, estimate = jobs.submit[first:last] + later, jobs.estimate[first:last]
    return Jobs(submit, estimate, estimate, jobs.procs[first:last])


class _Site(ABC):
    """A machine under one of the candidates; what the two families have in common.

    Parameters
    ----------
    rules : Rules
    candidates : tuple of policies
    users : NamedTuple or None
        Users who react.
    """

    def __init__(self, rules: Rules, candidates: tuple[Any, ...], users: Any) -> None:
        self.machine, self.candidates, self.users = rules.machine, candidates, users
        self.late, self.by_event = rules.overrun == "late", rules.passes == "event"

    @abstractmethod
    def new_state(self, jobs: Jobs) -> Any:
        """Return the state before the first submission."""

    @abstractmethod
    def before(self, first: Any) -> Any:
        """Return when to begin with a pass for a first submission."""

    @abstractmethod
    def go_on(
        self, jobs: Jobs, state: Any, policy: Any, begin: Any, until: Any, users: Any
    ) -> None:
        """Go on from a pass at `begin` to before the pass at `until`, with users who react."""

    @abstractmethod
    def turn_week(self, jobs: Jobs, state: Any) -> None:
        """End a week, after all that ends and arrives in its last second."""

    @abstractmethod
    def change(self, jobs: Jobs, state: Any, policy: Any, now: Any) -> None:
        """Go over to another candidate."""

    @abstractmethod
    def complete(
        self, state: Any, copied: Any, window: Jobs, running: NDArray[np.int64], low: int
    ) -> None:
        """Copy what only this family has, of the jobs from `low` on, of which some run."""

    @abstractmethod
    def columns(self, state: Any) -> dict[str, NDArray]:
        """Return what the candidates tell of each job."""

    def advance(
        self, jobs: Jobs, state: Any, policy: Any, begin: Any, until: Any, users: Any = None
    ) -> NDArray:
        """Go on from a pass at `begin` to before the pass at `until`; the jobs that ended."""
        there, arrived = unfinished(state), state.at[ARRIVED]
        self.go_on(jobs, state, policy, begin, until, users)
        there = np.concatenate((there, np.arange(arrived, state.at[ARRIVED])))
        return np.setdiff1d(there, unfinished(state))

    def window(self, jobs: Jobs, state: Any, now: Any, forecast: Jobs) -> tuple[Jobs, Any]:
        """Return the jobs from the oldest that has not ended on, and a state to go on from.

        Jobs run as long as their estimates; those that have outlived them have ended.
        """
        arrived = state.at[ARRIVED]
        low = int(unfinished(state).min(initial=arrived))
        estimate = np.concatenate((jobs.estimate[low:arrived], forecast.estimate))
        window = Jobs(
            np.concatenate((jobs.submit[low:arrived], forecast.submit)),
            estimate,
            estimate,
            np.concatenate((jobs.procs[low:arrived], forecast.procs)),
        )
        copied = self.new_state(window)
        copied.start[: arrived - low] = state.start[low:arrived]
        running = state.end_jobs[: state.at[N_RUNNING]] - low
        end = copied.start[running] + estimate[running]
        running, end = running[end > now], end[end > now]
        order = np.lexsort((-running, -copied.start[running], -end))  # the next end comes last
        running, end = running[order], end[order]
        waiting = state.waiting[: state.at[N_WAITING]] - low
        copied.ends[: end.size], copied.end_jobs[: end.size] = end, running
        copied.planned_ends[: end.size] = end
        copied.waiting[: waiting.size] = waiting
        copied.at[[N_RUNNING, ARRIVED, N_WAITING]] = end.size, arrived - low, waiting.size
        copied.at[FREE] = self.machine - window.procs[running].sum()
        self.complete(state, copied, window, running, low)
        return window, copied


class _Memoryless(_Site):
    """Policies that know only which jobs wait and run."""

    def new_state(self, jobs: Jobs) -> State:
        return new_state(jobs, self.machine)

    def before(self, first: Any) -> Any:
        return first

    def go_on(
        self, jobs: Jobs, state: State, policy: Any, begin: Any, until: Any, users: Any
    ) -> None:
        how: dict[str, Any] = {"late": self.late, "by_event": self.by_event}
        how |= {"begin": begin, "until": until}
        if isinstance(policy, Creasy):
            creasy.advance(jobs, state, alpha=policy.alpha, users=users, **how)
            return
        if users is None:
            like_a_workload: Any = jobs
            rank = place_in_order(policy.keys(like_a_workload))
            ranks: dict[str, Any] = {
                "rank": rank,
                "backfill_rank": places_to_backfill(policy.backfill, like_a_workload, rank),
            }
        else:  # those who wait may have been ranked by another candidate
            ranks = tables_of_ranks(policy.name, policy.backfill, jobs.submit.size, users)
            rank, backfill_rank = ranks["rank"], ranks["backfill_rank"]
            other = rank if backfill_rank is None else backfill_rank
            rank_arrivals(users, jobs, ranks["keys"], rank, other, 0, state.at[ARRIVED])
        easy.advance(jobs, state, **ranks, **how)

    def turn_week(self, jobs: Jobs, state: State) -> None:
        pass

    def change(self, jobs: Jobs, state: State, policy: Policy, now: Any) -> None:
        pass

    def complete(
        self, state: State, copied: State, window: Jobs, running: NDArray[np.int64], low: int
    ) -> None:
        copied.planned_procs[: running.size] = window.procs[running]

    def columns(self, state: State) -> dict[str, NDArray]:
        return {}


class _Partitioned(_Site):
    """Multiple queues."""

    def new_state(self, jobs: Jobs) -> PartitionedState:
        numbers = [candidate.partitions for candidate in self.candidates]
        return multi_queue.new_partitioned_state(jobs, self.machine, numbers[0], max(numbers))

    def before(self, first: Any) -> Any:
        return first - 1

    def go_on(
        self,
        jobs: Jobs,
        state: PartitionedState,
        policy: MultiQueue,
        begin: Any,
        until: Any,
        users: Any,
    ) -> None:
        how: dict[str, Any] = {"begin": begin, "until": until, "users": users}
        multi_queue.advance(jobs, state, week=WEEK, by_event=self.by_event, **how)

    def turn_week(self, jobs: Jobs, state: PartitionedState) -> None:
        multi_queue.turn_week(jobs, state)

    def change(self, jobs: Jobs, state: PartitionedState, policy: MultiQueue, now: Any) -> None:
        multi_queue.repartition(
            jobs, state, machine=self.machine, n_partitions=policy.partitions, now=now
        )

    def complete(
        self,
        state: PartitionedState,
        copied: PartitionedState,
        window: Jobs,
        running: NDArray[np.int64],
        low: int,
    ) -> None:
        multi_queue.copy_partitions(state, copied, window, running, low)

    def columns(self, state: PartitionedState) -> dict[str, NDArray]:
        return {"partition": state.partition + 1}
