"""The benchmark: the suite, entries of all kinds and their refusal, ranks, certificates."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.small_logs import random_log
from workloadkit.analysis.benchmark import report_benchmark
from workloadkit.benchmark import (
    BenchmarkResults,
    Case,
    Entry,
    RefusedError,
    canonical,
    cases,
    certificate,
    differences,
    entries,
    metasystems,
    nearest_cases,
    protocol,
    read_certificate,
    run_benchmark,
)
from workloadkit.benchmark.entries import play, scheduled
from workloadkit.benchmark.running import digest_of_run
from workloadkit.benchmark.suite import SuiteWorkload, archived
from workloadkit.metasystem import simulate_metasystem
from workloadkit.models import offered_load

#: A workload of few jobs, and its cases.
SMALL = SuiteWorkload("small", "", 16, lambda rng: random_log(int(rng.integers(1000)), 60), True)
OPEN, REACTING = (Case("small", "busy", users, SMALL) for users in ("open", "fluid"))

#: A process that serves in the order of arrival; parts of it are replaced by those that cheat.
FCFS = """
import sys
for line in sys.stdin:
    word, *values = line.split()
    if word == "now":
        now, free, queue, running = *map(int, values), [], []
    elif word in ("waiting", "running"):
        {"waiting": queue, "running": running}[word].append([*map(int, values)])
    elif word == "decide":
        started = []
        for job, submit, estimate, procs, *_ in queue:
            if procs > free:
                break
            free -= procs
            started.append(job)
        print("start", *started, flush=True)
