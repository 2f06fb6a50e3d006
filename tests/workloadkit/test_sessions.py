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


def trace_from(jobs):
    """A trace of generated jobs, with one of a known processor count that never ran."""
    # So that field 5 is the one that counts, even where no other job has it.
    jobs = [{"submit": 0, "wait": 0, "run": -1, "procs": 1, "user": 1}, *jobs]
    names = ("submit", "wait", "run", "procs", "user")
    return wk.Trace.from_columns({name: [job[name] for job in jobs] for name in names})


def parts(sessions):
    """Which jobs belong together: of each job the first one of its session, and of its batch."""
    return [sessions.groupby(name)[name].transform(lambda g: g.index[0]) for name in PARTS]


PARTS = ("session", "batch")
WAYS = ("arrival", "last", "max")
cuts = st.integers(0, 120) | st.just(math.inf)


def rows(sessions):
    """Rows as tuples that compare equal where think times are NaN."""
    return [
        (session, batch, None if math.isnan(think) else think)
        for session, batch, think in sessions.itertuples(index=False)
    ]


@given(jobs_in_order, st.integers(0, 60))
def test_agrees_with_the_definition(jobs, threshold):
    jobs = [{"submit": 0, "wait": 0, "run": -1, "procs": 1, "user": 1}, *jobs]
    ours = wk.delimit_sessions(trace_from(jobs[1:]), threshold=threshold)
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
    with pytest.warns(wk.WorkloadWarning, match=r"trace: jobs of unknown user \(2\) count"):
        sessions = wk.delimit_sessions(trace)
    assert sessions["session"].tolist() == [0, 1, 0]


# Three jobs of the source's figure 1: the first is long, the second ends before the third arrives.
LONG_FIRST = (0, 1000), (10, 50), (100, 20)


def test_by_last_a_batch_may_overlap_a_long_job():
    trace = trace_of(*LONG_FIRST)
    assert rows(wk.delimit_sessions(trace, method="last")) == [
        (0, 0, None),
        (0, 0, None),
        (0, 1, 40),
    ]
    assert wk.delimit_sessions(trace, method="max")["batch"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("method", "sessions"),
    [("arrival", [0, 1, 2, 3]), ("last", [0, 0, 1, 2]), ("max", [0, 0, 0, 1])],
)
def test_where_a_silence_begins(method, sessions):
    # Silences of 200 and 260 s after arrivals, 40 s after the end of the job before.
    jobs = (0, 1000), (200, 20), (260, 20), (1061, 5)
    found = wk.delimit_sessions(trace_of(*jobs), method=method, threshold=39)
    assert found["session"].tolist() == sessions


@pytest.mark.parametrize("method", ["last", "max"])
def test_a_silence_of_exactly_the_threshold_after_an_end_stays_inside(method):
    jobs = (0, 60), (1260, 60), (2521, 1)
    assert wk.delimit_sessions(trace_of(*jobs), method=method)["session"].tolist() == [0, 0, 1]


@pytest.mark.parametrize("method", ["last", "max"])
def test_a_cut_ends_sessions_but_not_batches(method):
    # The long job counts as ended at 100 for the session, at 5000 for the batch.
    trace = trace_of((0, 5000), (1300, 10), (2511, 10))
    found = wk.delimit_sessions(trace, method=method, cut=100)
    assert found["session"].tolist() == [0, 0, 1]
    assert found["batch"].tolist() == [0, 0, 1]
    assert found["think_time"].isna().all()


def test_the_latest_cut_end_counts_by_max_and_that_of_the_job_before_by_last():
    trace = trace_of((0, 500), (10, 5), (400, 5))
    by = {
        method: wk.delimit_sessions(trace, method=method, threshold=100, cut=300)
        for method in ("last", "max")
    }
    assert by["last"]["session"].tolist() == [0, 0, 1]  # 400 > 15 + 100
    assert by["max"]["session"].tolist() == [0, 0, 0]  # 400 <= 300 + 100
    assert by["max"]["batch"].tolist() == [0, 0, 0]  # the first job really ends at 500


@given(jobs_in_order, st.integers(0, 60))
def test_a_cut_of_0_is_arrival(jobs, threshold):
    trace = trace_from(jobs)
    by_arrival = wk.delimit_sessions(trace, threshold=threshold)
    last, max_ = (
        wk.delimit_sessions(trace, method=method, threshold=threshold, cut=0)
        for method in ("last", "max")
    )
    assert last["session"].equals(by_arrival["session"])
    assert max_.equals(by_arrival)  # by arrival, batches and think times are those of max


@given(jobs_in_order, st.integers(0, 60), st.sampled_from(["last", "max"]))
def test_a_cut_that_no_job_reaches_cuts_nothing(jobs, threshold, method):
    trace = trace_from(jobs)
    cut, uncut = (
        wk.delimit_sessions(trace, method=method, threshold=threshold, cut=cut)
        for cut in (math.inf, None)
    )
    assert cut.equals(uncut)


@given(jobs_in_order, st.integers(0, 60), st.integers(0, 60), cuts, st.sampled_from(WAYS))
def test_a_longer_threshold_only_joins_sessions(jobs, threshold, more, cut, method):
    trace = trace_from(jobs)
    cut = None if method == "arrival" else cut
    short, long = (
        wk.delimit_sessions(trace, method=method, threshold=t, cut=cut)
        for t in (threshold, threshold + more)
    )
    assert (long["session"].groupby(short["session"]).nunique() == 1).all()
    assert (long["batch"].groupby(short["batch"]).nunique() == 1).all()


