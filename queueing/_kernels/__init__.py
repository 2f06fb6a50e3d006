"""Compiled loops with arrays and scalars, checked by the public functions."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

try:
    import numba
except ImportError:  # the loops run as plain Python
    numba = None  # type: ignore[assignment]

# Compilation of long recursions.

#: Division by zero gives inf or nan, as in numpy.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` when it is first called; later processes load it from the cache.

    The cache only notices edits in the file of the kernel, so helpers must be in the same file.
    Its files are unpickled, which can run code. So they are kept next to the source only, where
    they are trusted as the source is, and in none of the other folders that numba may choose.
    """
    if numba is None:
        return function
    next_to_source = Path(function.__code__.co_filename).with_name("__pycache__")
    with suppress(RuntimeError):  # no folder is writable
        kept: Any = numba.njit(cache=True, **OPTIONS)(function)
        if kept is function or Path(kept.stats.cache_path) == next_to_source:
            return kept  # the function itself if the compiler is off
    return numba.njit(function, **OPTIONS)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels of the same file call; it becomes part of their code."""
    return function if numba is None else numba.njit(function, **OPTIONS)


SLICE = 10**6  # steps of a recursion between two looks at signals, some ten milliseconds


def run_in_slices(recursion: Callable[..., bool], *arguments: Any) -> None:
    """Run a recursion that goes on where it returned, so that signals are handled meanwhile."""
    at = np.zeros(2, np.int64)
    while not recursion(*arguments, at, SLICE):
        pass
