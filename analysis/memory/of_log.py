"""Long-range dependence of a log's arrivals: whether bursts last longer than days and weeks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.formats import coefficient, duration, upper
from workloadkit.analysis.memory.arrivals import arrivals_per_unit, treatments
from workloadkit.analysis.memory.estimators.methods import BOUNDS, METHODS, check_series
from workloadkit.analysis.memory.hurst_parameter import Hurst, estimate_hurst, hurst_in_words
from workloadkit.analysis.section import AnalysisResult
from workloadkit.clock import Clock
from workloadkit.errors import ParameterError, takes_rng
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Treatments of the series of arrivals, and their titles.
TREATMENTS = {
    "raw": "raw",
    "cycle_removed": "cycle removed",
    "detrended": "detrended",
    "shuffled": "shuffled",
}

#: Largest difference between estimators that agree.
AGREEMENT = 0.1

#: Estimator of the main result.
HEADLINE = "local_whittle"


@dataclass(frozen=True, eq=False)
class LongRangeDependence(AnalysisResult):
    """Hurst parameters of the arrivals of a log.

    Parameters
    ----------
    log : str
        Name of the log.
    unit : float
        Time unit of the counts. [s]
    n_units : int
        Length of the series.
    headline : Hurst
        Local Whittle estimate of the raw series.
    table : DataFrame
        One row per treatment ("raw", "cycle_removed", "detrended", "shuffled") and method:
        `estimate`, its interval from `low` to `high`, and whether it is `at_bound`, or an end of
        the interval is (`low_at_bound`, `high_at_bound`); NaN if undefined.
    longest : mapping of str to float
        Local Whittle estimate over the longest periods only, from n^(1/2) frequencies of the series
        without cycle (of the raw series, if that is undefined): `estimate`, `low`, `high`, and
        `period`, the shortest of these periods [s]; NaN if these have no power. Correlations over
        hours or days raise the headline, but not this estimate.
    warnings : tuple of str
        Messages on estimators that disagree by more than 0.1, are at a bound or undefined.
    """

    log: str
    unit: float
    n_units: int
    headline: Hurst
    table: pd.DataFrame
    longest: Mapping[str, float]
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """Estimate of the headline."""
        return self.headline.estimate

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the headline."""
        return self.headline.interval

    def of(self, treatment: str, method: str = HEADLINE) -> pd.Series:
        """Return the row of a treatment and a method."""
        rows = self.table
        chosen = (rows["treatment"] == treatment) & (rows["method"] == method)
        return rows[chosen].iloc[0]

    @property
    def verdict(self) -> str:
        """Conclusion from the headline's estimator, one of eight words.

        "real": H is above 0.5 with and without the cycle, without the trend, and over the longest
        periods. "hidden": the same, except for the raw series. "cycle" or "trend": H is not above
        0.5 after the removal of the cycle or trend. "short": not over the longest periods. "none":
        not in any series. "drift": the series without cycle is at the upper bound, so arrivals are
        not stationary. "unknown": the cycle cannot be removed.
        """
        low = {treatment: self.of(treatment)["low"] for treatment in TREATMENTS}
        if np.isnan(low["cycle_removed"]):
            return "none" if low["raw"] <= 0.5 else "unknown"
        if low["cycle_removed"] <= 0.5:
            return "cycle" if low["raw"] > 0.5 else "none"
        if not self.longest["low"] > 0.5:  # NaN if these periods have no power
            return "short"
        if low["raw"] <= 0.5:
            return "hidden"
        if low["detrended"] <= 0.5:
            return "trend"
        return "drift" if self.of("cycle_removed")["estimate"] >= BOUNDS[1] else "real"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw all estimates with their intervals."""
        return plot_hurst_estimates(self.table, ax)


@takes_rng
def hurst_of(
    trace: Trace, unit: float = 3600, *, rng: np.random.Generator | int | None = None
) -> LongRangeDependence:
    """Estimate the Hurst parameter of a log's arrivals with several methods and treatments.

    Estimators can mistake daily cycles, trends and heavy bursts for long-range dependence. All
    methods of `hurst` are therefore applied to the arrivals per unit: raw, without daily and weekly
    cycle, without trend, and shuffled, which removes any dependence.

    Parameters
    ----------
    trace : Trace
        All jobs count as arrivals.
    unit : float, default 3600
        Time unit of the counts, from the first to the last submission; whole units only. [s]
    rng : int or Generator, optional
        For the shuffled series.

    Raises
    ------
    ParameterError
        If there are fewer than 256 units or more than 262,144, or all units have the same number of
        jobs.

    Notes
    -----
    The cycle is the mean of each hour of the week (of the day in logs of less than four weeks), in
    local time if the header has a time zone; the trend is a line. Intervals are those of fractional
    Gaussian noise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> trace = Trace.from_columns({"submit": np.cumsum(rng.integers(60, 900, 4000))})
    >>> found = hurst_of(trace, rng=1)
    >>> found.n_units, found.verdict, found.table.shape
    (537, 'none', (36, 8))
    """
    check_trace(trace)
    counts = arrivals_per_unit(trace, unit)
    try:
        headline = estimate_hurst(counts, HEADLINE)
    except ParameterError as error:
        raise ParameterError(f"{trace.name}, in units of {duration(unit)}: {error}") from None
    made = treatments(counts, Clock.of(trace), np.random.default_rng(rng))
    rows = []
    warnings: list[str] = []
    for treatment, series in made.items():
        if isinstance(series, ParameterError):
            warnings.append(upper(f"{TREATMENTS[treatment]}: {series}."))
        rows += [_row(treatment, method, series) for method in METHODS]
    table = pd.DataFrame(rows)
    missing = table[table["estimate"].isna() & (table["why"] != "")]
    for (treatment, why), group in missing.groupby(["treatment", "why"], sort=False):
        if not isinstance(made[str(treatment)], ParameterError):
            warnings.append(upper(f"{TREATMENTS[str(treatment)]}, {_titles(group)}: {why}."))
    table = table.drop(columns="why")
    warnings += find_doubts(table)
    treated = made["cycle_removed"]
    known = not table[table["treatment"] == "cycle_removed"]["estimate"].isna().all()
    longest = _longest_periods(
        counts.to_numpy() if isinstance(treated, ParameterError) or not known else treated, unit
    )
    if longest["estimate"] in BOUNDS:
        warnings.append(
            "Over the longest periods only, the estimate is at a bound: the arrivals are not "
            "stationary, or the log is too short."
        )
    return LongRangeDependence(
        trace.name, float(unit), counts.size, headline, table, longest, tuple(warnings)
    )


def find_doubts(table: pd.DataFrame) -> list[str]:
    """Describe disagreements of estimators, and estimates at a bound, in sentences.

    Examples
    --------
    >>> rows = [("raw", "gph", 0.6, False), ("raw", "dfa", 0.99, True)]
    >>> columns = ["treatment", "method", "estimate", "at_bound"]
    >>> for doubt in find_doubts(pd.DataFrame(rows, columns=columns)):
    ...     print(doubt)
    Raw: the estimators disagree, from 0.60 (GPH) to 0.99 (DFA).
    Raw: at a bound, so not stationary: DFA.
    """
    doubts = []
    for treatment, rows in table.groupby("treatment", sort=False):
        words = upper(TREATMENTS[str(treatment)])
        known = rows.dropna(subset="estimate")
        if known.empty:
            continue
        low, high = (known.loc[i] for i in (known["estimate"].idxmin(), known["estimate"].idxmax()))
        if high["estimate"] - low["estimate"] > AGREEMENT:
            doubts.append(
                f"{words}: the estimators disagree, "
                f"from {coefficient(low['estimate'])} ({METHODS[low['method']].title}) "
                f"to {coefficient(high['estimate'])} ({METHODS[high['method']].title})."
            )
        if known["at_bound"].any():
            doubts.append(
                f"{words}: at a bound, so not stationary: {_titles(known[known['at_bound']])}."
            )
    return doubts


def written(row: Mapping | pd.Series) -> str:
    """Format an estimate with its interval.

    Examples
    --------
    >>> written({"estimate": 0.7, "low": 0.661, "high": 0.74})
    '0.70 [0.66, 0.74]'
    """
    return hurst_in_words(row["estimate"], row["low"], row["high"])


def plot_hurst_estimates(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw estimates with their intervals: a row per method, a colour per treatment.

    Parameters
    ----------
    data : DataFrame
        `LongRangeDependence.table`.
    """
    ax = style.current_axes(ax)
    names = [name for name in METHODS if name in set(data["method"])]
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.MUTED)
    for k, (treatment, colour) in enumerate(zip(TREATMENTS, colours, strict=True)):
        rows = data[data["treatment"] == treatment].set_index("method").reindex(names)
        y = np.arange(len(names)) + (k - 1.5) * 0.18
        ax.hlines(y, rows["low"], rows["high"], color=colour, lw=1.2, alpha=0.7)
        ax.plot(rows["estimate"], y, "o", color=colour, ms=3.2, label=TREATMENTS[treatment])
    ax.axvline(0.5, color=style.MUTED, lw=0.8, ls="--", zorder=1)
    known = data[["estimate", "low", "high"]].to_numpy()
    known = known[np.isfinite(known)]
    ax.set_xlim(min(0.4, known.min(initial=1)) - 0.02, max(1.0, known.max(initial=0)) + 0.02)
    ax.set_yticks(range(len(names)), [METHODS[name].title for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="Hurst parameter H, with 95 % interval", ylabel="estimator")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def _longest_periods(series: NDArray[np.float64], unit: float) -> dict[str, float]:
    bandwidth = int(series.size**0.5)
    try:
        estimate = METHODS[HEADLINE](check_series(series), bandwidth).estimate
    except ParameterError:  # no power at these periods, for example a pure cycle
        estimate = np.nan
    reach = 1.96 / (2 * bandwidth**0.5)  # Robinson (1995), theorem 2
    return {
        "estimate": estimate,
        "low": float(np.maximum(estimate - reach, 0)),
        "high": float(np.minimum(estimate + reach, 1)),
        "period": unit * series.size / bandwidth,
    }


def _row(treatment: str, method: str, series: NDArray[np.float64] | ParameterError) -> dict:
    row = {"treatment": treatment, "method": method, "estimate": np.nan, "low": np.nan}
    row |= {"high": np.nan, "at_bound": False, "low_at_bound": False, "high_at_bound": False}
    row |= {"why": ""}
    if isinstance(series, ParameterError):
        return row
    try:
        found = estimate_hurst(series, method)
    except ParameterError as error:
        return row | {"why": str(error)}
    low, high = found.interval
    low_bound, high_bound = found.interval_at_bound
    return row | {
        "estimate": found.estimate, "low": low, "high": high, "at_bound": found.at_bound,
        "low_at_bound": low_bound, "high_at_bound": high_bound,
    }  # fmt: skip


def _titles(rows: pd.DataFrame) -> str:
    return ", ".join(METHODS[method].title for method in rows["method"])
