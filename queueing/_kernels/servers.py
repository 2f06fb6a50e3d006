"""Waits at one or several servers, by recursions with positive terms only.

Both with a free server and with all servers busy, the state is described by
V = Poisson(rate) + Binomial(trials), see `queueing.users_at_servers`; here q(n) = P(V = n), and the
binomial is given by its odds. Arguments are real, or complex for derivatives.
"""

import math

import numpy as np

from workloadkit.queueing._kernels import helper, kernel

#: Odds beyond which the binomial variable equals its maximum in double precision.
SURE = 1e100

#: Load below which no job waits or is lost in double precision.
NONE = 1e-300


@helper
def _ratios(rate, trials, odds, size):
    """Return q(n + 1) / q(n) for n below size.

    (n + 1) q(n + 1) = (rate + (trials - n) odds) q(n) + rate odds q(n - 1), upwards where all terms
    are positive, and downwards elsewhere.
    """
    ratio = np.zeros(size, np.asarray(rate).dtype)
    if trials == 0 or odds == 0:
        for n in range(size):
            ratio[n] = rate / (n + 1)
        return ratio
    turn = trials + (rate / odds).real
    up = size if turn >= size - 1 else int(turn) + 1
    for n in range(up):
        before = rate * odds / ratio[n - 1] if n > 0 else 0.0
        ratio[n] = (rate + (trials - n) * odds + before) / (n + 1)
    if up < size:
        ratio[size - 1] = _ratio_by_sum(rate, trials, odds, size - 1)
        for n in range(size - 1, up, -1):
            ratio[n - 1] = rate * odds / ((n + 1) * ratio[n] + (n - trials) * odds - rate)
    return ratio


@helper
def _ratio_by_sum(rate, trials, odds, n):
    """Return q(n + 1) / q(n) for n ≥ trials by summation over the binomial variable."""
    term = 1.0 + 0.0 * rate
    upper, lower = rate / (n + 1 - trials), term
    if rate == 0:
        return upper
    for i in range(trials - 1, -1, -1):
        term *= (i + 1) * rate / ((trials - i) * (n - i) * odds)
        upper += term * rate / (n + 1 - i)
        lower += term
        if abs(lower) > 1e100:
            upper, lower, term = upper * 1e-100, lower * 1e-100, term * 1e-100
    return upper / lower


@helper
def _last_to_all_before(rate, trials, odds, n):
    """Return q(n) / (q(0) + ... + q(n - 1)) for n ≥ 1."""
    ratio = _ratios(rate, trials, odds, n)
    found = ratio[0]
    for i in range(1, n):
        found = ratio[i] * found / (1 + found)
    return found


@helper
def _others(lam, users, Z, S, servers):
    """Return P(V = servers) / P(V < servers), V the number of jobs with a server for each.

    V = Poisson(lam S) + Binomial(users, S / (S + Z)). Inf if V is never smaller.
    """
    if abs(S) > SURE * abs(Z):
        if users >= servers:
            return np.inf + 0.0 * (lam + S + Z)
        return _last_to_all_before(lam * S + 0.0 * Z, 0, 0.0 * S, servers - users)
    return _last_to_all_before(lam * S + 0.0 * Z, users, S / Z + 0.0 * lam, servers)


@helper
def _busy(lam, users, Z, S, servers, idle):
    """Return P(V = n) / P(V < n) for n from the minimum of V to users.

    V = Poisson(thinking) + Binomial(servers, idle): with all servers busy, a job that can meet that
    many users waits for users + 1 - V stages. Empty if there are too few users; the first entry, a
    number over 0, is left 0.
    """
    thinking = Z * servers * idle / S
    rho = lam * S / servers
    least = 0
    if abs(idle) > SURE * abs(rho):
        least = servers
        ratio = _ratios(thinking, 0, 0.0 * thinking, max(users - least, 0))
    else:
        ratio = _ratios(thinking, servers, idle / rho + 0.0 * thinking, users)
    share = np.zeros(max(users - least + 1, 0), ratio.dtype)
    for n in range(1, share.size):
        share[n] = ratio[0] if n == 1 else ratio[n - 1] * share[n - 1] / (1 + share[n - 1])
    return share


