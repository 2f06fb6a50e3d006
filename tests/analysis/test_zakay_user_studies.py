"""The study of feedback: how it judges, by made-up runs; and what it measures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import trace_path
from workloadkit.analysis.reproduction import Log, StudyInput, choose
from workloadkit.analysis.studies import zakay_feedback

CURIE = Log("CEA-Curie", "CEA-Curie-2011-2.1-cln")
KTH = Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))


def as_published(task):
    """Runs that are as the source's, give or take one in a hundred."""
    waits = {"conventional": 8755, "adjusted": 8364, "distribution": 11717, "fluid": 6389}
    queue = 10 if task.users == "conventional" else 5
    if task.scheduler == "fcfs":
        queue = 300 if task.users == "conventional" else 6
    cycle = {"conventional": 0.0, "adjusted": 0.3, "distribution": 0.4, "fluid": 0.1}[task.users]
    activity = {"distribution": 0.5, "fluid": 1.02}.get(task.users, 1.0)
    if task.scheduler == "fcfs":
        activity *= 1.1
    users = [0.05, 1.2, 0.9, 20.0]  # an even week, longest activity, jobs in time, queue of the log
    throughputs = [3.5] * len(zakay_feedback.THROUGHPUT.options)
    values = np.array([waits[task.users], queue, cycle, activity, *users, *throughputs])
    runs = [values * (1 + 0.01 * (-1) ** i) for i in range(task.runs)]
    table = pd.DataFrame(runs if task.runs > 1 else [values], columns=zakay_feedback.COLUMNS)
    return table.assign(random=task.users in zakay_feedback.RANDOM)


def feedback(change=lambda task, table: table, runs=6, **reading):
    asked = []

    def each(function, tasks):
        tasks = list(tasks)
        if function is zakay_feedback.followed:
            return [0.99] * len(tasks)
        asked.extend(tasks)
        return [change(task, as_published(task)) for task in tasks]

    plan = StudyInput([KTH], [CURIE], runs, choose(zakay_feedback.STUDY.axes, reading))
    found = list(zakay_feedback.compare(plan, each))
    here = {r.claim.quantity: r for r in found if r.log is KTH}
    return here, [r for r in found if r.log is CURIE], asked


def test_what_is_as_published_is_reproduced():
    found, missing, asked = feedback()
    assert {result.verdict for result in found.values()} == {"reproduced"}
    assert len(found) == 5 + 11 + 7 + 1
    assert [r.claim.published for r in missing] == [6989, 5073, 6141, 4395, 1]
    assert {r.verdict for r in missing} == {"input missing"}
    assert sorted(task.runs for task in asked) == [1, 1, 1, 6, 6, 6]


def test_the_jobs_of_a_last_batch_are_followed_by_none():
    jobs = {"submit": [0, 10, 3000, 3010, 9], "run": [60, 60, 60, 60, 60], "procs": [1] * 5}
    trace = wk.Trace.from_columns(jobs | {"wait": [0] * 5, "user": [1, 1, 1, 1, 2]})

    class Made(Log):
        def read(self):
            return trace

    assert zakay_feedback.followed(Made("A", "A-1"), None) == 2 / 5


def test_a_single_run_of_what_is_random_is_too_uncertain():
    found, _, _ = feedback(runs=1)
    assert found["mean wait, fluid users (s)"].verdict == "too uncertain"
    assert found["mean wait, adjusted users (s)"].verdict == "reproduced"


def test_one_deterministic_run_is_marked_and_shaken_ones_have_the_interval_of_chaos():
    found, _, _ = feedback()
    assert found["mean wait, adjusted users (s)"].note == "one run"
    assert found["mean wait, fluid users (s)"].note == ""

    def ten_times(task, table):
        if task.users not in zakay_feedback.RANDOM:
            table = pd.concat([table * (1 + 0.001 * i) for i in range(10)]).assign(random=False)
        return table

    found, _, _ = feedback(ten_times)
    result = found["mean wait, adjusted users (s)"]
    assert result.note == "interval of chaos, not of sampling"
    assert result.low < result.ours < result.high


def test_each_simulation_has_the_axes_that_matter_to_it():
    _, _, asked = feedback(sessions="24h", end="submit")
    axes = {task.users: dict(task.reading) for task in asked}
    assert axes["adjusted"] == {"spare": "none", "overrun": "late", "sessions": "24h"}
    assert axes["fluid"].keys() == {"spare", "overrun", "end", "skipped"}
    assert axes["conventional"] == axes["distribution"] == {"spare": "none", "overrun": "late"}


def test_throughput_by_each_option():
    jobs = {"submit": [0, 0, 3600, 7200], "run": [0, 1800, 1800, 7200], "wait": [0] * 4}
    played = wk.Trace.from_columns(jobs | {"procs": [1] * 4, "user": [1, 2, 1, 2]})
    found = zakay_feedback._throughputs(played, (0, 10800))
    assert found == pytest.approx(
        {
            "throughput_log": 1,  # three in three hours
            "throughput_most": 3 / ((5400 + 0.85 * 9000) / 3600),  # the 95th percentile of the ends
            "throughput_makespan": 1,
            "throughput_user": 1.5,  # of 2 jobs in 1 h and 2 in 2 h
        }
    )


def test_a_model_of_users_may_miss_the_wait_and_meet_the_direction():
    def doubled(task, table):
        factor = 2 if task.users == "conventional" else 1.2
        return table.assign(mean_wait=table["mean_wait"] * factor)

    found, _, _ = feedback(doubled)
    for users in ("conventional", "adjusted users", "fluid users"):
        assert found[f"mean wait, {users} (s)"].verdict == "contradicted"
    assert found["mean wait, fluid users over conventional"].verdict == "reproduced"


@pytest.mark.slow
def test_the_study_on_a_real_log():
    path = trace_path("KTH-SP2-1996-2")
    log = Log("KTH-SP2", "KTH-SP2-1996-2", path)

    def each(function, tasks):
        return [function(task, np.random.default_rng(1)) for task in tasks]

    plan = StudyInput([log], [], 2, choose(zakay_feedback.STUDY.axes))
    found = {r.claim.quantity: r for r in zakay_feedback.compare(plan, each)}
    adjusted = wk.simulate(log.read(), "easy:spare=none", "adjusted", overrun="late")
    ours = found["mean wait, adjusted users (s)"]
    assert ours.ours == pytest.approx(adjusted.metrics["mean_wait"], rel=0.1)
    assert ours.low < ours.ours < ours.high
    assert found["mean wait, conventional (s)"].ours == pytest.approx(8700, rel=0.05)
    assert found["mean queue, conventional over fluid, FCFS: huge"].ours > 2
