"""Closed users and open jobs at several servers, held to exact fractions and to 50 digits."""

from fractions import Fraction
from itertools import pairwise
from math import comb, factorial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workloadkit.queueing import QueueingError, QueueingWarning, closed, mixed
from workloadkit.queueing.users_at_servers import (
    MOST,
    WHOLE_USERS,
    closed_sums,
    mixed_derivatives,
    mixed_moment,
    mixed_sums,
    mixed_survival,
)


def points(*values):
    return tuple(np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values)


def by_fractions(N, Z, S, servers):
    """X, R, Q of closed users, from the weights of the states, in exact fractions."""
    N, Z, S = int(N), Fraction(Z), Fraction(S)

    def weights(users):
        found = []
        for n in range(users + 1):
            slots = Fraction(1)
            for i in range(1, n + 1):
                slots *= min(i, servers)
            found.append(S**n * Z ** (users - n) / factorial(users - n) / slots)
        return found

    here = weights(N)
    X = sum(weights(N - 1)) / sum(here)
    Q = sum(n * w for n, w in enumerate(here)) / sum(here)
    return X, Q / X, Q


def by_closed_users(lam, N, Z, S, servers):
    """Xc, Rc, Qc, Ro with 50 digits: open jobs are summed for each number of closed ones there."""
    with mpmath.workdps(60):
        lam, Z, S = (mpmath.mpf(v) for v in (lam, Z, S))
        c, rho = servers, lam * S
        x = rho / c
        below = [mpmath.mpf(0)]  # sums of rho^o / o!
        for o in range(c + 1):
            below.append(below[-1] + rho**o / mpmath.factorial(o))
        busy = [mpmath.mpf(0)]  # P(Binomial(c, 1 - x) < j)
        for j in range(c + 1):
            busy.append(busy[-1] + mpmath.binomial(c, j) * (1 - x) ** j * x ** (c - j))

        def sums(users):
            total = closed = opened = mpmath.mpf(0)
            for j in range(users + 1):
                weight = S**j * Z ** (users - j) / mpmath.factorial(users - j)
                full = mpmath.mpf(c) ** (c - j) / mpmath.factorial(c) / (1 - x) ** (j + 1)
                free = below[max(c - j, 0)] / mpmath.factorial(j)
                free_o = lam * S * below[max(c - j - 1, 0)] / mpmath.factorial(j)
                total += weight * (free + full * busy[min(j + 1, c + 1)])
                closed += j * weight * (free + full * busy[min(j + 1, c + 1)])
                more = (j + 1) * x / (1 - x) * busy[min(j + 2, c + 1)]
                opened += weight * (free_o + full * more)
            return total, closed / total, opened / total

        total, Qc, Qo = sums(N)
        Xc = sums(N - 1)[0] / total
        return Xc, Qc / Xc, Qc, Qo / lam


def worst(found, expected):
    return max(abs(f.item() / e - 1) for f, e in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("N", "Z", "S", "servers"),
    [
        (1, 5.0, 1.0, 2),
        (3, 3.0, 1.0, 2),
        (30, 1e-9, 0.1, 4),
        (30, 20.0, 1.0, 2),
        (40, 1e9, 1.0, 3),
        (100, 0.3, 0.7, 64),
        (200, 99.5, 1.0, 2),
    ],
)
def test_closed_users_agree_with_exact_fractions(N, Z, S, servers):
    expected = by_fractions(N, Z, S, servers)
    assert worst(closed_sums(*points(N, Z, S, servers))[:3], expected) < 1e-14


@pytest.mark.parametrize(
    ("lam", "N", "Z", "S", "servers"),
    [
        (0.5, 5, 3.0, 1.0, 2),
        (1.999998, 20, 3.0, 1.0, 2),
        (7.5, 1, 1e9, 1.0, 8),
        (0.3, 60, 0.2, 2.5, 3),
        (15.0, 5, 0.001, 1.0, 20),
        (1e-9, 50, 1.0, 1.0, 20),
        (5.0, 3, 1.0, 1.0, 30),
        (30.0, 150, 2.0, 0.125, 4),
    ],
)
def test_mixed_users_agree_with_fifty_digits(lam, N, Z, S, servers):
    expected = by_closed_users(lam, N, Z, S, servers)
    assert worst(mixed_sums(*points(lam, N, Z, S, servers)), expected) < 1e-14


