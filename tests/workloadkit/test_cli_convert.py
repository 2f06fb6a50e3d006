"""`workloadkit convert`, and the formats that are told by their first lines."""

import gzip
import io
import json
import sys
from functools import partial
from random import Random

import pytest

import workloadkit as wk
from tests.fuzz.formats import FORMATS
from workloadkit.errors import plural
from workloadkit.io.formats import written_format
from workloadkit.io.known_formats import ACCOUNTING, TITLES

SACCT = """\
JobID|User|Partition|Submit|Start|End|State|AllocCPUS|ReqCPUS
7|ann|day|2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T09:01:00|COMPLETED|4|4
8|bob|night|2024-05-01T08:30:00|Unknown|2024-05-01T08:40:00|CANCELLED by 9|0|2
9|ann|day|2024-05-01T09:00:00|2024-05-01T09:00:00|Unknown|RUNNING|1|1
"""
JOBS = [
    "1 0 60 3600 4 -1 -1 4 -1 -1 1 1 -1 -1 -1 1 -1 -1",
    "2 1800 600 -1 -1 -1 -1 2 -1 -1 5 2 -1 -1 -1 2 -1 -1",
]
TABLE = """\
Slurm accounting (time zone: UTC)
  rows read            3
  not ended: RUNNING  -1  first on line 4
  jobs                 2
"""


@pytest.fixture
def run(run):
    return partial(run, "convert")


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.txt"
    path.write_text(SACCT)
    return path


def data_lines(text):
    return [line for line in text.splitlines() if not line.startswith(";")]


@pytest.mark.filterwarnings("ignore:no column Submit")
def test_a_format_is_recognised_by_its_first_lines():
    for seed in range(3):
        for name in TITLES:
            content = FORMATS[name].good(Random(seed))
            reported = wk.read_log(io.BytesIO(gzip.compress(content)))
            named = wk.read_log(io.BytesIO(content), name)
            assert reported.jobs.equals(named.jobs)
            if name in ACCOUNTING:
                assert reported.intake == named.intake


def test_accounting_becomes_a_log_and_what_stands_next_to_it(run, export, tmp_path):
    out = tmp_path / "log.swf.gz"
    code, table, reported = run(export, "-o", out, "--procs", 8)
    assert (code, table, reported) == (0, TABLE, f"wrote {out} and {out}.parquet\n")
    text = gzip.decompress(out.read_bytes()).decode()
    assert data_lines(text) == JOBS
    header = wk.read_swf(out).header
    assert header.get_all("Partition") == ["1 day", "2 night"]
    assert [header.number(label) for label in ("MaxJobs", "MaxRecords", "MaxProcs")] == [2, 2, 8]
    assert header.get("EndTime") == "Wed May 01 09:01:00 UTC 2024"
    assert wk.read_swf(out).sidecar["user"].tolist() == ["ann", "bob"]
    assert (tmp_path / "log.swf.gz.parquet").exists()


def test_the_table_makes_room_for_a_log_on_standard_output(run, export):
    code, out, reported = run(export, "-o", "-")
    assert code == 0
    assert data_lines(out) == JOBS
    lost = "no other file is written next to it: what the format cannot hold is lost"
    size = "the size of the machine is unknown: give it with --procs"
    assert reported == f"{TABLE}warning: {lost}\n{size}\n"


def test_what_other_formats_cannot_hold_is_reported(run, export, tmp_path):
    out = tmp_path / "log.gwf"
    _, _, reported = run(export, "-o", out, "--procs", 8)
    lost = f"{export.name}: the Grid Workloads Format has no columns for state"
    assert reported == f"warning: {lost}\nwrote {out}\n"


def test_what_became_of_the_rows_as_json(run, export, tmp_path):
    code, out, _ = run(export, "-o", tmp_path / "log.swf", "--json", "-", "--tz", "Asia/Tokyo")
    reported = json.loads(out)
    assert code == 0
    assert (reported["rows"], reported["jobs"]) == (3, 2)
    left_out = {"kind": "not ended: RUNNING", "count": 1, "first_line": 4}
    assert reported["left_out"] == [left_out | {"file": "", "example": ""}]
    assert reported["settings"] == {"time zone": "Asia/Tokyo"}


