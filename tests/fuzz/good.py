"""Good files of every format that is read, small and each time others.

What anonymising must take out of accounting holds the word `SECRET`: names, hosts, paths, notes.
"""

import io
import json
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random

import pandas as pd

import workloadkit as wk
from workloadkit.io.machine import machine_text
from workloadkit.io.slurm.columns import EXPORT
from workloadkit.io.swf.writing import header_text

SECRET = "zzq"

_USERS = [f"ann{SECRET}", f"bob.{SECRET}", f"{SECRET}-ü"]
_GROUPS = [f"staff{SECRET}", f"g_{SECRET}"]
_HOSTS = [f"node{SECRET}{i}" for i in range(4)]
_NAMES = [f"run{SECRET}.sh", f"a b {SECRET}", f"{SECRET}:1", f"x=y {SECRET}", SECRET]
_BEGIN = 1614865446  # in March 2021, some weeks before clocks change
_N_JOBS = 24


#: The columns of the export that the toolkit documents.
UNNAMED = EXPORT.rpartition(" ")[2].replace(",", "|")

_SACCT = (
    *(
        "JobIDRaw",
        "JobID",
        "Cluster",
        "Partition",
        "QOS",
        "Account",
        "GID",
        "UID",
        "User",
        "Submit",
    ),
    *("Eligible", "Start", "End", "ElapsedRaw", "Suspended", "State", "ExitCode", "NNodes"),
    *("AllocCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "Constraints"),
    *("TimelimitRaw", "Reason", "Flags", "MaxRSS"),
    *("TotalCPU", "NTasks", "JobName"),
)


@cache
def _sample() -> tuple[list[str], list[str]]:
    """Header and first jobs of the built-in log, as lines."""
    sample = wk.load_sample()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.swf"
        wk.write_swf(sample.select(sample.column("job") <= 400), path)
        lines = path.read_text().splitlines()
    n_comments = len(header_text(sample.header).splitlines())
    return lines[:n_comments], lines[n_comments:]


def swf(rng: Random) -> bytes:
    """The head of the sample log, with bursts, decimals, utility functions and a late comment."""
    header, jobs = _sample()
    at = rng.randrange(len(jobs) - _N_JOBS)
    lines = list(jobs[at : at + _N_JOBS])
    for place in rng.sample(range(_N_JOBS), 3):
        job, submit, wait, run, *others = lines[place].split()
        if rng.random() < 0.5:
            times = f"{int(submit) + 0.25} {wait} {float(run) + 0.125}"
            lines[place] = f"{job} {times} {' '.join(others)}"
        further = rng.choice([" bb=2 7", " 7 -1 2.5"])  # no points of a utility function
        points = f" 0 5 {rng.randrange(1, 99999)} 2.5 1e5 0"
        lines[place] += points if rng.random() < 0.7 else further
    place = rng.randrange(_N_JOBS)
    job, submit, wait, run, *others = lines[place].split()[:18]
    for i, status in enumerate("24" if others[6] == "5" else "23"):
        others[6] = status
        first = submit if i == 0 else "-1"
        lines.insert(place + 1 + i, f"{job} {first} {wait} {run} {' '.join(others)}")
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines)), "; a comment among the jobs: café <b>&amp;</b>")
    kept = header if rng.random() < 0.7 else rng.sample(header, rng.randrange(len(header)))
    if rng.random() < 0.3:
        kept = [*kept, f"; Window: {rng.randrange(10**6)} {rng.randrange(10**8)} (some days)"]
    return "\n".join([*kept, *lines, ""]).encode()


def outages(rng: Random) -> bytes:
    lines = ["; OutageFormat: 1", "; Log: sample.swf.gz", "; OutageType: 7 burst pipe"]
    start = 0
    for number in range(1, rng.randrange(2, 9)):
        start += rng.randrange(50_000)
        end = rng.choice([start + rng.randrange(9000), start, -1])
        parts = rng.sample(range(1, 97), rng.randrange(1, 9))
        parts, n_parts = (parts, len(parts)) if rng.random() < 0.6 else ([-1], len(parts))
        announced = rng.choice([-1, max(0, start - 7200)])
        lines.append(f"{number} {announced} {start} {end} {rng.randrange(-1, 8)} {n_parts} ")
        lines[-1] += " ".join(map(str, parts))
    if rng.random() < 0.3:  # a percentage of the machine, of an outage of its own
        lines[3:3] = ["; OutagePercentage: 99 12.5", "99 -1 70000 80000 4 -1 -1"]
    return "\n".join([*lines, ""]).encode()


