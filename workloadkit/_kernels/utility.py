"""Utility functions, compiled: their value at a time, and their random choice job by job."""

import numpy as np

from workloadkit._kernels.compile import helper, kernel


@helper
def value_at(first, time, value, job, at):
    """Value of a job at `at` seconds after its submission; 0 without a utility function.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
    time, value : ndarray of float64, shape (n_points,)
        As in `workloadkit.utility.Utilities`.
    job : int
    at : float
        Not negative. [s]

    Returns
    -------
    float
    """
    end = first[job + 1]
    point = first[job]
    while point < end and time[point] <= at:
        point += 1
    if point == first[job]:
        return 0.0
    before = point - 1
    if point == end:
        return value[before] if time[before] == at else 0.0
    part = (at - time[before]) / (time[point] - time[before])
    return value[before] + (value[point] - value[before]) * part


# Draw utility functions, job by job.

LINEAR, EXPONENTIAL, STEP = range(3)

#: Duration of a jump in value. [s]
EPSILON = 0.001


@kernel
def draw_functions(rng, kinds, passed, mean, sd, size, deadline, n_inner):
    """Draw the utility function of every job.

    Draws for each job, in this order: the kind of decay, by one random(); the start value, by one
    standard_normal(); the inner times, repeated until they lie between the others; the inner
    values.

    Parameters
    ----------
    rng : Generator
    kinds : ndarray of int64, shape (n_kinds,)
        Of LINEAR, EXPONENTIAL and STEP.
    passed : ndarray of float64, shape (n_kinds,)
        Their cumulative weights.
    mean : ndarray of float64, shape (n_jobs,)
        Of the value of a processor-minute.
    sd : float
        Its standard deviation.
    size : ndarray of float64, shape (n_jobs,)
        Processors times minutes requested.
    deadline : ndarray of float64, shape (n_jobs,)
        When all value is lost, at least 10. [s]
    n_inner : int
        Points between the first and the last, except for steps.

    Returns
    -------
    first : ndarray of int64, shape (n_jobs + 1,)
    time, value : ndarray of float64, shape (n_points,)
        As in `workloadkit.utility.Utilities`.
    """
    n_jobs = size.size
    most = max(n_inner + 2, 4)
    first = np.zeros(n_jobs + 1, np.int64)
    time = np.zeros(n_jobs * most)
    value = np.zeros(n_jobs * most)
    for job in range(n_jobs):
        at = first[job]
        drawn = rng.random() * passed[-1]
        kind = 0
        while kind < kinds.size - 1 and drawn >= passed[kind]:
            kind += 1
        start = max(0.0, mean[job] + sd * rng.standard_normal()) * size[job]
        value[at] = start
        if kinds[kind] == STEP:
            n_points = 4
            draw_step(rng, time[at : at + 4], value[at : at + 4], deadline[job])
        else:
            n_points = n_inner + 2
            time[at + n_points - 1] = deadline[job]
            draw_times(rng, time[at + 1 : at + 1 + n_inner], deadline[job])
            falls = kinds[kind] == EXPONENTIAL
            draw_values(rng, value[at + 1 : at + 1 + n_inner], start, falls)
        first[job + 1] = at + n_points
    return first, time[: first[-1]].copy(), value[: first[-1]].copy()


@kernel
def draw_shapes(rng, n_shapes):
    """Draw one of `n_shapes` shapes for each job, by one random(), and one standard_normal().

    Parameters
    ----------
    rng : Generator
    n_shapes : ndarray of int64, shape (n_jobs,)

    Returns
    -------
    shape : ndarray of int64, shape (n_jobs,)
    normal : ndarray of float64, shape (n_jobs,)
    """
    shape = np.empty(n_shapes.size, np.int64)
    normal = np.empty(n_shapes.size)
    for job in range(n_shapes.size):
        shape[job] = min(int(rng.random() * n_shapes[job]), n_shapes[job] - 1)
        normal[job] = rng.standard_normal()
    return shape, normal


@helper
def draw_step(rng, time, value, deadline):
    """Fill in the points of a step: the start value up to a time, then less, to the deadline."""
    drop = 0.0
    while not (drop > 0 and drop + EPSILON < deadline):
        drop = rng.random() * deadline
    time[1], time[2], time[3] = drop, drop + EPSILON, deadline
    value[1] = value[0]
    value[2] = value[3] = rng.random() * value[0]


@helper
def draw_times(rng, time, deadline):
    """Fill in distinct times between 0 and the deadline, ascending."""
    for i in range(time.size):
        found = False
        while not found:
            drawn = rng.random() * deadline
            place = i
            while place > 0 and time[place - 1] > drawn:
                place -= 1
            taken = place > 0 and time[place - 1] == drawn
            found = 0 < drawn < deadline and not taken
        for later in range(i, place, -1):
            time[later] = time[later - 1]
        time[place] = drawn


@helper
def draw_values(rng, value, start, falls):
    """Fill in values, descending: each below `start`, or below the previous one if it `falls`."""
    for i in range(value.size):
        drawn = rng.random() * (value[i - 1] if falls and i > 0 else start)
        place = i
        while place > 0 and value[place - 1] < drawn:
            place -= 1
        for later in range(i, place, -1):
            value[later] = value[later - 1]
        value[place] = drawn
