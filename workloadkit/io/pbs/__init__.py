"""Accounting of PBS Pro, OpenPBS, Torque and Moab.

`lexer` splits lines into keys and values, `jobs` decides what each line contributes, `requests`
interprets the values, and `rows` builds columns of records.
"""

import re
from pathlib import Path

from workloadkit.io.assemble import assemble
from workloadkit.io.files import Source, source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.pbs.jobs import PbsReader
from workloadkit.io.pbs.rows import STATES
from workloadkit.io.records import ImportOptions
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_pbs"]


_LINE = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];[^;]*(;|$)", re.ASCII)
_DAY = re.compile(r"\d{8}(\.\w+)?", re.ASCII)


def read_pbs(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    r"""Read the accounting of PBS Pro, OpenPBS, Torque or Moab [1]_: ``date;E;id;key=value …``.

    E records are the jobs. A job deleted or aborted (D, A) before it started is a cancelled job
    (status 5) if the file contains its submission (Q, or the ctime of another record). All other
    records are counted: jobs that started or were queued and did not end, reservations, licences,
    whole arrays (their tasks are the jobs). E and R records with the same id and submission are
    attempts of one job, unless they overlap; the last one is the job, and the side-car has all. An
    R record without times (Torque) lasts from its S record to the date of its line. A job that
    released nodes ran in phases (u, c and e; its E record has the nodes of its start): its
    processors are their mean, and the side-car has each phase. A job without hosts and run time
    that did not end with 0 never started. Files named by days (``20241121``) are read in the order
    of the days.

    Times
        submit is ctime, else qtime, else etime; eligible is etime. All are seconds since 1970.
        The dates of the lines are local time, needed only for D, A and Q records; if those of E
        records do not fit `tz`, the offset that they fit is noted.
        run is ``resources_used.walltime``, which excludes suspension; without it, or if it is 0,
        end − start. Differences above one minute are counted.
    Processors
        Allocated: ``exec_vnode`` (its ncpus), else ``exec_host`` (its places), else
        ``resources_used.ncpus``, else the requested number. Requested: the largest number of
        ``select``, ``nodes`` (times ppn), ``procs``, ``mppwidth`` and ``ncpus``, else nodect.
    Memory and CPU time
        Of the job, per allocated processor; whole KB. ``pmem`` is per processor, ``mem`` per job,
        values within ``select`` or ``nodes`` per node.
    Status
        1 if Exit_status is 0; 5 if it is 271 or 265 (256 plus SIGTERM or SIGKILL, sent by qdel and
        by limits); 0 for all others, including the negative ones of PBS; −1 without it.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    tz : str, default "UTC"
        Time zone of the dates of the lines, and of the log.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions.
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
    .. [1] Altair, "PBS Professional Administrator's Guide", accounting; Adaptive Computing,
       "Torque Administrator Guide", accounting records.

    Examples
    --------
    >>> import io
    >>> text = b"11/09/2014 23:59:51;E;7.host;user=al ctime=100 start=160 end=460 Exit_status=0"
    >>> trace = read_pbs(io.BytesIO(text))
    >>> trace.jobs[["submit", "wait", "run", "status", "user"]].to_numpy().tolist()
    [[0.0, 60.0, 300.0, 1.0, 1.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    sources = _by_day(list_of_sources(source))
    reader = PbsReader(options.zone)
    for block in reader.records.line_blocks(sources):
        reader.read(block)
    reader.finish()
    return assemble(
        reader.records,
        kind="PBS accounting",
        path=source_path(sources[0]),
        options=options,
        states=STATES,
    )


def looks_like(first_lines: list[str]) -> bool:
    """Whether one of the first lines of a file is a record of PBS.

    Examples
    --------
    >>> looks_like(["11/09/2014 23:59:51;E;7.host;user=al ctime=100"])
    True
    """
    return any(map(_LINE.match, first_lines))


def _by_day(sources: list[Source]) -> list[Source]:
    """Sort files named by days."""
    names = [Path(source_path(source)).name for source in sources]
    if all(_DAY.fullmatch(name) for name in names):
        return [sources[i] for i in sorted(range(len(names)), key=names.__getitem__)]
    return sources
