"""Networks with several servers, open classes, routing and class switching, by their chains."""

from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles import queueing_markov as markov
from tests.oracles.queueing_networks import by_states as by_all_states
from workloadkit.queueing import QueueingError, mixed, mmc, networks
from workloadkit.queueing.networks.open_classes import shared_speeds


def test_peer_values_of_open_and_closed_networks():
    """Jackson's formula for the tutorial network of Ciw; two classes by the sum over all states."""
    found = networks.open_network([0.75, 0.25], lam=2.0, servers=[2, 1])
    assert found.R == pytest.approx(31 / 14, rel=1e-14)
    alone = networks.mixed_mva([0, 0], 0, 1, [0.75, 0.25], 2.0, servers=[2, 1]).open
    assert alone.R == found.R
    demands = [[Fraction(1, 5), Fraction(1, 10)], [Fraction(1, 10), Fraction(3, 10)]]
    expected = [float(x) for x in by_all_states(demands, [5, 5])["X"]]
    assert expected == pytest.approx([3.3793, 2.1594], abs=5e-5)
    assert networks.mva([[0.2, 0.1], [0.1, 0.3]], N=[5, 5]).X == pytest.approx(expected, rel=1e-12)


def by_states(demands, N, Z, passing, lam, servers, most=150):
    """Numbers by station of closed and open classes, over the product form of all states."""
    R, P, K = len(demands), len(passing), len(servers)
    total, closed, opened = 0.0, np.zeros((R, K)), np.zeros((P, K))
    busy = [sum(lam[p] * passing[p][k] for p in range(P)) for k in range(K)]
    spread = [[n for n in product(range(N[r] + 1), repeat=K) if sum(n) <= N[r]] for r in range(R)]
    for state in product(*spread):
        weight, means = 1.0, np.zeros(K)
        for r in range(R):
            thinking = N[r] - sum(state[r])
            weight *= Z[r] ** thinking / factorial(thinking)
        for k in range(K):
            here = [state[r][k] for r in range(R)]
            n, terms = sum(here), []
            weight *= factorial(n) / np.prod([factorial(i) for i in here])
            weight *= np.prod([demands[r][k] ** here[r] for r in range(R)])
            speed = 1.0
            for m in range(most):
                if m == 0:
                    for i in range(1, n + 1):
                        speed *= min(i, servers[k])
                else:
                    speed *= min(n + m, servers[k])
                terms.append(comb(n + m, n) * busy[k] ** m / speed)
            weight *= sum(terms)
            means[k] = sum(m * x for m, x in enumerate(terms)) / sum(terms)
        total += weight
        closed += weight * np.array(state)
        for p in range(P):
            opened[p] += weight * means * [lam[p] * passing[p][k] / busy[k] for k in range(K)]
    return closed / total, opened / total


@pytest.mark.parametrize(("servers", "lam"), [([2, 1], [0.3, 0.1]), ([3, 2], [0.2, 0.5])])
def test_mixed_classes_and_several_servers_are_the_sum_over_states(servers, lam):
    demands, N, Z = [[1.0, 0.4], [0.2, 0.6]], [3, 2], [2.0, 0.5]
    passing = [[0.5, 0.3], [0.9, 0.2]]
    closed, opened = by_states(demands, N, Z, passing, lam, servers)
    found = networks.mixed_mva(demands, N, Z, passing, lam, servers=servers)
    assert found.Q == pytest.approx(closed, rel=1e-10)
    assert found.open.Q == pytest.approx(opened, rel=1e-10)
    assert found.check() == pytest.approx([0, 0], abs=1e-12)
    assert found.open.U == pytest.approx(
        np.array(lam)[:, None] * np.array(passing) / np.array(servers), rel=1e-14
    )


@examples(25)
@given(
    N=st.integers(0, 40),
    Z=st.floats(0, 50),
    servers=st.integers(1, 12),
    load=st.floats(0.01, 0.99),
)
def test_one_station_is_the_mixed_model(N, Z, servers, load):
    lam = load * servers
    found = networks.mixed_mva([1.0], N, Z, [1.0], lam, servers=[servers])
    known = mixed(lam, N, Z, 1.0, servers=servers)
    assert found.open.R == pytest.approx(known.Ro, rel=1e-9)
    if N:
        assert found.X == pytest.approx(known.Xc, rel=1e-9)
        assert found.R == pytest.approx(known.Rc, rel=1e-9)


