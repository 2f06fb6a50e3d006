"""Arguments and results of native code, in memory.

A layout describes the types of a value: a letter of `struct` for a number; for an array the letter
of its numbers, its dimensions and flags; for a tuple its class and the layouts of its elements;
for a record its class and letters, for an array of records their type in words.
Equal layouts are equal types to the compiler.
"""

import ctypes
from collections.abc import Iterator
from functools import cache
from struct import Struct, calcsize
from typing import Any, TypeAlias

import numpy as np

from workloadkit._kernels.record import Record

_RANDOM = np.random.Generator
_LETTERS = {np.dtype(letter): letter for letter in "?bBhHiIqQfd"}
_C_ORDER, _F_ORDER, _OTHERS = 1, 2, 0x500  # flags of an array; aligned and writeable
_NOTHING = "x"

Layout: TypeAlias = "str | int | type | tuple[Layout, ...]"

#: Fields of the compiler's structures, in the order in which they are written here.
FIELDS_OF_ARRAY = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")
FIELDS_OF_GENERATOR = ("bit_generator", "meminfo", "parent")
FIELDS_OF_BITS = (
    *("parent", "state_address", "state", "fnptr_next_uint64", "fnptr_next_uint32"),
    *("fnptr_next_double", "bit_generator"),
)


class LayoutError(Exception):
    """Values of a type that is not known here."""


def lay_out(value: Any) -> tuple[Any, list[Any]]:
    """Return the layout of a value, and its content as numbers."""
    words: list[Any] = []
    return _add(value, words), words


def _add(value: Any, words: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        flags = value.flags.num
        order = flags & _C_ORDER or flags & _F_ORDER
        letter = _LETTERS.get(value.dtype) or (value.dtype.names and str(value.dtype))
        if letter is None:
            raise LayoutError
        # the first two: who counts references to the array; the caller keeps it
        words += (0, 0, value.size, value.itemsize, value.__array_interface__["data"][0])
        words += value.shape
        words += value.strides
        return letter, value.ndim, order | flags & _OTHERS
    if isinstance(value, tuple):
        return type(value), *[_add(part, words) for part in value]
    if isinstance(value, Record):
        words.append(value.address)
        return type(value), value.letters
    if value is None:
        words.append(0)
        return _NOTHING
    if isinstance(value, np.generic):
        words.append(value.item())
        letter = _LETTERS.get(value.dtype)
    elif type(value) is _RANDOM:
        words += _words_of_generator(value)
        return _RANDOM
    else:
        words.append(value)
        letter = {bool: "?", int: "q", float: "d"}.get(type(value))
        if letter == "q" and value.bit_length() > 63:
            raise LayoutError
    if letter is None:
        raise LayoutError
    return letter


def _words_of_generator(rng: np.random.Generator) -> list[int]:
    bits: Any = rng.bit_generator
    known = bits.ctypes
    functions = (known.next_uint64, known.next_uint32, known.next_double)
    addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    state = known.state_address, known.state.value
    # the compiler reads `bit_generator.ctypes.bit_generator` nowhere
    return [id(bits), *state, *addresses, 0, 0, id(rng)]


def _format(layout: Any) -> str:
    """Return the format of a layout for `struct`; numbers are aligned as in C."""
    if layout is _RANDOM:
        return "0q9q"
    if isinstance(layout, str):
        return "q" if layout == _NOTHING else layout
    head, *rest = layout
    if isinstance(head, str):
        return f"0q{5 + 2 * rest[0]}q"
    if issubclass(head, Record):
        return "q"
    inner = "".join(map(_format, rest))
    widest = max((c for c in inner if c.isalpha() or c == "?"), key=calcsize, default="b")
    return f"0{widest}{inner}0{widest}"


@cache
def struct_of(layout: Any) -> Struct:
    """Return how values of a layout are packed."""
    return Struct(_format(layout))


def pack(layout: Any, words: list[Any]) -> bytes:
    """Return the memory of a value."""
    return struct_of(layout).pack(*words)


def text_of(layout: Any) -> str:
    """Return a layout as text that is the same in each process."""
    if isinstance(layout, type):
        return f"{layout.__module__}.{layout.__qualname__}"
    if isinstance(layout, tuple):
        return f"({' '.join(map(text_of, layout))})"
    return str(layout)


def from_json(layout: Any) -> Any:
    """Return the layout of a result as it was before it was written as JSON."""
    if isinstance(layout, list):
        head, *rest = layout
        return (tuple if head == "tuple" else head, *map(from_json, rest))
    return layout


def unpack(layout: Any, memory: bytes, release: Any) -> Any:
    """Return a value of a layout; `release(words)` makes an array of what describes it."""
    return _next(layout, iter(struct_of(layout).unpack(memory)), release)


def _next(layout: Any, words: Iterator[Any], release: Any) -> Any:
    if isinstance(layout, str):
        word = next(words)
        return None if layout == _NOTHING else word
    head, *rest = layout
    if isinstance(head, str):
        n_dims = rest[0]
        return release(head, n_dims, [next(words) for _ in range(5 + 2 * n_dims)])
    return head(_next(part, words, release) for part in rest)
