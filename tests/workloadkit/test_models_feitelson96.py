"""Feitelson's model of 1996: sizes, run times and repetitions against their closed forms."""

import sys

import numpy as np
import pytest
from scipy.special import zeta

import workloadkit as wk
from workloadkit.models import feitelson96

MODULE = sys.modules[feitelson96.__module__]


def test_sizes_fall_as_a_power_and_prefer_powers_of_two():
    size = feitelson96(60_000, 16, rng=1, repeat_order=40.0).column("procs")
    weights = np.arange(1.0, 17) ** -1.5
    weights[[1, 3, 7, 15]] *= 5
    share = np.bincount(size.astype(int), minlength=17)[1:] / size.size
    assert share == pytest.approx(weights / weights.sum(), abs=0.008)


def test_the_shares_that_the_documentation_names():
    weights = np.arange(1.0, 129) ** -1.5
    power = np.log2(np.arange(1, 129)) % 1 == 0
    weights[power & (weights < 1)] *= 5
    weights /= weights.sum()
    assert weights[0] == pytest.approx(0.216, abs=0.001)
    assert weights[power].sum() == pytest.approx(0.808, abs=0.001)


@pytest.mark.parametrize("size", [1, 8, 64])
def test_run_times_are_hyper_exponential(size):
    trace = feitelson96(200_000, 64, rng=2, repeat_order=40.0, size_order=0, power2=5)
    run = trace.column("run")[trace.column("procs") == size]
    p = 0.95 - 0.2 * size / 64
    assert run.mean() == pytest.approx(p * 600 + (1 - p) * 4200, rel=0.04)
    above = p * np.exp(-3000 / 600) + (1 - p) * np.exp(-3000 / 4200)
    assert (run > 3000).mean() == pytest.approx(above, abs=0.012)


def test_jobs_are_run_so_many_times():
    # first runs are so far apart that all runs of a job come before the next
    trace = feitelson96(40_000, rng=3, gap=1e6, short=1.0, long=1.0)
    runs = trace.jobs["executable"].value_counts()
    for r in (1, 2, 3, 5):
        assert (runs == r).mean() == pytest.approx(r**-2.5 / zeta(2.5), abs=0.01)


def test_runs_of_a_job_are_alike_and_follow_at_once():
    trace = feitelson96(1500, rng=4)
    for _, runs in trace.jobs.groupby("executable"):
        assert runs["run"].nunique() == runs["procs"].nunique() == 1
        gaps = np.diff(runs["submit"])
        assert np.abs(gaps - runs["run"].iloc[0]).max(initial=0) <= 1  # whole seconds
    assert trace.jobs["executable"].nunique() < 1200


def test_no_run_is_missing_before_the_end():
    # of a job run often, all runs until the end of the log are there
    trace = feitelson96(3000, rng=5, repeat_order=1.2, gap=100.0)
    often = trace.jobs["executable"].value_counts().index[0]
    runs = trace.jobs[trace.jobs["executable"] == often]
    left = trace.column("submit")[-1] - runs["submit"].iloc[-1]
    assert left <= runs["run"].iloc[0] + 1 or len(runs) < 3000


def test_endless_repetition_takes_no_more_than_is_requested():
    trace = feitelson96(20_000, rng=5, repeat_order=1.01)
    assert trace.n_jobs == 20_000
    for _, runs in trace.jobs.groupby("executable"):
        assert np.abs(np.diff(runs["submit"]) - runs["run"].iloc[0]).max(initial=0) <= 1


def test_a_load_moves_first_runs_only():
    trace = feitelson96(2000, rng=6, load=0.5)
    often = trace.jobs["executable"].value_counts().index[0]
    runs = trace.jobs[trace.jobs["executable"] == often]
    assert np.abs(np.diff(runs["submit"]) - runs["run"].iloc[0]).max() <= 1


def test_a_machine_too_large_to_list_its_sizes():
    with pytest.raises(wk.ParameterError, match="procs is 100000000; this model supports at most"):
        feitelson96(10, 10**8, rng=1)


def test_a_load_that_no_gap_gives():
    with pytest.raises(wk.ParameterError, match="load is 3; the maximum for these jobs"):
        feitelson96(2000, rng=6, load=3, gap=400)


def test_wrong_parameters():
    for how in (
        {"gap": 0},
        {"gap": "60"},
        {"size_order": -1},
        {"power2": 0},
        {"short": float("inf")},
        {"long": -5},
        {"short_serial": 1.1},
        {"short_drop": 0.99},
        {"repeat_order": 1},
        {"repeat_order": None},
    ):
        with pytest.raises(wk.ParameterError, match=next(iter(how))):
            feitelson96(10, rng=1, **how)


def test_the_largest_machine_whose_sizes_are_listed(monkeypatch):
    monkeypatch.setattr(MODULE, "_MOST_PROCS", 64)
    assert feitelson96(10, 64, rng=1).header.procs == 64
    with pytest.raises(wk.ParameterError, match="procs is 65; this model supports at most 64"):
        feitelson96(10, 65, rng=1)


def test_of_no_processors_but_one_all_jobs_are_serial_and_two_are_preferred():
    assert MODULE.size_probabilities(1, 1.5, 5.0).tolist() == [1]
    assert MODULE.size_probabilities(2, 1.0, 5.0).tolist() == [1, 2.5]
    assert MODULE.size_probabilities(3, 1.0, 6.0).tolist() == pytest.approx([1, 3, 1 / 3])
