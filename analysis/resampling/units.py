"""Comparison of resampling units: locality lost by units smaller than a user."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, ratios, user_jobs
from workloadkit.analysis.resampling.measures import MEASURES, comparable, measure_log
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, check_choice, check_count
from workloadkit.provenance import seed_of
from workloadkit.resample.pooling import Unit
from workloadkit.resample.runs import prepare
from workloadkit.trace import Trace, check_trace

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

    def plot(self, ax: Axes | None = None) -> Axes:
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

    Returns
    -------
    UnitComparison

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
    if "unit" in how:
        raise ParameterError("unit", "is not a parameter here; use units")
    if not units:
        raise ParameterError(f"units is empty; known: {', '.join(UNITS)}")
    for unit in units:
        check_choice("units", unit, Unit)
    seed = seed_of(rng)
    table = pd.DataFrame({"original": _measure(comparable(trace))})
    for unit in units:
        prepared = prepare(trace, unit=unit, **how)
        runs = pd.DataFrame([_measure(prepared.run_of(i, seed)) for i in range(n_runs)])
        table[f"{unit}_mean"], table[f"{unit}_sd"] = runs.mean(), runs.std()
    return UnitComparison(trace.name, n_runs, seed, dict(how), table.rename_axis("measure"))


def plot_units(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw measures by resampling unit, relative to the original.

    Parameters
    ----------
    data : DataFrame
        `UnitComparison.table`; measures that are 0 or unknown in the original are left out.
    ax : Axes, optional
        Default: the current Axes.
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
