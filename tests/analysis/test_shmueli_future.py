"""The study of classes of jobs and fairness on a small log, and what it computes of runs."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import Drawing, Log, StudyInput, choose, find_logs, run_study
from workloadkit.analysis.studies import load_study, shmueli_future
from workloadkit.analysis.studies.shmueli_future import (
    ALL,
    CREASY,
    EASY,
    FITTED,
    METRICS,
    PLAIN,
    REVISED,
    SITES,
    STUDY,
    WORDS,
    compare,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """The study, made short, on the sample."""
    folder = tmp_path_factory.mktemp("logs")
    wk.write_swf(wk.load_sample(), folder / "KTH-SP2-1996-2.swf.gz")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = find_logs(STUDY.logs, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shmueli_future, "WEEKS", 0.5)
        patch.setattr(shmueli_future, "USERS", (4, 8))
        return run_study(load_study("shmueli-future"), logs, runs=2, rng=1)


def test_every_site_is_compared_with_what_it_adds_to(findings):
    quantities = [result.claim.quantity for result in findings.results]
    assert len(set(quantities)) == len(quantities)
    for users in (4, 8):
        for site in SITES:
            assert (
                f"gain of throughput of CREASY over EASY: {users} users, {site} (%)" in quantities
            )
    changed = "change of throughput from one fitted curve to hours and kinds, fitted curves"
    assert f"{changed}: 8 users, EASY (%)" in quantities
    assert any(
        q.startswith("change of mean slowdown from no classes to fairness 1") for q in quantities
    )
    assert all(r.note.startswith("without ") for r in findings.results)
    assert sum("CREASY revised for fairness" in quantity for quantity in quantities) == 4
    mains = [result.claim.quantity for result in findings.main]
    assert f"gain of throughput of CREASY over EASY: 8 users, {ALL} (%)" in mains


def test_under_fcfs_fairness_changes_nothing(findings):
    rows = {result.claim.quantity: result for result in findings.results}
    for weight in ("0.5", "1"):
        same = rows[f"change of throughput from no classes to fairness {weight}: 8 users, FCFS (%)"]
        assert (same.ours, same.low, same.high) == (0, 0, 0)
    both = rows[f"gain of throughput of EASY over FCFS: {FITTED} less {PLAIN}, 8 users (points)"]
    assert np.isfinite(both.ours)


def test_the_classes_of_a_log_are_described(findings):
    rows = {result.claim.quantity: result.ours for result in findings.results}
    site = wk.site.built_in()
    work = {"interactive": [0, 0], "batch": [0, 0]}
    for name, its in site.classes.items():
        total = work[name.split()[1]]
        total[0] += float((its.jobs.size * its.jobs.run * its.jobs.counts).sum())
        total[1] += int(its.jobs.counts.sum())
    words = "mean node-seconds of the jobs of interactive batches relative to those of batch ones"
    light, heavy = (total / n for total, n in work.values())
    assert rows[words] == pytest.approx(light / heavy)


def test_gains_are_taken_run_by_run(monkeypatch):
    monkeypatch.setattr(shmueli_future, "USERS", (10,))

    def run(factor):
        throughput = {"fcfs": 5.0, "easy": 10.0 * factor, "creasy:alpha=6000": 15.0 * factor}
        return {
            (site, name): dict.fromkeys(METRICS, throughput[name])
            for site in SITES
            for name in WORDS
        }

    def revised(throughput):
        values = {"mean_response": 60.0, "jain": 0.5}
        of = {EASY: 10.0, CREASY: 15.0} | dict.fromkeys(REVISED, 12.0)
        of = {name: x * throughput for name, x in of.items()}
        return {name: values | {"throughput_per_hour": x} for name, x in of.items()}

    def each(function, tasks):
        if function is shmueli_future.measure_revised:
            assert {task.users for task in tasks} == {10}
            return [revised(1.0), revised(2.0)]
        return [{}] if function is shmueli_future.classes_of else [run(1.0), run(2.0)]

    plan = StudyInput([Log("KTH-SP2", "KTH-SP2-1996-2")], [], 2, choose(STUDY.axes))
    found = [x for x in compare(plan, each) if not isinstance(x, Drawing)]
    rows = {x.claim.quantity: x for x in found}
    gain = rows[f"gain of throughput of CREASY over EASY: 10 users, {PLAIN} (%)"]
    assert (gain.ours, gain.low, gain.high, gain.verdict) == (50, 50, 50, "reproduced")
    same = rows["gain of throughput of CREASY over FCFS: kinds less no classes, 10 users (points)"]
    assert (same.ours, same.verdict) == (0, "reproduced")
    where = f"10 users, {ALL}"
    over_easy = rows[f"throughput of CREASY revised for all factors over EASY: {where} (%)"]
    assert over_easy.ours == pytest.approx(20)
    assert over_easy.claim.main
    over_creasy = rows[f"throughput of CREASY revised for fairness over CREASY: {where} (%)"]
    assert over_creasy.ours == pytest.approx(-20)


@pytest.mark.slow
def test_gains_are_drawn(findings):
    assert [d.name for d in findings.drawings] == [
        "gain-of-creasy-over-easy",
        "gain-of-easy-over-fcfs",
    ]
    ax = findings.drawings[0].plot(findings.drawings[0].data)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(SITES)
