"""Closed and mixed models at several servers against sums of product form and whole chains."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_servers as oracle
from tests.oracles.queueing_accuracy import error, worst
from workloadkit.queueing import closed, mixed

CLOSED = [
    (1, 2.0, 1.0, 3),
    (5, 2.0, 1.0, 5),
    (7, 5.0, 1.0, 3),
    (10, 0.0, 2.0, 4),
    (3, 0.0, 2.0, 4),
    (50, 1e-6, 1.0, 8),
    (100, 1e9, 1.0, 2),
    (100, 10.0, 1.0, 16),
    (1000, 999.0, 1.0, 2),
    (1000, 1e3, 0.1, 64),
    (1000, 9.0, 1.0, 100),
    (1000, 1.0, 1.0, 500),
    (1000, 1.0, 1.0, 501),
    (40, 1e-9, 1.0, 40),
]
LARGE = [
    (10**5, 1e4, 1.0, 1000),
    (10**5, 1e5, 1.0, 2),
    (10**5, 1e8, 1.0, 7),
    (10**5, 9.0, 1.0, 10**4),
]


@pytest.mark.parametrize("point", CLOSED + LARGE)
def test_closed_users_against_the_sum_over_states(point):
    result = closed(*point)
    assert worst(result, oracle.closed(*point))[0] <= 1e-10
    assert 0 <= result.X <= point[3] / point[2]
    assert 0 <= result.U <= 1


def test_closed_users_at_points_in_one_call():
    N, Z, S, c = (np.array(column) for column in zip(*CLOSED, strict=True))
    result = closed(N, Z, S, servers=c)
    for i, point in enumerate(CLOSED):
        assert worst(result, oracle.closed(*point), i)[0] <= 1e-10, point


MIXED = [
    (0.7, 4, 2.0, 1.0, 3),
    (0.3, 40, 5.0, 1.0, 2),
    (1.999, 30, 10.0, 1.0, 2),
    (3.0, 200, 100.0, 1.0, 8),
    (0.01, 20, 1.0, 1.0, 30),
    (7.99, 500, 1e4, 1.0, 8),
    (0.5, 10, 1e9, 1.0, 4),
    (0.5, 10, 1e-6, 1.0, 4),
    (20.0, 100, 50.0, 0.5, 64),
    (0.0, 12, 3.0, 1.0, 4),
    (4 - 4e-6, 25, 1e5, 1.0, 4),
]


@pytest.mark.parametrize("point", MIXED)
def test_mixed_against_the_sum_over_states(point):
    result = mixed(*point)
    assert worst(result, oracle.mixed(*point))[0] <= 1e-10
    assert result.U <= 1 + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("point", [(3.0, 10**5, 1e5, 1.0, 8), (100.0, 10**4, 1e4, 1.0, 200)])
def test_mixed_with_many_users(point):
    assert worst(mixed(*point), oracle.mixed(*point))[0] <= 1e-10


def test_mixed_without_think_times():
    for point in [(0.5, 3, 0.0, 1.0, 2), (0.5, 2, 0.0, 1.0, 4), (0.2, 6, 0.0, 0.5, 3)]:
        assert worst(mixed(*point), oracle.mixed_by_states(*point, 90))[0] <= 1e-10, point


def test_the_sums_agree_with_one_another():
    point = (0.7, 4, 2.0, 1.0, 3)
    cut, closed_form = oracle.mixed_by_states(*point, 90), oracle.mixed(*point)
    for name, value in closed_form.items():
        assert error(value, cut[name]) < 1e-14


def test_the_sums_agree_with_the_chain_and_with_the_line_in_order():
    """First come, first served, with nothing assumed of who leaves."""
    point = (0.3, 2, 2.0, 1.0, 2)
    law = chains.mixed_in_order(*point, most=20)
    known = oracle.mixed(*point)
    assert chains.mean(law, lambda line: line.count("c")) == pytest.approx(
        float(known["Qc"]), rel=1e-10
    )
    assert chains.mean(law, lambda line: line.count("o")) == pytest.approx(
        float(known["Qo"]), rel=1e-9
    )
    point = (1.2, 5, 3.0, 1.0, 3)
    measures = chains.mixed_measures(chains.mixed(*point, most=80), *point)
    for name, value in oracle.mixed(*point).items():
        if name in measures:
            assert measures[name] == pytest.approx(float(value), rel=1e-11)


@pytest.mark.parametrize(
    "point", [(0.7, 4, 2.0, 1.0, 3), (0.3, 6, 4.0, 1.0, 1), (1.2, 9, 5.0, 1.0, 2)]
)
def test_responses_against_a_tagged_job(point):
    """Who is met comes from the whole chain, the response from an absorbed one."""
    lam, N, Z, S, c = point
    law = chains.mixed(*point, most=90)
    result = mixed(*point)
    met = {
        "closed": chains.tilted(law, lambda s: (N - s[1]) / Z, sum),
        "open": chains.tilted(law, lambda s: lam, sum),
    }
    for job, others in met.items():
        for t in (0.0, 0.3, 1.0, 4.0, 12.0):
            known = chains.response_survival(t, others, S, c)
            assert result.sf(t, job=job) == pytest.approx(known, rel=1e-9, abs=1e-14), (job, t)
        t = result.ppf(0.9, job=job)
        assert chains.response_survival(t, others, S, c) == pytest.approx(0.1, rel=1e-8)


@pytest.mark.parametrize(
    "point", [(4, 2.0, 1.0, 3), (12, 5.0, 1.0, 2), (3, 0.0, 1.0, 2), (5, 3.0, 1.0, 5)]
)
def test_responses_of_closed_users_alone(point):
    *_, S, c = point
    met = {n: float(p) for n, p in oracle.closed_met(*point).items()}
    result = closed(*point)
    for t in (0.0, 0.3, 1.0, 4.0, 12.0):
        known = chains.response_survival(t, met, S, c)
        assert result.sf(t) == pytest.approx(known, rel=1e-10, abs=1e-14)
    assert error(result.moment(1), oracle.closed(*point)["R"]) < 1e-12


@pytest.mark.parametrize(("of", "wrt"), [("X", "Z"), ("R", "S"), ("Q", "Z"), ("U", "S")])
def test_derivatives_against_differences_of_fractions(of, wrt):
    for N, Z, S, c in [(7, 5.0, 1.0, 3), (100, 10.0, 1.0, 16), (200, 4.0, 0.5, 20)]:
        at = {"Z": Fraction(Z), "S": Fraction(S)}
        h = at[wrt] / 2**100
        above, below = (
            oracle.closed(N=N, c=c, **at | {wrt: at[wrt] + sign * h})[of] for sign in (1, -1)
        )
        exact = float((above - below) / (2 * h))
        scale = abs(float(oracle.closed(N, Z, S, c)[of]))
        found = closed(N, Z, S, c).derivative(of, wrt)
        assert abs(found - exact) <= 1e-8 * abs(exact) + 1e-11 * scale


@pytest.mark.parametrize("wrt", ["lam", "Z", "S"])
@pytest.mark.parametrize("point", [(0.7, 4, 2.0, 1.0, 3), (3.0, 60, 30.0, 1.0, 8)])
def test_derivatives_of_mixed_against_differences_with_many_digits(point, wrt):
    lam, N, Z, S, c = point
    result = mixed(*point)
    at = {"lam": mpmath.mpf(lam), "Z": mpmath.mpf(Z), "S": mpmath.mpf(S)}
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -20
        above, below = (
            oracle.mixed(N=N, c=c, **at | {wrt: at[wrt] + sign * h}) for sign in (1, -1)
        )
        slopes = {of: (above[of] - below[of]) / (2 * h) for of in above}
    for of in ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo"):
        exact = float(slopes[of])
        scale = abs(getattr(result, of))
        assert abs(result.derivative(of, wrt) - exact) <= 1e-8 * abs(exact) + 1e-10 * scale, of
