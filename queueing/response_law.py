"""Distribution of response times at one exponential server, given some of n users there.

A job that meets m of n users (J = n − m think), and the open jobs between them, stays for m + 1
exponential times of mean s (s: service time over the capacity left by open jobs). J is Poisson
with mean a (a: think time over s), truncated at n, so that in units of s

    P(response > t) = P(n, a + t) / P(n, a),  with density ∝ e^−t (1 + t/a)^n,

where P(n, a) is the probability that a Poisson number is at most n. Integrals over this density
also give moments and derivatives; all their terms are positive.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.truncated_poisson import (
    all_think,
    at_most,
    fraction_slopes,
    light,
    log1p_minus,
    number_at_server,
)

_NODES = 100
_BLOCK = 2048  # points per block of nodes


def survival(n: Floats, a: Floats, t: Floats) -> Floats:
    """Return P(response > t), t in units of s; n, a and t have one shape."""
    share = np.where(np.isnan(t), np.nan, 0.0)
    is_light = light(n, a) & (t < np.inf)
    other = ~light(n, a) & (t < np.inf)
    # here at_most(n, a) is at least 1e-3
    share[other] = at_most(n[other], a[other] + t[other]) / at_most(n[other], a[other])
    m, b, t = n[is_light], a[is_light], t[is_light]
    # both may underflow: use the ratio of the terms for n, times that of 1/B
    ratio = (b - m + number_at_server(m, b)) / (b + t - m + number_at_server(m, b + t))
    v = t / b
    share[is_light] = np.exp(m * log1p_minus(v) + (m - b) * v) * ratio * (1 + v)
    return np.minimum(share, 1.0)


def distribution(n: Floats, a: Floats, t: Floats) -> Floats:
    """Return P(response ≤ t), accurate for small values."""
    share = 1 - survival(n, a, t)
    near = (share < 0.1) & (t > 0)
    share[near] = _from_zero(n[near], a[near], t[near])
    return share


def _from_zero(n: Floats, a: Floats, t: Floats) -> Floats:
    """Integrate the density from 0 to t in the lower tail."""
    end = a + t
    # up to the mode, the density falls leftward by e^−40 within the shorter of these
    rise = np.maximum(n / end - 1, 1e-300)
    width = np.minimum(t, np.minimum(40 / rise, 9 * end / np.sqrt(np.maximum(n, 1e-300))))
    nodes, weights = _rule(40)
    found = np.zeros(t.shape)
    for node, weight in zip(nodes, weights, strict=True):
        back = width * (1 - node) / 2
        # the density at t − back over that at t
        v = -back / end
        found += weight * np.exp(n * log1p_minus(v) + (n - end) * v)
    # the hazard at t is B(n, a + t)
    return found * width / 2 * all_think(n, end) * survival(n, a, t)


def moment(order: int, n: Floats, a: Floats) -> Floats:
    """Return E[response^order] in units of s^order; n and a are flat, of one shape."""
    found = np.empty(n.size)
    for block, _, t, weight in _nodes(n, a, order):
        found[block] = (weight * t**order).sum(axis=0)
    return found


def central_moment(order: int, n: Floats, a: Floats) -> Floats:
    """Return E[(response − mean)^order] in units of s^order; n and a are flat, of one shape."""
    found = np.empty(n.size)
    for block, _, t, weight in _nodes(n, a, order):
        mean = (weight * t).sum(axis=0)
        found[block] = (weight * (t - mean) ** order).sum(axis=0)
    return found


def slope_in_think_time(n: Floats, a: Floats) -> Floats:
    """Return dQ/da of the mean number at the server; n and a are flat."""
    found = np.empty(n.size)
    is_light = light(n, a)
    m, b = n[is_light], a[is_light]
    f, slope, _ = fraction_slopes(m, b)
    found[is_light] = -m * slope / f**2
    m, b = n[~is_light], a[~is_light]
    with np.errstate(invalid="ignore"):
        found[~is_light] = all_think(m, b) * (1 + number_at_server(m, b)) - 1
    return found


def slope_in_users(n: Floats, a: Floats) -> Floats:
    """Return dQ/dn; n and a are flat."""
    found = np.empty(n.size)
    is_light = light(n, a)
    m, b = n[is_light], a[is_light]
    f, _, slope = fraction_slopes(m, b)
    found[is_light] = 1 / f - m * slope / f**2
    m, b = n[~is_light], a[~is_light]
    found[~is_light] = 1 - all_think(m, b, 1) * mean_logarithm(m, b)
    return found


def mean_logarithm(n: Floats, a: Floats) -> Floats:
    """Return −d ln B / dn, the mean of ln(1 + response/a); n and a are flat."""
    found = np.empty(n.size)
    for block, logarithm, _, weight in _nodes(n, a, 0):
        found[block] = (weight * logarithm).sum(axis=0)
    return found


def _nodes(n: Floats, a: Floats, order: int) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
    """Yield blocks of points with Gauss nodes of the density: ln(1 + t/a), t, weights."""
    x, weight = _rule(_NODES)
    for begin in range(0, n.size, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        m, b = n[block], np.maximum(a[block], 1e-300)
        # In y = ln(1 + t/a) the density is e^((n + 1) y − a e^y), log-concave, with its mode at
        peak = np.maximum(m + 1 - b, 0)
        y_peak = np.log1p(peak / b)
        rate = b + peak
        fall = np.maximum(b - m - 1, 0)
        # at these distances from the mode it has fallen by e^−drop
        drop = 45.0 + 8 * order
        x_drop = drop / rate
        right = np.minimum(np.sqrt(2 * x_drop), np.log1p(x_drop) + 1)
        right = np.minimum(right, drop / np.maximum(fall, 1e-300))
        left = np.minimum(y_peak, (x_drop + np.sqrt(x_drop**2 + 8 * x_drop)) / 2)
        d = ((right + left) * x[:, None] + right - left) / 2
        rise = np.expm1(d)
        # d − rise loses its digits near the mode
        sink = np.where(np.abs(d) < 0.2, log1p_minus(rise), d - rise)
        density = np.exp(rate * sink - fall * d) * weight[:, None]
        density /= density.sum(axis=0)
        yield block, np.maximum(y_peak + d, 0), np.maximum(peak + rate * rise, 0), density


@cache
def _rule(nodes: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(nodes)
