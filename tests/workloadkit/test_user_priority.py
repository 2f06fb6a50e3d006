"""The User Priority Scheduler: what it has in common with EASY, and both engines."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals
from tests.data import each_log_with, needs_compiler, needs_traces
from tests.oracles.check import check_schedule
from tests.small_logs import busy_log, head_of, size_of
from workloadkit.errors import ParameterError
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.policies.policy import overtaking_of
from workloadkit.simulation.policies.user_priority.trees import CompiledUserPriority
from workloadkit.simulation.schedulers import UserPriority
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

MACHINE = 8
OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")

policies = st.builds(
    UserPriority,
    st.sampled_from([0, 0.001, 0.2, 0.5, 0.9, 1]),
    st.sampled_from(["load", "recency"]),
    spare=st.sampled_from(["extra", "none"]),
    strict=st.booleans(),
)
overruns = st.sampled_from(OVERRUNS)
passes = st.sampled_from(PASSES)


def of_users(seed, n_users=None, scales=(1, 600)):
    """A busy log of few users."""
    return busy_log(seed, scales=scales, user=(0, n_users or 1 + seed % 8))


@given(st.integers(0, 2**32), policies, overruns, passes)
def test_with_a_single_user_this_is_easy(seed, policy, overrun, passes):
    trace = of_users(seed, n_users=1)
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    easy = wk.schedulers.Easy(spare=policy.spare, strict=policy.strict)
    assert np.array_equal(
        wk.simulate(trace, policy, **options).start, wk.simulate(trace, easy, **options).start
    )


@given(st.integers(0, 2**32), st.sampled_from(["load", "recency"]), overruns, passes)
def test_without_weight_of_users_the_heads_are_in_the_order_of_arrival(seed, by, overrun, passes):
    trace = of_users(seed)
    trace = trace.with_columns(procs=np.full(trace.n_jobs, MACHINE))  # nothing is backfilled
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    ups = wk.simulate(trace, UserPriority(0, by), **options)
    assert np.array_equal(ups.start, wk.simulate(trace, "fcfs", **options).start)


@pytest.mark.slow
@needs_compiler
def test_no_user_starves_while_the_wait_has_a_weight():
    # Users 1, 2, … each submit one short job that is ranked before the long one of user 10,000.
    n_short = 3000
    submit = np.append(np.arange(n_short) * 100, 50)
    run = np.append(np.full(n_short, 150), 100_000)
    user = np.append(np.arange(n_short) + 1, 10_000)
    order = np.argsort(submit, kind="stable")
    columns = {"submit": submit, "run": run, "user": user, "procs": np.full(n_short + 1, 1)}
    trace = wk.Trace.from_columns({name: values[order] for name, values in columns.items()})
    for by in ("load", "recency"):
        waits = []
        for alpha_user in (0.2, 0.5, 1):
            schedule = wk.simulate(trace, UserPriority(alpha_user, by), procs=1)
            waits.append(schedule.wait[1])
        # whoever comes 1 h or 4 h later waits longer; those before need half as long again
        assert waits[0] <= 1.5 * 3600 < waits[1] <= 1.5 * 4 * 3600
        assert waits[2] > submit.max()


def searched(workload, rules, policy, long_queue):
    """Start of each job where a queue longer than `long_queue` is searched by trees."""
    how = {
        "alpha_user": policy.alpha_user,
        "by_load": policy.by == "load",
        "long_queue": long_queue,
    }
    compiled = partial(CompiledUserPriority, overtaking=overtaking_of(policy), **how)
    policy = SimpleNamespace(name="user-priority", compiled=compiled)
    return play_compiled(policy, workload, rules).outcome.start


def agree(plain, policy, rules, long_queues):
    work = plain.workload
    compiled = play_compiled(policy, work, rules).outcome.start
    assert np.array_equal(compiled, plain.start)
    for long_queue in long_queues:
        assert np.array_equal(searched(work, rules, policy, long_queue), plain.start)
    check_schedule(work.submit, compiled, compiled + work.run, work.procs, rules.machine)


@decimals
@given(st.integers(0, 2**32), policies, overruns, passes)
def test_engines_agree(decimals, seed, policy, overrun, passes):
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    trace = of_users(seed, scales=[0.1] if decimals else [1, 600])
    plain = wk.simulate(trace, policy, engine="python", **options)
    agree(plain, policy, Rules(MACHINE, overrun, passes), long_queues=(0, 1, 4, 16))


@pytest.mark.slow
@decimals
@given(st.integers(0, 2**32), policies, overruns, passes)
def test_trees_find_what_lists_find_in_long_queues(decimals, seed, policy, overrun, passes):
    # Queues grow and drain more than once, for hours.
    rng = np.random.default_rng(seed)
    n_jobs, scale = 300, 7.1 if decimals else 10
    gap = np.where(np.arange(n_jobs) % 100 < 60, rng.integers(0, 30, n_jobs), 300)
    trace = wk.Trace.from_columns(
        {
            "submit": np.cumsum(gap) * scale,
            "run": rng.integers(0, 400, n_jobs) * scale,
            "requested_time": rng.integers(1, 600, n_jobs) * scale,
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
            "user": rng.integers(0, 20, n_jobs),
        }
    )
    jobs = make_workload(trace, MACHINE, Arriving(overrun=overrun, passes=passes))
    rules = Rules(MACHINE, overrun, passes)
    by_list = searched(jobs, rules, policy, n_jobs)
    for long_queue in (0, 4, 32):
        assert np.array_equal(searched(jobs, rules, policy, long_queue), by_list)
    check_schedule(jobs.submit, by_list, by_list + jobs.run, jobs.procs, MACHINE)


def test_wrong_parameters_are_refused():
    for text, message in (
        ("-0.1", "alpha_user is -0.1; it must be from 0 to 1"),
        ("alpha_user=1.5", "alpha_user is 1.5; it must be from 0 to 1"),
        ("nan", "alpha_user is .nan.; it is a number"),
        ("by=age", "by is 'age'; known: load, recency"),
    ):
        with pytest.raises(ParameterError, match=f"scheduler user-priority: {message}"):
            schedulers.parse(f"user-priority:{text}")


def test_parameters_follow_the_name():
    assert schedulers.parse("user-priority") == UserPriority(0.5, "load")
    assert schedulers.parse("user-priority:0.2,by=recency") == UserPriority(0.2, "recency")


def on_log(trace, policy, overrun, passes, load=None):
    machine = size_of(trace)
    options = {"oversize": "drop", "overrun": overrun, "passes": passes, "offered_load": load}
    plain = wk.simulate(trace, policy, procs=machine, engine="python", **options)
    agree(plain, policy, Rules(machine, overrun, passes), long_queues=[8])


@needs_traces
@pytest.mark.parametrize("load", [None, pytest.param(1.2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("path", "by", "overrun", "passes"),
    each_log_with(("load", "raise", "instant"), ("recency", "late", "event")),
)
def test_engines_agree_on_the_beginning_of_real_logs(path, by, overrun, passes, load):
    on_log(head_of(path), UserPriority(0.5, by), overrun, passes, load)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("whole_log", "alpha_user", "by", "overrun"),
    each_log_with((0.5, "load", "late"), (1, "recency", "kill")),
    indirect=["whole_log"],
)
def test_engines_agree_on_whole_logs(whole_log, alpha_user, by, overrun):
    on_log(whole_log, UserPriority(alpha_user, by), overrun, "instant")
