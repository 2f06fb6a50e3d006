"""What a job of PBS or Torque asked for and what it got."""

from functools import lru_cache
from math import isnan, nan
from typing import NamedTuple

from workloadkit.io.pbs_values import chunks, hosts, kilobytes, vnodes, whole

_LONGEST_KEPT = 2000  # characters of a request that are worth keeping


class Request(NamedTuple):
    """What a job asked for, in all; NaN where it is not told.

    Parameters
    ----------
    procs, nodes, gpus : float
    memory : float
        For each processor. [KB]
    memory_per : str
        What memory was asked for by: cpu, node, job; empty if it was not.
    counted_nodes : bool
        Whether nothing but a number of nodes is told, which `procs` then is.
    """

    procs: float
    nodes: float
    gpus: float
    memory: float
    memory_per: str
    counted_nodes: bool


class Grant(NamedTuple):
    """What a job got: nodes, GPUs and its processors as each key tells them; NaN if it does not."""

    nodes: float
    gpus: float
    vnode_procs: float
    host_procs: float


def request(told: dict[str, str]) -> Request:
    """Return what a job asked for, by the keys of its record.

    Processors are the largest number that one of ``select``, ``nodes``, ``procs``, ``mppwidth``
    and ``ncpus`` asks for, since a default such as ``ncpus=1`` may stand beside what was asked
    for; where none of them is told, the number of nodes.

    Examples
    --------
    >>> asked = request({"Resource_List.ncpus": "1", "Resource_List.nodes": "2:ppn=4:gpus=1"})
    >>> asked.procs, asked.nodes, asked.gpus
    (8.0, 2.0, 2.0)
    """
    get = told.get
    texts = (
        get("Resource_List.select"),
        get("Resource_List.nodes") or get("Resource_List.neednodes"),
        get("Resource_List.nodect"),
        get("Resource_List.ncpus"),
        get("Resource_List.procs"),
        get("Resource_List.mppwidth"),
        get("Resource_List.mem"),
        get("Resource_List.pmem"),
        get("Resource_List.ngpus") or get("Resource_List.gpus") or get("Resource_List.gpu"),
    )
    if len(texts[0] or "") + len(texts[1] or "") > _LONGEST_KEPT:
        return _request.__wrapped__(*texts)
    return _request(*texts)


@lru_cache(maxsize=1 << 14)
def _request(
    select: str | None,
    nodes: str | None,
    nodect: str | None,
    ncpus: str | None,
    n_procs: str | None,
    mppwidth: str | None,
    mem: str | None,
    pmem: str | None,
    ngpus: str | None,
) -> Request:
    if nodect and not nodect.isdecimal():  # 1:ppn=24:gpu=4, as Moab writes it
        nodes, nodect = nodes or nodect, None
    n_chunks, select_procs, select_gpus, select_memory = chunks(select, "ncpus")
    n_nodes, node_procs, node_gpus, node_memory = chunks(nodes, "ppn")
    told = (select_procs, node_procs, whole(n_procs), whole(mppwidth), whole(ncpus))
    procs = max((number for number in told if number > 0), default=nan)
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
    gpus = _first(whole(ngpus), select_gpus, node_gpus)
    return Request(procs, requested_nodes, gpus, memory, memory_per, counted_nodes)


def grant(told: dict[str, str]) -> Grant:
    """Return what a job got, by the keys of its record.

    Examples
    --------
    >>> grant({"exec_host": "n1/0*0", "exec_vnode": "(n1:ngpus=2:ncpus=24+n1:ncpus=24)"})
    Grant(nodes=1.0, gpus=2.0, vnode_procs=48.0, host_procs=0.0)
    """
    host_nodes, host_procs = hosts(told.get("exec_host"))
    vnode_nodes, vnode_procs, gpus = vnodes(told.get("exec_vnode"))
    if isnan(gpus) and (places := told.get("exec_gpus")):
        gpus = float(places.count("+") + 1)
    return Grant(_first(host_nodes, vnode_nodes), gpus, vnode_procs, host_procs)


def _first(*numbers: float) -> float:
    """Return the first number that is known."""
    return next((number for number in numbers if not isnan(number)), nan)
