"""What a log is, in its first table: jobs, machine, dates and the window, worked by hand."""

from dataclasses import replace

import pandas as pd
import pytest

from workloadkit import Header, Intake, Repair, Trace
from workloadkit.analysis.load import coverage, overview


def facts(trace):
    """The rows of the first table as people read them."""
    return overview.section(trace).tables[0].shown[""].to_dict()


def test_jobs_outside_the_window_are_counted_and_dated():
    log = {
        "submit": [0, 40, 100, 300, 500, 700, 800],
        "wait": [0] * 7,
        "run": [600, 60, 400, 300, 300, 5, 5],  # the ends: 600, 100, 500, 600, 800, 705, 805
        "procs": [1] * 7,
    }
    trace = Trace.from_columns(log, header=Header(("; Window: 100 500",)))
    rows = facts(trace)
    assert rows["complete from"] == "second 100 to second 500 (6 min 40 s; stated in the header)"
    imported = replace(trace, header=trace.header.appended(("Conversion", "workloadkit 0.2.0")))
    assert dict(overview.lead(imported))["Window"].endswith("found at the import)")
    assert rows["submitted earlier"] == "2 jobs, up to 1 min 40 s before"
    assert rows["submitted later"] == "2 jobs, up to 5 min after"
    assert rows["ended later"] == "3 jobs"  # of those that it had seen
    section = overview.section(trace)
    assert section.finding.startswith("7 jobs over 6 min 40 s. 4 of them were submitted outside")
    values = section.values
    assert (values["window_begin"], values["window_until"]) == (100, 500)
    assert (values["n_before_window"], values["n_after_window"]) == (2, 2)
    assert (values["first_submit"], values["last_submit"], values["last_end"]) == (0, 800, 805)


def test_a_log_that_is_its_own_window_has_no_jobs_outside():
    log = {"submit": [0, 60, 90], "wait": [0] * 3, "run": [5] * 3, "procs": [1] * 3}
    trace = Trace.from_columns(log)
    rows = facts(trace)
    assert rows["complete from"] == "second 0 to second 90 (1 min 30 s; estimated)"
    assert rows["ended later"] == "1 job"
    assert not {"submitted earlier", "submitted later", "jobs that never ran"} & set(rows)
    assert overview.section(trace).finding == "3 jobs over 1 min 30 s."


def test_jobs_that_never_ran_lack_a_run_time_or_processors():
    log = {"submit": [0, 1, 2, 3], "run": [-1, 5, -1, 0], "procs": [1, 0, -1, 1]}
    trace = Trace.from_columns(log)
    assert facts(trace)["jobs that ran"] == "1"
    assert facts(trace)["jobs that never ran"] == "2 without run time; 1 without processors"
    assert overview.section(trace).values["n_ran"] == 1
    assert overview.section(trace).finding.endswith("3 jobs never ran.")


def test_dates_are_those_of_the_wall():
    header = Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    log = {"submit": [0, 3600], "wait": [0, 0], "run": [10, 7200], "procs": [1, 1]}
    trace = Trace.from_columns(log, header=header)
    rows = facts(trace)
    assert rows["first submission"] == "23 September 1996, 14:00"
    assert rows["last submission"] == "23 September 1996, 15:00"
    assert rows["last end"] == "23 September 1996, 17:00"
    assert rows["time zone"] == "Europe/Stockholm"
    assert rows["submissions span"] == "1 h"
    assert overview.section(trace).finding == "2 jobs over 1 h (23 September 1996)."
    until = Trace.from_columns({"submit": [0, 86_400]}, header=header)
    assert "(23 September 1996 to 24 September 1996)" in overview.section(until).finding
    assert not overview.section(until).notes


def test_without_a_clock_there_are_no_dates_and_it_is_reported():
    section = overview.section(Trace.from_columns({"submit": [0, 60]}))
    assert "no UnixStartTime" in section.notes[0]
    assert "first_submit_date" not in section.values


