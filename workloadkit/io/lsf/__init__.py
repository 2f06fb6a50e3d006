"""Accounting of LSF, lsb.acct.

JOB_FINISH and JOB_RESIZE records of versions 6 to 10: `record` splits one into its fields, `lexer`
many, and `jobs` converts them to columns, with the job states and termination reasons of LSF.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import FormatError
from workloadkit.io.assemble import assemble
from workloadkit.io.cells import Words
from workloadkit.io.files import source_path
from workloadkit.io.lines import LONGEST_LINE, Block, Lines, Sources, list_of_sources
from workloadkit.io.lsf.jobs import STATES, add_jobs
from workloadkit.io.lsf.lexer import lex
from workloadkit.io.lsf.record import (
    TEXTS,
    TEXTS_BEHIND,
    Finish,
    MalformedError,
    fields_of,
    parse,
    parse_resize,
)
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.resizing import UNKNOWN_SIZES, RunPart, split_runs
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_lsf"]


KIND = "LSF accounting (lsb.acct)"

_JOB_FINISH = '"JOB_FINISH" '
_NEXT_RECORD = '"JOB_FINISH" "'  # cannot occur within quoted text
_RECORD = re.compile(r'"([A-Z][A-Z0-9_]*)" +"[\d.]*" +\d')
_TEXTS = (*TEXTS, *TEXTS_BEHIND, "hosts")
_OTHER_RECORDS = frozenset({"EVENT_ADRSV_FINISH"})
_JOB_RESIZE = "JOB_RESIZE"
_NOT_ENDED = "changed sizes of jobs that did not end (JOB_RESIZE)"


def read_lsf(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read LSF's accounting, lsb.acct [1]_.

    A job's processors are the slots on its hosts (``16*host`` counts 16; repeated hosts count
    repeatedly), those at its end or, if it was resized (JOB_RESIZE), their mean over its run; the
    side-car has its parts. Its requested processors are numProcessors. Its run time is runTime if
    recorded, which excludes suspension, else the time from start to the event. The requested time
    is the run limit (``bsub -W``, of a queue or of an application), in LSF 9 and later; not used
    are the estimate (``-We``), which is scaled by the host and no limit, and a ``#BSUB -W`` within
    the command, which may be overridden. CPU time and memory (maxRMem) are those of the job
    divided by its processors. The account is the project, the executable the job name (for an
    array without its indices), else the program of the command; the quality of service is the
    service class. A record without an index for several elements of an array is one job.

    Records with the same id and submission are attempts of one job, unless they overlap: the last
    one is the job, and the side-car has all. A job without start, or without execution hosts, run
    time and CPU time, never started.

    A job is eligible after ineligiblePendTime, else at its begin time (``bsub -b``).

    ==========================================================================  ======
    state and exitInfo                                                          status
    ==========================================================================  ======
    DONE                                                                        1
    EXIT before it started                                                      5
    EXIT, stopped by a user, an administrator or a limit: TERM_ADMIN,           5
    BUCKET_KILL, CHKPNT, CPULIMIT, DEADLINE, FORCE_ADMIN, FORCE_OWNER,
    MEMLIMIT, OWNER, PROCESSLIMIT, REMOVE_HUNG_JOB, REQUEUE_ADMIN,
    REQUEUE_OWNER, RUNLIMIT, SWAP, THREADLIMIT, WINDOW
    EXIT for any other reason                                                   0
    no end yet (PEND, RUN, ...)                                                 no job
    ==========================================================================  ======

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    tz : str, default "UTC"
        Time zone of the log; the file's times are seconds since 1970.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions.
    anonymize : bool, default False
        Whether to leave out all names and job ids.
    key : bytes, optional
        Secret from which numbers for names are derived, the same in every log.

    Returns
    -------
    Trace
        Its `intake` lists the records left out, with reasons.

    Raises
    ------
    FormatError
        If a file cannot be read, contains no job, or is a stream file (lsb.stream).
    ParameterError
        For invalid options.

    References
    ----------
    .. [1] IBM Spectrum LSF 10.1.0, configuration reference, "lsb.acct" and "Termination reasons".

    Examples
    --------
    >>> import io
    >>> record = (
    ...     '"JOB_FINISH" "10.1" 190 7 500 0 4 100 0 0 130 "ann" "night" "" "" "" "login" "/" ""'
    ...     ' "" "" "100.7" 0 2 "2*n1" "2*n2" 64 1.0 "wrf" "mpirun wrf"' + 19 * " 0"
    ...     + ' "" "climate" 0 4 "" "" 0 8000 0'
    ... )
    >>> trace = read_lsf(io.BytesIO(record.encode()))
    >>> trace.jobs[["wait", "run", "procs", "memory", "status"]].to_numpy().tolist()
    [[30.0, 60.0, 4.0, 2000.0, 1.0]]
    >>> trace.sidecar[["user", "account", "executable"]].to_numpy().tolist()
    [['ann', 'climate', 'wrf']]
    """
    options = ImportOptions(tz=tz, procs=procs, attempts=attempts, anonymize=anonymize, key=key)
    reader = _Reader()
    for block in reader.records.line_blocks(source):
        reader.read(block)
    reader.finish()
    path = source_path(list_of_sources(source)[0])
    return assemble(reader.records, kind=KIND, path=path, options=options, states=STATES)


def looks_like(first_lines: list[str]) -> bool:
    """Whether one of the first lines of a file is a record of lsb.acct or a related file.

    Examples
    --------
    >>> looks_like(['"JOB_FINISH" "9.11" 1389683139 404717 22025'])
    True
    """
    return any(map(_RECORD.match, first_lines))


