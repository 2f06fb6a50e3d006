"""Probability that users continue their session after a job, by its response time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import (
    N_RESAMPLES,
    interval,
    resampled_medians,
    resampled_ratios,
    totals_by_user,
)
from workloadkit.analysis.formats import bound_met, limited, number, with_interval
from workloadkit.analysis.reactions.followed import (
    RESPONSE_BINS,
    answered,
    draw_users,
    followed_jobs,
)
from workloadkit.analysis.reactions.service_bins import plot_points, probability_axes
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import takes_rng
from workloadkit.site.empirical import CURVE_BOUNDS, PUBLISHED_A, PUBLISHED_B, fit_curve
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MINUTE, _DAY = 60.0, 86400.0


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

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Names of the parameters at a bound of their search, whose value is only a limit."""
        return tuple(x for x, ends in CURVE_BOUNDS.items() if bound_met(getattr(self, x), ends))

    def in_words(self, name: str) -> str:
        """Format a parameter with its interval; ≤ or ≥ marks a number at a bound."""
        low, high = getattr(self, f"{name}_interval")
        form = partial(limited, bounds=CURVE_BOUNDS[name], form=number)
        return with_interval(getattr(self, name), low, high, form)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values, with the parameters `at_bound`."""
        return {**super().to_dict(), "at_bound": list(self.at_bound)}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
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


def plot_continuation(
    data: pd.DataFrame, ax: "Axes | None" = None, *, a: float, b: float
) -> "Axes":
    """Draw the probability of continuing against the response time.

    Parameters
    ----------
    data : DataFrame
        `Continuation.points`.
    a, b : float
        Parameters of the fitted curve; NaN if there is none.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = {"log": [0, 0], "median_response": [60.0, 6000.0], "probability": [0.8, 0.4]}
    >>> data |= {"probability_low": [0.7, 0.3], "probability_high": [0.9, 0.5]}
    >>> ax = plot_continuation(pd.DataFrame(data), Figure().subplots(), a=0.9, b=0.01)
    >>> ax.get_legend_handles_labels()[1]
    ['0.90 / (0.010 r + 1)', 'published: 0.8 / (0.05 r + 1)']
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
