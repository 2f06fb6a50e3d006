"""Approximations of the re-open queue: jobs that arrive independently, and heavy load.

Further jobs raise the rate to X, and X (1 - E p(R)) = lam with R from M/M/c at X. This is exact
only for constant p. Iterating X = lam / (1 - E p) diverges at high load.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Literal, NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Exponential, Probability
from workloadkit.queueing.users_at_servers import idle_share

#: Average of p over the distribution of response times, or p at their mean.
Average = Literal["mm1", "mean"]

#: Range of shares of free capacity for the search.
_LEAST = 1e-60
#: Surplus, as a share of capacity, that indicates a jump of p instead of a rounding error.
_JUMP = 1e-6


@dataclass(frozen=True)
class RateStation:
    """M/M/c at stable points, by its share of free capacity.

    Parameters
    ----------
    free : ndarray
        1 - X S / c, above 0.
    S : ndarray
        Mean service time, above 0.
    servers : ndarray
    """

    free: Floats
    S: Floats
    servers: Floats

    @property
    def all_busy(self) -> Floats:
        """Probability of waiting, Erlang's C."""
        from scipy.special import gammaincc, gammaln, xlogy

        c = self.servers
        load = c * (1.0 - self.free)
        lost = np.exp(xlogy(c, load) - load - gammaln(c + 1.0)) / gammaincc(c + 1.0, load)
        return lost / (self.free + (1.0 - self.free) * lost)

    @property
    def slack(self) -> Floats:
        """Rate at which waits end: free capacity in jobs per unit of time."""
        return self.free * self.servers / self.S

    @property
    def X(self) -> Floats:
        """Throughput."""
        return (1.0 - self.free) * self.servers / self.S

    @property
    def R(self) -> Floats:
        """Mean response time."""
        return self.S * (1.0 + self.all_busy / (self.servers * self.free))

    def survival(self, t: Floats) -> Floats:
        """Return P(response > t): a service, possibly after an exponential wait."""
        rate, slack, busy = 1.0 / self.S, self.slack, self.all_busy
        low, gap = np.minimum(rate, slack), np.abs(rate - slack)
        x = gap * t
        # rate (e^(-slack t) - e^(-rate t)) / (rate - slack), also for equal rates
        with np.errstate(under="ignore"):
            share = np.divide(-np.expm1(-x), x, out=np.ones_like(x), where=x > 0)
            return np.exp(-rate * t) + busy * rate * t * np.exp(-low * t) * share

    def moment(self, order: int) -> Floats:
        """Return E[response^order]."""
        waits = sum(self.S**k * self.slack ** (k - order) for k in range(order))
        return factorial(order) * (self.S**order + self.all_busy * waits)

    def mean_of(self, p: Probability) -> Floats:
        """Return E p(response)."""
        if (self.servers == 1).all():  # response times are exponential
            return p.mean_exponential(self.slack)
        rate, slack, busy = 1.0 / self.S, self.slack, self.all_busy
        # for equal rates, a difference of 6e-6 is close to the limit
        middle = (rate + slack) / 2
        one = np.abs(rate - slack) < 6e-6 * middle
        low = np.where(one, middle * (1 - 3e-6), np.minimum(rate, slack))
        high = np.where(one, middle * (1 + 3e-6), np.maximum(rate, slack))
        longer = (high * p.mean_exponential(low) - low * p.mean_exponential(high)) / (high - low)
        return (1.0 - busy) * p.mean_exponential(rate) + busy * longer


def solve_total_rate(
    lam: Floats, p: Probability, S: Floats, servers: Floats, average: Average
) -> Floats:
    """Return all solutions as shares of free capacity.

    Parameters
    ----------
    lam, S, servers : ndarray, shape (n,)
        Stable points with S above 0.
    p : Probability
        Probability with parameters of the same shape.
    average : {"mm1", "mean"}

    Returns
    -------
    ndarray, shape (n, most)
        Descending (X ascends), padded with nan. For a p that never increases there is one
        solution, or none if p has a jump.
    """
    spare = idle_share(lam, S, servers)
    if average == "mm1" and isinstance(p, Exponential) and (servers == 1).all():
        # X = lam (mu + theta) / (lam + theta)
        return (p.theta * spare / (lam + p.theta))[:, None]
    args = (lam, S, servers, spare, *p.values.values())

    def surplus(log_free: Floats, *at: Floats) -> Floats:
        return departures(
            np.exp(log_free), p.with_values(dict(zip(p.names, at[4:], strict=True))), at, average
        )

    if p.falls:
        begin = np.full(lam.shape, np.log(_LEAST))
        return _root(surplus, begin, np.zeros(lam.shape), args)[:, None]
    grid = np.log(
        np.unique(np.concatenate([np.geomspace(_LEAST, 1, 240), np.linspace(0.01, 1, 160)]))
    )
    rows = []
    for i in range(lam.size):
        one = tuple(x[i] for x in args)
        above = surplus(grid, *one) > 0
        changes = np.flatnonzero(above[:-1] != above[1:])
        found = _root(surplus, grid[changes], grid[changes + 1], one)
        rows.append(found[np.isfinite(found)][::-1])
    solutions = np.full((lam.size, max([1, *map(len, rows)])), np.nan)
    for i, row in enumerate(rows):
        solutions[i, : len(row)] = row
    return solutions


def departures(free: Floats, p: Probability, at: tuple[Floats, ...], average: Average) -> Floats:
    """Return the excess of X (1 - E p(R)) over lam, as a share of capacity.

    It decreases with the free share if p never increases.
    """
    S, servers, spare = at[1:4]
    station = RateStation(free, *np.broadcast_arrays(S, servers, free)[:2])
    mean = station.mean_of(p) if average == "mm1" else p.at_times(station.R)
    return spare - free - (1.0 - free) * mean


def _root(
    surplus: Callable[..., Floats], begin: Floats, end: Floats, args: tuple[Floats, ...]
) -> Floats:
    """Find the root of the surplus between these logarithms; nan if it jumps over 0."""
    from scipy.optimize.elementwise import find_root

    if not begin.size:
        return begin
    found = find_root(
        surplus, (begin, end), args=args, tolerances={"xatol": 1e-15, "xrtol": 1e-15, "fatol": 0}
    )
    return np.where(found.success & (np.abs(found.f_x) < _JUMP), np.exp(found.x), np.nan)


# The re-open queue under heavy load, where its length regulates itself.
#
# With many waiting jobs, the servers are always busy, and users leave once response times are so
# long
# that c (1 - p(r)) / S = lam: the queue oscillates around this length.

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
