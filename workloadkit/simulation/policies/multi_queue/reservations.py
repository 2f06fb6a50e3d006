"""Compiled multiple-queue backfilling: its state, and the reservations of its queues.

The smallest number left until a job's end occurs where a reservation begins: in between, processors
only increase. So after each start it is enough to track the levels there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.machine.ledger import n_down

# The state of multiple-queue backfilling in the compiled engine.

# The standing of a job: no promise; promise as a pivot; demoted, with a kept reservation.
ORDINARY, PROMISED, DEMOTED = range(3)

UNSET = -1


class _PlanAt(Record):
    """What a plan contains."""

    n_steps: int
    n_reserved: int


class PartitionPlan(NamedTuple):
    """The profile of the partitions, and the reservations with the levels at which they begin.

    The last column of `left`, `left_at` and `least` is that of the machine.

    Parameters
    ----------
    times : ndarray, shape (most_steps,)
        When each step begins. [s]
    left : ndarray of int64, shape (most_steps, n_partitions + 1)
        Processors that are left from then on.
    reserved : ndarray of int64, shape (most_reserved,)
        Jobs with a reservation.
    begins, ends : ndarray, shape (most_reserved,)
        Begin and end of each reservation. [s]
    kept_for : ndarray of int64, shape (most_reserved, n_partitions)
        Processors that it takes of each partition.
    left_at : ndarray of int64, shape (most_reserved, n_partitions + 1)
        Processors left as it begins.
    least : ndarray of int64, shape (n_partitions + 1,)
        Smallest number of processors left during a period.
    at : record
    """

    times: NDArray
    left: NDArray[np.int64]
    reserved: NDArray[np.int64]
    begins: NDArray
    ends: NDArray
    kept_for: NDArray[np.int64]
    left_at: NDArray[np.int64]
    least: NDArray[np.int64]
    at: _PlanAt


class _At(Record):
    """What is known of the partitions."""

    n_listed: int  # waiting jobs
    n_new: int  # those of them that have just arrived
    n_demoted: int  # demoted jobs
    n_ended: int  # jobs that have ended since a week began
    n_weeks: int  # past weeks
    idle: int  # processors that run nothing, including those that are down
    look: bool  # whether a waiting job may become a pivot
    known: bool  # whether the reservations are known
    settled: bool  # whether all waiting jobs have been refused and stay so
    begun: bool  # whether a job has started in this pass
    moved: bool  # whether that moves reservations


class Partitions(NamedTuple):
    """A part of the state: partitions with one queue each.

    Parameters
    ----------
    waiting : ndarray of int64, shape (n_jobs,)
        The waiting jobs, in the order of arrival.
    partition, standing : ndarray of int64, shape (n_jobs,)
        Of the jobs that have arrived.
    promised : ndarray, shape (n_jobs,)
        Promised starts of pivots, and reserved starts of demoted jobs. [s]
    ended : ndarray, shape (n_jobs,)
        Estimates of the jobs that have ended since a week began, in any order. [s]
    size, used, pivot : ndarray of int64, shape (n_partitions,)
        Of each partition: its processors, those in use, its pivot or UNSET.
    criteria : ndarray of float64, shape (n_partitions,)
        A job belongs to the first partition with a criterion above its estimate. [s]
    demoted : ndarray of int64
        The demoted jobs, in order of arrival.
    plan : PartitionPlan
    at : record
    """

    waiting: NDArray[np.int64]
    partition: NDArray[np.int64]
    standing: NDArray[np.int64]
    promised: NDArray
    ended: NDArray
    size: NDArray[np.int64]
    used: NDArray[np.int64]
    pivot: NDArray[np.int64]
    criteria: NDArray[np.float64]
    demoted: NDArray[np.int64]
    plan: PartitionPlan
    at: _At


def new_partitions(state: State, size: NDArray[np.int64]) -> Partitions:
    """Return partitions of these sizes, without jobs."""
    n_jobs, dtype = state.jobs.submit.size, state.jobs.submit.dtype
    return Partitions(
        waiting=np.empty(n_jobs, np.int64),
        partition=np.full(n_jobs, UNSET),
        standing=np.zeros(n_jobs, np.int64),
        promised=np.empty(n_jobs, dtype),
        ended=np.empty(n_jobs, dtype),
        size=size,
        used=np.zeros(size.size, np.int64),
        pivot=np.full(size.size, UNSET),
        criteria=np.full(size.size, np.inf),
        demoted=np.empty(0, np.int64),
        plan=new_plan(state, size.size, 0),
        at=_At(idle=size.sum(), look=True),
    )


def new_plan(state: State, n_partitions: int, n_demoted: int) -> PartitionPlan:
    """Return an empty profile, with room for reservations of pivots and `n_demoted` jobs."""
    most, dtype = n_partitions + n_demoted, state.jobs.submit.dtype
    n_steps = state.ends.size + 2 * most + 2
    return PartitionPlan(
        times=np.empty(n_steps, dtype),
        left=np.empty((n_steps, n_partitions + 1), np.int64),
        reserved=np.empty(most, np.int64),
        begins=np.empty(most, dtype),
        ends=np.empty(most, dtype),
        kept_for=np.empty((most, n_partitions), np.int64),
        left_at=np.empty((most, n_partitions + 1), np.int64),
        least=np.empty(n_partitions + 1, np.int64),
        at=_PlanAt(),
    )


@bare
def find_reservations(state, opens, now):
    """Find the reservations of demoted jobs and pivots again, and the levels where they begin.

    If a pass begins, demoted jobs move, and pivots are promised the first start that is found. Jobs
    that need more processors than work get no reservation.
    """
    part, plan, estimate = state.policy, state.policy.plan, state.jobs.estimate
    reserved = plan.reserved
    if opens:
        _move_demoted(state, now)
    _lay_profile(state, now)
    count = _list_reserved(part)
    plan.at.n_reserved = 0
    for i in range(count):
        job, place = reserved[i], plan.at.n_reserved
        if part.standing[job] == DEMOTED:
            step = _step_of_demoted(state, job, place, now)
        else:
            step = _step_of_pivot(state, job, place)
        if step == plan.at.n_steps:
            continue
        begin = plan.times[step]
        if opens and part.standing[job] == ORDINARY:
            part.standing[job], part.promised[job] = PROMISED, begin
        reserved[place], plan.begins[place], plan.ends[place] = job, begin, begin + estimate[job]
        for column in range(plan.left_at.shape[1]):
            plan.left_at[place, column] = plan.left[step, column]
        plan.at.n_reserved = place + 1
        put_back(plan, place, state.jobs.procs[job], -1)
        if i + 1 < count:  # no further job needs the profile
            _take_off(plan, step, state.jobs.procs[job], place)


@bare
def put_back(plan, place, needed, sign):
    """Add the processors of a reservation where others begin; with a `sign` of -1 subtract them."""
    begins, left_at, kept_for = plan.begins, plan.left_at, plan.kept_for
    begin, end, n = begins[place], plan.ends[place], kept_for.shape[1]
    for other in range(plan.at.n_reserved):
        if begin <= begins[other] < end:
            for p in range(n):
                left_at[other, p] += sign * kept_for[place, p]
            left_at[other, n] += sign * needed


@bare
def _lay_profile(state, now):
    """Make the profile of the running jobs; planned ends that have passed count as now."""
    part, procs, partition = state.policy, state.jobs.procs, state.policy.partition
    times, left, n = part.plan.times, part.plan.left, part.size.size
    ends, jobs = state.planned_ends, state.planned_jobs
    for p in range(n):
        left[0, p] = part.size[p] - part.used[p]
    left[0, n] = part.at.idle - n_down(state, 0, now)
    times[0] = now
    step = 0
    for place in range(state.at.n_running - 1, -1, -1):
        if ends[place] > times[step]:
            for column in range(n + 1):
                left[step + 1, column] = left[step, column]
            step += 1
            times[step] = ends[place]
        job = jobs[place]
        left[step, partition[job]] += procs[job]
        left[step, n] += procs[job]
    part.plan.at.n_steps = step + 1


@bare
def _move_demoted(state, now):
    """Move the demoted jobs, in order of arrival, to the earliest starts that others allow."""
    part, plan = state.policy, state.policy.plan
    procs, estimate, promised = state.jobs.procs, state.jobs.estimate, part.promised
    n, demoted = part.size.size, part.demoted
    for place in range(part.at.n_demoted):
        job = demoted[place]
        _lay_profile(state, now)
        for other_place in range(part.at.n_demoted):
            other = demoted[other_place]
            if other == job or promised[other] == state.never:
                continue
            end = promised[other] + estimate[other]
            if end > now:
                first = _step_at(plan, 0, max(promised[other], now))
                for step in range(first, _step_at(plan, first, end)):
                    plan.left[step, n] -= procs[other]
        step = _earliest_in(plan, n, procs[job], estimate[job], state.never)
        promised[job] = plan.times[step] if step < plan.at.n_steps else state.never


@bare
def _list_reserved(part):
    """List the demoted jobs, then the pivots, each in the order of arrival; return how many."""
    reserved, pivot, n_demoted = part.plan.reserved, part.pivot, part.at.n_demoted
    for place in range(n_demoted):
        reserved[place] = part.demoted[place]
    count = n_demoted
    for p in range(pivot.size):
        if pivot[p] != UNSET:
            place = count
            while place > n_demoted and reserved[place - 1] > pivot[p]:
                reserved[place] = reserved[place - 1]
                place -= 1
            reserved[place] = pivot[p]
            count += 1
    return count


@bare
def _step_of_demoted(state, job, place, now):
    """Return the begin of a demoted job's reservation; the number of steps for never."""
    part, plan, needed = state.policy, state.policy.plan, state.jobs.procs[job]
    if part.promised[job] == state.never:
        return plan.at.n_steps
    step = _step_at(plan, 0, max(part.promised[job], now))
    _find_least(plan, step, plan.times[step] + state.jobs.estimate[job])
    _take_from(plan, needed, part.partition[job], place)
    return step


