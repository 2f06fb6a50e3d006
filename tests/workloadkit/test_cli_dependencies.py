"""The command that writes dependencies."""

import json
from functools import partial

import pytest

import workloadkit as wk


@pytest.fixture
def run(run):
    return partial(run, "dependencies")


@pytest.fixture
def log(tmp_path):
    log = {"submit": [0, 10, 90, 7290, 9000], "run": [60, 5, 10000, 10, 1], "user": [5] * 5}
    path = tmp_path / "small.swf"
    wk.write_swf(wk.Trace.from_columns({**log, "procs": [1] * 5}), path)
    return path


def test_the_log_goes_to_a_file_and_what_is_lost_is_reported(run, log, tmp_path):
    new = tmp_path / "new.swf"
    code, out, err = run(log, "-o", new)
    assert (code, out) == (0, "")
    assert wk.read_swf(new).column("preceding_job").tolist() == [-1, -1, 1, -1, 4]
    assert err.splitlines() == [
        f"wrote {new}: jobs 5, batches 4, with a preceding job 2",
        "not carried: batches that only follow another, after an inter-arrival time: 1",
        "not carried: jobs after the first of a batch, which arrive at their own time: 1",
    ]


def test_counts_go_to_json(run, log, tmp_path):
    new, counts = tmp_path / "new.swf", tmp_path / "counts.json"
    code, _, _ = run(log, "-o", new, "--json", counts)
    assert code == 0
    reported = json.loads(counts.read_text())
    assert reported["written"] == 2
    assert reported["provenance"]["log"] == "small.swf"


def test_outputs_do_not_meet(run, log):
    code, out, err = run(log, "--json", "-")
    assert (code, out) == (2, "")
    assert "stdout" in err


def test_a_log_that_is_not_there_is_exit_1(run, tmp_path):
    code, out, err = run(tmp_path / "none.swf", "-o", tmp_path / "new.swf")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert not (tmp_path / "new.swf").exists()