def test_several_files_and_keys(run, export, tmp_path):
    (tmp_path / "key").write_text("secret\n")
    (tmp_path / "more.txt").write_text(SACCT.replace("2024-05-01", "2024-05-02"))
    out = tmp_path / "log.swf"
    keyed = (out, "--anonymize", "--key", tmp_path / "key")
    assert run(export, tmp_path / "more.txt", "-o", *keyed)[0] == 0
    both = wk.read_swf(out)
    assert run(export, "-o", *keyed)[0] == 0
    assert both.jobs["user"].tolist() == 2 * wk.read_swf(out).jobs["user"].tolist()
    assert not any(name in out.read_text() for name in ("ann", "bob", "day", "night"))


@pytest.mark.parametrize("text", ["secret", " secret \r\n"])
def test_a_key_is_the_same_with_any_white_space_around(run, export, tmp_path, text):
    numbers = []
    for key in ("secret\n", text):
        (tmp_path / "key").write_bytes(key.encode())
        log = tmp_path / "log.swf"
        assert run(export, "-o", log, "--anonymize", "--key", tmp_path / "key")[0] == 0
        numbers.append(wk.read_swf(log).jobs["user"].tolist())
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(("length", "code"), [(4096, 0), (4097, 1)])
def test_a_key_has_4096_bytes_at_most(run, export, tmp_path, length, code):
    (tmp_path / "key").write_bytes(b"k" * length)
    keyed = (tmp_path / "log.swf", "--anonymize", "--key", tmp_path / "key")
    assert run(export, "-o", *keyed)[0] == code
    assert (tmp_path / "log.swf").exists() == (code == 0)


def test_a_key_that_is_not_there_is_reported(run, export, tmp_path):
    key = tmp_path / "nokey"
    code, out, error = run(export, "-o", tmp_path / "log.swf", "--anonymize", "--key", key)
    assert (code, out) == (1, "")
    assert error == f"error: {key}: cannot be read: No such file or directory\n"


def test_a_blank_key_is_refused(run, export, tmp_path):
    (tmp_path / "key").write_text(" \n")
    keyed = (tmp_path / "log.swf", "--anonymize", "--key", tmp_path / "key")
    code, _, error = run(export, "-o", *keyed)
    assert (code, (tmp_path / "log.swf").exists()) == (1, False)
    assert "key" in error


@pytest.mark.parametrize(("options", "n_bursts"), [((), 0), (("--attempts",), 2)])
def test_attempts_become_lines_of_their_job_on_request(run, export, tmp_path, options, n_bursts):
    again = SACCT.splitlines()[1].replace("T08:01", "T10:01").replace("T09:01", "T11:01")
    export.write_text(f"{SACCT.replace('COMPLETED', 'NODE_FAIL')}{again}\n")
    assert run(export, "-o", tmp_path / "log.swf", *options)[0] == 0
    log = wk.read_swf(tmp_path / "log.swf")
    assert (log.n_jobs, len(log.bursts)) == (2, n_bursts)


def test_columns_that_the_file_does_not_name(run, export, tmp_path):
    names, _, rows = SACCT.partition("\n")
    export.write_text(rows)
    assert run(export, "-o", tmp_path / "log.swf", "--columns", names)[0] == 0
    assert data_lines((tmp_path / "log.swf").read_text()) == JOBS


def test_strict_reading_refuses_what_would_be_repaired(run, tmp_path):
    log, out = tmp_path / "log.swf", tmp_path / "out.swf"
    log.write_text("1 0 5 60 4\n")
    code, _, error = run(log, "-o", out, "--strict")
    assert (code, out.exists()) == (1, False)
    assert "line 1: 5 columns, not 18" in error
    assert run(log, "-o", out)[0] == 0


def test_a_log_is_called_as_its_source_is(export, monkeypatch):
    with export.open("rb") as stream:
        assert wk.read_log(stream).name == wk.read_log(export).name == "export.txt"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SACCT.encode())))
    log = wk.read_log("-")
    assert (log.name, log.digest) == ("standard input", wk.read_log(export).digest)


def test_a_stream_of_text_is_refused():
    with pytest.raises(wk.WorkloadError, match="this one was opened as text"):
        wk.read_log(io.StringIO(SACCT))


