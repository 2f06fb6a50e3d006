"""Closed users and open jobs at one exponential server, as arrays: solution and derivatives.

Open jobs leave the share idle = 1 − lam S of the server. For closed users, this is equivalent to a
server without open jobs and with mean service time s = S / idle; a = Z / s.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Condition, Flags, Floats
from workloadkit.queueing.response_law import mean_logarithm, slope_in_think_time, slope_in_users
from workloadkit.queueing.truncated_poisson import BLOCK, all_think, number_at_server

# Capacity left by open jobs, computed without loss of digits.

_SPLIT = 134217729.0  # 2^27 + 1


def idle_share(lam: Any, S: Any, servers: Floats | float = 1.0) -> Any:
    """Return 1 − lam S / servers with an exact product, so no digits are lost if lam S is near c.

    Either factor may be complex, for derivatives; then the real part is exact.

    Examples
    --------
    >>> S = np.array(1 / 3)
    >>> float(idle_share(np.array(3.0), S)), float(1 - 3.0 * S)
    (5.551115123125783e-17, 0.0)
    """
    if np.iscomplexobj(lam) or np.iscomplexobj(S):
        return idle_share(np.real(lam), np.real(S), servers) - 1j * np.imag(lam * S) / servers
    x, x_scale = np.frexp(lam)
    y, y_scale = np.frexp(S)
    product = x * y
    # T. J. Dekker, "A floating-point technique for extending the available precision", 1971:
    # halves of 26 bits, whose products are exact
    x_high, y_high = _high(x), _high(y)
    x_low, y_low = x - x_high, y - y_high
    rest = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    scale = x_scale + y_scale
    return ((servers - np.ldexp(product, scale)) - np.ldexp(rest, scale)) / servers


def stable(condition: str = "be below servers / S, their capacity") -> Condition:
    """Return the condition that open jobs leave some of the servers' capacity."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        with np.errstate(over="ignore", invalid="ignore"):
            return idle_share(p["lam"], p["S"], p.get("servers", 1.0)) > 0

    return Condition("lam", holds, condition)


def _high(x: Floats) -> Floats:
    shifted = _SPLIT * x
    return shifted - (shifted - x)


Number = Callable[[Floats, Floats], Floats]


class Measures(NamedTuple):
    """Throughput, response time and number of closed users (c); response time of open jobs (o)."""

    Xc: Floats
    Rc: Floats
    Qc: Floats
    Ro: Floats


def scales(lam: Floats, Z: Floats, S: Floats) -> tuple[Floats, Floats]:
    """Return s, the mean service time in the share left by open jobs, and a = Z / s."""
    idle = idle_share(lam, S) if lam.any() else 1 - lam * S
    with np.errstate(over="ignore"):
        a = np.divide(Z * idle, S, out=np.full(S.shape, np.inf), where=S > 0)
    return S / idle, np.minimum(a, 1e100)


def solve(
    lam: Floats, N: Floats, Z: Floats, S: Floats, number: Number = number_at_server
) -> Measures:
    """Solve flat arrays of points; `number` returns the mean number of n users at the server."""
    found = Measures(*(np.empty(N.size) for _ in Measures._fields))
    for begin in range(0, N.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        s, a = scales(lam[block], Z[block], S[block])
        n, z = N[block], Z[block]
        # arrival theorem: a user's job sees the stationary system of the other users
        Rc = s * (1 + number(others(n), a))
        Xc = np.divide(n, z + Rc, out=n * 0.0, where=z + Rc > 0)
        Qc = Xc * Rc
        Rc[n == 0] = np.nan
        found.Xc[block], found.Rc[block], found.Qc[block] = Xc, Rc, Qc
        found.Ro[block] = s * (1 + Qc)
    return found


def others(N: Floats) -> Floats:
    """Return N − 1; without users, a valid but irrelevant number."""
    return np.where(N == 0, 0, np.maximum(N - 1, 2.0**-52 - 1))


class Slopes(NamedTuple):
    """Derivatives of `Measures` and of the closed users' utilization by one parameter."""

    Xc: Floats
    Rc: Floats
    Qc: Floats
    Ro: Floats
    Uc: Floats
    #: Derivatives for all jobs together, where adding would lose digits.
    X: Floats
    U: Floats


def slopes(wrt: str, lam: Floats, N: Floats, Z: Floats, S: Floats) -> Slopes:
    """Differentiate with respect to lam, N, Z or S, on flat arrays of points.

    At S = 0 these are limits; for N = 0, derivatives of response times are NaN.
    """
    # below this bound, derivatives are proportional to S
    served, S = S, np.maximum(S, 1e-25 * Z)
    s, a = scales(lam, Z, S)
    met = others(N)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        B, Q = all_think(N, a), number_at_server(N, a)
        if wrt == "N":
            in_n = slope_in_users(N, a)
            Xc = X = B * mean_logarithm(N, a) / s
            Rc, Qc, Ro, Uc = s * slope_in_users(met, a), in_n, s * in_n, Xc * S
            U = Uc
        elif wrt == "Z":
            in_a = slope_in_think_time(N, a)
            Xc = X = -all_think(N, a, -1) * Q / s**2
            Rc, Qc, Ro, Uc = slope_in_think_time(met, a), in_a / s, in_a, Xc * S
            U = Uc
        else:
            # both change s, and appear explicitly in X and U of all jobs and in Uc
            in_a = slope_in_think_time(N, a)
            by = s**2 if wrt == "lam" else (s / S) ** 2
            Rc = by * (1 + number_at_server(met, a) - a * slope_in_think_time(met, a))
            Qc, Ro = -by * a * in_a / s, by * (1 + Q - a * in_a)
            if wrt == "lam":
                Xc, X, Uc, U = in_a, B * (1 + Q), S * in_a, S * B * (1 + Q)
            else:
                Xc = X = in_a / S**2
                Uc, U = B * Q / S - lam * (1 - B), B * Q / S + lam * B
    Rc = np.where(N == 0, np.nan, Rc)
    if wrt != "S":
        share = np.divide(served, S, out=np.ones(S.shape), where=S > 0)
        with np.errstate(invalid="ignore"):
            Rc, Qc, Ro, Uc, U = (share * slope for slope in (Rc, Qc, Ro, Uc, U))
            Xc = share * Xc if wrt == "lam" else Xc
    return Slopes(Xc, Rc, Qc, Ro, Uc, X, U)
