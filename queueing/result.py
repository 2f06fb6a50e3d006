"""Base class of the models' results."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Floats, Value, numbers, plain
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, QueueingWarning, quoted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Labels of axes, by parameter or kind of measure.
_AXES = {
    "lam": "arrival rate lam, in the inverse of the unit of S",
    "N": "number of users N",
    "Z": "mean think time Z, in the unit of S",
    "S": "mean service time S",
    "servers": "servers",
    "X": "throughput, in the inverse of the unit of S",
    "R": "mean response time, in the unit of S",
    "Q": "mean number of jobs",
    "U": "utilization",
}

#: Largest order of a moment; larger ones overflow for response times in seconds.
MOST_ORDER = 20

#: Indices of points in the flattened array.
Places = NDArray[np.intp]


class Exactness(str):
    """Accuracy of a result, in words, and in numbers as `error`.

    Parameters
    ----------
    words : str
        Such as "exact, product form" or "approximation: chain".
    **error : float
        For each approximate measure, the largest relative error, |approximate / true - 1|, in
        comparisons with exact or simulated values.

    Examples
    --------
    >>> chain = Exactness("approximation: chain", X=0.012, R=0.023)
    >>> print(chain, chain.error["R"])
    approximation: chain 0.023
    """

    __slots__ = ("error",)

    error: Mapping[str, float]

    def __new__(cls, words: str, /, **error: float) -> Self:
        """Create the text with its errors."""
        made = super().__new__(cls, words)
        made.error = error
        return made


def again(model: Callable[..., Any], given: Mapping[str, Any], /, **changed: Any) -> Any:
    """Solve a model again with some parameters changed."""
    for name in changed:
        if name not in given:
            raise QueueingError(f"{name} is not a parameter; known: {', '.join(given)}")
    return model(**{**given, **changed})


@dataclass(frozen=True, eq=False)
class ModelResult(DisplayedResult):
    """Result of a model: measures, distributions and derivatives for each set of parameters.

    One set of parameter values is a *point*. If all parameters were numbers, there is one point and
    values are floats; otherwise values are arrays of the parameters' broadcast shape. X
    is jobs per unit of time, R and the parameters Z and S are times in the same unit, Q counts
    jobs, and U is per server.

    Parameters
    ----------
    parameters : mapping of str to ndarray or object
        Broadcast parameters; functions as passed.
    exactness : Exactness
    """

    #: Fields and properties that `to_frame` shows.
    measures: ClassVar[tuple[str, ...]] = ("X", "R", "Q", "U")
    #: Kinds of jobs with separate response times; methods use a single kind by default.
    jobs: ClassVar[tuple[str, ...]] = ("any",)
    #: Further properties with derivatives.
    totals: ClassVar[tuple[str, ...]] = ()

    parameters: Mapping[str, Any] = field(repr=False)
    exactness: Exactness
    #: Solves the model for other parameters, by name.
    solve: Callable[..., "ModelResult"] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Broadcast shape of the parameters; () if all were numbers."""
        shapes = (v.shape for v in self.parameters.values() if isinstance(v, np.ndarray))
        return next(shapes, ())

    def sf(self, t: ArrayLike, job: str | None = None) -> Value:
        """Return the probability that the response time exceeds t.

        Parameters
        ----------
        t : array_like
            Times, broadcast against the points.
        job : str, optional
            Kind of jobs; optional if there is only one kind.
        """
        times, at = self._broadcast("t", t)
        job = self._job(job)
        # response times are never negative
        return plain(np.where(times < 0, 1.0, self._survival(np.maximum(times, 0.0), at, job)))

    def cdf(self, t: ArrayLike, job: str | None = None) -> Value:
        """Return the probability that the response time is at most t; see `sf`."""
        times, at = self._broadcast("t", t)
        job = self._job(job)
        return plain(np.where(times < 0, 0.0, self._distribution(np.maximum(times, 0.0), at, job)))

    def ppf(self, q: ArrayLike, job: str | None = None) -> Value:
        """Return the quantile of the response time at probability q.

        Parameters
        ----------
        q : array_like
            Probabilities from 0 to 1, broadcast against the points.
        job : str, optional
            See `sf`.
        """
        share, at = self._broadcast("q", q)
        if not ((share >= 0) & (share <= 1)).all():
            raise QueueingError(f"q is {quoted(q)}; it must be from 0 to 1")
        job = self._job(job)
        mean = self._moment(1, at, job)
        found = np.where(np.isnan(mean), np.nan, 0.0)
        found[(mean > 0) & (share == 1)] = np.inf
        found[np.isinf(mean) & (share > 0)] = np.inf
        inside = (share > 0) & (share < 1) & (mean > 0) & np.isfinite(mean)

        def above(t: Floats, place: Places, q: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return np.log(self._survival(t, place, job)) - np.log1p(-q)

        def below(t: Floats, place: Places, q: Floats) -> Floats:
            return 1 - self._distribution(t, place, job) / q

        # each tail uses the probability that is small there
        for here, function in ((inside & (share > 0.5), above), (inside & (share <= 0.5), below)):
            if here.any():
                found[here] = root(function, mean[here], (at[here], share[here]))
        return plain(found)

    def moment(self, order: int, job: str | None = None) -> Value:
        """Return E[R^order] of the response time R; the order is an integer from 1 to 20."""
        power = numbers("order", order)
        if power.ndim or power not in range(1, MOST_ORDER + 1):
            raise QueueingError(
                f"order is {quoted(order)}; it must be a whole number from 1 to {MOST_ORDER}"
            )
        places = np.arange(int(np.prod(self.shape)), dtype=np.intp).reshape(self.shape)
        with np.errstate(over="ignore"):
            return plain(np.asarray(self._moment(int(power), places, self._job(job))))

    def moments(self, job: str | None = None) -> dict[str, Value]:
        """Return mean, variance, scv and skewness of the response time."""
        job = self._job(job)
        places = np.arange(int(np.prod(self.shape)), dtype=np.intp).reshape(self.shape)
        mean = self._moment(1, places, job)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            variance, third = self._central_moments(places, job)
            values = {
                "mean": mean,
                "variance": variance,
                "scv": variance / mean**2,
                "skewness": third / variance**1.5,
            }
        return {name: plain(np.asarray(value)) for name, value in values.items()}

    def derivative(self, of: str, wrt: str) -> Value:
        """Return the derivative of a measure with respect to a parameter.

        Parameters
        ----------
        of : str
            A measure.
        wrt : str
            Name of a numeric parameter.
        """
        self._check_derivative(of, wrt)
        from scipy.differentiate import derivative

        others = {name: value for name, value in self.parameters.items() if name != wrt}
        value = np.asarray(self.parameters[wrt], dtype=np.float64)

        def measure(x: Floats) -> Floats:
            given = {name: _widened(v, x.ndim) for name, v in others.items()}
            return np.asarray(getattr(self.solve(**{wrt: x}, **given), of))

        found = np.full(value.shape, np.nan)
        with warnings.catch_warnings():
            # steps outside a parameter's domain are repeated with smaller and one-sided steps
            warnings.simplefilter("ignore", QueueingWarning)
            for step, side in ((1e-2, 0), (1e-4, 0), (1e-6, 0), (1e-2, -1)):
                slope = derivative(
                    measure,
                    value,
                    initial_step=step * np.where(value == 0, 1.0, np.abs(value)),
                    step_direction=np.where(value == 0, 1, side),
                    preserve_shape=True,
                )
                found = np.where(np.isnan(found), slope.df, found)
                if not np.isnan(found[~np.isnan(value)]).any():
                    break
        return plain(found)

    def check(self) -> Value:
        """Return the largest relative violation of the operational laws.

        These are Little's law Q = X R, the utilization law U = X S / servers and, for closed users,
        the interactive law N = X (R + Z).
        """
        worst = np.zeros(self.shape)
        for left, right in self._laws():
            larger = np.maximum(np.abs(left), np.abs(right))
            difference = np.abs(np.asarray(left) - right)
            worst = np.maximum(worst, difference / np.where(larger == 0, 1.0, larger))
        return plain(np.asarray(worst))

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per point: parameters, then measures."""
        import pandas as pd

        size = int(np.prod(self.shape))
        columns: dict[str, Any] = {}
        for name, value in self.parameters.items():
            columns[name] = value.ravel() if isinstance(value, np.ndarray) else [str(value)] * size
        for name in self.measures:
            columns[name] = np.ravel(getattr(self, name))
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None, measures: tuple[str, ...] | None = None) -> "Axes":
        """Draw measures over the varying parameter, or the response times of one point.

        Parameters
        ----------
        measures : tuple of str, optional
            Measures over the varying parameter; by default response times.
        """
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        if self.shape:
            self._plot_measures(ax, measures)
        else:
            self._plot_responses(ax)
        return ax

    def _survival(self, t: Floats, at: Places, job: str) -> Floats:
        """P(response > t) for t ≥ 0 at these points; arrays of one shape."""
        raise NotImplementedError

    def _distribution(self, t: Floats, at: Places, job: str) -> Floats:
        """P(response ≤ t) for t ≥ 0; overridden where small values need their own formula."""
        return 1.0 - self._survival(t, at, job)

    def _moment(self, order: int, at: Places, job: str) -> Floats:
        """E[response^order] at these points."""
        raise NotImplementedError

    def _central_moments(self, at: Places, job: str) -> tuple[Floats, Floats]:
        """Variance and third central moment of response times."""
        mean, second, third = (self._moment(k, at, job) for k in (1, 2, 3))
        variance = second - mean**2
        return variance, third - 3 * mean * variance - mean**3

    def _laws(self) -> list[tuple[Value, Value]]:
        """Left and right side of each operational law."""
        raise NotImplementedError

    def _at(self, name: str, at: Places) -> Floats:
        """Values of a parameter at these points."""
        return np.asarray(self.parameters[name]).ravel()[at]

    def _broadcast(self, name: str, value: ArrayLike) -> tuple[Floats, Places]:
        given = numbers(name, value)
        places = np.arange(int(np.prod(self.shape)), dtype=np.intp).reshape(self.shape)
        try:
            shape = np.broadcast_shapes(given.shape, self.shape)
        except ValueError:
            raise QueueingError(
                f"cannot broadcast the shape {given.shape} of {name} with that of the points, "
                f"{self.shape}"
            ) from None
        return np.broadcast_to(given, shape).copy(), np.broadcast_to(places, shape)

    def _job(self, job: str | None) -> str:
        if job is None and len(self.jobs) == 1:
            return self.jobs[0]
        if job not in self.jobs:
            problem = "is missing" if job is None else f"is {job!r}"
            raise QueueingError(f"job {problem}; it must be {' or '.join(self.jobs)}")
        return job

    def _check_measure(self, argument: str, name: str) -> None:
        known = (*self.measures, *self.totals)
        if name not in known:
            raise QueueingError(
                f"{argument} is {quoted(name)}; it must be one of {', '.join(known)}"
            )

    def _check_derivative(self, of: str, wrt: str) -> None:
        self._check_measure("of", of)
        known = [name for name, v in self.parameters.items() if isinstance(v, np.ndarray)]
        if wrt not in known:
            raise QueueingError(f"wrt is {quoted(wrt)}; it must be one of {', '.join(known)}")

    def _plot_measures(self, ax: "Axes", measures: tuple[str, ...] | None) -> None:
        varying = [
            name
            for name, value in self.parameters.items()
            if isinstance(value, np.ndarray) and np.unique(value[~np.isnan(value)]).size > 1
        ]
        if len(varying) != 1 or len(self.shape) != 1:
            raise QueueingError(
                "plot needs exactly one varying parameter; here "
                f"{' and '.join(varying) or 'none'} vary"
            )
        shown = measures or tuple(name for name in self.measures if name[0] == "R")
        for name in shown:
            self._check_measure("measures", name)
            ax.plot(self.parameters[varying[0]], getattr(self, name), label=name)
        ax.set_xlabel(_AXES.get(varying[0], varying[0]))
        kinds = {_AXES.get(name[0], name) for name in shown}
        ax.set_ylabel(kinds.pop() if len(kinds) == 1 else "")
        if len(shown) > 1:
            ax.legend()

    def _plot_responses(self, ax: "Axes") -> None:
        last = max(float(self.ppf(0.999, job)) for job in self.jobs)
        times = np.linspace(0, last, 400)
        for job in self.jobs:
            ax.plot(times, self.sf(times, job), label=f"{job} jobs")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="response time t, in the unit of S", ylabel="share of jobs with response > t")
        if len(self.jobs) > 1:
            ax.legend()


def root(function: Callable[..., Floats], scale: Floats, args: tuple[Any, ...]) -> Floats:
    """Find the root of a decreasing function of time, searching on a logarithmic scale."""
    from scipy.optimize.elementwise import bracket_root, find_root

    def at(order: Floats, scale: Floats, *args: Any) -> Floats:
        with np.errstate(over="ignore"):
            return function(scale * np.exp(order), *args)

    args = (scale, *args)
    bracket = bracket_root(at, np.full(scale.size, -1.0), np.zeros(scale.size), args=args)
    tolerances = {"xrtol": 2e-16, "xatol": 4e-16}
    return scale * np.exp(find_root(at, bracket.bracket, args=args, tolerances=tolerances).x)


def _widened(value: Any, ndim: int) -> Any:
    """Reshape a parameter for broadcasting with trailing dimensions."""
    if not isinstance(value, np.ndarray):
        return value
    return value.reshape(value.shape + (1,) * (ndim - value.ndim))
