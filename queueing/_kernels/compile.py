"""Compilation of long recursions."""

from collections.abc import Callable
from typing import Any

import numba

#: Division by zero gives inf or nan, as in numpy.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache.

    The cache only notices edits in the file of the kernel, so helpers must be in the same file.
    """
    try:
        return numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no writable directory: each process compiles again
        return numba.njit(function, **OPTIONS)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels of the same file call; it becomes part of their code."""
    return numba.njit(function, **OPTIONS)
