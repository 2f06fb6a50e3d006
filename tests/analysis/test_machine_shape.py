"""The study of machines' shapes on a small log, and its claims on runs made for the test."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import DATA, needs_traces
from workloadkit.analysis.reproduction import Log, Result, RunsOfLog, StudyInput, choose, find_logs
from workloadkit.analysis.studies import machine_shape
from workloadkit.analysis.studies.machine_shape import (
    AMOUNTS,
    CHANGED,
    FIRST,
    FIXED,
    LOAD,
    NEIGHBORS,
    NODES,
    PARTITIONS,
    PLACED,
    POOL,
    SEPARATE,
    SITES,
    SLOWDOWN,
    STRANDED,
    STUDY,
    SUMS,
    WAIT,
    jobs_of,
    shapes_of_log,
    simulations,
    stranded,
)

READING = dict(choose(STUDY.axes))
DS = Log("SDSC-DS", "SDSC-DS-1", Path("SDSC-DS-1.swf"))


def judged(times, *, of_log, stranded_=0.0, changed=30.0, missing=()):
    """Results by log and quantity, for runs in which shapes have so many times the pool's waits."""
    site = SITES["SDSC-DS"]

    def each(function, parts):
        if function is shapes_of_log:
            return [of_log for _ in parts]
        if function is machine_shape.shaken_waits:
            return [{x: [of] for (what, x), of in of_log.items() if what == WAIT} for _ in parts]
        noise = np.linspace(-0.01, 0.01, 5)
        columns = {}
        for name in site.shapes:
            factor = times.get(name, 1) + noise * (name != POOL)
            columns |= {(measure, name): 70 * factor for measure in (WAIT, SLOWDOWN)}
            columns[CHANGED, name] = changed + noise
            columns[STRANDED, name] = np.where(name == PARTITIONS, stranded_, 0.0) + 0 * noise
        return [pd.DataFrame(columns) for _ in parts]

    found = machine_shape.compare(StudyInput([DS], missing, 10, READING), each)
    results = [x for x in found if isinstance(x, Result)]
    by_words = {(r.log.name, r.claim.quantity, r.claim.place): r for r in results}
    assert len(by_words) == len(results)
    return by_words


def verdict(found, words, place, log="SDSC-DS"):
    return found[log, words, place].verdict


def test_what_is_expected_is_reproduced():
    of_log = {**SEPARATE["SDSC-DS"], (CHANGED, AMOUNTS): 0.0}
    found = judged({PARTITIONS: 3.0}, of_log=of_log, stranded_=8.0)
    own = "mean wait, partitions (s)"
    assert verdict(found, own, "separate program") == "reproduced"
    assert verdict(found, own, "log, field 3") == "reproduced"
    assert verdict(found, "mean wait, one pool with all jobs (s)", "log, field 3") == "contradicted"
    assert verdict(found, f"share of starts changed, {AMOUNTS} (%)", "theory") == "reproduced"
    main = found["SDSC-DS", "mean wait, partitions over one pool (%)", "no source"]
    assert (main.claim.kind, main.claim.main, main.verdict) == ("ours", True, "reproduced")
    assert (round(main.ours), main.note) == (200, "partitions 210, one pool 70")
    same = "mean wait, nodes over one pool (%): about the same"
    assert verdict(found, same, "no source") == "reproduced"
    in_vain = "stranded processors, {} (%)".format
    assert verdict(found, in_vain(PARTITIONS), "Chapin, section 4.1") == "reproduced"
    assert verdict(found, in_vain(NODES), "theory") == "reproduced"


def test_other_results_contradict_and_a_missing_log_is_said():
    missing = Log("LANL-CM5", "LANL-CM5-1")
    found = judged(
        {PARTITIONS: 0.8, NODES: 1.2},
        of_log={(CHANGED, AMOUNTS): 0.1},
        changed=5.0,
        missing=[missing],
    )
    large = "share of starts changed, partitions (%): a large effect"
    for words, place in (
        ("mean wait, partitions over one pool (%)", "no source"),
        ("mean wait, nodes over one pool (%): about the same", "no source"),
        (large, "Chapin, section 2.2"),
        (f"share of starts changed, {AMOUNTS} (%)", "theory"),
        ("stranded processors, partitions (%)", "Chapin, section 4.1"),
    ):
        assert verdict(found, words, place) == "contradicted"
    away = {key: r.verdict for key, r in found.items() if key[0] == "LANL-CM5"}
    assert len(away) > 10
    assert {*away.values()} == {"input missing"}


