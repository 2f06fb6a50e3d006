"""Plans with the mean of a user's last two run times: a predictor in a file of its own."""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions


@dataclass(frozen=True)
class LastTwo:
    """At most what was requested, which also stands where two jobs have not ended yet."""

    name = "last-two"

    def plain(self):
        return PlainLastTwo()

    def compiled(self, workload):
        n_users = int(workload.user.max(initial=0)) + 1
        if workload.users is not None:
            n_users = workload.users.agenda.time.size
        dtype = workload.submit.dtype
        return Memory(np.full((n_users, 2), -1, dtype), dtype.type(1))


class PlainLastTwo:
    def __init__(self):
        self.ended = {}

    def plan(self, job):
        last = self.ended.get(job.user, [])
        if len(last) < 2:
            return job.estimate
        mean = (last[0] + last[1]) // 2
        return min(max(mean, 1), job.estimate)

    def learn(self, job):
        self.ended[job.user] = [*self.ended.get(job.user, []), job.run][-2:]


class Memory(NamedTuple):
    """Run times of each user's last two jobs, -1 for none."""

    last: Any
    shortest: Any


@inline
def plan(state, job, now):
    memory, user = state.predictor, state.jobs.user[job]
    if memory.last[user, 0] >= 0:
        mean = (memory.last[user, 0] + memory.last[user, 1]) // 2
        state.jobs.estimate[job] = min(max(mean, memory.shortest), state.jobs.estimate[job])


@inline
def learn(state, job, now):
    last, user = state.predictor.last, state.jobs.user[job]
    last[user, 0] = last[user, 1]
    last[user, 1] = state.jobs.run[job]


register_functions(Memory, sys.modules[__name__])
