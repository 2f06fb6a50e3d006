"""Closed users and open jobs at one or several exponential servers, as flat arrays of points.

Open jobs leave the share idle = 1 − lam S of one server. For closed users, this is equivalent to a
server without open jobs and with mean service time s = S / idle; a = Z / s.

For several servers, the recursion of mean value analysis subtracts, and can end in negative
throughputs (M. Reiser, "Mean value analysis and convolution method for queue-dependent servers",
1981). All terms here are positive. In the product form (S. C. Bruell, G. Balbo, P. V. Afshari,
"Mean value analysis of mixed, multiple class BCMP networks with load dependent service stations",
1984),

    P(n_o, n_c) ∝ C(n_o + n_c, n_c) (lam S)^n_o S^n_c / Π min(i, c) · Z^(N − n_c) / (N − n_c)!,

both parts can be summed over one variable. With rho = lam S / c and s = S / (c (1 − rho)):

- while a server is free, the jobs there are those of an unlimited number of servers,
  V₀ = Poisson(lam S) + Binomial(N, S / (S + Z)), given that V₀ < c;
- while all servers are busy, an arriving job waits for N + 1 − V exponential stages of mean s,
  V₁ = Poisson(Z / s) + Binomial(c, 1 − rho), given that V₁ ≤ N: summing over the open jobs replaces
  every stage of rate c / S by a geometric number of them, which leaves stages of rate 1 / s.

Hence P(wait > t | wait) = P(V₁(t) ≤ N) / P(V₁ ≤ N), with V₁(t) = Poisson((Z + t) / s) + Binomial.
The parts meet where the last server is taken: the odds of waiting are
P(V₀ = c) / P(V₀ < c) to (1 − rho) P(V₁ = N) / P(V₁ ≤ N). A closed user meets N − 1 other users, an
open job meets all N.

Relative errors of throughputs and response times are about 1e-15 everywhere, compared with sums of
50 digits (`tests/queueing/test_multi_server.py`). Derivatives are by the complex step: for an
analytic function, the imaginary part that results from an imaginary step of a real parameter is the
derivative times the step, exact up to rounding: the square of a step of 1e-20 vanishes (W. Squire,
G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review 40(1),
1998).
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing.arguments import Condition, Flags, Floats
from workloadkit.queueing.response_law import mean_logarithm, slope_in_think_time, slope_in_users
from workloadkit.queueing.truncated_poisson import BLOCK, all_think, number_at_server


def steps(value: Floats) -> Floats:
    """Return steps for a non-negative parameter: far below it, but not denormal.

    Examples
    --------
    >>> x = np.array([2.0, 0.0])
    >>> h = steps(x)
    >>> (np.imag((x + 1j * h) ** 2) / h).tolist()
    [4.0, 0.0]
    """
    return np.where(value == 0, 1e-30, np.maximum(1e-20 * value, 1e-305))


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


Kind = Literal["closed", "open"]

Counts = NDArray[np.int64]

MOST = 50_000_000  # users and servers: half a gigabyte of memory and a second

#: Condition on the number of users for several servers.
WHOLE_USERS = Condition(
    "N",
    lambda p: (
        (p["servers"] == 1) | ((np.floor(p["N"]) == p["N"]) & (p["N"] + p["servers"] <= MOST))
    ),
    f"be a whole number for several servers, and N + servers at most {MOST:,}",
)

_LONGEST = 1e100  # think time in service times beyond which users never meet


class Sums(NamedTuple):
    """Throughput, response time and number of closed users (c); response time of open jobs (o)."""

    Xc: Floats
    Rc: Floats
    Qc: Floats
    Ro: Floats


def closed_sums(N: Floats, Z: Floats, S: Floats, servers: Floats) -> Sums:
    """Solve points without open jobs; Ro is the response time of a single one."""
    return mixed_sums(np.zeros(N.shape), N, Z, S, servers)


def mixed_sums(lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats) -> Sums:
    """Solve flat points that satisfy all conditions, with S above 0.

    Examples
    --------
    Two users and two servers never wait; an open job may:

    >>> two = np.array([2.0])
    >>> sums = closed_sums(N=two, Z=np.array([3.0]), S=np.array([1.0]), servers=two)
    >>> print(*(v.item() for v in sums))
    0.5 1.0 0.5 1.03125
    """
    from workloadkit.queueing._kernels.servers import mean_responses

    load = _load(lam, N, Z, S, servers)
    Rc, Ro = (S * of_one for of_one in mean_responses(*load))
    with np.errstate(over="ignore"):
        # the minimum removes rounding errors of a saturated throughput
        Xc = np.minimum(N / (Z + Rc), servers * load.idle / S)
    return Sums(Xc, np.where(N > 0, Rc, np.nan), Xc * Rc, Ro)


def mixed_survival(
    t: Floats, lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats, job: Kind
) -> Floats:
    """Return P(response > t) of closed or open jobs, t ≥ 0."""
    from workloadkit.queueing._kernels.servers import response_survival

    with np.errstate(over="ignore"):
        return response_survival(t / S, *_load(lam, _met(N, job), Z, S, servers))


def mixed_moment(
    order: int, lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats, job: Kind
) -> Floats:
    """Return E[response^order] of closed or open jobs."""
    from workloadkit.queueing._kernels.servers import response_moments

    with np.errstate(over="ignore"):
        return S**order * response_moments(order, *_load(lam, _met(N, job), Z, S, servers))


def mixed_derivatives(
    wrt: Literal["lam", "Z", "S"], lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats
) -> dict[str, Floats]:
    """Return the derivatives of `Sums` with respect to one parameter.

    Uses a complex step in the load or in the ratio of think time to service time, since response
    times in units of S are functions of these.
    """
    load = _load(lam, N, Z, S, servers)
    here = mixed_sums(lam, N, Z, S, servers)
    with np.errstate(over="ignore", invalid="ignore"):
        if wrt == "lam":
            Rc, Ro = (S * (S * slope) for slope in _slopes(load, "load"))
        elif wrt == "Z":
            Rc, Ro = _slopes(load, "think")
        else:
            pairs = zip(_slopes(load, "load"), _slopes(load, "think"), strict=True)
            Rc, Ro = (
                R / S + load.load * in_load - load.think * in_think
                for R, (in_load, in_think) in zip((here.Rc, here.Ro), pairs, strict=True)
            )
        Xc = -here.Xc * ((wrt == "Z") + Rc) / (Z + here.Rc)
    present = N > 0
    return {
        "Xc": np.where(present, Xc, 0.0),
        "Rc": np.where(present, Rc, np.nan),
        "Qc": np.where(present, Xc * here.Rc + here.Xc * Rc, 0.0),
        "Ro": Ro,
    }


class _Load(NamedTuple):
    """Points in units of the service time, for the kernels."""

    load: Any
    users: Counts
    think: Any
    service: Any
    servers: Counts
    idle: Any


def _load(lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats) -> _Load:
    users, counts = _counts(N, servers)
    with np.errstate(over="ignore"):
        think = np.minimum(Z / S, _LONGEST)
    return _Load(lam * S, users, think, np.ones(S.shape), counts, idle_share(lam, S, servers))


def _slopes(load: _Load, name: Literal["load", "think"]) -> tuple[Floats, Floats]:
    """Return the derivatives of closed and open response times by load or think time."""
    from workloadkit.queueing._kernels.servers import mean_responses

    value = getattr(load, name)
    step = steps(value)
    varied = load._replace(**{name: value + 1j * step})
    if name == "load":
        varied = varied._replace(idle=load.idle - 1j * step / load.servers)
    complex_ = {k: getattr(varied, k) + 0j for k in ("load", "think", "service", "idle")}
    Rc, Ro = mean_responses(*varied._replace(**complex_))
    return Rc.imag / step, Ro.imag / step


def _met(N: Floats, job: Kind) -> Floats:
    """Return the number of other users: a closed user does not meet itself."""
    return N - 1 if job == "closed" else N


def _counts(N: Floats, servers: Floats) -> tuple[Counts, Counts]:
    return N.astype(np.int64), servers.astype(np.int64)
