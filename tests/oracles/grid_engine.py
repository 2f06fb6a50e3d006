"""Lines of Grid Engine's accounting(5), read from both ends: job names may hold colons."""

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
