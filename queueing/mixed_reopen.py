"""Closed users and open users who continue with a probability that depends on the response."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Floats,
    Value,
    count,
    missing,
    not_negative,
    plain,
    points,
)
from workloadkit.queueing.closed_users import MixedResult
from workloadkit.queueing.errors import QueueingError, QueueingWarning, quoted
from workloadkit.queueing.probability import Probability, as_probability, as_think
from workloadkit.queueing.product_form import EXACT, USERS, Method, closed_and_open, rules_of
from workloadkit.queueing.reopening.laws import moment, phases, survival
from workloadkit.queueing.reopening.thinkers import stability_rules
from workloadkit.queueing.result import Exactness, ModelResult, Places, again
from workloadkit.queueing.think_times import FIXED_POINT, with_think_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest relative errors found in simulations: both functions of the thesis, 1 and 4 servers, 1
#: to 10 closed users, lam S / servers from 0.1 to 0.9, Z = 2 S and 10 S. Checked by
#: tests/queueing/test_chain_accuracy.py.
CHAIN = Exactness(
    "approximation: chain",
    Xc=0.012, Rc=0.02, Qc=0.012, Uc=0.012,
    Xo=0.006, Ro=0.02, Qo=0.02, Uo=0.006, jobs_per_user=0.006,
)  # fmt: skip


class ResponseWeights(NamedTuple):
    """Weights of Erlang(1), Erlang(2), ... response times at one point, and their rate."""

    closed: Floats
    open: Floats
    first: Floats
    rate: float


@dataclass(frozen=True, eq=False)
class MixedReopen(MixedResult):
    """Closed users (c) and arriving users who may submit further jobs (o).

    Has the measures of `MixedResult`, with Xo, Ro, Qo and Uo for all jobs of arriving users; job
    kinds are "closed", "open" and "first" (the first job of an arriving user). In addition:

    Parameters
    ----------
    Ro_first : float or ndarray
        Mean response of a user's first job.
    p_mean : float or ndarray
        Share of open jobs followed by another job of the user.
    jobs_per_user : float or ndarray
        Mean number of jobs of an arriving user, Xo / lam.
    thinking : float or ndarray
        Mean number of arriving users who think.
    """

    measures: ClassVar[tuple[str, ...]] = (
        *("Xc", "Rc", "Qc", "Uc", "Xo", "Ro", "Qo", "Uo"),
        *("Ro_first", "p_mean", "jobs_per_user", "thinking"),
    )
    totals: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U", "X_per_user")
    jobs: ClassVar[tuple[str, ...]] = ("closed", "open", "first")

    Ro_first: Value
    p_mean: Value
    jobs_per_user: Value
    thinking: Value
    #: The same model with open jobs at rate Xo: exact for constant p.
    _alike: MixedResult | None = field(repr=False)
    #: By point; None without a solution or without service.
    _points: tuple[ResponseWeights | None, ...] = field(repr=False)

    @property
    def Xo(self) -> Value:
        """Jobs of arriving users per unit of time."""
        return self.parameters["lam"] * self.jobs_per_user

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure by finite differences; N is whole."""
        if wrt in ("N", "servers"):
            raise QueueingError(f"wrt is {quoted(wrt)}, a whole number")
        return ModelResult.derivative(self, of, wrt)

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        if self._alike is not None:
            return self._alike._survival(t, at, _kind(job))
        return self._by_point(lambda weights, rate, here: survival(weights, rate, t[here]), at, job)

    def _distribution(self, t: Floats, at: Places, job: str) -> Floats:
        if self._alike is not None:
            return self._alike._distribution(t, at, _kind(job))
        return 1 - self._survival(t, at, job)

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        if self._alike is not None:
            return self._alike._moment(order, at, _kind(job))
        return self._by_point(lambda weights, rate, here: moment(weights, rate, order), at, job)

    def _central_moments(self, at: Places, job: str) -> tuple[Floats, Floats]:
        return ModelResult._central_moments(self, at, job)

    def _by_point(self, value: Callable[..., Any], at: Places, job: str) -> Floats:
        found = np.where(self._at("S", at) == 0, 0.0, np.nan)
        for place in np.unique(at):
            laws = self._points[place]
            if laws is not None:
                here = at == place
                found[here] = value(getattr(laws, job), laws.rate, here)
        if job == "closed":
            found[self._at("N", at) == 0] = np.nan
        return found

    def _plot_measures(self, ax: "Axes", measures: tuple[str, ...] | None) -> None:
        ModelResult._plot_measures(self, ax, measures)

    def _laws(self) -> list[tuple[Value, Value]]:
        lam, Z, S, servers = (self.parameters[name] for name in ("lam", "Z", "S", "servers"))
        Xo, N = np.asarray(self.Xo), self.parameters["N"]
        return [
            (self.Qc, np.where(N == 0, 0.0, self.Xc * np.asarray(self.Rc))),
            (self.Qo, Xo * self.Ro),
            (self.Uc, self.Xc * S / servers),
            (self.Uo, Xo * S / servers),
            (N + 0.0, self.Qc + self.Xc * Z),
            (lam + 0.0, Xo * (1 - self.p_mean)),
            (self.thinking, Z * Xo * self.p_mean),
        ]