"""


def process(tmp_path, *replaced):
    """The entry of this program, with a part of it replaced."""
    text = FCFS.replace(*replaced) if replaced else FCFS
    assert (text == FCFS) == (not replaced)
    (tmp_path / "mine.py").write_text(text)
    return Entry("mine", "process", f"{sys.executable} {tmp_path / 'mine.py'}")


def test_the_jobs_of_the_suite_are_the_canonical_ones():
    workloads = canonical()["workloads"]
    assert [case.name for case in cases()] == list(workloads)
    for case in cases():
        assert digest_of_run(case.run(0)) == workloads[case.name]["digests"][0], case.name


def test_jobs_are_whole_and_fit_their_machine_and_estimate():
    for case in cases(chosen=("open", "busy")):
        log = case.run(3)
        run, estimate = log.column("run"), log.column("requested_time")
        assert (run >= 1).all() and (run <= estimate).all() and (run == np.rint(run)).all()
        assert log.column("procs").max() <= case.procs == log.header.procs
        assert offered_load(log) == pytest.approx(0.8, rel=0.001)
        assert 1000 < log.n_jobs <= 3000


def test_results_of_a_case_are_the_canonical_ones_and_do_not_depend_on_a_change():
    device = cases(chosen=("device", "busy"))
    made = certificate(run_benchmark([Entry("sjf", "policy", "sjf")], among=device))
    assert differences(canonical(), made) == []
    made["results"][0]["mean_wait"][0] *= 1.0001
    assert ["mean_wait is" in line for line in differences(canonical(), made)] == [True]
    made["results"][0]["schedules"] = "0"
    assert differences(canonical(), made) == ["device.busy.open, sjf: the schedules differ"]


@pytest.mark.parametrize("case", [OPEN, REACTING])
def test_a_process_that_follows_a_policy_has_its_schedule(case, tmp_path):
    for i in range(2):
        made = case.run(i)
        expected = play(Entry("fcfs", "policy", "fcfs"), case, made, i)
        assert play(process(tmp_path), case, made, i) == expected


def test_a_process_sees_no_run_time_and_no_future(tmp_path):
    said = tmp_path / "said.txt"
    how = (
        "    word, *values = line.split()",
        f"    open({str(said)!r}, 'a').write(line)\n    word, *values = line.split()",
    )
    log = OPEN.run(0)
    scheduled(process(tmp_path, *how), OPEN, log, 0)
    columns = ("job", "submit", "requested_time", "procs", "user", "queue")
    jobs = {row[0]: list(row) for row in log.jobs[list(columns)].astype(int).to_numpy().tolist()}
    lines = [line.split() for line in said.read_text().splitlines()]
    assert lines[:2] == [["benchmark", "1"], ["machine", "16"]]
    assert {word for word, *_ in lines[2:]} == {"now", "waiting", "running", "decide"}
    for word, *values in lines:
        numbers = [*map(int, values)]
        if word == "now":
            now = numbers[0]
        elif word == "waiting":
            assert numbers == jobs[numbers[0]]
            assert numbers[1] <= now
        elif word == "running":
            assert numbers[1] <= now
            assert numbers[2:] == jobs[numbers[0]][2:]


@pytest.mark.parametrize(
    ("part", "other", "why"),
    [
        ("append(job)", "append(job + 1)", "starts job 2, which does not wait"),
        ("append(job)", "extend([job, job])", "which does not wait"),
        ("procs > free", "procs > 99", r"starts job \d+ of \d+ processors, but \d+ are free"),
        ('"start", *started', '"go"', "answers 'go'"),
        ("started = []", "sys.exit('out of ideas')", "gives no answer: out of ideas"),
        ("started = []", "queue.clear(); started = []", "never"),
        ("started = []", "import time; time.sleep(9)", "takes more than 0.5 s"),
    ],
)
def test_a_process_that_breaks_a_rule_is_refused(part, other, why, tmp_path, monkeypatch):
    if "0.5 s" in why:
        monkeypatch.setattr(protocol, "TIME_LIMIT", 0.5)
    mine = process(tmp_path, part, other)
    results = run_benchmark([Entry("easy", "policy", "easy"), mine], among=[OPEN], runs=2)
    assert results.table["entry"].tolist() == ["easy"]
    with pytest.raises(RefusedError, match=why):
        raise RefusedError(results.refused["mine"])
    assert results.refused["mine"].startswith("small.busy.open, run 0: ")


@pytest.mark.skipif(shutil.which("awk") is None, reason="requires awk")
def test_an_entry_in_awk_is_ranked(tmp_path):
    (tmp_path / "fcfs.awk").write_text(
        """
        $1 == "now" { free = $3; blocked = 0; answer = "start" }
        $1 == "waiting" {
            if ($5 > free) blocked = 1
            if (!blocked) { free -= $5; answer = answer " " $2 }
        }
        $1 == "decide" { print answer; fflush() }
        """
    )
    version = subprocess.run(["awk", "-W", "version"], capture_output=True, text=True, input="")
    reads = "-W interactive " if "mawk" in version.stdout + version.stderr else ""
    mine = Entry("mine", "process", f"awk {reads}-f {tmp_path / 'fcfs.awk'}")
    policies = [Entry(name, "policy", name) for name in ("fcfs", "easy")]
    results = run_benchmark([*policies, mine], among=[OPEN, REACTING], runs=2)
    assert not results.refused
    of = results.runs.set_index("entry")
    assert of.loc["mine", "schedule"].tolist() == of.loc["fcfs", "schedule"].tolist()
    digests = certificate(results)["entries"]["mine"]["files"]
    assert set(digests) == {"awk", str(tmp_path / "fcfs.awk")}


def with_schedules(folder, change=lambda jobs: jobs):
    """The entry of EASY's schedules in files, of which the first is changed."""
    for i in range(2):
        log = OPEN.run(i)
        schedule = wk.simulate(log, "easy").trace()
        if i == 0:
            schedule = change(schedule)
        wk.write_swf(schedule, folder / f"{OPEN.name}.{i}.swf.gz")
    return Entry("theirs", "schedules", str(folder))


def test_schedules_in_files_are_ranked(tmp_path):
    entries = [Entry("easy", "policy", "easy"), with_schedules(tmp_path)]
    results = run_benchmark(entries, among=[OPEN, REACTING], runs=2)
    assert not results.refused
    of = results.runs.set_index("entry")
    assert of.loc["theirs", "users"].tolist() == ["open", "open"]
    open_ones = of[of["users"] == "open"]["schedule"]
    assert open_ones["theirs"].tolist() == open_ones["easy"].tolist()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda log: log.with_columns(wait=np.zeros(log.n_jobs)), "used twice.* of 16 at"),
        (lambda log: log.with_columns(run=log.column("run") // 2 + 1), "runs .*, in the log"),
        (lambda log: log.with_columns(procs=np.ones(log.n_jobs)), "processors"),
        (lambda log: log.take(range(1, log.n_jobs)), "job 1"),
        (lambda log: log.with_columns(wait=np.full(log.n_jobs, -1)), "is unknown"),
    ],
)
def test_a_schedule_that_breaks_a_rule_is_refused(change, why, tmp_path):
    mine = with_schedules(tmp_path, change)
    results = run_benchmark([Entry("easy", "policy", "easy"), mine], among=[OPEN], runs=2)
    with pytest.raises(RefusedError, match=f"run 0: violated: .*{why}"):
        raise RefusedError(results.refused["theirs"])
    (tmp_path / f"{OPEN.name}.0.swf.gz").unlink()
    why_not = run_benchmark([mine], among=[OPEN], runs=1).refused["theirs"]
    assert why_not.endswith(f"{tmp_path} has no file {OPEN.name}.0.swf or {OPEN.name}.0.swf.gz")


