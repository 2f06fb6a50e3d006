"""The use of a described machine: by resource and partition, fragmentation, and causes of waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.operations.needs import (
    amounts_requested,
    by_partition,
    by_resource,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.requests import Requests
from workloadkit.metrics import use_over_time
from workloadkit.record_fields import NODE_RESOURCES, amounts_on
from workloadkit.simulation import Schedule
from workloadkit.simulation.machine.described import GroupMachine
from workloadkit.simulation.machine.shapes import (
    CONTIGUOUS,
    CORES,
    Shape,
    find_place,
)
from workloadkit.simulation.machine.site import Nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Causes of waits, without pools and resources of nodes, which have their own names.
PROCESSORS, PARTITION, NODES, OTHERS = (
    *("processors", "partition", "nodes"),
    "other jobs and reservations",
)


@dataclass(frozen=True, eq=False)
class MachineUse(AnalysisResult):
    """The use of a described machine: result of `machine_use`.

    Parameters
    ----------
    resources : DataFrame
        By `resource` (processors, memory [KB], GPUs, and each pool): `capacity`; `in_use`, the mean
        over the window of the submissions, see `Schedule.window`; `utilization`, their ratio.
    partitions : DataFrame
        By `partition`: `jobs`; `procs`, the processors on which they can run; `utilization` of
        these by its jobs; `mean_wait` [s].
    free_share, unusable_share : float
        Share of the processors' time that is free; and free while the first waiting job requests
        no more processors, but does not fit: fragmentation.
    waits : DataFrame
        By `cause`: `jobs` that waited for it when they were submitted, their `share` of all that
        waited, and their `mean_wait` [s].
    """

    resources: pd.DataFrame
    partitions: pd.DataFrame
    free_share: float
    unusable_share: float
    waits: pd.DataFrame

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the utilization of each resource and partition."""
        ax = style.current_axes(ax)
        used = pd.concat([self.resources["utilization"], self.partitions["utilization"]])
        ax.barh(used.index, used, color=style.BLUE)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set(xlabel="utilization", ylabel="resource or partition")
        return ax


def machine_use(schedule: Schedule) -> MachineUse:
    """Measure the use of a described machine, and what jobs waited for.

    What a job waited for is what it lacked after the starts of the second of its submission: enough
    free processors in its partition (if the whole machine has them, the partition), the amounts of
    a pool, memory or GPUs on the nodes with free processors, nodes whose free processors suit it;
    or nothing, if others came first or had reservations.

    Parameters
    ----------
    schedule : Schedule
        Of a machine with a description.

    Raises
    ------
    ParameterError
        If the machine has no description.

    Examples
    --------
    >>> from workloadkit import MachineDescription, NodeType, Trace, simulate
    >>> machine = MachineDescription(nodes=(NodeType(count=2, cores=4),))
    >>> trace = Trace.from_columns({"submit": [0, 0, 0], "run": [9, 9, 9], "procs": [3, 3, 4]})
    >>> use = machine_use(simulate(trace, "fcfs", machine=machine, engine="python"))
    >>> use.waits["jobs"].to_dict(), use.resources["in_use"].to_dict()
    ({'processors': 1}, {'processors': 5.0})
    """
    described = schedule.described
    if described is None:
        raise ParameterError(
            "the machine of the schedule has no description; simulate with machine"
        )
    machine, requests = described.description, described.requests(schedule.source)
    w, (begin, until) = schedule.workload, schedule.window
    held, amounts = _held(schedule, machine, requests)
    partition = requests.partition[w.row]
    need = np.column_stack([w.procs, requests.pools[w.row]])
    parts = described.parts(schedule.source, w)
    levels = [
        _NodesLevel(part.hardware, need[part.jobs], {**machine.pools})
        if isinstance(part.hardware, Nodes)
        else _Level(part.hardware.procs, need[part.jobs], {**machine.pools})
        for part in parts
    ]
    waits, free, unusable = _waits(schedule, parts, levels)
    capacity = schedule.machine * (until - begin)
    spans = schedule.start, schedule.end
    return MachineUse(
        by_resource(machine, schedule.machine, held, amounts, spans, (begin, until)),
        by_partition(machine, partition, w.procs, spans, (begin, until), schedule.wait),
        free / capacity if capacity else np.nan,
        unusable / capacity if capacity else np.nan,
        waits,
    )


