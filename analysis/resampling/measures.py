"""Measures of resampled logs against their original, and of units smaller than a user."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit.analysis import formats, style
from workloadkit.analysis.load.over_time import summarize_load
from workloadkit.analysis.locality.days import concentrations
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, attribute_values, ratios, user_jobs
from workloadkit.analysis.locality.stack import mean_depths
from workloadkit.analysis.logs.distributions import DISTRIBUTIONS
from workloadkit.analysis.memory.arrivals import arrivals_per_unit
from workloadkit.analysis.memory.hurst_parameter import Hurst, estimate_hurst
from workloadkit.analysis.reproduction import read_table
from workloadkit.analysis.reproduction.runs import ZAKAY_LOGS
from workloadkit.analysis.section import AnalysisResult
from workloadkit.clock import WEEK
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, check_choice, check_count
from workloadkit.fields import UNKNOWN
from workloadkit.provenance import seed_of
from workloadkit.resample.runs import prepare
from workloadkit.settings.resampling import Moved
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Time unit of the arrival counts for the Hurst parameter. [s]
UNIT = 3600

#: Estimators of the Hurst parameter: the source's, and a more robust one.
ESTIMATORS = {"rs": "R/S", "local_whittle": "local Whittle"}


class LogMeasure(NamedTuple):
    """A measure of a log: its title, and its formatter."""

    title: str
    written: Callable[[float], str]


#: Measures in the order of the page.
MEASURES: Mapping[str, LogMeasure] = {
    "jobs": LogMeasure("jobs", formats.count),
    "users": LogMeasure("users", formats.count),
    "jobs_per_week": LogMeasure("jobs per week", formats.number),
    "offered_load": LogMeasure("offered load", "{:.3f}".format),
    **{
        f"stack_depth_{name}": LogMeasure(f"stack depth, {title}", "{:.2f}".format)
        for name, title in ATTRIBUTES.items()
    },
    **{
        f"concentration_{name}": LogMeasure(
            f"share of a day's fullest bin, {title}", "{:.3f}".format
        )
        for name, title in ATTRIBUTES.items()
    },
    **{
        f"hurst_{name}": LogMeasure(f"H by {title}", "{:.3f}".format)
        for name, title in ESTIMATORS.items()
    },
}


#: Distributions in Figure 4 of the source, by user and by hour of the week.
FIGURE_4 = tuple(name for name, of in DISTRIBUTIONS.items() if of.over in ("users", "week"))

#: Distributions in Figure 5 of the source.
FIGURE_5 = tuple(name for name in DISTRIBUTIONS if name.startswith("concentration_of_"))


def comparable(trace: Trace) -> Trace:
    """Return the jobs of a log that can be resampled: jobs of known users that ran."""
    keep = trace.ran & (trace.column("user") != UNKNOWN)
    return trace if keep.all() else trace.select(keep)


def measure_log(trace: Trace) -> dict[str, float]:
    """Compute the `MEASURES` of a log.

    Returns
    -------
    dict of str to float
        Measures by name; NaN if unknown.

    Examples
    --------
    >>> log = {"submit": [0, 604800], "run": [60, 61], "procs": [1, 1], "user": [1, 1]}
    >>> found = measure_log(Trace.from_columns(log))
    >>> found["jobs_per_week"], found["stack_depth_run"], found["hurst_rs"]
    (2.0, 0.0, nan)
    """
    load = summarize_load(trace)
    user = trace.column("user")
    found: dict[str, float] = {
        "jobs": trace.n_jobs,
        "users": distinct(user[user != UNKNOWN]).size,
        "jobs_per_week": trace.n_jobs / (load["submit_span"] / WEEK or np.nan),
        "offered_load": np.nan if load["offered_load"] is None else load["offered_load"],
    }
    found |= {f"stack_depth_{name}": depth for name, depth in mean_depths(trace).items()}
    for name in ATTRIBUTES:
        known = (attribute_values(trace, name) >= 0).any()
        mean = concentrations(trace, name).mean() if known else np.nan
        found[f"concentration_{name}"] = float(mean)
    for method in ESTIMATORS:
        estimate = hurst_or_none(trace, method)
        found[f"hurst_{method}"] = np.nan if estimate is None else estimate.estimate
    return {name: float(found[name]) for name in MEASURES}


def hurst_or_none(trace: Trace, method: str) -> Hurst | None:
    """Estimate the Hurst parameter of the hourly arrivals; None if that is impossible."""
    try:
        return estimate_hurst(arrivals_per_unit(trace, UNIT), method)
    except ParameterError:  # too few hours, or the same number of jobs in all of them
        return None


def pox_line(trace: Trace) -> pd.Series | None:
    """Return the line of the R/S pox plot, R/S by window size [s]; None if it is undefined."""
    estimate = hurst_or_none(trace, "rs")
    if estimate is None:
        return None
    points = estimate.points.dropna(subset="line").drop_duplicates("scale").sort_values("scale")
    return pd.Series(points["line"].to_numpy(), points["scale"].to_numpy() * UNIT)


def published(name: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the published measures of a log and its eight resampled logs.

    Parameters
    ----------
    name : str
        Name of the log, for example its file name.

    Returns
    -------
    version : str
        Version of the log in the source; empty for other logs.
    figures : dict of str to dict
        By measure: `published_original`, `published` (the mean of the resampled logs) and
        `published_sd`, from N. Zakay, D. G. Feitelson, "Workload resampling for performance
        evaluation of parallel job schedulers", 2014, Tables VI and VII.

    Examples
    --------
    >>> published("KTH-SP2-1996-2.swf.gz")[1]["hurst_rs"]
    {'published_original': 0.666, 'published': 0.648, 'published_sd': 0.04}
    """
    log = next((log for log in ZAKAY_LOGS if name.startswith(f"{log}-")), None)
    if log is None:
        return "", {}
    folder = Path(__file__).parents[1] / "studies"
    found = {}
    for row in read_table(folder / "zakay_locality_depth.csv"):
        if row["log"] == log:
            for attribute in ATTRIBUTES:
                found[f"stack_depth_{attribute}"] = _figures(row, f"{attribute}_")
    for row in read_table(folder / "zakay_hurst.csv"):
        if row["log"] == log:
            found["hurst_rs"] = _figures(row | {"sd": row["resampled_sd"]}, "")
    return ZAKAY_LOGS[log], found


