"""The metrics of several logs: those of each schedule, their means, and what is no log."""

import json

import numpy as np
import pytest

import workloadkit as wk
from tests.commands import run_command
from tests.small_logs import busy_log
from workloadkit.errors import ParameterError, WorkloadError


@pytest.fixture(scope="module")
def schedules():
    return [wk.simulate(busy_log(seed), "easy", procs=8, engine="python") for seed in range(4)]


def test_metrics_of_logs_are_those_of_their_schedules(schedules):
    found = wk.metrics_of_logs(schedule.trace() for schedule in schedules)
    for row, schedule in zip(found.logs.to_dict("records"), schedules, strict=True):
        for name in ("jobs", "utilization", "mean_wait", "mean_bounded_slowdown", "makespan"):
            assert row[name] == pytest.approx(schedule.measure(name)), name


def test_the_summary_is_of_the_logs(schedules):
    found = wk.metrics_of_logs((schedule.trace() for schedule in schedules), procs=8)
    waits = [schedule.metrics["mean_wait"] for schedule in schedules]
    row = found.summary.set_index("metric").loc["mean_wait"]
    assert row["logs"] == 4
    assert row[["mean", "low", "high"]].tolist() == pytest.approx(
        wk.mean_interval(waits, positive=True)
    )
    assert row[["sd", "min", "max"]].tolist() == pytest.approx(
        [np.std(waits, ddof=1), min(waits), max(waits)]
    )


def test_simulated_logs_that_saturate_are_counted_by_scheduler():
    log = wk.load_sample()
    made = [wk.simulate(log, x, scale_arrivals=0.5, rng=1).trace() for x in ("fcfs", "easy")]
    with pytest.warns(wk.WorkloadWarning, match="2 of 2 simulations saturate; .* 1 under fcfs, 1"):
        wk.metrics_of_logs(made)


def test_one_log_has_no_interval(schedules):
    summary = wk.metrics_of_logs([schedules[0].trace()]).summary.set_index("metric")
    assert summary.loc["utilization", ["low", "high", "sd"]].isna().all()


def test_what_cannot_be_measured_is_named():
    with pytest.raises(WorkloadError, match="there is no log to measure"):
        wk.metrics_of_logs([])
    with pytest.raises(ParameterError, match=r"the size of the machine is unknown"):
        wk.metrics_of_logs([busy_log(1)])


def test_the_command_reads_the_logs_of_a_folder(schedules, tmp_path, capsys):
    folder = tmp_path / "logs"
    folder.mkdir()
    for i, schedule in enumerate(schedules):
        wk.write_swf(schedule.trace(), folder / f"{i}.swf.gz")
    (folder / "0.swf.gz.machine.json").write_text("{}")
    (folder / "notes.txt").write_text("no log\n")
    table = tmp_path / "metrics.csv"
    assert run_command("metrics", str(folder), "-o", str(table)) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("4 logs\n")
    assert max(map(len, shown.splitlines())) <= 80
    assert len(table.read_text().splitlines()) == 5
    assert run_command("metrics", str(tmp_path)) == 1
    assert "there is no log in this folder" in capsys.readouterr().err


def test_copied_waits_of_resampled_logs_are_warned_of():
    """Waits of a log that was resampled are copies; those of its simulation are not."""
    sample = wk.load_sample()
    log = wk.resample(sample.select(sample.ran), weeks=6, rng=1)
    with pytest.warns(
        wk.errors.WorkloadWarning, match="1 log of 1 are resampled and not simulated"
    ):
        found = wk.metrics_of_logs([log])
    assert found.to_dict()["copied_waits"] == 1
    simulated = wk.simulate(log, "easy").trace()
    assert wk.metrics_of_logs([simulated]).to_dict()["copied_waits"] == 0


def test_folders_are_samples_and_logs_with_the_same_name_are_pairs(tmp_path, capsys):
    logs = [busy_log(seed) for seed in range(3)]
    waits = {}
    for name in ("fcfs", "easy"):
        (tmp_path / name).mkdir()
        for i, log in enumerate(logs):
            schedule = wk.simulate(log, name, procs=8, engine="python")
            waits.setdefault(name, []).append(schedule.metrics["mean_wait"])
            wk.write_swf(schedule.trace(), tmp_path / name / f"{i}.swf")
    folders = [str(tmp_path / name) for name in waits]
    assert run_command("metrics", *folders, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    means = [row for row in found["summary"] if row["metric"] == "mean_wait"]
    assert [row["sample"] for row in means] == folders
    for row, values in zip(means, waits.values(), strict=True):
        assert (row["logs"], row["mean"]) == (3, pytest.approx(np.mean(values)))
    (row,) = (row for row in found["differences"] if row["metric"] == "mean_wait")
    differences = np.subtract(waits["easy"], waits["fcfs"])
    assert (row["sample"], row["pairs"]) == (folders[1], 3)
    assert [row[x] for x in ("difference", "low", "high")] == pytest.approx(
        wk.mean_interval(differences)
    )
    assert run_command("metrics", *folders) == 0
    shown = capsys.readouterr().out
    assert f"{folders[1]} less {folders[0]}: 3 pairs of logs with the same name" in shown
    assert run_command("metrics", f"{folders[0]}/0.swf", f"{folders[1]}/1.swf") == 0
    shown = capsys.readouterr().out
    assert "fcfs: 1 log\n" in shown
    assert "easy and fcfs: no two logs have the same name, so no differences" in shown
