"""The chain of jobs at the servers and users who think."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles import queueing_chains as oracle
from workloadkit.queueing import QueueingError
from workloadkit.queueing.probability import (
    as_probability,
    as_think,
    breaks,
    exponential,
    hyperbolic,
    table,
)
from workloadkit.queueing.reopening.chain import solve_chain
from workloadkit.queueing.reopening.laws import moment, phases, survival
from workloadkit.queueing.reopening.mixed_chain import solve_mixed_chain
from workloadkit.queueing.reopening.thinkers import averages, erlang_averages, phase_averages

THESIS = [exponential(1.0), hyperbolic(0.8, 0.5)]


@pytest.mark.parametrize("b", [1e-6, 0.05, 0.5, 3.0, 1e8])
def test_averages_of_a_hyperbola_are_exponential_integrals(b):
    import mpmath

    y = mpmath.mpf(1) / mpmath.mpf(b)
    found = phase_averages(hyperbolic(0.8, b), 1.0, 2000)
    with mpmath.workdps(60):
        for k in (1, 2, 19, 20, 21, 333, 2000):
            exact = mpmath.mpf(0.8) * y * mpmath.exp(y) * mpmath.expint(k, y)
            if exact > 1e-3:  # mpmath's own asymptotic form loses all digits for some
                assert abs(found[k - 1] / float(exact) - 1) < 1e-13 or y > 100


@pytest.mark.parametrize("p", [*THESIS, hyperbolic(0.8, 1e-3), hyperbolic(0.0, 1.0)])
def test_forms_are_averaged_as_their_functions_are(p):
    by_form = phase_averages(p, 2.0, 500)
    by_function = erlang_averages(p.at_times, 2.0, 500)
    assert np.allclose(by_form, by_function, rtol=0, atol=2e-12)


def test_jumps_and_corners_are_found():
    from scipy.special import gammaincc

    k = np.arange(1, 301)
    found = averages(as_probability(lambda r: 0.9 if r < 3.7 else 0.2), 1.0, 300)
    assert np.allclose(found, 0.2 + 0.7 * (1 - gammaincc(k, 3.7)), rtol=0, atol=1e-12)

    def beyond(t):  # E (T - t)+
        return k / 2 * gammaincc(k + 1, 2 * t) - t * gammaincc(k, 2 * t)

    found = averages(table([1, 2, 5], [0.9, 0.3, 0.6]), 0.5, 300)
    exact = 0.9 - 0.6 * beyond(1.0) + 0.7 * beyond(2.0) - 0.1 * beyond(5.0)
    assert np.allclose(found, exact, rtol=0, atol=1e-12)


def test_what_is_too_rough_has_no_average():
    with pytest.raises(QueueingError, match="too irregular"):
        averages(as_probability(lambda r: 0.5 + 0.4 * np.sin(1e6 * r)), 1.0, 50)


@pytest.mark.parametrize("servers", [2, 5, 64])
def test_averages_with_several_servers(servers):
    behind = averages(exponential(1.0), 1.0, servers + 30, servers)
    waits = np.maximum(np.arange(servers + 30) - servers + 1, 0)
    assert np.allclose(behind, (servers / (servers + 1.0)) ** waits * 0.5, rtol=1e-13, atol=0)


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.01, 0.7, 3.0, 20.0]),
)
@examples(40)
def test_laws_are_those_of_a_tagged_job(shares, servers, t):
    shares = np.array(shares) / np.sum(shares)
    weights = phases(shares, servers)
    met = dict(enumerate(shares))
    exact = oracle.response_survival(t, met, 1.0, servers)
    assert survival(weights, servers, np.array(t)) == pytest.approx(exact, abs=1e-12)
    wait = np.maximum(np.arange(shares.size) - servers + 1, 0) / servers
    assert moment(weights, servers, 1) == pytest.approx(1 + shares @ wait, rel=1e-12)


@pytest.mark.parametrize("p", THESIS)
@pytest.mark.parametrize("servers", [1, 3])
def test_agrees_with_a_whole_generator(p, servers):
    lam, Z = 0.4 * servers, 3.0
    solved = solve_chain(lam, p, Z, 1.0, servers)
    law = oracle.reopen(lam, averages(p, 1.0, 100, servers), Z, 1.0, servers, 70, 30)
    exact = oracle.server_measures(law, 1.0, servers)
    assert solved.X == pytest.approx(exact["X"], rel=1e-9)
    assert solved.Q == pytest.approx(exact["Q"], rel=1e-9)
    assert solved.thinking == pytest.approx(oracle.mean(law, lambda s: s[1]), rel=1e-9)


@pytest.mark.parametrize("p", THESIS)
def test_two_thinking_states_agree_with_a_whole_generator(p):
    on = averages(p, 1.0, 50)
    short = erlang_averages(lambda r: p.at_times(r) * (r <= 1.0), 1.0, 50, [1.0])
    solved = solve_chain(0.3, p, breaks(0.5, 2.0, 1.0), 1.0)
    law = oracle.reopen_breaks(0.3, short, on - short, 0.5, 2.0, 1.0, 30, 12)
    exact = oracle.server_measures(law, 1.0)
    assert solved.X == pytest.approx(exact["X"], rel=1e-7)
    assert solved.Q == pytest.approx(exact["Q"], rel=1e-7)


def identities(p, load, Z, servers, S):
    p = p.with_values({"theta": 1 / S, "b": 0.5 / S})  # the same in another unit of time
    lam = load * servers / S
    solved = solve_chain(lam, p, Z * S, S, servers)
    assert solved.X * (1 - solved.p_mean) == pytest.approx(lam, rel=1e-9)
    assert solved.thinking == pytest.approx(Z * S * (solved.X - lam), rel=1e-8, abs=1e-12)
    assert solved.found.sum() == pytest.approx(1, rel=1e-9)
    assert (solved.found >= 0).all()
    assert (solved.left >= 0).all()
    assert 0 < solved.X < servers / S
    weights = phases(solved.left, servers)
    assert moment(weights, servers / S, 1) == pytest.approx(solved.Q / solved.X, rel=1e-9)


UNITS = st.sampled_from([1e-3, 1.0, 600.0])


@given(
    st.sampled_from(THESIS),
    st.floats(0.01, 0.8),
    st.sampled_from([0.0, 1e-20, 1e-3, 2.0]),
    st.sampled_from([1, 2]),
    UNITS,
)
@examples(20)
def test_identities_hold_at_all_points(p, load, Z, servers, S):
    identities(p, load, Z, servers, S)


@pytest.mark.slow
@given(
    st.sampled_from(THESIS),
    st.floats(1e-12, 0.97),
    st.sampled_from([0.0, 1e-9, 5.0, 30.0]),
    st.sampled_from([1, 3, 7]),
    UNITS,
)
@examples(100)
def test_identities_hold_far_out(p, load, Z, servers, S):
    identities(p, load, Z, servers, S)


@pytest.mark.parametrize("Z", [0.0, 0.7, 25.0])
@pytest.mark.parametrize(("lam", "servers"), [(0.05, 1), (0.45, 1), (1.6, 4)])
def test_constant_p_has_product_form(lam, Z, servers):
    from workloadkit import queueing

    solved = solve_chain(lam, as_probability(0.5), Z, 1.0, servers)
    exact = queueing.mmc(2 * lam, 1.0, servers)
    assert solved.X == pytest.approx(2 * lam, rel=1e-10)
    assert solved.Q == pytest.approx(exact.Q, rel=1e-10)
    times = np.array([0.0, 0.5, 4.0, 30.0])
    assert survival(phases(solved.left, servers), servers, times) == pytest.approx(
        exact.sf(times), rel=1e-8
    )


@pytest.mark.parametrize("lam", [0.1, 0.5, 0.9, 0.99])
def test_without_thoughts_it_is_eulers_distribution(lam):
    q = 0.5 ** np.arange(200)
    solved = solve_chain(lam, exponential(1.0), 0.0, 1.0)
    assert solved.X == pytest.approx(1 - np.prod(1 - lam * q), rel=1e-11)
    assert solved.Q == pytest.approx(np.sum(lam * q / (1 - lam * q)), rel=1e-9)


def test_where_the_chain_drifts_upwards_for_long_no_digit_is_lost():
    solved = solve_chain(0.95, hyperbolic(0.8, 0.05), 20.0, 1.0)
    assert solved.X * (1 - solved.p_mean) == pytest.approx(0.95, rel=1e-12)
    assert solved.Q / solved.X == pytest.approx(320.0, rel=1e-4)  # p(300) = 0.05


def test_long_thoughts_come_near_independent_jobs():
    # at the total rate, where X = lam (1 + theta) / (lam + theta) and R = 1 / (1 - X)
    solved = solve_chain(0.3, exponential(1.0), 1000.0, 1.0)
    assert solved.X == pytest.approx(0.6 / 1.3, rel=2e-4)
    assert solved.Q / solved.X == pytest.approx(1.3 / 0.7, rel=2e-3)


def test_users_who_hardly_ever_come_are_alone():
    for lam in (0.0, 1e-300, 1e-13):
        solved = solve_chain(lam, exponential(1.0), 5.0, 1.0)
        assert solved.left[0] == pytest.approx(1, rel=1e-11)
        assert solved.X == pytest.approx(2 * lam, rel=1e-11)
        assert solved.Q == pytest.approx(2 * lam, rel=1e-11)


def test_services_that_hardly_take_time_next_to_thoughts():
    solved = solve_chain(0.5, hyperbolic(0.8, 0.5), 1.0, 1e-300)
    assert solved.X * solved.p_mean == pytest.approx(solved.X - 0.5)
    assert (solved.left == [1.0]).all()


def test_equal_breaks_are_one_think_time():
    one = solve_chain(0.5, exponential(1.0), 5.0, 1.0)
    for Z in (breaks(5.0, 5.0, 1.0), as_think(lambda r: 5.0 + 0 * r)):
        same = solve_chain(0.5, exponential(1.0), Z, 1.0)
        assert same.Q == pytest.approx(one.Q, rel=1e-11)


def test_think_times_of_a_function_lie_between_its_least_and_greatest():
    least, middle, most = (
        solve_chain(0.5, exponential(1.0), as_think(Z) or Z, 1.0).Q
        for Z in (1.0, lambda r: 1.0 + np.minimum(r, 5.0), 6.0)
    )
    assert least < middle < most


def test_too_much_for_the_chain_is_reported():
    with pytest.raises(QueueingError, match=r"the chain needs [\d,]+ states"):
        solve_chain(0.5, hyperbolic(0.8, 0.05), 1e6, 1.0)
    with pytest.raises(QueueingError, match="must be below"):
        solve_chain(1.0, exponential(1.0), 1.0, 1.0)
    with pytest.raises(QueueingError, match="must be below"):
        solve_chain(0.8, table([0, 10], [0.9, 0.3]), 1.0, 1.0)
    with pytest.raises(QueueingError, match="too many for the chain"):
        solve_chain(1 - 1e-7, exponential(1.0), 1.0, 1.0)
    with pytest.raises(QueueingError, match="too close to 1"):
        solve_chain(0.5, exponential(1.0), 1.0, 1e-20)


@pytest.mark.parametrize("servers", [1, 2])
def test_mixed_agrees_with_a_whole_generator(servers):
    p = exponential(1.0)
    solved = solve_mixed_chain(0.3, 3, 2.0, 1.0, servers, p)
    on = averages(p, 1.0, 60, servers)
    law = oracle.reopen_mixed(0.3, 3, on, 2.0, 1.0, servers, 30, 10)
    assert solved.Qc == pytest.approx(oracle.mean(law, lambda s: s[0]), rel=1e-7)
    assert solved.Qo == pytest.approx(oracle.mean(law, lambda s: s[1]), rel=1e-7)
    assert solved.thinking == pytest.approx(oracle.mean(law, lambda s: s[2]), rel=1e-7)


@pytest.mark.parametrize(
    ("N", "Z", "lam", "servers"),
    [(1, 5.0, 0.3, 1), (8, 5.0, 0.2, 1), (4, 4.0, 0.5, 2), (3, 1e-9, 0.3, 1), (3, 0.0, 0.3, 1)],
)
def test_mixed_with_constant_p_has_product_form(N, Z, lam, servers):
    from workloadkit import queueing

    solved = solve_mixed_chain(lam, N, Z, 1.0, servers, as_probability(0.5))
    exact = queueing.mixed(2 * lam, N, Z, 1.0, servers)
    assert solved.Xo == pytest.approx(2 * lam, rel=1e-10)
    assert solved.Xc == pytest.approx(exact.Xc, rel=1e-10)
    assert solved.Qc == pytest.approx(exact.Qc, rel=1e-10)
    assert solved.Qo == pytest.approx(exact.Qo, rel=1e-10)
    times = np.array([0.5, 4.0, 20.0])
    closed = survival(phases(solved.left_closed, servers), servers, times)
    opened = survival(phases(solved.left_open, servers), servers, times)
    assert closed == pytest.approx(exact.sf(times, "closed"), rel=1e-8)
    assert opened == pytest.approx(exact.sf(times, "open"), rel=1e-8)


@given(
    st.sampled_from(THESIS),
    st.integers(0, 4),
    st.sampled_from([0.0, 0.5, 4.0]),
    st.floats(0.0, 0.8),
    st.sampled_from([1, 2]),
)
@examples(15)
def test_identities_of_mixed_hold_at_all_points(p, N, Z, load, servers):
    lam = load * servers
    solved = solve_mixed_chain(lam, N, Z, 1.0, servers, p)
    assert solved.Xc * Z + solved.Qc == pytest.approx(N, rel=1e-9)
    assert solved.Xo * (1 - solved.p_mean) == pytest.approx(lam, rel=1e-7)
    assert solved.thinking == pytest.approx(Z * (solved.Xo - lam), rel=1e-7, abs=1e-12)
    assert solved.Xo + solved.Xc <= servers * (1 + 1e-12)


@pytest.mark.parametrize(("lam", "S"), [(0.0, 1.0), (1e-9, 1.0), (1e-9, 0.1234567)])
def test_mixed_without_open_users_is_closed(lam, S):
    from workloadkit import queueing

    solved = solve_mixed_chain(lam, 5, 3.0 * S, S, 1, exponential(1.0 / S))
    closed = queueing.closed(5, 3.0 * S, S)
    assert solved.Xc == pytest.approx(closed.X, rel=1e-7)
    assert solved.found @ np.arange(6) == pytest.approx(closed.Q, rel=1e-7)
    # a user's jobs meet fewer others than the first, since a long response ends the session
    assert 0 < solved.left_open[:6] @ np.arange(6) < closed.Q


def test_no_closed_users_leave_the_re_open_model():
    mixed = solve_mixed_chain(0.5, 0, 5.0, 1.0, 1, exponential(1.0))
    plain = solve_chain(0.5, exponential(1.0), 5.0, 1.0)
    assert mixed.Qo == pytest.approx(plain.Q, rel=1e-11)
    assert mixed.Xc == mixed.Qc == 0


def test_mixed_too_much_for_the_chain_is_reported():
    with pytest.raises(QueueingError, match=r"N is 2.5; .* whole"):
        solve_mixed_chain(0.5, 2.5, 5.0, 1.0, 1, exponential(1.0))
    with pytest.raises(QueueingError, match=r"the chain needs [\d,]+ states"):
        solve_mixed_chain(0.5, 500, 100.0, 1.0, 1, exponential(1.0))
    with pytest.raises(QueueingError, match="must be below"):
        solve_mixed_chain(1.0, 5, 5.0, 1.0, 1, exponential(1.0))
