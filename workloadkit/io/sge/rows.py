"""Convert lines of Grid Engine's accounting to columns of jobs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.io.records import Records
from workloadkit.io.sge.lines import NOTHING, AccountingLine, CategoryRequest, requested

#: Meaning of the codes in the field `failed`, by sge_status(5).
FAILURES = {
    0: "no failure",
    1: "assumedly before job",
    3: "before writing config",
    4: "before writing PID",
    6: "setting processor set",
    7: "before prolog",
    8: "in prolog",
    9: "before pestart",
    10: "in pestart",
    11: "before job",
    12: "before pestop",
    13: "in pestop",
    14: "before epilog",
    15: "in epilog",
    16: "releasing processor set",
    17: "through signal",
    18: "shepherd returned error",
    19: "before writing exit_status",
    20: "found unexpected error file",
    21: "in recognizing job",
    24: "migrating",
    25: "rescheduling",
    26: "opening output file",
    27: "searching requested shell",
    28: "changing to working directory",
    29: "AFS setup",
    30: "application error returned",
    31: "accessing sgepasswd file",
    32: "entry is missing in password file",
    33: "wrong password",
    34: "communicating with Grid Engine Helper Service",
    35: "before job in Grid Engine Helper Service",
    36: "checking configured daemons",
    37: "qmaster enforced a limit",
    38: "adding supplementary group",
    100: "assumedly after job",
}

_THROUGH_SIGNAL = (17, 100)
_KILLED = (137, 143)  # 128 and SIGKILL or SIGTERM
_DEFAULT_ACCOUNT, _DEFAULT_DEPARTMENT = "sge", "defaultdepartment"

_MILLISECONDS, _MICROSECONDS = 1e11, 1e14  # times from these values on are in smaller units
_BELIEVED = 1e18  # limit of plausible numbers


def columns(rows: list[tuple[Any, ...]], records: Records) -> dict[str, Any]:
    """Return the columns of records, and count oddities."""
    places, task_cpu, task_memory, *fields = zip(*rows, strict=True)
    raw = dict(zip(AccountingLine._fields, fields, strict=True))
    place = np.array(places)
    submit, start, end = (
        _known(_seconds(_numbers(raw[name])))
        for name in ("submission_time", "start_time", "end_time")
    )
    never = np.isnan(start)
    records.note_where("never started", never, place)
    records.note_where("neither start nor end recorded: wait unknown", never & np.isnan(end), place)
    failed, exit_status = _numbers(raw["failed"]), _numbers(raw["exit_status"])
    slots = _known(_numbers(raw["slots"]))
    records.note_where("fewer slots than one: taken as unknown", slots < 1, place)
    slots = np.where(slots < 1, np.nan, slots)
    cpu, memory = _usage(raw)
    requests = CategoryRequest(*zip(*map(requested, raw["category"]), strict=True))  # type: ignore[arg-type]
    requested_procs, memory_asked = np.array(requests.procs), np.array(requests.memory)
    task = _known(_numbers(raw["task_number"]))
    indices = ["" if index != index else f"{index:.0f}" for index in task.tolist()]
    numbered = [*zip(raw["job_number"], indices, strict=True)]
    states = [_state(code) for code in raw["failed"]]
    return {
        "place": place,
        "id": [f"{number}.{index}" if index else number for number, index in numbered],
        "array_job": [number if index else "" for number, index in numbered],
        "array_task": task,
        "submit": submit,
        "start": start,
        "end": end,
        "run": end - start,
        "procs": np.where(never, np.nan, slots),
        "nodes": np.where(~never & (slots == 1), 1.0, np.nan),
        "gpus": requests.gpus,
        "requested_procs": np.where(np.isnan(requested_procs), slots, requested_procs),
        "cpu": _sum(cpu, task_cpu) / slots,
        "memory": np.rint(_sum(memory, task_memory) / slots),
        "requested_time": requests.time,
        "requested_memory": np.rint(memory_asked),
        "requested_memory_per": ["cpu" if m > 0 else "" for m in memory_asked],
        "status": _status(failed, exit_status, never, raw["qdelinfo"]),
        "state": states,
        "exit_code": raw["exit_status"],
        "reason": _words(raw["qdelinfo"]),
        "user": raw["owner"],
        "group": raw["group"],
        "account": [*map(_account, raw["project"], raw["department"], raw["account"])],
        "queue": raw["qname"],
        "executable": raw["job_name"],
    }


def _usage(
    raw: Mapping[str, Sequence[str]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return CPU time [s] and memory [KB] of each line, NaN if unknown."""
    cpu = _known(_numbers(raw["cpu"]))
    if np.isnan(cpu).any():
        times = _numbers(raw["ru_utime"]) + _numbers(raw["ru_stime"])
        cpu = np.where(np.isnan(cpu), times, cpu)
    memory = _known(_numbers(raw["maxrss"])) / 1024
    for column in (_numbers(raw["ru_maxrss"]), _numbers(raw["maxvmem"]) / 1024):
        memory = np.where(np.isnan(memory), _known(column), memory)
    return cpu, memory


def _status(
    failed: NDArray[np.float64],
    exit_status: NDArray[np.float64],
    never: NDArray[np.bool_],
    qdelinfo: Sequence[str],
) -> NDArray[np.int64]:
    """Return the status of jobs, see the table in `read_sge`."""
    signalled = np.isin(failed, _THROUGH_SIGNAL)
    deleted = np.array([text not in NOTHING for text in qdelinfo])
    killed = signalled & np.isin(exit_status, _KILLED)
    cancelled = deleted | killed | (never & (signalled | (failed == 0)))
    completed = (failed == 0) & (exit_status == 0)
    return np.select([cancelled, completed], [CANCELLED, COMPLETED], FAILED)


@lru_cache(maxsize=1024)
def _state(failed: str) -> str:
    """Return the meaning of a failure code."""
    return FAILURES.get(int(failed), f"failed {int(failed)}")


def _account(project: str, department: str, account: str) -> str:
    """Return the account of a job: project, else department, else account."""
    if project not in NOTHING:
        return project
    if department not in (*NOTHING, _DEFAULT_DEPARTMENT):
        return department
    return "" if account in (*NOTHING, _DEFAULT_ACCOUNT) else account


def _words(texts: Sequence[str]) -> list[str]:
    return ["" if text in NOTHING else text for text in texts]


def _sum(own: NDArray[np.float64], of_tasks: Sequence[float]) -> NDArray[np.float64]:
    """Add the resources used by tasks; unknown if neither is known."""
    tasks = np.array(of_tasks)
    return np.where(tasks > 0, np.nan_to_num(own) + tasks, own)


def second(text: str) -> float:
    """Return a time in whole seconds, from any unit."""
    time = int(text)
    unit = 1e6 if time >= _MICROSECONDS else 1e3 if time >= _MILLISECONDS else 1.0
    return time // unit


def as_number(text: str) -> float:
    """Return a number, 0 if it is invalid or implausible."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < _BELIEVED else 0.0


def _numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return numbers, 0 if missing."""
    try:
        column = np.array(texts, dtype=object).astype(np.float64)
    except ValueError:
        column = np.array([*map(as_number, texts)])
    return np.where((column > 0) & (column < _BELIEVED), column, 0.0)


def _seconds(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times in whole seconds, from any unit."""
    unit = np.select([times >= _MICROSECONDS, times >= _MILLISECONDS], [1e6, 1e3], 1.0)
    return np.floor(times / unit)


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers, where 0 means none."""
    return np.where(column > 0, column, np.nan)
