"""Approximate mean value analysis: fixed points at the population itself, without recursion."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from queueing.arguments import Floats
from queueing.errors import QueueingError
from queueing.networks.model import Model, Speeds, read_network
from queueing.networks.result import NetworkResult, solved
from queueing.result import Exactness

#: From the model and the numbers (R, K) at full population: those seen by class r, (R, K) each r.
Seen = Callable[[Model, Floats], Floats]

_CHANGE = 1e-13  # of numbers at stations, relative to N, below which iteration ends
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
    """Solve a closed network approximately, as Bard and Schweitzer do.

    An arriving job of class r is taken to see all other classes as they are, and of its own the
    share (N_r - 1)/N_r of what is there on average [1]_ [2]_. A station with c servers is taken for
    one server c times as fast and a delay of the remaining D (c - 1)/c [3]_.

    Parameters
    ----------
    demands, N, Z, servers, speeds, visits
        As of `mva`; of speeds, the first and the last count.

    Returns
    -------
    NetworkResult

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
    """Solve a closed network approximately, by Linearizer.

    The share of a class at each station is taken to change by the same when one more job leaves;
    the change is estimated from solutions with one job less of each class, three times over [1]_.
    Where classes would use more than all of a station, by less than 1 %, jobs are taken to stay
    there longer, so that it is all they use.
    Stations with several servers are treated as by `bard_schweitzer`.

    Parameters
    ----------
    demands, N, Z, servers, speeds, visits
        As of `bard_schweitzer`.
    iterations : int, default 3
        How often the network is solved; 1 is Bard-Schweitzer.

    Returns
    -------
    NetworkResult

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
        raise QueueingError(f"iterations is {iterations!r}; it must be a whole number, 1 or more")
    network = read_network(demands, N, Z, servers, speeds, visits)

    def solve(model: Model) -> tuple[Floats, Floats]:
        return _linearized(model, int(iterations))

    return solved(network, solve, _LINEARIZER[bool(network.speeds)])


def approximate_rates(model: Model) -> Floats:
    """Return the throughputs of Bard and Schweitzer, by class; 0 for those without jobs."""
    return _schweitzer_point(model)[0]


#: Largest relative errors against exact solutions of random networks of up to 6 stations and 3
#: classes, as tests/queueing/test_networks_approximate.py draws them: with one server a station,
#: and with up to 8.
_BARD_SCHWEITZER = (
    Exactness("approximation: Bard-Schweitzer", X=0.3, R=0.4, U=0.3),
    Exactness("approximation: Bard-Schweitzer, servers split", X=0.25, R=0.35, U=0.25),
)
_LINEARIZER = (
    Exactness("approximation: Linearizer", X=0.03, R=0.05, U=0.03),
    Exactness("approximation: Linearizer, servers split", X=0.2, R=0.25, U=0.2),
)


def _schweitzer_point(model: Model) -> tuple[Floats, Floats]:
    R, K = model.demands.shape
    return _core(model, np.zeros((R, R, K)), _spread_evenly(model))[:2]


def _linearized(model: Model, iterations: int) -> tuple[Floats, Floats]:
    R, K = model.demands.shape
    less = [model._replace(N=np.maximum(model.N - np.eye(R)[t], 0)) for t in range(R)]
    changes = np.zeros((R, R, K))  # of the share of class s at k, if one job of class t leaves
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


def _within_capacity(model: Model, X: Floats, residence: Floats) -> tuple[Floats, Floats]:
    """Return times as much longer as keeps all stations within capacity, and throughputs."""
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


def _rates(model: Model, residence: Floats) -> Floats:
    """Return throughputs by the interactive response time law; 0 for classes without jobs."""
    N = model.N
    return np.divide(N, model.Z + residence.sum(axis=1), out=np.zeros_like(N), where=N > 0)


def _core(model: Model, changes: Floats, numbers: Floats) -> tuple[Floats, Floats, Floats]:
    """Return throughputs, times at stations and numbers queued for that fit to each other.

    Parameters
    ----------
    model : Model
    changes : ndarray, shape (R, R, K)
        Of the share of a class (second) at a station when a job of a class (first) leaves.
    numbers : ndarray, shape (R, K)
        Where the iteration starts.
    """
    N = model.N
    fast, slow = _one_server(model)
    left = np.maximum(N - np.eye(N.size), 0)[..., None]  # population when one of class t left
    for _ in range(_MOST_ROUNDS):
        seen = np.maximum(left * (_shares(numbers, N) + changes), 0).sum(axis=1)
        queued = fast * (1 + seen)
        X = _rates(model, queued + slow)
        before, numbers = numbers, X[:, None] * queued
        if (np.abs(numbers - before) <= _CHANGE * np.maximum(N, 1)[:, None]).all():
            return X, queued + slow, numbers
    raise QueueingError(
        f"demands and N lead to an iteration that has not ended after {_MOST_ROUNDS:,} rounds"
    )


def _one_server(model: Model) -> tuple[Floats, Floats]:
    """Return demands that are queued for and those that only delay, of the same stations."""
    fast = np.where(model.delays, 0.0, model.demands)
    slow = model.demands - fast
    for station, speeds in model.speeds.items():
        demand = model.demands[:, station]
        fast[:, station] = demand / speeds[-1]
        slow[:, station] = np.maximum(demand / speeds[0] - demand / speeds[-1], 0)
    return fast, slow


def _spread_evenly(model: Model) -> Floats:
    return np.tile(model.N[:, None] / model.servers.size, (1, model.servers.size))


def _shares(numbers: Floats, N: Floats) -> Floats:
    """Return numbers relative to the population of their class, 0 where it has none."""
    each = N[:, None]
    return np.divide(numbers, each, out=np.zeros_like(numbers), where=each > 0)
