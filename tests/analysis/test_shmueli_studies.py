"""The studies of sites on small logs, and what they compute of simulations."""

from math import isnan
from pathlib import Path

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import (
    Drawing,
    Log,
    StudyInput,
    above,
    choose,
    find_logs,
    printed,
    read_table,
    run_study,
)
from workloadkit.analysis.studies import (
    load_study,
    shmueli_conventional,
    shmueli_creasy,
    shmueli_violations,
)
from workloadkit.analysis.studies.shmueli_conventional import distributions_of, of_ratios, of_runs

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    """A folder in which the sample stands for one of the logs."""
    wk.write_swf(wk.load_sample(), tmp_path / "KTH-SP2-1996-2.swf.gz")
    return tmp_path


@pytest.fixture
def found(folder, monkeypatch):
    """Run a study, made short, on that log."""
    for module in (shmueli_conventional, shmueli_creasy):
        monkeypatch.setattr(module, "WEEKS", 1)
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
    return StudyInput([Log("KTH-SP2", "KTH-SP2-1996-2")], [], runs, choose(study.axes))


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


def test_replays_are_compared_with_sessions(found):
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
    assert (wrong.claim.agrees[0], wrong.claim.strict) == (0, True)
    assert wrong.low < wrong.ours < wrong.high
    assert wrong.ours > 0
    short = rows["EASY replays the log of FCFS: response too short by (%)", "printed"]
    assert short.claim.agrees == (5, 15)
    assert short.low < short.ours < short.high < 100
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
    """Shares of a log that breaks few dependencies from a load of 0.5 on."""
    shares = {}
    for who in ("easy", "fcfs"):
        for load in (None, *shmueli_violations.LOADS[task.maker]):
            early = load is None or load < 0.45
            submission = 0.0 if early else 0.01 if load < 0.5 else load - 0.48
            late = who == "easy" and load == shmueli_violations.LOADS[task.maker][-1]
            shares[who, load] = submission, 0.003 if late else 0.0
    return shmueli_violations.ViolationShares(0.75 if task.maker == "easy" else 0.5, shares)


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
    own = rows["load of the log of EASY over that of the log of FCFS", "direction"]
    assert own.ours == pytest.approx(1.5)


def as_published(task, run):
    """A site as in the source, one in a thousand more or less."""
    table = read_table(Path(shmueli_creasy.__file__).with_suffix(".csv"))
    row = next(row for row in table if int(row["users"]) == task.users)
    values = {name: float(row[name]) for name in shmueli_creasy.COLUMNS}
    for i, name in enumerate(shmueli_creasy.CLASSES):
        slowdown, response = (15.3, 2.52, 1.2)[i], (17, 56, 362)[i]
        values |= {f"slowdown, {name}": slowdown, f"response, {name}": response}
    step = shmueli_creasy.ALPHAS.index(task.alpha)
    if step < 4:
        jobs, response = (46.8, 56.63, 63.65, 67.4)[step], (78, 85, 90, 95)[step]
        values |= {"throughput_per_hour": jobs, "mean_response_min": response}
        values |= {"utilization": 0.57, "mean_slowdown": (71, 50, 36, 28)[step]}
        values |= {"jobs_per_session": (1.73, 2.1, 2.35, 2.55)[step]}
        for i, name in enumerate(shmueli_creasy.CLASSES):
            values |= {f"slowdown, {name}": (90, 9, 1)[i], f"response, {name}": 100 * (i + 1)}
        if task.users == 50:  # as CREASY 6000
            values |= {name: float(row[name]) for name in shmueli_creasy.COLUMNS}
            values |= {"jobs_per_session": 2.69}
    noise = (-1) ** (run + (task.alpha > 0) + (task.users > 50)) / 1000
    return {name: value * (1 + noise) for name, value in values.items()}


