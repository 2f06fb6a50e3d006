"""The study of the queueing chapter: how it measures, what it claims, what it finds."""

import numpy as np
import pandas as pd
import pytest

from workloadkit.analysis.reproduction import ALL_LOGS, run_study
from workloadkit.analysis.studies import load_study
from workloadkit.analysis.studies.zakay_queueing import simulations
from workloadkit.analysis.studies.zakay_queueing import theory as at
from workloadkit.analysis.studies.zakay_queueing.constant_p import (
    compare_closed,
    compare_growing,
    compare_relations,
    compare_think_time,
    lies,
    lies_far,
    reaches,
)
from workloadkit.analysis.studies.zakay_queueing.simulations import PointTask, simulate
from workloadkit.analysis.studies.zakay_queueing.theory import predict

pytestmark = pytest.mark.slow


def test_numbers_there_are_counted_by_hand():
    since, until = pd.Series([0.0, 2.0, 8.0]), pd.Series([4.0, 3.0, 20.0])
    assert simulations._mean_number(since, until, 2.0, 10.0) == (2 + 1 + 2) / 8


@pytest.fixture
def short(monkeypatch):
    """Fewer users than the source had."""
    for name, value in {"USERS": 2000, "BEFORE": 200, "AFTER": 200}.items():
        monkeypatch.setattr(simulations, name, value)
    monkeypatch.setattr(simulations, "MEASURED", 5000.0)


def test_a_simulated_point_obeys_the_laws(short):
    runs = simulate(PointTask(at.reopened(0.5, 0.36), 4), np.random.default_rng(1))
    assert len(runs) == 4
    mean = runs.mean()
    assert mean["X"] == pytest.approx(0.5 / 0.64, rel=0.05)
    assert mean["U"] == pytest.approx(mean["X"], rel=0.05)
    assert mean["L"] == pytest.approx(mean["X"] * mean["W"], rel=0.05)
    assert mean["R"] == pytest.approx(mean["W"] + 1, rel=0.05)
    assert mean["jobs_per_user"] == pytest.approx(1 / 0.64, rel=0.05)
    assert mean["run_last"] == pytest.approx(mean["run_continued"], rel=0.05)
    # A user's time is all responses, and the think times between them.
    expected = mean["jobs_per_user"] * mean["R"] + (mean["jobs_per_user"] - 1)
    assert mean["time_per_user"] == pytest.approx(expected, rel=0.05)


def test_a_closed_point_obeys_the_laws(short):
    mean = simulate(PointTask(at.CLOSED[4], 4), np.random.default_rng(1)).mean()
    assert mean["Xc"] * (mean["Rc"] + 5) == pytest.approx(5, rel=0.03)


def test_shares_of_run_times_fall_from_one(short):
    runs = simulate(PointTask(at.reopened(0.8, at.EXPONENTIAL), 2), np.random.default_rng(1))
    for name in ("last", "continued"):
        shares = runs.filter(like=f"{name}:").to_numpy()
        assert shares.shape == (2, len(simulations.TIMES))
        assert shares[:, 0].min() > 0.99
        assert (np.diff(shares, axis=1) <= 0).all()


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([1.001, 0.999, 1.0], "reproduced"),
        ([1.03, 1.031, 1.032], "reproduced"),  # 1 is not in the interval, but all of it is near
        ([1.02, 1.08, 1.05], "too uncertain"),
        ([1.2, 1.21, 1.22], "contradicted"),
        ([1.2], "too uncertain"),
        ([1.0], "too uncertain"),
    ],
)
def test_a_value_is_reached_within_five_percent(ours, verdict):
    result = reaches("Figure 1", "value", 1.0, pd.Series(ours))
    assert (result.log, result.claim.place, result.claim.kind) == (ALL_LOGS, "Figure 1", "ours")
    assert result.claim.agrees == (0.95, 1.05)
    assert result.verdict == verdict


