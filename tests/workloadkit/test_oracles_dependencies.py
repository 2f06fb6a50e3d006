"""Batches and what they depend on, against the graphs of the definitions."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings

from tests.data import needs_traces
from tests.oracles import dependencies as oracle
from tests.oracles.sessions import ran
from tests.reacting_logs import jobs_of, logs, real, trace_of
from workloadkit.dependencies import activities

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")

any_log = logs() | logs(decimals=True)


def check_activities(trace, jobs):
    """All fields, one by one, from the oracle's graph."""
    found = activities(trace)
    sessions = oracle.sessions(jobs)
    line = oracle.batches(jobs)
    everyone = [session for its in sessions.values() for session in its]
    assert found.user.tolist() == list(sessions)
    assert found.first_session.tolist() == sums(len(its) for its in sessions.values())
    assert found.first_batch.tolist() == sums(
        sum(len(session.batches) for session in its) for its in sessions.values()
    )
    assert found.first_job.tolist() == sums(len(batch.jobs) for batch in line)
    assert found.job.tolist() == [i for batch in line for i in batch.jobs]
    assert found.gap.tolist() == [gap for batch in line for gap in batch.gaps(jobs)]
    place_of = {session.jobs[0]: k for k, session in enumerate(everyone)}
    assert found.session.tolist() == [place_of[batch.session.jobs[0]] for batch in line]
    assert found.arrival.tolist() == [batch.arrival for batch in line]
    assert found.think_time.tolist() == [known(batch.think_time) for batch in line]
    assert found.interarrival.tolist() == [known(batch.interarrival) for batch in line]
    for name in ("begin", "until", "end"):
        assert getattr(found, name).tolist() == [getattr(session, name) for session in everyone]

    needs = [len(batch.depends_on) if batch.opens else 0 for batch in line]
    assert found.needs.tolist() == needs
    for batch, needed, k in zip(line, needs, found.session, strict=True):
        if batch.opens:
            (u,) = np.flatnonzero(found.user == batch.user)
            its = range(found.first_session[u], found.first_session[u + 1])
            assert sorted(found.place[its]) == list(range(len(its)))
            assert k in its
            those = {everyone[s].jobs[0] for s in its if found.place[s] < needed}
            assert those == {other.session.jobs[0] for other in batch.depends_on}
    whole = all(
        time is None or time == int(time)
        for job in ran(jobs).values()
        for time in (job["submit"], job["wait"], job["run"])
    )
    assert {array.dtype.kind for array in (found.gap, found.arrival, found.end)} == {
        "i" if whole else "f"
    }


def sums(numbers):
    return list(accumulate(numbers, initial=0))


def known(value):
    return -1 if value is None else value


@settings(max_examples=150)
@given(any_log)
def test_activities_are_those_of_the_graph(jobs):
    trace = trace_of(jobs)
    check_activities(trace, jobs_of(trace))


@needs_traces
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2.1-cln", "SDSC-BLUE-2000-4.2-cln", "LANL-CM5-1994-4.1-cln"]
)
def test_activities_of_real_logs(name):
    trace = real(name, 600)
    check_activities(trace, jobs_of(trace))
