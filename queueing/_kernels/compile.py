"""How long recursions are compiled."""

from collections.abc import Callable
from typing import Any

import numba

#: Division by zero gives inf or nan, as in numpy.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache.

    The cache notices an edit in the file of a kernel only: its helpers belong into the same file.
    """
    try:
        return numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no directory can be written to: each process compiles for itself
        return numba.njit(function, **OPTIONS)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels of the same file call; it is kept within their code."""
    return numba.njit(function, **OPTIONS)