def reservations(rng: Random) -> bytes:
    lines = ["; ReservationFormat: 1", "; Log: sample.swf.gz"]
    asked = 0
    for number in range(1, rng.randrange(2, 9)):
        asked += rng.randrange(50_000)
        earliest = asked + rng.randrange(9000)
        latest = rng.choice([earliest, earliest + rng.randrange(9000), -1])
        fixed = (number, asked, earliest, latest, rng.randrange(1, 9000), rng.randrange(1, 97))
        others = (rng.randrange(-1, 9), rng.randrange(-1, 4), rng.choice([-1, 0, 1, 5]))
        jobs = rng.sample(range(1, 97), rng.randrange(4)) or [-1]
        lines.append(" ".join(map(str, (*fixed, *others, *jobs))))
    return "\n".join([*lines, ""]).encode()


def machine(rng: Random) -> bytes:
    """The machine of `conf`, as JSON."""
    found = wk.read_slurm_conf(io.BytesIO(conf(rng))).machine
    return machine_text(found, log="a.swf", digest=64 * "0").encode()


def conf(rng: Random) -> bytes:
    """A configuration of Slurm."""
    lines = [
        "ClusterName=hpc SlurmctldHost=head(10.0.0.1)",
        f"Licenses=matlab:{rng.randrange(99)},ansys  # a comment",
        f"NodeName=DEFAULT Sockets=2 CoresPerSocket={rng.randrange(1, 65)} RealMemory=64000",
        f"NodeName=n[001-{rng.randrange(10, 100):03},{rng.randrange(100, 999)}] Feature=avx,ib",
        f"NodeName=g[1-{rng.randrange(4, 9)}] Gres=gpu:a100:{rng.randrange(1, 9)}(S:0-1) \\",
        "  MemSpecLimit=1000 CoreSpecCount=1",
        "NodeSet=fast Nodes=g[1-2] Feature=ib",
        "PartitionName=DEFAULT MaxTime=1-0 State=UP",
        "PartitionName=batch Nodes=n[001-009] Default=YES",
        f"PartitionName=all Nodes=ALL MaxTime={rng.randrange(9)}:30:00 PriorityTier=3",
        "PartitionName=fast Nodes=fast MaxNodes=2 OverSubscribe=EXCLUSIVE",
        "SwitchName=leaf Nodes=n[001-009]",
        "SwitchName=root Switches=leaf",
    ]
    return "\n".join([*lines, ""]).encode()


