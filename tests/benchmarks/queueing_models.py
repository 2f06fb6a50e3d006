"""How fast the queueing models are solved."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.benchmarks.measure import Row, best_of, in_turn
from workloadkit.queueing import breaks, closed, exponential, hyperbolic, mixed, reopen
from workloadkit.queueing.networks import convolution, linearizer, mva
from workloadkit.queueing.product_form import mean_values

ROUNDS = 5
POINTS = 1_000_000
GOAL = 0.6  # s, a million points
USERS = 1_000_000
GOAL_MVA = 0.05  # s
LOAD = 0.9  # of the chain
THINK = 20.0
GOAL_CHAIN = 0.05  # s
MANY_USERS = 100_000  # of several servers
SERVERS = 4


def rows() -> Iterator[Row]:
    """Solve a million points, many users by recursions, and chains of the re-open model."""
    yield from formulas()
    yield several_servers()
    yield recursion()
    yield from chains()
    yield from stations()


def anywhere(size: int) -> dict[str, np.ndarray]:
    """Points over all orders of magnitude: N to 10⁶, Z/S to 10⁹, lam S to 0.999999."""
    rng = np.random.default_rng(1)
    S = 10 ** rng.uniform(-3, 3, size)
    load = np.where(rng.random(size) < 0.5, rng.random(size), 1 - 10 ** -rng.uniform(0, 6, size))
    N = np.floor(10 ** rng.uniform(0, 6, size))
    return {"lam": load / S, "N": N, "Z": S * 10 ** rng.uniform(-3, 9, size), "S": S}


def formulas() -> Iterator[Row]:
    """Closed and mixed, next to scipy's incomplete gamma function of the same arguments."""
    from scipy.special import gammaincc

    points = anywhere(POINTS)
    lam, N, Z, S = points.values()
    alone = {"N": N, "Z": Z, "S": S}
    a, a_mixed = Z / S, Z * (1 / S - lam)
    for name, model, given, mean in (
        ("closed", closed, alone, a),
        ("mixed", mixed, points, a_mixed),
    ):
        (time, result), (peer, _) = in_turn(
            ROUNDS,
            lambda model=model, given=given: model(**given),
            lambda mean=mean: gammaincc(N, mean),
        )
        assert result.check().max() < 1e-13
        yield Row(
            f"a million points of the {name} model", "N to 10⁶, Z/S to 10⁹", f"{time:.2f} s",
            f"{time / peer:.1f} × scipy's gammaincc of them", f"≤ {GOAL:g} s", time <= GOAL,
        )  # fmt: skip


def several_servers() -> Row:
    """A hundred thousand users of four servers, next to the sum of all their states."""
    Z = MANY_USERS / SERVERS
    closed(10, 1, 1, SERVERS)  # compiles
    (time, result), (peer, X) = in_turn(
        ROUNDS, lambda: closed(MANY_USERS, Z, 1, SERVERS), lambda: summed(MANY_USERS, Z, SERVERS)
    )
    assert result.X == pytest.approx(X, rel=1e-8)
    return Row(
        "a hundred thousand users of four servers", "near saturation", f"{1000 * time:.1f} ms",
        f"{time / peer:.1f} × the sum of all states by logarithms in numpy", "", True,
    )  # fmt: skip


def summed(users: int, Z: float, servers: int) -> float:
    """Throughput from the weights of all states, with the digits that their logarithms have."""
    n = np.arange(1, users + 1)
    steps = np.log((users - n + 1) / (Z * np.minimum(n, servers)))
    weights = np.concatenate(([0], np.cumsum(steps)))
    share = np.exp(weights - weights.max())
    return (np.minimum(np.arange(users + 1), servers) * share).sum() / share.sum()


