"""Probability of another job of a user, and the think time, as functions of the response time r.

Parameters of the functions are numbers or arrays, which are broadcast with the other parameters of
a model. r has the unit of S, and rates have its inverse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, not_negative, numbers, probability
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.response_function import Form, averaged, checked, vectorised

#: Response times at which a custom function is tested for monotonicity.
_PROBES = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 1501)])


@dataclass(frozen=True, eq=False)
class Probability(Form):
    """A probability p(r) as a function of the response time."""

    #: Whether p is constant; the model then has product form.
    constant: ClassVar[bool] = False

    @property
    def falls(self) -> bool:
        """Whether p never increases with r."""
        return True

    @property
    def first(self) -> Floats:
        """Value at response time 0."""
        return self.at_times(np.zeros(()))

    @property
    def limit(self) -> Floats:
        """Value at infinite response time, which determines the maximum load of the model."""
        return self.at_times(np.full((), np.inf))

    def mean_exponential(self, rate: Floats) -> Floats:
        """Return the mean over exponential response times of these rates, from 0 to infinity."""
        return averaged(self.at_times, rate)

    def slope(self, r: Floats) -> Floats:
        """Return the first derivative."""
        raise QueueingError(f"p is a {self}, which has no derivative")

    def curvature(self, r: Floats) -> Floats:
        """Return the second derivative."""
        raise QueueingError(f"p is a {self}, which has no derivative")


@dataclass(frozen=True, eq=False)
class Constant(Probability):
    """A constant probability."""

    names = ("p",)
    rules = (probability("p"),)
    constant = True

    p: Floats

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.broadcast_to(self.p, np.broadcast_shapes(np.shape(self.p), np.shape(r))).copy()

    def mean_exponential(self, rate: Floats) -> Floats:  # noqa: D102
        return self.at_times(rate)

    def slope(self, r: Floats) -> Floats:  # noqa: D102
        return 0.0 * self.at_times(r)

    curvature = slope

    def __str__(self) -> str:
        return "constant"


@dataclass(frozen=True, eq=False)
class Exponential(Probability):
    """The probability e^(-theta r)."""

    names = ("theta",)
    rules = (not_negative("theta"),)

    theta: Floats

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.exp(-_product(self.theta, r))

    def mean_exponential(self, rate: Floats) -> Floats:  # noqa: D102
        return 1.0 / (1.0 + _ratio(self.theta, rate))

    def slope(self, r: Floats) -> Floats:  # noqa: D102
        return -self.theta * self.at_times(r)

    def curvature(self, r: Floats) -> Floats:  # noqa: D102
        return self.theta**2 * self.at_times(r)


@dataclass(frozen=True, eq=False)
class Hyperbolic(Probability):
    """The probability a / (b r + 1)."""

    names = ("a", "b")
    rules = (probability("a"), not_negative("b"))

    a: Floats
    b: Floats

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return self.a / (_product(self.b, r) + 1.0)

    def mean_exponential(self, rate: Floats) -> Floats:  # noqa: D102
        return self.a * _scaled_integral(_ratio(rate, self.b, zero_by_zero=np.inf))

    def slope(self, r: Floats) -> Floats:  # noqa: D102
        return -self.a * self.b / (self.b * r + 1.0) ** 2

    def curvature(self, r: Floats) -> Floats:  # noqa: D102
        return 2.0 * self.a * self.b**2 / (self.b * r + 1.0) ** 3


@dataclass(frozen=True, eq=False)
class TableProbability(Probability):
    """Linear interpolation between the points of a table."""

    times: Floats
    probabilities: Floats

    @property
    def falls(self) -> bool:  # noqa: D102
        return bool((np.diff(self.probabilities) <= 0).all())

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.interp(r, self.times, self.probabilities)

    def mean_exponential(self, rate: Floats) -> Floats:  # noqa: D102
        # by parts: p(0), and for each interval its increase times the mean of P(response > t)
        begin, width = self.times[:-1], np.diff(self.times)
        rise = np.diff(self.probabilities)
        rates = np.asarray(rate, dtype=np.float64)
        mean = np.full(rates.shape, self.probabilities[0])
        for place, value in np.ndenumerate(rates):
            if value < np.inf:
                x = value * width
                share = np.divide(-np.expm1(-x), x, out=np.ones_like(x), where=x > 0)
                mean[place] += float(rise @ (np.exp(-value * begin) * share))
            elif np.isnan(value):
                mean[place] = np.nan
        return mean

    def __str__(self) -> str:
        return f"table of {self.times.size:,} points"


@dataclass(frozen=True, eq=False)
class CustomProbability(Probability):
    """Any function of r."""

    function: Callable[[Any], Any]

    @cached_property
    def falls(self) -> bool:  # noqa: D102
        return bool((np.diff(self.at_times(_PROBES)) <= 1e-12).all())

    @cached_property
    def limit(self) -> Floats:  # noqa: D102
        # a formula may be undefined at infinity
        for far in (np.inf, 1e300, 1e100, 1e30, 1e15):
            try:
                return self.at_times(np.full((), far))
            except QueueingError:
                continue
        return self.at_times(np.full((), 1e9))

    @cached_property
    def _vectorised(self) -> Callable[[Floats], Floats]:
        return vectorised("p", self.function)

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return checked("p", self._vectorised, r, 1.0)

    def slope(self, r: Floats) -> Floats:  # noqa: D102
        from scipy.differentiate import derivative

        step = np.maximum(np.asarray(r) / 8.0, 1e-3)
        # one-sided near r = 0
        side = np.where(np.asarray(r) < 4.0 * step, 1, 0)
        found = derivative(
            self.at_times, r, initial_step=step, step_direction=side, preserve_shape=True
        )
        return np.asarray(found.df)

    def curvature(self, r: Floats) -> Floats:  # noqa: D102
        step = np.maximum(np.asarray(r) / 64.0, 1e-3)
        return (self.slope(r + step) - self.slope(np.maximum(r - step, 0.0))) / (
            r + step - np.maximum(r - step, 0.0)
        )

    def __str__(self) -> str:
        return f"function ({getattr(self.function, '__name__', type(self.function).__name__)})"


def exponential(theta: ArrayLike) -> Exponential:
    """Return the probability e^(-theta r) of another job after a response time r [1]_.

    Parameters
    ----------
    theta : array_like
        Rate of decrease, 0 or more. [1 / unit of S]

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section IV.B, with theta = 1.

    Examples
    --------
    >>> exponential(1)([0, 1]).round(4).tolist()
    [1.0, 0.3679]
    """
    return Exponential(numbers("theta", theta))


def hyperbolic(a: ArrayLike, b: ArrayLike) -> Hyperbolic:
    """Return the probability a / (b r + 1) of another job after a response time r [1]_.

    Parameters
    ----------
    a : array_like
        Probability at response time 0.
    b : array_like
        Rate of decrease, 0 or more. [1 / unit of S]

    References
    ----------
    .. [1] E. Shmueli, D. G. Feitelson, "On simulation and design of parallel-systems schedulers:
       are we doing the right thing?", IEEE TPDS 20(7), 2009: a = 0.8 and b = 0.05 per minute. With
       a mean service time of ten minutes as the unit, b is 0.5.

    Examples
    --------
    >>> hyperbolic(0.8, 0.5)(2)
    0.4
    """
    return Hyperbolic(numbers("a", a), numbers("b", b))


def table(times: ArrayLike, probabilities: ArrayLike) -> TableProbability:
    """Return the probability that interpolates linearly between the points of a table.

    Parameters
    ----------
    times : array_like, shape (n_points,)
        Response times, ascending, 0 or more. [unit of S]
    probabilities : array_like, shape (n_points,)
        Probabilities at these times; constant before the first and after the last.

    Examples
    --------
    >>> table([0, 10], [0.8, 0.2])([5, 50]).tolist()
    [0.5, 0.2]
    """
    r, p = numbers("times", times), numbers("probabilities", probabilities)
    if r.ndim != 1 or r.shape != p.shape or not r.size:
        raise QueueingError(
            f"times has shape {r.shape} and probabilities {p.shape}; both must be 1-d of equal "
            "length, with at least one point"
        )
    if not ((r >= 0) & (r < np.inf)).all() or (np.diff(r) <= 0).any():
        raise QueueingError(f"times is {quoted(times)}; it must be ascending, finite, 0 or more")
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise QueueingError(
            f"p is {p[place]:g} at response time {r[place]:g}; it must be from 0 to 1"
        )
    return TableProbability(r, p)


def as_probability(p: Any) -> Probability:
    """Convert p (a number, an array, a `Probability` or a function of r) to a `Probability`."""
    if isinstance(p, Probability):
        return p
    if callable(p):
        return CustomProbability(p)
    return Constant(numbers("p", p))


def _product(x: Floats, y: Floats) -> Floats:
    """Return x y, with 0 times infinity = 0."""
    with np.errstate(invalid="ignore"):
        return np.where(x == 0, 0.0, np.multiply(x, y))


def _ratio(x: Floats, y: Floats, zero_by_zero: float = 0.0) -> Floats:
    """Return x / y, infinite if only y is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((x == 0) & (y == 0), zero_by_zero, np.divide(x, y))


