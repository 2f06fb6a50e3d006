"""Shaking a log."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.small_logs import as_read, logs, trace_of
from workloadkit.fields import NAMES

UNITS = ("job", "batch", "session", "user")


def log_of(**columns):
    n = len(columns["submit"])
    return wk.Trace.from_columns({"run": [10] * n, "procs": [1] * n, **columns})


def by_number(trace):
    return trace.jobs.set_index("job").sort_index()


def shifts(trace, shaken):
    """How far each job moved, in the order of the log."""
    return (by_number(shaken)["submit"] - by_number(trace)["submit"]).to_numpy()


def units(trace, unit):
    """Sets of rows that must move as a whole."""
    table = trace.jobs.loc[trace.ran & (trace.jobs["user"] != -1)]
    if unit == "user":
        table = trace.jobs.loc[trace.jobs["user"] != -1]
        return [*table.groupby("user").groups.values()]
    sessions = wk.delimit_sessions(trace.take(table.index))
    return [table.index[group] for group in sessions.groupby(unit).groups.values()]


@given(logs(), st.sampled_from(UNITS), st.integers(0, 200), st.integers(0, 99))
def test_units_move_as_a_whole_and_not_too_far(jobs, unit, by, seed):
    trace = trace_of(jobs)
    shaken = wk.shake(trace, unit, by, rng=seed)
    moved = shifts(trace, shaken)
    assert np.abs(moved).max() <= by
    assert shaken.column("submit").min() >= 0
    assert (np.diff(shaken.column("submit")) >= 0).all()
    if unit != "job":
        for rows in units(trace, unit):
            assert np.ptp(moved[rows]) <= 1e-9


@given(logs(), st.sampled_from(UNITS), st.integers(0, 99))
def test_all_but_the_submit_time_stays(jobs, unit, seed):
    trace = trace_of(jobs)
    shaken = wk.shake(trace, unit, rng=seed)
    others = [name for name in NAMES if name not in ("submit", "job")]
    assert by_number(shaken)[others].equals(by_number(trace)[others])
    if (trace.column("submit") == np.rint(trace.column("submit"))).all():
        moved = shifts(trace, shaken)
        assert (moved == np.rint(moved)).all()


def test_shifts_are_uniform():
    trace = log_of(submit=np.arange(20000) + 100.0)
    moved = shifts(trace, wk.shake(trace, by=2, rng=1))
    counts = np.unique_counts(moved)
    assert counts.values.tolist() == [-2, -1, 0, 1, 2]
    assert abs(counts.counts - 4000).max() < 5 * np.sqrt(4000)


def test_whole_seconds_are_moved_by_no_more_than_is_asked():
    trace = log_of(submit=np.arange(1000) + 100)
    assert set(shifts(trace, wk.shake(trace, by=1.9, rng=1))) == {-1, 0, 1}
    assert set(shifts(trace, wk.shake(trace, by=0.9, rng=1))) == {0}


def test_decimals_are_moved_by_decimals():
    trace = log_of(submit=np.arange(1000) + 100.5)
    moved = shifts(trace, wk.shake(trace, by=2, rng=1))
    assert np.unique(moved).size > 900
    assert abs(moved.std() - 2 / np.sqrt(3)) < 0.1


def test_a_session_at_the_begin_stays_whole_there():
    trace = log_of(submit=[0, 30, 50_000], user=[1, 1, 1])
    for seed in range(20):
        submit = wk.shake(trace, "session", 1000, rng=seed).column("submit")
        assert submit[0] >= 0
        assert submit[1] - submit[0] == 30


def test_a_log_that_begins_before_second_0_may_stay_there():
    trace = log_of(submit=[-1, 500], user=[1, 2])
    firsts = {wk.shake(trace, by=100, rng=seed).column("submit")[0] for seed in range(20)}
    assert min(firsts) == -1
    assert max(firsts) > 0


def test_jobs_in_no_unit_move_one_by_one():
    trace = log_of(submit=np.arange(1000, 1020), user=[-1] * 10 + [7] * 10, run=[1] * 15 + [-1] * 5)
    moved = shifts(trace, wk.shake(trace, "session", 500, rng=3))
    assert np.unique(moved[:10]).size > 5
    assert np.unique(moved[10:15]).size == 1
    assert np.unique(moved[15:]).size > 3
    assert np.unique(shifts(trace, wk.shake(trace, "user", 500, rng=3))[10:]).size == 1


def test_no_shaking_changes_nothing():
    trace = log_of(submit=[0, 0, 5], user=[1, 2, 1])
    assert wk.shake(trace, by=0, rng=1).jobs.equals(trace.jobs)


def test_utilities_follow_their_jobs():
    points = {"row": np.repeat(range(4), 2), "time": [0, 9] * 4, "value": [4, 0, 3, 0, 2, 0, 1, 0]}
    trace = replace(log_of(submit=[0, 10, 20, 30]), utility=pd.DataFrame(points))
    values = {job: trace.utilities[row] for row, job in enumerate(trace.column("job"))}
    shaken = wk.shake(trace, by=60, rng=5)
    assert shaken.column("job").tolist() != trace.column("job").tolist()
    assert {job: shaken.utilities[row] for row, job in enumerate(shaken.column("job"))} == values


def test_the_header_says_what_made_it():
    trace = log_of(submit=[0, 10], user=[1, 1])
    shaken = wk.shake(trace, "user", 5, rng=3)
    assert shaken.header.get("Note").startswith("shaken: workloadkit ")
    assert shaken.header.get("Note").endswith(
        f"log trace ({trace.identity}), move user, by 5, seed 3"
    )
    assert shaken.jobs.equals(wk.shake(trace, "user", 5, rng=3).jobs)


def test_a_time_that_cannot_be_is_refused():
    for by in (-1, float("nan"), float("inf"), 1e300, "60", None, True):
        with pytest.raises(wk.ParameterError, match="by "):
            wk.shake(log_of(submit=[0]), by=by)


def test_an_unknown_unit_is_refused_with_those_known():
    with pytest.raises(wk.ParameterError, match="move is 'week'; known: user, session, batch, job"):
        wk.shake(log_of(submit=[0]), "week")


@pytest.mark.parametrize("unit", UNITS)
def test_a_log_without_jobs_stays_one(unit):
    assert wk.shake(wk.Trace.from_columns({"submit": []}), unit).n_jobs == 0


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_real_log_stays_the_same_work(unit):
    trace = wk.read_swf(trace_path("SDSC-SP2-1998-4.2-cln"))
    shaken = wk.shake(trace, unit, rng=1)
    assert np.abs(shifts(trace, shaken)).max() == 60
    assert sorted(shaken.column("job")) == sorted(trace.column("job"))


@pytest.mark.parametrize("unit", ["batch", "session", "user"])
def test_a_log_without_users_is_shaken_by_its_jobs_and_says_so(unit):
    trace = wk.Trace.from_columns({"submit": [500, 600, 700], "run": [1] * 3, "procs": [1] * 3})
    with pytest.warns(wk.WorkloadWarning, match=f"jobs move individually, not by {unit}"):
        shaken = wk.shake(trace, unit, rng=1)
    assert np.array_equal(shaken.column("submit"), wk.shake(trace, rng=1).column("submit"))


def test_the_header_tells_when_the_shaken_log_ends():
    lines = ("; MaxJobs: 9", "; UnixStartTime: 86400", "; TimeZoneString: UTC", "; EndTime: never")
    columns = {"submit": [500, 86400], "run": [60] * 2, "procs": [1] * 2, "user": [1, 2]}
    trace = wk.Trace.from_columns(columns, header=wk.Header(lines))
    shaken = wk.shake(trace, by=0, rng=1)
    assert shaken.header.get("EndTime") == "Sat Jan 03 00:01:00 UTC 1970"
    assert shaken.header.get("MaxJobs") == "2"
    last = wk.shake(trace, by=600, rng=1).end.max()
    assert last != 86460
    assert wk.shake(trace, by=600, rng=1).header.get("EndTime") == trace.header.date(last)


def test_bursts_and_what_reading_put_right_are_those_of_the_log_as_it_was():
    shaken = wk.shake(as_read(log_of(submit=[0, 10])), by=5, rng=1)
    assert shaken.bursts.empty
    assert shaken.repairs == ()


def test_jobs_that_come_to_the_same_second_keep_their_order():
    trace = log_of(submit=np.arange(300) // 3)
    shaken = wk.shake(trace, by=3, rng=1)
    pairs = list(zip(shaken.column("submit"), shaken.column("job"), strict=True))
    assert pairs == sorted(pairs)


def test_the_longest_shaking_is_that_of_the_longest_time_believed():
    shaken = wk.shake(log_of(submit=[0]), by=1e12, rng=1)
    assert 0 <= shaken.column("submit")[0] <= 1e12
    with pytest.raises(wk.ParameterError, match="by must be from 0 to 1e"):
        wk.shake(log_of(submit=[0]), by=np.nextafter(1e12, np.inf))


def test_a_log_is_shaken_by_a_minute_unless_told_otherwise():
    trace = log_of(submit=np.arange(1000) + 100)
    moved = shifts(trace, wk.shake(trace, rng=1))
    assert (moved.min(), moved.max()) == (-60, 60)
