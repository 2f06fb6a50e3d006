"""Numbers of jobs and waits as distributions, and queues in time, by chains and closed forms."""

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.stats import gamma

from tests.examples import examples
from workloadkit.queueing import (
    QueueingError,
    closed,
    md1,
    mg1,
    mixed,
    mm1,
    mmc,
    mmck,
    mminf,
    networks,
    time_to_steady,
    transient,
)


def test_peer_values():
    """Textbook answers: two of three machines down, P(wait > 1), the 90 % wait."""
    assert closed(N=3, Z=10, S=8, servers=2).p_busy == pytest.approx(
        (1.92 + 0.768) / (1 + 2.4 + 1.92 + 0.768), rel=1e-12
    )
    queue = mm1(lam=1, S=0.75)
    assert queue.wait_sf(1) == pytest.approx(0.75 * np.exp(-1 / 3), rel=1e-14)
    assert queue.wait_ppf(0.9) == pytest.approx(3 * np.log(7.5), rel=1e-12)
    assert queue.wait_ppf([0.1, 0.25]).tolist() == [0, 0]


def shares(lam, N, Z, S, c, most):
    """P(open, closed jobs) of the mixed model, in fractions, with at most so many open jobs."""
    weights = {}
    for k in range(N + 1):
        for m in range(most + 1):
            weight = Fraction(comb(m + k, k)) * (lam * S) ** m * S**k * Z ** (N - k)
            weight /= factorial(N - k)
            for i in range(1, m + k + 1):
                weight /= min(i, c)
            weights[m, k] = weight
    total = sum(weights.values())
    return {state: weight / total for state, weight in weights.items()}


def waits(at, c, S, t):
    """P(wait > t) of jobs that meet these states."""
    met = {}
    for (m, k), share in at.items():
        met[m + k] = met.get(m + k, 0) + float(share)
    return sum(p * gamma.sf(t, n - c + 1, scale=S / c) for n, p in met.items() if n >= c)


@pytest.mark.parametrize(
    ("lam", "N", "Z", "S", "c"),
    [("0", 5, "3", "1", 2), ("1/4", 3, "2", "3/2", 1), ("1", 4, "5", "1/2", 3)],
)
def test_users_are_in_the_states_of_the_product_form(lam, N, Z, S, c):
    lam, Z, S = (Fraction(x) for x in (lam, Z, S))
    at, fewer = (shares(lam, n, Z, S, c, 60 if lam else 0) for n in (N, N - 1))
    model = mixed(float(lam), N, float(Z), float(S), servers=c)
    for n in range(8):
        expected = sum(p for (m, k), p in at.items() if m + k == n)
        assert model.pmf(n) == pytest.approx(float(expected), rel=1e-11)
    busy = sum(p for (m, k), p in at.items() if m + k >= c)
    assert model.p_busy == pytest.approx(float(busy), rel=1e-11)
    for t in (0.0, 0.5, 4.0):
        for job, met in (("open", at), ("closed", fewer)):
            expected = waits(met, c, float(S), t)
            assert model.wait_sf(t, job) == pytest.approx(expected, rel=1e-10)
    assert model.wait_sf([-1, np.inf], "open").tolist() == [1, 0]
    if not lam:
        alone = closed(N, float(Z), float(S), servers=c)
        assert alone.pmf(3) == pytest.approx(model.pmf(3), rel=1e-12)
        assert alone.wait_cdf(alone.wait_ppf(0.95)) == pytest.approx(0.95, rel=1e-9)


@examples(20)
@given(load=st.floats(0.05, 0.95), c=st.integers(1, 30))
def test_numbers_of_stations_sum_to_one_and_to_the_mean(load, c):
    n = np.arange(2000)
    for model in (mmc(load * c, 1, c), mmck(load * c, 1, c, c + 7), mminf(load * c, 1)):
        share = model.pmf(n)
        assert share.sum() == pytest.approx(1, rel=1e-11)
        assert share @ n == pytest.approx(model.Q, rel=1e-9)
        assert (share >= 0).all()
    queue, limited = mmc(load * c, 1, c), mmck(load * c, 1, c, c + 7)
    assert queue.pmf(n)[c:].sum() == pytest.approx(queue.p_busy, rel=1e-9)
    assert queue.wait_sf(0) == pytest.approx(queue.p_wait, rel=1e-12)
    assert limited.wait_sf(0) == pytest.approx(limited.p_wait, rel=1e-11, abs=1e-15)
    assert limited.pmf(n)[c:].sum() == pytest.approx(limited.p_busy, rel=1e-12)


