"""Distributions of response times in the re-open model, as mixtures of Erlang distributions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing.arguments import Flags, Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.reopening.thinkers import TAIL
from workloadkit.queueing.reopening.total_rate import RateStation

# Response times as mixtures of Erlang distributions.


def phases(shares: Floats, servers: int = 1) -> Floats:
    """Return the Erlang mixture of response times, from the numbers of other jobs met.

    Parameters
    ----------
    shares : ndarray, shape (n,)
        Share of jobs that find, or leave behind, m other jobs; m = 0, 1, ...
    servers : int, default 1

    Returns
    -------
    ndarray
        Share of jobs with an Erlang(k + 1) response time of rate servers / S; k = 0, 1, ...

    Examples
    --------
    >>> phases(np.array([0.5, 0.5])).tolist()
    [0.5, 0.5]
    """
    if servers == 1:
        return shares
    ahead = np.zeros(max(shares.size - servers + 1, 1) + TAIL * servers)
    ahead[0] = shares[:servers].sum()
    ahead[1 : max(shares.size - servers + 1, 1)] = shares[servers:]
    # the service is a geometric number of phases at the rate of all servers
    stays = 1.0 - 1.0 / servers
    return np.array(list(accumulate((ahead / servers).tolist(), lambda y, x: x + stays * y)))


def survival(weights: Floats, rate: float, t: Floats) -> Floats:
    """Return P(response > t), for `weights` from `phases` and rate servers / S."""
    from scipy.special import gammaln, xlogy

    x = np.minimum(np.ravel(t) * rate, 1e300)  # the survival is 0 there and at infinity
    k = np.arange(weights.size)
    # response > t: at most k phases, a Poisson number, have ended by t
    at_least = np.cumsum(weights[::-1])[::-1]
    longer = np.empty(x.size)
    step = max(1, 2_000_000 // weights.size)
    for begin in range(0, x.size, step):
        some = x[begin : begin + step, None]
        with np.errstate(under="ignore"):
            longer[begin : begin + step] = np.exp(xlogy(k, some) - some - gammaln(k + 1)) @ at_least
    return np.minimum(longer, 1.0).reshape(np.shape(t))


def moment(weights: Floats, rate: float, order: int) -> float:
    """Return E[response^order]; see `survival`."""
    k = np.arange(weights.size, dtype=np.float64)
    term = np.array(weights)
    for i in range(1, order + 1):
        term *= (k + i) / rate
    return float(term.sum())


Places = NDArray[np.intp]


class WaitLaw(NamedTuple):
    """Distribution of waits: a probability of none, and a density up to some time."""

    none: float
    density: Callable[[Floats], Floats]
    longest: float


class ResponseTimes(Protocol):
    """Response times of "any" job and of the "first" job of a user."""

    def survival(self, t: Floats, at: Places, job: str) -> Floats:
        """P(response > t) at points, for t of the same shape."""

    def moment(self, order: int, at: Places, job: str) -> Floats:
        """E[response^order] at points."""

    def waits(self, place: int) -> "WaitLaw":
        """Distribution of waits of any job at one point."""


@dataclass(frozen=True)
class Placed:
    """Distributions for a subset of points."""

    law: ResponseTimes
    #: By point: its index in the distribution; -1 if service takes no time or there is no solution.
    place: Places
    #: By point: mean and survival without a distribution, 0 or nan.
    without: Floats

    def survival(self, t: Floats, at: Places, job: str) -> Floats:  # noqa: D102
        times, longer = np.asarray(t), np.array(self.without[at])
        known = self.place[at] >= 0
        longer[known & (times == np.inf)] = 0.0
        longer[known & np.isnan(times)] = np.nan
        some = np.asarray(known & (times < np.inf))
        longer[some] = self.law.survival(times[some], self.place[at[some]], job)
        return longer

    def moment(self, order: int, at: Places, job: str) -> Floats:  # noqa: D102
        mean = np.array(self.without[at])
        some = np.asarray(self.place[at] >= 0)
        mean[some] = self.law.moment(order, self.place[at[some]], job)
        return mean

    def waits(self, place: int) -> WaitLaw:  # noqa: D102
        return self.law.waits(int(self.place[place]))


@dataclass(frozen=True)
class StationLaw:
    """Response times of M/M/c, equal for all jobs."""

    free: Floats
    S: Floats
    servers: Floats

    def survival(self, t: Floats, at: Places, job: str) -> Floats:  # noqa: D102
        return self._station(at).survival(t)

    def moment(self, order: int, at: Places, job: str) -> Floats:  # noqa: D102
        return self._station(at).moment(order)

    def waits(self, place: int) -> WaitLaw:  # noqa: D102
        station = self._station(np.asarray(place))
        busy, slack = float(station.all_busy), float(station.slack)
        return WaitLaw(1 - busy, lambda w: busy * slack * np.exp(-slack * w), 40 / slack)

    def _station(self, at: Places) -> RateStation:
        return RateStation(self.free[at], self.S[at], self.servers[at])


class Mixture(NamedTuple):
    """Weights of Erlang(1), Erlang(2), ... response times of any and first jobs, and the rate."""

    any: Floats
    first: Floats
    rate: float
    #: Share of jobs that wait for 0, 1, ... of these exponential times.
    waits: Floats

    def mean(self, job: str) -> float:
        """Return the mean response time."""
        return moment(getattr(self, job), self.rate, 1)


@dataclass(frozen=True)
class MixtureLaw:
    """Mixtures of Erlang distributions; None at points without one."""

    points: Sequence[Mixture | None]

    def survival(self, t: Floats, at: Places, job: str) -> Floats:  # noqa: D102
        longer = np.empty(at.shape)
        for here, mixture in self._asked(at):
            longer[here] = survival(getattr(mixture, job), mixture.rate, t[here])
        return longer

    def moment(self, order: int, at: Places, job: str) -> Floats:  # noqa: D102
        mean = np.empty(at.shape)
        for here, mixture in self._asked(at):
            mean[here] = moment(getattr(mixture, job), mixture.rate, order)
        return mean

    def waits(self, place: int) -> WaitLaw:  # noqa: D102
        mixture = self.points[place]
        assert mixture is not None
        rate, behind = mixture.rate, mixture.waits[1:]

        def density(w: Floats) -> Floats:
            from scipy.special import gammaln, xlogy

            # density of Erlang(i + 1): a Poisson number of i phases has ended, and one more ends
            i, x = np.arange(behind.size), rate * w[:, None]
            with np.errstate(under="ignore"):
                return rate * np.exp(xlogy(i, x) - x - gammaln(i + 1)) @ behind

        count = behind.size
        return WaitLaw(float(mixture.waits[0]), density, (count + 10 * np.sqrt(count) + 40) / rate)

    def _asked(self, at: Places) -> Iterator[tuple[Flags, Mixture]]:
        for place in np.unique(at):
            mixture = self.points[place]
            assert mixture is not None
            yield at == place, mixture


@dataclass(frozen=True)
class SwingLaw:
    """Mean and variance only; higher moments are nan."""

    mean: Floats
    variance: Floats

    def survival(self, t: Floats, at: Places, job: str) -> Floats:  # noqa: D102
        raise QueueingError("method is 'fluid', which only gives mean and variance of responses")

    def waits(self, place: int) -> WaitLaw:  # noqa: D102
        raise QueueingError("method is 'fluid', which only gives mean and variance of responses")

    def moment(self, order: int, at: Places, job: str) -> Floats:  # noqa: D102
        mean = self.mean[at]
        if order > 2:
            return np.full(mean.shape, np.nan)
        return mean if order == 1 else mean**2 + self.variance[at]
