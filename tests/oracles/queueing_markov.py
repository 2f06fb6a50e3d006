"""Markov chains by all their states: fractions where the rates are, and sparse floats for many."""

from fractions import Fraction


def reachable(start, moves):
    """Return all states that `moves` leads to from `start`; moves(state) yields (state, rate)."""
    found, todo = {start: 0}, [start]
    while todo:
        for state, rate in moves(todo.pop()):
            if rate and state not in found:
                found[state] = len(found)
                todo.append(state)
    return found


def stationary(start, moves):
    """Return the share of time in each state, exactly: elimination of one state after the other."""
    place = reachable(start, moves)
    states = list(place)
    rates = [[Fraction(0)] * len(states) for _ in states]
    for state in states:
        for other, rate in moves(state):
            if other != state:
                rates[place[state]][place[other]] += Fraction(rate)
    for n in range(len(states) - 1, 0, -1):
        total = sum(rates[n][:n])
        for i in range(n):
            share = rates[i][n] = rates[i][n] / total
            if share:
                for j in range(n):
                    rates[i][j] += share * rates[n][j]
    at = [Fraction(1)]
    for n in range(1, len(states)):
        at.append(sum(at[i] * rates[i][n] for i in range(n)))
    return {state: share / sum(at) for state, share in zip(states, at, strict=True)}


def stationary_floats(start, moves):
    """Return the same in floats, for thousands of states."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    place = reachable(start, moves)
    rows, columns, values = [], [], []
    for state, i in place.items():
        for other, rate in moves(state):
            rows += [place[other], i]
            columns += [i, i]
            values += [rate, -rate]
    size = len(place)
    balance = coo_array((values, (rows, columns)), shape=(size, size)).tolil()
    balance[0] = np.ones(size)
    share = spsolve(balance.tocsc(), np.eye(1, size)[0])
    return dict(zip(place, share, strict=True))


def mean(shares, value):
    """Return the mean of value(state)."""
    return sum(share * value(state) for state, share in shares.items())
