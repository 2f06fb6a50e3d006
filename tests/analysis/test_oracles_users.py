"""Long-term and temporary users against their definition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data import needs_traces, trace_path
from tests.oracles import users as oracle
from tests.small_logs import jobs_of, logs, trace_of
from workloadkit import classify_users, read_swf

HALF_WEEKS = st.integers(0, 50).map(lambda n: n * oracle.WEEK / 2)


def agrees(jobs, trace):
    users = classify_users(trace).users[["first", "last", "jobs", "class"]]
    assert {user: tuple(row) for user, *row in users.itertuples(name=None)} == oracle.classify(jobs)


@settings(max_examples=30)
@given(logs(submit=HALF_WEEKS, user=st.integers(-1, 9)))
def test_classes_agree_with_the_definition(jobs):
    agrees(jobs, trace_of(jobs))


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln"])
def test_classes_of_real_logs_agree_with_the_definition(name):
    trace = read_swf(trace_path(name))
    agrees(jobs_of(trace), trace)
