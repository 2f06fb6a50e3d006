"""Jobs of Flux, OAR, HTCondor and ClusterCockpit, by their documentation and plain Python."""

import json
from datetime import UTC, datetime


def flux(text):
    found = []
    for job in json.loads(text)["jobs"]:
        if job["state"] != "INACTIVE":
            continue
        ran = job["t_run"] > 0
        found.append(
            {
                "id": job["id"],
                "submit": job["t_submit"],
                "start": job["t_run"] if ran else None,
                "end": job["t_cleanup"] if ran else job["t_inactive"],
                "procs": job["ncores"] if ran else None,
                "requested_time": job["duration"] or None,
                "user": job["username"],
                "account": job["bank"],
                "status": {"COMPLETED": 1, "CANCELED": 5}.get(job["result"], 0),
            }
        )
    return found


def oar(text):
    found = []
    for job in json.loads(text).values():
        if job["state"] not in ("Terminated", "Error"):
            continue
        found.append(
            {
                "id": str(job["Job_Id"]),
                "submit": job["submissionTime"],
                "start": job["startTime"],
                "end": job["stopTime"],
                "procs": len(job["assigned_resources"]),
                "nodes": len(job["assigned_network_address"]),
                "requested_time": job["walltime"],
                "user": job["owner"],
                "account": job["project"],
                "status": 1 if job["state"] == "Terminated" and job["exit_code"] == 0 else 0,
            }
        )
    return found


def htcondor(text):
    found, job = [], {}
    for line in text.split("\n"):
        name, equals, value = line.partition(" = ")
        if line.startswith("***") or not line:
            if job:
                found.append(classad(job))
            job = {}
        elif equals:
            job[name] = value.strip('"')
    return found


def htcondor_json(text):
    jobs = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
    return [classad({name: str(value) for name, value in job.items()}) for job in jobs]


def classad(job):
    start = int(job["JobCurrentStartDate"]) if "JobCurrentStartDate" in job else None
    removed = job["JobStatus"] == "3"
    cpus = int(job["RequestCpus"])
    end = int(job["EnteredCurrentStatus"] if removed else job["CompletionDate"])
    return {
        "id": f"{job['ClusterId']}.{job['ProcId']}",
        "submit": int(job["QDate"]),
        "start": start,
        "end": end,
        "procs": cpus if start else None,
        "cpu": float(job["RemoteUserCpu"]) / cpus if start else None,
        "memory": int(job["ResidentSetSize"]) / cpus if start else None,
        "user": job["Owner"],
        "account": job["AcctGroup"],
        "status": 5 if removed else int(job["ExitCode"] == "0"),
    }


def clustercockpit(text):
    job = json.loads(text)
    (use,) = (each["avg"] for key, each in job["statistics"].items() if key.startswith("acc_u"))
    return [
        {
            "gpu_use": use / 100,
            "id": str(job["jobId"]),
            "start": job["startTime"],
            "end": job["startTime"] + job["duration"],
            "wait": job["startTime"] - job["submitTime"] if "submitTime" in job else None,
            "procs": job["numHwthreads"],
            "nodes": job["numNodes"],
            "gpus": job["numAcc"],
            "requested_time": job["walltime"],
            "energy": job["energy"],
            "user": job["user"],
            "account": job["project"],
            "status": {"completed": 1, "cancelled": 5}.get(job["jobState"], 0),
        }
    ]


def accasim(text):
    found = []
    for line in text.splitlines():
        head, where, rest = line.split("__")
        number, _, queued = head.split(";")
        start, end, nodes, _, _, limit, _ = rest.split(";")
        queued, start, end = (
            datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
            for time in (queued, start, end)
        )
        assert where.count("#") == int(nodes)
        found.append(
            {
                "job": int(number),
                "submit": queued,
                "wait": start - queued,
                "run": end - start,
                "procs": sum(int(part.split(";")[1]) for part in where.split("#") if part),
                "requested_time": None if limit == "NA" else int(limit),
            }
        )
    begin = min(job["submit"] for job in found)
    return [job | {"submit": job["submit"] - begin} for job in found]
