"""The study of feedback: how it judges, by made-up runs; and what it measures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from analysis.studies import Log, zakay_feedback
from tests.data import trace_path

KTH = Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))


def as_published(task):
    """Runs that are as the source's, give or take one in a hundred."""
    waits = {"open": 8755, "adjusted": 8364, "distribution": 11717, "fluid": 6389}
    users = task.users.partition(":")[0]
    queue = 10 if task.users == "open" else 5
    if task.scheduler == "fcfs":
        queue = 300 if task.users == "open" else 6
    cycle = {"open": 0.0, "adjusted": 0.3, "distribution": 0.4, "fluid": 0.1}[users]
    activity = {"open": 1.0, "adjusted": 1.0, "distribution": 0.5, "fluid": 1.02}[users]
    values = np.array([waits[users], queue, cycle, activity])
    runs = [values * (1 + 0.01 * (-1) ** i) for i in range(task.runs)]
    return pd.DataFrame(runs if task.runs > 1 else [values], columns=zakay_feedback.COLUMNS)


def feedback(change=lambda task, table: table, runs=6):
    def each(function, tasks):
        return [change(task, as_published(task)) for task in tasks]

    return {r.quantity: r for r in zakay_feedback.compare([KTH], runs, each)}


def test_what_is_as_published_is_held():
    found = feedback()
    assert {result.verdict for result in found.values()} == {"held"}
    assert len(found) == 9 + 6 + 7
    fit = found[
        "mean factor between the fluid waits and the published, end=submit, skipped=recycle"
    ]
    assert fit.ours == pytest.approx(1, abs=1e-9)
    assert fit.note.endswith("the nearest of the six")
    assert found["mean wait, adjusted (s)"].note == (
        "0.96 times the conventional wait there, 0.96 here"
    )


def test_a_model_of_users_may_miss_the_wait_and_meet_the_direction():
    def doubled(task, table):
        return table.assign(mean_wait=table["mean_wait"] * (2 if task.users == "open" else 1.2))

    found = feedback(doubled)
    assert found["mean wait, conventional (s)"].verdict == "not held"
    assert found["mean wait, adjusted (s)"].verdict == "direction only"
    assert found["mean wait, distribution based (s)"].verdict == "not held"  # below the double
    assert found["mean wait, fluid, end=end, skipped=reinsert (s)"].verdict == "direction only"


@pytest.mark.slow
def test_the_study_on_a_real_log():
    path = trace_path("KTH-SP2-1996-2")
    log = Log("KTH-SP2", "KTH-SP2-1996-2", path)

    def each(function, tasks):
        return [function(task, np.random.default_rng(1)) for task in tasks]

    found = {r.quantity: r for r in zakay_feedback.compare([log], 2, each)}
    adjusted = wk.simulate(log.read(), "easy", "adjusted")
    assert found["mean wait, adjusted (s)"].ours == adjusted.metrics["mean_wait"]
    queue = found["mean queue, conventional over fluid, FCFS: huge"]
    assert queue.verdict == "held"
