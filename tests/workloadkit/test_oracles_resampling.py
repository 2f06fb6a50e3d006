"""Resampled logs against the rules of resampling, job by job."""

import math
from collections import Counter
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.oracles.resampling import WEEK, Calendar
from tests.resampled_logs import (
    JANUARY_2001,
    check_jobs,
    check_population,
    log_of,
    make_log,
    marked,
    rows_of,
    starts_of,
    until_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")

ZONES = (None, "Europe/Berlin", "America/New_York")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("end_effects", ["whole", "any"])
@pytest.mark.parametrize(
    ("weeks", "start"), [(None, "period"), (None, "activity"), (7, "period"), (130, "period")]
)
def test_every_incarnation_is_a_piece_of_its_users_jobs(zone, end_effects, weeks, start):
    for seed in range(2):
        trace = make_log(seed, zone)
        log = log_of(trace)
        for run in range(2):
            how = {"rng": 100 * seed + run, "end_effects": end_effects, "start": start}
            new = wk.resample(trace, weeks=weeks, **how)
            starts = check_jobs(log, trace, new, until_of(log, weeks), end_effects)
            if weeks != 7:  # in so few weeks some are silent
                n_long_term = len(log.pool("long-term", end_effects))
                check_population(log, starts, n_long_term, end_effects, start)


@pytest.mark.parametrize("zone", ZONES)
def test_weekday_and_time_of_day_are_kept_but_for_clock_changes(zone):
    trace = make_log(7, zone)
    log = log_of(trace)
    new = wk.resample(trace, weeks=60, rng=5)
    clock = log.calendar.weekday_and_time
    differing = [
        row
        for row, submit in zip(rows_of(new), new.column("submit").tolist(), strict=True)
        if clock(log.jobs[row]["submit"]) != clock(submit)
    ]
    # What is struck twice or skipped lies between 1 and 4 on a Sunday.
    assert all(
        3 * 86400 <= clock(log.jobs[row]["submit"]) < 3 * 86400 + 4 * 3600 for row in differing
    )
    assert not (differing and zone is None)
    assert len(differing) < new.n_jobs / 10


def test_a_load_factor_multiplies_the_numbers_of_users():
    for load in (
        0.3,
        0.8,
        1.4,
        2.5,
        4.0,
    ):
        trace = make_log(3, "Europe/Berlin", n_temporary=60)
        log = log_of(trace)
        n_long_term = math.floor(load * len(log.pool("long-term")) + 0.5)
        for run in range(2):
            new = wk.resample(trace, load=load, rng=run)
            starts = check_jobs(log, trace, new, log.end)
            check_population(log, starts, n_long_term)


def test_numbers_of_users_can_be_given():
    trace = make_log(3, "Europe/Berlin", n_temporary=40)
    log = log_of(trace)
    new = wk.resample(trace, rng=1, long_term_users=11, temporary_users=40, arrivals=40)
    starts = check_jobs(log, trace, new, log.end)
    check_population(log, starts, 11)
    temporary = log.pool("temporary")
    initial = [user for user, week in starts if user in temporary and week <= 0]
    assert sorted(initial) == sorted(temporary)
    arrived = Counter(week for user, week in starts if user in temporary and week > 0)
    assert all(arrived[week] == len(temporary) for week in range(1, log.number_of_weeks() - 1))


def test_without_temporary_users_only_long_term_ones_are_there():
    trace = make_log(3, None)
    log = log_of(trace)
    new = wk.resample(trace, rng=1, temporary_users=0, arrivals=0)
    assert {log.kind(user) for user, _ in starts_of(log, new)} == {"long-term"}
    none = wk.resample(trace, rng=1, long_term_users=0)
    assert {log.kind(user) for user, _ in starts_of(log, none)} == {"temporary"}


def test_utilities_ride_along():
    trace = wk.add_utility(make_log(2, None), priority=dict.fromkeys(range(4), 0), rng=1)
    new = wk.resample(trace, rng=1)
    for job, row in enumerate(rows_of(new)):
        assert new.utilities[job] == trace.utilities[row]


def test_the_header_describes_the_resampled_log():
    trace = make_log(2, "Europe/Berlin")
    new = wk.resample(trace, rng=1)
    assert new.header.number("MaxJobs") == new.header.number("MaxRecords") == new.n_jobs
    assert new.header.procs == 16
    assert new.header.start == JANUARY_2001
    assert new.header.time_zone == ZoneInfo("Europe/Berlin")


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln"])
def test_real_logs_are_resampled_by_the_rules(name):
    trace = marked(wk.read_swf(trace_path(name)))
    log = log_of(trace)
    new = wk.resample(trace, rng=3)
    starts = check_jobs(log, trace, new, log.end)
    check_population(log, starts, len(log.pool("long-term")))


def test_the_sample_is_resampled_by_the_rules():
    trace = marked(wk.load_sample())
    log = log_of(trace)
    for run, new in enumerate(wk.resamples(trace, 3, load=1.5, rng=3)):
        n_long_term = math.floor(1.5 * len(log.pool("long-term")) + 0.5)
        starts = check_jobs(log, trace, new, log.end)
        check_population(log, starts, n_long_term)
        own = np.random.SeedSequence(3, spawn_key=(run,)).generate_state(1, np.uint64)[0]
        own = int(own) % 2**53  # so that JSON can say it
        assert wk.resample(trace, load=1.5, rng=int(own)).jobs.equals(new.jobs)


def test_the_last_second_of_the_log_counts_and_no_user_overlaps_himself():
    # One job a week, at the hour of the last one: a cycle of 21 weeks, as 20 would put the first
    # job of the next one beside the last. So each week has one job, whichever the first is.
    submit = [week * WEEK + 5000 for week in range(21)]
    jobs = {"run": [1] * 21, "procs": [1] * 21, "user": [7] * 21}
    trace = wk.Trace.from_columns({"submit": submit, **jobs})
    for seed in range(10):
        assert wk.resample(trace, rng=seed).column("submit").tolist() == submit


# The oracle itself.


def test_a_calendar_knows_the_hours_of_change():
    berlin = Calendar(0, ZoneInfo("Europe/Berlin"))

    def second(text):
        return int(datetime.fromisoformat(text).timestamp())

    shown = berlin.shows(second("2001-03-25T01:59:00+01:00"))
    assert berlin.first_second(shown) == second("2001-03-25T01:59:00+01:00")
    change = second("2001-03-25T02:00:00+01:00")
    assert {berlin.first_second(shown + 60 * minute) for minute in range(1, 62)} == {change}
    assert berlin.first_second(shown + 62 * 60) == change + 60
    shown = berlin.shows(second("2001-10-28T02:30:00+01:00"))  # the second strike
    assert berlin.first_second(shown) == second("2001-10-28T02:30:00+02:00")
