"""Closed and mixed models at one server against exact sums, for the floats as they are given."""

from fractions import Fraction

import numpy as np
import pytest

from tests.oracles import queueing_one_server as oracle
from tests.oracles.queueing_accuracy import error, worst
from workloadkit.queueing import closed, mixed

#: lam, N, Z, S where formulas lose digits, each in its own way.
NASTY = [
    (0.0, 1, 1e9, 1.0),
    (0.0, 1, 0.0, 1.0),
    (0.3, 1, 1e-12, 1.0),
    (0.0, 10, 10.0, 1.0),
    (0.5, 10, 20.0, 1.0),
    (0.0, 10, 1e6, 1.0),
    (0.0, 10, 1e9, 1.0),
    (0.25, 10, 1000.0, 1.0),
    (0.0, 1000, 1000.0, 1.0),
    (0.0, 1000, 1.0, 1.0),
    (0.0, 2000, 0.0, 1.0),
    (0.0, 2000, 1e9, 1.0),
    (1 - 1e-6, 10, 10.0, 1.0),
    (1 - 1e-6, 2000, 2e9, 1.0),
    (1 - 1e-6, 1, 1e9, 1.0),
    (0.999999 / 0.3, 50, 15e6, 0.3),
    (0.999999 / 3e-7, 7, 1e-3, 3e-7),
    (0.7, 1999, 6663.0, 1.0),
    (0.1, 3, 1e-300, 1.0),
    (1e-300, 5, 7.0, 1.0),
    (0.9e200, 5, 3e-199, 1e-200),
]
LARGE = [
    (0.0, 10**6, 1e6, 1.0),
    (0.0, 10**6, 1e6 - 2000, 1.0),
    (0.0, 10**6, 1e6 + 5000, 1.0),
    (0.0, 10**6, 1e9, 1.0),
    (0.0, 10**6, 1e3, 1.0),
    (0.5, 10**6, 0.0, 1.0),
    (0.5, 10**6, 2e6, 1.0),
    (1 - 1e-6, 10**6, 1e9, 1.0),
    (1 - 1e-6, 1001, 1e9, 1.0),
    (0.9, 10**5, 1.1e6, 1.0),
]


