"""Stations with general service, impatience, breakdowns, sharing, and orders by size."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from tests.examples import examples
from tests.oracles import queueing_markov as markov
from workloadkit.queueing import (
    QueueingError,
    batches,
    breakdowns,
    bulk_service,
    closed,
    closed_priorities,
    dps,
    fb,
    fork_join,
    ggc,
    impatient,
    mg1,
    mgc,
    mm1,
    mmc,
    mmck,
    priorities,
    ps,
    sjf,
    srpt,
    vacations,
)
from workloadkit.queueing.stations.approximate import _GGC, _MGC


def mean_wait(lam, c, scv, most):
    """M/PH/c with mean 1: balanced hyperexponential, or Erlang; state: waiting, jobs by phase."""
    if scv > 1:
        p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
        start, rates, onward = [p, 1 - p], [2 * p, 2 * (1 - p)], False
    else:
        phases = round(1 / scv)
        start, rates, onward = [1.0] + [0.0] * (phases - 1), [phases] * phases, True

    def begun(waiting, phases, weight):
        for k, share in enumerate(start):
            if share:
                to = list(phases)
                to[k] += 1
                yield (waiting, *to), weight * share

    def moves(state):
        waiting, *phases = state
        if sum(phases) < c:
            yield from begun(0, phases, lam)
        elif waiting < most:
            yield (waiting + 1, *phases), lam
        for k, jobs in enumerate(phases):
            if not jobs:
                continue
            left = list(phases)
            left[k] -= 1
            if onward and k + 1 < len(phases):
                left[k + 1] += 1
                yield (waiting, *left), jobs * rates[k]
            elif waiting:
                yield from begun(waiting - 1, left, jobs * rates[k])
            else:
                yield (0, *left), jobs * rates[k]

    shares = markov.stationary_floats((0, *[0] * len(start)), moves)
    return markov.mean(shares, lambda s: s[0]) / lam


def test_general_service_is_near_its_chain():
    for scv, error in ((0.5, -0.0066), (2.0, 0.0173)):
        known = mean_wait(1.6, 2, scv, 150)
        assert mgc(1.6, 1, scv, 2).W / known - 1 == pytest.approx(error, abs=1e-3)
    known = general_arrivals(0.9, 1, 0.5, 200)
    assert ggc(0.9, 1, 0.5, 1, 1).W / known - 1 == pytest.approx(0.012, abs=1e-3)


@pytest.mark.slow
def test_the_errors_of_general_service_are_as_stated():
    worst = {"W": 0.0, "R": 0.0}
    for c, load, most in ((2, 0.3, 60), (2, 0.8, 300), (4, 0.7, 250), (8, 0.5, 150)):
        for scv in (0.25, 0.5, 4.0, 9.0):
            if c == 8 and scv < 0.5:
                continue
            known = mean_wait(load * c, c, scv, most * (3 if scv > 1 else 1))
            found = mgc(load * c, 1, scv, c)
            worst["W"] = max(worst["W"], abs(found.W / known - 1))
            worst["R"] = max(worst["R"], abs(found.R / (1 + known) - 1))
    for name, error in worst.items():
        assert _MGC.error[name] / 3 < error < _MGC.error[name], worst


def general_arrivals(lam, c, scv, most=800):
    """W of GI/M/c with mean service 1, by the chain of phases and numbers, cut far above."""
    if scv < 1:
        phases = round(1 / scv)
        start, rates, onward = [1.0] + [0.0] * (phases - 1), [phases * lam] * phases, True
    else:
        p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
        start, rates, onward = [p, 1 - p], [2 * p * lam, 2 * (1 - p) * lam], False

    def moves(state):
        phase, n = state
        if onward and phase + 1 < len(start):
            yield (phase + 1, n), rates[phase]
        elif n < most:
            for k, share in enumerate(start):
                if share:
                    yield (k, n + 1), rates[phase] * share
        if n:
            yield (phase, n - 1), min(n, c)

    shares = markov.stationary_floats((0, 0), moves)
    return markov.mean(shares, lambda s: max(s[1] - c, 0)) / lam


@pytest.mark.slow
def test_the_errors_of_general_arrivals_are_as_stated():
    worst = {"W": 0.0, "R": 0.0}
    for c, load in ((1, 0.3), (1, 0.9), (2, 0.5), (4, 0.8)):
        for scv in (0.25, 0.5, 2.0, 4.0):
            known = general_arrivals(load * c, c, scv)
            found = ggc(load * c, 1, scv, 1, c)
            worst["W"] = max(worst["W"], abs(found.W / known - 1))
            worst["R"] = max(worst["R"], abs(found.R / (1 + known) - 1))
    for name, error in worst.items():
        assert _GGC.error[name] / 3 < error < _GGC.error[name], worst


def test_general_laws_meet_the_exact_models():
    lam = np.array([0.2, 0.9])
    assert mgc(lam, 1, 3, 1).W == pytest.approx(mg1(lam, 1, 3).W, rel=1e-13)
    assert mgc(lam * 5, 1, 1, 5).W == pytest.approx(mmc(lam * 5, 1, 5).W, rel=1e-13)
    assert ggc(lam * 5, 1, 1, 1, 5).W == pytest.approx(mmc(lam * 5, 1, 5).W, rel=1e-13)
    assert ggc(lam, 1, 1, 3, 1).W == pytest.approx(mg1(lam, 1, 3).W, rel=1e-13)
    assert ggc(0.9, 1, 0, 0, 1).W == 0
    # Krämer and Langenbach-Belz for D/M/1 at .8, by hand
    assert ggc(0.8, 1, 0, 1, 1).W == pytest.approx(2 * np.exp(-2 * 0.2 / 2.4), rel=1e-13)
    with pytest.raises(QueueingError, match="scv does not determine"):
        mgc(0.9, 1, 2, 2).sf(1)


@pytest.mark.parametrize(
    ("lam", "c", "patience"), [("3/2", 1, "2"), ("5", 3, "1/2"), ("1", 2, "9")]
)
def test_impatience_is_its_chain_in_fractions(lam, c, patience):
    lam, patience = Fraction(lam), Fraction(patience)
    weights = [Fraction(1)]
    for n in range(1, 90):
        weights.append(weights[-1] * lam / (min(n, c) + Fraction(max(n - c, 0)) / patience))
    at = [w / sum(weights) for w in weights]
    Lq = sum(max(n - c, 0) * p for n, p in enumerate(at))
    found = impatient(float(lam), 1, c, float(patience))
    assert found.Lq == pytest.approx(float(Lq), rel=1e-12)
    assert found.p_abandon == pytest.approx(float(Lq / patience / lam), rel=1e-12)
    assert found.X == pytest.approx(float(sum(min(n, c) * p for n, p in enumerate(at))), rel=1e-12)
    assert found.p_wait == pytest.approx(float(sum(at[c:])), rel=1e-12)
    assert found.pmf([0, 3]) == pytest.approx([float(at[0]), float(at[3])], rel=1e-12)
    assert found.check() < 1e-13


def test_patience_has_its_limits():
    patient, hasty = impatient(1.5, 1, 2, 1e9), impatient(3.0, 1, 2, 1e-12)
    assert patient.W == pytest.approx(mmc(1.5, 1, 2).W, rel=1e-6)
    assert hasty.p_abandon == pytest.approx(mmck(3.0, 1, 2, 2).p_loss, rel=1e-9)
    assert impatient(50_000.0, 1, 40_000, 1).Q == pytest.approx(50_000, rel=1e-10)
    alone = impatient(0, 2, 1, 1)
    assert (alone.R, alone.X, alone.p_abandon) == (2, 0, 0)
    slope = impatient(1.5, 1, 2, 3).derivative("Lq", "patience")
    near = [impatient(1.5, 1, 2, 3 + h).Lq for h in (-1e-4, 1e-4)]
    assert slope == pytest.approx((near[1] - near[0]) / 2e-4, rel=1e-6)
    with pytest.raises(QueueingError, match="patience is 0; it must be finite, above 0"):
        impatient(1, 1, 1, 0)


def test_breakdowns_are_their_chain():
    lam, S, up, down = 0.5, 0.8, 7.0, 2.0

    def moves(state):
        works, n = state
        yield (1 - works, n), 1 / up if works else 1 / down
        if n < 400:
            yield (works, n + 1), lam
        if works and n:
            yield (works, n - 1), 1 / S

    shares = markov.stationary_floats((1, 0), moves)
    found = breakdowns(lam, S, up, down)
    assert found.Q == pytest.approx(markov.mean(shares, lambda s: s[1]), rel=1e-9)
    assert found.p_wait == pytest.approx(1 - shares[1, 0], rel=1e-9)
    assert found.available == pytest.approx(7 / 9)
    assert breakdowns(0.5, 1, 5, 0).R == pytest.approx(mm1(0.5, 1).R, rel=1e-13)
    with pytest.raises(QueueingError, match=r"lam is 1; it must be below up / \(up \+ down\)"):
        breakdowns(1, 0.8, 7, 2)


def test_batches_are_their_chain():
    lam, S, sizes = 0.15, 0.8, {1: 0.5, 2: 0.2, 5: 0.3}

    def moves(n):
        if n < 300:
            for size, p in sizes.items():
                yield n + size, lam * p
        if n:
            yield n - 1, 1 / S

    mean, second = (sum(p * b**k for b, p in sizes.items()) for k in (1, 2))
    found = batches(lam, S, 1, mean, second / mean**2 - 1)
    shares = markov.stationary_floats(0, moves)
    assert found.Q == pytest.approx(markov.mean(shares, lambda n: n), rel=1e-9)
    assert found.p_wait == pytest.approx(1 - shares[0] / mean, rel=1e-9)
    assert batches(0.5, 1, 3, 1, 0).R == pytest.approx(mg1(0.5, 1, 3).R, rel=1e-13)
    with pytest.raises(QueueingError, match=r"lam is 0.5; it must be below 1 / \(size S\)"):
        batches(0.5, 1, 1, 2, 0)


def test_vacations_are_their_chain():
    lam, S, away = 0.4, 1.2, 3.0

    def moves(state):
        here, n = state
        if n < 300:
            yield (here, n + 1), lam
        if here:
            yield (n > 1, n - 1), 1 / S
        elif n:
            yield (True, n), 1 / away

    shares = markov.stationary_floats((False, 0), moves)
    found = vacations(lam, S, 1, away, 1)
    assert found.Q == pytest.approx(markov.mean(shares, lambda s: s[1]), rel=1e-9)
    assert vacations(lam, S, 4, 0, 1).R == pytest.approx(mg1(lam, S, 4).R, rel=1e-13)
    assert (found.p_wait, vacations(lam, S, 4, 0, 1).p_wait) == (1, lam * S)


def exponential(order, lam, x):
    """The textbooks' R(x) for exponential service of mean 1."""
    rho = lam * (1 - np.exp(-x) * (1 + x))
    if order == "srpt":
        second = 2 - np.exp(-x) * (x * x + 2 * x + 2) + x * x * np.exp(-x)
        inside = quad(lambda t: 1 / (1 - lam * (1 - np.exp(-t) * (1 + t))), 0, x)[0]
        return lam * second / 2 / (1 - rho) ** 2 + inside
    if order == "sjf":
        return lam / (1 - rho) ** 2 + x
    cut = lam * (1 - np.exp(-x))
    second = 2 - np.exp(-x) * (2 * x + 2)
    return lam * second / 2 / (1 - cut) ** 2 + x / (1 - cut)


