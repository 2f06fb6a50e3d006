"""Mappings: what the columns of a table of jobs mean, as data."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from workloadkit.errors import FormatError, MissingFileError, ParameterError, among, quoted
from workloadkit.io.files import is_file
from workloadkit.io.toml import read_toml
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

_SHIPPED = "workloadkit.io.tables.mappings"


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

    def error(self, key: str, message: str, text: str | None = None) -> FormatError:
        """Return an error of one key of the file."""
        return FormatError(self.name, message, line=self.lines.get(key), field=key, text=text)


_SECTIONS: dict[str, Any] = {
    "source": Source,
    "joined": Joined,
    "times": Times,
    "durations": Durations,
    "provenance": Provenance,
}
_MACHINE = {"name": str, "procs": int, "nodes": list}
_OF_MACHINE = {str: "a text", int: "a whole number", list: "a list"}
_KEYS = ("title", "fields", "states", "machine", *_SECTIONS)


def mapping_names() -> tuple[str, ...]:
    """Return the names of the mappings that ship."""
    found = (Path(each.name) for each in resources(_SHIPPED).iterdir())
    return tuple(sorted(path.stem for path in found if path.suffix == ".toml"))


#: A mapping: its name or file, its sections, or what has been read of them.
Mapped = str | os.PathLike[str] | Mapping[str, Any] | TableMapping


def read_mapping(mapping: Mapped) -> TableMapping:
    """Read a mapping.

    Parameters
    ----------
    mapping : str, path, dict or TableMapping
        The name of one that ships, a TOML file, or its sections.

    Raises
    ------
    FormatError
        With the line and key at fault.
    ParameterError
        If no mapping has this name.

    Examples
    --------
    >>> kestrel = read_mapping("kestrel")
    >>> kestrel.fields["submit"].sql, kestrel.provenance.tried
    ('submit_time', 'sample')
    """
    if isinstance(mapping, TableMapping):
        return mapping
    if isinstance(mapping, Mapping):
        return _checked(dict(mapping), "mapping", {})
    path, name = Path(mapping), os.fspath(mapping)
    if name in mapping_names():
        path = Path(str(resources(_SHIPPED) / f"{name}.toml"))
        name = path.name
    elif not is_file(path):
        if path.suffix == ".toml":
            raise MissingFileError(name)
        known = among(name, mapping_names())
        raise ParameterError("mapping", f"is {quoted(name)}; give a TOML file, or a name; {known}")
    return _checked(read_toml(path), name, _lines_of(path.read_text("utf-8")))


_HEAD = re.compile(r"\s*\[{1,2}\s*([\w.\-\"' ]+?)\s*\]{1,2}\s*(#.*)?")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w.\-]+)\s*=""")


