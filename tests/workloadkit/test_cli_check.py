"""`workloadkit check`: what is shown of a schedule, and what bad input and wrong usage get."""

import io
import json
import sys

import pytest

import workloadkit as wk

HEADER = wk.Header(("; Version: 2.2", "; MaxProcs: 4"))


@pytest.fixture
def log(tmp_path):
    columns = {
        "submit": [0, 5, 5, 20, 300],
        "wait": [0, 0, 0, 0, 0],
        "run": [100, 50, 90, -1, 30],
        "procs": [2, 4, 2, 1, 4],
        "requested_time": [100, 40, 90, -1, 30],
        "user": [1, 2, 3, 4, 5],
    }
    path = tmp_path / "small.swf"
    wk.write_swf(wk.Trace.from_columns(columns, header=HEADER), path)
    return path


@pytest.fixture
def easy(run, log):
    path = log.parent / "easy.swf"
    run("simulate", log, "-o", path)
    return path


@pytest.fixture
def broken(log, easy):
    """A schedule whose last job starts a second late."""
    path = log.parent / "broken.swf"
    schedule = wk.read_swf(easy)
    wait = schedule.column("wait").copy()
    wait[-1] += 1
    wk.write_swf(schedule.with_columns(wait=wait), path)
    return path


def test_a_right_schedule_is_exit_0(run, log, easy):
    code, out, err = run("check", log, easy, "--policy", "easy")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "easy.swf, a schedule of small.swf on 4 processors under easy"
    assert len(lines) == 10
    assert all(line.startswith("proved          ") for line in lines[1:-1])
    assert lines[-1] == "proved: the log and the policy allow no other schedule"
    assert max(map(len, lines)) <= 80


def test_a_broken_schedule_is_exit_1_and_says_where(run, log, broken):
    code, out, err = run("check", log, broken, "--policy", "easy")
    assert (code, err) == (1, "")
    assert "refuted         each pass starts the jobs that the policy starts: at" in out
    assert max(map(len, out.splitlines())) <= 80
    assert run("check", log, broken)[0] == 1  # it records its policy


def test_the_report_as_json_is_all_that_goes_to_stdout(run, log, easy, broken):
    code, out, err = run("check", log, easy, "--policy", "easy", "--json", "-")
    assert (code, err) == (0, "")
    found = json.loads(out)
    report = wk.check_schedule(wk.read_swf(log), wk.read_swf(easy), policy="easy")
    assert found == report.to_dict()
    assert list(found) == ["ok", "verdict", "claims", "provenance"]
    code, out, _ = run("check", log, broken, "--policy", "easy", "--json", "-")
    assert (code, json.loads(out)["ok"]) == (1, False)


def test_the_report_as_json_goes_to_the_file_that_is_named(run, log, easy):
    target = log.parent / "report.json"
    code, out, err = run("check", log, easy, "--json", target)
    assert (code, err) == (0, f"wrote {target}\n")
    assert out.startswith("easy.swf, a schedule of small.swf on 4 processors under easy\n")
    assert json.loads(target.read_text())["ok"]


@pytest.mark.parametrize(
    "options",
    [
        ("--overrun", "kill"),
        ("--overrun", "late"),
        ("--estimates", "exact"),
        ("--passes", "event"),
        ("--procs", "3", "--oversize", "drop"),
        ("--offered-load", "0.5"),
        ("--scale-runs", "1.5", "--scale-arrivals", "0.5"),
        ("--scale-sizes", "2", "--scale-machine", "2", "--overrun", "kill"),
    ],
)
def test_a_schedule_is_checked_by_the_options_that_made_it(run, log, options):
    schedule = log.parent / "made.swf"
    assert run("simulate", log, "-o", schedule, *options)[0] == 0
    code, out, _ = run("check", log, schedule, "--policy", "easy", *options)
    assert code == 0, out


def test_the_title_has_the_policy_with_its_parameters(run, log):
    schedule = log.parent / "made.swf"
    run("simulate", log, "-o", schedule, "--scheduler", "reservations:2")
    code, out, err = run("check", log, schedule, "--policy", "reservations:2")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith(
        "made.swf, a schedule of small.swf on 4 processors under reservations:depth=2 proved "
    )
    assert "proved each pass starts the jobs that the policy starts" in text


