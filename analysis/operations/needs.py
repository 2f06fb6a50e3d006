"""What a log's machine consists of, what its jobs request of it, and what of it was used."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.analysis.operations.accounting import accounted_jobs, names_of
from workloadkit.analysis.operations.groups import JobGroups
from workloadkit.analysis.waits.measures import enough
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError
from workloadkit.machine.description import MachineDescription, Partition
from workloadkit.machine.requests import (
    ASSUMED_MEMORY,
    Requests,
    memory_share,
    pools_requested,
    requests_of,
)
from workloadkit.record_fields import NODE_RESOURCES
from workloadkit.trace import Trace, check_trace

#: Percentiles of what jobs request.
OF_REQUESTS = (50, 90)


#: Name of the group of the jobs of no partition of the machine.
OF_NO_PARTITION = "(no partition of the machine)"


class _Asked(NamedTuple):
    """What jobs request: amounts, NaN for none; yes or no; names, code -1 for none."""

    amounts: Mapping[str, NDArray[np.float64]]
    chosen: Mapping[str, NDArray[np.bool_]]
    named: Mapping[str, NDArray[np.int64]]


def requested(trace: Trace) -> pd.DataFrame:
    """Return how many jobs request what of the machine, and how much of it.

    Parameters
    ----------
    trace : Trace
        All of its jobs count. Requests come from the side-car, and those of processors, memory and
        partition from the fields of the standard.

    Returns
    -------
    DataFrame
        By `request`: the `jobs` that make it, their `share` of all jobs, and `core_share`, their
        share of the core-hours, NaN if no job has any; the number of `distinct` amounts or names;
        of amounts the `least`, the percentiles `p50` and `p90` and the `most` of a job, memory in
        KB. A percentile that fewer than five amounts exceed is NaN. Processors and nodes are those
        requested, else those allocated; GPUs whichever are more. What no job requests is left out.

    Examples
    --------
    >>> log = {"submit": [0, 9], "run": [60, 60], "procs": [4, 12], "requested_memory": [-1, 2048]}
    >>> table = requested(Trace.from_columns(log))
    >>> table[["jobs", "core_share", "most"]]
                          jobs  core_share    most
    request
    processors               2        1.00    12.0
    memory per processor     1        0.75  2048.0
    """
    check_trace(trace)
    found, hours = _asked(trace), accounted_jobs(trace)["core_hours"].to_numpy()
    total = np.nansum(hours)
    rows = {}
    columns = {name: ~np.isnan(amount) for name, amount in found.amounts.items()}
    columns |= found.chosen
    columns |= {name: code >= 0 for name, code in found.named.items()}
    for name, which in columns.items():
        n = int(which.sum())
        row = {
            "jobs": n,
            "share": n / max(trace.n_jobs, 1),
            "core_share": np.nansum(hours[which]) / total if total > 0 else np.nan,
        }
        of = found.amounts.get(name, found.named.get(name))
        if of is not None:
            row["distinct"] = distinct(of[which]).size
        if name in found.amounts and n:
            amount = found.amounts[name][which]
            row |= {"least": amount.min(), "most": amount.max()}
            row |= {f"p{p}": metrics.percentile(amount, p) for p in OF_REQUESTS if enough(n, p)}
        rows[name] = row
    order = ["jobs", "share", "core_share", "distinct", "least", "p50", "p90", "most"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=order).rename_axis("request")
    return table[table["jobs"] > 0].astype({"jobs": int})


def _asked(trace: Trace) -> _Asked:
    machine = trace.machine or MachineDescription()
    requests = requests_of(trace, machine)
    nodes = np.where(requests.nodes > 0, requests.nodes, accounted_jobs(trace)["nodes"])
    per_node = np.where(nodes > 0, requests.procs / np.maximum(nodes, 1), 0.0)
    memory = trace.column("requested_memory")
    of_node = np.nan_to_num(memory) > 0
    of_node &= ~requests.noted.get(ASSUMED_MEMORY, np.zeros(trace.n_jobs, bool))
    its_share = memory_share(machine, requests.eligible)
    its_share[(requests.partition < 0) & bool(machine.partitions)] = np.inf  # on no node
    amounts = {
        "processors": requests.procs,
        "nodes": nodes,
        "processors per node": np.where(requests.per_node > 0, requests.per_node, per_node),
        "memory per processor": np.where(of_node, requests.memory, 0),
        "memory per node": np.where(of_node, requests.node_memory, 0),
        "GPUs": requests.gpus,
        **{f"pool {name}": amount for name, amount in pools_requested(trace).items()},
    }
    chosen = {
        "more than one node": nodes > 1,
        "more memory than its share": memory >= its_share + 1,
        "whole nodes": requests.exclusive,
        "features": _has_words(trace, "features"),
    }
    titles = {"partition": "partition", "queue": "queue", "qos": "QOS"}
    names = {title: names_of(trace, field) for field, title in titles.items()}
    return _Asked(
        {name: np.where(amount > 0, amount, np.nan) for name, amount in amounts.items()},
        chosen,
        {title: of.codes for title, of in names.items() if of is not None},
    )


def _has_words(trace: Trace, field: str) -> NDArray[np.bool_]:
    words = names_of(trace, field)
    return np.zeros(trace.n_jobs, bool) if words is None else words.codes >= 0


def partitions(trace: Trace) -> pd.DataFrame:
    """Return what each partition of a log's machine has, and the jobs and hours that it served.

    Parameters
    ----------
    trace : Trace
        All of its jobs count.

    Returns
    -------
    DataFrame
        By `name`, in the order of the description: `nodes`, `procs` and `gpus`, NaN for none or
        unknown;
        `max_time`, the longest requested time [s], NaN for no limit; `exclusive`, whether jobs get
        whole nodes, None for unknown; `inferred`, whether any of it is; and `jobs`, `core_hours`,
        `core_share` and `gpu_hours` of its jobs. Nodes of several partitions count in each. Empty
        for a log without a description of partitions.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from workloadkit import NodeType, Partition
    >>> nodes = NodeType(count=4, cores=8, partitions=("batch",))
    >>> machine = MachineDescription(nodes=(nodes,), partitions=(Partition(name="batch"),))
    >>> log = Trace.from_columns({"submit": [0], "run": [3600], "procs": [8]})
    >>> partitions(replace(log, machine=machine)).loc["batch", ["nodes", "procs"]].tolist()
    [4.0, 32.0]
    """
    check_trace(trace)
    machine = trace.machine or MachineDescription()
    requests = requests_of(trace, machine)
    code, names = requests.partition, [part.name for part in machine.partitions]
    rows = [_of_partition(machine, part) for part in machine.partitions]
    if names and (code < 0).any():
        code, names = np.where(code < 0, len(names), code), [*names, OF_NO_PARTITION]
        rows.append({"exclusive": None, "inferred": False})
    groups, jobs = JobGroups(code, names), accounted_jobs(trace)
    columns = ["nodes", "procs", "gpus", "max_time", "exclusive", "inferred"]
    has = pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="name", dtype=object))
    hours = groups.sums(jobs["core_hours"])
    total = np.nansum(hours)
    return has.assign(
        jobs=groups.counts(),
        core_hours=hours,
        core_share=hours / total if total > 0 else np.nan,
        gpu_hours=groups.sums(jobs["gpu_hours"]),
    )


def _of_partition(machine: MachineDescription, part: Partition) -> dict[str, object]:
    kinds = machine.nodes_of(part.name)
    procs = (part.procs or 0) + sum(kind.procs for kind in kinds)
    return {
        "nodes": sum(kind.count for kind in kinds) or np.nan,
        "procs": procs or np.nan,
        "gpus": sum(kind.count * kind.gpus for kind in kinds) or np.nan,
        "max_time": part.max_time or np.nan,
        "exclusive": part.exclusive,
        "inferred": bool(part.inferred) or any(kind.inferred for kind in kinds),
    }


# The recorded use of a described machine, by resource and partition.

#: Starts and ends of jobs. [s]
Spans = tuple[NDArray, NDArray]


def recorded_use(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the recorded use of a log's machine, by resource and by partition.

    Parameters
    ----------
    trace : Trace
        With a description of its machine. Only jobs with known processors, wait and run time count,
        requeued ones as one run.

    Returns
    -------
    resources, partitions : DataFrame
        By `resource`: `capacity`, the mean amount `in_use`, and `utilization`; by `partition`:
        `jobs`, `procs`, `utilization` and `mean_wait` [s]. From what jobs requested, in the log's
        window.
    """
    machine = trace.machine
    if machine is None:
        raise ParameterError(f"{trace.name} has no description of its machine")
    requests = requests_of(trace, machine)
    start = trace.column("submit") + trace.column("wait")
    end = start + trace.column("run")
    known = trace.ran & np.isfinite(start) & np.isfinite(end) & (requests.procs > 0)
    rows = np.flatnonzero(known)
    spans = start[rows], end[rows]
    window = trace.window.begin, trace.window.until
    held = amounts_requested(requests, rows)
    procs = sum(kind.procs for kind in machine.nodes)
    procs += sum(partition.procs or 0 for partition in machine.partitions)
    wait = trace.column("wait")[rows]
    return (
        by_resource(machine, procs, held, requests.pools[rows], spans, window),
        by_partition(machine, requests.partition[rows], requests.procs[rows], spans, window, wait),
    )


