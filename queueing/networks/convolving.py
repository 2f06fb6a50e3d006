"""Closed networks of stations with several servers or speeds that depend on the number of jobs.

The normalizing constants G(n) of all populations n ≤ N are computed by adding one station after
the other, with positive terms only [1]_. Values are stored as G(n) Π x_r^n_r with rates x close to
the throughputs, which makes them as flat as possible around N and prevents overflow.

.. [1] J. P. Buzen, "Computational algorithms for closed queueing networks with exponential
   servers", Comm. ACM 16(9), 1973.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.approximate import approximate_rates
from workloadkit.queueing.networks.model import (
    NetworkPoint,
    NetworkResult,
    Speeds,
    read_network,
    solved,
)
from workloadkit.queueing.result import Exactness

#: Largest number of populations, and of products in all convolutions.
MOST_POPULATIONS = 5_000_000
MOST_PRODUCTS = 2e11

#: Smallest sum, relative to the largest number, with full precision.
_LEAST = 1e-280


class QueueStation(NamedTuple):
    """A station for the convolution.

    Parameters
    ----------
    load : ndarray, shape (R,)
        Demand times rate, by class.
    speeds : ndarray
        Speed with 1, 2, ... jobs; the last applies to more jobs.
    """

    load: Floats
    speeds: Floats


def convolution(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike = 0.0,
    *,
    servers: ArrayLike | None = None,
    speeds: Speeds | None = None,
    visits: ArrayLike | None = None,
) -> NetworkResult:
    """Solve a closed network of product form exactly, by convolution of positive terms.

    Stations may have any number of servers, and speeds that depend on the number of jobs. Nothing
    is subtracted, so results are never negative and never exceed the speed of a station.

    Parameters
    ----------
    demands, N, Z, servers, speeds, visits
        See `mva`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or the network is too large.

    Examples
    --------
    A machine with two servers and 10 users:

    >>> one = convolution([1.0, 0.2], N=10, Z=4)
    >>> two = convolution([1.0, 0.2], N=10, Z=4, servers=[2, 1])
    >>> round(one.X, 4), round(two.X, 4), two.U.round(4)
    (0.9921, 1.6526, array([0.8263, 0.3305]))
    """
    network = read_network(demands, N, Z, servers, speeds, visits)
    words = Exactness("exact, product form (convolution)")
    return solved(network, convolved, words)


class _Scaled(NamedTuple):
    """A network with present classes only, in ascending order of jobs, and scaled demands."""

    order: NDArray[np.intp]
    N: NDArray[np.int64]
    rates: Floats
    loads: Floats
    stations: list[QueueStation]
    thinking: Floats


def _scaled(model: NetworkPoint) -> _Scaled:
    present = np.flatnonzero(model.N > 0)
    order = present[np.argsort(model.N[present], kind="stable")]  # the longest axis last
    N = model.N[order].astype(int)
    demands = model.demands[order]
    rates = approximate_rates(model)[order]
    loads = demands * rates[:, None]
    queues = np.flatnonzero(~model.delays)
    stations = [QueueStation(loads[:, k], model.speeds.get(int(k), np.ones(1))) for k in queues]
    _hold_size(N, stations)
    delay = model.Z[order] + demands[:, model.delays].sum(axis=1)
    return _Scaled(order, N, rates, loads, stations, _delay(rates * delay, N))


def _together(alone: Floats, others: Floats) -> Floats:
    """Return the probabilities of the numbers at a station, by its constants and the others'."""
    both = alone * others[(slice(None, None, -1),) * alone.ndim]
    everything = both.sum()
    if not everything > _LEAST:
        raise QueueingError("demands, speeds and N give numbers out of range")
    return both / everything


