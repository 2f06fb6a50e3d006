"""Shaken logs and stationary segments against what defines them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import shaking as oracle
from tests.oracles.resampling import WEEK
from workloadkit.fields import NAMES

jobs_of_few_users = st.lists(
    st.fixed_dictionaries(
        {
            "submit": st.integers(-3, 60).map(lambda n: 600 * n) | st.integers(0, 9000),
            "wait": st.integers(0, 5000),
            "run": st.integers(-1, 5000),
            "procs": st.just(1),
            "user": st.sampled_from([-1, 1, 2, 3]),
        }
    ),
    min_size=1,
    max_size=25,
).map(lambda jobs: sorted(jobs, key=lambda job: job["submit"]))


def trace_of(jobs):
    return wk.Trace.from_columns(
        {name: [job[name] for job in jobs] for name in ("submit", "wait", "run", "procs", "user")}
    )


@examples(80)
@pytest.mark.filterwarnings("ignore:.*so jobs move individually:workloadkit.WorkloadWarning")
@given(
    jobs=jobs_of_few_users,
    unit=st.sampled_from(["job", "batch", "session", "user"]),
    by=st.sampled_from([0, 60, 60.0, 1000]),
    seed=st.integers(0, 99),
)
def test_every_unit_moves_as_a_whole_and_not_too_far(jobs, unit, by, seed):
    trace = trace_of(jobs)
    shaken = wk.shake(trace, unit, by, rng=seed)
    submits = shaken.column("submit").tolist()
    assert submits == sorted(submits)
    numbers = shaken.column("job").tolist()
    assert sorted(numbers) == sorted(trace.column("job").tolist())
    rows = [number - 1 for number in numbers]
    for name in set(NAMES) - {"submit"}:
        np.testing.assert_array_equal(shaken.column(name), trace.column(name)[rows])
    moved = dict(zip(rows, submits, strict=True))
    for piece in oracle.units(jobs, unit):
        shifts = {moved[row] - jobs[row]["submit"] for row in piece}
        assert len(shifts) == 1
        (shift,) = shifts
        assert oracle.lowest_shift(jobs, piece, by) <= shift <= by
        assert shift == int(shift)
    if unit in ("session", "user"):
        for user in (1, 2, 3):
            of_user = [row for row in rows if jobs[row]["user"] == user and jobs[row]["run"] >= 0]
            # Sessions are more than an hour apart, so that shifts of up to half of it keep order.
            assert of_user == sorted(of_user)


def test_shifts_are_uniform_and_independent():
    n = 40_000
    trace = wk.Trace.from_columns({"submit": 1000 + 500 * np.arange(n)})
    shaken = wk.shake(trace, "job", 60, rng=1)
    shifts = shaken.column("submit") - trace.column("submit")
    assert min(shifts) == -60
    assert max(shifts) == 60
    assert np.mean(shifts) == pytest.approx(0, abs=5 * np.std(shifts) / math.sqrt(n))
    # Of 121 whole seconds, or of all numbers, rounded.
    assert np.std(shifts) == pytest.approx(60 / math.sqrt(3), rel=0.03)
    assert np.corrcoef(shifts[1:], shifts[:-1])[0, 1] == pytest.approx(0, abs=5 / math.sqrt(n))


def test_decimals_stay_decimals():
    trace = wk.Trace.from_columns({"submit": [1000.5, 2000.25, 3000]})
    shaken = wk.shake(trace, "job", 60, rng=1)
    assert all(time != int(time) for time in shaken.column("submit"))


# Segments.


def weekly(counts, runs=None):
    """A log with so many jobs in each week, at different seconds, with so long run times."""
    runs = runs or [60] * len(counts)
    submit, run = [], []
    for week, (count, length) in enumerate(zip(counts, runs, strict=True)):
        submit += [week * WEEK + (i + (week > 0)) * WEEK / (count + 2) for i in range(count)]
        run += [length] * count
    return wk.Trace.from_columns(
        {"submit": submit, "run": run, "procs": [2] * len(run), "user": range(1, len(run) + 1)}
    )


@pytest.mark.parametrize("change", [20, 31, 40])
def test_a_change_is_found_in_its_week(change):
    rng = np.random.default_rng(change)
    counts = [int(n) for n in [*rng.poisson(20, change), *rng.poisson(80, 60 - change)]]
    found = wk.stationary_segments(weekly(counts), of=["jobs"], hurst=0.5)
    assert len(found) == 2
    assert abs(found["week"][1] - change) <= 1
    assert wk.stationary_segments(weekly(counts), of=["jobs"], penalty=math.inf).shape[0] == 1


def test_what_does_not_change_is_not_cut():
    for seed in range(5):
        counts = [int(n) for n in np.random.default_rng(seed).poisson(30, 80)]
        assert len(wk.stationary_segments(weekly(counts))) == 1


def test_three_levels_are_three_segments_whose_means_are_theirs():
    rng = np.random.default_rng(3)
    counts = [int(n) for mean in (100, 20, 60) for n in rng.poisson(mean, 25)]
    runs = [int(n) for n in rng.integers(50, 70, 75)]
    trace = weekly(counts, runs)
    found = wk.stationary_segments(trace, of=["jobs"], hurst=0.5)
    assert len(found) == 3
    assert found["week"].tolist() == pytest.approx([0, 25, 50], abs=1)
    for first, n_weeks, mean, work in zip(
        found["week"], found["weeks"], found["jobs"], found["work"], strict=True
    ):
        inside = range(first, first + n_weeks)
        assert mean == pytest.approx(sum(counts[week] for week in inside) / n_weeks)
        total = sum(counts[week] * runs[week] * 2 for week in inside)
        assert work == pytest.approx(total / n_weeks)
    parts = wk.segments(trace, at=[25, 50])
    assert [part.n_jobs for part in parts] == [
        sum(counts[:25]),
        sum(counts[25:50]),
        sum(counts[50:]),
    ]
    together = np.concatenate([part.column("submit") for part in parts])
    np.testing.assert_array_equal(together, trace.column("submit"))
