"""Sessions by arrival, from the definitions of Zakay and Feitelson (2012): quadratic, plain."""

import math


def delimit_by_arrival(jobs, threshold):
    """Session, batch and think time of each job that ran, by its place in `jobs`.

    `jobs` are dicts of submit, wait (None if unknown), run, procs and user, in order of submit.
    """
    ran = {i: job for i, job in enumerate(jobs) if job["run"] >= 0 and job["procs"] > 0}
    session, batch, think_time = {}, {}, {}
    for i, job in ran.items():
        before = [j for j in ran if j < i and ran[j]["user"] == job["user"]]
        near = before and job["submit"] - ran[before[-1]]["submit"] <= threshold
        session[i] = session[before[-1]] if near else len(set(session.values()))
        mates = [j for j in before if session[j] == session[i]]
        think = job["submit"] - max(map(end, (ran[j] for j in mates)), default=math.nan)
        overlaps = mates and think <= 0
        batch[i] = batch[mates[-1]] if overlaps else len(set(batch.values()))
        think_time[i] = math.nan if overlaps else think
    return {i: (session[i], batch[i], think_time[i]) for i in ran}


def end(job):
    return job["submit"] + (job["wait"] or 0) + job["run"]
