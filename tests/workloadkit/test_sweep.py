"""`workloadkit sweep`: what goes where, and what bad input and wrong usage get."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.small_logs import valued
from workloadkit import cli
from workloadkit.clock import WEEK

pytestmark = pytest.mark.compiled

LOADS = ("--load", 0.4, "--load", 0.5)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run `sweep` in this process; returns its exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.app(["sweep", *map(str, arguments)], prog_name="workloadkit")
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


@pytest.fixture
def log(tmp_path):
    rng = np.random.default_rng(7)
    submit = np.sort(rng.integers(0, 3 * WEEK + 9000, 300))
    columns = {
        "submit": submit,
        "run": rng.integers(0, 20_000, submit.size),
        "procs": rng.integers(1, 9, submit.size),
        "user": rng.integers(1, 5, submit.size),
    }
    path = tmp_path / "three.swf"
    wk.write_swf(wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 8",))), path)
    return path


def test_the_table_is_on_stdout(run, log):
    code, out, err = run(log, *LOADS, "--metric", "mean_wait", "--metric", "utilization")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[0] == "three.swf, 8 processors"
    assert lines[1].split() == ["load", "scheduler", "mean", "wait", "utilization"]
    assert [line.split()[:2] for line in lines[3:-1]] == [
        ["0.4", "fcfs"],
        ["0.4", "easy"],
        ["0.5", "fcfs"],
        ["0.5", "easy"],
    ]
    assert lines[-1] == "one run, so no intervals; use --runs for more"


def test_several_runs_have_intervals_and_record_their_seed(run, log):
    code, out, _ = run(log, *LOADS, "--runs", 2, "--seed", 5, "--metric", "mean_slowdown")
    assert code == 0
    assert out.startswith("three.swf, 8 processors, 2 runs, seed 5\n")
    assert out.count("[") == out.count("]") == 8
    found = wk.sweep(wk.read_swf(log), loads=[0.4, 0.5], runs=2, rng=5, metrics=["mean_slowdown"])
    compared = found.compare("mean_slowdown", "fcfs")
    assert "mean slowdown, difference from fcfs" in " ".join(out.split())
    assert found.to_dict()["baseline"] == "fcfs"
    shown = found.to_dict()["comparison"]["mean_slowdown"]
    assert [row["difference"] for row in shown] == compared["difference"].tolist()
    table = pd.read_csv(io.StringIO(found.to_csv()))
    assert table["baseline"].tolist() == ["fcfs"] * 4
    first, easy = (table[table["scheduler"] == name] for name in ("fcfs", "easy"))
    assert first["mean_slowdown_difference"].isna().all()
    assert easy["mean_slowdown_difference_low"].to_numpy() == pytest.approx(
        compared["difference_low"]
    )
    means = easy["mean_slowdown"].to_numpy() - first["mean_slowdown"].to_numpy()
    assert easy["mean_slowdown_difference"].to_numpy() == pytest.approx(means)


def test_the_value_of_the_log_itself_is_next_to_the_interval(run, log):
    options = {"loads": [0.4, 0.5], "metrics": ["mean_wait"]}
    alone = wk.sweep(wk.read_swf(log), **options).table["mean_wait"]
    found = wk.sweep(wk.read_swf(log), **options, runs=3, rng=5)
    assert found.table["mean_wait_of_log"].tolist() == alone.tolist()
    compared = found.compare("mean_wait", "fcfs")
    differences = alone[1::2].to_numpy() - alone[::2].to_numpy()
    assert compared["difference_of_log"].tolist() == differences.tolist()
    assert "mean_wait_difference_of_log" in found.to_csv()
    tables = [(found.table, "mean_wait"), (compared, "difference")]
    outside = sum(
        int((~table[f"{x}_of_log"].between(table[f"{x}_low"], table[f"{x}_high"])).sum())
        for table, x in tables
    )
    loads = ("--load", 0.4, "--load", 0.5)
    code, out, _ = run(log, *loads, "--runs", 3, "--seed", 5, "--metric", "mean_wait")
    rows = [line.split()[:2] for line in out.splitlines()]
    assert (code, rows.count(["the", "log"])) == (0, 4 + 2)
    assert (f"the log: outside {outside} of 6 intervals" in out) == bool(outside)
    assert "of_log" not in wk.sweep(wk.read_swf(log), **options).to_csv()


def test_a_seed_without_effect_on_a_single_run_is_warned_of(run, log):
    options = (log, "--load", 0.5, "--scheduler", "fcfs", "--metric", "mean_wait")
    code, out, err = run(*options, "--seed", 5)
    assert (code, out) == (0, run(*options)[1])
    assert err == ("warning: --seed makes no difference to a single run, which is the log itself\n")


@pytest.mark.slow
def test_a_seed_makes_a_difference_to_a_scheduler_that_draws(run, log, tmp_path):
    worth = tmp_path / "worth.swf"
    wk.write_swf(valued(wk.read_swf(log), 1), worth)
    scheduler = ("--scheduler", "genetic:individuals=5,generations=1")
    code, out, err = run(worth, "--load", 0.5, *scheduler, "--seed", 5, "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["provenance"]["parameters"]["seed"] == 5


def test_on_a_narrow_terminal_there_is_a_table_for_each_metric(run, log, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    metrics = ("mean_wait", "mean_bounded_slowdown", "utilization")
    options = [option for metric in metrics for option in ("--metric", metric)]
    schedulers = ("--scheduler", "fcfs", "--scheduler", "easy:backfill=sjf,spare=none")
    code, out, _ = run(log, *LOADS, *options, *schedulers, "--runs", 2, "--seed", 1)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines if "scheduler" in line]
    assert heads[:3] == [["load", "scheduler", *metric.split("_")] for metric in metrics]
    assert len(heads) == 3 + 2 * 3  # differences and ratios
    assert sum(line.split()[:2] == ["the", "log"] for line in lines) == 3 * 2 * 2 + 2 * 3 * 2
    rows = [line for line in lines if line.split()[:1] in (["0.4"], ["0.5"])]
    assert len(rows) == 3 * 2 * 2 + 2 * 3 * 2
    assert all(line.rstrip().endswith("]") for line in rows)  # no row is broken
    code, out, _ = run(log, *LOADS, "--metric", "mean_wait")
    assert out.count("scheduler") == 1


def test_files_have_the_table_and_everything(run, log, tmp_path):
    table, everything, figure = tmp_path / "a.csv", tmp_path / "a.json", tmp_path / "a.svg"
    options = ("--scheduler", "sjf", "--load", 0.7, "--runs", 3, "--seed", 1, "--overrun", "kill")
    outputs = ("-o", table, "--json", everything, "--plot", figure)
    code, out, err = run(log, *options, *outputs)
    assert (code, err) == (0, f"wrote {table}\nwrote {everything}\nwrote {figure}\n")
    assert out.startswith("three.swf")
    expected = wk.sweep(wk.read_swf(log), ["sjf"], [0.7], runs=3, rng=1, overrun="kill")
    assert table.read_text() == expected.to_csv()
    assert json.loads(everything.read_text())["table"] == expected.to_dict()["table"]
    assert figure.read_text().startswith("<?xml")


def test_options_reach_the_simulations(run, log):
    rules = ("--estimates", "exact", "--overrun", "late", "--passes", "event")
    scales = ("--scale-runs", 2, "--scale-sizes", 0.5)
    period = ("--warmup", "1d", "--cooldown", "2h")
    code, out, _ = run(log, "--load", 0.4, *rules, *scales, *period, "--procs", 9, "--json", "-")
    assert code == 0
    found = json.loads(out)["provenance"]["parameters"]
    assert {name: found[name] for name in found if name not in ("schedulers", "loads")} == {
        "runs": 1,
        "procs": 9,
        "confidence": 0.95,
        "oversize": "error",
        "estimates": "exact",
        "overrun": "late",
        "passes": "event",
        "scale_runs": 2.0,
        "scale_sizes": 0.5,
        "warmup": 86400.0,
        "cooldown": 7200.0,
    }


def test_wait_slowdown_and_utilization_are_measured_by_default(run, log):
    head = run(log, "--load", 0.4, "-o", "-")[1].splitlines()[0].split(",")
    measured = ("mean_wait", "mean_bounded_slowdown", "utilization")
    assert [name for name in head if not name.endswith(("_low", "_high", "_others"))] == [
        *("load", "scheduler", "runs", *measured, "saturated")
    ]


def test_the_same_seed_gives_the_same_bytes_with_any_workers(run, log, tmp_path):
    options = ("--load", 0.6, "--runs", 3, "--seed", 2)
    first, second = tmp_path / "1", tmp_path / "2"
    assert run(log, *options, "--json", first)[0] == 0
    assert run(log, *options, "--json", second, "--workers", 2)[0] == 0
    assert first.read_bytes() == second.read_bytes()


def test_nothing_else_goes_to_stdout_with_it(run, log):
    code, out, _ = run(log, "--load", 0.5, "-o", "-")
    assert code == 0
    assert out.splitlines()[0].startswith("load,scheduler,runs,mean_wait,")
    code, out, _ = run(log, "--load", 0.5, "--json", "-")
    assert code == 0
    assert list(json.loads(out)) == ["table", "runs", "provenance"]


def test_the_defaults_are_two_schedulers_and_five_loads(run):
    code, out, err = run("--json", "-", "--metric", "mean_wait")
    assert (code, err.splitlines()) == (
        0,
        [
            "no TRACE given: using the built-in sample",
            "warning: 1 of 10 simulations saturate; their metrics grow with the length of the "
            "run: 1 at offered load 0.9 under fcfs",
        ],
    )
    table = pd.DataFrame(json.loads(out)["table"])
    assert table["load"].unique().tolist() == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert table["scheduler"].unique().tolist() == ["fcfs", "easy"]
    fcfs, easy = (table.query("scheduler == @name")["mean_wait"] for name in ("fcfs", "easy"))
    assert fcfs.is_monotonic_increasing
    assert (fcfs.to_numpy() > easy.to_numpy()).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheduler", "best"], "error: unknown scheduler 'best'; known: fcfs, easy"),
        (["--load", "0"], "error: loads: 0; a load must be positive"),
        (["--load", "much"], "--load"),
        (["--metric", "speed"], "error: unknown metric 'speed'; known: jobs, left_out"),
        (["--runs", "0"], "error: --runs is 0; it is a whole number, 1 or more"),
        (["--overrun", "ignore"], "error: --overrun is 'ignore'; known: raise, kill, late, header"),
        (["--warmup", "soon"], "'soon' is not a duration"),
        (["--plot", "sweep.txt"], "sweep.txt: a figure is written as .svg, .png, .pdf or .html"),
        (["--scheduler", "easy", "--scheduler", "easy"], "error: --scheduler easy is given twice"),
        (["--json", "-", "-o", "-"], "cannot both go to stdout"),
    ],
)
def test_wrong_usage_is_exit_2(run, log, arguments, message):
    code, out, err = run(log, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_log_too_short_for_several_runs_is_exit_1(run, log):
    short = log.parent / "short.swf"
    wk.write_swf(wk.read_swf(log).take(range(50)), short)
    code, out, err = run(short, "--runs", 2)
    assert (code, out) == (1, "")
    assert err.startswith(
        "error: short.swf: several runs draw weeks of the log, which requires at least"
    )
    assert err.count("\n") == 1


def test_help_shows_examples_and_fits(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "Examples:\n  workloadkit sweep log.swf.gz" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--users", "adjusted"],
            "the load of users adjusted follows from their behaviour; set it",
        ),
        (["--users", "think:users=2,think=5"], "users think submit their own jobs: the log"),
        (["--users", "nobody"], "unknown users 'nobody'; known: open"),
        (["--no-pause"], "--no-pause is for users who react"),
        (["--scale-runs", 0], "--scale-runs is 0; it must be positive"),
    ],
)
def test_users_and_factors_that_cannot_be_are_wrong_usage(run, log, arguments, message):
    code, out, err = run(log, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_factors_hold_for_all_loads(run, log):
    code, out, _ = run(log, *LOADS, "--scale-machine", 0.5, "--oversize", "drop", "--json", "-")
    assert code == 0
    found = json.loads(out)["provenance"]["parameters"]
    assert (found["procs"], found["scale_machine"]) == (4, 0.5)


@pytest.mark.slow
def test_users_who_react_are_swept_by_their_number(run):
    sample = ["--users", "adjusted", "--load-by", "users", "--load", 0.5, "--weeks", 2]
    metrics = ["--metric", "jobs", "--metric", "jobs_per_session", "--scheduler", "fcfs"]
    code, out, _ = run(*sample, *metrics, "--seed", 1, "--json", "-")
    assert code == 0
    found = json.loads(out)
    assert found["provenance"]["parameters"]["users"] == "adjusted"
    (row,) = found["table"]
    population = wk.populations.Resampled(weeks=2, load=0.5)
    (stream,) = np.random.default_rng(1).spawn(1)
    seed = int(stream.integers(2**53))
    with pytest.warns(wk.WorkloadWarning, match="left out of the pools"):
        one = wk.simulate(wk.load_sample(), "fcfs", "adjusted", population=population, rng=seed)
    assert row["jobs"] == one.metrics["jobs"]
    assert row["jobs_per_session"] == one.measure("jobs_per_session")


def test_users_who_react_and_do_not_pause_are_warned_of(run):
    sample = ["--users", "adjusted", "--load-by", "users", "--load", 0.5, "--weeks", 2]
    options = ["--scheduler", "fcfs", "--metric", "jobs", "--seed", 1, "--no-pause"]
    code, out, _ = run(*sample, *options)
    assert code == 0
    assert out.startswith("sample.swf.gz, users adjusted, 96 processors, 1 run, seed 1\n")
    code, out, _ = run(*sample, *options, "--json", "-")
    assert json.loads(out)["provenance"]["parameters"]["pause"] is False


def test_waits_of_resampled_users_far_from_the_log_are_warned_of(capsys):
    """The log's own mean wait under EASY is 100 s; the sweep's results are given."""
    from workloadkit.cli.output import warn_of_resampled_waits
    from workloadkit.experiments.sweep import SweepResults

    def warned(wait, load=1.0, load_by="users", **parameters):
        rows = {"load": [load, 2.0], "run": 0, "scheduler": "easy", "saturated": False}
        table = pd.DataFrame(rows | {"mean_wait": [wait, wait]})
        made = {"parameters": {"load_by": load_by, **parameters}}
        own = [{"log": "x.swf", "reading": "", "scheduler": "easy", "simulated_mean_wait": 100.0}]
        results = SweepResults(table, ("mean_wait",), 0.95, made, 2, load_by, calibration=own)
        warn_of_resampled_waits(results)
        return capsys.readouterr().err

    words = "is 8 min 20 s in logs resampled with users factor {}, 5 times the 1 min 40 s in x.swf"
    for factor in (0.8, 1.0, 1.2):  # the smallest is named
        assert words.format(f"{factor:g}") in warned(500.0, factor)
    assert warned(500.0).count("warning") == 1
    assert warned(150.0) == warned(150.0, 1.2) == warned(500.0, load_by="arrivals") == ""
    assert warned(500.0, users="fluid") == ""


def test_names_are_not_broken_in_narrow_tables(capsys, monkeypatch):
    from workloadkit.cli.output import print_all
    from workloadkit.experiments.sweep import SweepResults

    monkeypatch.setenv("COLUMNS", "80")
    names = ["easy:order=sjf", "conservative"]
    rows = {"load": 1.2, "run": [0, 1, 2] * 2, "scheduler": np.repeat(names, 3)}
    waits = np.array([30_000.0, 50_123.0, 29_000.0, 33_000.0, 20_000.0, 17_777.0])
    table = pd.DataFrame(rows | {"saturated": [False, True, False] * 2, "mean_wait": waits})
    results = SweepResults(table, ("mean_wait",), 0.95, {}, 6, "users")
    print_all(results, names[0])
    out = capsys.readouterr().out
    assert [out.count(f"1.2  {name} ") for name in names] == [2, 6]  # two differences of each
    assert out.count("saturated") == 8
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
