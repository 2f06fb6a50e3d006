"""Compiled EASY in orders that vary with time, for long queues of known jobs: search by groups.

Jobs of equal processors and estimate form a group; for scores, of equal limit, too. The built-in
orders increase with the wait, and so does each step of their arithmetic, rounded or not, as in
scores that `expression` examines: within a group, the first to arrive is never behind, and ties go
by arrival. So a pass evaluates only the first job of each group; logs have few groups, since users
request round numbers.
"""

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.orders import value_of, varying_value
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import Jobs, State
from workloadkit.simulation.machine.ledger import (
    FREE,
    fits,
    has_room,
    is_full,
    may_pass,
    passes,
    reserve,
    start_job,
)
from workloadkit.simulation.orders import SCORE
from workloadkit.simulation.policies.arrivals import WaitingList
from workloadkit.simulation.policies.arrivals import job_left as leave_list
from workloadkit.simulation.policies.varying.kernel import VaryingList


class _At(Record):
    """What is known of the groups."""

    n_groups: int  # groups with waiting jobs
    smallest: int  # lower bound of the size of waiting jobs


class WaitingGroups(NamedTuple):
    """The groups with waiting jobs, in any order; each array of shape (n_groups,).

    Parameters
    ----------
    group : ndarray of int64
    first, last : ndarray of int64
        The first and the last of its waiting jobs; during a pass the first is -1 for none.
    submit, estimate, procs : ndarray
        Of its first job.
    value : ndarray of float64
        Value of its first job in this pass.
    """

    group: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    submit: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    value: NDArray[np.float64]


class Groups(NamedTuple):
    """A part of the state: the waiting jobs in groups.

    Parameters
    ----------
    line : Line
        The list, whose jobs move into the groups at the first pass.
    queue : WaitingList
        That of the list.
    group : ndarray of int64, shape (n_jobs,)
        Group of each job.
    next : ndarray of int64, shape (n_jobs,)
        The job behind a waiting one in its group, -1 for none.
    place : ndarray of int64, shape (n_groups,)
        Place of each group in `present`, -1 for none.
    present : WaitingGroups
    candidate : ndarray of int64, shape (n_groups,)
        Places of groups whose first job may still be backfilled.
    few : int
        With fewer waiting jobs a list is faster.
    at : record
    """

    line: VaryingList
    queue: WaitingList
    group: NDArray[np.int64]
    next: NDArray[np.int64]
    place: NDArray[np.int64]
    present: WaitingGroups
    candidate: NDArray[np.int64]
    few: int
    at: _At


def find_groups(jobs: Jobs, *, by_limit: bool = False) -> NDArray[np.int64]:
    """Return the group of each job, from 0 on.

    By default jobs of a group may differ in their limits, as where predictions were made before.

    Examples
    --------
    >>> import numpy as np
    >>> estimate, procs = np.array([60, 60, 90, 60]), np.array([1, 2, 1, 1])
    >>> find_groups(Jobs(estimate, estimate, estimate, procs, procs, procs)).tolist()
    [0, 1, 2, 0]
    """
    group = pd.factorize(jobs.procs)[0]
    for times in (jobs.estimate, jobs.limit) if by_limit else (jobs.estimate,):
        time, distinct = pd.factorize(times)
        group = pd.factorize(group * distinct.size + time)[0]
    return group


def as_groups(state: State, group: NDArray[np.int64], few: int) -> Groups:
    """Return groups with the waiting jobs of a state with a `VaryingList`."""
    line, submit = state.policy, state.jobs.submit
    n_groups = int(group.max()) + 1
    whole: Any = partial(np.empty, n_groups, np.int64)
    line.queue.at.look = True
    return Groups(
        line=line,
        queue=line.queue,
        group=group,
        next=np.empty(submit.size, np.int64),
        place=np.full(n_groups, -1),
        present=WaitingGroups(
            group=whole(),
            first=whole(),
            last=whole(),
            submit=np.empty(n_groups, submit.dtype),
            estimate=np.empty(n_groups, submit.dtype),
            procs=whole(),
            value=np.empty(n_groups),
        ),
        candidate=whole(),
        few=few,
        at=_At(smallest=np.iinfo(np.int64).max),
    )


def as_line(state: State) -> VaryingList:
    """Return a list with the waiting jobs of a state with `Groups`."""
    groups, queue = state.policy, state.policy.queue
    waiting = []
    for job in groups.present.first[: groups.at.n_groups].tolist():
        while job >= 0:
            waiting.append(job)
            job = int(groups.next[job])
    queue.waiting[: len(waiting)] = sorted(waiting)
    queue.at.count, queue.at.look = len(waiting), True
    return groups.line


@inline
def job_ended(state, job, now):
    """Request a look for jobs that fit."""
    state.policy.queue.at.look = True


@inline
def job_left(state, job, now):
    """Remove a cancelled job from the list, or else from its group."""
    groups, present = state.policy, state.policy.present
    if groups.queue.at.count > 0:
        leave_list(state, job, now)
        return
    place, behind = groups.place[groups.group[job]], groups.next[job]
    other = present.first[place]
    if other == job:
        present.first[place] = behind
        if behind < 0:
            _leave(groups, place)
        else:
            present.submit[place] = state.jobs.submit[behind]
        return
    while groups.next[other] != job:
        other = groups.next[other]
    groups.next[other] = behind
    if behind < 0:
        present.last[place] = other


