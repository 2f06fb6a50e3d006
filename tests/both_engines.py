"""Simulations in both engines, which must agree."""

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

import pytest

import workloadkit as wk

ENGINES = ("compiled", "python")


def daily(cases: Iterable[Any], every_day: Collection[Any]) -> list[Any]:
    """Mark the cases that only `make test-all` takes: each compiles a kernel, or is a whole log."""
    return [
        pytest.param(case, marks=() if case in every_day else pytest.mark.slow) for case in cases
    ]


def in_turn(policies: Iterable[Any], others: Sequence[Any], step: int = 4) -> list[tuple[Any, Any]]:
    """Return pairs: EASY and conservative with all others, each policy with one in `step` of them.

    All pairs would compile hundreds of kernels; `python -m tests.golden --check` plays them.
    """
    step = min(step, len(others))
    return [
        (policy, other)
        for (i, policy), (j, other) in product(enumerate(policies), enumerate(others))
        if policy in ("easy", "conservative") or (i + j) % step == 0
    ]


def agree(trace, scheduler, users="open", **how):
    """Simulate in both engines, which must agree in all columns and runs; return the schedule."""
    compiled, plain = (
        wk.simulate(trace, scheduler, users, rng=1, engine=engine, **how) for engine in ENGINES
    )
    assert compiled.jobs.equals(plain.jobs)
    assert list(compiled.runs) == list(plain.runs)
    return compiled


def starts(trace, scheduler, users="open", **how):
    """Return the starts in both engines, which must agree."""
    return agree(trace, scheduler, users, **how).start.tolist()
