"""The oracles of the schedulers against cases worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.check import check_arrival_order, check_schedule
from tests.oracles.multi_queue import WEEK, MultiQueue
from tests.oracles.scheduling import Site, schedule


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


# Orders of the queue, and of backfilling.

QUEUED = [(0, 100, 100, 4), (1, 50, 50, 4), (2, 10, 10, 4), (3, 30, 30, 4)]  # the first runs
SIZES = [(0, 100, 100, 4), (1, 10, 10, 3), (2, 10, 10, 1), (3, 10, 10, 2)]


@pytest.mark.parametrize(
    ("policy", "jobs", "expected"),
    [
        ("easy", QUEUED, [0, 100, 150, 160]),
        ("sjf", QUEUED, [0, 140, 100, 110]),
        ("ljf", QUEUED, [0, 100, 180, 150]),
        ("smallest", SIZES, [0, 110, 100, 100]),
        # At 100 the second starts, the fourth is promised 110, the third is done by then.
        ("largest", SIZES, [0, 100, 100, 110]),
    ],
)
def test_the_queue_stands_in_the_order_of_the_policy(policy, jobs, expected):
    assert starts(jobs, 4, policy=policy) == expected


def test_the_head_is_whoever_is_first_at_this_pass():
    # At 2 the second job is the head, promised 100, and the third is done by then. At 3 a shorter
    # one arrives: it is the head from now on, and goes first at 100.
    jobs = [(0, 100, 100, 3), (1, 10, 10, 4), (2, 98, 98, 1), (3, 5, 5, 4)]
    assert starts(jobs, 4, policy="sjf") == [0, 105, 2, 100]


@pytest.mark.parametrize(
    ("backfill", "expected"),
    [
        ("same", [0, 100, 1, 110]),
        ("arrival", [0, 100, 1, 110]),
        ("ljf", [0, 100, 1, 110]),
        ("sjf", [0, 100, 110, 1]),
        ("smallest", [0, 100, 1, 110]),  # of equal size: by arrival
        ("none", [0, 100, 110, 110]),
    ],
)
def test_backfilling_has_an_order_of_its_own(backfill, expected):
    # From 1 one processor is idle until the head starts at 100. The third job or the fourth may
    # take it, but neither after the other: 91 + 20 and 21 + 90 are more than 100.
    jobs = [(0, 100, 100, 3), (1, 10, 10, 4), (1, 90, 90, 1), (1, 20, 20, 1)]
    assert starts(jobs, 4, policy=f"easy:backfill={backfill}") == expected


def test_the_queue_in_one_order_and_backfilling_in_another():
    # The head is the shortest, promised 100. The shorter of the others starts at 1, and then the
    # larger does not fit; or the larger, until 91, and then 20 s are too many.
    jobs = [(0, 100, 100, 2), (1, 5, 5, 4), (1, 20, 20, 1), (1, 90, 90, 2)]
    assert starts(jobs, 4, policy="sjf") == [0, 100, 1, 105]
    assert starts(jobs, 4, policy="sjf:backfill=largest") == [0, 100, 105, 1]


def test_wfp3_is_the_third_power_of_the_wait_in_estimates_times_the_processors():
    # At 100: (90/50)^3 = 5.8 a processor against (40/20)^3 = 8.
    jobs = [(0, 100, 100, 2), (10, 50, 50, 2), (60, 20, 20, 2)]
    assert starts(jobs, 2, policy="wfp3") == [0, 120, 100]
    jobs[2] = (60, 20, 20, 1)
    assert starts(jobs, 2, policy="wfp3") == [0, 100, 150]


def test_unicef_divides_by_the_logarithm_of_the_processors_but_not_by_less_than_one():
    # At 100: 90/(2·50) = 0.9 on four processors, 40/20 = 2 on one.
    jobs = [(0, 100, 100, 4), (10, 50, 50, 4), (60, 20, 20, 1)]
    assert starts(jobs, 4, policy="unicef") == [0, 120, 100]
    # 80/(1.585·40) = 1.262 on three; 50/40 = 1.25 on two, or a second earlier 51/40 = 1.275.
    jobs = [(0, 100, 100, 4), (20, 40, 40, 3), (50, 40, 40, 2)]
    assert starts(jobs, 4, policy="unicef") == [0, 100, 140]
    jobs[2] = (49, 40, 40, 2)
    assert starts(jobs, 4, policy="unicef") == [0, 140, 100]
    # On one processor the divisor is 1, not 0: 52/40 = 1.3 > 1.262 and 50/40 = 1.25 < 1.262.
    for submit, expected in ((48, [0, 140, 100]), (50, [0, 100, 140])):
        jobs = [(0, 100, 100, 3), (20, 40, 40, 3), (submit, 40, 40, 1)]
        assert starts(jobs, 3, policy="unicef") == expected


def test_f1_weighs_the_length_and_size_against_the_submission_since_the_first():
    # Second 1000 of the log against 1001: 870 · log10(1.001) = 0.378. Against 1001 seconds later
    # lengths of 3·4 = 12 and 1·4 = 4 tell; against log10(10/9.2)·4 = 0.145 the submission does.
    jobs = [(1000, 2000, 2000, 4), (2000, 1000, 1000, 4), (2001, 10, 10, 4)]
    assert starts(jobs, 4, policy="f1") == [1000, 3010, 3000]
    jobs[1:] = [(2000, 10, 10, 4), (2001, 9.2, 9.2, 4)]
    assert starts(jobs, 4, policy="f1") == [1000, 3000, 3010]


def test_the_first_second_of_a_log_is_like_its_second_one_to_f1():
    # log10(max(s, 1)) is 0 for both: 6.8 goes before 8, and 4 before 8 though it comes later.
    jobs = [(0, 100, 100, 4), (0, 50, 50, 4), (1, 10, 10, 4)]
    assert starts(jobs, 4, policy="f1") == [60, 0, 50]


def test_priority_fifo_goes_by_queue_and_arrival():
    # Queue 5 before 2 before 1 before all others, which come together.
    jobs = [(0, 100, 100, 1), *((second, 10, 10, 1) for second in range(1, 8))]
    queues = [1, 9, 1, 5, 2, -1, 5, 9]
    expected = [0, 140, 130, 100, 120, 150, 110, 160]
    assert starts(jobs, 1, policy="priority-fifo:queues=5/2/1", queues=queues) == expected


def test_priority_fifo_reserves_for_the_most_urgent_and_backfills_by_urgency():
    # The urgent job is promised 100. Of two that could use the idle processor until then the one
    # of queue 2 goes first, though the one of no rank came before it.
    jobs = [(0, 100, 100, 3), (1, 50, 50, 4), (1, 60, 60, 1), (1, 60, 60, 1), (1, 50, 50, 4)]
    expected = [0, 150, 200, 1, 100]
    policy = "priority-fifo:queues=1/2"
    assert starts(jobs, 4, policy=policy, queues=[9, 9, 9, 2, 1]) == expected


def test_creasy_weighs_criticality_against_seniority():
    # At minute 100: one has waited 100 minutes and wants 100 more, 0.04/11^2 = 0.000331; the other
    # 60 and 10, 0.04/4.5^2 = 0.001975. These 40 minutes are made up for by alpha = 24320.
    jobs = [(0, 6000, 6000, 1), (0, 6000, 6000, 1), (2400, 600, 600, 1)]
    assert starts(jobs, 1, policy="creasy:alpha=24300") == [0, 6000, 12000]
    assert starts(jobs, 1, policy="creasy:alpha=24350") == [0, 6600, 6000]


def test_creasy_evaluates_anew_at_each_pass():
    # At minute 100 the third job goes first, as above. When it has ended the others have waited
    # 110 minutes: 0.04/11.5^2 + 110 against the fourth's 70 minutes and 10 to run, 0.04/5^2, worth
    # 110 + 7.4 against 70 + 39.0. At minute 100 it was 100 + 8.1 against 60 + 48.1, no less.
    jobs = [(0, 6000, 6000, 1), (0, 6000, 6000, 1), *[(2400, 600, 600, 1)] * 2]
    assert starts(jobs, 1, policy="creasy:alpha=24350") == [0, 6600, 6000, 12600]


def test_creasy_backfills_in_its_own_order():
    # From 1 one processor is idle until 10000; the shorter of two jobs is the more critical one.
    jobs = [(0, 10000, 10000, 3), (1, 100, 100, 4), (1, 9000, 9000, 1), (1, 6000, 6000, 1)]
    assert starts(jobs, 4, policy="creasy:alpha=0") == [0, 10000, 1, 10100]
    assert starts(jobs, 4, policy="creasy:alpha=1000") == [0, 10000, 10100, 1]


# Users first.


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (10, [0, 130, 100, 120]),  # 4·(20 + 10) s of work wait of user 2, 4·50 s of user 1
        (40, [0, 100, 150, 170]),  # 4·(20 + 40) s
        (30, [0, 100, 150, 170]),  # 4·(20 + 30) s: as much, and the lower number goes first
    ],
)
def test_the_user_with_the_least_work_waiting_goes_first(run, expected):
    jobs = [(0, 100, 100, 4), (1, 50, 50, 4), (2, 20, 20, 4), (3, run, run, 4)]
    policy = "user-priority:alpha_user=1,by=load"
    assert starts(jobs, 4, policy=policy, users=[9, 1, 2, 2]) == expected


def test_the_user_who_came_last_goes_first():
    jobs = [(0, 100, 100, 4), (1, 50, 50, 4), (2, 20, 20, 4), (3, 10, 10, 4)]
    policy = "user-priority:alpha_user=1,by=recency"
    assert starts(jobs, 4, policy=policy, users=[9, 1, 2, 1]) == [0, 100, 160, 150]


def test_a_job_that_has_started_is_an_arrival_of_its_user_all_the_same():
    # User 2 came last, at 5, with a job that was started at once; one of second 1 is waiting.
    jobs = [(0, 100, 100, 3), (1, 10, 10, 4), (4, 10, 10, 4), (5, 20, 20, 1)]
    policy = "user-priority:alpha_user=1,by=recency"
    assert starts(jobs, 4, policy=policy, users=[9, 2, 1, 2]) == [0, 100, 110, 5]


@pytest.mark.parametrize(("submit", "expected"), [(7200, 10000), (7202, 10100)])
def test_a_wait_of_four_hours_is_worth_the_first_user(submit, expected):
    # Users 1 and 2 are second and first: 0.25 is made up for by a wait longer by 7200 s.
    jobs = [(0, 10000, 10000, 1), (1, 100, 100, 1), (submit, 50, 50, 1)]
    policy = "user-priority:alpha_user=0.5,by=load"
    assert starts(jobs, 1, policy=policy, users=[9, 1, 2])[2] == expected


def test_backfilling_goes_by_user_even_where_users_have_no_weight():
    # 4·10 + 20 s of work wait of user 1, 20 s of user 2, whose job takes the idle processor.
    jobs = [(0, 100, 100, 3), (1, 10, 10, 4), (1, 20, 20, 1), (1, 20, 20, 1)]
    assert starts(jobs, 4, policy="easy") == [0, 100, 1, 21]
    policy = "user-priority:alpha_user=0,by=load"
    assert starts(jobs, 4, policy=policy, users=[9, 1, 1, 2]) == [0, 100, 21, 1]


# More reservations than one.

DELAYS_THE_SECOND = [(0, 100, 100, 3), (1, 100, 100, 2), (2, 100, 100, 4), (3, 300, 300, 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # At 100 four are free and the head takes two, so the last starts at 3 and runs until 303.
        ("easy", [0, 100, 303, 3]),
        ("reservations:depth=1", [0, 100, 303, 3]),
        ("reservations:depth=2", [0, 100, 200, 300]),
        ("easy:reservations=2", [0, 100, 200, 300]),
        ("conservative", [0, 100, 200, 300]),
    ],
)
def test_what_has_a_reservation_is_not_delayed(policy, expected):
    assert starts(DELAYS_THE_SECOND, 4, policy=policy) == expected


def test_conservative_reserves_the_earliest_hole():
    # Promised 100; then 150, as it would last until 102; beside it; and now, until 94.
    jobs = [(0, 100, 100, 2), (1, 50, 50, 4), (2, 100, 100, 2), (3, 200, 200, 2), (4, 90, 90, 2)]
    assert starts(jobs, 4, policy="conservative") == [0, 100, 150, 150, 4]


def test_a_hole_lasts_until_the_next_reservation_begins():
    jobs = [(0, 100, 100, 2), (1, 50, 50, 4), (2, 98, 98, 2)]
    assert starts(jobs, 4, policy="conservative") == [0, 100, 2]
    jobs[2] = (2, 99, 99, 2)
    assert starts(jobs, 4, policy="conservative") == [0, 100, 150]


def test_an_early_end_lets_all_reservations_move_up():
    # Promised 100, 200 and, beside the first, 100. At 50: now, at 150, and now.
    jobs = [(0, 50, 100, 4), (1, 100, 100, 3), (2, 100, 100, 3), (3, 100, 100, 1)]
    assert starts(jobs, 4, policy="conservative") == [0, 50, 150, 50]


def test_reservations_move_up_one_by_one_around_those_that_still_stand():
    # The job of three is promised 100, the next one 60. At 20 two processors come free early. For
    # the job of three there would be room at 60, but for the promise to the next one: it stays at
    # 100; only then the other moves to 20, and leaves a hole at 60. The last job finds one
    # processor idle at 21 and takes it until 91; so 91 is what the job of three gets.
    jobs = [
        (0, 100, 100, 1),
        (0, 20, 100, 2),
        (0, 60, 60, 1),
        (1, 100, 100, 3),
        (2, 40, 40, 1),
        (21, 70, 70, 1),
    ]
    assert starts(jobs, 4, policy="conservative") == [0, 0, 0, 91, 20, 21]
    # Where nothing is kept the job of three is promised 60 at 20, which the last must respect.
    assert starts(jobs, 4, policy="reservations:depth=100") == [0, 0, 0, 60, 20, 100]


def test_conservative_plans_anew_while_a_job_is_overdue():
    # At 70 the first is overdue: the second is promised this very second, the third 80. At 100 it
    # ends at last.
    jobs = [(0, 100, 60, 2), (1, 10, 10, 2), (70, 5, 5, 1)]
    assert starts(jobs, 2, policy="conservative", overrun="late") == [0, 100, 110]


# A pass after each event.

EARLY_END = [(0, 10, 20, 2), (1, 5, 5, 4), (10, 10, 10, 2)]


def test_by_event_a_submission_comes_before_a_termination_of_the_same_second():
    # The head is promised 20. The first job ends early, at 10, which the pass after the submission
    # of that second does not know: the last is done by 20 and starts.
    for policy in ("easy", "conservative"):
        assert starts(EARLY_END, 4, policy=policy) == [0, 10, 15]
        assert starts(EARLY_END, 4, policy=policy, passes="event") == [0, 20, 10]


def test_by_event_a_job_planned_to_end_now_is_gone_in_the_profile_but_holds_its_processors():
    # As above, but the first is planned until 10: the head is promised this second, and the last
    # would delay it.
    jobs = [(0, 10, 10, 2), *EARLY_END[1:]]
    for policy in ("easy", "conservative"):
        assert starts(jobs, 4, policy=policy, passes="event") == [0, 10, 15]


def test_by_event_terminations_come_in_the_order_of_the_starts():
    # The machine is full until 10, by plan until 30. Where three processors come free before the
    # fourth, the last job takes them.
    for sizes, expected in (((1, 3), [0, 0, 10, 30]), ((3, 1), [0, 0, 20, 10])):
        jobs = [*((0, 10, 30, procs) for procs in sizes), (1, 20, 20, 4), (2, 10, 20, 3)]
        assert starts(jobs, 4, policy="easy", passes="event") == expected


def test_by_event_equal_submit_times_go_by_the_input():
    jobs = [(0, 10, 10, 4), (0, 10, 10, 4), (0, 10, 10, 4)]
    assert starts(jobs, 4, passes="event", job_numbers=[3, 1, 2]) == [0, 10, 20]


def test_by_event_a_run_time_of_zero_ends_after_the_submissions_of_its_second():
    # It holds the machine until both others have arrived, so the shorter of them goes first.
    jobs = [(5, 0, 0, 4), (5, 10, 10, 4), (5, 5, 5, 4)]
    assert starts(jobs, 4, policy="sjf", passes="event") == [5, 10, 5]


# Partitions.


def history(*estimates):
    """Jobs on one processor whose estimates are the criteria of the second week."""
    return [(0, estimate, estimate, 1) for estimate in estimates]


def second_week(*jobs):
    return [(WEEK + second, run, run, procs) for second, run, procs in jobs]


def test_a_job_may_take_processors_along_from_another_partition():
    # Until there are criteria all jobs go to the first partition, which has two processors.
    jobs = [(0, 100, 100, 2), (1, 100, 100, 2), (2, 100, 100, 3)]
    assert starts(jobs, 4, policy="multi-queue:partitions=2") == [0, 1, 101]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("multi-queue:partitions=2", [100, 101, 600, 110, 118]),
        # Here the last starts at once, for it is done by 600; the short job finds only one
        # processor until then.
        ("easy", [100, 101, 600, 584, 104]),
    ],
)
def test_no_pivot_is_delayed(policy, expected):
    # Below 10 s is short. A long and a short job run, on two processors of the second partition
    # and one of the first. The wide pivot of the second is promised 600, the pivot of the first
    # 110. To the last one a processor can be lent only when that one is done.
    jobs = second_week((100, 500, 2), (101, 9, 1), (102, 500, 4), (103, 8, 2), (104, 480, 1))
    found = starts(history(10, 1000) + jobs, 4, policy=policy)[2:]
    assert [start - WEEK for start in found] == expected


def test_the_criteria_are_quantiles_of_what_ended_in_the_week_before():
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


def test_a_log_may_be_replayed_as_it_is():
    jobs = [(0, 10, 5, 4), (1, 10, 10, 4), (2, 0, None, 9)]
    expected = [(5, 15, False), (1, 11, False), (2, 2, False)]
    assert outcome(jobs, 4, policy="recorded", waits=[5, None, math.nan]) == expected


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
def test_what_is_easy_by_its_definition_is_easy(policy, jobs, rules):
    assert outcome(jobs, 8, policy=policy, **rules) == outcome(jobs, 8, policy="easy", **rules)


@given(logs, st.sampled_from(["instant", "event"]))
def test_with_exact_estimates_what_conservative_promises_first_is_what_is_found_each_time(
    jobs, passes
):
    jobs = [(submit, max(run, 1), None, procs) for submit, run, _, procs in jobs]
    anew = outcome(jobs, 8, policy="reservations:depth=100", passes=passes)
    assert outcome(jobs, 8, policy="conservative", passes=passes) == anew


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
