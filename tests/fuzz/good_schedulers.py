"""Good files of the records of today's schedulers, small and each time others."""

import json
from random import Random
from typing import Any

from tests.fuzz.good import _BEGIN, _NAMES, _USERS, SECRET

_N_JOBS = 12


def _wrapped(number: int | None, version: int) -> Any:
    """A number as Slurm's plugins write it: in an object from version 39 on."""
    if version < 39:
        return number
    return {"set": number is not None, "infinite": False, "number": number or 0}


def _sacct_job(rng: Random, job: int, submit: int, version: int) -> dict[str, Any]:
    procs, run = 2 ** rng.randrange(6), rng.randrange(90_000)
    start = submit + rng.randrange(3600)
    state = rng.choice(["COMPLETED"] * 4 + ["CANCELLED", "FAILED", "TIMEOUT", "RUNNING"])
    started = state != "CANCELLED" or rng.random() < 0.5
    names = rng.random() < 0.5
    tres = [
        {"type": "cpu", "name": "", "id": 1, "count": procs},
        {"type": "mem", "name": "", "id": 2, "count": 4000 * procs},
        {"type": "energy", "name": "", "id": 3, "count": rng.choice([-2, 5000])},
        {"type": "gres", "name": "gpu", "id": 1001, "count": rng.randrange(3)},
    ]
    step = {
        "step": {"id": f"{job}.batch", "name": "batch"},
        "state": ["COMPLETED"],
        "tasks": {"count": 1},
        "time": {"total": {"seconds": run, "microseconds": 500}},
        "statistics": {"energy": {"consumed": 100}},
        "tres": {
            "requested": {
                "max": [{"type": "mem", "name": "", "count": 1 << 30, "node": f"n{SECRET}"}],
                "total": [{"type": "cpu", "name": "", "count": 5000}],
            }
        },
    }
    return {
        "account": f"acct{SECRET}",
        "allocation_nodes": 1 if started else 0,
        "array": {
            "job_id": 99 if names else 0,
            "task_id": _wrapped(job if names else None, version),
            "task": "",
        },
        "association": {"account": f"acct{SECRET}", "user": f"u{SECRET}"},
        "cluster": f"c{SECRET}",
        "constraints": rng.choice(["", f"fast{SECRET}"]),
        "exit_code": {"status": ["SUCCESS"], "return_code": _wrapped(0, version)},
        "group": f"g{SECRET}",
        "het": {"job_id": 0, "job_offset": _wrapped(None, version)},
        "job_id": job,
        "name": rng.choice(_NAMES),
        "nodes": f"n{SECRET}[1-2]" if started else "None assigned",
        "partition": f"p{SECRET}",
        "qos": f"normal{SECRET}",
        "required": {
            "CPUs": procs,
            "memory_per_cpu": _wrapped(4000, version),
            "memory_per_node": _wrapped(None, version),
        },
        "state": {"current": [state] if version >= 40 else state, "reason": "None"},
        "steps": [step] if rng.random() < 0.3 else [],
        "time": {
            "elapsed": run if started else 0,
            "eligible": submit,
            "end": 0 if state == "RUNNING" else start + (run if started else 0),
            "start": start if started else 0,
            "submission": submit,
            "suspended": 0,
            "limit": rng.choice([_wrapped(60, version), _wrapped(None, version)]),
            "total": {"seconds": run // 2, "microseconds": 250_000},
        },
        "tres": {"allocated": tres if started else [], "requested": tres[:2]},
        "user": rng.choice(_USERS),
        "working_directory": f"/home/{SECRET}",
    }


def _squeue_job(rng: Random, job: int, submit: int) -> dict[str, Any]:
    procs = 2 ** rng.randrange(6)
    state = rng.choice(["COMPLETED", "FAILED", "PENDING", "RUNNING"])
    start = submit + rng.randrange(3600)
    waits = state == "PENDING"
    return {
        "account": f"acct{SECRET}",
        "accrue_time": _wrapped(submit, 40),
        "array_job_id": _wrapped(0, 40),
        "array_task_id": _wrapped(None, 40),
        "array_task_string": "",
        "cluster": f"c{SECRET}",
        "cpus": _wrapped(procs, 40),
        "eligible_time": _wrapped(submit, 40),
        "end_time": _wrapped(start + rng.randrange(90_000), 40),
        "features": "",
        "group_name": f"g{SECRET}",
        "het_job_id": _wrapped(0, 40),
        "het_job_offset": _wrapped(0, 40),
        "job_id": job,
        "job_state": [state],
        "memory_per_cpu": _wrapped(4000, 40),
        "memory_per_node": _wrapped(None, 40),
        "name": rng.choice(_NAMES),
        "node_count": _wrapped(1, 40),
        "nodes": "" if waits else f"n{SECRET}1",
        "partition": f"p{SECRET}",
        "priority": _wrapped(rng.randrange(10_000), 40),
        "qos": f"normal{SECRET}",
        "start_time": _wrapped(start, 40),
        "state_reason": "Resources" if waits else "None",
        "submit_time": _wrapped(submit, 40),
        "time_limit": _wrapped(rng.choice([60, None]), 40),
        "tres_alloc_str": "" if waits else f"cpu={procs},mem=16G,node=1,gres/gpu=1",
        "tres_req_str": f"cpu={procs},mem=16G,node=1",
        "user_name": rng.choice(_USERS),
    }


def slurm_json(rng: Random) -> bytes:
    """Jobs of sacct in the layout of one of its versions, or of squeue."""
    version = rng.choice([38, 39, 40, 44])
    of_queue = rng.random() < 0.3
    jobs = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        made = _squeue_job(rng, job, submit)
        jobs.append(made if of_queue else _sacct_job(rng, job, submit, version))
    if of_queue:
        jobs[0]["job_state"] = ["COMPLETED"]
    else:
        jobs[0]["state"]["current"] = "COMPLETED"
    meta = {"plugin": {"data_parser": f"data_parser/v0.0.{version}"}}
    indent = rng.choice([None, 1])
    return json.dumps({"jobs": jobs, "meta": meta, "errors": []}, indent=indent).encode()
