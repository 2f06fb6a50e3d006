"""Long-term and temporary users, from Zakay and Feitelson (2014), section 4."""

from tests.oracles.sessions import ran

WEEK = 7 * 24 * 3600


def classify(jobs, end_effects="whole"):
    """First and last submission, number of jobs and class of each known user whose jobs ran.

    The logging period is from the first to the last job in the log, whether they ran or not.
    """
    begin, end = jobs[0]["submit"], jobs[-1]["submit"]
    submits = {}
    for job in ran(jobs).values():
        if job["user"] != -1:
            submits.setdefault(job["user"], []).append(job["submit"])
    return {
        user: (times[0], times[-1], len(times), kind(times, begin, end, end_effects))
        for user, times in submits.items()
    }


def kind(times, begin, end, end_effects):
    """Class of a user of these submit times.

    The activity of a truncated one "falls within a short time" from an end: whole, or any of it.
    """
    if times[-1] - times[0] > 12 * WEEK:
        return "long-term"
    some = {"whole": all, "any": any}[end_effects]
    if some(time <= begin + 4 * WEEK for time in times):
        return "truncated"
    if some(time >= end - 4 * WEEK for time in times):
        return "truncated"
    return "temporary"


def work(jobs):
    """Jobs and work of each known user whose jobs ran: lists of run × processors."""
    works = {}
    for job in ran(jobs).values():
        if job["user"] != -1:
            works.setdefault(job["user"], []).append(job["run"] * job["procs"])
    return works


def who_make_half(amounts):
    """The fewest users who together make half of something; None where ties leave a choice."""
    ordered = sorted(amounts, key=lambda user: -amounts[user])
    total = sum(amounts.values())
    n = next(n for n in range(1, len(ordered) + 1) if 2 * sum_of(amounts, ordered[:n]) >= total)
    if n < len(ordered) and amounts[ordered[n - 1]] == amounts[ordered[n]]:
        return None
    return set(ordered[:n])


def sum_of(amounts, users):
    return sum(amounts[user] for user in users)


def length(jobs, user):
    """Class of a user's median run time: up to 1 min, up to 10 min, longer."""
    runs = sorted(job["run"] for job in ran(jobs).values() if job["user"] == user)
    n = len(runs)
    median = (runs[(n - 1) // 2] + runs[n // 2]) / 2
    return "short" if median <= 60 else "medium" if median <= 600 else "long"
