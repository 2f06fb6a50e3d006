"""Sessions and batches."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import trace_path
from tests.oracles import sessions as oracle

# Few distinct times, so that jobs often arrive at an end, at the threshold or all together; some
# in quarters of a second, which floats hold exactly.
times = st.integers(0, 60) | st.integers(0, 240).map(lambda quarters: quarters / 4)
jobs_in_order = st.lists(
    st.fixed_dictionaries(
        {
            "submit": times,
            "wait": st.none() | times,
            "run": times | st.just(-1),
            "procs": st.integers(-1, 4),
            "user": st.integers(1, 3),
        }
    ),
    min_size=1,
).map(lambda jobs: sorted(jobs, key=lambda job: job["submit"]))


def trace_of(*jobs, **columns):
    """A trace of one-processor jobs (submit, run) of one user, or with other columns."""
    submit, run = zip(*jobs, strict=True)
    defaults = {"procs": np.ones(len(jobs)), "user": np.ones(len(jobs), int)}
    return wk.Trace.from_columns({"submit": submit, "run": run, **defaults, **columns})


def rows(sessions):
    """Rows as tuples that compare equal where think times are NaN."""
    return [
        (session, batch, None if math.isnan(think) else think)
        for session, batch, think in sessions.itertuples(index=False)
    ]


@given(jobs_in_order, st.integers(0, 60))
def test_agrees_with_the_definition(jobs, threshold):
    # One job of a known processor count that never ran: field 5 is then the one that counts.
    jobs = [{"submit": 0, "wait": 0, "run": -1, "procs": 1, "user": 1}, *jobs]
    names = ("submit", "wait", "run", "procs", "user")
    columns = {name: [job[name] for job in jobs] for name in names}
    ours = wk.delimit_sessions(wk.Trace.from_columns(columns), threshold=threshold)
    expected = oracle.delimit_by_arrival(jobs, threshold)
    assert ours.index.tolist() == list(expected)
    np.testing.assert_array_equal(ours.to_numpy(), np.array([*expected.values()]).reshape(-1, 3))


def test_a_silence_of_exactly_the_threshold_stays_inside():
    sessions = wk.delimit_sessions(trace_of((0, 1), (3600, 1), (7201, 1)))
    assert sessions["session"].tolist() == [0, 0, 1]


def test_a_job_that_arrives_in_the_second_of_the_end_belongs_to_the_batch():
    sessions = wk.delimit_sessions(trace_of((0, 60), (60, 10), (71, 10)))
    assert rows(sessions) == [(0, 0, None), (0, 0, None), (0, 1, 1)]


def test_jobs_of_one_second_are_one_batch():
    sessions = wk.delimit_sessions(trace_of((5, 0), (5, 0), (5, 7)))
    assert sessions["batch"].tolist() == [0, 0, 0]


def test_the_latest_end_counts_not_the_last():
    sessions = wk.delimit_sessions(trace_of((0, 500), (10, 5), (100, 5), (510, 5)))
    assert rows(sessions) == [(0, 0, None), (0, 0, None), (0, 0, None), (0, 1, 10)]


def test_a_long_job_of_an_earlier_session_does_not_reach_into_the_next():
    sessions = wk.delimit_sessions(trace_of((0, 90_000), (7200, 5), (7210, 5)))
    assert rows(sessions) == [(0, 0, None), (1, 1, None), (1, 2, 5)]


def test_waiting_belongs_to_the_batch_and_an_unknown_wait_is_none():
    jobs = (0, 10), (20, 10), (50, 10)
    waited = wk.delimit_sessions(trace_of(*jobs, wait=[30, 30, 0]))
    assert waited["batch"].tolist() == [0, 0, 0]
    unknown = wk.delimit_sessions(trace_of(*jobs, wait=[np.nan, np.nan, np.nan]))
    assert rows(unknown) == [(0, 0, None), (0, 1, 10), (0, 2, 20)]


def test_jobs_that_never_ran_neither_count_nor_bridge_a_silence():
    trace = trace_of((0, 10), (3000, -1), (6000, 10), (6001, 10), procs=[1, 1, 1, 0])
    sessions = wk.delimit_sessions(trace)
    assert sessions.index.tolist() == [0, 2]
    assert sessions["session"].tolist() == [0, 1]


def test_decimals_count():
    sessions = wk.delimit_sessions(trace_of((0, 0.5), (0.5, 0.25), (1, 1)), threshold=0.5)
    assert rows(sessions) == [(0, 0, None), (0, 0, None), (0, 1, 0.25)]


def test_a_log_without_jobs_has_no_sessions():
    sessions = wk.delimit_sessions(wk.Trace.from_columns({"submit": []}))
    assert sessions.empty
    assert list(sessions) == ["session", "batch", "think_time"]
    assert [str(dtype) for dtype in sessions.dtypes] == ["int64", "int64", "float64"]


def test_jobs_of_unknown_user_are_one_user_with_a_warning():
    trace = trace_of((0, 10), (5, 10), (7, 1), user=[-1, 4, -1])
    with pytest.warns(wk.WorkloadWarning, match=r"trace: jobs of unknown user \(2\) are taken"):
        sessions = wk.delimit_sessions(trace)
    assert sessions["session"].tolist() == [0, 1, 0]


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(wk.ParameterError, match=r"'first'.*known: arrival"):
        wk.delimit_sessions(trace_of((0, 1)), method="first")


@pytest.mark.parametrize("threshold", [-1, math.nan])
def test_a_threshold_is_a_length_of_time(threshold):
    with pytest.raises(wk.ParameterError, match="threshold must be 0 s or more"):
        wk.delimit_sessions(trace_of((0, 1)), threshold=threshold)


def test_kth_sp2_has_the_published_numbers():
    sessions = wk.delimit_sessions(wk.read_swf(trace_path("KTH-SP2-1996-2")))
    assert len(sessions) == 28_489
    assert sessions["batch"].nunique() == 16_488
    assert sessions["session"].nunique() == 10_303