@bare
def _step_of_pivot(state, job, place):
    """Return the begin of a pivot's reservation: on its partition, unless that breaks a promise."""
    part, plan = state.policy, state.policy.plan
    home, needed, length = part.partition[job], state.jobs.procs[job], state.jobs.estimate[job]
    latest = part.promised[job] if part.standing[job] == PROMISED else state.never
    step = plan.at.n_steps
    if needed <= part.size[home]:
        step = _earliest_in(plan, home, needed, length, latest)
    if step < plan.at.n_steps:
        for p in range(part.size.size):
            plan.kept_for[place, p] = 0
        plan.kept_for[place, home] = needed
        return step
    step = _earliest_anywhere(plan, needed, length)
    if step < plan.at.n_steps:
        _take_from(plan, needed, home, place)
    return step


@bare
def _step_at(plan, first, time):
    """Return the place of the step that begins at `time`, `first` or later; add it if necessary."""
    times, left, n_steps = plan.times, plan.left, plan.at.n_steps
    place = first
    while place < n_steps and times[place] < time:
        place += 1
    if place < n_steps and times[place] == time:
        return place
    for step in range(n_steps, place, -1):
        times[step] = times[step - 1]
        for column in range(left.shape[1]):
            left[step, column] = left[step - 1, column]
    times[place] = time
    for column in range(left.shape[1]):
        left[place, column] = left[place - 1, column]
    plan.at.n_steps = n_steps + 1
    return place


