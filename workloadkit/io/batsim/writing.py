"""Write a log as a workload of Batsim."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal, NoReturn
from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning, plural, quoted
from workloadkit.fields import FIELDS, NAMES, UNKNOWN
from workloadkit.header import Header
from workloadkit.io.files import writing
from workloadkit.io.machine import as_dict
from workloadkit.io.swf.writing import header_text, header_without_bursts
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Trace, check_trace

# What is known of jobs beyond the standard, in a workload of Batsim.


#: Key of a job for its row of the side-car, without what is unknown.
KEY_OF_SIDECAR = "sidecar"

_UNKNOWN = {"number": np.nan, "whole": UNKNOWN}


def known_beyond(trace: Trace, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return what is known of the jobs at some rows beyond the standard.

    Examples
    --------
    >>> table = pd.DataFrame({"account": ["bio", ""], "gpus": [2.0, np.nan]})
    >>> known_beyond(Trace.from_columns({"submit": [0, 5]}).replaced(sidecar=table), [0, 1])
    [{'account': 'bio', 'gpus': 2}, {}]
    """
    known: list[dict[str, Any]] = [{} for _ in rows]
    for name, column in () if trace.sidecar is None else trace.sidecar.items():
        unknown: Any = UNKNOWN if column.dtype.kind in "iu" else ""
        for of_job, value in zip(known, column.iloc[rows].astype(object), strict=True):
            if value is None or value != value or value == unknown:
                continue
            is_whole = isinstance(value, float) and value.is_integer()
            of_job[str(name)] = int(value) if is_whole else value
    return known


def sidecar_of(
    jobs: list[dict[str, Any]], order: NDArray[np.intp], refuse: Callable[..., NoReturn]
) -> pd.DataFrame | None:
    """Return what jobs state beyond the standard, in another order; None if they state nothing."""
    stated = [job.get(KEY_OF_SIDECAR, {}) for job in jobs]
    for i, one in enumerate(stated):
        where = f"jobs[{i}].{KEY_OF_SIDECAR}"
        if not isinstance(one, dict):
            refuse("not an object", where, one)
        for name, value in one.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                refuse("neither a number nor a string", f"{where}.{name[:40]}", value)
    names = dict.fromkeys(name for one in stated for name in one)
    columns = {}
    for name in names:
        found = [one.get(name) for one in stated]
        is_words = any(isinstance(value, str) for value in found)
        kind = BY_NAME[name].kind if name in BY_NAME else "word" if is_words else "number"
        unknown = _UNKNOWN.get(kind, "")
        column = pd.Series([unknown if v is None else v for v in found], dtype=object)
        columns[name] = column.infer_objects().iloc[order].reset_index(drop=True)
    return pd.DataFrame(columns) if names else None


# Keys of a Batsim workload, and Batsim's limits.

#: Key of a job for the fields of the Standard Workload Format that Batsim does not have.
KEY_OF_JOB = "swf"

#: Key of the workload for the log's header and the number of jobs left out.
KEY_OF_LOG = "workloadkit"

#: Keys of a job in Batsim.
JOB_KEYS = ("id", "subtime", "walltime", "res", "profile")

#: Types of profiles with a known duration, by Batsim's major version: earlier versions have the
#: names of 4.
DELAY = {4: "delay", 5: "DelayProfile"}
SEQUENCE = {4: "composed", 5: "SequentialCompositionProfile"}

#: Batsim does not accept a delay of 0; jobs of run time 0 get this one. [s]
SHORTEST_DELAY = 0.001

#: Batsim numbers resources with 32-bit integers.
MOST_RESOURCES = 2**31 - 1

#: Fields stored under `KEY_OF_JOB` if they are known.
_OTHERS = tuple(
    field
    for field in FIELDS
    if field.name not in ("job", "submit", "run", "procs", "requested_procs", "requested_time")
)


