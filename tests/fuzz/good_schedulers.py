"""Good files of the records of today's schedulers, small and each time others."""

import json
import re
from random import Random

from tests.fuzz.good import _BEGIN, _NAMES, _USERS, SECRET, _date, sge

_N_JOBS = 12


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


def flux(rng: Random) -> bytes:
    """The output of flux jobs -a --json, as its manual page and source describe it."""
    jobs = []
    submit = _BEGIN + 0.5
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, run = submit + rng.randrange(3600), rng.randrange(1, 90_000)
        result = rng.choice(["COMPLETED", "COMPLETED", "FAILED", "CANCELED", "TIMEOUT"])
        ran = result != "CANCELED" or rng.random() < 0.5
        state = rng.choice(["INACTIVE"] * 8 + ["RUN"])
        jobs.append(
            {
                "t_depend": submit,
                "t_run": start if ran else 0.0,
                "t_cleanup": start + run if ran else 0.0,
                "t_inactive": start + run,
                "t_sched": submit,
                "duration": rng.choice([0.0, 3600.0]),
                "name": rng.choice(_NAMES),
                "queue": f"q{SECRET}",
                "bank": f"b{SECRET}",
                "ncores": 4 * rng.randrange(1, 9),
                "nnodes": 1,
                "nodelist": f"n{SECRET}[1-2]",
                "id": f"f{job}",
                "t_submit": submit,
                "state": state if jobs else "INACTIVE",
                "result": result,
                "username": rng.choice(_USERS),
                "returncode": 0,
            }
        )
    return json.dumps({"jobs": jobs}, indent=rng.choice([None, 1])).encode()


def oar(rng: Random) -> bytes:
    """The output of oarstat -f -J, as its source writes it."""
    jobs = {}
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, run = submit + rng.randrange(3600), rng.randrange(1, 90_000)
        state = rng.choice(["Terminated", "Terminated", "Error", "Running"])
        jobs[str(job)] = {
            "Job_Id": job,
            "array_id": job,
            "array_index": 1,
            "name": rng.choice(_NAMES),
            "owner": rng.choice(_USERS),
            "project": f"proj{SECRET}",
            "queue": f"q{SECRET}",
            "state": state if jobs else "Terminated",
            "assigned_resources": list(range(rng.randrange(1, 9))),
            "assigned_network_address": [f"n{SECRET}1", f"n{SECRET}2"],
            "cpuset_name": f"u{SECRET}_{job}",
            "submissionTime": submit,
            "startTime": start,
            "stopTime": 0 if state == "Running" else start + run,
            "walltime": 3600,
            "exit_code": rng.choice([0, 0, 256]),
        }
    jobs["100"] |= {"stopTime": jobs["100"]["startTime"] + 60}
    return json.dumps(jobs, indent=rng.choice([None, 3])).encode()


def htcondor(rng: Random) -> bytes:
    """A history file of HTCondor, with banners, or condor_history -long, with blank lines."""
    lines = []
    submit = _BEGIN
    banners = rng.random() < 0.5
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, run, cpus = (
            submit + rng.randrange(3600),
            rng.randrange(1, 90_000),
            rng.randrange(1, 9),
        )
        status = rng.choice([4, 4, 4, 3]) if job > 100 else 4
        never = status == 3 and rng.random() < 0.5
        lines += [
            f'GlobalJobId = "schedd{SECRET}#{job}.0"',
            f"ClusterId = {job}",
            "ProcId = 0",
            f"JobStatus = {status}",
            f"QDate = {submit}",
            f"EnteredCurrentStatus = {start + run}",
            f"CompletionDate = {0 if status == 3 else start + run}",
            f"RequestCpus = {cpus}",
            f"RequestMemory = {cpus * 1000}",
            f"RemoteWallClockTime = {0 if never else run}.0",
            f"RemoteUserCpu = {run // 2}.0",
            "RemoteSysCpu = 0.0",
            f"ResidentSetSize = {cpus * 5000}",
            f'Owner = "{rng.choice(_USERS)}"',
            f'AcctGroup = "acct{SECRET}"',
            f'Cmd = "/home/{SECRET}/{rng.choice(_NAMES)}"',
            f'LastRemoteHost = "slot1@n{SECRET}"',
            'Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX")',
        ]
        if not never:
            lines += [f"JobCurrentStartDate = {start}", f"ExitCode = {rng.choice([0, 0, 1])}"]
        lines.append(f"*** Offset = 0 ClusterId = {job} ProcId = 0" if banners else "")
    return "\n".join([*lines, ""]).encode()


