"""Hurst parameter of a series."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from workloadkit.analysis import style
from workloadkit.analysis.formats import limited, with_interval
from workloadkit.analysis.memory.estimators.methods import (
    BOUNDS,
    METHODS,
    Method,
    check_series,
    find_method,
    interval,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, WorkloadWarning, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Hurst(AnalysisResult):
    """An estimate of the Hurst parameter.

    Parameters
    ----------
    method : str
    estimate : float
        Estimate of the method, without bias correction.
    interval : tuple of float
        All H between 0 and 1 for which fractional Gaussian noise of this length gives such an
        estimate at the 95 % level, so the bias of the method is accounted for. NaN if there is
        none.
    interval_at_bound : tuple of bool
        Whether each end of the interval is the end of the range from 0 to 1, which limits it.
    n : int
        Length of the series.
    parameters : mapping of str to int
        Parameter of the method: the smallest scale or the number of frequencies.
    at_bound : bool
        Whether the estimate is at most 0.01 or at least 0.99: the series is then not stationary
        with long-range dependence, or too short.
    points : DataFrame
        Points of the fit: `scale` (in steps of the series; radians per step for a periodogram),
        `value`, and the fitted `line`; the series is standardized to mean 0 and variance 1.
    """

    method: str
    estimate: float
    interval: tuple[float, float]
    interval_at_bound: tuple[bool, bool]
    n: int
    parameters: Mapping[str, int]
    at_bound: bool
    points: pd.DataFrame

    @property
    def shown(self) -> str:
        """Estimate and interval; ≤ or ≥ marks a number at a bound, which is only a limit."""
        return hurst_in_words(self.estimate, *self.interval)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the points and the fitted line on logarithmic axes.

        The pox plot of R/S also has reference lines with slopes 1/2 and 1.
        """
        ax = style.current_axes(ax)
        method, points = METHODS[self.method], visible(self.points)
        x = points["scale"] / (2 * np.pi if method.scale == "frequency" else 1)
        size = 3 if len(points) > 100 else 7
        ax.plot(x, points["value"], ".", color=style.BLUE, ms=size, mew=0, zorder=2)
        label = equation(hurst_in_words(self.estimate))
        ax.plot(x, points["line"], color=style.ORANGE, label=label, zorder=3)
        if self.method == "rs":
            plot_slopes(points, ax)
        logarithmic_axes(ax)
        unit = "cycles per step" if method.scale == "frequency" else "steps"
        ax.set(xlabel=f"{method.scale} ({unit})", ylabel=method.value)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
        return ax


def hurst(
    series: ArrayLike,
    method: str = "local_whittle",
    *,
    smallest: int | None = None,
    bandwidth: int | None = None,
) -> Hurst:
    """Estimate the Hurst parameter of a series.

    Independent values have H = 0.5. Above 0.5 the series is long-range dependent: its
    autocorrelation falls so slowly, as lag^(2 H - 2), that fluctuations do not average out over
    long times.

    Parameters
    ----------
    series : array_like, shape (n,)
        At least 256 values; mean and scale are arbitrary.
    method : str, default "local_whittle"
        "rs" (rescaled range, the pox plot), "aggregated_variance", "absolute_moments",
        "periodogram" (a line through its lowest tenth), "gph" (Geweke and Porter-Hudak),
        "local_whittle", "whittle" (of fractional Gaussian noise), "wavelet" (Abry and Veitch),
        "dfa" (detrended fluctuation analysis).
    smallest : int, optional
        Smallest scale, for "rs" and "dfa" (by default 10), "aggregated_variance" and
        "absolute_moments" (2), "wavelet" (8).
    bandwidth : int, optional
        Number of frequencies, from the lowest, for "periodogram" (by default n // 20), "gph"
        (n^0.65) and "local_whittle" (n^(2/3)).

    Raises
    ------
    ParameterError
        If the series is too short, has unknown values or is constant, the method is unknown, or it
        does not have the given parameter.

    Warns
    -----
    WorkloadWarning
        If the estimate is at or beyond a bound of the search, 0.01 to 0.99: the series is not
        stationary (levels instead of increments, for example), or too short.

    Notes
    -----
    Mean error on fractional Gaussian noise of 2^14 values: R/S +0.03 at H = 0.5, 0 at 0.7, -0.05
    at 0.9; aggregated variance and absolute moments -0.01, -0.02 and -0.06; of the others, at most
    0.01. The estimates are not corrected; the intervals account for the errors. The errors are
    stored in `analysis/memory/estimators/sampling.csv`.

    Intervals assume fractional Gaussian noise. The full likelihood, "whittle", depends most on this
    assumption: if short-term correlations do not follow from the long-term ones, its narrow
    interval means little.

    For a non-default parameter, the interval comes from 100 simulated series with a fixed seed.

    References
    ----------
    M. S. Taqqu, V. Teverovsky, W. Willinger, "Estimators for long-range dependence: an empirical
    study", Fractals 3(4), 1995.

    Examples
    --------
    >>> from workloadkit.analysis.memory import fractional_gaussian_noise
    >>> found = hurst(fractional_gaussian_noise(4096, 0.8, rng=1))
    >>> found.method, bool(0.7 < found.estimate < 0.9), found.parameters
    ('local_whittle', True, {'bandwidth': 255})
    """
    found = estimate_hurst(series, method, smallest=smallest, bandwidth=bandwidth)
    if found.at_bound:
        warnings.warn(
            f"H is {found.shown}, at or beyond a bound of the search ({BOUNDS[0]:g} to "
            f"{BOUNDS[1]:g}): the series is not stationary, or too short",
            WorkloadWarning,
            stacklevel=2,
        )
    return found