@helper
def _wait(lam, users, Z, S, servers, idle, share, size):
    """Return the probability to wait; share[size] belongs to V = users, see `_busy`."""
    if size < 0:
        return 0.0 * (lam + Z + S)
    others = _others(lam, users, Z, S, servers)
    if not np.isfinite(others.real):
        return 1.0 + 0.0 * (lam + Z + S)
    last = 1.0 + 0.0 * share[0] if size == 0 else share[size] / (1 + share[size])
    return others / (others + idle * last)


@helper
def _binomial_moments(share, size, order):
    """Return E[C(stages + order - 1, order)] of a waiting job, share from `_busy`."""
    moments = np.ones(order + 1, share.dtype)
    for n in range(1, size + 1):
        less = 1 / (1 + share[n])
        for r in range(1, order + 1):
            moments[r] = moments[r - 1] + less * moments[r]
    return moments[order]


@kernel
def mean_responses(lam, users, Z, S, servers, idle):
    """Return the mean response times of closed and of open jobs at each point; idle is 1 - rho."""
    closed, opened = np.empty_like(Z), np.empty_like(Z)
    for i in range(Z.size):
        n, c = users[i], servers[i]
        share = _busy(lam[i], n, Z[i], S[i], c, idle[i])
        stage = S[i] / (c * idle[i])
        size = share.size - 1
        closed[i] = opened[i] = S[i]
        if n > 0 and size > 0:
            waits = _wait(lam[i], n - 1, Z[i], S[i], c, idle[i], share, size - 1)
            closed[i] += waits * _binomial_moments(share, size - 1, 1) * stage
        if size >= 0:
            waits = _wait(lam[i], n, Z[i], S[i], c, idle[i], share, size)
            opened[i] += waits * _binomial_moments(share, size, 1) * stage
    return closed, opened


@kernel
def response_moments(order, lam, users, Z, S, servers, idle):
    """Return E[response^order] of a job that arrives at a random time, with `users` closed users.

    The wait is a sum of stages; service is a stage of another rate; both are independent.
    """
    found = np.empty(Z.size)
    for i in range(Z.size):
        share = _busy(lam[i], users[i], Z[i], S[i], servers[i], idle[i])
        size = share.size - 1
        waits = _wait(lam[i], users[i], Z[i], S[i], servers[i], idle[i], share, size)
        stage = S[i] / (servers[i] * idle[i])
        total = 1.0
        for r in range(1, order + 1):  # in units of r! S^(order - r) stage^r
            term = waits * _binomial_moments(share, size, r) if size >= 0 else 0.0
            total += term * (stage / S[i]) ** r
        found[i] = total * math.gamma(order + 1.0) * S[i] ** order
    return found


@kernel
def response_survival(t, lam, users, Z, S, servers, idle):
    """Return P(response > t), see `response_moments`."""
    found = np.empty(t.size)
    share, waits = np.empty(0), 0.0
    for i in range(t.size):
        n, c = users[i], servers[i]
        known = i > 0 and n == users[i - 1] and c == servers[i - 1] and lam[i] == lam[i - 1]
        if not (known and Z[i] == Z[i - 1] and S[i] == S[i - 1]):
            share = _busy(lam[i], n, Z[i], S[i], c, idle[i])
            waits = _wait(lam[i], n, Z[i], S[i], c, idle[i], share, share.size - 1)
        found[i] = _survival(t[i] / S[i], c * idle[i], waits, share)
    return found


