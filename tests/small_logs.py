"""Small logs for oracles: generated ones full of ties, and the first jobs of real ones.

Jobs are dicts of the fields' names, in order of submit. Unknown is None; a run time or number of
processors -1.
"""

import gzip
import io
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import FIRST_JOBS, trace_path
from workloadkit.intake import Repair

DAY = 86_400


def daily_users(**columns):
    """A log of three users with a job of 60 s each day for 20 weeks, of which none has to wait.

    `columns` are further ones, given the number of the user of each job: 0, 1 or 2.
    """
    submit = np.sort([day * DAY + 600 * user for day in range(7 * 20) for user in range(3)])
    user = submit % DAY // 600
    jobs = {
        "submit": submit,
        "wait": np.zeros(submit.size),
        "run": np.full(submit.size, 60),
        "procs": np.ones(submit.size),
        "user": 1 + user,
        **{name: of(user) for name, of in columns.items()},
    }
    return wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 8",)))


NAMES = ("submit", "wait", "run", "procs", "requested_time", "user")

#: Few distinct times, so that jobs often arrive at an end, at a threshold or all together; some in
#: quarters of a second, which floats hold exactly.
times = st.integers(0, 60) | st.integers(0, 240).map(lambda quarters: quarters / 4)


def logs(fewest=1, **fields):
    """Logs of few users whose jobs often tie; `fields` are strategies in place of the usual."""
    job = {
        "submit": times,
        "wait": st.none() | times,
        "run": times | st.just(-1),
        "procs": st.integers(-1, 4),
        "requested_time": st.none() | times,
        "user": st.integers(1, 3),
    }
    one = st.fixed_dictionaries({**job, **fields})
    # The first job never ran, yet its processors are known: field 5 is the one that counts.
    first = {"submit": 0, "wait": 0, "run": -1, "procs": 1, "requested_time": None, "user": 1}
    return st.lists(one, min_size=fewest, max_size=40).map(
        lambda jobs: [first, *sorted(jobs, key=lambda job: job["submit"])]
    )


def trace_of(jobs):
    """The trace of jobs."""
    columns = {
        name: [-1 if job[name] is None else job[name] for job in jobs]
        for name in NAMES
        if name in jobs[0]
    }
    return wk.Trace.from_columns(columns)


def busy_log(seed, *, n_jobs=40, scales=(1, 60), **further):
    """A log of long queues, jobs of the same second and jobs that outlive their estimates.

    For 8 processors; times in one of `scales`; `further` columns with their range.
    """
    rng = np.random.default_rng(seed)
    scale = rng.choice(scales)
    columns = {
        "submit": np.sort(rng.integers(0, rng.choice([5, 40, 200]), n_jobs)) * scale,
        "run": rng.integers(0, 40, n_jobs) * scale,
        "requested_time": rng.integers(0, 40, n_jobs) * scale,
        "procs": rng.integers(1, 9, n_jobs),
    }
    columns |= {name: rng.integers(*limits, n_jobs) for name, limits in further.items()}
    return wk.Trace.from_columns(columns)


def valued(trace, rng):
    """The same log with utility functions of up to three points, for the first job in any case."""
    rng = np.random.default_rng(rng)
    rows = []
    for row, run in enumerate(np.nan_to_num(trace.column("run")).tolist()):
        n_points = max(int(rng.integers(0, 10)) % 4, int(row == 0))
        time = np.cumsum(rng.uniform(1, 2 * max(run, 1) + 20, n_points))
        value = np.sort(rng.uniform(0, 10, n_points))[::-1]
        if n_points:
            time[0], value[-1] = 0, value[-1] * rng.integers(0, 2)
        rows += zip([row] * n_points, time.tolist(), value.tolist(), strict=True)
    points = np.array(rows).reshape(-1, 3)
    table = {"row": points[:, 0].astype(np.int64), "time": points[:, 1], "value": points[:, 2]}
    return replace(trace, utility=pd.DataFrame(table))


def as_read(trace):
    """The same log as a file may give it: with bursts of its second job, and a repair."""
    return replace(trace, bursts=trace.jobs.iloc[[1, 1]], repairs=(Repair("torn", 1, 3),))


def first_jobs(name, n=500):
    """The first `n` jobs of the real log `name`, as dicts and as a trace."""
    trace = head_of(trace_path(name), n)
    return jobs_of(trace), trace


@cache
def head_of(path, n_jobs=FIRST_JOBS):
    """The header and the first jobs of a real log, without the time to read the rest."""
    lines, left = [], n_jobs
    with gzip.open(path) as file:
        for line in file:
            lines.append(line)
            left -= not line.startswith(b";")
            if not left:
                break
    return replace(wk.read_swf(io.BytesIO(b"".join(lines))), name=path.name)


def size_of(trace):
    """Processors of the machine, without the warning for the log that names only nodes."""
    return trace.header.number("MaxProcs") or trace.header.number("MaxNodes")


@cache
def read(path):
    return wk.read_swf(path)


def jobs_of(trace):
    """The jobs of a trace."""
    rows = zip(*(trace.column(name).tolist() for name in NAMES), strict=True)
    return [{name: known(name, x) for name, x in zip(NAMES, row, strict=True)} for row in rows]


def known(name, value):
    if not math.isnan(value):
        return value
    return -1 if name in ("run", "procs") else None


def random_log(seed, n_jobs=120, times=int):
    """A log of five users on 16 processors, in which jobs repeat and may exceed their requests."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, n_jobs)
    run = rng.integers(1, 4000, n_jobs) // (1 + 3 * kind) + 1
    columns = {
        "submit": np.sort(rng.integers(0, 40000, n_jobs)),
        "run": run,
        "procs": np.array([1, 3, 8, 13])[kind],
        "requested_time": np.array([2000, 1500, 900, 5000])[kind],
        "user": rng.integers(1, 6, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    if times is float:
        columns["run"] = run + rng.integers(0, 10, n_jobs) / 10
    return wk.Trace.from_columns(columns)
