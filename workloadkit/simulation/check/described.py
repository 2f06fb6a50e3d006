"""The rules of a described machine: its nodes, pools and partitions."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.io.allocations import read_allocations
from workloadkit.simulation.check.feasible import Listed
from workloadkit.simulation.check.nodes import (
    jobs_have_nodes,
    no_node_is_used_twice,
    partitions_suffice,
    places_of,
    pools_suffice,
    requests_are_met,
)
from workloadkit.simulation.check.policy_rules import claims_of
from workloadkit.simulation.check.replaying import rule_of
from workloadkit.simulation.check.scheduled_jobs import ScheduleCase, make_case
from workloadkit.simulation.check.subject import Subject
from workloadkit.simulation.check.verdicts import ScheduleClaim
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.schedule import Schedule
from workloadkit.trace import Trace

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
