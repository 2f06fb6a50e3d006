"""Collect the lines of Grid Engine's accounting, and decide what each contributes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from workloadkit.errors import FormatError
from workloadkit.io.lines import Block
from workloadkit.io.records import Records
from workloadkit.io.sge.lines import NOTHING, AccountingLine, parted
from workloadkit.io.sge.rows import as_number, columns, second

_RESCHEDULED = (24, 25)
_SLACK = 60.0  # a task may end after the line of its job is written [s]
_HELD = 20_000  # parallel jobs kept for later lines of their tasks


def is_comment(line: str) -> bool:
    """Whether a line is blank or a comment."""
    return len(line) < 2 or line[0] == "#" or line.isspace()


def is_qacct(lines: Sequence[str]) -> bool:
    """Whether lines are the output of qacct."""
    return lines[0].startswith("=" * 20) and any(line.startswith("qname ") for line in lines[:3])


class _Usage(NamedTuple):
    """Resources used by the tasks of a parallel job, and their first and last start."""

    tasks: int
    cpu: float
    memory: float
    place: int
    first: float
    last: float


class SgeReader:
    """Lines of jobs, and of parallel tasks without their job so far."""

    def __init__(self) -> None:
        self.records = Records()
        self.rows: list[tuple[Any, ...]] = []
        self.tasks: dict[tuple[str, str], _Usage] = {}
        self.held: dict[tuple[str, str], list[Any]] = {}  # rows of parallel jobs
        self.rescheduled: dict[tuple[str, str], int] = {}

    def read(self, block: Block) -> None:
        """Read some lines."""
        for place, text in enumerate(block.lines, block.place):
            if is_comment(text):
                continue
            if not self.records.rows and is_qacct(block.lines[place - block.place :][:3]):
                message = (
                    "this is the output of qacct; use the accounting file itself, "
                    "$SGE_ROOT/$SGE_CELL/common/accounting"
                )
                raise FormatError(block.path, message, line=block.first_line)
            self.records.rows += 1
            line = parted(text)
            if line is None:
                self.records.leave_out("not an accounting record (other fields)", place)
            elif line.submission_time == "0":
                self.records.leave_out("without a submit time", place)
            elif line.pe_taskid in NOTHING:
                self.job(place, line)
            else:
                self.task(place, line)
        self.flush()

    def job(self, place: int, line: AccountingLine) -> None:
        """Read the line of a job; lines of its tasks may precede or follow."""
        name = line.job_number, line.task_number
        if self.rescheduled:
            self.rescheduled.pop(name, None)
        if int(line.failed) in _RESCHEDULED:
            self.rescheduled[name] = place
        if line.granted_pe in NOTHING and name not in self.tasks:
            self.rows.append((place, 0.0, 0.0, *line))
            return
        if name in self.held:
            self.rows.append(tuple(self.held.pop(name)))
        row = self.held[name] = [place, 0.0, 0.0, *line]
        if (usage := self.tasks.pop(name, None)) is not None:
            if _within(line, usage.first) and _within(line, usage.last):
                self.fold(row, usage)
            else:
                self.without_job(usage)
        while len(self.held) > _HELD:
            self.rows.append(tuple(self.held.pop(next(iter(self.held)))))

    def task(self, place: int, line: AccountingLine) -> None:
        """Read the line of a task of a parallel job."""
        name = line.job_number, line.task_number
        start = second(line.start_time)
        cpu, memory = _used(line)
        usage = _Usage(1, cpu, memory, place, start, start)
        row = self.held.get(name)
        if row is not None and _within(AccountingLine(*row[3:]), start):
            self.fold(row, usage)
        elif (before := self.tasks.get(name)) is None:
            self.tasks[name] = usage
        else:
            self.tasks[name] = _Usage(
                before.tasks + 1,
                before.cpu + cpu,
                before.memory + memory,
                before.place,
                min(before.first, start),
                max(before.last, start),
            )

    def fold(self, row: list[Any], usage: _Usage) -> None:
        """Add the resources used by tasks to the row of their job."""
        row[1] += usage.cpu
        row[2] += usage.memory
        kind = "parallel tasks added to their job (pe_taskid)"
        self.records.leave_out(kind, usage.place, usage.tasks)

    def without_job(self, usage: _Usage) -> None:
        """Count tasks without a job."""
        kind = "parallel tasks without the line of their job (pe_taskid)"
        self.records.leave_out(kind, usage.place, usage.tasks)

    def flush(self) -> None:
        """Pass on the rows."""
        if self.rows:
            self.records.extend(len(self.rows), **columns(self.rows, self.records))
            self.rows = []

    def finish(self) -> None:
        """Pass on the remaining rows, and count tasks without a job."""
        self.rows += [tuple(row) for row in self.held.values()]
        self.flush()
        for usage in self.tasks.values():
            self.without_job(usage)
        for place in self.rescheduled.values():
            self.records.note("rescheduled without a later line: failed", place)


def _within(line: AccountingLine, start: float) -> bool:
    """Whether a task with this start can belong to the job of the line."""
    end = second(line.end_time)
    return second(line.submission_time) <= start and (start <= end + _SLACK or end == 0)


def _used(line: AccountingLine) -> tuple[float, float]:
    """Return the CPU time [s] and the memory [KB] of a line, 0 if unknown."""
    cpu = as_number(line.cpu) or as_number(line.ru_utime) + as_number(line.ru_stime)
    memory = (
        as_number(line.maxrss) / 1024 or as_number(line.ru_maxrss) or as_number(line.maxvmem) / 1024
    )
    return cpu, memory
