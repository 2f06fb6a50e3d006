from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit import Header, Trace
from workloadkit.clock import DAY, Clock, span
from workloadkit.errors import ParameterError

ZONES = ("Europe/Stockholm", "US/Pacific", "America/Sao_Paulo", "America/Havana", "Asia/Kolkata")
START = int(datetime.fromisoformat("2016-01-10T12:00:00+00:00").timestamp())


def header_in(zone, start=START):
    return Header((f"; UnixStartTime: {start}", f"; TimeZoneString: {zone}"))


def trace_in(zone, submit, *, start=START):
    return Trace.from_columns({"submit": submit}, header=header_in(zone, start))


@pytest.mark.parametrize("zone", ZONES)
@given(st.lists(st.integers(0, 1000 * DAY), min_size=1))
def test_local_time_is_that_of_the_zone(zone, submit):
    submit = np.sort(submit)
    dates = Clock.of(trace_in(zone, submit)).dates(submit)
    expected = [datetime.fromtimestamp(START + s, ZoneInfo(zone)) for s in submit.tolist()]
    assert [str(date) for date in dates] == [f"{d:%Y-%m-%d %H:%M:%S}" for d in expected]


@pytest.mark.parametrize("zone", ZONES)
def test_midnights_are_the_first_seconds_of_local_days(zone):
    # Brazil and Cuba change their clocks at midnight: some days begin at 1:00.
    last = 400 * DAY
    midnights = Clock.of(trace_in(zone, [0, last])).midnights(0, last)
    halves = [
        datetime.fromtimestamp(START + s, ZoneInfo(zone)).date() for s in range(-DAY, last, 1800)
    ]
    changes = [i for i in range(1, len(halves)) if halves[i] > halves[i - 1]]
    expected = [1800 * i - DAY for i in changes if i > changes[0] or 1800 * i <= DAY]
    assert set(expected) <= set(midnights.tolist())
    assert midnights[0] <= 0 < midnights[1]
    assert midnights[-2] <= last < midnights[-1]
    assert np.isin(np.diff(midnights) / 3600, (23, 24, 25)).all()


def test_a_day_that_clocks_jump_over_begins_and_ends_at_the_jump():
    begin = int(datetime.fromisoformat("2011-12-29T10:00:00+00:00").timestamp())  # its midnight
    clock = Clock.between(header_in("Pacific/Apia", begin), 0, 3 * DAY)
    midnights = clock.midnights(0, 2 * DAY)  # the 30th of December never was
    assert midnights.tolist() == [0, DAY, DAY, 2 * DAY, 3 * DAY]


def test_weeks_begin_on_monday_at_midnight():
    clock = Clock.of(trace_in("Europe/Stockholm", [0, 300 * DAY]))
    for days in (7, 14):
        mondays = clock.dates(clock.midnights(0, 300 * DAY, days=days))
        assert set(mondays.day_of_week) == {0}
        assert set(mondays.hour) == {0}


def test_the_day_on_which_clocks_are_changed_is_shorter_also_in_a_log_of_one_second():
    begin = int(datetime.fromisoformat("2016-03-26T23:00:00+00:00").timestamp())
    clock = Clock.of(trace_in("Europe/Stockholm", [0], start=begin))
    assert clock.midnights(0, 0).tolist() == [0, 23 * 3600]


def test_clocks_show_the_new_time_from_the_second_at_which_they_are_changed():
    clock = Clock.between(header_in("Europe/Stockholm"), 0, 365 * DAY)
    changed = datetime.fromisoformat("2016-03-27T01:00:00+00:00").timestamp() - START
    shown = [str(date) for date in clock.dates([changed - 1, changed])]
    assert shown == ["2016-03-27 01:59:59", "2016-03-27 03:00:00"]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((), "no UnixStartTime"),
        (("; UnixStartTime: 0", "; TimeZone: 3600"), "no UnixStartTime"),
        (("; UnixStartTime: 843480031",), "no usable TimeZoneString or TimeZone"),
        (("; UnixStartTime: 843480031", "; TimeZoneString: Moon/Sea"), "no usable TimeZone"),
    ],
)
def test_unknown_local_time_is_said_and_counted_from_second_0(lines, reason):
    clock = Clock.of(Trace.from_columns({"submit": [5]}, header=Header(lines)))
    assert not clock.known
    assert reason in clock.note
    assert clock.local([5.0]).tolist() == [5.0]
    assert clock.midnights(5, 5).tolist() == [0, DAY]


