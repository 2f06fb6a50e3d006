"""Report section on the goodness of fit of distributions to the times and sizes of a log."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import interval, resample_users
from workloadkit.analysis.distributions.marginals import listed, quantities
from workloadkit.analysis.fits.families import BINS, FAMILIES, STATES, Sample
from workloadkit.analysis.fits.marginal_fit import (
    MarginalFit,
    NoFitError,
    fit_sample,
    largest_distance,
    plot_quantiles,
)
from workloadkit.analysis.formats import count, number, share, with_interval
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import (
    SEED,
    AnalysisResult,
    Columns,
    Figure,
    Section,
    Table,
    shown,
    why_no_users,
)
from workloadkit.distinct import coded
from workloadkit.errors import ParameterError, takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import think_times
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least number of distinct values for a fit.
LEAST_DISTINCT = 10

RESAMPLES = 100  # user resamples for the interval of a distance

#: Fitted quantities in the order of tables: title, and whether it is a time.
QUANTITIES: dict[str, tuple[str, bool]] = {
    "run": ("run time", True),
    "inter_arrival": ("inter-arrival time", True),
    "think_time": ("think time", True),
    "estimate": ("estimate", True),
    "wait": ("wait", True),
    "procs": ("processors", False),
}
_DRAWN = ("run", "inter_arrival", "think_time", "wait")

_TITLE = "Goodness of fit"


@dataclass(frozen=True, eq=False)
class MarginalFits(AnalysisResult):
    """Goodness of fit of distributions to the times and sizes of a log, from `fit_marginals`.

    Parameters
    ----------
    table : DataFrame
        By `quantity`: `n` values, the share of `zeros` among them, `cv` and `heap` of the others;
        `simple`, the best family with at most two parameters, its distance `simple_ks` and the
        interval `simple_low` to `simple_high`; `best`, the best of all families, and `best_ks`.
    marginals : dict of str to MarginalFit
        Fits by quantity.
    left_out : dict of str to str
        Reasons for missing fits, by quantity.
    """

    table: pd.DataFrame
    marginals: dict[str, MarginalFit]
    left_out: dict[str, str]

    @property
    def distances(self) -> pd.DataFrame:
        """Kolmogorov-Smirnov distance by family and quantity; NaN without a fit."""
        columns = {name: fit.table["ks"] for name, fit in self.marginals.items()}
        return pd.DataFrame(columns, index=pd.Index(list(FAMILIES), name="family"))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the distances of the best families."""
        return plot_nearest(self.table, ax)


@takes_rng
def fit_marginals(
    trace: Trace,
    families: Iterable[str] | None = None,
    *,
    rng: np.random.Generator | int | None = None,
) -> MarginalFits:
    """Fit families of distributions to the times and sizes of a log.

    Run times, inter-arrival times, think times (since the end of the user's previous job, without
    negative ones), estimates, waits and processors of the jobs that ran; see `fit_marginal`.

    Parameters
    ----------
    trace : Trace
    families : iterable of str, optional
        Some of `analysis.fits.families.FAMILIES`; by default all.
    rng : Generator or int, optional
        For the intervals: users are drawn with replacement 100 times, the best simple family is
        fitted again to their values (in 500 logarithmic bins), and its distance measured; the
        interval is the middle 95 % of these distances. Resampling adds variation, so intervals lie
        somewhat high.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> log = {"submit": rng.exponential(60, 999).cumsum(), "run": rng.weibull(0.7, 999) * 500}
    >>> fits = fit_marginals(Trace.from_columns({**log, "procs": [4] * 999}), rng=1)
    >>> fits.table.loc["run", "simple"]
    'weibull'
    >>> fits.left_out["procs"]
    'all positive values are equal'
    """
    check_trace(trace)
    rng = np.random.default_rng(rng)
    chosen = None if families is None else list(families)
    marginals, left_out, rows = {}, {}, {}
    for name, values, user in _samples(trace):
        known = np.isfinite(values) & (values >= 0)
        values, user = values[known], user[known]
        sample = Sample.of(values[values > 0])
        if sample.values.size < LEAST_DISTINCT:
            left_out[name] = _too_few(sample.values.size)
            continue
        try:
            fit = marginals[name] = fit_sample(sample, values.size, chosen)
        except NoFitError as reason:
            left_out[name] = str(reason)
            continue
        simple = fit.best_simple
        low, high = _interval(simple, fit, values, user, rng) if simple else (np.nan, np.nan)
        rows[name] = {
            "n": fit.n,
            "zeros": fit.zeros,
            "cv": fit.cv,
            "heap": fit.heap,
            "simple": simple,
            "simple_ks": fit.table.loc[simple, "ks"] if simple else np.nan,
            "simple_low": low,
            "simple_high": high,
            "best": fit.best,
            "best_ks": fit.table.loc[fit.best, "ks"],
        }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=_STATISTICS)
    # dtype object keeps None next to names
    table["simple"] = pd.Series([row["simple"] for row in rows.values()], table.index, object)
    return MarginalFits(table.rename_axis("quantity"), marginals, left_out)


