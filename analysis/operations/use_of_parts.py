"""The recorded use of a described machine, by resource and partition."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.requests import Requests, requests_of
from workloadkit.trace import Trace

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
    """Return processors, memory and GPUs that jobs request."""
    procs = requests.procs[rows]
    memory = requests.memory[rows] * procs
    memory = memory + requests.node_memory[rows] * np.maximum(requests.nodes[rows], 1)
    return np.stack([procs, memory, requests.gpus[rows]], axis=1).astype(np.float64)


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
        "memory": sum(kind.count * (kind.memory or 0) for kind in machine.nodes),
        "GPUs": sum(kind.count * kind.gpus for kind in machine.nodes),
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
