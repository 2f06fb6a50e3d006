"""The re-open model: users who arrive, and may submit further jobs."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, count, missing, not_negative, plain, points, warn
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.probability import Probability, as_probability, as_think
from workloadkit.queueing.reopening.laws import Placed, Places
from workloadkit.queueing.reopening.result import (
    Failures,
    ReopenPoints,
    ReopenResult,
    Solution,
    by_chain,
    by_fluid,
    by_marks,
    by_total_rate,
    constant,
)
from workloadkit.queueing.reopening.thinkers import most_load, stability_rules
from workloadkit.queueing.response_function import Form, averaged
from workloadkit.queueing.result import Exactness

Function = Callable[[Floats], Floats]
Method = Literal["chain", "mm1", "mean", "fluid", "exact"]


def _stated(words: str, **error: float) -> Exactness:
    # utilization and jobs per user are throughput in other units
    return Exactness(words, **error, U=error["X"], jobs_per_user=error["X"])


#: Largest relative errors found in simulations: both functions of the thesis, lam S from 0.1 to
#: 0.95, Z from 0 to 20 S, one server; "fluid" where it has a solution. Checked by
#: tests/queueing/test_reopen_accuracy.py, and for the chain with several servers and with short and
#: long think times by tests/queueing/test_chain_accuracy.py.
EXACTNESS = {
    "chain": _stated("approximation: chain", X=0.012, R=0.023, Q=0.02, R_first=0.02),
    "mm1": _stated("approximation: mm1", X=0.065, R=1.85, Q=1.85, R_first=1.8),
    "mean": _stated("approximation: mean", X=0.24, R=0.28, Q=0.38, R_first=0.31),
    "fluid": _stated("approximation: fluid", X=0.09, R=0.23, Q=0.17, R_first=0.27),
    "exact": Exactness("exact, chain of marked jobs"),
}
#: Errors of the chain with several servers (2 to 16).
SEVERAL_SERVERS = _stated("approximation: chain", X=0.012, R=0.035, Q=0.03, R_first=0.03)
PRODUCT_FORM = Exactness("exact, product form")


def _exactness(method: Method, servers: Floats) -> Exactness:
    if method == "chain" and (servers > 1).any():
        return SEVERAL_SERVERS
    return EXACTNESS[method]


def reopen(
    lam: ArrayLike,
    p: ArrayLike | Callable[[Any], Any],
    Z: ArrayLike | Callable[[Any], Any],
    S: ArrayLike,
    servers: ArrayLike = 1,
    method: Method = "chain",
) -> ReopenResult:
    """Solve the re-open model: users who may continue, depending on the response time [1]_.

    Users arrive in a Poisson process. After a response time r, a user continues with probability
    p(r), thinks, and submits the next job, or leaves. Service is first come, first served by c
    servers, with exponential times. For constant p, the model has product form, and the solution is
    exact for any distribution of think times: M/M/c at rate lam / (1 - p). Otherwise there is no
    product form. Methods, by descending accuracy:

    - "exact": for p = e^(-theta r) and light load, all states of the waiting jobs;
    - "chain": the number of jobs at the servers and of thinking users, where a job that leaves m
      others behind is followed with the mean of p over an Erlang response time of m + 1 services;
    - "fluid": for heavy load, and a p that changes slowly over the resulting response times;
    - "mm1": as if all jobs arrived independently at rate X: the solution of X (1 - E p(R)) = lam
      with R from M/M/c at X, independent of Z. **X is within 6 %, but R is far off**: too long by
      tens to hundreds of percent as the load grows;
    - "mean": the same with p(E R) instead of E p(R), with larger errors in X.

    The model is stable if lam < c (1 - p(∞)) / S, since users leave after long response times.

    Parameters
    ----------
    lam : array_like
        Arrival rate of users. At 0, R, p_mean and measures per user are those of a user who is
        alone.
    p : array_like or callable
        Probability of another job: numbers, `exponential`, `hyperbolic`, `table`, or any function
        of r.
    Z : array_like or callable
        Mean think time; exponential, unless p is constant or the method is "mm1" or "mean". For
        the chain, also a function of r, such as `breaks`.
    S : array_like
        Mean service time.
    servers : array_like, default 1
    method : {"chain", "mm1", "mean", "fluid", "exact"}

    Returns
    -------
    ReopenResult
        With X, R, Q, U, R_first, jobs_per_user, and more; distributions of response times for the
        job kinds "any" and "first".

    Raises
    ------
    QueueingError
        If a parameter violates its condition, lam is too large, or the method has no solution.

    Warns
    -----
    QueueingWarning
        If points of an array have no solution, which are nan; if an increasing p gives "mm1" or
        "mean" several solutions: X is the smallest, and `roots` has all.

    Notes
    -----
    The number of states of the chain grows with the think time. At a load of 0.9 it takes about 20
    ms for Z = 20 S, half a second for 100 S, and a minute for 200 S and three servers; a chain that
    would take many minutes is rejected. As Z grows, "mm1" converges slowly to the exact solution:
    for e^(-r / S) at a load of 0.8, its R is 15 % too long for Z = 100 S, and 7 % for 300 S.

    Relative errors of X and R in percent, compared with simulations of 2 to 12 million jobs, for
    one server and Z = S; a dash means no solution:

    ================== ===== =========== ============ ============ ===========
    p(r)               lam S chain       mm1          mean         fluid
    ================== ===== =========== ============ ============ ===========
    e^(-r / S)         0.1   +0.3, -0.6  -1.4, +3.5   -21.3, -1.0  -
    e^(-r / S)         0.5   +0.5, -1.7  -3.7, +23.2  -19.4, -7.1  -
    e^(-r / S)         0.9   +0.1, -0.5  -1.3, +72.5  -6.2, -9.2   -
    e^(-r / S)         0.95  +0.1, -0.0  -0.7, +85.2  -3.2, -5.0   -
    0.8 / (r / 2S + 1) 0.1   +0.1, -0.3  -1.1, +3.6   -11.0, +0.8  -
    0.8 / (r / 2S + 1) 0.5   +0.3, -1.1  -4.6, +32.6  -12.6, +3.0  -
    0.8 / (r / 2S + 1) 0.9   +0.0, +0.0  -1.5, +130.8 -3.8, +1.0   +0.3, -1.5
    0.8 / (r / 2S + 1) 0.95  +0.0, -0.2  -0.7, +176.7 -1.9, +0.3   +0.1, -0.9
    ================== ===== =========== ============ ============ ===========

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section IV.

    Examples
    --------
    >>> from workloadkit.queueing import exponential
    >>> found = reopen(lam=0.5, p=exponential(1), Z=1, S=1)
    >>> print(f"{found.X:.4f} {found.R:.4f} {found.R_first:.4f}, {found.exactness}")
    0.6959 2.3946 2.6663, approximation: chain
    >>> reopen(lam=0.5, p=[0, 0.25], Z=1, S=1).R.round(4).tolist()
    [2.0, 3.0]
    """
    if method not in get_args(Method):
        raise QueueingError(f"method is {quoted(method)}; it must be {', '.join(get_args(Method))}")
    form, think = as_probability(p), as_think(Z)
    if think is not None and method != "chain":
        raise QueueingError(
            f"Z is a {think}; method {quoted(method)} needs numbers; only 'chain' supports "
            "functions of r"
        )
    times: dict[str, Any] = {"Z": Z} if think is None else dict(think.values)
    numbers = points(
        [
            not_negative("lam"),
            not_negative("S"),
            count("servers"),
            *form.rules,
            *([not_negative("Z")] if think is None else think.rules),
            *stability_rules(form, S, servers),
        ],
        **{"lam": lam, **form.values, **times, "S": S, "servers": servers},
    )
    flat = {name: value.ravel() for name, value in numbers.items()}
    good = ~np.isnan(flat["lam"])
    served = np.flatnonzero(good & (flat["S"] > 0))
    at = {name: value[served] for name, value in flat.items()}
    stable = ReopenPoints(
        at["lam"],
        form.with_values(at),
        at["Z"] if think is None else think.with_values(at),
        at["S"],
        at["servers"],
    )
    exact = form.constant and think is None
    answer, failures = (constant(stable), {}) if exact else _METHODS[method](stable)
    _report_failures(failures, numbers["lam"].shape, served)
    if answer.roots.shape[1] > 1:
        _warn_of_several_roots(answer.roots, numbers["lam"].shape)

    given = {"lam": lam, "p": p, "Z": Z, "S": S, "servers": servers, "method": method}
    named = {
        "lam": numbers["lam"],
        **({} if form.constant else {"p": p}),
        **{name: numbers[name] for name in form.names},
        "Z": numbers["Z"] if think is None else Z,
        **({} if think is None else {name: numbers[name] for name in think.names}),
        "S": numbers["S"],
        "servers": numbers["servers"],
    }
    measures = _measures(numbers, form, think, served, answer)
    place = np.full(good.size, -1)
    place[served] = np.arange(served.size)
    without = np.where(good & (flat["S"] == 0), 0.0, np.nan)
    return ReopenResult(
        parameters=named,
        exactness=PRODUCT_FORM if exact else _exactness(method, at["servers"]),
        solve=partial(_again, given),
        method=method,
        _law=Placed(answer.law, place, without),
        **measures,
    )


def _again(given: dict[str, Any], /, **changed: Any) -> ReopenResult:
    """Solve the model again with some parameters changed, also those of p and Z."""
    now = given | {name: changed[name] for name in given if name in changed}
    form, think = as_probability(now["p"]), as_think(now["Z"])
    known = {**given, **form.values, **(think.values if think else {})}
    for name in changed:
        if name not in known:
            raise QueueingError(f"{name} is not a parameter; known: {', '.join(known)}")
    if form.names and not form.constant:
        now["p"] = form.with_values(changed)
    if think is not None and think.names:
        now["Z"] = think.with_values(changed)
    return reopen(**now)


def _measures(
    numbers: Mapping[str, Floats],
    p: Probability,
    think: Form | None,
    served: Places,
    answer: Solution,
) -> dict[str, Any]:
    """Return all measures at all points, from the solved ones."""
    lam, S, servers = (numbers[name] for name in ("lam", "S", "servers"))
    form = p.with_values(numbers)
    at_once = S == 0

    def everywhere(solved: Floats, alone: Floats | float) -> Floats:
        """Return solved values; `alone` where S is 0; nan elsewhere."""
        values = np.where(at_once, alone, np.nan)
        values.ravel()[served] = solved
        return values

    first = np.broadcast_to(form.first, S.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        X = everywhere(answer.X, lam / (1.0 - first))
        p_mean = everywhere(answer.p_mean, first)
        R, R_first = everywhere(answer.R, 0.0), everywhere(answer.R_first, 0.0)
        # without arrivals: values of a user who is alone
        jobs_per_user = np.where(lam > 0, X / lam, 1.0 / (1.0 - p_mean))
        if think is None:
            pause = numbers["Z"] * p_mean
        else:
            pause = _pause_alone(form, think.with_values(numbers), lam, S)
        thinking = everywhere(answer.thinking, X * pause)
        time_per_user = np.where(lam > 0, (X * R + thinking) / lam, jobs_per_user * (R + pause))
        X_per_user = jobs_per_user / time_per_user
    roots = np.full((S.size, max(answer.roots.shape[1], 1)), np.nan)
    roots[:, 0] = X.ravel()
    roots[served, : answer.roots.shape[1]] = answer.roots
    measures = {
        "X": X,
        "R": R,
        "Q": everywhere(answer.Q, 0.0),
        "U": np.where(at_once, 0.0, np.minimum(X * S / servers, 1.0)),
        "R_first": R_first,
        "p_mean": p_mean,
        "jobs_per_user": jobs_per_user,
        "thinking": thinking,
        "time_per_user": time_per_user,
        "X_per_user": X_per_user,
        "stable_below": most_load(form, S, servers),
    }
    return {name: plain(value) for name, value in measures.items()} | {
        "roots": roots.reshape(*S.shape, roots.shape[1])
    }


def _pause_alone(p: Probability, think: Form, lam: Floats, S: Floats) -> Floats:
    """Return the mean think time after a job (0 after the last), for jobs that never meet."""
    pause = np.full(S.shape, np.nan)
    for place in np.flatnonzero((lam == 0) | (S == 0)).tolist():
        follows, time = p.at(place).at_times, think.at(place).at_times
        rate = np.divide(1.0, S.ravel()[place])
        pause.ravel()[place] = averaged(partial(_product, follows, time), np.asarray(rate))
    return pause


def _product(f: Function, g: Function, r: Floats) -> Floats:
    return f(r) * g(r)


def _report_failures(failures: Failures, shape: tuple[int, ...], served: Places) -> None:
    """Raise or warn of failures of the method."""
    missing({int(served[place]): why for place, why in failures.items()}, shape)


def _warn_of_several_roots(roots: Floats, shape: tuple[int, ...]) -> None:
    several = np.flatnonzero(np.isfinite(roots).sum(axis=1) > 1)
    found = ", ".join(f"{x:g}" for x in roots[several[0]] if np.isfinite(x))
    where = f" at {several.size:,} of {np.prod(shape):,} points" if shape else ""
    warn(f"p increases with r, X has several solutions{where}: {found}; the smallest is returned")


_METHODS: Mapping[Method, Callable[[ReopenPoints], tuple[Solution, Failures]]] = {
    "chain": by_chain,
    "mm1": lambda points: by_total_rate(points, "mm1"),
    "mean": lambda points: by_total_rate(points, "mean"),
    "fluid": by_fluid,
    "exact": by_marks,
}
