"""Results of the models with closed users."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workloadkit.queueing import response_law, users_at_servers
from workloadkit.queueing.arguments import Flags, Floats, Value, plain
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Places
from workloadkit.queueing.users_at_servers import idle_share
from workloadkit.queueing.users_in_states import all_busy, number, wait_survival
from workloadkit.queueing.waiting import WaitingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class _Users(WaitingResult):
    """Closed users, with or without open jobs, at shared servers."""

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        def one(n: Floats, a: Floats, s: Floats, t: Floats) -> Floats:
            return response_law.survival(n, a, _over(t, s))

        return self._by_kind(0.0, one, self._more_survival, at, job, t)

    def _distribution(self, t: Floats, at: Places, job: str) -> Floats:
        def one(n: Floats, a: Floats, s: Floats, t: Floats) -> Floats:
            return response_law.distribution(n, a, _over(t, s))

        def more(job: Any, *load: Floats) -> Floats:
            return 1 - self._more_survival(job, *load)

        return self._by_kind(1.0, one, more, at, job, t)

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        def one(n: Floats, a: Floats, s: Floats) -> Floats:
            if order == 1:
                return s * (1 + users_at_servers.number_at_server(n, a))
            with np.errstate(over="ignore"):
                return s**order * response_law.moment(order, n, a)

        def more(job: Any, *load: Floats) -> Floats:
            from workloadkit.queueing.users_at_servers import mixed_moment

            lam, N, Z, S, servers = load
            return mixed_moment(order, lam, N, Z, S, servers, job)

        return self._by_kind(0.0, one, more, at, job)

    def _central_moments(self, at: Places, job: str) -> tuple[Floats, Floats]:
        variance, third = (np.array(v) for v in super()._central_moments(at, job))
        here, n, a, s = self._one_server(at, job)
        with np.errstate(over="ignore"):
            variance[here] = s**2 * response_law.central_moment(2, n, a)
            third[here] = s**3 * response_law.central_moment(3, n, a)
        return variance, third

    def _wait_survival(self, t: Floats, at: Places, job: str) -> Floats:
        lam, N, Z, S, servers = self._load(at)
        met = users_at_servers.others(N) if job == "closed" else N
        found = wait_survival(t, lam, met, Z, S, servers)
        return np.where((N > 0) | (job == "open"), found, np.nan)

    def _number(self, n: Floats, at: Places) -> Floats:
        return number(n, *self._load(at))

    def _all_busy(self, at: Places) -> Floats:
        return all_busy(*self._load(at))

    @staticmethod
    def _more_survival(job: Any, *load: Floats) -> Floats:
        from workloadkit.queueing.users_at_servers import mixed_survival

        lam, N, Z, S, servers, t = load
        return mixed_survival(t, lam, N, Z, S, servers, job)

    def _by_kind(
        self,
        without_service: float,
        one: Callable[..., Floats],
        more: Callable[..., Floats],
        at: Places,
        job: str,
        *given: Floats,
    ) -> Floats:
        """Combine the cases: no users, S = 0, one server, several servers."""
        load = self._load(at)
        _, N, _, S, servers = load
        found = np.full(at.shape, np.nan)
        present = (N > 0) if job == "closed" else (N >= 0)
        found[present & (S == 0)] = without_service
        here, *of_one = self._one_server(at, job)
        found[here] = one(*of_one, *(v[here] for v in given))
        here = present & (S > 0) & (servers > 1)
        if here.any():
            found[here] = more(job, *(v[here] for v in (*load, *given)))
        return found

    def _one_server(self, at: Places, job: str) -> tuple[Flags, Floats, Floats, Floats]:
        """Return where there is one server, and n, a and s of `response_law` there."""
        lam, N, Z, S, servers = self._load(at)
        here = (servers == 1) & (S > 0) & ((N > 0) | (job == "open"))
        s, a = users_at_servers.scales(lam[here], Z[here], S[here])
        # a closed user does not meet itself
        return here, users_at_servers.others(N[here]) if job == "closed" else N[here], a, s

    def _load(self, at: Places) -> tuple[Floats, ...]:
        """Return lam, N, Z, S and servers at these points."""
        lam = self._at("lam", at) if "lam" in self.parameters else np.zeros(at.shape)
        return lam, *(self._at(name, at) for name in ("N", "Z", "S", "servers"))

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure with respect to a parameter, by formula.

        Parameters
        ----------
        of : str
            A measure or a derived measure.
        wrt : str
            lam, Z or S; also N for one server.
        """
        self._check_derivative(of, wrt)
        if self.exactness.error:
            raise QueueingError("Z depends on the response; derivatives need a number")
        lam, N, Z, S, servers = load = self._load(np.arange(int(np.prod(self.shape))))
        more = (servers > 1) & (S > 0)
        if wrt == "servers" or (wrt == "N" and more.any()):
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number for several servers")
        slopes = users_at_servers.slopes(wrt, lam, N, Z, np.where(more, 0.0, S))
        if more.any():
            _several(slopes, wrt, tuple(v[more] for v in load), more)
        return plain(self._slope(of, wrt, slopes).reshape(self.shape))

    def _slope(self, of: str, wrt: str, slopes: users_at_servers.Slopes) -> Floats:
        """Return the derivative of one measure, flat."""
        raise NotImplementedError

    def _capacity(self) -> tuple[Floats, Floats]:
        """Return the throughput left for closed users, and the minimal response time of one."""
        lam, _, _, S, servers = self._load(np.arange(int(np.prod(self.shape))).reshape(self.shape))
        idle = idle_share(lam, S, servers)
        with np.errstate(divide="ignore"):
            return servers * idle / S, np.where(servers == 1, S / idle, S)

    def _plot_measures(self, ax: "Axes", measures: tuple[str, ...] | None) -> None:
        super()._plot_measures(ax, measures)
        N, Z = (np.asarray(self.parameters[name]) for name in ("N", "Z"))
        if np.unique(N[~np.isnan(N)]).size == 1:
            return
        capacity, least = self._capacity()
        kind = "c" if "Rc" in self.measures else ""
        bounds = {
            f"R{kind}": np.maximum(least, N / capacity - Z),
            f"X{kind}": np.minimum(N / (Z + least), capacity),
        }
        for name in measures or bounds:
            if name in bounds and (measures or name[0] == "R"):
                ax.plot(N, bounds[name], "--", color="0.5", zorder=1, label=f"bound of {name}")
        knee = float(np.nanmax((Z + least) * capacity))
        if np.nanmin(N) <= knee <= np.nanmax(N):
            ax.axvline(knee, color="0.5", linestyle=":", zorder=1, label=f"N* = {knee:.4g}")
        ax.legend()


