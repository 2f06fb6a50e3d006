"""Batches and what they depend on, against the graphs of the definitions."""

import math
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import dependencies as oracle
from tests.oracles.reacting import preceding
from tests.oracles.sessions import delimit_by_arrival, ran
from tests.reacting_logs import busy_logs, jobs_of, logs, real, trace_of
from workloadkit.dependencies import activities, with_threshold
from workloadkit.simulation.check.violations import violations

pytestmark = [
    pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning"),
]

any_log = busy_logs() | busy_logs(decimals=True) | logs() | logs(decimals=True)


def check_activities(trace, jobs, threshold=3600):
    """All fields, one by one, from the oracle's graph."""
    found = activities(trace, threshold=threshold)
    sessions = oracle.sessions(jobs, threshold)
    line = oracle.batches(jobs, threshold)
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


@examples(50)
@given(any_log, st.sampled_from([0, 600, 3600, 30000]))
def test_activities_are_those_of_the_graph(jobs, threshold):
    trace = trace_of(jobs)
    check_activities(trace, jobs_of(trace), threshold)


@examples(30)
@given(busy_logs() | logs(), st.sampled_from([0, 600, 30000]))
def test_another_threshold_is_as_if_it_had_been_the_first(jobs, threshold):
    trace = trace_of(jobs)
    found = with_threshold(activities(trace), threshold)
    for ours, expected in zip(found, activities(trace, threshold=threshold), strict=True):
        assert ours.tolist() == expected.tolist()
        assert ours.dtype == expected.dtype


@needs_traces
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2.1-cln", "SDSC-BLUE-2000-4.2-cln", "LANL-CM5-1994-4.1-cln"]
)
def test_activities_of_real_logs(name):
    trace = real(name, 600)
    check_activities(trace, jobs_of(trace))


def check_tables(trace, jobs, threshold=3600):
    """The table of batches, and the fields of the jobs."""
    label = oracle_labels(jobs, threshold)
    line = oracle.batches(jobs, threshold)
    line.sort(key=lambda batch: label[batch.jobs[0]][1])
    table = wk.dependencies(trace, threshold=threshold)
    assert table["user"].tolist() == [batch.user for batch in line]
    assert table["session"].tolist() == [label[batch.jobs[0]][0] for batch in line]
    assert table["batch"].tolist() == [label[batch.jobs[0]][1] for batch in line]
    assert table["first_job"].tolist() == [jobs[batch.jobs[0]]["job"] for batch in line]
    assert table["jobs"].tolist() == [len(batch.jobs) for batch in line]
    for name in ("arrival", "last_arrival", "end"):
        assert table[name].tolist() == [getattr(batch, name) for batch in line]
    assert table["follows"].tolist() == [
        label[batch.follows.jobs[0]][1] if batch.follows else -1 for batch in line
    ]
    assert table["depends_on"].tolist() == [len(batch.depends_on) for batch in line]
    for name in ("think_time", "interarrival"):
        ours = [math.nan if x is None else x for x in (getattr(batch, name) for batch in line)]
        np.testing.assert_array_equal(table[name], ours)

    fields = oracle.predecessors(jobs, threshold)
    written = wk.with_dependencies(trace, threshold=threshold)
    before = [fields.get(i, (-1, None))[0] for i in range(len(jobs))]
    think = [fields.get(i, (-1, math.nan))[1] for i in range(len(jobs))]
    assert written.column("preceding_job").tolist() == before
    np.testing.assert_array_equal(written.column("think_time"), think)
    for name in set(trace.jobs.columns) - {"preceding_job", "think_time"}:
        np.testing.assert_array_equal(written.column(name), trace.column(name), name)


def oracle_labels(jobs, threshold):
    """Session and batch of each job by the article's definition."""
    labels = delimit_by_arrival(jobs, threshold)
    return {i: (session, batch) for i, (session, batch, _) in labels.items()}


@examples(40)
@given(any_log, st.sampled_from([600, 3600, 30000]))
def test_tables_and_fields_are_those_of_the_graph(jobs, threshold):
    trace = trace_of(jobs)
    check_tables(trace, jobs_of(trace), threshold)


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-DS-2004-2.1-cln"])
def test_tables_of_real_logs(name):
    trace = real(name, 400)
    check_tables(trace, jobs_of(trace))


def check_violations(trace, jobs, pairs, scale):
    schedule = wk.simulate(trace, "easy", procs=4, scale_arrivals=scale, engine="python")
    names = ("submit", "start", "end")
    table = schedule.jobs.set_index("job")[[*names]].to_dict()
    at = [{i: table[name][jobs[i]["job"]] for i in ran(jobs)} for name in names]
    counts = oracle.violations(pairs, *at)
    found = violations(schedule)
    assert (found.submission, found.execution) == counts
    assert found.jobs == len(ran(jobs))
    assert found.dependent == len({i for i, _ in pairs})


@examples(40)
@given(busy_logs() | logs(), st.sampled_from([0.05, 0.5, 1, 2]))
def test_violations_are_those_of_all_pairs(jobs, scale):
    jobs = [job | {"job": k} for k, job in enumerate(jobs, 1)]
    trace = trace_of(jobs)
    jobs = jobs_of(trace)
    check_violations(trace, jobs, oracle.pairs(jobs), scale)


@examples(25)
@given(
    busy_logs(preceding_job=lambda rnd: rnd.choice([-1, *range(1, 12)])),
    st.sampled_from([0.05, 1]),
)
def test_violations_of_what_the_log_names(jobs, scale):
    jobs = [job | {"job": k} for k, job in enumerate(jobs, 1)]
    trace = trace_of(jobs)
    if any(job["preceding_job"] > 0 for job in jobs):
        jobs = jobs_of(trace)
        check_violations(trace, jobs, list(preceding(jobs).items()), scale)


def test_a_negative_think_time_is_none():
    jobs = {"job": [1, 2, 3], "submit": [0, 5, 9], "run": [100, 10, 10], "procs": [1, 1, 1]}
    fields = {"preceding_job": [-1, 1, 1], "think_time": [-1, -50, 20], "user": [1, 1, 1]}
    trace = wk.Trace.from_columns(jobs | fields)
    for engine in ("python", "compiled"):
        schedule = wk.simulate(trace, "fcfs", users="dependent", procs=4, engine=engine)
        assert schedule.jobs["submit"].tolist() == [0, 100, 120]
