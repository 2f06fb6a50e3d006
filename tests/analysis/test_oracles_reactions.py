"""Users' reactions to their jobs against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.continuation import fit_continuation
from analysis.followed_jobs import followed_jobs
from tests.data import needs_traces
from tests.oracles import reactions as oracle
from tests.small_logs import first_jobs, logs, trace_of

REAL = ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"]

# Minutes in steps of 2.5, so that the edges of bins and 20 min of thinking are met; slowdowns
# of 2, 4 and 16.
STEPS = st.integers(0, 8) | st.sampled_from([14, 18, 30, 54, 60, 120])
reactions = logs(
    fewest=8,
    submit=st.integers(0, 200).map(lambda k: 150 * k),
    wait=st.none() | STEPS.map(lambda k: 150 * k),
    run=STEPS.map(lambda k: 150 * k) | st.just(-1) | st.just(0.25),
    user=st.sampled_from([1, 2, 2, -1]),
)


def agrees_on_followed_jobs(jobs, trace):
    rows = followed_jobs(trace)
    expected = oracle.followed(jobs)
    assert len(rows) == len(expected)
    for name in ("wait", "run", "response", "slowdown", "think_time"):
        assert rows[name].tolist() == pytest.approx([row[name] for row in expected])
    for name in ("response_bin", "slowdown_bin"):
        assert (rows[name] + 1).tolist() == [row[name] for row in expected]
    assert rows["continued"].tolist() == [
        0 <= row["think_time"] <= oracle.SESSION for row in expected
    ]


def agrees_on_continuation(jobs, trace):
    expected = oracle.continuation(jobs)
    if not expected:
        return
    found = fit_continuation(trace, n_resamples=10, rng=1)
    points = {
        name: (row.median_response, row.probability, row.jobs)
        for name, row in zip(found.points["bin"], found.points.itertuples(), strict=True)
    }
    assert points == {f"R{k}": pytest.approx(point) for k, point in expected.items()}
    if len(expected) >= 2:
        curve = [(response / 60, p) for response, p, _ in expected.values()]
        assert 0 < found.a <= 1
        assert found.b > 0
        best = min(oracle.misfit(*best_a(b, curve), curve) for b in np.geomspace(1e-5, 100, 500))
        ours = oracle.misfit(found.a, found.b, curve)
        assert ours <= best + 1e-6
        assert found.rmse == pytest.approx(math.sqrt(ours / len(curve)), abs=1e-9)


def best_a(b, curve):
    """The a, at most 1, that makes the squares least for this b; and b."""
    falls = [(1 / (b * r + 1), p) for r, p in curve]
    return min(sum(f * p for f, p in falls) / sum(f * f for f, _ in falls), 1), b


@settings(max_examples=60)
@given(reactions)
def test_think_times_after_jobs_agree_with_the_definition(jobs):
    agrees_on_followed_jobs(jobs, trace_of(jobs))


@settings(max_examples=30)
@given(reactions)
def test_probability_to_continue_agrees_with_the_definition(jobs):
    agrees_on_continuation(jobs, trace_of(jobs))


@needs_traces
@pytest.mark.parametrize("name", REAL)
def test_reactions_in_real_logs_agree_with_the_definition(name):
    jobs, trace = first_jobs(name)
    agrees_on_followed_jobs(jobs, trace)
    agrees_on_continuation(jobs, trace)
