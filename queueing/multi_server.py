"""Closed users and open jobs at several exponential servers, as flat arrays of points.

The recursion of mean value analysis for several servers subtracts, and ends in negative throughputs
(M. Reiser, "Mean value analysis and convolution method for queue-dependent servers", 1981). All
terms here are positive. Of the product form (S. C. Bruell, G. Balbo, P. V. Afshari, "Mean value
analysis of mixed, multiple class BCMP networks with load dependent service stations", 1984),

    P(n_o, n_c) ∝ C(n_o + n_c, n_c) (lam S)^n_o S^n_c / Π min(i, c) · Z^(N − n_c) / (N − n_c)!,

both halves can be summed over one variable. With rho = lam S / c, and s = S / (c (1 − rho)):

- while a server is free, the jobs there are those of as many servers as one likes,
  V₀ = Poisson(lam S) + Binomial(N, S / (S + Z)), given that V₀ < c;
- while all are busy, a job that comes waits for N + 1 − V exponential stages of mean s,
  V₁ = Poisson(Z / s) + Binomial(c, 1 − rho), given that V₁ ≤ N: to sum over the open jobs is to
  replace every stage of rate c / S by a geometric number of them, and those of rate 1 / s are left.

So P(wait > t | wait) = P(V₁(t) ≤ N) / P(V₁ ≤ N), with V₁(t) = Poisson((Z + t) / s) + Binomial. The
halves meet where the last server is taken: the chance to wait is to the chance not to as
P(V₀ = c) / P(V₀ < c) to (1 − rho) P(V₁ = N) / P(V₁ ≤ N). A closed user meets N − 1 others, an open
job all N.

Relative errors of throughputs and responses are some 1e-15, in all regions; they were found by
sums of 50 digits (`tests/queueing/test_multi_server.py`).
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from queueing.arguments import Floats, Rule
from queueing.complex_step import steps
from queueing.spare_capacity import idle_share

Kind = Literal["closed", "open"]

Counts = NDArray[np.int64]

MOST = (
    50_000_000  # users and servers, for whom memory and time are there: half a gigabyte, a second
)

#: What must hold of the number of users where there are several servers.
WHOLE_USERS = Rule(
    "N",
    lambda p: (
        (p["servers"] == 1) | ((np.floor(p["N"]) == p["N"]) & (p["N"] + p["servers"] <= MOST))
    ),
    f"be a whole number where there are several servers, with these {MOST:,} at most",
)

_LONGEST = 1e100  # services, of a think time: users never meet


class Sums(NamedTuple):
    """Throughput, responses and number of closed users (c), responses of open jobs (o)."""

    Xc: Floats
    Rc: Floats
    Qc: Floats
    Ro: Floats


def closed_sums(N: Floats, Z: Floats, S: Floats, servers: Floats) -> Sums:
    """Solve points without open jobs; Ro is what one would meet."""
    return mixed_sums(np.zeros(N.shape), N, Z, S, servers)


def mixed_sums(lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats) -> Sums:
    """Solve flat points that keep all conditions, where S is above 0.

    Examples
    --------
    Two users and two servers never wait; an open job may:

    >>> two = np.array([2.0])
    >>> sums = closed_sums(N=two, Z=np.array([3.0]), S=np.array([1.0]), servers=two)
    >>> print(*(v.item() for v in sums))
    0.5 1.0 0.5 1.03125
    """
    from queueing._kernels.servers import mean_responses

    load = _load(lam, N, Z, S, servers)
    Rc, Ro = (S * of_one for of_one in mean_responses(*load))
    with np.errstate(over="ignore"):
        # the least of both: what rounding may add to a saturated throughput
        Xc = np.minimum(N / (Z + Rc), servers * load.idle / S)
    return Sums(Xc, np.where(N > 0, Rc, np.nan), Xc * Rc, Ro)


def mixed_survival(
    t: Floats, lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats, job: Kind
) -> Floats:
    """Return P(response > t) of closed or open jobs, t ≥ 0."""
    from queueing._kernels.servers import response_survival

    with np.errstate(over="ignore"):
        return response_survival(t / S, *_load(lam, _met(N, job), Z, S, servers))


def mixed_moment(
    order: int, lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats, job: Kind
) -> Floats:
    """Return E[response^order] of closed or open jobs."""
    from queueing._kernels.servers import response_moments

    with np.errstate(over="ignore"):
        return S**order * response_moments(order, *_load(lam, _met(N, job), Z, S, servers))


def mixed_derivatives(
    wrt: Literal["lam", "Z", "S"], lam: Floats, N: Floats, Z: Floats, S: Floats, servers: Floats
) -> dict[str, Floats]:
    """Return the derivatives of `Sums` in one parameter.

    By a complex step in the load or in the think time over the service time, of which responses in
    units of S are functions.
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
    somebody = N > 0
    return {
        "Xc": np.where(somebody, Xc, 0.0),
        "Rc": np.where(somebody, Rc, np.nan),
        "Qc": np.where(somebody, Xc * here.Rc + here.Xc * Rc, 0.0),
        "Ro": Ro,
    }


class _Load(NamedTuple):
    """Points in units of the service time, as kernels take them."""

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
    """Return the derivatives of closed and open responses in the load or in the think time."""
    from queueing._kernels.servers import mean_responses

    value = getattr(load, name)
    step = steps(value)
    varied = load._replace(**{name: value + 1j * step})
    if name == "load":
        varied = varied._replace(idle=load.idle - 1j * step / load.servers)
    complex_ = {k: getattr(varied, k) + 0j for k in ("load", "think", "service", "idle")}
    Rc, Ro = mean_responses(*varied._replace(**complex_))
    return Rc.imag / step, Ro.imag / step


def _met(N: Floats, job: Kind) -> Floats:
    """Users whom a job may meet: a closed user does not meet itself."""
    return N - 1 if job == "closed" else N


def _counts(N: Floats, servers: Floats) -> tuple[Counts, Counts]:
    return N.astype(np.int64), servers.astype(np.int64)
