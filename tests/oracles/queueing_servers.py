"""Closed users, alone or beside open jobs, at c servers: sums over the chances of product form."""

from fractions import Fraction
from math import comb, factorial

import mpmath


def closed(N, Z, S, c):
    """X, R, Q, U of closed users; whole-number weights around the likeliest number there."""
    return _measures(*_closed_weights(N, Z, S, c), S, c)


def closed_met(N, Z, S, c):
    """Chances of the number of users whom a job meets: those of N - 1 users."""
    weights, total = _closed_weights(N - 1, Z, S, c)
    return {n: Fraction(w, total) for n, w in weights.items()}


def _closed_weights(N, Z, S, c, bits=440):
    Z, S = Fraction(Z), Fraction(S)
    if not Z:
        return {N: 1}, 1

    def up(n):  # chance of n + 1 over that of n
        return (N - n) * S / (Z * min(n + 1, c))

    low, high = 0, N
    while low < high:  # the chances rise, then fall
        middle = (low + high) // 2
        low, high = (middle + 1, high) if up(middle) > 1 else (low, middle)
    weights = {low: 1 << bits}
    n = low
    while n < N and weights[n] >> (bits - 240):
        ratio = up(n)
        weights[n + 1] = weights[n] * ratio.numerator // ratio.denominator
        n += 1
    n = low
    while n > 0 and weights[n] >> (bits - 240):
        ratio = up(n - 1)
        weights[n - 1] = weights[n] * ratio.denominator // ratio.numerator
        n -= 1
    return weights, sum(weights.values())


def _measures(weights, total, S, c):
    S = Fraction(S)
    X = Fraction(sum(min(n, c) * w for n, w in weights.items()), total) / S
    Q = Fraction(sum(n * w for n, w in weights.items()), total)
    return {"X": X, "R": Q / X, "Q": Q, "U": X * S / c}


def mixed_by_states(lam, N, Z, S, c, most):
    """Sum over all numbers of closed and up to `most` open jobs, in fractions."""
    lam, Z, S = Fraction(lam), Fraction(Z), Fraction(S)
    total = Qo = Qc = Xc = delay = Fraction(0)
    for n_c in range(N + 1):
        for n_o in range(most + 1):
            n = n_c + n_o
            service = Fraction(1)
            for i in range(1, n + 1):
                service /= min(i, c)
            k = N - n_c
            w = comb(n, n_c) * (lam * S) ** n_o * S**n_c * service * Z**k / factorial(k)
            total += w
            Qo += n_o * w
            Qc += n_c * w
            Xc += Fraction(n_c * min(n, c), max(n, 1)) / S * w
            delay += max(0, n - c + 1) * w
    return _mixed(lam, S, c, Qo / total, Qc / total, Xc / total, delay / total)


def mixed(lam, N, Z, S, c):
    """The same for many users, Z > 0: geometric sums over open jobs, but where servers idle.

    There the geometric terms are replaced by the true ones, which costs up to c digits.
    """
    with mpmath.workdps(60 + c):
        lam, Z, S = (mpmath.mpf(x) for x in (lam, Z, S))
        load = lam * S / c

        def row(n_c):
            """Sums over n_o of C(n, n_c) (lam S)^n_o / prod min(i, c), and times n_o, and waits."""
            everything = mpmath.mpf(c) ** (c - n_c) / mpmath.factorial(c) / (1 - load) ** (n_c + 1)
            opened = everything * (n_c + 1) * load / (1 - load)
            wait = opened + everything * (n_c - c + 1)
            formal = mpmath.mpf(c) ** (c - n_c) / mpmath.factorial(c)
            true = 1 / mpmath.factorial(n_c)
            for n in range(n_c, c):
                n_o = n - n_c
                everything += true - formal
                opened += n_o * (true - formal)
                wait -= (n - c + 1) * formal
                more = lam * S * (n + 1) / (n_o + 1)
                true *= more / (n + 1)
                formal *= more / c
            return everything, opened, wait

        # From N thinking users downwards in ratios, so that no number overflows.
        total = Qo = Qc = thinking = delay = mpmath.mpf(0)
        w = mpmath.mpf(1)  # S^n_c Z^k / k!, times an arbitrary constant
        for n_c in range(N, -1, -1):
            k = N - n_c
            if k:
                w = w * Z / (S * k)
            everything, opened, wait = row(n_c)
            total += w * everything
            Qo += w * opened
            Qc += w * n_c * everything
            thinking += w * k * everything
            delay += w * wait
        return _mixed(lam, S, c, Qo / total, Qc / total, thinking / total / Z, delay / total)


def _mixed(lam, S, c, Qo, Qc, Xc, delay):
    """`delay`: mean number of ends that a job has to wait for where it meets all closed users."""
    return {
        "Xc": Xc,
        "Rc": Qc / Xc,
        "Qc": Qc,
        "Uc": Xc * S / c,
        "Ro": S + S * delay / c,
        "Qo": Qo,
        "Uo": lam * S / c,
        "X": lam + Xc,
        "Q": Qo + Qc,
        "U": (lam + Xc) * S / c,
        "R": (Qo + Qc) / (lam + Xc),
    }
