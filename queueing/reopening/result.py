"""Results of the re-open model."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from workloadkit.queueing.arguments import Floats, Value
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import as_probability
from workloadkit.queueing.reopening.laws import Places, ResponseTimes
from workloadkit.queueing.reopening.total_rate import Average, RateStation
from workloadkit.queueing.result import ModelResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.queueing.reopening.bias import ContinuationBias


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
    ax.set_xlabel("throughput X, jobs per unit of time")
    ax.set_ylabel("users per unit of time")
    ax.legend()
