"""Parameters found from responses give these responses again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workloadkit.queueing import QueueingError, QueueingWarning, closed, mixed, mm1, mmc
from workloadkit.queueing.inverse import (
    kind_of_users,
    most_jobs,
    most_users,
    service_of_jobs,
    times_of_users,
    users_for_response,
)


def test_users_by_hand():
    """Without think time N users share one server: R = N S / (1 - lam S)."""
    assert users_for_response(R=6, Z=0, S=2) == pytest.approx(3, rel=1e-14)
    assert users_for_response(R=6, Z=0, S=1, lam=0.5) == pytest.approx(3, rel=1e-14)
    assert most_users(R=[5.9, 6, 6.1], Z=0, S=2).tolist() == [2, 3, 3]
    assert most_users(R=6, Z=0, S=2, servers=2) == 6
    assert most_users(R=1, Z=5, S=1) == 1
    assert most_users(R=4, Z=0, S=1, lam=0.5, job="open") == 1  # Ro = (N + 1) s


def test_jobs_by_hand():
    assert most_jobs(R=5, S=1) == pytest.approx(0.8, rel=1e-14)
    limit = mm1(lam=0.8, S=1).ppf(0.95)
    assert most_jobs(R=limit, S=1, q=0.95) == pytest.approx(0.8, rel=1e-12)
    assert most_jobs(R=1, S=1) == pytest.approx(0, abs=1e-14)
    assert most_jobs(R=1e300, S=1, servers=4) == pytest.approx(4, rel=1e-14)


def test_jobs_next_to_users_who_do_not_think():
    """With s = S / (1 - lam S), Rc = N s and Ro = (N + 1) s."""
    assert most_jobs(R=6, S=1, N=3, job="closed") == pytest.approx(0.5, rel=1e-13)
    assert most_jobs(R=6, S=1, N=2, job="open") == pytest.approx(0.5, rel=1e-13)


def test_open_jobs_may_be_alone():
    """Without users Ro is S / (1 - lam S)."""
    assert most_users(R=2, Z=5, S=1, lam=0.5, job="open") == 0
    assert users_for_response(R=2, Z=5, S=1, lam=0.5, job="open") == pytest.approx(0, abs=1e-12)


rates = st.floats(0.01, 0.98)
times = st.floats(0.01, 100)


@examples(8)
@given(load=rates, N=st.floats(1, 200), Z=times, S=times)
def test_users_are_found_again(load, N, Z, S):
    there = mixed(load / S, N, Z, S)
    for job, R in (("closed", there.Rc), ("open", there.Ro)):
        found = users_for_response(R, Z, S, lam=load / S, job=job)
        again = mixed(load / S, found, Z, S)
        assert (again.Rc if job == "closed" else again.Ro) == pytest.approx(R, rel=1e-12)
        most = most_users(R * (1 + 1e-12), Z, S, lam=load / S, job=job)
        assert most == np.floor(found) or found == pytest.approx(most, rel=1e-6)


@examples(8)
@given(N=st.integers(1, 60), servers=st.integers(1, 6), load=rates, Z=times, q=st.floats(0.1, 0.99))
def test_the_most_users_keep_the_limit_and_one_more_does_not(N, servers, load, Z, q):
    lam = load * servers
    limit = mixed(lam, N, Z, 1, servers).ppf(q, "closed") * 1.0001
    most = most_users(limit, Z, 1, servers, lam, q)
    assert most >= N
    around = mixed(lam, [most, most + 1], Z, 1, servers).ppf(q, "closed")
    assert around[0] <= limit * (1 + 1e-12) and around[1] >= limit * (1 - 1e-12)


@examples(8)
@given(load=rates, servers=st.integers(1, 6), N=st.integers(0, 20), Z=times, q=st.floats(0.1, 0.99))
def test_jobs_are_found_again(load, servers, N, Z, q):
    lam = load * servers
    there = mixed(lam, N, Z, 1, servers)
    mean = most_jobs(there.Ro, 1, servers, N, Z)
    assert mixed(mean, N, Z, 1, servers).Ro == pytest.approx(there.Ro, rel=1e-11)
    limit = there.ppf(q, "open")
    share = mixed(most_jobs(limit, 1, servers, N, Z, q), N, Z, 1, servers).cdf(limit, "open")
    assert share == pytest.approx(q, rel=1e-9)


@examples(8)
@given(N=st.integers(1, 40), Z=times, S=times, servers=st.integers(1, 5), load=rates)
def test_times_are_found_again(N, Z, S, servers, load):
    lam = load * servers / S
    there = mixed(lam, N, Z, S, servers)
    think, service = times_of_users(N, there.Xc, there.Rc, servers, lam)
    assert think == pytest.approx(Z, rel=1e-9, abs=1e-11 * (Z + there.Rc))
    again = mixed(lam, N, think, service, servers)
    assert again.Rc == pytest.approx(there.Rc, rel=1e-10)
    assert again.Xc == pytest.approx(there.Xc, rel=1e-10)
    queue = mmc(lam, S, servers)
    assert service_of_jobs(lam, queue.R, servers) == pytest.approx(S, rel=1e-9)


def test_service_of_one_server_by_hand():
    np.testing.assert_allclose(service_of_jobs([0.5, 0], [2, 2]), [1, 2], rtol=1e-13)


def test_users_who_do_not_think_by_hand():
    assert times_of_users(N=5, X=1, R=5) == pytest.approx((0, 1))


def test_limits_that_nothing_keeps_are_named():
    with pytest.raises(
        QueueingError, match="R is 1; it must be at least 2, the response time for one user"
    ):
        most_users(R=1, Z=5, S=1, lam=0.5)
    with pytest.raises(
        QueueingError, match="R is 1; it must be at least 2, the response time without users"
    ):
        users_for_response(R=1, Z=5, S=1, lam=0.5, job="open")
    with pytest.raises(
        QueueingError, match=r"R is 2; it must be at least 2.30259, the response time without op"
    ):
        most_jobs(R=2, S=1, q=0.9)
    with pytest.raises(QueueingError, match=r"lam is 1; it must be below servers / S"):
        most_users(R=5, Z=5, S=1, lam=1)
    with pytest.raises(QueueingError, match=r"R is 6; it must be at most N / X, a user's cycle"):
        times_of_users(N=10, X=2, R=6)
    with pytest.raises(QueueingError, match="q is 1; it must be above 0 and below 1"):
        most_jobs(R=2, S=1, q=1)
    with pytest.raises(QueueingError, match="N is 0; it must be 1 or more for closed jobs"):
        most_jobs(R=2, S=1, job="closed")
    with pytest.raises(QueueingError, match="job is 'both'; it must be closed or open"):
        most_jobs(R=2, S=1, job="both")
    for bad in (np.nan, -1, 0, np.inf, "2", None, True):
        for ask in (lambda R: most_jobs(R, 1), lambda R: users_for_response(R, 1, 1)):
            with pytest.raises(QueueingError, match=r"^R is "):
                ask(bad)


def test_more_users_than_can_be_counted():
    with pytest.raises(
        QueueingError, match=r"^R is 1e\+06; .* not exceeded even with 49,999,000 users"
    ):
        most_users(R=1e6, Z=0, S=1, servers=1000, q=0.5)
    with pytest.raises(QueueingError, match="not exceeded even with 1,000,000,000,000,000 users"):
        most_users(R=1, Z=0, S=1e-300)
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        assert np.isnan(users_for_response(R=[1, 10], Z=0, S=[1e-300, 1])).tolist() == [True, False]
    assert most_users(R=1e11, Z=0, S=2**-10) == 1e11 * 2**10
    assert most_users([], 1, 1).size == 0


def test_points_without_answer_are_nan():
    with pytest.warns(QueueingWarning, match="3 of 4 points have no solution"):
        found = most_users(R=[3, 0.5, -1, 3], Z=5, S=[1, 1, 1, np.nan])
    assert np.isnan(found).tolist() == [False, True, True, True]
    with pytest.warns(QueueingWarning, match="1 of 2 points have no solution"):
        assert np.isnan(most_jobs([3, 0.5], 1)).tolist() == [False, True]
    assert most_jobs([], 1).shape == (0,)
    assert users_for_response(np.full((2, 3), 4), 5, 1).shape == (2, 3)


def test_sessions_give_the_kind():
    assert kind_of_users(5) == "open"
    assert kind_of_users([1, 5.1, 9.9, 10, 1e6]).tolist() == [
        "open",
        "partly open",
        "partly open",
        "closed",
        "closed",
    ]
    for wrong in (0.5, np.inf):
        with pytest.raises(
            QueueingError, match=rf"jobs_per_session is {wrong}; it must be finite, 1 or more"
        ):
            kind_of_users(wrong)
    with pytest.warns(QueueingWarning, match="1 of 2"):
        assert kind_of_users([np.nan, 2]).tolist() == ["", "open"]


def test_saturated_users_give_the_servers():
    """Near saturation X is servers / S."""
    there = closed(N=500, Z=10, S=2, servers=4)
    _, S = times_of_users(500, there.X, there.R, 4)
    assert pytest.approx(4 / there.X, rel=1e-9) == S
