"""Jobs that are served together, and jobs of several tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Condition, Flags, Floats, Value, count
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.result import Exactness, Places
from workloadkit.queueing.stations.exponential_service import Open
from workloadkit.queueing.users_at_servers import stable


@dataclass(frozen=True, eq=False)
class _OfMeans(Open):
    """A model whose distribution of response times is not offered."""

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise QueueingError("no formula for the distribution of response times is offered")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise QueueingError("no formula for moments beyond the first is offered")
        return np.ravel(self.R)[at]


@dataclass(frozen=True, eq=False)
class _Bulk(_OfMeans):
    whole: ClassVar = ("size",)

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S = p["lam"], p["S"]
        load = lam * S
        r, rest = _ratio_of_numbers(load, p["size"])
        W = S * r / (rest * (rest + load))
        U = load / (rest + load)
        R = S + W
        Q, Lq = lam * R, lam * W
        return {"X": lam + 0.0, "R": R, "Q": Q, "U": U, "W": W, "Lq": Lq, "p_wait": U + 0.0}

    def _all_busy(self, at: Places) -> Floats:
        return np.ravel(self.U)[at]

    def _laws(self) -> list[tuple[Value, Value]]:
        return [(self.Q, self.X * self.R), (self.Lq, self.X * self.W)]


def _ratio_of_numbers(load: Any, size: Any) -> tuple[Any, Any]:
    """Return r in [0, 1) with r + r² + ... + r^size = load, and 1 - r; load may be complex."""
    goal = np.real(load)
    low, high = np.full(goal.shape, 1e-17), np.full(goal.shape, 700.0)
    with np.errstate(over="ignore"):
        for _ in range(60):  # x = -ln r
            x = np.sqrt(low * high)
            more = np.exp(-x) * np.expm1(-size * x) / np.expm1(-x) > goal
            low, high = np.where(more, x, low), np.where(more, high, x)
        r, ratio = np.exp(-x), np.expm1(-size * x) / np.expm1(-x)
        # a step of Newton's method gives the last digits, and derivatives by complex steps
        step = (r * ratio - load) / (ratio * (1 - size / np.expm1(size * x) + 1 / np.expm1(x)))
    return r - step, step - np.expm1(-x)


def bulk_service(lam: ArrayLike, S: ArrayLike, size: ArrayLike) -> Open:
    """Solve M/M/1 with bulk service: the server takes up to `size` waiting jobs at once [1]_.

    A service takes the same exponential time for any number of jobs. It begins as soon as there is
    a job; jobs that arrive during a service wait for the next. With r in (0, 1) such that
    r + r² + ... + r^size = lam S, the number of waiting jobs during a service is geometric:
    W = S r / ((1 - r) (1 - r + lam S)).

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < size.
    S : array_like
        Mean time of a service, 0 or more.
    size : array_like of int
        Most jobs of a service, 1 or more.

    Returns
    -------
    Open
        See `mm1`. U is the share of time in which the server works; a service has X S / U jobs in
        the mean.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] N. T. J. Bailey, "On queueing processes with bulk service", Journal of the Royal
       Statistical Society B 16(1), 1954; M. L. Chaudhry, J. G. C. Templeton, "A First Course in
       Bulk Queues", Wiley, 1983.

    Examples
    --------
    >>> bulk_service(lam=0.75, S=1, size=[1, 2]).R.round(4).tolist()
    [4.0, 1.8]
    """

    def holds(p: Mapping[str, Floats]) -> Flags:
        return p["lam"] * p["S"] < p["size"]

    rules = [count("size"), Condition("lam", holds, "be below size / S, the server's capacity")]
    return _Bulk.at(bulk_service, rules, "exact, chain of services", lam=lam, S=S, size=size)


#: Largest relative error of the response time next to simulations of 4 to 32 tasks, loads 0.1 to
#: 0.95: tests/queueing/test_more_stations.py.
_FORKED = Exactness("approximation: Nelson and Tantawi", R=0.05, Q=0.05)


@dataclass(frozen=True, eq=False)
class _ForkJoin(_OfMeans):
    measures: ClassVar = ("X", "R", "Q", "U", "W", "Lq", "p_wait", "R_low", "R_high")
    whole: ClassVar = ("tasks",)

    R_low: Value
    R_high: Value

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S, tasks = p["lam"], p["S"], p["tasks"]
        load = lam * S
        alone = S / (1 - load)
        longest = _harmonic(tasks)  # of independent exponential times with mean 1
        W = load * alone
        two = (1.5 - load / 8) * alone
        ratio = longest / 1.5
        R = np.where(tasks == 1, alone, two * (ratio + 4 / 11 * load * (1 - ratio)))
        return {
            "X": lam + 0.0,
            "R": R,
            "Q": lam * R,
            "U": load,
            "W": W,
            "Lq": lam * W,
            "p_wait": load + 0.0,
            "R_low": longest * S + W,
            "R_high": longest * alone,
        }

    def _all_busy(self, at: Places) -> Floats:
        raise QueueingError("no formula for the share of time with all servers busy is offered")

    def _laws(self) -> list[tuple[Value, Value]]:
        return [(self.Q, self.X * self.R), (self.Lq, self.X * self.W)]


def _harmonic(n: Floats) -> Floats:
    """Return 1 + 1/2 + ... + 1/n."""
    from scipy.special import digamma

    return np.asarray(digamma(n + 1) + np.euler_gamma)


def fork_join(lam: ArrayLike, S: ArrayLike, tasks: ArrayLike) -> Open:
    """Solve jobs of several tasks, each for a server of its own, that end with the last task.

    Tasks queue at their servers, first come, first served, with exponential service. One task is
    M/M/1, and for two the mean is exact, R = (12 - lam S) / 8 S / (1 - lam S) [1]_. For more tasks,
    R is interpolated between light and heavy loads [2]_; with H = 1 + 1/2 + ... + 1/tasks it is at
    least R_low = H S + lam S² / (1 - lam S), where the longest task waits like any other, and at
    most R_high = H S / (1 - lam S), where responses of tasks are independent.

    Parameters
    ----------
    lam : array_like
        Arrival rate of jobs, 0 or more; lam S < 1.
    S : array_like
        Mean service time of a task, 0 or more.
    tasks : array_like of int
        Tasks of a job, and servers; 1 or more.

    Returns
    -------
    Open
        X, R and Q are those of jobs; U, W, Lq and p_wait those of a server and its tasks. R_low and
        R_high are bounds on R.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] L. Flatto, S. Hahn, "Two parallel queues created by arrivals with two demands I", SIAM
       Journal on Applied Mathematics 44(5), 1984.
    .. [2] R. Nelson, A. N. Tantawi, "Approximate analysis of fork/join synchronization in parallel
       queues", IEEE Transactions on Computers 37(6), 1988.

    Examples
    --------
    >>> jobs = fork_join(lam=0.5, S=1, tasks=[1, 2, 8])
    >>> jobs.R.round(4).tolist()
    [2.0, 2.875, 4.7848]
    >>> jobs.R_low.round(4).tolist(), jobs.R_high.round(4).tolist()
    ([2.0, 2.5, 3.7179], [2.0, 3.0, 5.4357])
    """
    rules = [count("tasks"), stable("be below 1 / S, each server's capacity")]
    few = bool((np.asarray(tasks) <= 2).all())
    words = Exactness("exact, two queues") if few else _FORKED
    return _ForkJoin.at(fork_join, rules, words, lam=lam, S=S, tasks=tasks)
