"""Plants in what numbers mean: hardware threads, zones, CPU time, records for many tasks."""

import contextlib
import io
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import workloadkit as wk
from tests.commands import run_command
from tests.planted import grid_engine, lsf, sites, slurm
from tests.planted.judge import Planted
from tests.planted.plants import plant, share
from tests.planted.truth import Job, Truth, truth


def _converted(data: bytes, conf: str) -> wk.Trace:
    """Convert with the configuration of Slurm, as a user does, and read the log."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slurm.txt").write_bytes(data)
        (folder / "slurm.conf").write_text(conf)
        out, errors = folder / "log.swf", io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = run_command(
                *("convert", folder / "slurm.txt", "--slurm-conf", folder / "slurm.conf", "-o", out)
            )
        if code:
            raise wk.WorkloadError(errors.getvalue())
        return wk.read_swf(out)


@plant("threads")
def slurm_threads_of_configuration(rng: Random) -> Planted:
    """CPUs are threads where the nodes have more CPUs than cores; then two or four are a core."""
    threads = rng.choice([1, 2, 2, 4])
    as_cores = threads > 1 and rng.random() < 0.3  # CPUs=cores: Slurm allocates cores then
    per_core = 1 if as_cores else threads
    words = {"Sockets": 2, "CoresPerSocket": 16, "ThreadsPerCore": threads, "RealMemory": 256000}
    if as_cores or rng.random() < 0.5:
        words["CPUs"] = 32 * per_core
    settings = " ".join(f"{name}={value}" for name, value in words.items())
    if rng.random() < 0.3:
        settings = settings.lower()
    nodes = [f"NodeName=n[10-99] {settings}"]
    if rng.random() < 0.4:
        nodes = [f"NodeName=DEFAULT {settings}", "NodeName=n[10-59]", "NodeName=n[60-99]"]
    lines = ["ClusterName=alpha", *nodes, "PartitionName=std Nodes=ALL Default=YES", ""]
    jobs = [
        replace(job, attempts=(replace(job.last, procs=job.last.procs * per_core),))
        for job in sites.jobs(rng, most=50)
    ]
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    hours = sum(job.core_hours for job in jobs) / per_core
    return Planted(
        slurm.export(jobs, style),
        "slurm",
        Truth(core_hours=hours),
        says="processor-hours",
        report=True,
        read=lambda data: _converted(data, "\n".join(lines)),
    )


@plant("threads")
def slurm_threads_on_some_nodes(rng: Random) -> Planted:
    """Nodes of one partition have two threads a core, the others have one."""
    conf = """ClusterName=alpha
