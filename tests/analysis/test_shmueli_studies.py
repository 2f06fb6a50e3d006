"""The studies of sites on small logs, and how they judge."""

from pathlib import Path

import pytest

import workloadkit as wk
from analysis import studies
from analysis.studies import Log, shmueli_conventional, shmueli_creasy, shmueli_violations
from analysis.studies.shmueli_conventional import claim


@pytest.fixture
def folder(tmp_path):
    """A folder in which the sample stands for one of the logs."""
    wk.write_swf(wk.load_sample(), tmp_path / "KTH-SP2-1996-2.swf.gz")
    return tmp_path


@pytest.fixture
def found(folder, monkeypatch):
    """Run a study, made short, on that log."""
    for name, value in (("WEEKS", 2), ("USERS", (5, 50, 250)), ("ALPHAS", (0, 6000))):
        monkeypatch.setattr(shmueli_creasy, name, value)
    monkeypatch.setattr(shmueli_conventional, "WEEKS", 1)
    monkeypatch.setattr(shmueli_violations, "LOADS", {"fcfs": (0.3, 0.6), "easy": (0.3, 0.9)})

    def run(name):
        study = studies.load_study(name)
        with pytest.warns(wk.WorkloadWarning, match="left out"):
            logs = studies.find_logs(study, folder)
        return studies.run_study(study, logs, runs=2, rng=1).results

    return run


@pytest.mark.parametrize(
    ("values", "against", "verdict"),
    [
        ([9.9, 10.1], (0.0, 0.0), "held"),
        ([9, 11], (0.0, 0.0), "direction only"),  # the interval goes below 0
        ([20, 20.1], (0.0, 0.0), "direction only"),
        ([-20, -20.1], (0.0, 0.0), "not held"),
        ([4, 16], (5, 30), "held"),
        ([20, 20.1], (5, 30), "not held"),
        ([40, 40.1], (5, 30), "direction only"),
        ([10], (0.0, 0.0), "held"),
    ],
)
def test_a_figure_is_judged_by_its_interval_and_its_side(values, against, verdict):
    result = claim(Log("all", "", Path("x")), "a figure", 10, values, against=against)
    assert result.verdict == verdict
    assert (result.low is None) == (len(values) == 1)


def test_replays_are_set_beside_sessions(found):
    results = {result.quantity: result for result in found("shmueli-conventional")}
    assert len(results) == 3 * (4 + 2) + 2
    assert {result.version for result in results.values()} == {"KTH-SP2-1996-2"}
    slow = results["Table 3.2, response (h): FCFS replays the log of EASY"]
    assert (slow.published, slow.low <= slow.ours <= slow.high) == (24.267, True)
    true = results["Table 3.2, response (h): sessions under FCFS"]
    assert slow.ours > true.ours > results["Table 3.2, response (h): sessions under EASY"].ours


def test_violations_are_counted_over_the_loads(found):
    results = {result.quantity: result for result in found("shmueli-violations")}
    never = [result for name, result in results.items() if "under FCFS: executions" in name]
    assert [(result.ours, result.verdict) for result in never] == [(0, "held")] * 2
    own = results["log of EASY under EASY: violations at its own load"]
    assert (own.ours, own.verdict) == (0, "held")
    assert results["log of FCFS under FCFS: load at which violations begin"].ours in (
        0.3,
        0.45,
        0.6,
    )


@pytest.mark.slow
def test_creasy_is_set_beside_easy(found, monkeypatch):
    monkeypatch.setattr(shmueli_creasy, "ALPHAS", (0, 1500, 3000, 4500, 6000))
    monkeypatch.setattr(shmueli_creasy, "USERS", (50, 100, 150, 200, 250))
    results = {result.quantity: result for result in found("shmueli-creasy")}
    words = "Figure 2.1: utilization, 50 users, CREASY; run times up to 1 h"
    assert 0 < results[words].ours < 1
    assert len(results) == 2 * (25 + 8 + 6 + 8 + 3)
