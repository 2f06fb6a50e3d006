"""Several servers, and jobs that leave the queue if they wait too long."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, count, positive
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Places
from workloadkit.queueing.stations.exponential_service import Open, bearable
from workloadkit.queueing.waiting import birth_death

_LEFT_OUT = 1e-17  # probability of longer queues
_MOST = 50_000_000


@dataclass(frozen=True, eq=False)
class _Impatient(Open):
    """Exponential service and patience.

    Parameters
    ----------
    p_abandon : float or ndarray
        Share of jobs that leave without service.
    """

    measures: ClassVar = (*Open.measures, "p_abandon")
    whole: ClassVar = ("servers",)

    p_abandon: Value

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        names = ("X", "R", "Q", "U", "W", "Lq", "p_wait", "p_abandon")
        shape = p["lam"].shape
        found = {name: np.full(shape, np.nan) for name in names}
        for place in np.ndindex(shape):
            one = {name: float(value[place]) for name, value in p.items()}
            if not np.isnan(one["lam"]):
                for name, value in zip(names, _measures(**one), strict=True):
                    found[name][place] = value
        return found

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure by finite differences."""
        if wrt in self.whole:
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number")
        return super(Open, self).derivative(of, wrt)

    def _number(self, n: Floats, at: Places) -> Floats:
        found = np.full(at.shape, np.nan)
        for place in np.ndindex(at.shape):
            values = {name: float(self._at(name, at[place])) for name in self.parameters}
            if not np.isnan(values["lam"]):
                share = _shares(**values)
                found[place] = share[int(n[place])] if n[place] < share.size else 0.0
        return found

    def _all_busy(self, at: Places) -> Floats:
        return np.ravel(self.p_wait)[at]

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise QueueingError("no formula for response times of impatient jobs is offered")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise QueueingError("no formula for response times of impatient jobs is offered")
        return np.ravel(self.R)[at]

    def _laws(self) -> list[tuple[Value, Value]]:
        p = self.parameters
        return [
            (self.Lq, p["lam"] * self.W),
            (self.U, self.X * p["S"] / p["servers"]),
            (self.Q, self.Lq + self.X * p["S"]),
            (p["lam"] - self.X, self.Lq / p["patience"]),
        ]


def impatient(lam: ArrayLike, S: ArrayLike, servers: ArrayLike, patience: ArrayLike) -> Open:
    """Solve M/M/c + M: jobs leave the queue after an exponential patience [1]_ [2]_.

    Exact, by the birth-death chain. There is a steady state at any load: with n jobs, they leave at
    the rate min(n, c)/S + max(n - c, 0)/patience. With patience S the number of jobs is Poisson.

    Parameters
    ----------
    lam : array_like
        Arrival rate including jobs that leave, 0 or more.
    S : array_like
        Mean service time, above 0.
    servers : array_like
        Number of servers c, 1 or more.
    patience : array_like
        Mean time until a waiting job leaves, above 0.

    Returns
    -------
    Open
        See `mm1`, and p_abandon, the share of jobs that leave without service. X counts served
        jobs; W and R are means over all jobs, until service ends or the job leaves.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] C. Palm, "Research on telephone traffic carried by full availability groups", Tele 1,
       1957.
    .. [2] O. Garnett, A. Mandelbaum, M. Reiman, "Designing a call center with impatient customers",
       Manufacturing & Service Operations Management 4(3), 2002.

    Examples
    --------
    >>> queue = impatient(lam=2, S=1, servers=1, patience=1)
    >>> print(f"{queue.p_abandon:.4f} {queue.X:.4f} {queue.Q:.1f}")
    0.5677 0.8647 2.0
    """
    rules = [positive("S"), positive("patience"), count("servers"), bearable()]
    given = {"lam": lam, "S": S, "servers": servers, "patience": patience}
    return _Impatient.at(impatient, rules, "exact, chain of waiting jobs", **given)


def _shares(lam: float, S: float, servers: float, patience: float) -> Floats:
    """Return the shares of time with 0, 1, ... jobs, up to negligible ones."""
    most = servers + 40.0
    while True:
        if most > _MOST:
            raise QueueingError(f"lam is {lam:g}; more than {_MOST:,} jobs are likely, too many")
        n = np.arange(1.0, most + 1)
        down = np.minimum(n, servers) / S + np.maximum(n - servers, 0) / patience
        share = birth_death(np.full(n.size, lam), down)
        if lam < down[-1] and share[-1] * down[-1] / (down[-1] - lam) < _LEFT_OUT:
            return share
        most *= 2


def _measures(lam: float, S: float, servers: float, patience: float) -> tuple[float, ...]:
    share = _shares(lam, S, servers, patience)
    n = np.arange(float(share.size))
    Lq = float(share @ np.maximum(n - servers, 0))
    serving = float(share @ np.minimum(n, servers))
    busy = float(share[int(servers) :].sum())
    if lam == 0:
        return 0.0, S, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return (
        serving / S, (Lq + serving) / lam, Lq + serving, serving / servers, Lq / lam, Lq, busy,
        Lq / patience / lam,
    )  # fmt: skip
