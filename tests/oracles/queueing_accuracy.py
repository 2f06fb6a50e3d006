"""How far a float is from an exact number."""

from fractions import Fraction

import mpmath
import numpy as np


def error(found, exact):
    """Relative error of a float; infinity where it is not finite, or not 0 where it should be."""
    found = float(found)
    if not np.isfinite(found):
        return np.inf
    if exact == 0:
        return 0.0 if found == 0 else np.inf
    if isinstance(exact, Fraction | int):
        return float(abs(Fraction(found) / exact - 1))
    with mpmath.workdps(50):
        return float(abs(mpmath.mpf(found) / exact - 1))


def worst(result, exact, place=None):
    """Largest relative error of the measures that `exact` names, and of which."""
    errors = {}
    for name, value in exact.items():
        found = getattr(result, name)
        errors[name] = error(found if place is None else np.ravel(found)[place], value)
    name = max(errors, key=errors.__getitem__)
    return errors[name], name
