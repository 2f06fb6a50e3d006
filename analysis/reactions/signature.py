"""Signature of feedback: the correlation between the weekly number of jobs and their size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import LEVEL, N_RESAMPLES
from workloadkit.analysis.distributions.rank_correlation import mean_ranks
from workloadkit.analysis.formats import coefficient, with_interval
from workloadkit.analysis.section import SEED, AnalysisResult, Figure, Section
from workloadkit.clock import WEEK
from workloadkit.errors import plural, takes_rng
from workloadkit.trace import Trace, list_of_logs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Signature of feedback"

#: Least number of weeks with jobs for a correlation.
FEWEST_WEEKS = 8


@dataclass(frozen=True, eq=False)
class Signature(AnalysisResult):
    """Weekly number of jobs and mean job size.

    Parameters
    ----------
    weeks : DataFrame
        One row per week with submissions of jobs that ran: `log`, `week` from 0, `jobs` and
        `mean_work` [processor-seconds].
    logs : DataFrame
        By `log`: `weeks` with such jobs, `empty` weeks, `correlation` (Spearman's) of `jobs` and
        `mean_work`, with its interval `low` to `high`.
    correlation : float
        Correlation of one log, or the mean of several on Fisher's scale, weighted by weeks minus
        3. NaN if there are fewer than 8 weeks.
    interval : tuple of float
    """

    weeks: pd.DataFrame
    logs: pd.DataFrame
    correlation: float
    interval: tuple[float, float]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw one dot per week."""
        return plot_signature(self.weeks, ax)


@takes_rng
def feedback_signature(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Signature:
    """Correlate the number of jobs of a week with their mean size [1]_.

    Users who wait for their jobs submit fewer jobs while the machine is loaded. A log then has
    weeks of many small jobs and weeks of few large jobs, and the correlation is negative.

    Weeks start at the log's first submission; the last, incomplete week is left out. Jobs that
    ran count in the week of their submission; their size is processors × run time.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log or several.
    n_resamples : int, default 500
        Number of bootstrap resamples of weeks.
    rng : int or Generator, optional

    Raises
    ------
    ParameterError
        If no log is given, or an item is not a Trace.

    Notes
    -----
    The 95 % interval is Fisher's, based on atanh of the correlation, with the standard error of a
    circular block bootstrap [2]_ instead of 1/√(n − 3): adjacent weeks are correlated, so blocks of
    about the cube root of the number of weeks are drawn.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, section 3.2.1 and Figure 3.1.
    .. [2] D. N. Politis, J. P. Romano, "A circular block-resampling procedure for stationary
       data", in: Exploring the limits of bootstrap, 1992.

    Examples
    --------
    Week i has i jobs of 100 - i s each.

    >>> week = np.repeat(np.arange(1, 13), np.arange(1, 13))
    >>> log = {"submit": 604800 * week, "run": 100 - week, "procs": np.ones(week.size)}
    >>> found = feedback_signature(Trace.from_columns(log))
    >>> found.weeks["jobs"].tolist(), round(found.correlation, 9)
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], -1.0)
    """
    rng = np.random.default_rng(rng)
    weeks, rows, spreads = [], [], []
    for log, trace in enumerate(list_of_logs(traces)):
        table, n_weeks = _weeks(trace)
        weeks.append(table.assign(log=log)[["log", "week", "jobs", "mean_work"]])
        correlation, spread = _correlation(table, n_weeks, n_resamples, rng)
        low, high = _limits(correlation, spread)
        rows.append((len(table), n_weeks - len(table), correlation, low, high))
        spreads.append(spread)
    columns = ["weeks", "empty", "correlation", "low", "high"]
    logs = pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(len(rows), name="log"))
    combined, ends = _combine(logs, np.array(spreads))
    return Signature(pd.concat(weeks, ignore_index=True), logs, combined, ends)


def plot_signature(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw one dot per week: the number of jobs and their mean size.

    Parameters
    ----------
    data : DataFrame
        `Signature.weeks`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"log": [0, 0], "jobs": [10, 20], "mean_work": [3600, 7200]})
    >>> ax = plot_signature(data, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_ydata().tolist()
    ('mean processor-hours of a job', [1.0, 2.0])
    """
    ax = style.current_axes(ax)
    drawn = data[data["mean_work"] > 0]  # a logarithmic axis has no 0
    for log, its in drawn.groupby("log"):
        colour = style.LINES[int(log) % len(style.LINES)]["color"]
        hours = its["mean_work"] / 3600
        ax.plot(its["jobs"], hours, ".", color=colour, markersize=6, alpha=0.7)
        ax.update_datalim([(its["jobs"].min() / 1.1, hours.min() / 1.1)])
        ax.update_datalim([(its["jobs"].max() * 1.1, hours.max() * 1.1)])
    style.log_axis(ax.xaxis)
    style.log_axis(ax.yaxis)
    ax.set(xlabel="jobs in the week", ylabel="mean processor-hours of a job")
    return ax


def section(trace: Trace) -> Section:
    """Report the correlation between weekly job count and job size."""
    if not trace.ran.any():
        notes = ("No job of this log ran, so there is no correlation.",)
        return Section("signature", _TITLE, notes=notes)
    found = feedback_signature(trace, rng=SEED)
    n_weeks = int(found.logs["weeks"].iloc[0])
    if np.isnan(found.correlation):
        reason = (
            "all have equal job counts or equal job sizes"
            if n_weeks >= FEWEST_WEEKS
            else f"at least {FEWEST_WEEKS} are required"
        )
        weeks = plural(n_weeks, "complete week has", "complete weeks have")
        notes = (f"{weeks} jobs that ran; {reason}, so the correlation is undefined.",)
        return Section("signature", _TITLE, notes=notes, values={"weeks": n_weeks})
    low, high = found.interval
    known = f"rank correlation {with_interval(found.correlation, low, high, coefficient)}"
    if high < 0:
        finding = (
            f"Weeks with more jobs have smaller jobs ({known}), as expected if users submit less "
            "under load."
        )
    elif low > 0:
        finding = f"Weeks with more jobs have larger jobs ({known}): no sign of feedback."
    else:
        finding = f"No significant correlation between weekly job count and job size ({known})."
    return Section(
        "signature",
        _TITLE,
        finding,
        (
            "A week is 7 days, counted from the first submission; the size of a job is processors "
            "times run time. Brackets hold a 95 % interval (Fisher's, with the standard error "
            f"from {N_RESAMPLES} block-bootstrap draws of weeks).",
            "A machine that is always full shows the same correlation, because job count times "
            "mean size is the work of a week.",
        ),
        {
            "weeks": n_weeks,
            "empty_weeks": int(found.logs["empty"].iloc[0]),
            "correlation": found.correlation,
            "correlation_low": low,
            "correlation_high": high,
        },
        figures=(
            Figure(
                "weeks",
                "Weekly job count and mean job size",
                "One dot per week: the number of submitted jobs that ran, and their mean "
                "processor-hours. Both axes are logarithmic. If users submit less under load, the "
                "dots fall to the right.",
                found.weeks,
                plot_signature,
            ),
        ),
        parameters={"signature_resamples": N_RESAMPLES, "seed": SEED},
    )


def _weeks(trace: Trace) -> tuple[pd.DataFrame, int]:
    """Return jobs that ran and their mean work by week, and the number of complete weeks."""
    trace = trace.within_window()
    submit = trace.column("submit")
    if not submit.size:
        return pd.DataFrame({"week": [], "jobs": [], "mean_work": []}), 0
    n_weeks = int((submit[-1] - submit[0]) // WEEK)
    week = (submit - submit[0]) // WEEK
    chosen = trace.ran & (week < n_weeks)
    work = (trace.used_procs * trace.column("run"))[chosen]
    by_week = pd.Series(work).groupby(week[chosen].astype(np.int64))
    table = by_week.agg(jobs="size", mean_work="mean")
    return table.rename_axis("week").reset_index(), n_weeks


def _correlation(
    table: pd.DataFrame, n_weeks: int, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return Spearman's correlation of jobs and mean work, and its error on Fisher's scale."""
    pairs = table[["jobs", "mean_work"]].to_numpy(dtype=np.float64)
    n = len(pairs)
    if n < FEWEST_WEEKS or (pairs == pairs[0]).all(axis=0).any():
        return np.nan, np.nan
    length = max(1, round(n ** (1 / 3)))
    begins = rng.integers(0, n, (n_resamples, -(-n // length)))
    rows = (begins[:, :, None] + np.arange(length)).reshape(n_resamples, -1)[:, :n] % n
    (value,) = _spearman(pairs[None])
    drawn = _spearman(pairs[rows])
    drawn = drawn[np.isfinite(drawn)]
    return float(value), float(np.std(_fisher(drawn), ddof=1)) if drawn.size > 1 else np.nan


def _combine(logs: pd.DataFrame, spreads: NDArray[np.float64]) -> tuple[float, tuple[float, float]]:
    """Return the mean correlation of logs on Fisher's scale, weighted by weeks minus 3."""
    known = logs["correlation"].notna().to_numpy()
    if known.sum() <= 1:
        row = logs[known].sum(min_count=1)  # a single log, or NaN
        return float(row["correlation"]), (float(row["low"]), float(row["high"]))
    weight = (logs["weeks"].to_numpy() - 3.0)[known]
    weight /= weight.sum()
    combined = float(np.tanh(weight @ _fisher(logs["correlation"].to_numpy()[known])))
    return combined, _limits(combined, float(np.sqrt(weight**2 @ spreads[known] ** 2)))


def _spearman(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's correlation of each set of pairs, shape (n_sets, n_pairs, 2)."""
    ranks = mean_ranks(pairs.transpose(0, 2, 1)).transpose(0, 2, 1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    x, y = ranks[:, :, 0], ranks[:, :, 1]
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.divide((x * y).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)


def _fisher(correlation: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.arctanh(np.clip(correlation, -1 + 1e-9, 1 - 1e-9))


def _limits(correlation: float, spread: float) -> tuple[float, float]:
    """Return the limits of a correlation with a given error on Fisher's scale."""
    from scipy.special import ndtri

    reach = ndtri((1 + LEVEL) / 2) * spread
    centre = _fisher(np.array(correlation))
    return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))