def _lines_of(text: str) -> dict[str, int]:
    """Return the line of each key, for messages."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.fullmatch(line):
            section = head[1]
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            name = key[1].strip("\"'")
            lines.setdefault(f"{section}.{name}" if section else name, number)
    return lines


def _checked(keys: dict[str, Any], name: str, lines: dict[str, int]) -> TableMapping:
    blank = TableMapping(name, "", {}, lines=lines)
    for key in keys:
        if key not in _KEYS:
            raise blank.error(key, f"unknown section or key; {among(key, _KEYS)}")
    if "fields" not in keys:
        raise FormatError(name, "is missing", field="fields")
    title = _of_type(blank, "title", keys.get("title", "a table"), "")
    parts: dict[str, Any] = {
        key: _section(blank, key, kind, keys[key]) for key, kind in _SECTIONS.items() if key in keys
    }
    if "joined" in parts and not (parts["joined"].key and parts["joined"].columns):
        raise blank.error("joined", "requires key and columns")
    times = parts.get("times", Times())
    try:
        ZoneInfo(times.zone)
    except (KeyError, ValueError, OSError):
        raise blank.error("times.zone", "is not a time zone", times.zone) from None
    _check_unit(blank, "times.unit", times.unit, tuple(SECONDS))
    durations = parts.get("durations", Durations())
    _check_unit(blank, "durations.unit", durations.unit, DURATION_UNITS)
    given = _table(blank, "fields", keys["fields"])
    found = {key: _value(blank, key, value, times, durations) for key, value in given.items()}
    if "submit" not in found and "start" not in found:
        raise blank.error("fields", "requires submit, or start")
    states = _table(blank, "states", keys.get("states", {}))
    for key, meaning in states.items():
        if meaning not in get_args(Meaning):
            why = f"is {quoted(meaning)}; {among(meaning, get_args(Meaning))}"
            raise blank.error(f"states.{key}", why)
    machine = _table(blank, "machine", keys.get("machine", {}))
    for key in machine:
        if key not in _MACHINE:
            raise blank.error(f"machine.{key}", f"unknown key; {among(key, _MACHINE)}")
        if not isinstance(machine[key], _MACHINE[key]) or machine[key] is True:
            why = f"is {quoted(machine[key])}; it is {_OF_MACHINE[_MACHINE[key]]}"
            raise blank.error(f"machine.{key}", why)
    return TableMapping(name, title, found, states=states, machine=machine, lines=lines, **parts)


def _section(mapping: TableMapping, section: str, kind: Any, given: object) -> Any:
    """Return a section as its class."""
    defaults = {f.name: getattr(kind(), f.name) for f in fields(kind)}
    table = _table(mapping, section, given)
    for key in table:
        if key not in defaults:
            raise mapping.error(f"{section}.{key}", f"unknown key; {among(key, defaults)}")
    values = {
        key: _of_type(mapping, f"{section}.{key}", value, defaults[key], numbers=key == "unknown")
        for key, value in table.items()
    }
    choices = {"format": ("csv", "json", "parquet"), "tried": get_args(Tried)}
    for key in ("format", "tried") if section != "times" else ():
        if values.get(key) and values[key] not in choices[key]:
            why = f"is {quoted(values[key])}; {among(values[key], choices[key])}"
            raise mapping.error(f"{section}.{key}", why)
    return kind(**values)


def _of_type(
    mapping: TableMapping, key: str, value: Any, default: Any, *, numbers: bool = False
) -> Any:
    """Return a value of the type of its default; a single text may stand for a list of one."""
    if isinstance(default, tuple):
        items = value if isinstance(value, list) else [value]
        kinds = (str, int, float) if numbers else (str,)
        if all(isinstance(item, kinds) and not isinstance(item, bool) for item in items):
            return tuple(items)
        what = "numbers or texts" if numbers else "texts"
        raise mapping.error(key, f"is {quoted(value)}; it is a list of {what}")
    if isinstance(default, Mapping):
        return {k: _of_type(mapping, f"{key}.{k}", v, "") for k, v in value.items()}
    if not isinstance(value, type(default)):
        what = {str: "a text", bool: "true or false"}[type(default)]
        raise mapping.error(key, f"is {quoted(value)}; it is {what}")
    return value


def _table(mapping: TableMapping, section: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise mapping.error(section, f"is {quoted(given)}; it is a section: [{section}]")
    return given


_VALUE = {"sql": "", "unit": "", "format": "", "per": "", "unknown": ()}


def _value(
    mapping: TableMapping, name: str, given: object, times: Times, durations: Durations
) -> Value:
    """Return a field with the defaults of its kind."""
    key = f"fields.{name}"
    if name not in MAPPED:
        raise mapping.error(key, f"not a field of a record; {among(name, MAPPED)}")
    table = given if isinstance(given, dict) else {"sql": given}
    for part in table:
        if part not in _VALUE:
            raise mapping.error(key, f"unknown key {quoted(part)}; {among(part, _VALUE)}")
    parts = {
        part: _of_type(mapping, key, v, _VALUE[part], numbers=part == "unknown")
        for part, v in table.items()
    }
    if not parts.get("sql", "").strip():
        raise mapping.error(key, "requires an expression")
    value = Value(**parts, line=mapping.lines.get(key, 0))
    defaults: Times | Durations | None = None
    if name in TIMES:
        defaults, units = times, tuple(SECONDS)
    elif name in DURATIONS:
        defaults, units = durations, DURATION_UNITS
    else:
        units = MEMORY_UNITS if name in MEMORY else tuple(JOULES) if name == "energy" else ()
        if units and not value.unit:
            raise mapping.error(key, f"requires a unit: {', '.join(units)}")
    _check_unit(mapping, key, value.unit, units)
    _check_per(mapping, key, value.per, name)
    if value.format and name not in TIMES:
        raise mapping.error(key, "format is for times")
    unit, unknown = value.unit, value.unknown
    if defaults is not None:
        unit = unit or ("" if value.format else defaults.unit)
        unknown = unknown or defaults.unknown
    form = value.format or (times.format if name in TIMES and not unit else "")
    return Value(value.sql, unit, form, value.per, unknown, value.line)


def _check_unit(mapping: TableMapping, key: str, unit: str, units: tuple[str, ...]) -> None:
    if unit and unit not in units:
        why = among(unit, units) if units else "this field has none"
        raise mapping.error(key, f"unit is {quoted(unit)}; {why}")


def _check_per(mapping: TableMapping, key: str, per: str, name: str) -> None:
    known = ("proc", "node", "job")
    if name in MEMORY and not per:
        raise mapping.error(key, f"requires per: {', '.join(known)}")
    if per and (name not in (*MEMORY, "cpu") or per not in known):
        raise mapping.error(key, f"per is {quoted(per)}; {among(per, known)}, of memory and cpu")
