"""Events are counted in the intervals of time that they lie in, also those of the last second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit import analysis
from workloadkit.analysis import operations
from workloadkit.analysis.load.over_time import load_over_time
from workloadkit.analysis.operations import failures
from workloadkit.clock import DAY, Clock, enclosing, equal_parts, interval_of
from workloadkit.inferred_outages.idle_periods import expected_submissions

HOUR = 3600
TIMES = st.lists(st.integers(0, 5 * DAY) | st.floats(0, 5 * DAY), min_size=1).map(sorted)


def contained(edges, times):
    """The interval of each time, looked for one by one."""
    return [
        next((i for i in range(len(edges) - 1) if edges[i] <= time < edges[i + 1]), -1)
        for time in times
    ]


@given(TIMES, st.sampled_from((HOUR, DAY, 0.1, 7.3 * HOUR)))
def test_edges_enclose_the_first_and_the_last_event(times, step):
    first, last = times[0], min(times[-1], times[0] + 200 * step)
    times = [time for time in times if time <= last]
    edges = enclosing(first, last, step)
    assert edges[0] == first and edges[-2] <= last < edges[-1]
    assert np.allclose(np.diff(edges), step)
    assert interval_of(edges, times).tolist() == contained(edges.tolist(), times)
    assert interval_of(edges, [np.nextafter(first, -1), edges[-1]]).tolist() == [-1, -1]


@given(TIMES, st.integers(1, 50))
def test_equal_parts_enclose_them_just_so(times, n):
    edges = equal_parts(times[0], times[-1] + 1, n)
    place = interval_of(edges, [*times, times[-1] + 1])
    assert place.tolist() == contained(edges.tolist(), [*times, times[-1] + 1])
    assert place[-1] == n - 1


def a_log(hours, zone="; TimeZoneString: UTC"):
    """Jobs every hour; the first ends in the second of the last submission, and so does another."""
    submit = HOUR * np.arange(hours + 1.0)
    run = np.full(submit.size, 60.0)
    run[0], run[-1] = submit[-1], 0
    return wk.Trace.from_columns(
        {
            "submit": submit,
            "wait": 0 * submit,
            "run": run,
            "procs": np.ones(submit.size),
            "status": np.where(submit % 2 == 0, 1, 0),
            "user": np.ones(submit.size, int),
        },
        header=wk.Header(("; MaxProcs: 4", "; UnixStartTime: 1714521600", zone)),
    )


@pytest.mark.parametrize("hours", [1, 2, 8, 23, 24, 25, 48, 71, 72, 73, 96, 168, 240])
def test_windows_of_whole_hours_and_days(hours):
    trace = a_log(hours)
    jobs = operations.accounted_jobs(trace)
    inside = jobs["end"].between(trace.window.begin, trace.window.until)
    (figure,) = failures.section(trace).figures
    counted = figure.data[["completed", "without a result", "cancelled"]].to_numpy().sum()
    assert counted == pytest.approx(jobs.loc[inside, "core_hours"].sum())
    midnights = Clock.of(trace).midnights(0, hours * HOUR)
    assert load_over_time(trace, midnights)["offered_load"].sum() > 0
    submit = trace.column("submit")
    assert expected_submissions(submit, Clock.of(trace), submit[[0, -1]]).tolist() == [
        0,
        pytest.approx(submit.size),
    ]


@pytest.mark.parametrize("hours", [1, 8, 24, pytest.param(72, marks=pytest.mark.slow)])
def test_such_a_log_has_a_report(hours):
    report = analysis.characterize(a_log(hours), profile="full")
    assert report.to_dict() and report.to_html()