def _over(t: Floats, s: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return t / s


def _several(
    slopes: users_at_servers.Slopes, wrt: Any, load: tuple[Floats, ...], here: Flags
) -> None:
    """Insert the derivatives at points with several servers."""
    from workloadkit.queueing.users_at_servers import mixed_derivatives, mixed_sums

    lam, N, Z, S, servers = load
    found = mixed_derivatives(wrt, lam, N, Z, S, servers)
    for name, value in found.items():
        getattr(slopes, name)[here] = value
    Uc = found["Xc"] * S / servers
    Uo = {"lam": S / servers, "S": lam / servers}.get(wrt, 0 * S)
    if wrt == "S":
        Uc += mixed_sums(lam, N, Z, S, servers).Xc / servers
    slopes.Uc[here], slopes.U[here] = Uc, Uc + Uo
    slopes.X[here] = found["Xc"] + (wrt == "lam")


@dataclass(frozen=True, eq=False)
class ClosedResult(_Users):
    """A fixed number of users who each wait for a job, think, and submit the next.

    Over N, `plot` also draws the asymptotic bounds and N*, the number of users where they meet.

    Parameters
    ----------
    parameters, exactness, solve
        See `ModelResult`; N, Z, S, servers.
    X : float or ndarray
        Jobs of all users per unit of time.
    R : float or ndarray
        Mean response time; NaN without users.
    Q : float or ndarray
        Mean number of jobs in the system.
    U : float or ndarray
        Utilization of a server.
    """

    jobs: ClassVar[tuple[str, ...]] = ("closed",)
    totals: ClassVar[tuple[str, ...]] = ("X_per_user",)

    X: Value
    R: Value
    Q: Value
    U: Value

    @property
    def X_per_user(self) -> Value:
        """Jobs of one user per unit of time; NaN without users."""
        return _ratio(self.X, self.parameters["N"])

    def _slope(self, of: str, wrt: str, slopes: users_at_servers.Slopes) -> Floats:
        if of == "X_per_user":
            return _slope_per_user(self.X, self.parameters["N"], wrt, slopes)
        return getattr(slopes, f"{of}c")

    def _laws(self) -> list[tuple[Value, Value]]:
        N, Z, S, servers = (self.parameters[name] for name in ("N", "Z", "S", "servers"))
        return [
            (self.Q, _product(self.X, self.R)),
            (self.U, self.X * S / servers),
            (N + 0.0, self.Q + self.X * Z),
        ]


@dataclass(frozen=True, eq=False)
class MixedResult(_Users):
    """Closed users (c) and an open stream of jobs (o), one job per user.

    Over N, `plot` also draws the asymptotic bounds of Rc and Xc, and N*, where they meet.

    Parameters
    ----------
    parameters, exactness, solve
        See `ModelResult`; lam, N, Z, S, servers.
    Xc, Rc, Qc, Uc : float or ndarray
        Throughput, mean response time (NaN without closed users), mean number in the system, and
        utilization by closed users.
    Ro, Qo, Uo : float or ndarray
        The same for open jobs, with throughput `Xo` = lam. If lam is 0, Ro is the response time of
        a single open job.
    """

    measures: ClassVar[tuple[str, ...]] = ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo")
    totals: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U", "Xo", "X_per_user")
    jobs: ClassVar[tuple[str, ...]] = ("closed", "open")

    Xc: Value
    Rc: Value
    Qc: Value
    Uc: Value
    Ro: Value
    Qo: Value
    Uo: Value

    @property
    def Xo(self) -> Value:
        """Open jobs per unit of time."""
        return plain(self.parameters["lam"] + 0.0)

    @property
    def X(self) -> Value:
        """All jobs per unit of time."""
        return self.Xo + self.Xc

    @property
    def Q(self) -> Value:
        """Mean number of all jobs in the system."""
        return self.Qo + self.Qc

    @property
    def U(self) -> Value:
        """Utilization of a server."""
        return plain(np.minimum(np.asarray(self.Uo + self.Uc), 1.0))

    @property
    def R(self) -> Value:
        """Mean response time of all jobs; NaN without jobs."""
        return _ratio(self.Q, self.X)

    @property
    def X_per_user(self) -> Value:
        """Jobs of one closed user per unit of time; NaN without users."""
        return _ratio(self.Xc, self.parameters["N"])

    def _slope(self, of: str, wrt: str, slopes: users_at_servers.Slopes) -> Floats:
        if of == "X_per_user":
            return _slope_per_user(self.Xc, self.parameters["N"], wrt, slopes)
        if of in slopes._fields:
            return getattr(slopes, of)
        lam, _, _, S, servers = self._load(np.arange(slopes.Xc.size))
        if of == "Xo":
            return np.full(lam.shape, float(wrt == "lam"))
        if of == "Uo":
            return {"lam": S / servers, "S": lam / servers}.get(wrt, 0 * lam)
        Qo = lam * slopes.Ro + (np.ravel(self.Ro) if wrt == "lam" else 0.0)
        if of == "Qo":
            return Qo
        Q = slopes.Qc + Qo
        if of == "Q":
            return Q
        return np.asarray(_ratio(Q - np.ravel(self.R) * slopes.X, np.ravel(self.X)))

    def _laws(self) -> list[tuple[Value, Value]]:
        lam, N, Z, S, servers = (
            self.parameters[name] for name in ("lam", "N", "Z", "S", "servers")
        )
        return [
            (self.Qc, _product(self.Xc, self.Rc)),
            (self.Qo, lam * self.Ro),
            (self.Uc, self.Xc * S / servers),
            (self.Uo, lam * S / servers),
            (N + 0.0, self.Qc + self.Xc * Z),
        ]


def _product(X: Value, R: Value) -> Value:
    """Return X R, also if X is 0 and R unknown."""
    return np.where(np.asarray(X) == 0, 0.0, X * np.asarray(R))


def _ratio(over: Value, under: Value) -> Value:
    over, under = np.asarray(over), np.asarray(under)
    empty = np.full(under.shape, np.nan)
    return plain(np.divide(over, under, out=empty, where=under > 0))


def _slope_per_user(X: Value, N: Floats, wrt: str, slopes: users_at_servers.Slopes) -> Floats:
    X, N = np.ravel(X), np.ravel(N)
    change = slopes.Xc - (X / np.where(N > 0, N, np.nan) if wrt == "N" else 0.0)
    return np.asarray(_ratio(change, N)).reshape(N.shape)
