"""A log made of accounting records: attempts, order, numbers for names, header, what is odd."""

import hmac

import numpy as np
import pandas as pd
import pytest

from workloadkit import FormatError, ParameterError, WorkloadWarning, read_swf, write_swf
from workloadkit.intake import Intake, Repair
from workloadkit.io import names
from workloadkit.io.assemble import assemble
from workloadkit.io.records import ImportOptions, Records

SECOND = 1_000_000_000  # Sunday, 9 September 2001, 01:46:40 UTC

KNOWN = ("COMPLETED", "NODE_FAIL", "CANCELLED")


def records(*rows, left_out=()):
    """Records of rows, each a dict; times count from SECOND, places from line 2."""
    made = Records()
    made.rows = len(rows) + len(left_out)
    times = ("submit", "eligible", "start", "end")
    for place, row in enumerate(rows, start=2):
        row = {"place": place, "submit": 0, "end": row.get("start", 0) + 50, **row}
        row = {k: v + SECOND if k in times else v for k, v in row.items()}
        made.extend(1, **{name: [value] for name, value in row.items()})
    for place, kind in enumerate(left_out, start=len(rows) + 2):
        made.leave_out(kind, place)
    return made


def log_of(*rows, left_out=(), **options):
    return assemble(
        records(*rows, left_out=left_out),
        kind="accounting",
        path="site/x.txt",
        options=ImportOptions(**options),
        states=KNOWN,
    )


def column(trace, name):
    return [None if np.isnan(v) else v for v in trace.jobs[name].astype(float)]


def test_jobs_are_numbered_in_the_order_of_submission_then_of_lines():
    log = log_of(
        {"id": "a", "submit": 60, "start": 70, "run": 50},
        {"id": "b", "submit": 0, "start": 0, "run": 50},
        {"id": "c", "submit": 0, "start": 5, "run": 45},
    )
    assert log.sidecar["id"].tolist() == ["b", "c", "a"]
    assert column(log, "job") == [1, 2, 3]
    assert column(log, "submit") == [0, 0, 60]
    assert column(log, "wait") == [0, 5, 10]
    assert log.header.start == SECOND
    assert log.header.get("MaxJobs") == "3"
    assert log.name == "x.txt"


def test_what_never_started_waited_to_its_end():
    log = log_of({"end": 90, "status": 5, "procs": 0})
    assert column(log, "wait") == [90]
    assert column(log, "run") == [None]
    assert log.jobs["status"].tolist() == [5]


def test_names_become_numbers_in_the_order_of_the_jobs():
    log = log_of(
        {"submit": 9, "user": "bo", "partition": "fat"},
        {"submit": 0, "user": "al", "partition": "thin"},
        {"submit": 5, "user": ""},
    )
    assert log.jobs["user"].tolist() == [1, -1, 2]
    assert log.jobs["partition"].tolist() == [1, -1, 2]
    assert log.header.get_all("Partition") == ["1 thin", "2 fat"]


def test_the_last_attempt_is_the_job():
    attempts = [
        {"id": "7", "cluster": "c", "start": 5, "end": 50, "run": 45, "status": 0},
        {"id": "7", "cluster": "c", "start": 300, "end": 400, "run": 100, "status": 1},
        {"id": "7", "cluster": "c", "start": 100, "end": 200, "run": 90, "status": 0},
        {"id": "7", "cluster": "d", "start": 7, "end": 20, "run": 13, "status": 1},
        {"id": "7", "cluster": "c", "submit": 1, "start": 8, "end": 20, "run": 12, "status": 1},
    ]
    log = log_of(*attempts)
    assert column(log, "run") == [13, 100, 12] or column(log, "run") == [100, 13, 12]
    row = column(log, "run").index(100)
    assert log.sidecar["attempts"].tolist()[row] == 3
    assert column(log, "wait")[row] == 300
    (left,) = log.intake.left_out
    assert (left.kind, left.count, left.first_line) == ("earlier attempts of requeued jobs", 2, 2)
    assert log.intake.rows == log.intake.jobs + left.count
    assert not len(log.bursts)