def convolved(model: NetworkPoint) -> tuple[Floats, Floats]:
    """Return X, shape (R,), and residence times, shape (R, K), of a network."""
    X = np.zeros(model.N.size)
    residence = np.full(model.demands.shape, np.nan)
    if not model.N.any():
        return X, residence
    order, N, rates, _, stations, thinking = _scaled(model)
    queues = np.flatnonzero(~model.delays)
    numbers = np.zeros((queues.size, N.size))  # mean, by station and class
    weights = thinking
    for place, others in _without_each(stations, thinking):
        both = _together(_added(stations[place], _no_stations(N)), others)
        numbers[place] = [
            both.sum(axis=tuple(d for d in range(N.size) if d != r)) @ np.arange(n + 1.0)
            for r, n in enumerate(N)
        ]
        weights = _added(stations[place], others)
    last = weights[(-1,) * N.size]
    if not last > _LEAST:
        raise QueueingError("demands, speeds and N give numbers out of range")
    for r in range(N.size):
        less = tuple(-2 if d == r else -1 for d in range(N.size))
        X[order[r]] = rates[r] * (weights[less] / last)
    residence[np.ix_(order, queues)] = numbers.T / X[order][:, None]
    residence[np.ix_(order, np.flatnonzero(model.delays))] = model.demands[order][:, model.delays]
    return X, residence


def numbers_at(model: NetworkPoint, station: int) -> Floats:
    """Return the joint probabilities of the numbers of each class at a station.

    The array has one axis a class, from 0 to N_r jobs.
    """
    shape = (model.N + 1).astype(int)
    if not model.N.any():
        return np.ones(tuple(shape))
    order, N, rates, loads, stations, _ = _scaled(model)
    elsewhere = model.delays & (np.arange(model.servers.size) != station)
    others = _delay(rates * model.Z[order] + loads[:, elsewhere].sum(axis=1), N)
    queues = np.flatnonzero(~model.delays).tolist()
    for k, queue in zip(queues, stations, strict=True):
        if k != station:
            others = _added(queue, others)
    if model.delays[station]:
        alone = _delay(loads[:, station], N)
    else:
        alone = _added(stations[queues.index(station)], _no_stations(N))
    return np.transpose(_together(alone, others), np.argsort(order)).reshape(tuple(shape))


def total_at(model: NetworkPoint, station: int) -> Floats:
    """Return the probabilities of 0, 1, ... jobs of all classes at a station."""
    joint = numbers_at(model, station)
    total = np.indices(joint.shape).sum(axis=0).ravel()
    return np.asarray(np.bincount(total, joint.ravel()), dtype=np.float64)


def _without_each(
    stations: list[QueueStation], weights: Floats, first: int = 0
) -> list[tuple[int, Floats]]:
    """Return the constants of the network without each station, by station."""
    if not stations:
        return []
    if len(stations) == 1:
        return [(first, weights)]
    half = len(stations) // 2
    left, right = stations[:half], stations[half:]
    with_right, with_left = weights, weights
    for station in right:
        with_right = _added(station, with_right)
    for station in left:
        with_left = _added(station, with_left)
    return [
        *_without_each(left, with_right, first),
        *_without_each(right, with_left, first + half),
    ]


def _added(station: QueueStation, weights: Floats) -> Floats:
    """Return the constants of the network with another station, up to a factor.

    The weights f of the station satisfy f(n) = h(n) + Σ_r load_r/speed f(n - 1_r), where speed is
    the last one and h(n) = f(n) (1 - speed(n)/speed); h vanishes where the speed is the last. So
    does their convolution with other weights.
    """
    load, speeds = station
    limits = np.array(weights.shape) - 1
    most = min(speeds.size, int(limits.sum()))
    last = speeds[-1]
    recursive = speeds.max() <= last  # otherwise h is negative somewhere, and f is used
    if not recursive:
        most = int(limits.sum())
    reached = speeds[np.minimum(np.arange(most), speeds.size - 1)]
    ratio = np.concatenate(([1.0], 1 - reached / last)) if recursive else np.ones(most + 1)
    if weights.ndim == 1:
        with np.errstate(divide="ignore"):
            h = _from_mode(np.log(load[0] / reached)) * ratio
        result = np.convolve(np.trim_zeros(h, "b"), weights)[: weights.size]
    else:
        result = _spread(load, reached, ratio, weights)
    if recursive:
        _accumulate(result, load / last)
    return result / result.max()


