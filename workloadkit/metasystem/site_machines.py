"""The machines of sites: described nodes, and processors that parts of meta jobs may reserve."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.machine.requests import Requests, requests_of
from workloadkit.metasystem.checks import InvalidFieldError
from workloadkit.metasystem.plan import SitePlan
from workloadkit.simulation.machine.described import Described, _fit_when_idle
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.plain import Machine, is_kept_at, just_after
from workloadkit.simulation.selected_machine import machine_named
from workloadkit.simulation.supports import supports
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


def described_machine(machine: Any, trace: Trace | None, policy: Any, field: str) -> Described:
    """Return the machine of a site with one queue.

    Raises
    ------
    InvalidFieldError
        If there is none, its partitions are separate, or the policy does not serve nodes.
    """
    try:
        found: Described = machine_named(machine, trace)
    except ParameterError as error:
        raise InvalidFieldError(field, machine, str(error)) from None
    if len(found.groups) > 1:
        raise InvalidFieldError(
            field,
            found.name,
            f"it has {len(found.groups)} partitions that share no nodes; make each of them a site",
        )
    if found.has_nodes and not supports(policy, "nodes"):
        words = f"scheduler {policy.name} does not support machines of nodes"
        raise InvalidFieldError(field, found.name, words)
    return found


def serve(
    machine: Described, jobs: Workload, logs: Sequence[tuple[Trace, NDArray[np.int64]]]
) -> tuple[Hardware, NDArray[np.bool_]]:
    """Return the hardware for jobs of several logs, and which of them it can serve.

    Parameters
    ----------
    machine : Described
    jobs : Workload
        Its rows are places in the rows of all logs.
    logs : sequence of (Trace, ndarray of int64)
        Logs, each with rows.
    """
    requests = _joined(
        [(requests_of(log, machine.description, memory=machine.memory), row) for log, row in logs]
    )
    (part,) = machine._parts(logs[0][0], jobs, requests)
    fits = _fit_when_idle(part.hardware, jobs.procs)
    return part.hardware, fits & machine._are_within_limits(jobs, requests)


def _joined(requests: Sequence[tuple[Requests, NDArray[np.int64]]]) -> Requests:
    """Return the requests of some rows of several logs."""
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(its, field.name)[row] for its, row in requests])
        for field in fields(Requests)
        if field.name != "noted"
    }
    return Requests(**columns, noted={})


# A machine in plain Python that accepts reservations of processors for parts of meta jobs.


class _Claim(NamedTuple):
    """When a waiting job is to start; if `strictly`, it is in the way of jobs that end then."""

    begin: Any
    end: Any
    strictly: bool = False


class ReservingMachine(Machine):
    """Identical processors, some of them reserved for a time.

    Waiting jobs start only if they end before reserved processors are needed, by their estimates.
    Schedulers see reservations as they see announced outages.

    Parameters
    ----------
    procs : int

    Attributes
    ----------
    accepted : dict of int to (time, time, int)
        Begin, duration and processors of the reservations that have not begun, by meta job. [s]
    """

    def __init__(self, procs: int) -> None:
        super().__init__(procs)
        self.accepted: dict[int, tuple[Any, Any, int]] = {}
        self._claims: dict[Any, _Claim] = {}  # in this pass
        self._simulation: Any = None

    def begin(self, simulation: Any) -> None:
        """Keep a reference to the simulation, for its running jobs."""
        self._simulation = simulation

    def plan(self, now: Any) -> SitePlan:
        """Return the processors that running jobs and reservations leave free over time."""
        running = [(end, job.procs) for end, _, job in self._simulation.planned_ends]
        plan = SitePlan(now, self.level.free, running)
        for begin, duration, procs in self.accepted.values():
            plan.take(begin, procs, duration)
        return plan

    def _earliest(self, job: Any, now: Any) -> Any:
        """Return the earliest slot for a waiting job that the claims of the others leave."""
        plan, end = self.plan(now), now + job.estimate
        others = {other: claim for other, claim in self._claims.items() if other is not job}
        for other, claim in others.items():
            plan.take(claim.begin, other.procs, claim.end - claim.begin)
        if is_kept_at(end, others.values()):
            end = just_after(end)
        return plan.earliest(job.procs, end - now, now)

    def changes_ahead(self, now: Any) -> bool:
        """Whether any reservation is ahead."""
        return bool(self.accepted)

    def fits(self, job: Any, now: Any) -> bool:
        """Whether enough is free and available to a job until its planned end."""
        if not self.level.fits(job) or not self.accepted:
            return self.level.fits(job)
        return bool(self._earliest(job, now) == now)

    def reserve(self, job: Any, now: Any, *, strictly: bool = False) -> Any:
        """Claim the earliest slot for a waiting job; return its begin."""
        begin = self._earliest(job, now)
        self._claims[job] = _Claim(begin, begin + job.estimate, strictly)
        return begin

    def release(self, job: Any = None) -> None:
        """Release the claim of a job, or all claims."""
        if job is None:
            self._claims.clear()
        else:
            self._claims.pop(job, None)

    def start(self, job: Any, now: Any) -> None:
        """Start a job."""
        super().start(job, now)
        self._claims.pop(job, None)
        if is_kept_at(end := now + job.estimate, self._claims.values()):
            self._claims[job] = _Claim(end, just_after(end))
