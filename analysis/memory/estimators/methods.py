"""The estimators by name, and what each is computed with by default."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis.memory.estimators import aggregation, fluctuation, rescaled_range, spectral, wavelet
from analysis.memory.estimators.line import Fit
from workloadkit.errors import ParameterError

#: The shortest series that is long enough for all estimators.
SHORTEST = 256

_BLOCK, _BOX, _POWER = "block size", "box size", "periodogram"


@dataclass(frozen=True)
class Method:
    """An estimator of the Hurst parameter.

    Parameters
    ----------
    title : str
        Its name for people.
    fit : callable
        ``fit(series)`` or ``fit(series, parameter)``; the series has mean 0 and variance 1.
    parameter : {"smallest", "bandwidth"}, optional
        What can be chosen: the smallest scale, or the number of frequencies.
    default : callable
        The default of the parameter for a series of length n.
    scale, value : str
        What the points lie over, and what they are; for axes.
    """

    title: str
    fit: Callable[..., Fit]
    parameter: Literal["smallest", "bandwidth"] | None
    default: Callable[[int], int]
    scale: str
    value: str

    def __call__(self, series: NDArray[np.float64], chosen: int | None = None) -> Fit:
        """Estimate, with the default parameter or the one chosen."""
        if self.parameter is None:
            return self.fit(series)
        return self.fit(series, self.default(series.size) if chosen is None else chosen)


def power(exponent: float) -> Callable[[int], int]:
    """Return the function that gives the whole part of a power of n."""
    return lambda n: int(n**exponent)


def always(value: int) -> Callable[[int], int]:
    """Return the function that gives the same for all n."""
    return lambda _: value


#: All estimators. The bandwidths: n^0.65 for GPH; n^(2/3) for local Whittle, which in hourly counts
#: of some years ends just below the frequency of a day; a tenth of the frequencies for the line
#: through the periodogram (Taqqu et al., 1995).
METHODS: dict[str, Method] = {
    "rs": Method(
        "R/S", rescaled_range.rescaled_range, "smallest", always(10), "window size", "R/S"
    ),
    "aggregated_variance": Method(
        "aggregated variance", aggregation.aggregated_variance, "smallest", always(2),
        _BLOCK, "variance of block means",
    ),
    "absolute_moments": Method(
        "absolute moments", aggregation.absolute_moments, "smallest", always(2),
        _BLOCK, "mean deviation of block means",
    ),
    "periodogram": Method(
        "periodogram", spectral.low_frequencies, "bandwidth", lambda n: n // 20,
        "frequency", _POWER,
    ),
    "gph": Method(
        "GPH", spectral.geweke_porter_hudak, "bandwidth", power(0.65), "frequency", _POWER
    ),
    "local_whittle": Method(
        "local Whittle", spectral.local_whittle, "bandwidth", power(2 / 3), "frequency", _POWER
    ),
    "whittle": Method(
        "Whittle", spectral.whittle, None, always(0), "frequency", _POWER
    ),
    "wavelet": Method(
        "wavelets", wavelet.abry_veitch, "smallest", always(8), "scale", "energy of an octave"
    ),
    "dfa": Method(
        "DFA", fluctuation.detrended_fluctuation, "smallest", always(10), _BOX, "fluctuation"
    ),
}  # fmt: skip


def find_method(name: str) -> Method:
    """Return the estimator called `name`.

    Raises
    ------
    ParameterError
        If there is none.
    """
    if name not in METHODS:
        raise ParameterError(
            f"no method {name!r} to estimate a Hurst parameter; known: {', '.join(METHODS)}"
        )
    return METHODS[name]


def check_series(series: Any) -> NDArray[np.float64]:
    """Return a series given mean 0 and variance 1, which no estimator depends on.

    Raises
    ------
    ParameterError
        If it is not a row of numbers, is too short, has unknown or infinite values, or if all
        values are alike.
    """
    try:
        values = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"a series is a row of numbers, not {series!r:.40}") from None
    if values.ndim != 1:
        raise ParameterError(f"a series has one dimension, not {values.ndim}")
    if odd := np.flatnonzero(~np.isfinite(values)).tolist():
        raise ParameterError(
            f"a series needs known, finite values: value {odd[0]} is {values[odd[0]]:g}"
        )
    if values.size < SHORTEST:
        raise ParameterError(f"a series needs {SHORTEST} values or more, not {values.size}")
    largest = np.abs(values).max()
    values = values / (largest or 1)  # so that no square overflows
    spread = values.std()
    if not spread > 1e-12:
        raise ParameterError(f"all {values.size:,} values of the series are alike")
    return (values - values.mean()) / spread
