"""Accounting of PBS and its kin, one record after another: `date;type;id;key=value key=value`."""

import re
from collections import Counter
from datetime import UTC, datetime


def pairs(text):
    """Values by key: a key begins at a blank, is a word with dots, and an equal sign follows."""
    found = {}
    for match in re.finditer(
        r"(?:^| )([A-Za-z_][\w.]*)=(\"[^\"]*\"|'[^']*'|.*?)(?= [A-Za-z_][\w.]*=|$)", text
    ):
        found[match[1]] = match[2].strip()
    return found


def seconds(text):
    """Seconds of `90`, `02:35:49` or `144:00:00`; None if not given."""
    if not text:
        return None
    total = 0
    for part in text.split(":"):
        total = total * 60 + int(part)
    return total


def kilobytes(text):
    """KB of `15240kb`, `1993mb`, `12.27M`, `190000128kb`, `664b`."""
    if not text:
        return None
    number, unit = re.fullmatch(r"([\d.]+)\s*([a-zA-Z]*)", text).groups()
    factor = {"": 1 / 1024, "b": 1 / 1024, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
    return float(number) * factor[unit.lower().removesuffix("b") or unit.lower()[:1]]


def procs_of_hosts(text):
    """Processors of `n1/7+n1/6`, `c1/0*13+c2/0*13`, `node/0-27` and `c1/0-3+c2/0-7`."""
    total = 0
    for part in text.split("+"):
        _, _, slots = part.rpartition("/")
        if "*" in slots:
            total += int(slots.split("*")[1])
        else:
            for piece in slots.split(","):
                first, _, last = piece.partition("-")
                total += int(last or first) - int(first) + 1
    return total


def procs_of_nodes(text):
    """Processors of `(n1:ncpus=13)+(n2[0]:mem=1kb:ncpus=24+n2[1]:ncpus=24)`."""
    return sum(int(number) for number in re.findall(r":ncpus=(\d+)", text))


def jobs(text):
    """The fields of each E record, and the number of other records by type."""
    found, others = [], Counter()
    for line in text.splitlines():
        if not line.strip():
            continue
        _, kind, name, rest = line.split(";", 3)
        if kind != "E":
            others[kind] += 1
            continue
        values = pairs(rest)
        start, end = int(values["start"]), int(values["end"])
        submit = int(values["ctime"])
        exit_status = int(values["Exit_status"])
        found.append(
            {
                "id": name,
                "submit": submit,
                "eligible": int(values["etime"]) if "etime" in values else None,
                "start": start,
                "end": end,
                "wait": start - submit,
                "elapsed": end - start,
                "walltime": seconds(values.get("resources_used.walltime")),
                "nodes": procs_of_nodes(values.get("exec_vnode", "")),
                "hosts": procs_of_hosts(values["exec_host"]) if "exec_host" in values else None,
                "requested_time": seconds(values.get("Resource_List.walltime")),
                "total_memory": kilobytes(values.get("resources_used.mem")),
                "status": 1 if exit_status == 0 else 5 if exit_status == 271 else 0,
                "exit_code": values["Exit_status"],
                "user": values["user"],
                "group": values["group"],
                "account": values.get("account") or values.get("project", ""),
                "queue": values["queue"],
                "executable": values["jobname"],
            }
        )
    return found, others


def instant(date):
    """Seconds since 1970 of the date of a line, in UTC."""
    return int(datetime.strptime(date, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp())


def processors(values):
    return procs_of_nodes(values.get("exec_vnode", "")) or procs_of_hosts(values["exec_host"])


def execution(values, sizes):
    """When a run started and ended, and its processor seconds; a job without hosts had none.

    `sizes` are the phases of the job: walltime and processors of each that ended, and the
    processors of the last one.
    """
    start, end = int(values.get("start", 0)), int(values["end"])
    walltime = seconds(values.get("resources_used.walltime"))
    on_hosts = "exec_host" in values or "exec_vnode" in values
    if not start or (start >= end and not on_hosts and values.get("Exit_status") != "0"):
        return {"start": None, "end": end, "used": 0}
    run = walltime or end - start
    *ended, last = sizes or [(0, processors(values))]
    used = sum(lasted * procs for lasted, procs in ended)
    used += (run - sum(lasted for lasted, _ in ended)) * last[1]
    return {"start": start, "end": end, "used": used}


def whole_jobs(text):
    """Jobs with all of their runs, from the records in their order, which is that of time.

    Runs with one id and creation are those of one job, unless two overlap. Its wait is that of the
    last run, from the creation of the job; what the others used is lost.
    """
    runs, begun, created, phases = {}, {}, {}, {}
    for line in filter(str.strip, text.splitlines()):
        date, kind, name, rest = line.split(";", 3)
        values = pairs(rest)
        submit = int(values["ctime"]) if "ctime" in values else created.get(name)
        if kind == "Q":
            created[name] = instant(date) if submit is None else submit
        elif kind == "S":
            begun[name] = values
        elif kind == "u":  # how long a phase lasted
            sizes = phases.setdefault(name, [])
            sizes.append((seconds(values["resources_used.walltime"]), processors(values)))
        elif kind == "e":
            phases.setdefault(name, []).append((None, processors(values)))
        elif kind == "R" and "end" not in values:  # the record of Torque is empty
            values = begun.pop(name) | {"end": instant(date)}
            runs.setdefault((name, int(values["ctime"])), []).append(execution(values, []))
        elif kind in "ER":
            sizes = phases.pop(name, []) if kind == "E" else []
            runs.setdefault((name, submit), []).append(execution(values, sizes))
            begun.pop(name, None)
        elif kind == "D" and name not in begun:
            run = {"start": None, "end": instant(date), "used": 0}
            runs.setdefault((name, submit), []).append(run)
    return [job for (name, submit), some in runs.items() for job in jobs_of(name, submit, some)]


def jobs_of(name, submit, runs):
    """One job with these runs, or one for each if two overlap."""
    runs = sorted(runs, key=lambda run: run["start"] or run["end"])
    ran = [run for run in runs if run["start"] is not None]
    if any(b["start"] < a["end"] for i, a in enumerate(ran) for b in ran[i + 1 :]):
        return [job for run in runs for job in jobs_of(name, submit, [run])]
    *earlier, last = runs
    return [
        {
            "id": name,
            "submit": submit,
            "wait": (last["start"] or last["end"]) - submit,
            "used": sum(run["used"] for run in runs),
            "lost": sum(run["used"] for run in earlier),
            "attempts": len(runs),
        }
    ]
