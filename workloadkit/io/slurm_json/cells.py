"""Jobs of ``sacct --json`` and ``squeue --json`` as cells of `sacct`, in any version's layout.

A number is a number, null, or an object ``{"set": true, "infinite": false, "number": 5}``.
"""

import re
from collections.abc import Mapping
from math import inf, isfinite, nan
from typing import Any

from workloadkit.io.json_stream import printable_text
from workloadkit.io.slurm import values

#: Columns of the cells, by the names of `workloadkit.io.slurm.columns.COLUMNS`.
COLUMNS = (
    *("id", "cluster", "partition", "qos", "account", "user", "group", "submit", "eligible"),
    *("start", "end", "elapsed", "suspended", "state", "exit_code", "nodes", "procs"),
    *("requested_procs", "requested_memory", "allocated", "requested", "node_list", "features"),
    *("requested_time", "reason", "executable", "cpu", "memory", "usage", "n_tasks", "energy"),
)

# What Slurm writes for an unknown number, and for infinity, where it writes numbers as such.
_NO_VALUE = (2**32 - 2, 2**64 - 2)
_INFINITE = (2**32 - 1, 2**64 - 1)
_MOST = 1e18


def rows_of(job: dict[str, Any]) -> list[list[str]]:
    """Return the cells of a job, and those of its steps.

    Examples
    --------
    >>> rows_of({"job_id": 7, "steps": [{"step": {"id": "7.batch"}}]})[1][0]
    '7.batch'
    """
    cells = _of_accounting(job) if "time" in job else _of_controller(job)
    steps = job.get("steps")
    rows = [cells]
    if isinstance(steps, list):
        rows += [_of_step(step, cells["id"]) for step in steps if isinstance(step, dict)]
    return [[row.get(name, "") for name in COLUMNS] for row in rows]


