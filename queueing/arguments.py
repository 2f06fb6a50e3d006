"""Arguments of models: numbers or arrays, broadcast to one shape, each held to its condition."""

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queueing.errors import QueueingError, QueueingWarning

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: What a model returns: a float for numbers, an array for arrays.
Value = float | Floats


class Rule(NamedTuple):
    """What must hold of a parameter.

    Parameters
    ----------
    name : str
        The parameter to blame.
    holds : callable
        From all parameters by name, arrays of one shape, to where it holds. NaN must not hold.
    condition : str
        The words behind "lam is 1.2; it must ...".
    """

    name: str
    holds: Callable[[Mapping[str, Floats]], Flags]
    condition: str


def not_negative(name: str) -> Rule:
    """Return the rule of a parameter that is finite, 0 or more."""
    return Rule(name, lambda p: (p[name] >= 0) & (p[name] < np.inf), "be finite, 0 or more")


def positive(name: str) -> Rule:
    """Return the rule of a parameter that is finite, above 0."""
    return Rule(name, lambda p: (p[name] > 0) & (p[name] < np.inf), "be finite, above 0")


def count(name: str, least: int = 1) -> Rule:
    """Return the rule of a parameter that is a whole number."""

    def holds(p: Mapping[str, Floats]) -> Flags:
        value = p[name]
        return (value >= least) & (value < np.inf) & (value == np.floor(value))

    return Rule(name, holds, f"be a whole number, {least} or more")


def probability(name: str) -> Rule:
    """Return the rule of a parameter that is a probability."""
    return Rule(name, lambda p: (p[name] >= 0) & (p[name] <= 1), "be from 0 to 1")


def points(rules: Iterable[Rule], **values: ArrayLike) -> dict[str, Floats]:
    """Broadcast the parameters to one shape and hold them to their rules.

    Parameters
    ----------
    rules : iterable of Rule
        In the order in which they are blamed.
    **values : array_like

    Returns
    -------
    dict of str to ndarray
        The parameters in the order given, of one shape; NaN, all of them, at points that break a
        rule.

    Raises
    ------
    QueueingError
        If one is not a number, the shapes do not go together, or, where all are single numbers, a
        rule is broken.

    Warns
    -----
    QueueingWarning
        Once, if some points of an array break a rule: how many, and the first.

    Examples
    --------
    >>> points([not_negative("S")], lam=[0.1, 0.2], S=1)
    {'lam': array([0.1, 0.2]), 'S': array([1., 1.])}
    >>> points([not_negative("S")], S=-1)
    Traceback (most recent call last):
    queueing.errors.QueueingError: S is -1; it must be finite, 0 or more
    """
    parameters = _broadcast({name: numbers(name, value) for name, value in values.items()})
    shape = next(iter(parameters.values())).shape
    good = np.ones(shape, np.bool_)
    blamed = ""
    for rule in rules:
        broken = good & ~rule.holds(parameters)
        if not broken.any():
            continue
        first = np.unravel_index(int(np.argmax(broken)), shape)
        told = f"{rule.name} is {parameters[rule.name][first]:g}"
        if not shape:
            raise QueueingError(f"{told}; it must {rule.condition}")
        place = ", ".join(map(str, first))
        blamed = blamed or f"{told} at [{place}], and must {rule.condition}"
        good &= ~broken
    if blamed:
        bad = good.size - int(good.sum())
        warn(f"{bad:,} of {good.size:,} points have no answer and are nan: {blamed}")
        parameters = {k: np.where(good, value, np.nan) for k, value in parameters.items()}
    return parameters


def missing(failures: Mapping[int, str], shape: tuple[int, ...]) -> None:
    """Tell of points that have no answer for reasons found while solving.

    Parameters
    ----------
    failures : mapping of int to str
        Why, by the place in the flattened array of points.
    shape : tuple of int
        Of the points.

    Raises
    ------
    QueueingError
        If there is one point, and it failed.

    Warns
    -----
    QueueingWarning
        Once, if some of an array failed: how many, and the first.
    """
    if not failures:
        return
    place, why = min(failures.items())
    if not shape:
        raise QueueingError(why)
    at = ", ".join(map(str, np.unravel_index(place, shape)))
    warn(
        f"{len(failures):,} of {np.prod(shape):,} points have no answer and are nan: at [{at}], "
        f"{why}"
    )


def warn(told: str) -> None:
    """Warn at the line outside of the package that asked, however deep inside it was noticed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("queueing."):
        level, frame = level + 1, frame.f_back
    warnings.warn(told, QueueingWarning, stacklevel=level)


def numbers(name: str, value: Any) -> Floats:
    """Return an argument as floats; what a masked array hides is NaN.

    Raises
    ------
    QueueingError
        If it holds something else than real numbers.

    Examples
    --------
    >>> numbers("N", "ten")
    Traceback (most recent call last):
    queueing.errors.QueueingError: N is 'ten'; it must be a number, or an array of numbers
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iuf":  # text of digits and truth values are no numbers
            raise TypeError(given.dtype)
    except (TypeError, ValueError):
        raise QueueingError(
            f"{name} is {value!r}; it must be a number, or an array of numbers"
        ) from None
    found = given.astype(np.float64)
    if np.ma.isMaskedArray(value):
        found[np.ma.getmaskarray(value)] = np.nan
    return found


def plain(value: Floats) -> Value:
    """Return an array without dimensions as a float, any other as it is."""
    return value.item() if value.ndim == 0 else value


def _broadcast(values: Mapping[str, Floats]) -> dict[str, Floats]:
    try:
        arrays = np.broadcast_arrays(*values.values())
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items() if value.ndim)
        raise QueueingError(f"the shapes of the parameters do not go together: {shapes}") from None
    return dict(zip(values, arrays, strict=True))
