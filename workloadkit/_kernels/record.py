"""Records: scalars that kernels and Python read and write by name.

A record is passed by reference, as an array is. A subclass declares the fields::

    class At(Record):
        arrived: int
        is_late: bool
        next_start: Time

Whole numbers are int64, others float64; a `Time` is one or the other, by the log.
"""

from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

#: The type of a field that is a time of the log.
Time: TypeAlias = Any

#: Letters of `struct` by type, and one for times.
_LETTERS: dict[Any, str] = {int: "q", float: "d", bool: "?", np.uint32: "I", Time: "t"}


# Tuples that are passed by reference.
#
# The compiler passes a tuple by value, with all components of its arrays: one of dozens of arrays
# becomes hundreds of arguments, at every call. A reference is one argument. Its fields are read by
# name as those of the tuple; a tuple within it is a reference again.


def by_reference(thing: Any) -> Any:
    """Return a NamedTuple unchanged; within a kernel, a reference to it.

    The reference is valid until the function that made it returns.
    """
    return thing


# Records.


class _Field:
    """A field in Python; kernels read the memory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: Any, kind: type) -> Any:
        return record.memory[self._name].item()

    def __set__(self, record: Any, value: Any) -> None:
        record.memory[self._name] = value


class _WithoutOthers(type):
    """Makes classes whose objects have the declared fields alone, as they have in kernels."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        return super().__new__(cls, name, bases, {"__slots__": (), **body})


class Record(metaclass=_WithoutOthers):
    """Base of records; fields are 0 unless they are given.

    Parameters
    ----------
    dtype : dtype, default int64
        That of the times of the log.
    **values : scalar
        By the names of the fields.
    """

    __slots__ = ("letters", "memory")

    fields: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        own = cls.__annotations__
        cls.fields = {**cls.fields, **{name: _LETTERS[own[name]] for name in own}}
        for name in own:
            setattr(cls, name, _Field(name))

    def __init__(self, dtype: Any = np.int64, /, **values: Any) -> None:
        time = "d" if np.dtype(dtype).kind == "f" else "q"
        self.letters = "".join(self.fields.values()).replace("t", time)
        self.memory = np.zeros((), _layout(tuple(self.fields), self.letters))
        for name, value in values.items():
            setattr(self, name, value)

    def over(self, memory: np.ndarray) -> Self:
        """Return the record in other memory, such as a row of an array."""
        other = copy(self)
        other.memory = memory
        return other

    @property
    def address(self) -> int:
        """Where the memory begins, for native code."""
        address: int = self.memory.ctypes.data
        return address

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self.memory == other.memory)


@cache
def _layout(names: tuple[str, ...], letters: str) -> np.dtype:
    """Return how a record is laid out, as C does."""
    return np.dtype(list(zip(names, letters, strict=True)), align=True)
