"""Number of thinking users: the Poisson distribution truncated at the number of users.

Of n users who each think for a service times on average (of a single exponential server, with the
capacity left by open jobs), the number who think is Poisson with mean a, given that it is at most
n: Palm's machine repairman (L. Takács, "Introduction to the Theory of Queues", 1962). All measures
of closed users follow from three functions of n and a, which are smooth in n and so also defined
for n that is not whole:

- B = a^n e^−a / Γ(n + 1, a), the probability that all users think: Erlang's loss formula;
- Q = n − a (1 − B), the mean number at the server;
- P = Γ(n + 1, a) / Γ(n + 1), the probability that an untruncated Poisson number is at most n.

None of these forms is accurate everywhere: B underflows if the server is saturated, and a B cancels
n − a if it is idle. There are three regions, all with a relative error of about 1e-15 times the
condition number of the function:

- *light*, a − n ≥ 3 √a or n / 10: Legendre's continued fraction of Γ(n + 1, a), which contains Q
  with positive terms only;
- *heavy*, n − a > 10 √n: B is below e^−50, and Q is n − a to the last digit;
- *between*: the probability of n by its saddle point (C. Loader, "Fast and accurate computation of
  binomial probabilities", 2000), over scipy's incomplete gamma function, which is at least 1e-3.

n may lie between −1 and 0: the response time for less than one user needs these functions there.
"""

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing.arguments import Flags, Floats

