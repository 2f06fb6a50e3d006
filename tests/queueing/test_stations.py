"""Open stations, held to exact fractions, textbooks, and each other."""

from fractions import Fraction
from itertools import pairwise
from math import factorial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workloadkit.queueing import (
    QueueingError,
    QueueingWarning,
    closed,
    md1,
    mg1,
    mixed,
    mm1,
    mmc,
    mmck,
    mminf,
)


def erlang_b(servers, load):
    terms = [Fraction(load) ** n / factorial(n) for n in range(servers + 1)]
    return terms[-1] / sum(terms)


def erlang_c(servers, load):
    lost = erlang_b(servers, load)
    return lost / (1 - Fraction(load) / servers * (1 - lost))


def near(value, expected, error=1e-14):
    return abs(Fraction(value) / Fraction(expected) - 1) < error


def test_one_server_by_hand():
    queue = mm1(lam=0.75, S=1)
    assert (queue.X, queue.R, queue.Q, queue.U) == (0.75, 4, 3, 0.75)
    assert (queue.W, queue.Lq, queue.p_wait) == (3, 2.25, 0.75)
    assert queue.sf(4) == pytest.approx(np.exp(-1), rel=1e-15)
    assert queue.ppf(0.5) == pytest.approx(4 * np.log(2), rel=1e-14)
    assert queue.ppf(1e-9) == pytest.approx(4e-9, rel=1e-8)
    assert queue.moment(3) == pytest.approx(6 * 4**3, rel=1e-15)
    assert queue.check() == 0


def test_the_chance_to_wait_is_erlangs_c():
    for load in (0.25, 0.5, 0.9375, 0.9999999):
        for servers in (1, 2, 3, 10, 50, 200):
            queue = mmc(lam=load * servers, S=1, servers=servers)
            expected = erlang_c(servers, load * servers)
            assert near(queue.p_wait, expected, 1e-12)
            assert near(queue.W, expected / (servers - Fraction(load * servers)), 1e-12)


@pytest.mark.parametrize(
    ("servers", "load", "lost"), [(1, 1, "1/2"), (2, 2, "2/5"), (3, 1, "1/16")]
)
def test_jobs_that_may_not_wait_are_lost_by_erlangs_b(servers, load, lost):
    station = mmck(lam=load, S=1, servers=servers, K=servers)
    assert near(station.p_loss, Fraction(lost))
    assert near(station.X, load * (1 - Fraction(lost)))
    assert (station.R, station.W, station.p_wait) == (1, 0, 0)


def test_erlangs_b_is_met_by_closed_users_of_one_server():
    """All N users think with the chance that a call is lost on N lines of the load Z / S."""
    for N in (1, 5, 60):
        lost = mmck(lam=N * 0.9, S=1, servers=N, K=N).p_loss
        assert closed(N=N, Z=N * 0.9, S=1).X == pytest.approx(1 - lost, rel=1e-12)


def test_a_million_servers():
    queue = mmc(lam=[999_000, 1_000_000 - 1, 1], S=1, servers=1_000_000)
    # Halfin and Whitt 1981: beta = (c - load) / sqrt(c) = 1 waits with the chance .22336
    assert queue.p_wait[0] == pytest.approx(0.2234, rel=0.01)
    assert 0.99 < queue.p_wait[1] < 1
    assert queue.p_wait[2] == 0
    assert (queue.sf(0.5, "open") > 0).all()


def by_states(lam, S, servers, K):
    """Measures of the birth and death process in fractions; numbers that accepted jobs meet."""
    weights = [Fraction(1)]
    for n in range(1, K + 1):
        weights.append(weights[-1] * Fraction(lam) * Fraction(S) / min(n, servers))
    at = [w / sum(weights) for w in weights]
    X = Fraction(lam) * (1 - at[K])
    Lq = sum(max(n - servers, 0) * p for n, p in enumerate(at))
    return {
        "X": X,
        "Q": sum(n * p for n, p in enumerate(at)),
        "R": sum(n * p for n, p in enumerate(at)) / X,
        "Lq": Lq,
        "W": Lq / X,
        "U": X * Fraction(S) / servers,
        "p_wait": sum(at[servers:K]) / (1 - at[K]),
        "p_loss": at[K],
    }, [p / (1 - at[K]) for p in at[:K]]


