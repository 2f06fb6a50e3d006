"""A pass after each single event, or one an instant."""

import warnings

import numpy as np
import pytest
from hypothesis import given

import workloadkit as wk
from tests.data import each_log_with, needs_traces, trace_path
from tests.oracles import easy_by_event
from tests.small_logs import head_of, size_of
from tests.workloadkit.test_engines_agree import (
    MACHINE,
    OVERRUNS,
    any_log,
    as_trace,
    overruns,
)


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
@pytest.mark.parametrize(("path", "overrun"), each_log_with(*zip(OVERRUNS)))
def test_few_jobs_of_real_logs_shift_and_none_under_fcfs(path, overrun):
    trace = head_of(path)
    assert shares_that_shift(trace, "fcfs", overrun) == 0
    assert shares_that_shift(trace, "easy", overrun) < 0.25


@pytest.mark.slow
@needs_traces
def test_some_jobs_of_a_whole_log_shift_under_easy():
    log = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    assert shares_that_shift(log, "fcfs", "raise") == 0
    assert 0.01 < shares_that_shift(log, "easy", "raise") < 0.1


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("name", ["SDSC-Par-1996-3.1-cln", "lublin_256"])
def test_none_do_in_logs_without_estimates(name):
    """All jobs end as planned, and so before the first pass of their second."""
    assert shares_that_shift(wk.read_swf(trace_path(name)), "easy", "raise") == 0


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shifted"),
    [
        ("KTH-SP2-1996-2", 9),
        ("SDSC-SP2-1998-4.2-cln", 45),
        ("SDSC-BLUE-2000-4.2-cln", 30_090),
    ],
)
def test_easy_after_each_event_agrees_with_another_program_on_whole_logs(name, shifted):
    """As many jobs as is known start at other times if planned ends do not count.

    Those of unknown used processors, of which SDSC-BLUE has 8,899, are simulated as requested.
    """
    log = wk.read_swf(trace_path(name))
    requested = log.column("requested_procs")
    log = log.with_columns(procs=np.where(requested > 0, requested, log.column("procs")))
    schedule = wk.simulate(log, "easy", passes="event", overrun="kill")
    w = schedule.workload
    order = np.lexsort((w.row, w.submit))
    columns = (w.submit, w.run, w.procs, w.estimate)
    jobs = list(zip(*(column[order].tolist() for column in columns), strict=True))
    start = schedule.start[order]
    assert easy_by_event.simulate(jobs, schedule.machine) == start.tolist()
    without = easy_by_event.simulate(jobs, schedule.machine, planned_ends_count=False)
    assert (np.array(without) != start).sum() == shifted