@pytest.mark.parametrize(
    ("ours", "side", "verdicts"),
    [
        ([2.5, 2.6, 2.7], "above", ["reproduced", "reproduced"]),
        ([1.5, 1.6, 1.7], "above", ["reproduced", "contradicted"]),
        ([0.5, 0.6, 0.7], "above", ["contradicted", "contradicted"]),
        ([0.6, 0.61, 0.62], "below", ["reproduced", "contradicted"]),
        ([0.1, 0.11], "below", ["reproduced", "reproduced"]),
        ([0.1], "below", ["too uncertain", "too uncertain"]),
    ],
)
def test_a_direction_and_how_far_are_two_claims(ours, side, verdicts):
    found = [*lies_far("Figure 1", "change", side, pd.Series(ours))]
    assert [result.claim.kind for result in found] == ["direction", "ours"]
    assert [result.claim.published for result in found] == [1, 2 if side == "above" else 0.5]
    assert [result.verdict for result in found] == verdicts


def test_a_bound_is_open():
    at_it = pd.Series([0.25, 0.25])
    assert lies("section 1", "growth", "above", 0.25, at_it, kind="bound").verdict == "contradicted"


def test_formulas_give_waits_by_hand():
    row = predict([at.reopened(0.5, 0.36)]).iloc[0]
    X = 0.5 / 0.64
    assert (row["X"], row["U"], row["R"]) == pytest.approx((X, X, 1 / (1 - X)))
    assert (row["W"], row["L"]) == pytest.approx((X / (1 - X), X**2 / (1 - X)))


def as_the_formulas_say(points):
    """Four runs of each point, one in a thousand more or less."""
    runs = {}
    for point in dict.fromkeys(points):
        row = predict([point])
        runs[point] = pd.concat([row * (1 + x / 1000) for x in (-1, 1, -1, 1)], ignore_index=True)
    return runs


def test_what_the_formulas_say_of_constant_p_is_held():
    closed = as_the_formulas_say([*at.CLOSED, *at.FEW_AND_MANY, at.BATCH])
    reopened = as_the_formulas_say([*at.GROWING, *at.ARRIVING, *sum(at.THINKING.values(), ())])
    reopened[at.BEYOND] = pd.DataFrame({"growth": [0.7, 0.72]})
    found = [*compare_closed(closed), *compare_think_time(reopened)]
    found += [*compare_growing(reopened), *compare_relations(reopened)]
    for result in found:
        if result.note.startswith("theory"):
            assert result.ours == pytest.approx(float(result.note.split()[1]), rel=1e-3)
    # what the chapter forgets: users who think for longer do less, and p makes them go on
    contradicted = [r.claim.quantity for r in found if r.verdict == "contradicted"]
    assert contradicted == [
        "p = 0.36: throughput per user without impact, Z = 10 over Z = 0.1",
        "p = 0.47: throughput per user without impact, Z = 10 over Z = 0.1",
        "p from 0 to 0.48: users send the same number of jobs",
    ]
    assert {r.verdict for r in found} == {"reproduced", "contradicted"}
    assert sum(r.claim.main for r in found) == 4


@pytest.mark.slow
def test_what_the_chapter_says_and_the_figures_that_it_draws(tmp_path):
    study = load_study("zakay-queueing")
    findings = run_study(study, [], runs=4, rng=1)
    words = ("throughput per user", "same number", "Shmueli")
    contradicted = [r.claim.quantity for r in findings.results if r.verdict == "contradicted"]
    assert len(findings.results) > 80
    assert len(contradicted) <= 12, contradicted
    assert all(any(word in quantity for word in words) for quantity in contradicted)
    assert len(findings.main) == 8
    assert not [r for r in findings.main if r.verdict == "contradicted"]
    names = [drawing.name for drawing in findings.drawings]
    assert names == [f"figure-{n}" for n in range(3, 9)]
    for drawing in findings.drawings:
        files = drawing.save(tmp_path)
        assert all(file.stat().st_size > 10_000 for file in files)
        theory = drawing.data[drawing.data["made_by"] == "theory"]
        assert len(theory) > 20