def test_limited_room_agrees_with_exact_fractions():
    for load in (1e-3, 0.5, 1 - 1e-9, 1, 1.25, 1000):
        for servers, K in ((1, 1), (1, 30), (3, 3), (3, 4), (5, 40), (20, 21)):
            station = mmck(lam=load * servers, S=1.5, servers=servers, K=K)
            expected, _ = by_states(load * servers, 1.5, servers, K)
            for name, value in expected.items():
                if value == 0:
                    assert getattr(station, name) == 0
                else:
                    assert near(getattr(station, name), value, 1e-13), name


@pytest.mark.parametrize(("servers", "K", "load"), [(1, 4, 0.5), (3, 9, 1.5), (2, 2, 0.7)])
def test_responses_are_services_after_stages(servers, K, load):
    from scipy.integrate import quad
    from scipy.stats import gamma

    S = 2.0
    station = mmck(lam=load * servers / S, S=S, servers=servers, K=K)
    _, met = by_states(load * servers / S, S, servers, K)

    def slower(t):
        total = 0.0
        for n, share in enumerate(met):
            if n < servers:
                total += float(share) * np.exp(-t / S)
            else:  # the service after an Erlang wait
                wait = gamma(n - servers + 1, scale=S / servers)
                inside = quad(lambda w, f=wait: f.pdf(w) * np.exp(-(t - w) / S), 0, t)[0]
                total += float(share) * (wait.sf(t) + inside)
        return total

    for t in (0.5, 2.0, 9.0):
        assert station.sf(t) == pytest.approx(slower(t), rel=1e-8)
    assert station.moment(1) == pytest.approx(station.R, rel=1e-14)


def test_much_room_is_as_unlimited():
    limited, unlimited = mmck(lam=1.5, S=1, servers=2, K=400), mmc(lam=1.5, S=1, servers=2)
    for name in unlimited.measures:
        assert getattr(limited, name) == pytest.approx(getattr(unlimited, name), rel=1e-13)
    t = np.array([0, 0.1, 1, 5, 30])
    np.testing.assert_allclose(limited.sf(t), unlimited.sf(t), rtol=1e-12)
    for order in (1, 2, 3):
        assert limited.moment(order) == pytest.approx(unlimited.moment(order), rel=1e-12)
    np.testing.assert_allclose(
        limited.ppf([0.01, 0.5, 0.99]), unlimited.ppf([0.01, 0.5, 0.99]), rtol=1e-11
    )


@pytest.mark.parametrize(("lam", "servers"), [(1.5, 2), (1.0, 2), (0.01, 3), (3.9, 4), (0.7, 1)])
def test_moments_are_integrals_of_the_survival(lam, servers):
    from scipy.integrate import quad

    queue = mmc(lam=lam, S=1, servers=servers)
    for order in (1, 2, 3):

        def part(t, k=order):
            return k * t ** (k - 1) * queue.sf(t)

        edges = queue.R * np.array([0, 1, 4, 16, 64])
        total = sum(quad(part, a, b, epsrel=1e-12)[0] for a, b in pairwise(edges))
        assert queue.moment(order) == pytest.approx(total, rel=1e-10)


def test_mixed_users_without_users_are_the_open_queue():
    queue, users = mmc(lam=3.5, S=1, servers=4), mixed(lam=3.5, N=0, Z=1, S=1, servers=4)
    assert users.Ro == pytest.approx(queue.R, rel=1e-14)
    t = np.array([0.1, 1, 10])
    np.testing.assert_allclose(users.sf(t, "open"), queue.sf(t), rtol=1e-13)


def test_no_job_waits_where_each_has_a_server():
    station = mminf(lam=3, S=[2, 0])
    np.testing.assert_array_equal(station.Q, [6, 0])
    np.testing.assert_array_equal(station.U, [0, 0])
    assert station.sf(1)[0] == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(station.check(), 0)


