"""The lines of Grid Engine's accounting, one after the other: what becomes of each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from workloadkit.errors import FormatError
from workloadkit.io.lines import Block
from workloadkit.io.records import Records
from workloadkit.io.sge.lines import NOTHING, Line, parted
from workloadkit.io.sge.rows import as_number, columns, second

_RESCHEDULED = (24, 25)
_SLACK = 60.0  # a task may end after its job's own line is written [s]
_HELD = 20_000  # parallel jobs that later lines of their tasks may still belong to


def is_comment(line: str) -> bool:
    """Whether a line tells nothing."""
    return len(line) < 2 or line[0] == "#" or line.isspace()


def is_qacct(lines: Sequence[str]) -> bool:
    """Whether lines are what qacct prints."""
    return lines[0].startswith("=" * 20) and any(line.startswith("qname ") for line in lines[:3])


class _Usage(NamedTuple):
    """What the tasks of a parallel job used, and when they started."""

    tasks: int
    cpu: float
    memory: float
    place: int
    first: float
    last: float


class Reader:
    """What was found so far: lines of jobs, and of parallel tasks without their job yet."""

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
                    "this is what qacct prints; give the accounting file itself, "
                    "$SGE_ROOT/$SGE_CELL/common/accounting"
                )
                raise FormatError(block.path, message, line=block.first_line)
            self.records.rows += 1
            line = parted(text)
            if line is None:
                self.records.leave_out("no accounting record (other fields)", place)
            elif line.submission_time == "0":
                self.records.leave_out("no submission time", place)
            elif line.pe_taskid in NOTHING:
                self.job(place, line)
            else:
                self.task(place, line)
        self.flush()

    def job(self, place: int, line: Line) -> None:
        """Take the line of a job; what its tasks used is known or may follow."""
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

    def task(self, place: int, line: Line) -> None:
        """Take the line of a task of a parallel job."""
        name = line.job_number, line.task_number
        start = second(line.start_time)
        cpu, memory = _used(line)
        usage = _Usage(1, cpu, memory, place, start, start)
        row = self.held.get(name)
        if row is not None and _within(Line(*row[3:]), start):
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
        """Add what tasks used to the row of their job."""
        row[1] += usage.cpu
        row[2] += usage.memory
        kind = "parallel tasks folded into their job (pe_taskid)"
        self.records.leave_out(kind, usage.place, usage.tasks)

    def without_job(self, usage: _Usage) -> None:
        """Count tasks of which there is no job."""
        kind = "parallel tasks without the line of their job (pe_taskid)"
        self.records.leave_out(kind, usage.place, usage.tasks)

    def flush(self) -> None:
        """Hand the rows on."""
        if self.rows:
            self.records.extend(len(self.rows), **columns(self.rows, self.records))
            self.rows = []

    def finish(self) -> None:
        """Hand on what was held, and count what has found no job."""
        self.rows += [tuple(row) for row in self.held.values()]
        self.flush()
        for usage in self.tasks.values():
            self.without_job(usage)
        for place in self.rescheduled.values():
            self.records.note("rescheduled, and no later line tells of its end: failed", place)


def _within(line: Line, start: float) -> bool:
    """Whether a task that started then can be of the job of this line."""
    end = second(line.end_time)
    return second(line.submission_time) <= start and (start <= end + _SLACK or end == 0)


def _used(line: Line) -> tuple[float, float]:
    """Return the CPU time [s] and the memory [KB] of one line, 0 for unknown."""
    cpu = as_number(line.cpu) or as_number(line.ru_utime) + as_number(line.ru_stime)
    memory = (
        as_number(line.maxrss) / 1024 or as_number(line.ru_maxrss) or as_number(line.maxvmem) / 1024
    )
    return cpu, memory
