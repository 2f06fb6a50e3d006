"""Whether the arrivals of a log have long memory: the section of the report."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis import style
from analysis.formats import coefficient, count, duration
from analysis.memory.arrivals import arrivals_per_unit, treatments
from analysis.memory.estimators.methods import METHODS, SHORTEST, check_series
from analysis.memory.estimators.spectral import periodogram
from analysis.memory.hurst_parameter import hurst, logarithmic_axes, plot_slopes, visible
from analysis.memory.of_log import (
    AGREEMENT,
    HEADLINE,
    TREATMENTS,
    LongMemory,
    hurst_of,
    plot_hurst_estimates,
    written,
)
from analysis.section import SEED, Figure, Section, Table
from workloadkit.clock import Clock
from workloadkit.errors import ParameterError
from workloadkit.trace import Trace

_NAME, _TITLE = "long_memory", "Long memory"

#: Over what arrivals are counted: the first unit of which the log has enough. [s]
_UNITS = (3600, 600, 60)

_BINS_PER_DECADE = 60  # of a periodogram that is drawn
_DRAWN = ("raw", "cycle_removed")
_COLOURS = {"raw": style.BLUE, "cycle_removed": style.ORANGE}


def section(trace: Trace) -> Section:
    """Report how long the memory of the arrivals is."""
    trace = trace.within_window()
    submit = trace.column("submit")
    span = float(np.ptp(submit))
    unit = next((unit for unit in _UNITS if span >= SHORTEST * unit), None)
    if unit is None:
        note = (
            f"The submissions span {duration(span)}; long memory shows in {SHORTEST} minutes or "
            "more, better in months."
        )
        return Section(_NAME, _TITLE, notes=(note,))
    try:
        found = hurst_of(trace, unit, rng=SEED)
    except ParameterError as error:
        return Section(_NAME, _TITLE, notes=(f"No long memory to be found: {error}.",))
    parameters = {"long_memory_unit": float(unit), "seed": SEED}
    if trace.n_jobs < SHORTEST:  # most units are empty, and any estimate is that of a few jobs
        note = f"Jobs: {count(trace.n_jobs)}; to tell of long memory takes {SHORTEST} or more."
        return Section(_NAME, _TITLE, notes=(note,), parameters=parameters)
    raw, treated = found.of("raw"), found.of("cycle_removed")
    values = {
        "unit": found.unit,
        "n_units": found.n_units,
        "hurst": raw["estimate"],
        "hurst_low": raw["low"],
        "hurst_high": raw["high"],
        "hurst_cycle_removed": treated["estimate"],
        "hurst_detrended": found.of("detrended")["estimate"],
        "hurst_shuffled": found.of("shuffled")["estimate"],
        "longest_periods": found.longest,
        "verdict": found.verdict,
        "warnings": list(found.warnings),
    }
    notes = [
        f"Arrivals are counted per {_per(unit)}, {count(found.n_units)} times from the first "
        "submission on. The headline is the local Whittle estimate; H = 0.5 is no memory, and the "
        "nearer H is to 1 the less do fluctuations average out.",
        "Without cycle means less the mean of each hour of the week (of the day, in logs of less "
        "than four weeks), without trend less a straight line; over the longest periods, the "
        "series without cycle is taken. A daily cycle can raise an estimate or lower it.",
        "Intervals are those of fractional Gaussian noise and allow for the estimators' "
        "known errors, so they need not be centred at the estimate.",
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


def finding(found: LongMemory) -> str:
    """Say in a sentence or two whether there is long memory.

    Parameters
    ----------
    found : LongMemory
    """
    opening = {
        "real": "Long memory is real",
        "hidden": "There is long memory beneath the daily cycle",
        "cycle": "What looks like long memory is the daily and weekly cycle",
        "trend": "What looks like long memory is a trend",
        "short": "There is memory, but it does not last",
        "none": "No long memory is seen",
        "drift": "The arrivals drift too much to speak of a Hurst parameter",
        "unknown": "There may be long memory, or only a daily cycle",
    }[found.verdict]
    rows = {treatment: found.of(treatment) for treatment in TREATMENTS}
    hourly = found.unit == 3600
    counted = "hourly arrivals" if hourly else f"the arrivals per {_per(found.unit)}"
    said = [f"{written(rows['raw'])} for {counted}"]
    for treatment, words in (
        ("cycle_removed", "with the daily and weekly cycle removed"),
        ("detrended", "without the trend"),
        ("shuffled", "shuffled"),
    ):
        row = rows[treatment]
        if not np.isnan(row["estimate"]):
            number = written(row) if treatment == "cycle_removed" else coefficient(row["estimate"])
            said.append(f"{number} {words}")
    sentence = (
        f"{opening}: H = {', '.join(said)}. Over periods of more than "
        f"{duration(found.longest['period'])} alone it is {written(found.longest)}."
    )
    for treatment, words in (("cycle_removed", "without the cycle"), ("raw", "as they are")):
        known = found.table[found.table["treatment"] == treatment]["estimate"].dropna()
        if known.size:
            if np.ptp(known) > AGREEMENT:
                sentence += (
                    f" The estimators disagree: {words}, from {coefficient(known.min())} to "
                    f"{coefficient(known.max())}."
                )
            break
    return sentence


def plot_fits(
    data: pd.DataFrame,
    ax: Axes | None = None,
    *,
    scale: str,
    value: str,
    slopes: bool = False,
    joined: bool = False,
) -> Axes:
    """Draw the points of an estimator and the lines through them, for several series.

    Parameters
    ----------
    data : DataFrame
        By `series`: `scale` [s], `value`, `line` (NaN where the line does not reach).
    ax : Axes, optional
        Default: the current Axes.
    scale, value : str
        Labels of the axes.
    slopes : bool, default False
        Whether to draw slopes 1/2 and 1 to compare with.
    joined : bool, default False
        Whether the points are joined.
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
        label = f"{TREATMENTS[str(treatment)]}, H = {coefficient(H)}"
        ax.plot(line["scale"], line["line"], color=colour, lw=2, label=label, zorder=3)
    if slopes:
        plot_slopes(data[data["series"] == data["series"].iloc[0]], ax)
    logarithmic_axes(ax, times=True)
    ax.set_xlabel(scale)
    ax.set_ylabel(value)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def _figures(trace: Trace, found: LongMemory) -> list[Figure]:
    counts = arrivals_per_unit(trace, found.unit)
    made = treatments(counts, Clock.of(trace), np.random.default_rng(SEED))
    series: dict[str, np.ndarray] = {}
    for name in _DRAWN:
        values = made[name]
        if not isinstance(values, ParameterError) and not np.isnan(found.of(name)["estimate"]):
            series[name] = values
    estimates = Figure(
        "estimates",
        "Nine estimators, four series",
        "Estimates of the Hurst parameter with 95 % intervals: of the arrivals as they are, "
        "without their daily and weekly cycle, without their trend, and shuffled, which leaves no "
        "memory (H = 0.5, dashed). The intervals allow for the known bias of R/S, aggregated "
        "variance and absolute moments, the points do not.",
        found.table,
        plot_hurst_estimates,
    )
    figures = [estimates]
    for method, name, title, caption, axes in (
        (
            "rs", "pox", "Pox plot",
            "Range of the summed deviations over the standard deviation, R/S, in windows of many "
            "sizes, ten of each. The slope of the line is H.",
            {"scale": "window size", "value": "R/S", "slopes": True},
        ),
        (
            HEADLINE, "spectrum", "Spectrum",
            "Periodogram of the arrivals, averaged in narrow bands, by period; lines: the power "
            "law by local Whittle, over the periods from which it is fitted. With long memory it "
            "rises with the period; a daily cycle is a peak at 1 d. Both series have variance 1.",
            {"scale": "period", "value": "power", "joined": True},
        ),
        (
            "wavelet", "octaves", "Logscale diagram",
            "Energy of the wavelet coefficients at each scale, and the line through them "
            "(Abry and Veitch). No memory is a level line.",
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
    fit = hurst(series, method)
    points = fit.points
    if METHODS[method].scale == "frequency":
        points = _averaged(series, points)
        points = points.assign(scale=2 * np.pi / points["scale"])
    points = points.assign(scale=points["scale"] * unit)
    return points.assign(series=treatment, estimate=fit.estimate)


def _averaged(series: np.ndarray, points: pd.DataFrame) -> pd.DataFrame:
    """Average the whole periodogram in bands of equal width on a logarithmic axis."""
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
