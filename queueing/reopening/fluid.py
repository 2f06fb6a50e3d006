"""The re-open queue under heavy load, where it holds its own length.

If many jobs wait, the servers are always busy, and users stay away once responses are so long that
c (1 - p(r)) / S = lam: around this length the queue swings like a spring.
"""

from typing import NamedTuple

import numpy as np

from queueing.errors import QueueingError
from queueing.probability import Probability

#: Largest variance of responses, over the square of the mean backlog, that is a swing around it.
WIDEST = 1.0


class Swing(NamedTuple):
    """Responses that swing around their mean."""

    mean: float
    variance: float


def solve_fluid(lam: float, p: Probability, S: float, servers: int) -> Swing:
    """Return mean and variance of responses under heavy load, to second order.

    The variance is that of a queue that reacts with delay and drift; it enters the mean where p is
    curved.

    Raises
    ------
    QueueingError
        If the queue is not long, or swings too widely, for that.
    """
    from scipy.optimize import brentq

    target = 1.0 - lam * S / servers
    if not p.falls:
        raise QueueingError("p rises with r; method 'fluid' is for one that falls")
    if not float(p.first) > target > float(p.limit):
        raise QueueingError(
            f"lam is {lam:g}; for method 'fluid' it must be above servers (1 - p(0)) / S = "
            f"{servers * (1 - float(p.first)) / S:g}, so that the queue stays long"
        )

    def variance(r: float) -> float:
        # of the number at the servers, of the services that a job waits for, and of its own
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
        # how long a server would have work if no more came
        backlog = mean - S + S / servers
        if backlog > 0 and variance(mean) <= WIDEST * backlog**2:
            return Swing(mean, variance(mean))
    raise QueueingError(
        f"lam is {lam:g}; method 'fluid' is for a p that changes slowly over the responses at this "
        f"load, which would be about {held:g}, and swing further than that"
    )
