"""Stack depth and daily concentration, from Zakay and Feitelson (2014), section 5.2."""

import math
from fractions import Fraction


def stack_depth(values, tolerance=0):
    """Mean depth at which values are found in the stack; NaN if none is."""
    stack, depths = [], []
    for value in values:
        near = [d for d, stored in enumerate(stack) if abs(value - stored) <= tolerance * stored]
        if near:
            depths.append(near[0])
            stack.insert(0, stack.pop(near[0]))
        else:
            stack.insert(0, value)
    return sum(depths) / len(depths) if depths else math.nan


def daily_concentration(values, days):
    """Share of the fullest of the log's 16 bins among each day's values, by day."""
    edges = [quantile(values, Fraction(k, 16)) for k in range(1, 17)]
    bins = [min(k for k in range(16) if value <= edges[k]) for value in values]
    by_day = {}
    for b, day in zip(bins, days, strict=True):
        by_day.setdefault(day, []).append(b)
    shares = {}
    for day, todays in sorted(by_day.items()):
        shares[day] = max(todays.count(k) for k in range(16)) / len(todays)
    return shares


def quantile(values, q):
    """The value at place (n - 1) q of the sorted ones, interpolated linearly."""
    ordered = [Fraction(value) for value in sorted(values)]
    place = (len(ordered) - 1) * q
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
