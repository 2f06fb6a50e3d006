"""Users' reactions to their jobs against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import reactions as oracle
from tests.oracles.correlations import spearman
from tests.small_logs import first_jobs, jobs_of, logs, trace_of
from workloadkit.analysis.reactions import (
    compare_predictors,
    feedback_signature,
    fit_continuation,
    followed_jobs,
    measure_reactions,
)

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
    bins = oracle.medians_and_shares(oracle.followed(jobs), ["response_bin"])
    if not bins:
        return
    found = fit_continuation(trace, n_resamples=10, rng=1)
    points = found.points.set_index("bin")[["jobs", "median_response", "probability"]]
    assert {name: tuple(row) for name, *row in points.itertuples(name=None)} == {
        f"R{k}": pytest.approx((n, response, p)) for (k,), (n, response, _, p) in bins.items()
    }
    if len(bins) >= 2:
        curve = [(response / 60, p) for _, response, _, p in bins.values()]
        assert 0 < found.a <= 1
        assert found.b > 0
        best = min(oracle.misfit(*best_a(b, curve), curve) for b in np.geomspace(1e-5, 100, 500))
        ours = oracle.misfit(found.a, found.b, curve)
        assert ours <= best + 1e-6
        assert found.rmse == pytest.approx(math.sqrt(ours / len(curve)), abs=1e-9)


def agrees_on_bins(jobs, trace):
    rows = oracle.followed(jobs)
    if not rows:
        return
    found = measure_reactions(trace, n_resamples=10, rng=1)
    assert found.jobs == len(rows)
    assert found.users == len({row["user"] for row in rows})
    negative = sum(row["think_time"] < 0 for row in rows) / len(rows)
    assert found.negative == pytest.approx(negative)
    for table, by in (
        (found.by_response, ["response_bin"]),
        (found.by_slowdown, ["slowdown_bin"]),
        (
            found.by_both.set_index(["response_bin", "slowdown_bin"]),
            ["response_bin", "slowdown_bin"],
        ),
    ):
        agrees_on_table(table, oracle.medians_and_shares(rows, by))
    expectations = found.expectations.set_index(["kind", "bin"])
    for kind, chosen in (("W", oracle.short_wait), ("E", oracle.short_run)):
        expected = oracle.medians_and_shares(filter(chosen, rows), ["response_bin"])
        agrees_on_table(expectations.loc[kind], expected)


def agrees_on_table(table, expected):
    columns = ["jobs", "median_response", "median_think_time", "probability"]
    for label, *row in table[columns].itertuples(name=None):
        names = label if isinstance(label, tuple) else (label,)
        key = tuple(int(name[1:]) for name in names)
        assert tuple(row) == pytest.approx(expected.get(key, (0, *[math.nan] * 3)), nan_ok=True)
    assert len(table) == 5 ** len(names)


def agrees_on_predictors(jobs, trace):
    rows = oracle.positive(oracle.followed(jobs))
    found = compare_predictors(trace, n_resamples=10, rng=1)
    assert found.jobs == len(rows)
    response = oracle.explained(rows, ["response"])
    for quantity, row in found.quantities.iterrows():
        pairs = [(r[quantity], r["think_time"]) for r in rows]
        assert row["correlation"] == pytest.approx(spearman(pairs), abs=1e-9)
        alone = oracle.explained(rows, [quantity])
        assert row["explained"] == pytest.approx(alone, abs=1e-7)
        tenfold = oracle.fit_logistic(*oracle.observations(rows, [quantity]))[1]
        assert row["odds_ratio"] == pytest.approx(math.exp(tenfold), rel=1e-6)
        if quantity != "response":
            both = oracle.explained(rows, ["response", quantity])
            assert row["beside_response"] == pytest.approx(both - response, abs=1e-7)
            assert row["beyond_it"] == pytest.approx(both - alone, abs=1e-7)


def best_a(b, curve):
    """The a, at most 1, that makes the squares least for this b; and b."""
    falls = [(1 / (b * r + 1), p) for r, p in curve]
    return min(sum(f * p for f, p in falls) / sum(f * f for f, _ in falls), 1), b


@examples(25)
@given(reactions)
def test_think_times_after_jobs_agree_with_the_definition(jobs):
    agrees_on_followed_jobs(jobs, trace_of(jobs))


@examples(12)
@given(reactions)
def test_probability_to_continue_agrees_with_the_definition(jobs):
    agrees_on_continuation(jobs, trace_of(jobs))


@examples(12)
@given(reactions)
def test_bins_agree_with_the_definition(jobs):
    agrees_on_bins(jobs, trace_of(jobs))


def agrees_on_weeks(jobs, trace):
    found = feedback_signature(trace, n_resamples=10, rng=1)
    expected = oracle.weeks(jobs)
    busy = {week: row for week, row in enumerate(expected) if row[0] > 0}
    weeks = found.weeks.set_index("week")[["jobs", "mean_work"]]
    assert {week: tuple(row) for week, *row in weeks.itertuples(name=None)} == {
        week: pytest.approx(row) for week, row in busy.items()
    }
    if len(busy) >= 8:
        correlation = spearman(list(busy.values()))
        assert found.correlation == pytest.approx(correlation, abs=1e-9, nan_ok=True)


@examples(25)
@given(
    logs(
        fewest=15,
        submit=st.integers(0, 70).map(lambda k: k * oracle.WEEK // 7),
        run=st.integers(0, 3),
        procs=st.integers(1, 2),
        user=st.sampled_from([1, -1]),
    )
)
def test_weeks_agree_with_the_definition(jobs):
    agrees_on_weeks(jobs, trace_of(jobs))


@needs_traces
def test_weeks_of_a_real_log_agree_with_the_definition():
    _, trace = first_jobs("KTH-SP2-1996-2", 10_000)
    assert trace.window.begin > 6 * 86400  # of what happened before it, the log tells little
    agrees_on_weeks(jobs_of(trace.within_window()), trace)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("name", REAL)
def test_reactions_in_real_logs_agree_with_the_definition(name):
    jobs, trace = first_jobs(name)
    agrees_on_followed_jobs(jobs, trace)
    agrees_on_continuation(jobs, trace)
    agrees_on_bins(jobs, trace)
    agrees_on_predictors(jobs, trace)
