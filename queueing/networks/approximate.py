"""Approximate mean value analysis: fixed points at the full population, without recursion."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.model import (
    NetworkPoint,
    NetworkResult,
    Speeds,
    read_network,
    solved,
)
from workloadkit.queueing.result import Exactness

#: From the model and the numbers (R, K) at full population: the numbers seen by each class r.
Seen = Callable[[NetworkPoint, Floats], Floats]

_CHANGE = 1e-13  # relative change of numbers at stations at which the iteration stops
_MOST_ROUNDS = 100_000


def bard_schweitzer(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike = 0.0,
    *,
    servers: ArrayLike | None = None,
    speeds: Speeds | None = None,
    visits: ArrayLike | None = None,
) -> NetworkResult:
    """Solve a closed network approximately by the Bard-Schweitzer method.

    An arriving job of class r sees the mean numbers of all other classes, and the share
    (N_r - 1)/N_r of the mean number of its own class [1]_ [2]_. A station with c servers is
    replaced by a server that is c times as fast and a delay of the remaining D (c - 1)/c [3]_.

    Parameters
    ----------
    demands, N, Z, servers, speeds, visits
        See `mva`; only the first and last speeds are used.

    References
    ----------
    .. [1] Y. Bard, "Some extensions to multiclass queueing network analysis", Performance of
       Computer Systems, 1979.
    .. [2] P. J. Schweitzer, "Approximate analysis of multiclass closed networks of queues",
       Stochastic Control and Optimization, 1979.
    .. [3] A. Seidmann, P. J. Schweitzer, S. Shalev-Oren, "Computerized closed queueing network
       models of flexible manufacturing systems", Large Scale Systems 12, 1987.

    Examples
    --------
    >>> round(bard_schweitzer([0.605, 2.1, 1.35], N=3, Z=15).X, 4)
    0.151
    """
    network = read_network(demands, N, Z, servers, speeds, visits)
    return solved(network, _schweitzer_point, _BARD_SCHWEITZER[bool(network.speeds)])


def linearizer(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike = 0.0,
    *,
    servers: ArrayLike | None = None,
    speeds: Speeds | None = None,
    visits: ArrayLike | None = None,
    iterations: int = 3,
) -> NetworkResult:
    """Solve a closed network approximately by Linearizer.

    The share of a class at each station is assumed to change equally when another job leaves; the
    change is estimated from solutions with one job less of each class, in three iterations [1]_. If
    classes would use slightly more (less than 1 %) than the capacity of a station, residence times
    there are increased to match it. Stations with several servers are treated as in
    `bard_schweitzer`.

    Parameters
    ----------
    demands, N, Z, servers, speeds, visits
        See `bard_schweitzer`.
    iterations : int, default 3
        Number of iterations; 1 is Bard-Schweitzer.

    References
    ----------
    .. [1] K. M. Chandy, D. Neuse, "Linearizer: a heuristic algorithm for queueing network models
       of computing systems", Comm. ACM 25(2), 1982; as in E. D. Lazowska et al., "Quantitative
       System Performance", 1984, and G. Bolch et al., "Queueing Networks and Markov Chains", 2006.

    Examples
    --------
    >>> round(linearizer([0.605, 2.1, 1.35], N=3, Z=15).X, 4)
    0.1515
    """
    if isinstance(iterations, bool) or iterations != int(iterations) or iterations < 1:
        raise QueueingError(
            f"iterations is {quoted(iterations)}; it must be a whole number, 1 or more"
        )
    network = read_network(demands, N, Z, servers, speeds, visits)

    def solve(model: NetworkPoint) -> tuple[Floats, Floats]:
        return _linearized(model, int(iterations))

    return solved(network, solve, _LINEARIZER[bool(network.speeds)])


def approximate_rates(model: NetworkPoint) -> Floats:
    """Return the Bard-Schweitzer throughputs by class; 0 for classes without jobs."""
    return _schweitzer_point(model)[0]


#: Largest relative errors compared with exact solutions of random networks of up to 6 stations and
#: 3 classes, see tests/queueing/test_networks_approximate.py: with one server per station, and with
#: up to 8.
_BARD_SCHWEITZER = (
    Exactness("approximation: Bard-Schweitzer", X=0.3, R=0.4, U=0.3),
    Exactness("approximation: Bard-Schweitzer, servers split", X=0.25, R=0.35, U=0.25),
)
_LINEARIZER = (
    Exactness("approximation: Linearizer", X=0.03, R=0.05, U=0.03),
    Exactness("approximation: Linearizer, servers split", X=0.2, R=0.25, U=0.2),
)


def _schweitzer_point(model: NetworkPoint) -> tuple[Floats, Floats]:
    R, K = model.demands.shape
    return _core(model, np.zeros((R, R, K)), _spread_evenly(model))[:2]


def _linearized(model: NetworkPoint, iterations: int) -> tuple[Floats, Floats]:
    R, K = model.demands.shape
    less = [model._replace(N=np.maximum(model.N - np.eye(R)[t], 0)) for t in range(R)]
    changes = np.zeros((R, R, K))  # change of the share of class s at k if a job of class t leaves
    X, residence, numbers = _core(model, changes, _spread_evenly(model))
    fewer = [_spread_evenly(one) for one in less]
    for _ in range(iterations - 1):
        fewer = [_core(one, changes, start)[2] for one, start in zip(less, fewer, strict=True)]
        changes = np.stack(
            [
                _shares(without, one.N) - _shares(numbers, model.N)
                for without, one in zip(fewer, less, strict=True)
            ]
        )
        X, residence, numbers = _core(model, changes, numbers)
    return _within_capacity(model, X, residence)


def _within_capacity(model: NetworkPoint, X: Floats, residence: Floats) -> tuple[Floats, Floats]:
    """Increase residence times to keep stations within capacity; return them and throughputs."""
    from scipy.optimize import brentq

    fast, _ = _one_server(model)
    for k in np.flatnonzero(X @ fast > 1).tolist():

        def excess(factor: float, k: int, times: Floats) -> float:
            return float(_rates(model, _longer(times, k, factor)) @ fast[:, k]) - 1

        if excess(1.0, k, residence) > 0:
            most = 2.0
            while excess(most, k, residence) > 0:
                most *= 2
            residence = _longer(residence, k, brentq(excess, 1.0, most, args=(k, residence)))
    return _rates(model, residence), residence


def _longer(residence: Floats, station: int, factor: float) -> Floats:
    times = residence.copy()
    times[:, station] *= factor
    return times


def _rates(model: NetworkPoint, residence: Floats) -> Floats:
    """Return throughputs by the interactive response time law; 0 for classes without jobs."""
    N = model.N
    return np.divide(N, model.Z + residence.sum(axis=1), out=np.zeros_like(N), where=N > 0)


def _core(model: NetworkPoint, changes: Floats, numbers: Floats) -> tuple[Floats, Floats, Floats]:
    """Iterate throughputs, residence times and queue lengths to a fixed point.

    `changes`, shape (R, R, K), holds the change of the share of a class (second index) at a station
    when a job of a class (first index) leaves; `numbers`, shape (R, K), is the start of the
    iteration.
    """
    N = model.N
    fast, slow = _one_server(model)
    remaining = np.maximum(N - np.eye(N.size), 0)[..., None]
    for _ in range(_MOST_ROUNDS):
        seen = np.maximum(remaining * (_shares(numbers, N) + changes), 0).sum(axis=1)
        queued = fast * (1 + seen)
        X = _rates(model, queued + slow)
        before, numbers = numbers, X[:, None] * queued
        if (np.abs(numbers - before) <= _CHANGE * np.maximum(N, 1)[:, None]).all():
            return X, queued + slow, numbers
    raise QueueingError(f"demands and N: no convergence after {_MOST_ROUNDS:,} iterations")


def _one_server(model: NetworkPoint) -> tuple[Floats, Floats]:
    """Return queueing demands and pure delays of stations, with servers replaced."""
    fast = np.where(model.delays, 0.0, model.demands)
    slow = model.demands - fast
    for station, speeds in model.speeds.items():
        demand = model.demands[:, station]
        fast[:, station] = demand / speeds[-1]
        slow[:, station] = np.maximum(demand / speeds[0] - demand / speeds[-1], 0)
    return fast, slow


def _spread_evenly(model: NetworkPoint) -> Floats:
    return np.tile(model.N[:, None] / model.servers.size, (1, model.servers.size))


def _shares(numbers: Floats, N: Floats) -> Floats:
    """Return numbers relative to the population of their class, 0 for an empty class."""
    each = N[:, None]
    return np.divide(numbers, each, out=np.zeros_like(numbers), where=each > 0)
