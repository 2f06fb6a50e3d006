"""Users who may return: closed forms of the re-open model."""

from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.symbolic.expressions import Expressions


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
