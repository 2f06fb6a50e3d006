"""Experiments that end when their intervals are narrow enough."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.experiments.intervals import mean_interval
from workloadkit.experiments.results import Results
from workloadkit.experiments.stopping import relative_width, stages
from workloadkit.settings import ExperimentSettings


@pytest.fixture(scope="module")
def log():
    """Three whole weeks of few jobs on 8 processors."""
    rng = np.random.default_rng(5)
    submit = np.sort(rng.integers(0, 3 * WEEK + 50_000, 120))
    submit[0], submit[-1] = 0, 3 * WEEK + 50_000
    run = np.rint(rng.lognormal(10, 1.5, submit.size))
    jobs = {"submit": submit, "run": run, "procs": rng.integers(1, 9, submit.size)}
    header = wk.Header(("; MaxProcs: 8",))
    return wk.Trace.from_columns(jobs, header=header, name="three weeks")


def experiment(log, **settings):
    options = ExperimentSettings(metrics=["mean_wait"], rng=3, **settings)
    return wk.Experiment({"log": log}, ["fcfs", "easy"], settings=options)


def results_of(waits):
    """Results of schedulers with these waits in each run."""
    runs = [
        {"load": 1.0, "run": i, "scheduler": name, "saturated": False, "mean_wait": wait}
        for name, values in waits.items()
        for i, wait in enumerate(values)
    ]
    return Results(pd.DataFrame(runs), ("mean_wait",), 0.95, {}, len(runs))


def test_looks_are_few_and_end_with_the_most():
    for most in (20, 21, 100, 1000):
        looks = stages(most)
        assert looks[0] == 20
        assert looks[-1] == most
        assert looks == sorted(set(looks))
        assert len(looks) <= 2 + math.log(most / 20) / math.log(1.25)
        assert stages(most, begun=most) == [most]


def test_the_width_is_that_of_the_difference_relative_to_the_baseline():
    waits = {"fcfs": [10.0, 20.0, 40.0], "easy": [9.0, 15.0, 36.0]}
    difference = np.subtract(waits["easy"], waits["fcfs"])
    _, low, high = mean_interval(difference)
    results = results_of(waits)
    assert relative_width(results) == pytest.approx((high - low) / 2 / np.mean(waits["fcfs"]))
    assert relative_width(results, "easy") == pytest.approx((high - low) / 2 / 20)
    _, low, high = mean_interval(waits["fcfs"], positive=True)
    alone = results_of({"fcfs": waits["fcfs"]})
    assert relative_width(alone) == pytest.approx((high - low) / 2 / np.mean(waits["fcfs"]))
    assert relative_width(results_of({"fcfs": [0.0, 0.0], "easy": [0.0, 0.0]})) == 0
    assert relative_width(results_of({"fcfs": [0.0, 0.0], "easy": [0.0, 1.0]})) == math.inf
    assert relative_width(results_of({"fcfs": [1.0], "easy": [2.0]})) == math.inf


def test_an_experiment_ends_at_the_first_look_that_is_narrow_enough(log, tmp_path):
    whole = experiment(log, runs=32).run()

    def width(n):
        return relative_width(replace(whole, runs=whole.runs[whole.runs["run"] < n]))

    wanted = max(width(25), width(32)) * 1.0001
    expected = next(n for n in stages(32) if width(n) <= wanted)
    until = experiment(log, runs=32, precision=wanted)
    results = until.run(tmp_path / "kept")
    pd.testing.assert_frame_equal(
        results.runs, whole.runs[whole.runs["run"] < expected].reset_index(drop=True)
    )
    assert results.provenance["runs"] == expected
    file = tmp_path / "kept" / "results.parquet"
    first = file.read_bytes()
    pd.testing.assert_frame_equal(until.run(tmp_path / "kept").runs, results.runs)
    assert file.read_bytes() == first
    narrow = experiment(log, runs=32, precision=min(width(n) for n in stages(32)) / 2)
    pd.testing.assert_frame_equal(narrow.run(tmp_path / "kept").runs, whole.runs)


def test_wrong_precisions_are_refused(log):
    for value, text in (
        ("x", "write 2% or 0.02"),
        ("%", "write 2% or 0.02"),
        ("-1%", "lies between 0 and 1"),
        (1, "lies between 0 and 1"),
        (math.nan, "precision"),
    ):
        with pytest.raises(ParameterError, match=text):
            ExperimentSettings(runs=20, precision=value)
    assert ExperimentSettings(runs=20, precision="2 %").precision == 0.02
    with pytest.raises(ParameterError, match="of 20 or more"):
        ExperimentSettings(runs=19, precision=0.1)
    with pytest.raises(ParameterError, match="no part knows all runs"):
        experiment(log, runs=20, precision=0.1).run(shard=(1, 2))
    with pytest.raises(ParameterError, match="did you mean easy"):
        experiment(log, runs=20, precision=0.1).run(baseline="eazy")


@pytest.mark.slow
def test_the_coverage_of_intervals_that_stop_an_experiment_is_as_stated():
    rng = np.random.default_rng(1)
    sigma = np.sqrt(np.exp(1) * (np.exp(1) - 1))
    shapes = {
        "normal": lambda size: rng.normal(0, 1, size),
        "exponential": lambda size: rng.exponential(1, size) - 1,
        "lognormal": lambda size: (rng.lognormal(0, 1, size) - np.exp(0.5)) / sigma,
    }
    least = {"normal": 0.935, "exponential": 0.88, "lognormal": 0.84}
    most = {"normal": 0.965, "exponential": 0.95, "lognormal": 0.92}
    times = 1500
    for name, draw in shapes.items():
        for spread in (0.05, 0.1, 0.2, 0.5):  # with a precision of 5 %: from 20 runs to some 440
            held = 0
            for _ in range(times):
                differences = draw(3000) * spread + 0.1
                for n in stages(3000):
                    _, low, high = mean_interval(differences[:n])
                    if (high - low) / 2 <= 0.05:  # the baseline's mean is 1
                        break
                held += low <= 0.1 <= high
            assert least[name] <= held / times <= most[name], (name, spread)
