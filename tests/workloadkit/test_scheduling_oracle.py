"""The oracles of the schedulers: partitions, what always holds, and what equals what."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.check import check_arrival_order, check_schedule
from tests.oracles.multi_queue import WEEK, MultiQueue
from tests.oracles.scheduling import Site, schedule


def outcome(jobs, machine, **options):
    return schedule(*zip(*jobs, strict=True), machine, **options)


def test_the_criteria_are_quantiles_of_the_jobs_that_ended_in_the_week_before():
    estimates = [30, 10, 20, 50, 40, 5, 60]
    site = Site(8, [0] * 7, estimates, [1] * 7)
    queues = MultiQueue(site, 3)
    site.end = {0: 1, 1: 2, 2: WEEK, 3: WEEK + 1, 4: 2 * WEEK, 5: 2 * WEEK, 6: 2 * WEEK}
    assert queues.criteria(WEEK) is None  # the second in which a week begins is of the old one
    assert queues.criteria(WEEK + 1) == [10, 20, 30]
    assert queues.criteria(2 * WEEK + 1) == [40, 50, 60]  # the 2nd, 3rd and 4th of 5, 40, 50, 60
    assert queues.criteria(3 * WEEK + 1) == [40, 50, 60]  # nothing ended
    del site.end[2]
    assert queues.criteria(WEEK + 1) is None  # fewer than three ended


def test_a_job_goes_to_the_first_partition_whose_criterion_is_above_its_estimate():
    estimates = [10, 20, 30, 9, 10, 19, 29, 31]
    site = Site(8, [0] * 3 + [WEEK + 1] * 5, estimates, [1] * 8)
    queues = MultiQueue(site, 3)
    assert [queues.partition_of(job) for job in range(3)] == [0, 0, 0]
    site.end = {0: 10, 1: 20, 2: 30}
    assert [queues.partition_of(job) for job in range(3, 8)] == [0, 1, 1, 2, 2]


def test_a_remainder_of_the_processors_goes_to_the_first_partitions():
    site = Site(11, [0], [1], [1])
    assert MultiQueue(site, 4).size == [3, 3, 3, 2]


logs = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(0, 20),
        st.one_of(st.none(), st.integers(1, 30)),
        st.integers(1, 8),
    ),
    min_size=1,
    max_size=25,
)


POLICIES = (
    "fcfs",
    "easy",
    "easy:backfill=largest",
    "sjf",
    "wfp3",
    "f1",
    "priority-fifo:queues=1/0",
    "creasy:alpha=6000",
    "user-priority:alpha_user=0.5,by=load",
    "user-priority:alpha_user=1,by=recency",
    "reservations:depth=3",
    "conservative",
    "multi-queue:partitions=3",
)

anything = st.fixed_dictionaries(
    {
        "overrun": st.sampled_from(["raise", "kill", "late"]),
        "estimates": st.sampled_from(["user", "exact"]),
        "passes": st.sampled_from(["instant", "event"]),
    }
)


@given(logs, st.sampled_from(POLICIES), anything)
def test_schedules_hold_the_invariants(jobs, policy, rules):
    some = [job % 3 for job in range(len(jobs))]
    result = outcome(jobs, 8, policy=policy, users=some, queues=some, **rules)
    submit, run, requested_time, procs = zip(*jobs, strict=True)
    start, end, killed = zip(*result, strict=True)
    check_schedule(submit, start, end, procs, 8)
    if policy == "fcfs":
        check_arrival_order(submit, start, range(len(jobs)))
    for job in range(len(jobs)):
        length = requested_time[job] if killed[job] else run[job]
        assert end[job] - start[job] == length
    assert rules["overrun"] == "kill" or not any(killed)


@pytest.mark.parametrize(
    "policy", ["reservations:depth=1", "creasy:alpha=0", "multi-queue:partitions=1"]
)
@given(logs, anything)
def test_policies_that_are_easy_by_definition_are_easy(policy, jobs, rules):
    assert outcome(jobs, 8, policy=policy, **rules) == outcome(jobs, 8, policy="easy", **rules)


@given(logs, st.sampled_from(["instant", "event"]))
def test_with_exact_estimates_the_first_promises_of_conservative_are_found_each_time(jobs, passes):
    jobs = [(submit, max(run, 1), None, procs) for submit, run, _, procs in jobs]
    anew = outcome(jobs, 8, policy="reservations:depth=100", passes=passes)
    assert outcome(jobs, 8, policy="conservative", passes=passes) == anew


@given(logs)
def test_easy_is_fcfs_where_no_two_jobs_fit(jobs):
    alone = [(submit, run, requested_time, 8) for submit, run, requested_time, _ in jobs]
    assert outcome(alone, 8, policy="easy") == outcome(alone, 8, policy="fcfs")


def test_an_invalid_schedule_is_refused():
    for start, end, message in (
        ([0, 10, 15], [10, 20, 25], "8 of 4 processors in use at 15 s"),
        ([0, 10, 3], [10, 20, 3], "row 2 finds no room at 3 s"),
        ([0, 0, 20], [0, 10, 30], "rows .1. start before their submission"),
        ([0, 10, math.nan], [10, 20, 30], "rows .2. never start"),
        ([0, 20, 30], [10, 10, 40], "rows .1. end before they start"),
    ):
        check_schedule([0, 1, 2], [0, 10, 20], [10, 20, 20], [4, 4, 4], 4)
        with pytest.raises(AssertionError, match=message):
            check_schedule([0, 1, 2], start, end, [4, 4, 4], 4)


def test_a_violated_order_is_refused():
    check_arrival_order([0, 0, 5], [3, 2, 3], [2, 1, 3])
    with pytest.raises(AssertionError, match="row 0 is overtaken"):
        check_arrival_order([0, 0, 5], [3, 2, 3], [1, 2, 3])
