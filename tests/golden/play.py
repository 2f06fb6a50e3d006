"""Run one case, and take the digest of its schedule."""

import hashlib
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import workloadkit as wk
from tests.data import DATA
from tests.golden.cases import GENETIC, HEAVY, KTH, MACHINES, TENTHS, Case
from tests.small_logs import head_of

#: Characters of a SHA-256 that are kept.
LENGTH = 16

#: Sizes and run times of synthetic jobs, drawn together. [processors, s]
_SIZES = (1, 1, 2, 3, 4, 8, 8, 16, 30, 50)
_RUNS = (30.0, 1000.0, 40.0, 600.0, 300.0, 20.0, 2000.0, 100.0, 500.0, 150.0)


def play(case: Case, engine: str) -> str:
    """What comes of a case: the digest of its schedule with its mean wait, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(simulate(case, engine))
        except Exception as error:  # whatever it is, it is on record
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def describe(schedule: wk.Schedule) -> str:
    """Digest of when which job was submitted, started and ended, and on which processors."""
    digest = hashlib.sha256()
    jobs = schedule.jobs
    columns = ["job", "submit", "start", "end"]
    columns += [name for name in ("interruptions", "lost", "lost_work") if name in jobs]
    for name in columns:
        values = jobs[name].to_numpy()
        kind = "<f8" if values.dtype.kind == "f" else "<i8"
        digest.update(f"{name} {kind} ".encode() + values.astype(kind).tobytes())
    for run in schedule.runs:
        processors = " ".join(map(str, run.processors))
        digest.update(f"{run.job} {run.start} {run.end} {processors}\n".encode())
    return f"{digest.hexdigest()[:LENGTH]} {len(jobs)} jobs, mean wait {jobs['wait'].mean():.6g} s"


def simulate(case: Case, engine: str) -> wk.Schedule:
    """Simulate a case, with the seed 1 for all that draws."""
    options: dict[str, Any] = {
        "passes": case.passes,
        "overrun": case.overrun,
        "rng": 1,
        "engine": engine,
    }
    if case.log == "-":
        trace, users = None, _users_without_log()[case.users]
        options["procs"] = 64
    else:
        trace, users = _log_of(case), case.users
        options |= {"procs": MACHINES.get(case.log, MACHINES[KTH]), "oversize": "drop"}
    if case.options == HEAVY:
        options["offered_load"] = 1.2
    elif case.options.startswith("population="):
        options["population"] = case.options.removeprefix("population=")
    if case.outages:
        assert trace is not None
        options["outages"] = outages(case.outages, trace, options["procs"])
        options["interrupted"] = case.interrupted
    return wk.simulate(trace, case.policy, users, **options)


def _log_of(case: Case) -> wk.Trace:
    """The jobs of a case, with preceding jobs, and utility functions where the policy asks."""
    if case.jobs == "all jobs":
        trace = _whole(case.log)
        return _with_utilities(case.log, None) if case.policy == GENETIC else trace
    n_jobs = int(case.jobs.split()[0])
    if case.options.startswith("without"):
        return _head(case.log, n_jobs)
    if case.policy == GENETIC:
        return _with_utilities(case.log, n_jobs)
    return _with_dependencies(case.log, n_jobs)


@cache
def _with_dependencies(log: str, n_jobs: int) -> wk.Trace:
    return wk.with_dependencies(_head(log, n_jobs))


@cache
def _with_utilities(log: str, n_jobs: int | None) -> wk.Trace:
    trace = _whole(log) if n_jobs is None else _with_dependencies(log, n_jobs)
    return wk.add_utility(trace, deadline="wait+run", points=1, rng=1)


@cache
def _head(log: str, n_jobs: int) -> wk.Trace:
    if log == TENTHS:
        return _with_tenths(_head(KTH, n_jobs))
    return head_of(_path(log), n_jobs)


@cache
def _whole(log: str) -> wk.Trace:
    return wk.read_swf(_path(log))


def _path(log: str) -> Path:
    return DATA / "traces" / f"{log}.swf.gz"


def _with_tenths(trace: wk.Trace) -> wk.Trace:
    """Add tenths of a second to the times of a log."""
    names = ("job", "submit", "wait", "run", "procs", "requested_time", "user", "queue")
    columns = {name: trace.column(name) for name in names}
    place = np.arange(trace.n_jobs)
    columns["submit"] = np.sort(columns["submit"] + place % 10 / 10)
    columns["run"] = columns["run"] + place * 7 % 10 / 10
    columns["wait"] = columns["wait"] + place * 3 % 10 / 10
    return wk.Trace.from_columns(columns, header=trace.header)


@cache
def _users_without_log() -> dict[str, Any]:
    users = wk.users
    jobs: dict[str, Any] = {"run": _RUNS, "procs": _SIZES, "jobs": 250}
    return {
        "site": users.DynamicSite(users=20, weeks=0.5, repeat="job", longest=20_000.0),
        "static-site": users.StaticSite(sessions=12, weeks=0.3, repeat="job", longest=20_000.0),
        "poisson": users.Poisson(0.009, **jobs),
        "think": users.Think(15, 300.0, **jobs),
        "mixed": users.Mixed(0.005, 8, 300.0, **jobs),
        "reopen": users.Reopen(0.004, "exp:0.0005", think=300.0, **jobs),
    }


def outages(kind: str, trace: wk.Trace, machine: int) -> wk.Outages:
    """Outages of a kind while the jobs of a log are there."""
    submit = trace.column("submit")
    first, span = int(submit[0]), int(submit[-1] - submit[0])

    def at(part: float) -> int:
        return first + int(part * span)

    half, third, quarter = machine // 2, machine // 3, machine // 4
    # start, end, processors or their numbers, announced
    found: dict[str, list[tuple[float, float, Any, float]]] = {
        "announced": [(0.2, 0.3, half, 0.1), (0.5, 0.6, third, 0), (0.8, 0.85, half, 0.79)],
        "surprise": [(0.15, 0.2, half, -1), (0.4, 0.5, third, -1), (0.7, 0.72, 2 * third, -1)],
        "named": [
            (0.2, 0.3, range(1, quarter + 1), 0.15),
            (0.25, 0.4, range(quarter, half, 2), -1),
            (0.6, 0.7, range(third, machine + 1, 3), 0.3),
        ],
        "all announced": [(0.3, 0.35, machine, 0.1), (0.6, 0.65, machine, 0.6)],
        "all surprise": [(0.2, 0.22, machine, -1), (0.6, 0.65, machine, -1)],
        "overlapping": [
            (0.1, 0.4, quarter, 0),
            (0.2, 0.3, half, -1),
            (0.25, 0.45, third, 0.22),
            (0.45, 0.5, third, 0.3),
            (0.45, 0.55, quarter, -1),
        ],
        "endless": [(0.3, -1, machine // 8, 0.2), (0.6, -1, machine // 16, -1)],
        "brief": [
            (0.05 + 0.03 * i, 0.055 + 0.03 * i, 1 + 5 * i, -1 if i % 3 else 0.03 * i)
            for i in range(25)
        ],
    }
    return wk.Outages(
        tuple(
            wk.Outage(
                number,
                at(start),
                at(end) if end >= 0 else -1,
                announced=at(announced) if announced >= 0 else -1,
                **({"procs": which} if isinstance(which, int) else {"components": tuple(which)}),
            )
            for number, (start, end, which, announced) in enumerate(found[kind], 1)
        )
    )
