"""Predictors of continuing a session: which quantity of a job is most informative."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import (
    N_RESAMPLES,
    interval,
    resampled_rank_correlation,
    resampled_ratios,
    totals_by_user,
)
from workloadkit.analysis.reactions.followed import answered, draw_users, followed_jobs
from workloadkit.analysis.reactions.logistic import fit_logistic
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import takes_rng
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Compared quantities, and their titles.
TITLES = {
    "response": "response time",
    "slowdown": "slowdown",
    "run": "run time",
    "wait": "wait",
}
QUANTITIES = tuple(TITLES)

_NORMAL = 1.959963984540054  # 97.5 % quantile

#: Least number of answered jobs.
_FEWEST_JOBS = 30


@dataclass(frozen=True, eq=False)
class Predictors(AnalysisResult):
    """Information in response time, slowdown, run time and wait on the next step of the user.

    Parameters
    ----------
    quantities : DataFrame
        By `quantity`; each column has its interval in `…_low` and `…_high`:

        - `correlation`: Spearman's rank correlation with the think time;
        - `explained`: share of the deviance explained by a logistic model of continuing on the
          logarithm of the quantity;
        - `odds_ratio`: factor on the odds of continuing for a tenfold quantity;
        - `beside_response`: deviance explained in addition to response time;
        - `beyond_it`: deviance explained by response time in addition to the quantity.
    all_explained : float
        Share of the deviance explained by all quantities.
    all_interval : tuple of float
    jobs : int
    users : int
    """

    quantities: pd.DataFrame
    all_explained: float
    all_interval: tuple[float, float]
    jobs: int
    users: int

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the deviance explained by each quantity, with its interval."""
        return plot_predictors(self.quantities, ax)


class _Model(NamedTuple):
    """A logistic model: deviance by user without and with the quantities, and the first slope."""

    null: NDArray[np.float64]
    residual: NDArray[np.float64]
    slope: float
    slope_interval: tuple[float, float]


