"""Priorities: chains of all states, the conservation law, and limits."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles import queueing_markov as markov
from workloadkit.queueing import QueueingError, mg1, mm1, mmc, priorities
from workloadkit.queueing.stations.priorities import _SCALED


@cache
def responses(lam, S, c, order, most=36):
    """Mean responses of two classes at c exponential servers, from a chain cut at `most` each."""

    def preemptive(state):
        first = min(state[0], c)
        busy = first, min(state[1], c - first)
        for k in range(2):
            step = np.eye(2, dtype=int)[k]
            if state[k] < most:
                yield tuple((np.array(state) + step).tolist()), lam[k]
            if busy[k]:
                yield tuple((np.array(state) - step).tolist()), busy[k] / S[k]

    def held(state):  # waiting of both classes, in service of both
        q0, q1, s0, s1 = state
        for k in range(2):
            if s0 + s1 < c:
                yield (q0, q1, s0 + (k == 0), s1 + (k == 1)), lam[k]
            elif (q0, q1)[k] < most:
                yield (q0 + (k == 0), q1 + (k == 1), s0, s1), lam[k]
        for k, busy in enumerate((s0, s1)):
            if busy:
                left = s0 - (k == 0), s1 - (k == 1)
                if q0:
                    to = (q0 - 1, q1, left[0] + 1, left[1])
                elif q1:
                    to = (0, q1 - 1, left[0], left[1] + 1)
                else:
                    to = (0, 0, *left)
                yield to, busy / S[k]

    if order == "preemptive":
        shares = markov.stationary_floats((0, 0), preemptive)
        return [markov.mean(shares, lambda s, k=k: s[k]) / lam[k] for k in range(2)]
    shares = markov.stationary_floats((0, 0, 0, 0), held)
    return [markov.mean(shares, lambda s, k=k: s[k] + s[k + 2]) / lam[k] for k in range(2)]


ORDERS = ("preemptive", "non-preemptive")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("c", [1, 2])
def test_equal_exponential_service_is_exact(order, c):
    lam = 0.2 * c, 0.35 * c
    found = priorities(lam, S=1, servers=c, order=order)
    assert found.R == pytest.approx(responses(lam, (1, 1), c, order), rel=1e-6)
    assert found.exactness == "exact, priorities"


@pytest.mark.parametrize("order", ORDERS)
def test_one_server_with_different_means_is_exact(order):
    lam, S = (0.3, 0.2), (0.5, 1.5)
    found = priorities(lam, S, order=order)
    assert found.R == pytest.approx(responses(lam, S, 1, order), rel=1e-6)


def test_different_means_at_several_servers_are_near_their_chain():
    lam, S = (0.8, 0.2), (0.5, 2.0)  # two servers, load 0.4
    for order, errors in (("preemptive", [0, -0.021]), ("non-preemptive", [0.0194, 0.0058])):
        known = np.array(responses(lam, S, 2, order, 20))
        found = priorities(lam, S, servers=2, order=order)
        assert found.R / known - 1 == pytest.approx(errors, abs=1e-3)
        assert found.exactness.error["R"] == 0.05


@pytest.mark.slow
def test_the_errors_of_the_approximation_are_as_stated():
    for order in ORDERS:
        worst = {"R": 0.0, "W": 0.0}
        for c, load in ((2, 0.4), (2, 0.7), (3, 0.6), (3, 0.3)):
            for S in ((0.5, 2.0), (2.0, 0.5)):
                lam = tuple(load * c / 2 / s for s in S)
                known = np.array(responses(lam, S, c, order, 60 if load > 0.6 else 30))
                found = priorities(lam, S, servers=c, order=order)
                worst["R"] = max(worst["R"], np.abs(found.R / known - 1).max())
                gap = np.abs(found.W / (known - S) - 1)
                worst["W"] = max(worst["W"], gap.max())
        stated = _SCALED[order].error
        for name, error in worst.items():
            assert stated[name] / 3 < error < stated[name], (order, worst)


@examples(30)
@given(
    shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=5),
    load=st.floats(0.05, 0.98),
    scv=st.floats(0, 9),
)
def test_conservation_of_work(shares, load, scv):
    """Kleinrock: Σ rho_k W_k is that without priorities, whatever the order of classes."""
    S = np.linspace(0.5, 2, len(shares))
    lam = np.array(shares) / np.dot(shares, S) * load
    found = priorities(lam, S, scv=scv)
    second = (lam * S**2 * (1 + scv)).sum() / 2
    assert (found.U * found.W).sum() == pytest.approx(load * second / (1 - load), rel=1e-9)
    same = priorities(lam, S=1.0 * load / lam.sum(), servers=3)
    total = mmc(lam.sum(), load / lam.sum(), 3)
    assert same.Q.sum() == pytest.approx(total.Q, rel=1e-9)
    assert (np.diff(same.R) >= 0).all()


@pytest.mark.parametrize("order", ORDERS)
def test_one_class_has_no_priorities(order):
    assert priorities(0.7, 1, order=order).R[0] == pytest.approx(mm1(0.7, 1).R, rel=1e-13)
    assert priorities(2.1, 1, servers=3, order=order).R[0] == pytest.approx(
        mmc(2.1, 1, 3).R, rel=1e-13
    )
    assert priorities(0.7, 1, scv=4, order=order).R[0] == pytest.approx(mg1(0.7, 1, 4).R, rel=1e-13)


def test_the_first_class_does_not_see_the_others_if_it_interrupts_them():
    found = priorities([0.3, 0.6], S=1, order="preemptive")
    assert found.R[0] == pytest.approx(mm1(0.3, 1).R, rel=1e-13)
    held = priorities([1e-9, 0.9], S=1)
    assert held.W[0] == pytest.approx(0.9, rel=1e-6)  # the residual service of another
    assert priorities([0, 0.9], S=1, servers=2, order="preemptive").R[0] == pytest.approx(1)


def test_what_has_no_answer_is_named():
    for given_, message in (
        ({"lam": [0.5, 0.6]}, "lam: all classes together use 1.1 of 1 servers"),
        ({"S": [1, -1]}, r"S\[1\] is -1; it must be finite, 0 or more"),
        ({"order": "fair"}, "order is 'fair'; it must be"),
        ({"scv": 2, "servers": 2}, "scv is 2; it must be 1 for several servers"),
        ({"servers": 1.5}, r"servers\[0\] is 1.5"),
        ({"lam": [[0.1]]}, "it must be one class each"),
        ({"lam": []}, "lam is empty; it must have a number for each class"),
        ({"lam": [0.1, 0.1, 0.1], "S": [1, 1]}, "cannot broadcast"),
    ):
        with pytest.raises(QueueingError, match=message):
            priorities(**({"lam": [0.1, 0.2], "S": 1} | given_))
