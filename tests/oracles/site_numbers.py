"""A site's numbers from raw accounting dumps, by a few lines of pandas for each format."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

DAY = 86400
FAILED = ("FAILED", "TIMEOUT", "OUT_OF_ME", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")


def slurm(path):
    """`sacct -P`: the attempts of jobs that have ended; a job's last one has its outcome."""
    jobs = pd.read_csv(path, sep="|", dtype=str, keep_default_na=False)
    jobs = jobs[jobs["End"] != "Unknown"]
    jobs = jobs.drop_duplicates(["Cluster", "JobID", "Submit", "Start"], keep="last")
    times = {
        name.lower(): pd.to_datetime(jobs[name], errors="coerce").to_numpy().astype("M8[s]")
        for name in ("Submit", "Start", "End")
    }
    d = pd.DataFrame(times).apply(lambda c: (c - pd.Timestamp(0)).dt.total_seconds())
    elapsed = jobs["Elapsed"].str.replace("-", " days ", regex=False)
    d["last"] = ~jobs.duplicated(["Cluster", "JobID", "Submit"], keep="last").to_numpy()
    d["run"] = pd.to_timedelta(elapsed).dt.total_seconds().to_numpy()
    d["procs"] = pd.to_numeric(jobs["NCPUS"]).to_numpy()
    gpus = jobs["AllocTRES"].str.extract(r"gres/gpu=(\d+)")[0]
    d["gpus"] = gpus.astype(float).fillna(0).to_numpy()
    joules = jobs["AllocTRES"].str.extract(r"energy=(\d+)")[0]
    d["joules"] = joules.astype(float).to_numpy()
    d["failed"] = jobs["State"].str.startswith(FAILED).to_numpy()
    if "TotalCPU" in jobs:
        d["cpu"] = pd.to_timedelta(jobs["TotalCPU"]).dt.total_seconds().to_numpy()
        d["reason"] = jobs["Reason"].to_numpy()
        eligible = pd.to_datetime(jobs["Eligible"]).to_numpy().astype("M8[s]")
        d["held"] = (eligible.astype(float)) - d["submit"]
        limit = jobs["Timelimit"].str.replace("-", " days ", regex=False)
        d["limit"] = pd.to_timedelta(limit).dt.total_seconds().to_numpy()
    for ours, theirs in (("user", "User"), ("account", "Account"), ("partition", "Partition")):
        d[ours] = jobs[theirs].to_numpy()
    return d


def pbs(path):
    """The E records; slots of vnodes, else of hosts, else nodes × ppn."""
    jobs = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        _, kind, _, text = line.rstrip("\n").split(";", 3)
        if kind != "E":
            continue
        f = dict(re.findall(r"(\S+?)=(\S+)", text))
        asked = f.get("Resource_List.nodes", "") + ":" + f.get("Resource_List.nodect", "")
        if "exec_vnode" in f:
            procs = sum(map(int, re.findall(r"ncpus=(\d+)", f["exec_vnode"])))
        elif "exec_host" in f:
            procs = 0
            for slot in f["exec_host"].split("+"):
                first, _, last = slot.partition("/")[2].partition("-")
                procs += int(last) - int(first) + 1 if last else 1
        else:
            procs = int(re.search(r"ppn=(\d+)", asked)[1])
        hms = [int(n) for n in f.get("resources_used.walltime", "0:0:0").split(":")]
        start, end = int(f["start"]), int(f["end"])
        walltime = hms[0] * 3600 + hms[1] * 60 + hms[2]
        gpus = re.findall(r"ngpus=(\d+)", f.get("exec_vnode", ""))
        gpus = gpus or [f[k] for k in ("Resource_List.gpu",) if k in f]
        gpus = gpus or re.findall(r"\bgpus?=(\d+)", asked)
        jobs.append(
            {
                "submit": int(f["ctime"]),
                "start": start,
                "end": end,
                "run": walltime or end - start,
                "procs": procs,
                "gpus": sum(map(int, gpus)) if gpus else float("nan"),
                "failed": 0 < int(f["Exit_status"]) < 256,  # above: a signal, as of qdel
                "user": f["user"],
                "account": f.get("account", f.get("project", "")).replace(
                    "_pbs_project_default", ""
                ),
                "partition": f["queue"],
            }
        )
    return pd.DataFrame(jobs)


def lsf(path):
    """JOB_FINISH records of one kind; the fields after the hosts are counted from there."""
    jobs = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        quoted = [a or b for a, b in re.findall(r'"((?:[^"]|"")*)"|(\S+)', line)]
        if not quoted:
            continue
        asked = int(quoted[22])
        hosts_at = 23 + asked
        hosts = quoted[hosts_at + 1 : hosts_at + 1 + int(quoted[hosts_at])]
        rest = quoted[hosts_at + 1 + len(hosts) :]
        slots = sum(int(h.split("*")[0]) if "*" in h else 1 for h in hosts)
        submit, start, end = int(quoted[7]), int(quoted[10]), int(quoted[2])
        jobs.append(
            {
                "key": (quoted[3], submit),
                "submit": submit,
                "start": start,
                "end": end,
                "run": end - start,
                "procs": slots,
                "gpus": float("nan"),
                "failed": int(rest[0]) & 64 == 0,
                "user": quoted[11],
                "account": rest[rest.index("anonproject")],
                "partition": quoted[12],
            }
        )
    return pd.DataFrame(jobs).drop_duplicates("key", keep="first")


