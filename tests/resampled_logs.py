"""Logs for the oracle of resampling, and what every resampled log must hold."""

import math
import random
from collections import Counter
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
from scipy import stats

import workloadkit as wk
from tests.oracles import resampling as oracle
from tests.oracles.resampling import WEEK, Calendar, Log
from workloadkit.fields import NAMES

JANUARY_2001 = 979_128_000  # 10 January 2001, 12:00 UTC
UNCHANGED = sorted(set(NAMES) - {"job", "submit", "user", "preceding_job", "think_time"})


def header(zone):
    lines = ["; MaxProcs: 16", "; MaxJobs: 9", "; MaxRecords: 9"]
    if zone:
        lines += [f"; UnixStartTime: {JANUARY_2001}", f"; TimeZoneString: {zone}"]
    return wk.Header(tuple(lines))


def calendar_of(trace):
    return Calendar(trace.header.start or 0, trace.header.time_zone if trace.header.start else None)


@cache
def changes(zone):
    """When clocks are changed in about a year, all on the hour."""
    calendar = Calendar(JANUARY_2001, zone and ZoneInfo(zone))
    hours = range(0, 60 * WEEK, 3600)
    return [time for time in hours if calendar.shows(time) - calendar.shows(time - 1) != 1]


@cache
def make_log(seed, zone, n_weeks=45, n_temporary=9):
    """A log of users of every kind, with many jobs about the hours in which clocks are changed.

    The row of a job is its requested memory, which resampling keeps.
    """
    rnd = random.Random(seed)
    calendar = Calendar(JANUARY_2001, zone and ZoneInfo(zone))
    begin, end = 1000, 1000 + n_weeks * WEEK - rnd.randrange(6 * 86400)
    spans = []
    for _ in range(2):
        first = begin + rnd.randrange(10 * WEEK)
        spans.append((first, rnd.randrange(first + 13 * WEEK, end)))
    for _ in range(n_temporary):
        first = rnd.randrange(begin + 4 * WEEK, end - 8 * WEEK)
        spans.append((first, min(first + rnd.randrange(11 * WEEK), end)))
    spans += [(begin, end)]  # longer than the log's length rounded to weeks, often
    spans += [(begin + WEEK, begin + 3 * WEEK), (end - 2 * WEEK, end - WEEK), (begin, begin)]
    jobs = [(begin, -1, 0), (end, -1, 0)]  # an unknown user's, and the last of all
    for user, (first, last) in enumerate(spans, 11):
        times = [first, last]
        for change in changes(zone):
            times += [time for time in (change - 600, change + 600) if first <= time <= last]
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


def log_of(trace, first=None):
    names = ("job", "submit", "wait", "run", "user", "preceding_job")
    columns = [trace.column(name).tolist() for name in names] + [trace.used_procs.tolist()]
    jobs = [dict(zip((*names, "procs"), row, strict=True)) for row in zip(*columns, strict=True)]
    for job in jobs:
        job["wait"] = 0 if math.isnan(job["wait"]) else job["wait"]
    return Log(jobs, calendar_of(trace), first)


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
        if kind == "long-term":  # may be in a pause at first
            assert start <= log.period(user) - log.weeks_present(user)
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


def check_population(log, starts, n_long_term, end_effects="whole", start="period"):
    """Who is there how often: long-term users in rounds, far apart; no temporary one twice."""
    pool = log.pool("long-term")
    n_weeks = {"period": log.period, "activity": log.weeks_present}[start]
    replicas = {user: [-begin for other, begin in starts if other == user] for user in pool}
    assert sum(map(len, replicas.values())) == n_long_term
    for user, weeks in replicas.items():
        assert len(weeks) in (n_long_term // len(pool), -(-n_long_term // len(pool)))
        if weeks:
            ring = n_weeks(user)
            assert start == "period" or max(weeks) < ring
            assert oracle.are_far_apart([week % ring for week in weeks], ring)
    temporary = [item for item in starts if log.kind(item[0], end_effects) == "temporary"]
    assert max(Counter((user, max(week, 0)) for user, week in temporary).values(), default=1) == 1


def fits(observed, chances):
    """Whether counts are likely under the chances of the cases, rare ones taken together."""
    if any(count and not chance for count, chance in zip(observed, chances, strict=True)):
        return False
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
