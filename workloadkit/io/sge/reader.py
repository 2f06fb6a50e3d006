"""Read the accounting of Grid Engine: Sun's, Univa's, Altair's, and Open Cluster Scheduler."""

import re

from workloadkit.io.assemble import assemble
from workloadkit.io.files import source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions
from workloadkit.io.sge.jobs import SgeReader, is_comment, is_qacct
from workloadkit.io.sge.lines import parted
from workloadkit.io.sge.rows import FAILURES
from workloadkit.trace import Trace

# A record of the file `reporting`, which has two more fields before those of accounting.
_REPORTING = re.compile(r"\d+:acct:")


def read_sge(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    r"""Read the accounting file of Grid Engine [1]_, of any version since 6.0.

    Two forms are supported: fields separated by colons (43 in version 6.0, more in later ones;
    names of jobs, accounts and categories may contain colons), and one JSON object per line. Times
    are in seconds, milliseconds (Univa 8.2 and later) or microseconds (JSON), recognized by their
    size, and truncated to whole seconds.

    A line with a ``pe_taskid`` is a task of a parallel job: its CPU time and memory are added to
    those of the job. Lines with the same job, array task and submission are attempts of the job
    (it was rescheduled, or failed to start at first); the last one is the job.

    The status follows from the fields failed and exit_status:

    ================================================  ======
    failed 0, exit_status 0                           1
    deleted by a user (qdelinfo of Univa)             5
    failed 17 or 100, through SIGKILL or SIGTERM      5
    (exit_status 137, 143): qdel and the limits
    no start, and failed 0, 17 or 100                 5
    all else: other exits and signals, a limit that   0
    the qmaster enforced (37), failures to start,
    rescheduled without a later line (24, 25)
    ================================================  ======

    Processors are the slots; the number in ``-pe`` of the category is requested, else the slots.
    Requested time is ``h_rt``, else ``s_rt``; requested memory ``h_vmem``, else ``mem_free``,
    ``m_mem_free``, ``virtual_free`` or ``s_vmem``, by slot. Memory used is maxrss (Univa, JSON),
    else ru_maxrss, else maxvmem; CPU time is cpu, else ru_utime + ru_stime; both per slot, memory
    in whole KB. The account is the project, else a department or account other than the default.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content. The output of qacct is
        not supported.
    tz : str, default "UTC"
        Time zone of the log; the times are independent of it.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job becomes one of its partial executions.
    anonymize : bool, default False
        Whether to leave out all names and ids.
    key : bytes, optional
        Secret from which numbers for names are derived, the same in every log; only with
        `anonymize`.

    Returns
    -------
    Trace
        `Trace.intake` reports what became of each line; `Trace.sidecar` has the data without a
        field in the Standard Workload Format.

    Raises
    ------
    FormatError
        If a file cannot be read or contains no job.
    ParameterError
        For invalid options.

    References
    ----------
    .. [1] Grid Engine manual pages, accounting(5) and sge_status(5).

    Examples
    --------
    >>> import io
    >>> usage = "0:" * 17 + "NONE:dep:mpi:4:0:360:0:0:-pe mpi 4:0:NONE:0"
    >>> text = f"q:host:grp:al:a:77:sge:0:1310761621:1310761700:1310761760:0:0:60:{usage}"
    >>> trace = read_sge(io.BytesIO(text.encode()))
    >>> trace.jobs[["submit", "wait", "run", "procs", "cpu"]].to_numpy().tolist()
    [[0.0, 79.0, 60.0, 4.0, 90.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    sources = list_of_sources(source)
    reader = SgeReader()
    for block in reader.records.line_blocks(sources):
        reader.read(block)
    reader.finish()
    return assemble(
        reader.records,
        kind="Grid Engine accounting",
        path=source_path(sources[0]),
        options=options,
        states=FAILURES.values(),
    )


def looks_like(first_lines: list[str]) -> bool:
    """Whether one of the first lines of a file is a record of Grid Engine, or it is from qacct.

    Examples
    --------
    >>> looks_like(["# Version: 6.2", "one:two:three"])
    False
    """
    lines = [line for line in first_lines if not is_comment(line)]
    if lines and is_qacct(lines):
        return True
    return any(parted(line) is not None for line in lines if not _REPORTING.match(line))