def _spread(load: Floats, speeds: Floats, ratio: Floats, weights: Floats) -> Floats:
    """Return the convolution with h(j) = |j|!/Π j_r! Π load_r^j_r / Π speeds · ratio(|j|)."""
    from scipy.special import gammaln, xlogy

    limits = np.minimum(np.array(weights.shape) - 1, np.flatnonzero(ratio)[-1])
    j = np.indices(limits + 1).reshape(weights.ndim, -1)
    j = j[:, ratio[np.minimum(j.sum(axis=0), ratio.size - 1)] > 0]
    j = j[:, j.sum(axis=0) < ratio.size]
    total = j.sum(axis=0)
    passed = np.concatenate(([0.0], np.cumsum(np.log(speeds))))
    log = gammaln(total + 1) - passed[total] + np.log(ratio[total])
    log += (xlogy(j, load[:, None]) - gammaln(j + 1)).sum(axis=0)
    h = np.exp(log - log.max())
    result = np.zeros_like(weights)
    for weight, shift in zip(h[h > 0], j.T[h > 0], strict=True):
        ahead = tuple(slice(s, None) for s in shift)
        behind = tuple(slice(None, n - s) for n, s in zip(weights.shape, shift, strict=True))
        result[ahead] += weight * weights[behind]
    return result


def _accumulate(values: Floats, load: Floats) -> None:
    """Add Σ_r load_r values(n - 1_r) to values(n), in place and in ascending order."""
    from scipy.signal import lfilter

    if values.ndim == 1:
        values[:] = lfilter([1.0], [1.0, -load[0]], values)
        return
    for n in range(len(values)):
        if n:
            values[n] += load[0] * values[n - 1]
        _accumulate(values[n], load[1:])


def _delay(load: Floats, N: np.ndarray) -> Floats:
    """Return the constants of a pure delay network: Π load_r^n_r / n_r!."""
    weights = np.ones(())
    for a, n in zip(load, N, strict=True):
        with np.errstate(divide="ignore"):
            steps = np.log(a / np.arange(1.0, n + 1))
        weights = np.multiply.outer(weights, _from_mode(steps))
    return weights


def _no_stations(N: np.ndarray) -> Floats:
    """Return the constants of a network without stations."""
    weights = np.zeros(N + 1)
    weights[(0,) * N.size] = 1
    return weights


def _from_mode(steps: Floats) -> Floats:
    """Return 1, e^s1, e^(s1 + s2), ... divided by the largest, summed from there."""
    sums = np.concatenate(([0.0], np.cumsum(steps)))
    mode = int(np.argmax(sums))
    up = np.cumsum(steps[mode:])
    down = -np.cumsum(steps[:mode][::-1])[::-1]
    return np.exp(np.concatenate((down, [0.0], up)))


def _hold_size(N: np.ndarray, stations: list[QueueStation]) -> None:
    populations = float(np.prod(N + 1.0))
    if populations > MOST_POPULATIONS:
        raise QueueingError(
            f"N makes {populations:.3g} populations; convolution can hold at most "
            f"{MOST_POPULATIONS:.3g} (linearizer needs far fewer)"
        )
    products = 0.0
    for station in stations:
        speeds = station.speeds
        terms = speeds.size if speeds.max() <= speeds[-1] else int(N.sum()) + 1
        products += populations * float(np.prod(np.minimum(N + 1.0, terms)))
    products *= np.ceil(np.log2(len(stations) + 1)) + 2
    if products > MOST_PRODUCTS:
        raise QueueingError(
            f"N and the stations need {products:.3g} products; convolution can compute at most "
            f"{MOST_PRODUCTS:.3g} (linearizer needs far fewer)"
        )
