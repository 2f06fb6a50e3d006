"""The event loop of scheduling in the order of arrival, without backfilling and with EASY's.

Between two terminations processors only become fewer and time only passes. So a job that cannot
be backfilled now cannot be before the next termination, and the shadow time stays: an arrival
needs one look at itself. Only a termination, or a job that has outlived its estimate, asks for a
look at all that wait.

There are two loops for the two lengths of a queue, each able to go on where the other left off:
`run_short` looks through a list of the waiting jobs, `run_long` asks the trees of `waiting`. The
few lines that start a job are written out wherever one starts: as a function they would take a
dozen arguments.
"""

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.running import find_shadow, insert_end, remove_end
from workloadkit._kernels.state import (
    ARRIVED,
    FREE,
    N_RUNNING,
    N_WAITING,
    Jobs,
    new_state,
    next_instant,
)
from workloadkit._kernels.waiting import (
    grow_forest,
    next_member,
    set_leaf,
)

# A queue longer than this is searched by trees, until it is half as long. Measured: below it a
# look at each waiting job is faster, far above it much slower.
CROWD = 512


def schedule_in_order(
    jobs: Jobs, machine: int, *, backfill: bool, late: bool, crowd: int = CROWD
) -> NDArray:
    """Start of each job when jobs are taken in the order of arrival.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    backfill : bool
        Whether jobs may overtake (EASY).
    late : bool
        Whether jobs may outlive their estimates.
    crowd : int
        Longest queue that is kept as a list.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    dtype = jobs.submit.dtype
    state = new_state(jobs, machine)
    if run_short(jobs, state, backfill, late, crowd):
        return state.start
    longest = jobs.estimate.max()
    # longer than whatever is looked for
    nothing = dtype.type(np.iinfo(dtype).max if dtype.kind == "i" else np.inf)
    forest = grow_forest(jobs.procs, nothing, dtype)
    # more than the rounding error of a sum of times; whole seconds have none
    slack = dtype.type(0 if dtype.kind == "i" else 4 * np.spacing(_last_instant(jobs)))
    while not (
        run_long(jobs, state, forest, backfill, late, crowd // 2, longest, slack, nothing)
        or run_short(jobs, state, backfill, late, crowd)
    ):
        pass
    return state.start


def _last_instant(jobs: Jobs) -> float:
    """Bound on every time of the simulation."""
    return float(np.abs(jobs.submit).max() + np.maximum(jobs.run, jobs.estimate).sum())


@kernel
def run_short(jobs, state, backfill, late, crowd):
    """Go on until all jobs have ended (True) or more than `crowd` of them wait (False)."""
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    n_jobs = submit.size
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    first, last = 0, at[N_WAITING]  # the queue is waiting[first:last]
    known, shadow, spare = False, submit[0], 0
    while (n_running > 0 or arrived < n_jobs) and last - first <= crowd:
        now = next_instant(submit, arrived, ends, n_running)
        look = late and n_running > 0 and planned_ends[n_running - 1] < now
        while n_running > 0 and ends[n_running - 1] == now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            look = True
        if look:
            known = False
            while first < last and procs[waiting[first]] <= free:
                job = waiting[first]
                first += 1
                start[job] = now
                insert_end(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, now + estimate[job], procs[job])
                n_running += 1
                free -= procs[job]
            if backfill and first < last and free > 0:
                needed = procs[waiting[first]]
                shadow, spare = find_shadow(
                    planned_ends, planned_procs, n_running, now, free, needed
                )
                known = True
                kept = first + 1
                for place in range(first + 1, last):
                    job = waiting[place]
                    size = procs[job]
                    planned_end = now + estimate[job]
                    if size <= free and (planned_end <= shadow or size <= spare):
                        start[job] = now
                        insert_end(ends, end_jobs, n_running, now + run[job], job)
                        insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                        n_running += 1
                        free -= size
                        if planned_end > shadow:
                            spare -= size
                    else:
                        waiting[kept] = job
                        kept += 1
                last = kept
        while arrived < n_jobs and submit[arrived] == now:
            job = arrived
            size = procs[job]
            planned_end = now + estimate[job]
            arrived += 1
            starts = size <= free
            if starts and first < last:
                if backfill and not known:
                    needed = procs[waiting[first]]
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, needed
                    )
                    known = True
                starts = backfill and (planned_end <= shadow or size <= spare)
                if starts and planned_end > shadow:
                    spare -= size
            if starts:
                start[job] = now
                insert_end(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
            else:
                waiting[last] = job
                last += 1
    for place in range(first, last):
        waiting[place - first] = waiting[place]
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, last - first
    return last - first <= crowd


@kernel
def run_long(jobs, state, forest, backfill, late, few, longest, slack, nothing):
    """Go on until all jobs have ended (True) or fewer than `few` of them wait (False).

    During a pass the limits of time and processors only shrink. So a first hit that a class had
    before a job started is never behind the one it has now: hits are kept, and tested again when
    their turn comes.
    """
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    tree, root, width, class_size, class_first, member, job_class, node = forest
    n_jobs = submit.size
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    n_waiting = at[N_WAITING]
    waits = np.zeros(n_jobs, np.bool_)
    for place in range(n_waiting):
        job = waiting[place]
        waits[job] = True
        set_leaf(tree, root[job_class[job]], node[job], estimate[job])
    head = waiting[0]
    n_classes = class_size.size
    hit = np.empty(n_classes, np.int64)  # the first job of each class that may start in a pass
    known, shadow, spare = False, submit[0], 0
    while (n_running > 0 or arrived < n_jobs) and n_waiting >= few:
        now = next_instant(submit, arrived, ends, n_running)
        look = late and n_running > 0 and planned_ends[n_running - 1] < now
        while n_running > 0 and ends[n_running - 1] == now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            look = True
        if look:
            known = False
            while n_waiting > 0 and procs[head] <= free:
                waits[head] = False
                set_leaf(tree, root[job_class[head]], node[head], nothing)
                n_waiting -= 1
                start[head] = now
                insert_end(ends, end_jobs, n_running, now + run[head], head)
                insert_end(
                    planned_ends, planned_procs, n_running, now + estimate[head], procs[head]
                )
                n_running += 1
                free -= procs[head]
                while head < arrived and not waits[head]:
                    head += 1
            if backfill and n_waiting > 0 and free > 0:
                shadow, spare = find_shadow(
                    planned_ends, planned_procs, n_running, now, free, procs[head]
                )
                known = True
                limit = shadow - now + slack
                n_open = 0  # classes of jobs that fit
                while n_open < n_classes and class_size[n_open] <= free:
                    c = n_open
                    hit[c] = next_member(
                        tree,
                        root[c],
                        width[c],
                        member[class_first[c] : class_first[c + 1]],
                        0,
                        longest if class_size[c] <= spare else limit,
                        n_jobs,
                    )
                    n_open += 1
                while True:
                    while n_open > 0 and class_size[n_open - 1] > free:
                        n_open -= 1
                    job = n_jobs
                    for c in range(n_open):
                        job = min(job, hit[c])
                    if job == n_jobs:
                        break
                    c = job_class[job]
                    size = procs[job]
                    planned_end = now + estimate[job]
                    if planned_end <= shadow or size <= spare:
                        waits[job] = False
                        set_leaf(tree, root[c], node[job], nothing)
                        n_waiting -= 1
                        start[job] = now
                        insert_end(ends, end_jobs, n_running, now + run[job], job)
                        insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                        n_running += 1
                        free -= size
                        if planned_end > shadow:
                            spare -= size
                    hit[c] = next_member(
                        tree,
                        root[c],
                        width[c],
                        member[class_first[c] : class_first[c + 1]],
                        node[job] - width[c] + 1,
                        longest if size <= spare else limit,
                        n_jobs,
                    )
        while arrived < n_jobs and submit[arrived] == now:
            job = arrived
            size = procs[job]
            planned_end = now + estimate[job]
            arrived += 1
            starts = size <= free
            if starts and n_waiting > 0:
                if backfill and not known:
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, procs[head]
                    )
                    known = True
                starts = backfill and (planned_end <= shadow or size <= spare)
                if starts and planned_end > shadow:
                    spare -= size
            if starts:
                start[job] = now
                insert_end(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
            else:
                if n_waiting == 0:
                    head = job
                waits[job] = True
                set_leaf(tree, root[job_class[job]], node[job], estimate[job])
                n_waiting += 1
    last = 0
    for job in range(head, arrived):
        if waits[job]:
            set_leaf(tree, root[job_class[job]], node[job], nothing)
            waiting[last] = job
            last += 1
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    return n_waiting >= few or (n_running == 0 and arrived == n_jobs)
