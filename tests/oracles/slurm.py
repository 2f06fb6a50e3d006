"""Rows of `sacct --parsable2` as jobs, one at a time, by str methods, datetime and zoneinfo."""

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

STATUS = {
    "COMPLETED": 1,
    "CANCELLED": 5,
    **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL"), 0),
    **dict.fromkeys(("DEADLINE", "PREEMPTED", "REVOKED"), 0),
}
NOT_ENDED = ("PENDING", "RUNNING", "REQUEUED", "RESIZING", "SUSPENDED", "CONFIGURING", "COMPLETING")
QUEUED_AGAIN = ("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REQUEUED")
NOTHING = ("", "Unknown", "None", "N/A", "UNLIMITED", "Partition_Limit", "INVALID")


def duration(text):
    """Seconds of `[days-][hours:]minutes:seconds[.fraction]`; None if not given."""
    if text in NOTHING:
        return None
    days, _, clock = text.rpartition("-")
    parts = [float(part) for part in clock.split(":")]
    if days and len(parts) < 3:  # `1-02` and `1-02:03`, as sbatch writes them, begin with hours
        parts += [0] * (3 - len(parts))
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + part
    return seconds + 86400 * int(days or 0)


def instant(text, zone):
    """Seconds since 1970 of a local time; None if not given."""
    if text in NOTHING:
        return None
    local = datetime.fromisoformat(text)
    return int(local.replace(tzinfo=ZoneInfo(zone)).timestamp())


def exists(text, zone):
    """Whether a clock in the zone ever showed this time, and did so once only."""
    utc, zone = ZoneInfo("UTC"), ZoneInfo(zone)
    local = datetime.fromisoformat(text)
    shown = set()
    for quarters in range(-60, 61):  # offsets from UTC are in quarters of an hour
        then = local.replace(tzinfo=utc) + timedelta(minutes=15 * quarters)
        if then.astimezone(zone).replace(tzinfo=None) == local:
            shown.add(then)
    return len(shown) == 1


def requested_memory(text):
    """KB and what they are for: node, cpu, or the job; MB without a suffix, a flag bit stripped.

    The flag for memory by CPU is 2^31 in what Slurm kept as 32 bits and 2^63 in 64; it tells more
    than the letter, which later versions of sacct print without knowing the old flag. 0 is all
    the memory of a node, however much that is.
    """
    if text in NOTHING:
        return None, ""
    per = {"n": "node", "c": "cpu"}.get(text[-1], "job")
    number = text.rstrip("nc")
    units = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
    unit = units.get(number[-1], 1024)
    amount = Decimal(number.rstrip("KMGT"))
    for flag in (2**63, 2**31):
        if amount >= flag:
            amount -= flag
            per = "cpu"
    return (float(amount * unit), per) if amount else (None, "")


def gpus(text):
    """GPUs of `cpu=4,gres/gpu=2,gres/gpu:a100=2`: the total, else the sum of the kinds."""
    if not text:
        return None
    pairs = [pair.split("=") for pair in text.split(",") if "=" in pair]
    total = [int(number) for name, number in pairs if name == "gres/gpu"]
    kinds = [int(number) for name, number in pairs if name.startswith("gres/gpu:")]
    return total[0] if total else sum(kinds)


def rows(text):
    """Rows of an export as dicts, and how many there are that have not the columns of the header.

    One that is too long has the delimiter in its last column. `place` is the line, from 1.
    """
    lines = text.split("\n")
    names = lines[0].split("|")
    found, broken, i = [], 0, 1
    while i < len(lines):
        line, i = lines[i], i + 1
        if not line or line.split("|") == names:
            continue
        cells = line.split("|", len(names) - 1)
        if len(cells) == len(names):
            found.append({**dict(zip(names, cells, strict=True)), "place": i})
        else:
            broken += 1
    return found, broken


def with_steps(table):
    """Places of the job rows that have steps: those behind them, or else anywhere in the file."""
    found = set()
    before = None
    for row in table:
        raw = row.get("JobIDRaw") or row["JobID"]
        if "." not in raw:
            before = row
            continue
        job = row["JobID"].split(".")[0]
        if before is None or before["JobID"] != job:
            ended = [r for r in table if r["JobID"] == job and state_of(r) not in NOT_ENDED]
            found |= {r["place"] for r in ended[-1:]}
        else:
            found.add(before["place"])
    return found


