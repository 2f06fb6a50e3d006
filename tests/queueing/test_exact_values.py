"""Forty values or more of each class of models from Markov chains, as the reference page counts."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.special import gammaincc

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_markov as markov
from workloadkit import queueing
from workloadkit.queueing.parallel import parallel_jobs

F = Fraction
PAGE = Path(__file__).parents[2] / "docs/reference/queueing.md"


def birth_death(up, down, most=150):
    """Chance of each number of jobs, in fractions; loads are so low that the cut is negligible."""
    share = [F(1)]
    for n in range(most):
        share.append(share[-1] * up(n) / down(n + 1))
    total = sum(share)
    return [s / total for s in share]


def of_number(model, share, S, c, names=("X", "R", "Q", "U", "W", "Lq")):
    Q = sum(n * p for n, p in enumerate(share))
    busy = sum(min(n, c) * p for n, p in enumerate(share))
    X, Lq = busy / S, Q - busy
    known = {"X": X, "Q": Q, "R": Q / X, "U": busy / c, "Lq": Lq, "W": Lq / X}
    for name in names:
        yield getattr(model, name), float(known[name])


def poisson(lam, S, c):
    return birth_death(lambda _: lam, lambda n: min(n, c) / S)


def of_open():
    for lam, S in ((F(1, 2), F(1)), (F(1, 5), F(3)), (F(3), F(1, 5)), (F(1, 10), F(1, 2))):
        yield from of_number(queueing.mm1(float(lam), float(S)), poisson(lam, S, 1), S, 1)
    for lam, S, c, K in ((F(2), F(1), 1, 3), (F(5), F(1, 2), 3, 5), (F(1), F(1), 2, 2)):
        share = birth_death(lambda _, lam=lam: lam, lambda n, c=c, S=S: min(n, c) / S, K)
        yield from of_number(queueing.mmck(float(lam), float(S), c, K), share, S, c)
    for lam, S in ((F(2), F(1)), (F(1, 3), F(5))):
        share = birth_death(lambda _, lam=lam: lam, lambda n, S=S: n / S, 60)
        yield from of_number(queueing.mminf(float(lam), float(S)), share, S, 60, ("X", "R", "Q"))


def of_multi_server():
    for lam, S, c in ((F(1), F(1), 2), (F(3, 2), F(1), 3), (F(1, 2), F(4), 4), (F(5), F(1), 8)):
        yield from of_number(queueing.mmc(float(lam), float(S), c), poisson(lam, S, c), S, c)
    yield from of_users(
        [(5, F(4), F(1), 2), (9, F(1), F(2), 3), (4, F(1, 2), F(1), 7), (20, F(3), F(1), 5)]
    )


def of_users(points):
    for N, Z, S, c in points:
        share = birth_death(lambda n, N=N, Z=Z: (N - n) / Z, lambda n, c=c, S=S: min(n, c) / S, N)
        model = queueing.closed(N, float(Z), float(S), servers=c)
        yield from of_number(model, share, S, c, "XRQU")
        yield from zip(model.pmf([0, N // 2]), (float(share[0]), float(share[N // 2])), strict=True)


def of_closed():
    points = [(1, 5), (2, F(1, 2)), (3, 10), (5, 4), (8, 20), (13, 3), (30, 40), (50, 100)]
    yield from of_users([(N, F(Z), F(1, 1 + N % 3), 1) for N, Z in points])


def of_mixed():
    for lam, N, Z, S, c in ((0.3, 2, 4, 1, 1), (0.1, 5, 2, 1, 1), (0.5, 3, 1, 0.5, 1),
                            (0.8, 2, 3, 1, 3), (0.4, 6, 9, 1, 2), (0.2, 1, 0.5, 2, 2),
                            (0.25, 4, 8, 0.8, 1)):  # fmt: skip
        law = chains.mixed(lam, N, Z, S, c)
        known = chains.mixed_measures(law, lam, N, Z, S, c)
        model = queueing.mixed(lam, N, Z, S, servers=c)
        for name, value in known.items():
            yield getattr(model, name), value


def of_reopen():
    for lam, p, Z, S, c in ((0.3, 0.5, 4, 1, 1), (0.2, 0.2, 1, 1, 1), (0.1, 0.7, 9, 1, 1),
                            (0.4, 0.3, 2, 0.7, 1), (0.5, 0.5, 3, 1, 3), (0.3, 0.6, 5, 1, 2),
                            (1.0, 0.2, 1, 0.4, 1), (0.2, 0.1, 7, 2, 1)):  # fmt: skip
        law = chains.reopen(lam, [p] * 60, Z, S, c)
        model = queueing.reopen(lam, p, Z, S, servers=c)
        known = chains.server_measures(law, S, c)
        for name, value in known.items():
            yield getattr(model, name), value
        yield model.jobs_per_user, known["X"] / lam
        if c == 1:  # a first job finds the time average
            yield model.R_first, S * (1 + known["Q"])


def priority_moves(arrive, S, c, order):
    """State: numbers that wait of both classes, numbers in service; interrupted jobs wait.

    `arrive` is the rate of arrivals of a class of which some number is present.
    """

    def settled(total, s):
        """Return the state after the servers have chosen."""
        s = [0, 0] if order == "preemptive" else list(s)
        for k in range(2):
            s[k] += min(c - sum(s), total[k] - s[k])
        return total[0] - s[0], total[1] - s[1], *s

    def moves(state):
        s, total = state[2:], (state[0] + state[2], state[1] + state[3])
        for k, (a, b) in enumerate(((1, 0), (0, 1))):
            if rate := arrive(k, total[k]):
                yield settled((total[0] + a, total[1] + b), s), rate
            if s[k]:
                yield settled((total[0] - a, total[1] - b), (s[0] - a, s[1] - b)), s[k] / S[k]

    return moves


def of_priorities():
    for lam, S, c in (((0.2, 0.2), (1, 1), 1), ((0.1, 0.1), (2, 1), 1), ((0.3, 0.1), (0.5, 2), 1),
                      ((0.3, 0.4), (1, 1), 2), ((0.3, 0.6), (1, 1), 3)):  # fmt: skip
        for order in ("preemptive", "non-preemptive"):

            def arrive(k, n, lam=lam):
                return lam[k] if n < 17 else 0

            law = markov.stationary_floats((0, 0, 0, 0), priority_moves(arrive, S, c, order))
            model = queueing.priorities(lam, S, servers=c, order=order)
            for k in range(2):
                waiting = markov.mean(law, lambda s, k=k: s[k])
                served = markov.mean(law, lambda s, k=k: s[k + 2])
                yield model.R[k], (waiting + served) / lam[k]
                yield model.Lq[k], waiting


def of_sources():
    for N, Z, S, c in (((2, 3), (4, 9), (1, 2), 1), ((5, 1), (3, 3), (1, 1), 2),
                       ((3, 4), (2, 1), (0.5, 1), 3)):  # fmt: skip
        for order in ("preemptive", "non-preemptive"):

            def arrive(k, n, N=N, Z=Z):
                return (N[k] - n) / Z[k]

            law = markov.stationary_floats((0, 0, 0, 0), priority_moves(arrive, S, c, order))
            model = queueing.closed_priorities(N, Z, S, servers=c, order=order)
            for k in range(2):
                waiting = markov.mean(law, lambda s, k=k: s[k])
                served = markov.mean(law, lambda s, k=k: s[k + 2])
                yield model.X[k], served / S[k]
                yield model.R[k], (waiting + served) / (served / S[k])
                yield model.U[k], served / c
                yield model.Lq[k], waiting


def of_bulk():
    for lam, S, size in ((0.5, 1, 1), (0.5, 1, 2), (1.2, 1, 3), (0.4, 2, 2), (3, 0.5, 4),
                         (2, 1, 10), (0.1, 3, 2), (1.9, 1, 4), (0.3, 1, 5),
                         (4, 0.25, 2)):  # fmt: skip

        def moves(state, lam=lam, S=S, size=size):
            served, waiting = state
            if waiting < 150:
                yield (served or 1, waiting + (served > 0)), lam
            if served:
                taken = min(waiting, size)
                yield (taken, waiting - taken), 1 / S

        law = markov.stationary_floats((0, 0), moves)
        model = queueing.bulk_service(lam, S, size)
        yield model.Q, markov.mean(law, sum)
        yield model.R, markov.mean(law, sum) / lam
        yield model.Lq, markov.mean(law, lambda s: s[1])
        yield model.U, markov.mean(law, lambda s: s[0] > 0)


def of_tasks():
    """Jobs of two tasks: as many are there as tasks in the longer queue."""
    for lam, S in ((0.1, 1), (0.3, 1), (0.5, 1), (0.1, 3), (2, 0.2),
                   (0.05, 9), (1, 0.35), (0.45, 1), (0.02, 10), (4, 0.1)):  # fmt: skip

        def moves(state, lam=lam, S=S):
            if max(state) < 40:
                yield (state[0] + 1, state[1] + 1), lam
            for k in range(2):
                if state[k]:
                    yield tuple(n - (j == k) for j, n in enumerate(state)), 1 / S

        law = markov.stationary_floats((0, 0), moves)
        model = queueing.fork_join(lam, S, 2)
        yield model.Q, markov.mean(law, max)
        yield model.R, markov.mean(law, max) / lam
        yield model.Lq, markov.mean(law, lambda s: max(s[0] - 1, 0))
        yield model.p_wait, markov.mean(law, lambda s: s[0] > 0)


def sharing_moves(lam, S, weight, most=24):
    """Two classes that share a server by weights."""

    def moves(state):
        total = sum(w * n for w, n in zip(weight, state, strict=True))
        for k in range(2):
            step = (1, 0) if k == 0 else (0, 1)
            if state[k] < most:
                yield (state[0] + step[0], state[1] + step[1]), lam[k]
            if state[k]:
                rate = weight[k] * state[k] / total / S[k]
                yield (state[0] - step[0], state[1] - step[1]), rate

    return moves


def of_sharing():
    for lam in ((0.2, 0.2), (0.1, 0.3), (0.3, 0.05), (0.05, 0.1)):
        for S, weight in (((1, 1), (1, 1)), ((1, 1), (3, 1)), ((0.5, 1), (1, 5)),
                          ((1, 0.4), (2, 1)), ((1.2, 0.8), (10, 1))):  # fmt: skip
            law = markov.stationary_floats((0, 0), sharing_moves(lam, S, weight))
            known = [markov.mean(law, lambda s, k=k: s[k]) for k in range(2)]
            model = queueing.dps(lam, S, weight)
            if weight == S == (1, 1):
                yield queueing.ps(sum(lam), 1).Q, sum(known)
            yield from zip(model.Q, known, strict=True)


def of_impatient():
    for lam, S, c, patience in ((F(3, 2), F(1), 1, F(2)), (F(5), F(1), 3, F(1, 2)),
                                (F(1), F(1), 2, F(9)), (F(4), F(1, 2), 2, F(1)),
                                (F(1, 2), F(1), 1, F(1, 4)), (F(3), F(2), 5, F(3))):  # fmt: skip
        share = birth_death(
            lambda _, lam=lam: lam,
            lambda n, c=c, S=S, patience=patience: min(n, c) / S + max(n - c, 0) / patience,
            90,
        )
        model = queueing.impatient(float(lam), float(S), c, float(patience))
        Lq = sum(max(n - c, 0) * p for n, p in enumerate(share))
        yield from of_number(model, share, S, c, ("X", "Q", "U", "Lq"))
        yield model.p_abandon, float(Lq / patience / lam)
        yield model.p_wait, float(sum(share[c:]))
        yield model.pmf(2), float(share[2])


def of_breakdowns():
    for lam, S, up, down in ((0.2, 1, 9, 1), (0.3, 0.5, 4, 2), (0.1, 1, 1, 1), (0.4, 0.8, 20, 0.5),
                             (0.25, 1, 3, 0.3), (0.05, 2, 30, 10), (0.3, 1, 8, 1),
                             (0.02, 1, 0.5, 1.5), (0.5, 0.6, 50, 1), (0.1, 3, 40, 2)):  # fmt: skip

        def moves(state, lam=lam, S=S, up=up, down=down):
            works, n = state
            yield (1 - works, n), 1 / up if works else 1 / down
            if n < 200:
                yield (works, n + 1), lam
            if works and n:
                yield (works, n - 1), 1 / S

        law = markov.stationary_floats((1, 0), moves)
        model = queueing.breakdowns(lam, S, up, down)
        Q = markov.mean(law, lambda s: s[1])
        yield model.Q, Q
        yield model.R, Q / lam
        yield model.U, markov.mean(law, lambda s: s[0] * (s[1] > 0))
        yield model.p_wait, 1 - law[1, 0]


def of_transient():
    n = np.arange(7.0)
    for model, up, c in ((queueing.mmck(1.5, 1, 2, 6), np.full(6, 1.5), 2),
                         (queueing.mmck(0.5, 1, 1, 6), np.full(6, 0.5), 1),
                         (queueing.closed(6, 3, 1, servers=2), (6 - n[:-1]) / 3, 2)):  # fmt: skip
        rates = np.diag(up, 1) + np.diag(np.minimum(n[1:], c), -1)
        rates -= np.diag(rates.sum(axis=1))
        for t, start in ((0.4, 0), (3.0, 5)):
            found = queueing.transient(model, t, start=start)
            yield from zip(found.share[0], expm(rates * t)[start], strict=True)


def of_distributions():
    """Responses and waits of a job that finds n others with the chance met[n]."""
    for lam, S, c in ((F(1, 2), F(1), 1), (F(3, 2), F(1), 2), (F(1), F(2), 4)):
        met = [float(p) for p in poisson(lam, S, c)]
        yield from of_laws(queueing.mmc(float(lam), float(S), c), "open", met, float(S), c)
    for N, Z, S, c in ((5, 4, 1, 1), (9, 1, 2, 3), (20, 10, 1, 2)):
        met = birth_death(
            lambda n, N=N, Z=Z: F(N - 1 - n, Z), lambda n, c=c, S=S: F(min(n, c), S), N - 1
        )
        model = queueing.closed(N, Z, S, servers=c)
        yield from of_laws(model, "closed", [float(p) for p in met], S, c)
    for lam, N, Z, S, c in ((0.3, 2, 4, 1, 1), (0.5, 3, 2, 1, 2)):
        model = queueing.mixed(lam, N, Z, S, servers=c)
        for job, others in (("open", N), ("closed", N - 1)):
            met = np.zeros(100)
            for (opened, closed), share in chains.mixed(lam, others, Z, S, c).items():
                met[opened + closed] += share
            yield from of_laws(model, job, met.tolist(), S, c)


def of_laws(model, job, met, S, c):
    k = np.maximum(np.arange(len(met)) - c + 1, 0)  # ends before its service begins
    met = np.array(met)
    for t in (0.5, 3.0):
        known = chains.response_survival(t, dict(enumerate(met.tolist())), S, c)
        yield model.sf(t, job), known
        yield model.wait_sf(t, job), met[k > 0] @ gammaincc(k[k > 0], c * t / S)
    yield model.ppf(1 - known, job), 3.0
    wait, square = met @ k * S / c, met @ (k * (k + 1)) * (S / c) ** 2
    yield model.moment(1, job), S + wait
    yield model.moment(2, job), square + 2 * S * wait + 2 * S**2


def of_identities():
    """Integrals of distributions, sums over numbers of jobs, and differences as derivatives."""
    p = queueing.exponential(1.0)
    for solve, at in (
        (queueing.mm1, {"lam": 0.4, "S": 1.5}),
        (queueing.mmc, {"lam": 1.3, "S": 1.0, "servers": 2}),
        (queueing.mminf, {"lam": 1.3, "S": 1.0}),
        (queueing.mmck, {"lam": 1.3, "S": 1.0, "servers": 2, "K": 5}),
        (queueing.md1, {"lam": 0.4, "S": 1.5}),
        (queueing.closed, {"N": 4, "Z": 3.0, "S": 1.5, "servers": 2}),
        (queueing.mixed, {"lam": 0.3, "N": 3, "Z": 4.0, "S": 1.2}),
        (queueing.reopen, {"lam": 0.3, "p": 0.4, "Z": 4.0, "S": 1.2}),
        (queueing.reopen, {"lam": 0.3, "p": p, "Z": 4.0, "S": 1.2}),
    ):
        model = solve(**at)
        for job in model.jobs:
            yield quad(model.sf, 0, np.inf, (job,))[0], model.moment(1, job)
            square = quad(lambda t, m=model, j=job: 2 * t * m.sf(t, j), 0, np.inf)[0]
            yield model.moment(2, job), square
            mean, variance = model.moment(1, job), square - model.moment(1, job) ** 2
            yield model.moments(job)["variance"], variance
            cube = quad(lambda t, m=model, j=job: 3 * t * t * m.sf(t, j), 0, np.inf)[0]
            third = cube - 3 * mean * variance - mean**3
            yield model.moments(job)["skewness"], third / variance**1.5
            yield model.sf(model.ppf(0.9, job), job), 0.1
            if solve is not queueing.reopen and solve is not queueing.mminf:
                yield quad(model.wait_sf, 0, np.inf, (job,))[0], model.moment(1, job) - at["S"]
        for name in ("lam", "S", "Z"):
            if name in at:
                h = 1e-4 * at[name]
                less, more = (solve(**at | {name: at[name] + x}) for x in (-h, h))
                measure = "Rc" if solve is queueing.mixed else "R"
                slope = (getattr(more, measure) - getattr(less, measure)) / (2 * h)
                yield model.derivative(measure, name), slope
        if solve is queueing.mixed:
            yield model.X, at["lam"] + model.Xc
            yield model.R, (model.Qo + model.Qc) / model.X
        if hasattr(model, "pmf") and solve is not queueing.md1:
            share = model.pmf(np.arange(200 if "K" not in at else at["K"] + 1))
            yield share @ np.arange(share.size), model.Q
            if solve is not queueing.mminf:
                yield model.p_busy, share[int(at.get("servers", 1)) :].sum()

    for model in (
        queueing.impatient(1.3, 1, 2, 3),
        queueing.breakdowns(0.4, 1.5, 9, 1),
        queueing.srpt(0.4, 1.5, 2),
        queueing.mg1(0.4, 1.5, 2),
        queueing.mgc(1.3, 1, 2, 2),
    ):
        yield model.moment(1), model.R
        yield model.Lq, model.Q - model.U * model.parameters.get("servers", 1)


def parallel_moves(lam, p, S, in_service, most=10):
    """State: the classes of the jobs present, in their order; those in service are the first."""

    def moves(line):
        if len(line) < most:
            for k in range(2):
                yield (*line, k), lam * p[k]
        for i in range(in_service(line)):
            yield line[:i] + line[i + 1 :], 1 / S[line[i]]

    return moves


def of_parallel():
    for lam, p, need, S, servers in (
        (0.1, (0.5, 0.5), (1, 2), (1, 1), 2),
        (0.1, (0.7, 0.3), (1, 3), (1, 2), 4),
        (0.2, (0.4, 0.6), (1, 2), (0.5, 0.6), 3),
        (0.05, (0.5, 0.5), (2, 3), (1, 3), 4),
        (0.1, (0.2, 0.8), (1, 4), (2, 0.5), 4),
    ):

        def in_service(line, need=need, servers=servers):
            held = np.cumsum([need[k] for k in line])
            return int((held <= servers).sum())

        law = markov.stationary_floats((), parallel_moves(lam, p, S, in_service))
        model = parallel_jobs(lam, p, need, S, servers)
        started = {line: line[: in_service(line)] for line in law}
        for k in range(2):
            Q = markov.mean(law, lambda line, k=k: line.count(k))
            busy = markov.mean(law, lambda line, k=k, started=started: started[line].count(k))
            yield model.class_Q[k], Q
            yield model.class_R[k], Q / lam / p[k]
            yield model.class_X[k], busy / S[k]
            yield model.class_W[k], (Q - busy) / lam / p[k]


#: Values of each class, and the relative error that the cut of its chains leaves.
CLASSES = {
    "open": (of_open, 1e-12),
    "closed": (of_closed, 1e-12),
    "mixed": (of_mixed, 1e-8),
    "re-open, constant p": (of_reopen, 1e-7),
    "priorities": (of_priorities, 1e-5),
    "finite sources": (of_sources, 1e-9),
    "bulk service": (of_bulk, 1e-9),
    "fork-join": (of_tasks, 1e-8),
    "processor sharing": (of_sharing, 1e-6),
    "several servers": (of_multi_server, 1e-12),
    "impatience": (of_impatient, 1e-12),
    "breakdowns": (of_breakdowns, 1e-9),
    "distributions": (of_distributions, 1e-8),
    "parallel jobs": (of_parallel, 1e-5),
    "identities": (of_identities, 1e-5),
    "transient": (of_transient, 1e-9),
}


@pytest.mark.parametrize("name", CLASSES)
def test_forty_values_are_those_of_chains(name):
    values, tolerance = CLASSES[name]
    found, known = zip(*values(), strict=True)
    near_0 = max(1e-14, 1e-5 * tolerance)
    assert np.array(found, float) == pytest.approx(np.array(known), rel=tolerance, abs=near_0)
    counted = dict(re.findall(r"^\| ([\w ,-]+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE))
    assert len(found) == int(counted[name]) >= 40
