"""Users who submit again with a chance p of the response time: means of p, roots, special cases.

lam rate of new users, Z mean think time, S mean service time, c servers; p takes and returns
numbers of mpmath.
"""

import mpmath
import numpy as np
from mpmath import mpf
from scipy.special import gammainc
from scipy.stats import gamma


def exponential(theta):
    """Chance that falls exponentially."""
    return lambda r: mpmath.exp(-mpf(theta) * r)


def hyperbolic(a, b):
    """Chance that falls as a hyperbola."""
    return lambda r: mpf(a) / (mpf(b) * r + 1)


def _mean(p, density, around, width, low=0, high=mpmath.inf):
    """Mean of p over a density that lives around a time."""
    cuts = [around + j * width for j in (-20, -10, -5, -2, 0, 2, 5, 10, 20, 40, 80)]
    cuts = [low, *(t for t in cuts if low < t < high), high]
    return mpmath.quad(lambda r: p(r) * density(r), cuts)


def mean_behind(p, m, S, c=1, low=0, high=mpmath.inf):
    """Mean of p over the response of a job that leaves m behind (and lasts from low to high).

    One server: m + 1 services. More: as many ends, at the rate of all servers, as make one of the
    others start, and then its own service.
    """
    S = mpf(S)
    if c == 1:
        j, rate = m + 1, 1 / S
    else:
        j, rate = max(m - c + 1, 0), c / S

    def density(r):
        if c == 1 or j == 0:
            k = j if c == 1 else 1
            return mpmath.exp(-r / S + (k - 1) * mpmath.log(r / S)) / mpmath.factorial(k - 1) / S
        grown = mpmath.gammainc(j, 0, (c - 1) * r / S, regularized=True)
        return mpmath.exp(-r / S) / S * (mpf(c) / (c - 1)) ** j * grown

    around = j / rate + (0 if c == 1 else S)
    return _mean(p, density, around, mpmath.sqrt(j) / rate + S, low, high)


def chances_behind(p, S, c=1, most=60, low=0.0, high=np.inf, kinks=()):
    """`mean_behind` for m = 0 .. most - 1 in floats, p of arrays: Gauss-Legendre on many pieces.

    p is smooth but for `kinks`.
    """
    nodes, parts = np.polynomial.legendre.leggauss(20)
    end = min(high, S * (most + 60 + 14 * np.sqrt(most)))
    edges = np.union1d(np.linspace(low, end, 400), [t for t in kinks if low < t < end])
    half = np.diff(edges)[:, None] / 2
    r = edges[:-1, None] + half * (1 + nodes)
    weight = half * parts * p(r)
    found = []
    for m in range(most):
        j = m + 1 if c == 1 else max(m - c + 1, 0)
        if c == 1 or j == 0:
            law = gamma.pdf(r, max(j, 1), scale=S)
        else:
            grown = gammainc(j, (c - 1) * r / S)
            law = np.exp(-r / S + j * np.log(c / (c - 1))) / S * grown
        found.append(float((weight * law).sum()))
    return found


def followed_runs(p, met, S, c=1):
    """Of jobs that are followed: their share, mean run, mean response, P(run > S).

    `met`: chances of the number of jobs that an arriving one meets; p of arrays, smooth.
    """
    nodes, parts = np.polynomial.legendre.leggauss(16)

    def panels(end, count):
        edges = end * np.linspace(0, 1, count) ** 2
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * parts).ravel()

    waits, width = panels(S * 140 / c, 80)
    ends = [(max(0, m - c + 1), chance) for m, chance in met.items()]
    none = sum(chance for j, chance in ends if j == 0)
    law = sum(chance * gamma.pdf(waits, j, scale=S / c) for j, chance in ends if j)
    runs, length = panels(40 * S, 40)
    run_law = np.exp(-runs / S) / S * length
    after = none * p(runs) + p(runs[:, None] + waits) @ (law * width)
    later = p(runs[:, None] + waits) @ (waits * law * width)
    share = float(run_law @ after)
    tail = panels(S, 10)
    early = none * p(tail[0]) + p(tail[0][:, None] + waits) @ (law * width)
    early = float((np.exp(-tail[0] / S) / S * tail[1]) @ early)
    return {
        "share": share,
        "run": float(run_law @ (runs * after)) / share,
        "response": float(run_law @ (runs * after + later)) / share,
        "long": 1 - early / share,
    }


