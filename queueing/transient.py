"""Markovian queues in time: distributions before the steady state, and when it is reached.

The distribution at t is the mean of the chain of jumps after a Poisson number of steps
(uniformization, A. Jensen, "Markoff chains as an aid in the study of Markoff processes",
Skandinavisk Aktuarietidskrift 36, 1953): all terms are positive.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, numbers
from workloadkit.queueing.closed_users import ClosedResult
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.stations import Open
from workloadkit.queueing.waiting import birth_death

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Largest number of products.
_MOST_WORK = 2e10
_NEGLECTED = 1e-13  # share of time in states that are left out
_BLOCK = 256  # steps between products with the Poisson weights


@dataclass(frozen=True, eq=False)
class Transient(DisplayedResult):
    """The number of jobs at several times after a start.

    Parameters
    ----------
    t : ndarray, shape (n,)
    share : ndarray, shape (n, n_states)
        Probability of 0, 1, ... jobs at each time.
    mean, p_busy : ndarray, shape (n,)
        Mean number of jobs, and probability that all servers are busy.
    steady : ndarray, shape (n_states,)
        Probabilities in the steady state.
    """

    t: Floats
    share: Floats = field(repr=False)
    mean: Floats
    p_busy: Floats
    steady: Floats = field(repr=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per time."""
        import pandas as pd

        return pd.DataFrame({"t": self.t, "mean": self.mean, "p_busy": self.p_busy})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean number of jobs over time, and its steady state."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        order = np.argsort(self.t)
        ax.plot(self.t[order], self.mean[order], label="mean number of jobs")
        steady = self.steady @ np.arange(self.steady.size)
        ax.axhline(float(steady), color="0.5", linestyle="--", label="steady state")
        ax.set(xlabel="time t, in the unit of S", ylabel="number of jobs")
        ax.legend()
        return ax


@dataclass(frozen=True)
class _Chain:
    """Rates up from 0, 1, ..., and down from 1, 2, ...; servers, all busy from there on."""

    up: Floats
    down: Floats
    servers: float

    @property
    def rate(self) -> float:
        """Rate of jumps of the uniform chain."""
        return float((np.append(self.up, 0.0) + np.insert(self.down, 0, 0.0)).max())

    @property
    def steady(self) -> Floats:
        return birth_death(self.up, self.down)

    def step(self, share: Floats) -> Floats:
        """Return the probabilities after a jump."""
        up, down = self.up / self.rate * share[:-1], self.down / self.rate * share[1:]
        after = share * self._stay()
        after[1:] += up
        after[:-1] += down
        return after

    def _stay(self) -> Floats:
        out = np.append(self.up, 0.0) + np.insert(self.down, 0, 0.0)
        return np.maximum(1 - out / self.rate, 0.0)


def transient(model: Open | ClosedResult, t: ArrayLike, start: int = 0) -> Transient:
    """Return the distribution of the number of jobs at times after a start.

    Parameters
    ----------
    model : Open or ClosedResult
        Result of `mm1`, `mmc`, `mminf`, `mmck` or `closed` at one point; the think times of closed
        users are exponential here.
    t : array_like, shape (n,)
        Times, 0 or more.
    start : int, default 0
        Jobs at time 0.

    Raises
    ------
    QueueingError
        If the model is not a birth-death process, or t is too long for the calculation.

    Examples
    --------
    An empty server at 80 % load fills slowly; in the steady state it has 4 jobs:

    >>> from workloadkit.queueing import mm1
    >>> transient(mm1(lam=0.8, S=1), [1, 10, 100]).mean.round(4).tolist()
    [0.5516, 2.0303, 3.7919]
    """
    times = np.atleast_1d(numbers("t", t))
    if times.ndim != 1 or not ((times >= 0) & (times < np.inf)).all():
        raise QueueingError(f"t is {quoted(t)}; it must be finite times, 0 or more")
    chain, share = _begin(model, start)
    _hold_work(chain, float(times.max(initial=0.0)))
    found = _after(chain, share, times)
    count = np.arange(share.size)
    busy = found[:, count >= chain.servers].sum(axis=1)
    return Transient(times, found, found @ count, busy, chain.steady)


