"""Find the columns of an export of `sacct` by their names, which depend on the version."""

import re
from functools import cached_property

from workloadkit.errors import FormatError, ParameterError
from workloadkit.io.slurm.values import NO_VALUE, STATES, is_id, state

#: The command that produces the export.
EXPORT = (
    "TZ=UTC sacct -aXPD -S FROM -E TO --units=K -o JobIDRaw,JobID,Cluster,Partition,QOS,Account,"
    "GID,UID,Submit,Eligible,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,AllocCPUS,"
    "ReqCPUS,ReqMem,ReqTRES,AllocTRES,NodeList,Constraints,TimelimitRaw,Reason,Flags,JobName"
)

#: Columns that are used, by content; of several alternatives the first one present.
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
    "node_list": ("NodeList",),
    "features": ("Constraints",),
    "requested_time": ("TimelimitRaw", "Timelimit"),
    "reason": ("Reason",),
    "executable": ("JobName",),
    "cpu": ("TotalCPU",),
    "memory": ("MaxRSS",),
    "n_tasks": ("NTasks",),
    "energy": ("ConsumedEnergyRaw", "ConsumedEnergy"),
}

#: Columns with free text, which may contain the delimiter or line ends.
FREE_TEXT = (
    *("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra"),
    *("StdOut", "StdErr", "StdIn"),
)

_OTHERS = ("User", "UID", "JobIDRaw", "CPUTimeRAW", "Flags", *FREE_TEXT)
_KNOWN = {name.lower() for names in (*COLUMNS.values(), _OTHERS) for name in names}

# Columns that replace a missing Submit, which is not later than these.
_STAND_INS = (("eligible", "Eligible"), ("start", "Start"))

# Required columns, and the data that they provide.
_NEEDED = (
    (("submit",), "Submit", "submit time"),
    (("start",), "Start", "start time"),
    (("end", "elapsed"), "End or ElapsedRaw", "end time"),
    (("state",), "State", "final state"),
    (
        ("procs", "allocated", "requested_procs", "requested"),
        "AllocCPUS",
        "number of processors",
    ),
)

# Exports without a line of names: those of Open XDMoD's versions, and that of `EXPORT`.
_FIRST = "JobID|JobIDRaw|Cluster|Partition|{}Account|Group|GID|User|UID|Submit|Eligible|Start|End|"
_MIDDLE = "Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|{}Timelimit|NodeList|JobName"
_UNNAMED = (
    *(
        (_FIRST + _MIDDLE).format(qos, resources)
        for qos in ("QOS|", "")
        for resources in ("ReqTRES|AllocTRES|", "ReqGRES|ReqTRES|", "ReqTRES|", "ReqGRES|", "")
    ),
    EXPORT.rpartition(" ")[2].replace(",", "|"),
)

