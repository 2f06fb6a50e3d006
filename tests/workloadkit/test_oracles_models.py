"""Logs of the statistical models against the laws of their papers."""

import math
import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.oracles import models as oracle

#: Parameters on 128 processors, from Lublin and Feitelson (2003): shares of serial jobs and of
#: powers of two, two-stage uniform distribution, run times (pa, pb and the two gammas).
LUBLIN = {
    "batch": (
        (0.2927, 0.6686),
        (1.2, 5.0, 7.0, 0.875),
        (-0.003, 0.6986, (6.57, 0.823), (639.1, 0.0156)),
        (6.1271, 5.2740),
    ),
    "interactive": (
        (0.1541, 0.625),
        (1.0, 3.0, 5.5, 0.705),
        (-0.0118, 0.9156, (3.8351, 0.6605), (7.073, 0.6856)),
        (8.9186, 3.6680),
    ),
    "one": (
        (0.244, 0.576),
        (0.8, 4.5, 7.0, 0.86),
        (-0.0054, 0.78, (4.2, 0.94), (312.0, 0.03)),
        (8.1737, 3.9631),
    ),
}


def sizes_of(kind):
    shares, uniform, _, _ = LUBLIN[kind]
    return oracle.lublin_sizes(*shares, oracle.two_stage_uniform(*uniform), 128)


@pytest.fixture(scope="module", params=LUBLIN)
def lublin(request):
    return request.param, wk.models.lublin(60_000, 128, rng=5, types=request.param)


def errors(sample, n=4.5):
    return n * np.std(sample) / math.sqrt(len(sample))


def test_sizes_have_their_distribution(lublin):
    kind, trace = lublin
    procs = trace.column("procs")
    chances = sizes_of(kind)
    assert sum(chances.values()) == pytest.approx(1)
    mean = sum(n * chance for n, chance in chances.items())
    assert np.mean(procs) == pytest.approx(mean, abs=errors(procs))
    count = Counter(procs.tolist())
    for n, chance in chances.items():
        sd = math.sqrt(trace.n_jobs * chance * (1 - chance))
        assert count[n] == pytest.approx(trace.n_jobs * chance, abs=4.5 * sd + 1)
    binary = [math.log2(n) for n in procs if n > 1 and not oracle.is_power_of_two(int(n))]
    assert binary  # rounding moves them by little
    middle = oracle.mean_of_two_stage_uniform(*LUBLIN[kind][1])
    assert np.mean(np.log2(procs[procs > 1])) == pytest.approx(middle, abs=0.1)


def test_run_times_have_the_moments_of_their_logarithms(lublin):
    kind, trace = lublin
    known = trace.column("run") > 0
    logs = np.log(np.maximum(trace.column("run"), 0.5))
    mean, sd = oracle.lublin_log_runs(sizes_of(kind), *LUBLIN[kind][2])
    assert known.mean() > 0.97
    assert np.mean(logs) == pytest.approx(mean, abs=errors(logs) + 0.02)  # whole seconds
    assert np.std(logs) == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("size", [1, 8, 32])
def test_run_times_depend_on_the_size(lublin, size):
    kind, trace = lublin
    logs = np.log(np.maximum(trace.column("run")[trace.column("procs") == size], 0.5))
    pa, pb, one, other = LUBLIN[kind][2]
    mean, _ = oracle.hyper_gamma(pa * size + pb, one, other, 12)
    assert np.mean(logs) == pytest.approx(mean, abs=errors(logs) + 0.02)


