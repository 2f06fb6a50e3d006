"""Closed users with or without an open stream of jobs; operational phases of the mixed model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing import users_at_servers
from workloadkit.queueing.arguments import (
    Condition,
    Floats,
    Value,
    count,
    not_negative,
    plain,
    points,
    positive,
)
from workloadkit.queueing.closed_users import ClosedResult, MixedResult
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.probability import as_think
from workloadkit.queueing.result import Exactness, again
from workloadkit.queueing.think_times import FIXED_POINT, with_think_time
from workloadkit.queueing.users_at_servers import WHOLE_USERS, idle_share, stable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Mean value analysis by recursion over users: the readable form of the closed model.


def mean_values(N: int, Z: float, S: float) -> tuple[float, float, float]:
    """Return throughput, response time and number at one exponential server, by recursion [1]_.

    A job of one of n users sees the server in its mean state with n − 1 users (arrival theorem),
    waits for the jobs there, and is served: R(n) = S (1 + Q(n − 1)). The interactive law gives
    X(n) = n / (R(n) + Z), and Little's law Q(n) = X(n) R(n). Nothing is subtracted, so no digits
    are lost for any N.

    `closed(N, Z, S, method="mva")` is the compiled form for arrays; `closed(N, Z, S)` needs no
    recursion. If open jobs take a share lam S of the server, replace S by S / (1 − lam S).

    Parameters
    ----------
    N : int
        Users; 1 or more.
    Z : float
        Mean think time.
    S : float
        Mean service time.

    References
    ----------
    .. [1] M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks",
       Journal of the ACM 27(2), 1980.

    Examples
    --------
    With two users and Z = S, the other user is met with probability 1/2:

    >>> mean_values(2, Z=1, S=1)
    (0.8, 1.5, 1.2000000000000002)
    """
    Q = 0.0
    for n in range(1, N + 1):
        R = S * (1 + Q)
        X = n / (R + Z)
        Q = X * R
    return X, R, Q


def numbers_at_server(n: Floats, a: Floats) -> Floats:
    """Return the mean number of n users (whole) at the server, by recursion; see above.

    `a` is mean think time / mean service time; see `truncated_poisson.number_at_server`.
    """
    from workloadkit.queueing._kernels import run_in_slices, servers

    number = np.zeros(n.size)
    run_in_slices(servers.numbers_at_server, np.ravel(n), np.ravel(a), number)
    return number.reshape(n.shape)


Method = Literal["formula", "mva"]

EXACT = Exactness("exact, product form")

USERS = (
    not_negative("N"),
    not_negative("Z"),
    not_negative("S"),
    Condition("Z", lambda p: (p["Z"] > 0) | (p["S"] > 0) | (p["N"] == 0), "be above 0 if S is 0"),
    count("servers"),
)
_METHODS = {
    "formula": [WHOLE_USERS],
    "mva": [
        Condition("servers", lambda p: p["servers"] == 1, "be 1 for method 'mva'"),
        Condition(
            "N",
            lambda p: (np.floor(p["N"]) == p["N"]) & (p["N"] <= 1e9),
            "be a whole number of at most 1e9 for method 'mva'",
        ),
    ],
}


def closed(
    N: ArrayLike,
    Z: ArrayLike | Callable[[Any], Any],
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "formula",
) -> ClosedResult:
    """Solve the closed model: N users who submit a job, wait for it, think, and submit the next.

    Service is first come, first served, with exponential times of mean S; think times have mean Z
    and any distribution [1]_. For one server, with a = Z / S and Erlang's
    B = a^N e^−a / Γ(N + 1, a) [2]_,

    X = (1 − B) / S,  R = N / X − Z,  P(R > t) = P(N − 1, a + t/S) / P(N − 1, a),

    where P(n, a) is the probability that a Poisson number with mean a is at most n. The relative
    error is 1e-12 for a up to 1e9 and N up to 1e6; N need not be whole.

    Parameters
    ----------
    N : array_like
        Number of users, 0 or more; whole for several servers. At 0, R is NaN and all other measures
        are 0.
    Z : array_like or callable
        Mean think time, 0 or more. At 0, all users are always at the servers. Also a function of
        the last response time, such as `breaks`: then the mean think time that agrees with the
        response times is used, an approximation; if Z(r) falls somewhere, there may be none.
    S : array_like
        Mean service time, 0 or more; above 0 if Z is 0 or a function. At 0, X is N / Z, and R, Q
        and U are 0.
    servers : array_like, default 1
        Number of servers with a common queue.
    method : {"formula", "mva"}
        "mva" is mean value analysis [3]_, a recursion over users, for one server and whole N.

    Returns
    -------
    ClosedResult
        With X, R, Q, U and X_per_user. Its job kind is "closed".

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    References
    ----------
    .. [1] F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, "Open, closed, and mixed networks
       of queues with different classes of customers", Journal of the ACM 22(2), 1975.
    .. [2] L. Takács, "Introduction to the Theory of Queues", Oxford University Press, 1962.
    .. [3] M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks",
       Journal of the ACM 27(2), 1980.

    Examples
    --------
    >>> result = closed(N=2, Z=1, S=1)
    >>> print(f"{result.X:.3f} {result.R:.3f} {result.Q:.3f} {result.U:.3f}")
    0.800 1.500 1.200 0.800
    >>> round(result.ppf(0.9), 6)
    3.271812
    >>> closed(N=[1, 10, 100], Z=20, S=1).R.round(6).tolist()
    [1.0, 1.643296, 80.0]
    """
    if (think := as_think(Z)) is not None:
        rules_of(method)
        found = with_think_time(closed, think, N=N, S=S, servers=servers)
        again_with = {"N": N, "Z": Z, "S": S, "servers": servers, "method": method}
        return replace(found, exactness=FIXED_POINT, solve=partial(again, closed, again_with))
    given: dict[str, Any] = {"N": N, "Z": Z, "S": S, "servers": servers}
    p = points([*USERS, *rules_of(method)], **given)
    # NaN points stay NaN
    measures = _solve(p["N"] * 0.0, p, method)
    return ClosedResult(
        parameters=p,
        exactness=EXACT,
        solve=partial(again, closed, {**given, "method": method}),
        X=plain(measures.Xc),
        R=plain(measures.Rc),
        Q=plain(measures.Qc),
        U=plain(np.minimum(measures.Xc * p["S"] / p["servers"], 1.0)),
    )


def closed_and_open(
    lam: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "formula",
) -> MixedResult:
    """Solve `mixed` if open jobs have no successors; see there."""
    given = {"lam": lam, "N": N, "Z": Z, "S": S, "servers": servers}
    at = points([not_negative("lam"), *USERS, *rules_of(method), stable()], **given)
    lam, S, servers = at["lam"], at["S"], at["servers"]
    measures = _solve(lam, at, method)
    busy = lam * S / servers
    return MixedResult(
        parameters=at,
        exactness=EXACT,
        solve=partial(again, closed_and_open, {**given, "method": method}),
        Xc=plain(measures.Xc),
        Rc=plain(measures.Rc),
        Qc=plain(measures.Qc),
        Uc=plain(np.minimum(measures.Xc * S / servers, 1.0)),
        Ro=plain(measures.Ro),
        Qo=plain(lam * measures.Ro),
        Uo=plain(busy),
    )


def rules_of(method: str) -> list[Condition]:
    """Return the conditions of the method."""
    if method not in _METHODS:
        raise QueueingError(f"method is {quoted(method)}; it must be {' or '.join(_METHODS)}")
    return _METHODS[method]


def _solve(lam: Floats, p: dict[str, Floats], method: str) -> users_at_servers.Measures:
    """Return throughput and response times at all points, in their shape."""
    shape = lam.shape
    lam, N, Z, S, servers = load = [
        np.ravel(v) for v in (lam, p["N"], p["Z"], p["S"], p["servers"])
    ]
    more = (servers > 1) & (S > 0)
    number = users_at_servers.number_at_server if method == "formula" else numbers_at_server
    # points with several servers are first solved as for S = 0, then replaced
    found = users_at_servers.solve(lam, N, Z, np.where(more, 0.0, S) if more.any() else S, number)
    if more.any():
        from workloadkit.queueing.users_at_servers import mixed_sums

        sums = mixed_sums(*(v[more] for v in load))
        for name in users_at_servers.Measures._fields:
            getattr(found, name)[more] = getattr(sums, name)
    return users_at_servers.Measures(*(v.reshape(shape) for v in found))


@dataclass(frozen=True)
class Phases(DisplayedResult):
    """Results of operational laws alone for closed users and open jobs.

    Parameters
    ----------
    full : bool or ndarray of bool
        Whether the point is in the phase of full utilization, where closed users need all capacity
        left by the open jobs: N ≥ N_star.
    N_star : float or ndarray
        Number of users where the phases meet; R_full there is the response time of a single user
        with the open jobs.
    R_full : float or ndarray
        Response time of closed users under full utilization, N / (1/S − lam) − Z. Below N_star it
        is only a lower bound on the response time, possibly negative.
    lam, N, Z : float or ndarray
        As passed.
    """

    full: bool | NDArray[np.bool_]
    N_star: Value
    R_full: Value
    lam: Value
    N: Value
    Z: Value

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the response time under full utilization over the number of users."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        table = self.to_frame().sort_values("N")
        ax.plot(table["N"], table["R_full"], marker="o")
        ax.set(xlabel="number of users N", ylabel="R_full, in the unit of S")
        return ax

    def response(self, X: ArrayLike) -> Value:
        """Return the response time of closed users for a throughput of all jobs.

        The relation holds in both phases; under partial utilization, the laws determine neither R
        nor X.

        Parameters
        ----------
        X : array_like
            Open and closed jobs per unit of time; above lam.
        """
        at = points([positive("X - lam")], **{"X - lam": np.asarray(X) - self.lam})
        return plain(np.asarray(self.N / at["X - lam"] - self.Z))


def operational_phases(lam: ArrayLike, N: ArrayLike, Z: ArrayLike, S: ArrayLike) -> Phases:
    """Distinguish full from partial utilization, without assumptions on distributions [1]_.

    The throughput is the sum of the open jobs' lam and the closed users' N / (R + Z), by the
    interactive response time law. If the server is always busy, it is 1/S, hence
    R = N / (1/S − lam) − Z: additional users only queue. Otherwise, R is larger.

    Parameters
    ----------
    lam : array_like
        Rate of open jobs, below 1/S.
    N : array_like
        Number of closed users.
    Z : array_like
        Mean think time.
    S : array_like
        Mean service time, above 0.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN, and not full.

    References
    ----------
    .. [1] N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter 6, section III.C;
       N* is that of asymptotic bounds: R. R. Muntz, J. Wong, "Asymptotic properties of closed
       queueing network models", 8th Princeton Conference on Information Sciences and Systems, 1974.

    Examples
    --------
    >>> found = operational_phases(lam=0.5, N=[4, 8, 16], Z=8, S=1)
    >>> found.full.tolist(), found.N_star.tolist(), found.R_full.tolist()
    ([False, True, True], [5.0, 5.0, 5.0], [0.0, 8.0, 24.0])
    >>> found.response(0.8).round(6).tolist()
    [5.333333, 18.666667, 45.333333]
    """
    rules = [not_negative("lam"), not_negative("N"), not_negative("Z"), positive("S")]
    at = points([*rules, stable()], lam=lam, N=N, Z=Z, S=S, servers=1)
    with np.errstate(over="ignore"):  # inf: no number of users is enough
        left = idle_share(at["lam"], at["S"]) / at["S"]
        N_star = 1 + at["Z"] * left
    full = at["N"] >= N_star
    return Phases(
        full=full if full.ndim else bool(full),
        N_star=plain(N_star),
        R_full=plain(at["N"] / left - at["Z"]),
        **{name: plain(at[name]) for name in ("lam", "N", "Z")},
    )
