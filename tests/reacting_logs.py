"""Small logs of users with sessions, batches and silences, for the oracles of reacting users."""

import random
from functools import cache

from hypothesis import strategies as st

import workloadkit as wk
from tests.data import trace_path
from tests.oracles.reacting import DAY, WEEK, Wall
from tests.oracles.resampling import Calendar
from tests.small_logs import head_of, known

#: Zones with second 0: three days before clocks are changed, and three hours before.
ZONES = (
    None,
    ("Europe/Berlin", 985_251_600),
    ("Europe/Berlin", 985_471_200),
    ("America/New_York", 1_004_011_200),
    ("America/New_York", 1_004_238_000),
)

NAMES = ("job", "submit", "wait", "run", "procs", "requested_procs", "requested_time", "user")

#: Half hours with seconds about them: gaps fall upon, below and above the hour that parts sessions.
seconds = st.builds(lambda half, more: 1800 * half + more, st.integers(0, 16), st.integers(-1, 1))
submits = seconds.map(lambda time: max(time, 0))
lasting = st.sampled_from([0, 0, 1, 600, 1799, 1800, 3600, 5400, 9000, 20_000])


def quarters(times):
    """Some of the times with quarters of a second, which floats hold exactly."""
    return st.builds(lambda time, more: time + more / 4, times, st.sampled_from([0, 0, 1, 3]))


def logs(decimals=False, most=25, **fields):
    """Logs of few users as lists of dicts, in the order of submit."""
    some = quarters if decimals else lambda times: times
    job = {
        "job": st.integers(1, 60) | st.integers(1, 3),
        "submit": some(submits),
        "wait": st.none() | some(lasting),
        "run": some(lasting) | st.just(-1),
        "procs": st.integers(1, 4) | st.just(-1),
        "requested_time": st.none() | lasting,
        "user": st.sampled_from([1, 1, 1, 2, 7, -1]),
    }
    first = {"job": 9, "submit": 0, "wait": 0, "run": 5, "procs": 1, "requested_time": 9, "user": 1}
    first |= {name: -1 for name in fields if name not in first}
    one = st.fixed_dictionaries({**job, **fields})
    return st.lists(one, max_size=most).map(
        lambda jobs: sorted([first, *jobs], key=lambda job: job["submit"])
    )


def busy_logs(decimals=False, **fields):
    """Logs of more jobs than Hypothesis likes to make, over days; by a seed, which shrinks well."""
    return st.integers(0, 2**20).map(lambda seed: busy_log(seed, decimals, fields))


def busy_log(seed, decimals=False, fields=None):
    rnd = random.Random(seed)
    jobs, time = [], 0
    for place in range(rnd.choice([5, 20, 50])):
        time += rnd.choice([0, 0, 1, 60, 600, 1800, 3600, 3601, 7200, rnd.randrange(60_000)])
        some = rnd.choice([0, 0, 0.25, 0.75]) if decimals else 0
        job = {
            "job": rnd.choice([place + 1, place + 1, 3]),
            "submit": time + some,
            "wait": rnd.choice([None, 0, 0, 60, 3600, rnd.randrange(9000)]),
            "run": rnd.choice([0, 1, 60, 600, 3600, rnd.randrange(20_000) + some, -1]),
            "procs": rnd.choice([1, 1, 2, 3, 4, -1]),
            "requested_time": rnd.choice([None, 0, 600, 3600, rnd.randrange(30_000)]),
            "user": rnd.choice([1, 1, 2, 7, -1]),
        }
        jobs.append(job | {name: draw(rnd) for name, draw in (fields or {}).items()})
    jobs[0] |= {"run": 5, "procs": 1}
    return sorted(jobs, key=lambda job: job["submit"])


def header(zone=None):
    lines = ["; MaxProcs: 4"]
    if zone:
        lines += [f"; UnixStartTime: {zone[1]}", f"; TimeZoneString: {zone[0]}"]
    return wk.Header(tuple(lines))


def wall_of(trace):
    """The clock on the wall of a log."""
    start, zone = trace.header.start, trace.header.time_zone
    return Wall(Calendar(start, zone) if start and zone else Calendar())


def trace_of(jobs, zone=None):
    """The trace of jobs."""
    columns = {name: [-1 if job[name] is None else job[name] for job in jobs] for name in jobs[0]}
    return wk.Trace.from_columns(columns, header=header(zone))


def jobs_of(trace):
    """The jobs of a trace, each with the processors that a simulation gives it."""
    names = [*NAMES, "preceding_job", "think_time", "queue"]
    rows = zip(*(trace.column(name).tolist() for name in names), strict=True)
    jobs = [{name: known(name, x) for name, x in zip(names, row, strict=True)} for row in rows]
    for job, used in zip(jobs, trace.used_procs.tolist(), strict=True):
        asked = job["requested_procs"]
        job["procs"] = -1 if not used > 0 else asked if asked is not None and asked > 0 else used
        job["procs"] = int(job["procs"])
        for name in ("submit", "wait", "run", "requested_time", "think_time"):
            job[name] = whole(job[name])
        for name in ("wait", "requested_time", "think_time"):
            if job[name] is not None and job[name] < 0:
                job[name] = None
    return jobs


def whole(time):
    return int(time) if time is not None and time == int(time) else time


@cache
def real(name, n, skip=0):
    """Some jobs of a real log, as a trace."""
    trace = head_of(trace_path(name), skip + n)
    return trace.take(range(skip, trace.n_jobs))


@cache
def long_log(seed, zone=None, n_weeks=30):
    """A log of months, with long-term and temporary users, their sessions and overlapping work.

    The row of a job is its requested memory, which resampling keeps.
    """
    rnd = random.Random(seed)
    end = n_weeks * WEEK - rnd.randrange(6 * DAY)
    spans = [(0, end)]
    for _ in range(2):
        first = rnd.randrange(10 * WEEK)
        spans.append((first, rnd.randrange(first + 13 * WEEK, end)))
    for _ in range(6):
        first = rnd.randrange(5 * WEEK, end - 8 * WEEK)
        spans.append((first, first + rnd.randrange(10 * WEEK)))
    times = []
    for user, (first, last) in enumerate(spans, 11):
        begins = [first, last, *(rnd.randint(first, last) for _ in range(rnd.randrange(3, 14)))]
        for begin in begins:
            time = begin
            for _ in range(rnd.choice([1, 1, 2, 3, 5])):
                times.append((min(time, last), user))
                time += rnd.choice([0, 60, 1200, 3600])
    times.sort()
    n = len(times)
    trace = {
        "job": [3 * row + 5 for row in range(n)],
        "submit": [time for time, _ in times],
        "wait": [rnd.choice([-1, 0, rnd.randrange(5000)]) for _ in times],
        "run": [rnd.choice([0, 60, rnd.randrange(9000), rnd.randrange(200_000)]) for _ in times],
        "procs": [rnd.randrange(1, 5) for _ in times],
        "requested_time": [rnd.randrange(1, 20_000) for _ in times],
        "requested_memory": range(n),
        "user": [user for _, user in times],
    }
    return wk.Trace.from_columns(trace, header=header(zone))
