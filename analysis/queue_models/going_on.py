"""Probability that users submit another job in their session, by response time."""

from dataclasses import dataclass
from typing import Any

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
from workloadkit.analysis.queue_models.users_of_log import ModelledJobs
from workloadkit.analysis.reactions.continuation import curve
from workloadkit.analysis.reactions.followed import RESPONSE_BINS
from workloadkit.analysis.reactions.service_bins import plot_points, probability_axes
from workloadkit.analysis.section import AnalysisResult
from workloadkit.site.empirical import (
    PUBLISHED_A,
    PUBLISHED_B,
    RESPONSE_EDGES,
    fit_curve,
    least_on_grid,
)

_MINUTE = 60.0

#: Range of theta in the fit. [1/min]
_LOWEST, _HIGHEST = 1e-6, 1e3


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

    def plot(self, ax: Axes | None = None) -> Axes:
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
        label = f"published: {PUBLISHED_A} / ({PUBLISHED_B} r + 1)"
        published = curve(at, PUBLISHED_A, PUBLISHED_B)
        ax.plot(at, published, color=style.MUTED, linestyle="--", label=label)
        probability_axes(ax)
        ax.set_ylabel("followed in the session")
        return ax


def measure_going_on(
    jobs: ModelledJobs,
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> GoingOn:
    """Measure the probability of another job, and fit the two curves by least squares.

    All jobs with a known wait count, including jobs with a next submission before their end, since
    p determines the number of jobs per session. For jobs that the user waited for, see
    """
    table = jobs.table[jobs.table["wait"].notna()]
    user = pd.factorize(table["user"])[0]
    n_users = user.max() + 1 if user.size else 0
    which = np.searchsorted(RESPONSE_EDGES, table["response"])
    weights = resample_users(n_users, n_resamples, rng=rng) if n_users else np.empty((0, 0))
    rows, at_of_draws, p_of_draws = [], [], []
    for bin_ in np.unique(which):
        inside = which == bin_
        its, of = table[inside], user[inside]
        followed, response = its["followed"].to_numpy(), its["response"].to_numpy()
        stays, all_ = (totals_by_user(x, of, n_users) for x in (followed, of >= 0))
        at_of_draws.append(resampled_medians(response, of, weights))
        p_of_draws.append(resampled_ratios(stays, all_, weights))
        low, high = interval(p_of_draws[-1])
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
        limits = interval(np.column_stack(_fit(*draws)))
    points["hyperbola"] = curve(at, a, b)
    points["exponential"] = np.exp(-theta * at / _MINUTE)
    points["published"] = curve(at, PUBLISHED_A, PUBLISHED_B)
    named = ("hyperbola", "exponential", "published")
    rmse = {x: float(np.sqrt(((points[x] - p) ** 2).mean())) if rows else np.nan for x in named}
    of_a, of_b, of_theta = ((low, high) for low, high in limits.T.tolist())
    return GoingOn(points, float(a), float(b), float(theta), of_a, of_b, of_theta, rmse)


def _fit(at: NDArray[np.float64], p: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Fit both curves to several sets of points; response times in seconds."""
    return (*fit_curve(at / _MINUTE, p), fit_exponential(at / _MINUTE, p))


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

    log_theta = least_on_grid(misfit, _LOWEST, _HIGHEST, known.shape[0])
    return np.where(known.sum(axis=1) >= 2, 10**log_theta, np.nan)
