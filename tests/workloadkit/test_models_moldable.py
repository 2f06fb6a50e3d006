"""Downey's flexible jobs and speedup, and the requests of Cirne and Berman."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.oracles import models as oracle
from workloadkit.models import cirne, downey97, downey97_jobs, downey_speedup, moldable
from workloadkit.models.cirne import HOURS

SIGMAS = st.floats(0, 3)


@given(st.floats(1, 500), st.floats(1, 200), SIGMAS)
def test_speedup_agrees_with_the_paper(n, parallelism, sigma):
    expected = oracle.downey_speedup(n, parallelism, sigma)
    assert float(downey_speedup(n, parallelism, sigma)) == pytest.approx(expected, rel=1e-12)


@given(st.floats(1, 200), SIGMAS)
def test_speedup_grows_to_the_parallelism_and_never_faster_than_the_processors(parallelism, sigma):
    n = np.linspace(1, 700, 500)
    speedup = downey_speedup(n, parallelism, sigma)
    assert speedup[0] == pytest.approx(1)
    assert (np.diff(speedup) >= -1e-9).all()
    assert (speedup <= np.minimum(n, parallelism) * (1 + 1e-12)).all()
    assert speedup[-1] == parallelism or parallelism * (1 + sigma) > 700 - sigma


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 1), "procs is 0; it must be 1 or more"),
        ((1, 0.5, 1), "parallelism is 0.5"),
        ((1, 1, -1), "sigma is -1; it must be 0 or more"),
        ((1, float("nan"), 1), "parallelism is nan"),
        (("8", "x", 1), "numbers"),
    ],
)
def test_speedup_of_what_there_is_not(arguments, message):
    with pytest.raises(wk.ParameterError, match=message):
        downey_speedup(*arguments)


def test_flexible_jobs_are_log_uniform():
    drawn = downey97_jobs(50_000, 64, rng=1, shortest=10.0, longest=1e5)
    for values, low, high in (
        (drawn["work"], 10, 1e5),
        (drawn["parallelism"], 1, 64),
    ):
        assert low <= values.min() <= values.max() <= high
        share = np.log(values / low) / np.log(high / low)
        for q in (0.1, 0.5, 0.9):
            assert np.quantile(share, q) == pytest.approx(q, abs=0.01)
        # of a log-uniform distribution the mean is (high - low) / ln(high / low)
        assert values.mean() == pytest.approx((high - low) / np.log(high / low), rel=0.03)
    assert drawn["sigma"].mean() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(np.log(drawn[["work", "parallelism", "sigma"]].T))[0, 1:].max() < 0.03


def test_a_log_shows_the_jobs_on_their_parallelism():
    drawn, trace = downey97_jobs(500, 64, rng=2), downey97(500, 64, rng=2)
    size = np.rint(drawn["parallelism"])
    assert (trace.column("procs") == size).all()
    speedup = [
        oracle.downey_speedup(n, a, s)
        for n, a, s in zip(size, drawn["parallelism"], drawn["sigma"], strict=True)
    ]
    assert np.abs(trace.column("run") - drawn["work"] / speedup).max() <= 0.5
    assert np.abs(trace.column("submit") - drawn["submit"]).max() <= 0.5


def test_nights():
    submit = downey97(40_000, rng=3, night=0.25).column("submit")
    by_day = (submit // 3600 % 24 >= 8) & (submit // 3600 % 24 < 20)
    assert by_day.mean() == pytest.approx(0.8, abs=0.01)
    assert np.ptp(submit) / 40_000 == pytest.approx(7200, rel=0.02)
    nobody = downey97(4000, rng=3, night=0, load=0.5).column("submit")
    assert ((nobody // 3600 % 24 >= 8) & (nobody // 3600 % 24 <= 20)).all()


def test_wrong_parameters_of_downey():
    for how in (
        {"gap": -1},
        {"night": 2},
        {"shortest": 0},
        {"longest": 1.0},
        {"sigma": -0.5},
        {"sigma": "2"},
        {"night": None},
    ):
        for model in (downey97, downey97_jobs):
            with pytest.raises(wk.ParameterError, match=next(iter(how))):
                model(10, rng=1, **how)


def test_requests_have_their_distributions():
    trace = cirne(60_000, 64, rng=4)
    size, asked = trace.column("requested_procs"), trace.column("requested_time")
    assert (size == 1).mean() == pytest.approx(0.32, abs=0.01)
    parallel = size[size > 1]
    # uniform from 1 to 6: rounded to 2, 3, 4, 5 with a fifth, to 1 and 6 with a tenth
    power = (np.log2(parallel) % 1 == 0).mean()
    others = sum(np.diff(np.log2([n - 0.5, n + 0.5]))[0] for n in (4, 8, 16, 32)) / 5
    others += (np.log2(2.5) - 1 + 6 - np.log2(63.5)) / 5
    assert power == pytest.approx(0.7 + 0.3 * others, abs=0.01)
    share = np.log(asked / 300) / np.log(64800 / 300)
    assert np.quantile(share, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.01)


def test_accuracy_is_a_gamma_distribution_up_to_the_request():
    from scipy import stats

    trace = cirne(60_000, 64, rng=5)
    asked = trace.column("requested_time")
    long = trace.ran & (asked > 20_000)  # where whole seconds do not matter
    accuracy = trace.column("run")[long] / asked[long]
    law = stats.gamma(0.69, scale=0.51)
    assert accuracy.max() == 1
    assert (accuracy == 1).mean() == pytest.approx(law.sf(1), abs=0.01)
    for q in (0.1, 0.3, 0.7):
        assert (accuracy < q).mean() == pytest.approx(law.cdf(q), abs=0.012)


def test_cancelled_jobs_never_ran():
    trace = cirne(20_000, rng=6, cancelled=0.25)
    never = trace.column("status") == 5
    assert never.mean() == pytest.approx(0.25, abs=0.01)
    assert (trace.ran == ~never).all()
    assert wk.simulate(trace.take(range(300))).metrics["left_out"] == never[:300].sum()
    all_gone = cirne(20, rng=6, cancelled=1)
    assert not all_gone.ran.any()
    with pytest.raises(wk.ParameterError, match="cannot be set"):
        cirne(20, rng=6, cancelled=1, load=0.5)


def test_hours_of_requests():
    assert sum(HOURS) == pytest.approx(24, abs=0.01)
    submit = cirne(60_000, rng=7).column("submit")
    share = np.bincount((submit // 3600 % 24).astype(int), minlength=24) / submit.size
    assert share * 24 == pytest.approx(np.array(HOURS), abs=0.12)


def test_wrong_parameters_of_cirne():
    for how in (
        {"serial": -0.1},
        {"power2": 1.5},
        {"shortest": 1e9},
        {"accuracy_shape": 0},
        {"accuracy_scale": float("nan")},
        {"cancelled": "some"},
        {"gap": 0},
    ):
        with pytest.raises(wk.ParameterError, match="|".join(how)):
            cirne(10, rng=1, **how)


def test_a_job_is_as_it_was_in_the_request_that_was_made():
    trace = cirne(2000, 64, rng=8)
    requests = moldable(trace, rng=8)
    made = requests[requests["made"]]
    assert (made["row"] == np.flatnonzero(trace.ran)).all()
    for name, column in (("procs", "procs"), ("run", "run"), ("requested_time", "requested_time")):
        assert made[name].to_numpy() == pytest.approx(trace.column(column)[trace.ran])


def test_other_requests_are_faster_on_more_processors():
    trace = cirne(400, 48, rng=9)
    for row, requests in moldable(trace, rng=9).groupby("row"):
        size = trace.column("procs")[row]
        assert (np.diff(requests["run"]) < 0).all() or requests["run"].iloc[-1] == 0
        assert (np.log2(requests["procs"] / size) % 1 == 0).all()
        assert requests["procs"].between(1, 48).all()
        assert len(requests) == 1 or size > 1
        # the work never falls: no speedup is more than the processors
        work = (requests["run"] * requests["procs"]).to_numpy()
        assert (np.diff(work) >= -1e-6 * work[:-1]).all()


def test_the_parallelism_is_log_uniform_up_to_the_machine():
    n = 20_000
    log = wk.Trace.from_columns({"submit": range(n), "run": [100] * n, "procs": [4] * n})
    requests = moldable(log, 2, sigma=0, procs=16)
    # without variation 16 is faster than 8 where A, from 4 to 16, is above 8
    assert (requests["procs"] == 16).sum() / n == pytest.approx(0.5, abs=0.015)
    assert (requests["procs"] == 8).sum() == n


def test_a_job_larger_than_the_machine_keeps_its_size():
    log = wk.Trace.from_columns({"submit": [0], "run": [100], "procs": [32]})
    requests = moldable(log, 1, sigma=0, procs=16)
    assert requests["procs"].tolist() == [1, 2, 4, 8, 16, 32]
    assert requests["made"].tolist() == [False] * 5 + [True]
    assert requests["run"].tolist() == pytest.approx([3200, 1600, 800, 400, 200, 100])


def test_moldable_jobs_of_any_log():
    columns = {"submit": [0, 1, 2], "run": [60, -1, 10], "procs": [6, 4, 1], "job": [7, 8, 9]}
    log = wk.Trace.from_columns(columns)
    requests = moldable(log, 1, sigma=0, procs=16)
    assert requests["row"].tolist() == [0, 0, 0, 2]
    assert requests["job"].tolist() == [7, 7, 7, 9]
    assert requests["procs"].tolist() == [3, 6, 12, 1]
    assert requests["requested_time"].isna().all()
    # linear up to A, which is from 6 to 16
    assert requests["run"][0] == pytest.approx(120)
    with pytest.raises(wk.WorkloadError, match=r"specify the processors of the machine \(procs\)"):
        moldable(log)
    for wrong in ({"procs": 0}, {"procs": 1.5}, {"sigma": -1}, {"sigma": "x"}):
        with pytest.raises(wk.ParameterError):
            moldable(log, 1, **{"procs": 16} | wrong)
    for wrong in ((log.jobs,), (log, "seed")):
        with pytest.raises(wk.ParameterError):
            moldable(*wrong, procs=16)
