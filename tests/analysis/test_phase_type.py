import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from tests.examples import examples
from workloadkit import ParameterError
from workloadkit.analysis.fits.phase_type import (
    HyperErlang,
    balanced_hyper_exponential,
    fit_hyper_erlang,
    fit_orders,
    match_moments,
    orders_of,
)

RATES = st.floats(1e-6, 1e3)


ORDER, BRANCHES = st.integers(1, 6), st.integers(1, 4)


@st.composite
def mixtures(draw, order=ORDER, branches=BRANCHES, apart=1.0):
    n = draw(branches)
    parts = draw(st.lists(st.floats(0.05, 1), min_size=n, max_size=n))
    rate, rates = draw(RATES), []
    for _ in range(n):
        rates.append(rate)
        rate *= apart * draw(st.floats(1, 30))
    orders = tuple(draw(order) for _ in range(n))
    return HyperErlang(tuple(p / sum(parts) for p in parts), orders, tuple(rates))


SEVERAL = HyperErlang((0.3, 0.5, 0.2), (1, 2, 3), (1.0, 0.05, 0.001))


@given(mixtures())
def test_quantiles_undo_the_distribution(mixture):
    share = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6])
    assert mixture.cdf(mixture.ppf(share)) == pytest.approx(share, abs=1e-10)
    assert mixture.ppf([0, 1]).tolist() == [0, np.inf]
    assert np.isnan(mixture.ppf([-0.1, 1.1])).all()
    assert mixture.cdf(-5) == 0


def test_one_branch_is_fitted_from_wherever_it_starts():
    far = HyperErlang((1.0,), (2,), (9.0,))
    found, history = fit_orders([1, 2, 3], [2], start=far)
    assert (found.orders, found.rates) == ((2,), (pytest.approx(1),))  # of mean 2
    assert history[-1] > history[0]


@given(mixtures(branches=st.just(1)), st.floats(0.01, 50))
def test_one_branch_is_a_gamma_distribution(mixture, x):
    gamma = stats.gamma(mixture.orders[0], scale=1 / mixture.rates[0])
    at = x * gamma.mean()
    assert mixture.cdf(at) == pytest.approx(gamma.cdf(at), abs=1e-12)
    assert mixture.logpdf(at) == pytest.approx(gamma.logpdf(at), rel=1e-9, abs=1e-9)
    assert (mixture.mean(), mixture.var()) == pytest.approx((gamma.mean(), gamma.var()))
    assert mixture.moment(3) == pytest.approx(gamma.moment(3))


def test_density_adds_up_to_the_distribution():
    area, _ = integrate.quad(SEVERAL.pdf, 0, 100, limit=200)
    assert area == pytest.approx(SEVERAL.cdf(100), abs=1e-8)
    assert SEVERAL.logpdf([0, -1]).tolist() == [-np.inf, -np.inf]


def test_drawn_values_follow_the_distribution():
    values = SEVERAL.rvs(20_000, 3)
    assert stats.kstest(values, SEVERAL.cdf).pvalue > 0.01
    assert (values == SEVERAL.rvs(20_000, np.random.default_rng(3))).all()


@given(RATES, st.floats(1, 1e4))
def test_balanced_means_match_two_moments(mean, squared_cv):
    found = balanced_hyper_exponential(mean, squared_cv)
    assert found.mean() == pytest.approx(mean, rel=1e-9)
    assert found.var() == pytest.approx(squared_cv * mean**2, rel=1e-6)
    shares = np.array(found.weights) / found.rates
    assert shares[0] == pytest.approx(shares[1], rel=1e-6)


def test_as_variable_as_exponential_is_exponential():
    found = balanced_hyper_exponential(5, 1)
    assert found.weights == (0.5, 0.5)
    assert found.rates == pytest.approx((0.2, 0.2))


def test_less_variable_than_exponential_is_not_hyper_exponential():
    with pytest.raises(ParameterError, match=r"at least 1, not 5 and 0\.9"):
        balanced_hyper_exponential(5, 0.9)
    with pytest.raises(ParameterError, match="no 2 branches"):
        match_moments([1, 1.5, 3], orders=[1])