def test_an_offset_serves_where_the_zone_has_no_name():
    header = Header(("; UnixStartTime: 86400", "; TimeZone: -18000"))
    clock = Clock.of(Trace.from_columns({"submit": [0]}, header=header))
    assert str(clock.dates([0])[0]) == "1970-01-01 19:00:00"
    assert clock.zone == "UTC-05:00"


@pytest.mark.parametrize(
    ("first", "last", "days", "expected"),
    [
        (0, DAY, 1, [0, DAY, 2 * DAY]),  # the last lies after the last second
        (3 * DAY, 5 * DAY, 2, [3 * DAY, 5 * DAY, 7 * DAY]),
        (8 * DAY, 8 * DAY, 7, [7 * DAY, 14 * DAY]),  # whole weeks begin at second 0
    ],
)
def test_midnights_are_counted_from_second_0_where_local_time_is_unknown(
    first, last, days, expected
):
    clock = Clock.of(Trace.from_columns({"submit": [5]}))
    assert clock.midnights(first, last, days=days).tolist() == expected


def test_a_date_is_that_of_the_second_that_has_begun():
    dates = Clock.of(trace_in("Europe/Stockholm", [0])).dates([-0.1, 0.9])
    assert [str(date) for date in dates] == ["2016-01-10 12:59:59", "2016-01-10 13:00:00"]


def test_times_beyond_all_calendars_are_no_dates():
    assert "beyond the years 2 to 9000" in Clock.of(trace_in("US/Pacific", [0, 10**12])).note
    year_9000 = trace_in("UTC", [0, DAY], start=221_845_392_000 - DAY)
    assert not Clock.of(year_9000).known


def test_times_before_all_calendars_are_no_dates():
    assert "beyond the years 2" in Clock.of(trace_in("US/Pacific", [-(10**12), 0])).note


def test_an_unknown_wait_counts_as_none():
    log = {"submit": [0, 10], "wait": [5, np.nan], "run": [7, 90], "procs": [1, 1]}
    trace = Trace.from_columns(log)
    assert trace.end.tolist() == [12, 100]
    assert span(trace) == (0, 100)


def test_a_log_lasts_until_its_last_submission_or_the_last_end_of_a_job_that_ran():
    log = {"submit": [0, 10, 20], "run": [90, -1, 500], "procs": [1, 1, 0]}
    assert span(Trace.from_columns(log)) == (0, 90)
    assert span(Trace.from_columns(log | {"submit": [0, 10, 100]})) == (0, 100)


@pytest.mark.parametrize("zone", ZONES)
@given(st.lists(st.integers(0, 1000 * DAY), min_size=1))
def test_clocks_show_a_local_time_first_at_the_second_that_it_gives(zone, shown):
    clock = Clock.between(header_in(zone), 0, 1000 * DAY)
    first = clock.seconds(clock.local(0) + np.sort(shown))
    local = clock.local(first)
    assert (np.diff(first) >= 0).all()
    assert (local >= clock.local(0) + np.sort(shown)).all()
    # No second before shows it, nor any later time of an hour that is skipped.
    assert (clock.local(first - 1) < clock.local(0) + np.sort(shown)).all()


@pytest.mark.parametrize("zone", ZONES)
@given(st.integers(0, 1000 * DAY))
def test_local_times_are_undone_as_the_zone_says(zone, second):
    clock = Clock.between(header_in(zone), 0, 1000 * DAY)
    there = datetime.fromtimestamp(START + second, ZoneInfo(zone))
    first = there.replace(fold=0).timestamp() - START
    assert clock.seconds(clock.local(second)) == first


@pytest.mark.parametrize(
    ("local", "second"),
    [
        ("2016-03-27 01:59:59", "2016-03-27 00:59:59"),
        ("2016-03-27 02:00:00", "2016-03-27 01:00:00"),  # from here on skipped
        ("2016-03-27 02:59:59", "2016-03-27 01:00:00"),
        ("2016-03-27 03:00:00", "2016-03-27 01:00:00"),
        ("2016-03-27 03:00:01", "2016-03-27 01:00:01"),
        ("2016-10-30 02:00:00", "2016-10-30 00:00:00"),  # struck twice: the first
        ("2016-10-30 02:59:59", "2016-10-30 00:59:59"),
        ("2016-10-30 03:00:00", "2016-10-30 02:00:00"),
    ],
)
def test_skipped_and_repeated_local_times(local, second):
    clock = Clock.between(header_in("Europe/Stockholm"), 0, 365 * DAY)
    shown = clock.local(0) + (pd.Timestamp(local) - clock.dates([0])[0]).total_seconds()
    assert clock.seconds(shown) + START == pd.Timestamp(second, tz="UTC").timestamp()


