"""Times with decimals have no unit: a log in other units has the same schedule in those units."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, agree, daily
from tests.data import needs_compiler
from tests.examples import examples
from tests.oracles.scheduling import schedule

#: Policies without a time among their parameters, or with one that has no effect.
WITHOUT_TIMES = (
    "fcfs",
    "easy",
    "easy:backfill=sjf,strict=yes",
    "easy:spare=none",
    "conservative",
    "conservative:compression=start",
    "conservative:compression=none",
    "reservations:3",
    "lookahead",
    "selective",
    "slack",
    "slack:cost=slowdown",
    "sjf",
    "ljf",
    "smallest",
    "largest",
    "wfp3",
    "unicef",
    "lcfs",
    "saf",
    "laf",
    "sqf",
    "lqf",
    "srf",
    "lrf",
    "exp",
    "sexp",
    "lxf",
    "order:score=-wait/estimate,backfill=estimate*procs",
    "order:score=estimate,backfill=sjf,reservations=2",
    "priority-fifo:queues=1/0",
    "creasy:alpha=0",
    "user-priority:alpha_user=1,by=load",
    "multi-queue:partitions=2",
    "genetic:window=5,individuals=6,generations=3",
    "recorded",
)

#: Why the schedules of other policies depend on the unit.
WITH_TIMES = {
    "f1": "the numbers of the score are those of seconds",
    "f2": "the same",
    "f3": "the same",
    "f4": "the same",
    "self-adaptive": "it decides every so many weeks",
}

#: Powers of two, by which products are exact; times stay decimals.
FACTORS = (2.0**-20, 2.0**-7, 0.5, 2.0, 2.0**10)

PREDICTORS = (
    None,
    "exact",
    "factor:0.5",
    "factor:2",
    "last-two",
    "last-two,correct=double",
    "user-average,correct=none",
    "same-job,correct=double",
    "quantile:q=0.5,window=4",
    "f-model:2",
)


def columns_of(seed, n_jobs=40):
    """Jobs whose times are multiples of a power of two, so that many are equal, and some are 0."""
    rng = np.random.default_rng(seed)
    unit, least = rng.choice([2.0**-13, 2.0**-11]), rng.integers(0, 2)
    times = {
        "submit": np.sort(rng.integers(0, rng.choice([5, 40, 200]), n_jobs)),
        "wait": rng.integers(0, 40, n_jobs),
        "run": rng.integers(least, 40, n_jobs),
        "requested_time": rng.integers(least, 40, n_jobs),
    }
    numbers = {
        "procs": rng.integers(1, 9, n_jobs),
        "user": rng.integers(1, 4, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    times["run"][0] |= 1  # odd, so that no factor makes all times whole
    return {name: values * unit for name, values in times.items()} | numbers


def in_units(columns, factor):
    """The same jobs with their times multiplied, as a log with utility functions."""
    times = ("submit", "wait", "run", "requested_time", "think_time")
    scaled = {name: v * factor if name in times else v for name, v in columns.items()}
    row = np.arange(columns["submit"].size)
    points = {
        "row": np.repeat(row, 2),
        "time": np.ravel([np.zeros(row.size), 3 * scaled["run"] + factor], "F"),
        "value": np.ravel([1.0 + row % 3, np.zeros(row.size)], "F"),
    }
    return replace(wk.Trace.from_columns(scaled), utility=pd.DataFrame(points))


def starts(columns, factor, scheduler, **how):
    """Starts in the unit of the columns, in both engines."""
    log = in_units(columns, factor)
    machine = {} if scheduler == "recorded" else {"procs": 8}
    return [
        (wk.simulate(log, scheduler, engine=engine, rng=1, **machine, **how).start / factor)
        for engine in ENGINES
    ]


def test_every_policy_is_without_times_or_has_a_reason():
    named = {policy.partition(":")[0] for policy in WITHOUT_TIMES}
    assert named | set(WITH_TIMES) == set(wk.schedulers.known())
    assert not named & set(WITH_TIMES)


@pytest.mark.parametrize("policy", daily(WITHOUT_TIMES, ["fcfs", "easy", "conservative", "sjf"]))
@given(
    st.integers(0, 2**20),
    st.sampled_from(FACTORS),
    st.sampled_from(["raise", "kill", "late"]),
    st.sampled_from(PREDICTORS),
)
@examples(12)
def test_starts_scale_with_the_unit(policy, seed, factor, overrun, predictor):
    columns, how = columns_of(seed), {"overrun": overrun}
    if policy == "recorded":
        how = {}
    elif predictor is not None:
        how["predictor"] = predictor
    one, other = starts(columns, 1.0, policy, **how)
    assert one.tolist() == other.tolist()
    for scaled in starts(columns, factor, policy, **how):
        assert scaled.tolist() == one.tolist()


@given(st.integers(0, 2**20), st.sampled_from(FACTORS), st.sampled_from(["user", "exact"]))
@examples(16)
def test_starts_scale_with_a_pass_after_each_event(seed, factor, estimates):
    how = {"passes": "event", "estimates": estimates}
    for policy in ("easy", "conservative", "sjf"):
        one, other = starts(columns_of(seed), 1.0, policy, **how)
        scaled = starts(columns_of(seed), factor, policy, **how)
        assert all((found == one).all() for found in (other, *scaled))


@pytest.mark.parametrize("users", daily(["closed", "dependent", "adjusted"], {"dependent"}))
@given(st.integers(0, 2**20), st.sampled_from(FACTORS[:4]))
@examples(8)
def test_users_of_a_log_react_alike_in_all_units(users, seed, factor):
    columns = columns_of(seed)  # all within the hour that separates sessions
    n_jobs = columns["submit"].size
    columns["preceding_job"] = np.where(np.arange(n_jobs) % 3, np.arange(n_jobs), -1)
    columns["think_time"] = columns["wait"]
    for predictor in (None, "same-job,correct=double"):
        how = {"users": users, "overrun": "late", "predictor": predictor}
        one, other = starts(columns, 1.0, "sjf", **how)
        scaled = starts(columns, factor, "sjf", **how)
        assert all((found == one).all() for found in (other, *scaled))


QUEUES = (
    "poisson:rate={rate},run={run},jobs=300",
    "poisson:rate={rate},run={run},law=fixed,procs=3,jobs=300",
    "think:users=7,think={think},run={run},jobs=300",
    "mixed:rate={rate},users=3,think={think},run={run},jobs=300",
    "reopen:rate={rate},again=0.5,think={think},run={run},jobs=300",
)


@pytest.mark.parametrize("users", daily(QUEUES, QUEUES[2:3]))
def test_queueing_users_have_no_unit(users):
    for policy in ("sjf", "easy:backfill=ljf", "conservative", "wfp3"):
        found = []
        for factor in (2.0**-12, 1.0, 2.0**8):
            text = users.format(rate=0.8 / factor, run=factor, think=3 * factor)
            for engine in ENGINES:
                how = {"procs": 3, "users": text, "engine": engine, "rng": 3}
                for predictor in (None, "last-two,correct=double"):
                    if predictor is None or policy == "sjf":
                        schedule = wk.simulate(None, policy, predictor=predictor, **how)
                        found.append((predictor, (schedule.start / factor).tolist()))
        for predictor, start in found:
            assert start == dict(found)[predictor]


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_the_checker_finds_the_same_in_all_units(policy):
    """As powers of two add up exactly, its verdict is that of whole seconds."""
    for seed in range(3):
        columns = columns_of(seed, 25)
        least = np.min(np.diff(np.unique(columns["submit"])))
        for factor in (2.0**-20, 1.0, 2.0**10):
            log = in_units(columns, factor)
            made = wk.simulate(log, policy, procs=8, engine="python")
            for by, verdict in ((0, "proved"), (least, "refuted")):
                start = made.start + by * factor * (np.arange(25) == 7)
                assert wk.check_schedule(log, replace(made, start=start)).verdict == verdict


def test_jobs_shorter_than_a_second_are_those_of_an_own_program():
    rng = np.random.default_rng(4)
    n_jobs = 400
    columns = {
        "submit": np.cumsum(rng.exponential(0.25, n_jobs)),
        "run": rng.exponential(0.4, n_jobs),
    }
    columns["requested_time"] = columns["run"] * rng.uniform(1, 3, n_jobs)
    columns["procs"] = rng.integers(1, 5, n_jobs)
    rows = [columns[name].tolist() for name in ("submit", "run", "requested_time", "procs")]
    for policy in ("easy", "conservative", "sjf"):
        expected = [start for start, _, _ in schedule(*rows, 4, policy=policy)]
        found = agree(wk.Trace.from_columns(columns), policy, procs=4)
        assert found.start.tolist() == expected
        if policy == "easy":
            assert (found.start - columns["submit"]).mean() == pytest.approx(3.724, abs=5e-4)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("service", [0.1, 1, 1000])
def test_shortest_job_first_has_the_mean_wait_of_theory(service):
    # Phipps: mean wait = S * rho * integral of exp(-x) / (1 - rho (1 - exp(-x) (1 + x)))^2
    rho, x = 0.7, np.linspace(0, 60, 200_001)
    theory = rho * np.trapezoid(np.exp(-x) / (1 - rho * (1 - np.exp(-x) * (1 + x))) ** 2, x)
    assert theory == pytest.approx(1.312, abs=1e-3)
    users = f"poisson:rate={rho / service},run={service},jobs=400000"
    waits = wk.simulate(None, "sjf", users=users, rng=1).metrics["mean_wait"] / service
    assert waits == pytest.approx(theory, rel=0.015)


def test_users_of_ones_own_have_a_shortest_estimate_in_whole_seconds_only():
    class Once(wk.users.User):
        def __init__(self, run, limit):
            super().__init__()
            self.times = run, limit

        def wake_up(self):
            self.submit(1, *self.times)

    for run, limit, planned in ((0, 0, 1), (3, 0, 3), (0.0, 0.0, 0), (0.25, 0.5, 0.5), (1, 0.5, 1)):
        found = wk.simulate(None, "easy", users=[Once(run, limit)], procs=1)
        assert found.jobs["estimate"].tolist() == [planned], (run, limit)
