"""Closed networks of stations with one server each."""

import math
from typing import Any

from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.symbolic.expressions import Expressions
from workloadkit.queueing.symbolic.servers import whole

#: Largest number of terms of the polynomials.
_MOST_TERMS = 200_000


def network(N: int, stations: int) -> Expressions:
    """Return the measures of a closed network with one class as expressions.

    Parameters
    ----------
    N : int
        Number of jobs.
    stations : int
        Number of stations, each with one server.

    Returns
    -------
    Expressions
        X, R, and Q1, Q2, ..., U1, U2, ... of the stations, in the demands D1, D2, ... and Z.

    Raises
    ------
    QueueingError
        If N or stations are not whole numbers of at least 1, or give too many terms.

    Examples
    --------
    >>> network(1, 2).X, network(2, 1).Q1
    (1/(D1 + D2 + Z), (4*D1**2 + 2*D1*Z)/(2*D1**2 + 2*D1*Z + Z**2))
    """
    import sympy
    from sympy import QQ, ring

    n_jobs, count = whole("N", N), whole("stations", stations)
    terms = math.comb(n_jobs + count, count)
    if terms > _MOST_TERMS:
        raise QueueingError(
            f"N and stations give polynomials of {terms:,} terms; the maximum is {_MOST_TERMS:,}"
        )
    names = [f"D{k}" for k in range(1, count + 1)]
    polynomials, *generators = ring([*names, "Z"], QQ)
    demands, Z = generators[:-1], generators[-1]
    symbols = sympy.symbols([*names, "Z"], positive=True)
    scale = math.factorial(n_jobs)
    constants = [scale * Z**n / math.factorial(n) for n in range(n_jobs + 1)]
    for demand in demands:
        constants = _added(demand, constants)
    below, fewer = (g.as_expr(*symbols) for g in (constants[-1], constants[-2]))
    numbers = [demand * _added(demand, constants)[-2] for demand in demands]
    total = sum(numbers, polynomials.zero)
    X = fewer / below
    measures = {"X": X, "R": total.as_expr(*symbols) / fewer}
    for k, number in enumerate(numbers):
        measures[f"Q{k + 1}"] = number.as_expr(*symbols) / below
    for name, symbol in zip(names, symbols[:-1], strict=True):
        measures[f"U{name[1:]}"] = X * symbol
    return Expressions(measures, dict(zip([*names, "Z"], symbols, strict=True)))


def _added(demand: Any, constants: list[Any]) -> list[Any]:
    """Return the constants of the network with another station (Buzen 1973)."""
    added = constants[:1]
    for constant in constants[1:]:
        added.append(constant + demand * added[-1])
    return added