def test_without_a_zone_local_time_is_undone_as_it_was_made():
    clock = Clock.of(Trace.from_columns({"submit": [5]}))
    assert clock.seconds(clock.local([5.25, 7.0])).tolist() == [5.25, 7.0]


def test_a_clock_can_be_true_beyond_the_end_of_its_log():
    trace = trace_in("Europe/Stockholm", [0, DAY])
    assert Clock.of(trace).begins.size == 1
    longer = Clock.between(trace.header, 0, 1000 * DAY)
    date = longer.dates([200 * DAY])[0]
    assert str(date) == f"{datetime.fromtimestamp(START + 200 * DAY, ZoneInfo('CET')):%F %T}"
    assert Clock.of(trace, beyond=1000 * DAY).dates([200 * DAY])[0] == date


def test_a_clock_is_true_as_far_as_python_knows_the_calendar():
    trace = trace_in("UTC", [0], start=221_845_392_000 - 10 * DAY)  # ten days before the year 9000
    assert Clock.of(trace, beyond=1000 * DAY).known


def start_time(text, *more):
    """The clock of a log of 1999, which has the date of second 0 but no UnixStartTime."""
    return Clock.between(Header((f"; StartTime: {text}", *more)), 0, 400 * DAY)


@pytest.mark.parametrize(
    "text",
    [
        "Tuesday, 1 Dec 1998, 22:00:00",
        "Tue Dec  1 22:00:00 PST 1998",
        "Tue Dec 1 22:00:00 1998",
        "Tue Dec 01 22:00:00 GMT-8 1998",
        "TUE, 1 DEC 1998 22:00:00 -0800",
    ],
)
def test_a_log_of_1999_has_the_wall_time_of_its_start(text):
    clock = start_time(text)
    assert clock.known
    assert str(clock.dates([0])[0]) == "1998-12-01 22:00:00"
    assert clock.local(0) % (7 * DAY) == DAY + 22 * 3600  # a Tuesday
    assert clock.seconds(clock.local([0, 300 * DAY])).tolist() == [0, 300 * DAY]
    assert "its time zone is unknown" in clock.note


def test_start_time_is_that_of_the_time_zone_if_the_header_has_one():
    clock = start_time("Tue Dec 1 22:00:00 PST 1998", "; TimeZoneString: US/Pacific")
    assert clock.start == datetime.fromisoformat("1998-12-01T22:00:00-08:00").timestamp()
    assert str(clock.dates([200 * DAY])[0]) == "1999-06-19 23:00:00"
    assert not clock.note


def test_start_time_is_the_wall_time_of_unix_start_time():
    clock = start_time("Tue Dec 1 22:00:00 PST 1998", "; UnixStartTime: 912578400")
    assert clock.start == 912578400
    assert str(clock.dates([0])[0]) == "1998-12-01 22:00:00"
    assert "its time zone is unknown" in clock.note


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("Mon Feb 31 10:00:00 1998", ()),
        ("0", ()),
        ("Tue Dec 1 22:00:00 1998", ("; UnixStartTime: 0",)),
    ],
)
def test_a_start_that_is_no_date_is_no_clock(text, more):
    assert not start_time(text, *more).known


def test_a_clock_of_a_constant_offset_is_reported():
    for zone, name in (("UTC", "UTC"), ("Etc/GMT-8", "UTC+08:00")):
        clock = Clock.between(header_in(zone), 0, DAY)
        assert clock.zone == name
        assert f"clock is {name}, without daylight saving" in clock.note
    assert not Clock.between(header_in("Asia/Shanghai"), 0, DAY).note


def test_dates_choose_jobs_of_a_log_of_1999():
    header = Header(("; StartTime: Tuesday, 1 Dec 1998, 22:00:00",))
    trace = Trace.from_columns({"submit": [0, 2 * 3600 - 1, 2 * 3600, DAY]}, header=header)
    assert trace.where(since="1998-12-02").n_jobs == 2
    assert trace.where("hour = 22").n_jobs == 2
    with pytest.raises(ParameterError, match="since is '1998'; write 1998-01"):
        trace.where(since="1998")
