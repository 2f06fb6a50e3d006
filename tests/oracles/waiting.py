"""Intervals of jobs and percentiles of waits, by `sorted` and `datetime`."""

import statistics
from datetime import datetime
from zoneinfo import ZoneInfo


def intervals(job):
    """Submit to eligible, eligible to start, start to end; None where an end of it is unknown.

    Who was eligible before the submission or after the start was so then; who never started has
    no interval.
    """
    if job["start"] is None:
        return None, None, None
    to_end = None if job["end"] is None else job["end"] - job["start"]
    if job["eligible"] is None:
        return None, None, to_end
    eligible = min(max(job["eligible"], job["submit"]), job["start"])
    return eligible - job["submit"], job["start"] - eligible, to_end


def percentile(values, percent):
    """The smallest of the values that so many percent of them do not exceed, or the median."""
    values = sorted(values)
    if percent == 50:
        return statistics.median(values)
    return next(v for i, v in enumerate(values, 1) if 100 * i >= percent * len(values))


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
