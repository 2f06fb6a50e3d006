"""Plants in what happened: jobs that never started, and attempts."""

import io
from collections.abc import Callable
from dataclasses import replace
from random import Random

import workloadkit as wk
from tests.planted import grid_engine, lsf, pbs, sites, slurm
from tests.planted.judge import Planted
from tests.planted.plants import plant, share
from tests.planted.truth import Job, Truth, truth

LOST = ("NODE_FAIL", "PREEMPTED")


def changed(rng: Random, jobs: list[Job], change: Callable[[Job], Job], most: int = 8) -> list[Job]:
    """Return the jobs with some of them changed, and these."""
    numbers = {job.number for job in share(rng, jobs, most)}
    return [change(job) if job.number in numbers else job for job in jobs]


def _with_waiting(rng: Random, *states: str) -> tuple[list[Job], int]:
    """Draw jobs of which some never started and others were cancelled in their first second."""
    jobs = changed(rng, sites.jobs(rng), sites.cancelled_at_once, 3)
    n_ran = len(jobs)
    for number in range(rng.randint(2, 20)):
        job = sites.job(rng, 5000 + number, jobs[number % n_ran].last.submit + 7)
        jobs.append(sites.never_started(rng, job, rng.choice(states or ("CANCELLED",))))
    return jobs, len(jobs) - n_ran


@plant("start")
def slurm_never_started_with_processors(rng: Random) -> Planted:
    jobs, _ = _with_waiting(rng, "CANCELLED", "CANCELLED", "DEADLINE", "FAILED")
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    table = slurm.rows(jobs, style, old=True)
    nowhere = rng.choice(["None assigned", "None assigned", "", "(null)", "None"])
    for row in table:
        row["NodeList"] = row["NodeList"].replace("None assigned", nowhere)
    rng.shuffle(table)
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs))


@plant("start")
def slurm_never_started_without_nodes(rng: Random) -> Planted:
    """Without NodeList, a start at the end after a wait is all that there is to see."""
    jobs = sites.jobs(rng)
    jobs = changed(rng, jobs, lambda job: sites.never_started(rng, job))
    n = sum(job.last.start is None for job in jobs)
    style = slurm.dialect(rng, without=["NodeList"])
    data = slurm.export(jobs, style, old=True)
    return Planted(data, "slurm", truth(jobs), says="start", affected=n)


@plant("start")
def slurm_never_started_in_other_words(rng: Random) -> Planted:
    """As Slurm 21.08 and dumps print it: a start that is no time, with processors or without."""
    jobs, _ = _with_waiting(rng)
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    style = replace(style, unknown=rng.choice(["Unknown", "None", "", "N/A", "NaT"]))
    if rng.random() < 0.3:
        style = replace(style, time=slurm.epoch, unknown=rng.choice(["Unknown", "0", "None"]))
    table = slurm.rows(jobs, style)
    if rng.random() < 0.5:
        for row in table:
            row["AllocCPUS"] = row["NCPUS"] = row["ReqCPUS"]
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs))


@plant("start")
def slurm_array_never_started(rng: Random) -> Planted:
    """One row for the tasks of an array that were cancelled while they waited."""
    jobs, n = _with_waiting(rng)
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    table = slurm.rows(jobs, style, old=True)
    for row in table[-n:]:
        row["JobID"] += rng.choice(["_[3-9]", "_[1,4-7%2]"])
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs))


@plant("start")
def pbs_ended_without_start(rng: Random) -> Planted:
    """An E record of a deleted job: no start, a start of 0, or one at its end; no hosts."""
    jobs, n = _with_waiting(rng)
    pro, records = rng.random() < 0.5, []
    for place, job in enumerate(jobs):
        if place < len(jobs) - n:
            records += pbs.records(job, pro=pro)
            continue
        start = rng.choice(["", " start=0", f" start={job.last.end}"])
        body = pbs.attributes(job, job.last, pro=pro) + start
        body += f" session=0 end={job.last.end} Exit_status=271"
        body += rng.choice(["", " resources_used.walltime=00:00:00"])
        records.append(pbs.record("E", job.last.end, job, body))
    return Planted(pbs.text(records), "pbs", truth(jobs))


@plant("start")
def pbs_deleted_while_queued(rng: Random) -> Planted:
    jobs, _ = _with_waiting(rng)
    return Planted(pbs.export(jobs, pro=rng.random() < 0.5), "pbs", truth(jobs))


