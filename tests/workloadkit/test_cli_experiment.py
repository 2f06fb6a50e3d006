"""`workloadkit experiment`: what goes where, and what bad input and wrong usage get."""

import re
from dataclasses import replace

import pytest

import workloadkit as wk
from tests.workloadkit.test_experiment import LOGS, TOML
from workloadkit.cli.output import print_all
from workloadkit.experiments import custom_parts
from workloadkit.experiments.results import merge_results
from workloadkit.experiments.specification import read_experiment

FEW = TOML.replace("loads = [0.5, 0.8]", "loads = [0.5]").replace('b = "b.swf"', "")


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Run `experiment` in the folder of a file `x.toml`; returns exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    wk.write_swf(LOGS["a"], "a.swf")
    (tmp_path / "x.toml").write_text(FEW)
    return lambda *arguments, command="experiment": run(command, *arguments)


def test_the_means_are_on_stdout_a_table_for_each_reading(run):
    code, out, err = run("run", "x.toml", "--out", "results")
    assert (code, err) == (0, "results: 8 of 8 simulations\n")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert [line for line in lines if line[0] == "reading"] == [
        ["reading", "usual"],
        ["reading", "late"],
    ]
    assert [line[:2] for line in lines if line[0] == "0.5"] == [
        ["0.5", "fcfs"],
        ["0.5", "easy"],
    ] * 2
    assert all(len(line) <= 80 for line in out.splitlines())
    again = run("run", "x.toml", "--out", "results")
    assert again == (code, out, err)


def test_results_are_those_of_the_library(run):
    run("run", "x.toml", "--out", "results", "--workers", 2)
    assert merge_results(["results"]).runs.equals(read_experiment("x.toml").run().runs)


