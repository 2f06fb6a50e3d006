"""Custom parts: a policy, users, a predictor and a machine, with all others."""

import warnings
from itertools import product

import numba
import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.data import slow_to_compile
from tests.external.last_two import LastTwo
from tests.external.lcfs import Lcfs
from tests.external.licences import Licensed
from tests.external.patient import Patient
from tests.external.shortest import Shortest, Waiting
from workloadkit.custom import source_digest
from workloadkit.simulation.supports import supports

SLOW = pytest.mark.slow

# Each policy with a custom part is a loop to compile, which is not cached. `make test` has one of
# each kind; without the compiler, all are tried.
SOME = ["easy", *(pytest.param(name, marks=SLOW) for name in ("conservative", "multi-queue"))]
ALL = [name for name in wk.schedulers.known() if name != "recorded"]
POLICIES = [
    *(ALL if numba.config.DISABLE_JIT else SOME),
    pytest.param(Lcfs(), id="lcfs", marks=SLOW),
    pytest.param(Shortest(), id="shortest", marks=SLOW),
]
WITH_UTILITIES = {"genetic": "genetic:window=6,individuals=5,generations=2"}
PASSES = ("instant", "event")
OF_LOGS = ("open", "closed", "fluid")


@pytest.fixture(scope="module")
def log():
    """A log of 80 jobs on 16 processors, with utility functions and two submissions a second."""
    rng = np.random.default_rng(3)
    run = rng.integers(0, 400, 80)
    trace = wk.Trace.from_columns(
        {
            "submit": np.sort(rng.integers(0, 1500, 80)),
            "run": run,
            "procs": rng.integers(1, 13, 80),
            "requested_time": run + rng.integers(1, 600, 80),
            "user": rng.integers(1, 6, 80),
            "queue": rng.integers(0, 3, 80),
        }
    )
    with warnings.catch_warnings(action="ignore"):
        return wk.add_utility(trace, rng=1)


def named(scheduler):
    """A quick form of a scheduler, where its own is slow."""
    return WITH_UTILITIES.get(scheduler, scheduler) if isinstance(scheduler, str) else scheduler


@slow_to_compile
@pytest.mark.parametrize("policy", [Lcfs(), Shortest()])
def test_a_policy_serves_all_users(log, policy):
    for users, passes in product(OF_LOGS, PASSES):
        schedule = agree(log, policy, users, procs=16, passes=passes)
        assert schedule.start.size, (users, passes)


def test_the_digest_of_a_policy_covers_its_functions_in_the_loop(monkeypatch):
    before = source_digest(Shortest())
    monkeypatch.setitem(Waiting.in_the_loop, "allocate", lambda state, new, now: None)
    assert source_digest(Shortest()) != before


@slow_to_compile
def test_the_last_job_comes_first():
    trace = wk.Trace.from_columns(
        {"submit": [0, 1, 2, 3], "run": [10, 5, 5, 5], "procs": [4, 4, 4, 4]}
    )
    assert agree(trace, Lcfs(), procs=4).start.tolist() == [0, 20, 15, 10]


@slow_to_compile
@pytest.mark.parametrize("overrun", ["late", "raise", "kill"])
def test_a_policy_bears_outages(log, overrun):
    outages = wk.Outages((wk.Outage(1, 300, 700, 8), wk.Outage(2, 900, 1000, 16)))
    for policy in (Lcfs(), Shortest()):
        schedule = agree(log, policy, procs=16, outages=outages, overrun=overrun)
        assert schedule.columns["interruptions"].sum() > 0


@pytest.mark.parametrize("scheduler", POLICIES)
def test_users_are_served_by_policies(scheduler):
    if scheduler in ("genetic", "priority-fifo"):
        return  # their jobs have neither utility functions nor queues
    for passes in PASSES:
        assert agree(None, scheduler, Patient(), passes=passes).start.size == 40, passes


@slow_to_compile
@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_predictor_plans_for_every_policy(log, scheduler):
    scheduler = named(scheduler)
    planned = agree(log, scheduler, procs=16, predictor=LastTwo())
    requested = wk.simulate(log, scheduler, rng=1, procs=16)
    assert (planned.jobs["estimate"] < requested.jobs["estimate"].to_numpy()).any()


@pytest.mark.parametrize(
    ("scheduler", "users"),
    [("easy", "closed"), ("sjf", "closed"), ("easy", "fluid")],
)
@slow_to_compile
def test_a_predictor_plans_for_users_who_react(log, scheduler, users):
    for passes in PASSES:
        agree(log, scheduler, users, procs=16, predictor=LastTwo(), passes=passes)


def test_the_mean_of_the_last_two_jobs_is_predicted():
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 100, 200, 300],
            "run": [10, 30, 50, 50],
            "procs": [1, 1, 1, 1],
            "requested_time": [90, 90, 90, 15],
            "user": [1, 1, 1, 1],
        }
    )
    schedule = agree(trace, "easy", procs=4, predictor=LastTwo(), overrun="late")
    assert schedule.jobs["estimate"].tolist() == [90, 90, 20, 15]


@slow_to_compile
@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_machine_of_two_pools_is_used_by_every_policy(log, scheduler):
    scheduler = named(scheduler)
    policy = wk.schedulers.parse(scheduler) if isinstance(scheduler, str) else scheduler
    if not supports(policy, "machines"):
        with pytest.raises(wk.ParameterError, match="supports one pool of processors"):
            wk.simulate(log, scheduler, machine=Licensed(16, 2))
        return
    schedule = agree(log, scheduler, machine=Licensed(16, 2))
    odd = schedule.workload.procs % 2 == 1
    times = np.unique(schedule.start)
    at = (schedule.start <= times[:, np.newaxis]) & (times[:, np.newaxis] < schedule.end)
    assert (at & odd).sum(axis=1).max() <= 2
    assert (at @ schedule.workload.procs).max() <= 16


@slow_to_compile
@pytest.mark.parametrize("scheduler", ["easy", "conservative"])
def test_a_machine_of_enough_licences_is_one_pool(log, scheduler):
    licensed = agree(log, scheduler, machine=Licensed(16, 100))
    assert licensed.start.tolist() == wk.simulate(log, scheduler, procs=16).start.tolist()


@slow_to_compile
def test_all_of_them_together():
    agree(None, Lcfs(), Patient(), machine=Licensed(6, 1), predictor=LastTwo())


def test_a_schedule_records_all_parts(log):
    parts = {"machine": Licensed(16, 2), "predictor": LastTwo()}
    recorded = wk.simulate(log, Lcfs(), engine="python", **parts).parameters
    for name, part in {"scheduler": "lcfs", "machine": "Licensed", "predictor": "last-two"}.items():
        assert recorded[name].startswith(f"{part} (source ")
    assert recorded["procs"] == 16


@SLOW
def test_all_of_them_under_conservative_backfilling():
    agree(None, "conservative", Patient(), machine=Licensed(6, 1), predictor=LastTwo())