def _kind(job: str) -> str:
    return "closed" if job == "closed" else "open"


def mixed(
    lam: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike | Callable[[Any], Any],
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "formula",
    p: ArrayLike | Callable[[Any], Any] | None = None,
) -> MixedResult:
    """Solve the mixed model: closed users as in `closed`, and open jobs with equal service [1]_.

    Open jobs arrive in a Poisson process and need exponential service of the same mean, in the same
    queue. They do not react, so they always take the share lam S of the servers, and closed users
    get the rest. With one server, this is equivalent to a service time of s = S / (1 − lam S):

    Xc = (1 − B) / s,  Rc = N / Xc − Z,  Ro = s (1 + Qc),  P(Ro > t) = P(N, a + t/s) / P(N, a),

    with a = Z / s, and B and P as in `closed`. A closed job meets N − 1 other closed users, an open
    job all N: Ro is longer than Rc, and grows without bound with N even if lam S < 1.

    Parameters
    ----------
    lam : array_like
        Rate of open jobs, 0 or more; lam S < servers. At 0, Ro is the response time of a single
        open job.
    N, Z, S, servers, method
        See `closed`; a think time that depends on the response is one of closed users.
    p : array_like or callable, optional
        If given, open jobs may be followed by other jobs of the same user, with this probability
        (see `reopen`) and after think times with mean Z. Exact for a number, otherwise by the chain
        of `reopen`; N must then be whole.

    Returns
    -------
    MixedResult
        With Xc, Rc, Qc, Uc of closed users, Ro, Qo, Uo of open jobs, X, R, Q, U of all jobs and
        X_per_user of a closed user. Its job kinds are "closed" and "open". With p, a `MixedReopen`.

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
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham, K. C. Sevcik, "Quantitative System
       Performance", Prentice-Hall, 1984, section 7.4.3; N. Zakay, PhD thesis, The Hebrew
       University of Jerusalem, 2018, chapter 6, section III.

    Examples
    --------
    >>> result = mixed(lam=0.5, N=2, Z=2, S=1)
    >>> print(f"{result.Xc:.3f} {result.Rc:.3f} {result.Ro:.3f}")
    0.400 3.000 4.400
    >>> print(f"{result.ppf(0.9, 'closed'):.3f} {result.ppf(0.9, 'open'):.3f}")
    6.544 8.886
    """
    numeric: Any = Z
    think = as_think(Z)
    if p is None:
        if think is not None:
            rules_of(method)
            found = replace(
                with_think_time(closed_and_open, think, lam=lam, N=N, S=S, servers=servers),
                exactness=FIXED_POINT,
            )
        else:
            found = closed_and_open(lam, N, numeric, S, servers, method)
        given = {"lam": lam, "N": N, "Z": Z, "S": S, "servers": servers, "p": p, "method": method}
        return replace(found, solve=partial(again, mixed, given))
    rules_of(method)
    if think is not None:
        raise QueueingError(f"Z is a {think}; with p it must be numbers")
    if method != "formula":
        raise QueueingError(f"method is {quoted(method)}; with p it must be 'formula'")
    return _with_successors(lam, N, numeric, S, servers, p)