#: A meta-scheduler that sends each job where the least work remains; a part of it is replaced.
LEAST = """
import sys
procs = {}
for line in sys.stdin:
    word, *values = line.split()
    if word == "site":
        procs[values[0]] = int(values[1])
    elif word == "job":
        load = {}
    elif word == "to":
        load[values[0]] = int(values[5]) / procs[values[0]]
    elif word == "choose":
        print("send", min(load, key=load.get), flush=True)
"""


@pytest.fixture
def small_grid(monkeypatch):
    """A case with a metasystem of few jobs."""
    monkeypatch.setattr(metasystems, "_JOBS", 60)
    return next(case for case in cases(chosen=("mixed", "stale-grid")) if case.is_grid)


def test_a_process_may_be_a_meta_scheduler(small_grid, tmp_path):
    (tmp_path / "least.py").write_text(LEAST)
    mine = Entry("mine", "meta-process", f"{sys.executable} {tmp_path / 'least.py'}")
    made = small_grid.run(0)
    expected = play(Entry("least-work", "meta-policy", "least-work"), small_grid, made, 0)
    assert play(mine, small_grid, made, 0) == expected
    for part, other, why in (
        (
            "min(load, key=load.get)",
            "'nowhere'",
            "sends job .* to nowhere; the sites that admit it",
        ),
        ("min(load, key=load.get)", "''", "sends job .* to no site"),
        ("print(", "sys.exit('tired') or print(", "gives no answer: tired"),
    ):
        (tmp_path / "least.py").write_text(LEAST.replace(part, other))
        with pytest.raises(RefusedError, match=why):
            play(mine, small_grid, made, 0)


def test_sites_in_files_are_a_meta_scheduler(small_grid, tmp_path):
    made, path = small_grid.run(0), tmp_path / f"{small_grid.name}.0.swf"
    mine = Entry("mine", "meta-schedules", str(tmp_path))
    expected = play(Entry("cheapest", "meta-policy", "cheapest"), small_grid, made, 0)
    schedule = simulate_metasystem(made, policies={"meta": "cheapest"})
    jobs = schedule.jobs
    numbers = jobs["site"].map({site.name: i for i, site in enumerate(made.sites, 1)})
    columns = {name: jobs[name].to_numpy() for name in ("job", "submit", "wait", "run", "procs")}
    log = wk.Trace.from_columns(columns | {"partition": numbers.to_numpy()})
    wk.write_swf(log, path)
    assert play(mine, small_grid, made, 0) == expected
    needs_device = schedule.prepared.jobs.group == 2
    elsewhere = np.where(needs_device, 3, log.column("partition"))
    for other, why in (
        (log.take(range(1, log.n_jobs)), "its jobs are not those of the run: .* in the run"),
        (
            log.with_columns(procs=log.column("procs") + 1),
            "its jobs are not those of the run: .* in the run",
        ),
        (log.with_columns(partition=elsewhere), "is sent to site 3, which does not admit it"),
    ):
        wk.write_swf(other, path)
        with pytest.raises(RefusedError, match=why):
            play(mine, small_grid, made, 0)


def test_what_a_metasystem_violates_is_refused(small_grid, monkeypatch):
    made = small_grid.run(0)
    real = entries.simulate_metasystem

    def early(*arguments, **how):
        schedule = real(*arguments, **how)
        schedule.served.start[0] -= 1
        return schedule

    monkeypatch.setattr(entries, "simulate_metasystem", early)
    with pytest.raises(RefusedError, match="violated: no job starts before it arrives: job"):
        play(Entry("home", "meta-policy", "home"), small_grid, made, 0)