def of_queue(job: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of `read_queue_state` for a job."""
    cells = _of_accounting(job) if "time" in job else _of_controller(job)
    waits = cells["state"] == "PENDING"
    limit = values.time_limit(cells["requested_time"])
    words = ("id", "state", "reason", "user", "account", "partition", "qos")
    procs = cells["procs"] if number(cells["procs"]) > 0 else cells["requested_procs"]
    return {
        **{name: cells[name] for name in words},
        "node_list": "" if waits else cells["node_list"],
        **{name: number(cells[name]) or nan for name in ("submit", "eligible")},
        "start": nan if waits else number(cells["start"]) or nan,
        "procs": number(procs),
        "nodes": number(cells["nodes"]),
        "requested_time": limit if isfinite(limit) else nan,
        "priority": number(job.get("priority")),
    }


def number(value: Any) -> float:
    """Return a number in any layout; NaN if it is unknown, infinity if it is infinite.

    Examples
    --------
    >>> number(5), number({"set": True, "infinite": False, "number": 5}), number(None)
    (5.0, 5.0, nan)
    """
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return inf
        return number(value.get("number")) if value.get("set", True) is True else nan
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return inf if value in ("Infinity", "INFINITE", "UNLIMITED") else nan
    if isinstance(value, bool) or not isinstance(value, int | float) or value in _NO_VALUE:
        return nan
    if value in _INFINITE or value > _MOST:
        return inf
    return float(value) if value >= -_MOST else nan


def _whole(value: Any) -> str:
    """Return the text of a whole number of 0 or more; empty if there is none."""
    found = number(value)
    return f"{found:.0f}" if isfinite(found) and found >= 0 else ""


def _limit(value: Any) -> str:
    """Return the text of a time limit in minutes."""
    return "UNLIMITED" if number(value) == inf else _whole(value)


def _part(job: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object in a job; empty if there is none."""
    found = job.get(name)
    return found if isinstance(found, dict) else {}


def _word(value: Any) -> str:
    """Return a text; that of a list is joined by commas."""
    if isinstance(value, list):
        return ",".join(filter(None, map(printable_text, value)))
    return printable_text(value)


def _state(value: Any) -> str:
    """Return the state of a job: of several, a flag such as COMPLETING, else the first."""
    states = [printable_text(state) for state in (value if isinstance(value, list) else [value])]
    flags = (state for state in reversed(states) if state in values.NOT_ENDED)
    return next(flags, states[0] if states else "")


def _exit_code(value: Any, state: str) -> str:
    """Return an exit code as ``code:signal``.

    Up to 23.02, `sacct` writes 0 for each job that exited: only a completed one has it. `squeue`
    writes a status as of wait(2).
    """
    if not isinstance(value, dict) or "number" in value:
        status = number(value)
        known = 0 <= status < 2**16
        return f"{int(status) >> 8}:{int(status) & 127}" if known else ""
    signal = _part(value, "signal")
    code = _whole(value.get("return_code"))
    killed = _whole(signal.get("id", signal.get("signal_id")))
    if isinstance(value.get("status"), str) and state != "COMPLETED" and not killed:
        code = "" if code == "0" else code
    return f"{code or 0}:{killed or 0}" if code or killed else ""


def _id(job: str, array: tuple[Any, Any, Any], het: tuple[Any, Any]) -> str:
    """Return the id as `sacct` writes it: 7, 7_1, 7_[1-3], or 7+1."""
    of_array, task, tasks = _whole(array[0]), _whole(array[1]), printable_text(array[2])
    if of_array not in ("", "0"):
        if task:
            return f"{of_array}_{task}"
        if tasks:
            return f"{of_array}_[{_elements(tasks)}]"
    of_het, offset = _whole(het[0]), _whole(het[1])
    return f"{of_het}+{offset or 0}" if of_het not in ("", "0") else job


def _elements(tasks: str) -> str:
    """Return the elements of an array that waits; `sacct` writes them as bits.

    Examples
    --------
    >>> _elements("0x26%2"), _elements("1-2,5")
    ('1-2,5%2', '1-2,5')
    """
    mask, percent, limit = tasks.partition("%")
    if not re.fullmatch("0x[0-9A-Fa-f]+", mask):
        return tasks
    runs = re.finditer("1+", f"{int(mask, 16):b}"[::-1])
    bounds = ((run.start(), run.end() - 1) for run in runs)
    elements = (f"{first}-{last}" if first < last else f"{first}" for first, last in bounds)
    return ",".join(elements) + percent + limit


def _memory(part: Mapping[str, Any], total: str = "") -> str:
    """Return requested memory, which is in MB, with its unit; `total` is that of the job."""
    for name, letter in (("memory_per_cpu", "c"), ("memory_per_node", "n")):
        if (amount := _whole(part.get(name))) not in ("", "0"):
            return f"{amount}M{letter}"
    return f"{total}M" if total else ""


def _amount(resources: Any, kind: str) -> str:
    """Return the amount of a resource in a list of objects, as text."""
    for one in resources if isinstance(resources, list) else ():
        if isinstance(one, dict) and one.get("type") == kind:
            return _whole(one.get("count"))
    return ""


def _resources(value: Any, *, used: bool = False) -> str:
    """Return a list of resources as text; used ones are in milliseconds and bytes, else MB."""
    if isinstance(value, str):
        return printable_text(value)
    found = []
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, dict) or not (amount := _whole(one.get("count"))):
            continue
        kind, name = printable_text(one.get("type")), printable_text(one.get("name"))
        if kind == "cpu" and used:
            amount = f"{float(amount) / 1000:.3f}"
        elif kind == "mem" and not used:
            amount += "M"
        found.append(f"{kind}/{name}={amount}" if name else f"{kind}={amount}")
    return ",".join(found)


def _count(resources: str, kind: str) -> str:
    """Return the amount of a resource in a list, as text; empty if it is not there."""
    amount = values.tres(kind)(resources)
    return f"{amount:.0f}" if isfinite(amount) else ""


def _seconds(value: Mapping[str, Any]) -> str:
    """Return seconds and microseconds as one number."""
    seconds, micro = number(value.get("seconds")), number(value.get("microseconds"))
    total = seconds + (micro / 1e6 if isfinite(micro) else 0.0)
    return f"{total:.6f}" if 0 <= total < inf else ""


