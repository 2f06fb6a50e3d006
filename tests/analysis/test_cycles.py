from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from workloadkit import Header, Trace
from workloadkit.analysis.load import cycles
from workloadkit.analysis.load.cycles import working_hours
from workloadkit.analysis.section import SEED
from workloadkit.clock import DAY

STOCKHOLM = ZoneInfo("Europe/Stockholm")


def trace_from(dates, *, start):
    zero = int(start.timestamp())
    submit = [date.timestamp() - zero for date in dates]
    header = Header((f"; UnixStartTime: {zero}", "; TimeZoneString: Europe/Stockholm"))
    return Trace.from_columns({"submit": submit}, header=header)


def test_nine_in_the_morning_stays_nine_when_the_clocks_change():
    start = datetime(2024, 1, 1, tzinfo=STOCKHOLM)
    dates = [start + timedelta(days=day, hours=9) for day in range(366)]  # wall-clock days
    week = cycles.weekly_cycle(trace_from([start, *dates], start=start))
    day = week["jobs"].groupby(week.index % 24).sum()
    assert day[9] == 366
    assert day.sum() == 367


@pytest.mark.parametrize(
    ("begin", "days"), [((2024, 3, 30, 7, 20), 3), ((2024, 10, 26, 7, 20), 2), ((2024, 1, 1), 400)]
)
def test_hours_covered_agree_with_counting_minutes(begin, days):
    start = datetime(*begin, tzinfo=STOCKHOLM)
    zero = int(start.timestamp())
    stop = zero + days * DAY + 1200
    expected = np.zeros(168)
    for second in range(zero, stop, 600):
        date = datetime.fromtimestamp(second, STOCKHOLM)
        expected[24 * date.weekday() + date.hour] += 1 / 6
    header = Header((f"; UnixStartTime: {zero}", "; TimeZoneString: Europe/Stockholm"))
    trace = Trace.from_columns({"submit": [0, stop - zero]}, header=header)
    np.testing.assert_allclose(cycles.weekly_cycle(trace)["hours"], expected, atol=1e-9)


def test_a_steady_stream_has_no_cycle():
    start = datetime(2024, 3, 25, tzinfo=STOCKHOLM)  # a week with 23 hours on its Sunday
    every_half_hour = [
        datetime.fromtimestamp(start.timestamp() + 1800 * i, STOCKHOLM) for i in range(2 * 24 * 28)
    ]
    week = cycles.weekly_cycle(trace_from(every_half_hour, start=start))
    # The last submission, on a Monday at 0:30, ends the log: its half hour is not covered.
    np.testing.assert_allclose(week["rate"][1:], 2, atol=1e-9)
    np.testing.assert_allclose(cycles.daily_cycle(week)[1:], 2, atol=1e-9)


def test_without_local_time_days_are_the_logs_own():
    submit = np.arange(0, 14 * DAY, 3600)
    trace = Trace.from_columns({"submit": submit[submit % DAY < 7200]})
    section = cycles.section(trace)
    assert "UnixStartTime" in section.notes[0]
    assert "weekdays" not in section.figures[0].data
    assert section.values["busiest_hour"] in (0, 1)
    assert section.values["time_zone"] is None
    assert list(section.tables[0].shown.index)[:2] == ["day 1", "day 2"]


@pytest.mark.parametrize(("days", "n_figures"), [(0.5, 0), (1, 1), (3, 1), (7, 2)])
def test_a_short_log_says_what_it_cannot_show(days, n_figures):
    section = cycles.section(Trace.from_columns({"submit": [0, days * DAY]}))
    assert len(section.figures) == n_figures
    assert ("less than" in section.notes[-1]) == (n_figures < 2)


