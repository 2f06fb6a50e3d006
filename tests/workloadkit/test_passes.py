"""A pass after each single event, or one an instant."""

import warnings

import numpy as np
import pytest
from hypothesis import given

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.workloadkit.test_engines_agree import (
    MACHINE,
    OVERRUNS,
    any_log,
    as_trace,
    first_jobs,
    overruns,
    size_of,
)
from tests.workloadkit.test_orders import starts

__all__ = ["first_jobs"]


def both(jobs, scheduler, machine, **options):
    """Start times with a pass an instant, and with one after each event."""
    return tuple(
        starts(jobs, scheduler, machine, passes=passes, **options)
        for passes in ("instant", "event")
    )


def test_a_job_that_ends_early_holds_its_processors_until_its_own_event():
    # The first job is planned until 100 and ends at 10, when a job comes that fits beside it and
    # ends by 100. By event it overtakes the head, which could have started at 10.
    jobs = [(0, 10, 100, 2), (1, 50, 50, 3), (10, 20, 20, 1)]
    assert both(jobs, "easy", 3) == ([0, 10, 60], [0, 30, 10])


def test_a_job_whose_planned_end_has_come_is_gone_in_the_plan():
    # As before, but planned until 10: the shadow is at 10, and nothing ends by then.
    jobs = [(0, 10, 10, 2), (1, 50, 50, 3), (10, 20, 20, 1)]
    assert both(jobs, "easy", 3) == ([0, 10, 60], [0, 10, 60])


def test_terminations_come_one_by_one_in_the_order_of_the_starts():
    # At 10 two jobs end that were planned until 100. The head needs three. When the first of them
    # has ended two are free until 100, and the job of 20 s takes them; with both gone the head
    # would have started.
    jobs = [(0, 10, 100, 2), (0, 10, 100, 2), (1, 50, 50, 3), (2, 20, 20, 2)]
    assert both(jobs, "easy", 4) == ([0, 0, 10, 60], [0, 0, 30, 10])


@pytest.mark.parametrize("later", [0, 5])
def test_what_started_earlier_ends_earlier_in_the_same_second(later):
    # Both running jobs end at 10, planned until 100; the head needs all three. If two are free
    # first the job of 20 s takes them; if one is free first, it does not fit until all are.
    waiting = [(6, 50, 50, 3), (7, 20, 20, 2)]
    jobs = [(0, 10, 100, 1), (later, 10 - later, 100, 2), *waiting]
    assert both(jobs, "easy", 3) == ([0, later, 10, 60], [0, later, 10, 60])
    jobs = [(0, 10, 100, 2), (later, 10 - later, 100, 1), *waiting]
    assert both(jobs, "easy", 3) == ([0, later, 10, 60], [0, later, 30, 10])


def test_equal_ends_go_by_the_start_and_not_by_arrival():
    # The job of one arrives last and is backfilled at 2, the job of two starts at 3 when the first
    # head, of three, is over. Both end at 10; so one is free first.
    jobs = [(0, 3, 3, 2), (1, 7, 97, 2), (2, 8, 98, 1), (6, 50, 50, 3), (7, 20, 20, 2)]
    assert both(jobs, "easy", 3) == ([0, 3, 2, 10, 60], [0, 3, 2, 10, 60])


def test_jobs_of_the_same_second_keep_the_order_of_the_log():
    columns = {"job": [7, 3], "submit": [0, 0], "run": [10, 10], "procs": [4, 4]}
    trace = wk.Trace.from_columns(columns)
    for engine in ("compiled", "python"):
        for passes, expected in (("instant", [3, 7]), ("event", [7, 3])):
            table = wk.simulate(trace, "easy", procs=4, passes=passes, engine=engine).jobs
            assert table["job"].tolist() == expected
            assert table["start"].tolist() == [0, 10]


def test_a_run_time_of_zero_ends_in_an_event_of_its_own():
    # At 5 the first job starts and holds all four until its end, an event behind the submissions.
    jobs = [(5, 0, 0, 4), (5, 10, 10, 4), (5, 1, 1, 2)]
    assert both(jobs, "easy", 4) == ([5, 5, 15], [5, 5, 15])


def test_an_overdue_job_is_planned_to_end_now_at_each_event():
    # The first job was to end at 5 and ends at 30. At 10 two come: the head needs all four, and
    # the plan has them now, so nothing that takes any may start.
    jobs = [(0, 30, 5, 2), (10, 10, 10, 4), (10, 2, 2, 2), (11, 1, 1, 1)]
    assert both(jobs, "easy", 4, overrun="late") == ([0, 30, 40, 40], [0, 30, 40, 40])


@given(any_log, overruns)
def test_fcfs_is_indifferent(jobs, overrun):
    # By number, so that both take the jobs of one second in the same order.
    jobs = sorted(jobs, key=lambda job: job[1])
    trace = as_trace([(place, *job[1:]) for place, job in enumerate(jobs)])
    options = {"procs": MACHINE, "overrun": overrun}
    instant, event = (
        wk.simulate(trace, "fcfs", passes=passes, **options).start
        for passes in ("instant", "event")
    )
    assert np.array_equal(instant, event)


def shares_that_shift(trace, scheduler, overrun):
    """Share of the jobs that start at another second where a pass follows each event."""
    options = {"procs": size_of(trace), "oversize": "drop", "overrun": overrun}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instant, event = (
            wk.simulate(trace, scheduler, passes=passes, **options)
            for passes in ("instant", "event")
        )
    shifts = instant.start[instant.workload.row.argsort()] != event.start  # by event as in the log
    return float(shifts.mean())


@needs_traces
@pytest.mark.parametrize("overrun", OVERRUNS)
def test_few_jobs_of_real_logs_shift_and_none_under_fcfs(first_jobs, overrun):
    assert shares_that_shift(first_jobs, "fcfs", overrun) == 0
    assert shares_that_shift(first_jobs, "easy", overrun) < 0.25


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-Par-1996-3.1-cln", "lublin_256"])
def test_some_jobs_of_whole_logs_shift_under_easy(name):
    log = wk.read_swf(trace_path(name))
    assert shares_that_shift(log, "fcfs", "raise") == 0
    assert 0.01 < shares_that_shift(log, "easy", "raise") < 0.1
