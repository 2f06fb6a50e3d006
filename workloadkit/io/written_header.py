"""The header of a log for a format that cannot hold all of the log."""

from workloadkit.header import Header
from workloadkit.trace import Trace


def header_without_bursts(trace: Trace, n_jobs: int) -> Header:
    """Return the header for a log if only some jobs, and no bursts, are written.

    MaxJobs and MaxRecords are updated if they were correct.

    Parameters
    ----------
    trace : Trace
    n_jobs : int
        Number of jobs that are written.

    Examples
    --------
    >>> from workloadkit import Header, Trace
    >>> trace = Trace.from_columns({"submit": [0, 5]}, header=Header(("; MaxJobs: 2",)))
    >>> header_without_bursts(trace, 1).lines
    ('; MaxJobs: 1',)
    """
    header = trace.header
    n_bursts = trace.n_bursts
    for label, before in (("MaxJobs", trace.n_jobs), ("MaxRecords", trace.n_jobs + n_bursts)):
        if before != n_jobs and header.number(label) == before:
            header = header.replaced(label, str(n_jobs))
    if n_bursts and header.get("Preemption") is not None:
        header = header.replaced("Preemption", "No")  # the written file has no bursts
    return header
