"""Read and write the description of a machine as JSON.

The description of a log's machine stands next to the log, in a file with the log's whole name plus
``.machine.json``. Its keys are the fields of `workloadkit.machine.description`; ``log`` and
``log_sha256`` identify the log, by its name and the SHA-256 of its text.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from workloadkit.errors import FormatError, WorkloadError, WorkloadWarning, among
from workloadkit.io.files import Source, is_file, source_path, writing
from workloadkit.io.sidecar import Companion
from workloadkit.io.strict_json import read_json_file
from workloadkit.machine.description import MachineDescription, NodeType, Partition, Switch

if TYPE_CHECKING:
    from workloadkit.trace import Trace

SUFFIX = ".machine.json"

#: Version of the format.
VERSION = 1

_LISTS: dict[str, type[NodeType] | type[Partition] | type[Switch]] = {
    "nodes": NodeType,
    "partitions": Partition,
    "switches": Switch,
}
_KEYS = ("format", "log", "log_sha256", "nodes", "partitions", "pools", "switches")
_WHAT = "is not the description of a machine"
_LONGEST = 1 << 26  # [bytes]
_LONGEST_SHOWN = 300  # of an error [characters]


def machine_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the description of a log's machine.

    Examples
    --------
    >>> machine_path("logs/site.swf.gz").name
    'site.swf.gz.machine.json'
    """
    return Path(f"{os.fspath(path)}{SUFFIX}")


def read_machine(source: Source) -> MachineDescription:
    r"""Read the description of a machine.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognized from the content.

    Raises
    ------
    FormatError
        With the place in the JSON and the value that is invalid; for a file that is missing,
        truncated, binary or of another version.

    Examples
    --------
    >>> import io
    >>> text = b'{"nodes": [{"count": 2, "cores": 4}], "pools": {"matlab": 10}}'
    >>> read_machine(io.BytesIO(text)).procs
    8
    """
    return _read(source)[0]


def write_machine(
    machine: MachineDescription, path: str | os.PathLike[str], *, log: str = "", digest: str = ""
) -> None:
    """Write the description of a machine, whole or not at all; the same one gives the same bytes.

    Parameters
    ----------
    machine : MachineDescription
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.
    log, digest : str, default ""
        Name of the machine's log, and SHA-256 of its text.

    Raises
    ------
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> write_machine(MachineDescription(nodes=(NodeType(count=2, cores=4),)), "-")
    {
     "format": 1,
     "nodes": [
      {"count": 2, "cores": 4}
     ]
    }
    """
    with writing(path) as stream:
        stream.write(machine_text(machine, log=log, digest=digest).encode())


def machine_text(machine: MachineDescription, *, log: str = "", digest: str = "") -> str:
    """Return the text of a file with the description of a machine."""
    keys: dict[str, Any] = {"format": VERSION, "log": log, "log_sha256": digest}
    lines = []
    for key, value in (keys | as_dict(machine)).items():
        if key in _LISTS and value:
            items = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f' "{key}": [\n  {items}\n ]')
        elif value:
            lines.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def as_dict(machine: MachineDescription) -> dict[str, Any]:
    """Return a machine as JSON has it, without the fields that have their defaults."""
    return {
        "nodes": [*map(_item, machine.nodes)],
        "partitions": [*map(_item, machine.partitions)],
        "pools": dict(sorted(machine.pools.items())),
        "switches": [*map(_item, machine.switches)],
    }


def _item(part: NodeType | Partition | Switch) -> dict[str, Any]:
    values = ((f, getattr(part, f.name)) for f in fields(part))
    return {
        f.name: list(value) if isinstance(value, tuple) else value
        for f, value in values
        if value != f.default
    }


def from_dict(data: Any, path: str) -> MachineDescription:
    """Return the machine that JSON describes; `path` is that of the file, for messages.

    Raises
    ------
    FormatError
        With the place in the JSON.
    """
    if not isinstance(data, dict):
        raise FormatError(path, f"{_WHAT}: no object", text=_shown(data))
    if data.get("format", VERSION) != VERSION:
        raise FormatError(
            path,
            f"unsupported version of the format, not {VERSION}",
            field="format",
            text=_shown(data["format"]),
        )
    _check_keys(data, _KEYS, path, "")
    for key in ("log", "log_sha256"):
        if not isinstance(data.get(key, ""), str):
            raise FormatError(path, "no text", field=key, text=_shown(data[key]))
    parts: dict[str, Any] = {"pools": data.get("pools", {})}
    for key, kind in _LISTS.items():
        items = data.get(key, [])
        if not isinstance(items, list):
            raise FormatError(path, "no list", field=key, text=_shown(items))
        parts[key] = [_part(kind, item, path, f"{key}[{i}]") for i, item in enumerate(items)]
    return _made(lambda: MachineDescription(**parts), path, None)


def _part(kind: Any, item: Any, path: str, place: str) -> Any:
    """Return a part of a machine that an item of a list describes."""
    if not isinstance(item, dict):
        raise FormatError(path, "no object", field=place, text=_shown(item))
    _check_keys(item, [f.name for f in fields(kind)], path, place)
    needed = [f.name for f in fields(kind) if f.default is MISSING]
    if missing := [name for name in needed if name not in item]:
        raise FormatError(path, f"{missing[0]} is missing", field=place)
    return _made(lambda: kind(**item), path, place)


def _made(make: Callable[[], Any], path: str, place: str | None) -> Any:
    try:
        return make()
    except WorkloadError as error:
        raise FormatError(path, str(error)[:_LONGEST_SHOWN], field=place) from None


def _check_keys(data: Mapping[str, Any], known: Any, path: str, place: str) -> None:
    for key in data:
        if key not in known:
            where = f"{place}.{key[:60]}" if place else key[:60]
            raise FormatError(path, f"unknown key; {among(key[:60], known)}", field=where)


def _shown(value: Any) -> str:
    return json.dumps(value)


def _read(source: Source) -> tuple[MachineDescription, dict[str, Any]]:
    """Return a machine and the JSON that describes it."""
    path = source_path(source)
    data = read_json_file(source, most=_LONGEST)
    return from_dict(data, path), data


def with_machine(trace: "Trace", path: str | os.PathLike[str]) -> "Trace":
    """Return a log with the description of its machine, if there is one.

    A description that belongs to another log or cannot be read is ignored with a warning.
    """
    file = machine_path(path)
    if str(path) == "-" or not is_file(file):
        return trace
    try:
        machine, data = _read(file)
    except FormatError as error:
        warn(f"{error}; ignored", WorkloadWarning, stacklevel=3)
        return trace
    if data.get("log_sha256") and data["log_sha256"] != trace.digest:
        warn(f"{file}: belongs to another log; ignored", WorkloadWarning, stacklevel=3)
        return trace
    return replace(trace, machine=machine)


def _log_of(path: Path) -> str:
    """Return the digest of the log that a description belongs to; empty if it states none."""
    digest: str = _read(path)[1].get("log_sha256", "")
    return digest


MACHINE = Companion("the machine", machine_path, _log_of)
