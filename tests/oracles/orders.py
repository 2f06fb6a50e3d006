"""Orders of the waiting jobs, by definition; what is smaller comes first."""

import math


def ratio(wait, length):
    """Return wait / length; of a job of 0 s infinite, or 0 if it has not waited."""
    return wait / length if length else math.inf if wait else 0


def log10(time):
    return math.log10(time) if time else -math.inf


ORDERS = {
    "arrival": lambda site, job: 0,  # who waits stands in the order of arrival
    "sjf": lambda site, job: site.estimate[job],
    "ljf": lambda site, job: -site.estimate[job],
    "smallest": lambda site, job: site.procs[job],
    "largest": lambda site, job: -site.procs[job],
    "wfp3": lambda site, job: -(ratio(site.wait(job), site.estimate[job]) ** 3 * site.procs[job]),
    "unicef": lambda site, job: (
        -ratio(site.wait(job), max(math.log2(site.procs[job]), 1) * site.estimate[job])
    ),
    "f1": lambda site, job: (
        log10(site.estimate[job]) * site.procs[job] + 870 * math.log10(max(site.submit[job], 1))
    ),
    "f1:since=first": lambda site, job: (
        log10(site.estimate[job]) * site.procs[job]
        + 870 * math.log10(max(site.submit[job] - site.first_submit, 1))
    ),
}


def in_order(order, site):
    """Sort who waits now by an order, a name or a function; ties go by arrival."""
    value = ORDERS.get(order, order)
    return sorted(site.waiting, key=lambda job: value(site, job))


def users_in_order(site, by):
    """Sort the users who have waiting jobs: least work waiting, or latest submission, first."""

    def load(user):
        total = 0
        for job in site.waiting:  # one by one: sum() of decimals rounds otherwise in newer Pythons
            if site.user[job] == user:
                total += site.estimate[job] * site.procs[job]
        return total

    def silence(user):
        arrived = [*site.waiting, *site.start, *site.left]
        return -max(site.submit[job] for job in arrived if site.user[job] == user)

    value = {"load": load, "recency": silence}[by]
    return sorted({site.user[job] for job in site.waiting}, key=lambda user: (value(user), user))
