"""Waits at one server with constant service time 1."""

import math

import numpy as np

from workloadkit.queueing._kernels.compile import helper, kernel

#: Time from which the tail is exponential to the last digit, and number of jobs counted for it.
_FAR, _MOST = 64, 128


@kernel
def wait_survival(t, load, idle):
    """Return P(wait > t) for t ≥ 0; idle is 1 - load.

    With k > t ≥ k - 1 whole and u = load (k - t), the wait is at most t if at most k - j jobs are
    present, where j is Poisson with mean u (G. J. Franx, "A simple solution for the M/D/c waiting
    time distribution", 2001); here for the complement, which also has positive terms.
    """
    found = np.empty(t.size)
    more = np.empty(_FAR + 1)
    decay, height = 0.0, 0.0
    for i in range(t.size):
        if load[i] == 0 or not t[i] < np.inf:
            found[i] = t[i] if np.isnan(t[i]) else 0.0
            continue
        if i == 0 or load[i] != load[i - 1] or idle[i] != idle[i - 1]:
            decay = _decay(load[i], idle[i])
            height = _height(decay, idle[i])
            _more_jobs(load[i], idle[i], decay, more)
        if t[i] >= _FAR:
            found[i] = height * math.exp(-decay * t[i])
            continue
        k = int(t[i]) + 1
        mean = load[i] * (k - t[i])
        here = math.exp(-mean)
        total = 0.0
        for j in range(k):
            total += here * more[k - j]
            here *= mean / (j + 1)
        j = k
        while here > 1e-17 * total:  # more than k - 1 arrivals
            total += here
            j += 1
            here *= mean / j
        found[i] = min(total, 1.0)
    return found


@helper
def _decay(load, idle):
    """Return the decay rate y of P(wait > t) for long t: load = y / (e^y - 1)."""
    goal = -math.log1p(-idle) if idle < 0.5 else -math.log(load)
    y = 2 * goal  # from above, Newton's steps never pass the root
    for _ in range(60):
        if y < 0.1:
            square = y * y
            value = y / 2 + square / 24 * (1 - square / 120 * (1 - square / 63))
            slope = 0.5 + y / 12 * (1 - square / 60 * (1 - square / 42))
        else:
            value = y + math.log(-math.expm1(-y) / y)
            slope = -1 / math.expm1(-y) - 1 / y
        step = (value - goal) / slope
        y -= step
        if not step > 1e-16 * y:
            break
    return y


@helper
def _height(decay, idle):
    """Return the factor of e^(-decay t) in P(wait > t) for long t, from the transform's pole."""
    if decay < 0.5:  # decay - 1 + e^-decay without cancellation
        term = decay * decay / 2
        rest = 0.0
        for n in range(3, 24):
            rest += term
            term *= -decay / n
    else:
        rest = decay + math.expm1(-decay)
    return idle * -math.expm1(-decay) / rest


@helper
def _more_jobs(load, idle, decay, more):
    """Compute P(more than n jobs), n = 0, 1, ..., from the balance of crossings of level n."""
    arrive = np.empty(_MOST + 60)  # P(more than n arrivals during a service)
    here = math.exp(-load)
    for n in range(arrive.size):
        arrive[n] = here
        here *= load / (n + 1)
    above = 0.0
    for n in range(arrive.size - 1, -1, -1):
        arrive[n], above = above, above + arrive[n]
    at = np.empty(_MOST + 1)
    at[0] = idle
    for n in range(_MOST):
        up = at[0] * arrive[n]
        for i in range(1, n + 1):
            up += at[i] * arrive[n + 1 - i]
        at[n + 1] = up * math.exp(load)
    total = at[_MOST] / math.expm1(decay)  # geometric beyond
    for n in range(_MOST - 1, -1, -1):
        total += at[n + 1]
        if n <= _FAR:
            more[n] = total
