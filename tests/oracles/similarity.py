"""Similarity of a user's jobs by distance in sessions, from Zakay and Feitelson (2014), section 3.

Exact fractions, pair by pair. `jobs` are as in `tests.oracles.sessions`.
"""

from fractions import Fraction

from tests.oracles import sessions

HOUR = 3600


def ratios(jobs, attribute, distance):
    """Similarities of all pairs of jobs whose sessions are `distance` apart, by user."""
    by_user = {}
    for user, its_sessions in sessions_by_user(jobs).items():
        by_user[user] = [
            ratio(jobs[i][attribute], jobs[j][attribute])
            for i, j in pairs(its_sessions, distance)
            if jobs[i][attribute] is not None and jobs[j][attribute] is not None
        ]
    return by_user


def sessions_by_user(jobs):
    """The sessions of each user of known identity, in order, as lists of places in `jobs`."""
    by_user = {}
    for i, (session, _, _) in sessions.delimit_by_arrival(jobs, HOUR).items():
        if jobs[i]["user"] != -1:
            by_user.setdefault(jobs[i]["user"], {}).setdefault(session, []).append(i)
    return {user: list(its.values()) for user, its in by_user.items()}


def pairs(its_sessions, distance):
    for k in range(len(its_sessions) - distance):
        near, far = its_sessions[k], its_sessions[k + distance]
        for i in near:
            for j in far:
                if distance > 0 or i < j:
                    yield i, j


def ratio(a, b):
    return Fraction(1) if a == b else Fraction(min(a, b)) / Fraction(max(a, b))


def measure(values, name):
    """The average, the upper median or the share of ones; None of nothing."""
    if not values:
        return None
    if name == "average":
        return sum(values) / len(values)
    if name == "median":
        return sorted(values)[len(values) // 2]
    return Fraction(sum(value == 1 for value in values), len(values))


def has_locality_to_show(its_sessions):
    """Whether a user has at least 6 sessions and one of at least 2 jobs."""
    return len(its_sessions) >= 6 and any(len(session) >= 2 for session in its_sessions)


def users_compared(jobs, attribute, name, short, long):
    """How many users are alike more at the `short` distance, equally, more at the `long` one.

    A user who has no pairs at one of the two is of none of these: the fourth number.
    """
    near, far = ratios(jobs, attribute, short), ratios(jobs, attribute, long)
    counts = [0, 0, 0, 0]
    for user, its_sessions in sessions_by_user(jobs).items():
        if has_locality_to_show(its_sessions):
            a, b = measure(near[user], name), measure(far[user], name)
            if a is None or b is None:
                counts[3] += 1
            else:
                counts[(a <= b) + (a < b)] += 1
    return counts