def test_responses_are_waits_and_services():
    """The density of the wait and the service, integrated, and moments of the wait."""
    queue = mmc(3.0, 1.0, 4)
    t = np.linspace(0, 60, 1_201)
    wait = queue.wait_sf(t)
    mean = np.trapezoid(wait, t)
    assert mean == pytest.approx(queue.W, rel=2e-3)
    limited = mmck(3.0, 1.0, 2, 6)
    assert np.trapezoid(limited.wait_sf(t), t) == pytest.approx(limited.W, rel=2e-3)
    assert np.trapezoid(md1(0.4, 2.0).wait_sf(t), t) == pytest.approx(md1(0.4, 2.0).W, rel=5e-3)
    closed_one = closed(6, 4.0, 1.0)
    area = np.trapezoid(closed_one.wait_sf(t), t)
    assert area == pytest.approx(closed_one.R - 1, rel=2e-3)


def test_large_numbers_do_not_overflow():
    many = closed(100_000, 50_000.0, 1.0)
    assert many.pmf(50_000) == pytest.approx(1 / np.sqrt(2 * np.pi * 50_000), rel=1e-3)
    assert many.p_busy == pytest.approx(1, rel=1e-12)
    assert 0 < many.wait_sf(49_999, "closed") < 1
    few = closed(1000, 1e9, 1.0, servers=3)
    assert few.pmf(0) == pytest.approx(np.exp(-1e-6), rel=1e-9)
    assert few.p_busy == pytest.approx(1000 * 999 * 998 / 6 * 1e-27, rel=1e-5)
    assert mmc(999.0, 1, 1000).pmf(999) > 0


def test_unknown_distributions_are_errors():
    for ask, message in (
        (lambda: mg1(0.5, 1, 2).wait_sf(1), "scv does not determine the distribution of waits"),
        (lambda: md1(0.5, 1).pmf(1), "no formula for the distribution of numbers"),
        (lambda: mm1(0.5, 1).pmf(1.5), "n is 1.5; it must be whole"),
        (lambda: closed(2.5, 1, 1).pmf(1), "N is 2.5; for distributions"),
        (lambda: mm1(0.5, 1).wait_ppf(2), "q is 2; it must be from 0 to 1"),
        (lambda: networks.jobs_at(networks.linearizer([1.0], 3, 1), 0), "it must be exact"),
        (lambda: networks.jobs_at(networks.mva([1.0], 3, 1), 1), "station is 1"),
        (lambda: networks.jobs_at(networks.mva([1.0], 3, 1), 0, job="open"), "job is 'open'"),
        (lambda: networks.jobs_at(networks.mva([1.0], [1, 3], 1), 0), "it must be one point"),
    ):
        with pytest.raises(QueueingError, match=message):
            ask()


def test_stations_of_networks_are_those_of_the_single_models():
    one = networks.convolution([1.5], 5, 4.0, servers=[2])
    known = closed(5, 4.0, 1.5, servers=2)
    assert networks.jobs_at(one, 0) == pytest.approx(known.pmf(range(6)), rel=1e-11)
    both = networks.mixed_mva([1.0], 4, 3.0, [1.0], 0.7, servers=[2])
    at = shares(Fraction(0.7), 4, Fraction(3), Fraction(1), 2, 80)
    for n in range(5):
        expected = float(sum(p for (_, k), p in at.items() if k == n))
        assert networks.jobs_at(both, 0)[n] == pytest.approx(expected, rel=1e-10)
        expected = float(sum(p for (m, _), p in at.items() if m == n))
        assert networks.jobs_at(both, 0, job="open")[n] == pytest.approx(expected, rel=1e-10)
    alone = networks.open_network([0.75, 0.25], 2.0, servers=[2, np.inf])
    found = networks.jobs_at(alone, 0)
    assert found == pytest.approx(mmc(2.0, 0.75, 2).pmf(np.arange(found.size)), rel=1e-9, abs=1e-18)
    assert networks.jobs_at(alone, 1)[:3] == pytest.approx(mminf(2, 0.25).pmf([0, 1, 2]), rel=1e-12)