def plot_nearest(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distances of the best families, from `MarginalFits.table`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"best_ks": 0.02, "simple_ks": 0.05, "simple_low": 0.04, "simple_high": 0.07}
    >>> data = pd.DataFrame([row | {"simple": "weibull"}], index=["run"])
    >>> ax = plot_nearest(data, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.get_yticks())
    ('Kolmogorov-Smirnov distance', 1)
    """
    ax = style.current_axes(ax)
    place = np.arange(len(data))[::-1]
    marks: dict[str, Any] = {"markersize": 5, "linestyle": "none"}
    best, few = "best of all families", "best with ≤ 2 parameters"
    ax.plot(data["best_ks"], place, "s", color=style.ORANGE, label=best, **marks)
    ax.hlines(place, data["simple_low"], data["simple_high"], color=style.PALE, linewidth=4)
    ax.plot(data["simple_ks"], place, "o", color=style.BLUE, label=few, **marks)
    names = [f"{_title_of(name)}\n{_name_of(row['simple'])}" for name, row in data.iterrows()]
    ax.set_yticks(place, names, fontsize=9)
    ax.set_ylim(-0.6, len(data) - 0.4)
    ax.set_xlim(left=0)
    style.share_axis(ax.xaxis)
    ax.set(xlabel="Kolmogorov-Smirnov distance", ylabel="quantity, best simple family")
    style.legend_above(ax)
    return ax


def section(trace: Trace) -> Section:
    """Report the goodness of fit of distributions to the times and sizes of a log."""
    if not trace.ran.any():
        note = "No job of this log ran; there are no values to fit."
        return Section("fits", _TITLE, notes=(note,))
    found = fit_marginals(trace, rng=SEED)
    notes = [f"No fit of {_plural_of(name)}: {reason}." for name, reason in found.left_out.items()]
    if not found.marginals:
        return Section("fits", _TITLE, notes=tuple(notes))
    intro = (
        "Distributions are fitted to the positive values; zeros are counted separately. Families "
        "at location 0 are fitted by maximum likelihood, hyper-exponential and hyper-Erlang "
        f"distributions by moments and by EM (on {BINS} logarithmic bins). The distance is the "
        "largest difference between the cumulative distributions (Kolmogorov-Smirnov); it is at "
        "least half of the share of the most frequent value."
    )
    if "think_time" in found.marginals and not waits_known(trace):
        notes.append(
            "No wait time is known; think times assume that jobs end their run time after "
            "submission, and are only approximate."
        )
    if reason := why_no_users(trace):
        notes.append(f"{reason}; intervals need users.")
    return Section(
        "fits",
        _TITLE,
        _finding(found.table),
        (intro, *notes),
        {name: fit.to_dict() for name, fit in found.marginals.items()},
        _tables(found),
        _figures(found),
        {"erlang_phases": STATES, "fit_resamples": RESAMPLES, "seed": SEED},
    )


def _samples(trace: Trace) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.int64]]]:
    """Yield each quantity with its values and their users."""
    user = trace.column("user")[trace.ran]
    for name in QUANTITIES:
        if name == "inter_arrival":
            yield name, np.diff(trace.column("submit")[trace.ran]), user[1:]
        elif name == "think_time":
            yield name, *_thought(trace, known=user != UNKNOWN)
        else:
            yield name, quantities(trace)[name], user


def _thought(
    trace: Trace, *, known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return think times and their users; `known` users of the jobs that ran."""
    if not known.all():
        trace = trace.select(trace.column("user") != UNKNOWN)
    found = think_times(trace)["think_time"]
    return found.to_numpy(), trace.column("user")[found.index.to_numpy()]


def _too_few(distinct: int) -> str:
    if distinct == 0:
        return "no positive value is known"
    return "all positive values are equal" if distinct == 1 else f"only {distinct} distinct values"