# Patterns of cells, by the names of their columns.
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?")
_LENGTH = re.compile(r"(?:\d+-)?[\d:.]+|UNLIMITED|Partition_Limit")
_WHOLE = re.compile(r"\d+[KMG]?")
_RESOURCES = re.compile(r"[^=|,]+=[^=|,]+(?:,[^=|,]+=[^=|,]+)*")
_LOOKS = (
    (("Submit", "Eligible", "Start", "End"), _TIME),
    (("Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "Suspended"), _LENGTH),
    (("NNodes", "NCPUS", "ReqCPUS", "AllocCPUS", "GID", "UID"), _WHOLE),
    (("ReqTRES", "AllocTRES"), _RESOURCES),
    (("ReqMem",), re.compile(r"[\d.]+[KMGTP]?[cn]?")),
    (("ExitCode",), re.compile(r"\d+:\d+")),
)
_PATTERNS = {name: pattern for names, pattern in _LOOKS for name in names}

_DELIMITERS = re.compile(r"[^A-Za-z0-9]+")


class Columns:
    """The columns of an export.

    Parameters
    ----------
    line : str
    delimiter : str

    Attributes
    ----------
    n_fields : int
        Number of fields per row.
    place : dict of str to int
        Positions of the columns in `COLUMNS` that are present.
    free : list of int
        Positions of columns with free text.
    submit_by : str
        The column that replaces a missing Submit; empty if Submit is present.
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
        self.submit_by = ""
        if "submit" not in self.place:
            what, title = next((s for s in _STAND_INS if s[0] in self.place), ("", ""))
            if what:
                self.submit_by, self.place["submit"] = title, self.place[what]

    @cached_property
    def times(self) -> list[int]:
        """Positions of times."""
        return [self.place[w] for w in ("submit", "eligible", "start", "end") if w in self.place]

    @classmethod
    def of(cls, line: str) -> "Columns | None":
        """Parse a line of names with any delimiter; None if it is not one.

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


def is_row(line: str) -> bool:
    """Return whether a line looks like a row of `sacct`: an id, two or more times, and a state.

    Examples
    --------
    >>> is_row("7|2024-05-01T08:00:00|2024-05-01T08:01:00|Unknown|CANCELLED by 5")
    True
    """
    cells = line.split("|")
    n_times = sum(bool(_TIME.fullmatch(cell)) for cell in cells)
    return is_id(cells[0]) and n_times >= 2 and any(state(cell) in STATES for cell in cells)


def unnamed_columns(line: str) -> Columns | None:
    """Return the columns of a known export without names; None if it is not known.

    Examples
    --------
    >>> times = "2024-05-01T08:00:00|2024-05-01T08:00:00|Unknown|2024-05-01T08:02:00|00:00:00"
    >>> row = f"7|7|c|p|a|g|9|u|8|{times}|0:0|CANCELLED by 5|1|0|2|4G||01:00:00||x"
    >>> unnamed_columns(row).place["state"]
    15
    """
    cells = line.split("|")
    for names in _UNNAMED:
        titles = names.split("|")
        if len(cells) - len(titles) in (0, 1) and (len(cells) == len(titles) or not cells[-1]):
            fits = (_fits(title, cell) for title, cell in zip(titles, cells, strict=False))
            if all(fits):
                return Columns("|".join([*titles, ""][: len(cells)]), "|")
    return None


def _fits(title: str, cell: str) -> bool:
    """Whether a cell may belong to a column."""
    if title.startswith("JobID"):
        return is_id(cell)
    if title == "State":
        return state(cell) in STATES
    if title == "Submit":
        return _TIME.fullmatch(cell) is not None
    pattern = _PATTERNS.get(title)
    return pattern is None or cell in NO_VALUE or pattern.fullmatch(cell) is not None


def named_columns(names: str) -> Columns:
    """Return the columns specified by the user.

    Raises
    ------
    ParameterError
        If these are not columns of `sacct`.
    """
    columns = Columns.of(names)
    if columns is None:
        raise ParameterError(
            f"columns is {names!r}; it must list the columns of sacct in order, including JobID, "
            "such as JobID|Submit|Start|End|State|NCPUS"
        )
    return Columns(names.replace(columns.delimiter, "|"), "|")


def first_columns(line: str, path: str, number: int, given: Columns | None = None) -> Columns:
    """Return the columns of a file from its first line: names, or a row of a known export.

    Raises
    ------
    FormatError
        If the columns are unknown, or required ones are missing.
    """
    columns = Columns.of(line) or given or unnamed_columns(line)
    if columns is None and is_row(line):
        raise FormatError(
            path,
            "rows of sacct without a line of column names: specify the columns in order with "
            "--columns 'JobID|Partition|...' (in Python columns=)",
            line=number,
        )
    if columns is None:
        raise FormatError(
            path, f"no line with the column names of sacct; export with: {EXPORT}", line=number
        )
    if not columns.delimiter.strip(" "):
        raise FormatError(
            path, f"columns have a fixed width; use --parsable2: {EXPORT}", line=number
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
