"""Kernels as plain Python on lists, whose items it reads some four times as fast as an array's.

Such a kernel takes arrays, numbers and generators, and returns numbers and the arrays that it
creates. It indexes tables row by row, and uses what lists have too: `len`, slices, `copy`.
"""

import math
from collections.abc import Callable
from functools import cache
from threading import local
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

_created = local()


def on_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes and returns arrays, and in between does the same on lists."""

    def call(*arguments: Any) -> Any:
        _created.lists = []
        lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
        found = _rebuilt(function)(*lists)
        return tuple(map(_array, found)) if isinstance(found, tuple) else _array(found)

    return call


@cache
def _rebuilt(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose arrays are lists, and those that it calls, too."""
    known = function.__globals__ | {"np": _LISTS}
    for name in function.__code__.co_names:
        if inner := getattr(known.get(name), "py_func", None):
            known[name] = _rebuilt(inner)
    return FunctionType(function.__code__, known)


def _array(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return np.array(value, next((kind for made, kind in _created.lists if made is value), None))


def _full(shape: int | tuple[int, int], value: Any, kind: Any = None) -> list[Any]:
    *rows, n = shape if isinstance(shape, tuple) else (shape,)
    made = [[value] * n for _ in range(rows[0])] if rows else [value] * n
    _created.lists.append((made, kind or type(value)))
    return made


def _zeros(shape: int | tuple[int, int], kind: Any = np.float64) -> list[Any]:
    return _full(shape, kind(0).item(), kind)


_LISTS = SimpleNamespace(
    zeros=_zeros, empty=_zeros, full=_full, sqrt=math.sqrt, inf=math.inf, nan=math.nan,
    int64=np.int64, float64=np.float64,
)  # fmt: skip
