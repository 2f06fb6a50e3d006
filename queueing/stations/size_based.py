"""One server that chooses jobs by their size, or shares its time between all: means, exactly.

Service times follow a gamma distribution with the given mean and scv (exponential for scv 1), so
that the load and the second moment of jobs of up to some size have closed forms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, numbers, plain, positive
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.result import Exactness, Places
from workloadkit.queueing.stations.exponential_service import Open
from workloadkit.queueing.stations.priorities import ClassesResult, of_classes, read_classes
from workloadkit.queueing.users_at_servers import idle_share, stable

_PANELS, _NODES = 96, 20  # of the mean over sizes, on a logarithmic scale
_LEAST, _RARE = 1e-12, 1e-18  # smallest size in mean sizes; share of larger jobs that is left out


class _Upto(NamedTuple):
    """Jobs up to a size x, for one lam."""

    larger: Floats  # share of larger jobs
    idle: Floats  # share of time left by jobs of at most x
    second: Floats  # E[S²; S ≤ x]
    residual: Floats  # lam E[S²] / 2 of all jobs


#: Response time by size x, its jobs up to x, and lam; without the time of own service.
Delay = Callable[[Floats, _Upto, Floats], Floats]


def _upto(x: Floats, lam: Floats, S: Floats, scv: Floats) -> _Upto:
    from scipy.special import gammainc, gammaincc

    shape, scaled = 1 / scv, x / (S * scv)
    square = S**2 * (1 + scv)
    return _Upto(
        gammaincc(shape, scaled),
        idle_share(lam, S) + lam * S * gammaincc(shape + 1, scaled),
        square * gammainc(shape + 2, scaled),
        lam * square / 2,
    )


def _srpt(x: Floats, jobs: _Upto, lam: Floats) -> Floats:
    return lam * (jobs.second + x**2 * jobs.larger) / (2 * jobs.idle**2)


def _sjf(x: Floats, jobs: _Upto, lam: Floats) -> Floats:
    return jobs.residual / jobs.idle**2 + x


def _fb(x: Floats, jobs: _Upto, lam: Floats) -> Floats:
    idle = jobs.idle - lam * x * jobs.larger  # jobs cut at x
    return lam * (jobs.second + x**2 * jobs.larger) / (2 * idle**2) + x / idle


_DELAYS: Mapping[str, Delay] = {"srpt": _srpt, "sjf": _sjf, "fb": _fb}


@dataclass(frozen=True, eq=False)
class SizeBased(Open):
    """One server that chooses jobs by size; `of_size` has the response time by size.

    W is the response time less the service time.
    """

    measures: ClassVar = ("X", "R", "Q", "U", "W", "Lq")
    order: ClassVar[str] = ""

    def of_size(self, x: ArrayLike) -> Value:
        """Return the mean response time of jobs of size x, broadcast against the points."""
        size, at = self._broadcast("x", x)
        lam, S = self._at("lam", at), self._at("S", at)
        if self.order == "ps":
            return plain(size / idle_share(lam, S))
        return plain(_by_size(self.order, size, lam, S, self._at("scv", at)))

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure by finite differences."""
        return super(Open, self).derivative(of, wrt)

    @classmethod
    def solved(cls, p: Mapping[str, Any]) -> dict[str, Any]:
        """Return all measures."""
        lam, S = p["lam"], p["S"]
        if cls.order == "ps":
            R = S / idle_share(lam, S)
        else:
            R = np.full(lam.shape, np.nan)
            for place in np.ndindex(lam.shape):
                if not np.isnan(lam[place]):
                    R[place] = _mean(cls.order, lam[place], S[place], p["scv"][place])
        W = R - S
        return {
            "X": lam + 0.0,
            "R": R,
            "Q": lam * R,
            "U": lam * S,
            "W": W,
            "Lq": lam * W,
            "p_wait": np.nan * R,
        }

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        raise QueueingError("no formula for the distribution of response times is offered")

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if order > 1:
            raise QueueingError("no formula for moments beyond the first is offered")
        return np.ravel(self.R)[at]

    def _all_busy(self, at: Places) -> Floats:
        return np.ravel(self.U)[at]


class _Srpt(SizeBased):
    order: ClassVar = "srpt"


