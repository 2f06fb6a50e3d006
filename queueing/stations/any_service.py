"""One server with general service, constant service, jobs in batches, or vacations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing._kernels import helper, kernel
from workloadkit.queueing.arguments import Condition, Flags, Floats, Value, not_negative, plain
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.result import Places
from workloadkit.queueing.stations.exponential_service import Open, in_one_line
from workloadkit.queueing.users_at_servers import idle_share, stable


@dataclass(frozen=True, eq=False)
class _AnyService(Open):
    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S, scv = p["lam"], p["S"], p.get("scv", 0.0)
        return in_one_line(lam, S, 1.0, lam * S * S * (1 + scv) / (2 * idle_share(lam, S)), lam * S)

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise _unknown("the distribution of response times")

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise _unknown("the distribution of waits")

    def _number(self, n: Floats, at: Places) -> Floats:
        raise _unknown("the distribution of numbers")

    def _all_busy(self, at: Places) -> Floats:
        return np.ravel(self.p_wait)[at]

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise _unknown("moments of response times beyond the first")
        return np.ravel(self.R)[at]


@dataclass(frozen=True, eq=False)
class _EqualService(_AnyService):
    def ppf(self, q: ArrayLike, job: str | None = None) -> Value:
        """Return the quantile of the response time at probability q; see `ModelResult.ppf`.

        It is S for q up to 1 − lam S, the share of jobs that do not wait.
        """
        found = np.asarray(super().ppf(q, job))
        share, at = self._broadcast("q", q)
        lam, S = self._at("lam", at), self._at("S", at)
        return plain(np.where(share <= idle_share(lam, S), S, np.maximum(found, S)))

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        S = self._at("S", at)
        waited = self._wait_survival(np.maximum(t - S, 0), at, job)
        return np.where((t < S) & (S > 0), 1.0 + 0.0 * waited, waited)

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        lam, S = self._at("lam", at).ravel(), self._at("S", at).ravel()
        with np.errstate(over="ignore"):
            t = np.divide(t.ravel(), S, out=np.full(S.shape, np.inf), where=S > 0)
        found = wait_survival(t, np.where(S > 0, lam * S, 0.0), idle_share(lam, S))
        return np.where(np.isnan(lam), np.nan, found).reshape(at.shape)

    def _number(self, n: Floats, at: Places) -> Floats:
        raise QueueingError("no formula for the distribution of numbers in M/D/1 is offered")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        lam, S = self._at("lam", at), self._at("S", at)
        ratio = lam * S / idle_share(lam, S)
        wait = [np.ones(at.shape)]  # L. Takács 1962: moments of the wait, in service times
        for k in range(1, order + 1):
            terms = (math.comb(k, i) / (i + 1) * wait[k - i] for i in range(1, k + 1))
            wait.append(ratio * sum(terms))
        return S**order * sum(math.comb(order, i) * wait[i] for i in range(order + 1))


def mg1(lam: ArrayLike, S: ArrayLike, scv: ArrayLike) -> Open:
    """Solve M/G/1: one server, general service times (Pollaczek and Khinchine [1]_).

    W = lam S² (1 + scv) / (2 (1 − lam S)).

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < 1.
    S : array_like
        Mean service time, 0 or more.
    scv : array_like
        Squared coefficient of variation of service times, variance over squared mean; 0 or more.

    Returns
    -------
    Open
        See `mm1`. Two moments of service determine only the mean response time: `sf`, `cdf` and
        `ppf` raise `QueueingError`.

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
    .. [1] L. Kleinrock, "Queueing Systems", volume 1, Wiley, 1975, section 5.6.

    Examples
    --------
    >>> mg1(lam=0.5, S=1, scv=[0, 1, 25]).R.tolist()
    [1.5, 2.0, 14.0]
    """
    rules = [not_negative("scv"), stable("be below 1 / S, the server's capacity")]
    return _AnyService.at(mg1, rules, "exact, Pollaczek and Khinchine", lam=lam, S=S, scv=scv)


@dataclass(frozen=True, eq=False)
class _Batches(_AnyService):
    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        rate, S, size = p["lam"] * p["size"], p["S"], p["size"]
        idle = 1 - rate * S
        others = (size * (1 + p["scv_size"]) - 1) / 2  # of the batch that are served before a job
        W = (rate * S * S * (1 + p["scv"]) / 2 + others * S) / idle
        return in_one_line(rate, S, 1.0, W, 1 - idle / size)


def batches(
    lam: ArrayLike, S: ArrayLike, scv: ArrayLike, size: ArrayLike, scv_size: ArrayLike
) -> Open:
    """Solve M^X/G/1: jobs arrive in batches, and are served one by one in their order.

    W = (lam b S² (1 + scv) / 2 + S (b (1 + scv_size) − 1) / 2) / (1 − lam b S), with b = size [1]_.

    Parameters
    ----------
    lam : array_like
        Batches per unit of time, 0 or more; lam size S < 1.
    S, scv : array_like
        Mean and squared coefficient of variation of service times, 0 or more.
    size, scv_size : array_like
        Mean number of jobs of a batch, 1 or more, and its squared coefficient of variation.

    Returns
    -------
    Open
        See `mg1`; measures are those of jobs, and X is lam size.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] M. L. Chaudhry, J. G. C. Templeton, "A First Course in Bulk Queues", Wiley, 1983.

    Examples
    --------
    Two jobs at a time, where one is served at once:

    >>> batches(lam=0.25, S=1, scv=1, size=[1, 2], scv_size=0).W.round(4).tolist()
    [0.3333, 2.0]
    """

    def holds(p: Mapping[str, Floats]) -> Flags:
        return p["lam"] * p["size"] * p["S"] < 1

    rules = [not_negative(name) for name in ("scv", "scv_size")]
    rules += [
        Condition("size", lambda p: (p["size"] >= 1) & (p["size"] < np.inf), "be 1 or more"),
        Condition("lam", holds, "be below 1 / (size S), the server's capacity"),
    ]
    given = {"lam": lam, "S": S, "scv": scv, "size": size, "scv_size": scv_size}
    return _Batches.at(batches, rules, "exact, Pollaczek and Khinchine", **given)


@dataclass(frozen=True, eq=False)
class _Vacations(_AnyService):
    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        found = _AnyService.solved(p)
        W = found["W"] + p["away"] * (1 + p["scv_away"]) / 2
        p_wait = np.where(p["away"] > 0, 1.0, found["p_wait"])
        return in_one_line(p["lam"], p["S"], 1.0, W, p_wait)


def vacations(
    lam: ArrayLike, S: ArrayLike, scv: ArrayLike, away: ArrayLike, scv_away: ArrayLike
) -> Open:
    """Solve M/G/1 with vacations: when the queue is empty, the server goes away for some time.

    If the queue is still empty when it returns, it goes again. The wait is that of `mg1`, and the
    remaining time of a vacation [1]_: W = lam S² (1 + scv) / (2 (1 − lam S)) + away (1 + scv_away)
    / 2.

    Parameters
    ----------
    lam, S, scv
        See `mg1`.
    away, scv_away : array_like
        Mean and squared coefficient of variation of the times away, 0 or more.

    Returns
    -------
    Open
        See `mg1`; every job waits, as the server is busy or away.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] B. T. Doshi, "Queueing systems with vacations: a survey", Queueing Systems 1(1), 1986.

    Examples
    --------
    >>> vacations(lam=0.5, S=1, scv=1, away=[0, 2], scv_away=0).W.tolist()
    [1.0, 2.0]
    """
    rules = [not_negative(name) for name in ("scv", "away", "scv_away")]
    rules.append(stable("be below 1 / S, the server's capacity"))
    given = {"lam": lam, "S": S, "scv": scv, "away": away, "scv_away": scv_away}
    return _Vacations.at(vacations, rules, "exact, Pollaczek and Khinchine", **given)


def md1(lam: ArrayLike, S: ArrayLike) -> Open:
    """Solve M/D/1: one server, constant service times.

    The distribution of waits is summed in the form of Franx [1]_, with positive terms (unlike
    Erlang's formula), and continued by its exponential tail, to a relative error of 1e-12 also in
    the tail (`tests/queueing/test_stations.py`).

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < 1.
    S : array_like
        Service time, 0 or more.

    Returns
    -------
    Open
        See `mm1`.

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
    .. [1] G. J. Franx, "A simple solution for the M/D/c waiting time distribution", Operations
       Research Letters 29(5), 2001.

    Examples
    --------
    >>> queue = md1(lam=0.5, S=1)
    >>> queue.R, queue.sf(1), round(queue.ppf(0.9), 6)
    (1.5, 0.5, 2.515745)
    """
    rule = stable("be below 1 / S, the server's capacity")
    return _EqualService.at(md1, [rule], "exact, embedded chain", lam=lam, S=S)


def _unknown(what: str) -> QueueingError:
    return QueueingError(f"scv does not determine {what}; mm1 (scv 1) and md1 (scv 0) do")


# Waits at one server with constant service time 1.

#: Time from which the tail is exponential to the last digit, and number of jobs counted for it.
_FAR, _MOST = 64, 128


@kernel
def wait_survival(t, load, idle):
    """Return P(wait > t) for t ≥ 0; idle is 1 - load.

    With k > t ≥ k - 1 whole and u = load (k - t), the wait is at most t if at most k - j jobs are
    present, where j is Poisson with mean u (G. J. Franx, "A simple solution for the M/D/c waiting
    time distribution", 2001); here for the complement, which also has positive terms.
    """
    found = np.empty(t.size)
    more = np.empty(_FAR + 1)
    decay, height = 0.0, 0.0
    for i in range(t.size):
        if load[i] == 0 or not t[i] < np.inf:
            found[i] = t[i] if np.isnan(t[i]) else 0.0
            continue
        if i == 0 or load[i] != load[i - 1] or idle[i] != idle[i - 1]:
            decay = _decay(load[i], idle[i])
            height = _height(decay, idle[i])
            _more_jobs(load[i], idle[i], decay, more)
        if t[i] >= _FAR:
            found[i] = height * math.exp(-decay * t[i])
            continue
        k = int(t[i]) + 1
        mean = load[i] * (k - t[i])
        here = math.exp(-mean)
        total = 0.0
        for j in range(k):
            total += here * more[k - j]
            here *= mean / (j + 1)
        j = k
        while here > 1e-17 * total:  # more than k - 1 arrivals
            total += here
            j += 1
            here *= mean / j
        found[i] = min(total, 1.0)
    return found


@helper
def _decay(load, idle):
    """Return the decay rate y of P(wait > t) for long t: load = y / (e^y - 1)."""
    goal = -math.log1p(-idle) if idle < 0.5 else -math.log(load)
    y = 2 * goal  # from above, Newton's steps never pass the root
    for _ in range(60):
        if y < 0.1:
            square = y * y
            value = y / 2 + square / 24 * (1 - square / 120 * (1 - square / 63))
            slope = 0.5 + y / 12 * (1 - square / 60 * (1 - square / 42))
        else:
            value = y + math.log(-math.expm1(-y) / y)
            slope = -1 / math.expm1(-y) - 1 / y
        step = (value - goal) / slope
        y -= step
        if not step > 1e-16 * y:
            break
    return y


@helper
def _height(decay, idle):
    """Return the factor of e^(-decay t) in P(wait > t) for long t, from the transform's pole."""
    if decay < 0.5:  # decay - 1 + e^-decay without cancellation
        term = decay * decay / 2
        rest = 0.0
        for n in range(3, 24):
            rest += term
            term *= -decay / n
    else:
        rest = decay + math.expm1(-decay)
    return idle * -math.expm1(-decay) / rest


@helper
def _more_jobs(load, idle, decay, more):
    """Compute P(more than n jobs), n = 0, 1, ..., from the balance of crossings of level n."""
    arrive = np.empty(_MOST + 60)  # P(more than n arrivals during a service)
    here = math.exp(-load)
    for n in range(arrive.size):
        arrive[n] = here
        here *= load / (n + 1)
    above = 0.0
    for n in range(arrive.size - 1, -1, -1):
        arrive[n], above = above, above + arrive[n]
    at = np.empty(_MOST + 1)
    at[0] = idle
    for n in range(_MOST):
        up = at[0] * arrive[n]
        for i in range(1, n + 1):
            up += at[i] * arrive[n + 1 - i]
        at[n + 1] = up * math.exp(load)
    total = at[_MOST] / math.expm1(decay)  # geometric beyond
    for n in range(_MOST - 1, -1, -1):
        total += at[n + 1]
        if n <= _FAR:
            more[n] = total
