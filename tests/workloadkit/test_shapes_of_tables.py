"""Four shapes of public traces, from reading to writing: nothing is lost or made up silently."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.commands import run_command
from workloadkit import Header, Trace, WorkloadError, add_utility, resamples, simulate
from workloadkit.analysis.operations.accounting import accounted_jobs
from workloadkit.io.formats import read_log, write_log
from workloadkit.io.tables import read_table
from workloadkit.machine.description import MachineDescription, NodeType

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the pool of (temporary|long-term) users is empty",
    "ignore:.*all waits are unknown",
    "ignore:.*all queues are unknown",
    "ignore:.*written, but not simulated by Batsim",
    "ignore:.*not in the mapping",
)

N_JOBS, WEEKS, BEGIN = 160, 14, 1_704_067_200
SPAN = WEEKS * 7 * 86400
I = np.arange(N_JOBS)  # noqa: E741  # the number of a job, from 0
HOURS = ["core_hours", "node_hours", "gpu_hours"]


def table_of(columns):
    """A side-car: numbers as floats, words as categories."""
    made = pd.DataFrame({name: np.broadcast_to(c, N_JOBS) for name, c in columns.items()})
    words = [name for name in made if made[name].dtype.kind not in "biuf" and name != "id"]
    numbers = [name for name in made if made[name].dtype.kind in "iu"]
    return made.astype(dict.fromkeys(words, "category") | dict.fromkeys(numbers, float))


def log_of(name, jobs, known, machine=None):
    header = Header((f"; UnixStartTime: {BEGIN}", "; TimeZoneString: UTC", "; MaxProcs: 64"))
    jobs = {"submit": I * (SPAN // N_JOBS), "status": np.where(I % 9, 1, 0)} | jobs
    jobs = {key: np.broadcast_to(column, N_JOBS) for key, column in jobs.items()}
    made = Trace.from_columns(jobs, header=header, name=name)
    return replace(made, sidecar=table_of({"id": [f"j{i}" for i in I]} | known), machine=machine)


NODES = MachineDescription(nodes=(NodeType(count=4, cores=16),))
GPUS = MachineDescription(nodes=(NodeType(count=8, cores=8, gpus=4),))
ACCOUNT = np.array(["bio", "art", "sea"])[I % 4 % 3]
RUN = 600.5 + 100 * (I % 13)

SHAPES = {
    "hpc": log_of(
        "hpc",
        {"wait": I % 5 * 60, "run": RUN, "procs": 16 * (1 + I % 2), "requested_time": 7200}
        | {"requested_procs": 16 * (1 + I % 2), "user": I % 4 + 1},
        {"account": ACCOUNT, "nodes": 1 + I % 2, "requested_nodes": 1 + I % 2, "gpus": 0}
        | {
            "node_list": [f"n{i % 4 + 1}" for i in I],
            "state": np.where(I % 9, "COMPLETED", "FAILED"),
        }
        | {"user": [f"user-{i % 4}" for i in I], "energy": RUN * 1000},
        NODES,
    ),
    "gpu": log_of(
        "gpu",
        {"wait": I % 3 * 10, "run": RUN, "procs": 4, "user": I % 6 + 1},
        {"account": ACCOUNT, "gpus": 1 + I % 2, "requested_gpus": 1 + I % 2, "nodes": 1},
        GPUS,
    ),
    "cloud": log_of("cloud", {"run": RUN, "procs": 2 ** (I % 4)}, {"account": ACCOUNT}),
    "workflow": log_of(
        "workflow",
        {"job": I + 1, "run": RUN, "procs": 1, "user": I // 4 % 5 + 1}
        | {"preceding_job": np.where(I % 4, I, -1), "think_time": np.where(I % 4, 30.0, -1)},
        {"account": ACCOUNT},
    ),
}


@pytest.fixture(params=SHAPES)
def log(request):
    return SHAPES[request.param]


def hours(trace, by="account"):
    """Core-, node- and GPU-hours of each account; NaN without such a field."""
    used = accounted_jobs(trace)[HOURS].set_axis(trace.column(by))
    return used.groupby(level=0).sum(min_count=1)


def defined_hours(trace):
    """The same from the definition: run time times what is held."""
    held = {"core_hours": trace.column("procs")}
    for name in ("nodes", "gpus"):
        held[f"{name[:-1]}_hours"] = trace.sidecar.get(
            name, pd.Series(np.full(trace.n_jobs, np.nan))
        )
    run = trace.column("run") / 3600
    made = pd.DataFrame({name: np.asarray(amount) * run for name, amount in held.items()})
    return made.set_axis(trace.column("account")).groupby(level=0).sum(min_count=1)


def agree(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_names=False)


def plan(trace):
    """Simulate on the machine of the log."""
    on = {"machine": "log"} if trace.machine is not None else {}
    return simulate(trace, "easy", **on).trace()


def test_hours_by_account_add_up_where_runs_are_kept(log):
    agree(hours(log), defined_hours(log))
    worth = add_utility(log, deadline="wait+run", rng=1)
    agree(hours(worth), hours(log))
    planned = plan(worth)
    agree(hours(planned), hours(log))
    assert planned.machine == log.machine
    gone = {"node_list", "state"} & set(log.sidecar)
    assert set(log.sidecar) - set(planned.sidecar) == gone == set(planned.dropped)


@pytest.mark.parametrize("name", ["hpc", "gpu", "workflow"])
def test_of_twenty_new_logs_each_has_the_hours_of_the_jobs_drawn(name):
    log = SHAPES[name]
    per_job = accounted_jobs(log)[HOURS].set_axis(log.sidecar["id"])
    for new in resamples(log, 20, rng=1):
        drawn = per_job.loc[new.sidecar["id"]].set_axis(new.column("account"))
        agree(hours(new), drawn.groupby(level=0).sum(min_count=1))
        assert new.machine == log.machine


def test_without_users_no_new_log_is_drawn():
    with pytest.raises(WorkloadError, match="cloud: all users are unknown; resampling draws users"):
        next(resamples(SHAPES["cloud"], 20, rng=1))


def test_other_programs_read_what_is_written(log, tmp_path):
    expected = defined_hours(log)
    for name in ("a.wkt.parquet", "a.csv", "a.swf", "a.json"):
        write_log(log, tmp_path / name)
    parquet = pq.read_table(tmp_path / "a.wkt.parquet").to_pandas()
    parquet.columns = parquet.columns.str.removeprefix("sidecar_")
    csv = pd.read_csv(tmp_path / "a.csv").rename(columns={"run_s": "run"})
    swf = pd.read_csv(tmp_path / "a.swf", sep=" ", comment=";", header=None)[[3, 4]]
    swf = swf.set_axis(["run", "procs"], axis=1)
    sidecar = pd.read_parquet(tmp_path / "a.swf.parquet")
    swf = swf.join(sidecar[sidecar.columns.difference(swf.columns)])
    batsim = json.loads((tmp_path / "a.json").read_text())
    delay = {key: profile["delay"] for key, profile in batsim["profiles"].items()}
    jobs = pd.DataFrame(
        [
            {"run": delay[job["profile"]], "procs": job["res"]} | job["sidecar"]
            for job in batsim["jobs"]
        ]
    )
    for table in (parquet, csv, swf, jobs):
        assert np.array_equal(table["run"], log.column("run"))
        used = {"core_hours": table["procs"] * table["run"] / 3600}
        for held in ("nodes", "gpus"):
            amount = table.get(held, pd.Series(np.full(len(table), np.nan)))
            used[f"{held[:-1]}_hours"] = amount.astype(float) * table["run"] / 3600
        found = pd.DataFrame(used).set_axis(table["account"].astype(str))
        agree(found.groupby(level=0).sum(min_count=1), expected)


@pytest.mark.parametrize("name", ["a.wkt.parquet", "a.swf.gz", "a.json"])
def test_what_is_written_is_read_back(log, name, tmp_path):
    write_log(log, tmp_path / name)
    again = read_log(tmp_path / name)
    pd.testing.assert_frame_equal(again.jobs, log.jobs)
    assert set(again.sidecar) == set(log.sidecar)
    for column in log.sidecar:
        assert again.sidecar[column].tolist() == log.sidecar[column].tolist(), column
    assert again.machine == log.machine


def test_a_mapping_reads_a_table_back(log, tmp_path):
    pytest.importorskip("duckdb")
    write_log(log, tmp_path / "a.csv.gz")
    again = read_table(tmp_path / "a.csv.gz", tmp_path / "a.csv.gz.toml")
    of_jobs = ["preceding_job", "think_time"]
    pd.testing.assert_frame_equal(again.jobs.drop(columns=of_jobs), log.jobs.drop(columns=of_jobs))
    for name in log.sidecar:
        assert again.sidecar[name].tolist() == log.sidecar[name].tolist(), name
    assert (again.machine, again.header.procs) == (log.machine, log.header.procs)
    assert (again.header.start, again.header.time_zone) == (BEGIN, log.header.time_zone)


def test_each_command_says_what_a_log_lacks(tmp_path, capsys):
    for name, log in SHAPES.items():
        write_log(log, tmp_path / f"{name}.wkt.parquet")
    at = {name: tmp_path / f"{name}.wkt.parquet" for name in SHAPES}
    out = tmp_path / "out.swf"
    assert run_command("resample", at["cloud"], "-o", out) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1].startswith("error: ") and "all users are unknown" in said[-1]
    assert not out.exists()
    assert run_command("augment", at["cloud"], "--deadline", "wait+run", "-o", out) == 0
    assert "multiples of the run time alone" in capsys.readouterr().err
    assert run_command("simulate", at["gpu"], "-o", out) == 0
    assert "requested times are unknown" in capsys.readouterr().err
    assert run_command("simulate", at["hpc"], "--machine", "log", "-o", out) == 0
    assert "left out, as no longer true: node_list, state" in capsys.readouterr().err
    assert (
        run_command("resample", at["hpc"], "--count", "2", "--seed", "1", "-o", tmp_path / "d") == 0
    )
    assert "left out, as no longer true: node_list" in capsys.readouterr().err
    again = read_log(tmp_path / "d" / "0002.swf.gz")
    assert again.where("account=bio").n_jobs and again.machine == NODES
