"""Users who submit a job, wait for its end, think, and go on: users in a file of their own."""

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from workloadkit._kernels.compile import bare
from workloadkit.simulation.compiled.agenda import UNNUMBERED, enter, new_agenda
from workloadkit.simulation.compiled.mechanisms import begin_all
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.users import User
from workloadkit.simulation.workload.from_log import as_log, synthetic_workload

PROCS = (1, 3, 2, 5)


@dataclass(frozen=True)
class Patient:
    """So many users, each with so many jobs; user i thinks 10 i seconds."""

    users: int = 5
    jobs: int = 8

    name = "patient"
    processors = 6

    def simulated_users(self, machine):
        return PatientUsers(self)


@dataclass(frozen=True)
class PatientUsers:
    who: Patient
    n_jobs: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "n_jobs", self.who.users * self.who.jobs)

    def plain(self, rng):
        return [PlainPatient(self.who.jobs) for _ in range(self.who.users)]

    def compiled(self, rng, room, *, by_event):
        whole = [np.empty(room, np.int64) for _ in range(6)]
        submit, run, estimate, procs, user, queue = whole
        made = np.zeros(self.who.users, np.int64)
        mechanism = Users(new_agenda(room, np.dtype(np.int64)), made, user, queue,
                          self.who.jobs, by_event)  # fmt: skip
        begin_all(mechanism, submit.dtype)
        return synthetic_workload(submit, run, estimate, procs, user, queue, mechanism)

    def report(self, tables, n_jobs):
        columns = (tables.submit, tables.run, tables.estimate, tables.procs, tables.user,
                   tables.queue)  # fmt: skip
        return synthetic_workload(*(column[:n_jobs] for column in columns)), {}, {}

    def report_plain(self, users):
        return {}

    def result(self, workload, notes, machine):
        trace, workload = as_log(workload, machine)
        return trace, workload, {"user": workload.user}


class PlainPatient(User):
    def __init__(self, jobs):
        self.left = jobs

    def wake_up(self):
        self.submit_next(0)

    def job_ended(self, job):
        if self.left:
            self.submit_next(10 * self.number)

    def submit_next(self, later):
        self.left -= 1
        self.submit(PROCS[self.left % 4], 20 + 7 * self.number, 60, at=self.now + later)


class Users(NamedTuple):
    """The mechanism: how many jobs each user has made; user and queue of each job."""

    agenda: Any
    made: Any
    user: Any
    queue: Any
    jobs: int
    by_event: bool


@bare
def begin(users):
    for who in range(users.made.size):
        _send(users, who, 0)


@bare
def submit(users, jobs, place, item):
    left = users.jobs - 1 - item // users.made.size
    who = item % users.made.size
    users.user[place], users.queue[place] = who, -1
    jobs.procs[place] = PROCS[left % 4]
    jobs.run[place], jobs.estimate[place] = 20 + 7 * (who + 1), 60


@bare
def job_ended(users, jobs, place, now):
    who = users.user[place]
    if users.made[who] < users.jobs:
        _send(users, who, now + 10 * (who + 1))


@bare
def wake_up(users, jobs, who, now):
    """No user sleeps."""


@bare
def _send(users, who, time):
    item = users.made[who] * users.made.size + who
    users.made[who] += 1
    enter(users.agenda, time, 0 if users.by_event else UNNUMBERED + who, item)


register_functions(Users, sys.modules[__name__])
