"""Resampled logs against the rules of resampling, job by job, and against its laws."""

import math
import random
from collections import Counter
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from scipy import stats

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.oracles import resampling as oracle
from tests.oracles.resampling import WEEK, Calendar, Log
from tests.oracles.sessions import delimit
from workloadkit.fields import NAMES

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")

JANUARY_2001 = 979_128_000  # 10 January 2001, 12:00 UTC
ZONES = (None, "Europe/Berlin", "America/New_York")
UNCHANGED = sorted(set(NAMES) - {"job", "submit", "user", "preceding_job", "think_time"})


def header(zone):
    lines = ["; MaxProcs: 16", "; MaxJobs: 9", "; MaxRecords: 9"]
    if zone:
        lines += [f"; UnixStartTime: {JANUARY_2001}", f"; TimeZoneString: {zone}"]
    return wk.Header(tuple(lines))


def calendar_of(trace):
    return Calendar(trace.header.start or 0, trace.header.time_zone if trace.header.start else None)


@cache
def make_log(seed, zone, n_weeks=45, n_temporary=9):
    """A log of users of every kind, with many jobs about the hours in which clocks are changed.

    The row of a job is its requested memory, which resampling keeps.
    """
    rnd = random.Random(seed)
    calendar = Calendar(JANUARY_2001, zone and ZoneInfo(zone))
    begin, end = 1000, 1000 + n_weeks * WEEK - rnd.randrange(6 * 86400)
    spans = []
    for _ in range(3):
        first = begin + rnd.randrange(10 * WEEK)
        spans.append((first, rnd.randrange(first + 13 * WEEK, end)))
    for _ in range(n_temporary):
        first = rnd.randrange(begin + 4 * WEEK, end - 8 * WEEK)
        spans.append((first, min(first + rnd.randrange(11 * WEEK), end)))
    spans += [(begin + WEEK, begin + 3 * WEEK), (end - 2 * WEEK, end - WEEK), (begin, begin)]
    jobs = [(begin, -1, 0), (end, -1, 0)]  # an unknown user's, and the last of all
    for user, (first, last) in enumerate(spans, 11):
        times = [first, last]
        for _ in range(rnd.randrange(4, 25)):
            time = rnd.randint(first, last)
            if zone and rnd.random() < 0.6:  # on Sunday, between 1 and 4
                sunday = calendar.shows(time) // WEEK * WEEK + 3 * 86400
                time = calendar.first_second(sunday + rnd.randrange(3600, 4 * 3600))
                time += rnd.choice([0, 0, 3600])
            times.append(min(max(time, first), last))
        jobs += [(time, user, rnd.choice([-1, 1, 1, 1, 1, 1])) for time in times]
    jobs.sort(key=lambda job: job[0])
    n = len(jobs)
    numbers = [3 * row + 5 for row in range(n)]
    before = [rnd.choice([-1, *numbers[max(row - 30, 0) : row]]) for row in range(n)]
    return wk.Trace.from_columns(
        {
            "job": numbers,
            "submit": [time for time, _, _ in jobs],
            "wait": [rnd.randrange(5000) for _ in jobs],
            "run": [rnd.randrange(5000) if fate >= 0 else -1 for _, _, fate in jobs],
            "procs": [rnd.randrange(1, 17) for _ in jobs],
            "requested_time": [rnd.randrange(1, 9000) for _ in jobs],
            "requested_memory": range(n),
            "user": [user for _, user, _ in jobs],
            "queue": [rnd.randrange(4) for _ in jobs],
            "preceding_job": before,
            "think_time": [rnd.randrange(9999) if job > 0 else -1 for job in before],
        },
        header=header(zone),
    )


def marked(trace):
    """The log with the row of each job as its requested memory."""
    return trace.with_columns(requested_memory=np.arange(trace.n_jobs))


def log_of(trace):
    names = ("job", "submit", "wait", "run", "user", "preceding_job")
    columns = [trace.column(name).tolist() for name in names] + [trace.used_procs.tolist()]
    jobs = [dict(zip((*names, "procs"), row, strict=True)) for row in zip(*columns, strict=True)]
    for job in jobs:
        job["wait"] = 0 if math.isnan(job["wait"]) else job["wait"]
    return Log(jobs, calendar_of(trace))


def until_of(log, weeks):
    """The last second of the new log; a whole number of weeks on the wall clock ends before it."""
    if weeks is None:
        return log.end
    return log.calendar.first_second(log.calendar.shows(log.begin) + weeks * WEEK) - 0.5


def rows_of(resampled):
    return resampled.column("requested_memory").astype(int).tolist()