@pytest.mark.parametrize(
    ("lines", "shown", "machine"),
    [
        (("; MaxProcs: 1664 (72, 1368)", "; MaxNodes: 9"), "1664 (72, 1368)", 1664),
        (("; MaxProcs: 1152",), "1,152", 1152),
        (("; MaxNodes: 1840",), "1,840", 1840),
        ((), "unknown", None),
    ],
)
def test_the_machine_is_shown_as_the_header_has_it(lines, shown, machine):
    trace = Trace.from_columns({"submit": [0]}, header=Header(lines))
    assert facts(trace)["processors"] == shown
    assert overview.section(trace).values["machine"] == machine


def test_users_and_groups_are_counted_once_and_unknown_ones_not():
    log = {"submit": [0, 1, 2, 3], "user": [0, 7, -1, 7], "group": [-1] * 4}
    log |= {"run": [1] * 4, "procs": [1] * 4}
    rows = facts(Trace.from_columns(log))
    assert (rows["users"], rows["groups"]) == ("2", "unknown")
    assert overview.section(Trace.from_columns(log)).finding == "4 jobs of 2 users over 3 s."


def test_zero_is_a_known_value():
    log = {"submit": [0, 5], "wait": [0, -1], "user": [0, 0], "status": [0, -1]}
    known = coverage(Trace.from_columns(log))
    assert known.loc[["wait", "user", "status"], "known"].tolist() == [1, 2, 1]
    assert known.loc["user", ["share", "distinct", "min", "max"]].tolist() == [1, 1, 0, 0]


def test_status_is_named_and_that_of_bursts_only_where_there_are_bursts():
    status = [5, 0, 2, -1, 1, 7, 1, 1]
    trace = Trace.from_columns({"submit": range(8), "status": status})
    table = overview.section(trace).tables[1]
    shown = ["-1 unknown", "0 failed", "1 completed", "2", "5 cancelled", "7"]
    assert table.shown.index.tolist() == shown
    assert table.data["jobs"].tolist() == [1, 1, 3, 1, 1, 1]
    assert table.data["share"][1] == 3 / 8
    assert "bursts" not in facts(trace)
    burst = replace(trace, bursts=trace.jobs.iloc[2:3])
    assert overview.section(burst).tables[1].shown.index[3] == "2 partial, to be continued"
    assert facts(burst)["bursts"] == "1 of checkpointed jobs"


def test_utility_functions_are_counted_by_job():
    points = pd.DataFrame({"row": [0, 0, 2], "time": [0.0, 9.0, 0.0], "value": [5.0, 0.0, 1.0]})
    trace = replace(Trace.from_columns({"submit": [0, 1, 2]}), utility=points)
    assert facts(trace)["utility functions"] == "2 jobs"


def test_repairs_made_while_reading_are_counted():
    trace = Trace.from_columns({"submit": [0]})
    nothing = overview.reading_section(trace)
    assert nothing.notes == ("No repairs were necessary to read the log.",)
    assert not nothing.finding
    some = replace(trace, repairs=(Repair("out of order, sorted", 3, 17), Repair("odd", 1, 4)))
    section = overview.reading_section(some)
    assert section.finding == "4 repairs of 2 kinds were made."
    assert not section.notes
    assert section.tables[0].shown["first line"].tolist() == ["17", "4"]


def test_irregular_rows_of_an_import_are_listed_once_it_is_a_log():
    notes = ("; Note: rows read 9, jobs kept 8", "; Note: irregular rows: 1,200 odd; 1 even: used")
    trace = Trace.from_columns({"submit": [0]}, header=Header(notes))
    assert dict(overview.lead(trace))["Repairs"] == (
        "rows read 9, jobs kept 8; 2 kinds of irregular rows, listed under Repairs made while "
        "reading"
    )
    section = overview.reading_section(trace)
    (table,) = section.tables
    assert table.shown[""].to_dict() == {"odd": "1,200", "even: used": "1"}
    assert section.finding == "When the log was imported: rows read 9, jobs kept 8."
    assert not section.notes  # nothing denies what the head of the page reports