def test_classes_at_stations_have_the_means_of_the_network():
    demands, N, Z = [[1.0, 0.4, 2.0], [0.2, 0.6, 1.0]], [3, 2], [2.0, 0.5]
    passing, lam = [[0.5, 0.3, 1.0], [0.9, 0.2, 0.0]], [0.3, 0.1]
    found = networks.mixed_mva(demands, N, Z, passing, lam, servers=[2, 1, np.inf])
    for station in range(3):
        for r in range(2):
            share = networks.jobs_at(found, station, r)
            assert share.sum() == pytest.approx(1, rel=1e-12)
            mean = share @ np.arange(share.size)
            assert mean == pytest.approx(found.Q[r, station], rel=1e-10)
            share = networks.jobs_at(found, station, r, job="open")
            mean = share @ np.arange(share.size)
            assert mean == pytest.approx(found.open.Q[r, station], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("users", [False, True])
def test_queues_in_time_are_the_exponential_of_their_generator(users):
    n = np.arange(7)
    model = closed(6, 3, 1, servers=2) if users else mmck(1.5, 1, 2, 6)
    up = (6 - n[:-1]) / 3 if users else np.full(6, 1.5)
    rates = np.diag(up, 1) + np.diag(np.minimum(n[1:], 2.0), -1)
    rates -= np.diag(rates.sum(axis=1))
    found = transient(model, [0, 0.3, 2.0, 50.0], start=3)
    for t, share in zip([0, 0.3, 2.0, 50.0], found.share, strict=True):
        assert share == pytest.approx(expm(rates * t)[3], rel=1e-9, abs=1e-14)
    assert found.steady == pytest.approx(model.pmf(n), rel=1e-11)
    late = time_to_steady(model, 0.02, start=3)
    gaps = np.abs(transient(model, [late * 0.999, late * 1.001], 3).share - found.steady)
    before, after = gaps.sum(axis=1) / 2
    assert before > 0.02 > after


def test_queues_without_limit_in_time():
    """M/M/∞ from empty is Poisson with mean lam S (1 - e^-t/S); M/M/1 by Bessel functions."""
    from scipy.special import ive

    found = transient(mminf(3, 2), [0.5, 4.0])
    assert found.mean == pytest.approx(6 * -np.expm1(-np.array([0.25, 2.0])), rel=1e-10)
    lam, t = 0.7, 5.0
    # P(0 at t | empty) = e^-(lam+1)t [I0 + I1/sqrt(rho) + (1-rho) Σ_{j≥2} rho^(-j/2) I_j]
    x, j = 2 * t * np.sqrt(lam), np.arange(2, 200)
    scale = np.exp(x - (lam + 1) * t)
    tail = (1 - lam) * (lam ** (-j / 2.0) * ive(j, x)).sum()
    expected = scale * (ive(0, x) + ive(1, x) / np.sqrt(lam) + tail)
    assert transient(mm1(lam, 1), [t]).share[0, 0] == pytest.approx(expected, rel=1e-9)
    assert time_to_steady(mm1(0.001, 1), 0.5) == 0


def test_models_without_rates_have_no_time():
    for ask, message in (
        (lambda: transient(md1(0.5, 1), 1), "is not a birth-death process"),
        (lambda: transient(mm1([0.5], 1), 1), "it must be one point"),
        (lambda: transient(mm1(0.5, 1), -1), "t is -1; it must be finite"),
        (lambda: transient(mm1(0.5, 1), 1, start=0.5), "start is 0.5"),
        (lambda: transient(mmck(1, 1, 1, 2), 1, start=3), "start is 3; at most 2 jobs"),
        # steps at the largest rate, 1 + 1/2, times states
        (lambda: transient(mmck(0.5, 1, 1, 9), 1e12), r"1\.5e\+13 products are needed"),
        (lambda: time_to_steady(mm1(0.5, 1), 0), "tolerance is 0; it must be between"),
        (lambda: transient(closed(3, 0, 1), 1), "Z above 0"),
    ):
        with pytest.raises(QueueingError, match=message):
            ask()
