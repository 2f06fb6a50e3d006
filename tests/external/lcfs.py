"""Last come, first served: a scheduling policy in a file of its own, for both engines."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import fits, start_job
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.schedulers import Scheduler


@dataclass(frozen=True)
class Lcfs:
    """The newest job starts first; while it does not fit, none does."""

    name: ClassVar[str] = "lcfs"

    def plain(self):
        return PlainLcfs()

    def compiled(self, workload, rules):
        return CompiledLcfs(workload, rules)


class PlainLcfs(Scheduler):
    def allocate(self):
        while self.queue and self.fits(self.queue[-1]):
            self.start(self.queue[-1])


class CompiledLcfs(CompiledPolicy):
    def begin(self, state):
        return state._replace(policy=Stack(np.empty(state.jobs.submit.size, np.int64)))


class Stack(NamedTuple):
    """The waiting jobs, the newest last."""

    waiting: Any


@inline
def job_returned(state, job, now):
    place = state.at.n_waiting - 1
    waiting = state.policy.waiting
    while place > 0 and waiting[place - 1] > job:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job


@inline
def allocate(state, new, now):
    waiting, count = state.policy.waiting, state.at.n_waiting - (state.at.arrived - new)
    for job in range(new, state.at.arrived):
        waiting[count] = job
        count += 1
    while count > 0 and fits(state, waiting[count - 1], now):
        count -= 1
        start_job(state, waiting[count], now)


register_functions(Stack, sys.modules[__name__])
