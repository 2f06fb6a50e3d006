"""Expressions of a job's features, read from text: they are parsed, never evaluated by Python.

An expression has numbers, also times such as ``20h``; features; parameters; the operators ``+ - * /
**``, comparisons, ``and``, ``or``, ``not``; and functions. A comparison is 1 if it is true, else 0.
The arithmetic is that of Python's floats, and `min` and `max` are Python's. Where Python raises,
the value is that of IEEE 754: a division by 0 and what is too large are infinite, with their sign;
a root, a logarithm or another power of a negative number that is no real number is NaN.

`read` makes a program for a stack: a few numbers, which both engines interpret. So no expression is
compiled, and parameters are numbers in it.
"""

import ast
import math
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workloadkit.errors import ParameterError, among, quoted
from workloadkit.parameters import read_duration

#: What a score may depend on. The first are known when a job arrives, and do not change.
AT_ARRIVAL = (
    *("submit", "estimate", "limit", "procs", "user", "queue", "since"),
    *("number", "group", "partition", "tier"),
)
FEATURES = (*AT_ARRIVAL, "now", "wait", "running_work", "waiting_work", "usage")

#: Features that only jobs of a log have, at their timestamps.
OF_LOG = ("number", "group", "partition", "tier")

#: Features of the job's user.
OF_USER = ("running_work", "waiting_work", "usage")

# What a step of a program does: put a number or a feature on the stack, or replace the topmost
# number, or the two topmost, or three.
NUMBER, FEATURE = 0, 1
(NEGATE, NOT, LOG, LOG2, LOG10, EXP, SQRT, ABS) = range(2, 10)
(ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MIN, MAX) = range(10, 17)
(LESS, AT_MOST, EQUAL, UNEQUAL, AND, OR) = range(17, 23)
CHOOSE = 23

_FUNCTIONS = {
    "log": LOG,
    "log2": LOG2,
    "log10": LOG10,
    "exp": EXP,
    "sqrt": SQRT,
    "abs": ABS,
    "min": MIN,
    "max": MAX,
    "where": CHOOSE,
}
_BINARY: dict[type, int] = {
    ast.Add: ADD,
    ast.Sub: SUBTRACT,
    ast.Mult: MULTIPLY,
    ast.Div: DIVIDE,
    ast.Pow: POWER,
}
# swapped: a > b is b < a
_COMPARED: dict[type, tuple[int, bool]] = {
    ast.Lt: (LESS, False),
    ast.LtE: (AT_MOST, False),
    ast.Gt: (LESS, True),
    ast.GtE: (AT_MOST, True),
    ast.Eq: (EQUAL, False),
    ast.NotEq: (UNEQUAL, False),
}

_LONGEST = 1000  # characters of an expression
_TIME = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:s|min|h|d|w))\b", re.ASCII)


@dataclass(frozen=True)
class Program:
    """An expression as steps for a stack.

    Parameters
    ----------
    steps : tuple of (int, int)
        What to do, and with which number or feature.
    numbers : tuple of float
    depth : int
        Most numbers on the stack at once.
    """

    steps: tuple[tuple[int, int], ...]
    numbers: tuple[float, ...]
    depth: int

    @property
    def features(self) -> frozenset[str]:
        """The features on which it depends."""
        return frozenset(FEATURES[which] for what, which in self.steps if what == FEATURE)