def sge(path):
    """Colon-separated records; times after 2001 in milliseconds are longer than ten digits."""
    rows = pd.read_csv(path, sep=":", header=None, dtype=str, names=range(99), index_col=False)
    rows = rows.drop_duplicates([5], keep="last")
    times = rows[[8, 9, 10]].astype(float)
    times = (times.where(times < 1e11, times / 1000)) // 1
    granted = rows.loc[:, 43:].fillna("").agg(":".join, axis=1)
    return pd.DataFrame(
        {
            "submit": times[8],
            "start": times[9],
            "end": times[10],
            "run": times[10] - times[9],
            "procs": rows[34].astype(float),
            "gpus": granted.str.extract(r":gpu=(\d+)")[0].astype(float),
            "failed": rows[11] != "0",
            "user": rows[3],
            "account": rows[31]
            .where(rows[31] != "NONE", rows[32])
            .replace("defaultdepartment", ""),
            "partition": rows[0],
        }
    )


def full_days(begin, until):
    """Midnights of UTC between two seconds."""
    return list(range(int(-(-begin // DAY) * DAY), int(until // DAY * DAY) + 1, DAY))


def measure(jobs, begin, until, machine):
    """Measure what a site asks of its jobs: what all attempts used, and how the last ones went."""
    tried = jobs.assign(
        core_hours=jobs["run"] * jobs["procs"] / 3600,
        gpu_hours=jobs["run"] * jobs["gpus"] / 3600,
        wait=jobs["start"] - jobs["submit"],
    )
    jobs = tried[tried["last"]] if "last" in tried else tried
    submit = jobs["submit"].to_numpy(dtype=float)
    start, run, procs = (tried[name].to_numpy(dtype=float) for name in ("start", "run", "procs"))
    end = start + run
    per_day, used = [], []
    for day in full_days(begin, until)[:-1]:
        per_day.append(int(((day <= submit) & (submit < day + DAY)).sum()))
        inside = np.minimum(end, day + DAY) - np.maximum(start, day)
        used.append(np.nansum(np.maximum(inside, 0) * procs) / machine / DAY)
    waits = jobs.dropna(subset="wait").groupby("partition")["wait"]
    return {
        "jobs_a_day": per_day,
        "utilization": used,
        "core_hours": {by: tried.groupby(by)["core_hours"].sum().to_dict() for by in NAMES},
        "gpu_hours": tried["gpu_hours"].sum(min_count=1),
        "energy_kwh": tried["joules"].sum(min_count=1) / 3.6e6 if "joules" in tried else np.nan,
        "failed": {by: jobs.groupby(by)["failed"].sum().to_dict() for by in NAMES},
        "lost": {by: tried[tried.failed].groupby(by)["core_hours"].sum().to_dict() for by in NAMES},
        "waits": waits.agg(["count", "mean", "max"]).to_dict("index"),
        "median": waits.median().to_dict(),
        "p90": waits.agg(lambda w: np.quantile(w, 0.9, method="inverted_cdf")).to_dict(),
    }


NAMES = ("account", "user")


def of_slurm(jobs):
    """Measure the causes of waits, and the efficiency of each account, over all attempts."""
    started = jobs.dropna(subset="start")
    last = started[started["last"]]
    after = last["start"] - last["submit"] - last["held"]
    cause = last["reason"].replace(
        {"None": "no reason recorded", "Priority": "priority", "AssocGrpCpuLimit": "limit"}
    )
    hours, cpu = started["run"] * started["procs"] / 3600, started["cpu"] / 3600
    account, measured = started["account"], (cpu > 0) & (hours > 0)
    idle = (hours - cpu).clip(lower=0)
    wasted = hours.where(started["failed"], idle.where(measured, 0))
    spent, limit = hours[last.index], last["limit"] * last["procs"] / 3600
    return {
        "causes": {
            **(after.groupby(cause).sum() / 3600).to_dict(),
            "before eligible": last["held"].sum() / 3600,
        },
        "cpu_efficiency": (
            cpu[measured].groupby(account).sum() / hours[measured].groupby(account).sum()
        ).to_dict(),
        "idle_hours": idle[measured].groupby(account).sum().to_dict(),
        "wasted_hours": wasted.groupby(account).sum().to_dict(),
        "limit_use": (
            spent.groupby(last["account"]).sum() / limit.groupby(last["account"]).sum()
        ).to_dict(),
    }