def starts_of(log, resampled):
    """Original user and week of the start of each incarnation."""
    users, submits = (resampled.column(name).tolist() for name in ("user", "submit"))
    starts = []
    for jobs in oracle.incarnations(rows_of(resampled), users, submits).values():
        (user,) = {log.jobs[row]["user"] for row, _ in jobs}
        starts.append((user, log.start_of(user, *jobs[0])))
    return starts


def check_jobs(log, trace, resampled, until, end_effects="whole"):
    """Every incarnation is what the rules make of its user, given the week of its start."""
    rows = rows_of(resampled)
    users, submits = (resampled.column(name).tolist() for name in ("user", "submit"))
    assert submits == sorted(submits)
    assert resampled.column("job").tolist() == list(range(1, resampled.n_jobs + 1))
    assert list(dict.fromkeys(users)) == list(range(1, len(set(users)) + 1))
    for name in UNCHANGED:
        np.testing.assert_array_equal(resampled.column(name), trace.column(name)[rows], name)

    left = {}  # (row, cycle) of the jobs of each incarnation, in order
    found = oracle.incarnations(rows, users, submits)
    starts = starts_of(log, resampled)
    for (new, jobs), (user, start) in zip(found.items(), starts, strict=True):
        kind = log.kind(user, end_effects)
        assert kind != "truncated"
        assert start > -log.weeks_present(user)
        assert start <= 0 or kind == "temporary"
        expected = log.incarnation(user, start, until)
        assert jobs == [(row, submit) for row, _, submit in expected]
        left[new] = [(cycle, row) for row, cycle, _ in reversed(expected)]

    keys = [(new, *left[new].pop()) for new in users]
    number = {key: job for job, key in enumerate(keys, 1)}
    row_of = {job["job"]: row for row, job in enumerate(log.jobs)}
    before = [
        number.get((new, cycle, row_of.get(log.jobs[row]["preceding_job"])), -1)
        for new, cycle, row in keys
    ]
    assert resampled.column("preceding_job").tolist() == before
    think_times = trace.column("think_time")[rows]
    think_times[np.array(before) < 0] = math.nan
    np.testing.assert_array_equal(resampled.column("think_time"), think_times)
    return starts


