"""Confidence that an idle period is an outage, given the log's ordinary idle periods."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock, enclosing, interval_of

#: Minimum number of idle periods from which a tail is estimated.
FEWEST = 20

_HOUR = 3600
_MOST_HOURS = 876_600
_TAILS = (1, 0.2, 0.05)  # candidate tails, as shares of the idle periods


def confidence(
    lengths: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Return the confidence that idle periods do not follow the log's ordinary distribution.

    Of the idle periods of a kind, :math:`n(x)` last at least :math:`x`, where the ordinary
    distribution predicts :math:`E(x)`. About :math:`E(x) / n(x)` of them are therefore ordinary:
    the tail-area false discovery rate [1]_. The confidence is one minus this rate, made
    non-decreasing in the length.

    Parameters
    ----------
    lengths : ndarray, shape (n,)
        Lengths of all idle periods of the kind, in any unit.
    expected : ndarray, shape (n,)
        :math:`E` for each length.

    Returns
    -------
    confidence : ndarray of float, shape (n,)
    as_long : ndarray of int, shape (n,)
        :math:`n(x)`.

    References
    ----------
    .. [1] B. Efron, "Large-scale inference", Cambridge University Press, 2010, chapter 2.

    Examples
    --------
    >>> lengths = np.array([5.0, 9000])
    >>> sure, as_long = confidence(lengths, by_share(lengths, np.arange(99.0)))
    >>> sure.round(3).tolist(), as_long.tolist()
    ([0.05, 0.98], [2, 1])
    """
    order = np.argsort(lengths, kind="stable")
    as_long = lengths.size - np.searchsorted(lengths[order], lengths, side="left")
    sure = np.empty(lengths.size)
    sure[order] = np.maximum.accumulate(np.maximum(1 - expected / as_long, 0)[order])
    return sure, as_long


def by_share(lengths: NDArray[np.float64], ordinary: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected number of idle periods as long, from the shares of the ordinary ones."""
    longer = ordinary.size - np.searchsorted(np.sort(ordinary), lengths, side="left")
    # add one: lengths never observed are possible
    return lengths.size * (1 + longer) / (1 + ordinary.size)


def by_tail(lengths: NDArray[np.float64], ordinary: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected number of idle periods as long, from the tail of all `ordinary` ones.

    The tail follows a generalized Pareto distribution through the median and third quartile of
    the excesses [1]_, so up to a quarter of them may be outages without a bias. The threshold is
    unknown: tails of all, a fifth and a twentieth of the periods are tried, and the largest
    expectation is returned. No tail is lighter than exponential.

    Parameters
    ----------
    lengths : ndarray, shape (n,)
    ordinary : ndarray
        At least one.

    References
    ----------
    .. [1] J. Pickands, "Statistical inference using extreme order statistics", Annals of
       Statistics 3, 1975.

    Examples
    --------
    >>> halving = -np.log2(1 - (np.arange(1000) + 0.5) / 1000)  # half of them end in each unit
    >>> by_tail(np.array([0.0, 1, 10]), halving).round(1).tolist()
    [1000.0, 500.0, 1.0]
    """
    ascending = np.sort(ordinary)
    expected = np.zeros(lengths.size)
    for share in _TAILS:
        place = int(ascending.size * (1 - share))
        if place and ascending.size - place < FEWEST:
            break
        excess = ascending[place:] - (ascending[place - 1] if place else 0)
        over = lengths - (ascending[place - 1] if place else 0)
        as_long = ascending.size - np.searchsorted(ascending, lengths, side="left")
        tail = excess.size * _pareto(np.maximum(over, 0), *np.quantile(excess, [0.5, 0.75]))
        expected = np.maximum(expected, np.where(over > 0, tail, as_long))
    return expected


def _pareto(over: NDArray[np.float64], median: float, quartile: float) -> NDArray[np.float64]:
    """Return the tail probability of each length, given the median and third quartile."""
    if not median > 0:
        return np.ones(over.size)
    shape = np.log2((quartile - median) / median) if quartile > 2 * median else 0.0
    if shape > 0:
        return (1 + (2**shape - 1) * over / median) ** (-1 / shape)
    return np.exp2(-over / median)


def expected_submissions(
    submit: NDArray[np.float64], clock: Clock, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the number of submissions expected up to each time from the log's own cycle.

    The cycle is weekly if the log covers eight weeks or more, daily if it covers eight days, and
    absent otherwise or if the log covers more than a century.

    Parameters
    ----------
    submit : ndarray, shape (n_jobs,)
        Ascending. [s]
    clock : Clock
    times : ndarray
        Between the first and the last submission. [s]

    Examples
    --------
    >>> from workloadkit import Trace
    >>> trace = Trace.from_columns({"submit": [0, 3600, 7200, 10800]})
    >>> expected_submissions(trace.column("submit"), Clock.of(trace), np.array([0, 5400])).tolist()
    [0.0, 2.0]
    """
    first, last = submit[0], submit[-1]
    if (last - first) / _HOUR > _MOST_HOURS:
        return submit.size * (times - first) / (last - first)
    edges = enclosing(first, last, _HOUR)
    covered = (np.minimum(edges[1:], max(last, first + 1)) - edges[:-1]) / _HOUR
    days = np.ceil((last - first) / _HOUR) / 24
    period = next((hours for hours in (WEEK // _HOUR, 24) if days >= hours / 3), 1)
    place = (np.floor(clock.local(edges[:-1] + _HOUR / 2) / _HOUR) % period).astype(np.int64)
    jobs = np.bincount(place[interval_of(edges, submit)], minlength=period)
    rate = jobs / np.maximum(np.bincount(place, covered, minlength=period), 1e-9)
    total = np.append(0, np.cumsum(rate[place] * covered))
    return np.interp(times, np.append(edges[:-1], max(last, first + 1)), total)
