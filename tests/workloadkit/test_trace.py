"""The trace: its columns, and that nothing changes it in place."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.errors import WorkloadError

SMALL = {"submit": [0, 5], "wait": [-1, 2], "run": [10, 20], "procs": [1, 2], "user": [1, -1]}


def test_minus_one_is_unknown_in_measured_columns_but_for_the_submit_time():
    trace = wk.Trace.from_columns(SMALL | {"submit": [-1, 5]})
    assert np.isnan(trace.column("wait")[0])
    assert trace.column("submit").tolist() == [-1, 5]
    assert trace.column("user").tolist() == [1, -1]
    assert trace.end.tolist() == [9, 27]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user": [1.5, 2]}, "user of row 0 is 1.5, not a whole number"),
        ({"user": [1, np.nan]}, "user of row 1 is nan, not a whole number"),
        ({"user": ["a", "b"]}, "user has values that are not numbers"),
        ({"submit": [0, np.nan]}, "submit of row 1 is NaN"),
        ({"run": [1]}, "1 values of run for 2 jobs"),
        ({"size": [1, 2]}, "not a field of a job: size"),
    ],
)
def test_columns_are_what_they_are_called(columns, message):
    with pytest.raises(WorkloadError, match=message):
        wk.Trace.from_columns(SMALL | columns)
    with pytest.raises(WorkloadError, match=message):
        wk.Trace.from_columns(SMALL).with_columns(**columns)


def test_identifiers_beyond_32_bits_stay_exact():
    trace = wk.Trace.from_columns({"submit": [0], "job": [2**62 + 1]})
    assert trace.column("job")[0] == 2**62 + 1


def test_new_submit_times_must_ascend():
    with pytest.raises(WorkloadError, match="row 1 at 4 s comes after one at 9 s"):
        wk.Trace.from_columns(SMALL).with_columns(submit=[9, 4])


@pytest.mark.parametrize("name", ["ran", "end", "used_procs"])
def test_what_a_trace_gives_cannot_be_written_to(name):
    trace = wk.Trace.from_columns(SMALL)
    for values in (getattr(trace, name), trace.column("run")):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


def test_a_schedule_stands_whatever_becomes_of_its_table():
    schedule = wk.simulate(wk.Trace.from_columns(SMALL), procs=4)
    start, submit = schedule.start.tolist(), schedule.workload.submit.tolist()
    table = schedule.jobs
    table.loc[0, ["submit", "start"]] = 99
    assert schedule.start.tolist() == start
    assert schedule.workload.submit.tolist() == submit


def test_a_job_cannot_be_taken_twice():
    with pytest.raises(WorkloadError, match="taken twice"):
        wk.Trace.from_columns(SMALL).take([0, 0])


def test_sessions_are_not_found_in_a_table_out_of_order():
    trace = wk.Trace.from_columns(SMALL | {"user": [1, 1]})
    disordered = wk.Trace(trace.jobs.iloc[::-1])
    with pytest.raises(WorkloadError, match="submit times must ascend"):
        wk.delimit_sessions(disordered)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("128", 128),
        ("1664 (72, 1368, 224)", 1664),
        ("1,664", 1664),
        ("338 (batch partition; 512 total)", 338),
        ("163840", 163840),
        ("4k", None),
        ("1.5", None),
        ("1664,1368", None),
        ("-1", None),
        ("about 100", None),
    ],
)
def test_a_number_in_the_header_is_read_whole_or_not_at_all(value, number):
    assert wk.Header((f"; MaxProcs: {value}",)).number("MaxProcs") == number


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("; MaxNodes: 100", "; MaxProcs: 100"), ["100", "100"]),
        (("; MaxNodes: 60", "; MaxProcs: 60"), ["100", "100"]),
        (("; MaxProcs: 60", ";MaxNodes: 15 (4 each)"), [None, "100"]),
        (("; MaxNodes: 60",), ["100", "100"]),
        ((), [None, "100"]),
    ],
)
def test_a_header_of_another_machine(lines, expected):
    found = wk.Header(("; Computer: x", *lines)).with_procs(100)
    assert [found.get("MaxNodes"), found.get("MaxProcs")] == expected
    assert found.get("Computer") == "x"