def test_service_of_any_law_has_the_mean_of_pollaczek_and_khinchine():
    queue = mg1(lam=0.5, S=1, scv=[0, 1, 9])
    np.testing.assert_allclose(queue.R, [md1(0.5, 1).R, mm1(0.5, 1).R, 6], rtol=1e-15)
    for ask in (lambda: queue.sf(1), lambda: queue.ppf(0.9), lambda: queue.moment(2)):
        with pytest.raises(QueueingError, match="scv does not determine"):
            ask()


def erlangs_sum(t, lam):
    """P(wait > t) of M/D/1 with S = 1, by Erlang's alternating sum with 200 digits."""
    with mpmath.workdps(200):
        lam, t = mpmath.mpf(lam), mpmath.mpf(t)
        terms = (
            (lam * (k - t)) ** k / mpmath.factorial(k) * mpmath.exp(-lam * (k - t))
            for k in range(int(t) + 1)
        )
        return 1 - (1 - lam) * sum(terms)


@pytest.mark.parametrize("lam", [1e-6, 0.01, 0.5, 0.9, 0.99, 0.999999])
def test_equal_services_agree_with_erlangs_sum(lam):
    queue = md1(lam, 1)
    for t in (0, 0.3, 0.999, 1, 1.5, 3.2, 10.7, 30.3, 63.9, 64, 65.5, 100.2):
        expected = erlangs_sum(t, lam)
        if expected > 1e-60:
            assert abs(queue.sf(1 + t) / expected - 1) < 1e-12, t


def test_equal_services_are_never_shorter():
    queue = md1(lam=0.375, S=2)
    np.testing.assert_allclose(queue.sf([1, 1.999, 2]), [1, 1, 0.75], rtol=1e-15)
    np.testing.assert_array_equal(queue.ppf([0.1, 0.25]), [2, 2])
    assert queue.ppf(0.251) > 2
    assert queue.ppf(1) == np.inf
    assert queue.cdf(queue.ppf(0.99)) == pytest.approx(0.99, rel=1e-13)
    assert queue.moment(1) == pytest.approx(queue.R, rel=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        mm1(lam=0.75, S=1),
        mminf(lam=3, S=4),
        mmck(lam=9, S=4, servers=2, K=2),
        closed(N=2, Z=3, S=4, servers=2),
    ],
)
def test_exponential_responses_have_its_moments(model):
    found = model.moments()
    assert found["mean"] == pytest.approx(4)
    assert found["variance"] == pytest.approx(16)
    assert found["scv"] == pytest.approx(1)
    assert found["skewness"] == pytest.approx(2)


def test_moments_of_equal_services():
    """Variance of the wait: lam E[S^3] / 3(1 - lam) + W^2 (Takacs)."""
    queue = md1(lam=0.5, S=1)
    assert queue.moments()["variance"] == pytest.approx(0.5 / 3 / 0.5 + 0.25, rel=1e-14)


STATIONS = [
    (mm1, {"lam": 0.7, "S": 1.25}),
    (mmc, {"lam": 1.7, "S": 1.25, "servers": 3}),
    (mminf, {"lam": 1.7, "S": 1.25}),
    (mmck, {"lam": 2.7, "S": 1.25, "servers": 3, "K": 7}),
    (mmck, {"lam": 2.7, "S": 1.25, "servers": 3, "K": 3}),
    (mg1, {"lam": 0.7, "S": 1.25, "scv": 3.0}),
    (md1, {"lam": 0.7, "S": 1.25}),
]


@pytest.mark.parametrize(("model", "given"), STATIONS)
def test_derivatives_agree_with_differences(model, given):
    result = model(**given)
    for wrt in ("lam", "S", "scv"):
        if wrt not in given:
            continue
        h = 1e-4
        x = given[wrt] + h * np.array([-2, -1, 1, 2])
        around = model(**{**given, wrt: x})
        for of in result.measures:
            f = np.broadcast_to(getattr(around, of), 4)
            expected = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
            assert result.derivative(of, wrt) == pytest.approx(expected, rel=1e-9, abs=1e-10)


def test_derivatives_at_the_ends():
    assert mm1(0, 2).derivative("R", "lam") == pytest.approx(4)
    assert mmc(0, 2, [1, 2]).derivative("p_wait", "lam").tolist() == [2, 0]
    assert mm1(0.5, 0).derivative("R", "S") == pytest.approx(1)
    with pytest.raises(QueueingError, match="wrt is 'servers', a whole number"):
        mmc(1, 1, 2).derivative("R", "servers")


