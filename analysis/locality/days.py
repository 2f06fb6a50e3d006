"""Daily concentration: the share of a day's jobs in one bin of values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, attribute_values
from workloadkit.analysis.section import AnalysisResult
from workloadkit.clock import DAY, Clock
from workloadkit.errors import ParameterError, WorkloadError, takes_rng
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of bins of equal weight (Zakay 2018, section 5.2).
N_BINS = 16


@dataclass(frozen=True, eq=False)
class DailyConcentration(AnalysisResult):
    """Concentration of each day's jobs in one bin of values.

    Parameters
    ----------
    log : str
    attribute : str
    edges : ndarray of float, shape (16,)
        Upper edge of each bin.
    bins : ndarray of float, shape (16,)
        Share of the log's jobs in each bin: 1/16 except for ties.
    days : DataFrame
        By `day` with jobs, from the first day of the log: number of `jobs`, the share of the
        fullest bin in the log, `concentration`, and in one shuffle of the log's jobs, `shuffled`.
    mean : float
        Mean concentration over days.
    shuffled, low, high : float
        Mean over shuffles of the log's jobs, and their middle 95 % range.
    seed : int
    """

    log: str
    attribute: str
    edges: NDArray[np.float64]
    bins: NDArray[np.float64]
    days: pd.DataFrame
    mean: float
    shuffled: float
    low: float
    high: float
    seed: int

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the cumulative distribution of the daily concentration."""
        return plot_daily_concentration(concentration_curves({"": self}), ax)


@takes_rng
def daily_concentration(
    trace: Trace,
    attribute: str,
    *,
    n_shuffles: int = 100,
    rng: np.random.Generator | int | None = None,
) -> DailyConcentration:
    """Measure the concentration of each day's jobs in one bin of values [1]_.

    The values of the log are divided into 16 bins of equal weight; the concentration of a day is
    the share of its jobs in the fullest bin. Without locality it is near 1/16 on days with many
    jobs; by chance it is larger on days with few jobs and if many jobs have the same value, so it
    is compared with the log's jobs in random order.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran, and unknown values, are left out.
    attribute : {"procs", "requested_time", "run"}
    n_shuffles : int, default 100
    rng : Generator or int, optional

    Returns
    -------
    DailyConcentration
        Bins end at the log's quantiles (interpolated) and include their upper edge. Days are local
        days if the log has a time zone.

    Raises
    ------
    ParameterError
        If the attribute is unknown, or `n_shuffles` is below 1.
    WorkloadError
        If no value of the attribute is known.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, section "Locality" and Figure 5.

    Examples
    --------
    >>> log = {"submit": [0, 1, 90000, 90001], "run": [5, 5, 70, 5], "procs": [1] * 4}
    >>> daily_concentration(Trace.from_columns(log), "run", rng=1).days["concentration"].tolist()
    [1.0, 0.5]
    """
    from workloadkit._kernels.statistics import largest_counts, shuffled_within

    check_shuffles(n_shuffles)
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    edges, code, dates, day, jobs = _binned_by_day(trace, attribute)
    concentration = largest_counts(code, day, jobs.size, N_BINS) / jobs
    means, mixed = np.empty(n_shuffles), code.copy()
    shuffled = concentration
    for i in range(n_shuffles):
        mixed = shuffled_within(mixed, np.array([0, mixed.size]), generator)
        shuffled = largest_counts(mixed, day, jobs.size, N_BINS) / jobs
        means[i] = shuffled.mean()
    columns = {"jobs": jobs, "concentration": concentration, "shuffled": shuffled}
    index = pd.Index((dates - dates[0]).astype(np.int64), name="day")
    return DailyConcentration(
        trace.name,
        attribute,
        edges,
        np.bincount(code, minlength=N_BINS) / code.size,
        pd.DataFrame(columns, index),
        float(concentration.mean()),
        *mean_and_range(means),
        seed,
    )


def concentrations(trace: Trace, attribute: str) -> NDArray[np.float64]:
    """Return the concentrations of days in ascending order, see `daily_concentration`.

    Examples
    --------
    >>> log = {"submit": [0, 1, 90000, 90001], "run": [5, 5, 70, 5], "procs": [1] * 4}
    >>> concentrations(Trace.from_columns(log), "run").tolist()
    [0.5, 1.0]
    """
    from workloadkit._kernels.statistics import largest_counts

    _, code, _, day, jobs = _binned_by_day(trace, attribute)
    return np.sort(largest_counts(code, day, jobs.size, N_BINS) / jobs)


