"""Numbers for people: where one way to write them ends and another begins."""

import numpy as np
import pytest

from workloadkit.analysis.formats import (
    coefficient,
    count,
    duration,
    is_time,
    metric,
    metric_title,
    number,
    printable,
    share,
    with_interval,
)


def test_times_are_written_in_the_unit_that_they_reach():
    for seconds, written in (
        (0.0999, "99.9 ms"),
        (0.1, "0.1 s"),
        (59.9, "59.9 s"),
        (59.99, "1 min"),
        (60, "1 min"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h"),
        (86_340, "23 h 59 min"),
        (86_399, "1 d"),
        (99 * 86_400 + 3600, "99 d 1 h"),
        (100 * 86_400 + 7 * 3600, "100 d"),
        (-90, "−1 min 30 s"),
        (np.nan, "–"),
    ):
        assert duration(seconds) == written, seconds


@pytest.mark.parametrize(
    ("value", "written"),
    [(99.94, "99.9"), (100.4, "100"), (-98_765.4, "−98,765"), (-1.5e-5, "−1.5e-05"), (0, "0")],
)
def test_numbers_have_three_digits_or_are_whole(value, written):
    assert number(value) == written


def test_what_is_not_known_or_has_no_end():
    assert [form(np.nan) for form in (count, number, share, coefficient)] == ["–"] * 4
    assert number(-np.inf) == "−∞"
    assert metric("earned_p25", np.nan) == metric("utilization", np.nan) == "–"
    assert with_interval(0.5, 0.4, np.nan) == with_interval(0.5, np.nan, 0.6) == "50 %"


def test_shares_near_none_and_near_all():
    for value, written in (
        (0.001, "0.1 %"),
        (0.1, "10 %"),
        (0.999, "99.9 %"),
        (0.995, "99.5 %"),
        (1.256, "126 %"),
        (-0.05, "−5 %"),
        (-0.0123, "−1.2 %"),
    ):
        assert share(value) == written, value


def test_metrics_are_written_in_their_units():
    times = ("wait_p98", "mean_response", "makespan", "mean_session_length", "activity_length")
    assert [metric(name, 7200) for name in times] == ["2 h"] * 5
    assert not is_time("jobs_per_session")
    shares = ("utilization", "later_than_fcfs", "aborted_share")
    assert [metric(name, 0.5) for name in shares] == ["50.0 %"] * 3
    assert metric("earned_p25", 50) == "50.0 %"
    assert metric("mean_slowdown", 50) == "50"


def test_the_hundredth_percentile_is_the_largest():
    assert metric_title("wait_p100") == "largest wait"
    assert metric_title("later_than_fcfs") == "later than FCFS"


def test_a_text_that_just_fits_is_not_cut():
    assert [printable("abcd", width) for width in (3, 4, 5)] == ["ab…", "abcd", "abcd"]
