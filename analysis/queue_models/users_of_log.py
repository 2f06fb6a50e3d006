"""Parameters of queueing models in a log: arrivals, users, think times, run times."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import bootstrap, style
from workloadkit.analysis.formats import bound_met, limited, number, with_interval
from workloadkit.analysis.reactions.continuation import curve
from workloadkit.analysis.reactions.followed import RESPONSE_BINS
from workloadkit.analysis.reactions.service_bins import plot_points, probability_axes
from workloadkit.analysis.section import AnalysisResult
from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError, check_count
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions, think_times
from workloadkit.site import empirical
from workloadkit.trace import Trace, check_trace
from workloadkit.user_classes import CLASSES, classify_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ModelledJobs:
    """Jobs of a log for queueing models: they ran, and their user is known.

    Parameters
    ----------
    trace : Trace
        Log of these jobs only.
    procs : int
        Processors of the machine.
    period : float
        From the first submission to the last. [s]
    table : DataFrame
        In the order of the log: `user`, from 0; `submit`, `wait`, `run` and `response` [s], with an
        unknown wait NaN, and 0 in the response; `procs`; `class` of the user; `session`;
        `followed`, whether the user submitted another job later in the session; `think_time` until
        then [s], 0 if that was before the end, NaN if not followed; `overtaken`, whether it was
        before the end.
    left_out : int
        Number of jobs left out.
    """

    trace: Trace
    procs: int
    period: float
    table: pd.DataFrame
    left_out: int

    @property
    def staying(self) -> NDArray[np.bool_]:
        """Whether each job is of a long-term user."""
        return (self.table["class"] == CLASSES[0]).to_numpy()


@dataclass(frozen=True)
class Parameters:
    """Parameters of queueing models in a log. Times in seconds, rates per second.

    Parameters
    ----------
    jobs : int
        Jobs of known users that ran.
    users : int
    period : float
        From the first submission to the last. [s]
    lam : float
        Rate of jobs of other than long-term users: open arrivals of the mixed model. [1/s]
    lam_temporary : float
        Rate of jobs of temporary users only, without truncated users. [1/s]
    lam_sessions : float
        Rate of sessions of all users: arrivals of the re-open model. [1/s]
    long_term_users : int
    N : float
        Mean number of active long-term users, from their first to their last submission.
    X_closed : float
        Rate of jobs of long-term users. [1/s]
    R_closed : float
        Mean response of their jobs; an unknown wait counts as 0. NaN if there are none.
    Z : float
        Mean time of long-term users from the end of a job to the next submission, including nights
        and weeks of absence; negative if they did not wait for the end. By the interactive law, it
        is close to N / X_closed − R_closed, except for each user's last job. NaN if there are none.
    Z_awaited : float
        Mean of the non-negative ones of these times.
    not_awaited : float
        Share of negative ones.
    Z_session : float
        Mean time of all users between jobs of a session; negative times count as 0.
    p : float
        Share of the jobs followed by another job of the user in the session.
    run : float
        Mean run time. [s]
    run_long_term, run_others : float
        Mean run time by class of the user. [s]
    procs : int
        Processors of the machine.
    procs_per_job : float
        Mean number of processors over jobs.
    procs_at_work : float
        Mean number of processors weighted by run time.
    scv_run, scv_work, scv_interarrival, scv_open_interarrival, scv_think : float
        Squared coefficients of variation: of run times, of processor-seconds, of inter-arrival
        times, of inter-arrival times of other than long-term users, and of the times averaged in
        Z_awaited. 1 for an exponential distribution.
    """

    jobs: int
    users: int
    period: float
    lam: float
    lam_temporary: float
    lam_sessions: float
    long_term_users: int
    N: float
    X_closed: float
    R_closed: float
    Z: float
    Z_awaited: float
    not_awaited: float
    Z_session: float
    p: float
    run: float
    run_long_term: float
    run_others: float
    procs: int
    procs_per_job: float
    procs_at_work: float
    scv_run: float
    scv_work: float
    scv_interarrival: float
    scv_open_interarrival: float
    scv_think: float

    @property
    def servers(self) -> int:
        """Number of jobs of mean size, weighted by run time, that fit on the machine."""
        return max(round(self.procs / self.procs_at_work), 1)

    @property
    def work(self) -> float:
        """Mean time that the whole machine would need for a job: processor-seconds / size."""
        return self.run * self.procs_at_work / self.procs

    @property
    def throughput(self) -> float:
        """Rate of jobs of all users. [1/s]."""
        return self.jobs / self.period

    @property
    def load(self) -> float:
        """Offered load: processor-seconds of the jobs over the machine's capacity."""
        return self.throughput * self.work


