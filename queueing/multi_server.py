"""Closed users and open jobs at several exponential servers, as flat arrays of points.

The recursion of mean value analysis for several servers subtracts, and can end in negative
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
50 digits (`tests/queueing/test_multi_server.py`).
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing.arguments import Condition, Floats
from workloadkit.queueing.complex_step import steps
from workloadkit.queueing.one_server import idle_share

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
