"""What the jobs of a log request of a machine, and what a processor of a log is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, check_choice, plural
from workloadkit.fields import UNKNOWN
from workloadkit.job_columns import words_of
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.machine.hostlists import expand
from workloadkit.record_fields import MEMORY, NODE_RESOURCES

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.settings.simulation import Memory
    from workloadkit.trace import Trace


#: Kind of the jobs whose memory is unknown, in `Requests.noted`.
ASSUMED_MEMORY = "memory unknown: the share of a node"

#: Kind of the jobs with a fraction of a resource such as a GPU.
PART_OF_ONE = "part of a GPU requested: a whole one"

_MEMORY, _GPUS = NODE_RESOURCES.index(MEMORY), [r.name for r in NODE_RESOURCES].index("gpus")

_SET = re.compile(r"[^&,|()\[\]*!]+(?:[&,][^&,|()\[\]*!]+)*")


@dataclass(frozen=True, kw_only=True, eq=False)
class Requests(Displayed):
    """What jobs request, in the order of the log; 0 is no request.

    Parameters
    ----------
    procs : ndarray of int64, shape (n_jobs,)
        Processors: requested, else used; 0 if neither is known.
    nodes, per_node : ndarray of int64, shape (n_jobs,)
        Nodes, and processors on each.
    of_proc, of_node : ndarray of float64, shape (n_jobs, n_resources)
        Of each of `NODE_RESOURCES`: for each processor, and on each node. Memory per processor; of
        a request per node, memory per node instead. [KB]
    of_job : ndarray of int64, shape (n_jobs, n_resources)
        For the whole job: GPUs.
    exclusive : ndarray of bool, shape (n_jobs,)
        Whether the job gets whole nodes: by its request, or in its partition.
    partition : ndarray of int64, shape (n_jobs,)
        Place in `MachineDescription.partitions`; -1 for none.
    eligible : ndarray of bool, shape (n_jobs, n_types)
        Node types of the partition that have the requested features.
    pools : ndarray of int64, shape (n_jobs, n_pools)
        Amounts of the pools, in the order of `MachineDescription.pools`.
    noted : dict of str to ndarray of bool, shape (n_jobs,)
        Which jobs have a request that was assumed or is not modelled, by kind.
    """

    procs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    per_node: NDArray[np.int64]
    of_proc: NDArray[np.float64]
    of_node: NDArray[np.float64]
    of_job: NDArray[np.int64]
    exclusive: NDArray[np.bool_]
    partition: NDArray[np.int64]
    eligible: NDArray[np.bool_]
    pools: NDArray[np.int64]
    noted: Mapping[str, NDArray[np.bool_]]

    @property
    def memory(self) -> NDArray[np.float64]:
        """Memory per processor. [KB]."""
        return self.of_proc[:, _MEMORY]

    @property
    def node_memory(self) -> NDArray[np.float64]:
        """Memory per node. [KB]."""
        return self.of_node[:, _MEMORY]

    @property
    def gpus(self) -> NDArray[np.int64]:
        """GPUs of the whole job."""
        return self.of_job[:, _GPUS]

    @property
    def counts(self) -> dict[str, int]:
        """Number of jobs with a request that was assumed or is not modelled, by kind."""
        return {kind: int(which.sum()) for kind, which in self.noted.items()}

    def _summary(self) -> str:
        counts = (f"{kind}: {count:,}" for kind, count in self.counts.items())
        return ", ".join([plural(self.procs.size, "job"), *counts])

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        columns = {name: value for name, value in vars(self).items() if np.ndim(value) == 1}
        for i, resource in enumerate(NODE_RESOURCES):
            if resource.per == "job":
                columns[resource.name] = self.of_job[:, i]
            else:
                columns |= {resource.name: self.of_proc[:, i]} if resource.per == "proc" else {}
                columns[f"node_{resource.name}"] = self.of_node[:, i]
        return pd.DataFrame(columns)


def requests_of(
    trace: "Trace", machine: MachineDescription | None = None, *, memory: "Memory" = "requested"
) -> Requests:
    """Return what the jobs of a log request.

    Requests come from the side-car. Without one, there are those of the Standard Workload Format:
    processors, memory (field 10; field 7 in a log without field 10) and partition (field 16; field
    15, the queue, in a log without partitions). A job whose memory is unknown needs the share of
    its processors in the memory of a node: on different nodes, the smallest share.

    Parameters
    ----------
    trace : Trace
    machine : MachineDescription, optional
        By default the one of the log.
    memory : {"requested", "used", "none"}, default "requested"
        Which memory jobs need: what they requested (field 10), what they used (field 7), or none.

    Raises
    ------
    ParameterError
        If no machine is given, and the log has none.

    Examples
    --------
    >>> from workloadkit.machine.description import NodeType
    >>> from workloadkit.trace import Trace
    >>> trace = Trace.from_columns({"submit": [0, 5], "procs": [4, 2], "requested_memory": [9, -1]})
    >>> machine = MachineDescription(nodes=(NodeType(count=2, cores=4, memory=64),))
    >>> found = requests_of(trace, machine)
    >>> found.memory.tolist(), found.counts
    ([9.0, 16.0], {'memory unknown: the share of a node': 1})
    """
    from workloadkit.settings import simulation

    check_choice("memory", memory, simulation.Memory)
    machine = trace.machine if machine is None else machine
    if machine is None:
        raise ParameterError(f"{trace.name} has no description of its machine; give one")
    noted: dict[str, NDArray[np.bool_]] = {}

    def note(kind: str, which: Any) -> None:
        if which.any():
            noted[kind] = which

    requested, used = trace.column("requested_procs"), trace.used_procs
    procs = np.where(requested > 0, requested, np.where(used > 0, used, 0)).astype(np.int64)
    per_node = _whole(_number(trace, "procs_per_node"))
    nodes = _whole(_number(trace, "requested_nodes"))
    nodes = np.where((nodes == 0) & (per_node > 0), -(-procs // np.maximum(per_node, 1)), nodes)
    partition = partitions_of(trace, machine)
    if machine.partitions:
        note("of no partition of the machine", partition < 0)
    in_part, has, modelled = _node_types(trace, machine, partition)
    eligible, has_nodes = in_part & has, in_part.any(axis=1)
    note("features in a form that is not modelled", has_nodes & ~modelled)
    note("without a node of its partition that has its features", has_nodes & ~eligible.any(axis=1))
    amount = _memory(trace, memory)
    share = memory_share(machine, eligible)
    unknown = np.isnan(amount)
    if memory != "none" and np.isfinite(share).any():
        note(ASSUMED_MEMORY, unknown & np.isfinite(share))
        amount = np.where(unknown & np.isfinite(share), share, amount)
    amount = np.nan_to_num(amount)
    over = np.greater(trace.column("memory"), trace.column("requested_memory"))
    note("used more memory than requested", over)
    known_nodes = np.where(nodes > 0, nodes, _whole(_number(trace, "nodes")))
    by_node = (_word(trace, "requested_memory_per") == "node") & (known_nodes > 0) & ~unknown
    exclusive = _word(trace, "exclusive") == "yes"
    if machine.partitions:
        whole = np.array([bool(p.exclusive) for p in machine.partitions])
        exclusive |= (partition >= 0) & whole[partition]
    of_proc, of_node, of_job = _amounts(trace)
    note(PART_OF_ONE, (of_job % 1 > 0).any(axis=1))
    of_proc[:, _MEMORY] = np.where(by_node, 0.0, amount)
    of_node[:, _MEMORY] = np.where(by_node, amount * procs / np.maximum(known_nodes, 1), 0.0)
    return Requests(
        procs=procs,
        nodes=nodes,
        per_node=per_node,
        of_proc=of_proc,
        of_node=of_node,
        of_job=np.ceil(of_job).astype(np.int64),
        exclusive=exclusive,
        partition=partition,
        eligible=eligible,
        pools=_pools(trace, machine),
        noted=noted,
    )


def _amounts(trace: "Trace") -> NDArray[np.float64]:
    """Return what jobs request for a processor, on a node, and for the job, except memory."""
    needs = np.zeros((3, trace.n_jobs, len(NODE_RESOURCES)))
    for i, resource in enumerate(NODE_RESOURCES):
        if resource is MEMORY:
            continue
        requested = np.fmax.reduce([_number(trace, column) for column in resource.columns])
        needs[("proc", "node", "job").index(resource.per), :, i] = np.nan_to_num(requested)
    return np.maximum(needs, 0)


def _whole(column: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(column > 0, column, 0).astype(np.int64)


def _number(trace: "Trace", name: str) -> NDArray[np.float64]:
    """Return a column of numbers of the side-car, NaN where there is none."""
    if trace.sidecar is None or name not in trace.sidecar:
        return np.full(trace.n_jobs, np.nan)
    return trace.column(name).astype(np.float64)


def _word(trace: "Trace", name: str) -> NDArray[np.object_]:
    """Return a column of words of the side-car, empty where there is none."""
    if trace.sidecar is None or name not in trace.sidecar:
        return np.full(trace.n_jobs, "", object)
    return trace.column(name).astype(object)


def field_of_partitions(trace: "Trace") -> str:
    """Return the field with the partitions of a log: queues, in a log without partitions."""
    return "partition" if (trace.column("partition") != UNKNOWN).any() else "queue"


def partitions_of(trace: "Trace", machine: MachineDescription) -> NDArray[np.int64]:
    """Return the places of the jobs' partitions, found by name, else by number."""
    place = {partition.name: i for i, partition in enumerate(machine.partitions)}
    field = field_of_partitions(trace)
    default = next((i for i, partition in enumerate(machine.partitions) if partition.default), -1)
    numbers, row = np.unique(trace.column(field), return_inverse=True)
    of_number = np.array([place.get(str(number), -1) for number in numbers.tolist()], np.int64)
    found = of_number[row]
    words = words_of(trace, field)
    if words is not None:
        of_word = np.array([*(place.get(str(w), -1) for w in words.categories), -1], np.int64)
        by_word = of_word[words.codes]
        found = np.where(by_word >= 0, by_word, found)
    return np.where((found < 0) & (trace.column(field) == UNKNOWN), default, found)


