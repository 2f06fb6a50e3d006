"""The stability of a workload: the work of each period, from Zakay and Feitelson (2014), 6.5.5."""

import math

LENGTH = {"hour": 3600, "day": 86400, "week": 7 * 86400}
MONDAY = 3 * 86400  # 1 January 1970 was a Thursday


def work(jobs, calendar, period):
    """Work submitted in each period of the clock on the wall; weeks begin on Mondays.

    Without a zone the log's second 0 is one.
    """
    since = MONDAY if calendar.zone else 0
    total = {}
    for job in jobs:
        if job["run"] >= 0 and job["procs"] > 0:
            at = math.floor((calendar.shows(job["submit"]) + since) / LENGTH[period])
            total[at] = total.get(at, 0) + job["run"] * job["procs"]
    return total


def is_stable(before, after, tolerance):
    """Whether the work of no period differs by more than a share of what it was."""
    return before.keys() == after.keys() and all(
        abs(after[at] - before[at]) <= tolerance * before[at] * (1 + 1e-12) for at in before
    )
