import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.cli import resample
from workloadkit.clock import WEEK
from workloadkit.io.unfinished_files import locked
from workloadkit.resample import files
from workloadkit.resample.files import measure_size
from workloadkit.resample.runs import own_seed


@pytest.fixture
def run(run):
    return partial(run, "resample")


@pytest.fixture
def log(tmp_path):
    """A log of 40 weeks: one user who stays and two who pass."""
    week = np.concatenate([np.arange(41), [10.5, 11.5, 20.25]])
    user = np.array([1] * 41 + [2, 2, 3])
    columns = {"submit": week * WEEK, "user": user, "run": [60] * 44, "procs": [1] * 44}
    path = tmp_path / "small.swf"
    wk.write_swf(wk.Trace.from_columns(columns), path)
    return path


def read(path):
    return wk.read_swf(path, strict=True)


def test_the_new_log_goes_to_stdout(run, log, tmp_path):
    code, out, err = run(log, "--seed", 3)
    assert code == 0
    wk.write_swf(wk.resample(wk.read_swf(log), rng=3), tmp_path / "new.swf")
    assert out == (tmp_path / "new.swf").read_text()
    first, head, *sizes, expected = err.splitlines()
    assert first == "jobs 45, users 3, seed 3"
    assert head.split() == ["source", "made", "range", "ratio", "std.", "error"]
    assert [line.split()[:3] for line in sizes] == [["jobs", "44", "45"], ["users", "3", "3"]]
    assert expected.startswith("users expected: 3 (1 long-term, 2 temporary), 1.01 times those")


def test_many_logs_have_a_standard_error_and_advice_on_the_load(run, tmp_path):
    code, _, err = run("-o", tmp_path / "many", "--count", 12, "--load", 1.5, "--seed", 1)
    assert code == 0
    loads = [measure_size(read(path))["offered load"] for path in sorted(tmp_path.glob("many/*"))]
    ratios = np.array(loads) / measure_size(wk.load_sample())["offered load"]
    error = ratios.std(ddof=1) / 12**0.5
    (line,) = (line for line in err.splitlines() if line.startswith("offered load"))
    assert line.split()[-2:] == [f"{ratios.mean():.3g}", f"{error:.2g}"]
    advice = f"for 1.5 times the offered load of the source: --load {1.5**2 / ratios.mean():.3g};"
    missed = abs(ratios.mean() - 1.5) > 2 * error
    assert (advice in err) == missed
    assert ("is 1.5 times that of the source within two standard errors" in err) != missed


def test_the_seed_that_was_drawn_makes_the_same_bytes(run, log, tmp_path):
    first, second = tmp_path / "1.swf.gz", tmp_path / "2.swf.gz"
    code, out, err = run(log, "-o", first)
    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {first}: jobs ")
    assert run(log, "-o", second, "--seed", err.splitlines()[0].split()[-1])[0] == 0
    assert first.read_bytes() == second.read_bytes()


def test_options_reach_the_resampling(run, log, tmp_path):
    new = tmp_path / "new.swf"
    options = {
        "--weeks": 30, "--load": 2, "--move": "job", "--long-term": "30d", "--edge": "1w",
        "--end-effects": "any", "--begin": 0, "--long-term-users": 3, "--temporary-users": 1.5,
        "--arrivals": 0.5, "--rare": f"2:1w-11w,1:{5 * WEEK}-{6 * WEEK}", "--rare-per-week": 0.25,
        "--start": "activity",
    }  # fmt: skip
    words = [word for option in options.items() for word in option]
    code, _, err = run(log, "-o", new, "--seed", 1, *words)
    assert code == 0, err
    expected = wk.resample(
        wk.read_swf(log), rng=1, weeks=30, load=2, move="job", long_term=30 * 86400, edge=WEEK,
        end_effects="any", begin=0, long_term_users=3, temporary_users=1.5, arrivals=0.5,
        rare_per_week=0.25, rare=[(2, WEEK, 11 * WEEK), (1, 5 * WEEK, 6 * WEEK)], start="activity",
    )  # fmt: skip
    assert read(new).jobs.equals(expected.jobs)
    assert read(new).header == expected.header
    assert wk.rare_users(read(new)).size


