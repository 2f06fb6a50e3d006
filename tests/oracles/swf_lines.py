"""Rules of the Standard Workload Format, each counted over the lines of a file.

Nothing but `str.split`: a job is the list of its 18 numbers, one line at a time.
"""

import math
import re
from collections import Counter

JOB, SUBMIT, WAIT, RUN, PROCS, CPU, MEMORY, REQ_PROCS, REQ_TIME, REQ_MEMORY = range(10)
STATUS, USER, GROUP, EXECUTABLE, QUEUE, PARTITION, PRECEDING, THINK = range(10, 18)

PARTIAL = (2, 3, 4)


def jobs_and_bursts(text):
    """The summary lines and the partial lines, in file order; each a list of 18 numbers.

    Status 2, 3 or 4 is that of partial lines where one line of the job sums them up, and where
    none has a submit time but that of the job; elsewhere these are exit codes.
    """
    lines = [
        [float(word) for word in line.split()[:18]]
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith(";")
    ]
    jobs, bursts = [], []
    for line in lines:
        parts, whole = [], []
        if line[STATUS] in PARTIAL:
            parts = [o for o in lines if o[JOB] == line[JOB] and o[STATUS] in PARTIAL]
            whole = [o for o in lines if o[JOB] == line[JOB] and o[STATUS] not in PARTIAL]
        is_part = len(whole) == 1 and all(p[SUBMIT] in (-1, whole[0][SUBMIT]) for p in parts)
        (bursts if is_part else jobs).append(line)
    return jobs, bursts


def header(text):
    """The first value of each label."""
    values = {}
    for line in text.splitlines():
        match = re.match(r"\s*;\s?(\w+):(.*)", line)
        if match:
            values.setdefault(match[1], match[2].strip())
    return values


def header_number(text, label):
    """The number that the value of a label begins with; None without."""
    match = re.match(r"\d+", header(text).get(label, ""))
    return int(match[0]) if match else None


def machine(text):
    """Processors in the header: MaxProcs, else MaxNodes."""
    return header_number(text, "MaxProcs") or header_number(text, "MaxNodes")


def count(jobs, broken):
    """How many jobs are so."""
    return sum(1 for job in jobs if broken(job))


def out_of_order(jobs):
    """Jobs that were submitted before one that stands above them."""
    latest, broken = -math.inf, 0
    for job in jobs:
        broken += job[SUBMIT] < latest
        latest = max(latest, job[SUBMIT])
    return broken


def used(jobs):
    """The field with the processors: field 5, or 8 in a log where field 5 is unknown."""
    return PROCS if any(job[PROCS] > 0 for job in jobs) else REQ_PROCS


def ran(jobs):
    """The jobs that ran: a run time of 0 or more, on processors."""
    field = used(jobs)
    return [job for job in jobs if job[RUN] >= 0 and job[field] > 0]


def repeated_numbers(jobs):
    """Lines whose job number an earlier line has."""
    seen = Counter(job[JOB] for job in jobs)
    return sum(times - 1 for times in seen.values())


def numbers_that_are_missing(jobs):
    """Numbers between 1 and the largest that no job has."""
    numbers = {int(job[JOB]) for job in jobs}
    return max(numbers) - len(numbers & set(range(1, max(numbers) + 1)))


def larger_than(jobs, field, bound):
    """Jobs of which a field is above a bound."""
    return count(jobs, lambda job: job[field] > bound)


def longer_than_requested(jobs):
    """Jobs that ran longer than the time they requested; both known."""
    return count(jobs, lambda job: job[REQ_TIME] != -1 and job[RUN] > job[REQ_TIME])


def more_than_requested(jobs, used, requested):
    """Jobs that used more of something than they requested; both known."""
    return count(jobs, lambda job: job[requested] != -1 and job[used] > job[requested])


def cpu_beyond_run(jobs, slack=0):
    """Jobs whose CPU time per processor exceeds the time they ran; both known."""
    return count(jobs, lambda job: job[RUN] >= 0 and job[CPU] > job[RUN] + slack)


