"""What must not change what a log tells: users' numbers, the begin of time, other users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.small_logs import logs, trace_of
from workloadkit import analysis

DAY = 86_400
WEEK = 7 * DAY

# Work of some months, in sessions of some jobs: gaps of 20 min, and of half weeks.
small = logs(
    fewest=12,
    submit=st.tuples(st.integers(0, 40), st.integers(0, 6)).map(
        lambda at: at[0] * WEEK // 2 + 1200 * at[1]
    ),
    wait=st.integers(0, 8).map(lambda k: 300 * k),
    run=st.integers(0, 20).map(lambda k: 150 * k),
    requested_time=st.integers(1, 9).map(lambda k: 600 * k),
    procs=st.integers(1, 4),
    user=st.integers(1, 3),
)


def reported(trace):
    """What the log tells, as tables of plain numbers."""
    lengths = {
        method: sorted(analysis.sessions.session_lengths(trace, method=method))
        for method in ("arrival", "last", "max")
    }
    classes = wk.classify_users(trace)
    similarity = analysis.locality.similarity_by_distance(trace, max_distance=2, rng=1)
    followed = analysis.reactions.followed_jobs(trace)
    site = wk.site.site_distributions(trace)
    return {
        **lengths,
        "threshold": [analysis.sessions.suggest_threshold(trace, rng=1).threshold],
        "classes": classes.counts.to_numpy().ravel(),
        "similarity": similarity.by_distance[["users", "pairs", "mean", "pooled"]]
        .to_numpy()
        .ravel(),
        "followed": np.sort(followed[["response", "think_time"]].to_numpy(), axis=0).ravel(),
        "site": [site.batch_width.mean, site.repetition.mean, site.gap.n, site.think_time.n],
        "stack": [analysis.locality.stack_depth(trace.column("run"), 0.05)],
        "weeks": analysis.reactions.feedback_signature(trace, n_resamples=2, rng=1).weeks[
            "mean_work"
        ],
    }


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, err_msg=name)


@examples(6)
@given(small, st.permutations([5, 700, 0]))
def test_numbers_of_users_show_nothing(jobs, numbers):
    others = [{**job, "user": numbers[job["user"] - 1]} for job in jobs]
    assert_same(reported(trace_of(jobs)), reported(trace_of(others)))


@examples(6)
@given(small, st.integers(1, 9))
def test_the_begin_of_time_shows_nothing(jobs, weeks):
    later = [{**job, "submit": job["submit"] + weeks * WEEK} for job in jobs]
    one, other = reported(trace_of(jobs)), reported(trace_of(later))
    del one["classes"], other["classes"]  # which depend on when logging began
    assert_same(one, other)


@examples(6)
@given(small, small)
def test_users_show_nothing_of_others(jobs, others):
    others = [{**job, "user": job["user"] + 10} for job in others]
    both = sorted(jobs + others, key=lambda job: job["submit"])
    for method in ("arrival", "last", "max"):
        alone = [wk.delimit_sessions(trace_of(its), method=method) for its in (jobs, others)]
        together = wk.delimit_sessions(trace_of(both), method=method)
        for column in ("session", "batch"):
            expected = sum(labels[column].nunique() for labels in alone)
            assert together[column].nunique() == expected
        thinks = np.concatenate([labels["think_time"].dropna() for labels in alone])
        assert sorted(together["think_time"].dropna()) == sorted(thinks)
    tables = [
        analysis.locality.similarity_by_distance(trace_of(its), max_distance=2, rng=1).of_users
        for its in (jobs, others, both)
    ]
    for part in tables[:2]:
        np.testing.assert_allclose(tables[2].loc[part.index], part)


def test_a_log_is_as_near_as_can_be_to_itself():
    rng = np.random.default_rng(5)
    n = 400
    submit = np.sort(rng.integers(0, 40 * DAY, n))
    log = {"submit": submit, "run": rng.integers(1, 9000, n), "procs": rng.integers(1, 9, n)}
    trace = wk.Trace.from_columns(log | {"user": rng.integers(1, 9, n)})
    found = analysis.compare({"one": trace, "other": trace}, sections=["users"]).distances
    assert found["ks"].max() == 0
    assert found["wasserstein"].max() == pytest.approx(0, abs=1e-12)
