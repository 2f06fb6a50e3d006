"""Convert lines of Grid Engine's accounting to columns of jobs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit._kernels.cells import DECIMAL
from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.io.cells import Cells, Words
from workloadkit.io.records import Records
from workloadkit.io.sge.lexer import NOTHING, CategoryRequest, requested

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
_UNKNOWN = "UNKNOWN"  # queue and host of a job that was never sent to one
_DEFAULT_ACCOUNT, _DEFAULT_DEPARTMENT = "sge", "defaultdepartment"

_MILLISECONDS, _MICROSECONDS = 1e11, 1e14  # times from these values on are in smaller units
_BELIEVED = 1e18  # limit of plausible numbers


def times(cells: Cells) -> tuple[NDArray[np.float64], ...]:
    """Return submission, start and end in whole seconds, 0 if missing."""
    names = ("submission_time", "start_time", "end_time")
    submit, start, end = (_seconds(_numbers(cells, name)) for name in names)
    return submit, start, end


def columns(
    cells: Cells,
    when: Sequence[NDArray[np.float64]],
    usage: Sequence[NDArray[np.float64]],
    place: NDArray[np.int64],
    records: Records,
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Return the columns of jobs, with CPU time and memory in total, and their slots.

    `when` and `usage` are those of `times` and `used`. Oddities are counted.
    """
    submit, start, end = map(_known, when)
    cpu, memory = usage
    nowhere = cells.combined(("qname", "hostname"), _is_nowhere).column(bool)
    start = np.where(nowhere & ~(end > start), np.nan, start)
    never = np.isnan(start)
    records.note_where("never started", never, place)
    records.note_where("neither start nor end recorded: wait unknown", never & np.isnan(end), place)
    slots = _known(_numbers(cells, "slots"))
    records.note_where("fewer slots than one: taken as unknown", slots < 1, place)
    slots = np.where(slots < 1, np.nan, slots)
    asked: Any = CategoryRequest(*cells.combined(("category",), requested).rows())
    columns = {
        **_ids(cells),
        "place": place,
        "submit": submit,
        "start": start,
        "end": end,
        "run": end - start,
        "procs": np.where(never, np.nan, slots),
        "nodes": np.where(~never & (slots == 1), 1.0, np.nan),
        "node_list": cells.words("hostname").where(~never & (slots == 1)),
        "gpus": asked.gpus,
        "requested_gpus": asked.gpus,
        "exclusive": asked.exclusive,
        "requested_procs": np.where(np.isnan(asked.procs), slots, asked.procs),
        "cpu": cpu,
        "memory": memory,
        "requested_time": asked.time,
        "requested_memory": np.rint(asked.memory),
        "requested_memory_per": Words((asked.memory > 0).astype(np.int64), ["", "cpu"]),
        "status": _status(cells, never),
        "state": cells.combined(("failed",), _state),
        "exit_code": cells.words("exit_status"),
        "reason": cells.combined(("qdelinfo",), _word),
        "user": cells.words("owner"),
        "group": cells.words("group"),
        "account": cells.combined(("project", "department", "account"), _account),
        "queue": cells.combined(("qname",), _queue),
        "executable": cells.words("job_name"),
    }
    return columns, slots


def per_slot(
    table: pd.DataFrame, slots: NDArray[np.float64], of_tasks: Mapping[int, Sequence[float]]
) -> None:
    """Add CPU time and memory of tasks to those of their jobs, and divide them by the slots."""
    for name, added in zip(("cpu", "memory"), zip(*of_tasks.values(), strict=True), strict=False):
        rows, tasks = [*of_tasks], np.array(added)
        own = table[name].to_numpy(copy=True)
        own[rows] = np.where(tasks > 0, np.nan_to_num(own[rows]) + tasks, own[rows])
        table[name] = own
    table["cpu"] /= slots
    table["memory"] = np.rint(table["memory"] / slots)


def _ids(cells: Cells) -> dict[str, Any]:
    """Return the columns of ids; those of array tasks end in their index."""
    numbers, tasks = cells.texts("job_number"), _known(_numbers(cells, "task_number"))
    rows = np.flatnonzero(~np.isnan(tasks))
    if not rows.size:
        return {"id": numbers}
    arrays = cells.only("job_number").take(rows).words("job_number")
    codes = np.zeros(numbers.size, np.int64)
    codes[rows] = arrays.codes + 1
    of_tasks = zip(numbers[rows].tolist(), tasks[rows].tolist(), strict=True)
    numbers[rows] = [f"{number}.{task:.0f}" for number, task in of_tasks]
    return {"id": numbers, "array_job": Words(codes, ["", *arrays.words]), "array_task": tasks}


def used(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return CPU time [s] and memory [KB] of each line, NaN if unknown."""
    cpu = _known(_numbers(cells, "cpu"))
    if np.isnan(cpu).any():
        times = _numbers(cells, "ru_utime") + _numbers(cells, "ru_stime")
        cpu = np.where(np.isnan(cpu), times, cpu)
    memory = _known(_numbers(cells, "maxrss")) / 1024
    for name, unit in (("ru_maxrss", 1), ("maxvmem", 1024)):
        if np.isnan(memory).any():
            memory = np.where(np.isnan(memory), _known(_numbers(cells, name) / unit), memory)
    return cpu, memory


def _status(cells: Cells, never: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the status of jobs, see the table in `read_sge`."""
    failed, exit_status = _numbers(cells, "failed"), _numbers(cells, "exit_status")
    signalled = np.isin(failed, _THROUGH_SIGNAL)
    deleted = cells.combined(("qdelinfo",), lambda text: text not in NOTHING).column(bool)
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


def _is_nowhere(queue: str, host: str) -> bool:
    """Return whether a job was in no queue instance, and so never started."""
    return _UNKNOWN in (queue, host)


def _queue(name: str) -> str:
    return "" if name == _UNKNOWN else name


def _word(text: str) -> str:
    return "" if text in NOTHING else text


def _as_number(text: str) -> float:
    """Return a number, 0 if it is invalid or implausible."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < _BELIEVED else 0.0


def _numbers(cells: Cells, name: str) -> NDArray[np.float64]:
    """Return numbers, 0 if missing."""
    column = cells.numbers(name, _as_number, DECIMAL)
    return np.where((column > 0) & (column < _BELIEVED), column, 0.0)


def _seconds(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times in whole seconds, from any unit."""
    unit = np.select([times >= _MICROSECONDS, times >= _MILLISECONDS], [1e6, 1e3], 1.0)
    return np.floor(times / unit)


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers, where 0 means none."""
    return np.where(column > 0, column, np.nan)
