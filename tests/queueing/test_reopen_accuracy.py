"""How far each method of the re-open model is off: against long simulations, over a grid.

Both functions of the thesis, lam from 0.1 to 0.95, Z from 0 to 20, one server, S = 1. What
`Exactness` states must hold at every point, within 4 standard errors of the simulation.
"""

from typing import NamedTuple

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.queueing import QueueingError, exponential, hyperbolic, reopen
from workloadkit.queueing.reopening.model import EXACTNESS

FORMS = {"exp:1": exponential(1), "zakay": hyperbolic(0.8, 0.5)}
RUNS = 8
#: Jobs of a run by lam: at high load responses take long to forget.
JOBS = {0.1: 125_000, 0.3: 125_000, 0.5: 125_000, 0.7: 125_000, 0.9: 250_000, 0.95: 500_000}


class Measured(NamedTuple):
    """Mean over runs, and its standard error."""

    mean: float
    error: float


def simulated(lam, again, Z):
    """X, R, Q and R_first of long runs.

    Each run is corrected for its own rate of arrivals and mean run time, whose true values are
    known, with the slopes that the chain has there: the mean stays the same, the error falls.
    """
    h = 0.01 * (1 - lam)
    near = reopen([lam - h, lam + h, lam, lam], FORMS[again], Z, [1, 1, 1 - h, 1 + h])
    rows = {name: [] for name in ("X", "R", "Q", "R_first")}
    for rng in np.random.default_rng([int(100 * lam), int(Z), again == "zakay"]).spawn(RUNS):
        users = wk.users.Reopen(lam, again, Z, jobs=JOBS[lam])
        jobs = wk.simulate(None, "fcfs", users, procs=1, rng=rng).jobs
        last = jobs["submit"].max()
        begin, end = 0.05 * last, 0.98 * last
        jobs = jobs[(jobs["submit"] >= begin) & (jobs["submit"] < end)]
        first = jobs[jobs["visit"] == 0]
        found = {"X": len(jobs) / (end - begin), "R": jobs["response"].mean()}
        found |= {"Q": found["X"] * found["R"], "R_first": first["response"].mean()}
        for name, value in found.items():
            low, high, short, long = getattr(near, name)
            faster = (high - low) / (2 * h) * (len(first) / (end - begin) - lam)
            longer = (long - short) / (2 * h) * (jobs["run"].mean() - 1)
            rows[name].append(value - faster - longer)
    return {k: Measured(np.mean(v), np.std(v, ddof=1) / RUNS**0.5) for k, v in rows.items()}


def differences(lam, again, Z):
    """Relative error of each method and measure, beside the relative standard error."""
    truth = simulated(lam, again, Z)
    found = {}
    for method in ("chain", "mm1", "mean", "fluid"):
        try:
            answer = reopen(lam, FORMS[again], Z, 1, method=method)
        except QueueingError:  # the queue is too short for "fluid"
            continue
        for name, (mean, error) in truth.items():
            found[method, name] = getattr(answer, name) / mean - 1, error / mean
    return found


@pytest.mark.slow
@pytest.mark.parametrize("again", FORMS)
@pytest.mark.parametrize("Z", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("lam", JOBS)
def test_no_method_is_further_off_than_it_states(lam, Z, again):
    for (method, name), (apart, error) in differences(lam, again, Z).items():
        stated = EXACTNESS[method].error[name]
        assert abs(apart) <= stated + 4 * error, (method, name)


@pytest.mark.slow
def test_the_total_rate_is_as_far_off_as_its_documentation_shows():
    found = differences(0.9, "zakay", 1.0)
    assert abs(found["mm1", "X"][0]) < 0.02
    assert 1.0 < found["mm1", "R"][0] < 1.5