def test_an_edge_of_nothing_near_an_end_is_an_edge(run, log, tmp_path):
    jobs = wk.read_swf(log).jobs
    jobs.loc[jobs["user"] == 3, "submit"] = 0.5 * WEEK  # by default too near the begin to count
    wk.write_swf(wk.Trace.from_columns(jobs), log)
    code, _, err = run(log, "-o", tmp_path / "new.swf", "--seed", 1, "--edge", 0, "--load", 10)
    assert code == 0, err
    expected = wk.resample(wk.read_swf(log), load=10, rng=1, edge=0)
    assert read(tmp_path / "new.swf").jobs.equals(expected.jobs)
    assert not expected.jobs.equals(wk.resample(wk.read_swf(log), load=10, rng=1).jobs)


def test_several_logs_are_mixed_and_some_users_preferred(run, log, tmp_path):
    other = tmp_path / "other.swf"
    header = wk.Header(("; MaxProcs: 8",))
    wk.write_swf(replace(wk.read_swf(log), header=header), other)
    options = ["--procs", 32, "--rescale", "--weight", "occasional=3, 2=2"]
    code, out, err = run(other, "--seed", 1, *options)
    assert code == 0, err
    weights = {"occasional": 3.0, 2: 2.0}
    how = {"rng": 1, "procs": 32, "rescale": True}
    wk.write_swf(wk.resample(wk.read_swf(other), weights=weights, **how), tmp_path / "new.swf")
    assert out == (tmp_path / "new.swf").read_text()
    assert "; MaxProcs: 32\n" in out
    code, out, err = run(other, other, "--seed", 1)
    wk.write_swf(wk.resample([wk.read_swf(other)] * 2, rng=1), tmp_path / "mixed.swf")
    assert out == (tmp_path / "mixed.swf").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_report_alone_goes_without_a_log(run, log, tmp_path, option):
    report = tmp_path / ("report.json" if option == "--json" else "report.html")
    code, out, err = run(log, option, report, "--seed", 1)
    assert (code, out) == (0, ""), err
    assert report.stat().st_size


@pytest.mark.parametrize("workers", [1, 2])
def test_many_logs_are_the_same_bytes_with_any_workers(run, log, tmp_path, workers):
    folder = tmp_path / "many"
    options = ["--count", 5, "--seed", 3, "--workers", workers, "--load", 4]
    code, out, err = run(log, "-o", folder, *options)
    assert (code, out, err.splitlines()[0]) == (0, "", f"wrote {folder}: logs 5, seed 3")
    names = [f"000{i}.swf.gz" for i in range(1, 6)]
    assert sorted(path.name for path in folder.iterdir()) == names
    for i, name in enumerate(names):
        alone = tmp_path / "alone.swf.gz"
        wk.write_swf(list(wk.resamples(wk.read_swf(log), 5, load=4, rng=3))[i], alone)
        assert (folder / name).read_bytes() == alone.read_bytes()
        notes = read(folder / name).header.get_all("Note")
        assert f"seed {own_seed(3, i)}, load 4, run {i} of seed 3" in notes[-1]


def test_more_than_9999_files_have_longer_names(tmp_path):
    wanted = []
    for _ in files.write_runs(lambda i, path: wanted.append((i, path)), 10_000, tmp_path):
        pass
    assert wanted[0] == (0, str(tmp_path / "00001.swf.gz"))
    assert wanted[-1] == (9999, str(tmp_path / "10000.swf.gz"))


def test_a_folder_that_has_new_logs_is_left_as_it_is(run, log, tmp_path):
    folder = tmp_path / "many"
    assert run(log, "-o", folder, "--count", 2, "--seed", 1)[0] == 0
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, _, err = run(log, "-o", folder, "--count", 3)
    assert (code, err) == (
        1,
        f"error: {folder}: already contains 0001.swf.gz; use another folder\n",
    )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("name", "code"), [("00001.swf.gz", 1), ("001.swf.gz", 0)])
