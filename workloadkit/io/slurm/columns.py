"""The columns of an export of `sacct`: their names by version, and what their cells may contain."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property

from workloadkit.errors import FormatError, ParameterError, quoted
from workloadkit.io.slurm.times import is_time
from workloadkit.io.slurm.values import NO_VALUE, STATES, is_id, state

# What the cells of an export may contain, by the names of their columns, in lower case.

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.{0,20}", re.ASCII)
_SHORT_NUMBER = re.compile(r"\d{1,8}(?:\.\d*)?", re.ASCII)
_DURATION = re.compile(r"-?(?:\d+-)?[\d:.]+|UNLIMITED|Partition_Limit|INVALID", re.ASCII)
_COUNT = re.compile(r"\d+(?:\.\d+)?[KMG]?", re.ASCII)
_AMOUNT = re.compile(r"\d+(?:\.\d+)?[KMGTPE]?[nc]?", re.ASCII)
_EXIT_CODE = re.compile(r"\d+:\d+", re.ASCII)
_RESOURCE = (
    r"(?:cpu|mem|energy|node|billing|vmem|pages|(?:gres|fs|ic|bb|license)/[^=,|;]+)=[^=,|;]*"
)
_RESOURCES = re.compile(rf"{_RESOURCE}(?:,{_RESOURCE})*")
_ONE_RESOURCE = re.compile(_RESOURCE)
# Repeated parts are possessive, so that no text takes exponential time.
_GENERIC = re.compile(r"(?:[A-Za-z][\w./]*+(?:[:=][\w.-]++)*+(?:\([^)]*+\))?(?:,|$))++|0")
_WORD = re.compile(r"[^\s|;\"]*")
_NODES = re.compile(r"(?:[\w.-]++|\[[\d,-]*+\]|(?<=[^,]),(?=[^,]))++")
_CONSTRAINTS = re.compile(
    r"[(\[]*[A-Za-z!][\w.:*!-]*[)\]]*(?:\*\d+)?(?:[&|,][(\[]*[A-Za-z!][\w.:*()\[\]!-]*)*"
)
_FLAGS = re.compile(r"[A-Z][A-Za-z]+(?:,[A-Z][A-Za-z]+)*")
_REASON = re.compile(r"[^,|]*(?:, [^,|]*)*")

#: Columns with free text, which may contain the delimiter or line ends.
FREE_TEXT = (
    *("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra"),
    *("StdOut", "StdErr", "StdIn"),
)
_FREE = frozenset(name.lower() for name in FREE_TEXT)

_RESOURCE_LISTS = (
    *("reqtres", "alloctres", "tresusageinmax", "tresusageinmaxnode", "tresusageinmaxtask"),
    *("tresusageinmin", "tresusageinminnode", "tresusageinmintask", "tresusageinave"),
    *("tresusageintot", "tresusageoutmax", "tresusageoutave", "tresusageouttot"),
)

# Columns with lists, by the delimiter that these may contain.
_LISTS: dict[str, tuple[str, ...]] = {
    ",": (*_RESOURCE_LISTS, "nodelist", "partition", "reason", "flags", "allocgres", "reqgres"),
    "|": ("constraints",),
}

_Fits = Callable[[str], object]


def _known_time(text: str) -> bool:
    if _SHORT_NUMBER.fullmatch(text):  # a count rather than seconds since 1970
        return text == "0"
    return _ISO.fullmatch(text) is not None or is_time(text)


KNOWN: dict[str, _Fits] = {
    **dict.fromkeys(("submit", "eligible", "start", "end"), _known_time),
    **dict.fromkeys(("elapsed", "elapsedraw", "timelimit", "timelimitraw"), _DURATION.fullmatch),
    **dict.fromkeys(("suspended", "cputime", "cputimeraw", "totalcpu"), _DURATION.fullmatch),
    **dict.fromkeys(("usercpu", "systemcpu", "mincpu", "avecpu"), _DURATION.fullmatch),
    **dict.fromkeys(("planned", "plannedcpu", "reserved", "resvcpu"), _DURATION.fullmatch),
    **dict.fromkeys(("nnodes", "allocnodes", "ncpus", "reqcpus", "alloccpus"), _COUNT.fullmatch),
    **dict.fromkeys(("reqnodes", "ntasks", "gid", "uid", "priority"), _COUNT.fullmatch),
    **dict.fromkeys(("reqmem", "maxrss", "averss", "maxvmsize", "avevmsize"), _AMOUNT.fullmatch),
    **dict.fromkeys(("consumedenergy", "consumedenergyraw"), _AMOUNT.fullmatch),
    **dict.fromkeys(("exitcode", "derivedexitcode"), _EXIT_CODE.fullmatch),
    **dict.fromkeys(_RESOURCE_LISTS, _RESOURCES.fullmatch),
    **dict.fromkeys(("allocgres", "reqgres"), _GENERIC.fullmatch),
    **dict.fromkeys(("cluster", "user", "group", "account", "qos", "partition"), _WORD.fullmatch),
    **dict.fromkeys(("jobid", "jobidraw"), is_id),
    "state": lambda text: state(text) in STATES,
    "nodelist": _NODES.fullmatch,
    "constraints": _CONSTRAINTS.fullmatch,
    "flags": _FLAGS.fullmatch,
    "reason": _REASON.fullmatch,
}
_NEVER_EMPTY = ("jobid", "jobidraw", "submit", "state")


def fits(name: str, cell: str) -> bool:
    """Return whether a text may be a cell of a column; any may, if the column is not known.

    Examples
    --------
    >>> fits("alloctres", "cpu=4,node=1"), fits("alloctres", "train"), fits("end", "Unknown")
    (True, False, True)
    """
    known = KNOWN.get(name)
    if known is None or (cell in NO_VALUE and name not in _NEVER_EMPTY):
        return True
    return bool(known(cell))


def may_contain(name: str, delimiter: str) -> bool:
    """Return whether cells of a column may contain the delimiter."""
    return name in _FREE or name in _LISTS.get(delimiter, ())


def is_free(name: str) -> bool:
    """Return whether a column contains free text."""
    return name in _FREE


def goes_on(name: str, text: str, other: str) -> bool:
    """Return whether text next to a list of resources belongs to it, not to the other column."""
    lists = name in _RESOURCE_LISTS and other not in _RESOURCE_LISTS
    return lists and _ONE_RESOURCE.fullmatch(text) is not None


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
    "user_cpu": ("UserCPU",),
    "system_cpu": ("SystemCPU",),
    "memory": ("MaxRSS",),
    "usage": ("TRESUsageInTot",),
    "usage_of_task": ("TRESUsageInMax",),
    "n_tasks": ("NTasks",),
    "energy": ("ConsumedEnergyRaw", "ConsumedEnergy"),
}

_OTHERS = ("User", "UID", "JobIDRaw", "CPUTimeRAW", "Flags", *FREE_TEXT)
_KNOWN = {name.lower() for names in (*COLUMNS.values(), _OTHERS) for name in names}

# Required columns, and the data that they provide.
_NEEDED = (
    (("start",), "Start", "start time"),
    (("end", "elapsed"), "End or ElapsedRaw", "end time"),
)

# Columns without which a log is poorer, and what becomes of it.
_BETTER = (
    (("id",), "JobID", "rows are numbered by their lines"),
    (("state",), "State", "status unknown"),
    (("procs", "allocated", "requested_procs", "requested"), "AllocCPUS", "processors unknown"),
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

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?")
_COMMAND = re.compile(r"\bsacct\b")
_DELIMITERS = re.compile(r"[^A-Za-z0-9]+")


class ExportColumns:
    """The columns of an export.

    Parameters
    ----------
    line : str
    delimiter : str

    Attributes
    ----------
    names : list of str
        Of all columns, in lower case and without blanks.
    n_fields : int
        Number of fields per row.
    place : dict of str to int
        Positions of the columns in `COLUMNS` that are present.
    free : list of int
        Positions of columns with free text.
    quotes : bool
        Whether every cell that begins and ends with a quote is quoted, as in CSV files; else only
        a cell that needs it.
    missing : tuple of (str, str)
        Columns without which a log is poorer, and what becomes of it.
    """

    def __init__(self, line: str, delimiter: str) -> None:
        self.line, self.delimiter = line, delimiter
        self.quotes = delimiter != "|" or '"' in line
        self.names = names = _names(line, delimiter)
        self.n_fields = len(names)
        at = {name: i for i, name in reversed(list(enumerate(names)))}
        self.place: dict[str, int] = {}
        for what, titles in COLUMNS.items():
            there = [at[title.lower()] for title in titles if title.lower() in at]
            if there:
                self.place[what] = there[0]
        self.free = [i for i, name in enumerate(names) if is_free(name)]
        self.missing = tuple(
            (title, so) for any_of, title, so in _BETTER if not self.place.keys() & any_of
        )

    def of_rows_as(self, row: str) -> "ExportColumns":
        """Return the columns for rows in which the delimiter has no blanks, unlike in the names."""
        plain = self.delimiter.strip(" ")
        return ExportColumns(self.line, plain) if plain and self.delimiter not in row else self

    @cached_property
    def mark(self) -> bytes:
        """Text that is in each line of names."""
        found = re.search("jobid", self.line, re.IGNORECASE)
        return (found[0] if found else self.line).encode()

    @classmethod
    def of(cls, line: str) -> "ExportColumns | None":
        """Parse a line of names with any delimiter; None if it is not one.

        Examples
        --------
        >>> ExportColumns.of("JobID|Submit|State|").n_fields
        4
        >>> ExportColumns.of("JobID^^State").delimiter
        '^^'
        >>> ExportColumns.of("123|2015-06-26T13:57:00|COMPLETED") is None
        True
        """
        lowered = line.lower()
        is_command = _COMMAND.search(lowered) is not None  # as typed
        if len(line) > 1 << 14 or is_command or not ("jobid" in lowered or "start" in lowered):
            return None
        best = None
        plain = line.replace('"', "")
        for delimiter in sorted(set(_DELIMITERS.findall(plain)), key=plain.count, reverse=True):
            names = _names(line, delimiter)
            known = sum(name in _KNOWN for name in names)
            has_id = "jobid" in names or "jobidraw" in names
            all_known = known == sum(map(bool, names)) and known >= 2
            of_times = "start" in names and ("end" in names or "elapsed" in lowered)
            is_export = known >= 2 if has_id else of_times and (known >= 4 or all_known)
            if is_export and (best is None or known > best[0]):
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


def unnamed_columns(line: str) -> ExportColumns | None:
    """Return the columns of a known export without names; None if it is not known.

    Examples
    --------
    >>> times = "2024-05-01T08:00:00|2024-05-01T08:00:00|Unknown|2024-05-01T08:02:00|00:00:00"
    >>> row = f"7|7|c|p|a|g|9|u|8|{times}|0:0|CANCELLED by 5|1|0|2|4G||01:00:00||x"
    >>> unnamed_columns(row).place["state"]
    15
    """
    cells = line.split("|")
    for listed in _UNNAMED:
        titles = listed.split("|")
        ends = len(cells) == len(titles) + 1 and not cells[-1]  # with a delimiter
        names = map(str.lower, titles)
        if (ends or len(cells) == len(titles)) and all(map(fits, names, cells)):
            return ExportColumns("|".join([*titles, ""][: len(cells)]), "|")
    return None


def _names(line: str, delimiter: str) -> list[str]:
    """Return the names of columns in a line, in lower case and without blanks and quotes."""
    return [re.sub(r"\s", "", name).strip('"').lower() for name in line.split(delimiter)]


def named_columns(names: str) -> ExportColumns:
    """Return the columns specified by the user.

    Raises
    ------
    ParameterError
        If these are not columns of `sacct`.
    """
    columns = ExportColumns.of(names)
    if columns is None:
        raise ParameterError(
            "columns",
            f"is {quoted(names)}; it must list the columns of sacct in order, including JobID, "
            "such as JobID|Submit|Start|End|State|NCPUS",
        )
    return ExportColumns(names.replace(columns.delimiter, "|"), "|")


def columns_at(
    lines: Iterable[str], given: ExportColumns | None = None
) -> tuple[int, ExportColumns | None]:
    """Return the index of the line with the names of columns, or of the first row, and the columns.

    Stray lines may precede it, such as messages of `sacct` or the prompt of a shell. Without names,
    the columns are those given, or of a known export, else None.

    Examples
    --------
    >>> index, columns = columns_at(["sacct: error: retry", "", "JobID|Submit|State"])
    >>> index, columns.names
    (2, ['jobid', 'submit', 'state'])
    """
    for i, line in enumerate(lines):
        columns = ExportColumns.of(line) or (None if given else unnamed_columns(line))
        if columns is not None:
            return i, columns
        if is_row(line):
            return (0 if given else i), given
    return 0, given


def are_of_another_table(columns: ExportColumns) -> bool:
    """Whether columns lack what is required, or have names that `sacct` has not, and no JobID."""
    others = any(name not in _KNOWN for name in columns.names)
    return bool(_missing(columns)) or ("id" not in columns.place and others)


def _missing(columns: ExportColumns) -> list[str]:
    """Return the required columns that are missing, and what each is for."""
    return [
        f"{title} ({why})"
        for any_of, title, why in _NEEDED
        if not any(what in columns.place for what in any_of)
    ]


def checked_columns(
    columns: ExportColumns | None, line: str, path: str, number: int
) -> ExportColumns:
    """Return columns if they are sufficient.

    Raises
    ------
    FormatError
        If the columns are unknown, or required ones are missing.
    """
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
    if missing := _missing(columns):
        what = "a column is missing" if len(missing) == 1 else "columns are missing"
        raise FormatError(path, f"{what}: {', '.join(missing)}; export with: {EXPORT}", line=number)
    return columns
