"""Report section on long-range dependence of the arrivals."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import coefficient, count, duration
from workloadkit.analysis.memory.arrivals import arrivals_per_unit, treatments
from workloadkit.analysis.memory.estimators.methods import (
    METHODS,
    SHORTEST,
    check_series,
    periodogram,
)
from workloadkit.analysis.memory.hurst_parameter import (
    equation,
    estimate_hurst,
    hurst_in_words,
    logarithmic_axes,
    plot_slopes,
    visible,
)
from workloadkit.analysis.memory.of_log import (
    AGREEMENT,
    HEADLINE,
    TREATMENTS,
    LongRangeDependence,
    hurst_of,
    plot_hurst_estimates,
    written,
)
from workloadkit.analysis.section import SEED, Figure, Section, Table
from workloadkit.clock import WEEK, Clock
from workloadkit.errors import ParameterError, plural
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _TITLE = "long_memory", "Long-range dependence"

#: Time unit of the counts. [s]
_UNIT = 3600

#: In a shorter log, the weekly cycle and long-range dependence look alike. [weeks]
FEWEST_WEEKS = 4

_BINS_PER_DECADE = 60  # of a drawn periodogram
_DRAWN = ("raw", "cycle_removed")
_COLOURS = {"raw": style.BLUE, "cycle_removed": style.ORANGE}


def section(trace: Trace) -> Section:
    """Report the long-range dependence of the arrivals."""
    trace = trace.within_window()
    submit = trace.column("submit")
    span = float(np.ptp(submit))
    if span < FEWEST_WEEKS * WEEK:
        note = (
            f"The submissions span {duration(span)}. With fewer than {FEWEST_WEEKS} weeks, "
            "long-range dependence cannot be distinguished from the daily and weekly cycle, so it "
            "is not estimated."
        )
        return Section(_NAME, _TITLE, notes=(note,), gaps=(note,))
    try:
        found = hurst_of(trace, _UNIT, rng=SEED)
    except ParameterError as error:
        return Section(_NAME, _TITLE, notes=(f"{_TITLE} cannot be estimated: {error}.",))
    parameters = {"long_memory_unit": float(_UNIT), "seed": SEED}
    if trace.n_jobs < SHORTEST:  # most units are empty; estimates would depend on a few jobs
        few = plural(trace.n_jobs, "job is", "jobs are")
        note = f"{few} too few: {SHORTEST} or more are required."
        return Section(_NAME, _TITLE, notes=(note,), parameters=parameters)
    raw, treated = found.of("raw"), found.of("cycle_removed")
    values = {
        "unit": found.unit,
        "n_units": found.n_units,
        "hurst": raw["estimate"],
        "hurst_low": raw["low"],
        "hurst_high": raw["high"],
        "hurst_at_bound": bool(raw["at_bound"]),
        "hurst_interval_at_bound": [bool(raw["low_at_bound"]), bool(raw["high_at_bound"])],
        "hurst_cycle_removed": treated["estimate"],
        "hurst_detrended": found.of("detrended")["estimate"],
        "hurst_shuffled": found.of("shuffled")["estimate"],
        "longest_periods": found.longest,
        "verdict": found.verdict,
        "warnings": list(found.warnings),
    }
    notes = [
        f"Arrivals are counted per {_per(_UNIT)} ({count(found.n_units)} values from the first "
        "submission on). The main result is the local Whittle estimate. H = 0.5 means none; "
        "the closer H is to 1, the less fluctuations average out.",
        "Cycle removed: minus the mean of each hour of the week (of the day, in logs of less than "
        "four weeks). Detrended: minus a straight line. The estimate over the longest periods uses "
        "the series without cycle. A daily cycle can raise or lower an estimate.",
        "Intervals are those of fractional Gaussian noise and account for the known errors of the "
        "estimators, so they need not be centred at the estimate.",
        *found.warnings,
    ]
    return Section(
        _NAME,
        _TITLE,
        finding(found),
        tuple(notes),
        values,
        (_table(found.table),),
        tuple(_figures(trace, found)),
        parameters,
    )


def finding(found: LongRangeDependence) -> str:
    """Summarize in one or two sentences whether there is long-range dependence."""
    opening = {
        "real": "The arrivals are long-range dependent",
        "hidden": "The arrivals are long-range dependent, which the daily cycle hides",
        "cycle": "Apparent long-range dependence is due to the daily and weekly cycle",
        "trend": "Apparent long-range dependence is due to a trend",
        "short": "The arrivals depend on recent ones, but are not long-range dependent",
        "none": "No long-range dependence",
        "drift": "The arrivals are not stationary, so the Hurst parameter is not meaningful",
        "unknown": "Long-range dependence cannot be distinguished from a daily cycle",
    }[found.verdict]
    rows = {treatment: found.of(treatment) for treatment in TREATMENTS}
    hourly = found.unit == 3600
    counted = "hourly arrivals" if hourly else f"the arrivals per {_per(found.unit)}"
    estimates = [f"{written(rows['raw'])} for {counted}"]
    for treatment, words in (
        ("cycle_removed", "with the daily and weekly cycle removed"),
        ("detrended", "without the trend"),
        ("shuffled", "shuffled"),
    ):
        row = rows[treatment]
        if not np.isnan(row["estimate"]):
            number = (
                written(row) if treatment == "cycle_removed" else hurst_in_words(row["estimate"])
            )
            estimates.append(f"{number} {words}")
    sentence = (
        f"{opening}: {equation(', '.join(estimates))}. Over periods of more than "
        f"{duration(found.longest['period'])} only, it is {written(found.longest)}."
    )
    for treatment, words in (("cycle_removed", "without cycle"), ("raw", "for the raw arrivals")):
        known = found.table[found.table["treatment"] == treatment]["estimate"].dropna()
        if known.size:
            if np.ptp(known) > AGREEMENT:
                sentence += (
                    f" The estimators disagree: {words}, they range from "
                    f"{coefficient(known.min())} to {coefficient(known.max())}."
                )
            break
    return sentence


def plot_fits(
    data: pd.DataFrame,
    ax: "Axes | None" = None,
    *,
    scale: str,
    value: str,
    slopes: bool = False,
    joined: bool = False,
) -> "Axes":
    """Draw the points of an estimator and the fitted lines, for several series.

    Parameters
    ----------
    data : DataFrame
        By `series`: `scale` [s], `value`, `line` (NaN outside the range of the fit).
    scale, value : str
        Labels of the axes.
    slopes : bool, default False
        Whether to draw reference lines with slopes 1/2 and 1.
    joined : bool, default False
        Whether to connect the points.
    """
    ax = style.current_axes(ax)
    data = visible(data)
    for treatment, points in data.groupby("series", sort=False):
        colour = _COLOURS[str(treatment)]
        look = {"lw": 0.8, "ms": 2} if joined else {"lw": 0, "ms": 2.5 if len(points) > 99 else 6}
        ax.plot(
            points["scale"], points["value"], marker="o", mew=0, color=colour, alpha=0.6, **look
        )
        line = points.dropna(subset="line").sort_values("scale")
        H = points["estimate"].iloc[0]
        label = f"{TREATMENTS[str(treatment)]}, {equation(hurst_in_words(H))}"
        ax.plot(line["scale"], line["line"], color=colour, lw=2, label=label, zorder=3)
    if slopes:
        plot_slopes(data[data["series"] == data["series"].iloc[0]], ax)
    logarithmic_axes(ax, times=True)
    ax.set(xlabel=scale, ylabel=value)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def _figures(trace: Trace, found: LongRangeDependence) -> list[Figure]:
    counts = arrivals_per_unit(trace, found.unit)
    made = treatments(counts, Clock.of(trace), np.random.default_rng(SEED))
    series: dict[str, np.ndarray] = {}
    for name in _DRAWN:
        values = made[name]
        if not isinstance(values, ParameterError) and not np.isnan(found.of(name)["estimate"]):
            series[name] = values
    estimates = Figure(
        "estimates",
        "Hurst parameter by estimator",
        "Estimates of the Hurst parameter with 95 % intervals: of the raw arrivals, without daily "
        "and weekly cycle, without trend, and shuffled, which removes any memory (H = 0.5, "
        "dashed). The intervals account for the known bias of R/S, aggregated variance and "
        "absolute moments; the points do not.",
        found.table,
        plot_hurst_estimates,
    )
    figures = [estimates]
    for method, name, title, caption, axes in (
        (
            "rs", "pox", "Pox plot",
            "Rescaled range R/S (range of the cumulative deviations over standard deviation) in "
            "windows of many sizes, ten of each. The slope of the line is H.",
            {"scale": "window size", "value": "R/S", "slopes": True},
        ),
        (
            HEADLINE, "spectrum", "Spectrum",
            "Periodogram of the arrivals by period, averaged in narrow bands, and the power law "
            "fitted by local Whittle over its range of periods. With long-range dependence, "
            "power rises with the period; a daily cycle is a peak at 1 d. Both series have "
            "variance 1.",
            {"scale": "period", "value": "power", "joined": True},
        ),
        (
            "wavelet", "octaves", "Logscale diagram",
            "Energy of the wavelet coefficients at each scale, and the fitted line (Abry and "
            "Veitch). A horizontal line means no memory.",
            {"scale": "scale", "value": "energy"},
        ),
    ):  # fmt: skip
        tables = [
            _points(name, values, method, found.unit)
            for name, values in series.items()
            if not np.isnan(found.of(name, method)["estimate"])
        ]
        if tables:
            data = pd.concat(tables, ignore_index=True)
            figures.append(Figure(name, title, caption, data, partial(plot_fits, **axes)))
    return figures


def _points(treatment: str, series: np.ndarray, method: str, unit: float) -> pd.DataFrame:
    fit = estimate_hurst(series, method)
    points = fit.points
    if METHODS[method].scale == "frequency":
        points = _averaged(series, points)
        points = points.assign(scale=2 * np.pi / points["scale"])
    points = points.assign(scale=points["scale"] * unit)
    return points.assign(series=treatment, estimate=fit.estimate)


def _averaged(series: np.ndarray, points: pd.DataFrame) -> pd.DataFrame:
    """Average the periodogram in bands of equal width on a logarithmic axis."""
    frequency, power = periodogram(check_series(series))
    band = np.floor(np.log10(frequency) * _BINS_PER_DECADE).astype(np.int64)
    table = pd.DataFrame({"scale": frequency, "value": power, "line": np.nan})
    table.loc[: len(points) - 1, "line"] = points["line"].to_numpy()
    return table.groupby(band).mean().reset_index(drop=True)


def _table(table: pd.DataFrame) -> Table:
    wide: dict[str, pd.Series] = {}
    text: dict[str, pd.Series] = {}
    for treatment, words in TREATMENTS.items():
        rows = table[table["treatment"] == treatment].set_index("method")
        wide |= {f"{treatment}_{name}": rows[name] for name in ("estimate", "low", "high")}
        text[words] = rows.apply(written, axis=1)
    data, cells = pd.DataFrame(wide), pd.DataFrame(text)
    cells.index = pd.Index([METHODS[name].title for name in cells.index])
    caption = "Hurst parameter with 95 % interval, by estimator and series."
    return Table("estimates", caption, data, cells)


def _per(unit: float) -> str:
    return {3600: "hour", 600: "10 minutes", 60: "minute"}.get(int(unit), duration(unit))
