"""Selection bias: jobs followed by another job of the user, and users' last jobs.

A response time contains the job's own run time. So users tend to continue after short run times,
and last jobs are longer than average even at low load.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, plain
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.probability import Probability, as_probability

if TYPE_CHECKING:
    from workloadkit.queueing.reopening.result import ReopenResult

Job = Literal["followed", "last"]

#: ReopenPoints per interval of time: equal in the square root; the first interval is quartered
#: repeatedly, for a p that decreases within a small part of a service.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PIECES, _QUARTERS = 24, 12
#: Times in mean run times beyond which runs are negligible: e^-40.
_LONGEST = 40.0


class _Point(NamedTuple):
    """One point: service and waiting times, with their weights.

    Parameters
    ----------
    p : Probability
    S : float
    runs, run_weights : ndarray, shape (n_runs,)
    waits, wait_weights : ndarray, shape (n_waits,)
    """

    p: Probability
    S: float
    runs: Floats
    run_weights: Floats
    waits: Floats
    wait_weights: Floats

    def mean(self, of: Callable[[Floats], Floats], s: Floats) -> Floats:
        """E of(s + wait)."""
        total = np.empty(s.size)
        step = max(1, 1_000_000 // self.waits.size)
        for begin in range(0, s.size, step):
            some = s[begin : begin + step, None]
            total[begin : begin + step] = of(some + self.waits) @ self.wait_weights
        return total


@dataclass(frozen=True, eq=False)
class ContinuationBias:
    """Jobs that are followed by another job of the user, and users' last jobs.

    Parameters
    ----------
    model : ReopenResult
        Model solved by a method with a distribution of response times.

    Notes
    -----
    A job with run time s and wait W is followed with probability E p(s + W), where W is independent
    of s. As exact as the distribution of W; to about 0.2 % if p has jumps. nan if no user
    continues.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section IV.C and Figure 8.

    Examples
    --------
    >>> from workloadkit.queueing import exponential, reopen
    >>> found = reopen(lam=0.5, p=exponential(1), Z=1, S=1).continuation()
    >>> round(found.run_mean("followed"), 3), round(found.run_mean("last"), 3)
    (0.5, 1.196)
    """

    model: "ReopenResult"

    def __post_init__(self) -> None:
        if self.model.method == "fluid":
            raise QueueingError("method is 'fluid', which has no distribution of waits")

    def run_pdf(self, t: ArrayLike, job: Job) -> Value:
        """Return the density of the run times of these jobs at t."""

        def density(point: _Point, t: Floats) -> Floats:
            some = np.maximum(t, 0.0)
            found = np.exp(-some / point.S) / point.S * self._chosen(point, some, job)
            return np.where(t < 0, 0.0, found)  # run times are not negative

        return self._by_point(density, t, job)

    def run_sf(self, t: ArrayLike, job: Job) -> Value:
        """Return the probability that such a job runs longer than t."""

        def survival(point: _Point, t: Floats) -> Floats:
            # memoryless: runs beyond t are t plus a run
            t = np.maximum(t, 0.0)
            after = np.empty(t.size)
            for i, begin in enumerate(t):
                after[i] = self._chosen(point, begin + point.runs, job) @ point.run_weights
            return np.exp(-t / point.S) * after

        return self._by_point(survival, t, job)

    def run_cdf(self, t: ArrayLike, job: Job) -> Value:
        """Return the probability that such a job runs for at most t."""
        return 1.0 - self.run_sf(t, job)

    def run_mean(self, job: Job) -> Value:
        """Return the mean run time of such jobs."""

        def mean(point: _Point, t: Floats) -> Floats:
            chosen = self._chosen(point, point.runs, job)
            return np.full(t.shape, (chosen * point.runs) @ point.run_weights)

        return self._by_point(mean, 0.0, job)

    def R(self, job: Job) -> Value:
        """Return the mean response time of such jobs."""

        def mean(point: _Point, t: Floats) -> Floats:
            def weighted(r: Floats) -> Floats:
                value = point.p.at_times(r)
                return r * (value if job == "followed" else 1.0 - value)

            whole = point.mean(weighted, point.runs) @ point.run_weights
            followed = point.mean(point.p.at_times, point.runs) @ point.run_weights
            share = followed if job == "followed" else 1.0 - followed
            return np.full(t.shape, whole / share if share > 0 else np.nan)

        return self._by_point(mean, 0.0, job)

    @property
    def share_followed(self) -> Value:
        """Share of jobs that are followed by another job."""
        return self.model.p_mean

    @property
    def R_later(self) -> Value:
        """Mean response time of jobs that are not the first of a user."""
        lam, X = self.model.parameters["lam"], np.asarray(self.model.X)
        with np.errstate(divide="ignore", invalid="ignore"):
            return plain(np.asarray((self.model.Q - lam * self.model.R_first) / (X - lam)))

    @property
    def R_user(self) -> Value:
        """Mean over users of the mean response time of their jobs, if these were independent.

        Users with a long first response time have no other jobs, so it exceeds the mean over jobs.
        """
        p = np.asarray(self.model.p_mean)
        # E 1/K for a geometric number K of jobs
        with np.errstate(divide="ignore", invalid="ignore"):
            once = np.where(p > 0, -(1.0 - p) / p * np.log1p(-p), 1.0)
        followed = np.where(p > 0, np.asarray(self.R("followed")), 0.0)
        return plain(np.asarray(followed + (np.asarray(self.R("last")) - followed) * once))

    def _chosen(self, point: _Point, s: Floats, job: Job) -> Floats:
        """Return the likelihood ratio of this kind of jobs for run time s."""
        follow = point.mean(point.p.at_times, s)
        share = point.mean(point.p.at_times, point.runs) @ point.run_weights
        if job == "last":
            return (1.0 - follow) / (1.0 - share)
        return follow / share if share > 0 else np.full(s.shape, np.nan)

    def _by_point(
        self, function: Callable[[_Point, Floats], Floats], t: ArrayLike, job: str
    ) -> Value:
        if job not in get_args(Job):
            raise QueueingError(f"job is {quoted(job)}; it must be {' or '.join(get_args(Job))}")
        times, at = self.model._broadcast("t", t)
        times, at = np.asarray(times), np.asarray(at)
        values = np.full(times.shape, np.nan)
        for place in np.unique(at):
            here = at == place
            # nan without a solution, or if S is 0
            if np.ravel(self.model.R)[place] > 0:
                point = self._point(int(place))
                values[here] = function(point, times[here])
        return plain(values)

    def _point(self, place: int) -> _Point:
        at = {
            name: value.ravel()[place]
            for name, value in self.model.parameters.items()
            if isinstance(value, np.ndarray)
        }
        p = as_probability(self.model.parameters["p"]).with_values(at)
        runs, weights = _pieces(_LONGEST * at["S"])
        waits = self.model._law.waits(place)
        wait, wait_weights = _pieces(waits.longest)
        return _Point(
            p,
            float(at["S"]),
            runs,
            weights * np.exp(-runs / at["S"]) / at["S"],
            np.append(0.0, wait),
            np.append(waits.none, wait_weights * waits.density(wait)),
        )


def _pieces(end: float) -> tuple[Floats, Floats]:
    """Return points from 0 to an end, denser towards 0, and integration weights."""
    edges = np.linspace(0, 1, _PIECES + 1) ** 2
    edges = end * np.concatenate(([0], edges[1] * 0.25 ** np.arange(_QUARTERS, 0, -1), edges[1:]))
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (_NODES + 1)).ravel(), (half * _WEIGHTS).ravel()
