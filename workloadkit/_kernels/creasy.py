"""The event loop of CREASY, whose priorities change as time passes.

No job is worth more than its wait and the bonus of a job that has only just come: so the first in
order is found among the first to arrive. Between two terminations processors only become fewer.
So a job that cannot be backfilled stays so until the next termination, unless another job takes
the head of the queue: as long as the head stays, only new jobs are looked at. Where nothing that
waits would fit there is no need to know who is first.

The waiting jobs are a ring in the order of arrival. A long queue has the trees of `classes`, too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
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
from workloadkit.simulation.classes import Classes, sort_into_classes
from workloadkit.simulation.queue import link, margin, set_leaf, unlink
from workloadkit.simulation.state import never

# A queue longer than this is searched by trees, until it is half as long.
CROWD = 512

# The head of a long queue is looked for among so many of the first to arrive, then by the trees.
FIRST = 64

# A bound on a sum, times this, is a bound on the sum as it is rounded.
ROUNDING = 1 + 1e-12

# What is next: the opening instant; a pass, as all that happens now has been taken; the next
# instant; nothing.
OPENS, ALLOCATES, GOES_ON, OVER = range(4)


def schedule_by_criticality(
    jobs: Jobs,
    machine: int,
    *,
    alpha: float,
    late: bool,
    by_event: bool,
    crowd: int = CROWD,
    users: Any = None,
) -> NDArray:
    """Start of each job under CREASY.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    alpha : float
        Weight of criticality.
    late : bool
        Whether jobs may outlive their estimates.
    by_event : bool
        Whether there is a pass after each single event, instead of one an instant.
    crowd : int
        Longest queue that is searched without trees.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs` are tables then, to be filled as jobs arrive.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    state = new_state(jobs, machine)
    first = jobs.submit[0] if users is None else users.agenda.time[0]
    advance(
        jobs, state, alpha=alpha, late=late, by_event=by_event,
        begin=first, until=never(jobs.submit.dtype), crowd=crowd, users=users,
    )  # fmt: skip
    return state.start


def advance(
    jobs: Jobs,
    state: State,
    *,
    alpha: float,
    late: bool,
    by_event: bool,
    begin: Any,
    until: Any,
    crowd: int = CROWD,
    users: Any = None,
) -> None:
    """Go on from a pass at `begin` to all that happens until `until`, before a pass at it.

    Parameters
    ----------
    state : State
        Changed in place.
    begin, until : scalar
        What has ended or arrived by `begin` is taken, and a pass looks at all that wait then. At
        `until` the jobs that end and arrive are taken, but none is started. [s]

    The others are those of `schedule_by_criticality`.
    """
    dtype = jobs.submit.dtype
    begin, until = dtype.type(begin), dtype.type(until)
    empty = np.empty(0, np.int64)
    none = Classes(np.empty(0, dtype), *[empty] * 8)
    classes, trees = none, False
    stage, now = OPENS, begin
    longest = slack = dtype.type(0)
    if users is None:
        longest, slack = jobs.estimate.max(), margin(jobs)
    else:
        crowd = jobs.submit.size  # trees are of jobs that are all known
    while True:
        stage, now = _go_on(
            jobs, users, state, classes if trees else none, trees, float(alpha), late, by_event,
            stage, now, until, crowd, longest, slack, never(dtype),
        )  # fmt: skip
        if stage == OVER:
            return
        trees = not trees
        if classes is none:
            group = np.zeros(jobs.procs.size, np.int64)
            classes = sort_into_classes(jobs.procs, group, 1, dtype)


@helper
def _priority(bonus, waited, estimate):
    """Worth of a job [min]; `bonus` is that of one that responds at once [1]_, eq. 5.4.

    .. [1] E. Shmueli, PhD thesis, The Hebrew University of Jerusalem, 2008.
    """
    stretch = 0.05 * ((waited + estimate) / 60) + 1
    return bonus / (stretch * stretch) + waited / 60


@helper
def _ceiling(bonus, longest, shortest, estimate):
    """Bound on the priority of who has waited so long, with an estimate not below `estimate`.

    The sum of a falling convex and a rising linear term is largest at one end or the other.
    """
    if longest == shortest:
        return _priority(bonus, longest, estimate)
    ends = max(_priority(bonus, longest, estimate), _priority(bonus, shortest, estimate))
    return ends * ROUNDING


@helper
def _first_in_order(after, end, submit, estimate, now, bonus, most):
    """Job of the highest priority among the first to arrive; of equal ones the first of all.

    Tells whether these are all that matter: no more than `most` jobs are looked at.
    """
    job = best = after[end]
    highest = _priority(bonus, now - submit[job], estimate[job])
    job = after[job]
    while job != end:
        # from here on no job is worth more than one that takes no time and has waited as long as
        # this one or has only just come: the bound of `_ceiling`
        if (
            highest >= bonus * ROUNDING
            and highest >= _priority(bonus, now - submit[job], 0) * ROUNDING
        ):
            break
        if most == 0:
            return best, highest, False
        most -= 1
        priority = _priority(bonus, now - submit[job], estimate[job])
        if priority > highest:
            best, highest = job, priority
        job = after[job]
    return best, highest, True


@helper
def _first_to_backfill(
    after, job, end, submit, estimate, procs, now, bonus, smallest, free, shadow, spare
):
    """Best job that may be backfilled, from `job` on in the ring; and the smallest size met."""
    best, highest = end, -1.0
    while job != end:
        size = procs[job]
        if size < smallest:
            smallest = size
        if size <= free and (now + estimate[job] <= shadow or size <= spare):
            priority = _priority(bonus, now - submit[job], estimate[job])
            if priority > highest:
                best, highest = job, priority
        job = after[job]
    return best, smallest


@helper
def _first_of_class(
    tree, root, width, member, first, last, most, submit, estimate, now, oldest,
    bonus, shadow, always, best, highest,
):  # fmt: skip
    """Best job of a class that ends by the shadow time, or any, if it is better than `best`.

    A subtree is left out if even its oldest or its newest job with its smallest estimate would
    not be better; no job of the queue came before `oldest`.
    """
    node, leaves = 1, width
    while True:
        below = tree[root + node]
        if below <= most:
            place = first + node * leaves - width
            if leaves == 1:
                job = member[place]
                if always or now + estimate[job] <= shadow:
                    priority = _priority(bonus, now - submit[job], estimate[job])
                    if priority > highest or (priority == highest and job < best):
                        best, highest = job, priority
            else:
                longest = now - max(submit[member[place]], oldest)
                shortest = max(now - submit[member[min(place + leaves, last) - 1]], 0)
                ceiling = _ceiling(bonus, longest, shortest, below)
                if ceiling > highest or (ceiling == highest and member[place] < best):
                    node *= 2
                    leaves >>= 1
                    continue
        while node & 1:  # on to the next subtree to the right
            node >>= 1
            leaves <<= 1
        if node == 0:
            return best, highest
        node += 1


@kernel
def _go_on(
    jobs, users, state, classes, trees, alpha, late, by_event,
    stage, now, until, crowd, longest, slack, nothing,
):  # fmt: skip
    """Go on to `until`, or until the length of the queue asks for trees or none.

    Returns what is next and the time.

    During a pass the limits of time and processors only shrink. So the best job that a class had
    before another one started is never worse than what it has now: it is kept, and tested again
    when its turn comes.
    """
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    tree, root, width, class_size, class_first, member, job_class, node, _ = classes
    n_jobs, n_classes = submit.size, class_size.size
    n_running, free, arrived = at[N_RUNNING], at[FREE], at[ARRIVED]
    n_waiting = at[N_WAITING]
    bonus = alpha * 0.04
    end = n_jobs  # of the ring
    after, before = np.empty(n_jobs + 1, np.int64), np.empty(n_jobs + 1, np.int64)
    after[end] = before[end] = end
    for place in range(n_waiting):
        job = waiting[place]
        link(after, before, end, job)
        if trees:
            set_leaf(tree, root[job_class[job]], node[job], estimate[job])
    best, highest = np.empty(n_classes, np.int64), np.empty(n_classes)  # of each class, in a pass
    smallest = 1  # no waiting job is smaller
    # the reservation; where it is known all other waiting jobs were refused
    known, head, shadow, spare, limit = False, end, now, 0, now
    n_open = low = high = 0  # classes of jobs that fit; those to be looked at
    while True:
        if stage == GOES_ON:
            if n_running == 0 and not some_to_come(users, submit, arrived):
                stage = OVER
                break
            if trees and n_waiting < crowd // 2:
                break
            now = next_instant(users, submit, arrived, ends, n_running)
            if now > until:
                stage = OVER
                break
        one = by_event and now < until  # at a time
        new = arrived
        if stage != ALLOCATES:
            n_before, n_left, n_arrived = n_running, 0, arrived
            if one:
                n_left = keep_running(users, submit, arrived, n_running, now, one)
            while n_running > n_left and ends[n_running - 1] <= now:
                job = end_jobs[n_running - 1]
                planned_end = start[job] + estimate[job]
                remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
                n_running -= 1
                free += procs[job]
                known = False
            if users is None:
                while n_arrived < n_jobs and submit[n_arrived] <= now:
                    n_arrived += 1
                    if one:
                        break
            else:
                n_arrived = take_arrivals(
                    users, jobs, arrived, end_jobs, n_before, n_running, now, one
                )
            while arrived < n_arrived:
                job = arrived
                arrived += 1
                link(after, before, end, job)
                if trees:
                    set_leaf(tree, root[job_class[job]], node[job], estimate[job])
                if n_waiting == 0 or procs[job] < smallest:
                    smallest = procs[job]
                n_waiting += 1
        if now == until:
            stage = OVER
            break
        if n_waiting > crowd and not trees:
            stage = ALLOCATES
            break
        stage = GOES_ON
        if late and n_running > 0 and planned_ends[n_running - 1] < now:
            known = False

        reserved = whole = False
        look = end
        while n_waiting > 0 and smallest <= free:
            if not reserved:
                job, top, sure = _first_in_order(
                    after, end, submit, estimate, now, bonus, FIRST if trees else n_waiting
                )
                for c in range(0 if sure else n_classes):
                    job, top = _first_of_class(
                        tree, root[c], width[c], member, class_first[c],
                        class_first[c + 1] if c + 1 < n_classes else n_jobs,
                        longest, submit, estimate, now, submit[after[end]],
                        bonus, shadow, True, job, top,
                    )  # fmt: skip
                known = known and job == head
                head = job
                reserved = procs[job] > free
                if reserved and known:
                    look = new if new < arrived else end
                elif reserved:
                    whole = known = True
                    shadow, spare = find_shadow(
                        planned_ends, planned_procs, n_running, now, free, procs[head]
                    )
                    limit = shadow - now + slack
                    n_open = np.searchsorted(class_size, free, side="right")  # classes that fit
                    low, high = 0, n_open
            if reserved:
                if whole and trees:
                    while True:
                        for c in range(low, high):
                            always = class_size[c] <= spare
                            best[c], highest[c] = _first_of_class(
                                tree, root[c], width[c], member, class_first[c],
                                class_first[c + 1] if c + 1 < n_classes else n_jobs,
                                longest if always else limit,
                                submit, estimate, now, submit[after[end]],
                                bonus, shadow, always, end, -1.0,
                            )  # fmt: skip
                        while n_open > 0 and class_size[n_open - 1] > free:
                            n_open -= 1
                        job, top = end, -1.0
                        for c in range(n_open):
                            if highest[c] > top or (highest[c] == top and best[c] < job):
                                job, top = best[c], highest[c]
                        if job == end:
                            c = 0
                            while tree[root[c] + 1] > longest:
                                c += 1
                            smallest = class_size[c]
                            break
                        low, high = job_class[job], job_class[job] + 1
                        if now + estimate[job] <= shadow or procs[job] <= spare:
                            break
                else:
                    if whole:
                        look = after[end]
                    job, least = _first_to_backfill(
                        after, look, end, submit, estimate, procs, now, bonus,
                        procs[head], free, shadow, spare,
                    )  # fmt: skip
                    if whole:
                        smallest = least
                if job == end:
                    break
                if now + estimate[job] > shadow:
                    spare -= procs[job]
                if job == look:
                    look = after[job]
            unlink(after, before, job)
            if trees:
                set_leaf(tree, root[job_class[job]], node[job], nothing)
            n_waiting -= 1
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_procs, n_running, now + estimate[job], procs[job])
            n_running += 1
            free -= procs[job]
    place = 0
    job = after[end]
    while job != end:
        if trees:
            set_leaf(tree, root[job_class[job]], node[job], nothing)
        waiting[place] = job
        place += 1
        job = after[job]
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    return stage, now