@pytest.mark.parametrize(("order", "model"), [("srpt", srpt), ("sjf", sjf), ("fb", fb)])
def test_orders_by_size_are_the_textbooks(order, model):
    for lam in (0.3, 0.9):
        found = model(lam, 1)
        for x in (0.1, 1.0, 4.0):
            assert found.of_size(x) == pytest.approx(exponential(order, lam, x), rel=1e-9)
        mean = quad(lambda x, a=lam: exponential(order, a, x) * np.exp(-x), 0, 60, limit=200)[0]
        assert found.R == pytest.approx(mean, rel=1e-7)


@examples(25)
@given(load=st.floats(0.01, 0.98), scv=st.floats(0.1, 20), S=st.floats(0.01, 100))
def test_orders_by_size_have_their_order(load, scv, S):
    lam = load / S
    best, shortest, fair, plain = srpt(lam, S, scv), sjf(lam, S, scv), ps(lam, S), mg1(lam, S, scv)
    foreground = fb(lam, S, scv)
    assert S * (1 - 1e-9) <= best.R <= min(shortest.R, fair.R, foreground.R) * (1 + 1e-7)
    assert shortest.R <= plain.R * (1 + 1e-7)
    assert (
        (foreground.R <= fair.R * (1 + 1e-7)) if scv >= 1 else (foreground.R >= fair.R * (1 - 1e-7))
    )
    one = fb(lam, S, 1)
    assert one.R == pytest.approx(mm1(lam, S).R, rel=1e-7)
    assert srpt(1e-9 / S, S, scv).R == pytest.approx(S, rel=1e-5)


