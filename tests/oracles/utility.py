"""Utility functions, from Lee and Snavely (2007), sections 3.4, 4.2, 4.3, 5 and 7.1.

A function is a list of (time, value). Laws of generated functions are those of one with the start
value 1 and the deadline 1, where they say so.
"""

import math
from itertools import pairwise

#: A jump is drawn as a line this long. [s]
EPSILON = 0.001


def is_well_formed(points):
    """Whether points are a utility function: "times must be strictly increasing" and so on."""
    times, values = [time for time, _ in points], [value for _, value in points]
    return (
        len(points) >= 1
        and times[0] == 0
        and all(0 <= number < math.inf for number in [*times, *values])
        and all(times[i] < times[i + 1] for i in range(len(times) - 1))
        and all(values[i] >= values[i + 1] for i in range(len(values) - 1))
    )


def value(points, at):
    """Value at a time: linear between two points, zero after the last."""
    for time, worth in points:
        if time == at:
            return worth
    for (before, high), (after, low) in pairwise(points):
        if before < at < after:
            return high + (low - high) * (at - before) / (after - before)
    return 0


def aggregate(functions, turnarounds):
    """Sum of what all jobs earn; a job without a function (None) earns nothing."""
    return math.fsum(
        value(points, time)
        for points, time in zip(functions, turnarounds, strict=True)
        if points is not None
    )


def earned(functions, turnarounds):
    """Percent of its start value that each job earned, of those that can earn anything."""
    return [
        100 * value(points, time) / points[0][1]
        for points, time in zip(functions, turnarounds, strict=True)
        if points is not None and points[0][1] > 0
    ]


def from_the_best(shares, percent):
    """The least that the best `percent` of all earned: of 5, the best quarter are 2."""
    best = sorted(shares, reverse=True)
    return next(x for i, x in enumerate(best, 1) if 100 * i >= percent * len(best))


def ranks(priorities):
    """Priorities as 0, 1, …, 0 the highest, and how many there are."""
    different = sorted(set(priorities))
    return {priority: different.index(priority) for priority in priorities}, len(different)


def bin_centre(rank, n_priorities, globmax, formula):
    """Centre of a priority's bin, as printed, or with the highest priority at the top."""
    bins = [
        (globmax * i / n_priorities, globmax * (i + 1) / n_priorities) for i in range(n_priorities)
    ]
    low, high = bins[rank] if formula == "paper" else bins[-1 - rank]
    return (low + high) / 2


def moments_of_cut_normal(mean, sd):
    """Mean and standard deviation of max(0, X), X normal."""
    density = math.exp(-((mean / sd) ** 2) / 2) / math.sqrt(2 * math.pi)
    above = (1 + math.erf(mean / sd / math.sqrt(2))) / 2
    first = mean * above + sd * density
    second = (mean**2 + sd**2) * above + mean * sd * density
    return first, math.sqrt(second - first**2)


def deadline(job, factor, kind):
    """When a job loses all its value: unknown waits are 0."""
    x = job["wait"] or 0
    if kind == "wait+run":
        x += job["run"]
    if kind == "wait+requested":
        x += job["requested_time"]
    return max(factor * x, 10)


def size_in_minutes(job):
    """Processors times requested minutes; of what was not requested, what was used."""
    procs = job["requested_procs"] or job["procs"]
    time = job["run"] if job["requested_time"] is None else job["requested_time"]
    return procs * time / 60


def draw(rng, kinds, mean, sd, size, last, n_points):
    """Kind and points of one function, its numbers drawn in the stated order.

    `kinds` are names with weights. First the kind, then the start value, times, values.
    """
    at = rng.random() * sum(kinds.values())
    names = list(kinds)
    passed = [sum(kinds[name] for name in names[: i + 1]) for i in range(len(names))]
    kind = next(name for name, weight in zip(names, passed, strict=True) if at < weight)
    start = max(0, mean + sd * rng.standard_normal()) * size
    if kind == "step":
        while True:
            time = rng.random() * last
            if time > 0 and time + EPSILON < last:
                break
        low = rng.random() * start
        return kind, [(0, start), (time, start), (time + EPSILON, low), (last, low)]
    times = []
    while len(times) < n_points:
        time = rng.random() * last
        if 0 < time < last and time not in times:
            times.append(time)
    values, below = [], start
    for _ in range(n_points):
        below = rng.random() * (below if kind == "exponential" else start)
        values.append(below)
    values.sort(reverse=True)
    return kind, [(0, start), *zip(sorted(times), values, strict=True), (last, 0)]


def mean_time(i, n_points):
    """Of the i-th of so many times in (0, 1), from 1."""
    return i / (n_points + 1)


def mean_value(kind, i, n_points):
    """Of the i-th inner point, from 1: order statistics, or halved with each point."""
    return 1 - i / (n_points + 1) if kind == "linear" else 0.5**i


def mean_with_one_point(time):
    """Mean value at a time in (0, 1) of a linear or exponential function of one inner point.

    The point (t, v) is uniform in the unit square. Where t > time the function has come from 1
    towards v, on average by time / 2t; else it goes from v, on average 1/2, to 0 at time 1.
    """
    before = (1 - time) + time * math.log(time) / 2  # integral of 1 - time / 2t, t from time to 1
    after = -(1 - time) * math.log(1 - time) / 2  # of (1 - time) / 2 (1 - t), t from 0 to time
    return before + after


def mean_of_steps(time):
    """Mean value at a time in (0, 1) of a step: still at the top, or anywhere below."""
    return (1 - time) + time / 2


def stretched(shape, start, last):
    """A shape made a function of this start value and deadline."""
    height, length = shape[0][1], shape[-1][0]
    return [(time / length * last, worth / height * start) for time, worth in shape]
