"""Logs of the statistical models against the laws of their papers."""

import math
from collections import Counter

import numpy as np
import pytest

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
