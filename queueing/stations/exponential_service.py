"""Open stations, and those with exponential service: one, several or unlimited servers."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    count,
    not_negative,
    plain,
    points,
)
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness, Places, again
from workloadkit.queueing.truncated_poisson import at_most
from workloadkit.queueing.users_at_servers import idle_share, stable, steps
from workloadkit.queueing.waiting import WaitingResult
from workloadkit.queueing.waits import erlang_c

# Common parts of open stations.

_MOST_LOAD = 1e100


@dataclass(frozen=True, eq=False)
class Open(WaitingResult):
    """Poisson arrivals, one queue, and servers that take jobs first come, first served.

    Parameters
    ----------
    parameters, exactness, solve
        See `ModelResult`.
    X : float or ndarray
        Served jobs per unit of time.
    R : float or ndarray
        Mean response time, W plus service. If lam is 0, that of a single job.
    Q : float or ndarray
        Mean number of jobs in the system.
    U : float or ndarray
        Utilization of a server.
    W : float or ndarray
        Mean wait, including jobs that do not wait.
    Lq : float or ndarray
        Mean number of waiting jobs.
    p_wait : float or ndarray
        Share of jobs that wait.
    """

    measures: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U", "W", "Lq", "p_wait")
    jobs: ClassVar[tuple[str, ...]] = ("open",)
    #: Parameters that are whole numbers.
    whole: ClassVar[tuple[str, ...]] = ()

    X: Value
    R: Value
    Q: Value
    U: Value
    W: Value
    Lq: Value
    p_wait: Value

    @classmethod
    def at(
        cls,
        model: Callable[..., "Open"],
        rules: Iterable[Condition],
        exactness: str,
        **given: ArrayLike,
    ) -> Self:
        """Solve a model for the given parameters."""
        p = points((not_negative("lam"), not_negative("S"), *rules), **given)
        with np.errstate(over="ignore"):
            measures = {name: plain(value) for name, value in cls.solved(p).items()}
        stated = exactness if isinstance(exactness, Exactness) else Exactness(exactness)
        return cls(p, stated, partial(again, model, given), **measures)

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        """Return all measures; parameters may be complex, for derivatives."""
        raise NotImplementedError

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure with respect to a parameter, by a complex step.

        Parameters
        ----------
        of : str
            A measure.
        wrt : str
            Name of a parameter that is not a count.
        """
        self._check_derivative(of, wrt)
        if wrt in self.whole:
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number")
        value = self.parameters[wrt]
        step = steps(value)
        p = {**self.parameters, wrt: value + 1j * step}
        with np.errstate(all="ignore"):  # NaN points
            found = np.imag(self.solved(p)[of]) / step
        return plain(np.where(np.isnan(value), np.nan, found))

    def _laws(self) -> list[tuple[Value, Value]]:
        p = self.parameters
        return [
            (self.Q, self.X * self.R),
            (self.Lq, self.X * self.W),
            (self.U, self.X * p["S"] / p.get("servers", 1)),
        ]


def in_one_line(lam: Any, S: Any, servers: Any, W: Any, p_wait: Any) -> dict[str, Any]:
    """Return all measures of jobs without loss, from their waits."""
    R = S + W
    return {
        "X": lam + 0.0,
        "R": R,
        "Q": lam * R,
        "U": lam * S / servers,
        "W": W,
        "Lq": lam * W,
        "p_wait": p_wait + 0.0 * W,
    }


