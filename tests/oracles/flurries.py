"""Shares of users in a log's days and jobs, by counting."""

from collections import Counter

DAY = 86400


def jobs_by_day(jobs):
    """Jobs of each day of each user; jobs are pairs of submit time and user."""
    return Counter((int(submit // DAY), user) for submit, user in jobs)


def days_of(jobs, user, share=0.5):
    """Days on which a user submits more than a share of all jobs."""
    counts = jobs_by_day(jobs)
    days = Counter(int(submit // DAY) for submit, _ in jobs)
    return sorted(day for day, total in days.items() if counts[day, user] > share * total)


def share_of(jobs, removed):
    """Share of all jobs that are removed."""
    return sum(removed) / len(jobs)


def longest_lead(users, user):
    """Jobs of a user, and of all others, in the stretch in which he is ahead of them by most."""
    best, begin, lead = (0, 0, 0), 0, 0
    for i, who in enumerate(users):
        lead += 1 if who == user else -1
        if lead <= 0:
            lead, begin = 0, i + 1
        best = max(best, (lead, -begin, -i))
    inside = users[-best[1] : 1 - best[2]]
    own = sum(who == user for who in inside)
    return own, len(inside) - own