@takes_rng
def compare_predictors(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Predictors:
    """Measure which quantity of a job predicts best whether its user continues the session.

    Only jobs with non-negative think times count. Continuing (a next job within 20 min) is modelled
    by logistic regression on the logarithms of response time, slowdown, run time and wait (values
    below 1 count as 1): each alone, each together with response time, and all together. The share
    of the deviance explained by a model is McFadden's R² [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log or several combined; see `analysis.reactions.followed_jobs`.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for 95 % percentile intervals.
    rng : int or Generator, optional

    Returns
    -------
    Predictors
        NaN if there are fewer than 30 jobs, or the data are constant.

    Notes
    -----
    Slowdown is response time over run time, so on logarithms any two of the three determine the
    third. Leaving one of them out of the model of all quantities therefore loses nothing; compare
    the quantities by their additional deviance.

    Users are clusters. The errors of the odds ratios are clustered by user [2]_. For the deviance,
    users are resampled with fixed coefficients: at its minimum, the deviance does not depend on
    them to first order.

    References
    ----------
    .. [1] D. McFadden, "Conditional logit analysis of qualitative choice behavior", in: Frontiers
       in econometrics, 1974.
    .. [2] A. C. Cameron, D. L. Miller, "A practitioner's guide to cluster-robust inference",
       Journal of Human Resources 50, 2015.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> n = 300
    >>> log = {"submit": [], "run": rng.choice([60, 6000], n), "wait": rng.choice([0, 50], n)}
    >>> now = 0
    >>> for i in range(n):
    ...     log["submit"].append(now)
    ...     stays = rng.random() < (0.8 if log["run"][i] == 60 else 0.3)
    ...     now += log["wait"][i] + log["run"][i] + (60 if stays else 5000)
    >>> trace = Trace.from_columns({**log, "procs": [1] * n, "user": [1] * n})
    >>> found = compare_predictors(trace).quantities["explained"].round(2)
    >>> found["response"] > found["wait"]
    np.True_
    """
    jobs = followed_jobs(traces)
    return predictors_of(answered(jobs), draw_users(jobs, n_resamples, rng=rng))


def predictors_of(jobs: pd.DataFrame, weights: NDArray[np.float64]) -> Predictors:
    """Compare the quantities on answered jobs, with the users' weights in each draw."""
    logs = {name: np.log(np.maximum(jobs[name].to_numpy(), 1.0)) for name in QUANTITIES}
    alone = {name: _fit(jobs, {name: logs[name]}, weights) for name in QUANTITIES}
    response = alone["response"]
    pairs = {
        name: _fit(jobs, {"response": logs["response"], name: logs[name]}, weights)
        for name in ("slowdown", "wait")
    }
    pairs["run"] = pairs["slowdown"]  # equivalent, given response time
    rows = []
    for name in QUANTITIES:
        model = alone[name]
        row = {"quantity": name} | _with_interval("correlation", *_correlation(jobs, name, weights))
        row |= _with_interval(
            "explained", *_share(model.null - model.residual, model.null, weights)
        )
        low, high = model.slope_interval
        row |= _with_interval("odds_ratio", *(10.0**x for x in (model.slope, low, high)))
        if name != "response":
            both = pairs[name]
            for title, other in (("beside_response", response), ("beyond_it", model)):
                found = _share(other.residual - both.residual, other.null, weights)
                row |= _with_interval(title, *found)
        rows.append(row)
    # Run time is determined by response time and slowdown.
    together = _fit(jobs, {name: logs[name] for name in ("response", "slowdown", "wait")}, weights)
    explained, low, high = _share(together.null - together.residual, together.null, weights)
    table = pd.DataFrame(rows).set_index("quantity")
    return Predictors(table, explained, (low, high), len(jobs), jobs["user"].nunique())


def plot_predictors(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the deviance explained by each quantity, alone and in addition to response time.

    Parameters
    ----------
    data : DataFrame
        `Predictors.quantities`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ends = ("", "_low", "_high")
    >>> names = [name + end for name in ("explained", "beside_response") for end in ends]
    >>> data = pd.DataFrame(0.1, index=list(TITLES)[:2], columns=names)
    >>> ax = plot_predictors(data, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.get_yticks())
    ('deviance explained', 2)
    """
    ax = style.current_axes(ax)
    place = np.arange(len(data))[::-1]
    bars = {"explained": "alone", "beside_response": "in addition to response time"}
    for (name, title), colour, shift in zip(
        bars.items(), (style.BLUE, style.ORANGE), (0.18, -0.18), strict=True
    ):
        value = data[name].fillna(0)
        limits = [
            (value - data[f"{name}_low"]).clip(lower=0).fillna(0),
            (data[f"{name}_high"] - value).clip(lower=0).fillna(0),
        ]
        error = {"ecolor": style.INK, "elinewidth": 1, "capsize": 2}
        ax.barh(place + shift, value, 0.34, xerr=limits, color=colour, error_kw=error, label=title)
    ax.set_yticks(place, [TITLES[name] for name in data.index])
    ax.tick_params(axis="y", labelcolor=style.INK)
    ax.grid(visible=False, axis="y")
    ax.set_xlim(left=0)
    style.share_axis(ax.xaxis)
    ax.set_xlabel("deviance explained")
    style.legend_above(ax)
    return ax


def _with_interval(name: str, value: float, low: float, high: float) -> dict[str, float]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _correlation(
    jobs: pd.DataFrame, name: str, weights: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the rank correlation with the think time, and its interval."""
    user = jobs["user"].to_numpy()
    if len(jobs) < _FEWEST_JOBS:
        return np.nan, np.nan, np.nan
    value, draws = resampled_rank_correlation(jobs[name], jobs["think_time"], user, weights)
    low, high = interval(draws)
    return value, float(low), float(high)


def _share(
    explained: NDArray[np.float64], whole: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the share of the deviance (given by user), and its interval."""
    total = whole.sum()
    if not total > 0:  # NaN without a model
        return np.nan, np.nan, np.nan
    low, high = interval(resampled_ratios(explained, whole, weights))
    return float(explained.sum() / total), float(low), float(high)


def _fit(
    jobs: pd.DataFrame, columns: Mapping[str, NDArray[np.float64]], weights: NDArray[np.float64]
) -> _Model:
    """Model continuing on quantities; the slope of the first is per factor of e."""
    n_users = weights.shape[1]
    user, stays = jobs["user"].to_numpy(), jobs["continued"].to_numpy(dtype=np.float64)
    unknown = np.full(n_users, np.nan)
    nothing = _Model(unknown, unknown, np.nan, (np.nan, np.nan))
    constant = any(np.ptp(x) == 0 for x in columns.values()) if len(jobs) else True
    if len(jobs) < _FEWEST_JOBS or constant or not 0 < stays.mean() < 1:
        return nothing
    model = fit_logistic(np.column_stack([np.ones(user.size), *columns.values()]), stays, user)
    if model is None:
        return nothing
    slope, half = float(model.coefficients[1]), float(model.errors[1]) * _NORMAL
    losses = _losses(stays, np.full(user.size, stays.mean())), _losses(stays, model.probability)
    null, residual = (totals_by_user(loss, user, n_users) for loss in losses)
    return _Model(null, residual, slope, (slope - half, slope + half))


def _losses(stays: NDArray[np.float64], probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the deviance of each job."""
    return -2 * np.log(np.where(stays > 0, probability, 1 - probability))