def test_shortest_first_is_priority_by_size():
    """Many narrow classes of sizes, each a priority."""
    edges = np.concatenate([np.linspace(0, 12, 1500), [60]])
    mass = np.exp(-edges[:-1]) - np.exp(-edges[1:])
    first = (edges[:-1] + 1) * np.exp(-edges[:-1]) - (edges[1:] + 1) * np.exp(-edges[1:])
    S = first / mass
    found = priorities(0.8 * mass, S, scv=0.0)
    assert (found.R * mass).sum() == pytest.approx(sjf(0.8, 1).R, rel=1e-3)


def test_sharing_by_weights_is_its_chain():
    lam, S, weight = (0.3, 0.25), (0.8, 1.6), (3.0, 1.0)

    def moves(state):
        total = sum(w * n for w, n in zip(weight, state, strict=True))
        for k in range(2):
            to = list(state)
            if state[k] < 60:
                to[k] += 1
                yield tuple(to), lam[k]
            if state[k]:
                to = list(state)
                to[k] -= 1
                yield tuple(to), weight[k] * state[k] / total / S[k]

    shares = markov.stationary_floats((0, 0), moves)
    expected = [markov.mean(shares, lambda s, k=k: s[k]) / lam[k] for k in range(2)]
    assert dps(lam, S, weight).R == pytest.approx(expected, rel=1e-7)


