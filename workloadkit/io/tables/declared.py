"""What a mapping may say: its fields, units, meanings and sections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from workloadkit.errors import FormatError
from workloadkit.record_fields import RECORD_FIELDS

#: Fields that are points in time.
TIMES = ("submit", "eligible", "start", "end")

#: Fields that are durations; `wait` gives a missing start.
DURATIONS = ("run", "wait", "suspended", "requested_time", "cpu")

#: Fields that are amounts of memory.
MEMORY = ("memory", "requested_memory")

#: Seconds of each unit of time.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

#: Units of durations; `clock` is ``[d-]hh:mm:ss`` or ``N days hh:mm:ss``.
DURATION_UNITS = (*SECONDS, "clock")

#: Kilobytes of each unit of memory; `suffix` is a number with its own: ``256G``, ``4000M``.
KILOBYTES = {"B": 2.0**-10, "KB": 1.0, "MB": 2.0**10, "GB": 2.0**20, "TB": 2.0**30}
MEMORY_UNITS = (*KILOBYTES, "suffix")

#: Joules of each unit of energy.
JOULES = {"J": 1.0, "kJ": 1e3, "Wh": 3.6e3, "kWh": 3.6e6}

#: What a state may mean.
Meaning = Literal[
    "completed", "failed", "cancelled", "timeout", "node_fail", "out_of_memory", "preempted",
    "running", "pending", "unknown",
]  # fmt: skip

#: On what a mapping was tried.
Tried = Literal["publisher's file", "sample", "description"]

_MANAGED = ("place", "submit_by", "status", "requested_memory_per", "executions")

#: Fields that a mapping may give.
MAPPED = ("wait", *(f.name for f in RECORD_FIELDS if f.name not in _MANAGED))

#: Fields that are numbers without a unit.
NUMBERS = tuple(
    f.name
    for f in RECORD_FIELDS
    if f.kind == "number" and not f.unit and f.name not in (*TIMES, *DURATIONS)
)

#: Fields that are words or texts.
WORDS = tuple(f.name for f in RECORD_FIELDS if f.kind in ("word", "text") and f.name in MAPPED)


@dataclass(frozen=True)
class Table:
    """How the files of a table are read.

    Parameters
    ----------
    files : tuple of str
        Patterns of the files in a folder or an archive; by default all with a known suffix.
    format : {"csv", "json", "parquet"}, optional
        By default that of the suffix.
    delimiter, quote : str
        Of CSV; the delimiter may have two characters, and a quote that is empty means that there
        are none.
    names : tuple of str
        Columns of CSV files without a line of names.
    null : tuple of str
        Texts that stand for a missing value.
    encoding : str, default "utf-8"
    records : str
        Path to the array of records in a JSON document, as ``result.jobs``.
    numbers : tuple of str
        Columns of text that hold numbers, for expressions that calculate with them.
    optional : tuple of str
        Columns that all files may lack.
    """

    files: tuple[str, ...] = ()
    format: str = ""
    delimiter: str = ","
    quote: str = '"'
    names: tuple[str, ...] = ()
    null: tuple[str, ...] = ("",)
    encoding: str = "utf-8"
    records: str = ""
    numbers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source(Table):
    """The table of jobs.

    Parameters
    ----------
    where : str
        SQL condition of the rows that are read; the others are counted.
    group : str
        SQL expression: rows with the same value are one job, and fields are aggregates.
    expect : tuple of str
        SQL aggregates that must hold in the first rows of each file.
    shared_ids : bool
        Whether several jobs have one id; else a row that repeats id, submission, start and end of
        another one is left out.
    """

    where: str = ""
    group: str = ""
    expect: tuple[str, ...] = ()
    shared_ids: bool = False


@dataclass(frozen=True)
class Joined(Table):
    """A second table, aggregated by a key: expressions name its columns ``joined.NAME``.

    Parameters
    ----------
    key : str
        SQL expression in this table.
    to : str
        SQL expression in the table of jobs; by default the key.
    columns : dict of str to str
        SQL aggregates by name.
    """

    key: str = ""
    to: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Times:
    """Defaults of times.

    Parameters
    ----------
    unit : str
        Of times that are numbers.
    origin : str, default "1970-01-01"
        Second 0 of times that are numbers; ``unknown`` makes a log without a date.
    zone : str
        Time zone of the log and of times without an offset.
    format : str
        Of texts that are not ISO 8601, as strptime has it.
    unknown : tuple
        Values that mean that the time is unknown.
    """

    unit: str = ""
    origin: str = "1970-01-01"
    zone: str = "UTC"
    format: str = ""
    unknown: tuple[float | str, ...] = ()


@dataclass(frozen=True)
class Durations:
    """Defaults of durations: their unit, and values that mean unknown or no limit."""

    unit: str = ""
    unknown: tuple[float | str, ...] = ()


@dataclass(frozen=True)
class Value:
    """One field.

    Parameters
    ----------
    sql : str
        Expression of the columns.
    unit, format : str
    per : {"proc", "node", "job"}
        To what an amount of memory, or the CPU time, belongs.
    unknown : tuple
        Values that mean unknown.
    line : int
        In the file of the mapping.
    """

    sql: str
    unit: str = ""
    format: str = ""
    per: str = ""
    unknown: tuple[float | str, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Provenance:
    """From where a table comes, and how much of its mapping is known.

    Parameters
    ----------
    url, licence, cite : str
    size : str
        How many jobs, and how much to download.
    download : str
        What to download.
    input : str
        What of it is read: a file, pattern, folder or archive.
    tried : {"publisher's file", "sample", "description"}
        On what the mapping was tried.
    published, documented : tuple of str
        Columns that were seen in a sample or schema of the publisher, and those that are known from
        documents or public programs.
    notes : tuple of str
    """

    url: str = ""
    licence: str = ""
    cite: str = ""
    size: str = ""
    download: str = ""
    input: str = ""
    tried: str = ""
    published: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableMapping:
    """What the columns of a table of jobs mean.

    Parameters
    ----------
    name : str
        Path of its file, or its name.
    title : str
        Of the table, for reports.
    fields : dict of str to Value
        By the names of `workloadkit.record_fields`.
    states : dict of str to str
        Meaning of each state; a key that ends with ``*`` is the beginning of states. Without any,
        states are those of Slurm.
    machine : dict
        ``name``, ``procs`` and ``nodes``, as in the description of a machine.
    """

    name: str
    title: str
    fields: Mapping[str, Value]
    source: Source = Source()
    joined: Joined | None = None
    times: Times = Times()
    durations: Durations = Durations()
    states: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = Provenance()
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def is_draft(self) -> bool:
        """Whether it ships as a draft, made from a description alone."""
        return Path(self.name).name.startswith("draft-")

    def sql_of(self, key: str) -> str:
        """Return the SQL of one key of a field or of the source."""
        section, _, name = key.partition(".")
        if section == "fields":
            return self.fields[name].sql
        given = getattr(self.joined if section == "joined" else self.source, name)
        return given if isinstance(given, str) else "; ".join(given)

    def error(self, key: str, message: str, text: str | None = None) -> FormatError:
        """Return an error of one key of the file."""
        return FormatError(self.name, message, line=self.lines.get(key), field=key, text=text)
