"""Read the accounting of Grid Engine: Sun's, Univa's, Altair's, and Open Cluster Scheduler."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.io.assemble import assemble
from workloadkit.io.files import source_path
from workloadkit.io.lines import Block, Sources, line_blocks, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.sge_lines import NOTHING, Asked, Line, asked, parted
from workloadkit.trace import Trace

#: What the codes of field `failed` mean, by sge_status(5).
FAILURES = {
    0: "no failure",
    1: "assumedly before job",
    3: "before writing config",
    4: "before writing PID",
    6: "setting processor set",
    7: "before prolog",
    8: "in prolog",
    9: "before pestart",
    10: "in pestart",
    11: "before job",
    12: "before pestop",
    13: "in pestop",
    14: "before epilog",
    15: "in epilog",
    16: "releasing processor set",
    17: "through signal",
    18: "shepherd returned error",
    19: "before writing exit_status",
    20: "found unexpected error file",
    21: "in recognizing job",
    24: "migrating",
    25: "rescheduling",
    26: "opening output file",
    27: "searching requested shell",
    28: "changing to working directory",
    29: "AFS setup",
    30: "application error returned",
    31: "accessing sgepasswd file",
    32: "entry is missing in password file",
    33: "wrong password",
    34: "communicating with Grid Engine Helper Service",
    35: "before job in Grid Engine Helper Service",
    36: "checking configured daemons",
    37: "qmaster enforced a limit",
    38: "adding supplementary group",
    100: "assumedly after job",
}

_THROUGH_SIGNAL = (17, 100)
_KILLED = (137, 143)  # 128 and SIGKILL or SIGTERM
_RESCHEDULED = (24, 25)
_DEFAULT_ACCOUNT, _DEFAULT_DEPARTMENT = "sge", "defaultdepartment"

_MILLISECONDS, _MICROSECONDS = 1e11, 1e14  # times from there on are not seconds
_BELIEVED = 1e18  # numbers below that
_SLACK = 60.0  # a task may end after its job's own line is written [s]
_HELD = 20_000  # parallel jobs that later lines of their tasks may still belong to


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

    Both forms are read: fields between colons (43 of version 6.0 and more of later ones; names of
    jobs, accounts and categories may hold colons) and a JSON object a line. Times are seconds,
    milliseconds (Univa 8.2 and later) or microseconds (JSON), which their size tells; they are
    cut to whole seconds, in which logs are written.

    A line with a ``pe_taskid`` is a task of a parallel job: its CPU time and memory are added to
    those of its job. Lines of one job, array task and submission are attempts of it (the job was
    rescheduled, or could not be started at first); the last one is the job.

    Status, by the fields failed and exit_status:

    ================================================  ======
    failed 0, exit_status 0                           1
    deleted by somebody (qdelinfo of Univa)           5
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
        ``-`` is standard input; compressed files are known by their first bytes. Not what qacct
        prints.
    tz : str, default "UTC"
        Zone of the log; the times need none.
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
    reader = _Reader()
    for block in line_blocks(sources, reader.records.digest):
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
    """Whether a file that begins like this is accounting of Grid Engine, or what qacct prints.

    Examples
    --------
    >>> looks_like(["# Version: 6.2", "one:two:three"])
    False
    """
    lines = [line for line in first_lines[:-1] or first_lines if not _is_comment(line)]
    if lines and _is_qacct(lines):
        return True
    return sum(parted(line) is not None for line in lines) * 2 > len(lines)


def _is_comment(line: str) -> bool:
    return len(line) < 2 or line[0] == "#" or line.isspace()


def _is_qacct(lines: Sequence[str]) -> bool:
    return lines[0].startswith("=" * 20) and any(line.startswith("qname ") for line in lines[:3])


class _Usage(NamedTuple):
    """What the tasks of a parallel job used, and when they started."""

    tasks: int
    cpu: float
    memory: float
    place: int
    first: float
    last: float


class _Reader:
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
            if _is_comment(text):
                continue
            if not self.records.rows and _is_qacct(block.lines[place - block.place :][:3]):
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
        start = _second(line.start_time)
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
            self.records.extend(len(self.rows), **_columns(self.rows, self.records))
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
    end = _second(line.end_time)
    return _second(line.submission_time) <= start and (start <= end + _SLACK or end == 0)


def _second(text: str) -> float:
    """Return a time in whole seconds, in whatever unit it is."""
    time = int(text)
    unit = 1e6 if time >= _MICROSECONDS else 1e3 if time >= _MILLISECONDS else 1.0
    return time // unit


def _used(line: Line) -> tuple[float, float]:
    """Return the CPU time [s] and the memory [KB] of one line, 0 for unknown."""
    cpu = _number(line.cpu) or _number(line.ru_utime) + _number(line.ru_stime)
    memory = _number(line.maxrss) / 1024 or _number(line.ru_maxrss) or _number(line.maxvmem) / 1024
    return cpu, memory


def _usage(
    told: Mapping[str, Sequence[str]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return CPU time [s] and memory [KB] of each line, NaN for unknown."""
    cpu = _known(_numbers(told["cpu"]))
    if np.isnan(cpu).any():
        times = _numbers(told["ru_utime"]) + _numbers(told["ru_stime"])
        cpu = np.where(np.isnan(cpu), times, cpu)
    memory = _known(_numbers(told["maxrss"])) / 1024
    for column in (_numbers(told["ru_maxrss"]), _numbers(told["maxvmem"]) / 1024):
        memory = np.where(np.isnan(memory), _known(column), memory)
    return cpu, memory