def test_arrivals_follow_the_cycle_of_the_day(lublin):
    kind, trace = lublin
    shares = oracle.lublin_half_hours(*LUBLIN[kind][3])
    submit = trace.column("submit")
    assert trace.header.time_zone is not None  # second 0 is a midnight in its zone
    found = Counter(int(time % 86400 // 1800) for time in submit)
    for part, share in enumerate(shares):
        assert found[part] / trace.n_jobs == pytest.approx(share, abs=0.006)


def test_the_laws_are_those_published():
    # Lublin and Feitelson's program, 400,000 jobs: serial, powers of two, mean size, mean and
    # standard deviation of the logarithm of the run time.
    published = {
        "one": (0.244, 0.869, 12.15, 5.487, 2.94),
        "batch": (0.294, 0.969, 13.82, 6.941, 2.74),
        "interactive": (0.155, 0.845, 8.05, 2.944, 1.65),
    }
    for kind, (serial, power, size, mean, sd) in published.items():
        chances = sizes_of(kind)
        assert chances[1] == pytest.approx(serial, abs=0.01)
        of_two = sum(chance for n, chance in chances.items() if oracle.is_power_of_two(n))
        assert of_two == pytest.approx(power, abs=0.01)
        assert sum(n * chance for n, chance in chances.items()) == pytest.approx(size, rel=0.01)
        found = oracle.lublin_log_runs(chances, *LUBLIN[kind][2])
        assert found == pytest.approx((mean, sd), rel=0.01)


@pytest.mark.parametrize("procs", [1, 7, 64, 1000])
def test_other_machines_are_not_exceeded(procs):
    trace = wk.models.lublin(3000, procs, rng=1)
    sizes = trace.column("procs")
    assert 1 <= sizes.min() <= sizes.max() <= procs


@pytest.mark.parametrize("sigma", [0, 0.5, 1, 1.0000001, 2, 10])
def test_a_speedup_is_continuous_and_saturates(sigma):
    for a in (1, 2, 5.5, 40):
        for n in (a, 2 * a - 1, a + a * sigma - sigma):
            near = oracle.downey_speedup(n - 1e-9, a, sigma)
            assert oracle.downey_speedup(n + 1e-9, a, sigma) == pytest.approx(near, abs=1e-6)
        assert oracle.downey_speedup(1, a, sigma) == pytest.approx(1)
        assert oracle.downey_speedup(1e9, a, sigma) == a


@given(st.floats(1, 200), st.floats(1, 100), st.floats(0, 4))
def test_the_speedup_is_downeys(n, a, sigma):
    found = float(wk.models.downey_speedup(n, a, sigma))
    assert found == pytest.approx(oracle.downey_speedup(n, a, sigma), rel=1e-12)


def test_flexible_jobs_are_log_uniform():
    drawn = wk.models.downey97_jobs(20_000, 64, rng=1)
    for name, low, high in (("work", 2.4, 6.2e6), ("parallelism", 1, 64)):
        logs = np.log(drawn[name])
        mean, sd = oracle.log_uniform(low, high)
        assert np.mean(logs) == pytest.approx(mean, abs=errors(logs))
        assert np.std(logs) == pytest.approx(sd, rel=0.02)
    assert np.mean(drawn["sigma"]) == pytest.approx(1, abs=errors(drawn["sigma"]))
    assert np.std(drawn["sigma"]) == pytest.approx(2 / math.sqrt(12), rel=0.02)

    trace = wk.models.downey97(20_000, 64, rng=1)
    rows = zip(
        trace.column("procs").tolist(),
        trace.column("run").tolist(),
        drawn["work"],
        drawn["parallelism"],
        drawn["sigma"],
        strict=True,
    )
    for procs, run, work, a, sigma in rows:
        assert abs(procs - a) <= 0.5
        assert abs(run - work / oracle.downey_speedup(procs, a, sigma)) <= 0.5 + 1e-6


@pytest.mark.slow
def test_sizes_are_harmonic_and_runs_are_repeated():
    trace = wk.models.feitelson96(30_000, 128, rng=2)
    jobs = {}
    for row in trace.jobs[["executable", "submit", "run", "procs"]].itertuples(index=False):
        jobs.setdefault(row.executable, []).append(row)
    whole = [runs for runs in jobs.values() if runs[-1].submit < trace.column("submit")[-1] * 0.9]
    first = [runs[0] for runs in whole]
    count = Counter(run.procs for run in first)
    chances = oracle.harmonic_sizes(128, 1.5, 5)
    for n, chance in chances.items():
        sd = math.sqrt(len(first) * chance * (1 - chance))
        assert count[n] == pytest.approx(len(first) * chance, abs=4.5 * sd + 1)
    for n in (1, 2, 64, 128):
        p = 0.95 - 0.2 * n / 128
        sample = [run.run for run in first if run.procs == n]
        assert np.mean(sample) == pytest.approx(p * 600 + (1 - p) * 4200, abs=errors(sample))
    for runs in jobs.values():
        assert len({(run.run, run.procs) for run in runs}) == 1
        for before, after in pairwise(runs):
            assert abs(after.submit - before.submit - before.run) <= 1  # rounded
    repeats = Counter(len(runs) for runs in whole)
    for r in (1, 2, 3, 4):
        chance = oracle.zipf(r, 2.5)
        sd = math.sqrt(len(whole) * chance * (1 - chance))
        assert repeats[r] == pytest.approx(len(whole) * chance, abs=4.5 * sd)


def test_requests_are_of_random_accuracy():
    trace = wk.models.cirne(30_000, 128, rng=3)
    requested, run = trace.column("requested_time"), trace.column("run")
    ran = trace.ran
    assert 1 - ran.mean() == pytest.approx(0.1, abs=4.5 * math.sqrt(0.09 / 30_000))
    assert set(trace.column("status")[~ran]) == {5}
    assert (run[ran] <= requested[ran]).all()
    logs = np.log(requested)
    mean, sd = oracle.log_uniform(300, 64_800)
    assert np.mean(logs) == pytest.approx(mean, abs=errors(logs))
    assert np.std(logs) == pytest.approx(sd, rel=0.02)
    accuracy = run[ran] / requested[ran]
    expected = oracle.mean_of_gamma_cut_at_one(0.69, 0.51)
    assert np.mean(accuracy) == pytest.approx(expected, abs=errors(accuracy) + 0.001)
    sizes = trace.column("requested_procs")
    if not (sizes > 0).any():
        sizes = trace.used_procs
    assert np.mean(sizes == 1) == pytest.approx(0.32, abs=0.04)


# Hyper-Erlang distributions of classes of sizes.


def test_a_fitted_log_has_the_first_three_moments_of_each_class():
    sample = wk.load_sample()
    jobs = [
        (submit, run, procs)
        for submit, run, procs, ran in zip(
            sample.column("submit").tolist(),
            sample.column("run").tolist(),
            sample.used_procs.tolist(),
            sample.ran.tolist(),
            strict=True,
        )
        if ran
    ]
    matched = 0
    for found in wk.models.fit_jann97(sample):
        of = [(submit, run) for submit, run, procs in jobs if found.low <= procs <= found.high]
        submits, runs = zip(*of, strict=True)
        gaps = [after - before for before, after in pairwise(submits)]
        for values, law in ((gaps, found.gap), (runs, found.run)):
            moments = [math.fsum(x**k for x in values) / len(values) for k in (1, 2, 3)]
            have = [
                oracle.hyper_erlang_moment(k, law.weights, law.orders, law.rates) for k in (1, 2, 3)
            ]
            assert have[0] == pytest.approx(moments[0], rel=1e-6)
            assert len(set(law.orders)) == 1
            if len(law.weights) == 2:
                assert have == pytest.approx(moments, rel=1e-5)
                matched += 1
    assert matched >= 4


def test_a_log_of_classes_has_their_means():
    classes = wk.models.fit_jann97(wk.load_sample())
    trace = wk.models.jann97(40_000, 96, rng=4, classes=classes)
    procs, run = trace.column("procs"), trace.column("run")
    for found in classes:
        inside = (found.low <= procs) & (procs <= found.high)
        law = found.run
        mean = oracle.hyper_erlang_moment(1, law.weights, law.orders, law.rates)
        assert np.mean(run[inside]) == pytest.approx(mean, abs=errors(run[inside]) + 0.5)
        gaps = np.diff(trace.column("submit")[inside])
        law = found.gap
        mean = oracle.hyper_erlang_moment(1, law.weights, law.orders, law.rates)
        assert np.mean(gaps) == pytest.approx(mean, abs=errors(gaps) + 0.5)


# Estimates.


@pytest.mark.parametrize(("n_jobs", "hours"), [(10_000, 36), (40_000, 160)])
def test_most_jobs_have_one_of_twenty_estimates(n_jobs, hours):
    trace = wk.Trace.from_columns(
        {"submit": range(n_jobs), "run": [60] * n_jobs, "procs": [1] * n_jobs}
    )
    laid = wk.models.add_estimates(trace, rng=5, max_estimate=3600 * hours)
    count = Counter(laid.column("requested_time").tolist())
    expected = oracle.shares_of_popular_estimates()
    assert sum(expected.values()) == pytest.approx(89)
    popular = [100 * n / n_jobs for _, n in count.most_common(20)]
    assert sum(popular) == pytest.approx(89, abs=0.5)
    assert popular == pytest.approx(list(expected.values()), abs=0.15)
    assert count.most_common(1)[0][0] == max(count) == 3600 * hours
    # Some of the tail are so rare that none of the jobs has them.
    assert len(count) <= oracle.number_of_estimates(n_jobs) + 1
    assert len(count) >= 0.5 * oracle.number_of_estimates(n_jobs)
    for hours_of in (1, 2, 4, 10, 12):
        assert 3600 * hours_of in dict(count.most_common(20))
    assert min(count) > 0


@given(st.lists(st.integers(0, 7200), min_size=1, max_size=60), st.integers(0, 99))
def test_no_estimate_is_below_its_run_time(runs, seed):
    n_jobs = len(runs)
    trace = wk.Trace.from_columns({"submit": range(n_jobs), "run": runs, "procs": [1] * n_jobs})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)  # where the model has too short ones
        laid = wk.models.add_estimates(trace, rng=seed, max_estimate=7200)
    estimates = laid.column("requested_time")
    assert (estimates >= trace.column("run")).all()
    assert estimates.max() <= 7200
    np.testing.assert_array_equal(laid.column("run"), trace.column("run"))


# Loads.


def offered(trace, machine):
    work = math.fsum(
        run * procs
        for run, procs, ran in zip(
            trace.column("run").tolist(),
            trace.used_procs.tolist(),
            trace.ran.tolist(),
            strict=True,
        )
        if ran
    )
    submit = trace.column("submit")
    return work / machine / (submit[-1] - submit[0])


@pytest.mark.parametrize("load", [0.3, 0.7, 1.1])
@pytest.mark.parametrize("name", ["lublin", "feitelson96", "jann97", "downey97", "tsafrir"])
def test_models_are_given_the_load_asked_for(name, load):
    trace = wk.models.known()[name](2000, 64, rng=6, load=load)
    assert offered(trace, 64) == pytest.approx(load, rel=1e-3)


@pytest.mark.parametrize("by", ["arrivals", "machine"])
def test_a_log_is_given_the_load_asked_for(by):
    sample = wk.load_sample()
    for load in (0.4, 0.9):
        how = {} if by == "machine" else {"procs": 96}
        made = wk.models.scale_load(sample, load, by, **how)
        machine = made.header.procs if by == "machine" else 96
        assert offered(made, machine) == pytest.approx(load, abs=0.51 * load / machine)


@pytest.mark.parametrize("load", [0.4, 0.5, 0.9])
def test_by_users_the_load_is_met_as_near_as_a_user_allows(load):
    sample = wk.load_sample()
    submit = sample.column("submit")
    area = 96 * (submit[-1] - submit[0])
    work = Counter()
    for user, run, procs, ran in zip(
        sample.column("user").tolist(),
        sample.column("run").tolist(),
        sample.used_procs.tolist(),
        sample.ran.tolist(),
        strict=True,
    ):
        work[user] += run * procs if ran else 0
    made = wk.models.scale_load(sample, load, "users", rng=7, procs=96)
    assert offered(made, 96) == pytest.approx(load, abs=max(work.values()) / area / 2 + 0.002)
