"""Jobs followed by another job of the same user, and the probability of it by response time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import (
    N_RESAMPLES,
    interval,
    resample_users,
    resampled_medians,
    resampled_ratios,
    totals_by_user,
)
from workloadkit.analysis.reactions.service_bins import plot_points, probability_axes
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import THRESHOLDS, think_times
from workloadkit.site.empirical import PUBLISHED_A, PUBLISHED_B, RESPONSE_EDGES, fit_curve
from workloadkit.trace import Trace, list_of_logs

_MINUTE = 60.0

#: Upper edges of the bins of slowdowns (Shmueli 2008, Table 4.3, where √2 is written 1.41).
SLOWDOWN_EDGES = (2**0.5, 2.0, 4.0, 16.0, np.inf)

RESPONSE_BINS = ("R1", "R2", "R3", "R4", "R5")
SLOWDOWN_BINS = ("S1", "S2", "S3", "S4", "S5")

#: Titles of the bins of response times.
RESPONSE_TITLES = ("up to 5 min", "5 to 15 min", "15 to 45 min", "45 min to 2 h 15", "over 2 h 15")
SLOWDOWN_TITLES = ("up to 1.41", "1.41 to 2", "2 to 4", "4 to 16", "over 16")

#: Longest think time within a session (Zilber et al. 2005). [s]
CONTINUE_WITHIN = THRESHOLDS["last"]

#: Upper limit of a short wait or run time (Shmueli 2008, section 4.5). [s]
SHORT = 5 * _MINUTE


def followed_jobs(traces: Trace | Sequence[Trace]) -> pd.DataFrame:
    """Return the jobs followed by another job of the user, with the think time in between [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log, or several combined; users of different logs are different users. Jobs that never
        ran, jobs of unknown users and jobs with an unknown wait are left out.

    Returns
    -------
    DataFrame
        One row per job, by log and submission:

        - `log`, `user`: numbers from 0; `user` is unique over all logs;
        - `wait`, `run`, `response` (wait + run) [s] and `slowdown` (response / run; a run time of
          0 counts as 1 s);
        - `think_time`: from the end of the job to the next submission of the user; negative if
          the user did not wait for the end [s];
        - `response_bin`, `slowdown_bin`: from 0 to 4, by `RESPONSE_EDGES` and `SLOWDOWN_EDGES`;
        - `continued`: whether the think time is 0 to 20 min.

    Raises
    ------
    ParameterError
        If no log is given, or an item is not a Trace.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, sections 4.3 and 4.4.

    Examples
    --------
    >>> log = {
    ...     "submit": [0, 500, 600],
    ...     "wait": [20, 0, 0],
    ...     "run": [400, 900, 5],
    ...     "procs": [1, 1, 1],
    ...     "user": [7, 7, 7],
    ... }
    >>> jobs = followed_jobs(Trace.from_columns(log))
    >>> jobs[["response", "slowdown", "think_time", "response_bin", "continued"]]
       response  slowdown  think_time  response_bin  continued
    0     420.0      1.05        80.0             1       True
    1     900.0      1.00      -800.0             1      False
    """
    tables = [_followed_jobs(trace) for trace in list_of_logs(traces)]
    n_users = 0
    for log, table in enumerate(tables):
        table.insert(0, "log", log)
        table["user"] += n_users
        n_users += table["user"].nunique()
    return pd.concat(tables, ignore_index=True)


def answered(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs with a non-negative think time.

    A negative think time carries no information on reactions (Shmueli 2008, section 4.4).
    """
    return jobs[jobs["think_time"].to_numpy() >= 0].reset_index(drop=True)


def draw_users(
    jobs: pd.DataFrame,
    n_resamples: int = N_RESAMPLES,
    *,
    rng: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return weights of users in bootstrap draws, with users resampled within each log."""
    rng = np.random.default_rng(rng)
    n_users = jobs.groupby("log")["user"].nunique()
    weights = [resample_users(n, n_resamples, rng=rng) for n in n_users]
    return np.hstack(weights) if weights else np.empty((n_resamples, 0))


def _followed_jobs(trace: Trace) -> pd.DataFrame:
    known = trace.column("user") != UNKNOWN
    chosen = trace if known.all() else trace.select(known)
    pairs = think_times(chosen).sort_values("previous", ignore_index=True)
    jobs = chosen.jobs.loc[pairs["previous"], ["user", "wait", "run"]].reset_index(drop=True)
    jobs["think_time"] = pairs["think_time"]
    jobs = jobs[jobs["wait"].notna()].reset_index(drop=True)
    jobs["user"] = pd.factorize(jobs["user"])[0]
    jobs["response"] = jobs["wait"] + jobs["run"]
    jobs["slowdown"] = jobs["response"] / jobs["run"].where(jobs["run"] > 0, 1.0)
    jobs["response_bin"] = np.searchsorted(RESPONSE_EDGES, jobs["response"])
    jobs["slowdown_bin"] = np.searchsorted(SLOWDOWN_EDGES, jobs["slowdown"])
    jobs["continued"] = jobs["think_time"].between(0, CONTINUE_WITHIN)
    return jobs


_DAY = 86400.0


@dataclass(frozen=True, eq=False)
class Continuation(AnalysisResult):
    """Probability of continuing a session after a job, and the fitted curve p = a / (b r + 1).

    Parameters
    ----------
    points : DataFrame
        One row per log and bin of response times with jobs: `log`, `bin`, `jobs`,
        `median_response` [s], `probability` with its interval `probability_low` to
        `probability_high`, and the values of the `fitted` and the `published` curve.
    a : float
        Probability at response time 0, in (0, 1].
    b : float
        Rate of the decrease: the probability is halved at a response time of 1 / b minutes. [1/min]
    a_interval, b_interval : tuple of float
        NaN if there are too few users.
    rmse : float
        Root mean square error of the fitted curve.
    published_rmse : float
        Root mean square error of the published curve.
    """

    points: pd.DataFrame
    a: float
    b: float
    a_interval: tuple[float, float]
    b_interval: tuple[float, float]
    rmse: float
    published_rmse: float

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the points with the fitted and the published curve."""
        return plot_continuation(self.points, ax, a=self.a, b=self.b)


@takes_rng
def fit_continuation(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Continuation:
    """Fit the probability that users continue their session after a job [1]_.

    Each bin of response times of each log is a point: the share of think times of at most 20 min
    among the non-negative ones, at the median response time of the jobs. The curve
    p = a / (b r + 1), r in minutes, is fitted by least squares, with 0 < a ≤ 1 and b between 10⁻⁶
    and 1,000 per minute.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log or several combined; see `analysis.reactions.followed_jobs`.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for 95 % percentile intervals.
    rng : int or Generator, optional

    Returns
    -------
    Continuation
        a and b are NaN if there are fewer than two points.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, Figure 4.5 and equation 5.1.

    Examples
    --------
    Users continue a minute after half of the jobs of 4 min, and after a tenth of those of 10 h.

    >>> log = {"submit": [], "run": [], "wait": 40 * [0], "procs": 40 * [1], "user": 40 * [1]}
    >>> now = 0
    >>> for i in range(40):
    ...     log["submit"].append(now)
    ...     log["run"].append(240 if i < 20 else 36000)
    ...     now += log["run"][i] + (60 if i % (2 if i < 20 else 10) == 0 else 7200)
    >>> fit = fit_continuation(Trace.from_columns(log))
    >>> fit.points["probability"].round(3).tolist(), round(fit.a, 3), round(fit.b, 4)
    ([0.5, 0.105], 0.513, 0.0065)
    """
    jobs = followed_jobs(traces)
    return continuation_of(answered(jobs), draw_users(jobs, n_resamples, rng=rng))


def continuation_of(jobs: pd.DataFrame, weights: NDArray[np.float64]) -> Continuation:
    """Fit the curve to the answered jobs, with the users' weights in each draw."""
    n_users = weights.shape[1]
    rows, at_of_draws, p_of_draws = [], [], []
    for (log, which), its in jobs.groupby(["log", "response_bin"]):
        user = its["user"].to_numpy()
        stays, all_ = (totals_by_user(x, user, n_users) for x in (its["continued"], user >= 0))
        response = its["response"].to_numpy()
        at_of_draws.append(resampled_medians(response, user, weights))
        p_of_draws.append(resampled_ratios(stays, all_, weights))
        at, probability = float(np.median(response)), float(its["continued"].mean())
        low, high = interval(p_of_draws[-1])
        rows.append((log, RESPONSE_BINS[which], len(its), at, probability, low, high))
    columns = ["log", "bin", "jobs", "median_response", "probability"]
    columns += ["probability_low", "probability_high"]
    points = pd.DataFrame(rows, columns=columns)
    numbers = points[["median_response", "probability"]]
    at, p = numbers.to_numpy(dtype=np.float64).T
    (a,), (b,) = fit_curve(at[None, :] / _MINUTE, p[None, :])
    if rows:
        limits = interval(
            np.column_stack(fit_curve(np.array(at_of_draws).T / _MINUTE, np.array(p_of_draws).T))
        )
    else:
        limits = np.full((2, 2), np.nan)
    points["fitted"] = curve(at, a, b)
    points["published"] = curve(at, PUBLISHED_A, PUBLISHED_B)
    errors = (np.sqrt(((points[name] - p) ** 2).mean()) for name in ("fitted", "published"))
    (a_low, a_high), (b_low, b_high) = limits.T.tolist()
    return Continuation(
        points, float(a), float(b), (a_low, a_high), (b_low, b_high), *map(float, errors)
    )


def curve(response: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    """Return a / (b r + 1) for response times r in seconds, b in 1/min; negative r counts as 0.

    Examples
    --------
    >>> curve(np.array([0.0, 1200.0]), 0.8, 0.05).tolist()
    [0.8, 0.4]
    """
    return a / (b * np.maximum(response, 0) / _MINUTE + 1)


def plot_continuation(data: pd.DataFrame, ax: Axes | None = None, *, a: float, b: float) -> Axes:
    """Draw the probability of continuing against the response time.

    Parameters
    ----------
    data : DataFrame
        `Continuation.points`.
    a, b : float
        Parameters of the fitted curve; NaN if there is none.
    """
    ax = style.current_axes(ax)
    for log, points in data.groupby("log"):
        plot_points(points, ax, style.LINES[int(log) % len(style.LINES)]["color"])
    spread = data["median_response"].clip(lower=1.0)
    low, high = (spread.min(), spread.max()) if len(data) else (1.0, _DAY)
    at = np.geomspace(low / 2, high * 2, 200)
    if not np.isnan(a):
        ax.plot(at, curve(at, a, b), color=style.INK, label=f"{a:.2f} / ({b:.3f} r + 1)")
    ax.plot(
        at,
        curve(at, PUBLISHED_A, PUBLISHED_B),
        color=style.MUTED,
        linestyle="--",
        label=f"published: {PUBLISHED_A} / ({PUBLISHED_B} r + 1)",
    )
    return probability_axes(ax)
