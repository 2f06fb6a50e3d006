"""Parameters of queueing models as words, ``name=value``, with lists, ranges and functions."""

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from workloadkit.errors import ParameterError, WorkloadWarning, among, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The largest number of points of a grid.
MAX_POINTS = 10**6

#: What separates the rows of an array.
_ROWS = re.compile("[;/]")

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER})(?::({_NUMBER}))?", re.IGNORECASE | re.ASCII)


def read_grids(
    words: Iterable[str], known: Collection[str], *, vectors: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Read the parameters of a model.

    Parameters
    ----------
    words : iterable of str
        ``name=value``; a repeated name has further values.
    known : collection of str
        The known names.
    vectors : collection of str, optional
        Names for which a list is one value, and lists separated by semicolons or slashes are its
        rows.

    Returns
    -------
    list of dict
        One for each combination of functions and methods. Each contains all combinations of the
        numbers: arrays of one dimension and length where numbers vary, the last one fastest.

    Raises
    ------
    ParameterError
        For a malformed word, an unknown name, a wrong value, or too many points.

    Examples
    --------
    >>> (found,) = read_grids(["lam=0.1,0.2", "N=1:3", "S=1"], ["lam", "N", "Z", "S"])
    >>> found["N"].tolist(), found["S"]
    ([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], 1.0)
    """
    axes: dict[str, list[Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and name and text):
            raise ParameterError(
                f"{quoted(word)} is not a parameter; write name=value, such as N=10"
            )
        if name not in known:
            raise ParameterError(f"unknown parameter {quoted(name)}; {among(name, known)}")
        values = [_vector(name, text)] if name in vectors else _values(name, text)
        axes.setdefault(name, []).extend(values)
    size = prod(float(len(values)) for values in axes.values())
    if size > MAX_POINTS:
        raise ParameterError(f"the grid has {size:,.0f} points; the limit is {MAX_POINTS:,}")
    numeric = {
        name: values
        for name, values in axes.items()
        if all(isinstance(value, float) for value in values)
    }
    others = {name: values for name, values in axes.items() if name not in numeric}
    flat = _combined(numeric)
    return [
        {name: (flat | dict(zip(others, choice, strict=True)))[name] for name in axes}
        for choice in product(*others.values())
    ]


def read_arrays(
    words: Iterable[str], known: Collection[str]
) -> "dict[str, NDArray[np.float64] | str]":
    """Read parameters that are arrays: numbers separated by commas, rows by semicolons or slashes.

    An order of priorities remains a word.

    Examples
    --------
    >>> found = read_arrays(["demands=0.6,1/0.3,2", "N=3,2"], ["demands", "N"])
    >>> found["demands"].tolist(), found["N"].tolist()
    ([[0.6, 1.0], [0.3, 2.0]], [3.0, 2.0])
    """
    import numpy as np

    found: dict[str, NDArray[np.float64] | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and name and text):
            raise ParameterError(
                f"{quoted(word)} is not a parameter; write name=value, such as N=10"
            )
        if name not in known:
            raise ParameterError(f"unknown parameter {quoted(name)}; {among(name, known)}")
        if name == "order":
            found[name] = text
            continue
        try:
            rows = [[float(cell) for cell in row.split(",")] for row in _ROWS.split(text)]
            values = np.array(rows if len(rows) > 1 else rows[0])
        except ValueError:
            raise ParameterError(
                f"{name} is {quoted(text)}; write numbers, with rows separated by ; or /"
            ) from None
        single = values.size == 1 and name not in ("demands", "open_demands")
        found[name] = values.reshape(()) if single else values
    return found


@contextmanager
def as_our_errors() -> Iterator[None]:
    """Raise errors and warnings of `queueing` as those of the toolkit."""
    from workloadkit.queueing import QueueingError, QueueingWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QueueingWarning)
        try:
            yield
        except QueueingError as error:
            raise ParameterError(str(error)) from None
    for warning in caught:
        message: Any = warning.message
        if isinstance(message, QueueingWarning):
            message = WorkloadWarning(str(message))
        warnings.warn(message, stacklevel=3)


def _combined(axes: Mapping[str, list[float]]) -> "dict[str, float | NDArray[np.float64]]":
    """Return all combinations as arrays; a single value stays a number if all are single."""
    if all(len(values) == 1 for values in axes.values()):
        return {name: values[0] for name, values in axes.items()}
    import numpy as np

    arrays = np.meshgrid(*axes.values(), indexing="ij")
    return {
        name: values[0] if len(values) == 1 else array.ravel()
        for (name, values), array in zip(axes.items(), arrays, strict=True)
    }


def _vector(name: str, text: str) -> "NDArray[np.float64]":
    """Return a list as one value, or several lists as its rows."""
    import numpy as np

    rows = [
        [x for part in row.split(",") for x in _numbers(name, part)] for row in _ROWS.split(text)
    ]
    if len({len(row) for row in rows}) > 1:
        raise ParameterError(f"{name} is {quoted(text)}; its rows must have one length")
    return np.array(rows if len(rows) > 1 else rows[0])


def _values(name: str, text: str) -> list[Any]:
    """Return the values of one word: floats, a function, or a name."""
    if name in ("method", "order"):
        return text.split(",")
    if _is_function(text):
        read = {"p": _probability, "Z": _think_time}.get(name)
        if read is None:
            raise ParameterError(
                f"{name} is {quoted(text)}; it must be a number, a list or a range"
            )
        return [read(text)]
    return [value for part in text.split(",") for value in _numbers(name, part)]


def _is_function(text: str) -> bool:
    return text[0].isalpha() and text.lower() not in ("inf", "nan")


def _numbers(name: str, text: str) -> list[float]:
    """Return a number, or those of a range, both ends included."""
    if match := _RANGE.fullmatch(text):
        first, last, step = (float(x) for x in (match[1], match[2], match[3] or 1))
        if not (step > 0 and last >= first):
            raise ParameterError(
                f"{name} is {quoted(text)}, not a range; write first:last, or first:last:step"
            )
        # rounding must not leave out the end of the range
        steps = (last - first) / step * (1 + 1e-12) + 1e-9
        if steps >= MAX_POINTS:
            raise ParameterError(f"{name} is {quoted(text)}; the limit is {MAX_POINTS:,} points")
        return [float(f"{first + i * step:.12g}") for i in range(int(steps) + 1)]
    try:
        return [float(text)]
    except ValueError:
        raise ParameterError(
            f"{name} is {quoted(text)}; it must be a number, a list such as 1,2,5 or a range "
            "such as 1:100 or 0.1:0.9:0.1"
        ) from None


def _probability(text: str) -> Any:
    """Return the function p of `queueing`; the simulator reads the same words."""
    from workloadkit import queueing
    from workloadkit.simulation.users.queueing import again

    form = again.parse_again(text, name="p")
    if isinstance(form, again.ExponentialAgain):
        return queueing.exponential(form.theta)
    if isinstance(form, again.HyperbolicAgain):
        return queueing.hyperbolic(form.a, form.b)
    if isinstance(form, again.AgainTable):
        return queueing.table(form.times, form.probabilities)
    return form.p


def _think_time(text: str) -> Any:
    """Return a think time that depends on the response, of `queueing`."""
    from workloadkit import queueing
    from workloadkit.simulation.users.queueing.customers import BreakPause, parse_pause

    form = parse_pause(text, name="Z")
    if isinstance(form, BreakPause):
        return queueing.breaks(form.short, form.long, form.limit)
    return form
