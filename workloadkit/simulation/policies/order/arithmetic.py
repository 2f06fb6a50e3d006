"""The arithmetic of expressions, in a form that both engines run.

Results are those of Python's floats; where Python raises, they are infinity or NaN, see `floats`.
"""

import math
import sys

from workloadkit._kernels.compile import shared
from workloadkit._kernels.floats import power, quotient
from workloadkit.simulation.policies.order.expression import (
    ABS,
    ADD,
    AND,
    AT_MOST,
    DIVIDE,
    EQUAL,
    EXP,
    LESS,
    LOG,
    LOG2,
    LOG10,
    MAX,
    MIN,
    MULTIPLY,
    NEGATE,
    NOT,
    OR,
    POWER,
    SQRT,
    SUBTRACT,
    UNEQUAL,
)

_MOST = math.log(sys.float_info.max)  # e to a larger power is infinite


@shared
def of_one(what, x):
    """Return a function of one number."""
    if what == NEGATE:
        return -x
    if what == NOT:
        return 1.0 if x == 0.0 else 0.0
    if what == ABS:
        return abs(x)
    if what == EXP:
        return exponential(x)
    if what == SQRT:
        return math.sqrt(x) if x >= 0.0 else math.nan
    if x <= 0.0 or x != x or x == math.inf:
        return math.nan if x < 0.0 or x != x else math.inf if x > 0.0 else -math.inf
    if what == LOG:
        return math.log(x)
    if what == LOG2:
        return math.log2(x)
    if what == LOG10:
        return math.log10(x)
    return math.nan


@shared
def exponential(x):
    """Return e to a power."""
    return math.inf if x > _MOST else math.exp(x)


@shared
def of_two(what, x, y):
    """Return a function of two numbers."""
    if what == ADD:
        return x + y
    if what == SUBTRACT:
        return x - y
    if what == MULTIPLY:
        return x * y
    if what == DIVIDE:
        return quotient(x, y)
    if what == POWER:
        return power(x, y)
    if what == MIN:
        return y if y < x else x
    if what == MAX:
        return y if y > x else x
    if what == LESS:
        return 1.0 if x < y else 0.0
    if what == AT_MOST:
        return 1.0 if x <= y else 0.0
    if what == EQUAL:
        return 1.0 if x == y else 0.0
    if what == UNEQUAL:
        return 1.0 if x != y else 0.0
    if what == AND:
        return 1.0 if x != 0.0 and y != 0.0 else 0.0
    if what == OR:
        return 1.0 if x != 0.0 or y != 0.0 else 0.0
    return math.nan


@shared
def decayed(before, busy, time, decay):
    """Return a usage after some time in which `busy` processors were in use."""
    if decay == 0.0:
        return before + busy * time
    left = math.exp(-decay * time)
    return before * left + busy * ((1.0 - left) / decay)