def _with_successors(
    lam: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike,
    p: ArrayLike | Callable[[Any], Any],
) -> MixedReopen:
    """Solve `mixed` if open jobs may be followed by other jobs of the user; see there."""
    form = as_probability(p)
    given = {"lam": lam, "N": N, "p": p, "Z": Z, "S": S, "servers": servers}
    rules = [not_negative("lam"), *USERS, *form.rules, *stability_rules(form, S, servers)]
    if not form.constant:
        rules.insert(1, count("N", least=0))
    at = points(rules, lam=lam, N=N, **form.values, Z=Z, S=S, servers=servers)

    found = _exact(at) if form.constant else _by_chain(at, form)
    parameters: dict[str, Any] = dict(at)
    if not form.constant:
        parameters = {"lam": at["lam"], "N": at["N"], "p": p} | parameters
    return MixedReopen(
        parameters=parameters,
        exactness=EXACT if form.constant else CHAIN,
        solve=partial(_again, given),
        **found,
    )


def _again(given: dict[str, Any], /, **changed: Any) -> MixedReopen:
    """Solve the model again with some parameters changed, also those of p."""
    now = given | {name: changed[name] for name in given if name in changed}
    own = as_probability(now["p"])
    known = {**given, **own.values}
    for name in changed:
        if name not in known:
            raise QueueingError(f"{name} is not a parameter; known: {', '.join(known)}")
    if not own.constant:
        now["p"] = own.with_values(changed)
    return _with_successors(**now)


def _exact(at: Mapping[str, Floats]) -> dict[str, Any]:
    """For constant p, arriving users are equivalent to open jobs without memory."""
    Xo = at["lam"] / (1 - at["p"])
    good = ~np.isnan(Xo)
    with warnings.catch_warnings():
        # points without a solution have been reported
        warnings.simplefilter("ignore", QueueingWarning)
        alike = closed_and_open(Xo, at["N"], at["Z"], at["S"], at["servers"])
    kept = {name: getattr(alike, name) for name in MixedResult.measures}
    return kept | {
        "Ro_first": alike.Ro,
        "p_mean": plain(at["p"] + 0.0),
        "jobs_per_user": plain(1 / (1 - at["p"])),
        "thinking": plain(at["Z"] * Xo * at["p"]),
        "_alike": alike,
        "_points": (None,) * good.size,
    }


def _by_chain(at: Mapping[str, Floats], form: Probability) -> dict[str, Any]:
    """For any other p, solve point by point."""
    from workloadkit.queueing.reopening.mixed_chain import solve_mixed_chain

    flat = {name: value.ravel() for name, value in at.items()}
    lam, N, Z, S, servers = (flat[name] for name in ("lam", "N", "Z", "S", "servers"))
    # without service all response times are 0
    zero_service = np.where(S == 0, 1.0, np.nan)
    p_mean = zero_service * np.broadcast_to(form.with_values(flat).first, S.shape)
    Xc = zero_service * np.divide(N, Z, out=np.zeros(S.shape), where=Z > 0)
    Qc, Qo, Rc, Ro, Ro_first = (0.0 * zero_service for _ in range(5))
    thinking = Z * lam * p_mean / (1 - p_mean)
    laws: list[ResponseWeights | None] = [None] * S.size
    failures: dict[int, str] = {}
    for i in map(int, np.flatnonzero(S > 0)):
        c = int(servers[i])
        try:
            solved = solve_mixed_chain(lam[i], N[i], Z[i], S[i], c, form.with_values(at).at(i))
        except QueueingError as error:
            failures[i] = str(error)
            continue
        law = laws[i] = ResponseWeights(
            phases(solved.left_closed, c),
            phases(solved.left_open, c),
            phases(solved.found, c),
            float(c / S[i]),
        )
        Xc[i], Qc[i], Qo[i] = solved.Xc, solved.Qc, solved.Qo
        p_mean[i], thinking[i] = solved.p_mean, solved.thinking
        Rc[i] = solved.Qc / solved.Xc if N[i] > 0 else np.nan
        Ro_first[i] = moment(law.first, law.rate, 1)
        Ro[i] = solved.Qo / solved.Xo if lam[i] > 0 else moment(law.open, law.rate, 1)
    missing(failures, at["lam"].shape)
    Rc[N == 0] = np.nan
    found = {
        "Xc": Xc,
        "Rc": Rc,
        "Qc": Qc,
        "Uc": np.minimum(Xc * S / servers, 1.0),
        "Ro": Ro,
        "Qo": Qo,
        "Uo": np.minimum(lam / (1 - p_mean) * S / servers, 1.0),
        "Ro_first": Ro_first,
        "p_mean": p_mean,
        "jobs_per_user": 1 / (1 - p_mean),
        "thinking": thinking,
    }
    shaped = {name: plain(value.reshape(at["lam"].shape)) for name, value in found.items()}
    return shaped | {"_alike": None, "_points": tuple(laws)}