@inline
def must_return(state, what, now):
    """Whether the queue is short enough for a list."""
    return state.at.n_waiting < state.policy.few


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    groups, at, queue_at = state.policy, state.policy.at, state.policy.queue.at
    for place in range(queue_at.count):
        _join(state, groups.queue.waiting[place])
    queue_at.count = 0
    for job in range(new, state.at.arrived):
        _join(state, job)
    if not has_room(state, FREE, at.smallest):
        return
    at.smallest = _smallest(groups)
    if not has_room(state, FREE, at.smallest):
        return
    head = _evaluate(state, now)
    while head >= 0 and fits(state, groups.present.first[head], now):
        _start_first(state, head, now)
        if groups.present.first[head] < 0:
            _leave(groups, head)
        head = _foremost(groups)
    if groups.line.backfills and head >= 0 and not is_full(state, 0, now):
        reserve(state, groups.present.first[head], now)
        _backfill(state, now)


@inline
def _join(state, job):
    """Add a job to the queue, as the last of its group."""
    groups, present, at = state.policy, state.policy.present, state.policy.at
    group = groups.group[job]
    place = groups.place[group]
    if place < 0:
        place = at.n_groups
        at.n_groups = place + 1
        groups.place[group], present.group[place], present.first[place] = place, group, job
        present.submit[place], present.procs[place] = state.jobs.submit[job], state.jobs.procs[job]
        present.estimate[place] = state.jobs.estimate[job]
        at.smallest = min(at.smallest, state.jobs.procs[job])
    else:
        groups.next[present.last[place]] = job
    groups.next[job], present.last[place] = -1, job


@inline
def _leave(groups, place):
    """Remove a group without waiting jobs; the last one takes its place."""
    present, at = groups.present, groups.at
    last = at.n_groups - 1
    at.n_groups = last
    groups.place[present.group[place]] = -1
    if place < last:
        groups.place[present.group[last]] = place
        present.group[place] = present.group[last]
        present.first[place], present.last[place] = present.first[last], present.last[last]
        present.submit[place], present.procs[place] = present.submit[last], present.procs[last]
        present.estimate[place], present.value[place] = present.estimate[last], present.value[last]


@inline
def _smallest(groups):
    """Return the processors of the smallest waiting job."""
    procs, smallest = groups.present.procs, np.iinfo(np.int64).max
    for place in range(groups.at.n_groups):
        smallest = min(smallest, procs[place])
    return smallest


@inline
def _evaluate(state, now):
    """Evaluate the first job of each group; return the place of the group that comes first."""
    groups, value = state.policy, state.policy.present.value
    for place in range(groups.at.n_groups):
        value[place] = _value_of_first(state, place, now)
    return _foremost(groups)


@inline
def _value_of_first(state, place, now):
    """Return the value of the first job of a group."""
    present, order = state.policy.present, state.policy.line.order
    if order.code == SCORE:
        return value_of(state, order, present.first[place], now)
    submit, estimate, procs = present.submit[place], present.estimate[place], present.procs[place]
    return varying_value(order.code, now, submit, estimate, procs)


@inline
def _foremost(groups):
    """Return the place of the group whose first job comes first, ties by arrival; -1 for none."""
    value, first = groups.present.value, groups.present.first
    count = groups.at.n_groups
    found = 0 if count > 0 else -1
    for place in range(1, count):
        if value[place] < value[found] or (
            value[place] == value[found] and first[place] < first[found]
        ):
            found = place
    return found


@inline
def _start_first(state, place, now):
    """Start the first job of a group; the next one becomes its first."""
    groups, present = state.policy, state.policy.present
    job = present.first[place]
    start_job(state, job, now)
    job = groups.next[job]
    present.first[place] = job
    if job >= 0:
        present.submit[place] = state.jobs.submit[job]
        present.value[place] = _value_of_first(state, place, now)


@inline
def _backfill(state, now):
    """Start jobs that may pass, in the order of backfilling.

    The group of the head is too large as a whole.
    """
    groups, present, candidate = state.policy, state.policy.present, state.policy.candidate
    procs, first = present.procs, present.first
    n = 0
    for place in range(groups.at.n_groups):
        if has_room(state, FREE, procs[place]) and may_pass(state, first[place], now):
            candidate[n] = place
            n += 1
    emptied = False
    while n > 0:
        chosen = candidate[0]
        for i in range(1, n):
            if _comes_before(groups, candidate[i], chosen):
                chosen = candidate[i]
        passes(state, first[chosen], now)
        _start_first(state, chosen, now)
        emptied = emptied or first[chosen] < 0
        kept = 0  # groups of which a job may still start
        for i in range(n):
            job = first[candidate[i]]
            if job >= 0 and may_pass(state, job, now):
                candidate[kept] = candidate[i]
                kept += 1
        n = kept
    if emptied:
        for place in range(groups.at.n_groups - 1, -1, -1):
            if first[place] < 0:
                _leave(groups, place)


@inline
def _comes_before(groups, place, other):
    """Whether the first job of a group is backfilled before that of another one."""
    value, first, rank = groups.present.value, groups.present.first, groups.line.rank
    if rank.size > 0:
        return rank[first[place]] < rank[first[other]]
    return value[place] < value[other] or (
        value[place] == value[other] and first[place] < first[other]
    )


register_functions(Groups, sys.modules[__name__])
