"""Closed networks: exact solutions by recursion and by convolution."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workloadkit.queueing import QueueingError, QueueingWarning, networks
from workloadkit.queueing.networks import convolution, mean_values, mva


def by_states(demands, N, Z, speed):
    """Throughputs and numbers at stations, in fractions, from the weights of all states."""
    R, K = len(demands), len(demands[0])

    def spread(jobs, places):
        if places == 1:
            yield (jobs,)
            return
        for here in range(jobs + 1):
            for others in spread(jobs - here, places - 1):
                yield here, *others

    def weight(state):
        found = Fraction(1)
        for r in range(R):
            found *= Fraction(Z[r]) ** state[r][K] / math.factorial(state[r][K])
        for k in range(K):
            present = sum(state[r][k] for r in range(R))
            found *= math.factorial(present)
            for r in range(R):
                found *= Fraction(demands[r][k]) ** state[r][k]
                found /= math.factorial(state[r][k])
            for n in range(1, present + 1):
                found /= Fraction(speed(k, n))
        return found

    def solve(N):
        states = list(itertools.product(*(spread(n, K + 1) for n in N)))
        weights = [weight(s) for s in states]
        total = sum(weights)
        numbers = [
            [
                sum(w * s[r][k] for w, s in zip(weights, states, strict=True)) / total
                for k in range(K)
            ]
            for r in range(R)
        ]
        return total, numbers

    total, numbers = solve(N)
    X = [
        solve([n - (s == r) for s, n in enumerate(N)])[0] / total if N[r] else Fraction(0)
        for r in range(R)
    ]
    return X, numbers


SMALL = [
    # demands, N, Z, servers, speeds
    ([[1.0, 0.5]], [4], [2.0], [1, 1], {}),
    ([[1.0, 0.5], [0.25, 2.0]], [2, 3], [0.0, 1.5], [1, 1], {}),
    ([[1.0, 0.5, 3.0], [0.25, 2.0, 0.0]], [2, 2], [1.0, 0.0], [2, 1, np.inf], {}),
    ([[1.0, 0.5], [0.25, 2.0], [0.0, 1.0]], [2, 0, 2], [1.0, 1.0, 0.0], [3, 1], {}),
    ([[1.0, 0.5], [2.0, 1.0]], [3, 2], [1.0, 0.0], [1, 1], {0: [0.5, 1.5, 2.0]}),
    ([[1.0, 0.5], [2.0, 1.0]], [3, 2], [1.0, 0.0], [1, 1], {1: [1.0, 3.0, 0.5]}),
    ([[1.0, 0.5]], [5], [1.0], [1, 4], {0: [1.0, 2.0, 0.25]}),
]


@pytest.mark.parametrize("solve", [mva, convolution])
@pytest.mark.parametrize(("demands", "N", "Z", "servers", "speeds"), SMALL)
def test_is_what_the_weights_of_all_states_give(solve, demands, N, Z, servers, speeds):
    def speed(k, n):
        if k in speeds:
            return speeds[k][min(n, len(speeds[k])) - 1]
        return min(n, servers[k])

    X, numbers = by_states(demands, N, Z, speed)
    found = solve(demands, N, Z, servers=servers, speeds=speeds)
    assert found.X == pytest.approx([float(x) for x in X], rel=1e-13)
    assert found.Q == pytest.approx(np.array(numbers, float), rel=1e-13)
    assert np.max(found.check()) < 1e-13
    assert found.exactness.startswith("exact, product form")


@given(
    st.integers(1, 3).flatmap(
        lambda R: st.tuples(
            st.lists(st.lists(st.floats(0.01, 5), min_size=2, max_size=2), min_size=R, max_size=R),
            st.lists(st.integers(0, 8), min_size=R, max_size=R),
            st.floats(0, 20),
        )
    )
)
@examples(40)
def test_recursion_and_convolution_agree(case):
    demands, N, Z = case
    one, other = mva(demands, N, Z), convolution(demands, N, Z)
    assert one.X == pytest.approx(other.X, rel=1e-12)
    assert one.Q == pytest.approx(other.Q, rel=1e-12)
    assert one.R == pytest.approx(other.R, rel=1e-12, nan_ok=True)


def load_dependent_recursion(demands, N, Z, servers):
    """Mean value analysis with marginal probabilities (Reiser 1981), which subtracts."""
    empty = [np.eye(1, N + 1)[0] for _ in demands]
    for n in range(1, N + 1):
        j = np.arange(1, n + 1)
        slow = [D * j / np.minimum(j, c) for D, c in zip(demands, servers, strict=True)]
        times = [s @ p[:n] for s, p in zip(slow, empty, strict=True)]
        X = n / (Z + sum(times))
        for k, p in enumerate(empty):
            p[1 : n + 1] = X * demands[k] / np.minimum(j, servers[k]) * p[:n]
            p[0] = 1 - p[1:].sum()
    return X


@pytest.mark.parametrize(
    ("demands", "N", "Z", "servers"),
    [
        ([20.0, 0.5], 60, 1.0, [20, 1]),
        ([10.0, 1.0], 100, 0.0, [10, 1]),
        ([16.0, 0.9], 120, 5.0, [16, 1]),
    ],
)
def test_is_right_where_subtracting_turns_negative(demands, N, Z, servers):
    assert load_dependent_recursion(demands, N, Z, servers) < 0
    found = mva(demands, N, Z, servers=servers)
    weights = [Fraction(1)]  # of both stations together, after Buzen; Z is a third
    delay = [Fraction(Z) ** n / math.factorial(n) for n in range(N + 1)]
    for D, c in zip(demands, servers, strict=True):
        own = [Fraction(1)]
        for n in range(1, N + 1):
            own.append(own[-1] * Fraction(D) / min(n, c))
        delay = [sum(own[i] * delay[n - i] for i in range(n + 1)) for n in range(N + 1)]
    weights = delay
    assert found.X == pytest.approx(float(weights[N - 1] / weights[N]), rel=1e-13)
    assert (found.U <= 1).all()
    assert (found.Q >= 0).all()


@pytest.mark.parametrize("N", [1, 10, 1000, 100_000])
@pytest.mark.parametrize("c", [1, 7, 400])
def test_many_jobs_at_many_servers_stay_within_capacity(N, c):
    for Z in (0.0, 3.0, 1e5, 1e9):
        found = convolution([float(c), 1e-3], N, Z, servers=[c, 1])
        assert 0 < found.X <= 1 + 1e-12
        assert found.X <= N / (Z + c) * (1 + 1e-12)
        assert found.check() < 1e-12


def test_points_of_one_class_keep_their_shape():
    found = mva([0.5, 1.0], N=[[1, 2, 3], [4, 5, 6]], Z=[[1.0], [9.0]])
    assert found.X.shape == (2, 3)
    assert found.Q.shape == (2, 3, 2)
    assert found.X[1, 2] == mva([0.5, 1.0], 6, 9.0).X
    assert len(found.to_frame()) == 12
    assert convolution([0.5, 1.0], N=[1, 6], Z=9.0).X[1] == pytest.approx(found.X[1, 2], rel=1e-14)


def test_nobody_has_no_response_time():
    found = mva([[1.0, 2.0], [1.0, 1.0]], [0, 3], [0.0, 0.0])
    assert found.X[0] == 0
    assert np.isnan(found.R[0])
    assert (found.Q[0] == 0).all()
    assert mva([1.0], 0).X == 0
    assert mva([1.0], [0, 1]).R.tolist() == pytest.approx([math.nan, 1.0], nan_ok=True)
    assert convolution([1.0], 0).X == 0
    assert mva([0.0], 3, Z=2.0).X == 1.5
    assert mva([np.float64(1)], np.int64(1)).X == 1


def test_a_class_without_jobs_may_ask_for_nothing():
    for solve in (mva, convolution, networks.bard_schweitzer, networks.linearizer):
        found = solve([[0.0], [1.0]], [0, 1])
        assert found.X == pytest.approx([0, 1])
        assert np.isnan(found.R).tolist() == [True, False]


def test_stations_that_only_delay_think():
    found = mva([1.0, 4.0], 5, Z=2.0, servers=[1, np.inf])
    assert found.X == pytest.approx(mva([1.0], 5, Z=6.0).X, rel=1e-14)
    assert found.residence[1] == 4
    assert found.U[1] == pytest.approx(4 * found.X)


def test_visits_give_throughputs_of_stations():
    found = mva([1.0, 4.0], 5, visits=[10, 2])
    assert found.station_X == pytest.approx([10 * found.X, 2 * found.X])


def test_bad_points_are_nan_with_one_warning():
    with pytest.warns(QueueingWarning, match="1 of 3 points"):
        found = mva([1.0, 2.0], [1, 2.5, 3])
    assert np.isnan(found.X).tolist() == [False, True, False]
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        assert np.isnan(convolution([1.0], [1, 2], [-1, 2]).X).tolist() == [True, False]


def test_bad_input_is_named():
    for arguments, message in (
        ({"demands": [1.0, -2.0], "N": 3}, r"demands\[1\] is -2; it must be from 0 to"),
        ({"demands": [1.0, math.nan], "N": 3}, r"demands\[1\] is nan"),
        ({"demands": [], "N": 3}, "the shape of demands is"),
        ({"demands": ["a"], "N": 3}, "demands is"),
        ({"demands": [1.0], "N": 2.5}, "N is 2.5; it must be a whole number, 0 or more"),
        ({"demands": [1.0], "N": -1}, "N is -1"),
        ({"demands": [1.0], "N": True}, "N is True"),
        ({"demands": [[1.0], [1.0]], "N": 3}, "the shape of N is"),
        ({"demands": [[1.0], [1.0]], "N": [1, 2.5]}, r"N\[1\] is 2.5"),
        ({"demands": [1.0], "N": 3, "Z": math.inf}, "Z is inf"),
        ({"demands": [1.0], "N": 3, "servers": [0]}, r"servers\[0\] is 0"),
        ({"demands": [1.0], "N": 3, "servers": [1, 2]}, "the shape of servers is"),
        ({"demands": [1.0], "N": 3, "speeds": {1: [1.0]}}, "speeds has the station 1"),
        ({"demands": [1.0], "N": 3, "speeds": {0: [1.0, 0.0]}}, r"speeds\[0\]\[1\] is 0"),
        ({"demands": [1.0], "N": 3, "servers": [2], "speeds": {0: [1.0]}}, "both given"),
        ({"demands": [0.0], "N": 3}, "Z is 0; it must be above 0 if demands are all 0"),
        ({"demands": [[0.0], [1.0]], "N": [3, 1]}, "all 0"),
        ({"demands": [1e300], "N": 3}, r"demands\[0\] is 1e\+300; it must be from 0 to 1e\+100"),
        ({"demands": [1.0], "N": 3, "visits": [-1]}, r"visits\[0\] is -1"),
    ):
        for solve in (mva, convolution, networks.bard_schweitzer, networks.linearizer):
            with pytest.raises(QueueingError, match=message):
                solve(**arguments)


def test_points_without_an_answer_are_nan():
    for solve in (mva, convolution, networks.bard_schweitzer, networks.linearizer):
        with pytest.warns(QueueingWarning, match="2 of 4 points"):
            found = solve([0.0, 0.0], N=[2, 2, 0, 2], Z=[0, 4, 0, -1])
        assert np.isnan(found.X).tolist() == [True, False, False, True]
        assert found.X[1:3].tolist() == [0.5, 0]


def test_points_too_large_are_nan():
    with pytest.warns(QueueingWarning, match="1 of 2 points .* convolution can hold"):
        found = convolution([1.0], N=[2, 10**8], Z=0)
    assert found.X[0] == 1
    assert np.isnan(found.X[1])


def test_networks_too_large_say_so():
    with pytest.raises(QueueingError, match=r"N is 1e\+12; the recursion counts to"):
        mva([1.0], 1e12)
    with pytest.raises(QueueingError, match=r"N makes 1.05e\+10 populations"):
        mva(np.ones((5, 2)), [100] * 5)
    with pytest.raises(QueueingError, match="populations; convolution can hold"):
        convolution(np.ones((5, 2)), [100] * 5)
    with pytest.raises(QueueingError, match="products"):
        convolution(np.ones((3, 2)), [99] * 3, servers=[90, 90])


def test_memory_is_that_of_a_layer(monkeypatch):
    monkeypatch.setattr(mean_values, "MOST_HELD", 100)
    assert mva(np.ones((2, 2)), [1000, 10]).X.shape == (2,)  # the longest axis costs nothing
    with pytest.raises(QueueingError, match="in memory at once"):
        mva(np.ones((2, 2)), [1000, 100])


def test_tables_and_plots_of_classes(tmp_path):
    from matplotlib import pyplot as plt

    found = mva([[1.0, 2.0], [1.0, 1.0]], [2, 3], 1.0)
    table = found.to_frame()
    assert table["class"].tolist() == [0, 0, 1, 1]
    assert table["Q"].sum() == pytest.approx(found.Q.sum())
    for result, measure in ((found, "U"), (mva([1.0, 2.0], range(1, 9)), "Q")):
        fig, ax = plt.subplots()
        assert result.plot(ax, measure=measure) is ax
        plt.close(fig)
    with pytest.raises(QueueingError, match="measure is"):
        found.plot(measure="W")
