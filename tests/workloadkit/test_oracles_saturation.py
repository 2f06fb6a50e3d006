"""Saturation against the rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import saturation as oracle
from tests.oracles.saturation import WEEK
from workloadkit.simulation.schedule.saturation import outstanding, saturation

jobs = st.lists(
    st.tuples(st.integers(0, 80), st.integers(0, 200)).map(
        lambda job: (job[0] * WEEK / 4, (job[0] + job[1]) * WEEK / 4)
    ),
    min_size=1,
    max_size=60,
)


@given(jobs)
def test_a_system_saturates_by_the_rule(jobs):
    found = outstanding(*zip(*jobs, strict=True))
    counts = oracle.outstanding(jobs)
    assert found.outstanding.tolist() == counts
    growth = oracle.growth(counts)
    if len(counts) >= 3:
        assert found.slope == pytest.approx(growth, abs=1e-9)
        if abs(growth - 1) > 1e-9:
            assert found.grew == oracle.is_saturated(counts)


def test_growth_by_one_job_a_week_is_stable():
    jobs = [(week * WEEK, math.inf) for week in range(10)]
    assert not oracle.is_saturated(oracle.outstanding(jobs))
    assert not outstanding(*zip(*jobs, strict=True)).grew


def test_growth_that_goes_back_is_none():
    assert not oracle.is_saturated([0, 90, 3, 0, 1, 0, 0, 0, 0, 0])
    assert oracle.is_saturated([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    assert not oracle.is_saturated([0] * 8 + [100, 200])  # the last fifth is deleted


waiting = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 300), st.integers(0, 50), st.integers(1, 9)).map(
        lambda job: (job[0] * WEEK / 40, (job[0] + job[1]) * WEEK / 40, *job[2:])
    ),
    min_size=1,
    max_size=40,
)


@given(waiting, st.integers(1, 20))
def test_outstanding_jobs_agree_with_the_definition(jobs, machine):
    found = saturation(*zip(*jobs, strict=True), machine)
    expected = oracle.backlog(jobs, machine)
    if expected is None:
        assert found.saturated is None
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