def test_speeds_without_open_jobs_are_those_of_the_servers_and_rise():
    assert shared_speeds(np.arange(1.0, 6), 0.0) == pytest.approx(np.arange(1.0, 6), rel=1e-12)
    left = shared_speeds(np.arange(1.0, 301), 280.0)
    assert (np.diff(left) > -1e-9).all() and left[-1] == pytest.approx(20, rel=1e-9)


def test_a_saturated_station_is_named_with_its_servers():
    with pytest.raises(QueueingError, match="open jobs use 2 of station 1; it must be below 2"):
        networks.open_network([0.5, 2.0], 1.0, servers=[1, 2])


def test_routing_gives_visits_and_the_chain_of_the_network():
    """Two stations with feedback, against the chain of both numbers, cut at 60 jobs."""
    routing, S, lam, c = [[0.1, 0.6], [0.3, 0.2]], [0.5, 0.4], [0.6, 0.2], [2, 1]
    found = networks.jackson(lam, S, routing, servers=c)
    most = 45

    def moves(state):
        for k in range(2):
            up = list(state)
            up[k] += 1
            if up[k] <= most:
                yield tuple(up), lam[k]
            if state[k]:
                rate = min(state[k], c[k]) / S[k]
                for other in range(2):
                    to = list(state)
                    to[k] -= 1
                    to[other] += 1
                    if to[other] <= most:
                        yield tuple(to), rate * routing[k][other]
                down = list(state)
                down[k] -= 1
                yield tuple(down), rate * (1 - sum(routing[k]))

    shares = markov.stationary_floats((0, 0), moves)
    expected = [markov.mean(shares, lambda s, k=k: s[k]) for k in range(2)]
    assert found.Q == pytest.approx(expected, rel=1e-8)
    assert found.R == pytest.approx(sum(expected) / 0.8, rel=1e-8)
    assert networks.sojourn(found).mean == pytest.approx(found.R, rel=1e-12)


def test_sojourn_times_without_overtaking_are_sums_of_exponentials():
    tandem = networks.sojourn(networks.open_network([1.0, 0.5], lam=0.5))
    a, b = 0.5, 1.5  # rates of leaving
    t = np.array([0.3, 2.0, 9.0])
    expected = (b * np.exp(-a * t) - a * np.exp(-b * t)) / (b - a)
    assert tandem.sf(t) == pytest.approx(expected, rel=1e-11)
    assert tandem.cdf(tandem.ppf([0.1, 0.9])) == pytest.approx([0.1, 0.9], rel=1e-10)
    assert tandem.moment(2) == pytest.approx(2 * (1 / a**2 + 1 / (a * b) + 1 / b**2), rel=1e-12)
    one = networks.sojourn(networks.open_network([1.0], lam=2.5, servers=[3]))
    assert one.sf(t) == pytest.approx(mmc(2.5, 1, 3).sf(t), rel=1e-11)
    assert one.sf([-1, np.inf]).tolist() == [1, 0]
    # stations that take no time are passed
    empty = networks.sojourn(networks.open_network([0.0, 1.0, 0.0, 0.5], lam=0.5))
    assert empty.sf(t) == pytest.approx(expected, rel=1e-11)


def test_unknown_sojourns_and_wrong_routing_are_named():
    for ask, message in (
        (lambda: networks.sojourn(networks.mva([1.0, 1], 3, 1)), "no formula is known"),
        (lambda: networks.jackson([1], [0.1], [[1]]), "jobs at station 0 never leave"),
        (lambda: networks.jackson([0], [0.1], [[0]]), "lam is 0 at all stations"),
        (lambda: networks.jackson([1], [0.1], [[0.5, 0.5]]), "the shape of routing is"),
        (lambda: networks.jackson([1, 1], [0.1, 0.1], [[0.9, 0.2], [0, 0]]), "sum of routing"),
        (lambda: networks.jackson([1], [1.0], [[0.5]]), "open jobs use 2 of station 0"),
        (lambda: networks.qna([1], [0.1], [[0]], scv=-1), r"scv\[0\] is -1"),
        (lambda: networks.qna([1], [0.1], [[0]], scv=1, servers=np.inf), "servers must be finite"),
    ):
        with pytest.raises(QueueingError, match=message):
            ask()


def test_qna_is_exact_for_poisson_arrivals_and_exponential_service():
    given = ([0.6, 0.2], [0.5, 0.4], [[0.1, 0.6], [0.3, 0.2]])
    exact = networks.jackson(*given, servers=[2, 1])
    found = networks.qna(*given, scv=1.0, servers=[2, 1])
    assert found.residence == pytest.approx(exact.residence, rel=1e-12)
    assert found.parameters["scv_inside"] == pytest.approx([1, 1], rel=1e-12)


