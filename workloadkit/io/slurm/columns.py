"""The columns of an export of `sacct`, found by their names, which differ by version."""

import re
from functools import cached_property

from workloadkit.errors import FormatError

#: The command whose output is read.
EXPORT = (
    "TZ=UTC sacct -aXPD -S FROM -E TO --units=K -o JobIDRaw,JobID,Cluster,Partition,QOS,Account,"
    "GID,UID,Submit,Eligible,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,AllocCPUS,"
    "ReqCPUS,ReqMem,AllocTRES,TimelimitRaw,Reason,Flags,JobName"
)

#: The columns that are used, by what they tell; of several that tell the same, the first there is.
COLUMNS = {
    "id": ("JobID", "JobIDRaw"),
    "cluster": ("Cluster",),
    "partition": ("Partition",),
    "qos": ("QOS", "QOSRaw"),
    "account": ("Account",),
    "user": ("User", "UID"),
    "group": ("Group", "GID"),
    "submit": ("Submit",),
    "eligible": ("Eligible",),
    "start": ("Start",),
    "end": ("End",),
    "elapsed": ("ElapsedRaw", "Elapsed"),
    "suspended": ("Suspended",),
    "state": ("State",),
    "exit_code": ("ExitCode",),
    "nodes": ("AllocNodes", "NNodes"),
    "procs": ("AllocCPUS", "NCPUS"),
    "requested_procs": ("ReqCPUS",),
    "requested_memory": ("ReqMem",),
    "allocated": ("AllocTRES",),
    "requested": ("ReqTRES",),
    "gres": ("AllocGRES", "ReqGRES"),
    "requested_time": ("TimelimitRaw", "Timelimit"),
    "reason": ("Reason",),
    "executable": ("JobName",),
    "cpu": ("TotalCPU",),
    "memory": ("MaxRSS",),
    "n_tasks": ("NTasks",),
}

#: Columns that hold any text, and so may hold the delimiter or the end of a line.
FREE_TEXT = (
    *("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra"),
    *("StdOut", "StdErr", "StdIn"),
)

_OTHERS = ("User", "UID", "JobIDRaw", "NodeList", "CPUTimeRAW", "Flags", *FREE_TEXT)
_KNOWN = {name.lower() for names in (*COLUMNS.values(), _OTHERS) for name in names}

# Without one of these columns, no log can be made; and what they are needed for.
_NEEDED = (
    (("submit",), "Submit", "when a job was submitted"),
    (("start",), "Start", "when it started"),
    (("end", "elapsed"), "End or ElapsedRaw", "when it ended"),
    (("state",), "State", "how it ended"),
    (
        ("procs", "allocated", "requested_procs", "requested"),
        "AllocCPUS",
        "how many processors it had",
    ),
)

_DELIMITERS = re.compile(r"[^A-Za-z0-9]+")


class Columns:
    """The first line of an export.

    Parameters
    ----------
    line : str
    delimiter : str

    Attributes
    ----------
    n_fields : int
        Fields of every row.
    place : dict of str to int
        Where the columns of `COLUMNS` stand, those that are there.
    free : list of int
        Where free text may stand.
    """

    def __init__(self, line: str, delimiter: str) -> None:
        self.line, self.delimiter = line, delimiter
        names = [name.strip().lower() for name in line.split(delimiter)]
        self.n_fields = len(names)
        at = {name: i for i, name in reversed(list(enumerate(names)))}
        self.place: dict[str, int] = {}
        for what, titles in COLUMNS.items():
            there = [at[title.lower()] for title in titles if title.lower() in at]
            if there:
                self.place[what] = there[0]
        self.free = [at[title.lower()] for title in FREE_TEXT if title.lower() in at]

    @cached_property
    def times(self) -> list[int]:
        """Where times stand."""
        return [self.place[w] for w in ("submit", "eligible", "start", "end") if w in self.place]

    @classmethod
    def of(cls, line: str) -> "Columns | None":
        """Read a first line, whatever its delimiter; None if it is none.

        Examples
        --------
        >>> Columns.of("JobID|Submit|State|").n_fields
        4
        >>> Columns.of("JobID^^State").delimiter
        '^^'
        >>> Columns.of("123|2015-06-26T13:57:00|COMPLETED") is None
        True
        """
        lowered = line.lower()
        if "jobid" not in lowered or len(line) > 1 << 14:
            return None
        best = None
        for delimiter in sorted(set(_DELIMITERS.findall(line)), key=line.count, reverse=True):
            names = [name.strip() for name in lowered.split(delimiter)]
            known = sum(name in _KNOWN for name in names)
            has_id = "jobid" in names or "jobidraw" in names
            if has_id and known >= 2 and (best is None or known > best[0]):
                best = known, delimiter
        return cls(line, best[1]) if best else None


def first_columns(line: str, path: str, number: int) -> Columns:
    """Read the first line of a file.

    Raises
    ------
    FormatError
        If it does not name columns, or not those that are needed.
    """
    columns = Columns.of(line)
    if columns is None:
        raise FormatError(
            path, f"no line that names the columns of sacct; export with: {EXPORT}", line=number
        )
    if not columns.delimiter.strip(" "):
        raise FormatError(
            path, f"columns cut to a width; --parsable2 is needed: {EXPORT}", line=number
        )
    missing = [
        f"{title} ({why})"
        for any_of, title, why in _NEEDED
        if not any(what in columns.place for what in any_of)
    ]
    if missing:
        what = "a column is missing" if len(missing) == 1 else "columns are missing"
        raise FormatError(path, f"{what}: {', '.join(missing)}; export with: {EXPORT}", line=number)
    return columns
