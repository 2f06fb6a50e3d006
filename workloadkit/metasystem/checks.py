"""Parts of descriptions that check their fields."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from math import inf
from numbers import Real
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.fields import MAX_PROCS, MAX_TIME


class InvalidFieldError(ParameterError):
    """A field of a description has an invalid value.

    Parameters
    ----------
    field : str
        Its place, such as ``sites[0].speed``.
    value : object
    words : str
        What is wrong.
    """

    def __init__(self, field: str, value: object, words: str) -> None:
        super().__init__(f"{field} is {value!r}; {words}")
        self.field, self.value, self.words = field, value, words


def is_number(value: object, low: float, *, above: bool = False) -> bool:
    """Whether a value is a number from `low`, or above it, up to infinity."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and (low < value if above else low <= value) and value <= inf  # type: ignore


def is_text(value: object) -> bool:
    """Whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def is_name(value: object) -> bool:
    """Whether a value is a text that can name a file."""
    return is_text(value) and not set(str(value)) & set("/\\\0\n") and value not in (".", "..")


def is_whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def are_whole(value: object) -> bool:
    """Whether a value is a sequence of whole numbers."""
    return isinstance(value, tuple) and all(map(is_whole, value))


def is_finite(value: object) -> bool:
    """Whether a value is a finite number, 0 or more."""
    return is_number(value, 0) and value < inf  # type: ignore[operator]


NOT_NEGATIVE = is_finite, "it must be a number, 0 or more"
TIME = (
    lambda value: is_number(value, 0) and value <= MAX_TIME,
    f"it must be a number, 0 or more, up to {float(MAX_TIME):g}",
)
POSITIVE = lambda value: is_number(value, 0, above=True) and value < inf, "it must be positive"
COUNT = (
    lambda value: is_whole(value) and 1 <= value <= MAX_PROCS,
    "it must be a whole number from 1",
)
TEXT = is_text, "it must be a text"
NAME = is_name, "it must be a text that can name a file"
SHARE = lambda value: is_number(value, 0) and value <= 1, "it must be from 0 to 1"
NUMBERS = are_whole, "it must be a list of whole numbers"
SEED = lambda value: is_whole(value) and value >= 0, "it must be a whole number, 0 or more"

Check = tuple[Callable[[Any], bool], str]


class Checked:
    """A part of a description that checks its fields; None is valid where it is the default."""

    checks: ClassVar[dict[str, Check]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            valid, words = self.checks.get(field.name, (None, ""))
            is_default = value is None and field.default is None
            if valid is not None and not is_default and not valid(value):
                raise InvalidFieldError(field.name, value, words)


def check_distinct(what: str, names: Iterable[str]) -> None:
    """Check that names are distinct."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise InvalidFieldError(f"{what}[{i}].name", name, "another one has this name")
        seen.add(name)
