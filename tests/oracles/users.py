"""Long-term and temporary users, from Zakay and Feitelson (2014), section 4."""

from tests.oracles.sessions import ran

WEEK = 7 * 24 * 3600


def classify(jobs):
    """First and last submission, number of jobs and class of each known user whose jobs ran.

    The logging period is from the first to the last job in the log, whether they ran or not.
    """
    begin, end = jobs[0]["submit"], jobs[-1]["submit"]
    submits = {}
    for job in ran(jobs).values():
        if job["user"] != -1:
            submits.setdefault(job["user"], []).append(job["submit"])
    return {
        user: (times[0], times[-1], len(times), kind(times[0], times[-1], begin, end))
        for user, times in submits.items()
    }


def kind(first, last, begin, end):
    if last - first > 12 * WEEK:
        return "long-term"
    if last <= begin + 4 * WEEK or first >= end - 4 * WEEK:
        return "truncated"
    return "temporary"