@given(mixtures(order=st.just(1), branches=st.sampled_from([2, 3]), apart=2.0))
def test_moments_are_matched_exactly_and_give_the_branches(mixture):
    n = 2 * len(mixture.weights) - 1
    moments = [mixture.moment(k + 1) for k in range(n)]
    found = match_moments(moments)
    assert found.orders == mixture.orders
    assert [found.moment(k + 1) for k in range(n)] == pytest.approx(moments, rel=1e-6)
    assert sorted(found.rates) == pytest.approx(sorted(mixture.rates), rel=1e-3)


@examples(30)
@given(st.lists(st.floats(0.5, 100), min_size=3, max_size=30, unique=True))
def test_the_first_order_that_can_matches_three_moments(values):
    values = np.array(values)
    moments = [float(np.mean(values**k)) for k in (1, 2, 3)]
    try:
        found = match_moments(moments)
    except ParameterError:
        # Too even or too little skewed for 200 phases.
        even = moments[1] / moments[0] ** 2 < 1 + 1 / 200 + 1e-9
        assert even or moments[0] * moments[2] / moments[1] ** 2 < 202 / 201 + 1e-9
        return
    assert [found.moment(k) for k in (1, 2, 3)] == pytest.approx(moments, rel=1e-6)
    for order in range(1, found.orders[0]):
        with pytest.raises(ParameterError):
            match_moments(moments, orders=[order])


@examples(40)
@given(
    st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=40),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_em_never_loses_likelihood_and_keeps_the_mean(values, orders):
    found, history = fit_orders(values, orders, rounds=60)
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    assert found.mean() == pytest.approx(np.mean(values), rel=1e-6)
    assert history[-1] == pytest.approx(found.logpdf(values).mean(), abs=1e-6)


def test_em_finds_what_the_values_were_drawn_from():
    # 40,000 values: weights within 0.01, rates within 3 %.
    found, _ = fit_orders(SEVERAL.rvs(40_000, 5), SEVERAL.orders)
    assert found.orders == SEVERAL.orders
    assert found.weights == pytest.approx(SEVERAL.weights, abs=0.01)
    assert found.rates == pytest.approx(SEVERAL.rates, rel=0.03)


def test_em_finds_the_orders():
    found, _ = fit_hyper_erlang(SEVERAL.rvs(4000, 6), 6)
    assert found.orders == SEVERAL.orders


def test_counts_are_values_so_many_times():
    once, _ = fit_orders([1.0, 1, 1, 4, 9, 9], (1, 2))
    counted, _ = fit_orders([1.0, 4, 9], (1, 2), counts=[3, 1, 2])
    assert counted.weights == pytest.approx(once.weights)
    assert counted.rates == pytest.approx(once.rates)


def test_orders_are_the_partitions():
    assert [len(list(orders_of(n))) for n in range(1, 9)] == [1, 2, 3, 5, 7, 11, 15, 22]
    assert all(sum(orders) == 8 for orders in orders_of(8))


@pytest.mark.parametrize(
    ("weights", "orders", "rates", "message"),
    [
        ((1.0,), (1, 1), (1.0,), "1 weights, 2 orders and 1 rates"),
        ((0.5, 0.6), (1, 1), (1.0, 1.0), "sum 1"),
        ((1.0,), (0,), (1.0,), "orders must be 1 or more"),
        ((1.0,), (1,), (0.0,), "rates more than 0"),
    ],
)
def test_branches_that_make_no_sense_are_refused(weights, orders, rates, message):
    with pytest.raises(ParameterError, match=message):
        HyperErlang(weights, orders, rates)


def test_values_that_no_branch_has_are_refused():
    with pytest.raises(ParameterError, match="values must be positive"):
        fit_orders([0.0, 1.0], (1,))
    with pytest.raises(ParameterError, match="not 2"):
        match_moments([1, 3])


@pytest.mark.parametrize(
    ("values", "counts"), [([1.0, 2.0], [1, -1]), ([1.0, 2.0], [1]), ([], None), ([-1.0], None)]
)
def test_values_and_counts_that_make_no_sense_are_refused(values, counts):
    with pytest.raises(ParameterError, match="values must be positive, and counts 0 or more"):
        fit_orders(values, (1,), counts=counts)


def test_a_value_that_never_occurs_does_not_count():
    found, _ = fit_orders([1.0, 3.0, 1000.0], (1,), counts=[1, 1, 0])
    assert found.rates == pytest.approx((0.5,))