@given(jobs_in_order, st.integers(0, 60), cuts, st.sampled_from(WAYS))
def test_batches_lie_in_sessions_and_sessions_in_users(jobs, threshold, cut, method):
    trace = trace_from(jobs)
    cut = None if method == "arrival" else cut
    found = wk.delimit_sessions(trace, method=method, threshold=threshold, cut=cut)
    user = trace.jobs.loc[found.index, "user"]
    assert (found["session"].groupby(found["batch"]).nunique() == 1).all()
    assert (user.groupby(found["session"]).nunique() == 1).all()
    for part in PARTS:  # numbered in the order in which they start
        assert found[part].drop_duplicates().tolist() == [*range(found[part].nunique())]
    first_of_session = ~found["session"].duplicated()
    first_of_batch = ~found["batch"].duplicated()
    assert (found["think_time"].notna() == (first_of_batch & ~first_of_session)).all()
    assert (found["think_time"].dropna() > 0).all()


@given(jobs_in_order, st.permutations([1, 2, 3]), cuts, st.sampled_from(WAYS))
def test_it_does_not_matter_how_users_are_called(jobs, names, cut, method):
    renamed = [{**job, "user": names[job["user"] - 1]} for job in jobs]
    cut = None if method == "arrival" else cut
    one, other = (
        wk.delimit_sessions(trace_from(log), method=method, threshold=20, cut=cut)
        for log in (jobs, renamed)
    )
    assert one.equals(other)


@given(jobs_in_order, st.integers(0, 60))
def test_users_are_delimited_each_alone(jobs, threshold):
    trace = trace_from(jobs)
    together = wk.delimit_sessions(trace, method="max", threshold=threshold)
    for user in (1, 2, 3):
        alone = trace.select(trace.column("user") == user)
        if not alone.ran.any():
            continue
        found = wk.delimit_sessions(alone, method="max", threshold=threshold)
        rows_of_user = trace.jobs.index[trace.ran & (trace.column("user") == user)]
        for ours, theirs in zip(
            parts(found.set_axis(rows_of_user)), parts(together.loc[rows_of_user]), strict=True
        ):
            assert ours.equals(theirs)


def test_think_times_keep_what_is_negative():
    trace = trace_of((0, 40), (10, 5), (50, 1), (7, 3), user=[5, 5, 5, 6])
    trace = wk.Trace.from_columns(trace.jobs.sort_values("submit", kind="stable"))
    last, max_ = (wk.think_times(trace, method=method) for method in ("last", "max"))
    assert last["think_time"].tolist() == [-30, 35]
    assert last["negative"].tolist() == [True, False]
    assert max_["think_time"].tolist() == [-30, 10]
    assert last["previous"].tolist() == [0, 2]
    assert last.index.tolist() == [2, 3]


@pytest.mark.parametrize("method", ["last", "max"])
def test_think_times_of_users_who_take_turns(method):
    n = 60
    columns = {"submit": np.arange(n), "run": [3] * n, "procs": [1] * n, "user": np.arange(n) % 3}
    found = wk.think_times(wk.Trace.from_columns(columns), method=method)
    assert found.index.tolist() == list(range(3, n))
    assert found["previous"].tolist() == list(range(n - 3))
    assert found["think_time"].tolist() == [0] * (n - 3)  # at the end itself
    assert not found["negative"].any()


@given(jobs_in_order)
def test_think_times_inside_sessions_are_among_all_think_times(jobs):
    trace = trace_from(jobs)
    for method in ("last", "max"):
        found = wk.delimit_sessions(trace, method=method, threshold=30)["think_time"].dropna()
        every = wk.think_times(trace, method=method)
        assert every.loc[found.index, "think_time"].equals(found)
        assert not every.loc[found.index, "negative"].any()


def test_think_times_need_ends():
    with pytest.raises(wk.ParameterError, match=r"'arrival' to measure think times; known: last"):
        wk.think_times(trace_of((0, 1)), method="arrival")


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(wk.ParameterError, match=r"'first'.*known: arrival, last, max"):
        wk.delimit_sessions(trace_of((0, 1)), method="first")


@pytest.mark.parametrize("cut", [-1, math.nan])
def test_a_cut_is_a_length_of_time(cut):
    with pytest.raises(wk.ParameterError, match="cut must be 0 s or more, not"):
        wk.delimit_sessions(trace_of((0, 1)), method="max", cut=cut)


def test_by_arrival_there_is_nothing_to_cut():
    with pytest.raises(wk.ParameterError, match="a cut requires the method last or max"):
        wk.delimit_sessions(trace_of((0, 1)), cut=60)


@pytest.mark.parametrize("threshold", [-1, math.nan])
def test_a_threshold_is_a_length_of_time(threshold):
    with pytest.raises(wk.ParameterError, match="threshold must be 0 s or more"):
        wk.delimit_sessions(trace_of((0, 1)), threshold=threshold)


def test_kth_sp2_has_the_published_numbers():
    sessions = wk.delimit_sessions(wk.read_swf(trace_path("KTH-SP2-1996-2")))
    assert len(sessions) == 28_489
    assert sessions["batch"].nunique() == 16_488
    assert sessions["session"].nunique() == 10_303
