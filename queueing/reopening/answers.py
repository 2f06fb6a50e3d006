"""Methods of the re-open model, at arrays of stable points with S above 0."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.one_server import idle_share
from workloadkit.queueing.probability import Probability
from workloadkit.queueing.reopening.chain import ChainState, solve_chain
from workloadkit.queueing.reopening.laws import (
    Mixture,
    MixtureLaw,
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