def _held(
    schedule: Schedule, machine: MachineDescription, requests: Requests
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the processors and resources of nodes that each job holds, and its pools."""
    rows = schedule.workload.row
    held = amounts_requested(requests, rows)
    held[:, CORES] = schedule.workload.procs
    whole = requests.exclusive[rows]
    if whole.any():
        each = [amounts_on(kind, 0) for kind in machine.nodes for _ in range(kind.count)]
        for run in schedule.runs:
            if run.nodes and whole[run.row]:
                held[run.row] = np.sum([each[node - 1] for node, _ in run.nodes], axis=0)
    return held, requests.pools[rows]


def _waits(
    schedule: Schedule, parts: list[GroupMachine], levels: list["_Level"]
) -> tuple[pd.DataFrame, float, float]:
    """Return what jobs waited for, and the processors × seconds that were free, and unusable."""
    cause: dict[int, str] = {}
    free = unusable = 0.0
    time, in_use = use_over_time(schedule.start, schedule.end, schedule.workload.procs)
    nodes_of: dict[int, Any] = {run.row: run.nodes for run in schedule.runs if run.nodes}
    begin, until = schedule.window

    def free_then(now: float) -> int:
        """Return the free processors of the whole machine."""
        place = np.searchsorted(time, now, side="right") - 1
        return schedule.machine - int(in_use[place] if place >= 0 else 0)

    for part, level in zip(parts, levels, strict=True):
        for now, later, new, head in _instants(schedule, part.jobs, level, nodes_of):
            for job in new:
                cause[int(part.jobs[job])] = level.lacks(job, free_then(now))
            lasted = min(later, until) - max(now, begin)
            if lasted > 0:
                free += level.free * lasted
                lack = level.lacks(head, 0) if head is not None else OTHERS
                unusable += level.free * lasted if lack not in (PROCESSORS, OTHERS) else 0.0
    jobs = np.array(list(cause), np.int64)
    table = pd.DataFrame({"cause": list(cause.values()), "wait": schedule.wait[jobs]})
    grouped = table.groupby("cause")["wait"].agg(jobs="size", mean_wait="mean")
    grouped.insert(1, "share", grouped["jobs"] / max(len(table), 1))
    return grouped.sort_values("jobs", ascending=False, kind="stable"), free, unusable


def _instants(
    schedule: Schedule, jobs: NDArray[np.int64], level: "_Level", nodes_of: dict[int, Any]
) -> Iterator[tuple[float, float, list[int], int | None]]:
    """Play the starts and ends of a part of the machine.

    Yields each second, the next one, the jobs that are submitted then and wait, and the first
    waiting job; jobs as places in the part.
    """
    submit, start, end = (
        values[jobs].tolist() for values in (schedule.workload.submit, schedule.start, schedule.end)
    )
    starts = sorted(
        (job for job in range(len(submit)) if end[job] > start[job]), key=start.__getitem__
    )
    ends: list[tuple[float, int]] = []
    times = distinct(np.concatenate([submit, start, end])).tolist()
    coming = head = begun = 0
    for now, later in zip(times, [*times[1:], times[-1]], strict=True):
        while ends and ends[0][0] <= now:
            job = heappop(ends)[1]
            level.change(job, nodes_of.get(int(jobs[job]), ()), 1)
        while begun < len(starts) and start[starts[begun]] <= now:
            job = starts[begun]
            level.change(job, nodes_of.get(int(jobs[job]), ()), -1)
            heappush(ends, (end[job], job))
            begun += 1
        new = []
        while coming < len(submit) and submit[coming] <= now:
            new += [coming] if start[coming] > now else []
            coming += 1
        while head < coming and start[head] <= now:
            head += 1
        yield now, later, new, head if head < coming else None


class _Level:
    """What is free of processors without places, and of pools."""

    def __init__(self, procs: int, need: NDArray[np.int64], pools: dict[str, int]) -> None:
        self.free, self.need, self.pools = procs, need, pools

    def lacks(self, job: int, elsewhere: int) -> str:
        """Return what a job lacks, of its processors and pools."""
        procs, *amounts = self.need[job].tolist()
        if procs > self.free:
            return PARTITION if procs <= elsewhere else PROCESSORS
        for (name, left), amount in zip(self.pools.items(), amounts, strict=True):
            if amount > left:
                return name
        return OTHERS

    def change(self, job: int, nodes: Any, sign: int) -> None:
        """Return (1) or take (-1) what a job holds."""
        procs, *amounts = self.need[job].tolist()
        self.free += sign * procs
        for name, amount in zip(self.pools, amounts, strict=True):
            self.pools[name] += sign * amount


class _NodesLevel(_Level):
    """What is free on nodes."""

    def __init__(self, hardware: Nodes, need: NDArray[np.int64], pools: dict[str, int]) -> None:
        super().__init__(hardware.procs, need, pools)
        self.site = hardware.site
        self.capacity = np.array(self.site.capacity, np.int64)
        self.left, self.kinds = self.capacity.copy(), np.array(self.site.kinds)
        self.place = {number: node for node, number in enumerate(hardware.numbers)}

    def shape(self, job: int) -> Shape:
        """Return what a job needs of nodes."""
        return self.site.shapes.shape(int(self.site.shapes.of_job[job]))

    def change(self, job: int, nodes: Any, sign: int) -> None:
        """Return (1) or take (-1) what a job holds on its nodes."""
        super().change(job, nodes, sign)
        shape = self.shape(job)
        for number, procs in nodes:
            node = self.place[number]
            if shape.whole:
                taken = self.capacity[node]
                self.free += sign * (int(taken[CORES]) - procs)
            else:
                taken = np.array(shape.amounts(procs))
            self.left[node] += sign * taken

    def lacks(self, job: int, elsewhere: int) -> str:
        """Return what a job lacks, of processors, pools, and on nodes."""
        shape, left = self.shape(job), self.left
        serves = (shape.kinds >> self.kinds & 1).astype(bool)
        if shape.procs > left[serves, CORES].sum():
            return PARTITION if shape.procs <= max(elsewhere, self.free) else PROCESSORS
        lack = super().lacks(job, elsewhere)
        if lack != OTHERS:
            return lack
        room = np.where(serves, np.minimum(left[:, CORES], shape.per_node), 0)
        if shape.whole:
            room = np.where(left[:, CORES] < self.capacity[:, CORES], 0, room)
        rooms = {
            resource.title: _room(left[:, i], shape.of_proc[i], shape.of_node[i], room)
            for i, resource in enumerate(NODE_RESOURCES, CORES + 1)
        }
        if _least(rooms, room).sum() >= shape.procs:
            if not shape.limits_nodes and self.site.placement != CONTIGUOUS:
                return OTHERS
            found = find_place(
                shape, left.tolist(), self.site.capacity, self.site.kinds, self.site.placement
            )
            return NODES if found is None else OTHERS
        for title in rooms:
            others = {name: its for name, its in rooms.items() if name != title}
            if _least(others, room).sum() >= shape.procs:
                return title
        return NODES


def _room(left: NDArray[np.int64], of_proc: int, of_node: int, room: NDArray) -> NDArray[np.int64]:
    """Return for how many processors of a job each node has a resource."""
    few = np.minimum(room, left // of_proc) if of_proc else room
    return np.where(left < of_node, 0, few)


def _least(rooms: Mapping[str, NDArray[np.int64]], room: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for how many processors of a job each node has several resources."""
    return np.minimum.reduce([room, *rooms.values()])
