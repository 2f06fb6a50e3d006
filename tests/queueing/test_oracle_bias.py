"""Runs of jobs after which users go on, against quadrature and plain simulation."""

import itertools
import math

import numpy as np
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_reopen as oracle
from tests.oracles.queueing_simulation import simulate
from workloadkit.queueing import exponential, hyperbolic, reopen

SHAPES = {
    "exponential": (exponential(1.0), lambda r: np.exp(-r)),
    "hyperbola": (hyperbolic(0.8, 0.5), lambda r: 0.8 / (0.5 * r + 1)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("lam", "Z", "S", "c"), [(0.3, 1.0, 1.0, 1), (0.2, 0.0, 1.4, 1), (0.8, 2.0, 1.0, 2)]
)
def test_runs_of_followed_and_last_jobs_against_quadrature(shape, lam, Z, S, c):
    form, p = SHAPES[shape]
    law = chains.reopen(lam, oracle.chances_behind(p, S, c), Z, S, c, most=60, thinking=30)
    left = chains.tilted(law, lambda s: min(s[0], c), lambda s: s[0] - 1)
    known = oracle.followed_runs(p, left, S, c)
    found = reopen(lam, form, Z, S, servers=c).continuation()
    share = known["share"]
    assert found.share_followed == pytest.approx(share, rel=1e-8)
    assert found.run_mean("followed") == pytest.approx(known["run"], rel=1e-8)
    assert found.run_mean("last") == pytest.approx(
        (S - share * known["run"]) / (1 - share), rel=1e-8
    )
    assert found.R("followed") == pytest.approx(known["response"], rel=1e-8)
    assert found.run_sf(S, "followed") == pytest.approx(known["long"], rel=1e-7)
    longer = (math.exp(-1) - share * known["long"]) / (1 - share)
    assert found.run_sf(S, "last") == pytest.approx(longer, rel=1e-7)
    assert found.run_cdf(S, "last") == pytest.approx(1 - longer, rel=1e-7)
    step = 1e-4 * S
    slope = (found.run_cdf(S + step, "followed") - found.run_cdf(S - step, "followed")) / (2 * step)
    assert found.run_pdf(S, "followed") == pytest.approx(slope, rel=1e-5)


def test_total_rate_and_chances_that_fall_exponentially():
    """Who goes on with e^(-theta r) had runs at the rate mu + theta, responses at eta + theta."""
    model = reopen(0.5, exponential(0.7), 3.0, 1.0, method="mm1")
    found = model.continuation()
    assert found.run_mean("followed") == pytest.approx(1 / 1.7, rel=1e-10)
    assert found.run_sf(2.0, "followed") == pytest.approx(math.exp(-3.4), rel=1e-9)
    assert found.R("followed") == pytest.approx(1 / (1 - model.X + 0.7), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("lam", "Z"), [(0.3, 1.0), (0.8, 1.0)])
@pytest.mark.parametrize("shape", SHAPES)
def test_runs_in_a_simulation(shape, lam, Z):
    form, p = SHAPES[shape]
    jobs = simulate(lam, lambda r: float(p(r)), lambda r: Z, 1.0, jobs=420_000, seed=5)
    table = np.array(list(itertools.islice(jobs, 20_000, None)), dtype=float)
    goes_on = table[:, 5] == 1
    found = reopen(lam, form, Z, 1.0).continuation()
    for job, chosen in (("followed", goes_on), ("last", ~goes_on)):
        runs = table[chosen, 2]
        error = runs.std() / math.sqrt(runs.size)
        assert abs(found.run_mean(job) - runs.mean()) < 4 * error + 0.01 * runs.mean()
        error = table[chosen, 1].std() / math.sqrt(runs.size / 50)  # responses go together
        assert abs(found.R(job) - table[chosen, 1].mean()) < 4 * error + 0.023 * found.R(job)
