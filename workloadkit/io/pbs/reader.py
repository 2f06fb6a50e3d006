"""Read the accounting records of PBS Pro, OpenPBS, Torque and Moab."""

import re
from pathlib import Path

from workloadkit.io.assemble import assemble
from workloadkit.io.files import Source, source_path
from workloadkit.io.lines import Sources, line_blocks, list_of_sources
from workloadkit.io.pbs.jobs import Reader
from workloadkit.io.records import ImportOptions
from workloadkit.trace import Trace

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
    (status 5) where the file tells its submission (Q, or the ctime of another record), else it is
    counted. All else is counted: jobs that started or were queued and did not end, reservations,
    licences, arrays as a whole (their tasks are the jobs). E and R records of one id and
    submission are the attempts of one job; the last one is the job. Files named by their days
    (``20241121``) are read in the order of the days.

    Times
        submit is ctime, else qtime, else etime; eligible is etime. All are seconds since 1970.
        The dates of the lines are local time and needed only for D, A and Q records; where those
        of E records do not fit `tz`, the offset that they fit is noted.
        run is ``resources_used.walltime``, which leaves out time suspended; without it, or where
        it is 0, end − start. What disagrees by more than a minute is counted.
    Processors
        Allocated: ``exec_vnode`` (its ncpus), else ``exec_host`` (its places), else
        ``resources_used.ncpus``, else as many as requested. Requested: the largest number of
        ``select``, ``nodes`` (times ppn), ``procs``, ``mppwidth`` and ``ncpus``, else nodect.
    Memory and CPU time
        Of the job, per allocated processor; whole KB. ``pmem`` is requested by processor, ``mem``
        by job, what stands in ``select`` or ``nodes`` by node.
    Status
        1 where Exit_status is 0; 5 where it is 271 or 265 (256 and SIGTERM or SIGKILL: what qdel
        and the limits send); 0 for all others, the negative ones of PBS too; −1 without it.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compressed files are known by their first bytes.
    tz : str, default "UTC"
        Zone of the dates of the lines, and of the log.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Make each attempt of a requeued job a partial line of it.
    anonymize : bool, default False
        Leave out all names and ids.
    key : bytes, optional
        What makes numbers of names, the same in every log; only with `anonymize`.

    Returns
    -------
    Trace
        With `Trace.intake`, what became of each line, and `Trace.sidecar`, what does not fit
        into the Standard Workload Format.

    Raises
    ------
    FormatError
        If a file cannot be read or there is no job.
    ParameterError
        For options that cannot be.

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
    reader = Reader(options.tz)
    for block in line_blocks(sources, reader.records.digest):
        reader.read(block)
    reader.finish()
    return assemble(
        reader.records,
        kind="PBS accounting",
        path=source_path(sources[0]),
        options=options,
        states=("E", "R", "D", "A"),
    )


def looks_like(first_lines: list[str]) -> bool:
    """Whether a file that begins like this is accounting of PBS.

    Examples
    --------
    >>> looks_like(["11/09/2014 23:59:51;E;7.host;user=al ctime=100"])
    True
    """
    lines = [line for line in first_lines if line.strip()]
    lines = lines[:-1] or lines  # the last one may be cut
    return sum(bool(_LINE.match(line)) for line in lines) * 2 > len(lines)


def _by_day(sources: list[Source]) -> list[Source]:
    """Put files in the order of their days, if these are their names."""
    names = [Path(source_path(source)).name for source in sources]
    if all(_DAY.fullmatch(name) for name in names):
        return [sources[i] for i in sorted(range(len(names)), key=names.__getitem__)]
    return sources
