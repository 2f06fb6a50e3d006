"""The event loop of the User Priority Scheduler, where the jobs of a user stand or fall together.

Of the waiting jobs of a user the first to arrive has the highest priority: so the first in order
is found among the first of each user. Between two terminations processors only become fewer. So
a job that cannot be backfilled stays so until the next termination, unless another job takes the
head of the queue: as long as the head stays, only new jobs are looked at. Where nothing that
waits would fit there is no need to know who is first.

The waiting jobs of each user are a ring in the order of arrival, which begins and ends at the
number of jobs plus the number of the user. A long queue has the trees of `classes`, too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.classes import (
    link,
    margin,
    no_classes,
    nothing,
    sort_into_classes,
    unlink,
)
from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import find_shadow, insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import (
    ARRIVED,
    FREE,
    N_RUNNING,
    N_WAITING,
    Jobs,
    new_state,
)
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)
from workloadkit.simulation.queue import next_leaf, set_leaf

# A queue longer than this is searched by trees, until it is half as long.
CROWD = 512

# Whole numbers up to this are exact in float64, and so are their sums.
EXACT = 2.0**53


def schedule_by_user(
    jobs: Jobs,
    user: NDArray[np.int64],
    machine: int,
    *,
    alpha_user: float,
    by_load: bool,
    late: bool,
    by_event: bool,
    crowd: int = CROWD,
    users: Any = None,
) -> NDArray:
    """Start of each job under the User Priority Scheduler.

    Parameters
    ----------
    jobs : Jobs
    user : ndarray of int64, shape (n_jobs,)
        User of each job: 0, 1, …, in the order that breaks ties.
    machine : int
        Processors of the machine.
    alpha_user : float
        Weight of the users' priorities; the rest is that of the wait.
    by_load : bool
        Whether the user with the least work waiting comes first, not the last one to submit.
    late : bool
        Whether jobs may outlive their estimates.
    by_event : bool
        Whether there is a pass after each single event, instead of one an instant.
    crowd : int
        Longest queue that is searched without trees.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs` and `user` are tables then, to be filled as jobs
        arrive.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    dtype = jobs.submit.dtype
    state = new_state(jobs, machine)
    # the agenda has room for a plan of each of the users
    n_users = int(user.max()) + 1 if users is None else users.agenda.time.size
    key = np.zeros(n_users)
    longest = slack = dtype.type(0)
    if users is None:
        longest, slack = jobs.estimate.max(), margin(jobs)
    else:
        crowd = jobs.submit.size  # trees are of jobs that are all known
    none = no_classes(dtype)
    classes, trees = none, False
    while not _go_on(
        jobs, users, user, key, state, classes if trees else none, trees, float(alpha_user),
        by_load, dtype.kind == "i", late, by_event, crowd, longest, slack, nothing(dtype),
    ):  # fmt: skip
        trees = not trees
        if classes is none:
            classes = sort_into_classes(jobs.procs, user, n_users, dtype)
    return state.start


@helper
def _load(after, end, estimate, procs):
    """Work that a user has waiting, summed in the order of arrival. [processor seconds]."""
    load = 0.0
    job = after[end]
    while job != end:
        load += float(estimate[job]) * procs[job]
        job = after[job]
    return load


@helper
def _rank(order, n_listed, place_of, after, n_jobs, key):
    """Sort the users in order[:n_listed] by (key, number); how many of them have waiting jobs."""
    kept = 0
    for place in range(n_listed):
        user = order[place]
        if after[n_jobs + user] == n_jobs + user:
            place_of[user] = -1
            continue
        spot = kept
        while spot > 0:
            other = order[spot - 1]
            if key[other] < key[user] or (key[other] == key[user] and other < user):
                break
            order[spot] = other
            place_of[other] = spot
            spot -= 1
        order[spot] = user
        place_of[user] = spot
        kept += 1
    return kept


@helper
def _first_in_order(order, n_listed, after, n_jobs, submit, now, worth, alpha_arr):
    """Job of the highest priority [1]_; of equal ones the first to arrive.

    .. [1] N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018.
    """
    best, highest = n_jobs, -1.0
    for place in range(n_listed):
        job = after[n_jobs + order[place]]
        if job < n_jobs:
            priority = worth[place] + alpha_arr * (now - submit[job]) / 14400
            if priority > highest or (priority == highest and job < best):
                best, highest = job, priority
    return best


@helper
def _least(top, class_size, low, high, nothing, none):
    """Smallest estimate and smallest size of what waits in classes `low` to `high`."""
    estimate, size = nothing, none
    for c in range(high - 1, low - 1, -1):
        if top[c] < nothing:
            size = class_size[c]
            estimate = min(estimate, top[c])
    return estimate, size


@helper
def _first_of_classes(
    tree, root, width, class_size, class_first, member, top, low, high,
    estimate, now, free, shadow, spare, limit, longest, none,
):  # fmt: skip
    """First to arrive of the jobs in classes `low` to `high` that may be backfilled."""
    best = none
    for c in range(low, high):
        if class_size[c] > free:
            break
        always = class_size[c] <= spare
        most = longest if always else limit
        if top[c] > most:
            continue
        place = next_leaf(tree, root[c], width[c], 0, most)
        while place >= 0 and not (
            always or now + estimate[member[class_first[c] + place]] <= shadow
        ):
            place = next_leaf(tree, root[c], width[c], place + 1, most)
        if place >= 0:
            best = min(best, member[class_first[c] + place])
    return best


@helper
def _first_of_new(
    new, arrived, user, place_of, estimate, procs, now, free, shadow, spare, place, job, none
):
    """First job of new, …, arrived - 1 that may be backfilled, behind `job` of the user there."""
    best, best_place = none, 0
    for other in range(new, arrived):
        size, at = procs[other], place_of[user[other]]
        if (
            (at > place or (at == place and other > job))
            and (best == none or at < best_place)
            and size <= free
            and (now + estimate[other] <= shadow or size <= spare)
        ):
            best, best_place = other, at
    return best, best_place


@kernel
def _go_on(
    jobs, users, user, key, state, classes, trees, alpha_user,
    by_load, whole_seconds, late, by_event, crowd, longest, slack, nothing,
):  # fmt: skip
    """Go on to the end (True), or until the length of the queue asks for trees or none (False)."""
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    tree, root, width, class_size, class_first, member, job_class, node, group_first = classes
    n_jobs, n_users = submit.size, key.size
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    n_waiting = at[N_WAITING]
    alpha_arr = 1 - alpha_user
    worth = alpha_user * (1 / np.arange(1, n_users + 1))  # of the users, in order
    # the smallest estimate that waits in each class and of each user, and his smallest size
    none = np.iinfo(np.int64).max
    top = np.full(class_size.size, nothing)
    least_estimate, least_size = np.full(n_users, nothing), np.full(n_users, none)
    after = np.empty(n_jobs + n_users, np.int64)
    before = np.empty(n_jobs + n_users, np.int64)
    order, place_of = np.empty(n_users, np.int64), np.full(n_users, -1)  # ranks; -1: not listed
    n_listed = 0
    stale = np.ones(n_users, np.bool_)  # users whose load is to be summed
    for u in range(n_users):
        after[n_jobs + u] = before[n_jobs + u] = n_jobs + u
    for place in range(n_waiting):
        job = waiting[place]
        u = user[job]
        link(after, before, n_jobs + u, job)
        if trees:
            c = job_class[job]
            set_leaf(tree, root[c], node[job], estimate[job])
            top[c] = tree[root[c] + 1]
            least_estimate[u] = min(least_estimate[u], estimate[job])
            least_size[u] = min(least_size[u], procs[job])
        if place_of[u] < 0:
            place_of[u] = n_listed
            order[n_listed] = u
            n_listed += 1
    smallest = 1  # no waiting job is smaller
    # the reservation; where it is known all other waiting jobs were refused
    known, head, shadow, spare, limit = False, n_jobs, submit[0], 0, submit[0]
    while n_running > 0 or some_to_come(users, submit, arrived):
        if n_waiting < crowd // 2 if trees else n_waiting > crowd:
            break
        now = next_instant(users, submit, arrived, ends, n_running)
        new = arrived
        n_before, n_left, n_arrived = n_running, 0, arrived
        if by_event:
            n_left = keep_running(users, submit, arrived, n_running, now, by_event)
        while n_running > n_left and ends[n_running - 1] == now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            known = False
        if users is None:
            while n_arrived < n_jobs and submit[n_arrived] == now:
                n_arrived += 1
                if by_event:
                    break
        else:
            n_arrived = take_arrivals(
                users, jobs, arrived, end_jobs, n_before, n_running, now, by_event
            )
        while arrived < n_arrived:
            job = arrived
            arrived += 1
            u = user[job]
            link(after, before, n_jobs + u, job)
            if trees:
                c = job_class[job]
                set_leaf(tree, root[c], node[job], estimate[job])
                top[c] = tree[root[c] + 1]
                least_estimate[u] = min(least_estimate[u], estimate[job])
                least_size[u] = min(least_size[u], procs[job])
            if place_of[u] < 0:
                place_of[u] = n_listed
                order[n_listed] = u
                n_listed += 1
            if by_load:
                key[u] += float(estimate[job]) * procs[job]
            else:
                key[u] = -submit[job]
            if n_waiting == 0 or procs[job] < smallest:
                smallest = procs[job]
            n_waiting += 1
        if late and n_running > 0 and planned_ends[n_running - 1] < now:
            known = False
        if n_waiting == 0 or smallest > free:
            continue

        if by_load:
            for place in range(n_listed):
                u = order[place]
                if stale[u]:
                    stale[u] = False
                    key[u] = _load(after, n_jobs + u, estimate, procs)
        n_listed = _rank(order, n_listed, place_of, after, n_jobs, key)
        reserved = whole = False
        place, next_job, least = 0, n_jobs, 0  # where backfilling stands; smallest job refused
        while n_waiting > 0 and smallest <= free:
            if not reserved:
                job = _first_in_order(order, n_listed, after, n_jobs, submit, now, worth, alpha_arr)
                known = known and job == head
                head = job
                reserved = procs[job] > free
                if reserved and known:
                    place, next_job = 0, -1
                elif reserved:
                    whole = known = True
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, procs[head]
                    )
                    limit = shadow - now + slack
                    place, least = 0, procs[head]
                    next_job = after[n_jobs + order[0]]
            if reserved:
                job = n_jobs
                if not whole:
                    job, place = _first_of_new(
                        new, arrived, user, place_of, estimate, procs,
                        now, free, shadow, spare, place, next_job, n_jobs,
                    )  # fmt: skip
                    next_job = job
                elif trees:
                    while place < n_listed:
                        u = order[place]
                        size = least_size[u]
                        if size <= free and (size <= spare or least_estimate[u] <= limit):
                            job = _first_of_classes(
                                tree, root, width, class_size, class_first, member, top,
                                group_first[u], group_first[u + 1],
                                estimate, now, free, shadow, spare, limit, longest, n_jobs,
                            )  # fmt: skip
                            if job < n_jobs:
                                break
                        least = min(least, size)
                        place += 1
                else:
                    while place < n_listed:
                        end = n_jobs + order[place]
                        while next_job != end:
                            size = procs[next_job]
                            if size <= free and (
                                now + estimate[next_job] <= shadow or size <= spare
                            ):
                                break
                            least = min(least, size)
                            next_job = after[next_job]
                        if next_job != end:
                            job = next_job
                            next_job = after[next_job]
                            break
                        place += 1
                        if place < n_listed:
                            next_job = after[n_jobs + order[place]]
                if job == n_jobs:
                    if whole:
                        smallest = least
                    break
                if now + estimate[job] > shadow:
                    spare -= procs[job]
            u = user[job]
            unlink(after, before, job)
            if trees:
                c = job_class[job]
                set_leaf(tree, root[c], node[job], nothing)
                top[c] = tree[root[c] + 1]
                least_estimate[u], least_size[u] = _least(
                    top, class_size, group_first[u], group_first[u + 1], nothing, none
                )
            if by_load and whole_seconds and key[u] < EXACT:
                key[u] -= float(estimate[job]) * procs[job]
            else:
                stale[u] = True
            n_waiting -= 1
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_procs, n_running, now + estimate[job], procs[job])
            n_running += 1
            free -= procs[job]
    n_saved = 0
    for u in range(n_users):
        job = after[n_jobs + u]
        while job < n_jobs:
            if trees:
                c = job_class[job]
                set_leaf(tree, root[c], node[job], nothing)
                top[c] = tree[root[c] + 1]
            waiting[n_saved] = job
            n_saved += 1
            job = after[job]
    waiting[:n_saved].sort()
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    return n_running == 0 and not some_to_come(users, submit, arrived)
