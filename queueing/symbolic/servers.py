"""Closed users at the servers of one station, and closed networks of stations with one server."""

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.symbolic.expressions import Expressions, check_sympy

if TYPE_CHECKING:
    import sympy


def closed(N: int | float, servers: int = 1) -> Expressions:
    """Return the measures of `queueing.closed` as expressions.

    Parameters
    ----------
    N : int
        Number of closed users; inf for the asymptotes of the measures, in the symbol N.
    servers : int, default 1

    Returns
    -------
    Expressions
        X, R, Q and U in Z and S.

    Raises
    ------
    QueueingError
        If N or servers are not whole numbers of at least 1.

    Examples
    --------
    >>> closed(1).R, closed(1, servers=5).X
    (S, 1/(S + Z))
    >>> closed(math.inf).R
    N*S - Z
    """
    check_sympy()
    import sympy

    c = whole("servers", servers)
    Z, S = sympy.symbols("Z S", positive=True)
    symbols = {"Z": Z, "S": S}
    if N == math.inf:
        users = sympy.Symbol("N", positive=True)
        found = _asymptotes(users, sympy.Integer(0), Z, S, c)
        measures = {name: found[f"{name}c"] for name in ("X", "R", "Q", "U")}
        return Expressions(measures, {"N": users, **symbols})
    return Expressions(_Sums(whole("N", N), c, alone=True).of_closed(Z, S), symbols)


def mixed(N: int | float, servers: int = 1) -> Expressions:
    """Return the measures of `queueing.mixed` as expressions.

    With n closed users at the station, the open jobs there contribute
    w_n = Σ_m C(m + n, n) (lam S)^m / Π_{i ≤ m + n} min(i, c), which is geometric except for its
    first terms. The constants of the closed users are G(N) = Σ_n w_n S^n Z^(N - n)/(N - n)!
    (Baskett, Chandy, Muntz & Palacios 1975), and Xc = G(N - 1)/G(N).

    Parameters
    ----------
    N : int
        Number of closed users; inf for the asymptotes of the measures, in the symbol N.
    servers : int, default 1

    Returns
    -------
    Expressions
        Xc, Rc, Qc, Uc, Ro, Qo and Uo, and X, R, Q and U of all jobs, in lam, Z and S.

    Raises
    ------
    QueueingError
        If N or servers are not whole numbers of at least 1.

    Examples
    --------
    >>> one = mixed(1)
    >>> one.series("Ro", "lam", 1).subs({one.Z: 0})
    2*S**2*lam + 2*S
    """
    check_sympy()
    import sympy

    c = whole("servers", servers)
    lam, Z, S = sympy.symbols("lam Z S", positive=True)
    symbols = {"lam": lam, "Z": Z, "S": S}
    if N == math.inf:
        users = sympy.Symbol("N", positive=True)
        return Expressions(_asymptotes(users, lam, Z, S, c), {"N": users, **symbols})
    return Expressions(_Sums(whole("N", N), c).of_both(lam, Z, S), symbols)


def _asymptotes(N: Any, lam: Any, Z: Any, S: Any, c: int) -> "dict[str, sympy.Expr]":
    """Return the measures with all servers always busy: an open job meets c jobs in service."""
    import sympy

    Xc = c / S - lam
    Qc = N - Z * Xc
    Ro = (Qc + 1) / Xc  # from Ro = S + (Qc + lam Ro - c + 1) S/c
    measures = {
        "Xc": Xc,
        "Rc": N / Xc - Z,
        "Qc": Qc,
        "Uc": Xc * S / c,
        "Ro": Ro,
        "Qo": lam * Ro,
        "Uo": lam * S / c,
        "X": c / S,
        "R": (Qc + lam * Ro) * S / c,
        "Q": Qc + lam * Ro,
        "U": sympy.Integer(1),
    }
    return {name: sympy.cancel(measure) for name, measure in measures.items()}


#: Largest number of terms of a quotient to reduce to lowest terms.
_SHORT = 12


#: Largest degree of the polynomials.
_MOST_POWERS = 1000


