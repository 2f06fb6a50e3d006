"""Read the machine from the configuration of Slurm: the nodes and partitions of slurm.conf [1]_.

The machine is what the lines NodeName, NodeSet, PartitionName and Licenses describe. All other
settings are listed. SwitchName, of topology.conf, is read where it is included.

References
----------
.. [1] SchedMD, "slurm.conf", "topology.conf", man pages of Slurm.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from workloadkit.display import Displayed
from workloadkit.errors import FormatError, WorkloadError, plural
from workloadkit.io.files import Source, is_file, source_path, text_chunks
from workloadkit.machine.description import MachineDescription, NodeType, Partition, Switch
from workloadkit.machine.hostlists import compress, expand

if TYPE_CHECKING:
    import pandas as pd

_MB = 1024  # [KB]
_DAY, _HOUR, _MINUTE = 86400, 3600, 60

_PAIR = re.compile(r"""\s*([A-Za-z_][\w/]*)\s*(?:[-+]?=)\s*("[^"]*"|'[^']*'|\S*)""")
_INCLUDE = re.compile(r"include\s+(\S.*)", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*")
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_GRES = re.compile(r"([^:,()]+)((?::[^:,()]+)*?)(?::(\d{1,9})([KMG]?))?(?:\([^)]*\))?", re.ASCII)
_DEEPEST = 20  # includes within includes
_LONGEST_SHOWN = 300  # of an error [characters]

#: Keys that are used, by the first key of a line.
_READ = {
    "nodename": (
        *("nodename", "cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket"),
        *("threadspercore", "corespeccount", "realmemory", "memspeclimit", "gres", "feature"),
        *("features", "state"),
    ),
    "partitionname": (
        *("partitionname", "nodes", "maxtime", "minnodes", "maxnodes", "prioritytier", "default"),
        *("oversubscribe", "shared"),
    ),
    "nodeset": ("nodeset", "nodes", "feature"),
    "switchname": ("switchname", "nodes", "switches"),
    "licenses": ("licenses",),
    "selecttype": ("selecttype",),
}
_WHOLE_NODES = "select/linear"


class _Line(NamedTuple):
    """A line of settings: keys in lower case, with their values, and where it stands."""

    kind: str
    values: dict[str, str]
    path: str
    number: int
    names: dict[str, str]  # keys as written

    def error(self, message: str, key: str, text: str | None = None) -> FormatError:
        return FormatError(
            self.path, message, line=self.number, field=self.names.get(key, key), text=text
        )


@dataclass
class _Found:
    """What the lines of a configuration describe."""

    machine_wide: dict[str, _Line] = field(default_factory=dict)
    nodes: list[_Line] = field(default_factory=list)
    partitions: list[_Line] = field(default_factory=list)
    sets: list[_Line] = field(default_factory=list)
    switches: list[_Line] = field(default_factory=list)
    unused: dict[str, int] = field(default_factory=dict)  # number of lines by key


@dataclass(frozen=True)
class SlurmConf(Displayed):
    """The machine of a configuration, and what was not used.

    Parameters
    ----------
    machine : MachineDescription
    unused : dict of str to int
        Settings that are not part of the description of a machine, and how often they occur.
    left_out : tuple of str
        Nodes that do not exist yet (State=FUTURE).
    """

    machine: MachineDescription
    unused: dict[str, int]
    left_out: tuple[str, ...] = ()

    def _summary(self) -> str:
        return f"{self.machine._summary()}, {plural(len(self.unused), 'setting')} not used"

    def _table(self) -> "pd.DataFrame":
        return self.machine._table()


def read_slurm_conf(source: Source) -> SlurmConf:
    r"""Read the machine from slurm.conf.

    Lines NodeName=DEFAULT and PartitionName=DEFAULT change the defaults of the lines after them;
    included files are read in their place. The processors of a node are its CPUs, else boards ×
    sockets × cores × threads; those and the memory that are reserved for the system
    (CoreSpecCount, MemSpecLimit) are subtracted. Jobs get whole nodes in partitions with
    OverSubscribe=EXCLUSIVE, and everywhere with SelectType=select/linear. Slurm accounts for CPUs,
    with CR_CPU and CR_Core: they are hardware threads (ThreadsPerCore) unless CPUs is the number of
    cores.

    Parameters
    ----------
    source : str, path or binary file

    Raises
    ------
    FormatError
        With the line, the key and the value that is invalid.

    Examples
    --------
    >>> import io
    >>> text = (
    ...     b"NodeName=DEFAULT CPUs=8 RealMemory=16000\nNodeName=n[01-16]\nNodeName=g1 Gres=gpu:2\n"
    ...     b"PartitionName=batch Nodes=n[01-16] MaxTime=2-0 Default=YES\nSlurmctldPort=6817"
    ... )
    >>> conf = read_slurm_conf(io.BytesIO(text))
    >>> [(kind.names, kind.count, kind.cores, kind.gpus) for kind in conf.machine.nodes]
    [('n[01-16]', 16, 8, 0), ('g1', 1, 8, 2)]
    >>> conf.machine.partitions[0].max_time, conf.unused
    (172800, {'SlurmctldPort': 1})
    """
    path = source_path(source)
    found = _Found()
    defaults: dict[str, dict[str, str]] = {}
    for line in _lines(source, path, ()):
        _sort(line, defaults, found)
    if not found.nodes:
        raise FormatError(path, "describes no nodes (NodeName=…)")
    kinds, left_out = _node_types(found)
    names = {name for kind, line in kinds for name in expand(kind.names)}
    sets = {line.values["nodeset"]: _members(line, kinds) for line in found.sets}
    members = {
        line.values["partitionname"]: _nodes_of(line, names, left_out, sets)
        for line in found.partitions
    }
    select = found.machine_wide.get("selecttype")
    whole = select is not None and select.values["selecttype"].lower() == _WHOLE_NODES
    licences = found.machine_wide.get("licenses")
    try:
        machine = MachineDescription(
            nodes=_by_partitions(kinds, members),
            partitions=tuple(_partition(line, whole) for line in found.partitions),
            pools=_licences(licences) if licences else {},
            switches=tuple(map(_switch, found.switches)),
        )
    except FormatError:
        raise
    except WorkloadError as error:
        raise FormatError(path, str(error)[:_LONGEST_SHOWN]) from None
    return SlurmConf(machine, dict(sorted(found.unused.items())), tuple(left_out))


def _lines(source: Source, path: str, within: tuple[str, ...]) -> Iterator[_Line]:
    """Yield the lines with settings, those of included files in their place."""
    text = b"".join(text_chunks(source)).decode("utf-8-sig", errors="replace")
    number, held = 0, ""
    for row, raw in enumerate((*text.splitlines(), ""), 1):
        number = number or row
        held += _COMMENT.sub("", raw).rstrip()
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        settings, number, at, held = held.strip(), 0, number, ""
        if not settings:
            continue
        if match := _INCLUDE.fullmatch(settings):
            yield from _included(match[1], path, at, within)
            continue
        yield _line(settings, path, at)


def _included(name: str, path: str, number: int, within: tuple[str, ...]) -> Iterator[_Line]:
    file = os.path.join(os.path.dirname(path), name)  # noqa: PTH118, PTH120  # "-" has no folder
    if file in within or len(within) >= _DEEPEST:
        raise FormatError(path, "includes itself", line=number, field="Include", text=name)
    if not is_file(file):
        raise FormatError(path, "no such file", line=number, field="Include", text=name)
    yield from _lines(file, file, (*within, file))


def _line(settings: str, path: str, number: int) -> _Line:
    """Parse the settings of a line."""
    values, names, end = {}, {}, 0
    while end < len(settings):
        match = _PAIR.match(settings, end)
        if not match:
            text = settings[end:]
            raise FormatError(path, "not a setting such as NodeName=n1", line=number, text=text)
        key, value = match[1].lower(), match[2]
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
            value = value[1:-1]
        values[key], names[key] = value, match[1]
        end = match.end()
    return _Line(next(iter(values)), values, path, number, names)


def _sort(line: _Line, defaults: dict[str, dict[str, str]], found: _Found) -> None:
    """Add a line to what it describes, with the defaults that precede it."""
    kind = line.kind
    known = _READ.get(kind, ())
    for key in line.values:
        if key not in known:
            name = line.names[key]
            name = f"{line.names[kind]}.{name}" if kind in _READ and key != kind else name
            found.unused[name] = found.unused.get(name, 0) + 1
    lists = {
        "nodename": found.nodes,
        "partitionname": found.partitions,
        "nodeset": found.sets,
        "switchname": found.switches,
    }
    if kind not in lists:
        if kind in _READ:
            found.machine_wide[kind] = line
        return
    own = defaults.setdefault(kind, {})
    if line.values[kind].upper() == "DEFAULT" and kind in ("nodename", "partitionname"):
        own.update({key: value for key, value in line.values.items() if key != kind})
        return
    lists[kind].append(line._replace(values=own | line.values))


def _node_types(found: _Found) -> tuple[list[tuple[NodeType, _Line]], dict[str, None]]:
    """Return the node types, without partitions, and the nodes that do not exist yet."""
    kinds: list[tuple[NodeType, _Line]] = []
    left_out: dict[str, None] = {}
    seen: set[str] = set()
    for line in found.nodes:
        names = _expanded(line, "nodename")
        if line.values.get("state", "").upper() == "FUTURE":
            left_out |= dict.fromkeys(names)
            continue
        if again := seen.intersection(names):
            raise line.error("a node that is already defined", "nodename", min(again))
        seen.update(names)
        cores = _cores(line)
        memory = _whole(line, "realmemory", 0) - _whole(line, "memspeclimit", 0)
        features = line.values.get("features", line.values.get("feature", ""))
        kind = _made(
            line,
            NodeType,
            count=len(names),
            cores=cores,
            threads_per_core=_threads_per_core(line),
            memory=memory * _MB if memory > 0 else None,
            gpus=_gpus(line),
            features=tuple(dict.fromkeys(filter(None, features.split(",")))),
            names=line.values["nodename"],
        )
        kinds.append((kind, line))
    return kinds, left_out


def _cores(line: _Line) -> int:
    """Return the processors of a node that jobs can use."""
    threads = _whole(line, "threadspercore", 1)
    product = threads * _whole(line, "corespersocket", 1) * _whole(line, "boards", 1)
    product *= _whole(line, "socketsperboard", _whole(line, "sockets", 1))
    cpus = _whole(line, "cpus", _whole(line, "procs", product))
    reserved = _whole(line, "corespeccount", 0) * (threads if cpus == product else 1)
    if not cpus:
        key = next((key for key in ("cpus", "procs") if key in line.values), "nodename")
        raise line.error("has no processors", key, line.values[key])
    if reserved >= cpus:
        raise line.error("leaves no processors for jobs", "corespeccount", str(reserved))
    return cpus - reserved


def _threads_per_core(line: _Line) -> int | None:
    """Return how many CPUs of a node are one core; None if the line does not determine it."""
    threads = _whole(line, "threadspercore", 1)
    sockets = _whole(line, "boards", 1)
    sockets *= _whole(line, "socketsperboard", _whole(line, "sockets", 0))
    cores = sockets * _whole(line, "corespersocket", 1)
    cpus = _whole(line, "cpus", _whole(line, "procs", 0))
    if not cores:  # Slurm determines the sockets by the CPUs
        return threads if "threadspercore" in line.values else None
    return {cores: 1, cores * threads: threads, 0: threads}.get(cpus)


def _gpus(line: _Line) -> int:
    """Return the GPUs of a node."""
    total = 0
    for text in filter(None, re.split(r",(?![^(]*\))", line.values.get("gres", ""))):
        match = _GRES.fullmatch(text)
        if not match:
            raise line.error("not a list such as gpu:a100:4", "gres", text)
        if match[1].lower() == "gpu":
            total += int(match[3]) if match[3] else 1
    return total


def _members(line: _Line, kinds: list[tuple[NodeType, _Line]]) -> list[str]:
    """Return the nodes of a set."""
    members = _expanded(line, "nodes") if line.values.get("nodes") else []
    wanted = line.values.get("feature")
    return members + [
        name for kind, _ in kinds if wanted in kind.features for name in expand(kind.names)
    ]


def _nodes_of(
    line: _Line, names: set[str], left_out: dict[str, None], sets: dict[str, list[str]]
) -> set[str]:
    """Return the nodes of a partition."""
    text = line.values.get("nodes", "")
    if text.upper() == "ALL":
        return names
    members = set()
    for name in _expanded(line, "nodes") if text else []:
        members |= set(sets.get(name, [name]))
    members -= left_out.keys()
    if unknown := members - names:
        raise line.error("a node that is not defined", "nodes", min(unknown))
    return members


def _by_partitions(
    kinds: list[tuple[NodeType, _Line]], members: dict[str, set[str]]
) -> tuple[NodeType, ...]:
    """Return the node types, divided where their nodes belong to different partitions."""
    found = []
    for kind, line in kinds:
        parts: list[tuple[tuple[str, ...], list[str]]] = []  # successive nodes: their order matters
        for name in expand(kind.names):
            own = tuple(p for p, nodes in members.items() if name in nodes)
            if parts and parts[-1][0] == own:
                parts[-1][1].append(name)
            else:
                parts.append((own, [name]))
        for partitions, names in parts:
            listed = kind.names if len(parts) == 1 else compress(names)
            part = partial(replace, kind, count=len(names), partitions=partitions, names=listed)
            found.append(_made(line, part))
    return tuple(found)


def _partition(line: _Line, whole_nodes: bool) -> Partition:
    sharing = line.values.get("oversubscribe", line.values.get("shared", "NO"))
    return _made(
        line,
        Partition,
        name=line.values["partitionname"],
        max_time=_minutes(line, "maxtime"),
        min_nodes=_limit(line, "minnodes"),
        max_nodes=_limit(line, "maxnodes"),
        tier=_whole(line, "prioritytier", 1),
        exclusive=whole_nodes or sharing.upper().startswith("EXCLUSIVE"),
        default=line.values.get("default", "NO").upper() == "YES",
    )


def _switch(line: _Line) -> Switch:
    return _made(
        line,
        Switch,
        name=line.values["switchname"],
        nodes=line.values.get("nodes", ""),
        switches=_expanded(line, "switches") if line.values.get("switches") else (),
    )


def _licences(line: _Line) -> dict[str, int]:
    """Return the licences: ``matlab:10,fluent@server:4``; a name alone is one licence."""
    pools: dict[str, int] = {}
    for text in filter(None, line.values["licenses"].split(",")):
        name, _, number = text.partition(":")
        if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise line.error("not a list such as matlab:10", "licenses", text)
        if not name or name in pools:
            raise line.error("without a name, or repeated", "licenses", text)
        pools[name] = int(number) if number else 1
    return pools


def _expanded(line: _Line, key: str) -> list[str]:
    try:
        return expand(line.values[key])
    except WorkloadError as error:
        raise line.error(str(error), key) from None


def _whole(line: _Line, key: str, default: int) -> int:
    text = line.values.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise line.error("not a whole number", key, text)
    return int(text)


def _limit(line: _Line, key: str) -> int | None:
    """Return a limit; 0, UNLIMITED and INFINITE are none."""
    text = line.values.get(key, "").upper()
    return _whole(line, key, 0) or None if text not in ("UNLIMITED", "INFINITE", "-1") else None


def _minutes(line: _Line, key: str) -> int | None:
    """Return a time limit in seconds: minutes, minutes:seconds, hours:minutes:seconds, days-hours….

    The resolution is one minute; seconds are rounded up.
    """
    text = line.values.get(key, "UNLIMITED")
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return None
    match = _TIME.fullmatch(text)
    if not match:
        raise line.error("not a time such as 60, 1:00:00 or 2-12", key, text)
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        units: tuple[int, ...] = (_HOUR, _MINUTE, 1)
    else:
        units = {1: (_MINUTE,), 2: (_MINUTE, 1), 3: (_HOUR, _MINUTE, 1)}[len(numbers)]
    seconds = int(days or 0) * _DAY + sum(n * unit for n, unit in zip(numbers, units, strict=False))
    return -(-seconds // _MINUTE) * _MINUTE or None


_Part = TypeVar("_Part", NodeType, Partition, Switch)


def _made(line: _Line, make: Callable[..., _Part], **values: Any) -> _Part:
    try:
        return make(**values)
    except WorkloadError as error:
        message = str(error)[:_LONGEST_SHOWN]
        raise FormatError(line.path, message, line=line.number) from None
