"""Generate the built-in sample log, workloadkit/data/sample.swf.gz, from its seed.

About 60 users share a machine of 96 processors for half a year. Some stay throughout, others for
a few weeks. They work in sessions, mostly on weekdays, run the same few executables repeatedly, and
request round times that exceed the run times. The wait times are simulated under EASY.
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
INTERACTIVE_PROCS, LONG_PROCS = 8, 32  # maximum processors per job in the first and last queue
TIME_ZONE = ZoneInfo("Europe/Berlin")
FIRST_DAY = datetime(2021, 2, 1, tzinfo=TIME_ZONE)  # a Monday; summer time begins eight weeks later
OUTPUT = Path(__file__).parents[1] / "workloadkit" / "data" / "sample.swf.gz"

MINUTE, HOUR = 60, 3600
#: The times that users request [s].
ROUND_TIMES = np.array(
    [minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30)]
    + [hours * HOUR for hours in (1, 2, 4, 6, 8, 12, 18, 24, 36)]
)
#: Queues 0, 1, …: name and maximum requested time [s].
QUEUES = (
    ("interactive", 10 * MINUTE),
    ("short", 2 * HOUR),
    ("medium", 12 * HOUR),
    ("long", 36 * HOUR),
)
SIZES = (1, 2, 4, 8, 16, 32, 64, 3, 6, 10, 12, 20, 24, 48, 96)
SIZE_SHARES = (30, 8, 13, 16, 14, 8, 3, 1, 1, 2, 1, 1, 1, 0.7, 0.3)
#: Kinds of executables: share, median run time [s], standard deviation of its logarithm.
KINDS = ((0.33, 120, 1.0), (0.33, 3000, 0.9), (0.34, 32000, 0.6))


@dataclass(frozen=True)
class Executable:
    """A program, with its size, distribution of run times and requested time."""

    number: int
    procs: int
    median: float
    spread: float
    requested_time: int
    memory: float
    efficiency: float


@dataclass(frozen=True)
class User:
    """A user: weeks of activity, rate of work, and shift of the hours of work."""

    number: int
    group: int
    weeks: range
    diligence: float
    sweep: float
    shift: float


@dataclass(frozen=True)
class Job:
    """A submitted job; the run time is before limits are enforced."""

    submit: float
    user: User
    executable: Executable
    run: float
    requested_time: int
    failed: bool


def make_users(rng: np.random.Generator) -> list[User]:
    """Draw the users: long-term users, active throughout, and visitors of a few weeks."""
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
                shift=11.0 if rng.random() < 0.08 else rng.normal(0, 0.8),  # some work at night
            )
        )
    return users


def make_executable(rng: np.random.Generator, number: int) -> Executable:
    """Draw an executable; its requested time mostly exceeds its run times."""
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
    """Return the next longer round time, or the longest."""
    return int(ROUND_TIMES[min(int(np.searchsorted(ROUND_TIMES, seconds)), ROUND_TIMES.size - 1)])


def submissions(rng: np.random.Generator, user: User) -> Iterator[Job]:
    """Generate the jobs of a user, by weeks, days and sessions."""
    toolbox = [make_executable(rng, i) for i in range(1 + rng.poisson(2))]
    for week in user.weeks:
        if rng.random() < 0.3:  # a new program or version
            toolbox.append(make_executable(rng, len(toolbox)))
        busy = user.diligence * rng.gamma(4, 0.25)  # the rate varies between weeks
        for weekday in range(7):
            if rng.random() > busy * (1 if weekday < 5 else 0.25):
                continue
            for _ in range(1 + rng.poisson(0.7)):
                hours = 24 * (7 * week + weekday) + session_hour(rng) + user.shift
                wall = FIRST_DAY.replace(tzinfo=None) + timedelta(hours=hours)
                yield from session(rng, user, toolbox, wall.replace(tzinfo=TIME_ZONE).timestamp())


def session_hour(rng: np.random.Generator) -> float:
    """Draw the hour at which a session starts: in the morning, afternoon or evening."""
    centre, width = ((9.7, 1.1), (14.3, 1.6), (20.5, 1.5))[rng.choice(3, p=(0.45, 0.45, 0.1))]
    return float(rng.normal(centre, width))


def session(
    rng: np.random.Generator, user: User, toolbox: list[Executable], clock: float
) -> Iterator[Job]:
    """Generate the batches of a session; it ends when the user does not wait for a result."""
    latest = np.arange(1, len(toolbox) + 1) ** 1.5  # newer executables are used more often
    executable = None
    for _ in range(rng.geometric(0.25)):
        if executable is None or rng.random() < 0.2:
            executable = toolbox[rng.choice(len(toolbox), p=latest / latest.sum())]
        n_jobs = 1 + (rng.geometric(0.3) if rng.random() < user.sweep else 0)
        n_jobs = min(
            n_jobs, max(1, PROCS // executable.procs)
        )  # a batch does not exceed the machine
        requested_time = executable.requested_time
        if rng.random() < 0.1:  # a tighter request, to start earlier
            requested_time = round_up(requested_time / 2)
        longest = 0.0
        for _ in range(n_jobs):
            run = 1 + executable.median * rng.lognormal(0, executable.spread)
            if failed := rng.random() < 0.07:  # failures are mostly early
                run = 1 + run * rng.beta(1, 8)
            yield Job(clock, user, executable, run, requested_time, failed)
            longest = max(longest, run)
            clock += 1 + rng.exponential(15)
        if longest < rng.exponential(40 * MINUTE):
            clock += longest
        elif rng.random() < 0.5:  # the user neither waits nor continues
            return
        clock += rng.lognormal(np.log(4 * MINUTE), 1.1)


def make_trace(rng: np.random.Generator) -> tuple[wk.Trace, int]:
    """Draw the jobs of all users; return the log and its second 0, in seconds since 1970 UTC."""
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
    # The limit is sometimes enforced a few seconds late.
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
            "cpu": np.where(
                killed, np.nan, np.floor(run * efficiency)
            ),  # not recorded for killed jobs
            "memory": np.where(
                run < MINUTE, np.nan, np.floor(memory)
            ),  # memory is sampled once a minute
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
    """Set the wait times; impatient users cancel jobs that wait too long."""
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
    """Return the wait times under EASY; the scheduler does not foresee late enforcement."""
    schedule = wk.simulate(trace, scheduler="easy", procs=PROCS, overrun="late")
    return schedule.jobs["wait"].to_numpy()


def with_header(trace: wk.Trace, start: int) -> wk.Trace:
    """Add the header; `start` is second 0 of the log, in seconds since 1970 UTC."""
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
    """Return numbers 1, 2, … for the values, in the order of first appearance."""
    numbers: dict = {}
    return [numbers.setdefault(value, len(numbers) + 1) for value in values]


def make_sample(seed: int = SEED) -> wk.Trace:
    """Generate the log: jobs, wait times and header."""
    rng = np.random.default_rng(seed)
    trace, start = make_trace(rng)
    return with_header(served(rng, trace), start)


if __name__ == "__main__":
    sample = make_sample()
    wk.write_swf(sample, OUTPUT)
    print(f"{OUTPUT}: {sample.n_jobs} jobs, {OUTPUT.stat().st_size / 1000:.0f} kB")
