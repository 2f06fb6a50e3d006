"""Batsim's job list, by `json` alone."""

import json

#: Types of profiles that take a known time, by Batsim's version.
TYPES = {4: ("delay", "composed"), 5: ("DelayProfile", "SequentialCompositionProfile")}


def jobs(text):
    """Id, submission, processors, limit and run time of each job, by submission."""
    workload = json.loads(text)
    found = [
        {
            "id": str(job["id"]).rpartition("!")[2],
            "submit": job["subtime"],
            "procs": job["res"],
            "requested_time": job.get("walltime", -1),
            "run": run_time(workload["profiles"], job["profile"]),
        }
        for job in workload["jobs"]
    ]
    return sorted(found, key=lambda job: job["submit"])


def run_time(profiles, name):
    """A delay, or the sum of a sequence, as often as it is repeated; None if a platform decides."""
    profile = profiles[name]
    if profile["type"] in ("delay", "DelayProfile"):
        return profile["delay"]
    if profile["type"] in ("composed", "SequentialCompositionProfile"):
        once = [run_time(profiles, part) for part in profile["seq"]]
        return None if None in once else profile.get("repeat", 1) * sum(once)
    return None


def faults(text, version=5):
    """What a version of Batsim would refuse in a list of jobs that are delays."""
    workload = json.loads(text)
    ids = [job["id"] for job in workload["jobs"]]
    found = []
    if not isinstance(workload["nb_res"], int) or workload["nb_res"] < 1:
        found.append("nb_res")
    if len(set(ids)) < len(ids):
        found.append("an id twice")
    for name, profile in workload["profiles"].items():
        if profile["type"] not in TYPES[version]:
            found.append(f"profile {name}: type {profile['type']}")
    for job in workload["jobs"]:
        profile = workload["profiles"].get(job["profile"])
        if profile is None:
            found.append(f"job {job['id']}: no profile")
        elif "delay" in profile and not profile["delay"] > 0:
            found.append(f"job {job['id']}: a delay of {profile['delay']}")
        if not (isinstance(job["res"], int) and 1 <= job["res"] <= workload["nb_res"]):
            found.append(f"job {job['id']}: res {job['res']}")
        if job["subtime"] < 0:
            found.append(f"job {job['id']}: subtime")
        if "walltime" in job and not (job["walltime"] > 0 or job["walltime"] == -1):
            found.append(f"job {job['id']}: walltime")
    return found
