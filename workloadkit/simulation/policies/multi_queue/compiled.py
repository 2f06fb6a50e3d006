"""Multiple-queue backfilling in the compiled engine, and the processors left in each partition."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from workloadkit.record_fields import PROMISED_START
from workloadkit.simulation.compiled.parts import is_built_in
from workloadkit.simulation.compiled.state import State, jobs_there, running_jobs, waiting_jobs
from workloadkit.simulation.policies.compiled import CompiledPolicy, given_values, known_values
from workloadkit.simulation.policies.multi_queue import kernel
from workloadkit.simulation.policies.multi_queue.reservations import (
    DEMOTED,
    ORDINARY,
    PROMISED,
    UNSET,
    Partitions,
    new_partitions,
    new_plan,
)
from workloadkit.simulation.workload import Rules, Workload

# The processors left in each partition of a machine over time.


class Reservation(NamedTuple):
    """Processors of each partition that are reserved for a job for some time.

    Parameters
    ----------
    begin, end : int or float
        [s]
    procs : int
        Needs of the job.
    taken : list of int, shape (n_partitions,)
        Its processors by partition; less than `procs` in all if partitions exceed their shares.
    """

    begin: Any
    end: Any
    procs: int
    taken: list[int]


class PartitionProfile:
    """Processors left, by partition and in the whole machine, as a function of time.

    Parameters
    ----------
    now : int or float
        [s]
    left : sequence of int, shape (n_partitions,)
        Processors left in each partition now, without those in use.
    machine_left : int
        The same of the whole machine.
    """

    def __init__(self, now: float, left: Sequence[int], machine_left: int) -> None:
        self.times = [now]
        self.left = [[*left, machine_left]]  # one row per step; the last column is the machine's

    def copy(self) -> "PartitionProfile":
        """Return an independent copy."""
        other = PartitionProfile(self.times[0], self.left[0][:-1], self.left[0][-1])
        other.times, other.left = list(self.times), [list(row) for row in self.left]
        return other

    def change(self, begin: float, end: float, by: Sequence[int], of_machine: int) -> None:
        """Add processors to each partition, and to the machine, from `begin` to `end`."""
        first, last = self._step(begin), len(self.times) if end == inf else self._step(end)
        for row in self.left[first:last]:
            for place, count in enumerate((*by, of_machine)):
                row[place] += count

    def _step(self, time: float) -> int:
        """Return the place of the step that begins at `time`; add it if necessary."""
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] > time:
            self.times.insert(place, time)
            self.left.insert(place, list(self.left[place - 1]))
        return place

    def least(self, begin: float, end: float) -> tuple[list[int], int]:
        """Return the least that is left from the step at `begin` to `end`: by partition, in all."""
        first = self.times.index(begin)
        last = max(bisect_left(self.times, end), first + 1)
        *partitions, machine = map(min, zip(*self.left[first:last], strict=True))
        return partitions, machine

    def earliest(self, needed: int, length: Any, among: Iterable[int] | None = None) -> Any:
        """Return the first time with room for so long; inf if there is none.

        With `among`: room on these partitions together; without: on the whole machine alone.
        """
        for time in self.times:
            partitions, room = self.least(time, time + length)
            if among is not None:
                room = min(room, sum(max(partitions[place], 0) for place in among))
            if needed <= room:
                return time
        return inf

    def reserve(self, reservation: Reservation, sign: int = 1) -> None:
        """Subtract the processors of a reservation; with a `sign` of -1 add them."""
        begin, end, procs, taken = reservation
        self.change(begin, end, [-sign * count for count in taken], -sign * procs)


def share_out(needed: int, first: int, offers: Sequence[int]) -> list[int]:
    """Take the needed processors from the offers of partitions: `first`, then in their order.

    Examples
    --------
    >>> share_out(5, 1, [2, 1, 4])
    [2, 1, 2]
    """
    taken = [0] * len(offers)
    for place in sorted(range(len(offers)), key=lambda place: place != first):
        taken[place] = min(offers[place], needed)
        needed -= taken[place]
    return taken


# Roles of waiting jobs in a saved state.
PIVOT, MOVED = "pivot", "demoted"


def in_words(is_pivot: bool, is_demoted: bool) -> str:
    """Return the role of a job, empty for none."""
    return PIVOT if is_pivot else MOVED if is_demoted else ""


def shares(machine: int, n_partitions: int) -> list[int]:
    """Divide a machine equally; the first partitions receive the remainder.

    Examples
    --------
    >>> shares(10, 4)
    [3, 3, 2, 2]
    """
    share, remainder = divmod(machine, n_partitions)
    return [share + (place < remainder) for place in range(n_partitions)]


class CompiledMultiQueue(CompiledPolicy):
    """Partitions with one queue each."""

    def __init__(self, workload: Workload, rules: Rules, n_partitions: int) -> None:
        super().__init__(workload, rules)
        self.n_partitions = n_partitions

    def begin(self, state: State) -> State:
        """Return the state with equal shares and empty queues."""
        size = np.array(shares(self.rules.machine, self.n_partitions))
        return state._replace(policy=new_partitions(state, size))

    def take_over(self, state: State, other: State, low: int) -> State:
        """Return a state with partitions in place of another policy, or of other partitions."""
        if isinstance(other.policy, Partitions):
            state = self.continue_from(state, other, low)
            same = state.policy.size.size == self.n_partitions
            return state if same else repartition(state, self.n_partitions)
        state = self.begin(state)
        part, waiting, running = state.policy, waiting_jobs(state), running_jobs(state)
        part.partition[waiting] = part.partition[running] = 0  # there are no criteria yet
        part.waiting[: waiting.size] = waiting
        part.at.n_listed = waiting.size
        count_used(state)
        return state

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return a state that continues from the partitions of another one."""
        part, old = new_partitions(state, other.policy.size.copy()), other.policy
        arrived = other.at.arrived - low
        for name in ("partition", "standing", "promised"):
            getattr(part, name)[:arrived] = getattr(old, name)[low : low + arrived]
        n_waiting, n_demoted = old.at.n_listed, old.at.n_demoted
        part.waiting[:n_waiting] = old.waiting[:n_waiting] - low
        part.pivot[:] = np.where(old.pivot == UNSET, UNSET, old.pivot - low)
        part.criteria[:] = old.criteria
        part.at.n_listed, part.at.n_demoted = n_waiting, n_demoted
        part.at.n_weeks = old.at.n_weeks
        demoted = old.demoted[:n_demoted] - low
        plan = new_plan(state, part.size.size, n_demoted)
        state = state._replace(policy=part._replace(demoted=demoted, plan=plan))
        count_used(state)
        return state

    def remember(self, state: State) -> dict[str, Any]:
        """Return the partitions, the pivots with their promises, and what has ended this week."""
        part, jobs = state.policy, jobs_there(state)
        is_pivot, standing = np.isin(jobs, part.pivot), part.standing[jobs]
        roles = map(in_words, is_pivot.tolist(), (standing == DEMOTED).tolist())
        columns = {
            "partition": part.partition[jobs].tolist(),
            "role": [*roles],
            PROMISED_START: known_values(part.promised[jobs], standing != ORDINARY),
        }
        values = {"sizes": part.size, "criteria": part.criteria, "ended": part.ended}
        values["ended"] = part.ended[: part.at.n_ended]
        lists = {name: value.tolist() for name, value in values.items()}
        first = state.first[0].item() if state.at.arrived else None
        return {"jobs": columns, **lists, "weeks": int(part.at.n_weeks), "first": first}

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with partitions, pivots and promises."""
        part, jobs, columns = (
            new_partitions(state, np.array(memory["sizes"])),
            jobs_there(state),
            memory["jobs"],
        )
        roles, waiting = np.array(columns["role"], object), waiting_jobs(state)
        part.partition[jobs] = given_values(columns["partition"], jobs, 0)
        promised = columns[PROMISED_START]
        part.promised[jobs] = given_values(promised, jobs, state.never, state.never)
        is_promised = np.array([begin is not None for begin in promised], bool)
        part.standing[jobs] = np.where(
            roles == MOVED, DEMOTED, np.where(is_promised, PROMISED, ORDINARY)
        )
        pivots = jobs[roles == PIVOT]
        part.pivot[part.partition[pivots]] = pivots
        part.waiting[: waiting.size] = waiting
        part.criteria[:], n_ended = memory["criteria"], len(memory["ended"])
        ended = np.append(np.array(memory["ended"], part.ended.dtype), part.ended)  # with room
        demoted = jobs[roles == MOVED]
        at = part.at
        at.n_listed, at.n_demoted, at.n_ended = waiting.size, demoted.size, n_ended
        at.n_weeks = memory["weeks"]
        if memory["first"] is not None:  # a job has arrived
            state.first[0] = memory["first"]
        plan = new_plan(state, part.size.size, demoted.size)
        part = part._replace(demoted=demoted, plan=plan, ended=ended)
        state = state._replace(policy=part)
        count_used(state)
        return state

    def turn_week(self, state: State) -> None:
        """Compute the criteria again."""
        part = state.policy
        kernel.end_week(part.criteria, part.ended, part.at)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the partition of each job that has arrived, from 1; 0 for others."""
        return {"partition": state.policy.partition + 1}


