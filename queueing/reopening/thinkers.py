"""Choices of users after a job, which depend on its response time; when the queue is stable.

Users leave, or continue after a think time. What they choose is averaged over the response times of
jobs that leave m other jobs behind.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre

from workloadkit.queueing.arguments import Condition, Flags, Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import (
    Breaks,
    Constant,
    Exponential,
    Hyperbolic,
    Probability,
    TableProbability,
)
from workloadkit.queueing.response_function import Form
from workloadkit.queueing.users_at_servers import idle_share

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


#: Mean think time in service times below which it does not affect the solution.
AT_ONCE = 1e-15


class ThinkTimes(NamedTuple):
    """Think times with two means.

    Parameters
    ----------
    short, long : float
    share_long : callable or None
        Share of users with long think times by response time; None if both means are equal.
    edges : tuple of float
        Known jumps or corners of the share.
    """

    short: float
    long: float
    share_long: Callable[[Floats], Floats] | None = None
    edges: tuple[float, ...] = ()


class Kind(NamedTuple):
    """Users with equal mean think time.

    Parameters
    ----------
    Z : float
        Mean think time, above 0.
    follows : ndarray
        Probability of this think time and another job, after a job that leaves m others behind.
    """

    Z: float
    follows: Floats


class Choices(NamedTuple):
    """Choices of users after a job that leaves m other jobs behind.

    Parameters
    ----------
    kinds : tuple of Kind
    at_once : ndarray
        Probability of another job without think time.
    behind : ndarray
        Probability of another job.
    """

    kinds: tuple[Kind, ...]
    at_once: Floats
    behind: Floats


def thoughts(Z: float | Form, longest: float) -> ThinkTimes:
    """Return think times with two means.

    Parameters
    ----------
    Z : float or Form
        A function with more than two values is represented by its minimum and maximum, with the
        share of users that preserves its mean.
    longest : float
        Longest response time at which a function is evaluated.

    Examples
    --------
    >>> from workloadkit.queueing.probability import breaks
    >>> thoughts(breaks(1, 20, 3), 10.0)[:2]
    (1.0, 20.0)
    """
    if not isinstance(Z, Form):
        return ThinkTimes(float(Z), float(Z))
    if isinstance(Z, Breaks):
        short, long, limit = float(Z.short), float(Z.long), float(Z.limit)
        if short == long:
            return ThinkTimes(short, long)
        return ThinkTimes(short, long, lambda r: (r > limit).astype(np.float64), (limit,))
    values = Z.at_times(np.linspace(0.0, longest, 2001))
    short, long = float(values.min()), float(values.max())
    if short == long:
        return ThinkTimes(short, long)
    form = Z
    return ThinkTimes(
        short, long, lambda r: np.clip((form.at_times(r) - short) / (long - short), 0.0, 1.0)
    )


def choices(p: Probability, thought: ThinkTimes, S: float, count: int, servers: int) -> Choices:
    """Return the choices for m = 0, ..., count - 1.

    p and the think time are averaged together, since both depend on the response time.
    """
    behind = averages(p, S, count, servers)
    long = np.zeros(count)
    if thought.share_long is not None:
        share = thought.share_long
        edges = (*thought.edges, *(p.times if isinstance(p, TableProbability) else ()))
        phases = count if servers == 1 else max(count - servers + 1, 1) + TAIL * servers
        of_phases = erlang_averages(lambda r: p.at_times(r) * share(r), servers / S, phases, edges)
        long = np.minimum(by_number(of_phases, count, servers), behind)
    kinds, at_once = [], np.zeros(count)
    for Z, follows in ((thought.short, behind - long), (thought.long, long)):
        if Z < AT_ONCE * S:
            at_once = at_once + follows
        elif follows.any():
            kinds.append(Kind(Z, follows))
    return Choices(tuple(kinds), at_once, behind)


# Stability of the re-open model.
#
# Users leave after long response times, so p at long response times decides: the model is stable if
# and only if lam < c (1 - p(∞)) / S, for any think time.


def stability_rules(p: Probability, S: Any, servers: Any) -> list[Condition]:
    """Return the conditions of stability; an error if p has no parameters and tends to 1."""
    if not p.names and float(p.limit) == 1:
        raise QueueingError(f"p is a {p} that tends to 1 for long responses, so users never leave")

    def leave_at_once(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] > 0) | (p.with_values(at).first < 1)

    def leave(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] == 0) | (p.with_values(at).limit < 1)

    def stable(at: Mapping[str, Floats]) -> Flags:
        leaving = np.maximum(1.0 - p.with_values(at).limit, 1e-300)
        return (at["S"] == 0) | (idle_share(at["lam"], at["S"], at["servers"] * leaving) > 0)

    rules = [Condition("S", leave_at_once, "be above 0 if p(0) is 1, or users never leave")]
    if p.names:
        condition = "be such that p is below 1 for long response times, or users never leave"
        rules.append(Condition(p.names[-1], leave, condition))
    try:
        most = f" = {float(servers) * (1.0 - float(p.limit)) / float(S):g}"
    except (TypeError, ValueError, ArithmeticError):  # arrays, or not numbers
        most = ""
    condition = f"be below servers (1 - p after long response times) / S{most}"
    return [*rules, Condition("lam", stable, condition)]


def most_load(p: Probability, S: Floats, servers: Floats) -> Floats:
    """Return the smallest unstable lam; infinite if S is 0."""
    most = servers * (1.0 - p.limit)
    return np.divide(most, S, out=np.full(S.shape, np.inf), where=S > 0)
