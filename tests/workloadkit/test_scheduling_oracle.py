"""The oracle of the simulation against cases worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.check import check_arrival_order, check_schedule
from tests.oracles.scheduling import schedule


def starts(jobs, machine, **options):
    """Start times for jobs given as (submit, run, requested time, processors)."""
    return [start for start, _, _ in outcome(jobs, machine, **options)]


def outcome(jobs, machine, **options):
    return schedule(*zip(*jobs, strict=True), machine, **options)


def test_fcfs_lets_a_waiting_head_block_all_behind_it():
    # The second job needs all four processors; the third would fit beside the first, but waits.
    jobs = [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, 10, 1)]
    assert starts(jobs, 4) == [0, 100, 150]


def test_easy_lets_the_same_job_by():
    jobs = [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, 10, 1)]
    assert starts(jobs, 4, policy="easy") == [0, 100, 2]


@pytest.mark.parametrize(("requested_time", "start"), [(98, 2), (99, 150)])
def test_backfilling_may_last_until_the_shadow_and_no_longer(requested_time, start):
    # The shadow time is 100: from second 2 that leaves 98 s. No processor is spare.
    jobs = [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, requested_time, 1)]
    assert starts(jobs, 4, policy="easy") == [0, 100, start]


def test_spare_processors_shrink():
    # At the shadow (100 s) ten are free and the head takes seven, so three are spare. The third
    # job takes two; the fourth would take two more and is refused though it fits now; the fifth
    # takes the last. At 100 the head starts, and the fourth waits until the third ends.
    jobs = [
        (0, 100, 100, 5),
        (1, 900, 900, 7),
        (2, 500, 500, 2),
        (3, 500, 500, 2),
        (4, 500, 500, 1),
    ]
    assert starts(jobs, 10, policy="easy") == [0, 100, 2, 502, 4]


def test_spare_processors_shrink_within_one_pass():
    # At 10 the job of six starts; the head of seven is promised 110, with three spare, while four
    # are idle. A long job takes two: two are idle, but one is spare, so two more are refused and
    # one is not. The refused job waits for the head's end at 210.
    jobs = [
        (0, 10, 10, 10),
        (1, 100, 100, 6),
        (1, 100, 100, 7),
        (1, 300, 300, 2),
        (1, 300, 300, 2),
        (1, 300, 300, 1),
    ]
    assert starts(jobs, 10, policy="easy") == [0, 10, 110, 10, 210, 10]


def test_a_job_that_ends_by_the_shadow_leaves_the_spare_ones_alone():
    # Two spare at 100; a short job takes two, and the long one behind it still gets the two.
    jobs = [(0, 100, 100, 6), (1, 50, 50, 8), (2, 10, 10, 2), (3, 500, 500, 2)]
    assert starts(jobs, 10, policy="easy") == [0, 100, 2, 3]


def test_all_ends_at_the_shadow_second_count():
    # Both run until 100. Five free then, three taken by the head: two are spare, not none.
    jobs = [(0, 100, 100, 2), (0, 100, 100, 2), (1, 50, 50, 3), (2, 500, 500, 1), (3, 500, 500, 1)]
    assert starts(jobs, 5, policy="easy") == [0, 0, 100, 2, 100]
    jobs = [(0, 100, 100, 3), (0, 100, 100, 1), (1, 50, 50, 3), (2, 500, 500, 2)]
    assert starts(jobs, 6, policy="easy") == [0, 0, 100, 2]


def test_a_run_time_of_zero_gives_way_within_its_second():
    # The zero job holds the whole machine for no time: what waits behind it starts at once.
    jobs = [(5, 0, 0, 4), (5, 10, 10, 4), (5, 10, 10, 4)]
    for policy in ("fcfs", "easy"):
        assert outcome(jobs, 4, policy=policy) == [(5, 5, False), (5, 15, False), (15, 25, False)]


def test_a_run_time_of_zero_is_planned_as_one_second():
    # At 99 one second is left before the shadow: enough for the zero job, not at 99.5.
    jobs = [(0, 100, 100, 3), (1, 50, 50, 4), (99, 0, None, 1), (99.5, 0, None, 1)]
    assert starts(jobs, 4, policy="easy") == [0, 100, 99, 150]


def test_kill_stops_a_job_at_its_estimate():
    jobs = [(0, 100, 60, 4), (1, 10, 10, 4), (2, 60, 60, 4)]
    assert outcome(jobs, 4, overrun="kill") == [(0, 60, True), (60, 70, False), (70, 130, False)]


def test_raise_plans_with_the_longer_run_time():
    # With a shadow at 60 the third job (80 s) would be refused; raised, the shadow is at 100.
    jobs = [(0, 100, 60, 2), (1, 50, 50, 4), (2, 80, 80, 2)]
    assert outcome(jobs, 4, policy="easy", overrun="raise")[2] == (2, 82, False)
    assert outcome(jobs, 4, policy="easy", overrun="late")[2] == (150, 230, False)


def test_late_counts_an_overdue_job_as_ending_at_every_pass():
    # The first job is planned until 60 and runs until 100. At 70 it is overdue, so the shadow is
    # 70 itself and nothing can end by it, but 6 - 4 = 2 are spare. One is taken at 70; at 71 a
    # short job needs two of which one is left; at 72 the last is taken.
    jobs = [
        (0, 100, 60, 3),
        (1, 50, 50, 4),
        (70, 500, 500, 1),
        (71, 5, 5, 2),
        (72, 500, 500, 1),
    ]
    assert outcome(jobs, 6, policy="easy", overrun="late") == [
        (0, 100, False),
        (100, 150, False),
        (70, 570, False),
        (150, 155, False),
        (72, 572, False),
    ]


def test_late_finds_the_shadow_anew_at_each_pass():
    # At 61 the first job is overdue: the shadow is 61, with one processor spare, and a job takes
    # it. At 65 none is spare: the last job is refused though one is idle, until the other ends.
    jobs = [(0, 100, 60, 2), (1, 50, 50, 3), (61, 30, 30, 1), (65, 3, 3, 1)]
    assert starts(jobs, 4, policy="easy", overrun="late") == [0, 100, 61, 91]


def test_estimates_may_be_exact():
    jobs = [(0, 100, 500, 2), (1, 50, 50, 4), (2, 98, 900, 2)]
    assert starts(jobs, 4, policy="easy", estimates="exact") == [0, 100, 2]
    assert starts(jobs, 4, policy="easy", estimates="user") == [0, 100, 150]


def test_an_unknown_request_is_planned_by_the_run_time():
    jobs = [(0, 100, math.nan, 2), (1, 50, None, 4), (2, 98, None, 2)]
    assert starts(jobs, 4, policy="easy") == [0, 100, 2]


def test_equal_submit_times_go_by_job_number():
    jobs = [(0, 10, 10, 4), (0, 10, 10, 4), (0, 10, 10, 4)]
    assert starts(jobs, 4, job_numbers=[3, 1, 2]) == [20, 0, 10]
    assert starts(jobs, 4, policy="easy", job_numbers=[3, 1, 2]) == [20, 0, 10]


def test_a_termination_comes_before_a_submission_of_the_same_second():
    jobs = [(0, 10, 10, 4), (10, 10, 10, 4)]
    assert starts(jobs, 4) == [0, 10]


def test_decimals():
    jobs = [(0.5, 1.25, None, 1), (0.75, 2.0, None, 1)]
    assert outcome(jobs, 1) == [(0.5, 1.75, False), (1.75, 3.75, False)]


def test_jobs_larger_than_the_machine_are_refused():
    with pytest.raises(ValueError, match="larger than the machine"):
        schedule([0], [1], [1], [5], 4)


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


@given(
    logs,
    st.sampled_from(["fcfs", "easy"]),
    st.sampled_from(["raise", "kill", "late"]),
    st.sampled_from(["user", "exact"]),
)
def test_schedules_hold_the_invariants(jobs, policy, overrun, estimates):
    result = outcome(jobs, 8, policy=policy, overrun=overrun, estimates=estimates)
    submit, run, requested_time, procs = zip(*jobs, strict=True)
    start, end, killed = zip(*result, strict=True)
    check_schedule(submit, start, end, procs, 8)
    if policy == "fcfs":
        check_arrival_order(submit, start, range(len(jobs)))
    for job in range(len(jobs)):
        length = requested_time[job] if killed[job] else run[job]
        assert end[job] - start[job] == length
    assert overrun == "kill" or not any(killed)


@given(logs)
def test_easy_is_fcfs_where_nothing_fits_beside(jobs):
    alone = [(submit, run, requested_time, 8) for submit, run, requested_time, _ in jobs]
    assert outcome(alone, 8, policy="easy") == outcome(alone, 8, policy="fcfs")


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ([0, 10, 15], [10, 20, 25], "8 of 4 processors in use at 15 s"),
        ([0, 10, 3], [10, 20, 3], "row 2 finds no room at 3 s"),
        ([0, 0, 20], [0, 10, 30], "rows .1. start before their submission"),
        ([0, 10, math.nan], [10, 20, 30], "rows .2. never start"),
        ([0, 20, 30], [10, 10, 40], "rows .1. end before they start"),
    ],
)
def test_a_broken_schedule_is_refused(start, end, message):
    check_schedule([0, 1, 2], [0, 10, 20], [10, 20, 20], [4, 4, 4], 4)
    with pytest.raises(AssertionError, match=message):
        check_schedule([0, 1, 2], start, end, [4, 4, 4], 4)


def test_a_broken_order_is_refused():
    check_arrival_order([0, 0, 5], [3, 2, 3], [2, 1, 3])
    with pytest.raises(AssertionError, match="row 0 is overtaken"):
        check_arrival_order([0, 0, 5], [3, 2, 3], [1, 2, 3])
