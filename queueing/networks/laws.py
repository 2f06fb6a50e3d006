"""Operational laws: relations between throughput, numbers and times of any system.

They hold for averages measured over any interval with as many arrivals as departures, for any
distributions and order of service [1]_.

.. [1] P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM
   Computing Surveys 10(3), 1978.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    count,
    not_negative,
    numbers,
    plain,
    points,
    positive,
)
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.model import finite_not_negative, hold


def utilization_law(X: ArrayLike, S: ArrayLike, servers: ArrayLike = 1) -> Value:
    """Return U = X S / c, the utilization of a server.

    Parameters
    ----------
    X : array_like
        Completions per unit of time.
    S : array_like
        Mean service time per completion.
    servers : array_like, default 1

    Examples
    --------
    >>> utilization_law(X=40, S=0.025, servers=2)
    0.5
    """
    at = points([not_negative("X"), not_negative("S"), count("servers")], X=X, S=S, servers=servers)
    return _product(at["X"], at["S"] / at["servers"])


def littles_law(X: ArrayLike, R: ArrayLike) -> Value:
    """Return Q = X R, the mean number of jobs.

    Parameters
    ----------
    X : array_like
        Completions per unit of time.
    R : array_like
        Mean time of a job in the system.

    Examples
    --------
    >>> littles_law(X=2, R=[1, 3])
    array([2., 6.])
    """
    at = points([not_negative("X"), not_negative("R")], X=X, R=R)
    return _product(at["X"], at["R"])


def forced_flow_law(X: ArrayLike, visits: ArrayLike) -> Value:
    """Return X_k = V_k X, the throughput of a station.

    Parameters
    ----------
    X : array_like
        Throughput of the system.
    visits : array_like
        Visits of a job to the station.

    Examples
    --------
    >>> forced_flow_law(X=0.5, visits=[20, 8])
    array([10.,  4.])
    """
    at = points([not_negative("X"), not_negative("visits")], X=X, visits=visits)
    return _product(at["X"], at["visits"])


def interactive_response_time(N: ArrayLike, X: ArrayLike, Z: ArrayLike) -> Value:
    """Return R = N/X - Z, the mean response time of users with think times.

    Parameters
    ----------
    N : array_like
        Number of users.
    X : array_like
        Completions per unit of time.
    Z : array_like
        Mean think time.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or X exceeds N / Z.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    Examples
    --------
    >>> interactive_response_time(N=20, X=0.5, Z=30)
    10.0
    """
    rules = [not_negative("N"), positive("X"), not_negative("Z")]
    most = Condition("X", _few_enough, "be at most N / Z")
    at = points([*rules, most], N=N, X=X, Z=Z)
    with np.errstate(over="ignore"):
        return plain(np.maximum(at["N"] / at["X"] - at["Z"], 0.0))


def _few_enough(p: Mapping[str, Floats]) -> Flags:
    rounding = 4 * np.finfo(np.float64).eps
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return p["N"] / p["X"] >= p["Z"] * (1 - rounding)


def _product(left: Floats, right: Floats) -> Value:
    with np.errstate(over="ignore"):
        return plain(left * right)


class Bottleneck(NamedTuple):
    """The station that limits throughput.

    Parameters
    ----------
    station : int
        Index of the station; the first if several.
    D_max : float
        Demand per server.
    X_max : float
        Maximum throughput, 1/D_max.
    N_star : float
        Population above which jobs must queue, (ΣD + Z)/D_max.
    """

    station: int
    D_max: float
    X_max: float
    N_star: float


def bottleneck(demands: ArrayLike, Z: float = 0.0, servers: ArrayLike = 1) -> Bottleneck:
    """Return the station that limits throughput, and the limit.

    Parameters
    ----------
    demands : array_like, shape (K,)
        Service demand of a job at each station, over all visits.
    Z : float, default 0
        Think time.
    servers : array_like, shape (K,), default 1
        Servers of each station; inf for a delay station.

    Examples
    --------
    >>> bottleneck([0.605, 2.1, 1.35], Z=15).station
    1
    """
    demand, think, c = numbers("demands", demands), numbers("Z", Z), numbers("servers", servers)
    if demand.ndim != 1 or not demand.size:
        raise QueueingError(f"the shape of demands is {demand.shape}; it must be (K,)")
    hold("demands", demand, finite_not_negative, "be finite, 0 or more")
    hold("Z", think, finite_not_negative, "be finite, 0 or more")
    hold("servers", c, lambda v: v >= 1, "be 1 or more")
    if think.ndim or c.ndim > 1 or c.size not in (1, demand.size):
        raise QueueingError("Z must be one number, servers one or as many as demands")
    each = demand / c
    station = int(np.argmax(each))
    top = float(each[station])
    if top == 0:
        raise QueueingError("demands are all 0 or pure delays; no station limits throughput")
    return Bottleneck(station, top, 1 / top, float((demand.sum() + think) / top))