NodeName=n[10-34] Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000
NodeName=n[35-60] Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=256000
PartitionName=std Nodes=n[10-34] Default=YES
PartitionName=wide Nodes=n[35-60]
"""
    jobs, hours = [], 0.0
    for job in sites.jobs(rng, most=50):
        threads = rng.choice([1, 2])
        places = (10, 35) if threads == 2 else (35, 61)
        nodes = tuple(f"n{rng.randrange(*places)}" for _ in job.nodes)
        attempt = replace(job.last, procs=job.last.procs * threads)
        partition = "std" if threads == 2 else "wide"
        jobs.append(replace(job, nodes=nodes, partition=partition, attempts=(attempt,)))
        hours += job.core_hours
    style = slurm.dialect(rng, "NodeList", "Partition", delimiter="|")
    return Planted(
        slurm.export(jobs, style),
        "slurm",
        Truth(core_hours=hours),
        says="processor-hours",
        report=True,
        read=lambda data: _converted(data, conf),
    )


def _local_hours(jobs: list[Job], zone: tzinfo) -> Counter[int]:
    return Counter(datetime.fromtimestamp(job.attempts[0].submit, zone).hour for job in jobs)


@plant("clock")
def slurm_times_with_offset(rng: Random) -> Planted:
    """Times with the offset of their zone: the clock of the log is theirs, or it says UTC."""
    zones = [*(timezone(timedelta(hours=hours)) for hours in (8, -5, 5.5, -3.5)), UTC]
    zone = rng.choice([*zones, ZoneInfo("Europe/Berlin")])
    patterns = ["T+08:00", "T+08:00", "T+0800", " +08:00"]
    pattern = "TZ" if zone is UTC else rng.choice(patterns)
    style = replace(slurm.dialect(rng), time=slurm.with_offset(zone, pattern))
    jobs = sites.jobs(rng)
    true = replace(truth(jobs, "status"), hours=_local_hours(jobs, zone))
    return Planted(slurm.export(jobs, style), "slurm", true, says=r"UTC|offset|zone")


@plant("clock")
def seconds_since_1970_in_a_zone(rng: Random) -> Planted:
    """Formats with seconds since 1970 have the clock of the zone that is given."""
    name = rng.choice(["Asia/Kolkata", "America/Chicago", "Asia/Tokyo"])
    jobs = sites.jobs(rng)
    true = replace(truth(jobs), hours=_local_hours(jobs, ZoneInfo(name)))
    data, format_ = rng.choice(
        [
            (lsf.export(jobs), "lsf"),
            (grid_engine.export(jobs), "sge"),
            (slurm.export(jobs, replace(slurm.dialect(rng), time=slurm.epoch)), "slurm"),
        ]
    )
    return Planted(data, format_, true, options={"tz": name})


@plant("clock")
def swf_with_begin_in_words(rng: Random) -> Planted:
    """The header of 1999 has `StartTime` only: the local wall time at which the log begins."""
    jobs = sites.jobs(rng)
    begin = datetime.fromtimestamp(jobs[0].last.submit, UTC)
    pattern = rng.choice(
        ["%a %b %d %H:%M:%S EST %Y", "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S CEST %Y"]
    )
    lines = ["; Version: 1", f"; StartTime: {begin.strftime(pattern)}", "; MaxProcs: 512"]
    for number, job in enumerate(jobs, 1):
        part = job.last
        submit = part.submit - jobs[0].last.submit
        wait = (part.start or 0) - part.submit
        values = [number, submit, wait, part.run, part.procs, -1, -1, part.procs, job.limit, -1]
        lines.append(" ".join(map(str, [*values, 1, 1, 1, 1, 1, 1, -1, -1])))
    data = "\n".join([*lines, ""]).encode()
    true = Truth(hours=_local_hours(jobs, UTC))
    return Planted(data, "swf", true, says=r"zone|clock")


def _with_steps(rng: Random, jobs: list[Job], style: slurm.Dialect, total: str) -> list[slurm.Row]:
    """Return rows of jobs and steps with TRESUsageInTot; TotalCPU is `total`, if not "kept"."""
    table = []
    for job in jobs:
        whole = slurm.row(job, job.last, style)
        split = rng.randint(0, job.cpu)
        steps = [("batch", split), ("extern", 0), ("0", job.cpu - split)]
        rows = [slurm.step(job, name, cpu, whole) for name, cpu in steps]
        for row, (_, cpu) in zip(rows, steps, strict=True):
            row["TRESUsageInTot"] = f"cpu={slurm.duration(cpu)},energy=0,fs/disk=12,mem=3G"
        for row in [whole, *rows]:
            row["TotalCPU"] = row["TotalCPU"] if total == "kept" else total
        table += [whole, *rows]
    return table


@plant("cpu")
def slurm_cpu_time_in_usage(rng: Random) -> Planted:
    """Slurm 25.05: TotalCPU is 0, and the steps have it in TRESUsageInTot; or both have it."""
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, "TRESUsageInTot", *rng.choice([("TotalCPU",), ()]), delimiter="|")
    table = _with_steps(rng, jobs, style, rng.choice(["00:00:00", "00:00.000", "", "kept"]))
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs, "cpu", "status"))


@plant("cpu")
def lsf_several_elements_in_one_record(rng: Random) -> Planted:
    """Elements of an array that were killed while they waited: one record, which is noted."""
    jobs = sites.jobs(rng)
    records = [entry for job in jobs for entry in lsf.records(job)]
    for number, job in enumerate(share(rng, jobs, 3)):
        killed = replace(sites.never_started(rng, job), number=6000 + number)
        name = f"sweep[{rng.randint(1, 200)}-{rng.randint(201, 900)}]"
        records.append((killed.last.end, lsf.finish(killed, killed.last, name=name)))
        jobs.append(killed)
    data = lsf.text(records)
    return Planted(data, "lsf", truth(jobs), says=r"array|task|element", must_say=True)


@plant("cpu")
def slurm_several_tasks_in_one_row(rng: Random) -> Planted:
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    table = slurm.rows(jobs, style)
    for number, job in enumerate(share(rng, jobs, 3)):
        killed = replace(sites.never_started(rng, job), number=6000 + number)
        row = slurm.row(killed, killed.last, style)
        table.append(row | {"JobID": f"{killed.number}_[{rng.randint(1, 9)}-20%4]"})
        jobs.append(killed)
    data = slurm.text(table, style).encode()
    return Planted(data, "slurm", truth(jobs), says=r"array|task|element", must_say=True)