def check_population(log, starts, n_long_term, end_effects="whole"):
    """Who is there how often: long-term users in rounds, far apart; no temporary one twice."""
    pool = log.pool("long-term")
    replicas = {user: [-start for other, start in starts if other == user] for user in pool}
    assert sum(map(len, replicas.values())) == n_long_term
    for user, weeks in replicas.items():
        assert len(weeks) in (n_long_term // len(pool), -(-n_long_term // len(pool)))
        if weeks:
            assert oracle.are_far_apart(weeks, log.weeks_present(user))
    temporary = [item for item in starts if log.kind(item[0], end_effects) == "temporary"]
    assert max(Counter((user, max(week, 0)) for user, week in temporary).values(), default=1) == 1


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("end_effects", ["whole", "any"])
@pytest.mark.parametrize("weeks", [None, 7, 130])
def test_every_incarnation_is_a_piece_of_its_users_jobs(zone, end_effects, weeks):
    for seed in range(3):
        trace = make_log(seed, zone)
        log = log_of(trace)
        for run in range(3):
            new = wk.resample(trace, weeks, rng=100 * seed + run, end_effects=end_effects)
            starts = check_jobs(log, trace, new, until_of(log, weeks), end_effects)
            if weeks != 7:  # in so few weeks some are silent
                n_long_term = len(log.pool("long-term", end_effects))
                check_population(log, starts, n_long_term, end_effects)


@pytest.mark.parametrize("zone", ZONES)
def test_weekday_and_time_of_day_are_kept_but_for_clock_changes(zone):
    trace = make_log(7, zone)
    log = log_of(trace)
    new = wk.resample(trace, 60, rng=5)
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


@pytest.mark.parametrize("load", [0.3, 0.8, 1.4, 2.5, 4.0])
def test_a_load_factor_multiplies_the_numbers_of_users(load):
    trace = make_log(3, "Europe/Berlin", n_temporary=60)
    log = log_of(trace)
    n_long_term = math.floor(load * len(log.pool("long-term")) + 0.5)
    for run in range(4):
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


def test_the_header_tells_the_truth():
    trace = make_log(2, "Europe/Berlin")
    new = wk.resample(trace, rng=1)
    assert new.header.number("MaxJobs") == new.header.number("MaxRecords") == new.n_jobs
    assert new.header.procs == 16
    assert new.header.start == JANUARY_2001
    assert new.header.time_zone == ZoneInfo("Europe/Berlin")


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
        assert wk.resample(trace, load=1.5, rng=int(own)).jobs.equals(new.jobs)


# Laws.


@cache
def four_users():
    """A log of one long-term and four temporary users, active for 2, 3, 5 and 11 weeks.

    Every user has a job in each week of his, at an hour of his own.
    """
    jobs = [(0, 99), (50 * WEEK, 99)]
    for user, (first, n_weeks) in enumerate([(5, 2), (9, 3), (20, 5), (30, 11), (2, 47)], 1):
        jobs += [((first + week) * WEEK + 3600 * user, user) for week in range(n_weeks)]
    jobs.sort()
    trace = wk.Trace.from_columns(
        {
            "submit": [time for time, _ in jobs],
            "run": [-1 if user == 99 else 10 for _, user in jobs],
            "procs": [1] * len(jobs),
            "user": [user for _, user in jobs],
            "requested_memory": range(len(jobs)),
        },
        header=header(None),
    )
    return trace, log_of(trace)


PRESENT = {1: 2, 2: 3, 3: 5, 4: 11}
N_RUNS = 500


@cache
def draws(load=1.0):
    """Starts of all incarnations, by run."""
    trace, log = four_users()
    return [starts_of(log, new) for new in wk.resamples(trace, N_RUNS, load=load, rng=9)]


def fits(observed, chances):
    """Whether counts are likely under the chances of the cases, rare ones taken together."""
    total = sum(observed)
    pairs = sorted(zip(chances, observed, strict=True))
    merged = [[0.0, 0]]
    for chance, count in pairs:
        if merged[-1][0] * total >= 8:
            merged.append([0.0, 0])
        merged[-1][0] += chance
        merged[-1][1] += count
    if merged[-1][0] * total < 8 and len(merged) > 1:
        chance, count = merged.pop()
        merged[-1][0] += chance
        merged[-1][1] += count
    expected = [chance * total for chance, _ in merged]
    if len(merged) == 1:
        return True
    return stats.chisquare([count for _, count in merged], expected).pvalue > 1e-4


def test_the_four_users_are_what_they_should_be():
    _, log = four_users()
    assert log.pool("temporary") == [1, 2, 3, 4]
    assert log.pool("long-term") == [5]
    assert {user: log.weeks_present(user) for user in PRESENT} == PRESENT
    assert log.arrivals_per_week() == 4 / 50
    assert log.mean_present() == 21 / 50
    assert log.period(5) == 50


@pytest.mark.parametrize("load", [1.0, 4.0])
def test_numbers_of_temporary_users_are_binomial(load):
    initial, arrived = Counter(), Counter()
    for starts in draws(load):
        weeks = [week for user, week in starts if user in PRESENT]
        initial[sum(week <= 0 for week in weeks)] += 1
        for week in range(1, 50):
            arrived[weeks.count(week)] += 1
    _, log = four_users()
    at_start = oracle.binomial(4, min(load * log.mean_present() / 4, 1))
    assert fits([initial[k] for k in range(5)], at_start)
    per_week = oracle.binomial(4, load * log.arrivals_per_week() / 4)
    assert fits([arrived[k] for k in range(5)], per_week)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_who_is_there_at_the_start_is_drawn_by_the_weeks_of_activity(n):
    present = Counter()
    runs = 0
    for starts in draws(4.0):
        users = [user for user, week in starts if user in PRESENT and week <= 0]
        if len(users) == n:
            present.update(users)
            runs += 1
    chances = oracle.included(PRESENT, n)
    assert sum(chances.values()) == pytest.approx(n)
    for user, chance in chances.items():
        deviation = math.sqrt(runs * chance * (1 - chance))
        assert present[user] == pytest.approx(runs * chance, abs=4 * deviation)


def test_who_arrives_is_drawn_uniformly():
    arrived = Counter(
        user for starts in draws(4.0) for user, week in starts if user in PRESENT and week > 0
    )
    assert fits([arrived[user] for user in PRESENT], [1 / 4] * 4)


@pytest.mark.parametrize(("user", "n_weeks"), [*PRESENT.items(), (5, 47)])
def test_the_week_of_the_start_is_drawn_uniformly(user, n_weeks):
    weeks = Counter(
        -week for starts in draws(4.0) for other, week in starts if other == user and week <= 0
    )
    assert set(weeks) <= set(range(n_weeks))
    assert fits([weeks[week] for week in range(n_weeks)], [1 / n_weeks] * n_weeks)


def test_the_remainder_of_the_long_term_users_is_a_random_subset():
    trace = make_log(5, None)
    log = log_of(trace)
    pool = log.pool("long-term")
    assert len(pool) == 3
    twice = Counter()
    for new in wk.resamples(trace, 300, load=1.3, rng=2, temporary_users=0, arrivals=0):
        count = Counter(user for user, _ in starts_of(log, new))
        assert sorted(count.values()) == [1, 1, 2]
        twice[max(count, key=count.__getitem__)] += 1
    assert fits([twice[user] for user in pool], [1 / 3] * 3)


# Rare behaviours.


def test_rare_behaviours_are_pieces_of_their_own():
    trace = make_log(4, "Europe/Berlin", n_temporary=20)
    log = log_of(trace)
    long_term, temporary = log.pool("long-term")[0], log.pool("temporary")[:2]
    spans = {
        user: [log.jobs[log.rows[user][i]]["submit"] for i in (0, len(log.rows[user]) // 2)]
        for user in [long_term, *temporary]
    }
    rare = [(user, first, last) for user, (first, last) in spans.items()]
    pieces = [
        [row for row in log.rows[user] if first <= log.jobs[row]["submit"] <= last]
        for user, first, last in rare
    ]
    rate, found = 0.1, []
    for new in wk.resamples(trace, 60, rng=1, rare=rare, rare_per_week=rate):
        users, submits = (new.column(name).tolist() for name in ("user", "submit"))
        incarnations = oracle.incarnations(rows_of(new), users, submits)
        named = wk.rare_users(new).tolist()
        for user, jobs in incarnations.items():
            rows = [row for row, _ in jobs]
            of = [piece for piece in pieces if set(piece) & set(rows)]
            assert bool(of) == (user in named)
            if not of:
                continue
            (piece,) = of
            # From its first job, as far as the log reaches.
            assert rows == piece[: len(rows)]
            whole = len(rows) == len(piece)
            clock = log.calendar.shows
            week = math.floor((clock(jobs[0][1]) - clock(log.begin)) / WEEK)
            assert week >= 1
            shift = week - log.weeks[piece[0]]
            if not whole:
                missing = log.shown[piece[len(rows)]] + shift * WEEK
                assert log.calendar.first_second(missing) > log.end
            latest = -math.inf
            for row, submit in jobs:
                moved = log.calendar.first_second(log.shown[row] + shift * WEEK)
                latest = max(latest, moved)
                assert submit == latest
            found.append((pieces.index(piece), week))
    n_weeks = 60 * (log.number_of_weeks() - 2)
    count = sum(week < log.number_of_weeks() - 1 for _, week in found)
    assert count == pytest.approx(rate * n_weeks, abs=4.5 * math.sqrt(rate * n_weeks))
    by_piece = Counter(piece for piece, _ in found)
    assert fits([by_piece[piece] for piece in range(3)], [1 / 3] * 3)


# Finer units.


@pytest.mark.parametrize("unit", ["session", "batch", "job"])
def test_finer_units_are_moved_by_whole_weeks(unit):
    trace = marked(wk.load_sample())
    log = log_of(trace)
    label = list(range(trace.n_jobs))
    if unit != "job":
        of = delimit_by_user(log)
        label = {row: of[row][0 if unit == "session" else 1] for row in of}
    new = wk.resample(trace, rng=6, unit=unit)
    users, submits = (new.column(name).tolist() for name in ("user", "submit"))
    clock = log.calendar
    moved = 0
    for jobs in oracle.incarnations(rows_of(new), users, submits).values():
        (user,) = {log.jobs[row]["user"] for row, _ in jobs}
        n_weeks, rows = log.weeks_present(user), [row for row, _ in jobs]
        weeks = [
            math.floor((clock.shows(submit) - clock.shows(log.begin)) / WEEK) for _, submit in jobs
        ]
        for row, submit in jobs:
            assert clock.weekday_and_time(submit) == log.shown[row] % WEEK
        if log.kind(user) == "long-term":
            continue
        assert len(set(rows)) == len(rows)
        assert max(weeks) - min(weeks) < n_weeks
        if min(weeks) >= n_weeks and min(weeks) + n_weeks < log.number_of_weeks():
            assert sorted(rows) == log.rows[user]
        # The jobs of a piece stay together, but for those that go round to the first weeks.
        shifts = {}
        for (row, _), week in zip(jobs, weeks, strict=True):
            shifts.setdefault(label[row], set()).add((week - log.weeks[row]) % n_weeks)
        assert all(len(weeks) == 1 for weeks in shifts.values())
        moved += len({min(weeks) for weeks in shifts.values()}) > 1
    assert moved


def delimit_by_user(log):
    """Sessions and batches by 60 minutes between arrivals."""
    labels = {}
    for rows in log.rows.values():
        of = delimit([log.jobs[row] for row in rows], "arrival", 3600)
        for i, (session, batch, _) in of.items():
            labels[rows[i]] = (rows[0], session), (rows[0], batch)
    return labels


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
