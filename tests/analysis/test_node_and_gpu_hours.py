"""Node- and GPU-hours of published tables, against small programs that read the tables alone."""

import csv
import re
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import found_path, present
from workloadkit import analysis
from workloadkit.analysis.load.over_time import summarize_load
from workloadkit.analysis.operations import accounted_jobs
from workloadkit.analysis.operations.gpus import gpus_of_jobs
from workloadkit.analysis.queue_models.fit_result import describe_fit
from workloadkit.io.tables import read_table
from workloadkit.units import in_unit

pytest.importorskip("duckdb")


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def openb():
    """Pods: GPUs in thousandths of each; those that ran have both times."""
    path = present("found/real/openb_pod_list_default.csv")
    spent = []
    for row in rows_of(path):
        if row["scheduled_time"]:
            seconds = float(row["deletion_time"]) - float(row["scheduled_time"])
            spent.append((seconds, 0, float(row["num_gpu"]) * float(row["gpu_milli"]) / 1000))
    return path, "gpu2023", spent


def kalos():
    path = found_path("trace_kalos_like.csv")
    spent = []
    for row in rows_of(path):
        if row["start_time"]:
            begin, end = (datetime.fromisoformat(row[f"{x}_time"]) for x in ("start", "end"))
            seconds = (end - begin).total_seconds()
            spent.append((seconds, float(row["node_num"]), float(row["gpu_num"])))
    return path, "acme", spent


def slurmdbd():
    """Resources by number: 1002 are GPUs, 4 are nodes."""
    path = found_path("trace_slurmdbd_table.csv")
    spent = []
    for row in rows_of(path):
        if float(row["time_start"]) and float(row["time_end"]):
            seconds = float(row["time_end"]) - float(row["time_start"])
            gpus = re.search(r"(?:^|,)1002=(\d+)", row["tres_alloc"])
            has = float(gpus[1]) if gpus else 0
            spent.append((seconds, float(row["nodes_alloc"]), has))
    return path, "supercloud", spent


def pm100():
    path = found_path("trace_pm100_like.parquet")
    table = pd.read_parquet(path)
    return (
        path,
        "pm100",
        [
            (
                (row.end_time - row.start_time).total_seconds(),
                row.num_nodes_alloc,
                row.num_gpus_alloc,
            )
            for row in table.itertuples()
        ],
    )


def pods():
    path = found_path("trace_pods_like.csv")
    spent = [
        (
            float(row["deletion_time"]) - float(row["scheduled_time"]),
            0,
            float(row["num_gpu"]) * float(row["gpu_milli"]) / 1000,
        )
        for row in rows_of(path)
        if row["scheduled_time"]
    ]
    return path, "gpu2023", spent


@pytest.mark.parametrize("source", [openb, kalos, slurmdbd, pm100, pods])
def test_hours_are_those_of_a_small_program(source):
    path, mapping, spent = source()
    log = read_table(path, mapping)
    of_gpus = sum(seconds * gpus for seconds, _, gpus in spent) / 3600
    of_nodes = sum(seconds * nodes for seconds, nodes, _ in spent) / 3600
    jobs = accounted_jobs(log)
    assert jobs["gpu_hours"].sum() == pytest.approx(of_gpus)
    assert jobs["node_hours"].sum() == pytest.approx(of_nodes)
    seen = in_unit(log, "gpus")
    assert summarize_load(seen)["work"] / 3600 == pytest.approx(of_gpus)
    sizes = gpus_of_jobs(log)
    assert sizes["gpu_hours"].sum() == pytest.approx(of_gpus)
    holding = [gpus for _, _, gpus in spent if gpus > 0]
    assert sizes["jobs"].drop("none", errors="ignore").sum() == len(holding)
    assert sizes["jobs"].get("part of one", 0) == sum(gpus < 1 for gpus in holding)
    if of_nodes:
        seen = in_unit(log, "nodes")
        assert summarize_load(seen)["work"] / 3600 == pytest.approx(of_nodes)


def test_the_published_pods_are_counted_as_published():
    _, _, spent = openb()
    assert len(spent) == 7255
    assert sum(seconds * gpus for seconds, _, gpus in spent) / 3600 == pytest.approx(51470.6742)


def test_a_queueing_model_is_fitted_to_the_unit():
    rng = np.random.default_rng(1)
    n = 400
    jobs = {"submit": np.cumsum(rng.exponential(100, n)), "run": rng.exponential(150, n)}
    log = wk.Trace.from_columns(jobs | {"procs": [64] * n, "wait": [0] * n, "user": [1] * n})
    log = log.replaced(sidecar=pd.DataFrame({"gpus": [2.0] * n}))
    fitted = analysis.queue_models.fit_queueing_model(
        log, procs=8, unit="gpus", n_resamples=20, rng=1
    )
    assert fitted.moments.servers == 4  # 8 GPUs, 2 a job
    assert any("8 GPUs" in line for line in describe_fit(fitted))
    measured = analysis.queueing_from_trace(log, procs=8, unit="gpus", runs=0, rng=1)
    assert measured.parameters.procs_per_job == 2
    assert "GPUs of a job" in measured.tables[0].shown.index