def jobs_of(trace: Trace, procs: int | None = None) -> ModelledJobs:
    """Return the jobs of known users that ran within the log's window."""
    check_trace(trace)
    trace = trace.within_window()
    machine = trace.header.procs if procs is None else check_count("procs", procs, least=1)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job of {trace.n_jobs:,} ran")
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job has a known user, so users cannot be modelled")
    if machine is None:
        raise WorkloadError(
            f"{trace.name}: the header has neither MaxProcs nor MaxNodes; procs (the size of the "
            "machine) is required"
        )
    kept = trace if chosen.all() else trace.select(chosen)
    submit, wait, run = map(kept.column, ("submit", "wait", "run"))
    period = float(submit[-1] - submit[0])
    if not period > 0:
        raise WorkloadError(f"{trace.name}: all jobs have the same submit time")
    user, names = pd.factorize(kept.column("user"))
    table = pd.DataFrame(
        {
            "user": user,
            "submit": submit,
            "wait": wait,
            "run": run,
            "response": np.nan_to_num(wait) + run,
            "procs": kept.used_procs,
            "class": classify_users(kept).users["class"].loc[names].to_numpy()[user],
            "session": delimit_sessions(kept, method="last")["session"].to_numpy(),
        }
    )
    table["followed"] = table["session"].duplicated(keep="last")
    following = table.groupby("session")["submit"].shift(-1)
    until_then = following - submit - table["response"]
    table["think_time"], table["overtaken"] = until_then.clip(lower=0), until_then < 0
    return ModelledJobs(kept, machine, period, table, trace.n_jobs - kept.n_jobs)


def measure(jobs: ModelledJobs) -> Parameters:
    """Measure the parameters of queueing models."""
    table, period, stays = jobs.table, jobs.period, jobs.staying
    run, procs = table["run"].to_numpy(), table["procs"].to_numpy()
    closed, others = table[stays], table[~stays]
    submit = closed.groupby("user")["submit"]
    until_next = _times_until_next(jobs)
    awaited = until_next[until_next >= 0]
    busy = run.sum()
    return Parameters(
        jobs=len(table),
        users=table["user"].nunique(),
        period=period,
        lam=len(others) / period,
        lam_temporary=float((table["class"] == CLASSES[1]).sum() / period),
        lam_sessions=table["session"].nunique() / period,
        long_term_users=closed["user"].nunique(),
        N=float((submit.max() - submit.min()).sum() / period),
        X_closed=len(closed) / period,
        R_closed=_mean(closed["response"]),
        Z=_mean(until_next),
        Z_awaited=_mean(awaited),
        not_awaited=_mean(until_next < 0),
        Z_session=_mean(table["think_time"].dropna()),
        p=_mean(table["followed"]),
        run=_mean(run),
        run_long_term=_mean(closed["run"]),
        run_others=_mean(others["run"]),
        procs=jobs.procs,
        procs_per_job=_mean(procs),
        procs_at_work=float(run @ procs / busy) if busy else _mean(procs),
        scv_run=_scv(run),
        scv_work=_scv(run * procs),
        scv_interarrival=_scv(np.diff(table["submit"])),
        scv_open_interarrival=_scv(np.diff(others["submit"])),
        scv_think=_scv(awaited),
    )