def test_hours_weigh_by_how_often_they_came():
    hours, jobs = np.ones(168), np.ones(168)
    hours[9], jobs[9] = 2, 10  # Monday at nine came twice
    week = pd.DataFrame({"jobs": jobs, "hours": hours, "rate": jobs / hours})
    week = week.rename_axis("hour")
    assert cycles.daily_cycle(week).loc[9].tolist() == [16 / 8, 14 / 6, 1]


def test_the_cycle_of_two_weeks_worked_by_hand():
    start = datetime(2024, 1, 1, tzinfo=STOCKHOLM)  # a Monday
    days = [start + timedelta(days=day) for day in range(15)]
    jobs = [day + timedelta(hours=9) for day in days[:14] for _ in range(1 + (day.weekday() < 5))]
    trace = trace_from([days[0], *jobs, days[14]], start=start)  # Monday 0:00 in both ends
    day = cycles.daily_cycle(cycles.weekly_cycle(trace))
    assert day.loc[9].tolist() == pytest.approx([24 / 14, 2, 1])
    assert day.loc[0].tolist() == pytest.approx([2 / 14, 2 / 10, 0])
    section = cycles.section(trace)
    assert (section.values["busiest_hour"], section.values["quietest_hour"]) == (9, 1)
    assert section.values["peak_to_mean"] == pytest.approx(24 / (26 / 24))
    assert section.values["weekend_to_weekday"] == pytest.approx(1 / 2.2)
    assert section.values["weekday_share"] == pytest.approx(22 / 26)
    table = section.tables[0].data
    assert table.loc["Monday"].tolist() == pytest.approx([6, 3, 6 / 26])
    assert table.loc["Sunday"].tolist() == pytest.approx([2, 1, 2 / 26])
    assert section.finding == (
        "Most jobs arrive between 9:00 and 10:00, 22.2 times the mean of the day, fewest between "
        "1:00 and 2:00. 92 % of the jobs are submitted from 7:30 to 17:30, 85 % on Monday to "
        "Friday. A weekend day has 45 % of the arrivals of a weekday."
    )


def test_jobs_outside_the_window_are_in_no_cycle():
    submit = [0, *range(DAY, 3 * DAY + 1, 3600), 20 * DAY]
    header = Header((f"; Window: {DAY} {3 * DAY}",))
    trace = Trace.from_columns({"submit": submit}, header=header)
    week = cycles.weekly_cycle(trace)
    assert week["jobs"].sum() == 49
    assert week["hours"].sum() == 48
    assert len(cycles.section(trace).figures) == 1


def test_an_hour_that_the_log_does_not_cover_has_no_rate():
    # From 0:00 to 2:00: one job is submitted as the third hour begins, and ends the log.
    week = cycles.weekly_cycle(Trace.from_columns({"submit": [0, 1800, 7200]}))
    day = cycles.daily_cycle(week)["all"]
    assert week["rate"].iloc[:3].tolist() == pytest.approx([2, 0, np.nan], nan_ok=True)
    assert day.iloc[:4].tolist() == pytest.approx([2, 0, np.nan, np.nan], nan_ok=True)


def test_the_intervals_of_working_hours_are_the_same_each_time_and_reported_by_their_names():
    start = datetime(2024, 1, 1, tzinfo=STOCKHOLM)
    zero = int(start.timestamp())
    # Users 1 to 6 work by day, from one day a week to six; user 7 on Sundays, and by night.
    jobs = [(DAY * day + 36_000, user) for user in range(1, 7) for day in range(user)]
    jobs = sorted([*jobs, (6 * DAY, 7), (6 * DAY + 60, 7), (7 * DAY, 7)])
    submit, user = zip(*jobs, strict=True)
    header = Header((f"; UnixStartTime: {zero}", "; TimeZoneString: Europe/Stockholm"))
    trace = Trace.from_columns({"submit": (0, *submit), "user": (7, *user)}, header=header)
    section = cycles.section(trace)
    hours = working_hours(trace, rng=SEED)
    values = section.values
    assert section.parameters == {"seed": SEED}
    assert (values["day_share_low"], values["day_share_high"]) == hours.day_interval
    assert (values["weekday_share_low"], values["weekday_share_high"]) == hours.weekdays_interval
    assert hours.day_interval[0] < hours.day < hours.day_interval[1]
    assert len({*hours.day_interval, *hours.weekdays_interval}) > 2


