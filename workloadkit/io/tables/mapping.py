"""Mappings: what the columns of a table of jobs mean, as data in a file."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

from workloadkit.errors import FormatError, MissingFileError, ParameterError, among, quoted
from workloadkit.io.files import is_file
from workloadkit.io.strict_json import read_toml
from workloadkit.io.tables.declared import (
    DURATION_UNITS,
    DURATIONS,
    JOULES,
    KILOBYTES,
    MAPPED,
    MEMORY,
    MEMORY_UNITS,
    NUMBERS,
    SECONDS,
    TIMES,
    WORDS,
    Durations,
    Joined,
    Meaning,
    Provenance,
    Source,
    Table,
    TableMapping,
    Times,
    Tried,
    Value,
)

__all__ = [
    "DURATIONS",
    "DURATION_UNITS",
    "JOULES",
    "KILOBYTES",
    "MAPPED",
    "MEMORY",
    "MEMORY_UNITS",
    "NUMBERS",
    "SECONDS",
    "TIMES",
    "WORDS",
    "Durations",
    "Joined",
    "Mapped",
    "Meaning",
    "Provenance",
    "Source",
    "Table",
    "TableMapping",
    "Times",
    "Tried",
    "Value",
    "mapping_names",
    "read_mapping",
]

_SHIPPED = "workloadkit.io.tables.mappings"

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
    """Return the names of the mappings that ship.

    Examples
    --------
    >>> "pm100" in mapping_names()
    True
    """
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
    if not isinstance(mapping, str | os.PathLike):
        why = "it is the name of a mapping, a TOML file, or a dict of its sections"
        raise ParameterError("mapping", f"is {quoted(mapping)}; {why}")
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
