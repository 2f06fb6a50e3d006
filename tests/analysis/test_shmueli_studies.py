"""The studies of sites on small logs, and what they compute of simulations."""

from math import isnan

import pytest

import workloadkit as wk
from analysis.reproduction import Log, Plan, above, choose, find_logs, printed, run_study
from analysis.studies import load_study, shmueli_conventional, shmueli_violations
from analysis.studies.shmueli_conventional import distributions_of, of_ratios, of_runs


@pytest.fixture
def folder(tmp_path):
    """A folder in which the sample stands for one of the logs."""
    wk.write_swf(wk.load_sample(), tmp_path / "KTH-SP2-1996-2.swf.gz")
    return tmp_path


@pytest.fixture
def found(folder, monkeypatch):
    """Run a study, made short, on that log."""
    monkeypatch.setattr(shmueli_conventional, "WEEKS", 1)
    monkeypatch.setattr(shmueli_violations, "LOADS", {"fcfs": (0.3, 0.6), "easy": (0.3, 0.9)})

    def run(name, runs=2, **reading):
        study = load_study(name)
        with pytest.warns(wk.WorkloadWarning, match="left out"):
            logs = find_logs(study.logs, folder)
        return run_study(study, logs, runs=runs, rng=1, reading=reading).results

    return run


def by_claim(results):
    """Results by quantity and kind, none of them twice."""
    rows = {(result.claim.quantity, result.claim.kind): result for result in results}
    assert len(rows) == len(results)
    return rows


def plan_of(study, runs):
    """A plan on a log that nothing reads."""
    return Plan([Log("KTH-SP2", "KTH-SP2-1996-2")], [], runs, choose(study.axes))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([9.9, 10.1, 10.0], "reproduced"),
        ([8, 12], "too uncertain"),
        ([20, 20.1], "contradicted"),
        ([10], "too uncertain"),
        ([20], "too uncertain"),
    ],
)
def test_runs_give_a_verdict_by_their_interval(values, verdict):
    assert of_runs(printed("a figure", 10, "Table 1"), values).verdict == verdict


def test_ratios_are_taken_run_by_run():
    claim = above("response of FCFS relative to EASY's", 1, "section 3.4.1", "direction")
    result = of_ratios(claim, [20.0, 3.0, 220.0], [10.0, 1.5, 100.0])
    assert result.verdict == "reproduced"
    assert result.low < 2 < result.high
    assert of_ratios(claim, [20.0], [10.0]).verdict == "too uncertain"


@pytest.mark.parametrize(("size", "largest"), [("nodes", 4), ("processors", 25)])
def test_sizes_of_one_log_are_in_nodes_or_in_processors(tmp_path, size, largest):
    for name, procs in (("SDSC-BLUE-2000-3.1-cln", [8, 25]), ("KTH-SP2-1996-2", [1, 3])):
        trace = wk.Trace.from_columns(
            {"submit": [0, 100], "run": [50, 9], "procs": procs, "user": [1, 1]}
        )
        wk.write_swf(trace, tmp_path / f"{name}.swf")
    logs = [
        Log(path.name.removesuffix(".swf").rsplit("-", 2)[0], "", path)
        for path in sorted(tmp_path.glob("KTH*"))
    ]
    logs.append(Log("SDSC-BLUE", "", tmp_path / "SDSC-BLUE-2000-3.1-cln.swf"))
    sizes = distributions_of(tuple(logs), size).size.values
    assert (sizes.min(), sizes.max()) == (1, largest)
    assert 3 in sizes


