"""Measures of a model as expressions."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from numbers import Rational
from typing import TYPE_CHECKING, Any

from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted

if TYPE_CHECKING:
    import pandas as pd
    import sympy


#: Largest number of terms or operations of expressions to simplify.
_SHORT = 60


@dataclass(frozen=True, eq=False)
class Expressions(DisplayedResult):
    """Measures of a model as rational functions of its parameters.

    Each measure and each symbol is also an attribute: ``found.X``, ``found.lam``.

    Parameters
    ----------
    measures : mapping of str to sympy.Expr
    symbols : mapping of str to sympy.Symbol
        The parameters; all are positive.

    Examples
    --------
    >>> from workloadkit.queueing.symbolic import closed
    >>> two = closed(2)
    >>> two.X
    (2*S + 2*Z)/(2*S**2 + 2*S*Z + Z**2)
    >>> two.limit("R", "Z", 0), two.limit("R", "Z", math.inf)
    (2*S, S)
    """

    measures: "Mapping[str, sympy.Expr]"
    symbols: "Mapping[str, sympy.Symbol]"

    def __getattr__(self, name: str) -> Any:
        """Return the measure or the symbol of this name."""
        if not name.startswith("_"):
            for known in (self.measures, self.symbols):
                if name in known:
                    return known[name]
        raise AttributeError(f"{name} is neither a measure nor a symbol of this model")

    def __dir__(self) -> Iterable[str]:
        """Return the names of attributes."""
        return [*super().__dir__(), *self.measures, *self.symbols]

    def to_frame(self) -> "pd.DataFrame":
        """Return a table, one row a measure."""
        import pandas as pd

        rows = [(name, str(expression)) for name, expression in self.measures.items()]
        return pd.DataFrame(rows, columns=["measure", "expression"])

    def evaluate(self, of: str, **values: float | Fraction) -> Fraction:
        """Return the exact value of a measure for given numbers.

        Parameters
        ----------
        of : str
            Name of a measure.
        **values : float or Fraction
            Value of each symbol of the model; a float is converted to its exact fraction.

        Raises
        ------
        QueueingError
            If a symbol has no value, a value is not a number, or the measure is undefined.

        Examples
        --------
        >>> from workloadkit.queueing.symbolic import closed
        >>> closed(2).evaluate("X", Z=0.5, S=1)
        Fraction(12, 13)
        """
        known = {self._symbol(name): exact(name, value) for name, value in values.items()}
        expression = self._measure(of)
        missing = expression.free_symbols - known.keys()
        if missing:
            raise QueueingError(f"{min(map(str, missing))} is missing; {of} depends on it")
        try:
            return _value(expression, dict(known))
        except ZeroDivisionError:
            raise QueueingError(f"{of} has no value at these numbers") from None

    def derivative(self, of: str, wrt: str) -> "sympy.Expr":
        """Return the derivative of a measure with respect to a parameter.

        Examples
        --------
        >>> from workloadkit.queueing.symbolic import closed
        >>> closed(1).derivative("X", "S")
        -1/(S + Z)**2
        """
        import sympy

        symbol = self._symbol(wrt)
        above, below = _parts(self._measure(of))
        if symbol not in below.free_symbols:
            return sympy.diff(above, symbol) / below
        slope = sympy.diff(above, symbol) * below - above * sympy.diff(below, symbol)
        return (sympy.expand(slope) if slope.count_ops() < _SHORT else slope) / below**2

    def series(self, of: str, wrt: str, order: int = 2, at: float = 0) -> "sympy.Expr":
        """Return the Taylor polynomial of a measure in a parameter.

        Parameters
        ----------
        of, wrt : str
            Names of a measure and of a symbol.
        order : int, default 2
            Order of the polynomial.
        at : float or Fraction, default 0
            Expansion point.

        Examples
        --------
        >>> from workloadkit.queueing.symbolic import closed
        >>> closed(2).series("R", "S", 2)
        S**2/Z + S
        """
        import sympy

        if isinstance(order, bool) or order != int(order) or order < 0:
            raise QueueingError(f"order is {quoted(order)}; it must be a whole number, 0 or more")
        symbol, place = self._symbol(wrt), _rational("at", at)
        above, below = self._coefficients(of, wrt, place)
        first = below[0]
        if first == 0:
            raise QueueingError(f"{of} has no series around {wrt} = {place}; it has a pole there")
        # Fraction-free division of power series: term k is remainders[k] / first^(k + 1).
        remainders: list[Any] = []
        total = sympy.Integer(0)
        for k in range(int(order) + 1):
            rest = above[k] * first**k if k < len(above) else first.ring.zero
            for j in range(1, min(k, len(below) - 1) + 1):
                rest -= below[j] * remainders[k - j] * first ** (j - 1)
            remainders.append(rest)
            total += _quotient(rest, first, k + 1) * (symbol - place) ** k
        return total

    def limit(self, of: str, wrt: str, to: float) -> "sympy.Expr":
        """Return the limit of a measure, from above if `to` is a number.

        This is the limit of the rational function; stability of the model is not checked.

        Parameters
        ----------
        of, wrt : str
            Names of a measure and of a symbol.
        to : float or Fraction
            A number, or inf.

        Returns
        -------
        sympy.Expr
            oo if the measure is unbounded.

        Examples
        --------
        >>> from workloadkit.queueing.symbolic import mixed
        >>> mixed(3).limit("Xc", "lam", 0) == mixed(3).limit("Xc", "lam", Fraction(0))
        True
        >>> mixed(1).limit("Ro", "Z", math.inf)
        -S/(S*lam - 1)
        """
        import sympy

        self._symbol(wrt)
        if to == math.inf:
            above, below = self._coefficients(of, wrt, sympy.Integer(0))
            above, below = above[::-1], below[::-1]
            gain = len(above) - len(below)
        else:
            above, below = self._coefficients(of, wrt, _rational("to", to))
            gain = _leading_zeros(below) - _leading_zeros(above)
        if not any(above) or gain < 0:
            return sympy.Integer(0)
        ratio = _quotient(above[_leading_zeros(above)], below[_leading_zeros(below)], 1)
        return ratio if gain == 0 else sympy.sign(ratio) * sympy.oo

    def latex(self, of: str | None = None) -> str:
        r"""Return a measure, or all measures, in LaTeX.

        Examples
        --------
        >>> from workloadkit.queueing.symbolic import mixed
        >>> print(mixed(1).latex("Uo"))
        S \lambda
        """
        import sympy

        names = {symbol: r"\lambda" for name, symbol in self.symbols.items() if name == "lam"}
        if of is not None:
            return str(sympy.latex(self._measure(of), symbol_names=names))
        lines = [
            f"{name[0]}{f'_{{{name[1:]}}}' if name[1:] else ''} &= {self.latex(name)}"
            for name in self.measures
        ]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _measure(self, name: str) -> "sympy.Expr":
        if name not in self.measures:
            raise QueueingError(
                f"of is {quoted(name)}; it must be one of {', '.join(self.measures)}"
            )
        return self.measures[name]

    def _symbol(self, name: str) -> "sympy.Symbol":
        if name not in self.symbols:
            raise QueueingError(f"{quoted(name)} is not a symbol; known: {', '.join(self.symbols)}")
        return self.symbols[name]

    def _coefficients(self, of: str, wrt: str, place: Any) -> tuple[list[Any], list[Any]]:
        """Return the coefficients of numerator and denominator, lowest power first.

        They are elements of a polynomial ring, which makes them fast, and zero is recognized.
        """
        symbol = self._symbol(wrt)
        axis = list(self.symbols).index(wrt)
        found = []
        for polynomial in self._polynomials(of, {symbol: symbol + place}):
            powers = max((monomial[axis] for monomial in polynomial), default=0)
            coefficients: list[dict[Any, Any]] = [{} for _ in range(powers + 1)]
            for monomial, value in polynomial.terms():
                without = (*monomial[:axis], 0, *monomial[axis + 1 :])
                coefficients[monomial[axis]][without] = value
            found.append([polynomial.ring.from_dict(c) for c in coefficients])
        return found[0], found[1]

    def _polynomials(self, of: str, put: Mapping[Any, Any] | None = None) -> tuple[Any, Any]:
        """Return the numerator and the denominator in the polynomial ring of all symbols."""
        from sympy import QQ, ring

        polynomials = ring(list(self.symbols.values()), QQ)[0]
        above, below = (
            polynomials.from_expr(part.subs(put or {})) for part in _parts(self._measure(of))
        )
        return above, below


def exact(name: str, value: Any) -> Fraction:
    """Return a number as its exact fraction."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError(value)
        return Fraction(value if isinstance(value, Rational) else float(value))
    except (TypeError, ValueError, OverflowError):
        raise QueueingError(
            f"{name} is {quoted(value)}; it must be a finite number or a fraction"
        ) from None


