"""The state of a genetic search, and the compiled evaluation of an order of the queue.

An order is a series of places in the window, the first jobs of the queue by arrival. Its utility is
that of the schedule that EASY makes of it if every job ends at its estimate and no other arrives.
In such a schedule the reservation of a head stays until it starts, and a job refused as too long
for it and too large for the spare processors stays refused as long. So each head requires one
examination of all jobs behind it, and each end before its shadow time an examination of those
refused only for lack of free processors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit._kernels.utility import value_at
from workloadkit.simulation.compiled.queue import insert_end
from workloadkit.simulation.rules import counted_end
from workloadkit.utility import Utilities


class _At(Record):
    """What a search begins with."""

    n_jobs: int  # jobs in the window
    n_running: int  # running jobs
    free: int  # processors that none of them holds


class SearchSettings(NamedTuple):
    """Parameters of a search.

    Parameters
    ----------
    individuals, generations : int
        Orders in each generation, and generations after the first.
    mutation : float
        Probability that two jobs of a child change places.
    at_start : bool
        Whether the value of a job is read at its start, not at its end.
    """

    individuals: int
    generations: int
    mutation: float
    at_start: bool


class SearchWindow(NamedTuple):
    """The jobs to order, by their places in the window; each of shape (window,).

    Parameters
    ----------
    valued : ndarray of int64
        Index of their utility functions.
    submit, estimate, procs : ndarray
        As in `Jobs`.
    priority : ndarray of float64
        Of the jobs' queues, the most urgent smallest.
    due : ndarray
        A planned end after which a job earns nothing. [s]
    """

    valued: NDArray[np.int64]
    submit: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    priority: NDArray[np.float64]
    due: NDArray


class Orders(NamedTuple):
    """Two generations of orders.

    Parameters
    ----------
    parents, children : ndarray of int64, shape (individuals · window,)
        The orders, one behind the other.
    fitness, new_fitness : ndarray of float64, shape (individuals,)
        Fitness of the orders of each generation.
    share : ndarray of float64, shape (individuals,)
        Cumulative fitness of the parents.
    best : ndarray of int64, shape (window,)
        The best order.
    """

    parents: NDArray[np.int64]
    children: NDArray[np.int64]
    fitness: NDArray[np.float64]
    new_fitness: NDArray[np.float64]
    share: NDArray[np.float64]
    best: NDArray[np.int64]


class Workspace(NamedTuple):
    """Work arrays of an evaluation.

    Parameters
    ----------
    ends : ndarray, shape (capacity,)
        Planned ends of running jobs, descending. [s]
    freed : ndarray of int64, shape (capacity,)
        The processors freed then.
    left, refused : ndarray of int64, shape (window,)
        Waiting jobs, in order; of these, those that could overtake the head with more free
        processors.
    taken : ndarray of bool, shape (window,)
        Whether a job is part of a child; whether it has overtaken.
    earned : ndarray of float64, shape (window,)
        Utility of a job, or a key by which jobs are ordered.
    """

    ends: NDArray
    freed: NDArray[np.int64]
    left: NDArray[np.int64]
    refused: NDArray[np.int64]
    taken: NDArray[np.bool_]
    earned: NDArray[np.float64]


class Search(NamedTuple):
    """Input and work arrays of a search.

    Parameters
    ----------
    setting : SearchSettings
    utilities : Utilities
    rng : Generator
    window : SearchWindow
    running_ends : ndarray, shape (capacity,)
        Planned ends of the running jobs, descending. [s]
    running_procs : ndarray of int64, shape (capacity,)
        Their processors.
    now : ndarray, shape (1,)
        [s]
    at : record
    orders : Orders
    workspace : Workspace
    """

    setting: SearchSettings
    utilities: Utilities
    rng: np.random.Generator
    window: SearchWindow
    running_ends: NDArray
    running_procs: NDArray[np.int64]
    now: NDArray
    at: _At
    orders: Orders
    workspace: Workspace


def new_search(
    setting: SearchSettings,
    utilities: Utilities,
    rng: np.random.Generator,
    *,
    length: int,
    capacity: int,
    dtype: np.dtype,
) -> Search:
    """Return a search for windows of up to `length` jobs and fewer than `capacity` running jobs."""

    def whole(size: int = length) -> NDArray[np.int64]:
        return np.empty(size, np.int64)

    def times(size: int = length) -> NDArray:
        return np.empty(size, dtype)

    n = setting.individuals
    return Search(
        setting=setting,
        utilities=utilities,
        rng=rng,
        window=SearchWindow(whole(), times(), times(), whole(), np.empty(length), times()),
        running_ends=times(capacity),
        running_procs=whole(capacity),
        now=times(1),
        at=_At(),
        orders=Orders(
            parents=whole(n * length),
            children=whole(n * length),
            fitness=np.empty(n),
            new_fitness=np.empty(n),
            share=np.empty(n),
            best=whole(),
        ),
        workspace=Workspace(
            times(capacity), whole(capacity), whole(), whole(), np.empty(length, np.bool_),
            np.empty(length),
        ),
    )  # fmt: skip


@inline
def take_in(search, place, jobs, job, valued, priority):
    """Add a job to the window, with its utility function; return whether it can still earn."""
    window, utilities, at_start = search.window, search.utilities, search.setting.at_start
    submit, estimate, now = jobs.submit[job], jobs.estimate[job], search.now[0]
    window.valued[place], window.priority[place] = valued, priority
    window.submit[place], window.estimate[place] = submit, estimate
    window.procs[place] = jobs.procs[job]
    read = (now if at_start else now + estimate) - submit
    first, time, value = utilities.first, utilities.time, utilities.value
    if value_at(first, time, value, valued, float(read)) > 0:
        # one second after its last point, as a margin for rounding
        lasts = time[first[valued + 1] - 1] + (estimate if at_start else 0) + 1
        window.due[place] = submit + lasts
        return True
    window.due[place] = now  # it will never earn anything: values fall
    return False


@bare
def evaluate(search, orders, first):
    """Return the aggregate utility of the window's jobs if EASY schedules them in orders[first:].

    A planned end of a running job that has passed counts as now, but after the first pass. Utility
    is summed in the order of arrival, so that orders with the same schedule have exactly the same
    fitness.
    """
    procs, left, earned = search.window.procs, search.workspace.left, search.workspace.earned
    estimate, due = search.window.estimate, search.window.due
    ends, freed = search.workspace.ends, search.workspace.freed
    _lay_out(search, orders, first)
    now, free, count = search.now[0], search.at.free, search.at.n_running
    head, n_left = 0, search.at.n_jobs  # the queue is left[head:n_left]
    while True:
        while head < n_left and procs[left[head]] <= free:
            _start(search, left[head], now, count)
            count += 1
            free -= procs[left[head]]
            head += 1
        if head == n_left:
            break
        needed = procs[left[head]]
        shadow, spare = _find_shadow(ends, freed, count, now, free, needed)
        kept, n_refused, smallest, free, spare, to_earn = _look_behind(
            search, now, head, n_left, count, free, shadow, spare
        )
        if not (to_earn or shadow + estimate[left[head]] <= due[left[head]]):
            break
        count += n_left - kept
        n_left = kept
        count, free, overtaken = _wait_for_shadow(
            search, needed, count, free, shadow, spare, n_refused, smallest
        )
        now = shadow
        if overtaken:
            n_left = _close_up(search, head, n_left)
    total = 0.0
    for place in range(search.at.n_jobs):
        total += earned[place]
    return total


@bare
def _find_shadow(ends, freed, count, now, free, needed):
    """Return the shadow time of a job, and how many processors are spare then."""
    place = count - 1
    while free < needed:
        free += freed[place]
        place -= 1
    shadow = counted_end(ends[place + 1], now)
    while place >= 0 and ends[place] <= shadow:
        free += freed[place]
        place -= 1
    return shadow, free - needed


@inline
def _lay_out(search, orders, first):
    """Set up the running and waiting jobs."""
    space, now = search.workspace, search.now[0]
    ends, freed = space.ends, space.freed
    running_ends, running_procs = search.running_ends, search.running_procs
    left, taken, earned = space.left, space.taken, space.earned
    for i in range(search.at.n_running):
        ends[i] = counted_end(running_ends[i], now)
        freed[i] = running_procs[i]
    for i in range(search.at.n_jobs):
        left[i] = orders[first + i]
        taken[i] = False
        earned[i] = 0.0


@inline
def _start(search, place, now, count):
    """Start a job, and add its utility."""
    window, space, utilities = search.window, search.workspace, search.utilities
    end = now + window.estimate[place]
    insert_end(space.ends, space.freed, count, end, window.procs[place])
    if end <= window.due[place]:
        read = (now if search.setting.at_start else end) - window.submit[place]
        space.earned[place] = value_at(
            utilities.first, utilities.time, utilities.value, window.valued[place], float(read)
        )


@inline
def _look_behind(search, now, head, n_left, count, free, shadow, spare):
    """Let jobs behind the head overtake it; return how many are left, and what may still happen.

    Also returned: how many could overtake with more free processors, the smallest of them and the
    head, free and spare processors, and whether any job that is left may earn something.
    """
    estimate, procs, due = search.window.estimate, search.window.procs, search.window.due
    left, refused = search.workspace.left, search.workspace.refused
    n_refused, smallest, kept, to_earn = 0, procs[left[head]], head + 1, False
    for i in range(head + 1, n_left):
        place = left[i]
        size = procs[place]
        end = now + estimate[place]
        # bitwise operators: branches would be hard to predict
        may = (end <= shadow) | (size <= spare)
        if may & (size <= free):
            _start(search, place, now, count)
            count += 1
            free -= size
            spare -= size if end > shadow else 0
        else:
            left[kept] = place
            kept += 1
            refused[n_refused] = place
            n_refused += may
            smallest = min(smallest, size) if may else smallest
            to_earn |= end <= due[place]
    return kept, n_refused, smallest, free, spare, to_earn


@inline
def _wait_for_shadow(search, needed, count, free, shadow, spare, n_refused, smallest):
    """End jobs up to the shadow time, and let others overtake before it.

    The head fits at its shadow time, and not before. Also returned: whether any has overtaken.
    """
    estimate, procs = search.window.estimate, search.window.procs
    space = search.workspace
    ends, freed, refused, taken = space.ends, space.freed, space.refused, space.taken
    overtaken = False
    while True:
        while True:
            count -= 1
            free += freed[count]
            if free >= smallest:
                break
        now = ends[count]
        while count > 0 and ends[count - 1] == now:
            count -= 1
            free += freed[count]
        if now == shadow:
            return count, free, overtaken
        n_looked_at, n_refused, smallest = n_refused, 0, needed
        for i in range(n_looked_at):
            place = refused[i]
            size = procs[place]
            end = now + estimate[place]
            may = (end <= shadow) | (size <= spare)
            if may & (size <= free):
                taken[place] = overtaken = True
                _start(search, place, now, count)
                count += 1
                free -= size
                spare -= size if end > shadow else 0
            else:
                refused[n_refused] = place
                n_refused += may
                smallest = min(smallest, size) if may else smallest


@inline
def _close_up(search, head, n_left):
    """Remove jobs that have overtaken from the queue; return its new end."""
    left, taken = search.workspace.left, search.workspace.taken
    kept = head
    for i in range(head, n_left):
        left[kept] = left[i]
        kept += not taken[left[i]]
    return kept