@helper
def _survival(t, rate, waits, share):
    """Return P(wait of stages + one service of rate 1 > t).

    A job waits with probability `waits`, for stages of this rate: share[n] is
    P(stages = size - n) / P(stages > size - n). At t, either stages remain, if fewer events of a
    Poisson process have occurred, or the job is in service.
    """
    if np.isnan(t):
        return t
    top = share.size
    if t * min(rate, 1.0) > 1e4 + 10.0 * top:  # underflows
        return 0.0
    events = t * rate
    happened = _poisson(top, events)
    in_service = _in_service(t, rate, top, happened)
    total = (1 - waits) * in_service[0]
    longer = waits  # probability of more than i stages
    for i in range(top):
        part = share[top - 1 - i]
        here = 1.0 if i == top - 1 else part / (1 + part)
        total += longer * happened[i] + longer * here * in_service[i + 1]
        longer *= 1 - here if here < 0.5 else 1 / (1 + part)
    return min(total, 1.0)


@helper
def _poisson(top, mean):
    """Return the probabilities of 0 ... top events."""
    found = np.zeros(top + 1)
    mode = min(top, int(mean))
    found[mode] = math.exp(_log_poisson(mode, mean))
    for n in range(mode, top):
        found[n + 1] = found[n] * mean / (n + 1)
    for n in range(mode, 0, -1):
        found[n - 1] = found[n] * n / mean
    return found


@helper
def _log_poisson(n, mean):
    """Return log P(Poisson(mean) = n) by Loader's (2000) saddle point form."""
    if n == 0:
        return -mean
    if mean == 0:
        return -np.inf
    if n < 16:
        stirling = math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.9189385332046727
    else:
        square = 1.0 / (float(n) * n)
        stirling = (
            1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square
        ) / n
    x = (mean - n) / n
    if abs(x) < 0.1:  # x - log(1 + x) without cancellation
        v = x / (2 + x)
        deviance, power = x * v, 2 * v**3
        for j in range(3, 40, 2):
            deviance -= power / j
            power *= v * v
    else:
        deviance = x - (math.log(mean) - math.log(n))
    return -stirling - n * deviance - 0.5 * math.log(2 * math.pi * n)


@helper
def _in_service(t, rate, top, happened):
    """Return the probability of being in service at t after j stages, j = 0 ... top."""
    found = np.zeros(top + 1)
    events = t * rate
    if rate >= 1:  # a service ends with probability 1 / rate at each event
        lasts = 1 - 1 / rate
        found[top] = _later(top, events, lasts)
        for j in range(top - 1, -1, -1):
            found[j] = happened[j] + lasts * found[j + 1]
        return found
    # happened[j] M(1, j + 1, -z), in the stable direction of the recursion of Kummer's M
    z = (1 - rate) * t
    up = min(top, int(z))
    kummer = math.exp(-z)
    found[0] = happened[0] * kummer
    for j in range(up):
        kummer = (j + 1) * (1 - kummer) / z
        found[j + 1] = happened[j + 1] * kummer
    if up < top:
        start = max(top, int(z)) + 40 + int(10 * math.sqrt(z))
        kummer = start / (start + z)
        for j in range(start - 1, up, -1):
            kummer = 1 - z / (j + 1) * kummer
            if j <= top:
                found[j] = happened[j] * kummer
    return found


@helper
def _later(least, mean, factor):
    """Return the sum over n ≥ least of P(Poisson(mean) = n) factor^(n - least)."""
    if factor == 0:
        return math.exp(_log_poisson(least, mean))
    mode = max(least, int(mean * factor))
    first = math.exp(_log_poisson(mode, mean) + (mode - least) * math.log(factor))
    total, term, n = first, first, mode
    while term > 1e-18 * total:
        n += 1
        term *= mean * factor / n
        total += term
    term = first
    for n in range(mode, least, -1):
        term *= n / (mean * factor)
        total += term
    return total


