"""Jobs that come or start before those that they depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import dependencies as oracle
from tests.reacting_logs import jobs_of, logs, trace_of
from workloadkit.simulation.check.violations import Violations


def log(*jobs, **columns):
    """A log of jobs (user, submit, run, procs)."""
    user, submit, run, procs = zip(*jobs, strict=True)
    given = {"submit": submit, "run": run, "user": user, "procs": procs}
    return wk.Trace.from_columns(given | columns)


#: A batch of two jobs, and a batch after both of them.
WORK = log((1, 0, 100, 1), (1, 10, 50, 4), (1, 120, 10, 1))


def test_on_a_machine_as_large_as_the_log_s_nothing_is_violated():
    assert wk.violations(wk.simulate(WORK, "easy", procs=5)) == Violations(3, 1, 0, 0)


def test_a_job_that_comes_before_another_has_ended():
    # of 4 processors job 1 takes one until 100, so that job 2 has to wait, and ends at 150
    found = wk.violations(wk.simulate(WORK, "easy", procs=4))
    assert found == Violations(3, 1, 1, 0)
    assert (found.submission_share, found.execution_share) == (1 / 3, 0)


def test_a_job_that_is_backfilled_before_another_has_started():
    trace = log((1, 0, 400, 1), (1, 10, 5, 4), (1, 401, 10, 1))
    schedule = wk.simulate(trace, "easy", procs=4, scale_arrivals=0.5)
    assert schedule.jobs["start"].tolist() == [0, 400, 200]
    found = wk.violations(schedule)
    assert found == Violations(3, 1, 1, 1)
    assert (found.submission_share, found.execution_share) == (1 / 3, 1 / 3)


def test_first_come_first_served_starts_no_job_too_early():
    trace = log((1, 0, 400, 1), (1, 10, 5, 4), (1, 401, 10, 1))
    found = wk.violations(wk.simulate(trace, "fcfs", procs=4, scale_arrivals=0.5))
    assert (found.submission, found.execution) == (1, 0)


def test_an_end_in_the_very_second_is_early_enough():
    trace = log((1, 0, 100, 1), (1, 101, 10, 1))
    schedule = wk.simulate(trace, scale_arrivals=100 / 101, procs=1)
    assert wk.violations(schedule) == Violations(2, 1, 0, 0)
    schedule = wk.simulate(trace, scale_arrivals=99 / 101, procs=1)
    assert wk.violations(schedule) == Violations(2, 1, 1, 0)


def test_the_first_batch_of_a_session_depends_on_all_sessions_that_had_ended():
    # the first session had ended when the third began, the second had not
    trace = log((1, 0, 5000, 1), (1, 4000, 8000, 1), (1, 9000, 10, 1))
    schedule = wk.simulate(trace, "fcfs", procs=1)
    assert schedule.jobs["start"].tolist() == [0, 5000, 13000]
    assert wk.violations(schedule) == Violations(3, 1, 0, 0)
    slow = wk.simulate(trace, "fcfs", procs=1, scale_runs=2)  # the log's run times tell
    assert wk.violations(slow) == Violations(3, 1, 1, 0)


def test_preceding_jobs_decide_where_the_log_names_any():
    trace = log((1, 0, 100, 1), (1, 101, 10, 1), (2, 150, 5, 1), preceding_job=[-1, -1, 2])
    schedule = wk.simulate(trace, "fcfs", procs=1, scale_runs=10)
    assert wk.violations(schedule) == Violations(3, 1, 1, 0)


def test_the_very_first_job_may_be_waited_for_and_job_0_by_nobody():
    first = log((1, 0, 100, 1), (2, 101, 10, 1), (3, 150, 5, 1), preceding_job=[-1, 1, -1])
    assert wk.violations(wk.simulate(first, "fcfs", procs=1)) == Violations(3, 1, 0, 0)
    assert wk.violations(wk.simulate(first, "fcfs", procs=1, scale_runs=2)).submission == 1
    nobody = log((1, 0, 100, 1), (1, 10, 50, 4), (1, 120, 10, 1), preceding_job=[0, 0, 0])
    assert wk.violations(wk.simulate(nobody, "easy", procs=5)) == Violations(3, 1, 0, 0)


def test_users_who_react_violate_nothing():
    trace = wk.load_sample().take(range(600))
    open_ = wk.violations(wk.simulate(trace, "easy", scale_runs=3))
    adjusted = wk.violations(wk.simulate(trace, "easy", "adjusted", scale_runs=3))
    assert open_.submission > 0
    assert (adjusted.submission, adjusted.execution) == (0, 0)
    assert adjusted.dependent == open_.dependent


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@examples(25)
@given(logs())
def test_neither_what_was_recorded_nor_users_who_wait_violate_anything(jobs):
    trace = trace_of(jobs)
    for policy, users in (("recorded", "open"), ("sjf", "adjusted"), ("sjf", "closed")):
        schedule = wk.simulate(trace, policy, users, procs=4, engine="python")
        found = wk.violations(schedule)
        assert (found.submission, found.execution) == (0, 0)


def test_users_drawn_anew_who_react_have_no_recorded_batches():
    days = (*range(0, 63, 7), 60, 63, 66, *range(70, 147, 7))
    trace = log(*((4 if day in (60, 66) else 3, 86_400 * day, 60, 1) for day in days))
    react, submit = (
        wk.simulate(trace, "easy", users, population="resampled:weeks=6", procs=1, rng=5)
        for users in ("adjusted", "open")
    )
    with pytest.raises(wk.ParameterError, match="no recorded batches whose"):
        wk.violations(react)
    assert wk.violations(submit).submission == 0


def test_what_is_no_schedule_is_refused():
    with pytest.raises(wk.ParameterError, match="give a Schedule"):
        wk.violations(WORK)


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@examples(40)
@given(logs(), st.sampled_from([0.01, 0.3, 1]), st.sampled_from(["easy", "sjf"]))
def test_agrees_with_all_pairs(jobs, factor, policy):
    trace = trace_of(jobs)
    schedule = wk.simulate(trace, policy, procs=4, scale_arrivals=factor, engine="python")
    place = dict(zip(schedule.workload.row.tolist(), range(len(schedule.start)), strict=True))
    pairs = [(place[i], place[j]) for i, j in oracle.pairs(jobs_of(trace))]
    expected = oracle.violations(pairs, schedule.workload.submit, schedule.start, schedule.end)
    found = wk.violations(schedule)
    assert (found.submission, found.execution) == expected
    assert found.dependent == len({i for i, _ in pairs})
    assert found.jobs == np.count_nonzero(trace.ran)