def _interval(
    family: str,
    fit: MarginalFit,
    values: NDArray[np.float64],
    user: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the interval of a family's distance over resampled users."""
    chosen = (values > 0) & (user != UNKNOWN)
    users, who = coded(user[chosen])
    if users.size < 2:
        return np.nan, np.nan
    bins = fit.sample.binned()
    edges = np.sqrt(bins.values[1:] * bins.values[:-1])
    numbers, code = coded(values[chosen])
    cell = who * bins.values.size + np.searchsorted(edges, numbers, side="right")[code]
    counts = np.bincount(cell, minlength=users.size * bins.values.size).astype(np.float64)
    counts = counts.reshape(users.size, bins.values.size)
    found = []
    for resampled in resample_users(users.size, RESAMPLES, rng=rng) @ counts:
        seen = resampled > 0
        sample = Sample(bins.values[seen], resampled[seen])
        try:
            cdf = FAMILIES[family].fit(sample)[0].cdf(sample.values)
            found.append(largest_distance(sample, cdf))
        except ParameterError:  # all values of these users are equal
            found.append(np.nan)
    low, high = interval(found).tolist()
    return low, high


def _tables(found: MarginalFits) -> tuple[Table, ...]:
    titles = [_title_of(name) for name in found.table.index]
    rows = found.table.to_dict("records")
    text = shown(found.table, _COLUMNS)
    text["best, ≤ 2 parameters"] = [_nearest(r["simple"], _distance(r)) for r in rows]
    text["best of all"] = [_nearest(r["best"], share(r["best_ks"])) for r in rows]
    text.index = titles
    summary = Table(
        "nearest",
        "Best fit of each quantity by the Cramér-von Mises distance, with its Kolmogorov-Smirnov "
        f"distance (brackets: 95 % of {RESAMPLES} resamples of the users), the coefficient of "
        "variation and the share of the most frequent value.",
        found.table,
        text,
    )
    ks = found.distances
    cells = ks.map(share)
    cells.index = [_name_of(family) for family in ks.index]
    cells.columns = pd.Index(titles)
    far = Table(
        "distances",
        "Kolmogorov-Smirnov distance of each family; empty if no distribution of the family has "
        "the moments of the values.",
        ks,
        cells,
    )
    shows = ["parameters", "cramer_von_mises", "anderson_darling", "aic"]
    best = {name: fit.table.loc[fit.nearest, shows] for name, fit in found.marginals.items()}
    parts = pd.concat(best, names=["quantity"]).reset_index()
    columns: Columns = {
        "quantity": ("quantity", _title_of),
        "family": ("family", _name_of),
        "parameters": ("parameters", _written),
        "cramer_von_mises": ("Cramér–von Mises", _per_value),
        "anderson_darling": ("Anderson–Darling", _per_value),
        "aic": ("AIC", count),
    }
    parameters = Table(
        "parameters",
        "Parameters of the best fits (times in seconds, rates per second); Cramér-von Mises and "
        "Anderson-Darling distances are per value.",
        parts,
        shown(parts, columns).set_index("quantity").rename_axis(None),
        words=True,
        folded=True,
    )
    return summary, far, parameters


def _figures(found: MarginalFits) -> tuple[Figure, ...]:
    nearest = Figure(
        "distances",
        "Goodness of fit",
        "Kolmogorov-Smirnov distance of the best family with at most two parameters, with the 95 % "
        f"interval over {RESAMPLES} resamples of the users, and of the best of all families. "
        "Families are ranked by the Cramér-von Mises distance, so the order may differ.",
        found.table,
        plot_nearest,
    )
    return (
        nearest,
        *(
            Figure(
                name,
                f"Fitted distributions: {_plural_of(name)}",
                "Quantiles of the fitted distributions against the quantiles of the "
                f"{_plural_of(name)} in the log, on logarithmic axes. A perfect fit follows the "
                "dashed line; a tail is too light below it and too heavy above it.",
                found.marginals[name].quantiles(),
                partial(plot_quantiles, times=QUANTITIES[name][1]),
            )
            for name in _DRAWN
            if name in found.marginals
        ),
    )


def _finding(table: pd.DataFrame) -> str:
    parts: list[str] = []
    for name in ("run", "inter_arrival", "think_time"):
        if name not in table.index or table.loc[name, "simple"] is None:
            continue
        row = table.loc[name].to_dict()
        are, by = ("", "") if parts else (" are best fitted", "Kolmogorov-Smirnov distance ")
        fit = f"{_name_of(row['simple'])} ({by}{_distance(row)})"
        parts.append(f"{_plural_of(name)}{are} by {fit}")
    if not parts:
        return ""
    return f"Among distributions with at most two parameters, {listed(parts)}."


def _distance(row: Mapping[str, Any]) -> str:
    return with_interval(row["simple_ks"], row["simple_low"], row["simple_high"])


def _nearest(family: str | None, distance: str) -> str:
    return "–" if family is None else f"{_name_of(family)}, {distance}"


def _title_of(quantity: str) -> str:
    return QUANTITIES[quantity][0]


def _plural_of(quantity: str) -> str:
    title = QUANTITIES[quantity][0]
    return title if title.endswith("s") else f"{title}s"


def _name_of(family: Any) -> str:
    if family is None:
        return "–"
    chosen = FAMILIES[family]
    return chosen.title + ("" if chosen.method == "ML" else f" ({chosen.method})")


def _per_value(distance: float) -> str:
    return number(distance) if np.isinf(distance) else f"{distance:.2g}"


def _written(parameters: Mapping[str, Any]) -> str:
    """Write parameters in one line."""

    def cell(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(cell(x) for x in value)
        return f"{value:.4g}"

    return ", ".join(f"{name} {cell(value)}" for name, value in parameters.items())


_STATISTICS = (
    *("n", "zeros", "cv", "heap"),
    *("simple", "simple_ks", "simple_low", "simple_high", "best", "best_ks"),
)
_COLUMNS: Columns = {
    "n": ("values", count),
    "zeros": ("zeros", share),
    "cv": ("coefficient of variation", number),
    "heap": ("share of most frequent value", share),
}
