"""The machine that a site's accounting shows: what was in use, marked as inferred."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError
from workloadkit.machine.description import MachineDescription, NodeType, Partition
from workloadkit.machine.hostlists import compress, expand_counted, stem
from workloadkit.metrics import use_over_time
from workloadkit.record_fields import NODE_RESOURCES

if TYPE_CHECKING:
    import pandas as pd

_INFERRED = ("count", "cores", *(resource.name for resource in NODE_RESOURCES), "partitions")
_COLUMNS = (
    *("start", "end", "procs", *(resource.columns[-1] for resource in NODE_RESOURCES)),
    *("node_list", "partition", "queue"),
)
_MOST_PLACES = 1 << 24  # of jobs on nodes, which bounds the memory that is needed
_LARGEST = 2**53  # amount of a description
_SHORTEST = 0.5  # a job of length 0 holds its processors for less than a second [s]
_ROUNDING = 1e-6  # shares of nodes are fractions


class _Places(NamedTuple):
    """The nodes of jobs: one row per job and node.

    `job` and `node` are row and number; `share` is the share of the job's processors on the node.
    """

    job: NDArray[np.int64]
    node: NDArray[np.int64]
    share: NDArray[np.float64]
    names: list[str]


def observed_machine(table: "pd.DataFrame", *, named: bool = True) -> MachineDescription | None:
    """Return the machine that accounting records show; None if they show neither nodes nor parts.

    The nodes are those that jobs ran on. Nodes that belong to the same partitions, with names that
    differ in digits alone, are one type; each has the processors, GPUs and requested memory that
    were in use at once on any of them. If the nodes of a job are unknown, its partition has the
    processors that were in use at once, and no nodes. Without partitions, queues are used.

    Parameters
    ----------
    table : DataFrame
        Records of jobs, by the columns of `workloadkit.record_fields`.
    named : bool, default True
        Whether nodes keep their names.

    Examples
    --------
    >>> import pandas as pd
    >>> times = {"start": [0.0, 10.0], "end": [60.0, 70.0]}
    >>> jobs = {"procs": [16.0, 4.0], "node_list": ["n[1-2]", "n2"], "partition": ["batch"] * 2}
    >>> machine = observed_machine(pd.DataFrame(times | jobs))
    >>> machine.nodes[0].names, machine.nodes[0].cores, machine.partitions[0].exclusive
    ('n[1-2]', 12, False)
    """
    table = table[[name for name in _COLUMNS if name in table]]
    table = table[(table["end"] >= table["start"]) & (table["procs"] > 0)]
    partition, names = _partitions(table)
    places = _places(*_coded(table, "node_list"))
    placed = np.bincount(places.job, minlength=len(table)) > 0
    by_procs = sorted({names[code] for code in distinct(partition[~placed])} - {""})
    by_nodes = sorted({names[code] for code in distinct(partition)} - {"", *by_procs})
    of_nodes = np.array([name in by_nodes for name in names], bool)[partition]
    of_nodes |= placed & np.array([name == "" for name in names], bool)[partition]
    places = _only(places, of_nodes[places.job])
    if not places.node.size and len(by_procs) < 2:
        return None
    n_jobs, use = _most_on_nodes(table, places)
    kinds = _kinds(places, partition, names)
    partitions = []
    for name in by_nodes:
        of_part = [nodes for (parts, _), nodes in kinds.items() if name in parts]
        exclusive = _exclusive(of_part, n_jobs, use["cores"])
        inferred = () if exclusive is None else ("exclusive",)
        partitions.append(Partition(name=name, exclusive=exclusive, inferred=inferred))
    columns = [table[name].to_numpy(np.float64) for name in ("start", "end", "procs")]
    for name in by_procs:
        jobs = np.flatnonzero(partition == names.index(name))
        most = _most(*(column[jobs] for column in columns))
        partitions.append(Partition(name=name, procs=most, inferred=("procs",)))
    return MachineDescription(
        nodes=tuple(_node_type(*item, use, places.names, named) for item in kinds.items()),
        partitions=tuple(sorted(partitions, key=lambda p: p.name)),
    )


def _exclusive(
    kinds: list[NDArray[np.int64]], n_jobs: NDArray[np.float64], cores: NDArray[np.float64]
) -> bool | None:
    """Return whether jobs get whole nodes: none shared one, though some left processors free.

    None if all jobs filled their nodes.
    """
    if any(n_jobs[nodes].max() > 1 for nodes in kinds):
        return False
    part_used = any(cores[nodes].min() < cores[nodes].max() - _ROUNDING for nodes in kinds)
    return True if part_used else None


def _coded(table: "pd.DataFrame", name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return a column of texts as codes and their texts."""
    import pandas as pd

    codes, texts = pd.factorize(table[name] if name in table else np.full(len(table), ""))
    return codes, [*texts]


def _partitions(table: "pd.DataFrame") -> tuple[NDArray[np.int64], list[str]]:
    """Return the partitions of jobs, else their queues, as codes and names."""
    codes, names = _coded(table, "partition")
    return (codes, names) if {*names} - {""} else _coded(table, "queue")


