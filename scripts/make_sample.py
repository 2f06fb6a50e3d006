"""Make the built-in sample log, workloadkit/data/sample.swf.gz, from its seed.

Some 60 users share a machine of 96 processors for half a year. They come and go, work in sessions
on working days, run the same few executables again and again, and ask for more time than they
need, in round numbers. The waits are those of EASY.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

import workloadkit as wk

SEED = 32
N_USERS, N_GROUPS, N_WEEKS, PROCS = 60, 9, 26, 96
INTERACTIVE_PROCS, LONG_PROCS = 8, 32  # the most that jobs in the first and last queue may use
TIME_ZONE = ZoneInfo("Europe/Berlin")
FIRST_DAY = datetime(2021, 2, 1, tzinfo=TIME_ZONE)  # a Monday; summer time begins eight weeks on
OUTPUT = Path(__file__).parents[1] / "workloadkit" / "data" / "sample.swf.gz"

MINUTE, HOUR = 60, 3600
#: The times that users ask for.
ROUND_TIMES = np.array(
    [minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30)]
    + [hours * HOUR for hours in (1, 2, 4, 6, 8, 12, 18, 24, 36)]
)
#: Queues 0, 1, …: name and the longest time that may be asked for.
QUEUES = (
    ("interactive", 10 * MINUTE),
    ("short", 2 * HOUR),
    ("medium", 12 * HOUR),
    ("long", 36 * HOUR),
)
SIZES = (1, 2, 4, 8, 16, 32, 64, 3, 6, 10, 12, 20, 24, 48, 96)
SIZE_SHARES = (30, 8, 13, 16, 14, 8, 3, 1, 1, 2, 1, 1, 1, 0.7, 0.3)
#: Kinds of executables: share, median run time [s], spread of the medians (of the logarithm).
KINDS = ((0.33, 120, 1.0), (0.33, 3000, 0.9), (0.34, 32000, 0.6))


@dataclass(frozen=True)
class Executable:
    """A program with its usual size, run time and request."""

    number: int
    procs: int
    median: float
    spread: float
    requested_time: int
    memory: float
    efficiency: float


@dataclass(frozen=True)
class User:
    """A person: when they are there, how hard they work, and at what hours."""

    number: int
    group: int
    weeks: range
    diligence: float
    sweep: float
    shift: float


@dataclass(frozen=True)
class Job:
    """A submission, as its user wants it; the machine has the last word."""

    submit: float
    user: User
    executable: Executable
    run: float
    requested_time: int
    failed: bool


def make_users(rng: np.random.Generator) -> list[User]:
    """Draw the users: long-term ones, who stay throughout, and visitors of a few weeks."""
    users = []
    for number in range(N_USERS):
        if rng.random() < 0.4:
            weeks = range(N_WEEKS)
        else:
            first = int(rng.integers(-2, N_WEEKS - 2))
            weeks = range(max(first, 0), min(first + int(rng.integers(3, 11)), N_WEEKS))
        users.append(
            User(
                number=number,
                group=int(N_GROUPS * rng.random() ** 1.5),
                weeks=weeks,
                diligence=min(0.9, 0.26 * rng.lognormal(0, 0.8)),
                sweep=min(0.7, 0.15 * rng.lognormal(0, 0.8)),
                shift=11.0 if rng.random() < 0.08 else rng.normal(0, 0.8),  # a few night owls
            )
        )
    return users


def make_executable(rng: np.random.Generator, number: int) -> Executable:
    """Draw an executable; what its user asks for it is a guess on the safe side, mostly."""
    share, medians, spreads = zip(*KINDS, strict=True)
    kind = rng.choice(len(KINDS), p=share)
    median = min(medians[kind] * rng.lognormal(0, spreads[kind]), 20 * HOUR)
    procs = int(rng.choice(SIZES, p=np.array(SIZE_SHARES) / sum(SIZE_SHARES)))
    requested_time = round_up(median * rng.lognormal(0.9, 0.7))
    return Executable(
        number=number,
        procs=procs if requested_time <= QUEUES[2][1] else min(procs, LONG_PROCS),
        median=median,
        spread=rng.uniform(0.1, 0.7),
        requested_time=requested_time,
        memory=rng.lognormal(np.log(200_000), 1.0),
        efficiency=rng.beta(12, 2),
    )


def round_up(seconds: float) -> int:
    """Return the round time that a user would ask for."""
    return int(ROUND_TIMES[min(int(np.searchsorted(ROUND_TIMES, seconds)), ROUND_TIMES.size - 1)])


def submissions(rng: np.random.Generator, user: User) -> Iterator[Job]:
    """Follow a user through their weeks, days and sessions."""
    toolbox = [make_executable(rng, i) for i in range(1 + rng.poisson(2))]
    for week in user.weeks:
        if rng.random() < 0.3:  # a new version, or a new question
            toolbox.append(make_executable(rng, len(toolbox)))
        busy = user.diligence * rng.gamma(4, 0.25)  # deadlines and quiet weeks
        for weekday in range(7):
            if rng.random() > busy * (1 if weekday < 5 else 0.25):
                continue
            for _ in range(1 + rng.poisson(0.7)):
                hours = 24 * (7 * week + weekday) + session_hour(rng) + user.shift
                wall = FIRST_DAY.replace(tzinfo=None) + timedelta(hours=hours)
                yield from session(rng, user, toolbox, wall.replace(tzinfo=TIME_ZONE).timestamp())


def session_hour(rng: np.random.Generator) -> float:
    """Draw the hour at which a session starts: before lunch, after it, or in the evening."""
    centre, width = ((9.7, 1.1), (14.3, 1.6), (20.5, 1.5))[rng.choice(3, p=(0.45, 0.45, 0.1))]
    return float(rng.normal(centre, width))


def session(
    rng: np.random.Generator, user: User, toolbox: list[Executable], clock: float
) -> Iterator[Job]:
    """Follow a user from batch to batch until the next result is not worth waiting for."""
    latest = np.arange(1, len(toolbox) + 1) ** 1.5  # the newest executables are used most
    executable = None
    for _ in range(rng.geometric(0.25)):
        if executable is None or rng.random() < 0.2:
            executable = toolbox[rng.choice(len(toolbox), p=latest / latest.sum())]
        n_jobs = 1 + (rng.geometric(0.3) if rng.random() < user.sweep else 0)
        n_jobs = min(n_jobs, max(1, PROCS // executable.procs))  # a matter of manners
        requested_time = executable.requested_time
        if rng.random() < 0.1:  # a bolder guess, in the hope of an earlier start
            requested_time = round_up(requested_time / 2)
        longest = 0.0
        for _ in range(n_jobs):
            run = 1 + executable.median * rng.lognormal(0, executable.spread)
            if failed := rng.random() < 0.07:  # a crash, early as a rule
                run = 1 + run * rng.beta(1, 8)
            yield Job(clock, user, executable, run, requested_time, failed)
            longest = max(longest, run)
            clock += 1 + rng.exponential(15)
        if longest < rng.exponential(40 * MINUTE):
            clock += longest
        elif rng.random() < 0.5:  # too long to wait for, and nothing else to do
            return
        clock += rng.lognormal(np.log(4 * MINUTE), 1.1)


def make_trace(rng: np.random.Generator) -> tuple[wk.Trace, int]:
    """Draw the jobs of all users; second zero, since 1970 UTC, is that of the first job."""
    users = make_users(rng)
    jobs = [
        job
        for user, stream in zip(users, rng.spawn(N_USERS), strict=True)
        for job in submissions(stream, user)
    ]
    end = FIRST_DAY + timedelta(weeks=N_WEEKS)
    jobs = [job for job in jobs if FIRST_DAY.timestamp() <= job.submit < end.timestamp()]
    jobs.sort(key=lambda job: job.submit)
    start = int(jobs[0].submit)

    requested_time = np.array([job.requested_time for job in jobs])
    run = np.floor([job.run for job in jobs])
    # The limit is enforced by a daemon that is sometimes a few seconds late.
    killed = run >= requested_time
    grace = np.where(rng.random(len(jobs)) < 0.3, rng.integers(1, 30, len(jobs)), 0)
    run = np.where(killed, np.minimum(run, requested_time + grace), run)
    run = np.minimum(run, QUEUES[-1][1])
    failed = np.array([job.failed for job in jobs])
    procs = np.array([job.executable.procs for job in jobs])
    efficiency = np.array([job.executable.efficiency for job in jobs])
    efficiency = efficiency * rng.beta(40, 2, len(jobs))
    memory = np.array([job.executable.memory for job in jobs]) * rng.lognormal(0, 0.1, len(jobs))
    queue = np.searchsorted([limit for _, limit in QUEUES], requested_time)
    trace = wk.Trace.from_columns(
        {
            "submit": np.floor([job.submit - start for job in jobs]),
            "run": run,
            "procs": procs,
            "cpu": np.where(killed, np.nan, np.floor(run * efficiency)),  # no epilogue, no record
            "memory": np.where(run < MINUTE, np.nan, np.floor(memory)),  # sampled each minute
            "requested_procs": procs,
            "requested_time": requested_time,
            "status": np.where(killed, 5, np.where(failed, 0, 1)),
            "user": number_by_appearance([job.user.number for job in jobs]),
            "group": number_by_appearance([job.user.group for job in jobs]),
            "executable": number_by_appearance(
                [(job.user.number, job.executable.number) for job in jobs]
            ),
            "queue": np.where((queue == 0) & (procs > INTERACTIVE_PROCS), 1, queue),
        },
        name=OUTPUT.name,
    )
    return trace, start


def served(rng: np.random.Generator, trace: wk.Trace) -> wk.Trace:
    """Fill in the waits, and let the impatient cancel what waits too long for them."""
    impatient = rng.random(trace.n_jobs) < 0.06
    patience = np.where(impatient, rng.lognormal(np.log(2 * HOUR), 1.2, trace.n_jobs), np.inf)
    cancelled = easy_waits(trace) > patience
    wait = np.floor(np.where(cancelled, patience, 0))
    wait[~cancelled] = easy_waits(trace.select(~cancelled))
    jobs = trace.jobs.assign(wait=wait)
    jobs.loc[cancelled, ["run", "procs", "cpu", "memory"]] = np.nan
    jobs.loc[cancelled, "status"] = 5
    return replace(trace, jobs=jobs)


def easy_waits(trace: wk.Trace) -> np.ndarray:
    """Return the waits under EASY; limits that are enforced late are news to the scheduler."""
    schedule = wk.simulate(trace, scheduler="easy", procs=PROCS, overrun="late")
    return schedule.jobs["wait"].to_numpy()


def with_header(trace: wk.Trace, start: int) -> wk.Trace:
    """Give the trace its header; `start` is second zero since 1970 UTC."""
    jobs = trace.jobs
    last = int((jobs["submit"] + jobs["wait"] + jobs["run"]).max())
    clock = [datetime.fromtimestamp(start + t, TIME_ZONE) for t in (0, last)]
    start_time, end_time = (f"{time:%a %b %e %H:%M:%S %Z %Y}" for time in clock)
    entries = [
        ("Version", "2.2"),
        ("Computer", "a cluster that never was"),
        ("Installation", "workloadkit"),
        ("Conversion", "none: made by scripts/make_sample.py of workloadkit"),
        ("MaxJobs", f"{trace.n_jobs}"),
        ("MaxRecords", f"{trace.n_jobs}"),
        ("Preemption", "No"),
        ("UnixStartTime", f"{start}"),
        ("TimeZoneString", TIME_ZONE.key),
        ("StartTime", start_time),
        ("EndTime", end_time),
        ("MaxNodes", f"{PROCS}"),
        ("MaxProcs", f"{PROCS}"),
        ("MaxRuntime", f"{QUEUES[-1][1]}"),
        ("MaxQueues", f"{len(QUEUES)}"),
        (
            "Queues",
            f"by requested time; 0 up to {INTERACTIVE_PROCS} and 3 up to {LONG_PROCS} procs",
        ),
        *(
            ("Queue", f"{number} {name} (up to {limit} s)")
            for number, (name, limit) in enumerate(QUEUES)
        ),
        ("Note", f"SYNTHETIC: no such machine, no such users; made from seed {SEED}."),
        ("Note", "As shipped, the waits are those of EASY; jobs never started were cancelled."),
    ]
    return replace(trace, header=wk.Header().appended(*entries))


def number_by_appearance(values: list) -> list[int]:
    """Return 1, 2, … for the values, in the order in which they first appear."""
    numbers: dict = {}
    return [numbers.setdefault(value, len(numbers) + 1) for value in values]


def make_sample(seed: int = SEED) -> wk.Trace:
    """Make the log: its jobs, their waits and the header."""
    rng = np.random.default_rng(seed)
    trace, start = make_trace(rng)
    return with_header(served(rng, trace), start)


if __name__ == "__main__":
    sample = make_sample()
    wk.write_swf(sample, OUTPUT)
    print(f"{OUTPUT}: {sample.n_jobs} jobs, {OUTPUT.stat().st_size / 1000:.0f} kB")
