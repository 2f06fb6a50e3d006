"""How users react to their jobs, from Shmueli (2008), chapter 4 and section 3.2.1.

`jobs` are as in `tests.oracles.sessions`. Times in seconds.
"""

import math
from statistics import median

from tests.oracles.sessions import end, ran

MINUTE = 60
RESPONSE = [5 * MINUTE, 15 * MINUTE, 45 * MINUTE, 135 * MINUTE, math.inf]
SLOWDOWN = [math.sqrt(2), 2, 4, 16, math.inf]
SESSION = 20 * MINUTE
SHORT = 5 * MINUTE
WEEK = 7 * 24 * 3600


def followed(jobs):
    """Each job of a known user that the user followed by another, and how it was served."""
    rows = []
    known = {i: job for i, job in ran(jobs).items() if job["user"] != -1}
    for i, job in known.items():
        later = [j for j in known if j > i and known[j]["user"] == job["user"]]
        if later and job["wait"] is not None:
            response = job["wait"] + job["run"]
            slowdown = response / (job["run"] or 1)
            rows.append(
                {
                    "user": job["user"],
                    "wait": job["wait"],
                    "run": job["run"],
                    "response": response,
                    "slowdown": slowdown,
                    "think_time": known[later[0]]["submit"] - end(job),
                    "response_bin": bin_of(response, RESPONSE),
                    "slowdown_bin": bin_of(slowdown, SLOWDOWN),
                }
            )
    return rows


def bin_of(value, upper):
    """1 for the first bin; an edge belongs to the lower bin."""
    return 1 + next(k for k, edge in enumerate(upper) if value <= edge)


def positive(rows):
    return [row for row in rows if row["think_time"] >= 0]


def medians(jobs, by):
    """Median think time and number of think times of each bin that has some; `by` names bins."""
    groups = {}
    for row in positive(followed(jobs)):
        groups.setdefault(tuple(row[name] for name in by), []).append(row["think_time"])
    return {key: (median(times), len(times)) for key, times in groups.items()}


def continuation(jobs, chosen=lambda row: True):
    """Median response, share of continued sessions and jobs, by response bin that has some."""
    points = {}
    rows = [row for row in positive(followed(jobs)) if chosen(row)]
    for k in sorted({row["response_bin"] for row in rows}):
        its = [row for row in rows if row["response_bin"] == k]
        stays = sum(row["think_time"] <= SESSION for row in its)
        points[k] = median(row["response"] for row in its), stays / len(its), len(its)
    return points


def short_wait(row):
    return row["wait"] <= SHORT


def short_run(row):
    return row["run"] <= SHORT


def misfit(a, b, points):
    """Sum of squares of p - a / (b r + 1), r in minutes."""
    return sum((p - a / (b * r + 1)) ** 2 for r, p in points)


def weeks(jobs):
    """Jobs and mean node-seconds of each whole week since the first submission."""
    first, last = jobs[0]["submit"], jobs[-1]["submit"]
    slices = []
    for k in range(int((last - first) // WEEK)):
        begin = first + k * WEEK
        its = [job for job in ran(jobs).values() if begin <= job["submit"] < begin + WEEK]
        work = [job["procs"] * job["run"] for job in its]
        slices.append((len(its), sum(work) / len(work) if work else math.nan))
    return slices


def spearman(pairs):
    """Correlation of ranks; equal values share the mean of their ranks."""
    x, y = (ranks(values) for values in zip(*pairs, strict=True))
    mean = (len(pairs) + 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    return both / math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))


def ranks(values):
    return [sum(v < x for v in values) + (1 + sum(v == x for v in values)) / 2 for x in values]
