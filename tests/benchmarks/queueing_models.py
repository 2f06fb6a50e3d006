"""How fast the queueing models are solved."""

from collections.abc import Iterator

import numpy as np
import pytest

from queueing import closed, mixed
from queueing.recursion import mean_values
from tests.benchmarks.measure import Row, best_of, in_turn

ROUNDS = 5
POINTS = 1_000_000
GOAL = 0.6  # s, a million points
USERS = 1_000_000
GOAL_MVA = 0.05  # s


def rows() -> Iterator[Row]:
    """Solve a million points, and a million users by recursion."""
    yield from formulas()
    yield recursion()


def anywhere(size: int) -> dict[str, np.ndarray]:
    """Points over all orders of magnitude: N to 10⁶, Z/S to 10⁹, lam S to 0.999999."""
    rng = np.random.default_rng(1)
    S = 10 ** rng.uniform(-3, 3, size)
    load = np.where(rng.random(size) < 0.5, rng.random(size), 1 - 10 ** -rng.uniform(0, 6, size))
    N = np.floor(10 ** rng.uniform(0, 6, size))
    return {"lam": load / S, "N": N, "Z": S * 10 ** rng.uniform(-3, 9, size), "S": S}


def formulas() -> Iterator[Row]:
    """Closed and mixed, beside scipy's incomplete gamma function of the same arguments."""
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
