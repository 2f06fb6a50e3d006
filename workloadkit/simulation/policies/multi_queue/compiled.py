"""Multiple-queue backfilling in the compiled engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.simulation.parts import is_built_in
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.multi_queue import kernel
from workloadkit.simulation.policies.multi_queue.part import (
    DEMOTED,
    IDLE,
    LOOK,
    N_DEMOTED,
    N_LISTED,
    N_RESERVED,
    N_WEEKS,
    UNSET,
    Partitions,
    new_partitions,
    new_plan,
)
from workloadkit.simulation.policies.multi_queue.partitions import shares
from workloadkit.simulation.state import ARRIVED, State, running_jobs, waiting_jobs
from workloadkit.simulation.workload import Rules, Workload


class CompiledMultiQueue(CompiledPolicy):
    """Partitions with one queue each.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    n_partitions : int
    """

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
        part.at[N_LISTED] = waiting.size
        count_used(state)
        return state

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return a state that continues from the partitions of another one."""
        part, old = new_partitions(state, other.policy.size.copy()), other.policy
        arrived = other.at[ARRIVED] - low
        for name in ("partition", "standing", "promised"):
            getattr(part, name)[:arrived] = getattr(old, name)[low : low + arrived]
        n_waiting, n_demoted = old.at[N_LISTED], old.at[N_DEMOTED]
        part.waiting[:n_waiting] = old.waiting[:n_waiting] - low
        part.pivot[:] = np.where(old.pivot == UNSET, UNSET, old.pivot - low)
        part.criteria[:] = old.criteria
        part.at[[N_LISTED, N_DEMOTED, N_WEEKS]] = n_waiting, n_demoted, old.at[N_WEEKS]
        demoted = old.demoted[:n_demoted] - low
        plan = new_plan(state, part.size.size, n_demoted)
        state = state._replace(policy=part._replace(demoted=demoted, plan=plan))
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
    part.at[IDLE] = part.size.sum() - part.used.sum()


def repartition(state: State, n_partitions: int) -> State:
    """Change the number of partitions: equal shares, jobs assigned again by uniform criteria.

    The first pivot assigned to a partition becomes its pivot; the others are demoted and keep
    their reservations.
    """
    part = state.policy
    promised = _promises(state)
    criteria = (np.arange(n_partitions) + 1) * part.criteria[-1] / n_partitions
    jobs = np.concatenate((part.waiting[: part.at[N_LISTED]], running_jobs(state)))
    place = np.searchsorted(criteria, state.jobs.estimate[jobs], side="right")
    part.partition[jobs] = np.minimum(place, n_partitions - 1)
    pivot = np.full(n_partitions, UNSET)
    demoted = part.demoted[: part.at[N_DEMOTED]].tolist()
    for job in sorted(part.pivot[part.pivot != UNSET].tolist()):
        if pivot[part.partition[job]] == UNSET:
            pivot[part.partition[job]] = job
        else:
            demoted.append(job)
            part.standing[job], part.promised[job] = DEMOTED, promised.get(job, state.never)
    part.at[N_DEMOTED], part.at[LOOK] = len(demoted), True
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
    count = plan.at[N_RESERVED]
    return dict(zip(plan.reserved[:count].tolist(), plan.begins[:count], strict=True))
