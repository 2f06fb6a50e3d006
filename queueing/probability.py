"""How likely a user is to submit another job, by the response time r of the last.

The parameters of the forms are numbers or arrays, which broadcast with the other parameters of a
model; r is in the unit of S, and what multiplies it in the inverse of that unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from queueing.arguments import Floats, not_negative, numbers, probability
from queueing.errors import QueueingError
from queueing.response_function import Form, averaged, checked, vectorised

#: Response times at which one's own function is looked at: whether it falls.
_PROBES = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 1501)])


@dataclass(frozen=True, eq=False)
class Probability(Form):
    """A form whose values are probabilities, p(r)."""

    #: Whether it is the same for all r; the model then has product form.
    constant: ClassVar[bool] = False

    @property
    def falls(self) -> bool:
        """Whether it never rises with r."""
        return True

    @property
    def first(self) -> Floats:
        """Its value after no time at all."""
        return self.at_times(np.zeros(()))

    @property
    def limit(self) -> Floats:
        """Its value after infinite time, on which the load depends that the model can bear."""
        return self.at_times(np.full((), np.inf))

    def mean_exponential(self, rate: Floats) -> Floats:
        """Return its mean over exponential responses of these rates, from 0 to infinity."""
        return averaged(self.at_times, rate)

    def slope(self, r: Floats) -> Floats:
        """Return its first derivative."""
        raise QueueingError(f"p is a {self}, which has no derivative")

    def curvature(self, r: Floats) -> Floats:
        """Return its second derivative."""
        raise QueueingError(f"p is a {self}, which has no derivative")


@dataclass(frozen=True, eq=False)
class Constant(Probability):
    """The same probability after every response."""

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
class Table(Probability):
    """The probability goes straight from one point of a table to the next."""

    times: Floats
    probabilities: Floats

    @property
    def falls(self) -> bool:  # noqa: D102
        return bool((np.diff(self.probabilities) <= 0).all())

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.interp(r, self.times, self.probabilities)

    def mean_exponential(self, rate: Floats) -> Floats:  # noqa: D102
        # by parts: p(0) and, for each piece, its rise times the mean of P(response > t) over it
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
class OwnProbability(Probability):
    """Any function of r."""

    function: Callable[[Any], Any]

    @cached_property
    def falls(self) -> bool:  # noqa: D102
        return bool((np.diff(self.at_times(_PROBES)) <= 1e-12).all())

    @cached_property
    def limit(self) -> Floats:  # noqa: D102
        # at infinity itself formulas may have no value
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
        # before r = 0 there is nothing to look at
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
    """Return the probability e^(-theta r) of another job after a response of r [1]_.

    Parameters
    ----------
    theta : array_like
        How fast it falls, 0 or more. [1 / unit of S]

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
    """Return the probability a / (b r + 1) of another job after a response of r [1]_.

    Parameters
    ----------
    a : array_like
        Probability after no time at all.
    b : array_like
        How fast it falls, 0 or more. [1 / unit of S]

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


def table(times: ArrayLike, probabilities: ArrayLike) -> Table:
    """Return the probability that goes straight from one point of a table to the next.

    Parameters
    ----------
    times : array_like, shape (n_points,)
        Responses, ascending, 0 or more. [unit of S]
    probabilities : array_like, shape (n_points,)
        Before the first time it is the first one, behind the last the last.

    Examples
    --------
    >>> table([0, 10], [0.8, 0.2])([5, 50]).tolist()
    [0.5, 0.2]
    """
    r, p = numbers("times", times), numbers("probabilities", probabilities)
    if r.ndim != 1 or r.shape != p.shape or not r.size:
        raise QueueingError(
            f"times has the shape {r.shape} and probabilities {p.shape}; it must be the same, of "
            "one dimension, with one point at least"
        )
    if not ((r >= 0) & (r < np.inf)).all() or (np.diff(r) <= 0).any():
        raise QueueingError(f"times is {times!r}; they must ascend and be finite, 0 or more")
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise QueueingError(
            f"p is {p[place]:g} after a response of {r[place]:g}; it must be from 0 to 1"
        )
    return Table(r, p)


def as_probability(p: Any) -> Probability:
    """Return p, a number, an array, a form or any function of r, as a form.

    Raises
    ------
    QueueingError
        If it is none of these.
    """
    if isinstance(p, Probability):
        return p
    if callable(p):
        return OwnProbability(p)
    return Constant(numbers("p", p))


def _product(x: Floats, y: Floats) -> Floats:
    """Return x y, 0 where x is 0 and y infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(x == 0, 0.0, np.multiply(x, y))


def _ratio(x: Floats, y: Floats, zero_by_zero: float = 0.0) -> Floats:
    """Return x / y, infinite where y alone is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((x == 0) & (y == 0), zero_by_zero, np.divide(x, y))


def _scaled_integral(y: Floats) -> Floats:
    """Return y e^y E1(y), for y from 0 to infinity: the mean of 1 / (1 + x) over rate y."""
    from scipy.special import exp1

    small = np.clip(y, 1e-300, 50.0)
    # from 50 on the asymptotic series Σ (-1)^k k! / y^k has terms that fall to 1e-15 and below
    inverse = 1.0 / np.maximum(y, 50.0)
    series = np.ones_like(inverse)
    for k in range(20, 0, -1):
        series = 1.0 - k * inverse * series
    return np.where(y < 50.0, np.minimum(y, 50.0) * np.exp(small) * exp1(small), series)