def test_attempts_become_partial_lines_that_a_summary_line_sums_up(tmp_path):
    log = log_of(
        {"id": "7", "start": 100, "end": 200, "run": 90, "status": 0},
        {"id": "7", "start": 5, "end": 50, "run": 45, "status": 0},
        {"id": "7", "start": 300, "end": 400, "run": 100, "status": 1},
        attempts=True,
    )
    assert column(log, "run") == [235]
    assert column(log, "wait") == [5]
    assert log.bursts[["submit", "wait", "run", "status"]].to_numpy().tolist() == [
        [0, 5, 45, 2],
        [-1, 50, 90, 2],
        [-1, 100, 100, 3],
    ]
    assert log.header.get("Preemption") == "Double"  # a summary, then its parts
    assert (log.header.number("MaxJobs"), log.header.number("MaxRecords")) == (1, 4)
    write_swf(log, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf")
    assert again.bursts.equals(log.bursts)
    assert again.jobs.equals(log.jobs)


def test_an_attempt_that_ended_as_it_started_is_one():
    log = log_of(
        {"id": "a", "start": 5, "end": 20, "run": 15},
        {"id": "a", "start": 30, "end": 30, "run": 0},
    )
    assert column(log, "wait") == [30]
    assert log.sidecar["attempts"].tolist() == [2]


def test_a_repeated_record_is_one_attempt():
    record = {"id": "7", "start": 5, "end": 50, "run": 45, "status": 1}
    log = log_of(record, record, {"id": ""}, {"id": ""}, attempts=True)
    assert log.n_jobs == 3
    assert [(r.kind, r.count, r.first_line) for r in log.intake.left_out] == [
        ("repeated records", 1, 3)
    ]
    assert log.sidecar["attempts"].tolist() == [1, 1, 1]


def test_a_job_cancelled_after_an_attempt_that_ran_keeps_its_work():
    log = log_of(
        {"id": "7", "start": 5, "end": 50, "run": 45, "status": 0, "procs": 8, "nodes": 2},
        {"id": "7", "end": 90, "status": 5},
        attempts=True,
    )
    assert column(log, "procs") == [8]
    assert column(log, "run") == [45]
    assert log.sidecar["nodes"].tolist() == [2]
    assert log.jobs["status"].tolist() == [5]


def test_an_unfinished_job_ends_killed():
    log = log_of(
        {"id": "7", "start": 5, "end": 50, "run": 45, "status": 0},
        {"id": "7", "start": 100, "end": 200, "run": 90, "status": 0},
        attempts=True,
    )
    assert log.bursts["status"].tolist() == [2, 4]


def test_partial_lines_have_what_their_attempts_used():
    """The second begins as the first ends, and so waits for nothing; the third never ran."""
    log = log_of(
        {"id": "7", "start": 5, "end": 50, "run": 45, "procs": 2, "cpu": 30, "memory": 700},
        {"id": "7", "start": 50, "end": 100, "run": 50, "procs": 8, "cpu": 20, "memory": 600},
        {"id": "7", "end": 120, "status": 5},
        attempts=True,
    )
    used = ["procs", "cpu", "memory"]
    assert log.bursts[used].iloc[:2].to_numpy().tolist() == [[2, 30, 700], [8, 20, 600]]
    assert log.bursts["wait"].tolist() == [5, 0, 20]
    assert log.bursts["run"].isna().tolist() == [False, False, True]
    assert [column(log, name) for name in ("run", *used)] == [[95], [8], [27.5], [600]]
    kind = "attempts of requeued jobs combined into one job"
    assert log.intake.left_out == (Repair(kind, 2, 2),)


@pytest.mark.parametrize("name", ["run", "cpu"])
@pytest.mark.parametrize(
    ("of_attempts", "of_job"),
    [
        ((20, 25), 45),
        ((45, np.nan), 45),
        ((np.nan, 45), 45),
        ((0, np.nan), 0),
        ((np.nan, np.nan), None),  # unknown, and not 0
    ],
)
def test_a_job_has_the_sum_of_what_is_known_of_its_attempts(name, of_attempts, of_job):
    first, second = of_attempts
    log = log_of(
        {"id": "7", "start": 5, "end": 50, "run": 10, "procs": 1, name: first},
        {"id": "7", "start": 60, "end": 99, "run": 10, "procs": 1, name: second},
        attempts=True,
    )
    assert column(log, name) == [of_job]
    assert log.bursts[name].tolist() == pytest.approx([first, second], nan_ok=True)


@pytest.mark.parametrize(("attempts", "most"), [(False, 4), (True, 8)])
def test_the_log_ends_with_the_last_attempt_and_counts_processors_of_those_it_has(attempts, most):
    log = log_of(
        {"id": "7", "start": 100, "end": 200, "run": 100, "procs": 8},
        {"id": "7", "start": 300, "end": 400, "run": 100, "procs": 4},
        attempts=attempts,
    )
    assert log.header.get("EndTime") == "Sun Sep 09 01:53:20 UTC 2001"
    assert f"at most {most} processors were in use at once" in log.header.get_all("Note")


def test_second_0_is_a_whole_second():
    log = log_of({"submit": 0.25, "start": 5, "run": 45}, {"submit": 7, "start": 7, "run": 1})
    assert column(log, "submit") == [0.25, 7]
    assert log.header.start == SECOND


MACHINES = (
    {"cluster": "north", "queue": "day", "partition": "fat"},
    {"cluster": "south", "queue": "night", "submit": 60, "start": 60},
)


def test_the_header_shows_machines_queues_and_the_clock():
    header = log_of(*MACHINES, tz="Europe/Stockholm").header
    expected = {
        "Computer": "north, south",
        "TimeZone": "7200",
        "TimeZoneString": "Europe/Stockholm",
        "StartTime": "Sun Sep 09 03:46:40 CEST 2001",
        "MaxQueues": "2",
        "MaxPartitions": "1",
        "Partition": "1 fat",
    }
    assert {label: header.get(label) for label in expected} == expected
    assert header.get_all("Queue") == ["1 day", "2 night"]
    assert "the jobs of 2 machines" in header.get_all("Note")
    assert not any("machine" in note for note in log_of(MACHINES[0]).header.get_all("Note"))


def test_the_header_of_an_anonymous_log_counts_what_it_does_not_name():
    log = log_of(*MACHINES, anonymize=True)
    assert log.header.get("Computer") is log.header.get("Queue") is None
    assert (log.header.get("MaxQueues"), log.header.get("MaxPartitions")) == ("2", "1")
    assert "x.txt" not in log.name  # a file may be called as its site is


def test_what_was_left_out_most_often_comes_first():
    made = records({}, left_out=["b", "a", "c", "a"])
    assert made.left_out == (Repair("a", 2, 4), Repair("b", 1, 3), Repair("c", 1, 5))
    made.leave_out("c", 1, 2)
    assert made.left_out[0] == Repair("c", 3, 1)


def test_what_is_odd_in_a_record_that_is_left_out_is_not_counted():
    made = records({}, {}, {})
    made.note_where("odd", np.array([True, False, True]), np.array([2, 3, 4]))
    made.note_where("wide", np.array([True]), np.array([2]))
    made.leave_out_records("repeated", np.array([2]))
    assert made.left_out == (Repair("repeated", 1, 2),)
    assert made.noted == (Repair("odd", 1, 4),)


def test_what_is_odd_stands_below_the_jobs():
    left_out, noted = (Repair("not ended", 2, 7),), (Repair("odd", 1, 3),)
    intake = Intake("Accounting", 12, 10, left_out, noted, (("time zone", "UTC"),))
    assert str(intake).splitlines() == [
        "Accounting (time zone: UTC)",
        "  rows read  12",
        "  not ended  -2  first on line 7",
        "  jobs       10",
        "of these jobs",
        "  odd         1  first on line 3",
    ]
    (found,) = intake.to_dict()["noted"]
    assert found == {"kind": "odd", "count": 1, "first_line": 3, "file": "", "example": ""}


def test_what_cannot_be_is_unknown_and_said():
    log = log_of(
        {"submit": 10, "start": 4, "run": -3, "procs": 1e30},
        {"submit": 10, "start": 20, "run": 5, "procs": 4},
        left_out=["not ended: RUNNING"],
    )
    assert column(log, "wait") == [0, 10]
    assert column(log, "run") == [None, 5]
    assert column(log, "procs") == [None, 4]
    assert {repair.kind for repair in log.intake.noted} == {
        "left the queue before its submission: wait taken as 0",
        "run time negative or out of range, taken as unknown",
        "allocated processors negative or out of range, taken as unknown",
    }
    assert "1 not ended: RUNNING" in log.header.get("Note")
    assert log.header.get_all("Note")[1].startswith("irregular rows: 1 ")


def test_a_submission_in_no_calendar_is_left_out():
    last = 253_402_300_799 - SECOND  # of the year 9999
    log = log_of(*({"submit": s} for s in (-SECOND, -SECOND - 1, 5, 1e15, last, last + 1)))
    assert (log.n_jobs, log.header.start) == (3, 0)
    (left,) = log.intake.left_out
    assert (left.count, left.first_line) == (3, 3)


def test_no_job_at_all_is_an_error_that_says_why():
    with pytest.raises(
        FormatError, match=r"x.txt: the accounting contains no job: not ended: PENDING \(once"
    ):
        log_of(left_out=["not ended: PENDING"])
    with pytest.raises(
        FormatError, match=r": a \(once, on line 2\), b \(.*, c \(once, on line 4\)$"
    ):
        log_of(left_out=["a", "b", "c", "d"])


def test_fewer_processors_than_were_in_use_at_once_are_warned_of():
    rows = [{"start": 0, "run": 50, "procs": 4}, {"start": 10, "run": 50, "procs": 2}]
    assert log_of(*rows, procs=6).header.procs == 6
    with pytest.warns(WorkloadWarning, match="procs is 5, but 6 processors were in use at once"):
        log_of(*rows, procs=5)


SECRETS = ("al-secret", "grp-secret", "acc-secret", "job-secret", "prt-secret", "clu-secret")


def secret_row(**more):
    fields = ("user", "group", "account", "executable", "partition", "cluster")
    row = dict(zip(fields, SECRETS, strict=True))
    row |= {"id": "id-secret", "array_job": "arr-secret", "qos": "qos-secret", "state": "st-secret"}
    return row | {"reason": "why-secret", "exit_code": "x-secret", "queue": "q-secret"} | more


@pytest.mark.parametrize("key", [None, b"key"])
def test_no_name_survives_in_an_anonymous_log(key, tmp_path):
    log = log_of(secret_row(), secret_row(id="2", submit=7), anonymize=True, key=key)
    write_swf(log, tmp_path / "log.swf")
    table = read_swf(tmp_path / "log.swf").sidecar
    reported = (tmp_path / "log.swf").read_bytes() + (tmp_path / "log.swf.parquet").read_bytes()
    reported += table.to_csv().encode() + str(log.intake).encode() + log.name.encode()
    assert b"secret" not in reported
    assert b"site" not in reported
    assert table["account"].nunique() == 1  # whose jobs stay together


def test_a_key_gives_a_name_the_same_number_in_every_log():
    one = log_of(secret_row(), anonymize=True, key=b"key")
    other = log_of({"user": "bo"}, secret_row(submit=3), anonymize=True, key=b"key")
    another = log_of(secret_row(), anonymize=True, key=b"other")
    assert one.jobs["user"][0] == other.jobs["user"][1] != another.jobs["user"][0]
    assert one.jobs["user"][0] != one.jobs["group"][0]
    assert 0 < one.jobs["user"][0] <= 2**51


def test_numbers_of_a_key_are_bits_of_the_hmac_counted_from_1():
    """As the documentation says, so that a log of next year has the numbers of this one."""
    digest = hmac.new(b"key", b"user\0al", "sha256").hexdigest()
    expected = 1 + int(f"{int(digest, 16):0256b}"[:51], 2)
    log = log_of({"user": "al"}, anonymize=True, key=b"key")
    assert column(log, "user") == [expected]


def test_a_key_gives_a_user_and_a_group_of_one_name_different_numbers():
    jobs = log_of({"user": "al", "group": "al"}, anonymize=True, key=b"key").jobs
    assert jobs["user"][0] != jobs["group"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tz": "Mars/Base"}, "tz is 'Mars/Base'"),
        ({"procs": 0}, "procs is 0"),
        ({"procs": 1.5}, "procs is 1.5"),
        ({"key": b""}, "key must be non-empty bytes"),
        ({"key": "k", "anonymize": True}, "key must be non-empty bytes"),
        ({"key": b"k"}, "key requires anonymize"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        ImportOptions(**options)


def test_submissions_are_believed_from_1970_to_9999():
    last = 253_402_300_799  # 9999-12-31T23:59:59 UTC
    for first, n_jobs in ((0, 3), (-1, 2)):
        times = (first, 5, last, last + 1)
        log = log_of(*({"id": str(t), "submit": t - SECOND, "status": 5} for t in times))
        assert (log.n_jobs, log.header.start) == (n_jobs, 0 if first == 0 else 5)
        (left,) = log.intake.left_out
        assert left.kind == "submitted before 1970 or after 9999"
        assert left.count == 4 - n_jobs


def test_measures_up_to_their_limits_are_believed():
    for more, known in ((0, True), (1, False)):
        log = log_of({"start": 5, "end": 50, "run": 10**12 + more, "procs": 10**9 + more})
        assert column(log, "run") == [1e12 if known else None]
        assert column(log, "procs") == [1e9 if known else None]


@pytest.mark.parametrize(
    ("submit_by", "wait", "submit"),
    [("", 60, SECOND), ("eligible", 60, None), ("start", None, None)],
)
@pytest.mark.parametrize("anonymize", [False, True])
def test_what_stands_for_a_submission_is_none_next_to_the_log(submit_by, wait, submit, anonymize):
    row = {"id": "7", "start": 60, "run": 50, "submit_by": submit_by}
    log = log_of(row, anonymize=anonymize)
    assert (column(log, "wait"), column(log, "run"), column(log, "submit")) == ([wait], [50], [0])
    found = log.sidecar["submit"][0]
    assert found == submit or (submit is None and np.isnan(found))
    assert log.sidecar["submit_by"].tolist() == [submit_by]


def test_a_key_that_gives_two_names_one_number_is_refused(monkeypatch):
    monkeypatch.setattr(names, "KEYED_BITS", 1)  # two numbers, for three users
    users = pd.Series(["ann", "bob", "cyd"], dtype="category")
    with pytest.raises(ParameterError, match="key gives two user names the same number"):
        names.numbers_of(users, "user", key=b"secret")
    assert set(names.numbers_of(users[:1], "user", key=None)[0]) == {1}
