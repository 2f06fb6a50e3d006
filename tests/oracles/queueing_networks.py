"""Closed networks by the sum over all their states, in fractions; approximations plainly.

demands[r][k]: service that a job of class r needs of station k; N[r] users, think times Z[r].
speeds[k](n): how fast station k works with n jobs; 1, or min(n, c), or n for a delay.
"""

from fractions import Fraction
from itertools import product
from math import factorial, prod


def spread(jobs, stations):
    """All ways to spread so many alike jobs over the stations."""
    if stations == 1:
        yield (jobs,)
        return
    for first in range(jobs + 1):
        for rest in spread(jobs - first, stations - 1):
            yield (first, *rest)


def by_states(demands, N, Z=None, speeds=None):
    """X[r], Q[r][k], U[k] (chance that a station works) over all states of product form."""
    classes, stations = len(demands), len(demands[0])
    demands = [[Fraction(d) for d in row] for row in demands]
    Z = [Fraction(z) for z in (Z or [0] * classes)]
    speeds = speeds or [lambda n: 1] * stations
    delays = [*speeds, lambda n: n]
    needs = [[*row, z] for row, z in zip(demands, Z, strict=True)]
    total = Fraction(0)
    Q = [[Fraction(0)] * (stations + 1) for _ in range(classes)]
    X_through = [Fraction(0)] * classes
    busy = [Fraction(0)] * stations
    for state in product(*(list(spread(n, stations + 1)) for n in N)):
        weight = Fraction(1)
        for k in range(stations + 1):
            here = [state[r][k] for r in range(classes)]
            weight *= Fraction(factorial(sum(here)), prod(factorial(n) for n in here))
            weight *= prod(needs[r][k] ** here[r] for r in range(classes))
            for n in range(1, sum(here) + 1):
                weight /= Fraction(delays[k](n))
        total += weight
        for r in range(classes):
            for k in range(stations + 1):
                Q[r][k] += weight * state[r][k]
            # Completions at a station where the class needs something, in units of its jobs.
            k = next(k for k in range(stations) if demands[r][k])
            n = sum(state[s][k] for s in range(classes))
            if n:
                share = Fraction(state[r][k], n)
                X_through[r] += weight * share * Fraction(speeds[k](n)) / demands[r][k]
        for k in range(stations):
            busy[k] += weight * (sum(state[r][k] for r in range(classes)) > 0)
    return {
        "X": [x / total for x in X_through],
        "Q": [[q / total for q in row[:stations]] for row in Q],
        "thinking": [row[stations] / total for row in Q],
        "busy": [b / total for b in busy],
    }


def schweitzer_residual(demands, N, Z, X, Q):
    """How far Bard's and Schweitzer's equations are from holding: R = D (1 + Q - Q_r / N_r)."""
    classes, stations = range(len(demands)), range(len(demands[0]))
    worst = 0.0
    for r in classes:
        seen = [1 + sum(Q[s][k] for s in classes) - Q[r][k] / N[r] for k in stations]
        times = [demands[r][k] * seen[k] for k in stations]
        worst = max(worst, abs(X[r] * (Z[r] + sum(times)) / N[r] - 1))
        worst = max(worst, *(abs(X[r] * times[k] - Q[r][k]) / N[r] for k in stations))
    return worst


def linearizer(demands, N, Z, iterations=3):
    """Chandy and Neuse 1982: the shares of a class at a station, F, change alike by one user less.

    F_rk(N - 1_s) = F_rk(N) + D_rks; each core solves its population with D held, then D is
    taken anew from the cores of N and of every N - 1_s.
    """
    classes, stations = range(len(demands)), range(len(demands[0]))
    change = [[[0.0 for s in classes] for k in stations] for r in classes]

    def core(population, Q):
        for _ in range(100_000):
            times, X, after = [], [], []
            for r in classes:
                row = []
                for k in stations:
                    seen = 0.0
                    for s in classes:
                        less = population[s] - (s == r)
                        if population[s] > 0 and less > 0:
                            seen += less * (Q[s][k] / population[s] + change[s][k][r])
                    row.append(demands[r][k] * (1 + seen))
                times.append(row)
                X.append(population[r] / (Z[r] + sum(row)) if population[r] else 0.0)
                after.append([X[r] * t for t in row])
            moved = max(abs(after[r][k] - Q[r][k]) for r in classes for k in stations)
            Q = after
            if moved < 1e-14:
                break
        return X, Q

    def less(s):
        return [n - (r == s) for r, n in enumerate(N)]

    full = [[N[r] / len(stations) for k in stations] for r in classes]
    reduced = [[[less(s)[r] / len(stations) for k in stations] for r in classes] for s in classes]
    X, full = core(N, full)
    for _ in range(iterations - 1):
        for s in classes:
            reduced[s] = core(less(s), reduced[s])[1]
        for r in classes:
            for k in stations:
                for s in classes:
                    left = less(s)[r]
                    share = reduced[s][r][k] / left if left else 0.0
                    change[r][k][s] = share - full[r][k] / N[r]
        X, full = core(N, full)
    return X, full