@pytest.mark.parametrize(("model", "given"), STATIONS)
def test_all_at_the_ends(model, given):
    idle = model(**{**given, "lam": 0})
    assert (idle.X, idle.Q, idle.U, idle.W, idle.Lq, idle.p_wait) == (0,) * 6
    assert idle.R == 1.25
    quick = model(**{**given, "S": 0})
    assert (quick.R, quick.Q, quick.U, quick.W) == (0,) * 4
    assert quick.X == given["lam"]
    if model is not mg1:
        assert quick.sf(1e-9) == 0 and quick.ppf(0.5) == 0
        assert idle.sf([0, np.inf]).tolist() == [1, 0]
        assert idle.sf(-1) == 1
    for name in ("lam", "S"):
        for value in (-1, np.nan, np.inf):
            with pytest.raises(QueueingError, match=f"^{name} is .*; it must be finite, 0 or more"):
                model(**{**given, name: value})
        with pytest.raises(QueueingError, match=f"^{name} is '1'; it must be a number"):
            model(**{**given, name: "1"})
    assert model(**{**given, "lam": []}).R.shape == (0,)
    assert model(**{**given, "lam": np.array(0.5)}).check() < 1e-14
    assert list(model(**{**given, "lam": [0.1, 0.2]}).to_frame()) == [*given, *idle.measures]


@pytest.mark.parametrize(("model", "given"), STATIONS)
def test_points_without_answer_are_nan(model, given):
    with pytest.warns(QueueingWarning, match="1 of 2 points have no solution"):
        result = model(**{**given, "lam": [0.5, -1]})
    for name in result.measures:
        assert np.isnan(np.broadcast_to(getattr(result, name), 2)).tolist() == [False, True]
    assert np.isnan(result.moment(1)).tolist() == [False, True]
    if model is not mg1:
        assert np.isnan(result.sf(1)).tolist() == [False, True]
        assert np.isnan(result.ppf(0.9)).tolist() == [False, True]
    assert np.isnan(result.derivative("R", "lam")).tolist() == [False, True]


def test_capacity_is_needed():
    for ask in (lambda: mm1(1, 1), lambda: mg1(2, 1, 1), lambda: md1(1, 1), lambda: mmc(4, 0.5, 2)):
        with pytest.raises(QueueingError, match=r"^lam is .*; it must be below"):
            ask()
    assert mm1(3, 1 / 3).R > 1e15  # 3 times the float below 1/3 is less than 1
    with pytest.raises(QueueingError, match="K is 2; it must be at least the number of servers"):
        mmck(1, 1, 3, 2)
    for servers in (0, 1.5):
        with pytest.raises(QueueingError, match=r"servers is .*; it must be a whole number"):
            mmc(1, 1, servers)


loads = st.floats(1e-6, 0.9999)


@examples(25)
@given(load=loads, S=st.floats(1e-3, 1e3), servers=st.integers(1, 500))
def test_more_servers_of_the_same_capacity_make_waits_shorter(load, S, servers):
    fewer = mmc(load * servers / S, S, servers)
    more = mmc(load * (servers + 1) / S, S, servers + 1)
    assert more.p_wait <= fewer.p_wait * (1 + 1e-12)
    assert 0 <= fewer.p_wait <= 1
    assert fewer.check() < 1e-13


@examples(25)
@given(load=loads, q=st.floats(0.001, 0.999), servers=st.integers(1, 50))
def test_percentiles_invert_the_law(load, q, servers):
    for queue in (mmc(load * servers, 1, servers), mmck(load * servers, 1, servers, servers + 5)):
        assert queue.cdf(queue.ppf(q)) == pytest.approx(q, rel=1e-9)


@pytest.mark.slow
def test_a_million_points(rng):
    load = rng.uniform(0, 1, 1_000_000)
    assert (mm1(load, 1).R >= 1).all()
    assert (mg1(load, 1, 2).W >= 0).all()
    queue = mmc(load[:50_000] * 8, 1, 8)
    assert ((queue.p_wait >= 0) & (queue.p_wait <= 1)).all()