def test_new_logs_are_known_by_four_digits_or_more(run, log, tmp_path, name, code):
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / name).touch()
    assert run(log, "-o", tmp_path / "many", "--count", 1)[0] == code


def test_other_files_of_a_folder_do_not_matter(run, log, tmp_path):
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "notes.txt").write_text("mine")
    assert run(log, "-o", tmp_path / "many", "--count", 1)[0] == 0
    names = sorted(path.name for path in (tmp_path / "many").iterdir())
    assert names == ["0001.swf.gz", "notes.txt"]


def full_disk(monkeypatch, name):
    """Let a file be the first for which there is no space."""

    def write(trace, path):
        if path.endswith(name):
            raise OSError(28, "No space left on device")
        wk.write_swf(trace, path)

    monkeypatch.setattr(files, "write_swf", write)


def test_what_fails_at_once_leaves_nothing(run, log, tmp_path, monkeypatch):
    full_disk(monkeypatch, "1.swf.gz")
    folder = tmp_path / "many"
    code, _, err = run(log, "-o", folder, "--count", 3)
    assert (code, err) == (1, f"error: {folder}: cannot be written: No space left on device\n")
    assert not folder.exists()


def hidden_logs(folder):
    """Return the logs of an unfinished command, next to what it depends on."""
    (*logs, _made_by) = sorted((folder / ".unfinished").iterdir())
    return logs


@pytest.mark.parametrize("seed", [["--seed", 3], []])
def test_what_fails_midway_goes_on(run, log, tmp_path, monkeypatch, seed):
    folder = tmp_path / "many"
    with monkeypatch.context() as patch:
        full_disk(patch, "3.swf.gz")
        assert run(log, "-o", folder, "--count", 4, *seed)[0] == 1
    assert [path.name for path in folder.iterdir()] == [".unfinished"]
    there = hidden_logs(folder)
    assert [path.name for path in there] == ["0001.swf.gz", "0002.swf.gz"]
    before = [path.stat().st_mtime_ns for path in there]
    code, out, err = run(log, "-o", folder, "--count", 4, *seed)
    lines = err.splitlines()
    used = lines[1].split()[-1]
    assert (code, out, lines[:2]) == (
        0,
        "",
        [
            f"{folder}: continuing with 2 of 4 logs that are there",
            f"wrote {folder}: logs 4, seed {used}",
        ],
    )
    assert [(folder / path.name).stat().st_mtime_ns for path in there] == before
    assert run(log, "-o", tmp_path / "whole", "--count", 4, "--seed", used)[0] == 0
    ours, theirs = (
        {path.name: path.read_bytes() for path in place.iterdir()}
        for place in (folder, tmp_path / "whole")
    )
    assert ours == theirs
    assert len(ours) == 4


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (["--count", 4, "--seed", 4], "seed 3, not 4"),
        (["--count", 4, "--seed", 3, "--load", 0.5], "settings {}, not {'load': '0.5'}"),
        (["--count", 1, "--seed", 3], "count 4, not 1"),
        (["--count", 5, "--seed", 3], "count 4, not 5"),
    ],
)
def test_what_another_command_left_is_refused(run, log, tmp_path, monkeypatch, other, reason):
    folder = tmp_path / "many"
    with monkeypatch.context() as patch:
        full_disk(patch, "3.swf.gz")
        run(log, "-o", folder, "--count", 4, "--seed", 3)
    code, _, err = run(log, "-o", folder, *other)
    assert code == 2
    assert f"error: {folder}/.unfinished: left by a command with {reason}; remove it, or" in err
    assert len(hidden_logs(folder)) == 2


FIVE = [f"000{i}.swf.gz" for i in range(1, 6)]


