"""Rules for schedules on described machines: nodes, pools and partitions."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, plural
from workloadkit.io.allocations import read_allocations
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.requests import Requests
from workloadkit.record_fields import NODE_RESOURCES, amounts_on
from workloadkit.simulation.check.feasible import Listed
from workloadkit.simulation.check.policy_rules import claims_of
from workloadkit.simulation.check.replaying import rule_of
from workloadkit.simulation.check.scheduled_jobs import ScheduleCase, make_case
from workloadkit.simulation.check.subject import Subject
from workloadkit.simulation.check.verdicts import (
    ScheduleClaim,
    as_instants,
    refuted,
    seconds,
    use_of,
)
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

# The rules of a described machine: its nodes, pools and partitions.


_FROM_WORST = ("refuted", "not applicable", "proved")


def claims_on(
    subject: Subject, described: Described, at: NDArray[np.int64]
) -> Iterator[ScheduleClaim]:
    """Check the rules of the machine, with the runs that are known to be on nodes.

    `at` is the place of each job in the schedule.
    """
    workload, listed = subject.workload, subject.listed
    placed = _placed(subject.schedule, subject.asked.allocations, listed)
    machine, requests = described.description, described.requests(subject.trace)
    if any(partition.procs for partition in machine.partitions):
        yield partitions_suffice(workload, listed, at, requests, machine)
    if machine.pools:
        yield pools_suffice(workload, listed, at, requests, machine)
    if not machine.nodes:
        return
    if placed is None:
        why = "a log does not contain the nodes of jobs; check a Schedule, or give the allocations"
        yield ScheduleClaim("no node is used twice at one time", "not applicable", why)
        return
    places = places_of(placed, at)
    yield jobs_have_nodes(workload, listed, at, places)
    yield requests_are_met(workload, requests, machine, places)
    yield no_node_is_used_twice(workload, requests, machine, places)


def _placed(schedule: Schedule | Trace, allocations: Any, listed: Listed) -> Sequence[Run] | None:
    """Return the runs on nodes, with the place of each job in the schedule; None if unknown."""
    if allocations is None:
        if not isinstance(schedule, Schedule):
            return None
        return [run for run in schedule.runs if run.nodes and not run.interrupted]
    if isinstance(allocations, str | os.PathLike):
        allocations = read_allocations(allocations)
    row = {job: i for i, job in enumerate(listed.job.tolist())}
    for allocation in allocations:
        if allocation.job not in row:
            raise WorkloadError(f"allocations: job {allocation.job} is not in the schedule")
    return [Run(a.job, a.start, a.end, (), False, row[a.job], tuple(a.nodes)) for a in allocations]


def claims_by_partition(
    subject: Subject,
    described: Described,
    case: ScheduleCase | None,
    places: tuple[NDArray[np.int64], NDArray[np.float64] | None],
) -> Iterator[ScheduleClaim]:
    """Check the rules of a policy in each partition; on nodes its passes are not repeated.

    `places` are the place of each job in the schedule, and when cancelled jobs started.
    """
    unknown, policy, workload = subject.unknown, subject.policy, subject.every
    if subject.predictions is not None:
        unknown = "on partitions, predictions are not repeated"
    if case is None or unknown:
        yield from claims_of(policy, case, None, changing=False, unknown=unknown)
        return
    if described.has_nodes:
        why = "on nodes, passes are not repeated; only the rules for every schedule were checked"
        yield ScheduleClaim("jobs start as the policy specifies", "not applicable", why)
        return
    found = []
    at, began = places
    for part in described.parts(subject.trace, workload):
        its = workload.take(part.jobs)
        one = make_case(
            its,
            subject.listed,
            at[part.jobs],
            part.hardware.procs,
            subject.asked.passes,
            reacting=case.reacting,
            began=None if began is None else began[part.jobs],
        )
        claims = claims_of(policy, one, rule_of(policy, its, one.row), changing=False, unknown="")
        found.append([replace(claim, why=f"{part.name}: {claim.why}") for claim in claims])
    for of_rule in zip(*found, strict=True):
        worst = min(of_rule, key=lambda claim: _FROM_WORST.index(claim.verdict))
        sure = all(claim.determines for claim in of_rule)
        why = worst.why if worst.verdict == "refuted" else "; ".join(claim.why for claim in of_rule)
        yield replace(worst, why=why, determines=sure)


# Rules for schedules on described machines, and for jobs that were cancelled while they waited.


class Places(NamedTuple):
    """The runs of jobs on nodes: one entry for each node of each run.

    Parameters
    ----------
    row : ndarray of int64, shape (n_entries,)
        Place of the job in the workload.
    node, procs : ndarray of int64, shape (n_entries,)
        A node, from 0, and the processors on it.
    start, end : ndarray, shape (n_entries,)
        [s]
    """

    row: NDArray[np.int64]
    node: NDArray[np.int64]
    procs: NDArray[np.int64]
    start: NDArray
    end: NDArray


def places_of(runs: Sequence[Run], at: NDArray[np.int64]) -> Places:
    """Return the places of the jobs of a workload; `at` is the place of each in the schedule."""
    place = np.full(max(at.max(initial=-1) + 1, 1), -1)
    place[at] = np.arange(at.size)
    found = [
        (int(place[run.row]), node - 1, procs, run.start, run.end)
        for run in runs
        for node, procs in run.nodes
    ]
    row, node, procs, start, end = (
        np.array(column) for column in zip(*(found or [(0, 0, 0, 0, 0)]), strict=True)
    )
    return Places(*(column[: len(found)] for column in (row, node, procs, start, end)))


def jobs_have_nodes(
    workload: Workload, listed: Listed, at: NDArray[np.int64], places: Places
) -> ScheduleClaim:
    """Check that each job runs on nodes, with its processors, from its start to its end."""
    text = "each job has its processors on nodes from its start to its end"
    procs = np.bincount(places.row, places.procs, minlength=at.size).astype(np.int64)
    start, end = listed.start[at], listed.start[at] + listed.run[at]
    first, last = (np.full(at.size, np.nan) for _ in range(2))
    first[places.row], last[places.row] = places.start, places.end
    wrong = (procs != workload.procs) | (first != start) | (last != end)
    pairs = places.row * (places.node.max(initial=0) + 1) + places.node
    again = np.ones(pairs.size, dtype=bool)
    again[np.unique(pairs, return_index=True)[1]] = False
    wrong[places.row[again]] = True
    if wrong.any():
        job = int(np.argmax(wrong))
        held = f"{plural(procs[job], 'processor')} of {workload.procs[job]:,}"
        why = f"job {workload.job[job]} has {held}, from {seconds(first[job])}"
        return refuted(text, why, int(wrong.sum()))
    return ScheduleClaim(text, "proved", f"{plural(at.size, 'job')} on {places.row.size:,} nodes")


def requests_are_met(
    workload: Workload, requests: Requests, machine: MachineDescription, places: Places
) -> ScheduleClaim:
    """Check features, partitions, numbers of nodes and processors on each node."""
    text = "nodes are those that jobs request, within the limits of their partitions"
    row = workload.row
    kind = np.repeat(np.arange(len(machine.nodes)), [node.count for node in machine.nodes])
    eligible = requests.eligible[row]
    wrong = np.zeros(row.size, dtype=bool)
    wrong[places.row[~eligible[places.row, kind[places.node]]]] = True
    cap = requests.per_node[row]
    wrong[places.row[(cap[places.row] > 0) & (places.procs > cap[places.row])]] = True
    count = np.bincount(places.row, minlength=row.size)
    nodes = np.minimum(requests.nodes[row], workload.procs)
    wrong |= (nodes > 0) & (count != nodes)
    part = requests.partition[row]
    for number, limit in enumerate(machine.partitions):
        its = part == number
        least = np.minimum(limit.min_nodes or 1, workload.procs)
        wrong |= its & (count < least)
        for most, amount in (
            (limit.max_nodes, count),
            (limit.max_procs, workload.procs),
            (limit.max_time, workload.estimate),
        ):
            if most is not None:
                wrong |= its & (amount > most)
    if wrong.any():
        job = int(np.argmax(wrong))
        held = ", ".join(map(str, (places.node[places.row == job] + 1).tolist()[:9]))
        return refuted(text, f"job {workload.job[job]} runs on nodes {held}", int(wrong.sum()))
    return ScheduleClaim(text, "proved", plural(row.size, "job"))


def no_node_is_used_twice(
    workload: Workload, requests: Requests, machine: MachineDescription, places: Places
) -> ScheduleClaim:
    """Check that on no node more processors or other resources are in use than it has."""
    *several, last = (resource.title.removesuffix("s") for resource in NODE_RESOURCES)
    named = f"{', '.join(('processor', *several))} or {last}"
    text = f"no {named} of a node is used twice at one time"
    counts = [node.count for node in machine.nodes]
    row, jobs = workload.row[places.row], np.bincount(places.row, minlength=workload.row.size)
    whole = requests.exclusive[row]
    of_job = -(-requests.of_job[row] // jobs[places.row, np.newaxis])
    more = of_job + requests.of_node[row] + requests.of_proc[row] * places.procs[:, np.newaxis]
    there = np.array([amounts_on(node, np.inf) for node in machine.nodes], dtype=float)
    counted = ("processors", *(resource.counted for resource in NODE_RESOURCES))
    peaks = []
    for resource, each in enumerate((places.procs, *more.T)):
        capacity = np.repeat(there[:, resource], counts)
        taken = np.where(whole, capacity[places.node], each)
        known = np.isfinite(capacity[places.node]) & (taken > 0)
        which = Places(*(column[known] for column in places))
        over = _overused(which, taken[known], capacity)
        if over is not None:
            node, time, used = over
            why = f"{used:,.0f} of {capacity[node]:,.0f} {counted[resource]} on node {node + 1}"
            return ScheduleClaim(text, "refuted", f"{why} at {seconds(time)}")
        if known.any():
            peaks.append(counted[resource])
    what = ", ".join(peaks)
    return ScheduleClaim(text, "proved", f"{what} of {plural(machine.n_nodes, 'node')}")


def _overused(places: Places, taken: NDArray, capacity: NDArray) -> tuple[int, float, float] | None:
    """Return a node on which more is in use than it has, when, and how much.

    At one instant ends come before starts. A run of no length needs what it takes in addition to
    the runs through its instant.
    """
    if not taken.size:
        return None
    start, end = as_instants(places.start.astype(float), places.end.astype(float))
    lasting = end > start
    node = np.concatenate([places.node[lasting]] * 2)
    time = np.concatenate([start[lasting], end[lasting]])
    change = np.concatenate([taken[lasting], -taken[lasting]])
    order = np.lexsort((change, time, node))  # ends first
    node, time, change = node[order], time[order], change[order]
    used = np.cumsum(change)  # what is taken of a node is returned before the next one
    over = np.flatnonzero(used > capacity[node] + 1e-6)
    if over.size:
        return int(node[over[0]]), float(time[over[0]]), float(used[over[0]])
    for entry in np.flatnonzero(~lasting):
        on, now = places.node[entry], start[entry]
        through = lasting & (places.node == on) & (start < now) & (now < end)
        total = taken[entry] + taken[through].sum()
        if total > capacity[on] + 1e-6:
            return int(on), float(now), float(total)
    return None


def pools_suffice(
    workload: Workload,
    listed: Listed,
    at: NDArray[np.int64],
    requests: Requests,
    machine: MachineDescription,
) -> ScheduleClaim:
    """Check that no more of a pool is in use than there is."""
    text = "no more of a pool is in use than there is"
    start = listed.start[at]
    start, end = as_instants(start.astype(float), (start + listed.run[at]).astype(float))
    peaks = []
    for pool, (name, amount) in enumerate(machine.pools.items()):
        taken = requests.pools[workload.row, pool]
        use = use_of(start, end, taken)
        peak = int(use.after.max(initial=0))
        moment = np.flatnonzero(end == start)
        peak = max(peak, int((use.through[use.begin[moment]] + taken[moment]).max(initial=0)))
        if peak > amount:
            return ScheduleClaim(text, "refuted", f"{peak:,} of {amount:,} {name}")
        peaks.append(f"{name} at most {peak:,} of {amount:,}")
    return ScheduleClaim(text, "proved", ", ".join(peaks))


def partitions_suffice(
    workload: Workload,
    listed: Listed,
    at: NDArray[np.int64],
    requests: Requests,
    machine: MachineDescription,
) -> ScheduleClaim:
    """Check that no partition without nodes uses more processors than it has."""
    text = "no partition uses more processors than it has"
    start = listed.start[at]
    start, end = as_instants(start.astype(float), (start + listed.run[at]).astype(float))
    part, peaks = requests.partition[workload.row], []
    if (part < 0).any() and len(machine.partitions) > 1:
        job = workload.job[np.argmax(part < 0)]
        return refuted(text, f"job {job} has no partition", int((part < 0).sum()))
    for number, partition in enumerate(machine.partitions):
        its = part == number
        if partition.procs is None or not its.any():
            continue
        procs, moment = workload.procs[its], np.flatnonzero(start[its] == end[its])
        use = use_of(start[its], end[its], procs)
        peak = int(use.after.max(initial=0))
        peak = max(peak, int((use.through[use.begin[moment]] + procs[moment]).max(initial=0)))
        if peak > partition.procs:
            why = f"{peak:,} of {partition.procs:,} in partition {partition.name}"
            return ScheduleClaim(text, "refuted", why)
        peaks.append(f"{partition.name} at most {peak:,} of {partition.procs:,}")
    return ScheduleClaim(text, "proved", ", ".join(peaks))


# The rules of jobs that were cancelled while they waited, if a simulation has kept them.
