"""Accounting of Grid Engine, of any version and form.

`lexer` splits lines into fields, `SgeReader` decides what each contributes, and `rows` converts
them to columns of records.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.io.assemble import assemble
from workloadkit.io.cells import Cells
from workloadkit.io.files import source_path
from workloadkit.io.lines import Block, Lines, Sources, list_of_sources
from workloadkit.io.records import LAST_PLACE, ImportOptions, Records
from workloadkit.io.sge.lexer import NOTHING, AccountingLine, lex, parted
from workloadkit.io.sge.rows import FAILURES, columns, per_slot, times, used
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_sge"]


_RESCHEDULED = (24, 25)
_SLACK = 60.0  # a task may end after the line of its job is written [s]
_HELD = 20_000  # parallel jobs kept for later lines of their tasks


def is_comment(line: str) -> bool:
    """Whether a line is blank or a comment."""
    return len(line) < 2 or line[0] == "#" or line.isspace()


def is_qacct(lines: Sequence[str]) -> bool:
    """Whether lines are the output of qacct."""
    return lines[0].startswith("=" * 20) and any(line.startswith("qname ") for line in lines[:3])


@dataclass(slots=True)
class _Usage:
    """Resources used by the tasks of a parallel job, and their first and last start."""

    tasks: int
    cpu: float
    memory: float
    place: int
    first: float
    last: float

    def add(self, other: "_Usage") -> None:
        """Add later tasks."""
        self.tasks += other.tasks
        self.cpu += other.cpu
        self.memory += other.memory
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)


class _Job(NamedTuple):
    """A parallel job: its record, submission and end (0 if unknown)."""

    record: int
    submit: float
    end: float


class SgeReader:
    """Lines of jobs, and of parallel tasks without their job so far."""

    def __init__(self) -> None:
        self.records = Records()
        self.slots: list[NDArray[np.float64]] = []
        self.tasks: dict[tuple[str, str], _Usage] = {}
        self.held: dict[tuple[str, str], _Job] = {}  # parallel jobs
        self.waiting: list[list[NDArray]] = []  # columns of further ones, while there are no tasks
        self.added: dict[int, list[float]] = {}  # CPU time and memory of tasks, by record
        self.n_folded, self.first_folded = 0, LAST_PLACE  # tasks added to their jobs
        self.rescheduled: dict[tuple[str, str], int] = {}

    def read(self, block: Block) -> None:
        """Read one block of lines: jobs become records, tasks are added to their jobs."""
        lines = Lines(block.text, block.n_lines)
        if not self.records.rows:
            _check_kind(block, lines)
        found, cells = lex(lines)
        others, at = self.others(lines, found, block.place)
        row_lines = np.append(found, np.array(at, np.int64))
        if not row_lines.size:
            return
        order = np.argsort(row_lines)
        cells = cells.with_texts(others, AccountingLine._fields, order)
        places = block.place + row_lines[order]
        when, usage = times(cells), used(cells)
        dated = (when[0] > 0) | (cells.lengths("submission_time") > 1)
        self.records.leave_out_where("without a submit time", ~dated, places)
        of_job = cells.combined(("pe_taskid",), NOTHING.__contains__).column(bool)
        self.walk(cells, when, usage, places, dated, of_job)
        jobs_at = np.flatnonzero(dated & of_job)
        if jobs_at.size:
            cells, places = cells.take(jobs_at), places[jobs_at]
            of_jobs, used_by_jobs = ([x[jobs_at] for x in part] for part in (when, usage))
            jobs, slots = columns(cells, of_jobs, used_by_jobs, places, self.records)
            self.records.extend(places.size, **jobs)
            self.slots.append(slots)

    def others(
        self, lines: Lines, found: NDArray[np.int64], place: int
    ) -> tuple[list[AccountingLine], list[int]]:
        """Split the lines of another form; return those of accounting, and their positions."""
        texts, at = [], []
        self.records.rows += found.size
        left = np.ones(lines.n_lines, bool)
        left[found] = False
        for i in np.flatnonzero(left).tolist():
            text = lines.text(i)
            if is_comment(text):
                continue
            self.records.rows += 1
            of_reporting = _REPORTING.match(text)
            if of_reporting and of_reporting[1] == "acct":
                text = text[of_reporting.end() :]
            if (line := parted(text)) is None:
                kind = "not an accounting record (other fields)"
                if of_reporting and (word := of_reporting[1]) in _OTHER_RECORDS:
                    kind = f"records of reporting: {word}"
                self.records.leave_out(kind, place + i)
            else:
                texts.append(line)
                at.append(i)
        return texts, at

    def walk(
        self,
        cells: Cells,
        when: Sequence[NDArray[np.float64]],
        usage: Sequence[NDArray[np.float64]],
        places: NDArray[np.int64],
        dated: NDArray[np.bool_],
        of_job: NDArray[np.bool_],
    ) -> None:
        """Assign tasks to jobs, and find rescheduled jobs, line by line."""
        parallel = ~cells.combined(("granted_pe",), NOTHING.__contains__).column(bool)
        again = cells.combined(("failed",), lambda code: int(code) in _RESCHEDULED).column(bool)
        record = len(self.records) + np.cumsum(dated & of_job) - 1
        names = cells.texts("job_number"), cells.texts("task_number")
        if not (self.tasks or self.rescheduled or (dated & (again | ~of_job)).any()):
            rows = np.flatnonzero(dated & parallel)
            self.waiting.append([column[rows] for column in (*names, record, when[0], when[2])])
            if sum(part[0].size for part in self.waiting) > 10 * _HELD:
                self.settle()
            return
        self.settle()
        rows = np.flatnonzero(dated)
        lines = (*names, *when, *map(np.nan_to_num, usage), places, record, of_job, parallel, again)
        for number, task, submit, start, end, cpu, memory, place, i, job, several, failed in zip(
            *(column[rows].tolist() for column in lines), strict=True
        ):
            name = number, task
            if not job:
                self.task(name, _Usage(1, cpu, memory, place, start, start))
                continue
            self.rescheduled.pop(name, None)
            if failed:
                self.rescheduled[name] = place
            if several or name in self.tasks:
                self.job(name, _Job(i, submit, end))

    def settle(self) -> None:
        """Keep the latest of the parallel jobs that wait."""
        latest: dict[tuple[str, str], _Job] = {}
        for part in reversed(self.waiting):
            for number, task, *job in zip(*(column[::-1].tolist() for column in part), strict=True):
                if len(latest) == _HELD:
                    break
                latest.setdefault((number, task), _Job(*job))
        self.waiting.clear()
        for name, kept in reversed(latest.items()):
            self.job(name, kept)

    def job(self, name: tuple[str, str], job: _Job) -> None:
        """Keep a parallel job; lines of its tasks may precede or follow."""
        self.held.pop(name, None)
        self.held[name] = job
        if (usage := self.tasks.pop(name, None)) is not None:
            if _within(job, usage.first) and _within(job, usage.last):
                self.fold(job, usage)
            else:
                self.without_job(usage)
        if len(self.held) > _HELD:
            del self.held[next(iter(self.held))]

    def task(self, name: tuple[str, str], usage: _Usage) -> None:
        """Read the line of a task of a parallel job."""
        job = self.held.get(name)
        if job is not None and _within(job, usage.first):
            self.fold(job, usage)
        elif (before := self.tasks.get(name)) is None:
            self.tasks[name] = usage
        else:
            before.add(usage)

    def fold(self, job: _Job, usage: _Usage) -> None:
        """Add the resources used by tasks to those of their job."""
        added = self.added.setdefault(job.record, [0.0, 0.0])
        added[0] += usage.cpu
        added[1] += usage.memory
        self.n_folded += usage.tasks
        self.first_folded = min(self.first_folded, usage.place)

    def without_job(self, usage: _Usage) -> None:
        """Count tasks without a job."""
        kind = "parallel tasks without the line of their job (pe_taskid)"
        self.records.leave_out(kind, usage.place, usage.tasks)

    def finish(self) -> None:
        """Count tasks without a job, and add the others to their jobs."""
        if self.n_folded:
            kind = "parallel tasks added to their job (pe_taskid)"
            self.records.leave_out(kind, self.first_folded, self.n_folded)
        for usage in self.tasks.values():
            self.without_job(usage)
        for place in self.rescheduled.values():
            self.records.note("rescheduled without a later line: failed", place)
        table = self.records.frame()
        per_slot(table, np.concatenate([np.zeros(0), *self.slots]), self.added)
        self.records.restore(table)


def _check_kind(block: Block, lines: Lines) -> None:
    """Check that a file is not the output of qacct."""
    texts = map(lines.text, range(lines.n_lines))
    first = next((i for i, text in enumerate(texts) if not is_comment(text)), None)
    if first is None:
        return
    if is_qacct([lines.text(i) for i in range(first, min(first + 3, lines.n_lines))]):
        message = (
            "this is the output of qacct; use the accounting file itself, "
            "$SGE_ROOT/$SGE_CELL/common/accounting"
        )
        raise FormatError(block.path, message, line=block.first_line)


def _within(job: _Job, start: float) -> bool:
    """Whether a task with this start can belong to a job."""
    return job.submit <= start and (start <= job.end + _SLACK or job.end == 0)


# A record of the file `reporting`, which has two fields before its own: a time and its type.
_REPORTING = re.compile(r"\d{9,16}:([a-z_]+):")
_OTHER_RECORDS = (
    *("new_job", "job_log", "job_done", "queue", "queue_consumable", "host", "host_consumable"),
    *("department", "department_consumable", "sharelog", "new_ar", "ar_attr", "ar_log", "ar_acct"),
)


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

    Two forms are supported, and the file ``reporting``, whose records ``acct`` are read while those
    of other types are counted: fields separated by colons (43 in version 6.0, more in later ones;
    names of jobs, accounts and categories may contain colons), and one JSON object per line. Times
    are in seconds, milliseconds (Univa 8.2 and later) or microseconds (JSON), recognized by their
    size, and truncated to whole seconds.

    A line with a ``pe_taskid`` is a task of a parallel job: its CPU time and memory are added to
    those of the job. Lines with the same job, array task and submission are attempts of the job
    (it was rescheduled, or failed to start at first), unless they overlap; the last one is the job,
    and the side-car has all. A job without a start, or in queue UNKNOWN without a run time, never
    started.

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
    of_reporting = ("acct", *_OTHER_RECORDS)
    return any(
        match[1] in of_reporting if (match := _REPORTING.match(line)) else parted(line) is not None
        for line in lines
    )