def of_no_status(jobs):
    """Jobs of a status that the standard does not know."""
    return count(jobs, lambda job: job[STATUS] not in (-1, 0, 1, 2, 3, 4, 5))


def below(jobs, field, least):
    """Jobs of which a field is below what it can be, and not -1."""
    return count(jobs, lambda job: job[field] != -1 and job[field] < least)


def unknown(jobs, field):
    """Jobs of which a field is -1."""
    return count(jobs, lambda job: job[field] == -1)


def think_time_alone(jobs):
    """Jobs with a think time that know no preceding job."""
    return count(jobs, lambda job: job[THINK] != -1 and job[PRECEDING] == -1)


def bursts_that_disagree(jobs, bursts):
    """Numbers of the checkpointed jobs whose partial lines contradict the line that sums them up.

    The standard: the run time is the sum of all partial run times; all but the last are of status
    2, the last of 3 if the job was completed and of 4 if it failed; only the first has a submit
    time, that of the job.
    """
    broken = []
    for job in jobs:
        own = [burst for burst in bursts if burst[JOB] == job[JOB]]
        if not own:
            continue
        statuses = [burst[STATUS] for burst in own]
        last = 3 if job[STATUS] == 1 else 4
        agrees = (
            sum(burst[RUN] for burst in own) == job[RUN]
            and statuses == [2] * (len(own) - 1) + [last]
            and own[0][SUBMIT] in (job[SUBMIT], -1)
            and all(burst[SUBMIT] == -1 for burst in own[1:])
        )
        if not agrees:
            broken.append(int(job[JOB]))
    return broken


def as_system(jobs, bursts):
    """Lines of jobs, checkpointed ones burst by burst, each burst with a submit time.

    A later burst waits since the end of the burst before it; processors that it does not tell are
    those of the job.
    """
    lines = []
    for job in jobs:
        own = [burst for burst in bursts if burst[JOB] == job[JOB]]
        if not own:
            lines.append(job)
        now = job[SUBMIT]
        for burst in own:
            line = list(burst)
            line[SUBMIT] = now
            for field in (PROCS, REQ_PROCS):
                line[field] = job[field] if burst[field] == -1 else burst[field]
            lines.append(line)
            now += max(burst[WAIT], 0) + max(burst[RUN], 0)
    return lines


def bursts_as_jobs(jobs, bursts):
    """Submit, wait and run of every job, checkpointed ones burst by burst, by submit time."""
    return sorted((line[SUBMIT], line[WAIT], line[RUN]) for line in as_system(jobs, bursts))


def crowded_starts(jobs, procs):
    """Jobs that start while, with them, more processors are busy than there are.

    Of jobs that start together those submitted first come first, of these those above; a job of 0 s
    is never busy; where the wait is unknown, nobody knows when it was.
    """
    field = used(jobs)
    known = [job for job in jobs if job[RUN] > 0 and job[field] > 0 and job[WAIT] != -1]
    known.sort(key=lambda job: job[SUBMIT])
    spans = sorted((job[SUBMIT] + job[WAIT], i, job) for i, job in enumerate(known))
    broken = 0
    for start, place, _ in spans:
        before = [(begin, job) for begin, i, job in spans if (begin, i) <= (start, place)]
        broken += sum(job[field] for begin, job in before if start < begin + job[RUN]) > procs
    return broken


def numbers_above_their_count(jobs, field):
    """Places of jobs whose number in a field is above how many such numbers there are."""
    numbers = {job[field] for job in jobs if job[field] > 0}
    return {i for i, job in enumerate(jobs) if job[field] > len(numbers)}


def may_overuse(text):
    """Whether the header allows jobs to use more than they request."""
    return header(text).get("AllowOveruse", "").lower().startswith(("true", "yes"))


