"""What the re-open model returns."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from queueing.arguments import Floats, Value
from queueing.errors import QueueingError
from queueing.reopening.laws import Law, Places
from queueing.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queueing.reopening.bias import Continuation


@dataclass(frozen=True, eq=False)
class Reopen(Result):
    """Users who arrive, and submit another job with a probability that falls with the response.

    Beside what `Result` tells, for jobs "any" and "first" (of a user):

    Parameters
    ----------
    X : float or ndarray
        Jobs, first and further ones, a unit of time.
    R, R_first : float or ndarray
        Mean response of any job, and of a user's first job.
    Q : float or ndarray
        Mean number of jobs that wait or are served.
    U : float or ndarray
        Share of time that a server is busy.
    p_mean : float or ndarray
        Share of jobs that are followed by another of the same user.
    jobs_per_user : float or ndarray
        Mean number of jobs of a user, X / lam.
    thinking : float or ndarray
        Mean number of users who think.
    time_per_user : float or ndarray
        Mean time from a user's arrival to the end of the last job.
    X_per_user : float or ndarray
        Jobs a unit of time that a user gets done while there, jobs_per_user / time_per_user;
        infinite where both Z and S are 0.
    stable_below : float or ndarray
        Least lam that is too much.
    roots : ndarray, shape (*points, n)
        All throughputs, ascending, at which jobs leave as fast as they come; nan behind the last.
        More than one only where p rises, for methods "mm1" and "mean".
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
    _law: Law = field(repr=False)

    def continuation(self) -> "Continuation":
        """Return how jobs that are followed by another of the same user differ from last ones."""
        from queueing.reopening.bias import Continuation

        return Continuation(self)

    def _check_derivative(self, of: str, wrt: str) -> None:
        super()._check_derivative(of, wrt)
        if wrt == "servers":
            raise QueueingError("wrt is 'servers', a whole number")

    def _laws(self) -> list[tuple[Value, Value]]:
        lam, S, c = (self.parameters[name] for name in ("lam", "S", "servers"))
        # users leave as fast as they come; those who think, where the think time is a number
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
        from queueing.reopening.picture import plot_balance

        plot_balance(self, ax)