def test_replays_are_set_beside_sessions(found):
    results = found("shmueli-conventional")
    rows = by_claim(results)
    assert {result.log.name for result in results} == {"all"}
    assert {result.note for result in results} == {"without SDSC-Par, CTC-SP2, SDSC-SP2, SDSC-BLUE"}
    slow = rows["response (h): FCFS replays the log of EASY", "printed"]
    assert (slow.claim.published, slow.claim.place) == (24.267, "Table 3.2")
    assert slow.low <= slow.ours <= slow.high
    true = rows["response (h): sessions under FCFS", "printed"]
    assert slow.ours > true.ours > rows["response (h): sessions under EASY", "printed"].ours
    wrong = rows["FCFS replays the log of EASY: response too long by (%)", "direction"]
    assert wrong.claim.agrees[0] > 0
    assert wrong.ours > 0
    lost = rows["throughput of FCFS relative to EASY's: sessions", "printed"]
    assert lost.claim.agrees == pytest.approx((0.85, 0.95))
    assert sum(result.claim.main for result in results) == 5


def test_more_sessions_and_similar_jobs(found):
    rows = by_claim(found("shmueli-conventional", repeat="job"))
    name = "{}: largest difference of the cumulative shares, sessions under EASY"
    runs = rows[name.format("run times"), "ours"]
    assert 0 < runs.ours < 0.5
    assert runs.claim.agrees[1] == 0.05
    for sessions in shmueli_conventional.NUMBERS:
        words = f"response of FCFS relative to EASY's: {sessions} sessions"
        assert rows[words, "direction"].ours > 1
    goes_along = "correlation of throughput and utilization over 5 to 40 sessions: EASY"
    assert 0 < rows[goes_along, "ours"].ours <= 1


def test_a_single_run_is_too_uncertain(found):
    results = found("shmueli-conventional", runs=1)
    assert {result.verdict for result in results} == {"too uncertain"}
    assert all(isnan(result.low) for result in results)


def test_violations_are_counted_over_the_loads(found):
    rows = by_claim(found("shmueli-violations"))
    never = [row for (name, _), row in rows.items() if "under FCFS: largest share of exec" in name]
    assert [(row.ours, row.verdict) for row in never] == [(0, "reproduced")] * 2
    own = rows["log of EASY under EASY: share of jobs in violation at its own load", "printed"]
    assert (own.ours, own.claim.agrees, own.verdict) == (0, (0, 0), "reproduced")
    begins = rows["log of FCFS under FCFS: load at which violations begin", "printed"]
    assert begins.ours in (0.3, 0.45, 0.6)
    line = rows[
        "log of FCFS under FCFS: correlation of load and share of submissions in violation", "ours"
    ]
    assert line.verdict == "input missing"  # of two loads


def violating(task, rng=None):
    """Shares of a log of load 0.75 that breaks few dependencies from a load of 0.5 on."""
    shares = {}
    for who in ("easy", "fcfs"):
        for load in (None, *shmueli_violations.LOADS[task.maker]):
            early = load is None or load < 0.45
            submission = 0.0 if early else 0.01 if load < 0.5 else load - 0.48
            late = who == "easy" and load == shmueli_violations.LOADS[task.maker][-1]
            shares[who, load] = submission, 0.003 if late else 0.0
    return shmueli_violations.Found(0.75, shares)


def test_violations_begin_beyond_one_job_in_a_hundred():
    def each(function, tasks):
        return [violating(task) for task in tasks]

    rows = by_claim([*shmueli_violations.compare(plan_of(shmueli_violations.STUDY, 2), each)])
    few = "log of EASY under EASY: largest share of submissions in violation below its own load"
    assert {key for key, row in rows.items() if row.verdict != "reproduced"} == {(few, "ours")}
    assert rows[few, "ours"].ours == pytest.approx(0.22)
    for who in ("FCFS", "EASY"):
        words = f"log of FCFS under {who}: load at which violations begin"
        assert rows[words, "printed"].ours == 0.5
    early = "log of EASY under FCFS: where violations begin, relative to its own load"
    assert rows[early, "direction"].ours == pytest.approx(0.5 / 0.75)
    last = "log of EASY under EASY: share of {} in violation at 0.9"
    assert rows[last.format("submissions"), "direction"].ours == pytest.approx(0.42)
    assert rows[last.format("executions"), "direction"].ours == pytest.approx(0.003)
