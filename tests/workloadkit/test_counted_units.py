"""Sizes counted in nodes and GPUs: logs as seen in them, and simulations, by hand."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.commands import run_command
from workloadkit import (
    Header,
    MachineDescription,
    NodeType,
    ParameterError,
    WorkloadError,
    analysis,
)
from workloadkit.settings import ExperimentSettings
from workloadkit.units import amounts_of, in_processors, in_unit, machine_amount

EIGHT = MachineDescription(nodes=(NodeType(count=2, cores=64, gpus=8),))


def log_of(**columns):
    """Two nodes of 64 cores and 8 GPUs; the jobs submit in one second."""
    known = {
        name: columns.pop(name) for name in ("gpus", "nodes", "requested_gpus") & columns.keys()
    }
    n = len(columns["procs"])
    jobs = {"submit": np.arange(n), "run": [10.0] * n, "wait": [0.0] * n, **columns}
    log = wk.Trace.from_columns(jobs, header=Header(("; MaxNodes: 2", "; MaxProcs: 128")))
    return log.replaced(sidecar=pd.DataFrame(known), machine=EIGHT)


def in_plain(log, scheduler="fcfs", **settings):
    return wk.simulate(log, scheduler, engine="python", **settings)


def test_a_log_seen_in_a_unit_has_its_amounts_and_gives_back_its_own_sizes():
    log = log_of(procs=[64, 8, 4, 2], gpus=[8, 1.5, 0, np.nan], nodes=[2, 1, 1, 1])
    seen = in_unit(log, "gpus")
    assert seen.column("procs").tolist() == [8, 1.5]
    assert seen.header.procs == 16
    assert (seen.counting.none, seen.counting.unknown, seen.counting.n_jobs) == (1, 1, 4)
    assert seen.digest == log.digest
    own = in_processors(seen)
    assert own.header.lines == log.header.lines
    assert own.machine is log.machine
    assert own.jobs.equals(log.take([0, 1]).jobs)
    assert own.sidecar.equals(log.take([0, 1]).sidecar)
    assert in_unit(seen, "gpus") is seen
    assert in_unit(log, "nodes").column("procs").tolist() == [2, 1, 1, 1]
    assert in_unit(in_unit(log, "nodes"), "procs").jobs.equals(log.jobs)


def test_a_log_seen_in_a_unit_is_written_with_its_own_sizes(tmp_path):
    log = log_of(procs=[64, 8], gpus=[8, 1])
    wk.write_log(in_unit(log, "gpus"), tmp_path / "a.swf")
    assert wk.read_swf(tmp_path / "a.swf").column("procs").tolist() == [64, 8]


def test_an_experiment_counts_in_a_unit_of_all_its_readings():
    log = log_of(procs=[1, 2, 3], gpus=[8, 8, 4], nodes=[1, 1, 1], submit=[0, 5, 9])
    options = ExperimentSettings(unit="gpus", metrics=["utilization"], engine="python")
    experiment = wk.Experiment({"a": log}, ["fcfs"], settings=options)
    assert experiment.run().runs["utilization"].tolist() == [
        in_plain(log, unit="gpus").metrics["utilization"]
    ]
    for readings in ({"nodes": {"machine": EIGHT}}, {"nodes": {"unit": "nodes"}}):
        with pytest.raises(ParameterError, match="unit"):
            wk.Experiment({"a": log}, ["fcfs"], settings=options, readings=readings)


def test_own_sizes_are_in_proportion_to_sizes_scaled_in_a_unit():
    seen = in_unit(log_of(procs=[64, 8], gpus=[8, 1]), "gpus")
    own = in_processors(seen.with_columns(procs=[4, 2]))
    assert own.column("procs").tolist() == [32, 16]
    assert own.column("gpus").tolist() == [4, 2]


def test_what_was_requested_counts_where_no_allocation_is_known():
    log = log_of(procs=[4, 4, 4], gpus=[np.nan, 0, 2], requested_gpus=[3, 3, 1])
    assert amounts_of(log, "gpus").tolist() == [3, 0, 2]


def test_processors_are_nodes_in_a_log_that_has_no_other_processors():
    columns = {"submit": [0, 1], "procs": [3, 5]}
    log = wk.Trace.from_columns(columns, header=Header(("; MaxNodes: 9",)))
    seen = in_unit(log, "nodes")
    assert (seen.column("procs").tolist(), seen.header.procs) == ([3, 5], 9)
    cores = wk.Trace.from_columns(columns, header=Header(("; MaxNodes: 9", "; MaxProcs: 36")))
    for unit in ("nodes", "gpus"):
        with pytest.raises(WorkloadError, match="of its jobs are unknown"):
            in_unit(cores, unit)
    with pytest.raises(WorkloadError, match="no job holds a GPU"):
        in_unit(log_of(procs=[1], gpus=[0]), "gpus")
    with pytest.raises(ParameterError, match="unit"):
        in_unit(cores, "cores")


def test_what_is_inferred_of_a_machine_is_not_its_size():
    seen_only = NodeType(count=2, cores=64, gpus=8, inferred=("count",))
    log = log_of(procs=[1], gpus=[1]).replaced(machine=MachineDescription(nodes=(seen_only,)))
    assert machine_amount(log, "gpus") is None
    assert in_unit(log, "gpus").header.procs is None
    with pytest.raises(WorkloadError, match="procs"):
        in_plain(log, unit="gpus")
    assert in_plain(log, unit="gpus", procs=4).machine == 4


def test_a_pool_of_gpus_is_shared_by_the_jobs_that_hold_some():
    # Of 16 GPUs job 1 holds 12. Job 2 needs 8 and waits; job 3 needs 4, which EASY starts at once.
    # Job 4 needs none.
    log = log_of(procs=[1, 1, 1, 64], gpus=[12, 8, 4, 0], nodes=[2, 1, 1, 1])
    fcfs, easy = in_plain(log, unit="gpus"), in_plain(log, "easy", unit="gpus")
    assert fcfs.jobs[["job", "start"]].to_numpy().tolist() == [[1, 0], [2, 10], [3, 10]]
    assert easy.jobs["start"].tolist() == [0, 10, 2]
    assert fcfs.metrics["left_out"] == 1
    # 12 of 16 are held from the first submission to the last, at 2 s
    assert fcfs.metrics["utilization"] == 12 / 16
    made = easy.trace()
    assert made.column("procs").tolist() == [1, 1, 1]
    assert made.header.get("MaxProcs") == "128"
    assert "jobs left out of the simulation: 1 of 4" in made.header.get_all("Note")[-1]
    assert wk.check_schedule(log, easy).verdict == "proved"
    assert wk.check_schedule(log, made).verdict == "proved"


@pytest.mark.parametrize("unit", ["procs", "nodes", "gpus"])
def test_jobs_are_placed_by_cores_and_gpus_together(unit):
    # node 0: 60 of 64 cores; node 1: 8 of 8 GPUs. Neither serves 6 cores with 1 GPU, so the third
    # job waits for the first end, though 4 + 60 cores and 8 GPUs are free. The last job holds no
    # GPU and needs cores only.
    log = log_of(procs=[60, 4, 6, 4], gpus=[0, 8, 1, 0], nodes=[1, 1, 1, 1], run=[50, 20, 5, 5])
    schedule = in_plain(log, "easy", unit=unit, machine="log", placement="spread")
    assert schedule.jobs["start"].tolist() == [0, 1, 21, 3]
    of_gpus = {"procs": [60, 4, 6, 4], "nodes": [1, 1, 1, 1], "gpus": [0, 8, 1, 0]}[unit]
    assert schedule.held.tolist() == of_gpus
    assert schedule.capacity == {"procs": 128, "nodes": 2, "gpus": 16}[unit]
    # from 0 s to the last submission, at 3 s
    held = {"procs": 60 * 3 + 4 * 2, "nodes": 1 * 3 + 1 * 2, "gpus": 8 * 2}[unit]
    assert schedule.metrics["utilization"] == held / (3 * schedule.capacity)
    assert wk.check_schedule(log, schedule).verdict != "refuted"
    assert schedule.trace().column("procs").tolist() == [60, 4, 6, 4]


SIZED = ("saf", "largest", "easy:backfill=smallest", "wfp3", "order:score=usage,backfill=sjf")


@pytest.mark.parametrize("scheduler", [*SIZED, "easy:backfill=sjf", "order:score=wait"])
def test_orders_by_size_on_nodes_count_processors_and_say_so(scheduler):
    log = log_of(procs=[60, 4, 6], gpus=[0, 8, 1], nodes=[1, 1, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_plain(log, scheduler, unit="gpus", machine="log")
        in_plain(log, scheduler, machine="log")
    said = [str(each.message) for each in caught if "its order counts" in str(each.message)]
    assert len(said) == (scheduler in SIZED)
    assert all(text.endswith("counts processors; load and utilization count GPUs") for text in said)


@pytest.mark.parametrize("machine", [None, "log"])
def test_the_offered_load_is_that_of_the_unit(machine):
    log = log_of(procs=[1, 2, 3], gpus=[8, 0, 4], nodes=[1, 1, 1], submit=[0, 5, 9])
    schedule = in_plain(log, unit="gpus", machine=machine, offered_load=0.5)
    # 8 and 4 GPUs for 10 s, of 16: 15 s at half of it
    assert np.ptp(schedule.workload.submit) == 15


def test_a_part_of_a_gpu_is_one_on_a_node_and_no_job_of_a_pool():
    log = log_of(procs=[4, 4], gpus=[0.5, 1], nodes=[1, 1])
    with pytest.raises(WorkloadError, match=r"GPU: 1; on nodes \(machine\) each takes"):
        in_plain(log, unit="gpus")
    schedule = in_plain(log, unit="gpus", machine="log")
    assert schedule.held.tolist() == [0.5, 1]
    assert schedule.history["requests"] == {"part of a GPU requested: a whole one": 1}


def test_what_a_unit_cannot_count_is_refused():
    log = log_of(procs=[4], gpus=[1])
    none = MachineDescription(nodes=(NodeType(count=2, cores=64),))
    with pytest.raises(ParameterError, match="unit is 'gpus', of which"):
        in_plain(log, unit="gpus", machine=none)
    with pytest.raises(ParameterError, match="reservations are of processors"):
        in_plain(log, unit="gpus", reservations="none.reservations")
    with pytest.raises(ParameterError, match="unit applies to jobs of a log"):
        wk.simulate(users="site:users=5", unit="gpus")


def test_a_sweep_counts_as_its_simulations_do():
    log = log_of(procs=[1, 2, 3], gpus=[8, 8, 4], nodes=[1, 1, 1], submit=[0, 5, 9])
    found = wk.sweep(log, ["fcfs"], [0.8], unit="gpus", engine="python", metrics=["utilization"])
    alone = in_plain(log, unit="gpus", offered_load=0.8)
    assert found.runs["utilization"].tolist() == [alone.metrics["utilization"]]
    assert found.provenance["parameters"]["unit"] == "gpus"
    assert found.provenance["parameters"]["procs"] == 16


def test_commands_count_in_a_unit(tmp_path, capsys):
    path, out = tmp_path / "a.swf", tmp_path / "out.swf"
    wk.write_swf(log_of(procs=[4, 4, 8], gpus=[8, 0, 12], nodes=[1, 1, 2]), path)
    assert run_command("simulate", path, "--unit", "gpus", "-o", out, "--scheduler", "fcfs") == 0
    shown = capsys.readouterr()
    assert "a.swf under fcfs, 16 GPUs" in shown.out
    assert "held by 2 of 3 jobs. Left out: 1 that holds none." in shown.err
    assert "GPU-hours" in shown.out
    assert wk.read_swf(out).column("procs").tolist() == [4, 8]
    assert run_command("check", path, out) == 0
    assert run_command("simulate", path, "--unit", "gpu") == 2


WEEK = 604800
drawn = pytest.mark.filterwarnings("ignore:.*pool of temporary users is empty")


def weekly(each=0.5, **columns):
    """Users 1 to 8, each with a job a week for 30 weeks; the odd ones hold GPUs."""
    user = np.tile(np.arange(1, 9), 30)
    log = log_of(
        submit=np.repeat(np.arange(30) * WEEK, 8) + user * 60.0,
        user=user,
        procs=user * 4.0,
        gpus=np.where(user % 2, user * each, 0.0),
        **columns,
    )
    return log.replaced(sidecar=log.sidecar.assign(nodes=1.0))


@drawn
def test_resampled_by_gpus_are_the_users_who_hold_some_at_a_load_in_gpus():
    log = weekly(run=[600.0] * 240)
    new = wk.resample(log, unit="gpus", load=2, rng=1)
    assert new.unit == "gpus"
    assert new.header.procs == 16
    gpus, own = new.column("procs"), in_processors(new).column("procs")
    assert set(zip(gpus, own, strict=True)) == {(0.5, 4), (1.5, 12), (2.5, 20), (3.5, 28)}
    assert len(set(new.column("user"))) == 8  # of four, each is there twice
    work = np.array(
        [
            (one.column("procs") * 600).sum()
            for one in wk.resamples(log, 20, unit="gpus", load=2, rng=1)
        ]
    )
    assert work.mean() == pytest.approx(2 * 30 * 8 * 600, rel=0.05)
    assert in_processors(new).header.get("MaxProcs") == "128"
    alone = wk.resample(log.select(log.column("user") % 2 == 1), load=2, rng=1)
    assert new.column("submit").tolist() == alone.column("submit").tolist()


@drawn
def test_what_was_made_is_reported_next_to_the_jobs_that_hold_some(tmp_path, capsys):
    """Of each user a job a week: 4 x 30 hold 8 GPUs together, for 600 s of a week, of 16."""
    path = tmp_path / "a.wkt.parquet"
    wk.write_log(weekly(run=[600.0] * 240), path)
    command = ("resample", path, "--unit", "gpus", "--seed", 1, "-o", tmp_path / "b.swf")
    assert run_command(*command) == 0
    rows = dict(re.findall(r"^(jobs|offered load) +(\S+)", capsys.readouterr().err, re.MULTILINE))
    assert rows["jobs"] == "120"
    load = 30 * 8 * 600 / (16 * 29 * WEEK)
    assert float(rows["offered load"]) == pytest.approx(load, rel=0.05)


@drawn
def test_resampled_by_gpus_on_another_machine_no_processors_are_made_up(tmp_path):
    log = weekly()
    with pytest.raises(ParameterError, match=r"job 7 needs 3.5 GPUs, the machine has 2 "):
        wk.resample(log, unit="gpus", procs=2, rng=1)
    new = wk.resample(log, unit="gpus", procs=32, rescale=True, rng=1)
    assert new.header.procs == 32
    assert set(new.column("procs")) == {1, 3, 5, 7}
    wk.write_log(new, tmp_path / "new.swf")
    written = wk.read_swf(tmp_path / "new.swf")
    assert written.header.procs is None
    assert set(written.column("procs")) == {8, 24, 40, 56}
    assert set(written.sidecar["gpus"]) == {1, 3, 5, 7}


@drawn
def test_mixed_logs_are_counted_in_one_unit():
    log = weekly()
    mixed = wk.resample([log, log], unit="gpus", rng=1)
    assert (mixed.counting.n_jobs, mixed.counting.none) == (480, 240)
    assert mixed.header.procs == 16
    with pytest.raises(WorkloadError, match="the logs count sizes in different units"):
        wk.resample([in_unit(log, "gpus"), log], rng=1)


@drawn
def test_users_resampled_by_gpus_are_simulated_on_them():
    log = weekly(each=1)
    population = wk.populations.Resampled(unit="gpus").prepare(log)
    runs = [
        in_plain(log, "easy", unit="gpus", population=who, rng=1)
        for who in (population, wk.populations.Resampled())
    ]
    assert runs[0].jobs.equals(runs[1].jobs)
    with pytest.raises(ParameterError, match="population counts in GPUs"):
        in_plain(log, "easy", population=population, rng=1)


@drawn
def test_a_validation_by_gpus_compares_with_the_jobs_that_hold_some():
    found = analysis.validate_resampling(weekly(), 2, rng=1, unit="gpus")
    assert found.table.loc["jobs", "original"] == 120
    captions = [figure.caption for part in found.report().sections for figure in part.figures]
    assert "GPU-seconds per user." in captions


def of_nodes_alone():
    """Thirty jobs of which only the nodes are known, some of them with none."""
    i = np.arange(30)
    log = wk.Trace.from_columns(
        {"submit": 600 * i, "run": [900.0] * 30, "wait": [5.0] * 30, "user": 1 + i % 3}
    )
    return log.replaced(sidecar=pd.DataFrame({"nodes": np.where(i % 10, 1.0 + i % 2, 0)}))


def test_a_log_of_nodes_alone_is_characterized_in_nodes(tmp_path):
    log = of_nodes_alone()
    found = analysis.characterize(log, profile="full", procs=4)
    sections = {section.name: section for section in found.sections}
    assert found.seen.unit == found.source.unit == "nodes"
    hours = 900 * log.column("nodes").sum() / 3600
    assert sections["usage"].finding.startswith(f"27 jobs used {hours:.1f} node-hours")
    assert sections["load"].values["work"] == 900 * log.column("nodes").sum()
    for name in ("users", "sessions", "waiting", "capacity"):
        assert "No job" not in " ".join(sections[name].notes), name
        if sections[name].finding:
            assert "Left out: 3 that hold none" in sections[name].notes[-1]
    assert "Processors and nodes are those requested" in " ".join(sections["machine"].notes)
    compared = analysis.compare_two(log, log)
    assert "Sizes are counted in nodes" in str(compared.to_dict())
    wk.write_log(log, tmp_path / "log.swf")
    assert run_command("sessions", tmp_path / "log.swf", "-o", tmp_path / "sessions.csv") == 0
    assert len((tmp_path / "sessions.csv").read_text().splitlines()) == 28


def test_a_log_of_nodes_alone_is_simulated_in_nodes_on_request():
    with pytest.raises(WorkloadError, match="only their nodes are known, in which unit counts"):
        in_plain(of_nodes_alone(), procs=4)
    assert len(in_plain(of_nodes_alone(), procs=4, unit="nodes").jobs) == 27


def served_in_order(submit, run, size, machine):
    """First come, first served, by hand."""
    free, now, running, starts = machine, 0, [], []
    for job in zip(submit, run, size, strict=True):
        now = max(now, job[0])
        while (running and running[0][0] <= now) or free < job[2]:
            end, freed = running.pop(0)
            now, free = max(now, end), free + freed
        starts.append(now)
        free -= job[2]
        running = sorted([*running, (now + job[1], job[2])])
    return np.array(starts)


@pytest.mark.parametrize(("unit", "machine"), [("gpus", 8), ("nodes", 4)])
def test_starts_and_loads_in_a_unit_are_those_of_a_small_program(unit, machine):
    rng = np.random.default_rng(7)
    submit, run = np.cumsum(rng.integers(1, 1200, 300)), rng.integers(1, 6000, 300)
    held = {"gpus": rng.choice([0, 1, 2, 4], 300), "nodes": rng.choice([1, 2], 300)}
    log = wk.Trace.from_columns({"submit": submit, "run": run, "procs": [9] * 300})
    log = log.replaced(sidecar=pd.DataFrame(held, dtype=np.float64))
    submit, run, size = (column[held[unit] > 0] for column in (submit, run, held[unit]))
    made = in_plain(log, unit=unit, procs=machine)
    assert made.jobs["start"].tolist() == served_in_order(submit, run, size, machine).tolist()
    swept = wk.sweep(log, ["fcfs"], loads=[0.6], unit=unit, procs=machine, engine="python")
    span = submit[-1] - submit[0]
    stretched = submit[0] + (submit - submit[0]) * ((run * size).sum() / (machine * span) / 0.6)
    stretched = np.floor(stretched + 0.5)
    waits = served_in_order(stretched, run, size, machine) - stretched
    assert swept.runs["mean_wait"].tolist() == pytest.approx([waits.mean()])
