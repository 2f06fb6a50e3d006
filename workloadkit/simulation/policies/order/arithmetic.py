"""The arithmetic of expressions, in a form that both engines run.

Results are those of floating-point numbers without exceptions: infinity and NaN where there is no
number. A power is computed in one way in both engines, which a compiler might round differently.
"""

import math

from workloadkit._kernels.compile import shared
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

_MOST = 709.0  # e to a larger power is infinite
_WHOLE = 64.0  # largest exponent for which a power is a product


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
    if x > _MOST:
        return math.inf
    return math.exp(x) if x >= -_MOST else (0.0 if x < 0.0 else x)


@shared
def quotient(x, y):
    """Return x / y."""
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return math.nan
    return math.inf if x > 0.0 else -math.inf


@shared
def power(x, y):
    """Return x to the power of y: a product for small whole exponents."""
    if 0.0 <= y <= _WHOLE and y == math.floor(y):
        product = 1.0
        for _ in range(int(y)):
            product *= x
        return product
    if x < 0.0:
        return math.nan
    if x == 0.0:
        return math.inf if y < 0.0 else 0.0
    return exponential(y * math.log(x)) if x < math.inf else (math.inf if y > 0.0 else 0.0)


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
        return x if x <= y or x != x else y
    if what == MAX:
        return x if x >= y or x != x else y
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