def _node_types(
    trace: "Trace", machine: MachineDescription, partition: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the node types of each job's partition, those with its features, and if these count.

    Features count if they are a plain set.
    """
    import pandas as pd

    in_part = np.ones((len(machine.partitions) + 1, len(machine.nodes)), bool)  # last: any
    for i, part in enumerate(machine.partitions):
        in_part[i] = [part.name in kind.partitions for kind in machine.nodes]
    codes, texts = pd.factorize(_word(trace, "features"))
    has = np.ones((len(texts), len(machine.nodes)), bool)
    plain = np.ones(len(texts), bool)
    for code, text in enumerate(texts.tolist()):
        plain[code] = not text or _SET.fullmatch(text) is not None
        if text and plain[code]:
            wanted = set(re.split("[&,]", text))
            has[code] = [wanted <= set(kind.features) for kind in machine.nodes]
    return in_part[partition], has[codes], plain[codes]


def _memory(trace: "Trace", memory: "Memory") -> NDArray[np.float64]:
    """Return the memory per processor that jobs need [KB], NaN for unknown."""
    if memory == "none":
        return np.full(trace.n_jobs, np.nan)
    requested, used = trace.column("requested_memory"), trace.column("memory")
    column = used if memory == "used" or not (requested > 0).any() else requested
    return np.where(column > 0, column, np.nan)


def memory_share(machine: MachineDescription, eligible: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the smallest memory per processor of the nodes of each job [KB], inf for unknown.

    Parameters
    ----------
    machine : MachineDescription
    eligible : ndarray of bool, shape (n_jobs, n_types)
        Node types that can serve each job.
    """
    shares = np.array(
        [kind.memory // kind.cores if kind.memory else np.inf for kind in machine.nodes]
    )
    if not shares.size:
        return np.full(eligible.shape[0], np.inf)
    # nodes of one set serve many jobs
    sets, row = np.unique(eligible, axis=0, return_inverse=True)
    return np.where(sets, shares, np.inf).min(axis=1)[row.reshape(-1)]


def _pools(trace: "Trace", machine: MachineDescription) -> NDArray[np.int64]:
    """Return the requested amounts of the machine's pools."""
    found, none = pools_requested(trace), np.zeros(trace.n_jobs, np.int64)
    columns = [found.get(name, none) for name in machine.pools]
    return np.array(columns, np.int64).reshape(len(columns), trace.n_jobs).T


def pools_requested(trace: "Trace") -> dict[str, NDArray[np.int64]]:
    """Return the requested amounts of each pool that the side-car names, shape (n_jobs,)."""
    import pandas as pd

    codes, texts = pd.factorize(_word(trace, "pools"))
    amounts: dict[str, NDArray[np.int64]] = {}
    for code, text in enumerate(texts.tolist()):
        for part in filter(None, text.split(",")):
            name, _, amount = part.partition("=")
            amounts.setdefault(name, np.zeros(len(texts), np.int64))[code] += int(amount)
    return {name: each[codes] for name, each in amounts.items()}


# Hardware threads of a core: what a processor of a log is.


def threads_of_jobs(trace: "Trace") -> NDArray[np.int64] | None:
    """Return how many processors of each job are one core; None if it is not known of all jobs.

    The description of the machine states it by node type. If types differ, a job's partition
    determines its type, else its list of nodes. Jobs that got no processors count as 1.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from workloadkit import MachineDescription, NodeType, Trace
    >>> machine = MachineDescription(nodes=(NodeType(count=2, cores=8, threads_per_core=2),))
    >>> log = Trace.from_columns({"submit": [0, 5], "procs": [4, 8]})
    >>> threads_of_jobs(replace(log, machine=machine))
    array([2, 2])
    """
    machine = trace.machine
    if machine is None or not machine.nodes:
        return None
    stated = {kind.threads_per_core for kind in machine.nodes}
    if len(stated) == 1:
        (threads,) = stated
        return None if threads is None else np.full(trace.n_jobs, threads)
    found = np.append([_common(machine.nodes_of(part.name)) for part in machine.partitions], 0)
    of_job = found[partitions_of(trace, machine)].astype(np.int64)
    of_job[~(trace.used_procs > 0)] = 1
    rows = np.flatnonzero(of_job == 0)
    if rows.size and trace.sidecar is not None and "node_list" in trace.sidecar:
        lists = trace.sidecar["node_list"].iloc[rows].astype("category")
        lists = lists.cat.remove_unused_categories()
        of_node = {
            node: kind.threads_per_core or 0
            for kind in machine.nodes
            for node in (expand(kind.names) if kind.names else ())
        }
        of_list = np.array([*(_of_nodes(text, of_node) for text in lists.cat.categories), 0])
        of_job[rows] = of_list[lists.cat.codes]
    return of_job if of_job.all() else None


def _of_nodes(text: str, of_node: dict[str, int]) -> int:
    """Return the threads of a core of the nodes in a list, 0 if they differ or are unknown."""
    try:
        stated = {of_node.get(node, 0) for node in expand(text)}
    except WorkloadError:
        return 0
    return stated.pop() if len(stated) == 1 else 0


def _common(kinds: tuple[NodeType, ...]) -> int:
    """Return the threads of a core that all node types have, else 0."""
    stated = {kind.threads_per_core or 0 for kind in kinds}
    return stated.pop() if len(stated) == 1 else 0
