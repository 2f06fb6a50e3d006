"""One server that breaks down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Condition, Flags, Floats, Value, not_negative, positive
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.result import Places
from workloadkit.queueing.stations.exponential_service import Open, in_one_line


@dataclass(frozen=True, eq=False)
class _Breaking(Open):
    measures: ClassVar = (*Open.measures, "available")

    available: Value

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        lam, S, up, down = p["lam"], p["S"], p["up"], p["down"]
        available = up / (up + down)
        R = (S / available + available * down * down / up) / (1 - lam * S / available)
        p_wait = 1 - available + lam * S
        found = in_one_line(lam, S, 1.0, R - S, p_wait)
        return {**found, "R": R, "Q": lam * R, "available": available + 0.0 * R}

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise QueueingError("no formula for response times with breakdowns is offered")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise QueueingError("no formula for response times with breakdowns is offered")
        return np.ravel(self.R)[at]


def breakdowns(lam: ArrayLike, S: ArrayLike, up: ArrayLike, down: ArrayLike) -> Open:
    """Solve M/M/1 with breakdowns: exponential times up and down, also while the server is idle.

    A job that is interrupted continues after the repair. With A = up/(up + down) [1]_,
    R = (S/A + A down²/up) / (1 - lam S/A).

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S below A.
    S : array_like
        Mean service time, 0 or more.
    up : array_like
        Mean time between the end of a repair and the next breakdown, above 0.
    down : array_like
        Mean time of a repair, 0 or more.

    Returns
    -------
    Open
        See `mm1`, and available, the share of time in which the server is up. W is the response
        time less the service; p_wait counts jobs that are not served at once.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] H. White, L. S. Christie, "Queuing with preemptive priorities or with breakdown",
       Operations Research 6(1), 1958; B. Avi-Itzhak, P. Naor, "Some queuing problems with the
       service station subject to breakdown", Operations Research 11(3), 1963.

    Examples
    --------
    >>> breakdowns(lam=0.5, S=1, up=9, down=[0, 1]).R.round(4).tolist()
    [2.0, 2.725]
    """

    def holds(p: Mapping[str, Floats]) -> Flags:
        return p["lam"] * p["S"] < p["up"] / (p["up"] + p["down"])

    capacity = Condition("lam", holds, "be below up / (up + down) / S, the server's capacity")
    rules = [positive("up"), not_negative("down"), capacity]
    given = {"lam": lam, "S": S, "up": up, "down": down}
    return _Breaking.at(breakdowns, rules, "exact, chain of two phases", **given)