@pytest.mark.slow
def test_mixed_users_agree_with_fifty_digits_everywhere(rng):
    for _ in range(300):
        c = int(rng.choice([2, 3, 4, 8, 16, 50, 200]))
        N = int(np.exp(rng.uniform(0, np.log(400))))
        S = float(np.exp(rng.uniform(-5, 5)))
        near = max(abs(N / c + rng.normal() * N**0.5 / c), 1e-3)  # where the servers fill
        Z = float(S * rng.choice([10 ** rng.uniform(-6, 9), 10 ** rng.uniform(0, 4), near]))
        load = rng.choice([rng.uniform(), 1 - 10 ** rng.uniform(-6, -1), 10 ** rng.uniform(-12, 0)])
        lam = float(load * c / S)
        expected = by_closed_users(lam, N, Z, S, c)
        assert worst(mixed_sums(*points(lam, N, Z, S, c)), expected) < 1e-13, (lam, N, Z, S, c)


@pytest.mark.slow
@pytest.mark.parametrize("Z", [1.0, 2.4e4, 2.5e4, 2.6e4, 1e9])
def test_a_hundred_thousand_users_agree_with_sums_of_fifty_digits(Z):
    N, S, servers = 100_000, 1.0, 4

    def weights(users):
        weight = total = mpmath.mpf(1)
        busy = mpmath.mpf(0)
        for n in range(users):  # downwards in users who think
            weight *= (users - n) * mpmath.mpf(S) / (Z * min(n + 1, servers))
            total += weight
            busy += min(n + 1, servers) * weight
        return busy / total

    with mpmath.workdps(50):
        X = weights(N) / S
        R = N / X - Z
        assert worst(closed_sums(*points(N, Z, S, servers))[:3], (X, R, X * R)) < 1e-10


def test_no_user_waits_where_there_is_a_server_for_each():
    sums = closed_sums(*points(3, 2.0, 1.0, 4))
    assert [v.item() for v in sums] == [1.0, 1.0, 1.0, 1.0]


def test_without_think_time_all_are_always_there():
    sums = mixed_sums(*points([0, 0, 0.5], [3, 9, 9], [0, 0, 0], [2, 2, 2], [4, 4, 4]))
    np.testing.assert_allclose(sums.Xc[:2], [1.5, 2.0], rtol=1e-15)
    np.testing.assert_allclose(sums.Rc[:2], [2.0, 4.5], rtol=1e-15)
    # states of open jobs only: with 9 closed users all servers are always busy
    weights = np.array([comb(n + 9, 9) * 0.25**n for n in range(200)])
    closed = (weights * 9 / (9 + np.arange(200))).sum() / weights.sum()
    np.testing.assert_allclose(sums.Xc[2], 2 * closed, rtol=1e-14)


def test_a_think_time_near_zero_is_as_none():
    near = mixed_sums(*points([0.5] * 3, [9] * 3, [0, 1e-200, 1e-13], [2] * 3, [4] * 3))
    for value in near:
        np.testing.assert_allclose(value, value[0], rtol=1e-11)


def test_open_jobs_of_rate_zero_meet_the_closed_users():
    with_none = mixed_sums(*points([0, 1e-200, 1e-13], [9] * 3, [5] * 3, [2] * 3, [4] * 3))
    for value in with_none:
        np.testing.assert_allclose(value, value[0], rtol=1e-11)


def test_no_users_leave_the_open_queue():
    sums = mixed_sums(*points(1.5, 0, 3, 1, 2))  # Erlang C of 1.5 with 2: 9/14
    assert sums.Xc == 0 and sums.Qc == 0 and np.isnan(sums.Rc)
    np.testing.assert_allclose(sums.Ro, 1 + 9 / 14 / 0.5, rtol=1e-15)


