"""The study of EASY++ on a small log, and its claims on runs made for the test."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import DATA, needs_traces
from workloadkit.analysis.reproduction import (
    Log,
    Result,
    RunsOfLog,
    StudyInput,
    choose,
    find_logs,
    run_study,
)
from workloadkit.analysis.studies import load_study, tsafrir
from workloadkit.analysis.studies.tsafrir import (
    ACCURACY,
    KILLED,
    METRICS,
    SCHEDULERS,
    SLOWDOWN,
    STUDY,
    WAIT,
)

KTH = Log("KTH-SP2", "KTH-SP2-1", Path("KTH-SP2-1.swf"))
CTC = Log("CTC-SP2", "CTC-SP2-1")


def judged(factors, *, killed=0.0, slower=-5.0):
    """Results by log and quantity, for runs with so many times the values of EASY."""

    def each(function, parts):
        if function is tsafrir.conservative:
            return [[slower] for _ in parts]
        noise = np.linspace(-0.01, 0.01, len(parts))
        return [
            pd.DataFrame(
                {
                    (metric, name): [
                        70 + killed * (name == "EASY++")
                        if metric == KILLED
                        else factors.get((metric, name), 1) + shift * (name != "EASY")
                    ]
                    for metric in METRICS
                    for name in SCHEDULERS
                }
            )
            for shift in noise
        ]

    plan = StudyInput([KTH], [CTC], 8, choose(STUDY.axes))
    found = [x for x in tsafrir.compare(plan, each) if isinstance(x, Result)]
    results = {(result.log.name, result.claim.quantity): result for result in found}
    assert len(results) == len(found)
    return results


def test_better_performance_and_accuracy_are_reproduced():
    better = {(SLOWDOWN, "EASY++"): 0.7, (WAIT, "EASY++"): 0.8, (ACCURACY, "EASY++"): 1.2}
    found = judged(better)
    main = {words: r for (log, words), r in found.items() if r.claim.main and log == "KTH-SP2"}
    assert list(main) == [
        "mean bounded slowdown, EASY++ over EASY (%)",
        "mean wait, EASY++ over EASY (%)",
        "mean accuracy of predictions, EASY++ less EASY (points)",
    ]
    assert {r.verdict for r in main.values()} == {"reproduced"}
    assert [round(r.ours) for r in main.values()] == [-30, -20, 20]
    assert found["KTH-SP2", "killed jobs, EASY++ less EASY"].verdict == "reproduced"
    words = "mean bounded slowdown, predictions over requests, conservative (%)"
    assert found["KTH-SP2", words].verdict == "reproduced"
    assert {r.verdict for (log, _), r in found.items() if log == "CTC-SP2"} == {"input missing"}


def test_other_results_contradict():
    worse = {(SLOWDOWN, "EASY++"): 1.3, (ACCURACY, "EASY++"): 0.8}
    found = judged(worse, killed=1.0, slower=5.0)
    for words in (
        "mean bounded slowdown, EASY++ over EASY (%)",
        "mean accuracy of predictions, EASY++ less EASY++ by similar jobs (points)",
        "killed jobs, EASY++ less EASY",
        "mean bounded slowdown, predictions over requests, conservative (%)",
    ):
        assert found["KTH-SP2", words].verdict == "contradicted"
    assert found["KTH-SP2", "mean wait, EASY++ over EASY (%)"].verdict == "too uncertain"


@pytest.mark.slow
def test_the_study_on_a_small_log(tmp_path):
    sample = wk.load_sample()
    wk.write_swf(sample.take(range(1500)), tmp_path / "KTH-SP2-1996-2.1-cln.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = find_logs(STUDY.logs, tmp_path)
    findings = run_study(load_study("tsafrir"), logs, runs=2, rng=1)
    found = {r.claim.quantity: r for r in findings.results if r.log.path}
    killed = found["killed jobs, EASY++ less EASY"]
    assert (killed.ours, killed.low, killed.high, killed.verdict) == (0, 0, 0, "reproduced")
    (drawing,) = findings.drawings
    ax = drawing.plot(drawing.data)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(SCHEDULERS)[1:]
    words = "mean bounded slowdown, predictions over requests, conservative (%)"
    assert found[words].low < found[words].ours < found[words].high
    part = RunsOfLog(logs[0], 1, dict(choose(STUDY.axes)))
    changes = tsafrir.conservative(part, np.random.default_rng(3))
    assert len(changes) == 10
    jobs = wk.shake(logs[0].read(), by=30, rng=np.random.default_rng(3).spawn(10)[4])
    requested, predicted = (
        wk.simulate(
            jobs, "conservative", overrun="kill", oversize="drop", predictor=predictor
        ).metrics["mean_bounded_slowdown"]
        for predictor in ("requested", "last-two,correct=increments")
    )
    assert changes[4] == pytest.approx(100 * (predicted / requested - 1))
    other = run_study(STUDY, logs, runs=2, reading={"correct": "requested"}, rng=1)
    words = "mean bounded slowdown, EASY++ over EASY (%)"
    same = "mean bounded slowdown, SJBF over EASY (%)"
    others = {r.claim.quantity: r for r in other.results if r.log.path}
    assert others[words].ours != found[words].ours
    assert others[same].ours == found[same].ours


@needs_traces
@pytest.mark.slow
def test_corrected_to_the_request_all_main_claims_hold():
    logs = find_logs(STUDY.logs, DATA / "traces")
    findings = run_study(STUDY, logs, reading={"correct": "requested"}, rng=0)
    assert {r.verdict for r in findings.main} == {"reproduced"}
