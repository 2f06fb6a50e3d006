"""Sessions by every method against their definitions."""

import math
from collections import Counter
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import sessions as oracle
from tests.small_logs import first_jobs, logs, trace_of
from workloadkit.analysis.sessions import (
    compare_batches,
    compare_session_methods,
    inter_arrivals,
    session_lengths,
    suggest_threshold,
)

THRESHOLDS = st.integers(0, 60) | st.integers(0, 120).map(lambda quarters: quarters / 4)
DAY = 86_400
METHODS = [
    ("arrival", None),
    ("last", None),
    ("max", None),
    ("last", 0),
    ("max", 0),
    ("last", 7),
    ("max", 7),
    ("last", 20.25),
    ("max", 20.25),
]
REAL = ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"]
REAL_METHODS = [
    ("arrival", 3600, None),
    ("last", 1200, None),
    ("max", 1200, None),
    ("last", 1200, 3600),
    ("max", 1200, 1800),
]


def agrees_on_sessions(jobs, trace, method, threshold, cut):
    ours = wk.delimit_sessions(trace, method=method, threshold=threshold, cut=cut)
    expected = oracle.delimit(jobs, method, threshold, infinite(cut))
    assert ours.index.tolist() == list(expected)
    np.testing.assert_array_equal(ours.to_numpy(), np.array([*expected.values()]).reshape(-1, 3))


def agrees_on_lengths(jobs, trace, method, threshold, cut):
    ours = session_lengths(trace, method=method, threshold=threshold, cut=cut)
    assert ours.to_dict() == oracle.session_lengths(jobs, method, threshold, infinite(cut))


def agrees_on_think_times(jobs, trace, method):
    ours = wk.think_times(trace, method=method)
    expected = {
        i: (previous, time, time < 0)
        for i, (previous, time) in oracle.think_times(jobs, method).items()
    }
    assert dict(zip(ours.index, ours.itertuples(index=False, name=None), strict=True)) == expected


def infinite(cut):
    return math.inf if cut is None else cut


@examples(80)
@given(jobs=logs(), method=st.sampled_from(METHODS), threshold=THRESHOLDS)
def test_sessions_agree_with_the_definition(jobs, method, threshold):
    agrees_on_sessions(jobs, trace_of(jobs), method[0], threshold, method[1])


@examples(50)
@given(jobs=logs(), method=st.sampled_from(METHODS), threshold=THRESHOLDS)
def test_lengths_of_sessions_agree_with_the_definition(jobs, method, threshold):
    agrees_on_lengths(jobs, trace_of(jobs), method[0], threshold, method[1])


@examples(50)
@given(jobs=logs(), method=st.sampled_from(["last", "max"]))
def test_think_times_agree_with_the_definition(jobs, method):
    agrees_on_think_times(jobs, trace_of(jobs), method)


# Work of days in steps of 10 min, so that thresholds, cuts and 1,000 min are met.
days = logs(
    fewest=10,
    submit=st.integers(0, 600).map(lambda k: 600 * k),
    wait=st.none() | st.integers(0, 20).map(lambda k: 600 * k),
    run=st.integers(0, 120).map(lambda k: 600 * k) | st.just(-1),
    user=st.sampled_from([1, 2, 2, 2, -1]),
)


def of_known_users(jobs):
    return [job for job in jobs if job["user"] != -1]


def agrees_on_common_batches(jobs, trace):
    found = compare_batches(trace, rng=1).batches
    after = {method: oracle.think_times_after(jobs, method) for method in ("last", "max")}
    common = after["last"].keys() & after["max"].keys()
    for method, row in found.iterrows():
        assert tuple(row[["batches", "common", "unique"]]) == (
            len(after[method]),
            len(common),
            len(after[method]) - len(common),
        )
        up_to_a_day = {b: t for b, t in after[method].items() if t is not None and t <= DAY}
        shared = [t for b, t in up_to_a_day.items() if b in common]
        own = [t for b, t in up_to_a_day.items() if b not in common]
        for name, times in (("common_median", shared), ("unique_median", own)):
            assert row[name] == median(times) if times else math.isnan(row[name])
        if shared and own:
            expected = oracle.largest_difference(shared, own)
            assert row["distance"] == pytest.approx(expected, abs=1e-12)


@examples(20)
@given(jobs=days.map(of_known_users))
def test_common_batches_agree_with_the_definition(jobs):
    if oracle.ran(jobs):
        agrees_on_common_batches(jobs, trace_of(jobs))


@examples(12)
@given(jobs=days)
def test_ways_agree_with_the_definition(jobs):
    known = of_known_users(jobs)
    if not oracle.ran(known):
        return
    ways = compare_session_methods(trace_of(jobs), rng=1).ways
    assert len(ways) >= 9
    for way in ways.itertuples():
        cut = math.inf if math.isnan(way.cut) else way.cut
        labels = oracle.delimit(known, way.method, way.threshold, cut)
        lengths = list(oracle.session_lengths(known, way.method, way.threshold, cut).values())
        sizes = Counter(session for session, _, _ in labels.values())
        widths = Counter(batch for _, batch, _ in labels.values())
        n = len(lengths)
        assert (way.sessions, way.batches) == (n, len(widths))
        assert way.jobs_per_session == pytest.approx(len(labels) / n)
        assert way.batches_per_session == pytest.approx(len(widths) / n)
        assert way.single_job_sessions == pytest.approx([*sizes.values()].count(1) / n)
        assert way.single_job_batches == pytest.approx([*widths.values()].count(1) / len(widths))
        assert way.zero_length == pytest.approx(lengths.count(0) / n)
        assert way.median_length == median(lengths)
        assert way.over_1000min == pytest.approx(sum(x > 60_000 for x in lengths) / n)
        assert way.over_16h == pytest.approx(sum(x > 57_600 for x in lengths) / n)
        assert way.longest == max(lengths)


@examples(20)
@given(jobs=days)
def test_inter_arrivals_and_their_threshold_agree_with_the_definition(jobs):
    times = {i: time for i, time in oracle.inter_arrivals(jobs).items() if jobs[i]["user"] != -1}
    assert inter_arrivals(trace_of(jobs)).to_dict() == times
    up_to_a_day = [time for time in times.values() if time <= DAY]
    if not up_to_a_day:
        return

    def above_twice_the_mean_slope(t):
        return sum(time <= t for time in up_to_a_day) / len(up_to_a_day) - 2 * t / DAY

    found = suggest_threshold(trace_of(jobs), rng=1)
    assert (found.n, found.beyond) == (len(up_to_a_day), len(times) - len(up_to_a_day))
    best = max(map(above_twice_the_mean_slope, [0, *up_to_a_day]))
    assert above_twice_the_mean_slope(found.threshold) == pytest.approx(best, abs=1e-12)


@needs_traces
@pytest.mark.parametrize("name", REAL)
def test_sessions_of_real_logs_agree_with_the_definition(name):
    jobs, trace = first_jobs(name)
    for method, threshold, cut in REAL_METHODS:
        agrees_on_sessions(jobs, trace, method, threshold, cut)
        agrees_on_lengths(jobs, trace, method, threshold, cut)
    agrees_on_common_batches(jobs, trace)
    agrees_on_think_times(jobs, trace, "last")
    agrees_on_think_times(jobs, trace, "max")