def _figures(row: Mapping[str, Any], prefix: str) -> dict[str, float]:
    names = {
        "published_original": "original",
        "published": "resampled",
        "published_sd": "sd",
    }
    return {name: float(row[f"{prefix}{column}"]) for name, column in names.items()}


# Comparison of resampling units: locality lost by units smaller than a user.

UNITS = ("user", "session", "batch", "job")

#: Similarities of a user's jobs within a session (0) and between successive sessions (1).
SIMILARITIES = {
    f"similarity_{distance}_{name}": f"similarity {where}, {title}"
    for distance, where in ((0, "within sessions"), (1, "to the next session"))
    for name, title in ATTRIBUTES.items()
}

_LOCAL = ("stack_depth", "concentration", "hurst")


@dataclass(frozen=True, eq=False)
class UnitComparison(AnalysisResult):
    """Measures of a log, and of logs resampled from it in different units.

    Parameters
    ----------
    log : str
    count : int
        Number of resampled logs per unit.
    seed : int
    how : mapping of str to object
        Further parameters of `workloadkit.resample`.
    table : DataFrame
        By `measure`: the value in the `original`, and `_mean` and `_sd` over the resampled logs of
        each unit, such as "session_mean". Measures are the stack depths and daily concentrations,
        the Hurst parameters, and the similarity of a user's jobs within a session
        ("similarity_0_run") and in successive sessions ("similarity_1_run"): the mean over users of
        the mean ratio of the smaller to the larger value.
    """

    log: str
    count: int
    seed: int
    how: Mapping[str, Any]
    table: pd.DataFrame

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the measures by unit, relative to the original, with standard deviations."""
        return plot_units(self.table, ax)


def compare_units(
    trace: Trace,
    count: int = 8,
    rng: np.random.Generator | int | None = None,
    *,
    units: Iterable[str] = UNITS,
    **how: Any,
) -> UnitComparison:
    """Measure how much locality and memory of a log resampling keeps, by resampling unit.

    For the units session, batch and job, the same users are drawn, and their sessions, batches or
    jobs are moved individually by whole weeks. This measures directly what the source concludes
    from similarities of sessions: that resampling by sessions loses information [1]_.

    Parameters
    ----------
    trace : Trace
    count : int, default 8
        Number of resampled logs per unit, at least 1.
    rng : Generator or int, optional
    units : iterable of str
        Some of "user", "session", "batch" and "job".
    **how
        Parameters of `workloadkit.resample`.

    Raises
    ------
    ParameterError
        If there are no units, or see `workloadkit.resample`.
    WorkloadError
        See `workloadkit.resample`.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 3.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample()
    >>> found = compare_units(log.select(log.ran), 2, rng=1, units=["user", "job"])
    >>> row = found.table.loc["similarity_0_requested_time"]
    >>> bool(row["user_mean"] > row["job_mean"])
    True
    """
    check_trace(trace)
    n_runs = check_count("count", count, least=1)
    units = list(dict.fromkeys(units))
    if "move" in how:
        raise ParameterError("move", "is not a parameter here; use units")
    if not units:
        raise ParameterError(f"units is empty; known: {', '.join(UNITS)}")
    for unit in units:
        check_choice("units", unit, Moved)
    seed = seed_of(rng)
    table = pd.DataFrame({"original": _measure(comparable(trace))})
    for unit in units:
        prepared = prepare(trace, move=unit, **how)
        runs = pd.DataFrame([_measure(prepared.run_of(i, seed)) for i in range(n_runs)])
        table[f"{unit}_mean"], table[f"{unit}_sd"] = runs.mean(), runs.std()
    return UnitComparison(trace.name, n_runs, seed, dict(how), table.rename_axis("measure"))


def plot_units(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw measures by resampling unit, relative to the original.

    Parameters
    ----------
    data : DataFrame
        `UnitComparison.table`; measures that are 0 or unknown in the original are left out.
    """
    ax = style.current_axes(ax)
    data = data[data["original"].notna() & (data["original"] != 0)]
    units = [name.removesuffix("_mean") for name in data if name.endswith("_mean")]
    titles = {name: measure.title for name, measure in MEASURES.items()} | SIMILARITIES
    place = np.arange(len(data))[::-1].astype(np.float64)
    ax.axvline(1, color=style.MUTED, linewidth=1)
    for i, (unit, line) in enumerate(zip(units, style.LINES, strict=False)):
        mean, sd = (data[f"{unit}_{what}"] / data["original"] for what in ("mean", "sd"))
        at = place + 0.3 - 0.6 * i / max(len(units) - 1, 1)
        look = {"color": line["color"], "fmt": "o", "markersize": 3.5, "elinewidth": 1}
        ax.errorbar(mean, at, xerr=sd.fillna(0), label=f"by {unit}", **look)
    ax.set_yticks(place, [titles[str(name)] for name in data.index], fontsize=8)
    ax.set_ylim(-0.7, len(data) - 0.3)
    style.share_axis(ax.xaxis)
    ax.set_xlabel("relative to the original")
    style.legend_above(ax)
    return ax


def _measure(trace: Trace) -> dict[str, float]:
    """Compute the compared measures of a log."""
    found = {k: value for k, value in measure_log(trace).items() if k.startswith(_LOCAL)}
    similarities = dict.fromkeys(SIMILARITIES, np.nan)
    jobs = user_jobs(trace)
    for name in jobs.known:
        average = ratios(jobs, name, np.array([0, 1]), medians=False).measure("average")
        for distance, of_users in enumerate(average.T):
            if not np.isnan(of_users).all():
                similarities[f"similarity_{distance}_{name}"] = float(np.nanmean(of_users))
    return similarities | found
