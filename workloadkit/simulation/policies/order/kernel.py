"""Scores, compiled separately from the event loop: programs for a stack, and functions.

A score is one native function, which the loops call by its address, see `orders.Scoring`. That of
all expressions is the same; their programs are arrays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.floats import quotient
from workloadkit.clock import WEEK
from workloadkit.simulation.orders import ENDED, LEFT, RENEWED, RETURNED, SCORED, STARTED
from workloadkit.simulation.policies.order.arithmetic import decayed, of_one, of_two
from workloadkit.simulation.policies.order.expression import (
    ADD,
    AT_ARRIVAL,
    CHOOSE,
    DIVIDE,
    FEATURE,
    FEATURES,
    MULTIPLY,
    NUMBER,
    OF_LOG,
    OF_USER,
    SUBTRACT,
    Program,
    falls_with_wait,
)

(SUBMIT, ESTIMATE, LIMIT, PROCS, USER, QUEUE, SINCE) = range(7)
(NUMBER_OF_JOB, GROUP, PARTITION, TIER) = range(7, 11)
(NOW, WAIT, RUNNING_WORK, WAITING_WORK, USAGE) = range(11, len(FEATURES))

# Rows of ScoreMemory.work, by user.
WAITING, RUNNING, BUSY, USED = range(4)


class ScoreMemory(NamedTuple):
    """A score, and what it depends on.

    Parameters
    ----------
    what, which : ndarray of int64, shape (n_steps,)
        The steps of the program.
    numbers : ndarray of float64
        The numbers in the program.
    stack : ndarray of float64
        Work space for the program.
    value : ndarray of float64, shape (1,)
        The result.
    oldest_first : float
        Jobs that have waited longer come first. [s]
    decay : float
        Rate at which usage decays. [1/s]
    person : ndarray of int64, shape (n_jobs,) or (0,)
        User of each job, from 0 on; empty if the jobs have it.
    user_number : ndarray of int64, shape (n_users,) or (0,)
        Number of each user; empty if the jobs have it.
    of_log : ndarray of int64, shape (4, n_jobs) or (4, 0)
        Number, group, partition and tier of each job of a log.
    work : ndarray of float64, shape (4, n_users)
        Waiting and running work [processors × s], processors in use, and usage [processors × s];
        see the constants.
    used_at : ndarray, shape (n_users,)
        Up to when the usage is counted. [s]
    """

    what: NDArray[np.int64]
    which: NDArray[np.int64]
    numbers: NDArray[np.float64]
    stack: NDArray[np.float64]
    value: NDArray[np.float64]
    oldest_first: float
    decay: float
    person: NDArray[np.int64]
    user_number: NDArray[np.int64]
    of_log: NDArray[np.int64]
    work: NDArray[np.float64]
    used_at: NDArray


def act(memory, jobs, what, job, _, now):
    """Score a job, or follow its user."""
    if what != SCORED:
        follow(memory, jobs, what, job, now)
    elif now - jobs.submit[job] > memory.oldest_first:
        memory.value[0] = -np.inf
    else:
        run(memory, jobs, job, now)
        value = memory.stack[0]
        memory.value[0] = value if value == value else np.inf  # NaN comes last


@bare
def follow(memory, jobs, what, job, now):
    """Count a job that arrives, starts, ends, returns, leaves or is predicted again."""
    user, work = _person(memory, jobs, job), memory.work
    amount = float(jobs.prediction[job]) * jobs.procs[job]
    if what == STARTED:
        work[WAITING, user] -= amount
        work[RUNNING, user] += amount
        _use(memory, user, now, jobs.procs[job])
    elif what in (ENDED, RETURNED):
        work[RUNNING, user] -= amount
        _use(memory, user, now, -jobs.procs[job])
        if what == RETURNED:
            work[WAITING, user] += amount
    elif what == RENEWED:
        work[WAITING, user] -= amount
        work[WAITING, user] += float(jobs.estimate[job]) * jobs.procs[job]
    else:
        work[WAITING, user] += -amount if what == LEFT else amount


@inline
def _person(memory, jobs, job):
    return memory.person[job] if memory.person.size > 0 else jobs.user[job]


@inline
def _use(memory, user, now, more):
    memory.work[USED, user] = _usage(memory, user, now)
    memory.work[BUSY, user] += more
    memory.used_at[user] = now


@bare
def _usage(memory, user, now):
    time, work = float(now - memory.used_at[user]), memory.work
    return decayed(work[USED, user], work[BUSY, user], time, memory.decay)


@bare
def run(memory, jobs, job, now):
    """Run the program; it leaves its numbers on the stack."""
    what, which, stack = memory.what, memory.which, memory.stack
    top = -1
    for step in range(what.size):
        code = what[step]
        if code == NUMBER:
            top += 1
            stack[top] = memory.numbers[which[step]]
        elif code == FEATURE:
            top += 1
            stack[top] = _feature(memory, jobs, which[step], job, now)
        elif code < ADD:
            stack[top] = of_one(code, stack[top])
        elif code < CHOOSE:
            top -= 1
            if code == MULTIPLY:
                stack[top] = stack[top] * stack[top + 1]
            elif code == ADD:
                stack[top] = stack[top] + stack[top + 1]
            elif code == SUBTRACT:
                stack[top] = stack[top] - stack[top + 1]
            elif code == DIVIDE:
                stack[top] = quotient(stack[top], stack[top + 1])
            else:
                stack[top] = of_two(code, stack[top], stack[top + 1])
        else:
            top -= 2
            stack[top] = stack[top + 1] if stack[top] != 0.0 else stack[top + 2]


@bare
def _feature(memory, jobs, which, job, now):
    """Return a feature of a job."""
    if which == WAIT:
        return float(now - jobs.submit[job])
    if which == ESTIMATE:
        return float(jobs.estimate[job])
    if which == PROCS:
        return float(jobs.procs[job])
    if which == SUBMIT:
        return float(jobs.submit[job])
    if which == LIMIT:
        return float(jobs.limit[job])
    if which == QUEUE:
        return float(jobs.queue[job])
    if which == SINCE:
        return float(jobs.submit[job] - jobs.submit[0])
    if which == NOW:
        return float(now)
    if which == USER:
        user = jobs.user[job]
        return float(memory.user_number[user] if memory.user_number.size > 0 else user)
    if NUMBER_OF_JOB <= which <= TIER:
        return float(memory.of_log[which - NUMBER_OF_JOB, job])
    user = _person(memory, jobs, job)
    if which == USAGE:
        return _usage(memory, user, now)
    return memory.work[RUNNING if which == RUNNING_WORK else WAITING, user]


# A score by which the jobs of a queue are sorted.


@dataclass(frozen=True)
class Score:
    """A score: a number by which jobs are sorted, smallest first, ties by arrival, NaN last.

    Parameters
    ----------
    program : Program
        Of an expression; for a function, the steps that put its arguments on the stack.
    function : callable or None
        If it is a function.
    oldest_first : float
        Jobs that have waited longer come before all others, the oldest first. [s]
    half_life : float
        Of the usage. [s]
    """

    program: Program
    function: Callable[..., Any] | None = None
    oldest_first: float = math.inf
    half_life: float = float(WEEK)

    @property
    def features(self) -> frozenset[str]:
        """The features on which it depends."""
        return self.program.features

    @property
    def is_settled(self) -> bool:
        """Whether it is the same from the arrival of a job on."""
        return self.features <= set(AT_ARRIVAL) and self.oldest_first == math.inf

    def favours_waiting(self, shortest: float) -> bool:
        """Whether of jobs of equal size, estimate and limit the first to arrive is never behind.

        No estimate and no limit is below `shortest` [s].
        """
        return self.function is None and falls_with_wait(self.program, shortest)

    @property
    def follows_users(self) -> bool:
        """Whether it depends on what the job's user has in the system."""
        return bool(self.features & set(OF_USER))

    @property
    def is_of_log(self) -> bool:
        """Whether it depends on what only jobs of a log have."""
        return bool(self.features & set(OF_LOG))
