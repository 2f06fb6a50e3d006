"""A log of a machine of which half was in service, with one job of 188 h in three days."""

import json
from functools import cache

import numpy as np
import pytest

import workloadkit as wk
from workloadkit import analysis
from workloadkit.analysis.calibration import all_failed
from workloadkit.clock import DAY
from workloadkit.experiments import measuring
from workloadkit.experiments.experiment import Experiment
from workloadkit.experiments.results import merge_results
from workloadkit.experiments.results_file import RESULTS, cell_of, read_file, write_results
from workloadkit.metasystem import (
    JobSource,
    MetaScheduler,
    Metasystem,
    Site,
    Waits,
    simulate_metasystem,
)
from workloadkit.settings import ExperimentSettings
from workloadkit.simulation.simulate import calibrate

PLAIN = ExperimentSettings(metrics=["mean_wait"], engine="python")

HOUR = 3600
LONG = 188 * HOUR


@cache
def made(procs, long=LONG):
    """Three days on 90 processors in service, of a machine of `procs`."""
    rng = np.random.default_rng(3)
    n = 1300
    jobs = {
        "submit": np.sort(rng.integers(0, 3 * DAY, n)),
        "run": rng.integers(600, 2 * HOUR, n),
        "procs": rng.integers(1, 9, n),
        "user": rng.integers(1, 9, n),
    }
    jobs["run"][100], jobs["procs"][100] = long, 1
    served = wk.simulate(wk.Trace.from_columns(jobs), "easy", procs=90, engine="python")
    header = wk.Header((f"; MaxProcs: {procs}",))
    return wk.Trace.from_columns(jobs | {"wait": served.wait}, header=header, name="made.swf")


def test_a_machine_larger_than_what_was_in_service_fails_the_calibration(run, tmp_path):
    trace = made(180)
    found = wk.simulate(trace, "easy", engine="python").calibration
    assert found["holds"] is False
    assert found["recorded_mean_wait"] == pytest.approx(trace.column("wait").mean())
    assert found["missing"] == ["limits", "priorities", "nodes out of service"]
    path = tmp_path / "made.swf"
    wk.write_swf(trace, path)
    grid = tmp_path / "grid.toml"
    grid.write_text('logs = ["made.swf"]\nschedulers = ["fcfs", "easy"]\n')
    for command in (
        ("simulate", path),
        ("sweep", path, "--load", 0.5, "--scheduler", "easy"),
        ("experiment", "run", grid, "--out", tmp_path / "out", "--baseline", "fcfs"),
    ):
        code, out, err = run(*command, "--json", "-")
        assert code == 0
        assert err.count("the calibration fails: simulated") == 1
        assert "the log does not contain limits, priorities or nodes out of service" in err
        assert "partition" not in err
        assert "calibration" in json.loads(out)


def test_a_sweep_of_it_reaches_its_loads():
    metrics = ["utilization", "makespan_utilization"]
    found = wk.sweep(made(180), ["easy"], metrics=metrics, engine="python")
    table = found.table
    assert table["load"].tolist() == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert table["utilization"].tolist() == pytest.approx(table["load"].tolist(), abs=0.04)
    assert (table["makespan_utilization"] < 0.2).all()
    (one,) = found.calibration
    assert (one["scheduler"], one["holds"]) == ("easy", False)


def calibrated(monkeypatch):
    """Return the schedulers under which experiments simulate a log once more, as they do so."""
    found = []
    monkeypatch.setattr(
        measuring, "calibrate", lambda *given: found.append(given[1]) or calibrate(*given)
    )
    return found


def test_a_grid_is_calibrated_by_its_own_simulations_or_by_one_more(monkeypatch):
    logs, once_more = {"made": made(90)}, calibrated(monkeypatch)
    found = Experiment(logs, ["fcfs", "easy"], settings=PLAIN).run().calibration
    assert [one["scheduler"] for one in found] == ["fcfs", "easy"]
    assert found[1]["holds"]
    assert all_failed({one["scheduler"]: one for one in found}) == ""  # one reproduces the log
    assert once_more == []
    wide = {"": {}, "half": {"scale_runs": 0.5}}
    loads = [0.5, 0.7]
    for schedulers in (["fcfs", "easy"], {"ours": "sjf"}):
        once_more.clear()
        found = Experiment(logs, schedulers, loads=loads, readings=wide, settings=PLAIN).run()
        assert len(once_more) == len(wide)
        (one,) = found.calibration
        assert one["reading"] == ""
        assert one["scheduler"] == ("ours" if "ours" in schedulers else "easy")
    drawn = {"drawn": "genetic", "known": "recorded"}
    assert Experiment(logs, drawn, loads=loads, settings=PLAIN)._calibrating is None
    moved = {"made": wk.shake(made(90), rng=1)}
    assert Experiment(moved, ["easy"], loads=loads, settings=PLAIN).run().calibration == []


