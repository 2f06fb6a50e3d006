"""A log of a machine of which half was in service, with one job of 188 h in three days."""

import json
from functools import cache

import numpy as np
import pytest

import analysis
import workloadkit as wk
from workloadkit.clock import DAY
from workloadkit.experiments import calibrating
from workloadkit.experiments.calibrating import failures
from workloadkit.experiments.experiment import Experiment
from workloadkit.settings import ExperimentSettings, Simulate

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


def test_a_grid_is_calibrated_by_its_own_simulations_or_by_one_more(monkeypatch):
    logs = {"made": made(90)}
    found = Experiment(logs, ["fcfs", "easy"], settings=PLAIN).run().calibration
    assert [one["scheduler"] for one in found] == ["fcfs", "easy"]
    assert found[1]["holds"]
    assert failures(found) == []  # one of them reproduces the log
    n_simulated = []
    monkeypatch.setattr(
        calibrating, "simulate", lambda *a, **b: n_simulated.append(a[1]) or wk.simulate(*a, **b)
    )
    wide = {"": {}, "half": {"scale_runs": 0.5}}
    loads = [0.5, 0.7]
    for schedulers in (["fcfs", "easy"], {"ours": "sjf"}):
        n_simulated.clear()
        found = Experiment(logs, schedulers, loads=loads, readings=wide, settings=PLAIN).run()
        assert len(n_simulated) == 1
        (one,) = found.calibration
        assert one["reading"] == ""
        assert one["scheduler"] == ("ours" if "ours" in schedulers else "easy")
    drawn = {"drawn": "genetic", "known": "recorded"}
    assert calibrating.calibrate(made(90), drawn, Simulate()) == {}
    moved = {"made": wk.shake(made(90), rng=1)}
    assert Experiment(moved, ["easy"], loads=loads, settings=PLAIN).run().calibration == []


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
                analysis.compare_schedules(*both, metrics=["mean_wait"])
        else:
            analysis.compare_schedules(*both, metrics=["mean_wait"])


def test_one_long_job_does_not_set_utilization_and_throughput():
    short, long = (wk.simulate(made(180, x), "easy", engine="python") for x in (HOUR, LONG))
    ours, its = (x.describe() for x in (long, short))
    assert ours["makespan"] > 2 * its["makespan"]
    for name in ("utilization", "throughput_per_hour"):
        assert ours[name] == pytest.approx(its[name], rel=0.05)
        assert ours[f"makespan_{name}"] < 0.5 * its[f"makespan_{name}"]
    begin, until = long.window
    assert (begin, until) == (long.workload.submit[0], long.workload.submit[-1])
    assert ours["tail"] == ours["makespan"] - (until - begin)
    held = np.maximum(long.end - np.maximum(long.start, until), 0)
    assert ours["tail_work"] == (held * long.workload.procs).sum()
    assert long.recorded["utilization"] == pytest.approx(ours["utilization"], abs=0.1)
