"""Numbers of jobs, and waits, as distributions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, plain
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import ModelResult, Places, root


@dataclass(frozen=True, eq=False)
class WaitingResult(ModelResult):
    """Result of a model of jobs that wait for servers in the order of their arrivals."""

    def wait_sf(self, t: ArrayLike, job: str | None = None) -> Value:
        """Return the probability that the wait exceeds t, see `sf`; at 0, of any wait."""
        times, at = self._broadcast("t", t)
        found = self._wait_survival(np.maximum(times, 0.0), at, self._job(job))
        return plain(np.where(times < 0, np.where(np.isnan(found), np.nan, 1.0), found))

    def wait_cdf(self, t: ArrayLike, job: str | None = None) -> Value:
        """Return the probability that the wait is at most t; see `wait_sf`."""
        return plain(1 - np.asarray(self.wait_sf(t, job)))

    def wait_ppf(self, q: ArrayLike, job: str | None = None) -> Value:
        """Return the quantile of the wait at probability q; 0 if the job then does not wait."""
        share, at = self._broadcast("q", q)
        if not ((share >= 0) & (share <= 1)).all():
            raise QueueingError(f"q is {quoted(q)}; it must be from 0 to 1")
        job = self._job(job)
        some = self._wait_survival(np.zeros(share.shape), at, job)
        found = np.where(np.isnan(some), np.nan, 0.0)
        found[(some > 0) & (share == 1)] = np.inf
        inside = (share > 1 - some) & (share < 1)

        def above(t: Floats, place: Places, q: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return np.log(self._wait_survival(t, place, job)) - np.log1p(-q)

        if inside.any():
            mean = self._moment(1, at, job)[inside]
            found[inside] = root(above, mean, (at[inside], share[inside]))
        return plain(found)

    def pmf(self, n: ArrayLike) -> Value:
        """Return the share of time with n jobs of all kinds, waiting and in service.

        Parameters
        ----------
        n : array_like
            Whole numbers, broadcast against the points.
        """
        number, at = self._broadcast("n", n)
        if not (number == np.floor(number)).all():
            raise QueueingError(f"n is {quoted(n)}; it must be whole numbers")
        return plain(np.where(number < 0, 0.0, self._number(np.maximum(number, 0.0), at)))

    @property
    def p_busy(self) -> Value:
        """Share of time in which all servers are busy."""
        places = np.arange(int(np.prod(self.shape)), dtype=np.intp).reshape(self.shape)
        return plain(self._all_busy(places))

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        """P(wait > t) for t ≥ 0 at these points; arrays of one shape."""
        raise QueueingError("no formula is known for the distribution of waits in this model")

    def _number(self, n: Floats, at: Places) -> Floats:
        """P(n jobs) at these points."""
        raise QueueingError("no formula is known for the distribution of numbers in this model")

    def _all_busy(self, at: Places) -> Floats:
        raise QueueingError("no formula is known for the share of time with all servers busy")


def birth_death(up: Floats, down: Floats) -> Floats:
    """Return shares of time at 0, 1, ..., from rates up, and rates down from 1 on.

    Summed from the mode, so that large numbers neither overflow nor lose digits.
    """
    with np.errstate(divide="ignore"):
        steps = np.log(up) - np.log(down)
    sums = np.concatenate(([0.0], np.cumsum(steps)))
    share = np.exp(sums - sums.max())
    return share / share.sum()


def erlang_waits(met: Floats, servers: int, S: float, t: Floats) -> Floats:
    """Return P(wait > t) of jobs that meet 0, 1, ... jobs with these probabilities."""
    from scipy.special import gammaincc

    found = np.zeros(t.shape)
    if S == 0:
        return found
    for place, time in np.ndenumerate(t):
        stages = np.arange(1.0, met.size - servers + 1)
        found[place] = met[servers:] @ gammaincc(stages, servers * time / S)
    return found
