"""Requested and allocated resources of a job of PBS or Torque."""

from functools import lru_cache
from math import isnan, nan
from typing import NamedTuple

from workloadkit.io.pbs.values import chunks, hosts, kilobytes, places, properties, vnodes, whole

# Longest requests and allocations that are cached, in characters.
_LONGEST_KEPT = 2000
_LONGEST_GRANT_KEPT = 500

_WHOLE_NODES = ("SINGLEJOB", "SINGLETASK")  # of naccesspolicy


class Request(NamedTuple):
    """Total requested resources of a job; NaN if not recorded.

    Parameters
    ----------
    procs, nodes, gpus : float
    memory : float
        Per processor. [KB]
    memory_per : str
        Unit of the memory request: cpu, node or job; empty without a request.
    counted_nodes : bool
        Whether only a number of nodes is recorded, which is then used for `procs`.
    per_node : float
        Processors per node, if it is the same for all nodes.
    features : str
        Properties of the nodes.
    exclusive : str
        "yes" for whole nodes, else empty.
    """

    procs: float
    nodes: float
    gpus: float
    memory: float
    memory_per: str
    counted_nodes: bool
    per_node: float
    features: str
    exclusive: str


class Grant(NamedTuple):
    """Allocated nodes, GPUs, processors by each key, and names of nodes; NaN if not recorded."""

    nodes: float
    gpus: float
    vnode_procs: float
    host_procs: float
    node_list: str


#: Keys of requests, in the order of the arguments of `request`.
REQUEST_KEYS = tuple(
    f"Resource_List.{name}"
    for name in (
        *("select", "nodes", "neednodes", "nodect", "ncpus", "procs", "mppwidth", "mem", "pmem"),
        *("ngpus", "gpus", "gpu", "place", "naccesspolicy"),
    )
)

#: Keys of allocations, in the order of the arguments of `grant`.
GRANT_KEYS = ("exec_host", "exec_vnode", "exec_gpus")


def request(*values: str | None) -> Request:
    """Return the requested resources of a job, from the values of `REQUEST_KEYS`.

    The number of processors is the largest one in ``select``, ``nodes``, ``procs``, ``mppwidth``
    and ``ncpus``, since a default such as ``ncpus=1`` may accompany the actual request; without
    any of these, it is the number of nodes.

    Examples
    --------
    >>> record = {"Resource_List.ncpus": "1", "Resource_List.nodes": "2:ppn=4:gpus=1"}
    >>> parsed = request(*map(record.get, REQUEST_KEYS))
    >>> parsed.procs, parsed.nodes, parsed.gpus
    (8.0, 2.0, 2.0)
    """
    if len(values[0] or "") + len(values[1] or "") > _LONGEST_KEPT:
        return _request.__wrapped__(*values)
    return _request(*values)


@lru_cache(maxsize=1 << 14)
def _request(*values: str | None) -> Request:
    select, nodes, neednodes, nodect, ncpus, n_procs, mppwidth, mem, pmem, *others = values
    ngpus, gpus, gpu, place, access = others
    nodes = nodes or neednodes
    if nodect and not nodect.isdecimal():  # 1:ppn=24:gpu=4, as Moab writes it
        nodes, nodect = nodes or nodect, None
    n_chunks, select_procs, select_gpus, select_memory = chunks(select, "ncpus")
    n_nodes, node_procs, node_gpus, node_memory = chunks(nodes, "ppn")
    counts = (select_procs, node_procs, whole(n_procs), whole(mppwidth), whole(ncpus))
    procs = max((number for number in counts if number > 0), default=nan)
    requested_nodes = _first(whole(nodect), n_chunks, n_nodes)
    counted_nodes = isnan(procs) and not isnan(requested_nodes)
    if counted_nodes:
        procs = requested_nodes
    memory, memory_per = nan, ""
    for total, per in ((kilobytes(mem), "job"), (_first(select_memory, node_memory), "node")):
        if not isnan(total) and isnan(memory):
            memory, memory_per = total / procs, per
    if not isnan(kilobytes(pmem)):
        memory, memory_per = kilobytes(pmem), "cpu"
    n_gpus = _first(whole(ngpus or gpus or gpu), select_gpus, node_gpus)
    per_node, features = properties(select or nodes, "ncpus" if select else "ppn")
    excludes = "excl" in (place or "") or (access or "").upper() in _WHOLE_NODES
    return Request(
        procs,
        requested_nodes,
        n_gpus,
        memory,
        memory_per,
        counted_nodes,
        per_node,
        features,
        "yes" if excludes else "",
    )


def grant(exec_host: str | None, exec_vnode: str | None, exec_gpus: str | None) -> Grant:
    """Return the allocated resources of a job, from the values of `GRANT_KEYS`.

    Examples
    --------
    >>> grant("n1/0*0", "(n1:ngpus=2:ncpus=24+n1:ncpus=24)", None)
    Grant(nodes=1.0, gpus=2.0, vnode_procs=48.0, host_procs=0.0, node_list='48*n1')
    """
    if len(exec_host or "") + len(exec_vnode or "") > _LONGEST_GRANT_KEPT:
        return _grant.__wrapped__(exec_host, exec_vnode, exec_gpus)
    return _grant(exec_host, exec_vnode, exec_gpus)


@lru_cache(maxsize=1 << 14)
def _grant(exec_host: str | None, exec_vnode: str | None, exec_gpus: str | None) -> Grant:
    nodes, host_procs = hosts(exec_host)
    vnode_procs = gpus = nan
    if exec_vnode:
        vnode_nodes, vnode_procs, gpus = vnodes(exec_vnode)
        nodes = _first(nodes, vnode_nodes)
    if exec_gpus and isnan(gpus):
        gpus = float(exec_gpus.count("+") + 1)
    return Grant(nodes, gpus, vnode_procs, host_procs, places(exec_host, exec_vnode))


def _first(*numbers: float) -> float:
    """Return the first known number."""
    return next((number for number in numbers if not isnan(number)), nan)
