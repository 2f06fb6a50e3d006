"""The approximations against long plain simulations: within their stated errors and the chance."""

import itertools
import math

import numpy as np
import pytest

from tests.oracles.queueing_simulation import simulate
from workloadkit.queueing import breaks, exponential, hyperbolic, mixed, reopen

pytestmark = pytest.mark.slow

PLAIN = {
    "exponential": (exponential(1.0), lambda r: math.exp(-r)),
    "hyperbola": (hyperbolic(0.8, 0.5), lambda r: 0.8 / (0.5 * r + 1)),
}


def simulated(*args, batches=20, size=30_000, **more):
    """Mean and standard error of X and R over batches of jobs, by kind of user; first jobs' R."""
    jobs = simulate(*args, jobs=(batches + 2) * size, **more)
    start = next(itertools.islice(jobs, 2 * size - 1, None))[0]
    rows = []
    for _ in range(batches):
        batch = np.array(list(itertools.islice(jobs, size)))
        length = batch[-1, 0] - start
        start = batch[-1, 0]
        kinds = [batch[batch[:, 3] == kind] for kind in (0, 1)]
        first = kinds[0][kinds[0][:, 4] == 0]
        row = [len(kinds[0]) / length, kinds[0][:, 1].mean(), first[:, 1].mean()]
        closed = kinds[1]
        row += [len(closed) / length, closed[:, 1].mean() if len(closed) else np.nan]
        rows.append(row)
    mean, error = np.mean(rows, 0), np.std(rows, 0, ddof=1) / math.sqrt(batches)
    names = ("X", "R", "R_first", "Xc", "Rc")
    return {name: (mean[i], error[i]) for i, name in enumerate(names)}


def within(found, simulation, stated):
    mean, error = simulation
    assert abs(found - mean) <= 4 * error + stated * mean, (found, mean, error)


@pytest.mark.parametrize("shape", PLAIN)
@pytest.mark.parametrize(("lam", "Z"), [(0.3, 0.0), (0.5, 1.0), (0.8, 5.0), (0.7, 20.0)])
def test_chain(shape, lam, Z):
    form, p = PLAIN[shape]
    result = reopen(lam, form, Z, 1.0)
    known = simulated(lam, p, lambda r: Z, 1.0)
    within(result.X, known["X"], result.exactness.error["X"])
    within(result.R, known["R"], result.exactness.error["R"])
    within(result.R_first, known["R_first"], result.exactness.error["R_first"])


@pytest.mark.parametrize("c", [2, 4])
@pytest.mark.parametrize("shape", PLAIN)
def test_chain_with_servers(shape, c):
    form, p = PLAIN[shape]
    result = reopen(0.7 * c, form, 2.0, 1.0, servers=c)
    known = simulated(0.7 * c, p, lambda r: 2.0, 1.0, c=c)
    within(result.X, known["X"], result.exactness.error["X"])
    within(result.R, known["R"], result.exactness.error["R"])


@pytest.mark.parametrize("shape", PLAIN)
def test_short_and_long_think_times(shape):
    form, p = PLAIN[shape]
    result = reopen(0.5, form, breaks(1.0, 15.0, 2.0), 1.0)
    known = simulated(0.5, p, lambda r: 1.0 if r <= 2.0 else 15.0, 1.0)
    within(result.X, known["X"], result.exactness.error["X"])
    within(result.R, known["R"], result.exactness.error["R"])


@pytest.mark.parametrize("shape", PLAIN)
def test_closed_users_next_to_those_who_may_go_on(shape):
    form, p = PLAIN[shape]
    result = mixed(0.3, 5, 8.0, 1.0, p=form)
    known = simulated(0.3, p, lambda r: 8.0, 1.0, N=5)
    error = result.exactness.error
    within(result.Xo, known["X"], error["Xo"])
    within(result.Ro, known["R"], error["Ro"])
    within(result.Xc, known["Xc"], error["Xc"])
    within(result.Rc, known["Rc"], error["Rc"])


def test_think_times_alike_for_any_law_where_chances_are_constant():
    result = reopen(0.4, 0.4, 7.0, 1.0)
    known = simulated(0.4, lambda r: 0.4, lambda r: 7.0, 1.0)
    within(result.X, known["X"], 0.0)
    within(result.R, known["R"], 0.0)
    within(result.R_first, known["R_first"], 0.0)