def _times_until_next(jobs: ModelledJobs) -> NDArray[np.float64]:
    """Return times of long-term users from the end of a job to the next submission."""
    if not jobs.staying.any():
        return np.empty(0)
    return think_times(jobs.trace.select(jobs.staying))["think_time"].to_numpy(dtype=np.float64)


def _mean(values: "pd.Series | NDArray") -> float:
    values = np.asarray(values, dtype=np.float64)
    return float(values.mean()) if values.size else np.nan


def _scv(values: "pd.Series | NDArray") -> float:
    values = np.asarray(values, dtype=np.float64)
    mean = _mean(values)
    return float(values.var() / mean**2) if mean > 0 else np.nan


_MINUTE = 60.0

#: Range of theta in the fit. [1/min]
#: Bounds of the search for theta, in e^(-theta r) with r in minutes.
THETA_BOUNDS = 1e-6, 1e3


@dataclass(frozen=True, eq=False)
class GoingOn(AnalysisResult):
    """Probability of another job of the user in the session, and fitted curves.

    Parameters
    ----------
    points : DataFrame
        One row per bin of response times with jobs: `bin`, `jobs`, `median_response` [s],
        `probability` with `probability_low` to `probability_high`; `awaited`, the probability for
        jobs that were not followed before their end; and the values of the curves `hyperbola`,
        `exponential` and `published`.
    a, b : float
        Parameters of a / (b r + 1), r in minutes. NaN if there are fewer than two points.
    theta : float
        Parameter of e^(-theta r), r in minutes.
    a_interval, b_interval, theta_interval : tuple of float
        95 % intervals (bootstrap over users); NaN if there are too few users.
    rmse : dict of str to float
        Root mean square error of each curve.
    """

    points: pd.DataFrame
    a: float
    b: float
    theta: float
    a_interval: tuple[float, float]
    b_interval: tuple[float, float]
    theta_interval: tuple[float, float]
    rmse: dict[str, float]

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Names of the parameters at a bound of their search, whose value is only a limit."""
        bounds = empirical.CURVE_BOUNDS | {"theta": THETA_BOUNDS}
        return tuple(x for x, ends in bounds.items() if bound_met(getattr(self, x), ends))

    def in_words(self, name: str) -> str:
        """Format a parameter with its interval; ≤ or ≥ marks a number at a bound."""
        bounds = (empirical.CURVE_BOUNDS | {"theta": THETA_BOUNDS})[name]
        low, high = getattr(self, f"{name}_interval")
        form = partial(limited, bounds=bounds, form=number)
        return with_interval(getattr(self, name), low, high, form)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values, with the parameters `at_bound`."""
        return {**super().to_dict(), "at_bound": list(self.at_bound)}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the points with the curves."""
        ax = style.current_axes(ax)
        plot_points(self.points, ax, style.BLUE)
        spread = self.points["median_response"].clip(lower=1.0)
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markersize": 5, "linestyle": ""}
        awaited = self.points["awaited"]
        ax.plot([], [], "o", color=style.BLUE, markersize=4, label="all jobs")
        ax.plot(spread, awaited, "o", color=style.BLUE, label="if awaited", **hollow)
        at = np.geomspace(spread.min() / 2, spread.max() * 2, 200)
        if not np.isnan(self.a):
            label = f"{self.a:.2f} / ({self.b:.3g} r + 1)"
            ax.plot(at, curve(at, self.a, self.b), color=style.INK, label=label)
            exponential = np.exp(-self.theta * at / _MINUTE)
            ax.plot(at, exponential, color=style.ORANGE, label=f"exp(−{self.theta:.3g} r)")
        label = f"published: {empirical.PUBLISHED_A} / ({empirical.PUBLISHED_B} r + 1)"
        published = curve(at, empirical.PUBLISHED_A, empirical.PUBLISHED_B)
        ax.plot(at, published, color=style.MUTED, linestyle="--", label=label)
        probability_axes(ax)
        ax.set_ylabel("followed in the session")
        return ax


def measure_going_on(
    jobs: ModelledJobs,
    *,
    n_resamples: int = bootstrap.N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> GoingOn:
    """Measure the probability of another job, and fit the two curves by least squares.

    All jobs with a known wait count, including jobs with a next submission before their end, since
    p determines the number of jobs per session. For jobs that the user waited for, see
    """
    table = jobs.table[jobs.table["wait"].notna()]
    user = pd.factorize(table["user"])[0]
    n_users = user.max() + 1 if user.size else 0
    which = np.searchsorted(empirical.RESPONSE_EDGES, table["response"])
    weights = (
        bootstrap.resample_users(n_users, n_resamples, rng=rng) if n_users else np.empty((0, 0))
    )
    rows, at_of_draws, p_of_draws = [], [], []
    for bin_ in distinct(which):
        inside = which == bin_
        its, of = table[inside], user[inside]
        followed, response = its["followed"].to_numpy(), its["response"].to_numpy()
        stays, all_ = (bootstrap.totals_by_user(x, of, n_users) for x in (followed, of >= 0))
        at_of_draws.append(bootstrap.resampled_medians(response, of, weights))
        p_of_draws.append(bootstrap.resampled_ratios(stays, all_, weights))
        low, high = bootstrap.interval(p_of_draws[-1])
        share, at = float(followed.mean()), float(np.median(response))
        awaited = followed[~its["overtaken"].to_numpy()]
        of_awaited = float(awaited.mean()) if awaited.size else np.nan
        rows.append((RESPONSE_BINS[bin_], len(its), at, share, low, high, of_awaited))
    columns = ["bin", "jobs", "median_response", "probability"]
    columns += ["probability_low", "probability_high", "awaited"]
    points = pd.DataFrame(rows, columns=columns)
    numbers = points[["median_response", "probability"]].to_numpy(dtype=np.float64)
    at, p = numbers.T
    (a,), (b,), (theta,) = _fit(at[None], p[None])
    limits = np.full((2, 3), np.nan)
    if rows:
        draws = np.array(at_of_draws).T, np.array(p_of_draws).T
        limits = bootstrap.interval(np.column_stack(_fit(*draws)))
    points["hyperbola"] = curve(at, a, b)
    points["exponential"] = np.exp(-theta * at / _MINUTE)
    points["published"] = curve(at, empirical.PUBLISHED_A, empirical.PUBLISHED_B)
    named = ("hyperbola", "exponential", "published")
    rmse = {x: float(np.sqrt(((points[x] - p) ** 2).mean())) if rows else np.nan for x in named}
    of_a, of_b, of_theta = ((low, high) for low, high in limits.T.tolist())
    return GoingOn(points, float(a), float(b), float(theta), of_a, of_b, of_theta, rmse)


def _fit(at: NDArray[np.float64], p: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Fit both curves to several sets of points; response times in seconds."""
    return (*empirical.fit_curve(at / _MINUTE, p), fit_exponential(at / _MINUTE, p))


def fit_exponential(
    response: NDArray[np.float64], probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit p = e^(-theta r) by least squares to several sets of points.

    Parameters
    ----------
    response, probability : ndarray, shape (n_sets, n_points)
        NaN for missing points. Response times in minutes.

    Returns
    -------
    theta : ndarray, shape (n_sets,)
        [1/min]; NaN if there are fewer than two points.

    Examples
    --------
    >>> r = np.array([[0.0, 1.0, 10.0]])
    >>> fit_exponential(r, np.exp(-0.2 * r)).round(6).tolist()
    [0.2]
    """
    known = np.isfinite(response) & np.isfinite(probability)
    r = np.maximum(np.where(known, response, 0.0), 0.0)[:, None, :]
    p = np.where(known, probability, 0.0)[:, None, :]

    def misfit(log_theta: NDArray[np.float64]) -> NDArray[np.float64]:
        error = np.exp(-(10 ** log_theta[:, :, None]) * r) - p
        return (np.where(known[:, None, :], error, 0.0) ** 2).sum(axis=2)

    log_theta = empirical.least_on_grid(misfit, *THETA_BOUNDS, known.shape[0])
    return np.where(known.sum(axis=1) >= 2, 10**log_theta, np.nan)