@pytest.mark.slow
def test_creasy_as_the_source_describes_it(tmp_path):
    def each(function, tasks):
        if function is shmueli_creasy.activity:
            return [np.full(48, 1 / 48) for _ in tasks]
        if function is shmueli_creasy.activity_of_log:
            return [np.eye(48)[0] / 10 + 0.9 / 48 for _ in tasks]
        return [as_published(task, run) for run, task in enumerate(tasks)]

    found = [*shmueli_creasy.compare(plan_of(shmueli_creasy.STUDY, 6), each)]
    drawings = [item for item in found if isinstance(item, Drawing)]
    assert len(drawings) == 5
    assert len(drawings[0].data) == 25
    for drawing in (drawings[0], drawings[-1]):
        assert all(file.stat().st_size > 0 for file in drawing.save(tmp_path))
    results = [item for item in found if not isinstance(item, Drawing)]
    rows = by_claim(results)
    assert sum(result.claim.main for result in results) == 6
    for words, change in (
        ("change of jobs an hour from EASY to CREASY 1500: 250 users (%)", 21),
        ("change of mean slowdown from EASY to CREASY 6000: 250 users (%)", -65.8),
        ("change of the jobs of a session from 50 to 250 users: EASY (%)", -35.7),
        ("change of the response of jobs of 1 to 10 min from EASY to CREASY 6000 (%)", -72),
    ):
        assert rows[words, "printed"].ours == pytest.approx(change, abs=0.2)
    moved = next(r for r in results if "at other hours" in r.claim.quantity)
    assert moved.ours == pytest.approx(0.1 * 47 / 48)
    words = "fall of the slowdown from EASY to CREASY 6000: jobs of up to 1 min less over 10 min"
    assert rows[words, "direction"].ours == pytest.approx(90 - 15.3 - (1 - 1.2), rel=0.01)
    wrong = [result.claim.quantity for result in results if result.verdict != "reproduced"]
    assert wrong == [
        "change of the response of jobs of 1 to 10 min from EASY to CREASY 6000 (%)",
        "change of the response of jobs of over 10 min from EASY to CREASY 6000 (%)",
    ]


@pytest.mark.slow
def test_small_sites_under_all_weights(found):
    rows = by_claim(found("shmueli-creasy"))
    change = rows["change of jobs an hour from EASY to CREASY 6000: 250 users (%)", "direction"]
    assert change.low < change.ours < change.high
    assert change.claim.main
    falls = rows[
        "change of the slowdown from jobs of 1 to 10 min to over 10 min: EASY (%)", "direction"
    ]
    assert falls.ours < 0


@pytest.mark.parametrize(
    ("axis", "option"),
    [
        *(("longest", "all"), ("gaps", "drawn"), ("session", "batches"), ("baseline", "fcfs")),
        *(("spare", "none"), ("spare", "strict")),
    ],
)
def test_each_reading_of_the_site_changes_it(folder, monkeypatch, axis, option):
    monkeypatch.setattr(shmueli_creasy, "WEEKS", 1)
    study = shmueli_creasy.STUDY
    draws = shmueli_conventional.Draws(
        (Log("KTH-SP2", "", folder / "KTH-SP2-1996-2.swf.gz"),), "nodes", "size"
    )

    def site(**reading):
        task = shmueli_creasy.CreasyTask(draws, choose(study.axes, reading), 60, 0)
        return shmueli_creasy.measure(task, np.random.default_rng(1))

    plain, other = site(), site(**{axis: option})
    assert plain == site()
    assert plain != other
    if axis == "session":
        assert other["jobs_per_session"] < plain["jobs_per_session"]


def test_submissions_by_hour_of_weekdays_and_weekends():
    hours = [0, 1.5, 25, 24 * 5 + 23, 24 * 7]  # from a Monday, 0:00
    trace = wk.Trace.from_columns({"submit": [3600 * hour for hour in hours]})
    shares = shmueli_creasy.by_hour(trace)
    assert {i: shares[i] for i in shares.nonzero()[0]} == pytest.approx({0: 0.4, 1: 0.4, 47: 0.2})


def serve(scheduler):
    """Starts of the jobs of Figure 5.1, in minutes after 12:00.

    Job R leaves 4 of 10 processors, which another job has until 12:00. Job 1 needs 8, jobs 2 and 3
    need 4 each; they are submitted at 11:00, 11:10 and 11:55.
    """
    minutes = {
        "submit": [0, 0, 60, 70, 115],
        "run": [150, 120, 60, 30, 10],
    }
    columns = {name: [60 * x for x in values] for name, values in minutes.items()}
    columns |= {"procs": [6, 4, 8, 4, 4], "user": [8, 9, 1, 2, 3]}
    schedule = wk.simulate(wk.Trace.from_columns(columns), scheduler, procs=10)
    return (schedule.jobs["start"].to_numpy()[2:] / 60 - 120).tolist()


def test_figure_5_1():
    assert serve("fcfs") == [30, 90, 90]
    assert serve("easy") == [30, 0, 90]
    assert serve("creasy:alpha=6000") == [30, 90, 0]
