"""The log of finished jobs that slurmctld writes with ``JobCompType=jobcomp/filetxt``."""

import re
from collections.abc import Iterator

import numpy as np

from workloadkit.io.cells import Cells
from workloadkit.io.files import source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm.log import log_of_rows
from workloadkit.io.slurm.rows import Rows
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_slurm_jobcomp"]


# The keys of a line in their order; versions differ in those after NodeList.
_BEFORE_NAME = ("JobId", "UserId", "GroupId", "Name")
_AFTER_NAME = (
    *("JobState", "Partition", "TimeLimit", "StartTime", "EndTime", "NodeList", "NodeCnt"),
    *("ProcCnt", "WorkDir", "ReservationName", "Gres", "Tres", "Account", "QOS", "WcKey"),
    *("Cluster", "SubmitTime", "EligibleTime", "ArrayJobId", "ArrayTaskId", "HetJobId"),
    *("HetJobOffset", "DerivedExitCode", "ExitCode"),
)
_REQUIRED = ("JobState", "StartTime", "EndTime")
_UNKNOWN = ("unknown", "(null)")

# Columns of `sacct` that a key gives.
_SAME = {
    "group": "GroupId",
    "state": "JobState",
    "partition": "Partition",
    "requested_time": "TimeLimit",
    "start": "StartTime",
    "end": "EndTime",
    "nodes": "NodeCnt",
    "account": "Account",
    "qos": "QOS",
    "cluster": "Cluster",
    "submit": "SubmitTime",
    "eligible": "EligibleTime",
    "exit_code": "ExitCode",
    "executable": "Name",
}
_COLUMNS = ("id", "user", "procs", "requested", "gres", "node_list", *_SAME)

_BEGIN = re.compile(r"JobId=\d+ UserId=")
_OF_USER = re.compile(r"(.*)\((\d+)\)")
_NO_LINE = "not a record of jobcomp/filetxt"


def read_slurm_jobcomp(
    source: Sources,
    *,
    tz: str | None = None,
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the job completion log of Slurm (``JobCompLoc``), a line of ``key=value`` for each job.

    The lines are read as rows of `sacct`, see `read_slurm`. ``Name`` and ``WorkDir`` may contain
    blanks. ``Tres``, or ``Gres`` of earlier versions, is what the job requested; a job that started
    has the requested GPUs. A job without nodes (``NodeList=(null)``) and without run time never
    started. The log has neither CPU time nor used memory.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    tz : str, optional
        Time zone of the times, which have no offset, and of the log. By default UTC.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions.
    anonymize : bool, default False
        Whether to leave out all names and ids.
    key : bytes, optional
        With `anonymize`: secret that makes the numbers of names the same in every log.

    Raises
    ------
    FormatError
        If a file cannot be read or contains no job.
    ParameterError

    Examples
    --------
    >>> import io
    >>> text = b'''JobId=7 UserId=al(1001) GroupId=g(100) Name=md run JobState=COMPLETED \
Partition=std TimeLimit=120 StartTime=2024-05-06T08:02:00 EndTime=2024-05-06T09:02:00 \
NodeList=e1 NodeCnt=1 ProcCnt=4 WorkDir=/h SubmitTime=2024-05-06T08:00:00 \
EligibleTime=2024-05-06T08:00:00 ExitCode=0:0'''
    >>> trace = read_slurm_jobcomp(io.BytesIO(text))
    >>> trace.jobs[["wait", "run", "procs", "requested_time"]].to_numpy().tolist()
    [[120.0, 3600.0, 4.0, 7200.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    records = Records()
    path = source_path(list_of_sources(source)[0])
    rows = _rows(source, records)
    return log_of_rows(rows, records, options, path, kind="Slurm's job completion log")


def looks_like(first_lines: list[str]) -> bool:
    """Whether one of the first lines of a file is a record of jobcomp/filetxt.

    Examples
    --------
    >>> looks_like(["JobId=7 UserId=al(1001) GroupId=g(100) Name=a JobState=COMPLETED"])
    True
    """
    return any(map(_BEGIN.match, first_lines))


def _rows(source: Sources, records: Records) -> Iterator[Rows]:
    """Yield the lines of some files as rows of `sacct`."""
    for block in records.line_blocks(source):
        texts, places = [], []
        for place, line in enumerate(block.lines, block.place):
            if not line.strip():
                continue
            records.rows += 1
            found = parted(line)
            if found is None:
                records.leave_out(_NO_LINE, place)
            else:
                texts.append(_cells(found))
                places.append(place)
        if texts:
            cells = Cells.none().with_texts(texts, _COLUMNS, np.arange(len(texts)))
            yield Rows(cells, np.array(places, np.int64))


def parted(line: str) -> dict[str, str] | None:
    """Return the values of a line by their keys; None if it is not a record.

    Keys before the name are searched from the begin of the line, the others from its end, so that
    a name may contain what looks like a key.

    Examples
    --------
    >>> line = "JobId=7 UserId=a(1) GroupId=g(1) Name=x JobState=y JobState=FAILED StartTime=1"
    >>> parted(line + " EndTime=2 ")["Name"]
    'x JobState=y'
    """
    if not _BEGIN.match(line):
        return None
    begins: list[tuple[int, str]] = []
    at = 0
    for key in _BEFORE_NAME:
        at = line.find(f"{key}=", at)
        if at < 0:
            return None
        begins.append((at, key))
    end, after = len(line), []
    for key in reversed(_AFTER_NAME):
        place = line.rfind(f" {key}=", at, end)
        if place >= 0:
            after.append((place + 1, key))
            end = place
    begins += reversed(after)
    ends = [begin - 1 for begin, _ in begins[1:]] + [len(line)]
    found = {
        key: line[begin + len(key) + 1 : stop].strip()
        for (begin, key), stop in zip(begins, ends, strict=True)
    }
    return found if all(key in found for key in _REQUIRED) else None


def _cells(found: dict[str, str]) -> list[str]:
    """Return the cells of a record, in the order of the columns."""
    cells = {column: found.get(key, "") for column, key in _SAME.items()}
    for name in ("user", "group"):
        text = found["UserId" if name == "user" else "GroupId"]
        match = _OF_USER.fullmatch(text)
        cells[name] = (match[1] or match[2]) if match else text
    cells = {name: "" if text in _UNKNOWN else text for name, text in cells.items()}
    array, task = found.get("ArrayJobId"), found.get("ArrayTaskId")
    het, offset = found.get("HetJobId"), found.get("HetJobOffset")
    cells["id"] = f"{array}_{task}" if array else f"{het}+{offset}" if het else found["JobId"]
    nodes = found.get("NodeList", "")
    cells["node_list"] = "None assigned" if nodes in ("", "(null)") else nodes
    cells["requested"] = cells["gres"] = found.get("Tres", found.get("Gres", ""))
    cells["procs"] = found.get("ProcCnt", "")
    return [cells[name] for name in _COLUMNS]