@pytest.mark.parametrize(
    ("note", "denied"),
    [
        ("rows read 9, jobs kept 8; left out: 1 not ended: RUNNING", False),
        ("rows read 9, jobs kept 9", True),
        ("another note", True),
    ],
)
def test_repairs_are_denied_only_where_there_were_none(note, denied):
    trace = Trace.from_columns({"submit": [0]}, header=Header((f"; Note: {note}",)))
    section = overview.reading_section(trace)
    assert (section.notes == ("No repairs were necessary to read the log.",)) == denied
    assert ("left out" in section.finding) == (not denied)


def test_jobs_that_never_ran_did_not_end_after_the_window():
    log = {"submit": [0, 50, 100], "wait": [0] * 3, "run": [10, 900, 10], "procs": [1, 0, 1]}
    assert facts(Trace.from_columns(log))["ended later"] == "1 job"


def test_what_a_header_records_is_in_the_first_table():
    header = Header(
        (
            "; Version: 2.2",
            "; Computer: Abacus",
            "; Installation: Here",
            "; Installation: There",
            "; Acknowledge: Ada",
            "; MaxProcs: 8 (3, 5)",
        )
    )
    columns = {"submit": [7, 9], "queue": [0, 1], "partition": [-1, -1], "group": [4, 4]}
    trace = replace(Trace.from_columns(columns, header=header, name="a.swf"), digest="ab12")
    rows = facts(trace)
    assert (rows["log"], rows["computer"], rows["installation"]) == (
        "a.swf",
        "Abacus",
        "Here; There",
    )
    assert (rows["acknowledgement"], rows["format version"]) == ("Ada", "2.2")
    assert (rows["processors"], rows["SHA-256"]) == ("8 (3, 5)", "ab12")
    assert [rows[name] for name in ("queues", "groups", "partitions")] == ["2", "1", "unknown"]
    assert rows["submissions span"] == "2 s"
    section = overview.section(trace)
    assert section.finding.startswith("2 jobs over 2 s on 8 processors.")
    assert (section.values["first_submit"], section.values["last_submit"]) == (7, 9)


def test_a_window_of_one_day_has_one_date():
    zone = "; TimeZoneString: UTC"
    for last, dates in ((3600, "(2 January 1970)"), (90_000, "(2 January 1970 to 3 January 1970)")):
        log = {"submit": [0, last], "run": [5, 5], "procs": [1, 1]}
        trace = Trace.from_columns(log, header=Header(("; UnixStartTime: 86400", zone)))
        assert dates in overview.section(trace).finding
    assert overview.section(trace).values["last_submit_date"] == pd.Timestamp("1970-01-03 01:00")


def test_rows_of_an_import_are_added_up_by_what_became_of_them():
    left = (Repair("not ended: RUNNING", 3, 4), Repair("no times", 4, 9))
    intake = Intake(
        "Slurm accounting", 19, 12, left, (Repair("odd", 2, 5),), (("time zone", "UTC"),)
    )
    trace = replace(Trace.from_columns({"submit": [0]}), intake=intake)
    section = overview.reading_section(trace)
    assert section.values == {"n_rows": 19, "n_left_out": 7}
    assert section.finding == (
        "Slurm accounting; time zone: UTC: 12 of 19 rows are jobs, 7 are left out."
    )
    assert [table.name for table in section.tables] == ["left_out", "noted"]
    assert section.tables[0].shown.to_numpy().tolist() == [
        ["not ended: RUNNING", "3", "4"],
        ["no times", "4", "9"],
    ]
    repaired = overview.reading_section(replace(trace, repairs=(Repair("sorted", 2, 1),)))
    assert repaired.values == {"n_rows": 19, "n_left_out": 7, "n_repairs": 2}
    assert repaired.finding.endswith("left out. 2 repairs of 1 kind were made.")
