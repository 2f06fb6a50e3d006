"""What a log's own starts and ends tell of its machine, asked anew for each second."""


def busy(jobs, time):
    """Processors in use; a job gives its own back in the second of its end."""
    return sum(j["procs"] for j in jobs if j["start"] <= time < j["end"])


def running(jobs, time):
    """How many jobs run."""
    return sum(1 for j in jobs if j["start"] <= time < j["end"])


def started(jobs, begin, end):
    """Jobs that start after `begin` and before `end`."""
    return [j for j in jobs if begin < j["start"] < end]


def instants(jobs, begin, end):
    """Seconds of an interval at which anything changes, its beginning among them."""
    changes = {j[name] for j in jobs for name in ("submit", "start", "end")}
    return [begin, *sorted(t for t in changes if begin < t < end)]


def first_come_first_served(jobs, procs, down=()):
    """Starts and ends of jobs on a machine that is down at times, one job after another.

    No job begins while the machine is down, and those that run when it fails end there.
    """
    free_at = [0] * procs
    head = 0
    for job in jobs:
        free_at.sort()
        start = max(job["submit"], head, free_at[job["procs"] - 1])
        for begin, end in down:
            if begin <= start < end:
                start = end
        head = start
        end = start + job["run"]
        end = min([end, *(begin for begin, _ in down if start < begin < end)])
        free_at[: job["procs"]] = [end] * job["procs"]
        job.update(start=start, end=end, run=end - start)
    return jobs