def amounts_requested(requests: Requests, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return processors and other resources of nodes that jobs request."""
    procs, nodes = requests.procs[rows, np.newaxis], requests.nodes[rows, np.newaxis]
    more = requests.of_proc[rows] * procs + requests.of_node[rows] * np.maximum(nodes, 1)
    return np.hstack([procs, more + requests.of_job[rows]]).astype(np.float64)


def _mean(spans: Spans, amounts: NDArray, window: tuple[float, float]) -> NDArray[np.float64]:
    """Return the mean amounts in use in a period, one for each column."""
    begin, until = window
    inside = np.clip(spans[1], begin, until) - np.clip(spans[0], begin, until)
    return (
        inside @ amounts / (until - begin) if until > begin else np.full(amounts.shape[1], np.nan)
    )


def by_resource(
    machine: MachineDescription,
    procs: int,
    held: NDArray[np.float64],
    pools: NDArray[np.int64],
    spans: Spans,
    window: tuple[float, float],
) -> pd.DataFrame:
    """Return capacity, mean use and utilization by resource."""
    capacity = {
        "processors": procs,
        **{
            resource.title: sum(kind.count * resource.of(kind, 0) for kind in machine.nodes)
            for resource in NODE_RESOURCES
        },
        **machine.pools,
    }
    in_use = np.concatenate([_mean(spans, held, window), _mean(spans, pools, window)])
    table = pd.DataFrame({"capacity": list(capacity.values()), "in_use": in_use})
    table.index = pd.Index(capacity, name="resource")
    table = table[table["capacity"] > 0]
    return table.assign(utilization=table["in_use"] / table["capacity"])


def by_partition(
    machine: MachineDescription,
    partition: NDArray[np.int64],
    procs: NDArray[np.int64],
    spans: Spans,
    window: tuple[float, float],
    wait: NDArray,
) -> pd.DataFrame:
    """Return jobs, processors, utilization and mean wait by partition."""
    rows = []
    for number, part in enumerate(machine.partitions):
        its = partition == number
        size = (part.procs or 0) + sum(
            kind.procs for kind in machine.nodes if part.name in kind.partitions
        )
        in_use = _mean((spans[0][its], spans[1][its]), procs[its][:, np.newaxis], window)[0]
        mean_wait = float(wait[its].mean()) if its.any() else np.nan
        rows.append((int(its.sum()), size, in_use / size if size else np.nan, mean_wait))
    table = pd.DataFrame(rows, columns=["jobs", "procs", "utilization", "mean_wait"])
    table.index = pd.Index([part.name for part in machine.partitions], name="partition")
    return table
