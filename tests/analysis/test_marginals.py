import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import accuracy, marginals
from workloadkit import Trace

VALUES = st.lists(st.floats(0, 1e9), min_size=1)


@given(VALUES)
def test_percentiles_agree_with_their_definition(values):
    numbers = marginals.describe(values)
    ordered = sorted(values)
    for p in marginals.PERCENTILES:
        place = (len(ordered) - 1) * p / 100
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        expected = low + (high - low) * (place - math.floor(place))
        assert numbers[f"p{p}"] == pytest.approx(expected)


@given(VALUES)
def test_moments_agree_with_their_definition(values):
    numbers = marginals.describe([*values, np.nan])
    n = len(values)
    mean = math.fsum(values) / n
    assert (numbers["count"], numbers["known"]) == (n, n / (n + 1))
    assert numbers["mean"] == pytest.approx(mean)
    assert (numbers["min"], numbers["max"]) == (min(values), max(values))
    if n > 1:
        sd = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (n - 1))
        assert numbers["sd"] == pytest.approx(sd, abs=1e-6)


def test_nothing_known_gives_a_count_of_0_and_else_nan():
    numbers = marginals.describe([np.nan, np.nan])
    assert (numbers["count"], numbers["known"]) == (0, 0)
    assert np.isnan(numbers["mean"])
    assert np.isnan(numbers["p50"])


@given(VALUES)
def test_cumulative_shares_agree_with_counting(values):
    shares = marginals.cumulative_shares({"run": values}, n_points=20)
    for value, share in shares["run"].items():
        assert share == sum(x <= value for x in values) / len(values)
    assert shares["run"].iloc[-1] == 1


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 100)), min_size=1))
def test_size_classes_agree_with_counting(jobs):
    procs, run = (np.array(column) for column in zip(*jobs, strict=True))
    work = procs * run
    classes = marginals.size_classes(procs, work)
    assert classes["low"].tolist()[1:] == (classes["high"] + 1).tolist()[:-1]
    for row in classes.itertuples():
        inside = (procs >= row.low) & (procs <= row.high)
        assert row.power_of_two == pytest.approx(np.mean(procs == row.high))
        assert row.other == pytest.approx(np.mean(inside & (procs != row.high)))
        assert row.work * max(work.sum(), 1) == pytest.approx(work[inside].sum())


def test_only_jobs_that_ran_are_measured():
    log = {"submit": [0, 1, 2], "run": [5, np.nan, 7], "procs": [2, 2, 0], "wait": [95, 1, 1]}
    samples = marginals.quantities(Trace.from_columns(log))
    assert samples["run"].tolist() == [5]
    assert samples["bounded_slowdown"].tolist() == [10]


@given(st.lists(st.floats(0, 3), min_size=1))
def test_the_histogram_of_accuracy_agrees_with_counting(ratio):
    bins = accuracy.accuracy_histogram(np.array(ratio), n_bins=4)
    for i, row in enumerate(bins.itertuples()):
        n = sum(row.above < x <= row.to or (i == 0 and x == 0) for x in ratio)
        assert row.share == n / len(ratio)


def test_accuracy_counts_what_it_says():
    log = {"submit": range(6), "run": [100, 95, 120, 5, 50, 1], "procs": [1] * 6}
    log["requested_time"] = [100, 100, 100, 100, 100, np.nan]
    section = accuracy.section(Trace.from_columns(log))
    assert section.values["n_jobs"] == 5
    assert section.values["above_estimate"] == 0.2
    assert section.values["within_10_percent"] == 0.4
    assert section.values["below_10_percent"] == 0.2
    assert section.values["n_estimates"] == 1
    assert section.notes == ("Left out: 1 job that ran without an estimate.",)
