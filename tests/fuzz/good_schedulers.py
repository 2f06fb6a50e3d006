"""Good files of the records of today's schedulers, small and each time others."""

import json
from random import Random
from typing import Any

from tests.fuzz.good import _BEGIN, _NAMES, _USERS, SECRET, _date

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


def slurm_jobcomp(rng: Random) -> bytes:
    """Lines of jobcomp/filetxt, with blanks in names, arrays, and jobs that never started."""
    lines = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, procs = submit + rng.randrange(3600), 2 ** rng.randrange(6)
        state = rng.choice(["COMPLETED", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"])
        never = state == "CANCELLED" and rng.random() < 0.7
        end = start if never else start + rng.randrange(1, 90_000)
        array = f" ArrayJobId=99 ArrayTaskId={job}" if rng.random() < 0.3 else ""
        lines.append(
            f"JobId={job} UserId=u{SECRET}(1001) GroupId=g{SECRET}(100) Name={rng.choice(_NAMES)} "
            f"JobState={state} Partition=p{SECRET} TimeLimit={rng.choice(['60', 'UNLIMITED'])} "
            f"StartTime={_date(start)} EndTime={_date(end)} "
            f"NodeList={'(null)' if never else f'n{SECRET}1'} NodeCnt={0 if never else 1} "
            f"ProcCnt={procs} WorkDir=/home/{SECRET} a ReservationName= "
            f"Tres=cpu={procs},mem=4G,node=1,gres/gpu=2 Account=acct{SECRET} QOS=q{SECRET} WcKey= "
            f"Cluster=c{SECRET} SubmitTime={_date(submit)} EligibleTime={_date(submit)}{array} "
            "DerivedExitCode=0:0 ExitCode=0:0 "
        )
    return "\n".join([*lines, ""]).encode()


_BATSIM_JOBS = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata"
)


def batsim_jobs(rng: Random) -> bytes:
    """A schedule of Batsim, in the order of ends."""
    rows = []
    submit = 0
    for job in range(_N_JOBS):
        submit += rng.randrange(900)
        procs, wait = rng.randrange(1, 9), rng.randrange(900) + 0.5
        run = rng.randrange(1, 9000) + 0.25
        state = rng.choice(["COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED", "REJECTED"])
        never = state == "REJECTED"
        start, end = submit + wait, submit + wait + run
        times = "-1.0,-1.0,-1.0,-1.0,-1.0,-1.0" if never else f"{start},{run},{end},{wait},{end},1"
        where = "" if never else f"0-{procs - 1}" if procs < 5 else f"0-3 5-{procs}"
        limit = rng.choice([9000.0, -1.0])
        rows.append(
            f"{job},w0,p,{submit}.0,{procs},{limit},{int(not never)},{state},{times},{where},-1,"
        )
    rng.shuffle(rows)
    return "\n".join([_BATSIM_JOBS, *rows, ""]).encode()


def cobalt(rng: Random) -> bytes:
    """Records of Cobalt: queued, started and ended jobs, times with decimals."""
    lines = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, run, nodes = submit + rng.randrange(3600), rng.randrange(1, 90_000), 512
        where = rng.choice([f"R-{SECRET}-512", f'"{SECRET}0-4,6-7"'])
        asked = f"Resource_List.ncpus={16 * nodes} Resource_List.nodect={nodes}"
        lines.append(f"05/06/2024 08:32:10;Q;{job};queue=q{SECRET}")
        lines.append(
            f"05/06/2024 08:32:10;E;{job};Exit_status={rng.choice([0, 1, 143])} {asked} "
            f"Resource_List.walltime=3600 account=acct{SECRET} args= ctime={submit}.12 "
            f"cwd=/{SECRET} end={start + run}.55 etime={submit}.12 exe=/{SECRET}/run.sh "
            f"exec_host={where} group=g{SECRET} jobname=N/A mode=script priority_core_hours=0 "
            f"qtime={submit}.12 queue=q{SECRET} resources_used.location={where} "
            f"resources_used.nodect={nodes} resources_used.walltime={run}.22 session=0 "
            f"start={start}.33 user={rng.choice(_USERS)}"
        )
    return "\n".join([*lines, ""]).encode()