def bearable() -> Condition:
    """Return the condition that loads without a capacity limit can be multiplied."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        with np.errstate(all="ignore"):
            return p["lam"] * p["S"] <= _MOST_LOAD

    return Condition("lam", holds, f"be at most {_MOST_LOAD:g} / S")


@dataclass(frozen=True, eq=False)
class _Memoryless(Open):
    """Exponential service, and exponential waits of jobs that wait."""

    def _waits(self, at: Places) -> tuple[Floats, Floats]:
        """Share of jobs that wait, and the rate of leaving the queue, in service times."""
        raise NotImplementedError

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        t = self._in_services(t, at)
        share, rate = self._waits(at)
        waited = np.exp(-rate * t) + self._after_waiting(t, rate)
        found = (1 - share) * np.exp(-t) + share * waited
        return np.where(share + rate == 1, np.exp(-rate * t), found)  # one server

    def _distribution(self, t: Floats, at: Places, job: str) -> Floats:
        t = self._in_services(t, at)
        share, rate = self._waits(at)
        waited = -np.expm1(-rate * t) - self._after_waiting(t, rate)
        found = (share - 1) * np.expm1(-t) + share * waited
        return np.where(share + rate == 1, -np.expm1(-rate * t), found)

    @staticmethod
    def _after_waiting(t: Floats, rate: Floats) -> Floats:
        """Return the probability of being in service at t after a wait."""
        from scipy.special import exprel

        with np.errstate(over="ignore", under="ignore"):
            slower = np.exp(-np.minimum(rate, 1) * t)
            # 0 before the product becomes infinity times 0
            return np.where(slower > 0, rate * np.minimum(t, 1e300) * slower, 0.0) * exprel(
                -np.abs(1 - rate) * np.minimum(t, 1e300)
            )

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        share, rate = self._waits(at)
        waiting = self._in_services(t, at)
        return np.where(share == 0, 0.0 * share, share * np.exp(-rate * waiting))

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        share, rate = self._waits(at)
        total = np.ones(at.shape)
        for k in range(1, order + 1):
            total += share / rate**k
        return math.factorial(order) * self._at("S", at) ** order * total

    def _in_services(self, t: Floats, at: Places) -> Floats:
        S = self._at("S", at)
        with np.errstate(over="ignore"):
            return np.divide(t, S, out=np.where(S == 0, np.inf, np.nan), where=S > 0)


@dataclass(frozen=True, eq=False)
class _Servers(_Memoryless):
    whole: ClassVar = ("servers",)

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S = p["lam"], p["S"]
        servers = p.get("servers", np.ones(lam.shape))
        idle = idle_share(lam, S, servers)
        p_wait = erlang_c(lam * S, servers, idle)
        return in_one_line(lam, S, servers, p_wait * S / (servers * idle), p_wait)

    def _waits(self, at: Places) -> tuple[Floats, Floats]:
        lam, S = self._at("lam", at), self._at("S", at)
        servers = self._servers(at)
        return np.ravel(self.p_wait)[at], servers * idle_share(lam, S, servers)

    def _number(self, n: Floats, at: Places) -> Floats:
        from scipy.special import gammaln, xlogy

        load, servers = self._at("lam", at) * self._at("S", at), self._servers(at)
        wait, idle = self._all_busy(at), idle_share(self._at("lam", at), self._at("S", at), servers)
        below = np.minimum(n, servers - 1)
        poisson = np.exp(xlogy(below, load) - load - gammaln(below + 1))
        free = (1 - wait) * poisson / at_most(servers - 1, load)
        return np.where(n < servers, free, wait * idle * (1 - idle) ** np.maximum(n - servers, 0))

    def _all_busy(self, at: Places) -> Floats:
        return np.ravel(self.p_wait)[at]

    def _servers(self, at: Places) -> Floats:
        return self._at("servers", at) if "servers" in self.parameters else np.ones(at.shape)


@dataclass(frozen=True, eq=False)
class _Unlimited(_Memoryless):
    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        return in_one_line(p["lam"], p["S"], np.inf, 0.0 * p["S"], 0.0)

    def _waits(self, at: Places) -> tuple[Floats, Floats]:
        return np.zeros(at.shape), np.full(at.shape, 2.0)

    def _number(self, n: Floats, at: Places) -> Floats:
        from scipy.special import gammaln, xlogy

        load = self._at("lam", at) * self._at("S", at)
        return np.exp(xlogy(n, load) - load - gammaln(n + 1))

    def _all_busy(self, at: Places) -> Floats:
        return 0.0 * self._at("lam", at)

    def _laws(self) -> list[tuple[Any, Any]]:
        return [(self.Q, self.X * self.R)]


def mm1(lam: ArrayLike, S: ArrayLike) -> Open:
    """Solve M/M/1: one server, exponential service [1]_.

    R = S / (1 − lam S), and response times are exponential.

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < 1.
    S : array_like
        Mean service time, 0 or more.

    Returns
    -------
    Open
        With X, R, Q, U, W, Lq, p_wait; its job kind is "open".

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    References
    ----------
    .. [1] L. Kleinrock, "Queueing Systems", volume 1, Wiley, 1975, section 3.2.

    Examples
    --------
    >>> queue = mm1(lam=0.8, S=1)
    >>> print(f"{queue.R:g} {queue.Q:g} {queue.ppf(0.9):.6f}")
    5 4 11.512925
    """
    rule = stable("be below 1 / S, the server's capacity")
    return _Servers.at(mm1, [rule], "exact, birth and death", lam=lam, S=S)


def mmc(lam: ArrayLike, S: ArrayLike, servers: ArrayLike) -> Open:
    """Solve M/M/c: several servers, one queue, exponential service.

    A job waits with the probability of Erlang's formula C [1]_, for an exponential time of mean
    S / (c − lam S).

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < servers.
    S : array_like
        Mean service time, 0 or more.
    servers : array_like
        Number of servers c, 1 or more.

    Returns
    -------
    Open
        See `mm1`; U is per server.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    References
    ----------
    .. [1] A. K. Erlang, "Solution of some problems in the theory of probabilities of significance
       in automatic telephone exchanges", 1917.

    Examples
    --------
    >>> queue = mmc(lam=[1.5, 15, 150], S=1, servers=[2, 20, 200])
    >>> queue.p_wait.round(4).tolist()
    [0.6429, 0.1604, 0.0001]
    """
    rules = [count("servers"), stable("be below servers / S, their capacity")]
    return _Servers.at(mmc, rules, "exact, birth and death", lam=lam, S=S, servers=servers)


def mminf(lam: ArrayLike, S: ArrayLike) -> Open:
    """Solve M/M/∞: one server per job, so that no job waits.

    R = S. The number of jobs is Poisson with mean lam S, for any distribution of service times with
    mean S [1]_; response times are exponential.

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S at most 1e100.
    S : array_like
        Mean service time, 0 or more.

    Returns
    -------
    Open
        See `mm1`; U is 0, since Q of unlimited servers are busy.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    References
    ----------
    .. [1] L. Takács, "Introduction to the Theory of Queues", Oxford University Press, 1962.

    Examples
    --------
    >>> station = mminf(lam=3, S=2)
    >>> station.Q, station.R
    (6.0, 2.0)
    """
    return _Unlimited.at(mminf, [bearable()], "exact, birth and death", lam=lam, S=S)