def mean_of_exponential(p, rate):
    """Mean of p over an exponential response."""
    return _mean(p, lambda r: rate * mpmath.exp(-rate * r), 1 / rate, 1 / rate)


def erlang_c(X, S, c):
    """Chance to wait, by the sum over the numbers present."""
    a = mpf(X) * S
    below = sum(a**n / mpmath.factorial(n) for n in range(c))
    full = a**c / mpmath.factorial(c) / (1 - a / c)
    return full / (below + full)


def mean_of_mmc(p, X, S, c):
    """Mean of p over the response of M/M/c: a service, and an exponential wait for some."""
    S, X = mpf(S), mpf(X)
    eta, waits = c / S - X, erlang_c(X, S, c)
    if eta == 1 / S:

        def slow(r):
            return r / S**2 * mpmath.exp(-r / S)
    else:

        def slow(r):
            return (mpmath.exp(-eta * r) - mpmath.exp(-r / S)) * eta / (1 - eta * S)

    both = _mean(p, slow, 1 / eta + S, 1 / eta + S)
    return (1 - waits) * mean_of_exponential(p, 1 / S) + waits * both


def mmc_response(X, S, c):
    """Mean response of M/M/c."""
    return mpf(S) + erlang_c(X, S, c) / (c / mpf(S) - X)


def throughput_total_rate(lam, p, S, c=1):
    """The X with X (1 - mean of p) = lam, the queue as if M/M/c at X (method mm1)."""
    return _root(lambda X: X * (1 - mean_of_mmc(p, X, S, c)) - lam, lam, S, c)


def throughput_at_mean(lam, p, S, c=1):
    """The X with X (1 - p(mean response)) = lam (method mean)."""
    return _root(lambda X: X * (1 - p(mmc_response(X, S, c))) - lam, lam, S, c)


def _root(f, lam, S, c):
    """The zero of f, below 0 at lam and above at the most that the servers can do."""
    low, high = mpf(lam), c / mpf(S)
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return mpmath.findroot(f, (low, high), solver="secant")


def exponential_total_rate(lam, theta, S):
    """The same for one server and p = e^(-theta r) in closed form."""
    mu = 1 / mpf(S)
    X = lam * (mu + theta) / (theta + lam)
    return {"X": X, "R": 1 / (mu - X)}


def exponential_back_at_once(lam, theta, S):
    """Z = 0 and p = e^(-theta r): the law of Euler for the number at the server, summed."""
    mu = 1 / mpf(S)
    q, rho = mu / (mu + mpf(theta)), mpf(lam) / mu
    empty, Q, power = mpf(1), mpf(0), rho
    while power > mpf(10) ** (-mpmath.mp.dps - 5):
        empty *= 1 - power
        Q += power / (1 - power)
        power *= q
    return {"X": mu * (1 - empty), "Q": Q}


def back_at_once(lam, p, S, c=1, most=200):
    """Z = 0 and any p: births at lam, deaths thinned by who goes on."""
    weights = [mpf(1)]
    for n in range(1, most + 1):
        stop = 1 - mean_behind(p, n - 1, S, c)
        weights.append(weights[-1] * lam * S / (min(n, c) * stop))
    total = sum(weights)
    X = sum(min(n, c) * w for n, w in enumerate(weights)) / total / S
    return {"X": X, "Q": sum(n * w for n, w in enumerate(weights)) / total}


def fluid_response(lam, p, S, start):
    """Heavy load: p(r) + p''(r) / 2 Var = 1 - lam S with Var = lam / |p'(r)| + r, times in S."""
    S = mpf(S)
    load = lam * S

    def scaled(r):
        return p(r * S)

    def balance(r):
        variance = load / abs(mpmath.diff(scaled, r)) + r
        return scaled(r) + mpmath.diff(scaled, r, 2) / 2 * variance - (1 - load)

    return S * mpmath.findroot(balance, start)
