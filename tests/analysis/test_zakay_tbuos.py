"""The study of TBUOS: what it claims, on synthetic runs; and what it measures."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import trace_path
from workloadkit.analysis.reproduction import Log, StudyInput, choose
from workloadkit.analysis.studies import zakay_tbuos
from workloadkit.analysis.studies.zakay_tbuos import COLUMNS, FLUID, STUDY, RunsOfLog, simulations

pytestmark = pytest.mark.slow

KTH = Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))
CTC = Log("CTC-SP2", "CTC-SP2-1996-2.1-cln", Path("CTC-SP2-1996-2.1-cln.swf"))
READING = choose(STUDY.axes)


def as_described(n):
    """Runs in which all is as the source says, the spreads of the waits those of Table I."""
    spread = np.linspace(0, 1, n)
    easy = np.linspace(3, 4, n)
    runs = {
        ("mean_wait", "open", "easy"): 12_000 * 6.59**spread,
        ("mean_wait", "open", "fcfs"): 90_000 + spread,
        ("mean_wait", FLUID, "easy"): 5_000 * 2.04**spread,
        ("mean_wait", FLUID, "fcfs"): 9_000 + spread,
        ("throughput", "open", "easy"): easy,
        ("throughput", "open", "fcfs"): easy * 0.999,
        ("throughput", FLUID, "easy"): easy * 1.1,
        ("throughput", FLUID, "fcfs"): easy * 0.8,
        ("throughput", FLUID, "430 nodes"): easy * 1.3,
        ("throughput", "log", ""): 3.5 + 0 * easy,
        ("temporary", "log", ""): 0.1 + 0 * easy,
        ("weeks", "open", "easy"): 10 + spread,
        ("weeks", FLUID, "easy"): 12 + spread,
        ("session", "open", "easy"): 900 + spread,
        ("session", FLUID, "easy"): 600 + spread,
    }
    assert runs.keys() == set(COLUMNS)
    return pd.DataFrame(runs)


def found(runs, logs=(KTH,), missing=(), change=lambda table: table):
    def each(function, parts):
        whole, done, tables = change(as_described(runs)), Counter(), []
        for part in parts:
            tables.append(whole.iloc[done[part.log] :].head(part.runs))
            done[part.log] += part.runs
        assert set(done.values()) <= {runs}
        return tables

    results = zakay_tbuos.compare(StudyInput(logs, missing, runs, READING), each)
    return {(r.log.name, r.claim.quantity): r for r in results}


def test_what_is_as_the_source_describes_it():
    results = found(100)
    kth = {quantity: r for (log, quantity), r in results.items() if log == "KTH-SP2"}
    apart = kth["largest mean wait of the runs to the least, users who do not react"]
    assert apart.ours == pytest.approx(6.59)
    assert apart.claim.agrees == pytest.approx((6.59**0.76, 6.59**1.24))
    assert (apart.claim.kind, apart.claim.published) == ("printed", 6.59)
    assert apart.low < 6.59 < apart.high
    assert np.log(apart.high / 6.59) == pytest.approx(np.log(6.59 / apart.low))
    assert {r.verdict for r in kth.values()} == {"reproduced"}
    assert sum(r.claim.main for r in kth.values()) == 3
    more = kth["throughput, EASY less FCFS, users who react (%)"]
    assert more.ours == pytest.approx(100 * (1.1 / 0.8 - 1))
    assert more.note == "jobs/h: 3.3 to 4.4 under EASY, 2.4 to 3.2 under FCFS, 3.5 in the log"
    less = results[
        "all", "throughput under FCFS less the log's, users who react (%), the least of the logs"
    ]
    assert (less.note, less.verdict) == ("KTH-SP2", "reproduced")
    assert less.ours == pytest.approx(-20, abs=1)


def test_fewer_runs_leave_the_largest_ratio_open():
    kth = {quantity: r for (_, quantity), r in found(20).items()}
    apart = kth["largest mean wait of the runs to the least, users who react"]
    assert apart.high == np.inf
    assert apart.verdict == "too uncertain"
    assert (
        kth["largest mean wait of the runs to the least, users who react over others"].verdict
        == "reproduced"
    )
    assert kth["share of runs with a mean wait above 8 h, users who react: none"].verdict == (
        "too uncertain"
    )
    one = found(1)
    assert {r.verdict for (_, q), r in one.items() if "share" not in q} == {"too uncertain"}


def test_what_is_not_so_is_contradicted():
    def exchange(table):
        return table.rename(columns={"open": FLUID, FLUID: "open"}, level=1)

    results = found(100, change=exchange)
    assert {q for (log, q), r in results.items() if r.verdict == "contradicted"} >= {
        "largest mean wait of the runs to the least, users who react over others",
        "mean wait, users who react over others",
        "largest mean wait of the runs, users who react over others",
        "weeks in which a user is active, users who react over others",
        "mean length of sessions, users who react over others",
        "throughput, EASY less FCFS, users who do not react (%): similar",
    }


def test_a_larger_machine_is_filled():
    results = found(20, logs=(KTH, CTC))
    considerable = (
        "throughput with 430 nodes less the log's, users who react (%): considerably more"
    )
    apart = "distance of the throughput from the log's (%), with 430 nodes less with its own"
    for quantity in (considerable, apart):
        assert results["CTC-SP2", quantity].claim.place == "Figure 7 and section IV.C"
        assert results["CTC-SP2", quantity].verdict == "reproduced"
        assert ("KTH-SP2", quantity) not in results


def test_of_a_log_that_is_not_here_there_is_no_input():
    results = found(2, missing=(CTC,))
    away = {r.verdict for (log, _), r in results.items() if log == "CTC-SP2"}
    assert away == {"input missing"}
    here = sum(log == "KTH-SP2" for log, _ in results)
    assert sum(log == "CTC-SP2" for log, _ in results) == here + 2
    assert {r.verdict for r in found(2, logs=(), missing=(KTH,)).values()} == {"input missing"}


def test_what_is_measured_of_a_run(tmp_path):
    """Three users a day with nothing to wait for: no scheduler and no size makes a difference."""
    submit = np.sort([day * 86_400 + user for day in range(7 * 20) for user in range(3)])
    columns = {"submit": submit, "run": [60] * submit.size, "procs": [1] * submit.size}
    columns["user"] = [1 + s % 86_400 for s in submit]
    trace = wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 8",)))
    wk.write_swf(trace, tmp_path / "CTC-SP2-1.swf")
    log = Log("CTC-SP2", "CTC-SP2-1", tmp_path / "CTC-SP2-1.swf")
    runs = simulations(RunsOfLog(log, 2, dict(READING)), np.random.default_rng(3))
    assert list(runs.columns) == list(COLUMNS)
    assert (runs["mean_wait"] == 0).all(axis=None)
    assert (runs["temporary"] == 0).all(axis=None)
    throughput = runs["throughput"]
    assert throughput["open"].to_numpy() == pytest.approx(3 / 24, rel=0.1)
    assert throughput["log", ""].to_numpy() == pytest.approx(3 / 24, rel=0.1)
    assert throughput[FLUID].nunique(axis=1).eq(1).all()
    assert runs["weeks", "open", "easy"].gt(19).all()


@pytest.mark.slow
def test_on_a_real_log():
    log = Log("KTH-SP2", "KTH-SP2-1996-2", trace_path("KTH-SP2-1996-2"))

    def each(function, tasks):
        return [function(task, np.random.default_rng(1)) for task in tasks]

    results = zakay_tbuos.compare(StudyInput([log], [], 2, READING), each)
    values = {r.claim.quantity: r.ours for r in results}
    assert values["throughput, EASY less FCFS, users who react (%)"] > 0
    assert 0 < values["share of the jobs that are of temporary users: up to about 20 %"] < 0.25