def htcondor_json(rng: Random) -> bytes:
    """The same jobs as condor_history -json or -jsonl prints them."""
    jobs = []
    for text in re.split(r"\n(?:\*\*\*.*)?\n", htcondor(rng).decode().strip()):
        pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line[:40])
        job = {name: value for name, value in pairs if not name.startswith("***")}
        requirements = f"/Expr({job.pop('Requirements')})/"
        values = {name: json.loads(value) for name, value in job.items()}
        jobs.append(values | {"Requirements": requirements, "ExitBySignal": False, "Err": None})
    if rng.random() < 0.5:
        return "".join(f"{json.dumps(job)}\n" for job in jobs).encode()
    return json.dumps(jobs, indent=2).encode()


def reporting(rng: Random) -> bytes:
    """Grid Engine's file `reporting`: records of accounting among others."""
    lines = []
    for i, line in enumerate(sge(rng).decode().splitlines()):
        if not line.startswith("#"):
            lines += [f"{_BEGIN + i}:new_job:1:2", f"{_BEGIN + i}:acct:{line}"]
    return "\n".join([*lines, ""]).encode()


def clustercockpit(rng: Random) -> bytes:
    """A meta.json of ClusterCockpit, as its schema describes it."""
    job = {
        "jobId": rng.randrange(1, 10**6),
        "user": rng.choice(_USERS),
        "project": f"proj{SECRET}",
        "cluster": f"c{SECRET}",
        "partition": f"p{SECRET}",
        "numNodes": 2,
        "numHwthreads": 2 * rng.randrange(1, 99),
        "numAcc": rng.randrange(1, 5),
        "shared": "none",
        "walltime": 3600,
        "jobState": rng.choice(["completed", "failed", "timeout", "cancelled"]),
        "startTime": _BEGIN + rng.randrange(9000),
        "duration": rng.randrange(1, 90_000),
        "resources": [{"hostname": f"n{SECRET}{i}"} for i in range(2)],
        "metaData": {"jobName": rng.choice(_NAMES)},
        "energy": 1000.5,
        "statistics": {"mem_used": {"unit": {"base": "B"}, "avg": 1.5, "min": 1, "max": 2}},
    }
    if rng.random() < 0.7:
        job["submitTime"] = _BEGIN
    name = rng.choice(["acc_utilization", "acc_used"])
    job["statistics"][name] = {"unit": {"base": ""}, "avg": rng.choice([0, 37.5, 100])}
    return json.dumps(job, indent=rng.choice([None, 2])).encode()


def accasim(rng: Random) -> bytes:
    """A schedule of AccaSim in its default format."""
    lines = []
    submit = _BEGIN
    for job in range(1, _N_JOBS + 1):
        submit += rng.randrange(900)
        start, cores = submit + rng.randrange(900), rng.randrange(1, 9)
        end, nodes = start + rng.randrange(1, 9000), rng.randrange(1, 4)
        where = "".join(f"{node};{cores};0#" for node in range(1, nodes + 1))
        dates = [_date(time).replace("T", " ") for time in (submit, start, end)]
        rest = f"{dates[1]};{dates[2]};{nodes};{cores};0;{rng.choice(['3600', 'NA'])};"
        lines.append(f"{job};{rng.randrange(9)};{dates[0]}__{where}__{rest}")
    rng.shuffle(lines)
    return "\n".join([*lines, ""]).encode()


_WIDTHS = {
    "JobID": 8,
    "User": 9,
    "Submit": 19,
    "Start": 19,
    "End": 19,
    "State": 10,
    "AllocCPUS": 10,
    "AllocTRES": 20,
    "JobName": -12,
}


def fixed_width(rng: Random) -> bytes:
    """The output of sacct without -P."""
    rows = [{name: name for name in _WIDTHS}, {n: "-" * abs(w) for n, w in _WIDTHS.items()}]
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start = submit + rng.randrange(3600)
        state = rng.choice(["COMPLETED", "FAILED", "CANCELLED by 17", "RUNNING"])
        rows.append(
            {
                "JobID": str(job),
                "User": rng.choice(_USERS),
                "Submit": _date(submit),
                "Start": _date(start),
                "End": _date(start + rng.randrange(90_000)),
                "State": state if job > 100 else "COMPLETED",
                "AllocCPUS": str(2 ** rng.randrange(6)),
                "AllocTRES": "billing=4,cpu=4,gres/gpu=2" if rng.random() < 0.5 else "cpu=4",
                "JobName": rng.choice(_NAMES),
            }
        )
    lines = []
    for row in rows:
        cells = []
        for name, width in _WIDTHS.items():
            text, room = row[name], abs(width)
            text = f"{text[: room - 1]}+" if len(text) > room else text
            cells.append(text.rjust(room) if width > 0 else text.ljust(room))
        lines.append(" ".join(cells))
    return "\n".join([*lines, ""]).encode()