def sizes_of_partitions(text):
    """Processors of each partition, listed in brackets behind those of the machine."""
    lines = [line.lstrip("; ") for line in text.splitlines() if line.startswith(";")]
    numbers = [int(line.split()[1]) for line in lines if line.startswith("Partition:")]
    _, bracket, sizes = header(text).get("MaxProcs", "").partition("(")
    sizes = [int(size) for size in sizes.rstrip(") ").split(",")] if bracket else []
    return dict(zip(numbers, sizes, strict=True)) if len(sizes) == len(numbers) else {}


def breaches(text):
    """How often each rule is broken, by the rule's name."""
    jobs, bursts = jobs_and_bursts(text)
    procs, longest = header_number(text, "MaxProcs"), header_number(text, "MaxRuntime")
    most_memory = header_number(text, "MaxMemory")
    named = (USER, GROUP, EXECUTABLE, QUEUE, PARTITION)
    above = set().union(*(numbers_above_their_count(jobs, field) for field in named))
    overuse = may_overuse(text)
    found = {
        "submit-order": out_of_order(jobs),
        "job-from-1": count(jobs, lambda job: job[JOB] < 1),
        "job-unique": repeated_numbers(jobs),
        "job-gaps": numbers_that_are_missing(jobs),
        "submit-known": unknown(jobs, SUBMIT),
        "numbered-from-1": count(
            jobs, lambda job: 0 in (job[USER], job[GROUP], job[EXECUTABLE], job[PARTITION])
        ),
        "numbered-densely": len(above),
        "not-negative": count(jobs, lambda job: any(v < 0 and v != -1 for v in job[1:])),
        "request-zero": count(jobs, lambda job: 0 in (job[REQ_PROCS], job[REQ_TIME])),
        "wait-known": unknown(jobs, WAIT),
        "run-known": unknown(jobs, RUN),
        "procs-known": count(jobs, lambda job: job[PROCS] in (-1, 0)),
        "user-known": unknown(jobs, USER),
        "estimate-known": unknown(jobs, REQ_TIME),
        "status-values": of_no_status(jobs),
        "status-parts": count(jobs, lambda job: job[STATUS] in PARTIAL),
        "completed-ran": count(jobs, lambda job: job[STATUS] == 1 and job[RUN] == -1),
        "cancelled-ran": count(ran(jobs), lambda job: job[STATUS] == 5),
        "run-requested": 0 if overuse else longer_than_requested(jobs),
        "procs-requested": 0 if overuse else more_than_requested(jobs, PROCS, REQ_PROCS),
        "memory-requested": 0 if overuse else more_than_requested(jobs, MEMORY, REQ_MEMORY),
        "procs-fewer": count(jobs, lambda job: 0 < job[PROCS] < job[REQ_PROCS]),
        "cpu-run": cpu_beyond_run(jobs, slack=1),
        "think-without-preceding": think_time_alone(jobs),
        "max-jobs": int(header_number(text, "MaxJobs") not in (None, len(jobs))),
        "max-records": int(
            header_number(text, "MaxRecords") not in (None, len(jobs) + len(bursts))
        ),
    }
    if procs is not None:
        found["procs-machine"] = larger_than(jobs, PROCS, procs)
        found["procs-machine-requested"] = larger_than(jobs, REQ_PROCS, procs)
        found["machine-used-once"] = crowded_starts(as_system(jobs, bursts), procs)
    if sizes := sizes_of_partitions(text):
        found["procs-partition"] = count(
            jobs, lambda job: job[PARTITION] in sizes and job[PROCS] > sizes[job[PARTITION]]
        )
    if longest is not None:
        found["max-runtime"] = larger_than(jobs, RUN, longest)
        found["max-runtime-requested"] = larger_than(jobs, REQ_TIME, longest)
    if most_memory is not None:
        found["max-memory"] = larger_than(jobs, MEMORY, most_memory)
        found["max-memory-requested"] = larger_than(jobs, REQ_MEMORY, most_memory)
    return found
