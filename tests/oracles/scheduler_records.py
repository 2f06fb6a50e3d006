"""Records of schedulers, a line at a time: Slurm's jobcomp/filetxt, Cobalt, and Batsim's jobs.csv.

Written from Slurm's format of jobcomp, Cobalt's of its accounting, and Batsim's page on outputs.
"""

import csv
import io
import re
from datetime import UTC, datetime

_ENDED = {"COMPLETED": 1, "CANCELLED": 5}


def instant(text):
    """Seconds since 1970 of a time in UTC; None if there is none."""
    if text in ("Unknown", "unknown", ""):
        return None
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def jobcomp(text):
    """The jobs of jobcomp/filetxt, and how many lines are none."""
    found, others = [], 0
    for line in filter(str.strip, text.split("\n")):
        head = re.match(r"JobId=(\d+) UserId=(.*?)\((\d+)\) GroupId=(.*?)\(\d+\) Name=", line)
        tail = re.search(
            r" JobState=(\w+) Partition=(\S*) TimeLimit=(\S+) StartTime=(\S+) EndTime=(\S+)"
            r" NodeList=(\S+) NodeCnt=(\d+) ProcCnt=(\d+) WorkDir=",
            line,
        )
        if not head or not tail:
            others += 1
            continue
        rest = dict(
            re.findall(r" (Account|QOS|SubmitTime|ArrayJobId|ArrayTaskId|Tres)=(\S*)", line)
        )
        state, partition, limit, start, end, nodes, n_nodes, procs = tail.groups()
        begin, stop = instant(start), instant(end)
        if nodes == "(null)" and begin == stop:
            begin = None
        gpus = re.search(r"gres/gpu=(\d+)", rest["Tres"])
        task = rest.get("ArrayTaskId")
        found.append(
            {
                "id": f"{rest['ArrayJobId']}_{task}" if task else head[1],
                "user": head[2] or head[3],
                "group": head[4],
                "executable": line[head.end() : tail.start()].strip(),
                "state": state,
                "partition": partition,
                "account": rest["Account"],
                "qos": rest["QOS"],
                "submit": instant(rest["SubmitTime"]),
                "start": begin,
                "end": stop,
                "run": None if begin is None else stop - begin,
                "procs": None if begin is None else int(procs),
                "nodes": None if begin is None else int(n_nodes),
                "gpus": int(gpus[1]) if gpus else 0,
                "requested_time": None if limit == "UNLIMITED" else 60 * int(limit),
                "status": _ENDED.get(state, 0),
            }
        )
    return found, others


def cobalt(text):
    """The E records of Cobalt: the processors are those of the request."""
    found = []
    for line in text.splitlines():
        _, letter, number, message = line.split(";", 3)
        if letter != "E":
            continue
        pairs = dict(re.findall(r'(\S+?)=("[^"]*"|\S*)', message))
        found.append(
            {
                "id": number,
                "user": pairs["user"],
                "queue": pairs["queue"],
                "account": pairs["account"],
                "submit": float(pairs["ctime"]),
                "start": float(pairs["start"]),
                "end": float(pairs["end"]),
                "run": float(pairs["resources_used.walltime"]),
                "procs": int(pairs["Resource_List.ncpus"]),
                "nodes": int(pairs["resources_used.nodect"]),
                "requested_time": float(pairs["Resource_List.walltime"]),
                "status": 1 if pairs["Exit_status"] == "0" else 0,
            }
        )
    return found


def reporting(text):
    """The lines of accounting in Grid Engine's file `reporting`, and the others by type."""
    accounting, others = [], {}
    for line in text.splitlines():
        _, kind, rest = line.split(":", 2)
        if kind == "acct":
            accounting.append(rest)
        else:
            others[kind] = others.get(kind, 0) + 1
    return "\n".join(accounting) + "\n", others


def batsim_jobs(text):
    """The jobs of Batsim's jobs.csv."""
    found = []
    for row in csv.DictReader(io.StringIO(text)):
        never = row["final_state"] == "REJECTED"
        resources = 0
        for part in re.split(r"[ ,]+", row["allocated_resources"].strip()):
            first, _, last = part.partition("-")
            resources += int(last or first) - int(first) + 1 if part else 0
        limit = float(row["requested_time"])
        found.append(
            {
                "job": int(row["job_id"]),
                "submit": float(row["submission_time"]),
                "wait": None if never else float(row["waiting_time"]),
                "run": None if never else float(row["execution_time"]),
                "procs": None if never else resources,
                "requested_procs": int(row["requested_number_of_resources"]) if never else None,
                "requested_time": limit if limit > 0 else None,
                "status": -1 if row["final_state"] == "COMPLETED_SUCCESSFULLY" else 5,
            }
        )
    return found