def tasks_there(load, count, most):
    """Mean number of jobs of `count` tasks: as many as tasks in the longest queue."""

    def moves(state):
        if max(state) < most:
            yield tuple(n + 1 for n in state), load
        for k in range(count):
            if state[k]:
                yield tuple(n - (j == k) for j, n in enumerate(state)), 1.0

    return markov.mean(markov.stationary_floats((0,) * count, moves), max)


def test_jobs_of_tasks_lie_between_their_bounds():
    for load, count, most in ((0.3, 3, 12), (0.1, 4, 6)):
        R = tasks_there(load, count, most) / load
        found = fork_join(load, 1, count)
        assert found.R_low < R < found.R_high
        assert 0.001 < 1 - found.R / R < 0.01  # of the stated 0.05
    alone, two = fork_join(0.7, 2 / 3, 1), fork_join(0.7, 1, 2)
    assert alone.R == alone.R_low == alone.R_high == pytest.approx(mm1(0.7, 2 / 3).R, rel=1e-14)
    assert two.exactness == "exact, two queues"
    heavy = fork_join(1 - 1e-9, 1, 2)  # 11/12 of independent queues
    assert heavy.R / heavy.R_high == pytest.approx(11 / 12, rel=1e-6)
    assert fork_join(1e-12, 1, [3, 4]).R == pytest.approx([11 / 6, 25 / 12])  # H of them
    with pytest.raises(QueueingError, match=r"tasks is 1\.5; it must be a whole number"):
        fork_join(0.5, 1, 1.5)


@pytest.mark.slow
def test_the_error_of_many_tasks_is_as_stated():
    worst = 0.0
    for load, count in ((0.4, 4), (0.7, 4), (0.9, 8), (0.7, 16), (0.7, 32)):
        rng = np.random.default_rng(1)
        work, total, runs = np.zeros((400, count)), np.zeros(400), 6000
        for job in range(runs + 1500):
            work += rng.exponential(size=work.shape)
            if job >= 1500:
                total += work.max(axis=1)
            work = np.maximum(work - rng.exponential(1 / load, (400, 1)), 0)
        mean, error = total.mean() / runs, total.std(ddof=1) / 20 / runs
        found = fork_join(load, 1, count)
        worst = max(worst, abs(found.R / mean - 1) + 2 * error / mean)
        assert found.R_low < mean + 4 * error and mean - 4 * error < found.R_high
    assert 0.05 / 3 < worst < 0.05


def test_measures_keep_to_the_laws_of_their_definitions():
    for found in (
        mgc(1.4, 1, 2, 2), ggc(1.4, 1, 0.5, 2, 2), impatient(2.5, 1, 2, 2), mmck(2, 1, 2, 4),
        breakdowns(0.4, 1, 9, 1), batches(0.2, 1, 2, 2, 0.5), vacations(0.6, 1, 2, 2, 0.5),
        bulk_service(1.5, 1, 3), fork_join(0.6, 1, [1, 5]), ps(0.6, 1), srpt(0.6, 1),
        mg1(0.6, 1, 2),
    ):  # fmt: skip
        assert np.max(found.check()) < 1e-12, found
    # arrivals at random find all servers busy as often as they are
    for found in (impatient(2.5, 1, 2, 2), bulk_service(1.5, 1, 3), mg1(0.6, 1, 2)):
        assert found.p_busy == pytest.approx(found.p_wait, rel=1e-13)
    for found in (srpt(0.6, 1.5), ps(0.6, 1.5)):
        assert found.p_busy == pytest.approx(0.9, rel=1e-14)
    for found in (bulk_service(1.5, 1, 3), fork_join(0.6, 1, 5)):
        assert found.moment(1) == found.R