@helper
def _room(load, places):
    """Return P(V = n) / P(V < n) for the free waiting places V that a job leaves, from 0.

    All servers are busy, and numbers of waiting jobs have the ratio load; the job finds a place.
    """
    share = np.zeros(places, np.asarray(load).dtype)
    for n in range(1, places):
        share[n] = 1 / load if n == 1 else share[n - 1] / (load * (1 + share[n - 1]))
    return share


@helper
def _full(lam, S, servers, share):
    """Return P(all servers busy) / P(one is free), and its share without waiting jobs."""
    others = _last_to_all_before(lam * S, 0, 0.0 * S, servers)
    if share.size < 2:
        return others, 1.0 + 0.0 * lam
    return others, share[-1] / (1 + share[-1])


@kernel
def limited_measures(lam, S, servers, places):
    """Return accepted and lost share, probability to wait and mean wait with limited capacity."""
    accepted, lost = np.ones_like(lam), np.zeros_like(lam)
    waits, wait = np.zeros_like(lam), np.zeros_like(lam)
    for i in range(lam.size):
        load = lam[i] * S[i] / servers[i]
        if abs(load) < NONE:
            continue
        share = _room(load, places[i])
        others, none = _full(lam[i], S[i], servers[i], share)
        if places[i] == 0:
            accepted[i] = 1 / (1 + others)
            lost[i] = others / (1 + others)
            continue
        none_of_more = none / (none + load)
        accepted[i] = (none + others) / ((none_of_more + others) * (none + load))
        full = load / (none + load)  # given that all servers are busy
        for n in range(1, share.size):
            full /= 1 + share[n]
        lost[i] = others / (others + none_of_more) * full
        waits[i] = others / (others + none)
        wait[i] = waits[i] * _binomial_moments(share, share.size - 1, 1) * S[i] / servers[i]
    return accepted, lost, waits, wait


@kernel
def limited_moments(order, lam, S, servers, places):
    """Return E[response^order] of accepted jobs at a station with limited capacity."""
    found = np.empty(lam.size)
    for i in range(lam.size):
        load = lam[i] * S[i] / servers[i]
        total = 1.0
        if load > NONE and places[i] > 0:
            share = _room(load, places[i])
            others, none = _full(lam[i], S[i], servers[i], share)
            for r in range(1, order + 1):
                term = _binomial_moments(share, share.size - 1, r) / float(servers[i]) ** r
                total += others / (others + none) * term
        found[i] = total * math.gamma(order + 1.0) * S[i] ** order
    return found


@kernel
def limited_survival(t, lam, S, servers, places):
    """Return P(response > t) of accepted jobs at a station with limited capacity."""
    found = np.empty(t.size)
    share, waits = np.empty(0), 0.0
    for i in range(t.size):
        known = i > 0 and servers[i] == servers[i - 1] and places[i] == places[i - 1]
        if not (known and lam[i] == lam[i - 1] and S[i] == S[i - 1]):
            share, waits = np.empty(0), 0.0
            load = lam[i] * S[i] / servers[i]
            if load > NONE and places[i] > 0:
                share = _room(load, places[i])
                others, none = _full(lam[i], S[i], servers[i], share)
                waits = others / (others + none)
        found[i] = _survival(t[i] / S[i], float(servers[i]), waits, share)
    return found


@kernel
def numbers_at_server(n, a, number, at, n_steps):
    """Write into `number` the mean number of n[i] users at the server, with think time a[i].

    A call goes on at point at[0] with at[1] users, for which the number is there; it returns after
    `n_steps` users, with false, or at the end.
    """
    for i in range(at[0], n.size):
        q = number[i] if at[1] else 0.0
        last = min(int(n[i]), at[1] + n_steps)
        for m in range(at[1] + 1, last + 1):
            q = m * (1.0 + q) / (1.0 + q + a[i])
        number[i] = q
        n_steps -= last - at[1]
        at[:] = i, last
        if last < int(n[i]):
            return False
        at[:] = i + 1, 0
    return True