@pytest.mark.parametrize("width", [34, 45, 59, 70])
def test_on_a_narrow_terminal_words_and_intervals_stay_whole(width, monkeypatch, capsys):
    metrics = ["mean_wait", "utilization"]
    sweep = wk.sweep(LOGS["a"], ["fcfs", "easy"], [0.5, 2.9], metrics=metrics, runs=2, rng=1)
    saturated = sweep.runs["load"] > 1
    results = replace(sweep, runs=sweep.runs.assign(saturated=saturated))

    def shown(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_all(results, "fcfs")
        out = capsys.readouterr().out
        assert all(len(line) <= columns for line in out.splitlines())
        return out.partition("the log: outside")[0].split()

    wide, narrow = (" ".join(shown(columns)) for columns in (300, width))
    intervals = re.findall(r"\[.*?\]", wide)
    assert len(intervals) > 8
    for text in (*intervals, "fcfs", "easy", "saturated", "mean wait", "0.5", "2.9"):
        assert text in wide
        assert text in narrow


def test_schedulers_are_compared(run):
    run("run", "x.toml", "--out", "results")
    code, out, err = run("merge", "results", "--baseline", "fcfs")
    assert (code, err) == (0, "8 of 8 simulations\n")
    assert "mean wait, difference from fcfs" in out
    compared = merge_results(["results"]).compare("mean_wait", "fcfs")
    assert f"{compared['ratio'][0]:.3g} [{compared['ratio_low'][0]:.3g}, " in out
    code, _, err = run("merge", "results", "--baseline", "eazy")
    assert (code, err.splitlines()[-1]) == (
        2,
        "error: --baseline is 'eazy'; did you mean easy? known: fcfs, easy",
    )


def test_shards_are_merged(run):
    for part in (1, 2):
        code, _, err = run("run", "x.toml", "--shard", f"{part}/2", "--out", f"part{part}")
        assert (code, err) == (0, f"part{part}: 4 of 8 simulations\n")
    code, out, err = run("merge", "part1", "part2", "--out", "all")
    assert (code, err) == (0, "wrote all/results.parquet\n8 of 8 simulations\n")
    assert out == run("run", "x.toml", "--out", "all")[1]


def test_a_shard_may_have_nothing_to_do(run):
    code, out, err = run("run", "x.toml", "--shard", "9/9", "--out", "part")
    assert (code, out, err) == (0, "", "part: 0 of 8 simulations\n")


def test_what_is_wrong_is_reported_in_a_line(run):
    for arguments, code, message in (
        (("run", "y.toml", "--out", "r"), 1, "error: y.toml: no such file"),
        (("run", "x.toml"), 2, "missing option '--out'"),
        (("run", "x.toml", "--out", "r", "--shard", "3/2"), 2, "'3/2' is not K/N, with K from 1"),
        (("run", "x.toml", "--out", "r", "--shard", "x"), 2, "'x' is not K/N"),
        (("run", "x.toml", "--out", "x.toml"), 1, "error: x.toml: cannot be created: File exists"),
        (("run", "x.toml", "--out", "r", "--workers", "2", "--dask", "x"), 2, "exclude each other"),
        (
            ("run", "x.toml", "--out", "r", "--dask", "tcp://"),
            1,
            "error: tcp://: no Dask scheduler",
        ),
        (("merge", "nowhere"), 1, "error: nowhere/results.parquet: cannot be read: No such file"),
    ):
        found, out, err = run(*arguments)
        assert (found, out) == (code, "")
        assert message in " ".join(err.split())
        assert "Traceback" not in err


def test_results_of_another_experiment_are_refused(run, tmp_path):
    run("run", "x.toml", "--out", "results")
    (tmp_path / "x.toml").write_text(FEW.replace("seed = 1", "seed = 2"))
    code, out, err = run("run", "x.toml", "--out", "results")
    assert (code, out) == (2, "")
    assert err == (
        "error: results/results.parquet: has results of another experiment: seed 1, not 2; use "
        "another folder\n"
    )


def test_repairs_made_while_reading_are_reported(run, tmp_path):
    lines = (tmp_path / "a.swf").read_text().splitlines()
    (tmp_path / "a.swf").write_text("\n".join([*lines[:-1], lines[-1].replace(" ", "\t"), "x"]))
    code, _, err = run("run", "x.toml", "--out", "results")
    assert code == 0, err
    assert "warning: a.swf: " in err
    code, _, err = run("run", "x.toml", "--out", "strict", "--strict")
    assert code == 1
    assert "a.swf, line 202: the file is truncated" in err


def test_a_sweep_goes_on(run):
    arguments = ("a.swf", "--runs", 2, "--load", 0.4, "--load", 0.5, "--seed", 1, "--json", "-")
    whole = run(*arguments, command="sweep")
    assert run(*arguments[:4], *arguments[6:], "--out", "results", command="sweep")[0] == 0
    assert len(merge_results(["results"]).runs) == 4
    assert run(*arguments, "--out", "results", command="sweep") == whole
    assert len(merge_results(["results"]).runs) == 8


def test_a_file_imports_modules_only_if_it_is_trusted(run, tmp_path):
    source = "from pathlib import Path\nPath('ran').touch()\n"
    source += "from workloadkit.simulation.users import BatchUser as Users\n"
    source += "def late(schedule):\n    return 1.0\n"
    (tmp_path / "planted.py").write_text(source)
    for key, value in (
        ("schedulers", '["planted:Easy"]'),
        ("users", '["planted:Users"]'),
        ("metrics", '["planted:late"]'),
        ("metrics", '{late = "planted:late"}'),
    ):
        lines = [line for line in FEW.splitlines() if not line.startswith(f"{key} =")]
        (tmp_path / "x.toml").write_text("\n".join([f"{key} = {value}", *lines]))
        code, _, err = run("run", "x.toml", "--out", "results")
        assert (code, "a module is imported with --trust only" in err) == (2, True), err
        assert not (tmp_path / "ran").exists()
    code, _, err = run("run", "x.toml", "--out", "results", "--trust")
    assert code == 0, err
    assert (tmp_path / "ran").exists()
    custom_parts.IMPORTED.clear()  # workers of other tests would not find it


def test_what_is_strict_is_the_reading_of_the_standard_format(run, tmp_path):
    wk.write_log(LOGS["a"], tmp_path / "a.wkt.parquet")
    (tmp_path / "x.toml").write_text(FEW.replace("a.swf", "a.wkt.parquet"))
    code, _, err = run("run", "x.toml", "--strict", "--out", "results")
    assert (code, "strict is for the Standard Workload Format; a.wkt" in err) == (2, True), err


def test_it_runs_until_the_interval_is_narrow_and_says_after_how_many(run, tmp_path):
    code, _, err = run("run", "x.toml", "--precision", "50%", "--out", "results")
    assert code == 2
    assert err == "error: --precision requires runs, the most that are made, of 20 or more\n"
    text = FEW.partition("[readings")[0]
    (tmp_path / "x.toml").write_text(re.sub(r"runs = \d+", "runs = 21", text))
    code, _, err = run("run", "x.toml", "--until", "99%", "--out", "wide")
    assert code == 0
    assert re.search(r"^stopped after 20 of at most 21 runs: .* of fcfs's mean$", err, re.M)
    more = ("--baseline", "easy", "--out", "narrow")
    code, _, err = run("run", "x.toml", "--until", "0.01%", *more)
    assert code == 0
    assert re.search(r"^warning: stopped after 21 runs, the most: .* easy's .* 0.01 %$", err, re.M)
