"""Think times of any law with the same mean give the same figures: whole chains of two phases."""

import numpy as np
import pytest

from workloadkit.queueing import mixed

MOST_OPEN = 70  # with lam S of 0.4, a share of 1e-20 of time has more


def chain(lam, N, Z, S, first, second_share):
    """Xc, Qc, Qo where a thought has a first phase and, with a probability, a second.

    The first takes the share `first` of the mean. Jobs are served in random order, which does not
    matter for how many there are.
    """
    rate_1 = 1 / (first * Z)
    rate_2 = second_share / ((1 - first) * Z)
    states = [
        (k1, k2, o) for k1 in range(N + 1) for k2 in range(N + 1 - k1) for o in range(MOST_OPEN + 1)
    ]
    place = {state: i for i, state in enumerate(states)}
    flow = np.zeros((len(states), len(states)))
    for (k1, k2, o), i in place.items():
        c = N - k1 - k2
        moves = [
            ((k1, k2, o + 1), lam),
            ((k1 - 1, k2 + 1, o), k1 * rate_1 * second_share),
            ((k1 - 1, k2, o), k1 * rate_1 * (1 - second_share)),
            ((k1, k2 - 1, o), k2 * rate_2),
            ((k1 + 1, k2, o), c / max(c + o, 1) / S),
            ((k1, k2, o - 1), o / max(c + o, 1) / S),
        ]
        for state, rate in moves:
            if rate > 0 and state in place:
                flow[i, place[state]] += rate
    flow -= np.diag(flow.sum(axis=1))
    flow[:, 0] = 1
    share = np.linalg.solve(flow.T, np.eye(len(states))[0])
    k1, k2, o = np.array(states).T
    c = N - k1 - k2
    busy = np.where(c + o > 0, c / np.maximum(c + o, 1), 0)
    return (share * busy).sum() / S, (share * c).sum(), (share * o).sum()


@pytest.mark.parametrize(
    ("first", "second_share"),
    [(0.5, 1.0), (0.05, 1.0), (0.1, 0.05)],
    ids=["Erlang", "nearly exponential", "varies much"],
)
def test_only_the_mean_of_think_times_matters(first, second_share):
    lam, N, Z, S = 0.4, 3, 4.0, 1.0
    Xc, Qc, Qo = chain(lam, N, Z, S, first, second_share)
    result = mixed(lam, N, Z, S)
    assert result.Xc == pytest.approx(Xc, rel=1e-10)
    assert result.Qc == pytest.approx(Qc, rel=1e-10)
    assert result.Qo == pytest.approx(Qo, rel=1e-10)
    assert result.Rc == pytest.approx(N / Xc - Z, rel=1e-10)
