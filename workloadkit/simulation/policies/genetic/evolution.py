"""A genetic search for the order of a queue with the highest utility, in plain Python.

It draws the same numbers as the compiled search, and adds in the same order.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, count, cycle
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.machine.plain import Pool
from workloadkit.simulation.rules import counted_end, find_shadow
from workloadkit.utility import value_at

Order = list[JobView]


def evolve(
    seeds: Iterable[Order],
    earns: Callable[[Order], float],
    *,
    individuals: int,
    generations: int,
    mutation: float,
    rng: np.random.Generator,
) -> Order:
    """Return an order of high fitness, found by evolution.

    Parameters
    ----------
    seeds : iterable of list of JobView
        Orders of the first generation, the first in the order of arrival; the others are random.
    earns : callable
        Fitness of an order.
    individuals, generations : int
        Orders in each generation, and generations after the first.
    mutation : float
        Probability that two jobs of a child change places.
    rng : Generator
    """
    orders = list(seeds)[:individuals]
    orders += [shuffled(orders[0], rng) for _ in range(individuals - len(orders))]
    fitness = [earns(order) for order in orders]
    for _ in range(generations):
        best = fitness.index(max(fitness))
        children, new_fitness = [orders[best]], [fitness[best]]
        share = list(accumulate(fitness))
        for _ in range(individuals - 1):
            one, other = (orders[draw_parent(share, rng)] for _ in range(2))
            child = zipped(one, other)
            if rng.random() < mutation:
                swap_two(child, rng)
            children.append(child)
            new_fitness.append(earns(child))
        orders, fitness = children, new_fitness
    return orders[fitness.index(max(fitness))]


def zipped(one: Sequence[Any], other: Sequence[Any]) -> list:
    """Return a child of two orders: a job of each in turn, without repetition.

    Examples
    --------
    >>> "".join(zipped("abcd", "dcba")), "".join(zipped("abcd", "bacd"))
    ('adbc', 'abcd')
    """
    child: list = []
    parents = cycle((iter(one), iter(other)))
    while len(child) < len(one):
        child.append(next(job for job in next(parents) if job not in child))
    return child


def swap_two(order: list, rng: np.random.Generator) -> None:
    """Exchange two random jobs."""
    one, other = rng.integers(0, len(order)), rng.integers(0, len(order) - 1)
    other += other >= one
    order[one], order[other] = order[other], order[one]


def shuffled(jobs: Sequence[Any], rng: np.random.Generator) -> list:
    """Return a random order, all equally likely (Fisher-Yates shuffle)."""
    order = list(jobs)
    for i in range(len(order) - 1, 0, -1):
        j = rng.integers(0, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def draw_parent(share: Sequence[float], rng: np.random.Generator) -> int:
    """Draw an order in proportion to its fitness; uniformly if all are 0.

    `share` are the cumulative sums of the fitness.
    """
    x = rng.random()
    if share[-1] == 0:
        return int(x * len(share))
    x *= share[-1]
    return next((i for i, upper in enumerate(share) if upper > x), len(share) - 1)


def earned_by_easy(
    order: Sequence[JobView],
    now: float,
    free: int,
    running: Iterable[tuple[Any, int]],
    utility_at: UtilityAt,
) -> float:
    """Return the aggregate utility of jobs if EASY schedules them in an order from `now` on.

    Every job ends at its estimate, and no other job arrives.

    Parameters
    ----------
    order : sequence of JobView
    now : int or float
        [s]
    free : int
        Processors.
    running : iterable of (int or float, int)
        Planned end [s] and processors of the running jobs. A planned end that has passed counts as
        now, but after the first pass.
    utility_at : {"turnaround", "start"}
        When the value of a job is read.
    """
    serials = count()  # of equal ends, as jobs cannot be compared
    ends: list[tuple[Any, int, Any]] = sorted(
        (counted_end(end, now), next(serials), SimpleNamespace(procs=procs))
        for end, procs in running
    )
    waiting = list(order)
    earned: dict[JobView, float] = {}
    while True:
        shadow = spare = inf  # until a job does not fit and gets the reservation
        for job in waiting.copy():
            end = now + job.estimate
            if job.procs <= free and (end <= shadow or job.procs <= spare):
                if end > shadow:
                    spare -= job.procs
                waiting.remove(job)
                insort(ends, (end, next(serials), job))
                free -= job.procs
                read = end if utility_at == "turnaround" else now
                earned[job] = value_at(job.utility, read - job.submit)
            elif shadow == inf:
                shadow, level = find_shadow(Pool(free), job, ends, now)
                spare = level.free
        if not waiting:
            break
        now = ends[0][0]
        while ends and ends[0][0] <= now:
            free += ends.pop(0)[2].procs
    total = 0.0
    for job in sorted(order, key=lambda job: job.arrival):  # one order of summation, as sums round
        total += earned[job]
    return total
