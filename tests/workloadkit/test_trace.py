"""The trace: its columns, and that nothing changes it in place."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.errors import WorkloadError
from workloadkit.provenance import moved_times, operations, plain, provenance, seed_of
from workloadkit.utility import check as check_utilities

SMALL = {"submit": [0, 5], "wait": [-1, 2], "run": [10, 20], "procs": [1, 2], "user": [1, -1]}


def test_minus_one_is_unknown_in_measured_columns_but_for_the_submit_time():
    trace = wk.Trace.from_columns(SMALL | {"submit": [-1, 5]})
    assert np.isnan(trace.column("wait")[0])
    assert trace.column("submit").tolist() == [-1, 5]
    assert trace.column("user").tolist() == [1, -1]
    assert trace.end.tolist() == [9, 27]
    odd = wk.Trace.from_columns(SMALL | {"wait": [-3, 2]})  # another negative number is kept
    assert odd.end.tolist() == [7, 27]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user": [1.5, 2]}, "user of row 0 is 1.5, not a whole number"),
        ({"user": [1, np.nan]}, "user of row 1 is nan, not a whole number"),
        ({"user": ["a", "b"]}, "user has values that are not numbers"),
        ({"submit": [0, np.nan]}, "submit of row 1 is NaN"),
        ({"run": [1]}, "1 value of run for 2 jobs"),
        ({"size": [1, 2]}, "not a field of a job: size"),
    ],
)
def test_columns_are_what_they_are_called(columns, message):
    with pytest.raises(WorkloadError, match=message):
        wk.Trace.from_columns(SMALL | columns)
    with pytest.raises(WorkloadError, match=message):
        wk.Trace.from_columns(SMALL).with_columns(**columns)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: wk.Trace.from_columns({"run": [1]}), "requires the column submit"),
        (lambda: wk.Trace.from_columns(SMALL).column("size"), "not a field of a job: size; known"),
        (lambda: wk.Trace.from_columns(SMALL).select([True]), "1 value of keep for 2 jobs"),
    ],
)
def test_what_a_log_does_not_have_is_refused(ask, message):
    with pytest.raises(WorkloadError, match=message):
        ask()


def test_identifiers_beyond_32_bits_stay_exact():
    trace = wk.Trace.from_columns({"submit": [0], "job": [2**62 + 1]})
    assert trace.column("job")[0] == 2**62 + 1


def test_new_submit_times_must_ascend():
    with pytest.raises(WorkloadError, match="row 1 at 4 s follows one at 9 s"):
        wk.Trace.from_columns(SMALL).with_columns(submit=[9, 4])


def test_equal_submit_times_ascend():
    assert wk.Trace.from_columns(SMALL).with_columns(submit=[9, 9]).column("submit")[1] == 9


def test_jobs_without_numbers_are_numbered_by_submission():
    trace = wk.Trace.from_columns({"submit": [9, 0, 9, 5], "user": [1, 2, 3, 4]})
    assert trace.column("job").tolist() == [1, 2, 3, 4]
    assert trace.column("user").tolist() == [2, 4, 1, 3]


def test_jobs_of_one_second_stay_in_the_order_in_which_they_are_given():
    trace = wk.Trace.from_columns({"submit": [5, 0] * 30, "user": range(60)})
    assert trace.column("user").tolist() == [*range(1, 60, 2), *range(0, 60, 2)]


def test_requested_processors_serve_where_no_used_ones_are_known():
    log = {"submit": [0, 1], "run": [0, 5], "requested_procs": [4, 2]}
    none = wk.Trace.from_columns(log | {"procs": [0, -1]})
    assert none.used_procs.tolist() == [4, 2]
    assert none.ran.tolist() == [True, True]  # also for 0 s
    one = wk.Trace.from_columns(log | {"procs": [-1, 3]})
    np.testing.assert_equal(one.used_procs, [np.nan, 3])
    assert one.ran.tolist() == [False, True]


def test_bursts_and_utility_functions_go_with_their_jobs():
    trace = wk.Trace.from_columns({"submit": [0, 5, 9], "job": [3, 4, 5]})
    bursts = wk.Trace.from_columns({"submit": [0, 5], "job": [3, 4], "status": [3, 3]}).jobs
    points = pd.DataFrame({"row": [0, 2], "time": [0.0, 0.0], "value": [7.0, 8.0]})
    taken = replace(trace, bursts=bursts, utility=points).select([False, True, True])
    assert taken.bursts["job"].tolist() == [4]
    beside = replace(trace, sidecar=pd.DataFrame({"id": ["a", "b", "c"]})).take([2, 1]).sidecar
    assert beside.to_dict() == {"id": {0: "c", 1: "b"}}  # by the rows of the new jobs
    assert taken.utilities == {1: [(0, 8)]}


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


def test_jobs_that_are_taken_have_the_columns_of_the_log_and_rows_from_0():
    log = wk.Trace.from_columns(SMALL)
    taken = log.take([1])
    assert list(taken.jobs) == list(log.jobs)
    assert taken.jobs.index.tolist() == [0]


def test_sessions_are_not_found_in_a_table_out_of_order():
    trace = wk.Trace.from_columns(SMALL | {"user": [1, 1]})
    disordered = wk.Trace(trace.jobs.iloc[::-1])
    with pytest.raises(WorkloadError, match="submit times must ascend"):
        wk.delimit_sessions(disordered)


def test_a_number_in_the_header_is_read_whole_or_not_at_all():
    for value, number in (
        ("128", 128),
        ("1664 (72, 1368, 224)", 1664),
        ("1,664", 1664),
        ("1,234,567", 1_234_567),
        ("338 (batch partition; 512 total)", 338),
        ("163840", 163840),
        ("4k", None),
        ("1.5", None),
        ("1664,1368", None),
        ("-1", None),
        ("about 100", None),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
    ):
        assert wk.Header((f"; MaxProcs: {value}",)).number("MaxProcs") == number, value


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


@pytest.mark.parametrize(
    ("lines", "procs"),
    [
        (("; MaxNodes: 2", "; MaxProcs: 8"), 8),
        (("; MaxNodes: 2", "; MaxProcs: unknown"), 2),
        (("; MaxNodes: 2", "; MaxProcs: 0"), 2),
        (("; MaxNodes: 0",), None),
    ],
)
def test_nodes_give_the_size_where_processors_do_not(lines, procs):
    assert wk.Header(lines).procs == procs


def test_sizes_of_partitions_are_known_where_all_that_are_listed_have_one():
    lines = ("; MaxProcs: 5 (1, 4)", "; Partition: 1 a", "; Partition: 2 b", "; Partition: 3 c")
    assert wk.Header(lines[:3]).partition_procs == {1: 1, 2: 4}
    assert wk.Header(lines).partition_procs == {}
    assert wk.Header(lines[:2]).partition_procs == {}


@pytest.mark.parametrize(
    ("value", "overuse"),
    [("Yes", True), ("true", True), ("NO", False), ("False", False), ("maybe", None), ("", None)],
)
def test_a_header_says_whether_jobs_may_use_more_than_they_request(value, overuse):
    assert wk.Header((f"; AllowOveruse: {value}",)).overuse is overuse


@pytest.mark.parametrize(
    ("lines", "date"),
    [
        (("; TimeZoneString: Europe/Stockholm", "; TimeZone: 3600"), "14:00:31 CEST 1996"),
        (("; TimeZoneString: Moon/Sea", "; TimeZone: 3600"), "13:00:31 UTC+01:00 1996"),
        (("; TimeZone: 86400",), None),
        ((), None),
    ],
)
def test_dates_are_of_the_named_zone_else_of_the_offset(lines, date):
    found = wk.Header(("; UnixStartTime: 843480031", *lines)).date(0)
    assert found == (date and f"Mon Sep 23 {date}")


def test_a_free_comment_ends_what_can_be_continued():
    header = wk.Header(("; Note: a", ";\tb", "; free", ";    no part of it", "; note: c"))
    assert header.get_all("Note") == ["a b", "c"]
    assert header.get("NOTE") == "a b"


def test_no_date_is_known_where_the_log_begins_at_second_0_of_1970():
    """Synthetic logs write 0 where there is nothing to say."""
    assert wk.Header(("; UnixStartTime: 0", "; TimeZoneString: UTC")).date(5) is None


def test_a_label_goes_with_the_lines_that_continue_it_and_no_others():
    header = wk.Header(("; note: a", ";   and b", "; free", ";   of it", "; MaxJobs: 2"))
    assert header.without("Note").lines == ("; free", ";   of it", "; MaxJobs: 2")


def test_a_value_that_a_header_has_already_stays_as_it_was_written():
    header = wk.Header((";MaxJobs:  5 ",))
    assert header.replaced("maxjobs", "5") == header


def test_the_first_of_several_values_is_replaced():
    header = wk.Header(("; Note: a", "; NOTE: b"))
    assert header.replaced("note", "c").lines == ("; Note: c", "; NOTE: b")
    assert header.replaced("MaxJobs", "5").lines == (*header.lines, "; MaxJobs: 5")
    assert header.appended(("Note", "c\n  d")).lines[-1] == "; Note: c d"  # one line each


def test_a_header_of_other_jobs_keeps_its_window_unless_times_change():
    header = wk.Header(("; MaxJobs: 9", "; MaxRecords: 12", "; Window: 5 5"))
    assert header.window == (5, 5)
    assert header.with_jobs(3).lines == ("; MaxJobs: 3", "; MaxRecords: 3", "; Window: 5 5")
    assert header.with_jobs(3, EndTime=60.0).lines == ("; MaxJobs: 3", "; MaxRecords: 3")


def accounted():
    """Two jobs with bursts, a utility function and accounting beside them."""
    columns = {"job": [7, 8], "submit": [0, 9], "wait": [5, 5], "run": [60, 60], "procs": [1, 1]}
    bursts = {**columns, "job": [7, 7], "submit": [0, 0], "run": [20, 40], "status": [2, 3]}
    utility = pd.DataFrame({"row": [1], "time": [0.0], "value": [2.0]})
    return replace(
        wk.Trace.from_columns(columns, header=wk.Header(("; MaxJobs: 2", "; Preemption: Double"))),
        bursts=wk.Trace.from_columns(bursts).jobs,
        utility=utility,
        sidecar=pd.DataFrame({"account": ["a", "b"]}),
    )


def test_what_was_done_to_a_log_adds_up():
    made = accounted().take([1]).with_columns(procs=[2], user=[3])
    assert made.changes == ("1 of 2 jobs", "other values of procs and user")
    assert made.take([0]).changes[:2] == made.changes


def test_the_content_is_that_of_jobs_bursts_utility_functions_and_header():
    log = accounted()
    others = (
        replace(log, header=wk.Header()),
        replace(log, bursts=log.bursts.iloc[:1]),
        replace(log, utility=log.utility.assign(value=3.0)),
        log.with_columns(user=[1, 1]),
    )
    assert len({one.content_digest for one in (log, *others)}) == 5
    assert replace(log, sidecar=None, name="b").content_digest == log.content_digest


def test_a_log_as_bursts_says_so_and_bursts_have_the_account_of_their_job():
    bursts = accounted().as_bursts()
    assert (bursts.n_jobs, bursts.name) == (3, "trace, as bursts")
    assert sorted(zip(bursts.column("job"), bursts.column("account"), strict=True)) == [
        (7, "a"),
        (7, "a"),
        (8, "b"),
    ]
    assert bursts.bursts.empty
    assert bursts.header.lines == ("; MaxJobs: 2", "; Preemption: Yes")
    assert bursts.utility["row"].tolist() == bursts.jobs.index[bursts.jobs["job"] == 8].tolist()
    counted = replace(accounted(), header=wk.Header(("; MaxRecords: 4",))).as_bursts()
    assert counted.header.number("MaxRecords") == 3


def test_a_seed_is_a_whole_number_from_0_on_or_drawn_below_the_largest():
    assert seed_of(0) == 0
    assert seed_of(np.int64(5)) == 5
    rng = np.random.default_rng(1)
    assert all(0 <= seed_of(rng) < 2**53 for _ in range(100))
    for wrong in (-1, True, 0.5, "a"):
        with pytest.raises(wk.ParameterError, match=f"rng is {wrong!r}"):
            seed_of(wrong)


def test_provenance_has_the_last_note_and_which_notes_record_other_times():
    by = ": workloadkit 0.1.0, log a.swf"
    kept = ("dependencies", "estimates of a model", "segment", "utility functions")
    notes = (*kept, "resampled", "shaken")
    header = wk.Header((*(f"; Note: {note}{by}" for note in notes), "; Note: by Ann"))
    found = provenance(wk.Trace.from_columns({"submit": [0]}, header=header))
    assert found["note"] == f"shaken{by}"
    assert operations(header) == [*notes]
    assert moved_times(header) == ["resampled", "shaken"]
    assert plain([np.inf, -np.inf, np.nan, 1.5]) == [None, None, None, 1.5]


def test_units_of_the_fields_are_those_of_the_standard():
    units = {field.name: field.unit for field in wk.fields.FIELDS if field.unit}
    seconds = ("submit", "wait", "run", "cpu", "requested_time", "think_time")
    assert units == dict.fromkeys(seconds, "s") | dict.fromkeys(
        ("memory", "requested_memory"), "KB"
    )
    assert [field.column for field in wk.fields.FIELDS] == [*range(1, 19)]


def test_whatever_takes_a_log_says_what_to_give_instead_of_none():
    for use in (
        wk.delimit_sessions,
        wk.think_times,
        wk.dependencies,
        wk.with_dependencies,
        wk.classify_users,
        check_utilities,
        wk.add_utility,
        wk.validate,
        wk.find_anomalies,
        wk.infer_outages,
        wk.Filter.parse("user=1").mask,
        lambda log: wk.clean(log, "user=1"),
        wk.shake,
        wk.resample,
        wk.user_table,
        wk.rare_users,
        wk.site.site_distributions,
        wk.models.add_estimates,
        lambda log: wk.models.scale_load(log, 0.5),
        wk.models.offered_load,
        wk.models.fit_jann97,
        lambda log: wk.models.jann97(5, like=log),
        lambda log: wk.write_swf(log, "-"),
        lambda log: wk.write_gwf(log, "-"),
        lambda log: wk.write_batsim(log, "-"),
    ):
        with pytest.raises(
            wk.ParameterError, match=r"is 'log\.swf'; read it first with wk\.read_swf"
        ):
            use("log.swf")
        with pytest.raises(wk.ParameterError, match="type dict"):
            use({"submit": [0]})