@cache
def _site() -> bytes:
    log = {
        "submit": [0, 60, 90, 4000, 9000, 90_000, 100_000],
        "run": [60, 30, 10, 100, 5, 700, 40],
        "procs": [1, 2, 1, 4, 1, 8, 2],
        "user": [1, 1, 2, 2, 1, 1, 2],
        "wait": [0, 5, 0, 9, 0, 0, 1],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.json"
        wk.site.site_distributions(wk.Trace.from_columns(log, name="small.swf")).save(path)
        return path.read_bytes()


def site(rng: Random) -> bytes:
    """Distributions of a site; sometimes with a line a member, so that lines can be broken."""
    text = _site()
    return json.dumps(json.loads(text), indent=0).encode() if rng.random() < 0.5 else text


def filters(rng: Random) -> bytes:
    """Filters as the archive's headers write them, one a line."""
    known = [
        "user=374 and job>14968 and job<28553 (11740 jobs removed)",
        "user=3 and proc=1 and app=1 (24025 jobs removed)",
        "job<=10",
        "user=2",
        "(user=1 or user=2) and not run<60",
        "submit>=86400 and submit<=172800 (0 jobs removed)",
        "queue=1 and group!=2",
    ]
    return "\n".join(["# what to leave out", *rng.sample(known, 4), ""]).encode()


def slurm(rng: Random) -> bytes:
    """An export of sacct; some do not tell when jobs were submitted, or eligible."""
    lacks = rng.choice([(), (), ("Submit",), ("Submit", "Eligible")])
    return _export([title for title in _SACCT if title not in lacks], _sacct(rng), named=True)


def unnamed(rng: Random) -> bytes:
    """An export without the names of its columns, which are those of the documented command."""
    rows = [row | {"GID": "100"} for row in _sacct(rng)]  # by its number they are recognised
    return _export(UNNAMED.split("|"), rows, named=False)


def _export(titles: list[str], rows: list[dict[str, str]], *, named: bool) -> bytes:
    lines = ["|".join(row[title] for title in titles) for row in rows]
    return "\n".join([*(["|".join(titles)] if named else []), *lines, ""]).encode()


def _sacct(rng: Random) -> list[dict[str, str]]:
    """Rows of sacct: steps, arrays, requeued, cancelled and running jobs, free text last."""
    rows = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start = submit + rng.randrange(3600)
        run = rng.randrange(90_000)
        procs = 2 ** rng.randrange(6)
        state = rng.choice(["COMPLETED"] * 5 + ["CANCELLED by 17", "FAILED", "TIMEOUT", "PENDING"])
        row = dict.fromkeys(_SACCT, "") | {
            "JobIDRaw": f"{job}",
            "JobID": rng.choice([f"{job}", f"{job}", f"99_{job}", f"{job}_[1-3,9%2]", f"98+{job}"]),
            "Cluster": f"c{SECRET}",
            "Partition": rng.choice([f"p{SECRET}", f"gpu{SECRET}"]),
            "QOS": f"normal{SECRET}",
            "Account": f"acct{SECRET}",
            "GID": rng.choice(_GROUPS),
            "UID": "1000",
            "User": rng.choice(_USERS),
            "Submit": _date(submit),
            "Eligible": _date(submit + 5),
            "Start": _date(start),
            "End": _date(start + run),
            "ElapsedRaw": f"{run}",
            "Suspended": "00:00:00",
            "State": state,
            "ExitCode": "0:0",
            "NNodes": "1",
            "AllocCPUS": f"{procs}",
            "ReqCPUS": f"{procs}",
            "ReqMem": rng.choice(["4000Mc", "8Gn", "16G", "0"]),
            "ReqTRES": f"billing={procs},cpu={procs},mem=16G,node=1",
            "AllocTRES": f"billing={procs},cpu={procs},gres/gpu=2,mem=16G,node=1",
            "NodeList": rng.choice([f"n{SECRET}[001-002]", "None assigned"]),
            "Constraints": rng.choice(["", f"fast{SECRET}"]),
            "TimelimitRaw": rng.choice(["1440", "UNLIMITED", "Partition_Limit", ""]),
            "Reason": "None",
            "JobName": rng.choice(_NAMES),
        }
        if state == "PENDING" or (state.startswith("CANCELLED") and rng.random() < 0.5):
            row |= {"Start": "Unknown", "AllocCPUS": "0", "ElapsedRaw": "0"}
        rows.append(row)
        if rng.random() < 0.2:  # the job again, requeued later
            row = row | {"Submit": _date(start + run), "Start": _date(start + run + 60)}
            rows.append(row | {"End": _date(start + 2 * run + 60)})
        if rng.random() < 0.3:
            step = {"JobIDRaw": f"{job}.batch", "JobID": f"{job}.batch", "MaxRSS": "42.5M"}
            step |= {"TotalCPU": "1-02:03:04", "NTasks": "1", "JobName": "batch", "User": ""}
            rows.append(row | step)
    return rows


def pbs(rng: Random) -> bytes:
    """Records of PBS Pro and Torque: queued, started, ended, rerun and deleted jobs."""
    records = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start, run = submit + rng.randrange(3600), rng.randrange(90_000)
        host = rng.choice(_HOSTS)
        name = rng.choice([f"{job}", f"{job}[7]"]) + f".{host}"
        who = f"user={rng.choice(_USERS)} group={rng.choice(_GROUPS)} jobname={rng.choice(_NAMES)}"
        times = f"ctime={submit} qtime={submit} etime={submit + 5} start={start}"
        where, asked = rng.choice(
            [
                (f"{host}/0*13+{host}b/0*13", "Resource_List.select=2:ncpus=13"),
                (f"{host}/3+{host}/2", "Resource_List.nodes=1:ppn=2 Resource_List.nodect=1"),
                (f"{host}/0-27", "Resource_List.ncpus=28 Resource_List.mem=12gb"),
            ]
        )
        head = f"{who} queue=q{SECRET} project=_{SECRET} {times} exec_host={where} {asked}"
        used = (
            f"resources_used.cput={run} resources_used.mem=15240kb "
            f"resources_used.walltime={run // 3600}:{run // 60 % 60:02}:{run % 60:02}"
        )
        end = f"{head} Resource_List.walltime=24:00:00 session=1 end={start + run}"
        end += f" Exit_status={rng.choice([0, 0, 1, 271, -11, 265])} {used}"
        records.append((submit, "Q", name, f"queue=q{SECRET}"))
        records.append((start, "S", name, head))
        fate = rng.random()
        if fate < 0.1:
            records.append((start + 9, "D", name, f"requestor=root@{host}"))
        elif fate < 0.95:
            records.append((start + run, "E", name, end))
        if fate > 0.85:
            records.append((start + run, "R", name, end))
    lines = [
        f"{datetime.fromtimestamp(at, UTC):%m/%d/%Y %H:%M:%S};{kind};{name};{text}"
        for at, kind, name, text in sorted(records, key=lambda record: record[0])
    ]
    return "\n".join([*lines, ""]).encode()


def lsf(rng: Random) -> bytes:
    """JOB_FINISH records of LSF 9, a script with doubled quotes among them."""
    lines = []
    submit = _BEGIN
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start = submit + rng.randrange(3600) if rng.random() < 0.9 else 0
        end = (start or submit) + rng.randrange(90_000)
        user, host = rng.choice(_USERS), rng.choice(_HOSTS)
        hosts = rng.choice([[f"16*{host}", f"16*{host}b"], [host, host], [host]]) if start else []
        fields = [
            *("JOB_FINISH", "9.11", end, job, 22025, 33882739, 2, submit, 0, 0, start, user),
            *(f"q{SECRET}", "span[ptile=16]", "", "", host, f"/home/{SECRET}", "", "%J.out"),
            *("%J.err", f"{submit}.{job}", 0, len(hosts), *hosts, rng.choice([64, 32]), 60.0),
            *(rng.choice(_NAMES), f'#!/bin/sh;#BSUB -R "span[{SECRET}]";pwd', 5793.25, 679.06),
            *(966960, 0, -1, 0, 0, 3026323, 0, 0, 0, 0, -1, 0, 0, 0, 12529329, 6498459, -1),
            *(
                "",
                f"proj{SECRET}",
                0,
                2,
                "",
                "",
                rng.choice([0, 0, 7]),
                10725376,
                0,
                "",
                "",
                "",
                "",
            ),
            *(0, "", rng.choice([0, 1, 5, 16]), "", -1, f"/{SECRET}", "", "", "", -1, "", "", 6160),
            *("", end, "", "", 0, 0, 43200, 0, 8688640, "select[local]", "", -1, "", -1, 0, "", 0),
            *(0, "", end - (start or end), f"/scratch/{SECRET}", 1, "18338657682652659712", 1, ""),
        ]
        texts = (
            '"' + field.replace('"', '""') + '"' if isinstance(field, str) else str(field)
            for field in fields
        )
        lines.append(" ".join(texts))
    return "\n".join([*lines, ""]).encode()


def sge(rng: Random) -> bytes:
    """Records of Grid Engine in seconds or milliseconds, tasks of arrays and parallel jobs."""
    lines = ["# Version: 8.2", "#"]
    submit = _BEGIN
    unit = rng.choice([1, 1000])
    for job in range(100, 100 + _N_JOBS):
        submit += rng.randrange(20_000)
        start = submit + rng.randrange(3600) if rng.random() < 0.9 else 0
        end = start + rng.randrange(90_000) if start else 0
        times = [submit * unit, start * unit, end * unit]
        for task in range(rng.choice([0, 0, 2]) + 1):
            fields = [
                *(f"q{SECRET}", rng.choice(_HOSTS), rng.choice(_GROUPS), rng.choice(_USERS)),
                *(rng.choice(_NAMES), job, "sge", 0, *times, rng.choice([0, 0, 0, 100, 25, 37])),
                *(
                    rng.choice([0, 137]),
                    end - start,
                    60.05,
                    0.08,
                    104188.0,
                    0,
                    0,
                    0,
                    0,
                    28001,
                    0,
                    0,
                ),
                *(
                    0.0,
                    24,
                    0,
                    0,
                    0,
                    41,
                    549,
                    "NONE",
                    f"dept{SECRET}",
                    "mype",
                    4,
                    task,
                    60.13,
                    7.335,
                ),
                *(0.000044, "-l h_rt=36000,mem_free=1.5G -pe mype 4", 0.0, "NONE", 189153280.0, 0),
                *(0,),
            ]
            lines.append(":".join(map(str, fields)))
    return "\n".join([*lines, ""]).encode()


def gwf(rng: Random) -> bytes:
    """Lines of the Grid Workloads Format: 29 columns, users by number or by name."""
    lines = ["# Version: 1.0", "# Computer: a grid", "# JobID SubmitTime WaitTime RunTime NProcs"]
    submit = 0
    for job in range(1, _N_JOBS + 1):
        submit += rng.randrange(20_000)
        fields = [
            *(job, submit, rng.randrange(900), rng.randrange(90_000), 2 ** rng.randrange(6)),
            *(rng.choice([-1, 42.5]), 1024, 4, 86400, -1, rng.choice([0, 1, 5]), rng.choice("UV")),
            *(
                "G1",
                f"X{rng.randrange(5)}",
                "Q0",
                -1,
                "S1",
                "S2",
                "UNITARY",
                -1,
                -1,
                -1,
                -1,
                -1,
                -1,
            ),
            *(-1, -1, "VO1", "P1"),
        ]
        lines.append(" ".join(map(str, fields)))
    return "\n".join([*lines, ""]).encode()


def batsim(rng: Random) -> bytes:
    """A list of jobs for Batsim, with profiles of several types."""
    delay, sequence = rng.choice(
        [("delay", "composed"), ("DelayProfile", "SequentialCompositionProfile")]
    )
    profiles = {
        "c": {"type": sequence, "repeat": 2, "seq": ["d60", "d9"]},
        "d60": {"type": delay, "delay": 60},
        "d9": {"type": delay, "delay": 9},
        "platform": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    }
    jobs, submit = [], 0.0
    for job in range(1, _N_JOBS + 1):
        submit += rng.randrange(20_000)
        run = rng.randrange(1, 90_000)
        profiles[f"d{run}"] = {"type": delay, "delay": run}
        profile = rng.choice([f"d{run}"] * 9 + ["c"])
        jobs.append({"id": str(job), "subtime": submit, "res": 2, "profile": profile})
        if rng.random() < 0.8:
            jobs[-1]["walltime"] = run + 60
    whole = {"nb_res": 96, "jobs": jobs, "profiles": profiles}
    return json.dumps(whole, indent=rng.choice([None, 0, 2])).encode()


@cache
def _log_and_sidecar() -> tuple[bytes, bytes]:
    columns = {"submit": range(_N_JOBS), "run": [60.5] * _N_JOBS, "procs": [1] * _N_JOBS}
    log = wk.Trace.from_columns({name: list(values) for name, values in columns.items()})
    beside = pd.DataFrame(
        {
            "place": range(1, _N_JOBS + 1),
            "id": [f"{i}.{SECRET}" for i in range(_N_JOBS)],
            "submit": [float(_BEGIN + i) for i in range(_N_JOBS)],
            "state": pd.Categorical(["COMPLETED"] * _N_JOBS),
            "user": pd.Categorical([_USERS[i % 3] for i in range(_N_JOBS)]),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        wk.write_swf(wk.Trace(log.jobs, log.header, sidecar=beside), path)
        return path.read_bytes(), path.with_suffix(".swf.parquet").read_bytes()


def sidecar(rng: Random) -> bytes:
    """A Parquet file beside a log."""
    return _log_and_sidecar()[1]


def wkt(rng: Random) -> bytes:
    """The head of the sample log as a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.wkt.parquet"
        wk.write_wkt(wk.read_swf(io.BytesIO(swf(rng))), path)
        return path.read_bytes()


def log_beside() -> bytes:
    """The log beside which `sidecar` stands."""
    return _log_and_sidecar()[0]


def _date(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


@cache
def first_jobs() -> wk.Trace:
    """The first jobs of the sample log, for what a file of another kind is used on."""
    sample = wk.load_sample()
    return sample.select(sample.column("job") <= 40)
