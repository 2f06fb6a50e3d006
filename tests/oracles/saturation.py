"""When a simulation is saturated: by Zakay and Feitelson (2014), section 6.3, and by backlog."""

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
    """How many jobs more are outstanding each week; None if it cannot be known."""
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


def backlog(jobs, machine):
    """Growth, last emptiness and longest wait of any, of jobs (submit, start, run, procs).

    None where less than three weeks begin.
    """
    first, last = min(job[0] for job in jobs), max(job[0] for job in jobs)
    if last - first < 2 * WEEK:
        return None
    instants = sorted({time for job in jobs for time in job[:2] if time <= last})

    def waiting(time):
        return [job for job in jobs if job[0] <= time < job[1]]

    def of_machine(time):
        return math.fsum(run * procs for _, _, run, procs in waiting(time)) / machine

    held = [of_machine(time) for time in instants]
    least = []
    for step in range(81):
        time = first + step * (last - first) / 100
        later = [work for at, work in zip(instants, held, strict=True) if at > time]
        least.append(min([of_machine(time), *later]))
    spans, begin = [], first  # in which some job waits always
    emptied = first
    for at, after in zip(instants, [*instants[1:], last], strict=True):
        if not waiting(at):
            spans.append(at - begin)
            begin = emptied = after
    spans.append(last - begin)
    a_step = (last - first) / 100
    return slope(least) / a_step, (emptied - first) / (last - first), max(spans)
