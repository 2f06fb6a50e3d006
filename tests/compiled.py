"""What tests share that call kernels: helpers of them from Python, and which are compiled when."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numba
import pytest


@cache
def from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a caller of a helper."""
    return numba.njit(lambda *arguments: function(*arguments))


#: Policies whose kernels for outages the tests of every day compile; those of the others take
#: seconds each, and are left to the slow ones.
_EVERY_DAY = (
    *("fcfs", "easy", "sjf", "ljf", "smallest", "largest", "f1", "priority-fifo", "conservative"),
)


def outages_every_day(policy: str) -> bool:
    """Whether the tests of every day play a policy with outages in the compiled engine."""
    return policy.partition(":")[0] in _EVERY_DAY


def with_outages(policies: Iterable[str]) -> list[Any]:
    """Return policies as parameters of tests that play them with outages in both engines."""
    return [
        policy if outages_every_day(policy) else pytest.param(policy, marks=pytest.mark.slow)
        for policy in policies
    ]
