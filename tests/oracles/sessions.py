"""Sessions, batches and think times from the definitions of Zakay and Feitelson (2012).

Quadratic and plain. `jobs` are dicts of submit, wait (None if unknown), run, procs and user, in
order of submit; results are by place in `jobs`.
"""

import math


def delimit(jobs, method, threshold, cut=math.inf):
    """Session, batch and think time of each job that ran."""
    session, batch, think_time = {}, {}, {}
    for i, job in ran(jobs).items():
        before = [j for j in session if jobs[j]["user"] == job["user"]]
        mates = [j for j in before if session[j] == session[before[-1]]]
        if method == "arrival":
            reached = [jobs[j]["submit"] for j in mates[-1:]]
        elif method == "last":
            reached = [cut_end(jobs[j], cut) for j in mates[-1:]]
        else:
            reached = [cut_end(jobs[j], cut) for j in mates]
        stays = mates and job["submit"] <= max(reached) + threshold
        session[i] = session[before[-1]] if stays else len(set(session.values()))

        think_time[i] = math.nan
        ends = [end(jobs[j]) for j in (mates[-1:] if method == "last" else mates)]
        if stays and job["submit"] <= max(ends):
            batch[i] = batch[mates[-1]]
        else:
            batch[i] = len(set(batch.values()))
            if stays:
                think_time[i] = job["submit"] - max(ends)
    return {i: (session[i], batch[i], think_time[i]) for i in session}


def delimit_by_arrival(jobs, threshold):
    """Session, batch and think time of each job that ran."""
    return delimit(jobs, "arrival", threshold)


def think_times(jobs, method):
    """The job before and the time since its end ("last") or all earlier ends ("max"), by job."""
    times = {}
    for i, job in ran(jobs).items():
        before = [j for j in ran(jobs) if j < i and jobs[j]["user"] == job["user"]]
        if before:
            ends = [end(jobs[j]) for j in (before[-1:] if method == "last" else before)]
            times[i] = before[-1], job["submit"] - max(ends)
    return times


def session_lengths(jobs, method, threshold, cut=math.inf):
    """Seconds from a session's first submission to its end, by session."""
    members = {}
    for i, (session, _, _) in delimit(jobs, method, threshold, cut).items():
        members.setdefault(session, []).append(jobs[i])
    return {session: length(members[session], method, cut) for session in members}


def length(session, method, cut):
    first, last = session[0]["submit"], session[-1]
    if method == "arrival":
        return last["submit"] - first
    if method == "last":
        return cut_end(last, cut) - first
    return max(cut_end(job, cut) for job in session) - first


def think_times_after(jobs, method):
    """Time to think after each batch, by the set of its jobs; None after a user's last batch."""
    labels = delimit(jobs, method, 1200)
    after = {}
    for user in {jobs[i]["user"] for i in labels}:
        members = {}
        for i in labels:
            if jobs[i]["user"] == user:
                members.setdefault(labels[i][1], []).append(i)
        batches = list(members.values())
        for k, batch in enumerate(batches):
            ends = [end(jobs[i]) for i in (batch[-1:] if method == "last" else batch)]
            follows = batches[k + 1 : k + 2]
            after[frozenset(batch)] = jobs[follows[0][0]]["submit"] - max(ends) if follows else None
    return after


def largest_difference(one, other):
    """Between the cumulative distributions of two samples."""
    return max(
        abs(sum(a <= x for a in one) / len(one) - sum(b <= x for b in other) / len(other))
        for x in [*one, *other]
    )


def inter_arrivals(jobs):
    """Time since the arrival of the user's job before, by job that ran and has one before it."""
    times = {}
    for i, job in ran(jobs).items():
        before = [j for j in ran(jobs) if j < i and jobs[j]["user"] == job["user"]]
        if before:
            times[i] = job["submit"] - jobs[before[-1]]["submit"]
    return times


def ran(jobs):
    return {i: job for i, job in enumerate(jobs) if job["run"] >= 0 and job["procs"] > 0}


def end(job):
    return job["submit"] + (job["wait"] or 0) + job["run"]


def cut_end(job, cut):
    return min(end(job), job["submit"] + cut)