def time_to_steady(model: Open | ClosedResult, tolerance: float = 0.01, start: int = 0) -> float:
    """Return the time after which the distribution of jobs is close to the steady state for good.

    Close means that no event differs in probability by more than the tolerance (total variation,
    which never increases). A simulation that begins with `start` jobs needs this warm-up.

    Parameters
    ----------
    model, start
        See `transient`.
    tolerance : float, default 0.01
        From above 0 to below 1.

    Raises
    ------
    QueueingError
        If the model is not a birth-death process, or the calculation is too long.

    Examples
    --------
    >>> from workloadkit.queueing import mm1
    >>> [round(time_to_steady(mm1(lam=lam, S=1)), 1) for lam in (0.5, 0.8, 0.9)]
    [14.6, 112.4, 475.9]
    """
    if not 0 < tolerance < 1:
        raise QueueingError(f"tolerance is {quoted(tolerance)}; it must be between 0 and 1")
    chain, share = _begin(model, start)
    steady = chain.steady

    def far(share: Floats) -> bool:
        return float(np.abs(share - steady).sum()) / 2 > tolerance

    if not far(share):
        return 0.0
    begin, step = 0.0, 1 / chain.rate
    while far(later := _after(chain, share, np.array([step]))[0]):
        begin, share = begin + step, later
        step = begin
        _hold_work(chain, begin + step)
    while step > 1e-7 * (begin + step):
        step /= 2
        later = _after(chain, share, np.array([step]))[0]
        if far(later):
            begin, share = begin + step, later
    return begin + step


def _begin(model: Open | ClosedResult, start: int) -> tuple[_Chain, Floats]:
    """Return the chain of the number of jobs, and its probabilities at time 0."""
    if isinstance(start, bool) or start != int(start) or start < 0:
        raise QueueingError(f"start is {quoted(start)}; it must be a whole number, 0 or more")
    chain = _chain_of(model, int(start))
    if start > chain.down.size:
        raise QueueingError(f"start is {start}; at most {chain.down.size} jobs are possible")
    share = np.zeros(chain.down.size + 1)
    share[int(start)] = 1.0
    return chain, share


def _chain_of(model: Open | ClosedResult, start: int) -> _Chain:
    known = model.parameters
    if model.shape:
        raise QueueingError(f"the model has points of shape {model.shape}; it must be one point")
    known_rates = isinstance(model, ClosedResult) or "birth and death" in model.exactness
    if model.exactness.error or not known_rates:
        raise QueueingError(f"the model ({model.exactness}) is not a birth-death process")
    S = float(known["S"])
    servers = float(known.get("servers", 1.0))
    if S <= 0:
        raise QueueingError(f"S is {S:g}; it must be above 0")
    if isinstance(model, ClosedResult):
        N, Z = float(known["N"]), float(known["Z"])
        if N != int(N) or Z <= 0:
            raise QueueingError(f"N is {N:g} and Z {Z:g}; N must be whole, and Z above 0")
        n = np.arange(1.0, N + 1)
        return _Chain((N - n + 1) / Z, np.minimum(n, servers) / S, servers)
    lam = float(known["lam"])
    if lam == 0:
        raise QueueingError("lam is 0; it must be above 0")
    if model.U == 0:  # unlimited servers
        servers = np.inf
    most = int(known["K"]) if "K" in known else start + _likely(model)
    n = np.arange(1.0, most + 1)
    return _Chain(np.full(most, lam), np.minimum(n, servers) / S, servers)


def _likely(model: Open) -> int:
    """Return a number of jobs that is exceeded with a negligible probability.

    A queue that begins with n jobs never has more than n plus those of a stationary one.
    """
    most = 16 + int(float(np.asarray(model.Q)))
    while float(np.asarray(model.pmf(most))) * max(float(np.asarray(model.Q)), 1) > _NEGLECTED:
        most += most // 4
    return most


def _after(chain: _Chain, share: Floats, times: Floats) -> Floats:
    """Return the probabilities after each time."""
    from scipy.stats import poisson

    jumps = chain.rate * times
    last = int(poisson.isf(1e-16, jumps.max(initial=0.0))) + 1
    found = np.zeros((times.size, share.size))
    for begin in range(0, last + 1, _BLOCK):
        steps = np.arange(begin, min(begin + _BLOCK, last + 1))
        states = np.empty((steps.size, share.size))
        for i in range(steps.size):
            states[i] = share
            share = chain.step(share)
        found += poisson.pmf(steps, jumps[:, None]) @ states
    return found / found.sum(axis=1, keepdims=True)


def _hold_work(chain: _Chain, time: float) -> None:
    work = chain.rate * time * (chain.down.size + 1)
    if work > _MOST_WORK:
        raise QueueingError(
            f"t is {time:.3g}: {work:.3g} products are needed, and the limit is {_MOST_WORK:.3g}"
        )