def _binned_by_day(
    trace: Trace, attribute: str
) -> tuple[NDArray, NDArray[np.int64], NDArray, NDArray[np.int64], NDArray[np.int64]]:
    """Return bin edges, bin of each job, days, day of each job, and jobs per day."""
    check_trace(trace)
    values = attribute_values(trace, attribute)
    known = values >= 0
    if not known.any():
        raise WorkloadError(f"{trace.name}: no {ATTRIBUTES[attribute]} is known")
    edges, code = equal_weight_bins(values[known])
    local = Clock.of(trace).local(trace.column("submit")[trace.ran][known])
    dates, day, jobs = np.unique(np.floor(local / DAY), return_inverse=True, return_counts=True)
    return edges, code, dates, day, jobs


def equal_weight_bins(values: NDArray[np.float64]) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the upper edges of 16 bins of equal weight, and the bin of each value, from 0.

    Examples
    --------
    >>> equal_weight_bins(np.arange(17.0))[1].tolist()
    [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    """
    edges = np.quantile(np.sort(values), np.arange(1, N_BINS + 1) / N_BINS)
    edges[-1] = values.max()  # without a rounding error
    return edges, np.searchsorted(edges, values, side="left")


def concentration_curves(found: dict[str, DailyConcentration]) -> pd.DataFrame:
    """Return cumulative distributions of the daily concentration, by name."""
    value = np.linspace(0, 1, 201)
    curves = {}
    for name, of in found.items():
        for column, suffix in (("concentration", ""), ("shuffled", ", shuffled")):
            ordered = np.sort(of.days[column])
            title = f"{name}{suffix}" if name else suffix.lstrip(", ") or "log"
            curves[title] = np.searchsorted(ordered, value, side="right") / ordered.size
    return pd.DataFrame(curves, index=pd.Index(value, name="concentration"))


def plot_daily_concentration(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw distributions of the daily concentration from `concentration_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"log": [0.2, 1.0], "shuffled": [0.6, 1.0]}, index=[0.3, 1.0])
    >>> ax = plot_daily_concentration(data, Figure().subplots())
    >>> ax.get_ylabel()
    'share of days'
    """
    ax = style.current_axes(ax)
    plot_log_and_shuffled(
        data, ax, x="share of a day's jobs in the fullest bin", y="share of days", log=False
    )
    ax.axvline(1 / N_BINS, color=style.MUTED, linewidth=0.8, linestyle="-.")
    ax.set_xlim(0, 1.02)
    style.share_axis(ax.xaxis)
    return ax


def plot_log_and_shuffled(
    data: pd.DataFrame, ax: "Axes | None" = None, *, x: str = "", y: str = "", log: bool = True
) -> "Axes":
    """Draw cumulative distributions in pairs: of the log, and (dashed) of shuffled logs.

    Parameters
    ----------
    data : DataFrame
        Columns of the log and of a shuffled log in turn.
    x, y : str
        Labels of the axes.
    log : bool, default True
        Whether the horizontal axis is logarithmic.
    """
    ax = style.current_axes(ax)
    for i, name in enumerate(data):
        line = style.LINES[i // 2 + (4 if i % 2 else 0)]
        last = i == data.shape[1] - 1
        label = name if i % 2 == 0 else "shuffled" if last else "_"  # "_": not in the legend
        ax.plot(data.index, data[name], **line, drawstyle="steps-post", label=label)
    if log:
        style.log_axis(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set(xlabel=x, ylabel=y)
    style.legend_above(ax)
    return ax


def mean_and_range(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean and the middle 95 % range of the known values."""
    values = values[~np.isnan(values)]
    if not values.size:
        return np.nan, np.nan, np.nan
    low, high = np.quantile(values, (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def check_shuffles(n_shuffles: int) -> None:
    """Check the number of shuffles."""
    if n_shuffles < 1:
        raise ParameterError(f"n_shuffles must be 1 or more, not {n_shuffles}")