def state_of(row):
    return row["State"].split()[0].rstrip("+")


def never_started(row, start, end, elapsed, has_steps):
    """Whether a job ended in the queue, although a start is printed.

    It had no nodes and did not run. Where no nodes are exported, a job without processors had none,
    and one that was cancelled, exceeded its deadline or was revoked in no time and has no step.
    """
    if start is None:
        return True
    if end is None or start < end or elapsed or state_of(row) == "COMPLETED":
        return False
    nodes = row.get("NodeList", "")
    if nodes == "None assigned":
        return True
    if nodes:
        return False
    cancelled = state_of(row) in ("CANCELLED", "DEADLINE", "REVOKED") and not has_steps
    return cancelled or int(row.get("AllocCPUS") or row.get("NCPUS") or 0) == 0


def jobs(text, zone="UTC"):
    """Jobs of an export in the order of (submit, place), and rows that are none, by kind."""
    table, broken = rows(text)
    stepped = with_steps(table)
    left_out = Counter()
    if broken:
        left_out["fields"] = broken
    kept = {}
    for row in table:
        raw = row.get("JobIDRaw") or row["JobID"]
        state = row["State"].split()[0].rstrip("+")
        submit = instant(row["Submit"], zone)
        for other in ("Eligible", "Start"):  # neither is before it
            if submit is None:
                submit = instant(row.get(other, ""), zone)
        key = row.get("Cluster", ""), row["JobID"], raw, submit
        if "." in raw:
            left_out["step"] += 1
            continue
        if submit is None:
            left_out["no submit"] += 1
            continue
        times = instant(row["Start"], zone), instant(row["End"], zone)
        repeated = key in kept and times == kept[key]["printed"]
        if key in kept and (repeated or kept[key]["state"] in QUEUED_AGAIN):
            left_out["attempt"] += 1  # the last attempt is the job, whether it has ended or not
            del kept[key]
        elif key in kept:  # it ended for good: a job of the same id
            kept[*key, row["place"]] = kept.pop(key)
        if state in NOT_ENDED:
            left_out[f"not ended: {state}"] += 1
        else:
            kept[key] = job(row, state, submit, zone, row["place"] in stepped)
    return sorted(kept.values(), key=lambda one: (one["submit"], one["place"])), left_out


def job(row, state, submit, zone, has_steps):
    """What the log knows of one row."""
    start, end = instant(row["Start"], zone), instant(row["End"], zone)
    elapsed = float(row["ElapsedRaw"]) if "ElapsedRaw" in row else duration(row["Elapsed"])
    printed = start, end
    ran = not never_started(row, start, end, elapsed, has_steps)
    start = start if ran else None
    if "TimelimitRaw" in row:
        limit = None if row["TimelimitRaw"] in NOTHING else 60 * float(row["TimelimitRaw"])
    else:
        limit = duration(row.get("Timelimit", ""))
    memory, per = requested_memory(row.get("ReqMem", ""))
    return {
        "place": row["place"],
        "printed": printed,
        "id": row["JobID"],
        "submit": submit,
        "eligible": instant(row.get("Eligible", ""), zone),
        "start": start,
        "end": end,
        "wait": (start if ran else end) - submit,
        "run": elapsed if ran else None,
        "procs": int(row.get("AllocCPUS") or row.get("NCPUS") or 0) if ran else None,
        "requested_procs": int(row.get("ReqCPUS") or 0),
        "nodes": int(row["NNodes"]) if ran else None,
        "nodes_told": int(row["NNodes"]),
        "requested_time": limit,
        "total_memory": memory,
        "requested_memory_per": per,
        "gpus": gpus(row.get("AllocTRES", "")),
        "status": STATUS.get(state, -1),
        "state": row["State"].split()[0].rstrip("+"),
        "user": row.get("User") or row.get("UID", ""),
        "group": row.get("Group") or row.get("GID", ""),
        "account": row.get("Account", ""),
        "partition": row.get("Partition", ""),
        "qos": row.get("QOS", ""),
        "executable": row.get("JobName", ""),
        "array_job": row["JobID"].split("_")[0]
        if "_" in row["JobID"]
        else row["JobID"].split("+")[0]
        if "+" in row["JobID"]
        else "",
    }
