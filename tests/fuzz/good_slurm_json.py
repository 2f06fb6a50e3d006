"""Good files of `sacct --json` and `squeue --json` in the layout of each version of Slurm.

Layouts are numbered by the plug-in that prints them: 38 is Slurm 22.05, 39 is 23.02, 40 is 23.11,
41 is 24.05, 42 is 24.11, 43 is 25.05 and 44 is 25.11.
"""

import json
from random import Random
from typing import Any

from tests.fuzz.good import _BEGIN, _NAMES, _USERS, SECRET

LAYOUTS = (38, 39, 40, 41, 42, 43, 44)

_N_JOBS = 12
_INFINITE = -1  # in `_number`
_CODES = {"COMPLETED": 0, "FAILED": 3 << 8, "TIMEOUT": 0, "CANCELLED": 15}  # as of wait(2)


def _number(value: int | None, layout: int) -> Any:
    """A number that may be unknown or infinite: null up to 38, then an object."""
    known = value is not None and value != _INFINITE
    if layout < 39:
        return value if known else None
    return {"set": known, "infinite": value == _INFINITE, "number": value if known else 0}


def _state(state: str, layout: int) -> Any:
    return state if layout < 40 else [state]


def _exit_code(code: int, layout: int) -> dict[str, Any]:
    """An exit code; up to 39, that of a job that exited is always 0."""
    signal, code = code & 127, code >> 8
    if layout < 40:
        if signal:
            killed = {"signal_id": signal, "name": "Terminated"}
            return_code = None if layout < 39 else -127
            return {"status": "SIGNALED", "return_code": return_code, "signal": killed}
        return {"status": "SUCCESS", "return_code": 0}
    return {
        "status": ["SIGNALED" if signal else "ERROR" if code else "SUCCESS"],
        "return_code": _number(None if signal else code, layout),
        "signal": {"id": _number(signal or None, layout), "name": ""},
    }


def _later(layout: int, **first: dict[str, Any]) -> dict[str, Any]:
    """Fields by the layout with which they begin: v41={...}."""
    return {
        name: value
        for begin, fields in first.items()
        if layout >= int(begin[1:])
        for name, value in fields.items()
    }


def _tres(kind: str, count: int, name: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, "id": 1, "count": count, **more}


def _step(job: int, run: int, layout: int) -> dict[str, Any]:
    if layout < 39:
        name: dict[str, Any] = {"job_id": job, "het": {"component": None}, "id": "batch"}
    else:
        in_object = {"job_id": job, "step_id": "batch"}
        name = {"id": in_object if layout < 40 else f"{job}.batch"}
    return {
        "step": name | {"name": "batch"},
        "state": _state("COMPLETED", layout),
        "tasks": {"count": 1},
        "time": {"elapsed": run, "total": {"seconds": run, "microseconds": 500}},
        "statistics": {"energy": {"consumed": _number(100, layout)}},
        "tres": {
            "requested": {
                "max": [_tres("mem", 1 << 30, node=f"n{SECRET}", task=0)],
                "total": [_tres("cpu", 5000)],
            },
            "allocated": [_tres("cpu", 2)],
        },
    }


