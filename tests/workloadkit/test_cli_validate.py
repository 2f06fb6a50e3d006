"""`workloadkit validate` and `--bursts`: what is shown, written and returned."""

import csv
import io
import json

import pytest

from tests.data import ODD, needs_odd

GOOD = "1 0 0 10 4 -1 -1 4 20 -1 1 1 -1 -1 -1 -1 -1 -1\n"
BAD = "2 9 0 10 4 -1 -1 4 20 -1 7 1 -1 -1 -1 -1 -1 -1\n"
PARTS = (
    "1 0 5 60 4 -1 -1 4 90 -1 1 1 -1 -1 -1 -1 -1 -1\n"
    "1 0 5 20 4 -1 -1 4 90 -1 2 1 -1 -1 -1 -1 -1 -1\n"
    "1 -1 30 40 4 -1 -1 4 90 -1 3 1 -1 -1 -1 -1 -1 -1\n"
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: 8\n{GOOD}")
    return path


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.swf"
    path.write_text(f"; MaxProcs: 8\n{GOOD}{BAD}")
    return path


def test_a_log_without_errors_gets_0(run, log):
    code, out, err = run("validate", log)
    assert (code, err) == (0, "")
    assert out.startswith("rule")
    assert "clock-known" in out
    assert "0 errors, 1 warning, 1 note: follows the standard." in " ".join(out.split())


def test_a_broken_rule_gets_1_and_is_shown(run, broken):
    code, out, _ = run("validate", broken)
    assert code == 1
    assert "job 2: status 7" in out
    assert " ".join(out.split()).endswith("does not follow the standard.")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("fail_on", "codes"), [("error", (0, 1)), ("warning", (1, 1)), ("never", (0, 0))]
)
def test_what_is_exit_1_is_chosen(run, log, broken, fail_on, codes):
    assert tuple(run("validate", path, "--fail-on", fail_on)[0] for path in (log, broken)) == codes


def test_another_choice_is_wrong_usage(run, log):
    code, _, err = run("validate", log, "--fail-on", "notes")
    assert code == 2
    assert "notes" in err


def test_json_to_a_file_and_to_stdout(run, broken, tmp_path):
    target = tmp_path / "found.json"
    code, out, err = run("validate", broken, "--json", target)
    assert code == 1
    assert "status-values" in out
    assert err == f"wrote {target}\n"
    data = json.loads(target.read_text())
    assert data["holds"] is False
    assert data["findings"][0]["rule"] == "status-values"
    code, out, _ = run("validate", broken, "--json", "-")
    assert (code, json.loads(out)) == (1, data)


def test_what_reading_repaired_is_reported_and_breaks_its_rule(run, tmp_path):
    path = tmp_path / "late.swf"
    path.write_text(BAD.replace(" 7 1", " 1 1") + GOOD)
    code, out, err = run("validate", path)
    assert code == 1
    assert "repairs made while reading" in err
    assert "submit-order" in out
    code, out, err = run("validate", path, "--strict")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "line 2, field job" in err


@pytest.mark.parametrize("text", ["", "; MaxProcs: 8\n", "words\n", GOOD + "words\n"])
def test_what_cannot_be_read_gets_1_in_one_line(run, tmp_path, text):
    path = tmp_path / "bad.swf"
    path.write_text(text)
    code, out, err = run("validate", path)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {path}")
    assert err.count("\n") == 1


def test_a_missing_file_and_the_log_as_its_own_result(run, log, tmp_path):
    assert run("validate", tmp_path / "none.swf")[0] == 1
    code, _, err = run("validate", log, "--json", log)
    assert code == 2
    assert "not overwritten" in err


def test_the_sample_follows_the_standard(run):
    code, out, err = run("validate")
    assert code == 0
    assert err == "no TRACE given: using the built-in sample\n"
    assert "0 errors" in out


@needs_odd
def test_odd_files_are_refused_in_a_line_or_reported(run):
    """What is odd about each is in the table, or in the error."""
    reports = {
        "ANL-Intrepid-first10-noeol": (1, "max-records"),
        "columns28-burstbuffer": (1, "columns after the 18th kept"),
        "crlf-noheader-noeol": (0, "labels-present"),
        "float-times-unsorted-id0-crlf": (1, "submit-order times-whole job-from-1"),
        "header-only-no-jobs": (1, "contains comments but no jobs"),
        "malformed-line-and-blank": (1, "line 6, field job: not a number: 'malformed'"),
        "mixed-tabs-utf8-comment": (1, "think-without-preceding"),
        "out-of-order-submits": (1, "submit-order"),
        "simulator-output-no-maxjobs": (1, "labels-present MaxJobs"),
        "synthetic-noheader-nouser": (0, "labels-present user-known"),
        "tiny-freeform-header": (0, "labels-present"),
    }
    for path in ODD:
        code, out, err = run("validate", path)
        expected, words = reports[path.stem]
        assert code == expected
        report = " ".join((out + err).split())
        assert all(word in report for word in ([words] if "'" in words else words.split()))
        if not out:
            assert err.count("\n") == 1
        code, out, err = run("validate", path, "--strict")
        if not out:
            assert (code, err.count("\n")) == (1, 1)
            assert str(path) in err


# -- checkpointed jobs ---------------------------------------------------------------------------


@pytest.fixture
def checkpointed(tmp_path):
    path = tmp_path / "parts.swf"
    path.write_text("; MaxProcs: 8\n; Preemption: Double\n" + PARTS)
    return path


def test_sessions_of_bursts(run, checkpointed):
    _, out, err = run("sessions", checkpointed, "--bursts")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["job"] for row in rows] == ["1", "1"]
    assert "checkpointed jobs 1, replaced by bursts 2" in err
    _, out, _ = run("sessions", checkpointed)
    assert len(list(csv.DictReader(io.StringIO(out)))) == 1


@pytest.mark.slow
def test_characterize_bursts(run, checkpointed):
    def report(*options):
        code, out, _ = run("characterize", checkpointed, "--json", "-", *options)
        assert code == 0
        data = json.loads(out)
        return data["provenance"]["log"], data["overview"]["finding"][:6]

    assert report() == ("parts.swf", "1 job ")
    assert report("--bursts") == ("parts.swf, as bursts", "2 jobs")
