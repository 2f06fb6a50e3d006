"""Operational analysis: where the phases meet, and what the exact model says of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.queueing import QueueingError, QueueingWarning, mixed, operational_phases


def test_phases_by_hand():
    # half of the server is left: 1/s = 0.5, N* = 1 + 8/2
    found = operational_phases(0.5, [1, 4, 5, 20], 8, 1)
    assert found.N_star.tolist() == [5, 5, 5, 5]
    assert found.full.tolist() == [False, False, True, True]
    assert found.R_full.tolist() == [-6, 0, 2, 32]
    single = operational_phases(0.5, 5, 8, 1)
    assert (single.full, single.N_star, single.R_full) == (True, 5, 2)


@given(st.floats(0, 0.99), st.integers(1, 10**5), st.floats(0, 1e5), st.floats(0.01, 100))
def test_the_exact_model_obeys_the_relation_and_its_bound(load, N, ratio, S):
    lam, Z = load / S, ratio * S
    exact, laws = mixed(lam, N, Z, S), operational_phases(lam, N, Z, S)
    s = S / (1 - load)
    assert exact.Rc >= max(laws.R_full, s) * (1 - 1e-9)
    assert laws.response(exact.X) == pytest.approx(exact.Rc, rel=1e-6, abs=1e-6 * (Z + exact.Rc))


def test_far_into_full_utilisation_the_response_is_the_line():
    laws = operational_phases(0.5, [50, 500], 8, 1)
    np.testing.assert_allclose(mixed(0.5, [50, 500], 8, 1).Rc, laws.R_full, rtol=1e-12)


def test_wrong_arguments():
    with pytest.raises(QueueingError, match="lam is 1; it must be below servers / S"):
        operational_phases(1, 3, 2, 1)
    with pytest.raises(QueueingError, match="X - lam is -0\\.1; it must be finite, above 0"):
        operational_phases(0.5, 3, 2, 1).response(0.4)
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        found = operational_phases([0.5, 2], 100, 2, 1)
    assert found.full.tolist() == [True, False] and np.isnan(found.R_full[1])
