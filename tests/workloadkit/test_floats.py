"""Arithmetic of scores: that of C's floats, in expressions and functions, in both engines."""

import ctypes
import ctypes.util
import math
import struct
from itertools import product

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import starts
from tests.compiled import from_python
from tests.data import COMPILES, needs_compiler
from workloadkit._kernels.compile import of_floats
from workloadkit._kernels.floats import in_floats
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.order.arithmetic import of_one, of_two
from workloadkit.simulation.policies.order.expression import read
from workloadkit.simulation.policies.order.plain import run

SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0),
    *(1e308, -1e308, 5e-324, -5e-324, 709.5, -745.0, 1024.0, -1023.0, 65.0, 1 / 3, 2.0**53 + 2),
)
PAIRS = list(product(SPECIAL, SPECIAL))

#: Scores of x and y as a text and as a function.
BINARY = {
    "x ** y": lambda x, y: x**y,
    "x / y": lambda x, y: x / y,
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "min(x, y)": lambda x, y: min(x, y),
    "max(x, y)": lambda x, y: max(x, y),
}
UNARY = {
    "log(x)": lambda x: math.log(x),
    "log2(x)": lambda x: math.log2(x),
    "log10(x)": lambda x: math.log10(x),
    "exp(x)": lambda x: math.exp(x),
    "sqrt(x)": lambda x: math.sqrt(x),
    "abs(x)": lambda x: abs(x),
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "x ** -1": lambda x: x**-1,
    "x ** 0.5": lambda x: x**0.5,
    "2 ** x": lambda x: 2**x,
}


def library(name, n_arguments):
    """A function of the C library."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * n_arguments
    return function


def bits(value):
    """The bits of a number; of NaN, the usual ones."""
    return struct.pack("d", float(value) if value == value else math.nan)


def ieee(text, x, y):
    """The value of a score by the C library and numpy."""
    names = ("log", "log2", "log10", "exp", "sqrt")
    known = {name: library(name, 1) for name in names} | {"abs": abs, "min": min, "max": max}
    with np.errstate(all="ignore"):
        if "**" in text:
            return library("pow", 2)(*(eval(side, {"x": x, "y": y}) for side in text.split("**")))
        return eval(text, known | {"x": np.float64(x), "y": np.float64(y)})


def plain_text(text, x, y=0.0):
    return run(read(text, {"x": x, "y": y}), {}.__getitem__)[0]


@pytest.mark.slow
def test_expressions_have_the_values_of_c():
    for text, (x, y) in product((*BINARY, *UNARY), PAIRS):
        assert bits(plain_text(text, x, y)) == bits(ieee(text, x, y)), (text, x, y)


@pytest.mark.slow
def test_functions_have_the_values_of_c():
    for (text, function), (x, y) in product(BINARY.items(), PAIRS):
        assert bits(in_floats(function)(x, y)) == bits(ieee(text, x, y)), (text, x, y)
    for (text, function), x in product(UNARY.items(), SPECIAL):
        assert bits(in_floats(function)(x)) == bits(ieee(text, x, 0.0)), (text, x)


@needs_compiler
def test_compiled_arithmetic_is_the_plain_one():
    one, two = from_python(of_one), from_python(of_two)
    for text in BINARY:
        ((code, _),) = read(text, {"x": 1, "y": 1}).steps[2:]
        for x, y in PAIRS:
            assert bits(two(code, x, y)) == bits(of_two(code, x, y)), (text, x, y)
    for text in ("log(x)", "log2(x)", "log10(x)", "exp(x)", "sqrt(x)", "abs(x)", "not x", "-x"):
        ((code, _),) = read(text, {"x": 1}).steps[1:]
        for x in SPECIAL:
            assert bits(one(code, x)) == bits(of_one(code, x)), (text, x)


def remainders(x, y):
    return x % y


def floors(x, y):
    return x // y


def odd(x, y):
    both = (x > 0) + (y > 0) - -(x < y)
    x **= 3
    return both + math.pow(x, y) + 1 / (x - 2.0)


@needs_compiler
@pytest.mark.parametrize(
    "of",
    [
        *(BINARY[text] for text in ("x ** y", "x / y", "min(x, y)", "max(x, y)")),
        *(remainders, floors, odd),
    ],
)
def test_compiled_functions_of_two_are_the_plain_ones(of):
    compiled, plain = from_python(of_floats(of)), in_floats(of)
    for x, y in PAIRS:
        assert bits(compiled(x, y)) == bits(plain(x, y)), (x, y)


@needs_compiler
def test_compiled_functions_of_one_are_the_plain_ones():
    rng = np.random.default_rng(1)
    values = [*SPECIAL, *rng.lognormal(3, 4, 3000).tolist(), *range(1, 300)]
    for text, of in UNARY.items():
        compiled, plain = from_python(of_floats(of)), in_floats(of)
        for x in values:
            assert bits(compiled(float(x))) == bits(plain(float(x))), (text, x)


LOG = wk.Trace.from_columns(
    {
        "submit": range(6),
        "run": [50, 10, 10, 10, 10, 10],
        "procs": [4] * 6,
        "requested_time": [50, 30, 200, 100, 90, 110],
    }
)


@pytest.mark.parametrize(
    ("text", "function", "right"),
    [
        # -1/70, 1/100, inf, -1/10, 1/10
        ("(estimate - 100) ** -1", lambda estimate: (estimate - 100) ** -1, [60, 70, 90, 50, 80]),
        pytest.param(
            *("1 / (estimate - 100)", lambda estimate: 1 / (estimate - 100)),
            *([60, 70, 90, 50, 80],),
            marks=COMPILES,
        ),
        # NaN of negative ones comes last
        pytest.param(
            *("(estimate - 100) ** 0.5", lambda estimate: (estimate - 100) ** 0.5),
            *([80, 70, 50, 90, 60],),
            marks=COMPILES,
        ),
        pytest.param(
            *("-exp(estimate * 9)", lambda estimate: -math.exp(estimate * 9)),
            *([90, 50, 60, 70, 80],),
            marks=COMPILES,
        ),
        pytest.param(
            *("log(estimate - 100)", lambda estimate: math.log(estimate - 100)),
            *([80, 70, 50, 90, 60],),
            marks=COMPILES,
        ),
    ],
)
def test_where_python_raises_scores_are_infinite_or_nan(text, function, right):
    assert starts(LOG, f"order:score={text}", procs=4) == [0, *right]
    assert starts(LOG, wk.schedulers.Order(function), procs=4) == [0, *right]


def test_a_root_is_a_power_and_breaks_no_tie():
    for power, root in (("2 ** 0.5", "sqrt(2)"), ("procs ** 0.5", "sqrt(procs)")):
        tie = f"order:score=where(estimate == 30, {power}, {root})"
        assert starts(LOG, tie, procs=4) == [0, 50, 60, 70, 80, 90]


def test_an_error_of_a_custom_function_names_it_and_the_job():
    def wrong(estimate):
        return 1 // int(estimate - 100)

    with pytest.raises(ParameterError, match="wrong raises ZeroDivisionError for job 4: "):
        wk.simulate(LOG, wk.schedulers.Order(wrong), procs=4, engine="python")