def estimate_hurst(
    series: ArrayLike,
    method: str = "local_whittle",
    *,
    smallest: int | None = None,
    bandwidth: int | None = None,
) -> Hurst:
    """Estimate the Hurst parameter as `hurst` does, without its warning."""
    estimator = find_method(method)
    values = check_series(series)
    chosen = _chosen(estimator, method, {"smallest": smallest, "bandwidth": bandwidth})
    fit = estimator(values, chosen)
    parameters: dict[str, int] = {}
    if estimator.parameter is not None:
        used = estimator.default(values.size) if chosen is None else chosen
        parameters[estimator.parameter] = used
    low, high = interval(method, fit.estimate, values.size, chosen)
    return Hurst(
        method,
        fit.estimate,
        (low, high),
        (low <= 0, high >= 1),
        values.size,
        parameters,
        not BOUNDS[0] < fit.estimate < BOUNDS[1],
        fit.points,
    )


def hurst_in_words(estimate: float, low: float = np.nan, high: float = np.nan) -> str:
    """Format H with its interval, if known; ≤ or ≥ marks a number at a bound.

    Examples
    --------
    >>> hurst_in_words(0.7, 0.661, 0.74), hurst_in_words(0.99, 0.92, 1.0)
    ('0.70 [0.66, 0.74]', '≥ 0.99 [0.92, ≥ 1.00]')
    """

    def form(value: float) -> str:
        return limited(value, BOUNDS if value in BOUNDS else (0.0, 1.0))

    return with_interval(estimate, low, high, form)


def equation(number: str) -> str:
    """Return "H = number", or "H ≥ number" for one at a bound."""
    return f"H {number}" if number[0] in "≤≥" else f"H = {number}"


def visible(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points that can be drawn on logarithmic axes; rounding errors are dropped."""
    return points[points["value"] > 1e-12 * points["value"].max()]


def logarithmic_axes(ax: "Axes", *, times: bool = False) -> None:
    """Make both axes logarithmic with a margin; `times` selects a horizontal axis of times."""
    from matplotlib.ticker import LogLocator

    (style.time_axis if times else style.log_axis)(ax.xaxis)
    style.log_axis(ax.yaxis)
    for axis in (ax.yaxis,) if times else (ax.xaxis, ax.yaxis):
        if len(axis.get_majorticklocs()) <= 2:  # too few powers of 10
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    for low, high, limit in ((*ax.get_xlim(), ax.set_xlim), (*ax.get_ylim(), ax.set_ylim)):
        room = (high / low) ** 0.02
        limit(low / room, high * room)


def plot_slopes(points: pd.DataFrame, ax: "Axes") -> None:
    """Draw lines of slope 1/2 and 1 from the start of the fitted line."""
    first = points.loc[points["scale"].idxmin()]
    ends = np.array([first["scale"], points["scale"].max()])
    for slope, dashes, label in ((0.5, ":", "slope 1/2"), (1.0, "--", "slope 1")):
        line = first["line"] * (ends / first["scale"]) ** slope
        ax.plot(ends, line, dashes, color=style.MUTED, lw=1, label=label, zorder=1)


def _chosen(estimator: Method, name: str, given: Mapping[str, int | None]) -> int | None:
    """Return the parameter given for an estimator, or None for its default."""
    for parameter, value in given.items():
        if value is None:
            continue
        if parameter != estimator.parameter:
            raise ParameterError(f"the method {quoted(name)} has no parameter {parameter}")
        if not (2 <= value < np.inf and value == int(value)):
            raise ParameterError(f"{parameter} must be a whole number of 2 or more, not {value}")
    value = given.get(estimator.parameter or "")
    return None if value is None else int(value)
