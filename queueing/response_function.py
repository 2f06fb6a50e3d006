"""Functions of the response time, with numbers or arrays as parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Condition, Floats, Value, numbers, plain
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN = (1e-3, 1e6, 400)  # response times of a figure: the least, the largest, how many
_MOST_LINES = 6


@dataclass(frozen=True, eq=False)
class Form(DisplayedResult):
    """A function of the response time, with parameters that may be arrays."""

    #: Names of the parameters, which are fields with arrays of floats.
    names: ClassVar[tuple[str, ...]] = ()
    #: Conditions on the parameters.
    rules: ClassVar[tuple[Condition, ...]] = ()

    @property
    def values(self) -> dict[str, Floats]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in self.names}

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return a copy with the given values of its parameters; other values are ignored."""
        return replace(self, **{name: values[name] for name in self.names if name in values})

    def at(self, place: int) -> Self:
        """Return the function at one point, an index in the flattened array of points."""
        return self.with_values({name: v.ravel()[place] for name, v in self.values.items()})

    def __call__(self, r: ArrayLike) -> Value:
        """Return the value at response times r, which are broadcast with the parameters."""
        times = numbers("r", r)
        if not (times >= 0).all():
            raise QueueingError(f"r is {quoted(r)}; response times must be 0 or more")
        return plain(np.asarray(self.at_times(times)))

    def at_times(self, r: Floats) -> Floats:
        """Return the value at non-negative times, including infinity."""
        raise NotImplementedError

    def to_frame(self) -> "pd.DataFrame":
        """Return its parameters, one row a point."""
        import pandas as pd

        return pd.DataFrame({name: np.ravel(v) for name, v in self._points().items()})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw it over the response time; several points of its parameters as several lines."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        times = np.geomspace(*_SHOWN)
        points = self._points()
        n_points = next(iter(points.values())).size if points else 1
        for place in range(min(n_points, _MOST_LINES)):
            at = {name: v.ravel()[place] for name, v in points.items()}
            label = ", ".join(f"{name} = {v:g}" for name, v in at.items())
            ax.plot(times, self.with_values(at).at_times(times), label=label or str(self))
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("response time r, in the unit of S")
        ax.set_ylabel(type(self).__name__.lower() + " of r")
        ax.legend()
        return ax

    def _points(self) -> dict[str, Floats]:
        """Return its parameters by name, broadcast."""
        together = np.broadcast_arrays(*self.values.values())
        return dict(zip(self.names, together, strict=True))

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}({', '.join(self.names)})"


def vectorised(name: str, function: Callable[[Any], Any]) -> Callable[[Floats], Floats]:
    """Return a function of arrays from a function of arrays or numbers; errors name `name`."""

    def one_by_one(r: Floats) -> Floats:
        values = np.empty(np.shape(r))
        for place, time in np.ndenumerate(r):
            try:
                values[place] = function(float(time))
            except (ArithmeticError, ValueError, TypeError) as error:
                raise QueueingError(
                    f"{name} has no value at response time {time:g}: {error}"
                ) from error
        return values

    def at_once(r: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(function(r), dtype=np.float64)

    probes = np.array([0.5, 2.0, 1.0])
    try:
        together = at_once(probes)
    except Exception:  # not a function of arrays: try numbers
        return one_by_one
    return at_once if np.array_equal(together, one_by_one(probes)) else one_by_one


def checked(name: str, function: Callable[[Floats], Floats], r: Floats, most: float) -> Floats:
    """Return the values at these times, checked to be finite and from 0 to `most`."""
    value = function(r)
    wrong = ~((value >= 0) & (value <= most) & (value < np.inf)) & ~np.isnan(r)
    if wrong.any():
        first = int(np.argmax(wrong))
        condition = f"from 0 to {most:g}" if most < np.inf else "finite, 0 or more"
        raise QueueingError(
            f"{name} is {value.ravel()[first]:g} at response time {np.ravel(r)[first]:g}; it "
            f"must be {condition}"
        )
    return value


def averaged(function: Callable[[Floats], Floats], rate: Floats) -> Floats:
    """Return the mean of a bounded function over exponential times of these rates.

    Uses double-exponential quadrature; if its error exceeds 1e-11, adaptive quadrature over the
    logarithm of time, which finds jumps.
    """
    from scipy.integrate import quad, tanhsinh

    rates = np.asarray(rate, dtype=np.float64)
    mean = np.full(rates.shape, np.nan)
    mean[rates == 0] = function(np.full((), np.inf))
    mean[np.isinf(rates)] = function(np.zeros(()))
    inside = (rates > 0) & (rates < np.inf)
    if not inside.any():
        return mean

    def weighted(x: Floats, rate: Floats) -> Floats:
        return function(x / rate) * np.exp(-x)

    # weights below 1e-300 are omitted: x would overflow
    found = tanhsinh(weighted, 0.0, 690.0, args=(rates[inside],), atol=1e-12, rtol=1e-11)
    values = found.integral

    def logarithmic(s: float, rate: float) -> float:
        x = np.exp(s)
        return float(function(np.asarray(x / rate))) * x * np.exp(-x)

    for place in np.flatnonzero(~found.success):
        values[place] = quad(
            logarithmic, -37.0, 6.5, args=(rates[inside][place],), limit=2000, epsabs=1e-12,
            epsrel=1e-11,
        )[0]  # fmt: skip
    mean[inside] = values
    return mean
