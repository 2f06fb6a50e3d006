"""Jobs of `sacct --json` and `squeue --json`, one at a time, by json and the schemas of Slurm."""

import json

STATUS = {"COMPLETED": 1, "CANCELLED": 5}
OPEN = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "COMPLETING", "CONFIGURING", "RESIZING")


def plain(value):
    """A number, in an object with `set` or not; None if it is not set or infinite."""
    if isinstance(value, dict):
        return value["number"] if value["set"] and not value["infinite"] else None
    return value


def word(value):
    return value[0] if isinstance(value, list) else value


def amount(resources, kind, name=""):
    """The count of a resource in a list, or in a text such as cpu=4,gres/gpu=2."""
    if isinstance(resources, str):
        full = f"{kind}/{name}" if name else kind
        found = dict(part.split("=") for part in resources.split(",") if part)
        return int(found[full]) if full in found else None
    counts = [r["count"] for r in resources if (r["type"], r["name"] or "") == (kind, name)]
    return counts[0] if counts else None


def jobs(text):
    """The jobs that have ended, in order of submission, and the others by id and state."""
    ended, others = [], []
    for place, job in enumerate(json.loads(text)["jobs"], 1):
        found = (accounted if "time" in job else controlled)(job) | {"place": place}
        if found["state"] in OPEN:
            others.append(found)
        else:
            ended.append(found)
    return sorted(ended, key=lambda one: (one["submit"], one["place"])), others


def accounted(job):
    time, tres = job["time"], job["tres"]
    procs = amount(tres["allocated"], "cpu")
    start = plain(time["start"]) or None
    array, het = job["array"], job["het"]
    if array["job_id"]:
        name = f"{array['job_id']}_{plain(array['task_id'])}"
    elif het["job_id"]:
        name = f"{het['job_id']}+{plain(het['job_offset'])}"
    else:
        name = str(job["job_id"])
    limit = plain(time["limit"])
    total = time["total"]
    cpu = total["seconds"] + total["microseconds"] / 1e6
    state = word(job["state"]["current"])
    required = job["required"]
    memory = [plain(required.get(f"memory_per_{per}")) for per in ("cpu", "node")]
    if memory[0]:
        per_proc = memory[0] * 1024
    else:
        whole = (
            memory[1] * job["allocation_nodes"] if memory[1] else amount(tres["requested"], "mem")
        )
        per_proc = whole * 1024 / (procs or required["CPUs"]) if whole else None
    return {
        "id": name,
        "state": state,
        "submit": plain(time["submission"]),
        "eligible": plain(time["eligible"]),
        "start": start,
        "end": plain(time["end"]),
        "run": time["elapsed"] if start else None,
        "procs": procs if start else None,
        "requested_procs": required["CPUs"],
        "nodes": job["allocation_nodes"] if start else None,
        "gpus": (amount(tres["allocated"], "gres", "gpu") or 0) if tres["allocated"] else None,
        "requested_time": None if limit is None else limit * 60,
        "requested_memory": per_proc,
        "cpu": cpu / procs if procs and cpu else None,
        "user": job["user"],
        "account": job["account"],
        "partition": job["partition"],
        "qos": job["qos"],
        "executable": job["name"],
        "status": STATUS.get(state, 0),
    }


def controlled(job):
    state = word(job["job_state"])
    waits = state == "PENDING"
    limit = plain(job["time_limit"])
    procs = amount(job["tres_alloc_str"], "cpu")
    start, end = (plain(job[f"{name}_time"]) for name in ("start", "end"))
    name = f"{job['job_id']}"
    if job["array_task_string"]:
        name += f"_[{job['array_task_string']}]"
    return {
        "id": name,
        "state": state,
        "submit": plain(job["submit_time"]),
        "eligible": plain(job["eligible_time"]),
        "start": None if waits else start,
        "end": end,
        "run": None if waits else end - start,
        "procs": procs or plain(job["cpus"]),
        "requested_procs": plain(job["cpus"]),
        "nodes": plain(job["node_count"]),
        "requested_time": None if limit is None else limit * 60,
        "user": job["user_name"],
        "account": job["account"],
        "partition": job["partition"],
        "qos": job["qos"],
        "status": STATUS.get(state, 0),
    }
