"""Methods of the re-open model, at arrays of stable points with S above 0, and its results."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats, Value
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Probability, as_probability
from workloadkit.queueing.reopening.chain import ChainState, solve_chain
from workloadkit.queueing.reopening.laws import (
    Mixture,
    MixtureLaw,
    Places,
    ResponseTimes,
    StationLaw,
    SwingLaw,
    phases,
)
from workloadkit.queueing.reopening.marks import solve_marks
from workloadkit.queueing.reopening.total_rate import (
    Average,
    RateStation,
    solve_fluid,
    solve_total_rate,
)
from workloadkit.queueing.response_function import Form
from workloadkit.queueing.result import ModelResult
from workloadkit.queueing.users_at_servers import idle_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.queueing.reopening.bias import ContinuationBias


class ReopenPoints(NamedTuple):
    """Parameters, arrays of shape (n,), and functions with parameters of that shape."""

    lam: Floats
    p: Probability
    Z: Floats | Form
    S: Floats
    servers: Floats

    def one(self, i: int) -> "tuple[float, Probability, float | Form, float, int]":
        """Return the parameters of one point."""
        Z = self.Z.at(i) if isinstance(self.Z, Form) else float(self.Z[i])
        return float(self.lam[i]), self.p.at(i), Z, float(self.S[i]), int(self.servers[i])


class Solution(NamedTuple):
    """Measures, arrays of shape (n,), and the distributions of response times."""

    X: Floats
    Q: Floats
    R: Floats
    R_first: Floats
    p_mean: Floats
    thinking: Floats
    #: Shape (n, most).
    roots: Floats
    law: ResponseTimes


#: Reasons for missing solutions, by point.
Failures = dict[int, str]


def constant(points: ReopenPoints) -> Solution:
    """Solve for constant p: M/M/c at rate lam / (1 - p)."""
    leaving = 1.0 - points.p.limit
    free = idle_share(points.lam, points.S, points.servers * leaving)
    return _station(points, free[:, None], points.p.limit)


def by_total_rate(points: ReopenPoints, average: Average) -> tuple[Solution, Failures]:
    """Solve as if jobs arrived independently."""
    lam, p, _, S, servers = points
    free = solve_total_rate(lam, p, S, servers, average)
    station = RateStation(free[:, 0], S, servers)
    p_mean = station.mean_of(p) if average == "mm1" else p.at_times(station.R)
    failures = {
        int(i): f"lam is {lam[i]:g}; for method {average!r} no X balances departures, "
        "since p jumps there"
        for i in np.flatnonzero(np.isnan(free[:, 0]))
    }
    return _station(points, free, p_mean), failures


def by_chain(points: ReopenPoints) -> tuple[Solution, Failures]:
    """Solve by the chain of jobs at the servers and thinking users."""
    return _mixtures(points, solve_chain)


def by_marks(points: ReopenPoints) -> tuple[Solution, Failures]:
    """Solve by the chain of marked jobs."""
    return _mixtures(points, solve_marks)


def by_fluid(points: ReopenPoints) -> tuple[Solution, Failures]:
    """Solve by the fluid limit of heavy load."""
    failures: Failures = {}
    mean, variance = np.full((2, points.lam.size), np.nan)
    for i in range(points.lam.size):
        lam, p, _, S, servers = points.one(i)
        try:
            mean[i], variance[i] = solve_fluid(lam, p, S, servers)
        except QueueingError as error:
            failures[i] = str(error)
    X = np.where(np.isnan(mean), np.nan, points.servers / points.S)
    p_mean = 1.0 - points.lam / X
    thinking = _numbers(points.Z) * X * p_mean
    answer = Solution(
        X, X * mean, mean, mean, p_mean, thinking, X[:, None], SwingLaw(mean, variance)
    )
    return answer, failures


def _numbers(Z: Floats | Form) -> Floats:
    assert not isinstance(Z, Form)  # only the chain supports functions
    return Z


def _station(points: ReopenPoints, free: Floats, p_mean: Floats) -> Solution:
    S, servers = points.S, points.servers
    station = RateStation(free[:, 0], S, servers)
    X, R = station.X, station.R
    roots = (1.0 - free) * servers[:, None] / S[:, None]
    law = StationLaw(free[:, 0], S, servers)
    return Solution(X, X * R, R, R, p_mean, _numbers(points.Z) * X * p_mean, roots, law)


def _mixtures(points: ReopenPoints, solve: Callable[..., ChainState]) -> tuple[Solution, Failures]:
    failures: Failures = {}
    measures = np.full((6, points.lam.size), np.nan)
    laws: list[Mixture | None] = []
    for i in range(points.lam.size):
        lam, p, Z, S, servers = points.one(i)
        try:
            solved = solve(lam, p, Z, S, servers)
        except QueueingError as error:
            failures[i] = str(error)
            laws.append(None)
            continue
        # in the long run, jobs leave behind the distribution that they meet
        met, rate = solved.left, servers / S
        waits = np.append(met[:servers].sum(), met[servers:])
        law = Mixture(phases(met, servers), phases(solved.found, servers), rate, waits)
        means = law.mean("any"), law.mean("first")
        measures[:, i] = solved.X, solved.Q, *means, solved.p_mean, solved.thinking
        laws.append(law)
    X, Q, R, R_first, p_mean, thinking = measures
    return Solution(X, Q, R, R_first, p_mean, thinking, X[:, None], MixtureLaw(laws)), failures


@dataclass(frozen=True, eq=False)
class ReopenResult(ModelResult):
    """Arriving users who may submit further jobs, depending on the response time.

    In addition to `ModelResult`, with job kinds "any" and "first" (the first job of a user):

    Parameters
    ----------
    X : float or ndarray
        First and further jobs per unit of time.
    R, R_first : float or ndarray
        Mean response time of any job, and of a user's first job.
    Q : float or ndarray
        Mean number of jobs in the system.
    U : float or ndarray
        Utilization of a server.
    p_mean : float or ndarray
        Share of jobs followed by another job of the user.
    jobs_per_user : float or ndarray
        Mean number of jobs of a user, X / lam.
    thinking : float or ndarray
        Mean number of thinking users.
    time_per_user : float or ndarray
        Mean time from a user's arrival to the end of the last job.
    X_per_user : float or ndarray
        Jobs of a user per unit of time in the system, jobs_per_user / time_per_user; infinite if
        Z and S are 0.
    stable_below : float or ndarray
        Smallest unstable lam.
    roots : ndarray, shape (*points, n)
        All throughputs with balanced arrivals and departures, ascending, padded with nan. More
        than one only for increasing p, with methods "mm1" and "mean".
    """

    measures: ClassVar[tuple[str, ...]] = (
        "X",
        "R",
        "Q",
        "U",
        "R_first",
        "jobs_per_user",
        "thinking",
        "time_per_user",
        "X_per_user",
        "p_mean",
    )
    jobs: ClassVar[tuple[str, ...]] = ("any", "first")

    method: str
    X: Value
    R: Value
    Q: Value
    U: Value
    R_first: Value
    p_mean: Value
    jobs_per_user: Value
    thinking: Value
    time_per_user: Value
    X_per_user: Value
    stable_below: Value
    roots: Floats = field(repr=False)
    _law: ResponseTimes = field(repr=False)

    def continuation(self) -> "ContinuationBias":
        """Compare jobs that are followed by another job of the user with last jobs."""
        from workloadkit.queueing.reopening.bias import ContinuationBias

        return ContinuationBias(self)

    def _check_derivative(self, of: str, wrt: str) -> None:
        super()._check_derivative(of, wrt)
        if wrt == "servers":
            raise QueueingError("wrt is 'servers', a whole number")

    def _laws(self) -> list[tuple[Value, Value]]:
        lam, S, c = (self.parameters[name] for name in ("lam", "S", "servers"))
        # balance of users, and of thinking users if the think time is a number
        sides = [
            (self.Q, self.X * self.R),
            (self.U, self.X * S / c),
            (self.X * (1.0 - self.p_mean), lam),
        ]
        if isinstance(self.parameters["Z"], np.ndarray):
            sides.append((self.thinking, self.parameters["Z"] * self.X * self.p_mean))
        return sides

    def _job(self, job: str | None) -> str:
        return super()._job("any" if job is None else job)

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        return self._law.survival(t, at, job)

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        return self._law.moment(order, at, job)

    def _plot_responses(self, ax: "Axes") -> None:

        plot_balance(self, ax)


# Balance of the re-open model: the rate of leaving users over throughput.


def plot_balance(found: "ReopenResult", ax: "Axes") -> None:
    """Draw X (1 - E p(R)) for independent jobs at rate X, and lam.

    Intersections are the solutions of methods "mm1" and "mean"; the solution of another method is
    drawn as a separate point.
    """
    at = {name: np.asarray(value) for name, value in found.parameters.items() if name != "p"}
    S, c = (float(at[name]) for name in ("S", "servers"))
    if S == 0:
        raise QueueingError("S is 0, so there is no balance to plot")
    p = as_probability(found.parameters["p"])
    free = np.linspace(1.0, 0.0, 600)[:-1]
    station = RateStation(free, np.full(free.shape, S), np.full(free.shape, c))
    average: Average = "mean" if found.method == "mean" else "mm1"
    mean = station.mean_of(p) if average == "mm1" else p.at_times(station.R)
    ax.plot(station.X, station.X * (1.0 - mean), label="leaving users (independent jobs)")
    ax.axhline(float(at["lam"]), color="0.5", linestyle="--", label="arriving users, lam")
    roots = found.roots[np.isfinite(found.roots)]
    ax.plot(
        roots, np.full(roots.shape, float(at["lam"])), "o", color="C1", label=f"X ({found.method})"
    )
    ax.set(xlabel="throughput X, jobs per unit of time", ylabel="users per unit of time")
    ax.legend()
