"""Root and minimum of a function by Brent's methods; importing scipy.optimize takes .3 s."""

from collections.abc import Callable
from math import copysign, sqrt

_OF_ROOT = 4 * 2.0**-52  # relative tolerances
_OF_MINIMUM = sqrt(2.2e-16)
_GOLDEN = (3 - sqrt(5)) / 2


def find_root(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """Return a root between two points of different sign, as `scipy.optimize.brentq` does [1]_.

    References
    ----------
    .. [1] R. P. Brent, "Algorithms for minimization without derivatives", 1973, chapter 4.

    Examples
    --------
    >>> round(find_root(lambda x: x**2 - 2, 0.0, 2.0, 1e-12), 9)
    1.414213562
    """
    before, x = float(low), float(high)  # the last two points; the root lies between x and other
    f_before, f_x = float(function(before)), float(function(x))
    other, f_other, last, step = before, f_before, 0.0, 0.0
    if f_before == 0:
        return before
    while f_x != 0:
        if f_before != 0 and (f_before < 0) != (f_x < 0):
            other, f_other = before, f_before
            last = step = x - before
        if abs(f_other) < abs(f_x):
            before, x, other = x, other, x
            f_before, f_x, f_other = f_x, f_other, f_x
        least, half = (xtol + _OF_ROOT * abs(x)) / 2, (other - x) / 2
        if abs(half) < least:
            break
        tried, limit = half, 0.0
        if abs(last) > least and abs(f_x) < abs(f_before):
            limit = min(abs(last), 3 * abs(half) - least)
            if before == other:  # a secant, else an inverse parabola
                tried = -f_x * (x - before) / (f_x - f_before)
            else:
                near = (f_before - f_x) / (before - x)
                far = (f_other - f_x) / (other - x)
                tried = -f_x * (f_other * far - f_before * near)
                tried /= far * near * (f_other - f_before)
        last, step = (step, tried) if 2 * abs(tried) < limit else (half, half)
        before, f_before = x, f_x
        x += step if abs(step) > least else copysign(least, half)
        f_x = float(function(x))
    return x


def find_minimum(
    function: Callable[[float], float], low: float, high: float, xtol: float
) -> tuple[float, float]:
    """Return the place and value of a minimum, as `scipy.optimize.minimize_scalar` does [1]_.

    That with ``method="bounded"``.

    References
    ----------
    .. [1] R. P. Brent, "Algorithms for minimization without derivatives", 1973, chapter 5.

    Examples
    --------
    >>> round(find_minimum(lambda x: (x - 2) ** 2, 0.0, 5.0, 1e-8)[0], 6)
    2.0
    """
    low, high = float(low), float(high)
    x = second = third = low + _GOLDEN * (high - low)  # the lowest points so far
    f_x = f_second = f_third = float(function(x))
    last = step = 0.0
    while True:
        middle = (low + high) / 2
        least = _OF_MINIMUM * abs(x) + xtol / 3
        if abs(x - middle) <= 2 * least - (high - low) / 2:
            return x, f_x
        parabolic = False
        if abs(last) > least:
            r = (x - second) * (f_x - f_third)
            q = (x - third) * (f_x - f_second)
            p = (x - third) * q - (x - second) * r
            q = 2 * (q - r)
            p, q = -p if q > 0 else p, abs(q)
            before, last = last, step
            parabolic = abs(p) < abs(q * before / 2) and q * (low - x) < p < q * (high - x)
        if parabolic:
            step = p / q
            if min(x + step - low, high - (x + step)) < 2 * least:
                step = copysign(least, middle - x)
        else:
            last = (low if x >= middle else high) - x
            step = _GOLDEN * last
        at = x + copysign(max(abs(step), least), step)
        f_at = float(function(at))
        if f_at <= f_x:
            low, high = (x, high) if at >= x else (low, x)
            third, f_third, second, f_second, x, f_x = second, f_second, x, f_x, at, f_at
            continue
        low, high = (at, high) if at < x else (low, at)
        if f_at <= f_second or second == x:
            third, f_third, second, f_second = second, f_second, at, f_at
        elif f_at <= f_third or third in (x, second):
            third, f_third = at, f_at