def count_used(state: State) -> None:
    """Count the processors of the running jobs in their partitions."""
    part, running = state.policy, running_jobs(state)
    part.used[:] = 0
    np.add.at(part.used, part.partition[running], state.jobs.procs[running])
    part.at.idle = part.size.sum() - part.used.sum()


def repartition(state: State, n_partitions: int) -> State:
    """Change the number of partitions: equal shares, jobs assigned again by uniform criteria.

    The first pivot assigned to a partition becomes its pivot; the others are demoted and keep
    their reservations.
    """
    part = state.policy
    promised = _promises(state)
    criteria = (np.arange(n_partitions) + 1) * part.criteria[-1] / n_partitions
    jobs = np.concatenate((part.waiting[: part.at.n_listed], running_jobs(state)))
    place = np.searchsorted(criteria, state.jobs.estimate[jobs], side="right")
    part.partition[jobs] = np.minimum(place, n_partitions - 1)
    pivot = np.full(n_partitions, UNSET)
    demoted = part.demoted[: part.at.n_demoted].tolist()
    for job in sorted(part.pivot[part.pivot != UNSET].tolist()):
        if pivot[part.partition[job]] == UNSET:
            pivot[part.partition[job]] = job
        else:
            demoted.append(job)
            part.standing[job], part.promised[job] = DEMOTED, promised.get(job, state.never)
    part.at.n_demoted, part.at.look = len(demoted), True
    fresh = part._replace(
        size=np.array(shares(int(part.size.sum()), n_partitions)),
        used=np.empty(n_partitions, np.int64),
        pivot=pivot,
        criteria=criteria,
        demoted=np.array(sorted(demoted), np.int64),
        plan=new_plan(state, n_partitions, len(demoted)),
    )
    state = state._replace(policy=fresh)
    count_used(state)
    return state


def _promises(state: State) -> dict[int, Any]:
    """Return the starts of the reserved jobs, as at the beginning of a pass."""
    find = kernel.find_now if is_built_in(state.machine) else kernel.find_now_custom
    find(state._replace(users=None), state.clock[0])  # compiled once for all
    plan = state.policy.plan
    count = plan.at.n_reserved
    return dict(zip(plan.reserved[:count].tolist(), plan.begins[:count], strict=True))