mostly = st.floats(0.01, 100)


@examples(40)
@given(
    load=st.floats(0, 0.999), N=st.integers(1, 40), Z=mostly, S=mostly, servers=st.integers(1, 8)
)
def test_throughput_keeps_its_bounds_and_rises_with_users(load, N, Z, S, servers):
    lam = load * servers / S
    one, two = mixed_sums(
        *points([lam] * 2, [N, N + 1], [Z] * 2, [S] * 2, [servers] * 2)
    )._asdict()["Xc"]
    assert 0 < one <= two * (1 + 1e-14)
    assert two <= min((servers - lam * S) / S * (1 + 1e-12), (N + 1) / (Z + S) * (1 + 1e-14))


@examples(40)
@given(load=st.floats(0, 0.99), N=st.integers(1, 20), Z=mostly, S=mostly, servers=st.integers(1, 5))
def test_open_jobs_wait_longer_and_laws_have_their_means(load, N, Z, S, servers):
    load_ = points(load * servers / S, N, Z, S, servers)
    sums = mixed_sums(*load_)
    assert sums.Ro >= sums.Rc
    for job, mean in (("closed", sums.Rc), ("open", sums.Ro)):
        np.testing.assert_allclose(mixed_moment(1, *load_, job), mean, rtol=1e-14)
        t = np.linspace(0, 5 * mean[0], 50)
        share = mixed_survival(t, *(np.full(50, v) for v in load_), job)
        assert share[0] == 1 and (np.diff(share) <= 1e-14).all() and (share >= 0).all()


@pytest.mark.parametrize(
    ("lam", "N", "Z", "S", "servers"),
    [
        (1.5, 10, 3.0, 1.0, 2),
        (1.99, 10, 3.0, 1.0, 2),  # what is left is slower than one server
        (0.0, 10, 3.0, 1.0, 2),
        (0.5, 4, 3.0, 2.0, 8),
        (0.3, 5, 2.0, 1.0, 1),
    ],
)
@pytest.mark.parametrize("job", ["closed", "open"])
def test_moments_are_integrals_of_the_survival(lam, N, Z, S, servers, job):
    load = points(lam, N, Z, S, servers)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    mean = mixed_moment(1, *load, job).item()
    edges = mean * np.array([0, 0.3, 1, 2, 4, 8, 16, 40, 100])
    for order in (1, 2, 3):
        total = 0.0
        for begin, end in pairwise(edges):
            t = (end - begin) / 2 * nodes + (end + begin) / 2
            share = mixed_survival(t, *(np.full(t.size, v) for v in load), job)
            total += (end - begin) / 2 * (weights * order * t ** (order - 1) * share).sum()
        np.testing.assert_allclose(mixed_moment(order, *load, job), total, rtol=1e-12)


def test_one_server_has_the_law_of_erlang_mixtures():
    """A closed job that meets m others stays for m + 1 exponential services."""
    from scipy.stats import gamma

    N, Z, S = 5, 2.0, 1.0
    weights = np.array([(Z / S) ** k / factorial(k) for k in range(N)])  # of k who think
    share = weights / weights.sum()
    t = np.linspace(0, 20, 9)
    expected = sum(share[k] * gamma(N - k, scale=S).sf(t) for k in range(N))
    load = (np.full(9, v) for v in (0.0, N, Z, S, 1.0))
    np.testing.assert_allclose(mixed_survival(t, *load, "closed"), expected, rtol=1e-13)


@pytest.mark.parametrize("wrt", ["lam", "Z", "S"])
@pytest.mark.parametrize("load", [(1.5, 7, 3.0, 1.0, 2), (0.2, 7, 3.0, 1.0, 4)])
def test_derivatives_agree_with_those_of_fifty_digits(wrt, load):
    place = ["lam", "N", "Z", "S"].index(wrt)

    def measures(x):
        given = list(load)
        given[place] = x
        return by_closed_users(*given)

    with mpmath.workdps(50):
        step, x = mpmath.mpf(10) ** -12, mpmath.mpf(load[place])
        pairs = zip(measures(x + step), measures(x - step), strict=True)
        expected = [(up - down) / (2 * step) for up, down in pairs]
        assert worst(mixed_derivatives(wrt, *points(*load)).values(), expected) < 1e-11


