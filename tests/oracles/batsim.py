"""Batsim's job list, by `json` alone."""

import json


def jobs(text):
    """Id, submission, processors, limit and run time of each job, by submission.

    A profile of type delay has the run time; those of others depend on the platform.
    """
    workload = json.loads(text)
    found = []
    for job in workload["jobs"]:
        profile = workload["profiles"][job["profile"]]
        found.append(
            {
                "id": str(job["id"]).rpartition("!")[2],
                "submit": job["subtime"],
                "procs": job["res"],
                "requested_time": job.get("walltime", -1),
                "run": profile["delay"] if profile["type"] == "delay" else None,
            }
        )
    return sorted(found, key=lambda job: job["submit"])


def faults(text):
    """What Batsim would refuse in a job list."""
    workload = json.loads(text)
    ids = [job["id"] for job in workload["jobs"]]
    found = []
    if not isinstance(workload["nb_res"], int) or workload["nb_res"] < 1:
        found.append("nb_res")
    if len(set(ids)) < len(ids):
        found.append("an id twice")
    for job in workload["jobs"]:
        profile = workload["profiles"].get(job["profile"])
        if profile is None:
            found.append(f"job {job['id']}: no profile")
        elif profile["type"] == "delay" and not profile["delay"] > 0:
            found.append(f"job {job['id']}: a delay of {profile['delay']}")
        if not (isinstance(job["res"], int) and 1 <= job["res"] <= workload["nb_res"]):
            found.append(f"job {job['id']}: res {job['res']}")
        if job["subtime"] < 0:
            found.append(f"job {job['id']}: subtime")
        if "walltime" in job and not (job["walltime"] > 0 or job["walltime"] == -1):
            found.append(f"job {job['id']}: walltime")
    return found