def test_bulk_service_has_its_limits():
    for lam, S in ((0.5, 1), (0.3, 2), (0.9, 1)):
        for name in ("R", "Q", "U", "W", "Lq", "p_wait"):
            one = getattr(bulk_service(lam, S, 1), name)
            assert one == pytest.approx(getattr(mm1(lam, S), name), rel=1e-12), name
    assert bulk_service(0.5, 1, 2).derivative("R", "lam") == pytest.approx(
        (bulk_service(0.50001, 1, 2).R - bulk_service(0.49999, 1, 2).R) / 2e-5, rel=1e-8
    )
    every = bulk_service(3, 1, 10**6)  # if the server works, a job waits for the rest of a service
    assert every.W == pytest.approx(every.U, rel=1e-12)
    assert bulk_service(0, 2, 3).R == 2
    with pytest.raises(QueueingError, match="lam is 3; it must be below size / S"):
        bulk_service(3, 1, 3)


def test_closed_users_with_priorities_have_their_limits():
    for order in ("preemptive", "non-preemptive"):
        for N, c in ((4, 1), (6, 3)):
            one = closed_priorities(N, 5, 1.5, servers=c, order=order)
            assert one.R[0] == pytest.approx(closed(N, 5, 1.5, servers=c).R, rel=1e-12)
        same = closed_priorities([2, 3, 1], 5, 1.5, servers=2, order=order)
        assert same.Q.sum() == pytest.approx(closed(6, 5, 1.5, servers=2).Q, rel=1e-12)
        assert (np.diff(same.R) > 0).all() and same.exactness == "exact, Markov chain"
        assert same.X * (5 + same.R) == pytest.approx([2, 3, 1])
    # the first class does not see those that it interrupts
    first = closed_priorities([3, 9], [4, 1], [1, 2], order="preemptive")
    assert first.R[0] == pytest.approx(closed(3, 4, 1).R, rel=1e-12)
    # many users who think long are Poisson arrivals
    many = closed_priorities([40, 60], [200, 200], 1, order="preemptive")
    assert many.R == pytest.approx(priorities([0.2, 0.3], 1, order="preemptive").R, rel=0.04)
    for change, message in (
        ({"order": "fair"}, "order is 'fair'"),
        ({"N": [1, 2.5]}, r"N\[1\] is 2.5; it must be a whole number"),
        ({"Z": 0}, r"Z\[0\] is 0; it must be finite, above 0"),
        ({"N": [[1]]}, "it must be one class each"),
        ({"servers": [1, 2]}, r"servers is \[1, 2\]; it must be one number"),
        ({"N": []}, "N is empty; it must have a number for each class"),
        ({"N": [30, 30], "Z": [1e-6, 1e6], "S": [1e-3, 1e3]}, "class 1 is in service for less"),
        ({"Z": 1e-300, "S": 1e300}, "cannot be solved"),
        ({"Z": 1e-20, "S": 1e20}, "cannot be solved"),
        ({"N": [1000, 1000]}, "the chain has more than 400,000 states"),
    ):
        with pytest.raises(QueueingError, match=message):
            closed_priorities(**({"N": [1, 2], "Z": 5, "S": 1} | change))


def test_sharing_has_its_limits():
    assert ps(0.6, 1.5).of_size([0.5, 7]) == pytest.approx([5, 70], rel=1e-12)  # x / (1 - rho)
    assert ps(0.6, 1.5).derivative("R", "lam") == pytest.approx(1.5**2 / 0.1**2, rel=1e-6)
    lam, S = [0.3, 0.25], [0.8, 1.6]
    load = np.dot(lam, S)
    assert dps(lam, S, 5).R == pytest.approx(np.array(S) / (1 - load), rel=1e-12)
    assert dps(lam, S, [1e12, 1]).R == pytest.approx(
        priorities(lam, S, order="preemptive").R, rel=1e-9
    )
    for change, message in (
        ({"weight": [1, 0]}, "weight is 0; it must be above 0"),
        ({"lam": [1, 1]}, "lam: all classes together use 2.4 of 1 servers"),
    ):
        with pytest.raises(QueueingError, match=message):
            dps(**({"lam": lam, "S": S, "weight": 1} | change))
