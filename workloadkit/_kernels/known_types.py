"""Cached types of tuples of dozens of arrays.

Before a call the compiler determines the type of every array argument and of the tuple of them,
which for users who react takes longer than the simulation of a week.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba.extending import typeof_impl

_known: dict[Any, Any] = {}
_of_tuples = typeof_impl.dispatch(tuple)


def know_types(kinds: Iterable[type]) -> None:
    """Cache the types of tuples of some classes."""
    for kind in kinds:
        typeof_impl.register(kind)(_type_of)


def _type_of(value: Any, context: Any) -> Any:
    """Return the type of a tuple, as the compiler does."""
    key = _layout(value)
    if key not in _known:
        _known[key] = _of_tuples(value, context)
    return _known[key]


def _layout(value: Any) -> Any:
    """Return all that determines the type of a value."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return type(value), *map(_layout, value)
    return type(value)
