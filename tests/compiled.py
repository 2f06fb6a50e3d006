"""Helpers that only kernels call, called from Python."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba


@cache
def from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a caller of a helper."""
    return numba.njit(lambda *arguments: function(*arguments))
