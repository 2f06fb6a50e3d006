"""The distributions of a site's users, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import shared
from workloadkit._kernels.local_time import DAY, DAY_BEGINS, DAY_LENGTH, WEEKDAYS

N_KINDS = 2  # interactive or not


class Samples(NamedTuple):
    """Values to draw, each as often as it occurs; times in whole seconds.

    The pools are stored consecutively: pool p has the sizes
    ``size[first_size[p] : first_size[p + 1]]``, and so on. Values common to all pools are stored
    once. Pools are the parts of the week, the kinds of batches, or for each part of the week the
    two kinds.

    Parameters
    ----------
    width, gap, think, pause : ndarray of int64
        Jobs of a batch; seconds between two of them; think times and breaks. [s]
    size, run, repetition : ndarray of int64
        Drawn together, they have as many sizes as run times, in pairs.
    first_width, first_gap, first_think, first_pause, first_size, first_run, first_repetition :
    ndarray of int64, shape (n_pools + 1,) or (2,)
    a, b : ndarray, shape (n_pools,) or (1,)
        The curve a / (b r + 1) of the probability to continue. [-, 1/min]
    by_hours : bool
        Whether the part of the week matters.
    interactive : ndarray, shape (n_parts, 3)
        By part of the week, the probability of an interactive batch as the first of its user, after
        an interactive one, and after another one. Without kinds there are no parts.
    """

    width: NDArray[np.int64]
    gap: NDArray[np.int64]
    think: NDArray[np.int64]
    pause: NDArray[np.int64]
    size: NDArray[np.int64]
    run: NDArray[np.int64]
    repetition: NDArray[np.int64]
    first_width: NDArray[np.int64]
    first_gap: NDArray[np.int64]
    first_think: NDArray[np.int64]
    first_pause: NDArray[np.int64]
    first_size: NDArray[np.int64]
    first_run: NDArray[np.int64]
    first_repetition: NDArray[np.int64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    by_hours: bool
    interactive: NDArray[np.float64]


@shared
def draw(rng, values):
    """Draw one of the values."""
    return values[int(rng.random() * values.size)]


@shared
def place_of(rng, first, pool):
    """Draw a place in a pool."""
    part = pool if first.size > 2 else 0
    return first[part] + int(rng.random() * (first[part + 1] - first[part]))


@shared
def draw_of(rng, values, first, pool):
    """Draw one of the values of a pool."""
    return values[place_of(rng, first, pool)]


@shared
def next_pool(rng, samples, now, before):
    """Return the pool of a batch that is submitted now, after one of the pool `before`, or -1."""
    period = period_of(now) if samples.by_hours else 0
    if samples.interactive.size == 0:
        return period
    after = 1 + before % N_KINDS if before >= 0 else 0
    kind = 0 if rng.random() < samples.interactive[period, after] else 1
    return N_KINDS * period + kind


@shared
def continues(samples, pool, response):
    """Return the probability that a session continues after a response time [s] [1]_, eq. 5.1.

    .. [1] E. Shmueli, PhD thesis, The Hebrew University of Jerusalem, 2008.
    """
    curve = pool if samples.a.size > 1 else 0
    return samples.a[curve] / (samples.b[curve] * (response / 60) + 1)


@shared
def period_of(now):
    """Return the part of the week, as `workloadkit.site.taking.period` does."""
    since = now - DAY_BEGINS
    if since // DAY % 7 >= WEEKDAYS:
        return 2
    return 0 if since % DAY < DAY_LENGTH else 1
