"""Forms of p(r) and of the think time: values, limits, means over exponential responses, errors."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats

from workloadkit.queueing import breaks, exponential, hyperbolic, reopen, table
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import as_probability, as_think
from workloadkit.queueing.reopening.thinkers import phase_averages
from workloadkit.queueing.response_function import averaged

RATES = np.array([0.0, 1e-6, 0.1, 1.0, 1e3, np.inf])


@given(floats(1e-12, 1e12))
def test_the_mean_of_the_hyperbola_is_the_exponential_integral(y):
    expected = 0.8 * mp.mpf(y) * mp.exp(y) * mp.e1(y) if y < 1e6 else 0.8 * (1 - 1 / mp.mpf(y))
    found = hyperbolic(0.8, 0.5).mean_exponential(np.asarray(y * 0.5))
    assert found == pytest.approx(float(expected), rel=1e-12 if y < 1e6 else 1e-11)


@pytest.mark.parametrize(
    "form", [exponential(0.7), hyperbolic(0.8, 0.5), table([1, 3, 9], [0.9, 0.6, 0.1])]
)
def test_means_agree_with_quadrature(form):
    assert form.mean_exponential(RATES) == pytest.approx(averaged(form.at_times, RATES), abs=1e-9)


def test_a_function_with_a_jump_is_averaged_exactly():
    jump = as_probability(lambda r: 0.8 if r < 3 else 0.1)
    expected = 0.1 + 0.7 * -np.expm1(-3 * RATES[:-1])
    assert jump.mean_exponential(RATES[:-1]) == pytest.approx(expected, abs=1e-11)
    assert jump.limit == 0.1
    assert jump.falls


def test_derivatives_of_functions_agree_with_those_of_the_forms():
    form, own = hyperbolic(0.8, 0.5), as_probability(lambda r: 0.8 / (0.5 * r + 1))
    r = np.array([0.0, 0.1, 1.0, 10.0, 100.0])
    assert own.slope(r) == pytest.approx(form.slope(r), rel=1e-8)
    assert own.curvature(r) == pytest.approx(form.curvature(r), rel=1e-3)


@pytest.mark.parametrize(
    ("form", "p"),
    [
        (exponential(0.7), lambda r: mp.exp(-0.7 * r)),
        (hyperbolic(0.8, 0.5), lambda r: 0.8 / (0.5 * r + 1)),
    ],
)
def test_derivatives_are_those_of_the_definitions(form, p):
    for r in (0.3, 2.0, 9.0):
        assert form.slope(np.asarray(r)) == pytest.approx(float(mp.diff(p, r)), rel=1e-9)
        assert form.curvature(np.asarray(r)) == pytest.approx(float(mp.diff(p, r, 2)), rel=1e-9)


def test_users_who_never_meet_go_on_by_their_service_alone():
    rare = reopen(1e-20, exponential(1), Z=4, S=1)  # E e^(-S) = 1/2: two jobs each, half followed
    assert (rare.X, rare.R) == pytest.approx((2e-20, 1), rel=1e-12, abs=0)
    assert (rare.Q, rare.thinking) == pytest.approx((2e-20, 4e-20), rel=1e-12, abs=0)


def test_the_mean_of_a_constant_is_the_constant():
    assert phase_averages(hyperbolic(0.8, 0), 1.5, 3) == pytest.approx(0.8, rel=1e-15)
    assert as_probability(0.3).mean_exponential(RATES) == pytest.approx(0.3, rel=1e-15)
    assert as_probability(0.3).slope(RATES[:-1]) == pytest.approx(0)


def test_the_mean_over_a_table_is_an_integral():
    """E p(T) for exponential T: pieces of straight lines, each integrated by hand."""
    found = table([1, 3], [0.9, 0.1]).mean_exponential(np.array([0.5, 2.0]))
    for mean, rate in zip(found, (0.5, 2.0), strict=True):
        inside = mp.quad(lambda t, a=rate: (0.9 - 0.4 * (t - 1)) * a * mp.exp(-a * t), [1, 3])
        known = 0.9 * (1 - mp.exp(-rate)) + inside + 0.1 * mp.exp(-3 * rate)
        assert mean == pytest.approx(float(known), rel=1e-12)


def test_limits_and_firsts():
    assert exponential([0, 1]).limit.tolist() == [1, 0]
    assert hyperbolic([0.5, 0.8], [0, 2]).limit.tolist() == [0.5, 0]
    assert as_probability(lambda r: 1 - 1 / (1 + r)).limit == 1
    assert as_probability(lambda r: (2 + r) / (3 + 4 * r)).limit == pytest.approx(0.25)
    # known only up to some response time
    assert as_probability(lambda r: 0.4 if r < 1e10 else math.nan).limit == 0.4
    assert hyperbolic(0.8, 0.5).first == 0.8
    assert not as_probability(lambda r: 1 - math.exp(-r)).falls
    assert not table([0, 1], [0.1, 0.2]).falls


def test_a_table_ends_level():
    assert table([5, 10], [0.8, 0.2])([0, 5, 10, 50]).tolist() == [0.8, 0.8, 0.2, 0.2]
    assert table([3], [0.4])([0, 9]).tolist() == [0.4, 0.4]
    assert table([0, 1, 2], [0.5, 0.5, 0.2]).falls


def test_no_response_is_shorter_than_0():
    for form in (exponential(1), breaks(1, 9, 2)):
        with pytest.raises(QueueingError, match="r is -1; response times must be 0 or more"):
            form(-1)


def test_parameters_broadcast_against_times():
    assert exponential([[1], [2]])([0, 1, 2]).shape == (2, 3)
    assert as_probability(np.array([0.1, 0.2]))([1, 2]).tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ("exp:1", "p is 'exp:1'"),
        (True, "p is True"),
        (None, "p is None"),
        (lambda r: 1.5, "p is 1.5 at response time 0; it must be from 0 to 1"),
        (lambda r: 1 / r, "p is inf at response time 0"),
        (lambda r: 1 / float(r), "p has no value at response time 0"),
    ],
)
def test_what_is_no_probability_is_named(p, message):
    with pytest.raises(QueueingError, match=message):
        as_probability(p)(0.0)


def test_tables_are_checked():
    with pytest.raises(QueueingError, match="must be ascending"):
        table([1, 1], [0.5, 0.4])
    with pytest.raises(QueueingError, match=r"p is 1\.4 at response time 2"):
        table([1, 2], [0.5, 1.4])
    with pytest.raises(QueueingError, match="1-d of equal length"):
        table([1, 2], [0.5])
    with pytest.raises(QueueingError, match="with at least one point"):
        table([], [])


def test_think_times():
    assert as_think(3) is None
    assert as_think(breaks(1, 9, 2))([2, 2.1]).tolist() == [1, 9]
    assert as_think(lambda r: 1 if r < 2 else 9)([1, 2]).tolist() == [1, 9]
    with pytest.raises(QueueingError, match="Z is -1 at response time 3"):
        as_think(lambda r: 2 - r)(3.0)