@plant("start")
def lsf_finished_without_start(rng: Random) -> Planted:
    """A job without hosts did not start, even where its start time is the time of its end."""
    jobs, n = _with_waiting(rng)
    records = [entry for job in jobs[:-n] for entry in lsf.records(job)]
    for job in jobs[-n:]:
        line = lsf.finish(job, job.last)
        if rng.random() < 0.5:
            line = line.replace(f' 0 0 0 "{job.user}"', f' 0 0 {job.last.end} "{job.user}"')
        records.append((job.last.end, line))
    return Planted(lsf.text(records), "lsf", truth(jobs))


@plant("start")
def sge_failed_before_start(rng: Random) -> Planted:
    """Codes 1 to 11 of sge_status(5): the job could not be started."""
    jobs, n = _with_waiting(rng)
    unit = rng.choice([1, 1000])
    records = [entry for job in jobs[:-n] for entry in grid_engine.records(job, unit=unit)]
    true = truth(jobs)
    for place, job in enumerate(jobs[-n:], len(jobs) - n):
        attempt, ways = job.last, true.facts[place]
        line = grid_engine.line(job, attempt, unit=unit, failed=(rng.randint(1, 11), 0))
        times = [attempt.submit * unit, attempt.end * unit, attempt.end * unit]
        if rng.random() < 0.5:  # it had its slots when it failed
            line = line.replace(f":{times[0]}:0:0:", ":{}:{}:{}:".format(*times))
            ways.add((attempt.submit, attempt.end - attempt.submit, 0, attempt.procs))
        else:  # when it ended is unknown, and so is its wait
            ways.clear()
            ways.add((attempt.submit, None, None, None))
        records.append((attempt.end, line))
    return Planted(grid_engine.text(records), "sge", true)


def requeued(rng: Random, *states: str, new_submit: bool = False) -> list[Job]:
    return changed(
        rng,
        sites.jobs(rng),
        lambda job: sites.requeued(
            rng, job, rng.choice(states or LOST), rng.randint(1, 3), new_submit=new_submit
        ),
    )


@plant("attempts")
def slurm_requeued(rng: Random) -> Planted:
    jobs = requeued(rng, new_submit=rng.random() < 0.7)
    style = slurm.dialect(rng, "AllocTRES", delimiter="|")
    true = truth(jobs, "lost", "status", "gpu_hours")
    return Planted(slurm.export(jobs, style, shuffled=rng), "slurm", true)


@plant("attempts")
def slurm_requeued_with_steps(rng: Random) -> Planted:
    """`sacct -D` without `-X`: the steps of each attempt follow it."""
    jobs = requeued(rng, new_submit=rng.random() < 0.7)
    style = slurm.dialect(rng, "TotalCPU")
    table = []
    for job in jobs:
        for attempt in job.attempts:
            whole = slurm.row(job, attempt, style)
            table += [whole, slurm.step(job, "batch", job.cpu, whole)]
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs, "status"))


@plant("attempts")
def slurm_requeued_across_files(rng: Random) -> Planted:
    """Attempts of a job are in the exports of two months."""
    jobs, style = requeued(rng, new_submit=True), slurm.dialect(rng)
    rows = slurm.rows(jobs, style)
    files = [slurm.text(rows[start::2], style).encode() for start in range(2)]
    return Planted(
        b"".join(files),
        "slurm",
        truth(jobs, "status"),
        read=lambda data: wk.read_slurm([io.BytesIO(file) for file in files]),
    )


@plant("attempts")
def slurm_requeued_by_hand(rng: Random) -> Planted:
    """The attempts before `scontrol requeue` are REQUEUED."""
    jobs = requeued(rng, "REQUEUED", new_submit=True)
    data = slurm.export(jobs, slurm.dialect(rng))
    return Planted(data, "slurm", truth(jobs, "status"))


@plant("attempts")
def slurm_requeued_in_old_versions(rng: Random) -> Planted:
    """Older versions print CANCELLED or FAILED; such rows may be jobs, their hours are the same."""
    jobs = requeued(rng, "CANCELLED", "FAILED", new_submit=True)
    whole = truth(jobs, "lost")
    true = Truth(core_hours=whole.core_hours, lost=whole.lost)
    return Planted(slurm.export(jobs, slurm.dialect(rng)), "slurm", true)


@plant("attempts")
def slurm_requeued_with_attempts(rng: Random) -> Planted:
    """Each attempt a partial line: the hours are the same, and so is what was lost."""
    jobs = requeued(rng, new_submit=True)
    whole = truth(jobs, "lost")
    true = Truth(core_hours=whole.core_hours, lost=whole.lost)
    data = slurm.export(jobs, slurm.dialect(rng))
    return Planted(data, "slurm", true, options={"attempts": True})


