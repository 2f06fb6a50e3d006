"""Arguments of models: numbers or arrays, broadcast to one shape and checked."""

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.errors import QueueingError, QueueingWarning, quoted

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: What a model returns: a float for numbers, an array for arrays.
Value = float | Floats


class Condition(NamedTuple):
    """A condition on a parameter.

    Parameters
    ----------
    name : str
        Parameter named in the error.
    holds : callable
        Function from all parameters (arrays of one shape, by name) to where the condition holds. It
        must be False for NaN.
    condition : str
        Text after "lam is 1.2; it must ...".
    """

    name: str
    holds: Callable[[Mapping[str, Floats]], Flags]
    condition: str


def not_negative(name: str) -> Condition:
    """Return the condition that a parameter is finite and 0 or more."""
    return Condition(name, lambda p: (p[name] >= 0) & (p[name] < np.inf), "be finite, 0 or more")


def positive(name: str) -> Condition:
    """Return the condition that a parameter is finite and positive."""
    return Condition(name, lambda p: (p[name] > 0) & (p[name] < np.inf), "be finite, above 0")


def count(name: str, least: int = 1) -> Condition:
    """Return the condition that a parameter is a whole number."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        value = p[name]
        return (value >= least) & (value < np.inf) & (value == np.floor(value))

    return Condition(name, holds, f"be a whole number, {least} or more")


def probability(name: str) -> Condition:
    """Return the condition that a parameter is a probability."""
    return Condition(name, lambda p: (p[name] >= 0) & (p[name] <= 1), "be from 0 to 1")


def points(rules: Iterable[Condition], **values: ArrayLike) -> dict[str, Floats]:
    """Broadcast the parameters to one shape and check their conditions.

    Parameters
    ----------
    rules : iterable of Condition
        In the order of checking.
    **values : array_like

    Returns
    -------
    dict of str to ndarray
        The parameters in the given order, of one shape. At points that violate a condition all
        parameters are NaN.

    Raises
    ------
    QueueingError
        If a value is not a number, the shapes cannot be broadcast, or, if all values are single
        numbers, a condition is violated.

    Warns
    -----
    QueueingWarning
        Once, if some points of an array violate a condition: their number, and the first one.

    Examples
    --------
    >>> points([not_negative("S")], lam=[0.1, 0.2], S=1)
    {'lam': array([0.1, 0.2]), 'S': array([1., 1.])}
    >>> points([not_negative("S")], S=-1)
    Traceback (most recent call last):
    workloadkit.queueing.errors.QueueingError: S is -1; it must be finite, 0 or more
    """
    parameters = _broadcast({name: numbers(name, value) for name, value in values.items()})
    shape = next(iter(parameters.values())).shape
    good = np.ones(shape, np.bool_)
    message = ""
    for rule in rules:
        violated = good & ~rule.holds(parameters)
        if not violated.any():
            continue
        first = np.unravel_index(int(np.argmax(violated)), shape)
        found = f"{rule.name} is {parameters[rule.name][first]:g}"
        if not shape:
            raise QueueingError(f"{found}; it must {rule.condition}")
        place = ", ".join(map(str, first))
        message = message or f"{found} at [{place}], and must {rule.condition}"
        good &= ~violated
    if message:
        bad = good.size - int(good.sum())
        warn(f"{bad:,} of {good.size:,} points have no solution and are nan: {message}")
        parameters = {k: np.where(good, value, np.nan) for k, value in parameters.items()}
    return parameters


def missing(failures: Mapping[int, str], shape: tuple[int, ...]) -> None:
    """Report points without a solution.

    Parameters
    ----------
    failures : mapping of int to str
        Reason by index in the flattened array of points.
    shape : tuple of int
        Shape of the points.

    Raises
    ------
    QueueingError
        If there is a single point and it failed.

    Warns
    -----
    QueueingWarning
        Once, if some points of an array failed: their number, and the first one.
    """
    if not failures:
        return
    place, why = min(failures.items())
    if not shape:
        raise QueueingError(why)
    at = ", ".join(map(str, np.unravel_index(place, shape)))
    warn(
        f"{len(failures):,} of {np.prod(shape):,} points have no solution and are nan: at [{at}], "
        f"{why}"
    )


def warn(message: str) -> None:
    """Warn at the caller's line outside of the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(
        "workloadkit.queueing."
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, QueueingWarning, stacklevel=level)


def numbers(name: str, value: Any) -> Floats:
    """Return an argument as floats; masked values become NaN.

    Raises
    ------
    QueueingError
        If it contains anything but real numbers.

    Examples
    --------
    >>> numbers("N", "x")
    Traceback (most recent call last):
    workloadkit.queueing.errors.QueueingError: N is 'x'; it must be a number, or an array of numbers
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iuf":  # strings of digits and bools are not accepted
            raise TypeError(given.dtype)
    except (TypeError, ValueError):
        raise QueueingError(
            f"{name} is {quoted(value)}; it must be a number, or an array of numbers"
        ) from None
    found = given.astype(np.float64)
    if np.ma.isMaskedArray(value):
        found[np.ma.getmaskarray(value)] = np.nan
    return found


def plain(value: Floats) -> Value:
    """Return a 0-d array as a float, any other array unchanged."""
    return value.item() if value.ndim == 0 else value


def _broadcast(values: Mapping[str, Floats]) -> dict[str, Floats]:
    try:
        arrays = np.broadcast_arrays(*values.values())
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items() if value.ndim)
        raise QueueingError(f"cannot broadcast parameters: {shapes}") from None
    return dict(zip(values, arrays, strict=True))
