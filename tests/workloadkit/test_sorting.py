"""Numbers in order, equal ones as they stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.simulation.compiled.orders import stable_order

numbers = (
    st.lists(st.integers(-5, 5))
    | st.lists(st.integers(-(2**40), 2**40))
    | st.lists(st.integers(0, 2**32 + 2))
    | st.lists(st.sampled_from([0, 1, 2**16 - 1, 2**16, 2**32 - 1, 2**32]))
)


@given(numbers)
def test_whole_numbers_are_sorted(values):
    expected = sorted(range(len(values)), key=values.__getitem__)
    assert stable_order(np.array(values, np.int64)).tolist() == expected
    assert stable_order(np.array(values, float)).tolist() == expected


@given(st.lists(st.floats(allow_nan=False) | st.sampled_from([0.5, 2.0**60, 2.0**60 + 256])))
def test_so_are_others(values):
    expected = sorted(range(len(values)), key=values.__getitem__)
    assert stable_order(np.array(values, float)).tolist() == expected


@pytest.mark.parametrize("nothing", [np.nan, np.inf])
def test_what_is_no_number_comes_last(nothing):
    assert stable_order(np.array([nothing, 2.0, nothing, 1.0])).tolist() == [3, 1, 0, 2]
    assert stable_order(np.array([nothing, nothing])).tolist() == [0, 1]