def small_log(folder, name, n_jobs, faster=1):
    """The first jobs of the sample, as a log of the study with sizes that are powers of two."""
    sample = wk.load_sample()
    sample = sample.select(sample.ran).take(range(n_jobs))
    procs = 2 ** np.round(np.log2(np.clip(sample.used_procs, 1, 16))).astype(np.int64) * 32
    submit = sample.column("submit") // faster
    trace = sample.with_columns(
        procs=procs, requested_procs=procs, submit=submit, requested_memory=procs * 100
    )
    path = folder / f"{STUDY.logs[name]}.swf"
    wk.write_swf(trace, path)
    return Log(name, STUDY.logs[name], path)


@pytest.mark.slow
def test_the_study_on_a_small_log(tmp_path):
    log = small_log(tmp_path, "LANL-CM5", 700, faster=2)
    values = shapes_of_log(RunsOfLog(log, 1, READING), np.random.default_rng(1))
    assert values[WAIT, POOL] > 0
    for measure, name in ((CHANGED, AMOUNTS), (CHANGED, SUMS), (PLACED, FIRST), (STRANDED, NODES)):
        assert values[measure, name] == 0
    for name in (NEIGHBORS, FIXED):
        assert values[CHANGED, name] > 0 < values[STRANDED, name]
    jobs, parts = jobs_of(log), SITES["LANL-CM5"].shapes[FIXED]["machine"].partitions
    assert jobs.column("partition").tolist() == jobs.column("procs").tolist()
    work = jobs.jobs.eval("procs * run").groupby(jobs.column("partition")).sum()
    capacity = pd.Series({int(part.name): part.procs for part in parts})
    loads = work / capacity / (jobs.column("submit")[-1] - jobs.column("submit")[0])
    assert values[LOAD, FIXED] == pytest.approx(loads.max())


@pytest.mark.slow
def test_runs_compare_the_shapes_on_the_same_resampled_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_shape, "WEEKS", 3)
    log = small_log(tmp_path, "SDSC-BLUE", 2500)
    found = simulations(RunsOfLog(log, 2, READING), np.random.default_rng(3))
    assert len(found) == 2 == found[WAIT, POOL].nunique()
    for measure, name in ((STRANDED, POOL), (STRANDED, NODES), (CHANGED, POOL)):
        assert (found[measure, name] == 0).all()
    assert (found[CHANGED, NEIGHBORS] > 0).all()
    runs = {log: pd.concat([found, found.iloc[::-1]])}
    drawing = machine_shape._drawing_of_waits(runs)
    ax = drawing.plot(drawing.data)
    assert [label.get_text() for label in ax.get_yticklabels()] == [NODES, NEIGHBORS]


def test_stranded_processors_second_by_second():
    columns = {
        "submit": [0, 0, 1, 2, 9, 30],
        "run": [10, 8, 5, 20, 3, 2],
        "procs": [3, 1, 4, 8, 1, 6],
    }
    trace = wk.Trace.from_columns(columns)
    machine = wk.MachineDescription(
        nodes=(wk.NodeType(count=4, cores=2, partitions=("1",)),),
        partitions=(wk.Partition(name="1", exclusive=True, default=True),),
    )
    schedule = wk.simulate(trace, machine=machine)
    start, end, procs = schedule.start, schedule.end, schedule.workload.procs
    lost = 0
    for second in range(int(end.max())):
        free = 8 - procs[(start <= second) & (second < end)].sum()
        waiting = np.flatnonzero((trace.column("submit") <= second) & (second < start))
        if waiting.size and procs[waiting[0]] <= free:
            lost += free
    assert lost >= 4 * 7  # two nodes for job 2 from second 1 to 8; one is free, 4 processors are
    assert stranded(schedule) == pytest.approx(100 * lost / (8 * end.max()))


@needs_traces
@pytest.mark.slow
def test_the_separate_program_agrees():
    for log in find_logs(STUDY.logs, DATA / "traces"):
        values = shapes_of_log(RunsOfLog(log, 1, READING), np.random.default_rng(0))
        for key, published in SEPARATE[log.name].items():
            assert values[key] == pytest.approx(published, rel=0.01, abs=0.05)
