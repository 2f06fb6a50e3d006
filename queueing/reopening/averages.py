"""Averages of p(r) over the response times of jobs that leave m other jobs behind."""

from collections.abc import Callable, Iterable
from itertools import accumulate

import numpy as np
from numpy.polynomial import legendre

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import (
    Constant,
    Exponential,
    Hyperbolic,
    Probability,
    TableProbability,
)

#: ReopenPoints per interval of the quadrature.
_POINTS = 16
#: Largest number of intervals of a function.
_PIECES = 20_000
#: Phases per server after which a geometric share is below rounding errors.
TAIL = 40


def averages(p: Probability, S: float, count: int, servers: int = 1) -> Floats:
    """Return the mean of p over the response time of a job, by the number it leaves behind.

    A job that leaves m others behind has an Erlang(m + 1) response time with rate 1 / S at one
    server, for any arrival rate. With c servers, it is assumed to have waited Erlang(m - c + 1)
    with rate c / S, if that is positive, and then served.

    Parameters
    ----------
    p : Probability
        Probability at one point.
    S : float
        Mean service time, above 0.
    count : int
        Number of averages: m = 0, ..., count - 1.
    servers : int, default 1

    Returns
    -------
    ndarray, shape (count,)
        Exact up to rounding for built-in functions, to 1e-11 for others.

    Raises
    ------
    QueueingError
        If p is too irregular for the quadrature.

    Examples
    --------
    >>> from workloadkit.queueing.probability import exponential
    >>> averages(exponential(1), 1.0, 3).round(12).tolist()
    [0.5, 0.25, 0.125]
    """
    needed = count if servers == 1 else max(count - servers + 1, 1) + TAIL * servers
    return by_number(phase_averages(p, servers / S, needed), count, servers)


def by_number(of_phases: Floats, count: int, servers: int) -> Floats:
    """Return averages by the number left behind, from averages over Erlang(1), Erlang(2), ..."""
    if servers == 1:
        return of_phases[:count]
    # a service is Erlang(g) with the rate of all servers, g geometric with mean c: sum backwards,
    # with positive terms
    stays = 1.0 - 1.0 / servers
    mixed = np.array(list(accumulate(of_phases[::-1].tolist(), lambda y, x: x + stays * (y - x))))[
        ::-1
    ]
    return mixed[np.maximum(np.arange(count) - servers + 1, 0)]


def phase_averages(p: Probability, rate: float, count: int) -> Floats:
    """Return the mean of p over Erlang(k) with this rate, k = 1, ..., count."""
    if isinstance(p, Constant):
        return np.full(count, float(p.p))
    if isinstance(p, Exponential):
        return np.exp(-np.arange(1, count + 1) * np.log1p(float(p.theta) / rate))
    if isinstance(p, Hyperbolic):
        return _of_hyperbola(p, rate, count)
    edges = p.times if isinstance(p, TableProbability) else ()
    return erlang_averages(p.at_times, rate, count, edges)


def erlang_averages(
    function: Callable[[Floats], Floats], rate: float, count: int, edges: Iterable[float] = ()
) -> Floats:
    """Return the mean of a bounded function over Erlang(k) with this rate, k = 1, ..., count.

    Gauss-Legendre quadrature on intervals that are halved until the function is a polynomial on
    each to 1e-13, or the weight of an interval with a jump is negligible. `function` takes arrays
    of times; `edges` are known jumps or corners.
    """
    from scipy.special import gammaln

    x, weight = _quadrature(function, rate, count, edges)
    shape = np.arange(1.0, count + 1)
    mean = np.empty(count)
    logarithm = np.log(x)
    for begin in range(0, count, 256):
        k = shape[begin : begin + 256, None]
        # beyond 11 standard deviations, weights are negligible
        near = (x > k[0] - 11 * np.sqrt(k[0]) - 60) & (x < k[-1] + 11 * np.sqrt(k[-1]) + 60)
        density = np.exp((k - 1) * logarithm[near] - x[near] - gammaln(k))
        mean[begin : begin + 256] = density @ weight[near]
    return mean


def _quadrature(
    function: Callable[[Floats], Floats], rate: float, count: int, edges: Iterable[float]
) -> tuple[Floats, Floats]:
    """Return points x = rate r, and weight times function value there."""
    nodes, weights = legendre.leggauss(_POINTS)
    # maps values at the nodes to the last coefficients of the interpolating polynomial
    degrees = np.arange(_POINTS)
    last = (legendre.legvander(nodes, _POINTS - 1) * weights[:, None] * (degrees + 0.5))[:, -3:]
    end = count + 11 * np.sqrt(count) + 60
    # one standard deviation wide; ever narrower near 0
    widths = np.arange(1.0, 2 * np.sqrt(end) + 3) ** 2 / 4 + 0.75
    grid = np.concatenate([[0.0], 2.0 ** np.arange(-40, 0), widths[widths < end], [end]])
    known = rate * np.asarray(list(edges), dtype=np.float64)
    grid = np.unique(np.concatenate([grid, known[(known > 0) & (known < end)]]))
    begin, width = grid[:-1], np.diff(grid)
    points, values = [], []
    pieces = 0
    while begin.size:
        pieces += begin.size
        if pieces > _PIECES:
            raise QueueingError(
                "p, or Z, cannot be averaged to 1e-12 over response times of up to "
                f"{end / rate:g}: it is too irregular"
            )
        x = begin[:, None] + width[:, None] * (nodes + 1) / 2
        value = function(x.ravel() / rate).reshape(x.shape)
        rough = np.abs(value @ last).max(axis=1) > 1e-13
        rough &= width > 1e-13 * (1 + begin)
        points.append(x[~rough].ravel())
        values.append((value * weights * width[:, None] / 2)[~rough].ravel())
        half = width[rough] / 2
        begin = np.concatenate([begin[rough], begin[rough] + half])
        width = np.concatenate([half, half])
    return np.concatenate(points), np.concatenate(values)


def _of_hyperbola(p: Hyperbolic, rate: float, count: int) -> Floats:
    """Return averages of a / (b r + 1): a y e^y E_k(y), y = rate / b, E_k exponential integrals.

    The recursion k E_{k+1} = e^-y - y E_k is stable upwards for k above y and downwards below.
    """
    a, b = float(p.a), float(p.b)
    if b == 0 or rate / b == np.inf:
        return np.full(count, a)
    y = rate / b
    if y < 1:
        start, value = 1, float(p.mean_exponential(np.asarray(rate))) / a if a else 0.0
    else:
        start = int(min(round(y), count))
        value = y * _continued_fraction(start, y)
    mean = np.empty(count)
    mean[start - 1] = value
    for k in range(start, count):
        mean[k] = value = y * (1.0 - value) / k
    value = mean[start - 1]
    for k in range(start - 1, 0, -1):
        mean[k - 1] = value = 1.0 - k * value / y
    return a * mean


def _continued_fraction(n: int, y: float) -> float:
    """Return e^y E_n(y) for y ≥ 1, by Lentz's method on Stieltjes's continued fraction."""
    b = y + n
    c, d = np.inf, 1.0 / b
    value = d
    for i in range(1, 10_000):
        b += 2.0
        term = -i * (n - 1.0 + i)
        d = 1.0 / (term * d + b)
        c = b + term / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value