def results_of(values, saturated=()):
    """Results of one case: by entry and metric one value for each run; which runs saturate."""
    rows = [
        {"workload": "w", "system": "busy", "users": "open", "run": i, "entry": entry}
        | {name: numbers[i] for name, numbers in metrics.items()}
        | {"schedule": "", "saturated": (entry, i) in saturated}
        for entry, metrics in values.items()
        for i in range(4)
    ]
    runs = pd.DataFrame(rows)
    workloads = runs[runs["entry"] == "easy"][["workload", "system", "users", "run"]]
    return BenchmarkResults(runs, workloads.assign(digest=""), {name: {} for name in values}, {}, 1)


def test_saturated_runs_of_the_benchmark_are_counted_and_hide_nothing():
    values = {
        name: {metric: np.array(numbers) for metric in entries.METRICS}
        for name, numbers in (("easy", [1.0, 1, 1, 1]), ("slow", [2.0, 2, 2, 16]))
    }
    found, usual = results_of(values, {("slow", 3)}), results_of(values)
    table = found.table.set_index("entry")
    assert table["saturated"].tolist() == [0, 1]
    assert table["mean_wait"].tolist() == [1, 5.5]
    assert table["mean_wait_others"].tolist() == [1, 2]
    scores = found.scores.set_index(["entry", "metric"])
    row = scores.loc[("slow", "mean_wait")]
    assert row["score"] == pytest.approx(2 * 2**0.75)
    assert (row["cases"], row["saturated"], row["cases_others"]) == (1, 1, 0)
    assert np.isnan(row["score_others"])
    assert usual.scores["cases_others"].tolist() == [1] * len(scores)
    assert certificate(found) == certificate(usual)  # it has the results of all runs
    kinds = {name: {"kind": "policy", "policy": name} for name in values}
    pages = [report_benchmark(replace(x, entries=kinds)).to_html() for x in (found, usual)]
    for text in ("all 4 (1 saturated)", "3 not saturated", "5.5 s", "A pair is saturated if"):
        assert text in pages[0]
    assert "saturated)" not in pages[1]


def test_a_busy_machine_saturates_where_a_larger_one_does_not():
    for system, saturates in (("busy", True), ("roomy", False)):
        (case,) = cases(chosen=["lublin", system])
        assert play(Entry("fcfs", "policy", "fcfs"), case, case.run(0), 0).saturated is saturates


def test_ranks_scores_and_reversals_of_a_case_worked_out_by_hand():
    noise = np.array([1.0, 2.0, 4.0, 8.0])  # common to all entries, so that pairs cancel it
    others = ("mean_response", "mean_bounded_slowdown", "wait_p98")
    found = results_of(
        {
            name: {"mean_wait": wait * noise, **dict.fromkeys(others, 5 + 0 * noise)}
            | {"throughput_per_hour": throughput + 0.001 * noise}
            for name, wait, throughput in (("easy", 2, 1), ("slow", 6, 2), ("alike", 2, 3))
        }
    )
    table = found.table.set_index("entry")
    # the differences, 4 times the noise, have mean 15 and error 6.5: t is 2.4, not significant
    assert table["mean_wait_best"].tolist() == [1, 1, 1]
    assert table["throughput_per_hour_best"].tolist() == [3, 2, 1]
    assert table["throughput_per_hour_worst"].tolist() == [3, 2, 1]
    scores = found.scores.set_index(["entry", "metric"])
    score = scores.loc[("slow", "mean_wait"), ["score", "low", "high"]].astype(float)
    assert score.tolist() == pytest.approx([3, 3, 3])  # the ratio is the same in all runs
    assert found.reversals.empty

    found = results_of(
        {
            name: {"mean_wait": wait + 0.01 * noise, "throughput_per_hour": throughput + 0 * noise}
            | dict.fromkeys(others, 5 + 0 * noise)
            for name, wait, throughput in (("easy", 2, 1), ("slow", 6, 2))
        }
    )
    (reversal,) = found.reversals.to_dict("records")
    assert (reversal["first"], reversal["second"]) == ("easy", "slow")
    assert (reversal["metric"], reversal["other"]) == ("mean_wait", "throughput_per_hour")
    assert reversal["other_ratio"] == 0.5
    assert found.reversal_counts["pairs"].tolist() == [1]