def _scaled_integral(y: Floats) -> Floats:
    """Return y e^y E1(y), for y from 0 to infinity: the mean of 1 / (1 + x), x exponential."""
    from scipy.special import exp1

    small = np.clip(y, 1e-300, 50.0)
    # from 50 on, the terms of the asymptotic series Σ (-1)^k k! / y^k fall below 1e-15
    inverse = 1.0 / np.maximum(y, 50.0)
    series = np.ones_like(inverse)
    for k in range(20, 0, -1):
        series = 1.0 - k * inverse * series
    return np.where(y < 50.0, np.minimum(y, 50.0) * np.exp(small) * exp1(small), series)


@dataclass(frozen=True, eq=False)
class Breaks(Form):
    """Mean think time: short after a response time of at most `limit`, otherwise long."""

    names = ("short", "long", "limit")
    rules = (not_negative("short"), not_negative("long"), not_negative("limit"))

    short: Floats
    long: Floats
    limit: Floats

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.where(r <= self.limit, self.short, self.long)


@dataclass(frozen=True, eq=False)
class CustomThink(Form):
    """Mean think time as any function of r."""

    function: Callable[[Any], Any]

    @cached_property
    def _vectorised(self) -> Callable[[Floats], Floats]:
        return vectorised("Z", self.function)

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return checked("Z", self._vectorised, r, np.inf)

    def __str__(self) -> str:
        return f"function ({getattr(self.function, '__name__', type(self.function).__name__)})"


def breaks(short: ArrayLike, long: ArrayLike, limit: ArrayLike) -> Breaks:
    """Return the mean think time of users who end their session after a long response time.

    Parameters
    ----------
    short, long : array_like
        Mean think time within a session, and between sessions. [unit of S]
    limit : array_like
        Longest response time after which the session continues. [unit of S]

    Examples
    --------
    >>> breaks(1, 20, 3)([2, 3, 4]).tolist()
    [1.0, 1.0, 20.0]
    """
    return Breaks(numbers("short", short), numbers("long", long), numbers("limit", limit))


def as_think(Z: Any) -> Form | None:
    """Convert a think time that is a function of r to a `Form`; None for a number or an array."""
    if isinstance(Z, Form) and not isinstance(Z, Probability):
        return Z
    return CustomThink(Z) if callable(Z) else None
