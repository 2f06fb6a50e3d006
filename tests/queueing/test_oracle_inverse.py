"""Parameters found for a wanted answer, put back into exact sums."""

from fractions import Fraction

import mpmath
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_one_server as one
from tests.oracles import queueing_servers as many
from tests.oracles import queueing_stations as stations
from tests.oracles.queueing_accuracy import error
from workloadkit.queueing import inverse


@pytest.mark.parametrize(
    ("R", "Z", "S", "lam"),
    [(5.0, 20.0, 1.0, 0.0), (1.001, 20.0, 1.0, 0.0), (900.0, 50.0, 1.0, 0.5), (4.0, 0.0, 1.0, 0.3)],
)
def test_users_for_a_mean_response(R, Z, S, lam):
    for job, name in (("closed", "Rc"), ("open", "Ro")):
        if job == "open" and lam == 0:
            continue
        N = inverse.users_for_response(R, Z, S, lam=lam, job=job)
        assert error(R, one.measures_real(lam, N, Z, S)[name]) < 1e-9


@pytest.mark.parametrize(("R", "Z", "lam"), [(5.0, 20.0, 0.0), (40.0, 10.0, 0.5)])
@pytest.mark.parametrize("q", [0.5, 0.95])
def test_users_for_a_percentile(R, Z, lam, q):
    N = inverse.users_for_response(R, Z, 1.0, lam=lam, q=q)
    with mpmath.workdps(40):
        left = 1 - mpmath.mpf(lam)
        a = Z * left
        slower = mpmath.gammainc(N, a + left * R) / mpmath.gammainc(N, a)
        assert float(slower) == pytest.approx(1 - q, rel=1e-8)


@pytest.mark.parametrize(
    ("R", "Z", "S", "c", "lam"),
    [
        (5.0, 20.0, 1.0, 1, 0.0),
        (2.5, 20.0, 1.0, 4, 0.0),
        (3.0, 8.0, 1.0, 3, 1.5),
        (1.0, 8.0, 1.0, 3, 0.0),
    ],
)
def test_most_users_keep_a_response_and_one_more_does_not(R, Z, S, c, lam):
    N = int(inverse.most_users(R, Z, S, servers=c, lam=lam))
    assert many.mixed(lam, N, Z, S, c)["Rc"] <= R < many.mixed(lam, N + 1, Z, S, c)["Rc"]


@pytest.mark.parametrize(("R", "Z", "c", "q"), [(5.0, 20.0, 1, 0.95), (6.0, 9.0, 3, 0.9)])
def test_most_users_for_a_percentile(R, Z, c, q):
    N = int(inverse.most_users(R, Z, 1.0, servers=c, q=q))

    def slower(N):
        met = many.closed_met(N, Z, 1.0, c)
        return chains.response_survival(R, {n: float(p) for n, p in met.items()}, 1.0, c)

    assert slower(N) <= 1 - q < slower(N + 1)


@pytest.mark.parametrize(
    ("R", "c", "N", "Z"), [(2.0, 1, 0, 1.0), (3.0, 4, 0, 1.0), (10.0, 1, 5, 9.0), (2.0, 3, 6, 4.0)]
)
def test_most_open_jobs_for_a_mean_response(R, c, N, Z):
    lam = inverse.most_jobs(R, 1.0, servers=c, N=N, Z=Z)
    known = many.mixed(lam, N, Z, 1.0, c)["Ro"] if N else stations.many_servers(lam, 1, c)["R"]
    assert error(R, known) < 1e-9


@pytest.mark.parametrize(
    ("N", "Z", "S", "c"),
    [(10, 20.0, 1.5, 1), (30, 5.0, 1.0, 4), (4, 100.0, 0.3, 2), (7, 1.0, 1.0, 3)],
)
def test_times_of_users_from_what_is_measured(N, Z, S, c):
    known = many.closed(N, Z, S, c)
    found = inverse.times_of_users(N, float(known["X"]), float(known["R"]), servers=c)
    assert (found.Z, found.S) == pytest.approx((Z, S), rel=1e-9)


@pytest.mark.parametrize(("lam", "S", "c"), [(0.5, 1.0, 1), (3.5, 1.0, 4), (0.01, 7.0, 2)])
def test_service_of_open_jobs_from_what_is_measured(lam, S, c):
    R = stations.many_servers(Fraction(lam), Fraction(S), c)["R"]
    assert inverse.service_of_jobs(lam, float(R), servers=c) == pytest.approx(S, rel=1e-9)
