"""Distributions of two logs and their distances, as Zakay and Feitelson (2014), section 5.1.

`jobs` are as in `tests.oracles.sessions`. Sessions are those by arrival, 60 minutes.
"""

import math
from itertools import pairwise

from tests.oracles.sessions import delimit_by_arrival, ran, think_times


def samples(jobs):
    """The values of each distribution; those by user leave jobs of unknown user out."""
    its = list(ran(jobs).values())
    known = [job for job in its if job["user"] != -1]
    labels = delimit_by_arrival(known, 3600)
    sessions = {}
    for i, (session, _, _) in labels.items():
        sessions.setdefault(session, []).append(known[i])
    lengths = {s: mates[-1]["submit"] - mates[0]["submit"] for s, mates in sessions.items()}
    users = {}
    for job in known:
        users.setdefault(job["user"], []).append(job)
    lengths_of = {
        user: [lengths[s] for s, mates in sessions.items() if mates[0]["user"] == user]
        for user in users
    }
    return {
        "jobs_by_user": [len(mine) for mine in users.values()],
        "sessions_by_user": [len(mine) for mine in lengths_of.values()],
        "session_length_by_user": [sum(mine) / len(mine) for mine in lengths_of.values()],
        "work_by_user": [sum(j["procs"] * j["run"] for j in mine) for mine in users.values()],
        "activity": [(mine[-1]["submit"] - mine[0]["submit"]) / 86400 for mine in users.values()],
        "run": [job["run"] for job in its],
        "procs": [job["procs"] for job in its],
        "wait": [job["wait"] for job in its if job["wait"] is not None],
        "think_time": [think for _, think in think_times(known, "last").values() if think >= 0],
        "session_length": list(lengths.values()),
        "jobs_per_session": [len(mates) for mates in sessions.values()],
    }


def wasserstein(one, other):
    """Area between the cumulative distributions of two samples."""
    edges = sorted({*one, *other})
    area = 0
    for a, b in pairwise(edges):
        apart = sum(x <= a for x in one) / len(one) - sum(x <= a for x in other) / len(other)
        area += abs(apart) * (b - a)
    return area


def standard_deviation(values):
    middle = sum(values) / len(values)
    return math.sqrt(sum((x - middle) ** 2 for x in values) / len(values))
