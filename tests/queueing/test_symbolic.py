"""Models in symbols, and the numbers of the package held to them in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from workloadkit import queueing
from workloadkit.queueing import QueueingError, networks, symbolic
from workloadkit.queueing.symbolic import expressions

POINTS = [(0.3, 3.7, 1.1), (0.0, 40.0, 0.7), (0.85, 0.01, 1.15), (1e-6, 1e6, 1.0)]


@pytest.mark.parametrize("N", [1, 9, pytest.param(50, marks=pytest.mark.slow)])
def test_closed_and_mixed_keep_to_the_fractions(N):
    alone, both = symbolic.closed(N), symbolic.mixed(N)
    for lam, Z, S in POINTS if N < 10 else POINTS[:2]:
        found = queueing.closed(N, Z, S)
        for name in "XRQU":
            known = alone.evaluate(name, Z=Z, S=S)
            assert abs(Fraction(getattr(found, name)) / known - 1) < Fraction(1, 10**12), (
                name,
                lam,
                Z,
                S,
            )
        found = queueing.mixed(lam, N, Z, S)
        for name in both.measures:
            known = both.evaluate(name, lam=lam, Z=Z, S=S)
            value = Fraction(float(getattr(found, name)))
            assert abs(value - known) <= known * Fraction(1, 10**12), (name, lam, Z, S)


@pytest.mark.parametrize(("N", "c"), [(1, 2), (12, 4)])
def test_several_servers_keep_to_the_fractions(N, c):
    alone, both = symbolic.closed(N, c), symbolic.mixed(N, c)
    for lam, Z, S in ((0.7, 3.7, 1.1), (0.0, 40.0, 0.7), (1.7, 0.01, 1.15)):
        found = queueing.closed(N, Z, S, servers=c)
        for name in "XRQU":
            known = alone.evaluate(name, Z=Z, S=S)
            assert abs(Fraction(getattr(found, name)) / known - 1) < Fraction(1, 10**12), (
                name,
                lam,
                Z,
                S,
            )
        found = queueing.mixed(lam, N, Z, S, servers=c)
        for name in ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo"):
            known = both.evaluate(name, lam=lam, Z=Z, S=S)
            value = Fraction(float(getattr(found, name)))
            assert abs(value - known) <= known * Fraction(1, 10**12), (name, lam, Z, S)


@pytest.mark.parametrize("of", ["Rc", "Qo"])
@pytest.mark.parametrize("wrt", ["lam", "Z", "S"])
def test_derivatives_of_numbers_are_those_of_symbols(of, wrt):
    both, values = symbolic.mixed(4), {"lam": 0.3, "Z": 3.75, "S": 1.25}
    slope = both.derivative(of, wrt)
    known = slope.subs({both.symbols[name]: sympy.Rational(v) for name, v in values.items()})
    found = queueing.mixed(N=4, **values).derivative(of, wrt)
    assert found == pytest.approx(float(known), rel=1e-9)


def test_networks_keep_to_the_fractions():
    both = symbolic.network(7, 3)
    demands, Z = [0.3, 1.1, 0.7], 2.3
    found = networks.mva(demands, 7, Z)
    values = {"D1": 0.3, "D2": 1.1, "D3": 0.7, "Z": Z}
    assert found.X == pytest.approx(float(both.evaluate("X", **values)), rel=1e-14)
    assert found.R == pytest.approx(float(both.evaluate("R", **values)), rel=1e-14)
    for k in range(3):
        assert found.Q[k] == pytest.approx(float(both.evaluate(f"Q{k + 1}", **values)), rel=1e-13)
        assert found.U[k] == pytest.approx(float(both.evaluate(f"U{k + 1}", **values)), rel=1e-14)


def test_reopen_keeps_to_the_fractions():
    again = symbolic.reopen("constant")
    found = queueing.reopen(0.5, 0.36, 5.0, 1.0)
    for name in again.measures:
        known = float(again.evaluate(name, lam=0.5, p=0.36, S=1))
        assert getattr(found, name) == pytest.approx(known, rel=1e-13), name
    falling = symbolic.reopen("exponential")
    found = queueing.reopen(0.5, queueing.exponential(2.0), 5.0, 1.0, method="mm1")
    for name in falling.measures:
        known = float(falling.evaluate(name, lam=0.5, theta=2, S=1))
        assert getattr(found, name) == pytest.approx(known, rel=1e-12), name


def test_formulas_by_hand():
    one = symbolic.mixed(1)
    lam, Z, S = one.lam, one.Z, one.S
    slowed = S / (1 - lam * S)
    by_hand = {
        "Xc": 1 / (slowed + Z),
        "Rc": slowed,
        "Ro": slowed * (1 + slowed / (slowed + Z)),
        "Uo": lam * S,
    }
    for name, known in by_hand.items():
        assert sympy.simplify(getattr(one, name) - known) == 0
    found = symbolic.closed(2, servers=2)  # nobody waits
    assert found.R == found.S
    p, lam = symbolic.reopen().p, symbolic.reopen().lam
    assert sympy.simplify(symbolic.reopen().X - lam / (1 - p)) == 0


def at_some_point(expression):
    """The value where lam, Z and S are fractions that nothing is special about."""
    values = {"lam": "3/7", "Z": "13/5", "S": "17/11"}
    return sympy.sympify(expression).subs(
        {sympy.Symbol(k, positive=True): sympy.Rational(v) for k, v in values.items()}
    )


@pytest.mark.parametrize("N", [1, 4, pytest.param(50, marks=pytest.mark.slow)])
def test_limits(N):
    both = symbolic.mixed(N)
    lam, S = both.lam, both.S
    slowed = S / (1 - lam * S)
    known = {
        ("Rc", "Z", 0): N * slowed,
        ("Rc", "Z", math.inf): slowed,
        ("Ro", "Z", 0): (N + 1) * slowed,
        ("Ro", "Z", math.inf): slowed,
        ("Xc", "Z", 0): 1 / slowed,
        ("Xc", "Z", math.inf): 0,
        ("Xc", "S", 0): N / both.Z,
    }
    for (of, wrt, to), value in list(known.items())[: None if N < 10 else 3]:
        assert at_some_point(both.limit(of, wrt, to) - value) == 0, (of, wrt, to)
    alone = symbolic.closed(N)
    assert at_some_point(both.limit("Xc", "lam", 0) - alone.X) == 0
    if N < 10:
        assert both.limit("Xc", "lam", 1).subs(S, 1) == 0  # lam S = 1
    assert alone.limit("Q", "Z", 0) == N
    assert alone.limit("R", "S", math.inf) == sympy.oo


@pytest.mark.parametrize("c", [1, 3])
def test_many_users_approach_the_lines(c):
    lines, far = symbolic.mixed(math.inf, c), 4000
    values = {"lam": 0.4, "Z": 5.0, "S": 0.9}
    found = queueing.mixed(N=far, servers=c, **values)
    for name in lines.measures:
        known = float(lines.evaluate(name, N=far, **values))
        assert float(getattr(found, name)) == pytest.approx(known, rel=1e-9), name
    assert symbolic.closed(math.inf, c).R == lines.limit("Rc", "lam", 0)


def test_series_are_those_of_sympy():
    both = symbolic.mixed(2)
    for of, wrt in (("Xc", "lam"), ("Rc", "S")):
        known = sympy.series(getattr(both, of), both.symbols[wrt], 0, 3).removeO()
        assert at_some_point(both.series(of, wrt, 2) - known) == 0
    around = both.series("Xc", "lam", 1, at=Fraction(1, 2))
    half = {both.lam: sympy.Rational(1, 2)}
    assert at_some_point((around - both.Xc).subs(half)) == 0
    assert at_some_point(sympy.diff(around - both.Xc, both.lam).subs(half)) == 0


def test_series_of_many_users_are_quick_and_near():
    both = symbolic.mixed(50)
    polynomial = both.series("Xc", "lam", 2)
    value = polynomial.subs({both.lam: Fraction(1, 1000), both.Z: 30, both.S: 1})
    assert float(value) == pytest.approx(queueing.mixed(0.001, 50, 30, 1).Xc, rel=1e-8)


def test_latex_names_rates_and_classes():
    text = symbolic.mixed(1).latex()
    assert text.startswith("\\begin{aligned}\nX_{c} &= ")
    assert "\\lambda" in text
    assert "lam " not in text
    assert symbolic.network(2, 2).latex("U1").startswith("\\frac{D_{1}")


def test_names_are_attributes():
    found = symbolic.closed(np.int64(2))
    assert {"X", "R", "Q", "U", "Z", "S"} <= set(dir(found))
    with pytest.raises(AttributeError, match="lam is neither a measure"):
        found.lam  # noqa: B018


def test_bad_input_is_named():
    for call, message in (
        (lambda: symbolic.closed(0), "N is 0; it must be a whole number, 1 or more"),
        (lambda: symbolic.mixed(2.5), "N is 2.5"),
        (lambda: symbolic.closed(True), "N is True"),
        (lambda: symbolic.closed("3"), "N is '3'"),
        (lambda: symbolic.mixed(2, servers=0), "servers is 0"),
        (lambda: symbolic.network(90, 9), "polynomials of"),
        (lambda: symbolic.mixed(1, servers=10**6), "polynomials of degree"),
        (lambda: symbolic.reopen("linear"), "p is 'linear'"),
        (lambda: symbolic.closed(2).evaluate("X", Z=1), "S is missing; X depends on it"),
        (lambda: symbolic.closed(2).evaluate("Y", Z=1, S=1), "of is 'Y'"),
        (lambda: symbolic.closed(2).evaluate("X", Z=math.nan, S=1), "Z is nan"),
        (lambda: symbolic.closed(2).evaluate("X", Z="1", S=1), "Z is '1'"),
        (lambda: symbolic.closed(2).evaluate("X", Z=0, S=0), "X has no value"),
        (lambda: symbolic.closed(2).series("X", "lam"), "'lam' is not a symbol"),
        (lambda: symbolic.closed(2).series("X", "Z", -1), "order is -1"),
        (lambda: symbolic.mixed(2).series("Xc", "S", at=math.inf), "at is inf"),
        (lambda: symbolic.closed(math.inf).series("Q", "S"), "it has a pole there"),
    ):
        with pytest.raises(QueueingError, match=message):
            call()


def test_without_sympy_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(expressions, "find_spec", lambda name: None)
    calls = (lambda: symbolic.closed(1), lambda: symbolic.mixed(1), symbolic.reopen)
    for make in (*calls, lambda: symbolic.network(1, 2)):
        with pytest.raises(QueueingError, match=r"pip install 'workloadkit\[exact\]'"):
            make()