def test_times_at_the_ends():
    load = tuple(np.full(5, v) for v in (1.0, 1000.0, 300.0, 1.0, 2.0))
    share = mixed_survival(np.array([0.0, 1e-300, 1e9, np.inf, np.nan]), *load, "open")
    np.testing.assert_array_equal(share, [1, 1, 0, 0, np.nan])


def test_more_users_than_memory_holds_are_refused():
    with pytest.raises(QueueingError, match=r"N is 1e\+09; it must be .* at most 50,000,000"):
        closed(1e9, 1, 1, 2)
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        assert np.isnan(closed([1e9, 10], 1, 1, 2).X).tolist() == [True, False]


@pytest.mark.parametrize("N", [1, 3, 4, 12])
@pytest.mark.parametrize(("wrt", "lam", "Z"), [("Z", 0.5, 0.0), ("Z", 0.0, 0.0), ("lam", 0.0, 1.5)])
def test_derivatives_at_zero_agree_with_one_sided_differences(N, wrt, lam, Z):
    servers, h = 3, 2e-3
    found = mixed_derivatives(wrt, *points(lam, N, Z, 1, servers))
    x = h * np.arange(6)
    ones = np.ones(6)
    around = mixed_sums(
        *(x if wrt == "lam" else lam * ones, N * ones, x if wrt == "Z" else Z * ones),
        ones,
        servers * ones,
    )
    for name, slope in found.items():
        f = getattr(around, name)
        expected = (f * [-137 / 60, 5, -5, 10 / 3, -5 / 4, 1 / 5]).sum() / h
        np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-290, 1e-9, 1e9, 1e290])
def test_the_unit_of_time_does_not_matter(scale):
    load = (1.5, 7, 3.0, 1.0, 2)
    scaled = (1.5 / scale, 7, 3 * scale, scale, 2)
    here, there = mixed_sums(*points(*load)), mixed_sums(*points(*scaled))
    for name, unit in (("Xc", 1 / scale), ("Rc", scale), ("Qc", 1), ("Ro", scale)):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name) * unit, rtol=1e-14)
    share = mixed_survival(np.array([5.0]), *points(*load), "open")
    assert mixed_survival(np.array([5 * scale]), *points(*scaled), "open") == pytest.approx(share)
    slopes, scaled_slopes = (mixed_derivatives("S", *points(*at)) for at in (load, scaled))
    np.testing.assert_allclose(scaled_slopes["Rc"], slopes["Rc"], rtol=1e-12)


def test_users_who_think_for_ever_do_not_meet():
    sums = closed_sums(*points(9, 1e9, 1e-300, 2))
    np.testing.assert_allclose([v.item() for v in sums], [9e-9, 1e-300, 9e-309, 1e-300], rtol=1e-9)


def test_servers_without_end_are_refused():
    with pytest.raises(QueueingError, match="servers is inf; it must be a whole number, 1 or more"):
        closed(N=2, Z=1, S=1, servers=np.inf)


def test_without_users_their_response_has_no_slope_and_their_throughput_none():
    found = mixed(lam=0.5, N=0, Z=1, S=1, servers=2)
    assert np.isnan(found.derivative("Rc", "lam"))
    assert found.derivative("Xc", "lam") == found.derivative("Qc", "Z") == 0


@pytest.mark.parametrize(
    ("N", "servers", "holds"),
    [
        (MOST - 2, 2, True),
        (MOST - 1, 2, False),
        (2.5, 2, False),
        (2.5, 1, True),
        (MOST + 9, 1, True),
    ],
)
def test_users_of_several_servers_are_whole_and_not_too_many(N, servers, holds):
    assert bool(WHOLE_USERS.holds({"N": np.array(N), "servers": np.array(servers)})) is holds