# Terms of the continued fraction for full precision, by the distance (a − n) / √a, and in the rest
# of the light region.
_TERMS = ((20.0, 8), (7.0, 16), (-np.inf, 40))
#: Points per block, so that arrays fit into the cache of a core.
BLOCK = 1 << 14
_SMALL = 20  # largest n with explicit powers and factorials
# ln n! − Stirling's formula, times n: a series in 1/n²
_STIRLING = (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


def light(n: Floats, a: Floats) -> Flags:
    """Return where the continued fraction converges fast."""
    return (a >= 9) & (a - n >= np.minimum(3 * np.sqrt(a), 0.1 * n))


def heavy(n: Floats, a: Floats) -> Flags:
    """Return where the probability that all users think is below e^−50."""
    return (n > a) & (n - a > 10 * np.sqrt(np.maximum(n, 0)))


def number_at_server(n: Floats, a: Floats) -> Floats:
    """Return Q, the mean number of n users at the server; n and a have one shape."""
    shape = n.shape
    n, a = np.ravel(n), np.ravel(a)
    number = np.empty(n.size)
    for begin in range(0, n.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        number[block] = _number_at_server(n[block], a[block])
    return number.reshape(shape)


def _number_at_server(n: Floats, a: Floats) -> Floats:
    number = n - a
    is_light = light(n, a)
    for here, terms in _in_light(n, a, is_light):
        number[here] = n[here] / fraction(n[here], a[here], terms)
    between = np.flatnonzero(~(is_light | heavy(n, a)))
    if between.size:
        number[between] += _power_of_poisson(n[between], a[between], 1) / _at_most(
            n[between], a[between]
        )
    number[n == 0] = 0.0
    return number


def _in_light(n: Floats, a: Floats, is_light: Flags) -> list[tuple[NDArray[np.intp], int]]:
    """Return indices in the light region, with the number of terms required."""
    parts = []
    places = np.flatnonzero(is_light)
    distance = (a[places] - n[places]) / np.sqrt(a[places])
    upper = np.inf
    for least, terms in _TERMS:
        here = places[(distance >= least) & (distance < upper)]
        upper = least
        if here.size:
            parts.append((here, terms))
    return parts


def fraction(n: Floats, a: Floats, terms: int) -> Floats:
    """Return n / Q by the continued fraction, in the light region only.

    n/Q = f(1), f(j) = a − n + 2j + (j + 1)(n − j) / f(j + 1); the remainder is approximated by the
    fraction with all terms equal to the last one.
    """
    spare = a - n
    last = spare + 2 * terms
    with np.errstate(over="ignore"):  # inf: Q is then 0
        f = 0.5 * (last + np.sqrt(last * last + 4 * (terms + 1) * np.maximum(n - terms, 0)))
    for j in range(terms - 1, 0, -1):
        f = spare + 2 * j + (j + 1) * (n - j) / f
    return f


def fraction_slopes(n: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
    """Return `fraction` and its derivatives by a and n."""
    terms = _TERMS[-1][1]
    spare = a - n
    last = spare + 2 * terms
    beyond = n > terms
    root = np.sqrt(last * last + 4 * (terms + 1) * np.where(beyond, n - terms, 0))
    f = (last + root) / 2
    in_a = (1 + last / root) / 2
    in_n = np.where(beyond, 2 * (terms + 1) / root, 0) / 2 - in_a
    for j in range(terms - 1, 0, -1):
        factor = (j + 1) / f
        share = factor * (n - j) / f
        in_a = 1 - share * in_a
        in_n = factor - 1 - share * in_n
        f = spare + 2 * j + factor * (n - j)
    return f, in_a, in_n


def all_think(n: Floats, a: Floats, power: int = 0) -> Floats:
    """Return a^power B, with B the probability that all n users think, for power −1, 0 or 1."""
    is_light = light(n, a)
    share = np.empty(n.shape)
    m, b = n[is_light], a[is_light]
    share[is_light] = (b - m + number_at_server(m, b)) * b ** (power - 1.0)
    m, b = n[~is_light], a[~is_light]
    share[~is_light] = _power_of_poisson(m, b, power) / _at_most(m, b)
    if power == 0:
        share[n == 0] = 1.0
    return share


def at_most(n: Floats, a: Floats) -> Floats:
    """Return P, the probability that a Poisson number with mean a is at most n."""
    is_light = light(n, a)
    share = np.empty(n.shape)
    m, b = n[is_light], a[is_light]
    share[is_light] = b * _power_of_poisson(m, b, 0) / (b - m + number_at_server(m, b))
    share[~is_light] = _at_most(n[~is_light], a[~is_light])
    return share


def _at_most(n: Floats, a: Floats) -> Floats:
    from scipy.special import gammaincc

    return gammaincc(n + 1, a)


def _power_of_poisson(n: Floats, a: Floats, power: int) -> Floats:
    """Return a^(n + power) e^−a / Γ(n + 1)."""
    from scipy.special import gamma, gammaln, xlogy

    found = np.empty(n.shape)
    small = n <= _SMALL
    large, far = ~small, small & (a > 100)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        m, b = n[small], a[small]
        found[small] = b ** (m + power) * np.exp(-b) / gamma(m + 1)
        if far.any():  # the power of b may overflow
            m, b = n[far], a[far]
            found[far] = np.exp(xlogy(m + power, b) - b - gammaln(m + 1))
        m, b = n[large], a[large]
        correction = np.polyval(_STIRLING, 1 / m**2) / m
        saddle = m * log1p_minus((b - m) / m)
        poisson = np.exp(saddle - correction) / np.sqrt(2 * np.pi * m)
        # if b is 0, so is the probability
        found[large] = poisson * np.maximum(b, 1e-300) ** power
    return found


def log1p_minus(v: Floats) -> Floats:
    """Return ln(1 + v) − v to full precision, also for small v; v is at least −1."""
    with np.errstate(divide="ignore"):
        found = np.log1p(v) - v
    small = np.abs(v) < 0.25
    v = v[small]
    s = v / (2 + v)
    # ln(1 + v) = 2 (s + s³/3 + s⁵/5 + ...), and 2 s − v = −s v
    series = np.polyval([1 / (2 * k + 1) for k in range(11, 0, -1)], s * s)
    found[small] = s * (2 * s * s * series - v)
    return found
