"""The arithmetic of floating-point numbers without exceptions, in both engines.

Where Python raises, the result is infinity or NaN (IEEE 754): a division by zero and an overflow
are infinite with their sign, a power or a function that is no real number is NaN.
"""

import math
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any

import numpy as np


def power(x: Any, y: Any) -> Any:
    """Return x ** y."""
    x, y = (number.item() if isinstance(number, np.generic) else number for number in (x, y))
    try:
        found = x**y
    except (ZeroDivisionError, OverflowError):
        if x < 0 and y % 1.0 != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2.0 == 1 else math.inf
    return math.nan if isinstance(found, complex) else found


def compiled_power(x, y):
    """Return, by types, the function that is compiled instead of `power`."""
    from numba.core import types

    from workloadkit._kernels.native_calls import power_of_floats

    if isinstance(x, types.Float) or isinstance(y, types.Float):
        return lambda x, y: power_of_floats(float(x), float(y))
    return lambda x, y: x**y


def quotient(x, y):
    """Return x / y."""
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


class Float(float):
    """A number of this arithmetic, in plain Python."""

    __slots__ = ()


def _operation(name: str) -> Callable[..., Any]:
    usual = getattr(float, name)

    def operate(*given: Any) -> Any:
        found = usual(*given)
        return Float(found) if type(found) is float else found

    return operate


def _without_errors(operate: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], ...]:
    """Return an operation and its reflection."""

    def of(x: Any, y: Any) -> Any:
        return Float(operate(x, y)) if isinstance(y, int | float) else NotImplemented

    return of, lambda y, x: of(x, y) if isinstance(x, int | float) else NotImplemented


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "neg", "pos", "abs"):
    setattr(Float, f"__{_name}__", _operation(f"__{_name}__"))
for _name, _operate in {
    "truediv": lambda x, y: quotient(float(x), float(y)),
    "floordiv": lambda x, y: float(x) // float(y) if y else quotient(float(x), float(y)),
    "mod": lambda x, y: float(x) % float(y) if y else math.nan,
    "pow": lambda x, y: power(float(x), float(y)),
}.items():
    _of, _reflected = _without_errors(_operate)
    setattr(Float, f"__{_name}__", _of)
    setattr(Float, f"__r{_name}__", _reflected)


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `math` that returns infinity or NaN where it would raise."""

    def call(*given: Any) -> Any:
        try:
            found = function(*given)
        except (ValueError, OverflowError):
            found = power(*given) if function is math.pow else _by_numpy(function, given)
        return Float(found) if type(found) is float else found

    return call


def _by_numpy(function: Callable[..., Any], given: Any) -> float:
    return float(getattr(np, function.__name__, lambda *_: math.nan)(*given))


_MATH = ModuleType("math")
vars(_MATH).update(
    {
        name: _quiet(value) if isinstance(value, BuiltinFunctionType) else value
        for name, value in vars(math).items()
        if not name.startswith("_")
    }
)


def _replaced(value: Any) -> Any:
    if value is math:
        return _MATH
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
        return getattr(_MATH, value.__name__)
    return value


def in_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Python function of floats in this arithmetic, with that of `math` in it.

    Examples
    --------
    >>> in_floats(lambda x: (1 / (x - 3), (x - 4) ** 0.5, math.log(x - 3)))(3.0)
    (inf, nan, -inf)
    """
    inner: Any = function
    if isinstance(function, FunctionType):
        cells = function.__closure__
        inner = FunctionType(
            function.__code__,
            {name: _replaced(value) for name, value in function.__globals__.items()},
            function.__name__,
            function.__defaults__,
            None if cells is None else tuple(CellType(_replaced(c.cell_contents)) for c in cells),
        )
        inner.__kwdefaults__ = function.__kwdefaults__

    def call(*given: float) -> Any:
        with np.errstate(all="ignore"):
            return inner(*map(Float, given))

    return call
