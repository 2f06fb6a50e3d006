"""Parameters of queueing models as words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.cli.queueing_parameters import read_grids
from workloadkit.errors import ParameterError

KNOWN = ["lam", "N", "Z", "S", "p", "servers", "method"]


def test_single_values_stay_numbers():
    assert read_grids(["N=10", "Z=5e0", "S=.5"], KNOWN) == [{"N": 10.0, "Z": 5.0, "S": 0.5}]


def test_ranges_hold_both_ends():
    (found,) = read_grids(["lam=0.1:0.9:0.1"], KNOWN)
    assert found["lam"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    (found,) = read_grids(["N=1:10:4"], KNOWN)
    assert found["N"].tolist() == [1, 5, 9]


def test_values_multiply_and_names_may_come_again():
    (found,) = read_grids(["lam=0.1,0.2", "N=1:3,7", "lam=0.4", "S=1"], KNOWN)
    assert found["lam"].tolist() == [0.1] * 4 + [0.2] * 4 + [0.4] * 4
    assert found["N"].tolist() == [1, 2, 3, 7] * 3
    assert found["S"] == 1.0


def test_functions_and_methods_make_grids_of_their_own():
    found = read_grids(
        ["p=exp:1", "lam=0.1,0.2", "p=hyperbolic:0.8,0.5", "method=mm1,chain"], KNOWN
    )
    assert [(type(x["p"]).__name__, x["method"]) for x in found] == [
        ("Exponential", "mm1"),
        ("Exponential", "chain"),
        ("Hyperbolic", "mm1"),
        ("Hyperbolic", "chain"),
    ]
    assert all(x["lam"].tolist() == [0.1, 0.2] for x in found)


def test_the_named_hyperbolas_have_a_unit():
    (shmueli,) = read_grids(["p=shmueli"], KNOWN)
    (zakay,) = read_grids(["p=zakay"], KNOWN)
    assert shmueli["p"](1200.0) == pytest.approx(0.4)  # 20 min, in seconds
    assert zakay["p"](2.0) == pytest.approx(0.4)  # in units of 10 min


def test_a_probability_may_be_given_by_points_or_be_a_constant():
    (found,) = read_grids(["p=table:0/0.9,10/0.1"], KNOWN)
    assert found["p"]([0.0, 5.0, 10.0]).tolist() == pytest.approx([0.9, 0.5, 0.1])
    assert read_grids(["p=0.5", "S=inf"], KNOWN) == [{"p": 0.5, "S": np.inf}]


def test_a_list_is_one_value_of_a_parameter_that_takes_a_list():
    found = read_grids(
        ["demands=0.2,0.1", "N=1:3", "demands=4"], ["demands", "N"], vectors=["demands"]
    )
    assert [grid["demands"].tolist() for grid in found] == [[0.2, 0.1], [4.0]]
    assert [grid["N"].tolist() for grid in found] == [[1, 2, 3]] * 2


def test_think_times_may_depend_on_the_response():
    (found,) = read_grids(["Z=breaks:1,20,3"], KNOWN)
    assert found["Z"]([2, 3, 4]).tolist() == [1, 1, 20]


def test_words_that_cannot_be_read_are_named():
    for word, expected in (
        ("lam", "'lam' is not a parameter; write name=value"),
        ("=3", "'=3' is not a parameter"),
        ("lam=", "'lam=' is not a parameter"),
        ("mu=1", "unknown parameter 'mu'; known: lam, N, Z, S, p, servers, method"),
        ("lam=1;2", "lam is '1;2'; it must be a number, a list such as 1,2,5 or a range"),
        ("N=5:1", "N is '5:1', not a range"),
        ("N=1:5:0", "N is '1:5:0', not a range"),
        ("N=0:1e300", "the limit is 1,000,000 points"),
        ("N=1:1000001", "the limit is 1,000,000 points"),
        ("S=exp:1", "S is 'exp:1'; it must be a number"),
        ("p=exp:x", "p is 'exp:x'"),
        ("Z=breaks:1,2", "Z is 'breaks:1,2'"),
    ):
        with pytest.raises(ParameterError) as error:
            read_grids([word], KNOWN)
        assert expected in str(error.value)


def test_too_many_points_are_refused():
    with pytest.raises(
        ParameterError, match="the grid has 4,000,000 points; the limit is 1,000,000"
    ):
        read_grids(["N=1:2000", "Z=1:2000"], KNOWN)
    (found,) = read_grids(["N=1:1000", "Z=1:1000"], KNOWN)
    assert (found["N"].size, found["Z"][-1]) == (1_000_000, 1000)


@given(st.integers(-50, 50), st.integers(0, 60), st.sampled_from([1, 2, 5, 10, 100]))
def test_ranges_of_decimals_are_the_decimals(first, steps, parts):
    step = 1 / parts
    (found,) = read_grids([f"Z={first}:{first + steps / parts!r}:{step!r}"], KNOWN)
    expected = [float(f"{first + i / parts:.12g}") for i in range(steps + 1)]
    assert np.ravel(found["Z"]).tolist() == expected


@pytest.mark.slow
def test_a_range_may_have_a_million_points():
    (found,) = read_grids(["N=1:1000000"], KNOWN)
    assert found["N"][[0, -1]].tolist() == [1, 1_000_000]