@bare
def _earliest_in(plan, column, needed, length, latest):
    """Return the first step with room in a partition and the machine for so long.

    Returns the number of steps if that is after `latest`. The machine's column stands for itself.
    """
    times, left, n_steps, n = plan.times, plan.left, plan.at.n_steps, plan.left.shape[1] - 1
    if times[0] > latest:
        return n_steps
    begin, step = 0, 0
    while step < n_steps and (step == begin or times[step] < times[begin] + length):
        if left[step, column] < needed or left[step, n] < needed:
            begin = step + 1
            if begin < n_steps and times[begin] > latest:
                return n_steps
        step += 1
    return begin


@bare
def _earliest_anywhere(plan, needed, length):
    """Return the first step with room in all partitions together, and the machine, for so long."""
    n_steps, n = plan.at.n_steps, plan.left.shape[1] - 1
    for begin in range(n_steps):
        if plan.left[begin, n] >= needed:
            in_all = _find_least(plan, begin, plan.times[begin] + length)
            if min(in_all, plan.least[n]) >= needed:
                return begin
    return n_steps


@bare
def _find_least(plan, begin, end):
    """Find the smallest numbers left from a step to a time; return the sum of those above 0."""
    times, left, least, n_steps = plan.times, plan.left, plan.least, plan.at.n_steps
    for column in range(least.size):
        least[column] = left[begin, column]
    step = begin + 1
    while step < n_steps and times[step] < end:
        for column in range(least.size):
            least[column] = min(least[column], left[step, column])
        step += 1
    in_all = 0
    for p in range(least.size - 1):
        in_all += max(least[p], 0)
    return in_all


@bare
def _take_from(plan, needed, home, place):
    """Set how many processors a reservation takes of each partition, by the least they have left.

    First of partition `home`, then in order; fewer than needed if there are no more.
    """
    least, kept_for = plan.least, plan.kept_for
    kept_for[place, home] = missing = min(max(least[home], 0), needed)
    missing = needed - missing
    for p in range(kept_for.shape[1]):
        if p != home:
            kept_for[place, p] = min(max(least[p], 0), missing)
            missing -= kept_for[place, p]


@bare
def _take_off(plan, begin, needed, place):
    """Subtract a reservation from the profile, from the step at which it begins."""
    left, kept_for = plan.left, plan.kept_for
    n = kept_for.shape[1]
    for step in range(begin, _step_at(plan, begin, plan.ends[place])):
        for p in range(n):
            left[step, p] -= kept_for[place, p]
        left[step, n] -= needed