def drawn(count, most, seed):
    """Points over all orders of magnitude, many near saturation, where a is about N."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        N = int(10 ** rng.uniform(0, np.log10(most)))
        S = float(10 ** rng.uniform(-6, 6))
        share = rng.choice([0.0, rng.uniform(), 1 - 10 ** -rng.uniform(0, 6)])
        lam = float(share / S)
        a = N * max(0.0, 1 + rng.normal() * rng.choice([1, 5]) / np.sqrt(N))
        near = a / (1 / S - lam)
        Z = rng.choice(
            [0.0, S * 10 ** rng.uniform(-3, 9), min(near, 1e9 * S)], p=[0.04, 0.48, 0.48]
        )
        found.append((lam, N, float(Z), S))
    return found


def hold(points, exact, tolerance):
    """All measures of `mixed`, and of `closed` where nothing is open, at all points in one call."""
    lam, N, Z, S = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    both, alone = mixed(lam, N, Z, S), closed(N, Z, S)
    for i, point in enumerate(points):
        found = worst(both, exact(*point), i)
        assert found[0] <= tolerance, (point, *found)
        known = exact(0.0, *point[1:])
        known = {"X": known["Xc"], "R": known["Rc"], "Q": known["Qc"], "U": known["Uc"]}
        known["X_per_user"] = known["X"] / point[1]
        found = worst(alone, known, i)
        assert found[0] <= tolerance, (point, *found)


def test_nasty_points_against_everything_summed():
    hold(NASTY, oracle.measures_exact, 1e-12)


def test_points_at_random_against_everything_summed():
    hold(drawn(60, 300, 1), oracle.measures_exact, 1e-12)


def test_many_users_against_sums_around_the_likeliest():
    hold(LARGE + drawn(20, 10**6, 2), oracle.measures, 1e-12)


@pytest.mark.slow
def test_very_many_points():
    hold(drawn(1500, 2000, 3), oracle.measures_exact, 1e-12)
    hold(drawn(1500, 10**6, 4), oracle.measures, 1e-12)


def test_single_numbers_are_as_arrays():
    for point in NASTY[3:8]:
        result = mixed(*point)
        assert isinstance(result.Xc, float)
        assert worst(result, oracle.measures_exact(*point))[0] <= 1e-12


def test_the_sums_agree_with_one_another_and_with_mean_value_analysis():
    for lam, N, Z, S in [(0.3, 5, 2.0, 1.0), (0.999, 40, 3.0, 1.0), (0.1, 20, 17.3, 1.7)]:
        by_sum, by_recursion = (
            oracle.measures_exact(lam, N, Z, S),
            oracle.measures_mva(lam, N, Z, S),
        )
        cut = oracle.measures(lam, N, Z, S)
        for name, value in by_recursion.items():
            assert abs(by_sum[name] / value - 1) < Fraction(1, 10**90)
            assert abs(cut[name] / value - 1) < Fraction(1, 10**50)
        assert oracle.moment(1, lam, N, Z, S, "closed") == pytest.approx(cut["Rc"], rel=1e-15)
        assert oracle.moment(1, lam, N, Z, S, "open") == pytest.approx(cut["Ro"], rel=1e-15)


@pytest.mark.parametrize("point", [NASTY[4], NASTY[8], NASTY[12], (0.4, 60, 90.0, 1.0)])
def test_mean_value_analysis_is_the_same(point):
    result = mixed(*point, method="mva")
    assert worst(result, oracle.measures_exact(*point))[0] <= 1e-12
    alone = closed(*point[1:], method="mva")
    known = oracle.measures_exact(0.0, *point[1:])
    assert worst(alone, {"X": known["Xc"], "R": known["Rc"], "Q": known["Qc"]})[0] <= 1e-12


REAL = [
    (0.0, 0.5, 3.0, 1.0),
    (0.3, 10.5, 7.0, 1.0),
    (0.2, 500.25, 700.0, 1.0),
    (0.2, 1500.75, 100.0, 1.0),
    (0.999999, 2.5, 1e5, 1.0),
    (0.0, 99.9, 1e6, 1.0),
    (0.0, 30000.5, 29900.0, 1.0),
    (0.5, 1e-3, 2.0, 1.0),
]


@pytest.mark.parametrize("point", REAL)
def test_users_need_not_be_whole(point):
    known = oracle.measures_real(*point)
    known.pop("B")
    assert worst(mixed(*point), known)[0] <= 1e-12


def test_the_gamma_function_gives_the_blocking_of_real_users():
    for N, a in [(10.5, 5.6), (500.25, 560.0), (0.5, 3.0)]:
        by_gamma = oracle.measures_real(0, N, a, 1)["B"]
        assert abs(oracle.blocking_by_integral(N, a) / by_gamma - 1) < 1e-12


RESPONSES = [
    (0.0, 1, 5.0, 1.0),
    (0.3, 6, 4.0, 1.0),
    (0.5, 100, 200.0, 1.0),
    (1 - 1e-6, 20, 1e7, 1.0),
    (0.0, 10, 1e6, 1.0),
    (0.2, 40, 0.0, 2.0),
    (0.9, 400, 100.0, 1.0),
    (0.0, 50, 1e-3, 1e-3),
]


@pytest.mark.parametrize("job", ["closed", "open"])
def test_percentiles_against_the_mixture_of_erlang_laws(job):
    """The law is above 1 - q just before the percentile, and below just after."""
    shares = [1e-4, 0.5, 1 - 1e-9]
    for point in RESPONSES:
        found = mixed(*point).ppf(shares, job=job)
        for q, t in zip(shares, found, strict=True):
            left, step = 1 - Fraction(q), Fraction(1, 10**8)
            before = oracle.slower_than(Fraction(t) * (1 - step), *point, job)
            after = oracle.slower_than(Fraction(t) * (1 + step), *point, job)
            assert before > left > after, (point, q, t)


@pytest.mark.slow
@pytest.mark.parametrize("point", [(0.0, 10**5, 1e5, 1.0), (0.5, 10**6, 2e6, 1.0)])
def test_percentiles_with_many_users(point):
    for job in ("closed", "open"):
        for q in (0.01, 0.5, 0.99):
            t = mixed(*point).ppf(q, job=job)
            left, step = 1 - Fraction(q), Fraction(1, 10**8)
            before = oracle.slower_than(Fraction(t) * (1 - step), *point, job)
            assert before > left > oracle.slower_than(Fraction(t) * (1 + step), *point, job)


@pytest.mark.parametrize("job", ["closed", "open"])
def test_survival_and_moments_against_the_mixture(job):
    for point in RESPONSES:
        result = mixed(*point)
        mean = float(oracle.moment(1, *point, job))
        for t in (0.0, 0.1 * mean, mean, 3 * mean):
            known = oracle.slower_than(t, *point, job)
            if known > Fraction(1, 10**40):  # below it the oracle's cut is felt
                assert error(result.sf(t, job=job), known) < 1e-10, (point, t)
            assert result.cdf(t, job=job) == pytest.approx(float(1 - known), abs=1e-12, rel=1e-9)
        for order in (1, 2, 4):
            assert error(result.moment(order, job=job), oracle.moment(order, *point, job)) < 1e-11


SLOPES = [
    (0.3, 5, 2.0, 1.0),
    (0.0, 30, 29.0, 1.0),
    (0.9, 200, 1800.0, 1.0),
    (0.5, 3, 1000.0, 0.3),
    (0.2, 1000, 10.0, 1.0),
    (0.99, 10**4, 1e6, 1.0),
]


@pytest.mark.parametrize("point", SLOPES)
def test_derivatives_against_differences_of_fractions(point):
    result = mixed(*point)
    known = oracle.measures(*point)
    for wrt, value in zip(("lam", "Z", "S"), (point[0], point[2], point[3]), strict=True):
        for of in ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo"):
            exact = float(oracle.slope(of, wrt, *point))
            allowed = 1e-9 * abs(exact) + 1e-12 * abs(float(known[of])) / (value or 1)
            assert abs(result.derivative(of, wrt) - exact) <= allowed, (of, wrt)


@pytest.mark.parametrize("point", [SLOPES[0], SLOPES[1], SLOPES[3], (0.3, 7.5, 9.0, 1.0)])
def test_derivatives_in_the_number_of_users(point):
    result = mixed(*point)
    for of in ("Xc", "Rc", "Qc", "Ro"):
        assert error(result.derivative(of, "N"), oracle.slope_in_users(of, *point)) < 1e-9, of


def test_without_users_open_jobs_have_the_law_of_one_line():
    found = mixed(lam=0.5, N=0, Z=3, S=1)
    assert found.cdf([0, 1, 4], job="open") == pytest.approx(1 - np.exp([0, -0.5, -2]))
    assert np.isnan(found.cdf(1, job="closed"))


def test_values_at_the_edges():
    nobody = mixed(0.5, 0, 3.0, 1.0)
    assert (nobody.Xc, nobody.Qc, nobody.Uc) == (0, 0, 0)
    assert np.isnan(nobody.Rc)
    assert (nobody.Ro, nobody.Qo) == (2.0, 1.0)
    at_once = mixed(0.5, 4, 0.0, 1.0)
    assert (at_once.Xc, at_once.Rc, at_once.Ro) == (0.5, 8.0, 10.0)
    probed = mixed(0.0, 4, 2.0, 1.0)
    assert (probed.Qo, probed.Uo) == (0, 0)
    assert error(probed.Ro, oracle.measures_exact(0.0, 4, 2.0, 1.0)["Ro"]) < 1e-15
    quick = mixed(0.5, 4, 2.0, 0.0)
    assert (quick.Xc, quick.Rc, quick.Qc, quick.Ro, quick.Qo, quick.Uc) == (2.0, 0, 0, 0, 0, 0)