def _of_accounting(job: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a job of `sacct`."""
    time, state, required = (_part(job, name) for name in ("time", "state", "required"))
    tres, array, het = (_part(job, name) for name in ("tres", "array", "het"))
    member = _part(job, "association")
    ids = (array.get("job_id"), array.get("task_id"), array.get("task"))
    allocated = _resources(tres.get("allocated"))
    current = _state(state.get("current"))
    return {
        **{name: _word(job.get(name) or member.get(name)) for name in _SAME},
        "id": _id(_whole(job.get("job_id")), ids, (het.get("job_id"), het.get("job_offset"))),
        "submit": _whole(time.get("submission")),
        "eligible": _whole(time.get("eligible")),
        "start": _whole(time.get("start")),
        "end": _whole(time.get("end")),
        "elapsed": _whole(time.get("elapsed")),
        "suspended": _whole(time.get("suspended")),
        "state": current,
        "exit_code": _exit_code(job.get("exit_code"), current),
        "nodes": _whole(job.get("allocation_nodes")),
        "procs": _count(allocated, "cpu") or "0",
        "requested_procs": _whole(required.get("CPUs")),
        "requested_memory": _memory(required, _amount(tres.get("requested"), "mem")),
        "allocated": allocated,
        "requested": _resources(tres.get("requested")),
        "node_list": _word(job.get("nodes")),
        "features": _word(job.get("constraints")),
        "requested_time": _limit(time.get("limit")),
        "reason": _word(state.get("reason")),
        "executable": _word(job.get("name")),
        "cpu": _seconds(_part(time, "total")),
    }


_SAME = ("cluster", "partition", "qos", "account", "user", "group")


def _of_controller(job: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a job of `squeue`."""
    ids = tuple(job.get(f"array_{name}") for name in ("job_id", "task_id", "task_string"))
    allocated, state = _resources(job.get("tres_alloc_str")), _state(job.get("job_state"))
    procs, nodes = _whole(job.get("cpus")), _word(job.get("nodes"))
    return {
        **{name: _word(job.get(name)) for name in ("cluster", "partition", "qos", "account")},
        "id": _id(
            _whole(job.get("job_id")),
            (ids[0], ids[1], ids[2]),
            (job.get("het_job_id"), job.get("het_job_offset")),
        ),
        "user": _word(job.get("user_name") or job.get("user_id")),
        "group": _word(job.get("group_name") or job.get("group_id")),
        **{name: _whole(job.get(f"{name}_time")) for name in ("submit", "eligible")},
        **{name: _whole(job.get(f"{name}_time")) for name in ("start", "end")},
        "state": state,
        "exit_code": _exit_code(job.get("exit_code"), state),
        "nodes": _whole(job.get("node_count")),
        "procs": _count(allocated, "cpu") or (procs if nodes else "0"),  # allocated ones, then
        "requested_procs": procs,
        "requested_memory": _memory(job),
        "allocated": allocated,
        "requested": _resources(job.get("tres_req_str")),
        "node_list": nodes,
        "features": _word(job.get("features")),
        "requested_time": _limit(job.get("time_limit")),
        "reason": _word(job.get("state_reason")),
        "executable": _word(job.get("name")),
    }


def _of_step(step: dict[str, Any], job: str) -> dict[str, str]:
    """Return the cells of a step; its id begins with that of its job."""
    found = _part(step, "step").get("id")
    if isinstance(found, dict):  # 23.02
        found = found.get("step_id")
    name = printable_text(found).rpartition(".")[2]
    time, tres, energy = (_part(step, part) for part in ("time", "tres", "statistics"))
    asked = _part(tres, "requested")
    return {
        "id": f"{job}.{name[:40] or 'step'}",
        "state": _state(step.get("state")),
        "cpu": _seconds(_part(time, "total")),
        "memory": _amount(asked.get("max"), "mem"),
        "usage": _resources(asked.get("total"), used=True),
        "n_tasks": _whole(_part(step, "tasks").get("count")),
        "energy": _whole(_part(energy, "energy").get("consumed")),
        "allocated": _resources(tres.get("allocated")),
    }
