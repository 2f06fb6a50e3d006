"""Mean think time of a user, as a function of the response time of the last job."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, not_negative, numbers
from workloadkit.queueing.probability import Probability
from workloadkit.queueing.response_function import Form, checked, vectorised


@dataclass(frozen=True, eq=False)
class Breaks(Form):
    """Mean think time: short after a response time of at most `limit`, otherwise long."""

    names = ("short", "long", "limit")
    rules = (not_negative("short"), not_negative("long"), not_negative("limit"))

    short: Floats
    long: Floats
    limit: Floats

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return np.where(r <= self.limit, self.short, self.long)


@dataclass(frozen=True, eq=False)
class CustomThink(Form):
    """Mean think time as any function of r."""

    function: Callable[[Any], Any]

    @cached_property
    def _vectorised(self) -> Callable[[Floats], Floats]:
        return vectorised("Z", self.function)

    def at_times(self, r: Floats) -> Floats:  # noqa: D102
        return checked("Z", self._vectorised, r, np.inf)

    def __str__(self) -> str:
        return f"function ({getattr(self.function, '__name__', type(self.function).__name__)})"


def breaks(short: ArrayLike, long: ArrayLike, limit: ArrayLike) -> Breaks:
    """Return the mean think time of users who end their session after a long response time.

    Parameters
    ----------
    short, long : array_like
        Mean think time within a session, and between sessions. [unit of S]
    limit : array_like
        Longest response time after which the session continues. [unit of S]

    Examples
    --------
    >>> breaks(1, 20, 3)([2, 3, 4]).tolist()
    [1.0, 1.0, 20.0]
    """
    return Breaks(numbers("short", short), numbers("long", long), numbers("limit", limit))


def as_think(Z: Any) -> Form | None:
    """Convert a think time that is a function of r to a `Form`; None for a number or an array."""
    if isinstance(Z, Form) and not isinstance(Z, Probability):
        return Z
    return CustomThink(Z) if callable(Z) else None
