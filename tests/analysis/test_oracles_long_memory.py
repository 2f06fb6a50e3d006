"""Estimators of the Hurst parameter, and the noise they are tried on, against their definitions."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles import long_memory as oracle
from tests.small_logs import logs, trace_of
from workloadkit.analysis.memory import arrivals_per_unit, fractional_gaussian_noise
from workloadkit.analysis.memory.arrivals import autocovariance, without_cycle
from workloadkit.analysis.memory.hurst_parameter import estimate_hurst
from workloadkit.clock import Clock

PARAMETERS = [0.2, 0.5, 0.6, 0.75, 0.9, 0.99]


def counts(rng, n):
    """Bursts of arrivals with empty hours between."""
    return rng.poisson(rng.choice([0, 0, 0.3, 4], n // 8 + 1).repeat(8)[:n])


def walk(rng, n):
    """Steps in quarters: H beyond the bound."""
    return np.cumsum(rng.integers(-2, 3, n)) / 4


def noise(rng, n):
    return fractional_gaussian_noise(n, 0.8, rng=rng)


@pytest.fixture(
    params=[(counts, 256), (counts, 389), (walk, 300), (noise, 257)],
    ids=lambda made: f"{made[0].__name__}-{made[1]}",
)
def series(request):
    make, n = request.param
    return make(np.random.default_rng(n), n).tolist()


def standard(x):
    """The series given mean 0 and variance 1."""
    sd = math.sqrt(oracle.variance(x))
    return [(value - oracle.mean(x)) / sd for value in x]


def slope_on_logarithmic_axes(points):
    return oracle.slope([(math.log(a), math.log(b)) for a, b in points])


def are_a_factor_apart(sizes):
    """Whether sizes ascend by about 1.2: of whole numbers that far apart, none is missing."""
    return all(a < b <= max(1.2 * a + 1, a + 1) for a, b in pairwise(sizes))


@pytest.mark.parametrize(
    ("method", "point", "estimate"),
    [
        ("aggregated_variance", oracle.aggregated_variance, lambda slope: 1 + slope / 2),
        ("absolute_moments", oracle.absolute_moment, lambda slope: 1 + slope),
        ("dfa", oracle.fluctuation, lambda slope: slope),
    ],
    ids=["aggregated_variance", "absolute_moments", "dfa"],
)
def test_blocks_and_boxes(series, method, point, estimate):
    found = estimate_hurst(series, method)
    sizes = found.points["scale"].astype(int).tolist()
    values = [point(standard(series), size) for size in sizes]
    np.testing.assert_allclose(found.points["value"], values, rtol=1e-9)
    slope = slope_on_logarithmic_axes(zip(sizes, values, strict=True))
    assert found.estimate == pytest.approx(estimate(slope), abs=1e-9)
    assert sizes[0] == found.parameters["smallest"]
    assert are_a_factor_apart(sizes)


def test_rescaled_range(series):
    found = estimate_hurst(series, "rs")
    n = len(series)
    points = []
    for size, ours in found.points.groupby("scale")["value"]:
        begins = {(n - int(size)) * k // 9 for k in range(10)}
        windows = [series[begin : begin + int(size)] for begin in begins]
        expected = sorted(oracle.rescaled_range(w) for w in windows if len(set(w)) > 1)
        np.testing.assert_allclose(sorted(ours), expected, rtol=1e-9)
        points += [(size, value) for value in expected]
    assert found.estimate == pytest.approx(slope_on_logarithmic_axes(points), abs=1e-9)
    assert are_a_factor_apart(sorted({size for size, _ in points}))


def test_periodogram(series):
    found = estimate_hurst(series, "periodogram")
    m = found.parameters["bandwidth"]
    assert m == len(series) // 20
    frequencies = [oracle.frequency(j, len(series)) for j in range(1, m + 1)]
    powers = [oracle.periodogram(standard(series), j) for j in range(1, m + 1)]
    np.testing.assert_allclose(found.points["scale"], frequencies)
    np.testing.assert_allclose(found.points["value"], powers, rtol=1e-7)
    expected = oracle.periodogram_slope(standard(series), m)
    assert found.estimate == pytest.approx(expected, abs=1e-7)


def test_regression_on_the_lowest_frequencies(series):
    found = estimate_hurst(series, "gph")
    m = int(len(series) ** 0.65)
    assert found.parameters == {"bandwidth": m}
    assert found.estimate == pytest.approx(oracle.gph(standard(series), m), abs=1e-7)


def test_local_whittle(series):
    found = estimate_hurst(series)
    m = int(len(series) ** (2 / 3))
    assert found.parameters == {"bandwidth": m}
    expected = min(oracle.local_whittle(standard(series), m), 0.99)
    assert found.estimate == pytest.approx(expected, abs=2e-4)


def test_whittle(series):
    found = estimate_hurst(series, "whittle")
    x = standard(series)
    assert abs(oracle.whittle(x, [k / 20 for k in range(1, 20)]) - found.estimate) <= 0.05
    if not found.at_bound:
        near = [found.estimate + k / 500 for k in range(-3, 4)]
        assert oracle.whittle(x, near) == found.estimate


def test_wavelets(series):
    found = estimate_hurst(series, "wavelet")
    smallest = found.parameters["smallest"]
    octaves = oracle.wavelet_energies(standard(series))
    expected = {scale: energy for scale, energy, _ in octaves if scale >= smallest}
    points = dict(zip(found.points["scale"], found.points["value"], strict=True))
    assert points == pytest.approx(expected, rel=1e-9)
    estimate = oracle.abry_veitch(standard(series), smallest)
    assert found.estimate == pytest.approx(estimate, abs=1e-9)


@pytest.mark.parametrize("H", PARAMETERS)
def test_autocovariance(H):
    lags = [0, 1, 2, 3, 17, 1000]
    expected = [oracle.autocovariance(H, lag) for lag in lags]
    np.testing.assert_allclose(autocovariance(lags, H), expected, rtol=1e-6, atol=1e-15)


class OneAtATime(np.random.Generator):
    """Draws zeros for standard normal numbers, but a one at the place chosen."""

    def __init__(self, place):
        super().__init__(np.random.PCG64(0))
        self.place = place
        self.drawn = 0

    def standard_normal(self, size=None, **_):
        values = np.zeros(size)
        place = self.place - self.drawn
        self.drawn += values.size
        if 0 <= place < values.size:
            values.flat[place] = 1
        return values


@pytest.mark.parametrize("H", PARAMETERS)
@pytest.mark.parametrize("n", [1, 2, 7, 16])
def test_noise_has_exactly_its_covariances(n, H):
    # The noise is linear in the normal numbers that it is made of: one of them at a time shows
    # the columns of the matrix A for which the covariance is A A'.
    first = OneAtATime(0)
    rows = [fractional_gaussian_noise(n, H, rng=first)]
    others = range(1, first.drawn)
    rows += [fractional_gaussian_noise(n, H, rng=OneAtATime(place)) for place in others]
    exact = [[oracle.autocovariance(H, i - j) for i in range(n)] for j in range(n)]
    np.testing.assert_allclose(np.transpose(rows) @ rows, exact, atol=1e-12)


@examples(50)
@given(logs(), st.sampled_from([1, 7, 0.75, 20]))
def test_arrivals(jobs, unit):
    counts = arrivals_per_unit(trace_of(jobs), unit)
    assert counts.to_dict() == oracle.arrivals(jobs, unit)


@pytest.mark.parametrize(("days", "unit"), [(20, 3600), (27.9, 1800), (29, 3600), (60, 7200)])
def test_what_is_left_without_cycle(days, unit):
    submits = np.random.default_rng(7).integers(5000, days * 86400, 3000)
    jobs = [{"submit": int(submit)} for submit in np.sort(submits)]
    trace = trace_of(jobs)
    counts = arrivals_per_unit(trace, unit)
    expected = oracle.without_cycle(oracle.arrivals(jobs, unit), unit)
    left = without_cycle(counts, Clock.of(trace))
    assert left.to_dict() == pytest.approx(expected, abs=1e-9)