def test_qna_by_hand_after_whitt():
    """A tandem: c_d² = 1 + (1 - rho²)(c_a² - 1) + rho² (max(c_s², 0.2) - 1)."""
    found = networks.qna([0.8, 0], [1.0, 0.5], [[0, 1], [0, 0]], scv=[3.0, 0.5], scv_arrivals=2.0)
    departs = 1 + 0.36 * (2 - 1) + 0.64 * (3 - 1)
    assert found.parameters["scv_inside"] == pytest.approx([2, departs], rel=1e-12)
    waits = [0.8 * (2 + 3) / 2 / 0.2, 0.4 * 0.5 * (departs + 0.5) / 2 / 0.6]
    assert found.residence == pytest.approx([waits[0] + 1, waits[1] + 0.5], rel=1e-12)
    # Pollaczek and Khinchine at a single station
    one = networks.qna([0.8], [1.0], [[0]], scv=[5.0])
    assert one.R == pytest.approx(1 + 0.8 * 3 / 0.2, rel=1e-12)


def test_class_switching_is_the_chain_of_all_states():
    """Two classes, a shared server and a delay; probabilities in eighths, exactly."""
    S = [[Fraction(1), Fraction(4)], [Fraction(1, 2), Fraction(2)]]
    routing = np.zeros((2, 2, 2, 2))
    routing[0, 0, 1, 1], routing[0, 0, 0, 1] = 0.75, 0.25
    routing[1, 0, 1, 1] = 1
    routing[1, 1, 0, 0], routing[1, 1, 1, 0] = 0.5, 0.5
    routing[0, 1, 0, 0] = 1

    def moves(state):  # numbers by (class, station); the server shares its time
        at_server = state[0] + state[2]
        for place in range(4):
            r, k = divmod(place, 2)
            if not state[place]:
                continue
            share = Fraction(state[place], at_server) if k == 0 else state[place]
            for other in range(4):
                to = list(state)
                to[place] -= 1
                to[other] += 1
                yield tuple(to), share / S[r][k] * Fraction(routing[(r, k, *divmod(other, 2))])

    shares = markov.stationary((3, 0, 0, 0), moves)
    found = networks.class_switching(
        routing, [[float(x) for x in row] for row in S], [3, 0], servers=[1, np.inf]
    )
    for place in range(4):
        expected = float(markov.mean(shares, lambda s, place=place: s[place]))
        assert found.Q[divmod(place, 2)] == pytest.approx(expected, rel=1e-12)
    assert found.Q.sum() == pytest.approx(3, rel=1e-13)
    # visits are relative to those of the first station, by all classes together
    assert found.visits[:, 0].sum() == pytest.approx(1, rel=1e-13)
    assert pytest.approx(found.X * np.array(S, float) / [1, 1], rel=1e-12) == found.U


def test_classes_that_do_not_switch_are_those_of_mva():
    routing = np.zeros((2, 2, 2, 2))
    for r in range(2):
        routing[r, 0, r, 1] = routing[r, 1, r, 0] = 1
    found = networks.class_switching(routing, [[0.2, 0.1], [0.2, 0.3]], [4, 2], servers=[2, 1])
    known = networks.mva([[0.2, 0.1], [0.2, 0.3]], [4, 2], servers=[2, 1])
    assert found.X[:, 0] == pytest.approx(known.X, rel=1e-13)
    assert pytest.approx(known.Q, rel=1e-12) == found.Q
    assert found.R == pytest.approx(known.residence, rel=1e-12)
    assert found.visits == pytest.approx(np.ones((2, 2)), rel=1e-13)
    assert found.to_frame().shape == (4, 8)


def test_wrong_switching_is_named():
    routing = np.zeros((1, 2, 1, 2))
    routing[0, 0, 0, 1] = 1
    for change, message in (
        ({}, "routing of class 0 at station 1 sums to 0; it must be 1"),
        ({"routing": np.ones((1, 2))}, "the shape of routing is"),
        ({"S": [1, 2]}, "the shape of S is"),
        ({"N": [1, 2]}, "the shape of N is"),
    ):
        given = {"routing": routing, "S": [[1, 2]], "N": [3]} | change
        with pytest.raises(QueueingError, match=message):
            networks.class_switching(**given)
    routing[0, 1, 0, 1] = 1
    with pytest.raises(QueueingError, match="jobs do not return to class 0 at station 0"):
        networks.class_switching(routing, [[1, 2]], [3])