def test_a_log_goes_to_other_formats_and_back(run, export, tmp_path):
    log = tmp_path / "log.swf"
    run(export, "-o", log)
    for name in ("log.gwf.gz", "log.json"):
        other, back = tmp_path / name, tmp_path / f"{name}.swf"
        assert run(log, "-o", other)[0] == 0
        code, out, _ = run(other, "-o", back)
        kept = JOBS if "gwf" in name else JOBS[:1]
        assert (code, data_lines(back.read_text())) == (0, kept)
        assert out.startswith(f"{name}: {plural(len(kept), 'job')} read, all kept")


def test_the_format_and_the_columns_can_be_named(run, export, tmp_path):
    out = tmp_path / "log.swf"
    names, _, rows = SACCT.partition("\n")
    export.write_text(rows)
    assert run(export, "-o", out)[0] == 1
    assert run(export, "-o", out, "--columns", names)[0] == 0
    assert data_lines(out.read_text()) == JOBS
    export.write_text(SACCT)
    assert run(export, "-o", out, "--from", "slurm")[0] == 0
    code, _, error = run(export, "-o", out, "--from", "gwf")
    assert (code, error.count("\n")) == (1, 1)


def test_each_attempt_of_a_requeued_job_is_a_line_on_request(run, tmp_path):
    day = "2024-05-01T0"
    head = "JobID|User|Submit|Start|End|State|AllocCPUS\n"
    first = f"7|ann|{day}8:00:00|{day}8:01:00|{day}8:11:00|NODE_FAIL|4\n"
    again = f"7|ann|{day}8:00:00|{day}8:21:00|{day}8:26:00|COMPLETED|4\n"
    export, out = tmp_path / "twice.txt", tmp_path / "log.swf"
    export.write_text(head + first + again)
    runs = {}
    for options in ((), ("--attempts",)):
        assert run(export, "-o", out, *options)[0] == 0
        runs[options] = [line.split()[3] for line in data_lines(out.read_text())]
    assert runs == {(): ["300"], ("--attempts",): ["900", "600", "300"]}


def test_what_was_repaired_in_a_log_is_reported_and_in_the_json(run, tmp_path):
    log, target = tmp_path / "late.swf", tmp_path / "intake.json"
    job = "{} {} 0 5 1 -1 -1 1 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
    log.write_text(job.format(1, 50) + job.format(2, 20))
    code, out, error = run(log, "-o", tmp_path / "log.gwf", "--json", target)
    assert (code, error) == (0, f"wrote {tmp_path / 'log.gwf'}\nwrote {target}\n")
    assert out.startswith("late.swf: 2 jobs read, all kept\nrepairs made while reading:\n  ")
    reported = json.loads(target.read_text())
    assert reported["jobs"] == 2
    assert [repair["count"] for repair in reported["repairs"]] == [1]
    assert reported["provenance"]["log"] == "late.swf"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "log.txt"), "the suffix does not determine a format"),
        (("-o", "log.swf", "--key", "export.txt"), "error: --key requires --anonymize"),
        (("-o", "log.swf", "--tz", "Mars"), "tz is 'Mars'"),
        (("-o", "log.swf", "--from", "sacct"), "'sacct' is not one of"),
    ],
)
def test_wrong_usage_is_reported(run, export, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, error = run("export.txt", *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(error.split())
    assert not (tmp_path / "log.swf").exists()


def test_options_of_accounting_are_not_for_logs(run, export, tmp_path):
    run(export, "-o", tmp_path / "log.swf")
    code, _, error = run(tmp_path / "log.swf", "-o", tmp_path / "other.swf", "--anonymize")
    assert (code, error) == (2, "error: --anonymize: not supported for Standard Workload Format\n")


def test_one_log_at_a_time(run, export, tmp_path):
    log = tmp_path / "log.swf"
    run(export, "-o", log)
    code, _, error = run(log, log, "-o", tmp_path / "other.swf")
    assert code == 2
    assert "2 files given; Standard Workload Format is read from one" in error


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.swf", "swf"),
        ("a.b.SWF.ZST", "swf"),
        ("-", "swf"),
        ("a.gwf.xz", "gwf"),
        ("j.json", "batsim"),
    ],
)
def test_the_suffix_says_what_is_written(name, format_):
    assert written_format(name) == format_


def test_a_key_is_not_written_over(run, export, tmp_path):
    key = tmp_path / "key.swf"
    key.write_text("secret\n")
    code, _, error = run(export, "-o", key, "--anonymize", "--key", key)
    assert (code, key.read_text()) == (2, "secret\n")
    assert f"is the input {key}, which is not overwritten" in error