def _value(expression: "sympy.Expr", known: dict[Any, Fraction]) -> Fraction:
    """Evaluate a rational function; `known` collects the values of its parts."""
    if expression not in known:
        if expression.is_Rational:
            known[expression] = Fraction(int(expression.p), int(expression.q))
        elif expression.is_Pow:
            base, power = expression.args
            known[expression] = _value(base, known) ** int(power)
        else:
            parts = (_value(part, known) for part in expression.args)
            known[expression] = (
                math.prod(parts, start=Fraction(1))
                if expression.is_Mul
                else sum(parts, Fraction(0))
            )
    return known[expression]


def _quotient(above: Any, below: Any, power: int) -> "sympy.Expr":
    """Return above/below^power, in lowest terms if they are found quickly."""
    import sympy

    if len(above) + power * len(below) < _SHORT:
        return sympy.cancel(above.as_expr() / below.as_expr() ** power)
    return above.as_expr() / below.as_expr() ** power


def _parts(expression: "sympy.Expr") -> "tuple[sympy.Expr, sympy.Expr]":
    import sympy

    above, below = sympy.fraction(expression)
    if above.is_polynomial() and below.is_polynomial():
        return above, below
    return sympy.fraction(sympy.together(expression))


def check_sympy() -> None:
    """Check that sympy is installed, which is optional."""
    if find_spec("sympy") is None:
        raise QueueingError("models as formulas require sympy: pip install 'workloadkit[exact]'")