def write_batsim(trace: Trace, path: str | os.PathLike[str], *, version: Literal[4, 5] = 5) -> None:
    """Write a trace as a workload of Batsim [1]_, whole or not at all.

    A job requests the processors it requested in the log, else those it used; its requested time
    is its walltime (at which Batsim stops it), and its run time a delay, with one profile per run
    time. Batsim does not accept a delay of 0: such a job runs for 0.001 s. Other fields of a job
    are stored under its key ``swf``, and the log's header under ``workloadkit``; Batsim ignores
    both, and `read_batsim` restores the jobs from them. So it does with the side-car, under the key
    ``sidecar`` of each job, and the machine, under ``workloadkit``: schedulers of Batsim see them,
    but its resources are processors alone.

    Parameters
    ----------
    trace : Trace
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.
    version : {5, 4}
        Version of Batsim, which determines the name of the type of delays: ``DelayProfile``, or
        ``delay`` in version 4 and before. The file states it under ``workloadkit``.

    Raises
    ------
    ParameterError
        If the version is unknown.
    WorkloadError
        If the file cannot be written, or the log has no job that can be simulated.

    Warns
    -----
    WorkloadWarning
        If jobs are left out because Batsim cannot simulate them: those that never ran, were
        submitted before second 0 or need a fraction of a processor. The file counts them. Also if
        the trace has bursts of checkpointed jobs or utility functions, which are not written, or
        jobs that need GPUs or nodes, which Batsim does not simulate.

    References
    ----------
    .. [1] Batsim documentation, "Workload", https://batsim.readthedocs.io.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = {"submit": [5], "run": [90], "procs": [4], "requested_time": [600], "user": [3]}
    >>> wk.write_batsim(wk.Trace.from_columns(log), "-")
    {
    "nb_res": 4,
    "workloadkit": {"batsim": 5, "header": [], "left_out": {}},
    "jobs": [
    {"id": "1", "subtime": 5, "res": 4, "profile": "delay 90", "walltime": 600,
     "swf": {"requested_procs": -1, "user": 3}}
    ],
    "profiles": {
    "delay 90": {"type": "DelayProfile", "delay": 90}
    }
    }
    """
    check_trace(trace)
    if version not in DELAY:
        raise ParameterError("version", f"is {quoted(version)}; Batsim's version must be 4 or 5")
    header_text(trace.header)  # checks the header
    needed = _needed(trace)
    reasons = _left_out(trace, needed)
    left_out = {reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()}
    rows = np.flatnonzero(~np.logical_or.reduce([*reasons.values()]))
    if not rows.size:
        raise WorkloadError(f"{trace.name} has no job that Batsim can simulate")
    for line in _losses(trace, left_out):
        warn(line, WorkloadWarning, stacklevel=2)
    largest = int(needed[rows].max())
    procs = max(trace.header.procs or largest, largest)
    if trace.header.procs not in (None, procs):
        text = f"{trace.name}: a job needs more than the {trace.header.procs:,} processors of the"
        warn(f"{text} header; nb_res is {procs:,}", WorkloadWarning, stacklevel=2)
    stored = {"batsim": version, "header": list(_header(trace, rows).lines), "left_out": left_out}
    if trace.machine is not None:
        stored["machine"] = as_dict(trace.machine)
    delays = distinct(trace.column("run")[rows]).tolist()
    with writing(path) as stream:

        def put(text: str) -> None:
            stream.write(text.encode(errors="replace"))

        put(f'{{\n"nb_res": {procs},\n"{KEY_OF_LOG}": {json.dumps(stored)},\n"jobs": [\n')
        for n, job in enumerate(_jobs(trace, rows, needed)):
            put((",\n" if n else "") + json.dumps(job))
        put('\n],\n"profiles": {\n')
        for n, run in enumerate(delays):
            profile = {"type": DELAY[version], "delay": _number(run) or SHORTEST_DELAY}
            put((",\n" if n else "") + f'"{_profile(run)}": {json.dumps(profile)}')
        put("\n}\n}\n")


def _needed(trace: Trace) -> NDArray[np.float64]:
    """Return the processors that jobs need: requested, else used."""
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)


