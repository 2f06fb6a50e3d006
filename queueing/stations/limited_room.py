"""A station with limited capacity."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Condition, Floats, Value, count
from workloadkit.queueing.result import Places
from workloadkit.queueing.stations.exponential_service import Open, bearable
from workloadkit.queueing.waiting import birth_death, erlang_waits


@dataclass(frozen=True, eq=False)
class _Limited(Open):
    """Exponential service, with lost jobs.

    Parameters
    ----------
    p_loss : float or ndarray
        Share of arriving jobs that are lost.
    """

    measures: ClassVar = (*Open.measures, "p_loss")
    whole: ClassVar = ("servers", "K")

    p_loss: Value

    @staticmethod
    def solved(p: Mapping[str, Any]) -> dict[str, Any]:
        from workloadkit.queueing._kernels.servers import limited_measures

        lam, S, servers = p["lam"], p["S"], p["servers"]
        kind = np.result_type(lam, S)
        shape, here = lam.shape, ~np.isnan(np.real(lam)).ravel()
        flat = (np.ravel(v)[here] for v in (lam, S, servers, p["K"]))
        found = limited_measures(*_typed(kind, *flat))
        accepted, lost, p_wait, W = (np.full(lam.size, np.nan, kind) for _ in range(4))
        for all_, some in zip((accepted, lost, p_wait, W), found, strict=True):
            all_[here] = some
        accepted, lost, p_wait, W = (v.reshape(shape) for v in (accepted, lost, p_wait, W))
        X, U = lam * accepted, lam * accepted * S / servers
        if kind == np.float64:  # removes rounding errors of a saturated throughput
            U = np.minimum(U, 1.0)
            X = np.minimum(X, np.divide(servers, S, out=np.full(shape, np.inf), where=S > 0))
        R = S + W
        return {
            "X": X,
            "R": R,
            "Q": X * R,
            "U": U,
            "W": W,
            "Lq": X * W,
            "p_wait": p_wait,
            "p_loss": lost,
        }

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        from workloadkit.queueing._kernels.servers import limited_survival

        return self._where_served(at, lambda here, *p: limited_survival(t.ravel()[here], *p))

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        from workloadkit.queueing._kernels.servers import limited_moments

        return self._where_served(at, lambda here, *p: limited_moments(order, *p))

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        found = np.full(at.shape, np.nan)
        for place, c, share in self._shares(at):
            here = at == place
            S = float(self._at("S", np.asarray(place)))
            met = share[:-1] / share[:-1].sum()
            found[here] = erlang_waits(met, c, S, t[here])
        return found

    def _number(self, n: Floats, at: Places) -> Floats:
        found = np.full(at.shape, np.nan)
        for place, _, share in self._shares(at):
            here = at == place
            most = np.minimum(n[here], share.size - 1).astype(np.intp)
            found[here] = np.where(n[here] < share.size, share[most], 0.0)
        return found

    def _all_busy(self, at: Places) -> Floats:
        found = np.full(at.shape, np.nan)
        for place, c, share in self._shares(at):
            found[at == place] = share[c:].sum()
        return found

    def _shares(self, at: Places) -> Iterator[tuple[int, int, Floats]]:
        """Yield points with a solution, their servers, and shares of time with 0, ..., K jobs."""
        for place in np.unique(at).tolist():
            here = np.asarray(place)
            lam, S, c, K = (float(self._at(x, here)) for x in ("lam", "S", "servers", "K"))
            if not np.isnan(lam):
                busy = np.minimum(np.arange(1.0, K + 1), c)
                yield place, int(c), birth_death(np.full(int(K), lam * S), busy)

    def _where_served(self, at: Places, evaluate: Callable[..., Floats]) -> Floats:
        """Evaluate where service takes time; otherwise response times are 0."""
        lam, S, servers, K = (self._at(name, at.ravel()) for name in ("lam", "S", "servers", "K"))
        found = np.where(np.isnan(lam), np.nan, 0.0)
        here = S > 0
        if here.any():
            found[here] = evaluate(
                here, *_typed(np.float64, lam[here], S[here], servers[here], K[here])
            )
        return found.reshape(at.shape)


def mmck(lam: ArrayLike, S: ArrayLike, servers: ArrayLike, K: ArrayLike) -> Open:
    """Solve M/M/c/K: jobs that find K jobs at the station are lost [1]_.

    With K = c no job waits, and p_loss is Erlang's formula B. The load may exceed 1.

    Parameters
    ----------
    lam : array_like
        Arrival rate including lost jobs, 0 or more; lam S at most 1e100.
    S : array_like
        Mean service time, 0 or more; exponential.
    servers : array_like
        Number of servers c, 1 or more.
    K : array_like
        Capacity of the station, jobs waiting and in service; c or more.

    Returns
    -------
    Open
        See `mm1`, for jobs that are not lost, and p_loss. X is their rate.

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
    .. [1] L. Kleinrock, "Queueing Systems", volume 1, Wiley, 1975, section 3.6.

    Examples
    --------
    >>> queue = mmck(lam=2, S=1, servers=1, K=3)
    >>> print(f"{queue.X:.4f} {queue.p_loss:.4f} {queue.R:.4f}")
    0.9333 0.5333 2.4286
    """
    most = Condition("K", lambda p: p["K"] <= 5e7, "be at most 50,000,000")
    room = Condition("K", lambda p: p["K"] >= p["servers"], "be at least the number of servers")
    return _Limited.at(
        mmck,
        [count("servers"), count("K"), room, most, bearable()],
        "exact, birth and death",
        lam=lam,
        S=S,
        servers=servers,
        K=K,
    )


def _typed(kind: Any, lam: Any, S: Any, servers: Floats, K: Floats) -> tuple[Any, ...]:
    """Return kernel arguments: numbers of one type, counts, waiting places."""
    counts = servers.astype(np.int64)
    return lam.astype(kind), S.astype(kind), counts, K.astype(np.int64) - counts
