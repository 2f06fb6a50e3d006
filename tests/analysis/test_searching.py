import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from tests.examples import examples
from workloadkit.analysis.searching import find_minimum, find_root

shifts, powers = st.floats(-3, 3), st.sampled_from([1, 3, 5])


@examples(200)
@given(shifts, powers, st.floats(0.1, 9), st.sampled_from([1e-3, 1e-12]))
def test_roots_are_those_of_scipy(shift, power, width, xtol):
    def function(x):
        return np.exp(x / 3) * (x - shift) ** power + 1e-3 * np.sin(5 * (x - shift))

    low, high = shift - width, shift + 2 * width
    if function(low) < 0 < function(high):
        expected = optimize.brentq(function, low, high, xtol=xtol, maxiter=1000)
        assert find_root(function, low, high, xtol) == expected
        assert find_root(lambda x: -function(x), low, high, xtol) == expected


def test_a_root_at_an_end_is_found():
    assert find_root(lambda x: x, 0, 5, 1e-9) == 0
    assert find_root(lambda x: x, -5, 0, 1e-9) == 0


@examples(200)
@given(shifts, st.floats(0.1, 9), st.floats(0, 2), st.sampled_from([1e-3, 1e-8]))
def test_minima_are_those_of_scipy(shift, width, waves, xtol):
    def function(x):
        return np.abs(x - shift) ** 1.5 + waves * np.cos(3 * x)

    low, high = -1.0, -1.0 + width
    expected = optimize.minimize_scalar(
        function, bounds=(low, high), method="bounded", options={"xatol": xtol}
    )
    assert find_minimum(function, low, high, xtol) == (expected.x, expected.fun)