def _left_out(trace: Trace, needed: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """Return the jobs that Batsim cannot simulate, by the first applicable reason."""
    never = ~trace.ran
    early = ~never & (trace.column("submit") < 0)
    whole = (needed == np.rint(needed)) & (needed <= MOST_RESOURCES)
    return {
        "never ran": never,
        "submitted before second 0": early,
        "need a fraction of a processor or too many": ~never & ~early & ~whole,
    }


def _header(trace: Trace, rows: NDArray[np.int64]) -> Header:
    """Return the header, updated to the remaining jobs."""
    header = header_without_bursts(trace, rows.size)
    end = trace.end
    left = np.where(
        np.isnan(end), trace.column("submit") + np.nan_to_num(trace.column("wait")), end
    )
    date = header.date(float(left[rows].max()))
    if date and header.get("EndTime") == header.date(float(left.max())):
        header = header.replaced("EndTime", date)
    return header


def _losses(trace: Trace, left_out: dict[str, int]) -> Iterator[str]:
    """Describe what is not written."""
    if left_out:
        count = sum(left_out.values())
        why = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        yield f"{trace.name}: {count:,} of {plural(trace.n_jobs, 'job')} left out for Batsim: {why}"
    if len(trace.bursts):
        yield f"{trace.name}: {len(trace.bursts):,} bursts of checkpointed jobs are not written"
    if len(trace.utility):
        yield f"{trace.name}: utility functions are not written"
    needs = [name for name in _NOT_SIMULATED if _is_needed(trace, name)]
    if needs:
        yield f"{trace.name}: written, but not simulated by Batsim: {', '.join(needs)}"


#: What jobs need of nodes.
_NOT_SIMULATED = (
    *("requested_nodes", "requested_gpus", "gpus", "requested_memory"),
    *("features", "exclusive", "pools"),
)


def _is_needed(trace: Trace, name: str) -> bool:
    """Whether a job is known to need some of it."""
    if name not in NAMES and (trace.sidecar is None or name not in trace.sidecar):
        return False
    values = trace.column(name)
    return bool((values > 0).any() if values.dtype.kind in "iuf" else (values != "").any())


def _jobs(
    trace: Trace, rows: NDArray[np.int64], needed: NDArray[np.float64]
) -> Iterator[dict[str, Any]]:
    """Yield the jobs in Batsim's form."""
    columns = {field.name: trace.column(field.name)[rows].tolist() for field in FIELDS}
    known = known_beyond(trace, rows)
    of_jobs = zip(_ids(columns["job"]), needed[rows].tolist(), known, strict=True)
    for i, (name, res, beyond) in enumerate(of_jobs):
        number, run, procs, requested, requested_time = (
            columns[key][i] for key in ("job", "run", "procs", "requested_procs", "requested_time")
        )
        job = {
            "id": name,
            "subtime": _number(columns["submit"][i]),
            "res": int(res),
            "profile": _profile(run),
        }
        rest: dict[str, float] = {} if name == str(number) else {"job": number}
        if run == 0:
            rest["run"] = 0
        if procs != res:
            rest["procs"] = _number(procs)
        if requested != res:
            rest["requested_procs"] = _number(requested)
        if requested_time > 0:
            job["walltime"] = _number(requested_time)
        elif requested_time <= 0:  # both are false if unknown
            rest["requested_time"] = _number(requested_time)
        for field in _OTHERS:
            value = _number(columns[field.name][i])
            if value != UNKNOWN:
                rest[field.name] = value
        yield (
            job
            | ({KEY_OF_JOB: rest} if rest else {})
            | ({KEY_OF_SIDECAR: beyond} if beyond else {})
        )


def _ids(numbers: list[int]) -> Iterator[str]:
    """Yield a unique id for each job: its number, with a suffix for repeated numbers."""
    seen: dict[int, int] = {}
    for number in numbers:
        again = seen.get(number, 0)
        seen[number] = again + 1
        yield f"{number}.{again}" if again else str(number)


def _profile(run: float) -> str:
    """Return the name of the profile with a run time."""
    return f"delay {_number(run)}"


def _number(value: float) -> float:
    """Return a whole number as an integer, and unknown as -1.

    Examples
    --------
    >>> _number(90.0), _number(2.5), _number(float("nan"))
    (90, 2.5, -1)
    """
    if value != value:
        return UNKNOWN
    return int(value) if value == int(value) else value
