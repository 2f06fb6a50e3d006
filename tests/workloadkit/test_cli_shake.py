"""The command that shakes a log."""

from functools import partial

import pytest

import workloadkit as wk


@pytest.fixture
def run(run):
    return partial(run, "shake")


@pytest.fixture
def log(tmp_path):
    log = {"submit": [100, 200, 9000, 9050], "user": [1, 2, 1, 2], "run": [60] * 4}
    path = tmp_path / "small.swf"
    wk.write_swf(wk.Trace.from_columns({**log, "procs": [1] * 4}), path)
    return path


def test_the_shaken_log_goes_to_stdout(run, log, tmp_path):
    code, out, err = run(log, "--seed", 3)
    wk.write_swf(wk.shake(wk.read_swf(log), rng=3), tmp_path / "new.swf")
    assert (code, out) == (0, (tmp_path / "new.swf").read_text())
    assert err == "jobs 4, seed 3\n"


def test_options_reach_the_shaking_and_the_seed_is_reported(run, log, tmp_path):
    new = tmp_path / "new.swf.gz"
    code, out, err = run(log, "-o", new, "--move", "user", "--by", "2min")
    assert (code, out) == (0, "")
    *said, seed = err.split()
    assert said == ["wrote", str(new) + ":", "jobs", "4,", "seed"]
    expected = wk.shake(wk.read_swf(log), "user", 120, int(seed))
    assert wk.read_swf(new).jobs.equals(expected.jobs)
    assert wk.read_swf(new).header == expected.header


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--move", "week"], "error: --move is 'week'; known: user, session, batch, job"),
        (["--by", "long"], "'long' is not a duration"),
        (["--by", "-5"], "'-5' is not a duration"),
        (["--seed", "x"], "--seed"),
    ],
)
def test_wrong_usage_is_exit_2(run, log, arguments, message):
    code, out, err = run(log, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_the_input_is_not_written_over(run, log):
    before = log.read_bytes()
    code, _, err = run(log, "-o", log)
    assert code == 2
    assert "is the input" in err
    assert log.read_bytes() == before