def recursion() -> Row:
    """Mean value analysis of a million users."""
    closed(10, 1, 1, method="mva")  # compiles
    time, result = best_of(ROUNDS, lambda: closed(USERS, USERS, 1, method="mva"))
    plain, (_, R, _) = best_of(1, lambda: mean_values(USERS, float(USERS), 1.0))
    assert result.R == pytest.approx(closed(USERS, USERS, 1).R, rel=1e-11) == pytest.approx(R)
    return Row(
        "mean value analysis, a million users", "", f"{1000 * time:.0f} ms",
        f"{plain / time:.0f} × faster than plain Python", f"≤ {1000 * GOAL_MVA:g} ms",
        time <= GOAL_MVA,
    )  # fmt: skip


def chains() -> Iterator[Row]:
    """The chain of the re-open model, next to scipy's sparse elimination of the same generator."""
    for name, p in (("e^-r", exponential(1)), ("0.8/(0.5r+1)", hyperbolic(0.8, 0.5))):
        (time, result), (peer, X) = in_turn(
            ROUNDS, lambda p=p: reopen(LOAD, p, THINK, 1), lambda p=p: eliminated(p)
        )
        assert result.X == pytest.approx(X, rel=1e-6)
        yield Row(
            f"the chain of the re-open model at lam = {LOAD:g}, p = {name}", f"Z = {THINK:g}",
            f"{time * 1e3:.0f} ms", f"{time / peer:.2f} × scipy's sparse elimination",
            f"≤ {GOAL_CHAIN * 1e3:.0f} ms", time <= GOAL_CHAIN,
        )  # fmt: skip
    time, _ = best_of(3, lambda: reopen(LOAD, exponential(1), breaks(1, THINK, 3), 1))
    yield Row(
        "the same with short and long think times, p = e^-r", f"Z = 1 or {THINK:g}",
        f"{time * 1e3:.0f} ms",
    )  # fmt: skip


def stations() -> Iterator[Row]:
    """Networks of stations: a million jobs of one class, and three classes at many servers."""
    demands, classes = [0.5, 1.0, 0.3], [[1, 2, 3.0], [2, 1, 1], [0.5, 0.5, 0.5]]
    mva(demands, 10)  # compiles
    time, result = best_of(3, lambda: mva(demands, USERS, USERS))
    other, exact = best_of(1, lambda: convolution(demands, USERS, USERS))
    assert result.X == pytest.approx(exact.X, rel=1e-11)
    yield Row(
        "mean value analysis of three stations, a million jobs", "", f"{1000 * time:.0f} ms",
        f"{other / time:.0f} × faster than by convolution",
    )  # fmt: skip
    time, result = best_of(3, lambda: mva(classes, [30] * 3, 1.0, servers=[1, 2, 4]))
    near, other = best_of(3, lambda: linearizer(classes, [30] * 3, 1.0, servers=[1, 2, 4]))
    assert other.X == pytest.approx(result.X, rel=0.2)
    yield Row(
        "three classes of 30 jobs at 1, 2 and 4 servers, exactly", "", f"{1000 * time:.0f} ms",
        f"{time / near:.1f} × Linearizer",
    )  # fmt: skip


def eliminated(p, jobs: int = 350, thinking: int = 40) -> float:
    """X by a generator with so many jobs at the server, and users who think, at most."""
    from scipy.sparse import diags, identity, kron
    from scipy.sparse.linalg import splu

    from workloadkit.queueing.reopening.thinkers import averages

    again = averages(p, 1.0, jobs)
    arrive = diags([np.ones(jobs)], [1])
    leave, think = diags([1 - again], [-1]), diags([again], [-1])
    wake = diags([np.arange(1, thinking + 1) / THINK], [-1])
    more = diags([np.ones(thinking)], [1])
    nobody = identity(thinking + 1)
    flows = kron(arrive, LOAD * nobody + wake) + kron(leave, nobody) + kron(think, more)
    flows = (flows - diags([np.asarray(flows.sum(axis=1)).ravel()], [0])).T.tocsc()
    # all flows are balanced where all but the first are
    rest = splu(flows[1:, 1:]).solve(-flows[1:, :1].toarray().ravel())
    share = np.concatenate([[1.0], rest]).reshape(jobs + 1, thinking + 1).sum(axis=1)
    return float(share[1:].sum() / share.sum())
