"""Closed users, alone or beside an open stream of jobs, at one server or several."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from queueing import one_server
from queueing.arguments import Floats, Rule, count, not_negative, plain, points
from queueing.closed_users import Closed, Mixed
from queueing.errors import QueueingError
from queueing.multi_server import WHOLE_USERS
from queueing.recursion import numbers_at_server
from queueing.result import Exactness, again
from queueing.spare_capacity import stable

Method = Literal["formula", "mva"]

EXACT = Exactness("exact, product form")

USERS = (
    not_negative("N"),
    not_negative("Z"),
    not_negative("S"),
    Rule("Z", lambda p: (p["Z"] > 0) | (p["S"] > 0) | (p["N"] == 0), "be above 0 where S is 0"),
    count("servers"),
)
_METHODS = {
    "formula": [WHOLE_USERS],
    "mva": [
        Rule("servers", lambda p: p["servers"] == 1, "be 1 for method 'mva'"),
        Rule(
            "N",
            lambda p: (np.floor(p["N"]) == p["N"]) & (p["N"] <= 1e9),
            "be a whole number, 1e9 at most, for method 'mva'",
        ),
    ],
}


def closed(
    N: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "formula",
) -> Closed:
    """Solve the closed model: N users who submit a job, wait for it, think, and submit the next.

    Jobs are served first come, first served for exponential times of mean S; think times have mean
    Z, and any law [1]_. With one server, a = Z / S and Erlang's B = a^N e^−a / Γ(N + 1, a) [2]_,

    X = (1 − B) / S,  R = N / X − Z,  P(R > t) = P(N − 1, a + t/S) / P(N − 1, a),

    where P(n, a) is the chance that a Poisson number of mean a is n at most. They are computed to a
    relative error of 1e-12 for a up to 1e9 and N up to 1e6, which need not be whole.

    Parameters
    ----------
    N : array_like
        Number of users, 0 or more; whole numbers where there are several servers. At 0, R is NaN
        and all else 0.
    Z : array_like
        Mean think time, 0 or more. At 0 all users are always at the servers.
    S : array_like
        Mean service time, 0 or more; above 0 where Z is 0. At 0, X is N / Z, and R, Q and U are 0.
    servers : array_like, default 1
        Number of servers, of one queue.
    method : {"formula", "mva"}
        "mva" is mean value analysis [3]_, a recursion over users, for one server and whole N.

    Returns
    -------
    Closed
        With X, R, Q, U and X_per_user. Its job is "closed".

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or is no number.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN.

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
    given = {"N": N, "Z": Z, "S": S, "servers": servers}
    p = points([*USERS, *_rules(method)], **given)
    # NaN points stay NaN, whatever is added
    measures = _solve(p["N"] * 0.0, p, method)
    return Closed(
        parameters=p,
        exactness=EXACT,
        solve=partial(again, closed, {**given, "method": method}),
        X=plain(measures.Xc),
        R=plain(measures.Rc),
        Q=plain(measures.Qc),
        U=plain(np.minimum(measures.Xc * p["S"] / p["servers"], 1.0)),
    )


def mixed(
    lam: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "formula",
    p: ArrayLike | Callable[[Any], Any] | None = None,
) -> Mixed:
    """Solve the mixed model: closed users as in `closed`, beside open jobs of the same kind [1]_.

    Open jobs come by a Poisson process and need exponential service of the same mean, in the same
    queue. They do not react, so they take the share lam S of the servers whatever happens, and the
    closed users get along with the rest. With one server, it is to these as if the service time
    were s = S / (1 − lam S):

    Xc = (1 − B) / s,  Rc = N / Xc − Z,  Ro = s (1 + Qc),  P(Ro > t) = P(N, a + t/s) / P(N, a),

    with a = Z / s, and B and P as in `closed`. A closed job meets N − 1 other closed users, an open
    one all N: Ro is the longer one, and grows with N without bound although lam S < 1.

    Parameters
    ----------
    lam : array_like
        Rate of open jobs, 0 or more; lam S < servers. At 0, Ro is what a single one would meet.
    N, Z, S, servers, method
        As of `closed`.
    p : array_like or callable, optional
        If given, open jobs may be followed by others of the same user, who goes on with this
        probability (as of `reopen`) after think times of the mean Z, too. Exact where it is a
        number, else by the chain of `reopen`; N is whole then.

    Returns
    -------
    Mixed
        With Xc, Rc, Qc, Uc of closed users, Ro, Qo, Uo of open jobs, X, R, Q, U of all and
        X_per_user of a closed user. Its jobs are "closed" and "open". With p a `MixedReopen`.

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or is no number.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham, K. C. Sevcik, "Quantitative System
       Performance", Prentice-Hall, 1984, section 7.4.3; N. Zakay, PhD thesis, The Hebrew
       University of Jerusalem, 2018, chapter 6, section III.

    Examples
    --------
    >>> result = mixed(lam=0.5, N=2, Z=2, S=1)
    >>> print(f"{result.Xc:.3f} {result.Rc:.3f} {result.Ro:.3f}")
    0.400 3.000 4.400
    >>> print(f"{result.ppf(0.9, 'closed'):.3f} {result.ppf(0.9, 'open'):.3f}")
    6.544 8.886
    """
    if p is not None:
        from queueing.mixed_reopen import mixed_reopen

        _rules(method)
        if method != "formula":
            raise QueueingError(f"method is {method!r}; with p it must be 'formula'")
        return mixed_reopen(lam, N, Z, S, servers, p)
    given = {"lam": lam, "N": N, "Z": Z, "S": S, "servers": servers}
    at = points([not_negative("lam"), *USERS, *_rules(method), stable()], **given)
    lam, S, servers = at["lam"], at["S"], at["servers"]
    measures = _solve(lam, at, method)
    busy = lam * S / servers
    return Mixed(
        parameters=at,
        exactness=EXACT,
        solve=partial(again, mixed, {**given, "p": p, "method": method}),
        Xc=plain(measures.Xc),
        Rc=plain(measures.Rc),
        Qc=plain(measures.Qc),
        Uc=plain(np.minimum(measures.Xc * S / servers, 1.0)),
        Ro=plain(measures.Ro),
        Qo=plain(lam * measures.Ro),
        Uo=plain(busy),
    )


def _rules(method: str) -> list[Rule]:
    """Return what the method asks for."""
    if method not in _METHODS:
        raise QueueingError(f"method is {method!r}; it must be {' or '.join(_METHODS)}")
    return _METHODS[method]


def _solve(lam: Floats, p: dict[str, Floats], method: str) -> one_server.Measures:
    """Throughput and responses at all points, in their shape."""
    shape = lam.shape
    lam, N, Z, S, servers = load = [
        np.ravel(v) for v in (lam, p["N"], p["Z"], p["S"], p["servers"])
    ]
    more = (servers > 1) & (S > 0)
    number = one_server.number_at_server if method == "formula" else numbers_at_server
    # several servers are solved as if S = 0 first, which they are where it is
    found = one_server.solve(lam, N, Z, np.where(more, 0.0, S) if more.any() else S, number)
    if more.any():
        from queueing.multi_server import mixed_sums

        sums = mixed_sums(*(v[more] for v in load))
        for name in one_server.Measures._fields:
            getattr(found, name)[more] = getattr(sums, name)
    return one_server.Measures(*(v.reshape(shape) for v in found))
