"""Intervals of jobs and percentiles of waits, by `sorted` and `datetime`."""

import math
from datetime import datetime
from zoneinfo import ZoneInfo


def intervals(job):
    """Submit to eligible, eligible to start, start to end; None where an end of it is unknown."""

    def between(first, last):
        known = job[first] is not None and job[last] is not None
        return job[last] - job[first] if known else None

    return between("submit", "eligible"), between("eligible", "start"), between("start", "end")


def percentile(values, percent):
    """Between the two nearest values, in proportion; of none, nothing."""
    values = sorted(values)
    if not values:
        return math.nan
    place = (len(values) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def month(second, zone="UTC"):
    """Year and month of a second since 1970."""
    local = datetime.fromtimestamp(second, ZoneInfo(zone))
    return f"{local:%Y-%m}"


def grouped(jobs, name, period):
    """Waits of jobs by what they are of and the period they were submitted in."""
    waits = {}
    for job in jobs:
        if job["wait"] is not None:
            waits.setdefault((job[name], period(job)), []).append(job["wait"])
    return waits
