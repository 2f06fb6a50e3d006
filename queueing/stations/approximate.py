"""Several servers with general service and arrivals, approximately, from two moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, count, not_negative
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness, Places
from workloadkit.queueing.stations.exponential_service import Open, in_one_line
from workloadkit.queueing.users_at_servers import idle_share, stable
from workloadkit.queueing.waits import erlang_c, general_wait

#: Largest relative errors compared with chains of Erlang and hyperexponential service, or arrivals
#: (scv 1/4 to 9 and 1/4 to 4), 1 to 8 servers, loads from 0.3 to 0.9; the largest are those of
#: light loads: tests/queueing/test_more_stations.py.
_MGC = Exactness("approximation: M/G/c", W=1.2, R=0.2, Q=0.2, Lq=1.2)
_GGC = Exactness("approximation: GI/G/c", W=0.9, R=0.2, Q=0.2, Lq=0.9)


@dataclass(frozen=True, eq=False)
class _General(Open):
    whole: ClassVar = ("servers",)

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S, servers = p["lam"], p["S"], p["servers"]
        idle = idle_share(lam, S, servers)
        wait = erlang_c(lam * S, servers, idle)
        poisson = np.ones_like(lam)
        W = general_wait(lam, S, servers, p.get("scv_arrivals", poisson), p["scv"])
        return in_one_line(lam, S, servers, W, wait)

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure by finite differences."""
        if wrt in self.whole:
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number")
        return super(Open, self).derivative(of, wrt)

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise QueueingError("scv does not determine the distribution of response times")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise QueueingError("scv does not determine moments of response times beyond the first")
        return np.ravel(self.R)[at]


def mgc(lam: ArrayLike, S: ArrayLike, scv: ArrayLike, servers: ArrayLike) -> Open:
    """Solve M/G/c approximately: W = (1 + scv)/2 times that of M/M/c [1]_.

    Exact for one server (Pollaczek and Khinchine) and for scv 1. Errors of W in percent, compared
    with chains of Erlang and balanced hyperexponential service:

    ======= ==== ======= ======= ====== ====== ======
    servers load scv 1/4 scv 1/2 scv 2  scv 4  scv 9
    ======= ==== ======= ======= ====== ====== ======
    2       0.5  -3.9    -2.2    +6.0   +12.9  +20.7
    2       0.8  -1.2    -0.7    +1.7   +3.7   +6.0
    4       0.8  -2.6    -1.5    +4.0   +8.5   +13.6
    ======= ==== ======= ======= ====== ====== ======

    Few jobs wait at a light load of many servers, and W is then up to twice too long.

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < servers.
    S : array_like
        Mean service time, 0 or more.
    scv : array_like
        Squared coefficient of variation of service times, 0 or more.
    servers : array_like
        Number of servers c, 1 or more.

    Returns
    -------
    Open
        See `mm1`; p_wait is that of M/M/c. Distributions raise `QueueingError`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] A. M. Lee, P. A. Longton, "Queueing processes associated with airline passenger
       check-in", Operational Research Quarterly 10(1), 1959.

    Examples
    --------
    >>> mgc(lam=3, S=1, scv=[0, 1, 4], servers=4).W.round(4).tolist()
    [0.2547, 0.5094, 1.2736]
    """
    rules = [not_negative("scv"), count("servers"), stable("be below servers / S, their capacity")]
    return _General.at(mgc, rules, _MGC, lam=lam, S=S, scv=scv, servers=servers)


def ggc(
    lam: ArrayLike, S: ArrayLike, scv_arrivals: ArrayLike, scv: ArrayLike, servers: ArrayLike
) -> Open:
    """Solve GI/G/c approximately: W = (ca² + cs²)/2 times that of M/M/c [1]_.

    For one server and ca² < 1, corrected by the factor of Krämer and Langenbach-Belz [2]_. Exact
    for Poisson arrivals at one server, and for M/M/c.

    Parameters
    ----------
    lam, S, scv, servers
        See `mgc`.
    scv_arrivals : array_like
        Squared coefficient of variation of inter-arrival times, 0 or more.

    Returns
    -------
    Open
        See `mgc`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] A. O. Allen, "Probability, Statistics, and Queueing Theory", Academic Press, 1978
       (Allen and Cunneen).
    .. [2] W. Krämer, M. Langenbach-Belz, "Approximate formulae for the delay in the queueing system
       GI/G/1", 8th International Teletraffic Congress, 1976.

    Examples
    --------
    >>> ggc(lam=3, S=1, scv_arrivals=[0.5, 1, 2], scv=1, servers=4).W.round(4).tolist()
    [0.3821, 0.5094, 0.7642]
    """
    rules = [
        not_negative("scv_arrivals"),
        not_negative("scv"),
        count("servers"),
        stable("be below servers / S, their capacity"),
    ]
    given = {"lam": lam, "S": S, "scv_arrivals": scv_arrivals, "scv": scv, "servers": servers}
    return _General.at(ggc, rules, _GGC, **given)
