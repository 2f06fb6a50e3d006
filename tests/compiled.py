"""Helpers of kernels called from Python, and which kernels which tests compile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
import pytest

from workloadkit._kernels import compile as compiling
from workloadkit._kernels.compile import DISABLE_JIT, start_compiler


@cache
def from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a caller of a helper."""
    if not DISABLE_JIT:
        start_compiler()  # which learns what is chosen by type
    return numba.njit(lambda *arguments: function(*arguments))


@contextmanager
def interpreting() -> Iterator[None]:
    """Let the kernels of simulations run as plain Python: compiling one takes seconds.

    Those of `_kernels`, which read and measure logs, are compiled in any case.
    """
    bind = compiling.Kernel.bind

    def bound(kernel: Any, *how: Any) -> Callable[[], Any]:
        with pytest.MonkeyPatch.context() as patch:
            if kernel.py_func.__module__.startswith("workloadkit._kernels."):
                patch.setattr(compiling, "lacks_compiler", lambda: DISABLE_JIT)
            return bind(kernel, *how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "lacks_compiler", lambda: True)
        if not DISABLE_JIT:
            patch.setattr(compiling.Kernel, "bind", bound)
        yield


#: Times with decimals have kernels of their own, which take seconds to compile. `make test`
#: compiles those of EASY and conservative backfilling.
decimals = pytest.mark.parametrize("decimals", [False, pytest.param(True, marks=pytest.mark.slow)])

#: Policies whose kernels for outages `make test` compiles. Those of the others take seconds each,
#: and are left to the slow tests.
_EVERY_DAY = (
    *("fcfs", "easy", "sjf", "ljf", "smallest", "largest", "f1", "priority-fifo", "conservative"),
)


def outages_every_day(policy: str) -> bool:
    """Whether `make test` simulates a policy with outages in the compiled engine."""
    name, _, options = policy.partition(":")
    return name in _EVERY_DAY and "reservations" not in options


def with_outages(policies: Sequence[str]) -> Any:
    """Mark a test of `policies` with outages in both engines: once as quick and once as slow."""
    quick = tuple(filter(outages_every_day, policies))
    slow = tuple(policy for policy in policies if policy not in quick)
    others = pytest.param(slow, id="others", marks=pytest.mark.slow)
    return pytest.mark.parametrize("policies", [pytest.param(quick, id="quick"), others])