def sacct_job(rng: Random, job: int, submit: int, layout: int) -> dict[str, Any]:
    """A job of sacct; what is drawn does not depend on the layout."""
    procs, run = 2 ** rng.randrange(6), rng.choice([65534, rng.randrange(90_000)])
    start = submit + rng.randrange(3600)
    state = rng.choice(["COMPLETED"] * 4 + ["CANCELLED", "FAILED", "TIMEOUT", "RUNNING"])
    started = state != "CANCELLED" or rng.random() < 0.5
    in_array = rng.random() < 0.5
    gpus, energy = rng.randrange(3), rng.choice([-2, 5000])
    limit = rng.choice([60, None, _INFINITE])
    memory = rng.choice([4000, 65534])
    user, name, constraint = rng.choice(_USERS), rng.choice(_NAMES), rng.choice(["", "fast"])
    steps = [_step(job, run, layout)] if rng.random() < 0.3 else []
    requested = [_tres("cpu", procs), _tres("mem", memory * procs), _tres("node", 1)]
    gres = [_tres("energy", energy), _tres("gres", gpus, "gpu")]
    required = {
        "memory_per_cpu": _number(memory, layout),
        "memory_per_node": _number(None, layout),
    }
    if layout < 39:
        required = {"memory": memory}
    elif layout < 40:
        required["memory"] = memory - 2**63
    return {
        "account": f"acct{SECRET}",
        "allocation_nodes": 1 if started else 0,
        "array": {
            "job_id": 99 if in_array else 0,
            "task_id": _number(job if in_array else None, layout),
            "task": None if layout < 39 else "",
        },
        "association": {"account": f"acct{SECRET}", "user": f"u{SECRET}"},
        "cluster": f"c{SECRET}",
        "constraints": f"{constraint}{SECRET}" if constraint else "",
        "exit_code": _exit_code(_CODES.get(state, 0) if started else 0, layout),
        "group": f"g{SECRET}",
        "het": {"job_id": 0, "job_offset": _number(None, layout)},
        "job_id": job,
        "name": name,
        "nodes": f"n{SECRET}1" if started else "None assigned",
        "partition": f"p{SECRET}",
        "priority": _number(4_000_000_000, layout),
        "qos": f"normal{SECRET}",
        "required": {"CPUs": procs, **required},
        "reservation": {"id": 0, "name": None if layout < 39 else ""},
        "state": {"current": _state(state, layout), "reason": "None"},
        "steps": steps,
        "time": {
            "elapsed": run if started else 0,
            "eligible": submit,
            "end": 0 if state == "RUNNING" else start + (run if started else 0),
            "start": start if started else (None if layout < 39 else 0),
            "submission": submit,
            "suspended": 0,
            "limit": _number(limit, layout),
            "total": {"seconds": run // 2, "microseconds": 250_000},
            **_later(layout, v41={"planned": _number(1, layout)}),
        },
        "tres": {"allocated": [*requested, *gres] if started else [], "requested": requested},
        "user": user,
        "working_directory": f"/home/{SECRET}",
        **_later(
            layout,
            v39={"submit_line": f"sbatch {SECRET}", "script": ""},
            v41={"stdout_expanded": f"/home/{SECRET}/out"},
            v42={"qosreq": "", "restart_cnt": 0},
            v43={"segment_size": 0},
        ),
    }


def squeue_job(rng: Random, job: int, submit: int, layout: int = 40) -> dict[str, Any]:
    """A job of squeue; what is drawn does not depend on the layout."""
    procs = 2 ** rng.randrange(6)
    state = rng.choice(["COMPLETED", "FAILED", "PENDING", "RUNNING"])
    start = submit + rng.randrange(3600)
    end = start + rng.randrange(90_000)
    limit, priority = rng.choice([60, _INFINITE]), rng.randrange(10_000)
    user, name = rng.choice(_USERS), rng.choice(_NAMES)
    waits = state == "PENDING"
    in_array = waits and rng.random() < 0.3
    code = _CODES.get(state, 0)

    def time(value: int) -> Any:
        return value if layout < 40 else _number(value, layout)

    return {
        "account": f"acct{SECRET}",
        "accrue_time": time(submit),
        "array_job_id": _number(job if in_array else 0, layout),
        "array_task_id": _number(None, layout),
        "array_task_string": "1-3%2" if in_array else "",
        "cluster": f"c{SECRET}",
        "cpus": _number(procs, layout),
        "eligible_time": time(submit),
        "end_time": time(end),
        "exit_code": _exit_code(code, layout) if layout >= 40 else _number(code, layout),
        "features": "",
        "group_name": f"g{SECRET}",
        "het_job_id": _number(0, layout),
        "het_job_offset": _number(0, layout),
        "job_id": job,
        "job_state": _state(state, layout),
        "memory_per_cpu": _number(4000, layout),
        "memory_per_node": _number(None, layout),
        "name": name,
        "node_count": _number(1, layout),
        "nodes": "" if waits else f"n{SECRET}1",
        "partition": f"p{SECRET}",
        "priority": _number(priority, layout),
        "qos": f"normal{SECRET}",
        "start_time": time(start),
        "state_reason": "Resources" if waits else "None",
        "submit_time": time(submit),
        "time_limit": _number(limit, layout),
        "tres_alloc_str": "" if waits else f"cpu={procs},mem=16G,node=1,gres/gpu=1",
        "tres_req_str": f"cpu={procs},mem=16G,node=1",
        "user_name": user,
        **_later(
            layout,
            v42={"priority_by_partition": []},
            v43={"segment_size": 0, "licenses_allocated": ""},
            v44={"step_id": {"job_id": job}, "submit_line": f"sbatch {SECRET}"},
        ),
    }


def log(rng: Random, layout: int, *, of_queue: bool = False, indent: int | None = None) -> bytes:
    """Jobs of sacct, or of squeue, in one layout; the first has ended."""
    jobs = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        jobs.append((squeue_job if of_queue else sacct_job)(rng, job, submit, layout))
    if of_queue:
        cpus = jobs[0]["cpus"] if layout < 39 else jobs[0]["cpus"]["number"]
        allocated = f"cpu={cpus},mem=16G,node=1,gres/gpu=1"
        jobs[0] |= {"job_state": _state("COMPLETED", layout), "nodes": "n1"}
        jobs[0] |= {"tres_alloc_str": allocated, "array_task_string": ""}
    else:
        jobs[0]["state"]["current"] = _state("COMPLETED", layout)
        time = jobs[0]["time"]
        time["end"] = time["end"] or time["start"] + time["elapsed"]
    if layout < 39:
        plugin = {"type": f"openapi/dbv0.0.{layout}", "name": "Slurm OpenAPI DB"}
        meta = {"plugin": plugin, "Slurm": {"release": "22.05.8"}}
        whole = {"meta": meta, "errors": [], "jobs": jobs}
    else:
        meta = {"plugin": {"data_parser": f"data_parser/v0.0.{layout}"}}
        whole = {"jobs": jobs, "meta": meta, "errors": [], "warnings": []}
    return json.dumps(whole, indent=indent).replace("/", r"\/").encode()


def slurm_json(rng: Random) -> bytes:
    """Jobs of sacct, or of squeue, in the layout of one of the versions."""
    layout, of_queue = rng.choice(LAYOUTS), rng.random() < 0.3
    return log(rng, layout, of_queue=of_queue, indent=rng.choice([None, 1]))
