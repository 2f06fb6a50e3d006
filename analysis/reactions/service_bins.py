"""Think times after jobs by their service, and figures of how users react."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from workloadkit.analysis.reactions.followed import (
    CONTINUE_WITHIN,
    RESPONSE_BINS,
    SHORT,
    SLOWDOWN_BINS,
    answered,
    draw_users,
    followed_jobs,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.distinct import distinct
from workloadkit.errors import takes_rng
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Figures of think times and of the probability to continue a session.

_LABELS = dict(
    zip(
        (*RESPONSE_BINS, *SLOWDOWN_BINS),
        ("≤5 min", "≤15", "≤45", "≤135", "more", "≤1.41", "≤2", "≤4", "≤16", "more"),
        strict=True,
    )
)


def plot_medians(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the median think times by bin of response time and of slowdown.

    Parameters
    ----------
    data : DataFrame
        `Reactions.medians`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> names = ["median_think_time", "think_time_low", "think_time_high"]
    >>> bins = [("response time", range(5)), ("slowdown", range(5))]
    >>> index = [(metric, each) for metric, of in bins for each in of]
    >>> index = pd.MultiIndex.from_tuples(index, names=["metric", "bin"])
    >>> data = pd.DataFrame(60.0, index=index, columns=names)
    >>> ax = plot_medians(data, Figure().subplots())
    >>> ax.get_ylabel(), ax.get_legend_handles_labels()[1]
    ('median think time', ['response time', 'slowdown'])
    """
    ax = style.current_axes(ax)
    for (metric, bins), colour, shift in zip(
        data.groupby(level="metric"), (style.BLUE, style.ORANGE), (-0.05, 0.05), strict=True
    ):
        middle = bins["median_think_time"].clip(lower=1.0)  # a logarithmic axis has no 0
        limits = [
            (middle - bins["think_time_low"].clip(lower=1.0)).clip(lower=0).fillna(0),
            (bins["think_time_high"] - middle).clip(lower=0).fillna(0),
        ]
        place = np.arange(1, 6) + shift
        line: dict[str, Any] = {
            "color": colour,
            "marker": "o",
            "markersize": 4,
            "elinewidth": 1,
            "capsize": 2,
        }
        ax.errorbar(place, middle, limits, label=metric, **line)
    low, high = ax.yaxis.get_data_interval()
    ax.update_datalim([(1, low / 1.4), (1, high * 1.4)])
    style.time_axis(ax.yaxis)
    ax.set_xlim(0.6, 5.4)
    ax.set_xticks(
        range(1, 6), [f"{r}, {s}" for r, s in zip(RESPONSE_BINS, SLOWDOWN_BINS, strict=True)]
    )
    ax.set(xlabel="bin of response time (R) or slowdown (S)", ylabel="median think time")
    style.legend_above(ax)
    return ax