def test_options_other_than_those_that_made_it_are_worth_a_line(run, log):
    schedule = log.parent / "made.swf"
    run("simulate", log, "-o", schedule, "--overrun", "kill", "--offered-load", "0.5")
    _, _, err = run("check", log, schedule, "--policy", "fcfs")
    assert err == (
        "warning: made.swf describes itself as a simulation of overrun kill, offered_load 0.5, "
        "scheduler easy, which differs from what it is checked for\n"
    )


def test_outages_take_processors_away(run, log, easy):
    path = log.parent / "outages.txt"
    wk.write_outages(wk.Outages((wk.Outage(1, 10, 20, 4),)), path)
    code, out, _ = run("check", log, easy, "--outages", path)
    assert code == 1
    assert "no processor is used twice at one time: 4 of 0 at 10 s, by jobs" in out


def test_standard_input(run, log, easy, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    assert run("check", "-", easy)[0] == 0
    code, _, err = run("check", "-", "-")
    assert code == 2
    assert "cannot both be standard input" in " ".join(err.split())


def test_wrong_usage_is_exit_2_and_writes_nothing(run, log, easy):
    for arguments, message in (
        (["--policy", "best"], "error: unknown scheduler 'best'; known: fcfs, easy"),
        (["--policy", "easy:depth=3"], "error: scheduler easy has no parameter 'depth'; known:"),
        (["--overrun", "ignore"], "error: --overrun is 'ignore'; known: raise, kill, late, header"),
        (["--oversize", "shrink"], "error: --oversize is 'shrink'; known: error, drop"),
        (["--estimates", "none"], "error: --estimates is 'none'; known: user, exact"),
        (["--passes", "twice"], "error: --passes is 'twice'; known: instant, event"),
        (["--procs", "0"], "error: --procs is 0"),
        (["--offered-load", "0"], "error: --offered-load is 0"),
        (["--nosuch"], "--nosuch"),
    ):
        target = log.parent / "report.json"
        code, out, err = run("check", log, easy, *arguments, "--json", target)
        assert (code, out) == (2, "")
        assert message in err
        assert not target.exists()


def test_both_files_are_needed(run, log):
    code, out, err = run("check", log)
    assert (code, out) == (2, "")
    assert "SCHEDULE" in err


@pytest.mark.parametrize("missing", [0, 1])
def test_a_file_that_is_not_there_is_exit_1(run, log, easy, missing):
    files = [log, easy]
    files[missing] = log.parent / "nosuch.swf"
    assert run("check", *files) == (1, "", f"error: {files[missing]}: no such file\n")


def test_jobs_larger_than_the_machine_are_exit_1_unless_left_out(run, log, easy):
    code, out, err = run("check", log, easy, "--procs", 3)
    assert (code, out) == (1, "")
    assert err.startswith("error: small.swf: 2 jobs are larger than the machine of 3 processors")
    assert err.count("\n") == 1


def test_a_report_that_cannot_be_written_is_exit_1(run, log, easy):
    target = log.parent / "nosuch" / "report.json"
    code, out, err = run("check", log, easy, "--json", target)
    assert (code, out) == (1, "")
    assert err == f"error: {target}: cannot be written: there is no folder {target.parent}\n"


def test_help_shows_examples(run):
    code, out, _ = run("check", "--help")
    assert code == 0
    assert "Examples:\n  workloadkit check log.swf.gz" in out
    assert max(map(len, out.splitlines())) <= 80


def test_strict_takes_a_departure_for_an_error(run, log, easy):
    path = log.parent / "short.swf"
    path.write_text("1 0 0 5 1\n")
    code, _, err = run("check", path, path, "--procs", 1)
    assert code == 0
    assert err.count("short.swf: repairs made while reading:\n  ") == 2
    for files in ((path, easy), (log, path)):
        code, out, err = run("check", *files, "--procs", 4, "--strict")
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {path}, line 1")
