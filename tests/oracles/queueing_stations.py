"""Open stations: by their chains, by whole sums, by the laws of embedded chains."""

from fractions import Fraction
from itertools import accumulate
from math import factorial

import mpmath


def many_servers(lam, S, c):
    """M/M/c in fractions: chances of fewer than c there, and a geometric tail."""
    lam, S = Fraction(lam), Fraction(S)
    a = lam * S
    below = [a**n / factorial(n) for n in range(c)]
    full = a**c / factorial(c) / (1 - a / c)
    p_wait = full / (sum(below) + full)
    W = p_wait * S / (c - a)
    return {
        "X": lam,
        "R": S + W,
        "W": W,
        "Lq": lam * W,
        "Q": lam * (S + W),
        "U": a / c,
        "p_wait": p_wait,
    }


def limited(lam, S, c, K):
    """M/M/c/K in fractions; jobs that find K there are lost."""
    lam, S = Fraction(lam), Fraction(S)
    weights = [Fraction(1)]
    for n in range(1, K + 1):
        weights.append(weights[-1] * lam * S / min(n, c))
    total = sum(weights)
    at = [w / total for w in weights]
    X = lam * (1 - at[K])
    Q = sum(n * p for n, p in enumerate(at))
    Lq = sum(max(0, n - c) * p for n, p in enumerate(at))
    met = [p / (1 - at[K]) for p in at[:K]]  # by jobs that are let in
    return {
        "X": X,
        "Q": Q,
        "R": Q / X,
        "W": Lq / X,
        "Lq": Lq,
        "U": X * S / c,
        "p_loss": at[K],
        "p_wait": sum(met[c:], Fraction(0)),
        "met": {n: float(p) for n, p in enumerate(met)},
    }


def pollaczek_khinchine(lam, S, scv):
    """M/G/1 in fractions: the wait is the mean residual work."""
    lam, S, scv = Fraction(lam), Fraction(S), Fraction(scv)
    second = S**2 * (1 + scv)
    W = lam * second / 2 / (1 - lam * S)
    return {
        "X": lam,
        "R": S + W,
        "W": W,
        "Lq": lam * W,
        "Q": lam * (S + W),
        "U": lam * S,
        "p_wait": lam * S,
    }


def deterministic_wait_cdf(t, lam, S):
    """P(wait <= t) of M/D/1, Erlang's alternating sum with digits enough for its cancellation."""
    with mpmath.workdps(int(60 + 1.5 * float(t) / S)):
        lam, S, t = mpmath.mpf(lam), mpmath.mpf(S), mpmath.mpf(t)
        total = mpmath.mpf(0)
        for k in range(int(mpmath.floor(t / S)) + 1):
            x = lam * (k * S - t)
            total += mpmath.exp(-x) * x**k / mpmath.factorial(k)
        return (1 - lam * S) * total


def deterministic_by_steps(count, lam, S):
    """P(wait <= j S), j = 0 .. count - 1, of M/D/1: the chance that at most j are left behind.

    The number left behind is a chain over departures: those who arrive during a service are
    Poisson. (Franx 2001: the two laws are one at multiples of S.)
    """
    with mpmath.workdps(40):
        a = mpmath.mpf(lam) * S
        arrive = [mpmath.exp(-a) * a**k / mpmath.factorial(k) for k in range(count + 2)]
        at = [1 - a]
        for n in range(count - 1):
            later = at[n] - at[0] * arrive[n]
            later -= sum(at[i] * arrive[n + 1 - i] for i in range(1, n + 1))
            at.append(later / arrive[0])
        return list(accumulate(at))


def deterministic_moments(lam, S, most=3):
    """E[R^k] of M/D/1, k = 1 .. most, by Takacs's recursion for the moments of the wait."""
    lam, S = Fraction(lam), Fraction(S)
    wait = [Fraction(1)]
    for k in range(1, most + 1):
        total = Fraction(0)
        for i in range(1, k + 1):
            binomial = factorial(k) // factorial(i) // factorial(k - i)
            total += binomial * S ** (i + 1) / (i + 1) * wait[k - i]
        wait.append(lam / (1 - lam * S) * total)
    return [
        sum(
            factorial(k) // factorial(i) // factorial(k - i) * S ** (k - i) * wait[i]
            for i in range(k + 1)
        )
        for k in range(1, most + 1)
    ]
