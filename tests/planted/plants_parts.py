"""Plants in what one job is: several under one id, and parts of one execution."""

from dataclasses import replace
from random import Random

from tests.planted import grid_engine, lsf, pbs, sites, slurm
from tests.planted.judge import Planted
from tests.planted.plants import plant, share
from tests.planted.plants_jobs import LOST, changed, requeued
from tests.planted.truth import Job, truth


def _of_shared_id(rng: Random) -> list[Job]:
    """Draw jobs, among them the tasks of arrays under one id, which run at the same time."""
    jobs = sites.jobs(rng)
    for array in range(rng.randint(1, 3)):
        first = sites.job(rng, 7000 + array, rng.choice(jobs).last.submit)
        submit, procs = first.last.submit, first.last.procs
        begin = (first.last.start or 0) + 5
        for _ in range(rng.randint(4, 30)):
            start = begin + rng.choice([0, 0, 1, 60, 120])
            end = start + rng.choice([7200, 7260, 7200 + rng.randrange(2000)])
            attempt = replace(first.last, submit=submit, start=start, end=end, state="COMPLETED")
            jobs.append(replace(first, attempts=(replace(attempt, procs=procs),)))
    return list(dict.fromkeys(jobs))  # equal tasks would be one row twice


@plant("shared id")
def slurm_tasks_under_one_id(rng: Random) -> Planted:
    jobs = _of_shared_id(rng)
    data = slurm.export(jobs, slurm.dialect(rng), shuffled=rng)
    return Planted(data, "slurm", truth(jobs, "status"))


@plant("shared id")
def slurm_tasks_and_attempts(rng: Random) -> Planted:
    """Some ids are shared by tasks, others are those of requeued jobs."""
    jobs = [
        sites.requeued(rng, job, rng.choice(LOST), new_submit=True)
        if job.number % 9 == 0 and job.number < 7000
        else job
        for job in _of_shared_id(rng)
    ]
    return Planted(slurm.export(jobs, slurm.dialect(rng)), "slurm", truth(jobs, "status"))


@plant("shared id")
def slurm_tasks_of_arrays(rng: Random) -> Planted:
    """Tasks of arrays as `sacct` prints them: JobID has the task, JobIDRaw is unique or absent."""
    jobs = _of_shared_id(rng)
    style = slurm.dialect(rng)
    table = slurm.rows(jobs, style)
    for place, row in enumerate(table):
        if row["JobID"] >= "7000":
            row.update(JobID=f"{row['JobID']}_{place}", JobIDRaw=f"{8000 + place}")
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs, "status"))


@plant("shared id")
def pbs_tasks_under_one_id(rng: Random) -> Planted:
    jobs = _of_shared_id(rng)
    pro = rng.random() < 0.5
    records = [pbs.ended("E", job, job.last, pro=pro) for job in jobs]
    return Planted(pbs.text(records), "pbs", truth(jobs))


@plant("shared id")
def lsf_tasks_under_one_id(rng: Random) -> Planted:
    jobs = _of_shared_id(rng)
    return Planted(lsf.export(jobs), "lsf", truth(jobs))


@plant("shared id")
def sge_tasks_under_one_id(rng: Random) -> Planted:
    jobs = _of_shared_id(rng)
    return Planted(grid_engine.export(jobs), "sge", truth(jobs))


@plant("shared id")
def rows_twice(rng: Random) -> Planted:
    """Exports of periods that overlap have the same row twice, which is one job."""
    jobs, style = sites.jobs(rng), slurm.dialect(rng)
    table = slurm.rows(jobs, style)
    table += share(rng, table, 20)
    data = slurm.text(table, style).encode()
    return Planted(data, "slurm", truth(jobs, "status"), says="repeated", must_say=True)


@plant("shared id")
def slurm_recycled_ids(rng: Random) -> Planted:
    """Another job has the id of one that ended long before, as after a reset of the counter."""
    jobs = sites.jobs(rng)
    later = [
        sites.job(rng, job.number, job.last.end + 86400 * rng.randint(30, 300))
        for job in share(rng, jobs)
    ]
    jobs += later
    return Planted(slurm.export(jobs, slurm.dialect(rng)), "slurm", truth(jobs, "status"))


@plant("resized")
def slurm_resized(rng: Random) -> Planted:
    jobs = changed(rng, sites.jobs(rng), lambda job: sites.resized(rng, job))
    data = slurm.export(jobs, slurm.dialect(rng), shuffled=rng)
    return Planted(data, "slurm", truth(jobs, "status"))


@plant("resized")
def slurm_resized_and_requeued(rng: Random) -> Planted:
    """Some jobs change their size, others are requeued; the hours are those of all parts."""
    jobs = changed(rng, requeued(rng, new_submit=True), lambda job: _resized_once(rng, job))
    return Planted(slurm.export(jobs, slurm.dialect(rng)), "slurm", truth(jobs, "lost"))


def _resized_once(rng: Random, job: Job) -> Job:
    return sites.resized(rng, job) if len(job.attempts) == 1 else job


def _resized(rng: Random) -> list[Job]:
    return changed(rng, sites.jobs(rng), lambda job: sites.resized(rng, job))


@plant("resized")
def lsf_resized(rng: Random) -> Planted:
    """A record for each change, with what the job had before it; the end has the last size."""
    jobs = _resized(rng)
    data = lsf.export(jobs)
    if rng.random() < 0.3:  # files in the order of their names: the newest first
        lines = data.splitlines(keepends=True)
        at = rng.randrange(1, len(lines))
        data = b"".join([*lines[at:], *lines[:at]])
    return Planted(data, "lsf", truth(jobs))


@plant("resized")
def pbs_released_nodes(rng: Random) -> Planted:
    """A job in phases: its end record has the nodes with which it started."""
    jobs = _resized(rng)
    return Planted(pbs.export(jobs, pro=True), "pbs", truth(jobs, "status", "cpu"))


@plant("resized")
def resized_with_records_missing(rng: Random) -> Planted:
    """The log begins after a change: the sizes before are not in it, which must be said."""
    jobs = _resized(rng)
    n = sum(job.resized for job in jobs)
    name = rng.choice(["lsf", "pbs"])
    lost = b'"JOB_RESIZE"' if name == "lsf" else b";u;"
    lines = (lsf.export(jobs) if name == "lsf" else pbs.export(jobs, pro=True)).splitlines(True)
    data = b"".join(line for line in lines if lost not in line)
    return Planted(data, name, truth(jobs), says="sizes", affected=n)


@plant("shared id")
def pbs_subjobs_rerun(rng: Random) -> Planted:
    """Tasks of an array (`7000[3].srv`), some of them requeued: attempts of a task are its own."""
    jobs, records = requeued(rng), []
    for place, job in enumerate(jobs):
        task = replace(job, number=7000)
        for attempt in job.attempts:
            kind = "E" if attempt is job.last else "R"
            records.append(pbs.ended(kind, task, attempt, pro=True, array=f"[{place}]"))
    return Planted(pbs.text(records), "pbs", truth(jobs, "status"))
