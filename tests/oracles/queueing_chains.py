"""Queues as Markov chains, each given by its moves: from a state, at which rate, to which state.

S mean service time, c servers, lam open arrival rate, N closed users, Z mean think time.
"""

import numpy as np
from scipy.sparse import csc_matrix, diags
from scipy.sparse.linalg import expm_multiply, splu


def stationary(start, moves):
    """Chance of every state that can be reached, in the long run."""
    places, rows, columns, rates = {start: 0}, [], [], []
    waiting = [start]
    while waiting:
        state = waiting.pop()
        for rate, after in moves(state):
            if rate <= 0 or after == state:
                continue
            if after not in places:
                places[after] = len(places)
                waiting.append(after)
            rows += [places[after], places[state]]
            columns += [places[state]] * 2
            rates += [rate, -rate]
    size = len(places)
    if size == 1:
        return {start: 1.0}
    flows = csc_matrix((rates, (rows, columns)), shape=(size, size))
    # All flows are balanced where all but the first are: set its chance to 1, scale afterwards.
    rest = splu(flows[1:, 1:]).solve(-flows[1:, :1].toarray().ravel())
    chances = np.concatenate([[1.0], rest])
    chances /= chances.sum()
    return {state: float(chances[place]) for state, place in places.items()}


def mean(law, value):
    """Mean of a function of the state."""
    return sum(chance * value(state) for state, chance in law.items())


def tilted(law, rate, seen):
    """What is seen at events that happen at a rate in each state."""
    total = mean(law, rate)
    found = {}
    for state, chance in law.items():
        if rate(state):
            found[seen(state)] = found.get(seen(state), 0.0) + chance * rate(state) / total
    return found


def response_survival(t, met, S, c=1):
    """P(R > t) of a job that finds others there (chances by number), all ahead of it: FCFS.

    Phases: j waiting ahead or in service while all servers work; own service last; absorption.
    """
    phases = max(met) + 2  # phase 0: own service; phase j: j more ends until a server is free
    rates = np.full(phases, c / S)
    rates[0] = 1 / S
    # A phase is left for the one below it, the own service for nowhere.
    flows = diags([-rates, rates[1:]], [0, 1], format="csc")
    first = np.zeros(phases)
    for n, chance in met.items():
        first[max(0, n - c + 1)] += chance
    return float(expm_multiply(flows * t, first).sum())


def mixed(lam, N, Z, S, c=1, most=60):
    """Open jobs and N closed users at c servers, the class of who leaves by its share; cut."""

    def moves(state):
        opened, closed = state
        n = opened + closed
        if n < most + N and opened < most:
            yield lam, (opened + 1, closed)
        if closed < N:
            yield (N - closed) / Z, (opened, closed + 1)
        if n:
            yield min(n, c) / S * opened / n, (opened - 1, closed)
            yield min(n, c) / S * closed / n, (opened, closed - 1)

    return stationary((0, 0), moves)


def mixed_in_order(lam, N, Z, S, c=1, most=16):
    """The same with the line as it stands: a word of o and c, its first c letters are served."""

    def moves(line):
        if len(line) < most:
            yield lam, line + "o"
        if line.count("c") < N:
            yield (N - line.count("c")) / Z, line + "c"
        for i in range(min(c, len(line))):
            yield 1 / S, line[:i] + line[i + 1 :]

    return stationary("", moves)


def mixed_measures(law, lam, N, Z, S, c=1):
    """Measures of `mixed`, the responses by Little's law."""
    Qo, Qc = mean(law, lambda s: s[0]), mean(law, lambda s: s[1])
    Xc = mean(law, lambda s: (N - s[1]) / Z)
    return {"Xc": Xc, "Qc": Qc, "Rc": Qc / Xc, "Qo": Qo, "Ro": Qo / lam, "Uc": Xc * S / c}


def open_station(lam, S, c=1, most=200):
    """Jobs at c servers of a station that loses those beyond `most`."""

    def moves(n):
        if n < most:
            yield lam, n + 1
        if n:
            yield min(n, c) / S, n - 1

    return stationary(0, moves)


def reopen(lam, go_on, Z, S, c=1, most=60, thinking=40):
    """Users who go on with the chance go_on[m] if they leave m behind: (at the servers, thinking).

    Z = 0: who goes on is back at once.
    """

    def moves(state):
        n, k = state
        if n < most:
            yield lam, (n + 1, k)
            if k:
                yield k / Z, (n + 1, k - 1)
        if n:
            rate = min(n, c) / S
            yield rate * (1 - go_on[n - 1]), (n - 1, k)
            if Z and k < thinking:
                yield rate * go_on[n - 1], (n - 1, k + 1)

    return stationary((0, 0), moves)


def reopen_breaks(lam, short_on, long_on, short, long, S, most=40, thinking=14):
    """The same, where who goes on thinks for a short or a long time, by the number left behind."""

    def moves(state):
        n, i, j = state
        if n < most:
            yield lam, (n + 1, i, j)
            yield i / short, (n + 1, i - 1, j)
            yield j / long, (n + 1, i, j - 1)
        if n:
            a, b = short_on[n - 1], long_on[n - 1]
            yield (1 - a - b) / S, (n - 1, i, j)
            if i < thinking:
                yield a / S, (n - 1, i + 1, j)
            if j < thinking:
                yield b / S, (n - 1, i, j + 1)

    return stationary((0, 0, 0), moves)


def reopen_mixed(lam, N, go_on, Z, S, c=1, most=40, thinking=14):
    """Closed users and users who may go on: (closed and open at the servers, open thinking)."""

    def moves(state):
        closed, opened, k = state
        n = closed + opened
        if opened < most:
            yield lam, (closed, opened + 1, k)
            yield k / Z, (closed, opened + 1, k - 1)
        if closed < N:
            yield (N - closed) / Z, (closed + 1, opened, k)
        if n:
            rate = min(n, c) / S
            yield rate * closed / n, (closed - 1, opened, k)
            yield rate * opened / n * (1 - go_on[n - 1]), (closed, opened - 1, k)
            if k < thinking:
                yield rate * opened / n * go_on[n - 1], (closed, opened - 1, k + 1)

    return stationary((0, 0, 0), moves)


def reopen_marks(lam, theta, Z, S, c=1, most=9, thinking=10):
    """p = e^(-theta r) exactly: p is the chance that a clock of rate theta outlives the response.

    The line is a word, . for a job whose clock still runs, x for one whose clock has rung.
    """

    def moves(state):
        line, k = state
        if len(line) < most:
            yield lam, (line + ".", k)
            if k:
                yield k / Z, (line + ".", k - 1)
        for i, mark in enumerate(line):
            if mark == ".":
                yield theta, (line[:i] + "x" + line[i + 1 :], k)
        for i in range(min(c, len(line))):  # those who are served
            rest = line[:i] + line[i + 1 :]
            if line[i] == "x":
                yield 1 / S, (rest, k)
            elif not Z:
                yield 1 / S, (rest + ".", k)
            elif k < thinking:
                yield 1 / S, (rest, k + 1)

    return stationary(("", 0), moves)


def server_measures(law, S, c=1, at=lambda state: state[0]):
    """X, Q, U and R of all jobs at the servers, from how many are there in each state."""
    X = mean(law, lambda s: min(at(s), c)) / S
    Q = mean(law, at)
    return {"X": X, "Q": Q, "U": X * S / c, "R": Q / X}
