"""The study of F1 to F4: its sequences, its readings, its orders, and the study on a small log."""

import heapq
import math

import numpy as np
import pytest

import workloadkit as wk
from tests.data import DATA, needs_traces
from workloadkit.analysis import studies
from workloadkit.analysis.reproduction import ALL_LOGS, choose, find_logs, run_study
from workloadkit.analysis.studies import carastan
from workloadkit.analysis.studies.carastan import FUNCTIONS, HEURISTICS, SETTINGS, STUDY, Sequences


def log10(x):
    return math.log10(max(x, 1))


#: The smallest first: of run time, processors, submit time and wait, as the source has them.
ORDERS = {
    "FCFS": lambda r, n, s, w: 0,
    "WFP3": lambda r, n, s, w: -((w / r) ** 3) * n,
    "UNICEF": lambda r, n, s, w: -w / (max(math.log2(n), 1) * r),
    "SPT": lambda r, n, s, w: r,
    "F1": lambda r, n, s, w: log10(r) * n + 870 * log10(s),
    "F2": lambda r, n, s, w: math.sqrt(r) * n + 25600 * log10(s),
    "F3": lambda r, n, s, w: r * n + 6.86e6 * log10(s),
    "F4": lambda r, n, s, w: r * math.sqrt(n) + 5.3e5 * log10(s),
}


def mean_slowdown(jobs, procs, order):
    """Mean bounded slowdown of jobs (submit, run, procs), none of which overtakes the first."""
    free, waiting, ends, coming, slowdowns = procs, [], [], 0, []
    while coming < len(jobs) or ends:
        now = min(
            [end for end, _ in ends[:1]] + [submit for submit, *_ in jobs[coming : coming + 1]]
        )
        while ends and ends[0][0] == now:
            free += heapq.heappop(ends)[1]
        while coming < len(jobs) and jobs[coming][0] == now:
            waiting.append(jobs[coming])
            coming += 1
        waiting.sort(key=lambda job: (order(max(job[1], 1), job[2], job[0], now - job[0]), job[0]))
        while waiting and waiting[0][2] <= free:
            submit, run, n = waiting.pop(0)
            free -= n
            heapq.heappush(ends, (now + run, n))
            slowdowns.append(max(1, (now - submit + run) / max(run, 10)))
    return sum(slowdowns) / len(slowdowns)


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """The sample in place of one log, and sequences of a week."""
    monkeypatch.setattr(carastan, "LENGTH", 7 * 86400.0)
    wk.write_swf(wk.load_sample(), tmp_path / "CTC-SP2-1996-3.1-cln.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        return find_logs(STUDY.logs, tmp_path)


def sequences(log, runs, since="log"):
    task = Sequences(log, runs, choose(STUDY.axes, {"since": since}))
    return list(carastan._sequences(task, np.random.default_rng(1)))


def test_sequences_of_a_log_are_whole_and_spread_over_it(logs):
    every = sequences(logs[0], 1000)
    jobs = logs[0].read()
    weeks = (jobs.column("submit")[jobs.ran] - jobs.column("submit")[jobs.ran][0]) // (7 * 86400)
    assert [part.n_jobs for part in every] == [(weeks == week).sum() for week in range(len(every))]
    assert len(every) == weeks[-1]  # without the last, which the end of the log cuts
    first, middle, last = sequences(logs[0], 3)
    assert first.column("job")[0] == every[0].column("job")[0]
    assert middle.column("job")[0] == every[(len(every) - 1) // 2].column("job")[0]
    assert last.column("job")[0] == every[-1].column("job")[0]


def test_sequences_of_the_model_have_estimates_and_follow_each_other(logs):
    parts = sequences(None, 3)
    assert len(parts) == 3
    for part in parts:
        assert part.column("procs").max() <= carastan.PROCS
        assert (part.column("requested_time") >= part.column("run")).all()
    ends = [(part.column("submit")[0], part.column("submit")[-1]) for part in parts]
    assert ends == sorted(ends)
    assert ends[0][1] < ends[1][0]


def test_times_from_the_first_job_of_a_sequence(logs):
    second = sequences(logs[0], 1000)[1]
    assert carastan._submitted(second, "log") is second
    moved = carastan._submitted(second, "sequence").column("submit")
    assert moved[0] == 0
    assert (np.diff(moved) == np.diff(second.column("submit"))).all()


@pytest.mark.slow
def test_orders_are_those_of_a_program_of_its_own(logs):
    (jobs,) = sequences(None, 1)
    columns = (jobs.column(name).tolist() for name in ("submit", "run", "procs"))
    listed = list(zip(*columns, strict=True))
    for name, scheduler in (HEURISTICS | FUNCTIONS).items():
        ours = carastan._slowdown(jobs, scheduler, carastan.KNOWN)
        expected = mean_slowdown(listed, carastan.PROCS, ORDERS[name])
        assert ours == pytest.approx(expected, rel=1e-12), name


@pytest.mark.slow
def test_the_study_on_a_small_log(logs):
    findings = run_study(studies.load_study("carastan"), logs, runs=2, rng=1)
    found = {(r.log.name, r.claim.quantity): r for r in findings.results}
    pairs = len(SETTINGS) * len(FUNCTIONS) * len(HEURISTICS)
    assert len(found) == len(findings.results) == pairs * (1 + len(STUDY.logs)) + len(FUNCTIONS)
    slowdowns = [
        [
            wk.simulate(part, scheduler, estimates="user", overrun="late", oversize="drop").metrics[
                "mean_bounded_slowdown"
            ]
            for part in sequences(logs[0], 2)
        ]
        for scheduler in ("f2", "easy")
    ]
    words = "mean bounded slowdown, F2 over FCFS: estimates, backfilling (%)"
    result = found["CTC-SP2", words]
    expected = np.exp(np.mean(np.log(np.divide(*slowdowns)))) - 1
    assert result.ours == pytest.approx(100 * expected)
    assert result.note.startswith("medians of 2 sequences: F2 ")
    assert math.isnan(found["CEA-Curie", words].ours)
    assert found["CEA-Curie", words].verdict == "input missing"
    assert all(r.verdict != "input missing" for r in findings.results if r.log is ALL_LOGS)
    assert [d.name for d in findings.drawings] == [
        "slowdown-by-order-model",
        "slowdown-by-order-ctc-sp2",
    ]
    drawing = findings.drawings[0]
    labels = [label.get_text() for label in drawing.plot(drawing.data).get_yticklabels()]
    assert labels == [*HEURISTICS, *FUNCTIONS]


@needs_traces
@pytest.mark.slow
def test_more_directions_hold_with_submit_times_of_the_log():
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = find_logs(STUDY.logs, DATA / "traces")
    held = {}
    for since in ("log", "sequence"):
        findings = run_study(STUDY, logs, runs=20, reading={"since": since}, rng=0)
        verdicts = [r.verdict for r in findings.results if r.claim.kind == "direction"]
        held[since] = verdicts.count("reproduced"), verdicts.count("contradicted")
    assert held["log"][0] > held["sequence"][0] + 10
    assert held["log"][1] < held["sequence"][1] - 5
