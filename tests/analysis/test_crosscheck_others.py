"""Every model next to its simulation, and schedules of simulators that are not ours."""

import heapq
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from workloadkit import queueing
from workloadkit.analysis.queue_models import (
    crosscheck,
    crosscheck_all,
    judge_schedules,
    write_crosscheck,
)
from workloadkit.analysis.queue_models.cross_check.declared import ALIASES, MODELS
from workloadkit.cli import app
from workloadkit.cli.crosscheck import MODELS as NAMES
from workloadkit.errors import ParameterError, WorkloadError

SMALL = ("mm1", "mmck", "mva", "mixed_mva")


def first_come_first_served(jobs, processors):
    """Starts of (submit, run, procs), by the definition: in order, each as soon as it fits.

    A job starts at the first time, not before its submission and not before the start of the job
    ahead, at which enough processors are free.
    """
    running, free, now, starts = [], processors, 0, []
    for submit, run, procs in jobs:
        now = max(now, submit)
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        while free < procs:
            now, freed = heapq.heappop(running)
            free += freed
        free -= procs
        heapq.heappush(running, (now + run, procs))
        starts.append(now)
    return starts


def play_swf(source, target, processors, *, late=0):
    """Write the schedule of a log in the Standard Workload Format, field by field."""
    lines = source.read_text().splitlines()
    rows = [[int(x) for x in line.split()] for line in lines if line and not line.startswith(";")]
    jobs = [(row[1], row[3], row[4]) for row in rows]
    for row, start in zip(rows, first_come_first_served(jobs, processors), strict=True):
        row[2] = start - row[1] + late
    head = [line for line in lines if line.startswith(";")]
    target.write_text("\n".join(head + [" ".join(map(str, row)) for row in rows]) + "\n")


def play_batsim(source, target, processors):
    """Write the schedule of a Batsim workload as its table of jobs."""
    load = json.loads(source.read_text())
    jobs = [(j["subtime"], load["profiles"][j["profile"]]["delay"], j["res"]) for j in load["jobs"]]
    rows = ["job_id,workload_name,submission_time,requested_number_of_resources,success,"
            "final_state,starting_time,execution_time,finish_time,"
            "waiting_time,turnaround_time"]  # fmt: skip
    starts = first_come_first_served(jobs, processors)
    for job, (submit, run, procs), start in zip(load["jobs"], jobs, starts, strict=True):
        ends = f"{start},{run},{start + run},{start - submit},{start + run - submit}"
        rows.append(f"{job['id']},w0,{submit},{procs},1,COMPLETED_SUCCESSFULLY,{ends}")
    target.write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("name", SMALL)
def test_a_model_agrees_with_its_simulation(name):
    found = crosscheck_all([name], runs=6, jobs=1000 * MODELS[name].fewer, rng=1)
    assert found.holds, found.checks[0].failed
    assert found.table["measures"].item() >= 4


OWN = ("ps", "srpt", "sjf", "fb", "impatient", "breakdowns")
OWN += ("batches", "vacations", "ggc", "dps", "priorities", "jackson", "qna", "class_switching")
OWN += ("bulk_service", "fork_join", "closed_priorities")


@pytest.mark.parametrize("name", OWN)
def test_a_station_agrees_with_its_own_simulation(name):
    found = crosscheck_all([name], runs=5, jobs=600 * MODELS[name].fewer, rng=1)
    assert found.holds, found.checks[0].failed


def test_the_page_of_all_models_names_each_in_its_tree():
    page = Path(__file__).parents[2] / "docs/explanation/which-model.md"
    tree = page.read_text().split("```text")[1].split("```")[0]
    for model in MODELS.values():
        assert re.search(rf"\b{model.theory.rpartition('.')[2]}\b", tree), model.theory


def test_jobs_that_are_interrupted_agree_at_several_servers():
    how = {"servers": 2, "order": "preemptive", "runs": 5, "jobs": 6000, "rng": 1}
    found = crosscheck("priorities", lam=[0.5, 0.9], S=[1, 1], **how)
    assert found.holds, found.failed
    assert found.points["order"].tolist() == ["preemptive"]


def test_the_command_completes_the_names_of_all_models():
    assert set(NAMES) == {"all", "network", *MODELS}


def test_every_model_declares_a_point_and_a_simulation():
    for name, model in MODELS.items():
        assert set(model.needed) <= set(model.example) <= set(model.known), name
        assert model.measured(model.example), name
    assert set(ALIASES) < set(MODELS)