@pytest.fixture
def whole(run, log, tmp_path):
    """The new logs of a command that was not interrupted."""
    run(log, "-o", tmp_path / "whole", "--count", 5, "--seed", 3)
    return contents(tmp_path / "whole")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed(run, log, folder, whole, monkeypatch, *, n_moved, n_hidden, has_record=True):
    """Leave in a folder what a killed command leaves: logs that it has moved, and hidden ones."""
    with monkeypatch.context() as patch:
        full_disk(patch, "2.swf.gz")
        run(log, "-o", folder, "--count", 5, "--seed", 3)
    place = folder / ".unfinished"
    (place / "0001.swf.gz").unlink()
    for i, name in enumerate(FIVE[: n_moved + n_hidden]):
        ((folder if i < n_moved else place) / name).write_bytes(whole[name])
    if not has_record:
        (place / "made_by.json").unlink()


STATES = [
    *({"n_moved": 0, "n_hidden": n} for n in (0, 1, 5)),
    *({"n_moved": n, "n_hidden": 5 - n} for n in (1, 3, 5)),
    {"n_moved": 5, "n_hidden": 0, "has_record": False},
    {"n_moved": 0, "n_hidden": 0, "has_record": False},
]


@pytest.mark.parametrize("state", STATES, ids=str)
@pytest.mark.parametrize("seed", [["--seed", 3], []], ids=["seed", "no seed"])
def test_a_command_continues_wherever_it_was_killed(
    run, log, tmp_path, whole, monkeypatch, state, seed
):
    folder = tmp_path / "many"
    killed(run, log, folder, whole, monkeypatch, **state)
    (folder / ".unfinished" / ".0004.swf.gz.00000000-1-00000000.part").write_text("half")
    code, _, err = run(log, "-o", folder, "--count", 5, *seed)
    assert code == 0, err
    there = contents(folder)
    assert sorted(there) == FIVE
    assert there == whole or (seed == [] and state["n_moved"] + state["n_hidden"] == 0)
    code, _, err = run(log, "-o", folder, "--count", 5, *seed)
    assert (code, err) == (
        1,
        f"error: {folder}: already contains 0001.swf.gz; use another folder\n",
    )


@pytest.mark.parametrize("state", [state for state in STATES if state["n_moved"]], ids=str)
@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (["--count", 5, "--seed", 4], "seed 3, not 4"),
        (["--count", 6, "--seed", 3], "count 5, not 6"),
        (["--count", 2, "--seed", 3], "count 5, not 2"),
        (["--count", 5, "--seed", 3, "--weeks", 9], "settings"),
    ],
)
def test_another_command_does_not_continue_what_a_killed_one_moved(
    run, log, tmp_path, whole, monkeypatch, state, other, reason
):
    folder = tmp_path / "many"
    killed(run, log, folder, whole, monkeypatch, **state)
    before = contents(folder / ".unfinished")
    code, _, err = run(log, "-o", folder, *other)
    assert code == 2
    assert f"left by a command with {reason}" in err or "was left by another" in err
    assert contents(folder / ".unfinished") == before


def test_another_log_among_those_of_a_killed_command_is_refused(
    run, log, tmp_path, whole, monkeypatch
):
    for name in ("0002.swf.gz", "00002.swf.gz", "0000.swf.gz", "0009.swf.gz"):
        folder = tmp_path / name
        killed(run, log, folder, whole, monkeypatch, n_moved=1, n_hidden=0)
        (folder / name).write_bytes(whole["0003.swf.gz"])
        code, _, err = run(log, "-o", folder, "--count", 5, "--seed", 3)
        assert code == 2
        assert f"{folder / name} was left by another, interrupted command" in err


