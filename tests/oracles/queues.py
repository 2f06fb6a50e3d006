"""Formulas of queues, each by its definition, in fractions where sums allow it.

S mean service time, c servers, lam rate of the open arrivals, N closed users, Z mean think time;
R mean response, X throughput, Q mean number at the servers.
"""

import math
from fractions import Fraction

import numpy as np


def mm1(lam, S):
    """Mean number and response of M/M/1."""
    rho = lam * S
    return {"Q": rho / (1 - rho), "R": S / (1 - rho), "X": lam}


def mmc(lam, S, c):
    """M/M/c, by its birth-death weights; the tail beyond c is geometric."""
    a = lam * S
    weights = [a**n / math.factorial(n) for n in range(c)]
    tail = a**c / math.factorial(c) / (1 - a / c)
    busy = tail / (sum(weights) + tail)  # Erlang C
    waiting = busy * (a / c) / (1 - a / c)
    return {"Q": waiting + a, "R": (waiting + a) / lam, "X": lam, "busy": busy}


def mmc_slower_than(t, lam, S, c):
    """P(R > t) of M/M/c: a service, after an exponential wait with the chance of Erlang C."""
    mu, C = 1 / S, mmc(lam, S, c)["busy"]
    eta = c * mu - lam
    if math.isclose(eta, mu):
        return math.exp(-mu * t) * (1 + C * mu * t)
    both = (eta * math.exp(-mu * t) - mu * math.exp(-eta * t)) / (eta - mu)
    return (1 - C) * math.exp(-mu * t) + C * both


def repairman(N, Z, S, c=1):
    """Closed users who think and share c servers: birth-death sum over those at the servers."""
    Z, S = Fraction(Z), Fraction(S)
    weights = [Fraction(1)]
    for n in range(1, N + 1):
        weights.append(weights[-1] * ((N - n + 1) / Z) / (min(n, c) / S))
    total = sum(weights)
    at = [weight / total for weight in weights]
    X = sum(p * min(n, c) for n, p in enumerate(at)) / S
    Q = sum(p * n for n, p in enumerate(at))
    return {"X": X, "Q": Q, "R": Q / X}


def mixed_mva(lam, N, Z, S):
    """One server for open and closed users, by mean value analysis."""
    slowed = S / (1 - lam * S)
    Q = X = R = 0
    for n in range(1, N + 1):
        R = slowed * (1 + Q)
        X = n / (R + Z)
        Q = X * R
    return {"X": X, "R": R, "Q": Q, "R_open": slowed * (1 + Q)}


def mixed_sum(lam, N, Z, S, c=1, most=400):
    """Open and closed users at c servers, by the sum over both numbers; cut at `most` open ones."""
    lam, Z, S = (Fraction(x).limit_denominator(10**6) for x in (lam, Z, S))
    total = closed = opened = rate = Fraction(0)
    for n_c in range(N + 1):
        weight = S**n_c * Z ** (N - n_c) / math.factorial(N - n_c)
        for n in range(1, n_c + 1):
            weight /= min(n, c)
        for n_o in range(most):
            n = n_c + n_o
            total += weight
            closed += weight * n_c
            opened += weight * n_o
            if n:
                rate += weight * n_c * min(n, c) / n / S
            # One more open job; C(n + 1, n_c) / C(n, n_c) = (n + 1) / (n_o + 1).
            weight = weight * lam * S * (n + 1) / (n_o + 1) / min(n + 1, c)
            if weight < Fraction(1, 10**25) * total:
                break
            weight = weight.limit_denominator(10**40)
    X, Q, Q_open = (float(x / total) for x in (rate, closed, opened))
    return {"X": X, "Q": Q, "R": Q / X, "R_open": Q_open / float(lam)}


def reopen_constant(lam, p, S, c=1):
    """Users who go on with the same chance after each job: the server's law is M/M/c's."""
    return mmc(lam / (1 - p), S, c)


def chance_behind(p, m, mu, points=4000):
    """Mean of p over the response of a job that leaves m behind: Erlang of m + 1 services."""
    mean, sd = (m + 1) / mu, math.sqrt(m + 1) / mu
    r = np.linspace(max(0.0, mean - 12 * sd), mean + 40 * sd, points * 4 + 1)
    r = r[r > 0]
    law = np.exp(m * np.log(mu * r) - mu * r - math.lgamma(m + 1)) * mu
    return float(np.trapezoid(law * p(r), r) / np.trapezoid(law, r))


def reopen_chain(lam, p, Z, S, most=60, thinking=60):
    """Chain over (at the server, thinking), p averaged over the response of who leaves m behind."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import spsolve

    mu = 1 / S
    go_on = [chance_behind(p, m, mu) for m in range(most)]
    state = {(n, k): n * (thinking + 1) + k for n in range(most + 1) for k in range(thinking + 1)}
    rates = {}

    def flow(a, b, rate):
        if b in state and rate:
            rates[state[b], state[a]] = rates.get((state[b], state[a]), 0) + rate
            rates[state[a], state[a]] = rates.get((state[a], state[a]), 0) - rate

    for n, k in state:
        flow((n, k), (n + 1, k), lam)
        flow((n, k), (n + 1, k - 1), k / Z)
        if n:
            flow((n, k), (n - 1, k + 1), mu * go_on[n - 1])
            flow((n, k), (n - 1, k), mu * (1 - go_on[n - 1]))
    entries = {key: rate for key, rate in rates.items() if key[0]}
    entries |= {(0, i): 1.0 for i in state.values()}  # all chances are one
    rows, columns = zip(*entries, strict=True)
    matrix = csc_matrix((list(entries.values()), (rows, columns)))
    chance = spsolve(matrix, np.eye(1, len(state)).ravel())
    at = np.zeros(most + 1)
    for (n, _), i in state.items():
        at[n] += chance[i]
    X = mu * (1 - at[0])
    Q = float(at @ np.arange(most + 1))
    return {"X": X, "Q": Q, "R": Q / X}