class _Reader:
    """Collects records; a record with a quoted script may span several lines."""

    def __init__(self) -> None:
        self.records = Records()
        self.held: list[str] = []  # lines of an incomplete record
        self.held_length = 0
        self.held_place = 0
        # number of records by version and extent
        self.extents: defaultdict[str, Counter[float]] = defaultdict(Counter)
        self.parts: list[RunPart] = []  # of resized jobs
        self.resized: list[NDArray[np.int64]] = [np.empty(0, np.int64)]  # lines of their ends

    def read(self, block: Block) -> None:
        """Read whole lines."""
        if block.first_line == 1:
            self.end_file()
        lines = Lines(block.text, block.n_lines)
        found, numbers, cells = lex(lines)
        others: list[Finish] = []
        places: list[int] = []
        for place, text in self.whole_records(block, lines, found):
            if not text.startswith(_JOB_FINISH):
                self.count_other(text, place, block)
                continue
            if text.find(_NEXT_RECORD, 1) > 0:
                n_records = text.count(_NEXT_RECORD)
                self.records.rows += n_records - 1
                self.records.leave_out("invalid record: several on one line", place, n_records)
                continue
            try:
                others.append(parse(fields_of(text)))
            except MalformedError as error:
                self.records.leave_out(f"invalid record: {error}", place)
                continue
            places.append(place)
        where = np.append(block.place + found, np.array(places, np.int64))
        if not where.size:
            return
        order = np.argsort(where)
        columns = dict(zip(Finish._fields, zip(*others, strict=True), strict=False))
        numbers = {
            name: np.append(column, np.array(columns.get(name, ()), np.float64))[order]
            for name, column in numbers.items()
        }
        texts = [*zip(*(columns[name] for name in _TEXTS), strict=True)] if others else []
        cells = cells.with_texts(texts, _TEXTS, order)
        whole = ~self.cut_short(cells.words("version"), numbers["extent"])
        where = where[order]
        kind = "invalid record: truncated"
        for place in where[~whole].tolist():
            self.records.leave_out(kind, place)
        if whole.any():
            numbers = {name: column[whole] for name, column in numbers.items()}
            cells = cells.take(np.flatnonzero(whole))
            self.resized.append(add_jobs(self.records, numbers, cells, where[whole]))

    def finish(self) -> None:
        """Count an incomplete record, and split the runs of resized jobs."""
        self.end_file()
        resized = np.concatenate(self.resized)
        if self.parts:
            table = self.records.frame()
            by = (table["end"] - table["start"]).to_numpy()
            table, known = split_runs(table, self.parts, self.records, by=by, alone=_NOT_ENDED)
            self.records.restore(table)
            resized = resized[~np.isin(resized, known)]
        self.records.note_where(UNKNOWN_SIZES, np.ones(resized.size, bool), resized)

    def cut_short(self, version: Words, extent: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which records are shorter than most of their version so far."""
        cut = np.zeros(extent.size, bool)
        for code, word in enumerate(version.words):
            rows = np.flatnonzero(version.codes == code)
            extents = self.extents[word]
            if len({*extents, *distinct(extent[rows]).tolist()}) == 1:
                extents[extent[rows[0]]] += rows.size
                continue
            for row in rows.tolist():
                extents[extent[row]] += 1
                most = max(extents, key=extents.__getitem__)
                cut[row] = len(extents) > 1 and extent[row] < most
        return cut

    def whole_records(
        self, block: Block, lines: Lines, found: NDArray[np.int64]
    ) -> Iterator[tuple[int, str]]:
        """Yield the records of other lines than those found, with their first lines."""
        left = np.ones(lines.n_lines + 1, bool)
        left[found] = False
        n_found, counted = np.cumsum(~left).tolist(), 0
        for i in np.flatnonzero(left).tolist():
            place = block.place + i
            self.records.rows += n_found[i] - counted
            counted = n_found[i]
            if self.held and i and not left[i - 1]:
                self.end_file()  # a new record: the previous one is truncated
            if i == lines.n_lines:
                return
            line = lines.text(i)
            open_quote = line.count('"') % 2 == 1
            if self.held:
                if line.startswith(_JOB_FINISH):
                    self.end_file()
                else:
                    self.hold(line, self.held_place)
                    if open_quote:
                        yield self.held_place, "\n".join(self.held)
                        self.held.clear()
                        self.held_length = 0
                    continue
            if not line or line.isspace() or line.startswith("#"):
                continue
            self.records.rows += 1
            if open_quote:
                self.hold(line, place)
            else:
                yield place, line

    def hold(self, line: str, place: int) -> None:
        """Keep a line of an incomplete record."""
        self.held.append(line)
        self.held_place = place
        self.held_length += len(line) + 1
        if self.held_length > LONGEST_LINE:
            self.end_file()

    def end_file(self) -> None:
        """Count an incomplete record at the end of a file."""
        if self.held:
            self.records.leave_out("invalid record: truncated", self.held_place)
            self.held.clear()
            self.held_length = 0

    def count_other(self, text: str, place: int, block: Block) -> None:
        """Count a record of another kind, or an invalid line."""
        match = _RECORD.match(text)
        kind = match[1] if match else ""
        if kind == "JOB_FINISH2" or (self.records.rows == 1 and text.startswith("{")):
            raise FormatError(
                block.path,
                "is a stream of LSF's events (lsb.stream), which is not supported; use lsb.acct",
                line=place - block.place + block.first_line,
            )
        if kind == _JOB_RESIZE:
            try:
                self.parts.append(parse_resize(fields_of(text), place))
            except MalformedError as error:
                self.records.leave_out(f"invalid record: {error}", place)
        elif kind in _OTHER_RECORDS:
            self.records.leave_out(f"records of {kind}", place)
        else:
            self.records.leave_out("other records" if kind else "not a record", place)
