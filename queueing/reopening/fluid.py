"""The re-open queue under heavy load, where its length regulates itself.

With many waiting jobs, the servers are always busy, and users leave once response times are so long
that c (1 - p(r)) / S = lam: the queue oscillates around this length.
"""

from typing import NamedTuple

import numpy as np

from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Probability

#: Largest variance of response times, relative to the squared mean backlog, for the approximation.
WIDEST = 1.0


class Swing(NamedTuple):
    """Mean and variance of response times that oscillate around their mean."""

    mean: float
    variance: float


def solve_fluid(lam: float, p: Probability, S: float, servers: int) -> Swing:
    """Return mean and variance of response times under heavy load, to second order.

    The variance is that of a queue with delayed feedback and drift; it affects the mean if p is
    curved.

    Raises
    ------
    QueueingError
        If the queue is not long enough, or oscillates too much.
    """
    from scipy.optimize import brentq

    target = 1.0 - lam * S / servers
    if not p.falls:
        raise QueueingError("p increases with r; method 'fluid' needs a decreasing p")
    if not float(p.first) > target > float(p.limit):
        raise QueueingError(
            f"lam is {lam:g}; for method 'fluid' it must be above servers (1 - p(0)) / S = "
            f"{servers * (1 - float(p.first)) / S:g}, for a long queue"
        )

    def variance(r: float) -> float:
        # variances: of the number at the servers, of the services waited for, and of the own
        # service
        between = S / servers
        swing = lam * between**2 / np.abs(p.slope(np.asarray(r)))
        return float(swing) + max(r - S, 0.0) * between + S**2

    def excess(r: float) -> float:
        at = np.asarray(r)
        return float(p.at_times(at) + p.curvature(at) * variance(r) / 2) - target

    def first_order(r: float) -> float:
        return float(p.at_times(np.asarray(r))) - target

    high = S
    while first_order(high) > 0:
        high *= 2
    held = brentq(first_order, 0.0, high)
    low, high = held / 2, held * 2
    if excess(low) > 0 > excess(high):
        mean = float(brentq(excess, low, high, xtol=1e-14 * held, rtol=1e-14))
        # time to empty the queue without arrivals
        backlog = mean - S + S / servers
        if backlog > 0 and variance(mean) <= WIDEST * backlog**2:
            return Swing(mean, variance(mean))
    raise QueueingError(
        f"lam is {lam:g}; method 'fluid' needs a p that changes slowly over the response times at "
        f"this load, which would be about {held:g} and vary more than that"
    )