def test_a_changed_certificate_is_noticed():
    text = json.dumps(canonical())
    assert read_certificate(text) == canonical()
    for changed, why in (
        (text.replace('"easy"', '"hard"', 1), "has been changed"),
        (text.replace('"benchmark": 1', '"benchmark": 7'), "of version 7 of the benchmark, not 1"),
        ("{}", "is not a certificate"),
        ("no", "not JSON at column"),
    ):
        with pytest.raises(wk.WorkloadError, match=why):
            read_certificate(changed)


def test_the_nearest_case_of_a_workload_is_its_own():
    for name in ("compute", "communication", "lublin", "sample"):
        (case,) = cases(chosen=(name, "busy", "open"))
        found = nearest_cases(case.run(11), canonical())
        assert found.loc[0, ["workload", "system"]].tolist() == [name, "busy"]
    with pytest.raises(wk.ParameterError, match="metric is 'wait'"):
        nearest_cases(case.run(11), canonical(), metric="wait")


def test_a_log_with_another_text_is_left_out(tmp_path):
    wk.write_swf(random_log(1), tmp_path / "KTH-SP2-1996-2.1-cln.swf.gz")
    with pytest.warns(wk.WorkloadWarning, match="KTH-SP2-1996-2.1-cln.swf.gz is left out"):
        assert archived(tmp_path) == {}


@needs_traces
@pytest.mark.slow
def test_logs_of_the_archive_take_part():
    found = archived(trace_path("KTH-SP2-1996-2.1-cln").parent)
    assert sorted(found) == ["ctc", "hpc2n", "kth", "sdsc-blue", "sdsc-sp2"]
    for one in found.values():
        assert offered_load(one.run(0)) == pytest.approx(0.8, rel=0.001)


@pytest.mark.slow
def test_the_commands(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = ("--only", "device", "--only", "busy")
    assert run("benchmark", "workloads", "-o", "w", *some, "--runs", 1)[0] == 0
    log = wk.read_swf("w/device.busy.open.0.swf.gz")
    (tmp_path / "theirs").mkdir()
    easy = wk.simulate(log, "easy").trace()
    wk.write_swf(easy, "theirs/device.busy.open.0.swf")
    one = ("--runs", 1, "--workers", 1, *some)
    theirs = ("--schedules", "theirs=theirs")
    code, out, _ = run("benchmark", "run", "sjf", "easy", *theirs, *one, "--json", "c.json")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:4]] == ["Entry", "sjf", "easy", "theirs"]
    assert run("benchmark", "workloads", "-o", "w", "--only", "grid", "--runs", 1)[0] == 0
    assert run("metasystem", "w/device.grid.open.0/metasystem.json")[0] == 0
    how = ("benchmark", "verify", "c.json", "--workers", 1, *some)
    assert run(*how, *theirs)[:2] == (0, "verified: 3 results made again\n")
    code, out, _ = run(*how)
    assert (code, out.splitlines()[-1]) == (0, "verified in part: 2 results made again")
    assert "not verified: 1 result, not made again: device.busy.open, theirs\n" in out
    wk.write_swf(easy.with_columns(wait=easy.column("wait") + 1), "theirs/device.busy.open.0.swf")
    code, out, _ = run(*how, *theirs)
    assert (code, out.splitlines()[0]) == (1, "device.busy.open, theirs: the schedules differ")
    (tmp_path / "theirs/device.busy.open.0.swf").unlink()
    code, out, _ = run("benchmark", "run", "easy", *theirs, *one, "-o", "page.html")
    assert code == 1
    assert "refused: theirs: device.busy.open, run 0: " in out
    assert "Why entries are refused." in (tmp_path / "page.html").read_text("utf-8")
    for arguments, why in (
        (("run", "--only", "none"), "unknown part of the suite 'none'"),
        (("run", "--process", "awk"), "--process is 'awk'; write NAME=COMMAND"),
        (("run", "--schedules", "a=none"), "none: is not a folder"),
        (("run", "easy", "easy", *one), "two entries have the name easy"),
        (("run", "home", *one), "no entry plays any of the cases"),
        (("verify", "w/device.busy.open.0.swf.gz"), "not JSON at column"),
    ):
        code, _, err = run("benchmark", *arguments)
        assert code in (1, 2)
        assert why in err