class _Sums:
    """Sums over the station as polynomials in S, Z, lam and u = 1 - lam S/c.

    Weights w_n are multiplied by u^(N + 1), their derivatives by lam S with u^(N + 2).
    """

    def __init__(self, N: int, c: int, alone: bool = False) -> None:
        from sympy import QQ, ring

        if N + c > _MOST_POWERS:
            raise QueueingError(
                f"N and servers give polynomials of degree {N + c:,}; the maximum is "
                f"{_MOST_POWERS:,}"
            )
        self.N, self.c = N, c
        self.ring, self.S, self.Z, self.lam, self.u = ring("S Z lam u", QQ)
        if alone:  # no open jobs
            self.lam, self.u = self.ring.zero, self.ring.one
        self.exact = QQ

    def of_closed(self, Z: Any, S: Any) -> "dict[str, sympy.Expr]":
        """Return the measures of closed users without open jobs."""
        users, fewer = self.constant(self.N), self.constant(self.N - 1)
        jobs = self.constant(self.N, times=lambda n: n)
        return {
            "X": self.quotient(fewer, users, Z, S),
            "R": self.quotient(jobs, fewer, Z, S),
            "Q": self.quotient(jobs, users, Z, S),
            "U": self.quotient(self.S * fewer, self.c * users, Z, S),
        }

    def of_both(self, lam: Any, Z: Any, S: Any) -> "dict[str, sympy.Expr]":
        """Return the measures of closed users, of open jobs, and of all jobs."""
        users, fewer = self.constant(self.N), self.constant(self.N - 1)
        closed_jobs = self.constant(self.N, times=lambda n: n)
        slopes = self.S * self.constant(self.N, self.slope)
        jobs = self.u * closed_jobs + self.lam * slopes
        both = self.lam * users + fewer
        symbols = Z, S, lam
        return {
            "Xc": self.quotient(fewer, users, *symbols),
            "Rc": self.quotient(closed_jobs, fewer, *symbols),
            "Qc": self.quotient(closed_jobs, users, *symbols),
            "Uc": self.quotient(self.S * fewer, self.c * users, *symbols),
            "Ro": self.quotient(slopes, self.u * users, *symbols),
            "Qo": self.quotient(self.lam * slopes, self.u * users, *symbols),
            "Uo": lam * S / self.c,
            "X": self.quotient(both, users, *symbols),
            "R": self.quotient(jobs, self.u * both, *symbols),
            "Q": self.quotient(jobs, self.u * users, *symbols),
            "U": self.quotient(self.S * both, self.c * users, *symbols),
        }

    def weight(self, n: int) -> Any:
        rest = self.ring.zero
        for m in range(n, self.c):  # jobs at the station with idle servers
            rest += math.comb(m, n) * self._beyond(m) * self._open(m - n)
        return self._tail(n) * self.u ** (self.N - n) + rest * self.u ** (self.N + 1)

    def slope(self, n: int) -> Any:
        rest = self.ring.zero
        for m in range(n + 1, self.c):
            rest += math.comb(m, n) * (m - n) * self._beyond(m) * self._open(m - n - 1)
        first = self._tail(n) * self.exact(n + 1, self.c) * self.u ** (self.N - n)
        return first + rest * self.u ** (self.N + 2)

    def constant(
        self,
        users: int,
        weight: "Callable[[int], Any] | None" = None,
        times: Callable[[int], int] = lambda n: 1,
    ) -> Any:
        """Return Σ_n w_n S^n Z^(users - n)/(users - n)!, with a factor for each term."""
        weight = weight or self.weight
        total = self.ring.zero
        for n in range(users + 1):
            factor = self.exact(math.factorial(self.N) * times(n), math.factorial(users - n))
            total += factor * weight(n) * self.S**n * self.Z ** (users - n)
        return total

    def quotient(self, above: Any, below: Any, Z: Any, S: Any, lam: Any = 0) -> "sympy.Expr":
        """Return the quotient of two polynomials as an expression."""
        import sympy

        common = tuple(map(min, zip(*above.monoms(), *below.monoms(), strict=True)))
        (content, above), (other, below) = above.primitive(), below.primitive()
        ratio = content / other
        u = 1 - lam * S / self.c
        left, right = (
            self._without(common, polynomial).as_expr(S, Z, lam, u)
            for polynomial in (above * ratio.numerator, below * ratio.denominator)
        )
        # for several servers, u may not be the only common factor
        short = self.c > 1 and len(below) < _SHORT
        return sympy.cancel(left / right) if short else left / right

    def _without(self, powers: tuple[int, ...], polynomial: Any) -> Any:
        """Return a polynomial divided by powers of the symbols."""
        return self.ring.from_dict(
            {
                tuple(m - p for m, p in zip(monomial, powers, strict=True)): coefficient
                for monomial, coefficient in polynomial.terms()
            }
        )

    def _open(self, m: int) -> Any:
        """Return (lam S)^m, where lam may be 0."""
        return (self.lam * self.S) ** m if m else self.ring.one

    def _tail(self, n: int) -> Any:
        """Return c^(c - n)/c!, the factor of the geometric part."""
        c, fraction = self.c, self.exact
        return fraction(c) ** c / fraction(c) ** n / math.factorial(c)

    def _beyond(self, m: int) -> Any:
        """Return the difference between 1/m! and the geometric part for m jobs."""
        return self.exact(1, math.factorial(m)) - self._tail(m)


def whole(name: str, value: int | float) -> int:
    """Check and return a whole number of at least 1."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    if not known or not 1 <= value < math.inf or value != int(value):
        raise QueueingError(f"{name} is {quoted(value)}; it must be a whole number, 1 or more")
    return int(value)


# Closed networks of stations with one server each.

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
    check_sympy()
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