class _Sjf(SizeBased):
    order: ClassVar = "sjf"


class _Fb(SizeBased):
    order: ClassVar = "fb"


class _Ps(SizeBased):
    order: ClassVar = "ps"


def _by_size(order: str, x: Floats, lam: Floats, S: Floats, scv: Floats) -> Floats:
    found = _DELAYS[order](x, _upto(x, lam, S, scv), lam)
    if order == "srpt":  # while it is served, only smaller remaining times come before it
        found = found + _residence(x, lam, S, scv)
    return found


def _residence(x: Floats, lam: Floats, S: Floats, scv: Floats) -> Floats:
    """Return the integral of 1 / (1 - rho(t)) from 0 to x."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    found = np.zeros(np.shape(x))
    edges = np.linspace(0, 1, 33)
    for low, high in pairwise(edges):
        for node, weight in zip(nodes, weights, strict=True):
            share = (low + high + (high - low) * node) / 2
            found += weight * (high - low) / 2 / _upto(x * share, lam, S, scv).idle
    return found * x


def _mean(order: str, lam: float, S: float, scv: float) -> float:
    """Return the mean response time, integrated over the logarithm of the size."""
    from scipy.special import gammainc, gammainccinv, gammaln

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    scale, shape = S * scv, 1 / scv
    largest = float(gammainccinv(shape, _RARE)) * scale
    edges = np.linspace(np.log(_LEAST * S), np.log(largest), _PANELS + 1)
    half = (edges[1:] - edges[:-1]) / 2
    x = np.exp((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel()
    step = (half[:, None] * weights).ravel() * x
    scaled = x / scale
    density = np.exp((shape - 1) * np.log(scaled) - scaled - gammaln(shape)) / scale
    jobs = _upto(x, *(np.full(x.size, v) for v in (lam, S, scv)))
    delay = _DELAYS[order](x, jobs, np.full(x.size, lam))
    mean = float((step * density) @ delay)
    mean += float(gammainc(shape, _LEAST / scv)) * float(delay[0])
    if order == "srpt":
        mean += float(step @ (jobs.larger / jobs.idle))
    return mean


def _solve(
    kind: type[SizeBased], model: Callable[..., Open], words: str, **given: ArrayLike
) -> Any:
    rules = [positive("S"), stable("be below 1 / S, the server's capacity")]
    if "scv" in given:
        rules.insert(0, positive("scv"))
    return kind.at(model, rules, Exactness(words), **given)


def srpt(lam: ArrayLike, S: ArrayLike, scv: ArrayLike = 1.0) -> SizeBased:
    """Solve M/G/1 with the shortest remaining processing time first, preemptively [1]_.

    R(x) = lam (E[S²; S ≤ x] + x² P(S > x)) / (2 (1 - rho(x))²) + ∫ dt / (1 - rho(t)) from 0 to x,
    with rho(x) = lam E[S; S ≤ x]. No order of one server has a smaller mean response time [2]_.

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < 1.
    S : array_like
        Mean service time, above 0; gamma distributed.
    scv : array_like, default 1
        Squared coefficient of variation of service times, above 0.

    Returns
    -------
    SizeBased
        With X, R, Q, U, W, Lq, and `of_size`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] L. E. Schrage, L. W. Miller, "The queue M/G/1 with the shortest remaining processing time
       discipline", Operations Research 14(4), 1966.
    .. [2] L. E. Schrage, "A proof of the optimality of the shortest remaining processing time
       discipline", Operations Research 16(3), 1968.

    Examples
    --------
    >>> srpt(lam=[0.5, 0.9], S=1).R.round(4).tolist()
    [1.4254, 3.5521]
    """
    return _solve(_Srpt, srpt, "exact, integral over sizes", lam=lam, S=S, scv=scv)


def sjf(lam: ArrayLike, S: ArrayLike, scv: ArrayLike = 1.0) -> SizeBased:
    """Solve M/G/1 with the shortest waiting job first, without preemption [1]_.

    R(x) = lam E[S²] / (2 (1 - rho(x))²) + x.

    Parameters
    ----------
    lam, S, scv
        See `srpt`.

    Returns
    -------
    SizeBased
        See `srpt`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] T. E. Phipps, "Machine repair as a priority waiting-line problem", Operations Research
       4(1), 1956.

    Examples
    --------
    >>> sjf(lam=[0.5, 0.9], S=1).R.round(4).tolist()
    [1.7127, 4.1969]
    """
    return _solve(_Sjf, sjf, "exact, integral over sizes", lam=lam, S=S, scv=scv)


def fb(lam: ArrayLike, S: ArrayLike, scv: ArrayLike = 1.0) -> SizeBased:
    """Solve M/G/1 with the least attained service first (foreground-background) [1]_.

    R(x) = lam E[min(S, x)²] / (2 (1 - r(x))²) + x / (1 - r(x)), with r(x) = lam E[min(S, x)]. It
    needs no knowledge of sizes; with exponential service it is as good as any order that has none.

    Parameters
    ----------
    lam, S, scv
        See `srpt`.

    Returns
    -------
    SizeBased
        See `srpt`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] L. E. Schrage, "The queue M/G/1 with feedback to lower priority queues", Management
       Science 13(7), 1967; L. Kleinrock, "Queueing Systems", volume 2, 1976, section 4.6.

    Examples
    --------
    >>> fb(lam=0.5, S=1, scv=[0.25, 1, 4]).R.round(4).tolist()
    [2.2045, 2.0, 1.8956]
    """
    return _solve(_Fb, fb, "exact, integral over sizes", lam=lam, S=S, scv=scv)


def ps(lam: ArrayLike, S: ArrayLike) -> SizeBased:
    """Solve M/G/1 with processor sharing: R(x) = x / (1 - lam S) for any law of service [1]_.

    Parameters
    ----------
    lam : array_like
        Arrival rate, 0 or more; lam S < 1.
    S : array_like
        Mean service time, above 0.

    Returns
    -------
    SizeBased
        See `srpt`.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    References
    ----------
    .. [1] M. Sakata, S. Noguchi, J. Oizumi, "An analysis of the M/G/1 queue under round-robin
       scheduling", Operations Research 19(2), 1971.

    Examples
    --------
    >>> queue = ps(lam=0.75, S=1)
    >>> queue.R, queue.of_size([0.5, 10]).tolist()
    (4.0, [2.0, 40.0])
    """
    return _solve(_Ps, ps, "exact, for any law of service", lam=lam, S=S)


def dps(lam: ArrayLike, S: ArrayLike, weight: ArrayLike) -> ClassesResult:
    """Solve M/M/1 with discriminatory processor sharing: a job's share is its class's weight.

    The response times solve the linear equations [1]_, with rates mu = 1/S and weights g,
    R_k (1 - Σ_j lam_j g_j / (mu_j g_j + mu_k g_k)) - Σ_j lam_j g_j R_j / (mu_j g_j + mu_k g_k)
    = 1 / mu_k.

    Parameters
    ----------
    lam, S : array_like, shape (R,)
        Arrival rate and mean service time (exponential, above 0) by class; Σ lam S < 1.
    weight : array_like, shape (R,)
        Above 0; only ratios matter.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or all classes together saturate the server.

    References
    ----------
    .. [1] G. Fayolle, I. Mitrani, R. Iasnogorodski, "Sharing a processor among many job classes",
       Journal of the ACM 27(3), 1980.

    Examples
    --------
    >>> dps([0.3, 0.5], S=1, weight=[1, 1]).R.round(6).tolist()
    [5.0, 5.0]
    >>> dps([0.3, 0.5], S=1, weight=[4, 1]).R.round(4).tolist()
    [2.7273, 6.3636]
    """
    at = read_classes(lam=lam, S=S, weight=weight)
    for name in ("S", "weight"):
        if (at[name] <= 0).any():
            raise QueueingError(f"{name} is {numbers(name, at[name]).min():g}; it must be above 0")
    own = at["weight"] / at["S"]
    part = at["lam"] * at["weight"] / (own + own[:, None])
    matrix = np.diag(1 - part.sum(axis=1)) - part
    R = np.asarray(np.linalg.solve(matrix, at["S"]), dtype=np.float64)
    return of_classes(R, Exactness("exact, linear equations"), at)