def test_a_day_of_work_and_a_week_of_work_end_before_their_last_instant():
    header = Header(("; UnixStartTime: 345600", "; TimeZoneString: UTC"))  # a Monday, 0:00
    friday, hour = 4 * DAY, 3600
    submit = [0, 7.5 * hour, 17.5 * hour - 1, 17.5 * hour, friday + DAY - 1, friday + DAY]
    trace = Trace.from_columns({"submit": submit, "user": [0, 1, 2, 0, 1, 2]}, header=header)
    hours = working_hours(trace, rng=1)
    assert (hours.jobs, hours.day, hours.weekdays) == (6, 2 / 6, 5 / 6)
    assert np.isnan(working_hours(trace, n_resamples=1, rng=1).day_interval).all()
    assert not np.isnan(hours.day_interval).any()


def test_the_table_of_days_as_it_is_read():
    # From second 0 a job each six hours of two weeks, and twelve more on the first day.
    submit = np.sort([*range(0, 14 * DAY + 1, 6 * 3600), *range(60, 60 + 12 * 60, 60)])
    (table,) = cycles.section(Trace.from_columns({"submit": submit})).tables
    assert table.shown.loc[["day 1", "day 2"]].to_numpy().tolist() == [
        ["21", "10.5", "30 %"],
        ["8", "4", "12 %"],
    ]


def test_drawn_cycles_have_the_time_zone_of_their_log():
    week = cycles.weekly_cycle(
        trace_from([datetime(2024, 1, 1, 9, tzinfo=STOCKHOLM)], start=datetime(2024, 1, 1))
    )
    ax = cycles.plot_weekly_cycle(week, Figure().add_subplot())
    assert ax.get_xticklabels(minor=True)[0].get_text() == "Mon"
    ax = cycles.plot_daily_cycle(cycles.daily_cycle(week), Figure().add_subplot())
    assert ax.get_xlabel() == "time of day, Europe/Stockholm"


def test_the_cycles_that_are_drawn_are_those_of_the_tables():
    week = pd.DataFrame({"rate": np.arange(168.0)})
    ax = cycles.plot_weekly_cycle(week, Figure().add_subplot())
    drawn = ax.patches[0].get_data()
    assert drawn.values.tolist() == list(range(168))
    assert drawn.edges.tolist() == list(range(169))
    assert ax.get_xlim() == (0, 168)
    assert [label.get_text() for label in ax.get_xticklabels(minor=True)][:2] == ["day 1", "day 2"]
    week.attrs["zone"] = "UTC"
    ax = cycles.plot_weekly_cycle(week, Figure().add_subplot())
    names = [label.get_text() for label in ax.get_xticklabels(minor=True)]
    assert names == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    hours = np.arange(24.0)
    day = pd.DataFrame({"all": hours, "weekdays": hours + 100, "weekend": hours + 200})
    day.attrs["zone"] = "UTC"
    ax = cycles.plot_daily_cycle(day, Figure().add_subplot())
    drawn = {patch.get_label(): patch.get_data().values.tolist() for patch in ax.patches}
    assert drawn == {"weekdays": [*(hours + 100)], "weekend": [*(hours + 200)]}
    assert ax.get_xlabel() == "time of day, UTC"
    day.attrs.clear()
    ax = cycles.plot_daily_cycle(day[["all"]], Figure().add_subplot())
    drawn = {patch.get_label(): patch.get_data().values.tolist() for patch in ax.patches}
    assert drawn == {"all": [*hours]}
    assert ax.get_xlabel() == "hour of the day since second 0"
