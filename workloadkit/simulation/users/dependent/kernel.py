"""Users whose jobs wait for the end of one other job, or of none, compiled.

They act as one user, who submits the jobs of the log.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.simulation.agenda import Agenda, enter
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.users.batches.kernel import JobTable


class Successors(NamedTuple):
    """The jobs that wait for each job.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        Jobs that wait for job i: `job[first[i]:first[i + 1]]`.
    job : ndarray of int64
    delay : ndarray
        Time from the end of that job to the submission. [s]
    """

    first: NDArray[np.int64]
    job: NDArray[np.int64]
    delay: NDArray


class DependentTables(NamedTuple):
    """Information on each job that has arrived; as in `batches.kernel`."""

    row: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    wait: NDArray


class DependentUsers(NamedTuple):
    """The mechanism of users whose jobs wait for others.

    `user` is the user of each job, from 0; `by_event`, whether there is a pass after each event
    (submissions of one second then keep the order in which they were planned); `times`, the
    submit times of jobs that wait for none; `waits`, whether a job waits.
    """

    agenda: Agenda
    tables: DependentTables
    by_event: bool
    source: JobTable
    user: NDArray[np.int64]
    successors: Successors
    times: NDArray
    waits: NDArray[np.bool_]


@bare
def begin(users):
    """Plan the jobs that wait for none."""
    times = users.times
    for row in range(times.size):
        if not users.waits[row]:
            _plan(users, row, times[row])


@bare
def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    source, tables = users.source, users.tables
    jobs.run[place], jobs.estimate[place] = source.run[item], source.estimate[item]
    jobs.procs[place] = source.procs[item]
    tables.row[place], tables.queue[place] = item, source.queue[item]
    tables.user[place], tables.wait[place] = users.user[item], source.wait[item]


@bare
def job_ended(users, jobs, place, now):
    """Plan the jobs that waited for this one."""
    following = users.successors
    first, job, delay = following.first, following.job, following.delay
    row = users.tables.row[place]
    for i in range(first[row], first[row + 1]):
        _plan(users, job[i], now + delay[i])


@bare
def wake_up(users, jobs, who, now):
    """Do nothing, as these users never sleep."""


@bare
def _plan(users, row, time):
    enter(users.agenda, time, 0 if users.by_event else users.source.key[row], row)


register_functions(DependentUsers, sys.modules[__name__])
