"""Expressions in symbols against recursions and sums in fractions."""

from fractions import Fraction

import pytest
import sympy

from tests.oracles import queueing_one_server as one
from tests.oracles import queueing_reopen as again
from tests.oracles import queueing_servers as many
from workloadkit.queueing import symbolic


@pytest.mark.parametrize("N", [1, 2, 7, 25])
def test_mixed_is_what_the_recursion_gives(N):
    lam, Z, S = Fraction(3, 10), Fraction(7, 2), Fraction(5, 4)
    found = symbolic.mixed(N)
    for name, known in one.measures_mva(lam, N, Z, S).items():
        if name in ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo"):
            assert found.evaluate(name, lam=lam, Z=Z, S=S) == known, name


@pytest.mark.parametrize(("N", "c"), [(1, 1), (6, 1), (5, 3), (4, 4), (12, 2)])
def test_closed_is_what_the_sum_gives(N, c):
    Z, S = Fraction(7, 2), Fraction(5, 4)
    found = symbolic.closed(N, servers=c)
    for name, known in many.closed(N, Z, S, c).items():
        value = found.evaluate(name, Z=Z, S=S)
        assert abs(value / known - 1) < Fraction(1, 10**50), name


@pytest.mark.parametrize(("N", "c"), [(1, 3), (2, 2)])
def test_mixed_at_several_servers_is_the_sum_over_all_states(N, c):
    lam, Z, S = Fraction(1, 2), Fraction(3), Fraction(1)
    found = symbolic.mixed(N, servers=c)
    for name, known in many.mixed_by_states(lam, N, Z, S, c, most=60).items():
        if name in found.measures:
            value = found.evaluate(name, lam=lam, Z=Z, S=S)
            assert float(value / known) == pytest.approx(1, rel=1e-12), name


def test_floats_are_taken_as_given():
    value = symbolic.closed(9).evaluate("R", Z=0.1, S=0.7)
    assert value == one.measures_mva(0.0, 9, 0.1, 0.7)["Rc"]


@pytest.mark.parametrize("wrt", ["lam", "Z", "S"])
def test_derivatives_are_limits_of_differences(wrt):
    point = {"lam": Fraction(1, 3), "Z": Fraction(4), "S": Fraction(6, 5)}
    expressions = symbolic.mixed(5)
    for of in ("Xc", "Rc", "Ro"):
        slope = expressions.derivative(of, wrt)
        values = {name: sympy.Rational(x.numerator, x.denominator) for name, x in point.items()}
        value = float(slope.subs([(getattr(expressions, k), v) for k, v in values.items()]))
        known = one.slope(of, wrt, point["lam"], 5, point["Z"], point["S"])
        assert value == pytest.approx(float(known), rel=1e-13)


def test_total_rate_of_falling_chances():
    found = symbolic.reopen("exponential")
    known = again.exponential_total_rate(Fraction(1, 2), 1, 1)
    values = {"lam": Fraction(1, 2), "theta": 1, "S": 1}
    assert float(found.evaluate("X", **values)) == pytest.approx(float(known["X"]), rel=1e-15)
    assert float(found.evaluate("R", **values)) == pytest.approx(float(known["R"]), rel=1e-15)
