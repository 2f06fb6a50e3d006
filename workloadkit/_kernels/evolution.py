"""A genetic search for the order of a queue that earns most.

An order is an array of places in the window, the first jobs of the queue as they arrived. What it
earns is found by the schedule that EASY would make of it, if every job ended when its estimate says
and none arrived. In such a schedule the reservation of a head stays what it is until it starts,
and a job that was once too long for it, and too large for the processors to spare, stays refused
as long. So each head asks for one look at all behind it, and each end before its shadow time for a
look at those that only found too few processors free.

The few lines that start a job are written out wherever one starts, as in `easy`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper
from workloadkit._kernels.running import find_shadow, insert_end
from workloadkit._kernels.utility import value_at

#: Orders of the first generation that are not random.
N_SEEDS = 4


class Window(NamedTuple):
    """The jobs whose order is sought, by their places in the window.

    Parameters
    ----------
    valued : ndarray of int64, shape (window,)
        Whose utility functions they have.
    submit, estimate : ndarray, shape (window,)
        As of `Jobs`. [s]
    procs : ndarray of int64, shape (window,)
        As of `Jobs`.
    priority : ndarray of int64, shape (window,)
        Of the jobs' queues, the most urgent smallest.
    due : ndarray, shape (window,)
        A planned end after which a job earns nothing. [s]
    """

    valued: NDArray[np.int64]
    submit: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    priority: NDArray[np.int64]
    due: NDArray


class Population(NamedTuple):
    """Two generations of orders.

    Parameters
    ----------
    parents, children : ndarray of int64, shape (individuals · window,)
        The orders, one behind the other.
    fitness, new_fitness : ndarray of float64, shape (individuals,)
        What the orders of each generation earn.
    share : ndarray of float64, shape (individuals,)
        Fitness of all parents up to each.
    """

    parents: NDArray[np.int64]
    children: NDArray[np.int64]
    fitness: NDArray[np.float64]
    new_fitness: NDArray[np.float64]
    share: NDArray[np.float64]


class Desk(NamedTuple):
    """What searches write on, so that they need not ask for memory.

    Parameters
    ----------
    ends : ndarray, shape (capacity,)
        Planned ends of what runs, descending. [s]
    freed : ndarray of int64, shape (capacity,)
        The processors that are free then.
    left, refused : ndarray of int64, shape (window,)
        Jobs that wait, in order; of these, those that could overtake the head if more processors
        were free.
    taken : ndarray of bool, shape (window,)
        Whether a job is part of a child; whether it has overtaken.
    earned : ndarray of float64, shape (window,)
        What a job has earned, or what jobs are ordered by.
    """

    ends: NDArray
    freed: NDArray[np.int64]
    left: NDArray[np.int64]
    refused: NDArray[np.int64]
    taken: NDArray[np.bool_]
    earned: NDArray[np.float64]


def new_window(length: int, dtype: np.dtype) -> Window:
    """Return room for so many jobs whose times are of a type."""
    return Window(
        valued=np.empty(length, np.int64),
        submit=np.empty(length, dtype),
        estimate=np.empty(length, dtype),
        procs=np.empty(length, np.int64),
        priority=np.empty(length, np.int64),
        due=np.empty(length, dtype),
    )


def new_population(individuals: int, length: int) -> Population:
    """Return room for so many orders of so many jobs."""
    return Population(
        parents=np.empty(individuals * length, np.int64),
        children=np.empty(individuals * length, np.int64),
        fitness=np.empty(individuals),
        new_fitness=np.empty(individuals),
        share=np.empty(individuals),
    )


def new_desk(length: int, capacity: int, dtype: np.dtype) -> Desk:
    """Return a desk for windows of so many jobs, on a machine that runs fewer than `capacity`."""
    return Desk(
        ends=np.empty(capacity, dtype),
        freed=np.empty(capacity, np.int64),
        left=np.empty(length, np.int64),
        refused=np.empty(length, np.int64),
        taken=np.empty(length, np.bool_),
        earned=np.empty(length),
    )


@helper
def fill_window(window, waiting, n_waiting, now, jobs, priority, utilities, at_start, users=None):
    """Take the first waiting jobs into the window: how many, and whether any can still earn."""
    submit, _, estimate, procs = jobs
    first, time, value = utilities
    n = min(window.valued.size, n_waiting)
    any_earns = False
    for place in range(n):
        job = waiting[place]
        valued = job if users is None else users.tables.row[job]
        window.valued[place] = valued
        window.submit[place] = submit[job]
        window.estimate[place] = estimate[job]
        window.procs[place] = procs[job]
        window.priority[place] = priority[job]
        at = (now if at_start else now + estimate[job]) - submit[job]
        if value_at(first, time, value, valued, float(at)) > 0:
            # a second later than at its last point, whatever is rounded
            lasts = time[first[valued + 1] - 1] + (estimate[job] if at_start else 0) + 1
            window.due[place] = submit[job] + lasts
            any_earns = True
        else:  # nor will it ever earn anything: values fall
            window.due[place] = now
    return n, any_earns


@helper
def evaluate(
    order, now, free, planned_ends, planned_procs, n_running, window, utilities, at_start, desk
):
    """Aggregate utility of the window's jobs, if they are scheduled in an order from `now` on.

    `planned_ends` and `planned_procs` are those of the running jobs, descending. A planned end that
    has passed counts as now, but after the first pass. What the jobs earn is summed in the order of
    their arrival, so that orders that make the same schedule are worth the same to the last bit.
    """
    valued, submit, estimate, procs, _, due = window
    first, time, value = utilities
    ends, freed, left, refused, taken, earned = desk
    count = n_running
    for i in range(n_running):
        ends[i] = max(planned_ends[i], now)
        freed[i] = planned_procs[i]
    head, n_left = 0, order.size  # the queue is left[head:n_left]
    for i in range(n_left):
        left[i] = order[i]
        taken[i] = False
        earned[i] = 0.0
    while True:
        while head < n_left and procs[left[head]] <= free:
            place = left[head]
            end = now + estimate[place]
            insert_end(ends, freed, count, end, procs[place])
            count += 1
            free -= procs[place]
            if end <= due[place]:
                at = (now if at_start else end) - submit[place]
                earned[place] = value_at(first, time, value, valued[place], float(at))
            head += 1
        if head == n_left:
            break
        needed = procs[left[head]]
        shadow, spare = find_shadow(ends, freed, count, now, free, needed)
        n_refused, smallest, kept = 0, needed, head + 1
        to_earn = shadow + estimate[left[head]] <= due[left[head]]
        for i in range(head + 1, n_left):
            place = left[i]
            size = procs[place]
            end = now + estimate[place]
            # bits, not words: which way each goes is hard to foresee for the processor
            may = (end <= shadow) | (size <= spare)
            if may & (size <= free):
                insert_end(ends, freed, count, end, size)
                count += 1
                free -= size
                spare -= size if end > shadow else 0
                if end <= due[place]:
                    at = (now if at_start else end) - submit[place]
                    earned[place] = value_at(first, time, value, valued[place], float(at))
            else:
                left[kept] = place
                kept += 1
                refused[n_refused] = place
                n_refused += may
                smallest = min(smallest, size) if may else smallest
                to_earn |= end <= due[place]
        if not to_earn:
            break
        n_left = kept
        overtaken = False
        while True:
            while True:  # the head fits at its shadow time, and not before
                count -= 1
                free += freed[count]
                if free >= smallest:
                    break
            now = ends[count]
            while count > 0 and ends[count - 1] == now:
                count -= 1
                free += freed[count]
            if now == shadow:
                break
            n_looked_at, n_refused, smallest = n_refused, 0, needed
            for i in range(n_looked_at):
                place = refused[i]
                size = procs[place]
                end = now + estimate[place]
                may = (end <= shadow) | (size <= spare)
                if may & (size <= free):
                    taken[place] = overtaken = True
                    insert_end(ends, freed, count, end, size)
                    count += 1
                    free -= size
                    spare -= size if end > shadow else 0
                    if end <= due[place]:
                        at = (now if at_start else end) - submit[place]
                        earned[place] = value_at(first, time, value, valued[place], float(at))
                else:
                    refused[n_refused] = place
                    n_refused += may
                    smallest = min(smallest, size) if may else smallest
        if overtaken:
            kept = head
            for i in range(head, n_left):
                left[kept] = left[i]
                kept += not taken[left[i]]
            n_left = kept
    total = 0.0
    for place in range(order.size):
        total += earned[place]
    return total


@helper
def zip_orders(one, other, child, taken):
    """Make a child of two orders: a job of each in turn, but none that is in it already."""
    n = child.size
    for place in range(n):
        taken[place] = False
    next_of_one = next_of_other = 0
    for i in range(n):
        if i & 1:
            while taken[other[next_of_other]]:
                next_of_other += 1
            child[i] = other[next_of_other]
        else:
            while taken[one[next_of_one]]:
                next_of_one += 1
            child[i] = one[next_of_one]
        taken[child[i]] = True


@helper
def swap_two(order, rng):
    """Let two jobs change their places."""
    one, other = rng.integers(0, order.size), rng.integers(0, order.size - 1)
    other += other >= one
    order[one], order[other] = order[other], order[one]


@helper
def shuffle(order, rng):
    """Make a random order, each as likely as any other."""
    for i in range(order.size):
        order[i] = i
    for i in range(order.size - 1, 0, -1):
        j = rng.integers(0, i + 1)
        order[i], order[j] = order[j], order[i]


@helper
def draw_parent(share, rng):
    """Draw one of the orders, in proportion to their fitness; any of them if none earns anything.

    `share` are the sums of the fitness up to each of them.
    """
    x = rng.random()
    last = share.size - 1
    if share[last] == 0:
        return int(x * share.size)
    x *= share[last]
    i = 0
    while i < last and share[i] <= x:
        i += 1
    return i


@helper
def sort_falling(order, key):
    """Order places by a falling key, equal ones by arrival."""
    for i in range(order.size):
        k = i
        while k > 0 and key[order[k - 1]] < key[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i


@helper
def make_seed(which, order, now, window, utilities, desk):
    """Make one of the four orders that are not random.

    By arrival; by priority; by what the job is worth now for each processor hour it asks for; by
    what it is worth now. Ties by arrival.
    """
    valued, submit, estimate, procs, priority, _ = window
    first, time, value = utilities
    key = desk.earned
    for place in range(order.size):
        key[place] = 0.0
        if which == 1:
            key[place] = -float(priority[place])
        elif which >= 2:
            at = now - submit[place]
            key[place] = value_at(first, time, value, valued[place], float(at))
            if which == 2:
                key[place] /= float(procs[place]) * float(estimate[place]) / 3600.0
    sort_falling(order, key)


@helper
def fittest(fitness):
    """Return the first of those that earn most."""
    best = 0
    for i in range(fitness.size):
        if fitness[i] > fitness[best]:
            best = i
    return best


@helper
def evolve(
    now,
    free,
    planned_ends,
    planned_procs,
    n_running,
    window,
    n_jobs,
    utilities,
    at_start,
    population,
    generations,
    mutation,
    rng,
    desk,
):
    """Return an order of the first `n_jobs` of the window that earns much, found by evolution."""
    parents, children, fitness, new_fitness, share = population
    individuals = fitness.size
    for i in range(individuals):
        order = parents[i * n_jobs : (i + 1) * n_jobs]
        if i < N_SEEDS:
            make_seed(i, order, now, window, utilities, desk)
        else:
            shuffle(order, rng)
        fitness[i] = evaluate(
            order, now, free, planned_ends, planned_procs, n_running,
            window, utilities, at_start, desk,
        )  # fmt: skip
    for _ in range(generations):
        total = 0.0
        for i in range(individuals):
            total += fitness[i]
            share[i] = total
        best = fittest(fitness)
        children[:n_jobs] = parents[best * n_jobs : (best + 1) * n_jobs]
        new_fitness[0] = fitness[best]
        for i in range(1, individuals):
            one, other = draw_parent(share, rng), draw_parent(share, rng)
            child = children[i * n_jobs : (i + 1) * n_jobs]
            zip_orders(
                parents[one * n_jobs : (one + 1) * n_jobs],
                parents[other * n_jobs : (other + 1) * n_jobs],
                child,
                desk.taken,
            )
            if rng.random() < mutation:
                swap_two(child, rng)
            elif one == other:  # the child is its parent
                new_fitness[i] = fitness[one]
                continue
            new_fitness[i] = evaluate(
                child, now, free, planned_ends, planned_procs, n_running,
                window, utilities, at_start, desk,
            )  # fmt: skip
        parents, children = children, parents
        fitness, new_fitness = new_fitness, fitness
    best = fittest(fitness)
    return parents[best * n_jobs : (best + 1) * n_jobs]