@plant("attempts")
def slurm_requeued_and_not_ended(rng: Random) -> Planted:
    """The last attempt waits or runs, or was cancelled before it started: the others had hours."""
    jobs = requeued(rng, new_submit=True)
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    table, hours = [], 0.0
    for job in jobs:
        for attempt in job.attempts:
            row = slurm.row(job, attempt, style)
            if len(job.attempts) > 1 and attempt is job.last:
                nothing = {"AllocCPUS": "0", "NCPUS": "0", "AllocTRES": "", "ElapsedRaw": "0"}
                nothing |= {"Start": style.unknown, "Elapsed": "00:00:00"}
                nothing["NodeList"] = "None assigned"
                ends = {"PENDING": style.unknown, "CANCELLED by 7": slurm.iso(attempt.end)}
                state = rng.choice(list(ends))
                row |= nothing | {"State": state, "End": ends[state]}
            else:
                hours += attempt.run * attempt.procs / 3600
            table.append(row)
    true = Truth(core_hours=hours)
    return Planted(slurm.text(table, style).encode(), "slurm", true, says="not ended")


@plant("attempts")
def pbs_rerun(rng: Random) -> Planted:
    """R records of PBS Professional have all fields; E records of one submission occur too."""
    jobs = requeued(rng)
    data = pbs.export(jobs, pro=True)
    if rng.random() < 0.3:
        data = data.replace(b";R;", b";E;")
    return Planted(data, "pbs", truth(jobs, "status"))


@plant("attempts")
def torque_rerun(rng: Random) -> Planted:
    """R records of Torque are empty: the S record before has the start and the processors."""
    jobs = requeued(rng)
    n = sum(len(job.attempts) - 1 for job in jobs)
    data = pbs.export(jobs, pro=False)
    return Planted(data, "pbs", truth(jobs), says=r"rerun|requeue|attempt", affected=n)


@plant("attempts")
def lsf_requeued(rng: Random) -> Planted:
    jobs = requeued(rng)
    return Planted(lsf.export(jobs), "lsf", truth(jobs))


@plant("attempts")
def sge_rescheduled(rng: Random) -> Planted:
    jobs = requeued(rng)
    data = grid_engine.export(jobs, unit=rng.choice([1, 1000]))
    return Planted(data, "sge", truth(jobs, "status"))


@plant("attempts")
def pbs_rerun_and_deleted_while_queued(rng: Random) -> Planted:
    """A job that was requeued and deleted while it waited again: its attempts had their hours."""
    jobs = requeued(rng)
    jobs = _killed_while_waiting_again(jobs)
    data = pbs.export(jobs, pro=rng.random() < 0.5)
    return Planted(data, "pbs", Truth(core_hours=sum(job.core_hours for job in jobs)))


@plant("attempts")
def lsf_requeued_and_killed_while_pending(rng: Random) -> Planted:
    jobs = _killed_while_waiting_again(requeued(rng))
    return Planted(lsf.export(jobs), "lsf", Truth(core_hours=sum(job.core_hours for job in jobs)))


def _killed_while_waiting_again(jobs: list[Job]) -> list[Job]:
    """Return the jobs; the last attempts of requeued ones never start."""

    def killed(job: Job) -> Job:
        *earlier, last = job.attempts
        gone = replace(last, start=None, end=earlier[-1].end + 500, state="CANCELLED")
        return replace(job, attempts=(*earlier, gone))

    return [killed(job) if len(job.attempts) > 1 else job for job in jobs]


@plant("attempts")
def sge_rescheduled_with_tasks(rng: Random) -> Planted:
    """Each attempt of a parallel job has lines of its tasks, which have its CPU time."""
    unit, jobs = rng.choice([1, 1000]), requeued(rng)
    records = []
    for job in jobs:
        for attempt in job.attempts:
            tasks, rest = rng.randint(1, 3), job.cpu
            for task in range(tasks):
                cpu = rest if task == tasks - 1 else rest // 2
                rest -= cpu
                records.append((attempt.end, grid_engine.task(job, attempt, task, cpu, unit=unit)))
            line = grid_engine.line(replace(job, cpu=0), attempt, unit=unit)
            records.append((attempt.end, line))
    data = grid_engine.text(records)
    return Planted(data, "sge", truth(jobs, "status", "cpu"))


@plant("start")
def slurm_cancelled_before_its_planned_start(rng: Random) -> Planted:
    """`sacct` prints the start that was planned when a job is cancelled: it is after the end."""
    jobs, _ = _with_waiting(rng)
    style = slurm.dialect(rng, "NodeList", delimiter="|")
    table = slurm.rows(jobs, style)
    ends = [attempt for job in jobs for attempt in job.attempts]
    for row, attempt in zip(table, ends, strict=True):
        if attempt.start is None:
            row["Start"] = slurm.iso(attempt.end + rng.randint(1, 100_000))
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs))
