"""Estimators by name, and their default parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.memory.estimators import (
    aggregation,
    fluctuation,
    rescaled_range,
    spectral,
    wavelet,
)
from workloadkit.analysis.memory.estimators.line import HurstFit
from workloadkit.errors import ParameterError, quoted

#: Minimum length of a series for all estimators.
SHORTEST = 256

_BLOCK, _BOX, _POWER = "block size", "box size", "periodogram"


@dataclass(frozen=True)
class Method:
    """An estimator of the Hurst parameter.

    Parameters
    ----------
    title : str
        Name in tables and figures.
    fit : callable
        ``fit(series)`` or ``fit(series, parameter)``; the series has mean 0 and variance 1.
    parameter : {"smallest", "bandwidth"}, optional
        Parameter of the method: the smallest scale, or the number of frequencies.
    default : callable
        The default of the parameter for a series of length n.
    scale, value : str
        Labels of the axes.
    """

    title: str
    fit: Callable[..., HurstFit]
    parameter: Literal["smallest", "bandwidth"] | None
    default: Callable[[int], int]
    scale: str
    value: str

    def __call__(self, series: NDArray[np.float64], chosen: int | None = None) -> HurstFit:
        """Estimate, with the given or default parameter."""
        if self.parameter is None:
            return self.fit(series)
        return self.fit(series, self.default(series.size) if chosen is None else chosen)


def power(exponent: float) -> Callable[[int], int]:
    """Return the function n -> int(n**exponent)."""
    return lambda n: int(n**exponent)


def always(value: int) -> Callable[[int], int]:
    """Return the constant function of n."""
    return lambda _: value


#: All estimators. Bandwidths: n^0.65 for GPH; n^(2/3) for local Whittle, which for hourly counts
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
    """Return the estimator called `name`."""
    if name not in METHODS:
        raise ParameterError(
            f"unknown method {quoted(name)} of the Hurst parameter; known: {', '.join(METHODS)}"
        )
    return METHODS[name]


def check_series(series: Any) -> NDArray[np.float64]:
    """Check a series, and standardize it to mean 0 and variance 1."""
    try:
        values = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"a series must hold numbers, not {series!r:.40}") from None
    if values.ndim != 1:
        raise ParameterError(f"a series must have one dimension, not {values.ndim}")
    if odd := np.flatnonzero(~np.isfinite(values)).tolist():
        raise ParameterError(
            f"a series needs known, finite values: value {odd[0]} is {values[odd[0]]:g}"
        )
    if values.size < SHORTEST:
        raise ParameterError(f"a series needs {SHORTEST} values or more, not {values.size}")
    largest = np.abs(values).max()
    values = values / (largest or 1)  # avoids overflow in squares
    spread = values.std()
    if not spread > 1e-12:
        raise ParameterError(f"all {values.size:,} values of the series are equal")
    return (values - values.mean()) / spread
