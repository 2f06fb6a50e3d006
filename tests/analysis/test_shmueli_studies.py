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


HERE = [Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))]


def violating(task, rng=None):
    """Shares of a log of load 0.55 that breaks few dependencies from a load of 0.5 on."""
    shares = {}
    for who in ("easy", "fcfs"):
        for load in (None, *shmueli_violations.LOADS[task.maker]):
            early, broken = load is None or load < 0.45, load is not None and load >= 0.55
            submission = 0.0 if early else 0.2 if broken else 0.01 if load < 0.5 else 0.02
            late = who == "easy" and load == 0.9
            shares[who, load] = submission, 0.003 if late else 0.0
    return shmueli_violations.Found(0.55, shares)


def test_violations_begin_beyond_one_job_in_a_hundred():
    def each(function, tasks):
        return [violating(task) for task in tasks]

    results = {r.quantity: r for r in shmueli_violations.compare(HERE, 2, each)}
    assert {result.verdict for result in results.values()} == {"held"}
    for who in ("FCFS", "EASY"):
        assert results[f"log of FCFS under {who}: load at which violations begin"].ours == 0.5
    early = "log of EASY under FCFS: where violations begin, relative to its own load (far below)"
    assert results[early].ours == pytest.approx(0.5 / 0.55)
    few = "log of EASY under EASY: share of submissions in violation below its own load (few)"
    assert results[few].ours == 0.02
    last = "log of EASY under EASY: share of {} in violation at 0.9 (more than none)"
    assert results[last.format("submissions")].ours == 0.2
    assert results[last.format("executions")].ours == pytest.approx(0.003)


def as_published(task, run):
    """A site as in the source, one in a thousand more or less."""
    table = studies.read_table(Path(shmueli_creasy.__file__).with_suffix(".csv"))
    row = next(row for row in table if int(row["users"]) == task.users)
    values = {name: float(row[name]) for name in shmueli_creasy.COLUMNS}
    values["response, up to 1 min"], values["response, 1 to 10 min"] = 17.0, 56.0
    values["response, over 10 min"] = 181.0
    if task.alpha < 6000:
        jobs = {0: 47, 1500: 56.87, 3000: 63.92, 4500: 67.68}[task.alpha]
        values |= {"throughput_per_hour": jobs, "utilization": 0.57, "mean_slowdown": 71.0}
        values |= {"mean_response_min": 78.0, "jobs_per_session": 1.73}
        values |= dict.fromkeys([name for name in values if name.startswith("response,")], 100.0)
        if task.users == 50:
            values["jobs_per_session"] = 2.69
    values["batches_per_session"] = values["jobs_per_session"]
    noise = (-1) ** (run + (task.alpha > 0) + (task.users > 50)) / 1000
    return {name: value * (1 + noise) for name, value in values.items()}


def test_creasy_as_the_source_describes_it():
    def each(function, tasks):
        return [as_published(task, run) for run, task in enumerate(tasks)]

    results = {r.quantity: r for r in shmueli_creasy.compare(HERE, 6, each)}
    assert len(results) == 2 * (25 + 8 + 6 + 8 + 3)
    assert {result.verdict for result in results.values()} <= {"held", "direction only"}
    ends = "run times up to 1 h"
    for words, change in (
        ("Figure 5.13: change of jobs an hour from EASY to CREASY 1500, 250 users (%)", 21),
        ("Figure 5.13: change of mean slowdown from EASY to CREASY 6000, 250 users (%)", -65.8),
        ("Figure 5.10: change of the jobs of a session from 50 to 250 users, EASY (%)", -35.7),
        ("Figure 5.12: change of the response of jobs of over 10 min from EASY to CREASY (%)", 81),
    ):
        assert results[f"{words}; {ends}"].ours == pytest.approx(change, abs=0.1)


@pytest.mark.slow
def test_creasy_is_set_beside_easy(found, monkeypatch):
    monkeypatch.setattr(shmueli_creasy, "ALPHAS", (0, 1500, 3000, 4500, 6000))
    monkeypatch.setattr(shmueli_creasy, "USERS", (50, 100, 150, 200, 250))
    results = {result.quantity: result for result in found("shmueli-creasy")}
    words = "Figure 2.1: utilization, 50 users, CREASY; run times up to 1 h"
    assert 0 < results[words].ours < 1
    assert len(results) == 2 * (25 + 8 + 6 + 8 + 3)