def read(text: str, parameters: Mapping[str, float] | None = None) -> Program:
    """Return the program of an expression.

    Parameters
    ----------
    text : str
    parameters : mapping of str to float, optional
        Numbers by name.

    Raises
    ------
    ParameterError
        With the place of what cannot be read.

    Examples
    --------
    >>> read("-procs * wait").features == {"procs", "wait"}
    True
    >>> read("estimate * alpha + 20h", {"alpha": 0.5}).numbers
    (0.5, 72000.0)
    """
    if len(text) > _LONGEST:
        raise ParameterError(f"an expression has at most {_LONGEST} characters, not {len(text)}")
    plain = _TIME.sub(lambda found: f"{read_duration(found[1]):.17g}", text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of what is refused below
            tree = ast.parse(plain.strip(), mode="eval").body
        reader = _Reader(text, dict(parameters or {}))
        reader.add(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"{quoted(text)} is no expression") from None
    return Program(tuple(reader.steps), tuple(reader.numbers), reader.deepest)


class _Reader:
    """Makes the steps of a program from a syntax tree."""

    def __init__(self, text: str, parameters: Mapping[str, float]) -> None:
        self.text, self.parameters = text, parameters
        self.steps: list[tuple[int, int]] = []
        self.numbers: list[float] = []
        self.depth = self.deepest = 0

    def add(self, node: ast.AST) -> None:
        """Add the steps that put the value of a node on the stack."""
        value: Any = getattr(node, "value", None)
        if isinstance(node, ast.Constant) and type(value) in (int, float):
            self._constant(value)
        elif isinstance(node, ast.Name):
            self._name(node.id)
        elif isinstance(node, ast.UnaryOp):
            self._unary(node)
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            self._all([node.left, node.right], _BINARY[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            self._all(node.values, AND if isinstance(node.op, ast.And) else OR)
        elif isinstance(node, ast.Compare):
            self._compare(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            self._call(node.func.id, node.args)
        else:
            raise self._wrong(f"{_shown(node)} is not allowed")

    def _step(self, what: int, which: int = 0, *, takes: int = 0) -> None:
        self.steps.append((what, which))
        self.depth += 1 - takes
        self.deepest = max(self.deepest, self.depth)

    def _constant(self, value: float) -> None:
        if not abs(value) <= sys.float_info.max:
            raise self._wrong(f"{quoted(value)} is not a number of usual size")
        self._number(float(value))

    def _number(self, value: float) -> None:
        self.numbers.append(value)
        self._step(NUMBER, len(self.numbers) - 1)

    def _name(self, name: str) -> None:
        if name in self.parameters:
            self._number(float(self.parameters[name]))
        elif name in FEATURES:
            self._step(FEATURE, FEATURES.index(name))
        else:
            known = (*FEATURES, *self.parameters, *_FUNCTIONS)
            raise self._wrong(f"unknown {quoted(name)}; {among(name, known)}")

    def _unary(self, node: ast.UnaryOp) -> None:
        self.add(node.operand)
        if isinstance(node.op, ast.USub | ast.Not):
            self._step(NEGATE if isinstance(node.op, ast.USub) else NOT, takes=1)
        elif not isinstance(node.op, ast.UAdd):
            raise self._wrong(f"{_shown(node)} is not allowed")

    def _all(self, nodes: list[Any], what: int) -> None:
        """Combine values from left to right."""
        self.add(nodes[0])
        for node in nodes[1:]:
            self.add(node)
            self._step(what, takes=2)

    def _compare(self, node: ast.Compare) -> None:
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARED:
            raise self._wrong(f"{_shown(node)} is not allowed; join comparisons by and")
        what, swapped = _COMPARED[type(node.ops[0])]
        sides = [node.left, node.comparators[0]]
        self._all(sides[::-1] if swapped else sides, what)

    def _call(self, name: str, given: list[Any]) -> None:
        if name not in _FUNCTIONS:
            raise self._wrong(f"unknown function {quoted(name)}; {among(name, _FUNCTIONS)}")
        what = _FUNCTIONS[name]
        least, most = {"min": (1, 99), "max": (1, 99), "where": (3, 3)}.get(name, (1, 1))
        if not least <= len(given) <= most:
            raise self._wrong(f"{name} takes {least if least == most else 'some'} values")
        if what in (MIN, MAX):
            self._all(given, what)
            return
        for node in given:
            self.add(node)
        self._step(what, takes=len(given))

    def _wrong(self, what: str) -> ParameterError:
        return ParameterError(f"expression {quoted(self.text)}: {what}")


def _shown(node: ast.AST) -> str:
    return quoted(ast.unparse(node))


def falls_with_wait(program: Program, shortest: float = 1.0) -> bool:
    """Whether it never rises as a job waits, also as rounded, and depends on nothing else in time.

    It may depend on the wait and on what jobs of equal size, estimate and limit have in common. The
    steps are those whose rounded results are monotone, and no sum or product may overflow. No
    estimate and no limit is below `shortest` [s].

    Examples
    --------
    >>> falls_with_wait(read("-((wait + estimate) / estimate)"))
    True
    >>> falls_with_wait(read("wait / estimate")), falls_with_wait(read("-wait * submit"))
    (False, False)
    >>> program = read("wait * (1 - estimate)")
    >>> falls_with_wait(program, shortest=1), falls_with_wait(program, shortest=0.1)
    (True, False)
    """
    time = _Trend(0, shortest, 1e19)
    trends = _TRENDS | {"estimate": time, "limit": time}
    stack: list[_Trend] = []
    for what, which in program.steps:
        if what == NUMBER:
            stack.append(_Trend(0, program.numbers[which], program.numbers[which]))
        elif what == FEATURE:
            trend = trends.get(FEATURES[which])
            if trend is None:
                return False
            stack.append(trend)
        elif what in (NEGATE, SQRT):
            stack[-1] = stack[-1].negated() if what == NEGATE else stack[-1].root()
        elif what in (ADD, SUBTRACT, MULTIPLY, DIVIDE):
            second, first = stack.pop(), stack.pop()
            if what == SUBTRACT:
                second = second.negated()
            how = first.plus if what in (ADD, SUBTRACT) else first.times
            stack.append(how(second.inverse() if what == DIVIDE else second))
        else:
            return False
    return stack[-1].direction in (0, -1) and stack[-1].is_finite


@dataclass(frozen=True)
class _Trend:
    """Trend of a sub-expression in the wait: -1 falling, 0 constant, 1 rising; and its bounds.

    The bounds of a value that is not known to be monotone are infinite.
    """

    direction: int
    low: float
    high: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def negated(self) -> "_Trend":
        return _Trend(-self.direction, -self.high, -self.low)

    def root(self) -> "_Trend":
        if not (self.is_finite and self.low >= 0):
            return _UNKNOWN
        return _Trend(self.direction, math.sqrt(self.low), math.sqrt(self.high))

    def inverse(self) -> "_Trend":
        """Return 1 / it, if it is constant and positive."""
        if self.direction or not (self.is_finite and self.low > 0):
            return _UNKNOWN
        return _Trend(0, 1 / self.high, 1 / self.low)

    def plus(self, other: "_Trend") -> "_Trend":
        if not (self.is_finite and other.is_finite) or self.direction * other.direction < 0:
            return _UNKNOWN
        direction = self.direction or other.direction
        return _Trend(direction, self.low + other.low, self.high + other.high)

    def times(self, other: "_Trend") -> "_Trend":
        varying, constant = (self, other) if self.direction else (other, self)
        if not (self.is_finite and other.is_finite) or constant.direction:
            return _UNKNOWN
        if varying.direction and constant.low < 0 < constant.high:
            return _UNKNOWN
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        sign = -1 if constant.high <= 0 else 1
        return _Trend(sign * varying.direction, min(ends), max(ends))


_UNKNOWN = _Trend(0, -math.inf, math.inf)

#: Times and processors are integers of 64 bits, or as small.
_TRENDS = {"wait": _Trend(1, 0.0, 1e19), "procs": _Trend(0, 1.0, 1e19)}


def arguments_of(names: Sequence[str], numbers: Mapping[str, float]) -> Program:
    """Return the program that puts the arguments of a function on the stack, in their order."""
    steps: list[tuple[int, int]] = []
    values: list[float] = []
    for name in names:
        if name in numbers:
            steps.append((NUMBER, len(values)))
            values.append(float(numbers[name]))
        else:
            steps.append((FEATURE, FEATURES.index(name)))
    return Program(tuple(steps), tuple(values), max(len(steps), 1))
