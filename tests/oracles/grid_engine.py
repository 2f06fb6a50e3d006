"""Lines of Grid Engine's accounting(5), read from both ends: job names may hold colons."""

import re

_NAMES = """
    account priority submission start end failed exit_status wallclock utime stime
"""
NAMES = _NAMES.split()


def fields(line):
    """Fields in front of the job's name, its name, and those from the job's number on.

    The job number is the first number that is followed, three fields on, by three times.
    """
    cells = line.split(":")
    for i in range(5, len(cells) - 6):
        times = cells[i + 3 : i + 6]
        if (
            cells[i].isdigit()
            and cells[i + 2].lstrip("-").isdigit()
            and all(map(str.isdigit, times))
        ):
            return cells[:4], ":".join(cells[4:i]), cells[i:]
    raise ValueError(line)


def jobs(text):
    """The fields of each line."""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        (queue, _, group, owner), name, rest = fields(line)
        number, account = rest[0], rest[1]
        submit, start, end = (int(word) for word in rest[3:6])
        unit = 1000 if submit > 10**11 else 1
        failed, exit_status = int(rest[6].split()[0]), int(rest[7])
        # behind wallclock: 17 of getrusage, project, department, granted_pe, slots, task, cpu, mem
        project, department, pe, slots, task, cpu = rest[26 : 26 + 6]
        limit = None
        for word in rest[26 + 8].split():
            for request in word.split(","):
                if request.startswith("h_rt="):
                    limit = float(request[5:])
        found.append(
            {
                "id": number,
                "task": int(task),
                "submit": submit / unit,
                "start": start / unit or None,
                "end": end / unit,
                "wait": (start - submit) / unit,
                "run": (end - start) / unit,
                "procs": int(slots),
                "cpu": float(cpu) / int(slots),
                "requested_time": limit,
                "failed": failed,
                "exit_status": exit_status,
                "user": owner,
                "group": group,
                "queue": queue,
                "executable": name,
                "account": account,
                "project": project,
                "department": department,
                "pe": pe,
            }
        )
    return found


def whole_jobs(text):
    """Jobs with all of their runs: a job that is rescheduled has a line for each.

    Lines with one number, task and submission are of one job, unless two of them overlap. Its wait
    is that of the last run, from its submission; what the others used is lost. Lines of the tasks
    of a parallel job, which have a pe_taskid, are not runs, but their CPU time is the job's.
    """
    runs, cpu = {}, {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        (queue, *_), _, rest = fields(line)
        unit = 1000 if int(rest[3]) > 10**11 else 1
        submit, start, end = (int(word) // unit for word in rest[3:6])
        slots, task, used = int(rest[29]), int(rest[30]), float(rest[31])
        at_end = rest[34:]  # the category, which may have colons, then I/O wait and the task
        place = next(i for i, word in enumerate(at_end) if i and re.fullmatch(r"\d+\.\d+", word))
        job = rest[0], task, submit
        cpu[job] = cpu.get(job, 0) + used
        if at_end[place + 1] != "NONE":
            continue
        if not start or (queue == "UNKNOWN" and end <= start):
            runs.setdefault(job, []).append({"start": None, "end": end or None, "used": 0})
        else:
            run = {"start": start, "end": end, "used": (end - start) * slots}
            runs.setdefault(job, []).append(run)
    return [one for job, some in runs.items() for one in jobs_of(job, some, cpu[job])]


def jobs_of(job, runs, cpu):
    """One job with these runs, or one for each if two overlap."""
    number, task, submit = job
    runs = sorted(runs, key=lambda run: run["start"] or run["end"] or 0)
    ran = [run for run in runs if run["start"] is not None]
    if any(b["start"] < a["end"] for i, a in enumerate(ran) for b in ran[i + 1 :]):
        return [one for run in runs for one in jobs_of(job, [run], None)]
    *earlier, last = runs
    left = last["start"] or last["end"]
    return [
        {
            "id": f"{number}.{task}" if task else number,
            "submit": submit,
            "wait": None if left is None else left - submit,
            "used": sum(run["used"] for run in runs),
            "lost": sum(run["used"] for run in earlier),
            "attempts": len(runs),
            "cpu": cpu,
        }
    ]