def _leading_zeros(coefficients: list[Any]) -> int:
    return next(k for k, value in enumerate(coefficients) if value)


def _rational(name: str, value: float | Fraction) -> "sympy.Rational":
    import sympy

    fraction = exact(name, value)
    return sympy.Rational(fraction.numerator, fraction.denominator)


# Users who may return: closed forms of the re-open model.


def reopen(p: str = "constant") -> Expressions:
    """Return the measures of `queueing.reopen` at one server as expressions.

    The throughput solves X (1 - E p(R)) = lam for exponential response times R of mean S/(1 - X S).

    Parameters
    ----------
    p : {"constant", "exponential"}
        Probability of another job: p, exact; or e^(-theta r) after a response time r, by method
        "mm1", which treats the server as M/M/1 and is approximate.

    Returns
    -------
    Expressions
        X, R, Q, U and jobs_per_user in lam, S, and p or theta.

    Examples
    --------
    >>> reopen("constant").X, reopen("exponential").R
    (-lam/(p - 1), -S*(lam + theta)/(theta*(S*lam - 1)))
    """
    check_sympy()
    import sympy

    lam, S, X = sympy.symbols("lam S X", positive=True)
    if p == "constant":
        chance = sympy.Symbol("p", positive=True)
        again = chance
    elif p == "exponential":
        chance = sympy.Symbol("theta", positive=True)
        again = (1 / S - X) / (1 / S - X + chance)  # Laplace transform, exponential
    else:
        raise QueueingError(f"p is {quoted(p)}; it must be constant or exponential")
    (found,) = sympy.solve(sympy.Eq(X * (1 - again), lam), X)
    throughput = sympy.factor(found)
    response = sympy.factor(S / (1 - throughput * S))
    return Expressions(
        {
            "X": throughput,
            "R": response,
            "Q": sympy.factor(throughput * response),
            "U": sympy.factor(throughput * S),
            "jobs_per_user": sympy.factor(throughput / lam),
        },
        {"lam": lam, "S": S, ("p" if p == "constant" else "theta"): chance},
    )