def test_a_wrong_formula_is_found(monkeypatch):
    right = queueing.mmck
    monkeypatch.setattr(queueing, "mmck", lambda **point: right(**point | {"S": 1.2 * point["S"]}))
    found = crosscheck_all(["mmck"], runs=10, jobs=10_000, rng=1)
    assert not found.holds
    assert found.to_dict()["points"][0]["holds"] is False


def test_classes_of_a_network_with_different_times_at_a_station_are_refused():
    with pytest.raises(ParameterError, match="station 0 serves classes with different times"):
        crosscheck("mva", demands=[[1.0], [2.0]], N=[1, 1], Z=[1, 1], runs=2, jobs=1000)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    given = {"lam": 1.2, "S": 1, "servers": 2, "runs": 5, "jobs": 600, "rng": 2}
    assert write_crosscheck("mmc", folder, **given) == folder / "expected.json"
    for number in range(1, 4):
        play_swf(folder / f"run-0{number}.swf", folder / f"run-0{number}.schedule.swf", 2)
    play_batsim(folder / "run-04.json", folder / "run-04_jobs.csv", 2)
    (folder / "run-05").mkdir()
    play_batsim(folder / "run-05.json", folder / "run-05" / "jobs.csv", 2)
    return folder


def test_an_independent_simulator_agrees(written):
    found = judge_schedules(written)
    assert found.holds
    rows = found.table.set_index("measure")
    assert list(rows.index) == ["X", "R", "Q", "U", "R_p50", "R_p90", "R_p99", "Q/(X R)"]
    assert rows.loc["R", "theory"] == pytest.approx(1e5 * queueing.mmc(1.2, 1, 2).R)
    assert rows.loc["Q/(X R)", "simulation"] == pytest.approx(1, abs=0.02)


def test_an_independent_simulator_that_is_wrong_differs(written, tmp_path):
    expected = json.loads((written / "expected.json").read_text())
    for name in expected["runs"]:
        (tmp_path / f"{name}.swf").write_text((written / f"{name}.swf").read_text())
        target = tmp_path / f"{name}.schedule.swf"
        play_swf(written / f"{name}.swf", target, 2, late=300_000)
    (tmp_path / "expected.json").write_text(json.dumps(expected | {"processors": 99}))
    found = judge_schedules(tmp_path)
    assert not found.holds
    assert "R" in set(found.failed["measure"])


def changed(folder, target, field, value):
    """Copy a folder with one field of the tenth job of a schedule changed."""
    for path in folder.iterdir():
        if path.is_file():
            (target / path.name).write_text(path.read_text())
    path = target / "run-01.schedule.swf"
    lines = path.read_text().splitlines()
    row = lines[-1].split()
    row[field] = str(value)
    path.write_text("\n".join([*lines[:-1], " ".join(row)]) + "\n")
    (target / "run-05_jobs.csv").write_text((folder / "run-05" / "jobs.csv").read_text())


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, 601, "not the jobs of run-01.swf: 2 jobs differ, such as 600"),
        (1, 5, "job 600 starts before its submission"),
        (3, 7, "job 600 runs for another time than written"),
    ],
)
def test_what_is_no_schedule_of_the_jobs_is_an_error(written, tmp_path, field, value, message):
    changed(written, tmp_path, field, value)
    with pytest.raises(WorkloadError, match=re.escape(message)):
        judge_schedules(tmp_path)


def test_more_processors_than_there_are_is_an_error(written, tmp_path):
    changed(written, tmp_path, 17, -1)
    expected = json.loads((written / "expected.json").read_text())
    (tmp_path / "expected.json").write_text(json.dumps(expected | {"processors": 1}))
    with pytest.raises(WorkloadError, match=r"2 processors in use at \d+ s, of 1"):
        judge_schedules(tmp_path)


def test_models_whose_users_react_are_not_written(tmp_path):
    with pytest.raises(ParameterError, match="'closed' is not written: its users react"):
        write_crosscheck("closed", tmp_path, N=2, Z=1, S=1, runs=2, jobs=100)
    with pytest.raises(ParameterError, match="form a grid"):
        write_crosscheck("mm1", tmp_path, lam=np.array([0.1, 0.2]), S=1, runs=2, jobs=100)
    assert not list(tmp_path.iterdir())


def test_the_command_judges(written, tmp_path):
    result = CliRunner().invoke(app, ["crosscheck", "--judge", str(written)])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "theory and simulation agree in all of 8 measures"
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    result = CliRunner().invoke(app, ["crosscheck", "--judge", str(tmp_path)])
    assert result.exit_code == 1
    result = CliRunner().invoke(app, ["crosscheck", "mm1", "--judge", str(tmp_path)])
    assert result.exit_code == 2
