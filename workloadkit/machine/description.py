"""The description of a machine: node types, partitions, pools and switches.

A log's machine is described in a JSON file next to it, see `workloadkit.io.machine`. Processors
are those of the log; memory is in KB and times are in seconds, as in logs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, among, check_count, plural, quoted
from workloadkit.machine.hostlists import expand

if TYPE_CHECKING:
    import pandas as pd

_MOST = 2**53  # whole numbers that JSON readers hold exactly
_NO_POOLS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class NodeType:
    """Nodes that are alike.

    Parameters
    ----------
    count : int
        Number of nodes.
    cores : int
        Processors of each node: what a processor of the log is, a core or a hardware thread.
    threads_per_core : int, optional
        How many of these processors are one core, None for unknown.
    memory : int, optional
        Memory of each node, None for unknown. [KB]
    gpus : int, default 0
        GPUs of each node.
    features : tuple of str
        What jobs may require of their nodes.
    partitions : tuple of str
        Partitions that the nodes belong to.
    names : str, default ""
        Names of the nodes, as a list such as ``n[001-120]``; empty if they are unknown.
    inferred : tuple of str
        Names of the fields that were inferred from jobs: what was seen, not what exists.

    Raises
    ------
    ParameterError
        For an invalid value.

    Examples
    --------
    >>> NodeType(count=120, cores=2, memory=1 << 20).procs
    240
    """

    count: int
    cores: int
    threads_per_core: int | None = None
    memory: int | None = None
    gpus: int = 0
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    names: str = ""
    inferred: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _count(self, "count", least=1)
        _count(self, "cores", least=1)
        if self.threads_per_core is not None:
            _count(self, "threads_per_core", least=1)
        if self.memory is not None:
            _count(self, "memory", least=1)
        _count(self, "gpus")
        for name in ("features", "partitions", "inferred"):
            _words(self, name)
        _check_inferred(self)
        if (nodes := _nodes(self, "names")) and len(nodes) != self.count:
            raise ParameterError(
                "count", f"is {self.count}; names has {len(nodes):,}: {self.names!r:.60}"
            )

    @property
    def procs(self) -> int:
        """Processors of all nodes."""
        return self.count * self.cores


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A part of a machine that serves jobs of its own.

    The nodes of a partition are those of the node types that list it. Partitions that share nodes
    overlap. A partition without nodes has `procs` processors of its own.

    Parameters
    ----------
    name : str
    procs : int, optional
        Processors of a partition without nodes.
    max_time : int, optional
        Longest requested time of a job. [s]
    min_nodes, max_nodes, max_procs : int, optional
        Limits of the size of a job.
    tier : int, default 1
        Jobs of a higher tier are considered before all jobs of a lower one.
    exclusive : bool, optional
        Whether a job gets whole nodes; None for unknown.
    default : bool, default False
        Whether jobs without a partition belong to it.
    inferred : tuple of str
        Names of the fields that were inferred from jobs.

    Raises
    ------
    ParameterError
        For an invalid value.
    """

    name: str
    procs: int | None = None
    max_time: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    max_procs: int | None = None
    tier: int = 1
    exclusive: bool | None = None
    default: bool = False
    inferred: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _word(self, "name")
        for name in ("procs", "min_nodes", "max_nodes", "max_procs"):
            if getattr(self, name) is not None:
                _count(self, name, least=1)
        if self.max_time is not None:
            _count(self, "max_time", least=1)
        _count(self, "tier")
        for name, choices in (("exclusive", (True, False, None)), ("default", (True, False))):
            if not any(getattr(self, name) is choice for choice in choices):
                raise ParameterError(
                    f"{name} is {quoted(getattr(self, name))}; it is true or false"
                )
        _words(self, "inferred")
        _check_inferred(self)


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A switch of the network: what it connects.

    Parameters
    ----------
    name : str
    nodes : str, default ""
        Names of the nodes that it connects, as a list such as ``n[001-016]``.
    switches : tuple of str
        Names of the switches that it connects.

    Raises
    ------
    ParameterError
        For an invalid value.
    """

    name: str
    nodes: str = ""
    switches: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _word(self, "name")
        _words(self, "switches")
        _nodes(self, "nodes")


@dataclass(frozen=True, kw_only=True)
class MachineDescription(Displayed):
    """A machine. Never changed in place.

    Parameters
    ----------
    nodes : tuple of NodeType
        In the order of the nodes: they are numbered from 0, type by type.
    partitions : tuple of Partition
    pools : mapping of str to int
        Resources without a place, such as licences, and their amounts.
    switches : tuple of Switch

    Raises
    ------
    ParameterError
        If names are repeated, or a partition, node or switch is not defined.

    Examples
    --------
    >>> machine = MachineDescription(
    ...     nodes=(
    ...         NodeType(count=4, cores=8, partitions=("batch",)),
    ...         NodeType(count=1, cores=8, gpus=2, partitions=("batch", "gpu")),
    ...     ),
    ...     partitions=(Partition(name="batch"), Partition(name="gpu", tier=2)),
    ... )
    >>> machine.procs, machine.gpus, machine.groups
    (40, 2, (('batch', 'gpu'),))
    """

    nodes: tuple[NodeType, ...] = ()
    partitions: tuple[Partition, ...] = ()
    pools: Mapping[str, int] = field(default_factory=lambda: _NO_POOLS)
    switches: tuple[Switch, ...] = ()

    def __post_init__(self) -> None:
        for name in ("nodes", "partitions", "switches"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        pools = {name: _number(f"pools.{name}", amount) for name, amount in self._pools()}
        object.__setattr__(self, "pools", MappingProxyType(pools))
        names = _distinct("partition", (partition.name for partition in self.partitions))
        for kind in self.nodes:
            _check_known("partition", kind.partitions, names)
        for partition in self.partitions:
            has_nodes = any(partition.name in kind.partitions for kind in self.nodes)
            if has_nodes and partition.procs is not None:
                raise ParameterError(
                    f"partition {quoted(partition.name)} has both nodes and procs {partition.procs}"
                )
        if sum(partition.default for partition in self.partitions) > 1:
            raise ParameterError("several partitions are the default")
        self._check_switches()

    def _summary(self) -> str:
        parts = plural(len(self.partitions), "partition")
        return f"{plural(self.n_nodes, 'node')}, {plural(self.procs, 'processor')}, {parts}"

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame([*map(vars, self.nodes or self.partitions)])

    def _pools(self) -> list[tuple[str, Any]]:
        if not isinstance(self.pools, Mapping):
            raise ParameterError("pools", f"is {quoted(self.pools)}; it maps names to amounts")
        if "" in self.pools:
            raise ParameterError(f"pools has {quoted(self.pools[''])} of a resource without a name")
        return list(self.pools.items())

    def _check_switches(self) -> None:
        switches = _distinct("switch", (switch.name for switch in self.switches))
        nodes = set(self.node_names)
        for switch in self.switches:
            _check_known("switch", switch.switches, switches)
            if switch.nodes:
                _check_known("node", expand(switch.nodes), nodes)

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be pickled
        return _machine, (self.nodes, self.partitions, dict(self.pools), self.switches)

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Names of the nodes, in order; empty if a type has none.

        Raises
        ------
        ParameterError
            If a name is repeated.
        """
        if not all(kind.names for kind in self.nodes):
            return ()
        names = [name for kind in self.nodes for name in expand(kind.names)]
        return tuple(_distinct("node", names))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return sum(kind.count for kind in self.nodes)

    @property
    def procs(self) -> int:
        """Processors of all nodes, and of the partitions without nodes."""
        return sum(kind.procs for kind in self.nodes) + sum(p.procs or 0 for p in self.partitions)

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return sum(kind.count * kind.gpus for kind in self.nodes)

    @property
    def is_inferred(self) -> bool:
        """Whether its size is inferred from jobs: what was in use at once, not what exists."""
        names = {name for kind in self.nodes for name in kind.inferred}
        names |= {name for partition in self.partitions for name in partition.inferred}
        return not names.isdisjoint(("count", "cores", "procs"))

    def nodes_of(self, partition: str) -> tuple[NodeType, ...]:
        """Return the node types of a partition.

        Raises
        ------
        ParameterError
            If there is no such partition.
        """
        _check_known("partition", (partition,), [p.name for p in self.partitions])
        return tuple(kind for kind in self.nodes if partition in kind.partitions)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the partitions, those that share nodes together: each group is a machine."""
        groups = [{partition.name} for partition in self.partitions]
        for kind in self.nodes:
            joined = [group for group in groups if not group.isdisjoint(kind.partitions)]
            if len(joined) > 1:
                first, *others = joined
                first.update(*others)
                groups = [group for group in groups if group not in others]
        order = [partition.name for partition in self.partitions]
        return tuple(tuple(name for name in order if name in group) for group in groups)


def _machine(
    nodes: tuple[NodeType, ...],
    partitions: tuple[Partition, ...],
    pools: Mapping[str, int],
    switches: tuple[Switch, ...],
) -> MachineDescription:
    return MachineDescription(nodes=nodes, partitions=partitions, pools=pools, switches=switches)


def _count(part: object, name: str, *, least: int = 0) -> None:
    object.__setattr__(part, name, _number(name, getattr(part, name), least=least))


def _number(name: str, value: Any, *, least: int = 0) -> int:
    if isinstance(value, int) and abs(value) > _MOST:  # such a number may be too large to print
        raise ParameterError(f"{name} is out of range, more than {_MOST:,}")
    return check_count(name, value, least=least, most=_MOST)


def _word(part: object, name: str) -> None:
    value = getattr(part, name)
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} is {quoted(value)}; it is a name")


def _words(part: object, name: str) -> None:
    value = getattr(part, name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(f"{name} is {quoted(value)}; it is a list of names")
    words = tuple(value)
    if not all(isinstance(word, str) and word for word in words):
        raise ParameterError(f"{name} is {quoted(list(words))}; it is a list of names")
    object.__setattr__(part, name, _distinct(name, words))


def _nodes(part: object, name: str) -> list[str]:
    """Return the names of a list of nodes; none for an empty text."""
    value = getattr(part, name)
    if not isinstance(value, str):
        raise ParameterError(f"{name} is {value!r:.60}; it is a text such as 'n[001-016]'")
    return expand(value) if value else []


def _check_inferred(part: Any) -> None:
    names = [f.name for f in fields(part) if f.name != "inferred"]
    _check_known("inferred", part.inferred, names)


def _distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names, of which none is repeated."""
    seen: dict[str, None] = {}
    for name in names:
        if name in seen:
            raise ParameterError(f"{what} {quoted(name)} is repeated")
        seen[name] = None
    return tuple(seen)


def _check_known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = known if isinstance(known, set) else set(known)
    for name in names:
        if name not in known:
            raise ParameterError(
                f"{what} {quoted(name)} is not defined; {among(name, sorted(known)[:9])}"
            )
