"""Long-term and temporary users against their definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles import users as oracle
from tests.small_logs import jobs_of, logs, read, trace_of
from workloadkit import classify_users

HALF_WEEKS = st.integers(0, 50).map(lambda n: n * oracle.WEEK / 2)


def agrees(jobs, trace, end_effects):
    found = classify_users(trace, end_effects=end_effects)
    users = found.users[["first", "last", "jobs", "class"]]
    expected = oracle.classify(jobs, end_effects)
    assert {user: tuple(row) for user, *row in users.itertuples(name=None)} == expected


@pytest.mark.parametrize("end_effects", ["whole", "any"])
@examples(30)
@given(logs(submit=HALF_WEEKS, user=st.integers(-1, 9)))
def test_classes_agree_with_the_definition(end_effects, jobs):
    agrees(jobs, trace_of(jobs), end_effects)


@needs_traces
@pytest.mark.parametrize("end_effects", ["whole", "any"])
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln"])
def test_classes_of_real_logs_agree_with_the_definition(name, end_effects):
    trace = read(trace_path(name))
    agrees(jobs_of(trace), trace, end_effects)