def _places(codes: NDArray[np.int64], texts: list[str]) -> _Places:
    """Return where jobs ran; a list that cannot be read, or is one too many, is unknown."""
    number: dict[str, int] = {}
    nodes, shares = [], []
    left = _MOST_PLACES
    for text in texts:
        try:
            counted = expand_counted(text, left) if text else []
            left -= len(counted)
        except WorkloadError:
            counted = []
        # without counts, processors are spread evenly
        weights = np.array([count or 1.0 for _, count in counted], np.float64)
        nodes.append(np.array([number.setdefault(name, len(number)) for name, _ in counted]))
        shares.append(weights / weights.sum() if counted else weights)
    sizes = np.array([part.size for part in nodes], np.int64)
    first = np.append(0, np.cumsum(sizes))
    of_job = sizes[codes]
    of_job = np.where(np.cumsum(of_job) <= _MOST_PLACES, of_job, 0)
    job = np.repeat(np.arange(codes.size), of_job)
    at = first[codes[job]] + np.arange(job.size) - np.repeat(np.cumsum(of_job) - of_job, of_job)
    node = np.concatenate([np.empty(0, np.int64), *nodes]).astype(np.int64)
    return _Places(job, node[at], np.concatenate([np.empty(0), *shares])[at], [*number])


def _only(places: _Places, rows: NDArray[np.bool_]) -> _Places:
    return places._replace(job=places.job[rows], node=places.node[rows], share=places.share[rows])


def _most_on_nodes(
    table: "pd.DataFrame", places: _Places
) -> tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]]:
    """Return the most jobs at once on each node; and the most of each resource."""
    job, share = places.job, places.share
    start, end = (table[name].to_numpy(np.float64)[job] for name in ("start", "end"))
    end = np.where(end > start, end, start + _SHORTEST)
    # numbers of two bytes are sorted by counting
    node = np.concatenate([places.node, places.node]).astype(np.min_scalar_type(len(places.names)))
    # at the same second, jobs end before others start
    order = np.lexsort((np.append(end, start), node))
    first = np.flatnonzero(np.diff(node[order].astype(np.int64), prepend=-1))  # event on each node
    procs = table["procs"].to_numpy(np.float64)
    amounts = {"cores": procs[job] * share}
    for resource in NODE_RESOURCES:
        name = resource.columns[-1]
        amount = table[name].to_numpy(np.float64) if name in table else np.zeros(len(table))
        amount = np.nan_to_num(amount * procs if resource.per == "proc" else amount)[job]
        amounts[resource.name] = amount if resource.per == "node" else amount * share

    def most(amount: NDArray[np.float64]) -> NDArray[np.float64]:
        peak = np.zeros(len(places.names))
        if amount.any():
            level = np.cumsum(np.append(-amount, amount)[order])  # 0 after a node's last end
            peak[node[order][first]] = np.maximum(np.maximum.reduceat(level, first), 0)
        return peak

    return most(np.ones(job.size)), {name: most(amount) for name, amount in amounts.items()}


def _kinds(
    places: _Places, codes: NDArray[np.int64], names: list[str]
) -> dict[tuple[tuple[str, ...], str], NDArray[np.int64]]:
    """Return the nodes of each type: those of the same partitions and kind of name, in order."""
    of_node: dict[int, set[str]] = {}
    pairs = distinct(places.node * len(names) + codes[places.job])
    for node, code in zip(*(part.tolist() for part in divmod(pairs, len(names))), strict=True):
        of_node.setdefault(node, set()).update({names[code]} - {""})
    kinds: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for node in sorted(of_node, key=lambda node: _in_order(places.names[node])):
        kind = tuple(sorted(of_node[node])), stem(places.names[node])
        kinds.setdefault(kind, []).append(node)
    return {kind: np.array(nodes) for kind, nodes in kinds.items()}


def _in_order(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts numbers in names by their values."""
    parts = re.split(r"(\d{1,18})", name)
    return [*zip(parts[::2], (*map(int, parts[1::2]), -1), strict=True)]


def _node_type(
    kind: tuple[tuple[str, ...], str],
    nodes: NDArray[np.int64],
    use: Mapping[str, NDArray[np.float64]],
    names: list[str],
    named: bool,
) -> NodeType:
    most = {
        name: min(int(np.ceil(amount[nodes].max() - _ROUNDING)), _LARGEST)
        for name, amount in use.items()
    }
    there: dict[str, Any] = {
        each.name: most[each.name] or getattr(NodeType, each.name) for each in NODE_RESOURCES
    }
    partitions = kind[0]
    return NodeType(
        count=nodes.size,
        cores=max(most["cores"], 1),
        **there,
        partitions=partitions,
        names=compress(names[node] for node in nodes.tolist()) if named else "",
        inferred=tuple(name for name in _INFERRED if there.get(name, 0) is not None),
    )


def _most(start: NDArray[np.float64], end: NDArray[np.float64], procs: NDArray[np.float64]) -> int:
    """Return the most processors that jobs used at once."""
    _, in_use = use_over_time(start, np.where(end > start, end, start + _SHORTEST), procs)
    return min(int(in_use.max()), _LARGEST)