def plot_think_time_bins(
    data: pd.DataFrame, ax: "Axes | None" = None, *, bins: Sequence[str] = RESPONSE_BINS
) -> "Axes":
    """Draw the distributions of think times after the jobs of each bin.

    Parameters
    ----------
    data : DataFrame
        `Reactions.think_times`.
    bins : sequence of str
        Bins to draw; by default those of response time.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> names = [name + end for name in RESPONSE_BINS for end in ("", "_low", "_high")]
    >>> data = pd.DataFrame(0.5, index=[60, 600], columns=names)
    >>> ax = plot_think_time_bins(data, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.lines) - 1 == len(RESPONSE_BINS)
    ('think time', True)
    """
    ax = style.current_axes(ax)
    for name, line in zip(bins, style.LINES, strict=False):
        if data[name].notna().any():
            ax.plot(data.index, data[name], **line, label=_LABELS[name])
            ax.fill_between(
                data.index,
                data[f"{name}_low"],
                data[f"{name}_high"],
                color=line["color"],
                alpha=0.15,
                linewidth=0,
            )
    ax.axvline(CONTINUE_WITHIN, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set_ylim(0, 1)
    ax.set(xlabel="think time", ylabel="share at or below")
    style.legend_above(ax)
    return ax


def plot_expectations(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the probability of continuing after jobs with short waits and short run times.

    Parameters
    ----------
    data : DataFrame
        `Reactions.expectations`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = {"kind": ["W", "E"], "median_response": [60.0, 600.0], "probability": [0.8, 0.6]}
    >>> data |= {"probability_low": [0.7, 0.5], "probability_high": [0.9, 0.7]}
    >>> ax = plot_expectations(pd.DataFrame(data), Figure().subplots())
    >>> ax.get_legend_handles_labels()[1]
    ['waited up to 5 min', 'ran up to 5 min']
    """
    ax = style.current_axes(ax)
    titles = {"W": "waited up to 5 min", "E": "ran up to 5 min"}
    for (kind, title), colour in zip(titles.items(), (style.BLUE, style.ORANGE), strict=True):
        points = data[data["kind"] == kind]
        if len(points):
            plot_points(points, ax, colour)
            at = points["median_response"].clip(lower=1.0)
            ax.plot(at, points["probability"], color=colour, label=title)
    return probability_axes(ax)


def probability_axes(ax: "Axes") -> "Axes":
    """Label the axes of a probability of continuing against a response time."""
    low, high = ax.xaxis.get_data_interval()
    ax.update_datalim([(low / 1.4, 0), (high * 1.4, 0)])
    style.time_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set_ylim(0, 1)
    ax.set(xlabel="median response time", ylabel="continue within 20 min")
    style.legend_above(ax)
    return ax


def plot_points(points: pd.DataFrame, ax: "Axes", colour: str) -> None:
    """Draw probabilities with their intervals against median response times."""
    at, p = points["median_response"].clip(lower=1.0), points["probability"]
    # Far in the tails, a percentile interval need not contain the value itself.
    below, above = p - points["probability_low"], points["probability_high"] - p
    bars = np.nan_to_num([below.clip(lower=0), above.clip(lower=0)])
    ax.errorbar(at, p, bars, color=colour, fmt="o", markersize=4, elinewidth=1, capsize=2)


#: Think times at which the distributions are computed: four per doubling from 1 s to 30 days,
#: and the limit of a session. [s]
_DAYS_30 = 30 * 86400
GRID = distinct(np.append(2 ** np.arange(0, np.log2(_DAYS_30), 0.25), [CONTINUE_WITHIN, _DAYS_30]))

_NUMBERS = ["jobs", "median_response", "median_think_time", "think_time_low", "think_time_high"]
_SHARES = ["probability", "probability_low", "probability_high"]


@dataclass(frozen=True, eq=False)
class Reactions(AnalysisResult):
    """Think times after jobs, by the service of the jobs.

    The tables of bins have `jobs`, `median_response` [s], `median_think_time` with its interval
    `think_time_low` to `think_time_high` [s], and `probability`, the share of think times of at
    most 20 min, with `probability_low` to `probability_high`; NaN if a bin is empty, limits also
    if it has too few users. Negative think times are excluded.

    Parameters
    ----------
    jobs : int
        Jobs followed by another job of the user, with a known wait.
    users : int
        Users of those jobs.
    negative : float
        Share of jobs with a negative think time: the user did not wait for their end.
    negative_interval : tuple of float
    by_response : DataFrame
        By `bin`, R1 to R5.
    by_slowdown : DataFrame
        By `bin`, S1 to S5.
    by_both : DataFrame
        One row per `response_bin` and `slowdown_bin`.
    expectations : DataFrame
        One row per `kind`, W (waited up to 5 min) or E (ran up to 5 min), and response `bin`. A
        job can be in both kinds.
    think_times : DataFrame
        By `think_time` [s]: the cumulative share of think times, for each bin R1 to R5 and S1 to
        S5, with limits `…_low` and `…_high`.
    """

    jobs: int
    users: int
    negative: float
    negative_interval: tuple[float, float]
    by_response: pd.DataFrame
    by_slowdown: pd.DataFrame
    by_both: pd.DataFrame
    expectations: pd.DataFrame
    think_times: pd.DataFrame

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the median think times of the bins."""
        return plot_medians(self.medians, ax)

    @property
    def medians(self) -> pd.DataFrame:
        """Bins of response time and of slowdown in one table."""
        names = ["response time", "slowdown"]
        return pd.concat([self.by_response, self.by_slowdown], keys=names, names=["metric"])


@takes_rng
def measure_reactions(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Reactions:
    """Measure the think times after jobs by the service of the jobs [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log or several combined; see `analysis.reactions.followed_jobs`.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for 95 % percentile intervals.
    rng : int or Generator, optional

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, chapter 4.

    Examples
    --------
    >>> log = {
    ...     "submit": [0, 200, 500, 9000],
    ...     "wait": [0, 0, 100, 0],
    ...     "run": [100, 100, 100, 5],
    ...     "procs": [1] * 4,
    ...     "user": [7] * 4,
    ... }
    >>> reactions = measure_reactions(Trace.from_columns(log))
    >>> reactions.by_response.loc["R1", ["jobs", "median_think_time", "probability"]].tolist()
    [3.0, 200.0, 0.6666666666666666]
    >>> reactions.by_slowdown["jobs"].tolist()
    [2, 1, 0, 0, 0]
    """
    jobs = followed_jobs(traces)
    return reactions_of(jobs, draw_users(jobs, n_resamples, rng=rng))


def reactions_of(jobs: pd.DataFrame, weights: NDArray[np.float64]) -> Reactions:
    """Measure reactions to followed jobs, with the users' weights in each draw."""
    user, n_users = jobs["user"].to_numpy(), weights.shape[1]
    negative = jobs["think_time"].to_numpy() < 0
    of_user = totals_by_user(np.ones(user.size), user, n_users)
    draws = resampled_ratios(totals_by_user(negative, user, n_users), of_user, weights)
    low, high = interval(draws)
    its = answered(jobs)
    response, slowdown = its["response_bin"].to_numpy(), its["slowdown_bin"].to_numpy()
    both = _by_bin(its, 5 * response + slowdown, 25, weights)
    both.index = pd.MultiIndex.from_product(
        [RESPONSE_BINS, SLOWDOWN_BINS], names=["response_bin", "slowdown_bin"]
    )
    expectations = {}
    for kind, quantity in (("W", "wait"), ("E", "run")):
        short = its[quantity].to_numpy() <= SHORT
        rows = _by_bin(its[short], response[short], 5, weights, medians=False)
        expectations[kind] = rows.set_axis(pd.Index(RESPONSE_BINS, name="bin"))
    return Reactions(
        jobs=len(jobs),
        users=n_users,
        negative=float(negative.mean()) if negative.size else np.nan,
        negative_interval=(float(low), float(high)),
        by_response=_by_bin(its, response, 5, weights).set_axis(_index(RESPONSE_BINS)),
        by_slowdown=_by_bin(its, slowdown, 5, weights).set_axis(_index(SLOWDOWN_BINS)),
        by_both=both.reset_index(),
        expectations=pd.concat(expectations, names=["kind"]).reset_index(),
        think_times=pd.concat(
            [
                _distributions(its, response, RESPONSE_BINS, weights),
                _distributions(its, slowdown, SLOWDOWN_BINS, weights),
            ],
            axis=1,
        ),
    )


def _index(bins: Sequence[str]) -> pd.Index:
    return pd.Index(bins, name="bin")


def _by_bin(
    jobs: pd.DataFrame,
    which: NDArray[np.integer],
    n_bins: int,
    weights: NDArray[np.float64],
    *,
    medians: bool = True,
) -> pd.DataFrame:
    """Describe the jobs of each bin; `which` is the bin of each job."""
    n_users = weights.shape[1]
    place = jobs["user"].to_numpy() * n_bins + which
    continued = jobs["continued"].to_numpy()
    shape = (n_users, n_bins)
    counts = np.bincount(place, minlength=n_users * n_bins).reshape(shape)
    stays = totals_by_user(continued, place, n_users * n_bins).reshape(shape)
    ratios = resampled_ratios(stays, counts.astype(np.float64), weights)
    n_jobs = counts.sum(axis=0)
    found = {name: np.full(n_bins, np.nan) for name in (*_NUMBERS, *_SHARES)}
    found["jobs"] = n_jobs
    found["probability_low"], found["probability_high"] = interval(ratios)
    user, time, response = (jobs[name].to_numpy() for name in ("user", "think_time", "response"))
    for i in np.flatnonzero(n_jobs):
        its = np.flatnonzero(which == i)
        found["median_response"][i] = np.median(response[its])
        found["median_think_time"][i] = np.median(time[its])
        found["probability"][i] = continued[its].mean()
        if medians:
            draws = resampled_medians(time[its], user[its], weights)
            found["think_time_low"][i], found["think_time_high"][i] = interval(draws)
    if not medians:
        del found["think_time_low"], found["think_time_high"]
    return pd.DataFrame(found)


def _distributions(
    jobs: pd.DataFrame, which: NDArray[np.integer], bins: Sequence[str], weights: NDArray
) -> pd.DataFrame:
    """Return the cumulative shares of think times in each bin, at the points of the grid."""
    n_users, n_bins, n_cells = weights.shape[1], len(bins), GRID.size + 1
    cell = np.searchsorted(GRID, jobs["think_time"].to_numpy())
    place = (jobs["user"].to_numpy() * n_bins + which) * n_cells + cell
    counts = np.bincount(place, minlength=n_users * n_bins * n_cells)
    up_to = counts.reshape(n_users, n_bins, n_cells).cumsum(axis=2).astype(np.float64)
    below = np.broadcast_to(up_to[:, :, -1:], up_to.shape)
    low, high = interval(resampled_ratios(up_to, below, weights))
    total = below.sum(axis=0)
    shares = np.divide(up_to.sum(axis=0), total, out=np.full(total.shape, np.nan), where=total > 0)
    columns: dict[str, Any] = {}
    for i, name in enumerate(bins):
        ends = {name: shares, f"{name}_low": low, f"{name}_high": high}
        columns |= {title: values[i, :-1] for title, values in ends.items()}
    return pd.DataFrame(columns, index=pd.Index(GRID, name="think_time"))