def test_two_commands_do_not_write_to_one_folder(run, log, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    with locked(folder):
        code, _, err = run(log, "-o", folder, "--count", 2)
    assert (code, [*folder.iterdir()]) == (1, [])
    assert err.endswith("another process writes results to it; use another folder\n")


def test_a_command_killed_at_random_ends_with_the_same_bytes(run, log, tmp_path, whole):
    command = [sys.executable, "-c", "from workloadkit.cli import main; main()", "resample"]
    command += [str(log), "-o", str(tmp_path / "many"), "--count", "5", "--seed", "3"]
    for pause in (0.0, 0.02, 0.05):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and not [*tmp_path.glob("many/.unfinished/*")]:
            time.sleep(0.01)
        time.sleep(pause)
        process.kill()
        process.wait()
    if (tmp_path / "many" / ".unfinished").exists():
        assert run(log, "-o", tmp_path / "many", "--count", 5, "--seed", 3)[0] == 0
    assert contents(tmp_path / "many") == whole


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that belong to it


def terminate(process):
    process.terminate()  # as `timeout` and batch systems do: this process alone


def within_two_minutes(happened):
    """Whether something happens at last, on a machine that is busy with other things, too."""
    late = time.monotonic() + 120
    while not (done := happened()) and time.monotonic() < late:
        time.sleep(0.05)
    return bool(done)


def has_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("workers", "stop", "code", "message"),
    [
        (1, interrupt, 130, "kept; the same command continues\ninterrupted\n"),
        (2, interrupt, 130, "kept; the same command continues\ninterrupted\n"),
        (2, terminate, 143, "kept; the same command continues\n"),
        pytest.param(
            1, terminate, 143, "kept; the same command continues\n", marks=pytest.mark.slow
        ),
    ],
)
def test_a_command_that_is_stopped_leaves_whole_files_and_no_process(
    tmp_path, workers, stop, code, message
):
    folder = tmp_path / "many"
    command = [sys.executable, "-c", "from workloadkit.cli import main; main()", "resample"]
    process = subprocess.Popen(
        [*command, "--count", "100000", "-o", str(folder), "--workers", str(workers)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert within_two_minutes(lambda: list(folder.glob(".unfinished/0*.swf.gz")))
        stop(process)
        _, err = process.communicate(timeout=120)
        assert process.returncode == code
        assert err.endswith(message)
        assert "Traceback" not in err
        assert [path.name for path in folder.iterdir()] == [".unfinished"]
        names = [path.name for path in hidden_logs(folder)]
        assert all(re.fullmatch(r"\d{6}\.swf\.gz", name) for name in names)
        # Python's own helper of the workers goes last
        assert within_two_minutes(lambda: has_gone(process.pid))
    finally:  # what was not stopped would write on
        if not has_gone(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_wrong_usage_is_exit_2_and_writes_nothing(run, log):
    for arguments, message in (
        (["--load", 0], "error: --load is 0; it must be positive"),
        (
            ["--load", 99],
            "error: load 99 requires more than the 2 temporary users in the pool; it is a factor: "
            "write 0.9 for 90 %\n",
        ),
        (["--weeks", "nan"], "error: --weeks is nan; it must be positive"),
        (["--move", "week"], "error: --move is 'week'; known: user, session, batch, job"),
        (["--end-effects", "x"], "error: --end-effects is 'x'; known: whole, any"),
        (["--count", 3], "error: --count writes files; name their folder with -o"),
        (["--rare", "3"], "error: rare '3'; write USER:BEGIN-END, as in 374:30w-31w"),
        (["--rare", "2:1w"], "error: rare '2:1w'; write USER:BEGIN-END, as in 374:30w-31w"),
        (["--rare", "3:1w-x"], "error: rare '3:1w-x': x is no time"),
        (["--weight", "long=1,long=2"], "error: weights 'long=1,long=2'; long is given twice"),
        (["--rare", "9:1w-2w"], "user 9 has no jobs from 604800 to 1209600 s"),
        (
            ["--rare-per-week", 1],
            "error: --rare-per-week is 1, but only 0.05 temporary users arrive",
        ),
        (["--count", 0], "--count: 0 is less than 1"),
        (["--count", "1e3"], "--count: '1e3' is not a whole number"),
        (["--count", "1_000"], "--count: '1_000' is not a whole number"),
        (["--weeks", "x"], "--weeks: 'x' is not a number"),
        (["--seed", -1], "--seed: -1 is less than 0"),
        (["--weight", "serial"], "error: weights 'serial'; write CLASS=X, as in long=3"),
        (
            ["--weight", "fast=2"],
            "error: --weight has 'fast', which is neither a user of small.swf",
        ),
        (["--procs", 0], "error: --procs is 0; it must be a whole number from 1 to"),
    ):
        code, out, err = run(log, *arguments)
        assert (code, out) == (2, "")
        assert message in err


def test_a_new_log_without_jobs_is_not_written(run, log, tmp_path):
    for output in (["-o", tmp_path / "new.swf"], ["-o", tmp_path / "many", "--count", 2]):
        none = ["--long-term-users", 0, "--temporary-users", 0, "--arrivals", 0]
        code, out, err = run(log, *output, *none)
        assert (code, out) == (2, "")
        assert err.startswith("error: small.swf, resampled by seed ")
        assert err.endswith(": the log has no jobs; use more weeks or a larger load\n")
    assert [path.name for path in tmp_path.iterdir()] == ["small.swf"]


def test_standard_input_is_one_log(run):
    assert run("-", "-") == (2, "", "error: standard input can be one log only\n")


def test_rare_behaviours_that_never_come_are_worth_a_line(run, log):
    code, _, err = run(log, "--rare", "2:0-40w", "--seed", 1)
    assert code == 0
    said = "rare behaviours: 2 jobs separated, none drawn: --rare-per-week is 0\n"
    assert err.startswith(said)


def test_a_log_that_cannot_be_resampled_is_exit_1_and_writes_nothing(run, tmp_path):
    path = tmp_path / "short.swf"
    columns = {"submit": [0, 9 * 86400], "run": [1, 1], "procs": [1, 1], "user": [1, 1]}
    wk.write_swf(wk.Trace.from_columns(columns), path)
    for options in (["-o", tmp_path / "new.swf"], ["-o", tmp_path / "many", "--count", 2]):
        code, _, err = run(path, *options)
        assert code == 1
        assert err.endswith(
            "error: short.swf: the log has 1.2 weeks from its begin to the last submission; "
            "resampling requires at least 5\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["short.swf"]


def test_outputs_that_cannot_be_written_are_exit_1(run, log, tmp_path):
    assert "cannot be written" in run(log, "-o", tmp_path / "no" / "new.swf")[2]
    assert "cannot be written" in run(log, "-o", tmp_path / "no" / "many", "--count", 2)[2]
    code, _, err = run(log, "-o", log, "--count", 2)
    assert (code, err) == (1, f"error: {log}: is a file; with --count, -o names a folder\n")
    code, _, err = run(log, "-o", log)
    assert code == 2
    assert "is the input" in err
    assert "cannot be written: it is a folder" in run(log, "-o", tmp_path)[2]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_exit_1(run, log, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir(mode=0o555)
    code, _, err = run(log, "-o", folder, "--count", 2)
    assert (code, err) == (1, f"error: {folder}: cannot be written: Permission denied\n")


def test_without_a_trace_the_sample_is_resampled(run):
    code, out, err = run("--weeks", 4, "--seed", 1)
    assert code == 0
    assert out.startswith(";")
    assert err.startswith("no TRACE given: using the built-in sample\n")


@pytest.mark.parametrize(("words", "count"), [((), 8), (("--count", 3), 3), (("--count", 1), 1)])
def test_a_log_is_compared_with_eight_new_ones_by_default(run, log, monkeypatch, words, count):
    asked = []
    monkeypatch.setattr(resample, "_compare", lambda *what: asked.append(what))
    assert run(log, "--json", "a.json", "--seed", 6, *words)[0] == 0
    ((compared, _, *others),) = asked
    assert compared.name == "small.swf"
    assert others == [count, 6, None, Path("a.json")]
