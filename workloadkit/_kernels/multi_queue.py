"""The event loop of multiple-queue backfilling.

Between two terminations processors only become fewer and time only passes. So a refused job stays
refused, and an arrival behind the pivot of its queue needs one look at itself. Not so where a
pivot has started, which gives its reservation up, or processors have been lent, which moves the
reservations of both partitions: then all that wait is looked at once more. Where nothing that
waits would fit, nobody asks for the reservations.

The least that is left until a job would end is found where reservations begin: in between
processors only become more. So after each start it is enough to keep what is left there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import Jobs
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)

# Places in PartitionedState.at.
N_RUNNING, FREE, ARRIVED, N_WAITING, N_PARTITIONS, N_DEMOTED, N_ENDED, N_WEEKS = range(8)

# The standing of a job: nothing was promised; promised as a pivot; demoted, keeps its reservation.
ORDINARY, PROMISED, DEMOTED = range(3)

NOBODY = -1


class PartitionedState(NamedTuple):
    """Where a simulation in partitions stands between two instants.

    Parameters
    ----------
    start, ends, end_jobs, waiting : ndarray
        As of `state.State`.
    planned_ends, planned_jobs : ndarray, shape (capacity,)
        Planned ends of the running jobs, descending, and the jobs that end then.
    partition, standing : ndarray of int64, shape (n_jobs,)
        Of the jobs that have arrived.
    promised : ndarray, shape (n_jobs,)
        When pivots were promised to start, and demoted jobs are to. [s]
    ended : ndarray of int64, shape (n_jobs,)
        The jobs that have ended since a week began, in that order.
    size, used, pivot : ndarray of int64, shape (most_partitions,)
        Of each partition its processors, those that run jobs, its pivot or NOBODY.
    criteria : ndarray of float64, shape (most_partitions,)
        A job belongs to the first partition whose criterion is above its estimate. [s]
    demoted : ndarray of int64, shape (n_jobs,)
        The demoted jobs, in order of arrival.
    first_submit : ndarray, shape (1,)
        From when weeks are counted. [s]
    at : ndarray of int64, shape (8,)
        Jobs that run, free processors, jobs that have arrived, that wait; partitions; demoted
        jobs; jobs that have ended since a week began; weeks that are over.
    """

    start: NDArray
    ends: NDArray
    end_jobs: NDArray[np.int64]
    planned_ends: NDArray
    planned_jobs: NDArray[np.int64]
    waiting: NDArray[np.int64]
    partition: NDArray[np.int64]
    standing: NDArray[np.int64]
    promised: NDArray
    ended: NDArray[np.int64]
    size: NDArray[np.int64]
    used: NDArray[np.int64]
    pivot: NDArray[np.int64]
    criteria: NDArray[np.float64]
    demoted: NDArray[np.int64]
    first_submit: NDArray
    at: NDArray[np.int64]


def schedule_in_partitions(
    jobs: Jobs, machine: int, n_partitions: int, *, week: int, by_event: bool, users: Any = None
) -> tuple[NDArray, NDArray[np.int64]]:
    """Start of each job, and the partition it runs in, under multiple-queue backfilling.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    n_partitions : int
    week : int
        After so long the criteria of the partitions are found anew. [s]
    by_event : bool
        Whether there is a pass after each single event, instead of one an instant.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs` are tables then, to be filled as jobs arrive.

    Returns
    -------
    start : ndarray, shape (n_jobs,)
    partition : ndarray of int64, shape (n_jobs,)
    """
    state = new_partitioned_state(jobs, machine, n_partitions, n_partitions)
    first = jobs.submit[0] if users is None else users.agenda.time[0]
    last = _after_all(jobs.submit.dtype)
    advance(jobs, state, week=week, by_event=by_event, begin=first - 1, until=last, users=users)
    return state.start, state.partition


def _after_all(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).max if dtype.kind == "i" else np.inf


def new_partitioned_state(
    jobs: Jobs, machine: int, n_partitions: int, most_partitions: int
) -> PartitionedState:
    """Return the state before the first submission to an empty machine."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    capacity = min(n_jobs, machine) + 1
    size = np.zeros(most_partitions, np.int64)
    size[:n_partitions] = equal_shares(machine, n_partitions)
    at = np.zeros(8, np.int64)
    at[FREE], at[N_PARTITIONS] = machine, n_partitions
    return PartitionedState(
        start=np.empty(n_jobs, dtype),
        ends=np.empty(capacity, dtype),
        end_jobs=np.empty(capacity, np.int64),
        planned_ends=np.empty(capacity, dtype),
        planned_jobs=np.empty(capacity, np.int64),
        waiting=np.empty(n_jobs, np.int64),
        partition=np.empty(n_jobs, np.int64),
        standing=np.zeros(n_jobs, np.int64),
        promised=np.empty(n_jobs, dtype),
        ended=np.empty(n_jobs, np.int64),
        size=size,
        used=np.zeros(most_partitions, np.int64),
        pivot=np.full(most_partitions, NOBODY),
        criteria=np.full(most_partitions, np.inf),
        demoted=np.empty(n_jobs, np.int64),
        first_submit=jobs.submit[:1].copy(),
        at=at,
    )


def advance(
    jobs: Jobs,
    state: PartitionedState,
    *,
    week: int,
    by_event: bool,
    begin: Any,
    until: Any,
    users: Any = None,
) -> None:
    """Go on from a pass at `begin` to all that happens until `until`, before a pass at it.

    Parameters
    ----------
    state : PartitionedState
        Changed in place.
    begin, until : scalar
        What has ended or arrived by `begin` is taken, and a pass looks at all that wait then. At
        `until` the jobs that end and arrive are taken, but none is started. [s]

    The others are those of `schedule_in_partitions`.
    """
    time = jobs.submit.dtype.type
    never = time(_after_all(jobs.submit.dtype))
    _go_on(jobs, users, state, time(week), by_event, time(begin), time(until), never)


def turn_week(jobs: Jobs, state: PartitionedState) -> None:
    """Find the criteria anew, at the end of a week and after all that ends in that second."""
    at = state.at
    find_criteria(jobs.estimate, state.ended, at[N_ENDED], at[N_PARTITIONS], state.criteria)
    at[N_ENDED] = 0
    at[N_WEEKS] += 1


def repartition(
    jobs: Jobs, state: PartitionedState, *, machine: int, n_partitions: int, now: Any
) -> None:
    """Change the number of partitions: equal shares, and jobs sorted anew by uniform criteria.

    The first pivot to come into a partition becomes its pivot; the others are demoted and keep
    their reservation.

    Parameters
    ----------
    state : PartitionedState
        Changed in place.
    machine : int
        Processors of the machine.
    n_partitions : int
        At most as many as the state was made for.
    now : scalar
        [s]
    """
    at, time = state.at, jobs.submit.dtype.type
    never = time(_after_all(jobs.submit.dtype))
    job, begin = _reservations(jobs, state, time(now), never)
    longest = state.criteria[at[N_PARTITIONS] - 1]
    place = np.arange(n_partitions)
    state.criteria[:n_partitions] = (place + 1) * longest / n_partitions
    state.size[:], state.size[:n_partitions] = 0, equal_shares(machine, n_partitions)
    waiting, running = state.waiting[: at[N_WAITING]], state.end_jobs[: at[N_RUNNING]]
    for each in (*waiting, *running):
        state.partition[each] = partition_of(jobs.estimate[each], state.criteria, n_partitions)
    state.used[:] = 0
    np.add.at(state.used, state.partition[running], jobs.procs[running])
    at[N_PARTITIONS] = n_partitions
    state.pivot[:] = NOBODY
    promised = dict(zip(job.tolist(), begin, strict=True))
    for each in sorted(each for each in promised if state.standing[each] != DEMOTED):
        if state.pivot[state.partition[each]] == NOBODY:
            state.pivot[state.partition[each]] = each
        else:
            state.standing[each], state.promised[each] = DEMOTED, promised[each]
    demoted = sorted(each for each in promised if state.standing[each] == DEMOTED)
    at[N_DEMOTED] = len(demoted)
    state.demoted[: len(demoted)] = demoted


def copy_partitions(
    state: PartitionedState,
    copied: PartitionedState,
    window: Jobs,
    running: NDArray[np.int64],
    low: int,
) -> None:
    """Copy all about partitions into a state of the jobs from `low` on, of which some run."""
    arrived = state.at[ARRIVED] - low
    for name in ("partition", "standing", "promised"):
        getattr(copied, name)[:arrived] = getattr(state, name)[low : low + arrived]
    for name in ("size", "criteria", "first_submit"):
        getattr(copied, name)[:] = getattr(state, name)
    np.add.at(copied.used, copied.partition[running], window.procs[running])
    copied.pivot[:] = np.where(state.pivot == NOBODY, NOBODY, state.pivot - low)
    n_demoted = state.at[N_DEMOTED]
    copied.demoted[:n_demoted] = state.demoted[:n_demoted] - low
    copied.planned_jobs[: running.size] = running
    for place in (N_PARTITIONS, N_DEMOTED, N_WEEKS):
        copied.at[place] = state.at[place]


def equal_shares(machine: int, n_partitions: int) -> NDArray[np.int64]:
    """Share the processors out, the remainder to the first partitions."""
    share, remainder = divmod(machine, n_partitions)
    return share + (np.arange(n_partitions) < remainder)


@helper
def partition_of(estimate, criteria, n_partitions):
    """Partition that a job belongs to by its estimate."""
    for place in range(n_partitions):
        if estimate < criteria[place]:
            return place
    return n_partitions - 1


@helper
def find_criteria(estimate, ended, n_ended, n_partitions, criteria):
    """Find the criteria that would have balanced the first of the ended jobs, if enough of them.

    The i-th of P is the i/P quantile of their estimates.
    """
    if n_ended >= n_partitions:
        values = np.sort(estimate[ended[:n_ended]])
        for place in range(n_partitions):
            criteria[place] = values[((place + 1) * n_ended + n_partitions - 1) // n_partitions - 1]


@helper
def lay_profile(
    times, left, now, planned_ends, planned_jobs, n_running, procs, partition, size, used, free, n
):
    """Lay out what the running jobs leave of each partition and, in column `n`, of the machine.

    Rows `left[step]` hold from times[step] on. Planned ends that have passed count as now.
    """
    for p in range(n):
        left[0, p] = size[p] - used[p]
    left[0, n] = free
    times[0] = now
    step = 0
    for place in range(n_running - 1, -1, -1):
        if planned_ends[place] > times[step]:
            for p in range(n + 1):
                left[step + 1, p] = left[step, p]
            step += 1
            times[step] = planned_ends[place]
        job = planned_jobs[place]
        left[step, partition[job]] += procs[job]
        left[step, n] += procs[job]
    return step + 1


@helper
def step_at(times, left, n_steps, first, time, n):
    """Place of the step that begins at `time`, `first` or later, made if there is none."""
    place = first
    while place < n_steps and times[place] < time:
        place += 1
    if place < n_steps and times[place] == time:
        return place, n_steps
    for step in range(n_steps, place, -1):
        times[step] = times[step - 1]
        for p in range(n + 1):
            left[step, p] = left[step - 1, p]
    times[place] = time
    for p in range(n + 1):
        left[place, p] = left[place - 1, p]
    return place, n_steps + 1


@helper
def earliest_in(times, left, n_steps, column, n, needed, length, latest):
    """First step from which on a partition and the machine have room for so long.

    Returns `n_steps` if that is after `latest`. With the machine's own column `n`: in the machine.
    """
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


@helper
def least_left(times, left, n_steps, begin, end, n, least):
    """Fill `least` with the least that is left from a step to a time; their sum, over those > 0."""
    for p in range(n + 1):
        least[p] = left[begin, p]
    step = begin + 1
    while step < n_steps and times[step] < end:
        for p in range(n + 1):
            least[p] = min(least[p], left[step, p])
        step += 1
    in_all = 0
    for p in range(n):
        in_all += max(least[p], 0)
    return in_all


@helper
def earliest_anywhere(times, left, n_steps, n, needed, length, least):
    """First step from which on all partitions together, and the machine, have room for so long."""
    for begin in range(n_steps):
        if left[begin, n] >= needed:
            in_all = least_left(times, left, n_steps, begin, times[begin] + length, n, least)
            if min(in_all, least[n]) >= needed:
                return begin
    return n_steps


@helper
def take_from(least, n, needed, home, kept_for, place):
    """Say how many processors a reservation takes of each partition, by the least they have left.

    Of partition `home` first, then in order; less than needed where there is no more.
    """
    kept_for[place, home] = missing = min(max(least[home], 0), needed)
    missing = needed - missing
    for p in range(n):
        if p != home:
            kept_for[place, p] = min(max(least[p], 0), missing)
            missing -= kept_for[place, p]


@helper
def take_off(times, left, n_steps, begin, end, n, needed, kept_for, place):
    """Take a reservation off the profile; how many steps that now has."""
    last, n_steps = step_at(times, left, n_steps, begin, end, n)
    for step in range(begin, last):
        for p in range(n):
            left[step, p] -= kept_for[place, p]
        left[step, n] -= needed
    return n_steps


@helper
def put_back(begins, ends, left_at, n_reserved, place, n, needed, kept_for, sign):
    """Give back what a reservation takes where others begin; with a `sign` of -1 take it."""
    for other in range(n_reserved):
        if begins[place] <= begins[other] < ends[place]:
            for p in range(n):
                left_at[other, p] += sign * kept_for[place, p]
            left_at[other, n] += sign * needed


@helper
def find_reservations(
    times, left, reserved, begins, ends, kept_for, left_at, least,
    now, never, opens, planned_ends, planned_jobs, n_running, procs, estimate, partition,
    size, used, free, pivot, demoted, n_demoted, standing, promised, n,
):  # fmt: skip
    """Find the reservations of demoted jobs and pivots anew, and what is left where they begin.

    Where a pass opens the demoted ones move, and pivots are promised what is found first.
    """
    if opens:
        for place in range(n_demoted):
            job = demoted[place]
            n_steps = lay_profile(
                times, left, now, planned_ends, planned_jobs, n_running, procs, partition, size,
                used, free, n,
            )  # fmt: skip
            for other in demoted[:n_demoted]:
                end = promised[other] + estimate[other]
                if other != job and end > now:
                    first, n_steps = step_at(times, left, n_steps, 0, max(promised[other], now), n)
                    last, n_steps = step_at(times, left, n_steps, first, end, n)
                    left[first:last, n] -= procs[other]
            step = earliest_in(times, left, n_steps, n, n, procs[job], estimate[job], never)
            promised[job] = times[step]
    n_steps = lay_profile(
        times, left, now, planned_ends, planned_jobs, n_running, procs, partition, size, used,
        free, n,
    )  # fmt: skip
    n_reserved = 0
    for place in range(n_demoted):
        reserved[place] = demoted[place]
        n_reserved += 1
    for p in range(n):
        if pivot[p] != NOBODY:  # in the order of arrival
            place = n_reserved
            while place > n_demoted and reserved[place - 1] > pivot[p]:
                reserved[place] = reserved[place - 1]
                place -= 1
            reserved[place] = pivot[p]
            n_reserved += 1
    for place in range(n_reserved):
        job = reserved[place]
        home, needed, length = partition[job], procs[job], estimate[job]
        if standing[job] == DEMOTED:
            step, n_steps = step_at(times, left, n_steps, 0, max(promised[job], now), n)
            least_left(times, left, n_steps, step, times[step] + length, n, least)
            take_from(least, n, needed, home, kept_for, place)
        else:
            latest = promised[job] if standing[job] == PROMISED else never
            step = n_steps
            if needed <= size[home]:
                step = earliest_in(times, left, n_steps, home, n, needed, length, latest)
            if step < n_steps:
                for p in range(n):
                    kept_for[place, p] = 0
                kept_for[place, home] = needed
            else:
                step = earliest_anywhere(times, left, n_steps, n, needed, length, least)
                take_from(least, n, needed, home, kept_for, place)
            if opens and standing[job] == ORDINARY:
                standing[job], promised[job] = PROMISED, times[step]
        begins[place], ends[place] = times[step], times[step] + length
        for p in range(n + 1):
            left_at[place, p] = left[step, p]
        put_back(begins, ends, left_at, place + 1, place, n, needed, kept_for, -1)
        if place + 1 < n_reserved:  # nobody looks for room behind the last
            n_steps = take_off(times, left, n_steps, step, ends[place], n, needed, kept_for, place)
    return n_reserved


@helper
def borrow(home, needed, end, n_reserved, begins, left_at, size, used, n, take):
    """Let a partition take over from others what it lacks for a job until `end`, if they have it.

    In order, and only what is idle and delays no reservation. Returns whether that was enough.
    """
    in_all = 0
    for p in range(n):
        least = size[p] - used[p]
        for place in range(n_reserved):
            if begins[place] < end:
                least = min(least, left_at[place, p])
        take[p] = max(least, 0)
        in_all += take[p]
    if in_all < needed:
        return False
    missing = needed - take[home]
    for p in range(n):
        if p != home and missing > 0:
            count = min(take[p], missing)
            missing -= count
            size[p] -= count
            size[home] += count
            for place in range(n_reserved):
                left_at[place, p] -= count
                left_at[place, home] += count
    return True


@helper
def first_in_queue(waiting, first, last, partition, standing, home):
    """First of the jobs waiting[first:last] in the queue of a partition, or NOBODY."""
    for place in range(first, last):
        job = waiting[place]
        if partition[job] == home and standing[job] != DEMOTED:
            return job
    return NOBODY


@kernel
def _reservations(jobs, state, now, never):
    """Reservations of demoted jobs and pivots as a pass would find them now: who, from when."""
    _, _, estimate, procs = jobs
    (
        _, _, _, planned_ends, planned_jobs, waiting, partition, standing, promised, _,
        size, used, pivot, _, demoted, _, at,
    ) = state  # fmt: skip
    n, n_demoted = at[N_PARTITIONS], at[N_DEMOTED]
    most = n + n_demoted
    times = np.empty(planned_ends.size + 2 * most + 2, planned_ends.dtype)
    left = np.empty((times.size, n + 1), np.int64)
    reserved, begins = np.empty(most, np.int64), np.empty(most, planned_ends.dtype)
    kept_for, left_at = np.empty((most, n), np.int64), np.empty((most, n + 1), np.int64)
    for p in range(n):
        if pivot[p] == NOBODY:
            pivot[p] = first_in_queue(waiting, 0, at[N_WAITING], partition, standing, p)
    n_reserved = find_reservations(
        times, left, reserved, begins, begins.copy(), kept_for, left_at, np.empty(n + 1, np.int64),
        now, never, True, planned_ends, planned_jobs, at[N_RUNNING], procs, estimate, partition,
        size, used, at[FREE], pivot, demoted, n_demoted, standing, promised, n,
    )  # fmt: skip
    return reserved[:n_reserved], begins[:n_reserved]


@kernel
def _go_on(jobs, users, state, week, by_event, begin, until, never):
    """See `advance`; `never` is later than all that happens."""
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    (
        start, ends, end_jobs, planned_ends, planned_jobs, waiting, partition, standing, promised,
        ended, size, used, pivot, criteria, demoted,
        first_submit, at,
    ) = state  # fmt: skip
    n_jobs = submit.size
    n_running, free, arrived, n_waiting = at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING]
    n, n_demoted, n_ended = at[N_PARTITIONS], at[N_DEMOTED], at[N_ENDED]
    # the profile, and the reservations with what is left where they begin
    most = n + n_demoted
    times = np.empty(ends.size + 2 * most + 2, submit.dtype)
    left = np.empty((times.size, n + 1), np.int64)
    reserved = np.empty(most, np.int64)
    begins, until_when = np.empty(most, submit.dtype), np.empty(most, submit.dtype)
    kept_for, left_at = np.empty((most, n), np.int64), np.empty((most, n + 1), np.int64)
    least, take = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    n_reserved = 0
    next_week = never
    if arrived > 0 or users is None:
        next_week = first_submit[0] + (at[N_WEEKS] + 1) * week
    known = False  # the reservations
    settled = False  # all that wait has been refused, and stays so until a job ends
    wakes = True
    while wakes or n_running > 0 or some_to_come(users, submit, arrived):
        coming = begin
        if n_running > 0 or some_to_come(users, submit, arrived):
            coming = next_instant(users, submit, arrived, ends, n_running)
        opens = wakes and coming >= begin
        now = begin if opens else coming
        if now > until:
            break
        while next_week < now:
            find_criteria(estimate, ended, n_ended, n, criteria)
            n_ended = 0
            at[N_WEEKS] += 1
            next_week = first_submit[0] + (at[N_WEEKS] + 1) * week
        one = by_event and now < until  # at a time
        n_before, n_left, n_arrived = n_running, 0, arrived
        if one:
            n_left = keep_running(users, submit, arrived, n_running, now, one)
        while n_running > n_left and ends[n_running - 1] <= now:
            job = end_jobs[n_running - 1]
            remove_end(planned_ends, planned_jobs, n_running, start[job] + estimate[job], job)
            n_running -= 1
            free += procs[job]
            used[partition[job]] -= procs[job]
            if now > next_week - week:
                ended[n_ended] = job
                n_ended += 1
            known = settled = False
        if users is None:
            while n_arrived < n_jobs and submit[n_arrived] <= now:
                n_arrived += 1
                if one:
                    break
        else:
            n_arrived = take_arrivals(users, jobs, arrived, end_jobs, n_before, n_running, now, one)
            if arrived == 0 and n_arrived > 0:
                first_submit[0], next_week = now, now + week
        n_new = n_arrived - arrived
        if n_waiting == 0:
            n_reserved = 0
            known = settled = True
        without_pivot = 0
        for job in range(arrived, n_arrived):
            partition[job] = partition_of(estimate[job], criteria, n)
            without_pivot += pivot[partition[job]] == NOBODY
            waiting[n_waiting] = job
            n_waiting += 1
        arrived = n_arrived
        if now == until:
            break

        # The pass.
        overdue = n_running > 0 and planned_ends[n_running - 1] <= now
        several = without_pivot > 0 and n_new > 1  # new pivots, and others whom they may bar
        if opens or several or n_demoted > 0 or (overdue and n_waiting > n_new):
            known = settled = False
        wakes = wakes and not opens
        first = n_waiting - n_new if settled else 0
        asks = n_demoted > 0  # for the reservations, whatever may start
        if not settled:
            for place in range(0 if opens else n_waiting - n_new, n_waiting):
                job = waiting[place]
                if pivot[partition[job]] == NOBODY and standing[job] != DEMOTED:
                    pivot[partition[job]] = job
            for p in range(n):
                asks |= pivot[p] != NOBODY and standing[pivot[p]] == ORDINARY
        begun = moved = False  # whether a job has started; whether that moves reservations
        kept = first
        for place in range(first, n_waiting + 1):
            job, fits = NOBODY, False
            if place < n_waiting:
                job = waiting[place]
                fits = procs[job] <= free
            elif settled and without_pivot > 0 and kept > first:  # it was looked at, and refused
                pivot[partition[waiting[first]]] = waiting[first]
                asks = True
            if asks or (fits and not known):
                n_reserved = find_reservations(
                    times, left, reserved, begins, until_when, kept_for, left_at, least,
                    now, never, not begun, planned_ends, planned_jobs, n_running, procs, estimate,
                    partition, size, used, free, pivot, demoted, n_demoted, standing, promised, n,
                )  # fmt: skip
                known, asks = True, False
            if place == n_waiting:
                break
            home, needed, end = partition[job], procs[job], now + estimate[job]
            is_pivot, mine = pivot[home] == job, NOBODY
            if fits and (is_pivot or standing[job] == DEMOTED):  # nobody is in one's own way
                mine = 0
                while reserved[mine] != job:
                    mine += 1
                put_back(begins, until_when, left_at, n_reserved, mine, n, needed, kept_for, 1)
            room = size[home] - used[home]
            for other in range(n_reserved if fits else 0):
                if begins[other] < end:
                    fits &= needed <= left_at[other, n]
                    room = min(room, left_at[other, home])
            lends = fits and room < needed
            if lends:
                fits = borrow(home, needed, end, n_reserved, begins, left_at, size, used, n, take)
            if not fits:
                if mine != NOBODY:
                    put_back(begins, until_when, left_at, n_reserved, mine, n, needed, kept_for, -1)
                waiting[kept] = job
                kept += 1
                continue
            used[home] += needed
            for other in range(n_reserved):
                if begins[other] < end:
                    left_at[other, home] -= needed
                    left_at[other, n] -= needed
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_jobs, n_running, end, job)
            n_running += 1
            free -= needed
            begun = True
            moved |= lends or mine != NOBODY
            if mine != NOBODY:
                known = False
                if is_pivot:
                    pivot[home] = first_in_queue(waiting, 0, kept, partition, standing, home)
                    if pivot[home] == NOBODY:
                        pivot[home] = first_in_queue(
                            waiting, place + 1, n_waiting, partition, standing, home
                        )
                else:
                    taken_out = 0
                    for rest in range(n_demoted):
                        taken_out += demoted[rest] == job
                        if rest + taken_out < n_demoted:
                            demoted[rest] = demoted[rest + taken_out]
                    n_demoted -= 1
        n_waiting = kept
        settled = not moved
        known &= settled
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    at[N_DEMOTED], at[N_ENDED] = n_demoted, n_ended