def test_parts_of_an_experiment_and_their_merger_say_it_from_their_files(
    run, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    once_more = calibrated(monkeypatch)
    wk.write_swf(made(180), "made.swf")
    grid = 'logs = ["made.swf"]\nschedulers = ["fcfs", "easy"]\nloads = [0.4, 0.5]\n'
    (tmp_path / "x.toml").write_text(grid + "seed = 1\n")
    said = []
    for part, shown in ((1, 1), (2, 0)):
        shard = ("--shard", f"{part}/2", "--out", f"part{part}")
        said.append(run("experiment", "run", "x.toml", *shard)[2])
        assert said[-1].count("the calibration fails: simulated under easy") == shown
    assert len(once_more) == 1
    sentence = said[0].splitlines()[-1]
    merged = run("experiment", "merge", "part1", "part2", "--out", "all", "--json", "-")
    assert merged[2].splitlines()[-1] == sentence
    (one,) = json.loads(merged[1])["calibration"]
    assert (one["log"], one["scheduler"], one["holds"]) == ("made.swf", "easy", False)
    assert one["missing"] == ["limits", "priorities", "nodes out of service"]
    again = run("experiment", "run", "x.toml", "--out", "all", "--baseline", "fcfs")
    assert again[2].splitlines()[-1] == sentence
    assert len(once_more) == 1  # as it is in the file
    run("experiment", "run", "x.toml", "--out", "whole")
    assert (tmp_path / "whole" / RESULTS).read_bytes() == (tmp_path / "all" / RESULTS).read_bytes()


@pytest.mark.parametrize("fault", [{"missing": []}, {"missing": [None]}, {"holds": None}])
def test_a_calibration_of_a_broken_file_is_refused(tmp_path, fault):
    experiment = Experiment({"made": made(180)}, ["easy"], settings=PLAIN)
    experiment.run(tmp_path)
    known, rows = read_file(tmp_path / RESULTS)
    (row,) = rows
    row["calibration"] |= fault
    write_results(tmp_path / RESULTS, known, {cell_of(row): row})
    with pytest.raises(wk.FormatError, match="calibration is"):
        merge_results([tmp_path])


def grid_of(procs, **jobs):
    """Return two sites, one of which has modelled waits, which only the plain engine knows."""
    log = made(procs)
    few = JobSource(site="a", share=0.5)
    return Metasystem(
        sites=[
            Site("a", jobs=JobSource(log=log, **jobs)),
            Site("b", procs=90, waits=Waits(mean=60)),
        ],
        meta_schedulers=[MetaScheduler("grid", "home", [few])],
    )


def test_the_sites_of_a_metasystem_are_calibrated_on_their_own(run, tmp_path):
    alone = wk.simulate(made(180), "easy")
    for procs, holds in ((180, False), (90, True)):
        schedule = simulate_metasystem(grid_of(procs))
        assert schedule.calibration.keys() == {"a"}
        assert schedule.calibration["a"]["holds"] is holds
        assert schedule.to_dict()["calibration"] == schedule.calibration
    schedule = simulate_metasystem(grid_of(180))
    assert schedule.calibration["a"] == alone.calibration
    wk.metasystem.write_metasystem(schedule.prepared.system, tmp_path)
    code, out, err = run("metasystem", tmp_path / "metasystem.json", "--json", "-")
    assert code == 0
    assert err.count("warning: site a: the calibration fails: simulated on its own") == 1
    assert "the log does not contain limits, priorities or nodes out of service" in err
    assert json.loads(out)["calibration"]["a"]["holds"] is False


def test_sites_whose_users_react_or_that_record_nothing_are_not_calibrated():
    assert simulate_metasystem(grid_of(90, users="fluid")).calibration == {}
    unknown = made(90).with_columns(wait=np.full(1300, -1))
    system = Metasystem(sites=[Site("a", jobs=JobSource(log=unknown))], meta_schedulers=[])
    assert "calibration" not in simulate_metasystem(system).to_dict()


def test_the_machine_that_was_in_service_is_calibrated():
    schedule = wk.simulate(made(90), "easy", engine="python")
    found = schedule.calibration
    assert found["holds"] is True
    assert found["simulated_mean_wait"] == found["recorded_mean_wait"]
    assert found["simulated_utilization"] == found["recorded_utilization"]
    assert wk.simulate(made(90), "easy", engine="python", scale_runs=2).calibration == {}


def test_schedules_are_compared_with_a_warning_unless_one_is_calibrated():
    for procs, fails in ((180, True), (90, False)):
        both = [wk.simulate(made(procs), x, engine="python") for x in ("easy", "fcfs")]
        if fails:
            with pytest.warns(wk.WorkloadWarning, match="the calibration fails: simulated under"):
                found = analysis.compare_schedules(*both, metrics=["mean_wait"])
        else:
            found = analysis.compare_schedules(*both, metrics=["mean_wait"])
        known = {name: schedule.calibration for name, schedule in found.schedules.items()}
        assert found.to_dict()["calibration"] == known


def test_the_record_itself_does_not_make_the_calibration_hold():
    recorded = wk.simulate(made(180), "recorded", engine="python")
    assert recorded.calibration == {}
    easy = wk.simulate(made(180), "easy", engine="python")
    with pytest.warns(wk.WorkloadWarning, match="the calibration fails: simulated under easy"):
        analysis.compare_schedules(recorded, easy, metrics=["mean_wait"])


def test_one_long_job_does_not_set_utilization_and_throughput():
    short, long = (wk.simulate(made(180, x), "easy", engine="python") for x in (HOUR, LONG))
    ours, its = (x.describe() for x in (long, short))
    assert ours["makespan"] > 2 * its["makespan"]
    assert ours["mean_queue_length"] == pytest.approx(long.wait.sum() / ours["makespan"])
    for name in ("utilization", "throughput_per_hour"):
        assert ours[name] == pytest.approx(its[name], rel=0.05)
        assert ours[f"makespan_{name}"] < 0.5 * its[f"makespan_{name}"]
    begin, until = long.window
    assert (begin, until) == (long.workload.submit[0], long.workload.submit[-1])
    assert ours["tail"] == ours["makespan"] - (until - begin)
    held = np.maximum(long.end - np.maximum(long.start, until), 0)
    assert ours["tail_work"] == (held * long.workload.procs).sum()
    assert long.recorded["utilization"] == pytest.approx(ours["utilization"], abs=0.1)
