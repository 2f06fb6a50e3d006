"""Sessions by every method against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workloadkit as wk
from analysis import session_lengths
from tests.data import needs_traces
from tests.oracles import sessions as oracle
from tests.small_logs import first_jobs, logs, trace_of

THRESHOLDS = st.integers(0, 60) | st.integers(0, 120).map(lambda quarters: quarters / 4)
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
REAL = ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"]
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


@settings(max_examples=300)
@given(jobs=logs(), method=st.sampled_from(METHODS), threshold=THRESHOLDS)
def test_sessions_agree_with_the_definition(jobs, method, threshold):
    agrees_on_sessions(jobs, trace_of(jobs), method[0], threshold, method[1])


@settings(max_examples=200)
@given(jobs=logs(), method=st.sampled_from(METHODS), threshold=THRESHOLDS)
def test_lengths_of_sessions_agree_with_the_definition(jobs, method, threshold):
    agrees_on_lengths(jobs, trace_of(jobs), method[0], threshold, method[1])


@given(jobs=logs(), method=st.sampled_from(["last", "max"]))
def test_think_times_agree_with_the_definition(jobs, method):
    agrees_on_think_times(jobs, trace_of(jobs), method)


@needs_traces
@pytest.mark.parametrize("name", REAL)
def test_sessions_of_real_logs_agree_with_the_definition(name):
    jobs, trace = first_jobs(name)
    for method, threshold, cut in REAL_METHODS:
        agrees_on_sessions(jobs, trace, method, threshold, cut)
        agrees_on_lengths(jobs, trace, method, threshold, cut)
    agrees_on_think_times(jobs, trace, "last")
    agrees_on_think_times(jobs, trace, "max")
