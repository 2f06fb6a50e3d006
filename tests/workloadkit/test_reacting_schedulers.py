"""Every scheduler serves users who react, the same in both engines."""

import warnings
from itertools import product

import numpy as np
import pytest
from numba import config

import workloadkit as wk
from tests.both_engines import in_turn
from tests.data import needs_traces, trace_path
from tests.small_logs import valued
from workloadkit.errors import ParameterError, WorkloadWarning

SCHEDULERS = (
    "fcfs",
    "easy",
    "easy:backfill=sjf",
    "sjf:backfill=none",
    "largest",
    "f1",
    "ljf:reservations=2",
    "priority-fifo",
    "priority-fifo:queues=2/0",
    "conservative",
    "reservations:3",
    "lookahead",
    "selective:1.5",
    "slack:2,queues=2/0",
    "creasy",
    "user-priority",
    "user-priority:0.2,by=recency",
    "wfp3",
    "unicef:backfill=sjf",
    "multi-queue:2",
    "self-adaptive:1,most=3",
    "self-adaptive:1,family=creasy,most=2,forecast=replay",
    "genetic:5,individuals=4,generations=2",
    "recorded",
)
USERS = ("adjusted", "closed", "distribution", "fluid")
OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
MACHINE = 8

#: Submissions lie so many times a minute apart: some hours, and weeks.
HOURS, WEEKS = 1, 100


def log(seed, stretch=HOURS, *, whole=True, n_jobs=30):
    """A log of few users: jobs of no run time, equal times, sessions of one and of many jobs."""
    rng = np.random.default_rng(seed)
    parts = 1 if whole else 4
    run = rng.integers(0, 60 * parts, n_jobs) / parts * (rng.random(n_jobs) > 0.15)
    submit = np.sort(rng.integers(0, 400 * parts, n_jobs)) / parts
    return wk.Trace.from_columns(
        {
            "submit": 60 * stretch * submit,
            "wait": np.where(rng.random(n_jobs) < 0.2, -1, rng.integers(0, 100, n_jobs)),
            "run": 8 * run,
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
            "requested_time": np.where(rng.random(n_jobs) < 0.2, -1, 8 * rng.integers(1, 80)),
            "user": rng.integers(1, 5, n_jobs),
            "queue": rng.integers(-1, 4, n_jobs),
        }
    )


def compare(trace, scheduler, users, **how):
    """Simulate in both engines; their schedule."""
    if str(scheduler).startswith("genetic"):
        trace = valued(trace, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)
        compiled, plain = (
            wk.simulate(trace, scheduler, users, rng=7, engine=engine, **how)
            for engine in ("compiled", "python")
        )
    assert compiled.jobs.equals(plain.jobs)
    assert compiled.history == plain.history
    return compiled


def test_engines_agree():
    for seed, overrun, passes in product(range(2), OVERRUNS, PASSES):
        how = {"procs": MACHINE, "overrun": overrun, "passes": passes}
        compare(log(seed), "easy", "adjusted", **how)


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "users"), in_turn(SCHEDULERS, USERS))
def test_engines_agree_for_all(scheduler, users):
    for seed, (stretch, whole) in enumerate(product((HOURS, WEEKS), (True, False))):
        for overrun, passes in product(OVERRUNS, PASSES):
            trace = log(seed, stretch, whole=whole)
            compare(trace, scheduler, users, procs=MACHINE, overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(("scheduler", "users"), in_turn(SCHEDULERS, USERS))
def test_engines_agree_on_a_real_log(scheduler, users):
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2")).take(range(2000))
    compare(trace, scheduler, users, overrun="late")


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_engines_agree_for_users_drawn_anew(scheduler):
    trace = log(3, 1000, n_jobs=150)
    compare(trace, scheduler, "fluid", population="resampled:weeks=20", procs=MACHINE)


def test_better_service_lets_users_submit_earlier():
    """One whose job waits submits the next one, which depends on it, as much later."""
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 1, 2, 60],
            "run": [100, 100, 10, 10],
            "wait": [0, 0, 0, 0],
            "procs": [6, 8, 2, 2],
            "user": [1, 2, 3, 3],
        }
    )
    waits_for_all = compare(trace, "fcfs", "adjusted", procs=8)
    assert waits_for_all.jobs["start"].tolist() == [0, 100, 200, 258]
    overtakes = compare(trace, "easy", "adjusted", procs=8)
    assert overtakes.jobs["start"].tolist() == [0, 100, 2, 60]


@pytest.mark.parametrize("engine", [pytest.param("compiled", marks=pytest.mark.slow), "python"])
def test_jobs_to_come_are_no_forecast_for_users_who_react(engine):
    jobs = {"submit": [0, 0], "run": [10, 700_000], "procs": [1, 1], "user": [1, 2]}
    trace = wk.Trace.from_columns(jobs)
    forecast = "self-adaptive:0,forecast=actual"
    with pytest.raises(ParameterError, match="only for users who replay a log"):
        wk.simulate(trace, forecast, "adjusted", procs=MACHINE, engine=engine)


def test_priorities_without_effect_are_warned_of():
    trace = log(1)
    for engine in ("compiled", "python"):
        with pytest.warns(WorkloadWarning, match="no job is of queues 7"):
            wk.simulate(trace, "priority-fifo:queues=7", "adjusted", procs=MACHINE, engine=engine)


def last_users_first(now, submit, estimate, procs, user):
    return -user


@pytest.mark.slow
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_a_custom_order_receives_the_numbers_of_users():
    trace = log(4)
    trace = trace.with_columns(user=100 - 7 * trace.column("user"))
    compare(trace, wk.schedulers.CustomOrder(last_users_first), "adjusted", procs=MACHINE)
