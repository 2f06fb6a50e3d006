"""Which users look automatic, from the definition: one user at a time, every pair of times."""

from collections import Counter
from itertools import pairwise

HOUR, DAY = 3600, 86400


def repeated(times):
    """The largest share of times that lie within 1 % (at least 1 s, at most 60 s) above one."""
    return max(
        sum(1 for other in times if least <= other <= least + min(max(least / 100, 1), 60))
        for least in times
    ) / len(times)  # fmt: skip


def measures(jobs, n_jobs):
    """Measures of one user; jobs are (local submission, run or None, procs), by submission."""
    submit = [job[0] for job in jobs]
    hours = {int(time // HOUR) for time in submit}
    nights = [sum(1 for h in hours if (h - first) % 24 < 8) for first in range(24)]
    longest = begin = 0
    for i, time in enumerate(submit):
        if i == 0 or time - submit[i - 1] >= 6 * HOUR:
            begin = time
        longest = max(longest, time - begin)
    pauses = [b - a for a, b in pairwise(submit) if b - a >= 60]
    runs = [job[1] for job in jobs if job[1] is not None]
    sizes = [job[2] for job in jobs if job[2] > 0]
    return {
        "all_hours": min(nights) / len(hours) if len(hours) >= 100 else None,
        "awake": longest,
        "spacing": repeated(pauses) if len(pauses) >= 50 else None,
        "sizes": max(Counter(sizes).values()) / len(sizes) if len(sizes) >= 100 else None,
        "runs": repeated(runs) if len(runs) >= 100 else None,
        "share": len(jobs) / n_jobs,
    }


LIMITS = {"all_hours": 1 / 4, "awake": 3 * DAY, "spacing": 1 / 4, "sizes": 0.95, "runs": 0.4}
LIMITS["share"] = 0.1


def is_automatic(found):
    signs = {name for name, least in LIMITS.items() if found[name] is not None}
    signs = {name for name in signs if found[name] >= LIMITS[name]}
    clockwork = found["spacing"] is not None and found["spacing"] >= 0.5
    return clockwork or (len(signs) > 1 and bool(signs & {"all_hours", "awake", "spacing"}))


def automatic(jobs):
    """Measures of the users with 100 jobs or more; jobs are (user, submission, run, procs)."""
    users = {job[0] for job in jobs} - {-1}
    own = {user: [job[1:] for job in jobs if job[0] == user] for user in users}
    return {user: measures(some, len(jobs)) for user, some in own.items() if len(some) >= 100}
