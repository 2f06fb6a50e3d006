"""The event loop of scheduling in a fixed order, without backfilling and with EASY's.

Between two terminations processors only become fewer and time only passes. So a job that cannot
be backfilled now cannot be before the next termination, and the shadow time stays: an arrival
needs one look at itself. That holds for one that comes before the head, too, if it starts at once
and the head is not delayed by it. Only a termination, an arrival that takes or delays the head,
several arrivals at once in another order than that of the pass, or a job that has outlived its
estimate ask for a look at all that wait.

There are two loops for the two lengths of a queue, each able to go on where the other left off:
`run_short` looks through a list of the waiting jobs, `run_long` asks the trees of `waiting`. The
few lines that start a job are written out wherever one starts: as a function they would take a
dozen arguments.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.orders import Keys, rank_arrivals
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import find_shadow, insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import (
    ARRIVED,
    FREE,
    N_RUNNING,
    N_WAITING,
    Jobs,
    State,
    new_state,
)
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)
from workloadkit.simulation.queue import (
    BLOCK,
    foremost,
    grow_forest,
    insert_waiting,
    join_line,
    leave_line,
    next_in_line,
    next_leaf,
    set_leaf,
    take_out,
)

# A queue longer than this is searched by trees, until it is half as long. Measured: below it a
# look at each waiting job is faster, far above it much slower.
CROWD = 512
# To grow the trees takes about as long as to look at so many jobs for each job of the log. As much
# is first spent on looking through longer queues: few logs have such queues for long.
PATIENCE = 16


def schedule_in_order(
    jobs: Jobs,
    machine: int,
    *,
    rank: NDArray[np.int64],
    backfill_rank: NDArray[np.int64] | None,
    late: bool,
    by_event: bool,
    crowd: int = CROWD,
    patience: int = PATIENCE,
    users: Any = None,
    keys: Keys | None = None,
) -> NDArray:
    """Start of each job when the queue has a fixed order and its head has a reservation.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    rank : ndarray of int64, shape (n_jobs,)
        Place of each job in the order of the queue.
    backfill_rank : ndarray of int64, shape (n_jobs,), or None
        Its place in the order of backfilling; None: no job overtakes another.
    late : bool
        Whether jobs may outlive their estimates.
    by_event : bool
        Whether processors are allocated after each single event.
    crowd : int
        Longest queue that is kept as a list.
    patience : int
        Jobs of longer queues that are looked at first, for each job of the log.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs`, `rank` and `backfill_rank` are tables then, to be
        filled as jobs arrive.
    keys : Keys, optional
        What jobs of such users are ranked by.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    state = new_state(jobs, machine)
    advance(
        jobs,
        state,
        rank=rank,
        backfill_rank=backfill_rank,
        late=late,
        by_event=by_event,
        begin=jobs.submit[0] if users is None else users.agenda.time[0],
        until=_after_all(jobs.submit.dtype),
        crowd=crowd,
        patience=patience,
        users=users,
        keys=keys,
    )
    return state.start


def advance(
    jobs: Jobs,
    state: State,
    *,
    rank: NDArray[np.int64],
    backfill_rank: NDArray[np.int64] | None,
    late: bool,
    by_event: bool,
    begin: Any,
    until: Any,
    crowd: int = CROWD,
    patience: int = PATIENCE,
    users: Any = None,
    keys: Keys | None = None,
) -> None:
    """Go on from a pass at `begin` to all that happens until `until`, before a pass at it.

    Parameters
    ----------
    state : State
        Changed in place.
    begin, until : scalar
        What has ended or arrived by `begin` is taken, and a pass looks at all that wait then. At
        `until` the jobs that end and arrive are taken, but none is started. [s]

    The others are those of `schedule_in_order`.
    """
    dtype = jobs.submit.dtype
    now, until = dtype.type(begin), dtype.type(until)
    backfill = backfill_rank is not None
    backfill_rank = rank if backfill_rank is None else backfill_rank
    apart = rank is not backfill_rank
    how = (rank, backfill_rank, backfill, late, by_event)
    nothing = _after_all(dtype)  # longer than whatever is looked for
    if users is not None:
        crowd = rank.size  # trees are of jobs that are all known
    else:
        apart = apart and not np.array_equal(rank, backfill_rank)
        if not backfill and (rank[1:] > rank[:-1]).all():
            crowd = rank.size  # the list is touched at its ends only
    few, forest = crowd // 2, None
    to_look_at = patience * rank.size if backfill else 0
    while True:
        _sort_waiting(state, backfill_rank)
        now = run_short(jobs, users, keys, state, *how, apart, crowd, to_look_at, now, until)
        if state.at[N_WAITING] <= crowd or now >= until:
            break
        if forest is None:
            to_look_at = 0
            forest = grow_forest(jobs.procs, rank, backfill_rank, nothing, dtype)
            longest = jobs.estimate.max()
            # more than the rounding error of a sum of times; whole seconds have none
            slack = dtype.type(0 if dtype.kind == "i" else 4 * np.spacing(_last_instant(jobs)))
        now = run_long(jobs, state, forest, *how, few, longest, slack, nothing, now, until)
        if state.at[N_WAITING] >= few or now >= until:
            break
    state.waiting[: state.at[N_WAITING]].sort()


def _after_all(dtype: np.dtype) -> Any:
    """Return a time after all times."""
    return dtype.type(np.iinfo(dtype).max if dtype.kind == "i" else np.inf)


def _last_instant(jobs: Jobs) -> float:
    """Bound on every time of the simulation."""
    return float(np.abs(jobs.submit).max() + np.maximum(jobs.run, jobs.estimate).sum())


def _sort_waiting(state: State, rank: NDArray[np.int64]) -> None:
    waiting = state.waiting[: state.at[N_WAITING]]
    waiting[:] = waiting[np.argsort(rank[waiting], kind="stable")]


@helper
def in_turn(rank, backfill_rank, arrived, n_arrived):
    """Whether jobs that arrive together do so in the order in which a pass looks at them."""
    for job in range(arrived + 1, n_arrived):
        if rank[job] < rank[job - 1] or backfill_rank[job] < backfill_rank[job - 1]:
            return False
    return True


@kernel
def run_short(
    jobs, users, keys, state, rank, backfill_rank, backfill, late, by_event, apart, crowd,
    patience, begin, until,
):  # fmt: skip
    """Go on until `until`, until all jobs have ended, or until more than `crowd` of them wait.

    Queues longer than that are put up with until `patience` of their jobs have been looked at.
    Whether the two orders are `apart` says where the head is in the list, which is in the order
    of backfilling. Returns the time until which all has been done.
    """
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    n_jobs = submit.size
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    first, last = 0, at[N_WAITING]  # the queue is waiting[first:last]
    head = foremost(waiting, first, last, rank) if last > 0 else -1
    known, shadow, spare = False, submit[0], 0
    now = begin
    look = True
    while True:
        one_by_one = by_event and now < until
        n_before, n_left, n_arrived = n_running, 0, arrived
        if one_by_one:
            n_left = keep_running(users, submit, arrived, n_running, now, one_by_one)
        while n_running > n_left and ends[n_running - 1] <= now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            look = True
        if users is None:
            while n_arrived < n_jobs and submit[n_arrived] <= now:
                n_arrived += 1
                if one_by_one:
                    break
        else:
            n_arrived = take_arrivals(
                users, jobs, arrived, end_jobs, n_before, n_running, now, one_by_one
            )
            rank_arrivals(users, jobs, keys, rank, backfill_rank, arrived, n_arrived)
        look = (
            look
            or now == until
            or (late and n_running > 0 and planned_ends[n_running - 1] < now)
            or not in_turn(rank, backfill_rank, arrived, n_arrived)
        )
        while arrived < n_arrived and not look:
            job = arrived
            size = procs[job]
            planned_end = now + estimate[job]
            ahead = first < last and rank[job] < rank[head]
            starts = size <= free
            if starts and first < last:
                if backfill and not known:
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, procs[head]
                    )
                    known = True
                starts = (planned_end <= shadow or size <= spare) if backfill else ahead
                if starts and backfill and planned_end > shadow:
                    spare -= size
            if ahead and not starts:
                look = True
                break
            arrived += 1
            if starts:
                start[job] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
            else:
                insert_waiting(waiting, first, last, backfill_rank, job)
                if first == last:
                    head = job
                last += 1
        if look:
            known = False
            while arrived < n_arrived:
                insert_waiting(waiting, first, last, backfill_rank, arrived)
                if first == last or rank[arrived] < rank[head]:
                    head = arrived
                last += 1
                arrived += 1
            if now == until:
                break
            while first < last and procs[head] <= free:
                start[head] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[head], head)
                insert_end(
                    planned_ends, planned_procs, n_running, now + estimate[head], procs[head]
                )
                n_running += 1
                free -= procs[head]
                take_out(waiting, first, head)
                first += 1
                if first < last:
                    head = foremost(waiting, first, last, rank) if apart else waiting[first]
            if backfill and first < last and free > 0:
                shadow, spare = find_shadow(
                    planned_ends, planned_procs, n_running, now, free, procs[head]
                )
                known = True
                if last - first > crowd:
                    patience -= last - first
                kept = first
                for place in range(first, last):
                    job = waiting[place]
                    size = procs[job]
                    planned_end = now + estimate[job]
                    if size <= free and (planned_end <= shadow or size <= spare):
                        start[job] = now
                        insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                        insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                        n_running += 1
                        free -= size
                        if planned_end > shadow:
                            spare -= size
                    else:
                        waiting[kept] = job
                        kept += 1
                last = kept
            look = False
        if last - first > crowd and patience <= 0:
            break
        if n_running == 0 and not some_to_come(users, submit, arrived):
            break
        now = min(next_instant(users, submit, arrived, ends, n_running), until)
    for place in range(first, last):
        waiting[place - first] = waiting[place]
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, last - first
    return now


@kernel
def run_long(
    jobs,
    state,
    forest,
    rank,
    backfill_rank,
    backfill,
    late,
    by_event,
    few,
    longest,
    slack,
    nothing,
    begin,
    until,
):
    """Go on until `until`, until all jobs have ended, or until fewer than `few` of them wait.

    During a pass the limits of time and processors only shrink. So a first hit that a class had
    before a job started is never behind the one it has now: hits are kept, and tested again when
    their turn comes. Returns the time until which all has been done.
    """
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    tree, root, width, class_size, class_first, member, job_at, job_class, node, line = forest
    n_jobs = submit.size
    waits = np.zeros(n_jobs, np.bool_)  # by place in the queue
    in_block = np.zeros(n_jobs // BLOCK + 1, np.int64)
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    n_waiting = at[N_WAITING]
    for place in range(n_waiting):
        job = waiting[place]
        join_line(waits, in_block, rank[job])
        if backfill:
            set_leaf(tree, root[job_class[job]], node[job], estimate[job])
    head = line[next_in_line(waits, in_block, 0)]
    n_classes = class_size.size
    hit = np.empty(n_classes, np.int64)  # the first place of each class that may start in a pass
    known, shadow, spare = False, submit[0], 0
    now = begin
    look = True
    while True:
        n_arrived, n_left = arrived, 0
        while n_arrived < n_jobs and submit[n_arrived] <= now:
            n_arrived += 1
        if by_event and now < until:  # submissions come before terminations, one by one
            n_left = n_running if n_arrived > arrived else max(n_running - 1, 0)
            n_arrived = min(n_arrived, arrived + 1)
        while n_running > n_left and ends[n_running - 1] <= now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            look = True
        look = (
            look
            or now == until
            or (late and n_running > 0 and planned_ends[n_running - 1] < now)
            or not in_turn(rank, backfill_rank, arrived, n_arrived)
        )
        while arrived < n_arrived and not look:
            job = arrived
            size = procs[job]
            planned_end = now + estimate[job]
            ahead = n_waiting > 0 and rank[job] < rank[head]
            starts = size <= free
            if starts and n_waiting > 0:
                if backfill and not known:
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, procs[head]
                    )
                    known = True
                starts = (planned_end <= shadow or size <= spare) if backfill else ahead
                if starts and backfill and planned_end > shadow:
                    spare -= size
            if ahead and not starts:
                look = True
                break
            arrived += 1
            if starts:
                start[job] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
            else:
                join_line(waits, in_block, rank[job])
                if backfill:
                    set_leaf(tree, root[job_class[job]], node[job], estimate[job])
                if n_waiting == 0:
                    head = job
                n_waiting += 1
        if look:
            known = False
            while arrived < n_arrived:
                join_line(waits, in_block, rank[arrived])
                if backfill:
                    set_leaf(tree, root[job_class[arrived]], node[arrived], estimate[arrived])
                if n_waiting == 0 or rank[arrived] < rank[head]:
                    head = arrived
                n_waiting += 1
                arrived += 1
            if now == until:
                break
            while n_waiting > 0 and procs[head] <= free:
                start[head] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[head], head)
                insert_end(
                    planned_ends, planned_procs, n_running, now + estimate[head], procs[head]
                )
                n_running += 1
                free -= procs[head]
                leave_line(waits, in_block, rank[head])
                if backfill:
                    set_leaf(tree, root[job_class[head]], node[head], nothing)
                n_waiting -= 1
                if n_waiting > 0:
                    head = line[next_in_line(waits, in_block, rank[head] + 1)]
            if backfill and n_waiting > 0 and free > 0:
                shadow, spare = find_shadow(
                    planned_ends, planned_procs, n_running, now, free, procs[head]
                )
                known = True
                limit = shadow - now + slack
                n_open = 0  # classes of jobs that fit
                while n_open < n_classes and class_size[n_open] <= free:
                    c = n_open
                    leaf = next_leaf(
                        tree, root[c], width[c], 0, longest if class_size[c] <= spare else limit
                    )
                    hit[c] = member[class_first[c] + leaf] if leaf >= 0 else n_jobs
                    n_open += 1
                while True:
                    while n_open > 0 and class_size[n_open - 1] > free:
                        n_open -= 1
                    place = n_jobs
                    for c in range(n_open):
                        place = min(place, hit[c])
                    if place == n_jobs:
                        break
                    job = job_at[place]
                    c = job_class[job]
                    size = procs[job]
                    planned_end = now + estimate[job]
                    if planned_end <= shadow or size <= spare:
                        leave_line(waits, in_block, rank[job])
                        set_leaf(tree, root[c], node[job], nothing)
                        n_waiting -= 1
                        start[job] = now
                        insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                        insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                        n_running += 1
                        free -= size
                        if planned_end > shadow:
                            spare -= size
                    leaf = next_leaf(
                        tree,
                        root[c],
                        width[c],
                        node[job] - width[c] + 1,
                        longest if size <= spare else limit,
                    )
                    hit[c] = member[class_first[c] + leaf] if leaf >= 0 else n_jobs
            look = False
        if n_waiting < few or (n_running == 0 and arrived == n_jobs):
            break
        now = min(next_instant(None, submit, arrived, ends, n_running), until)
    place = 0
    for last in range(n_waiting):
        place = next_in_line(waits, in_block, place)
        job = line[place]
        waiting[last] = job
        if backfill:
            set_leaf(tree, root[job_class[job]], node[job], nothing)
        place += 1
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    return now
