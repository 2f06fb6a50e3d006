"""Shaking, from Zakay and Feitelson (2014), section 6.5.3."""

from tests.oracles.sessions import delimit


def units(jobs, unit):
    """The rows of each piece that is shifted as a whole; jobs of unknown user (-1) go alone.

    Sessions are those by arrivals; what never ran is in none of them, nor in a batch.
    """
    if unit == "job":
        return [[row] for row in range(len(jobs))]
    if unit == "user":
        label = {row: job["user"] for row, job in enumerate(jobs)}
    else:
        of = delimit(jobs, "arrival", 3600)
        label = {row: labels[0 if unit == "session" else 1] for row, labels in of.items()}
    pieces = {}
    for row, job in enumerate(jobs):
        alone = job["user"] == -1 or row not in label
        pieces.setdefault(("alone", row) if alone else label[row], []).append(row)
    return list(pieces.values())


def lowest_shift(jobs, piece, by):
    """A piece is not moved before the log's second 0, or its first submission if that is before."""
    earliest = min(0, min(job["submit"] for job in jobs))
    return max(-by, earliest - min(jobs[row]["submit"] for row in piece))
