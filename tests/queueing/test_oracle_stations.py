"""Open stations against fractions, chains, and sums with hundreds of digits."""

from fractions import Fraction

import numpy as np
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_stations as oracle
from tests.oracles.queueing_accuracy import error, worst
from workloadkit.queueing import md1, mg1, mm1, mmc, mmck, mminf


@pytest.mark.parametrize("c", [1, 2, 5, 40, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("load", [1e-9, 0.1, 0.7, 0.999, 1 - 1e-6])
def test_servers_against_fractions(c, load):
    S = 0.7
    lam = load * c / S
    known = oracle.many_servers(lam, S, c)
    if float(known["p_wait"]) < 1e-300:
        known = {name: known[name] for name in ("X", "R", "Q", "U")}
    found = worst(mmc(lam, S, c), known)
    assert found[0] <= 1e-12, found
    if c == 1:
        assert worst(mm1(lam, S), known)[0] <= 1e-12


@pytest.mark.parametrize(("lam", "c"), [(0.7, 1), (1.5, 2), (3.8, 5), (0.5, 2)])
def test_response_at_servers_against_a_tagged_job(lam, c):
    law = chains.open_station(lam, 1.0, c, most=120)
    result = mmc(lam, 1.0, c)
    for t in (0.0, 0.1, 1.0, 5.0, 15.0):
        assert result.sf(t) == pytest.approx(chains.response_survival(t, law, 1.0, c), rel=1e-9)
    assert chains.response_survival(result.ppf(0.95), law, 1.0, c) == pytest.approx(0.05, rel=1e-8)


@pytest.mark.parametrize("lam", [1.0, 1.0 - 1e-9, 1.0 + 1e-6])
def test_response_where_waits_and_services_have_one_rate(lam):
    law = chains.open_station(lam, 1.0, 2, most=60)
    assert mmc(lam, 1.0, 2).sf(3.0) == pytest.approx(
        chains.response_survival(3.0, law, 1.0, 2), rel=1e-10
    )


LIMITED = [
    (0.7, 1.0, 1, 1),
    (3.0, 1.0, 2, 6),
    (2.0, 1.0, 2, 5),
    (0.01, 1.0, 3, 3),
    (50.0, 1.0, 4, 25),
]


@pytest.mark.parametrize("point", LIMITED)
def test_limited_stations_against_fractions_and_the_chain(point):
    lam, S, c, K = point
    known = oracle.limited(*point)
    met = known.pop("met")
    result = mmck(*point)
    found = worst(result, known)
    assert found[0] <= 1e-12, found
    law = chains.open_station(lam, S, c, most=K)
    assert float(known["Q"]) == pytest.approx(chains.mean(law, lambda n: n), rel=1e-12)
    for t in (0.0, 0.5, 2.0, 9.0):
        assert result.sf(t) == pytest.approx(chains.response_survival(t, met, S, c), rel=1e-10)
    assert result.ppf(0.5) == pytest.approx(result.ppf(np.array([0.5]))[0])
    assert chains.response_survival(result.ppf(0.9), met, S, c) == pytest.approx(0.1, rel=1e-8)


def test_a_large_limited_station_near_full_load():
    for point in [(99.875, 1.0, 100, 300), (100.0, 1.0, 100, 200), (3.984375, 0.25, 1, 300)]:
        known = oracle.limited(*point)
        known.pop("met")
        found = worst(mmck(*point), known)
        assert found[0] <= 1e-11, (point, *found)


@pytest.mark.parametrize("scv", [0.0, 0.25, 1.0, 40.0])
@pytest.mark.parametrize("lam", [0.0, 0.3, 0.999999])
def test_any_service_law_against_fractions(lam, scv):
    known = oracle.pollaczek_khinchine(lam, 1.0, scv)
    assert worst(mg1(lam, 1.0, scv), known)[0] <= 1e-12


def test_servers_without_number():
    result = mminf(5.0, 0.4)
    assert (result.X, result.R, result.Q) == (5.0, 0.4, 2.0)
    assert result.sf(0.4) == pytest.approx(np.exp(-1), rel=1e-14)


@pytest.mark.parametrize("lam", [1e-3, 0.3, 0.8, 0.95, 0.99])
def test_services_of_one_length_against_the_alternating_sum(lam):
    S = 1.0
    result = md1(lam, S)
    assert worst(result, oracle.pollaczek_khinchine(lam, S, 0))[0] <= 1e-12
    assert result.sf(0.999999) == 1.0
    for t in (0.0, 0.25, 1.0, 1.5, 4.0, 17.3, 60.0):
        known = 1 - oracle.deterministic_wait_cdf(t, lam, S)
        if known < 1e-13:
            continue
        assert result.sf(S + t) == pytest.approx(float(known), rel=1e-8, abs=1e-13), t
    at_steps = oracle.deterministic_by_steps(30, lam, S)
    for j, chance in enumerate(at_steps):
        assert result.cdf((j + 1) * S) == pytest.approx(float(chance), rel=1e-11)
        assert oracle.deterministic_wait_cdf(j * S, lam, S) == pytest.approx(chance, rel=1e-25)


@pytest.mark.parametrize("lam", [0.3, 0.8, 0.99])
def test_moments_and_percentiles_of_services_of_one_length(lam):
    S = 0.5
    result = md1(lam / S, S)
    for order, known in enumerate(oracle.deterministic_moments(lam / S, S), 1):
        assert error(result.moment(order), known) < 1e-10
    for q in (0.5, 0.9, 0.999):
        t = result.ppf(q)
        if t <= S:
            assert q <= 1 - lam
            continue
        step = 1e-8 * t
        before, after = (
            oracle.deterministic_wait_cdf(t - S + sign * step, lam / S, S) for sign in (-1, 1)
        )
        assert before < q < after


def test_derivatives():
    for lam, S in [(0.3, 1.0), (0.9, 1.0), (4.0, 0.2)]:
        rest = 1 - lam * S
        assert mm1(lam, S).derivative("R", "lam") == pytest.approx(S**2 / rest**2, rel=1e-8)
        assert mm1(lam, S).derivative("R", "S") == pytest.approx(1 / rest**2, rel=1e-8)
        h = Fraction(1, 2**60)
        known = (
            oracle.many_servers(Fraction(lam) + h, S, 2)["R"] - oracle.many_servers(lam, S, 2)["R"]
        )
        assert mmc(lam, S, 2).derivative("R", "lam") == pytest.approx(float(known / h), rel=1e-7)