def _columns(rows: list[tuple[Any, ...]], records: Records) -> dict[str, Any]:
    """Return the columns of records, and note what is odd in them."""
    places, task_cpu, task_memory, *fields = zip(*rows, strict=True)
    told = dict(zip(Line._fields, fields, strict=True))
    place = np.array(places)
    submit, start, end = (
        _known(_seconds(_numbers(told[name])))
        for name in ("submission_time", "start_time", "end_time")
    )
    never = np.isnan(start)
    records.note_where("never started", never, place)
    records.note_where("neither start nor end told: wait unknown", never & np.isnan(end), place)
    failed, exit_status = _numbers(told["failed"]), _numbers(told["exit_status"])
    slots = _known(_numbers(told["slots"]))
    records.note_where("fewer slots than one: unknown", slots < 1, place)
    slots = np.where(slots < 1, np.nan, slots)
    cpu, memory = _usage(told)
    requests = Asked(*zip(*map(asked, told["category"]), strict=True))  # type: ignore[arg-type]
    requested_procs, memory_asked = np.array(requests.procs), np.array(requests.memory)
    task = _known(_numbers(told["task_number"]))
    indices = ["" if index != index else f"{index:.0f}" for index in task.tolist()]
    numbered = [*zip(told["job_number"], indices, strict=True)]
    states = [_state(code) for code in told["failed"]]
    return {
        "place": place,
        "id": [f"{number}.{index}" if index else number for number, index in numbered],
        "array_job": [number if index else "" for number, index in numbered],
        "array_task": task,
        "submit": submit,
        "start": start,
        "end": end,
        "run": end - start,
        "procs": np.where(never, np.nan, slots),
        "nodes": np.where(slots == 1, 1.0, np.nan),
        "gpus": requests.gpus,
        "requested_procs": np.where(np.isnan(requested_procs), slots, requested_procs),
        "cpu": _sum(cpu, task_cpu) / slots,
        "memory": np.rint(_sum(memory, task_memory) / slots),
        "requested_time": requests.time,
        "requested_memory": np.rint(memory_asked),
        "requested_memory_per": ["cpu" if m > 0 else "" for m in memory_asked],
        "status": _status(failed, exit_status, never, told["qdelinfo"]),
        "state": states,
        "exit_code": told["exit_status"],
        "reason": _words(told["qdelinfo"]),
        "user": told["owner"],
        "group": told["group"],
        "account": [*map(_account, told["project"], told["department"], told["account"])],
        "queue": told["qname"],
        "executable": told["job_name"],
    }


def _status(
    failed: NDArray[np.float64],
    exit_status: NDArray[np.float64],
    never: NDArray[np.bool_],
    qdelinfo: Sequence[str],
) -> NDArray[np.int64]:
    """Return the status of jobs, by the table of `read_sge`."""
    signalled = np.isin(failed, _THROUGH_SIGNAL)
    deleted = np.array([text not in NOTHING for text in qdelinfo])
    killed = signalled & np.isin(exit_status, _KILLED)
    cancelled = deleted | killed | (never & (signalled | (failed == 0)))
    completed = (failed == 0) & (exit_status == 0)
    return np.select([cancelled, completed], [CANCELLED, COMPLETED], FAILED)


@lru_cache(maxsize=1024)
def _state(failed: str) -> str:
    """Return what went wrong, in words."""
    return FAILURES.get(int(failed), f"failed {int(failed)}")


def _account(project: str, department: str, account: str) -> str:
    """Return who pays for a job."""
    if project not in NOTHING:
        return project
    if department not in (*NOTHING, _DEFAULT_DEPARTMENT):
        return department
    return "" if account in (*NOTHING, _DEFAULT_ACCOUNT) else account


def _words(texts: Sequence[str]) -> list[str]:
    return ["" if text in NOTHING else text for text in texts]


def _sum(own: NDArray[np.float64], of_tasks: Sequence[float]) -> NDArray[np.float64]:
    """Add what tasks used; unknown if neither is known."""
    tasks = np.array(of_tasks)
    return np.where(tasks > 0, np.nan_to_num(own) + tasks, own)


def _numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return numbers, 0 where there is none."""
    try:
        column = np.array(texts, dtype=object).astype(np.float64)
    except ValueError:
        column = np.array([*map(_number, texts)])
    return np.where((column > 0) & (column < _BELIEVED), column, 0.0)


def _number(text: str) -> float:
    """Return a number, 0 if it is none or cannot be believed."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < _BELIEVED else 0.0


def _seconds(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times in whole seconds, in whatever unit they are."""
    unit = np.select([times >= _MICROSECONDS, times >= _MILLISECONDS], [1e6, 1e3], 1.0)
    return np.floor(times / unit)


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of which 0 means none."""
    return np.where(column > 0, column, np.nan)
