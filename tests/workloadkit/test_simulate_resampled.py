"""Simulations of resampled logs: one, and sweeps over the number of users."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from workloadkit import analysis, cli
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.experiments.intervals import mean_interval
from workloadkit.experiments.sweep import FACTORS, sweep

pytestmark = pytest.mark.compiled

SATURATED = pytest.mark.filterwarnings("ignore:.*simulations saturate")


def make_log(weeks=20, run=9000.0, name="made"):
    """Six long-term users, each with jobs every day, and twelve who come for two weeks."""
    rng = np.random.default_rng(3)
    days = [(user, day) for user in range(1, 7) for day in range(7 * weeks)]
    for user in range(7, 19):
        begin = int(rng.integers(6, weeks - 8))
        days += [(user, 7 * begin + day) for day in range(14)]
    user, day = np.array(days * 2).T
    submit = day * 86400 + rng.integers(8 * 3600, 18 * 3600, day.size)
    order = np.argsort(submit, kind="stable")
    columns = {
        "submit": submit[order],
        "wait": np.zeros(order.size),
        "run": rng.exponential(run, order.size).round()[order],
        "procs": rng.integers(1, 9, order.size)[order],
        "user": user[order],
    }
    return wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 16",)), name=name)


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture
def path(tmp_path, log):
    wk.write_swf(log, tmp_path / "made.swf")
    return tmp_path / "made.swf"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process; returns its exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.app([*map(str, arguments)], prog_name="workloadkit")
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


def test_a_resampled_log_is_simulated(run, path, tmp_path):
    options = ("--resampled", "--load", 1.1, "--weeks", 8, "--seed", 4)
    code, out, err = run("simulate", path, *options, "--json", "-", "-o", tmp_path / "out.swf")
    assert code == 0
    assert err.splitlines() == [f"wrote {tmp_path / 'out.swf'}"]
    new = wk.resample(wk.read_swf(path), weeks=8, load=1.1, rng=4)
    expected = wk.simulate(new).metrics
    found = json.loads(out)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["provenance"]["log"] == "made.swf, resampled by seed 4"
    assert found["provenance"]["note"] == new.header.get_all("Note")[-1]
    notes = wk.read_swf(tmp_path / "out.swf").header.get_all("Note")
    assert [note.split(":")[0] for note in notes] == ["resampled", "simulated"]


@pytest.mark.slow
def test_the_table_reports_saturation(run, path):
    code, out, err = run("simulate", path, "--resampled", "--seed", 1)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "made.swf, resampled by seed 1 under easy, 16 processors"
    assert out.splitlines()[-1].split() == ["saturated", "no"]
    code, out, err = run("simulate", path, "--resampled", "--seed", 1, "--load", 3)
    assert out.splitlines()[-1].split() == ["saturated", "yes"]
    warned = "warning: made.swf, resampled by seed 1: at an offered load of "
    assert err.startswith(warned)
    assert "the machine saturates: the waiting work grows by " in err
    warned = "warning: made.swf: at an offered load of 1.5, "
    assert f"{warned}the machine saturates" in run("simulate", path, "--offered-load", 1.5)[2]
    short = ("--where", "submit < 1000000", "--offered-load", 1.5)
    assert f"{warned}more work arrives than" in run("simulate", path, *short)[2]
    code, out, err = run("simulate", path, "--resampled", "--seed", 1, "--weeks", 2)
    assert out.splitlines()[-1].split(maxsplit=1) == ["saturated", "unknown: too short"]
    assert "saturated" not in run("simulate", path)[1]


@pytest.mark.slow
def test_resampled_users_who_react_are_simulated(run, path):
    options = ("--resampled", "--weeks", 2, "--load", 0.5, "--no-pause", "--users", "adjusted")
    code, out, _ = run("simulate", path, *options, "--seed", 4, "--json", "-")
    population = wk.populations.Resampled(weeks=2.0, load=0.5, pause=False)
    log = wk.read_swf(path)
    expected = wk.simulate(log, "easy", "adjusted", population=population, rng=4)
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize("options", [("--weeks", 3), ("--load", 2)])
def test_options_of_resampling_require_it(run, path, options):
    code, out, err = run("simulate", path, *options)
    assert (code, out) == (2, "")
    assert err == f"error: {options[0]} requires --resampled\n"


def test_a_log_that_cannot_be_resampled_is_refused(run, tmp_path):
    wk.write_swf(make_log().with_columns(user=np.full(make_log().n_jobs, -1)), tmp_path / "a.swf")
    code, _, err = run("simulate", tmp_path / "a.swf", "--resampled")
    assert code == 1
    assert err.startswith("error: a.swf")


def test_rare_behaviours_are_left_out_of_the_metrics(run, log, tmp_path):
    behaviour = [(3, 0.0, 20.0 * WEEK)]
    new = wk.resample(log, rng=2, rare=behaviour, rare_per_week=0.3)
    rare = wk.rare_users(new)
    assert rare.size
    wk.write_swf(new, tmp_path / "new.swf")
    code, out, _ = run("simulate", tmp_path / "new.swf", "--skip-rare", "--json", "-")
    assert code == 0
    found = json.loads(out)
    others = ~np.isin(new.column("user"), rare)
    assert found["jobs"] == others.sum()
    assert found["mean_wait"] == pytest.approx(wk.simulate(new).wait[others].mean())
    assert found["provenance"]["parameters"]["uncounted"] == rare.tolist()


def test_rare_behaviours_without_jobs_are_warned_of(run, path):
    code, out, err = run("simulate", path, "--skip-rare", "--json", "-")
    assert code == 0
    assert json.loads(out)["jobs"] == make_log().n_jobs
    said = "warning: --skip-rare: the header of made.swf names no rare behaviours"
    assert err.splitlines()[0] == said


def test_runs_by_users_are_those_of_resamples(log):
    resampling = {"weeks": 4}
    found = sweep(
        log, ["fcfs", "easy"], [1.0, 1.2], load_by="users", runs=2, rng=6, resampling=resampling
    )
    assert len(found.runs) == 8
    for load in (1.0, 1.2):
        for i, new in enumerate(wk.resamples(log, 2, load=load, rng=6, **resampling)):
            for name in ("fcfs", "easy"):
                schedule = wk.simulate(new, name)
                keys = (found.runs["load"] == load) & (found.runs["run"] == i)
                row = found.runs[keys & (found.runs["scheduler"] == name)].iloc[0]
                assert row["mean_wait"] == schedule.metrics["mean_wait"]
                assert row["saturated"] == schedule.saturated
    parameters = found.provenance["parameters"]
    assert (parameters["load_by"], parameters["seed"]) == ("users", 6)
    assert found.load_by == "users"


@SATURATED
def test_results_do_not_depend_on_the_executor(log):
    arguments = {"loads": [0.9, 3], "load_by": "users", "runs": 17, "rng": 6}
    arguments["resampling"] = {"weeks": 4}
    alone = sweep(log, ["easy"], **arguments)
    with ThreadPoolExecutor(3) as executor:
        together = sweep(log, ["easy"], executor=executor, **arguments)
    assert alone.to_dict() == together.to_dict()


@pytest.mark.slow
def test_there_is_a_mean_of_all_runs_and_one_of_those_not_saturated(log):
    said = r"^\d+ of 24 simulations saturate; their metrics grow .* run: \d+ at users factor .* un"
    with pytest.warns(WorkloadWarning, match=said):
        found = sweep(log, ["fcfs", "easy"], [1, 1.6, 4], load_by="users", runs=4, rng=6)
    for (load, name), runs in found.runs.groupby(["load", "scheduler"]):
        rows = (found.table["load"] == load) & (found.table["scheduler"] == name)
        row = found.table[rows].iloc[0]
        saturated = runs["saturated"].astype(bool)
        assert row["runs"] == 4
        assert row["saturated"] == saturated.sum()
        for name, part in (("mean_wait", runs), ("mean_wait_others", runs[~saturated])):
            expected = mean_interval(part["mean_wait"], positive=True)
            means = [row[f"{name}{end}"] for end in ("", "_low", "_high")]
            assert means == pytest.approx(expected, nan_ok=True)
    assert found.table["saturated"].iloc[0] == 0
    assert found.table["saturated"].iloc[-1] == 4
    assert found.table["mean_wait"].notna().all()
    assert np.isnan(found.table["mean_wait_others"].iloc[-1])
    json.dumps(found.to_dict(), allow_nan=False)


@SATURATED
def test_the_same_holds_for_a_load_by_arrivals(log):
    found = sweep(log, ["fcfs"], [0.3, 3.0], metrics=["mean_wait"])
    assert found.table["saturated"].tolist() == [0, 1]
    assert found.table["mean_wait"].tolist() == found.runs["mean_wait"].tolist()
    assert found.table["mean_wait_others"].isna().tolist() == [False, True]
    assert found.runs["mean_wait"].notna().all()
    assert found.load_by == "arrivals"


def test_runs_too_short_for_a_verdict_are_counted(log):
    found = sweep(log, ["easy"], [1], load_by="users", resampling={"weeks": 2}, rng=1)
    assert found.runs["saturated"].tolist() == [None]
    assert found.table["saturated"].isna().all()
    assert found.table["mean_wait"].notna().all()
    assert found.provenance["parameters"]["weeks"] == 2


def test_a_sweep_leaves_rare_behaviours_out_of_its_metrics(log):
    how = {"rare": [(3, 0.0, 20.0 * WEEK)], "rare_per_week": 0.3}
    found = sweep(log, ["easy"], [1], load_by="users", resampling=how, metrics=["jobs"], rng=2)
    (new,) = wk.resamples(log, 1, rng=2, **how)
    assert found.table["jobs"].iloc[0] == (~np.isin(new.column("user"), wk.rare_users(new))).sum()


def test_wrong_sweeps_by_users_are_refused(log):
    with pytest.raises(ParameterError, match=r"^load_by is 'jobs'; known: arrivals, users"):
        sweep(log, load_by="jobs")
    with pytest.raises(ParameterError, match=r"^resampling requires load_by='users'"):
        sweep(log, resampling={"weeks": 9})
    with pytest.raises(ParameterError, match=r"^resampling does not accept load"):
        sweep(log, load_by="users", resampling={"load": 2})
    with pytest.raises(ParameterError, match=r"^unknown setting 'week'"):
        sweep(log, load_by="users", resampling={"week": 2})
    with pytest.raises(ParameterError, match="requires more than the"):
        sweep(log, loads=[1, 500], load_by="users")
    with pytest.raises(WorkloadError, match="resampling requires at least 5"):
        sweep(log.select(log.column("submit") < 3 * WEEK), load_by="users")


@SATURATED
def test_the_command_sweeps_by_users(run, path, tmp_path):
    options = ("--load-by", "users", "--scheduler", "easy", "--runs", 2, "--seed", 1)
    files = ("--plot", tmp_path / "a.svg", "--json", tmp_path / "a.json")
    code, out, err = run("sweep", path, *options, "--weeks", 9, "--metric", "mean_wait", *files)
    assert code == 0
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[0] == "made.swf, 16 processors, 2 runs, seed 1"
    assert lines[1] == "in brackets: 95 % confidence intervals, from independent runs"
    assert lines[2].split() == ["users", "factor", "scheduler", "mean", "wait"]
    assert [float(line.split()[0]) for line in lines[4:]] == list(FACTORS)
    assert all(line.rstrip().endswith("]") for line in lines[4:])
    assert "--seed makes no difference" not in err
    text = (tmp_path / "a.svg").read_text()
    assert "users factor" in text
    parameters = json.loads((tmp_path / "a.json").read_text())["provenance"]["parameters"]
    assert parameters["weeks"] == 9


def test_the_command_refuses_options_that_exclude_each_other(run, path):
    code, _, err = run("sweep", path, "--weeks", 9)
    assert code == 2
    assert err.startswith("error: --weeks requires --load-by users")
    code, _, err = run("sweep", path, "--load-by", "jobs")
    assert code == 2
    assert err.startswith("error: --load-by is 'jobs'; known: arrivals, users")


@SATURATED
def test_the_command_shows_the_loads_at_which_runs_saturate(run, path):
    options = ("--load-by", "users", "--scheduler", "easy", "--seed", 6, "--metric", "mean_wait")
    loads = ("--load", 1, "--load", 2.4, "--load", 5)
    _, out, err = run("sweep", path, *options, *loads, "--runs", 6)
    assert "simulations saturate; their metrics grow with the length of the run: " in err
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[2].split() == ["users", "factor", "scheduler", "runs", "mean", "wait"]
    rows = [line.split(maxsplit=2)[2].rstrip() for line in lines[4:9]]
    for row, pattern in zip(
        rows,
        (
            r"all 6 +\d.*\]",
            r"all 6 \([1-5] saturated\) +\d.*\]",
            r"[1-5] not saturated +\d.*\]",
            r"all 6 \(6 saturated\) +\d.*\]",
            r"0 not saturated +–",
        ),
        strict=True,
    ):
        assert re.fullmatch(pattern, row)


@pytest.mark.slow
@SATURATED
def test_saturation_is_drawn_beside_the_metrics(log):
    options = {"load_by": "users", "metrics": ["mean_wait"], "runs": 6, "rng": 6}
    found = sweep(log, ["easy"], [1, 2.4, 5], **options)
    panels = analysis.schedules.plot_sweeps(found, Figure().add_subplot())
    assert [panel.get_ylabel() for panel in panels] == ["mean wait [h]", "runs that saturate"]
    means, others = (line.get_ydata() for line in panels[0].lines)
    assert means == pytest.approx(found.table["mean_wait"] / 3600)
    assert np.isnan(others).tolist() == [True, False, True]
    assert panels[1].lines[0].get_ydata() == pytest.approx(found.table["saturated"] / 6)
    by_arrivals = sweep(log, ["easy"], [0.3], metrics=["mean_wait"])
    assert len(analysis.schedules.plot_sweeps(by_arrivals, Figure().add_subplot())) == 1
    ax = analysis.schedules.plot_sweep(by_arrivals, "saturated", Figure().add_subplot())
    assert ax.get_xlabel() == "offered load"
