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


def medians_and_shares(rows, by):
    """Of each bin that has some: jobs, median response, median think time, share continued."""
    groups = {}
    for row in positive(rows):
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return {
        key: (
            len(its),
            median(row["response"] for row in its),
            median(row["think_time"] for row in its),
            sum(row["think_time"] <= SESSION for row in its) / len(its),
        )
        for key, its in groups.items()
    }


def explained(rows, quantities):
    """Share of the deviance of continuing or not that these quantities explain."""
    x, y = observations(rows, quantities)
    constant = math.log(sum(y) / (len(y) - sum(y)))
    return 1 - deviance(fit_logistic(x, y), x, y) / deviance([constant], [[1]] * len(y), y)


def observations(rows, quantities):
    """A one and the quantities' logarithms for each job; and whether its user continued."""
    x = [[1, *(math.log10(max(row[name], 1)) for name in quantities)] for row in rows]
    return x, [row["think_time"] <= SESSION for row in rows]


def fit_logistic(x, y):
    """Coefficients of greatest likelihood, by Newton's method."""
    beta = [0.0] * len(x[0])
    for _ in range(50):
        p = [probability(beta, row) for row in x]
        slope = [
            sum((v - q) * row[i] for v, q, row in zip(y, p, x, strict=True)) for i in places(beta)
        ]
        bend = [
            [
                sum(q * (1 - q) * row[i] * row[j] for q, row in zip(p, x, strict=True))
                for j in places(beta)
            ]
            for i in places(beta)
        ]
        beta = [b + step for b, step in zip(beta, solve(bend, slope), strict=True)]
    return beta


def places(values):
    return range(len(values))


def probability(beta, row):
    return 1 / (1 + math.exp(-sum(b * value for b, value in zip(beta, row, strict=True))))


def deviance(beta, x, y):
    p = [probability(beta, row) for row in x]
    return -2 * sum(math.log(q if v else 1 - q) for v, q in zip(y, p, strict=True))


def solve(a, b):
    """Solution of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(a, b, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [u - factor * v for u, v in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]
