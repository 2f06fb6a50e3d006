"""The rule by which a simulation is saturated, from Zakay and Feitelson (2014), section 6.3."""

import math

WEEK = 7 * 24 * 3600


def outstanding(jobs):
    """How many jobs (submit, end) "have arrived but not terminated yet" as each week begins.

    Weeks from the first submission, as long as jobs arrive.
    """
    submits = [submit for submit, _ in jobs]
    counts, begin = [], min(submits)
    while begin <= max(submits):
        counts.append(sum(submit <= begin < end for submit, end in jobs))
        begin += WEEK
    return counts


def growth(counts):
    """How many jobs more are outstanding each week; None if that cannot be told."""
    least = [min(counts[week:]) for week in range(len(counts))]
    kept = least[: len(counts) - len(counts) // 5]  # "Delete the last 20% of the values"
    return slope(kept) if len(kept) > 1 else None


def is_saturated(counts):
    """Stable if the number "grows by no more than one job per week"."""
    return growth(counts) is not None and growth(counts) > 1


def slope(y):
    """Of the least-squares line through values, one a week."""
    n = len(y)
    middle, mean = (n - 1) / 2, math.fsum(y) / n
    return sum((x - middle) * (value - mean) for x, value in enumerate(y)) / sum(
        (x - middle) ** 2 for x in range(n)
    )
