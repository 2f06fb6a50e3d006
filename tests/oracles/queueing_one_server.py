"""Closed users and open jobs at one server, by sums of whole numbers; N real by gamma functions.

Floating inputs are taken as the fractions that they are. With k of the N closed users thinking, the
chances are as a^k / k!, a = Z (1/S - lam); what the open jobs leave of the server is 1/S - lam.
"""

from fractions import Fraction
from math import prod

import mpmath


def weights(N, a, bits=440):
    """The numbers a^k / k! for k to N, as whole numbers; those 2^-240 of the largest left out."""
    mode = min(N, int(a))
    found = {mode: 1 << bits}
    k, w = mode, 1 << bits
    while k < N and w >> (bits - 240):
        k += 1
        w = w * a.numerator // (a.denominator * k)
        found[k] = w
    k, w = mode, 1 << bits
    while k > 0 and w >> (bits - 240):
        w = w * a.denominator * k // a.numerator
        k -= 1
        found[k] = w
    return found


def measures(lam, N, Z, S):
    """All measures, N >= 1, as fractions; relative errors of the cut sums are below 1e-50."""
    lam, Z, S = Fraction(lam), Fraction(Z), Fraction(S)
    left = 1 / S - lam
    thinking = weights(N, Z * left)
    total = sum(thinking.values())
    X = left * Fraction(total - thinking.get(N, 0), total)
    Q = Fraction(sum((N - k) * w for k, w in thinking.items()), total)
    return _named(lam, N, Z, S, X, Q)


def measures_exact(lam, N, Z, S):
    """The same with nothing left out: D(n) = n! q^n sum of (p/q)^k / k!, all in whole numbers."""
    lam, Z, S = Fraction(lam), Fraction(Z), Fraction(S)
    left = 1 / S - lam
    p, q = (Z * left).numerator, (Z * left).denominator
    D, power = 1, 1
    for n in range(1, N + 1):
        before, power = D, power * p
        D = n * q * before + power
    return _named(lam, N, Z, S, _ratio(left, N * q * before, D), _ratio(N, D - p * before, D))


def measures_mva(lam, N, Z, S):
    """The same by mean value analysis in fractions, which grow quickly with N."""
    lam, Z, S = Fraction(lam), Fraction(Z), Fraction(S)
    Q = X = Fraction(0)
    for n in range(1, N + 1):
        R = S * (1 + Q) / (1 - lam * S)
        X = n / (R + Z)
        Q = X * R
    return _named(lam, N, Z, S, X, Q)


def _ratio(factor, numerator, denominator):
    """A fraction of huge whole numbers, to 400 bits: reducing it would take long."""
    shift = max(denominator.bit_length() - numerator.bit_length(), 0) + 400
    return Fraction(factor) * Fraction((numerator << shift) // denominator, 1 << shift)


def _named(lam, N, Z, S, Xc, Qc):
    Ro = S * (1 + Qc) / (1 - lam * S)
    Qo, X = lam * Ro, lam + Xc
    return {
        "Xc": Xc,
        "Rc": Qc / Xc,
        "Qc": Qc,
        "Uc": Xc * S,
        "Ro": Ro,
        "Qo": Qo,
        "Uo": lam * S,
        "X": X,
        "Q": Qc + Qo,
        "U": X * S,
        "R": (Qc + Qo) / X,
    }


def met(lam, N, Z, S, job):
    """Weights of the number of closed users whom a job meets: all may be there, or N - 1."""
    others = N if job == "open" else N - 1
    thinking = weights(others, Fraction(Z) * (1 / Fraction(S) - Fraction(lam)))
    return {others - k: w for k, w in thinking.items()}


def slower_than(t, lam, N, Z, S, job):
    """P(R > t): one who meets n closed users waits for n + 1 services at the rate left to them."""
    law = met(lam, N, Z, S, job)
    x = Fraction(t) * (1 / Fraction(S) - Fraction(lam))
    if x == 0:
        return Fraction(1)
    ended = weights(max(law) + int(4 * x) + 600, x)  # services in the time t, a Poisson number
    to, so_far = {}, 0
    for n in range(min(ended), max(law) + 1):
        so_far += ended.get(n, 0)
        to[n] = so_far
    slower = sum(w * to.get(n, 0) for n, w in law.items())
    return Fraction(slower, sum(law.values()) * sum(ended.values()))


def moment(order, lam, N, Z, S, job):
    """E[R^order] of the same mixture of Erlang laws."""
    left = 1 / Fraction(S) - Fraction(lam)
    law = met(lam, N, Z, S, job)
    rising = sum(w * prod(range(n + 1, n + 1 + order)) for n, w in law.items())
    return Fraction(rising, sum(law.values())) / left**order


def slope(of, wrt, lam, N, Z, S):
    """Derivative of a measure in lam, Z or S, by a difference over a step of 2^-100."""
    at = {"lam": Fraction(lam), "Z": Fraction(Z), "S": Fraction(S)}
    h = (at[wrt] or 1) / 2**100
    above = measures(N=N, **at | {wrt: at[wrt] + h})[of]
    below = measures(N=N, **at | {wrt: at[wrt] - h})[of]
    return (above - below) / (2 * h)


def measures_real(lam, N, Z, S, digits=60):
    """Xc, Rc, Qc, Ro for any real N: the blocking of Erlang by the upper incomplete gamma."""
    with mpmath.workdps(digits):
        lam, N, Z, S = (mpmath.mpf(x) for x in (lam, N, Z, S))
        left = 1 / S - lam
        a = Z * left
        with mpmath.workdps(2 * digits):
            blocked = a**N * mpmath.exp(-a) / mpmath.gammainc(N + 1, a)
            X = left * (1 - blocked)
            Q = N - Z * X
        return {"Xc": +X, "Qc": +Q, "Rc": Q / X, "Ro": (1 + Q) / left, "B": +blocked}


def blocking_by_integral(N, a, digits=30):
    """1/B = integral of a e^(-a u) (1 + u)^N over u > 0: Erlang's B of real N once more."""
    with mpmath.workdps(digits):
        a, N = mpmath.mpf(a), mpmath.mpf(N)
        peak = max(N / a - 1, mpmath.mpf(0))
        width = mpmath.sqrt(N + 1) / a + 1 / a
        cuts = sorted({mpmath.mpf(0)} | {peak + j * width for j in range(-12, 60, 4)})
        cuts = [u for u in cuts if u >= 0] + [mpmath.inf]
        return 1 / mpmath.quad(lambda u: a * mpmath.exp(-a * u + N * mpmath.log1p(u)), cuts)


def slope_in_users(of, lam, N, Z, S):
    """Derivative of a measure of real N, by a difference over a step of 1e-30."""
    with mpmath.workdps(130):
        h = mpmath.mpf(10) ** -30
        above, below = (measures_real(lam, N + sign * h, Z, S, 130)[of] for sign in (1, -1))
        return (above - below) / (2 * h)
