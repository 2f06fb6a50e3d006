"""The sites of a metasystem: machines, what they admit and publish, and models of their waits."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.requests import Requests, requests_of
from workloadkit.metasystem.checks import (
    COUNT,
    NAME,
    NOT_NEGATIVE,
    NUMBERS,
    POSITIVE,
    TIME,
    Checked,
    InvalidFieldError,
    is_text,
)
from workloadkit.metasystem.plan import SitePlan
from workloadkit.metasystem.sources import JobSource, check_named
from workloadkit.parameters import read_duration
from workloadkit.simulation import schedulers
from workloadkit.simulation.machine.described import Described, _fit_when_idle
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.plain import Claim, Machine, is_kept_at, just_after
from workloadkit.simulation.selected_machine import machine_named
from workloadkit.simulation.supports import supports
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

# The machines of sites: described nodes, and processors that parts of meta jobs may reserve.


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


class ReservingMachine(Machine):
    """Identical processors, some of them reserved for a time.

    Waiting jobs start only if they end before reserved processors are needed, by their estimates.
    Schedulers see reservations as they see announced outages.

    Attributes
    ----------
    accepted : dict of int to (time, time, int)
        Begin, duration and processors of the reservations that have not begun, by meta job. [s]
    """

    def __init__(self, procs: int) -> None:
        super().__init__(procs)
        self.accepted: dict[int, tuple[Any, Any, int]] = {}
        self._claims: dict[Any, Claim] = {}  # in this pass
        self._simulation: Any = None

    def begin(self, simulation: Any) -> None:
        """Keep a reference to the simulation, for its running jobs."""
        self._simulation = simulation

    def plan(self, now: float) -> SitePlan:
        """Return the processors that running jobs and reservations leave free over time."""
        running = [(end, job.procs) for end, _, job in self._simulation.planned_ends]
        plan = SitePlan(now, self.level.free, running)
        for begin, duration, procs in self.accepted.values():
            plan.take(begin, procs, duration)
        return plan

    def _earliest(self, job: Any, now: float) -> Any:
        """Return the earliest slot for a waiting job that the claims of the others leave."""
        plan, end = self.plan(now), now + job.estimate
        others = {other: claim for other, claim in self._claims.items() if other is not job}
        for other, claim in others.items():
            plan.take(claim.begin, other.procs, claim.end - claim.begin)
        if is_kept_at(end, others.values()):
            end = just_after(end)
        return plan.earliest(job.procs, end - now, now)

    def changes_ahead(self, now: float) -> bool:
        """Whether any reservation is ahead."""
        return bool(self.accepted)

    def fits(self, job: Any, now: float) -> bool:
        """Whether enough is free and available to a job until its planned end."""
        if not self.level.fits(job) or not self.accepted:
            return self.level.fits(job)
        return bool(self._earliest(job, now) == now)

    def reserve(self, job: Any, now: float, *, strictly: bool = False) -> Any:
        """Claim the earliest slot for a waiting job; return its begin."""
        begin = self._earliest(job, now)
        self._claims[job] = Claim(begin, begin + job.estimate, strictly)
        return begin

    def release(self, job: Any = None) -> None:
        """Release the claim of a job, or all claims."""
        if job is None:
            self._claims.clear()
        else:
            self._claims.pop(job, None)

    def start(self, job: Any, now: float) -> None:
        """Start a job."""
        super().start(job, now)
        self._claims.pop(job, None)
        if is_kept_at(end := now + job.estimate, self._claims.values()):
            self._claims[job] = Claim(end, just_after(end))


# The sites of a metasystem: what they admit and publish, and models of their waits.


#: What a site can publish: free processors; waiting jobs; remaining work by the estimates of the
#: jobs that wait and run; the plan of its jobs, from which starts are predicted.
PUBLISHED = ("free", "queue", "work", "plan")

#: Laws of the waits of modelled sites.
LAWS = ("exponential", "constant")


@dataclass(frozen=True)
class Access(Checked):
    """Which meta jobs a site admits; by default all that fit.

    Parameters
    ----------
    max_procs : int, optional
        Processors of the largest meta job.
    users, groups : sequence of int, optional
        Users and groups whose meta jobs it admits.
    """

    checks: ClassVar = {"max_procs": COUNT, "users": NUMBERS, "groups": NUMBERS}

    max_procs: int | None = None
    users: tuple[int, ...] | None = None
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Publishes(Checked):
    """What a site publishes, and how often.

    Parameters
    ----------
    every : float, default 0
        Time between publications, which are at its multiples; 0 for fresh information whenever it
        is read. In a file also a text such as "10min". [s]
    what : sequence of {"free", "queue", "work", "plan"}
        See `PUBLISHED`; by default all.
    """

    checks: ClassVar = {
        "every": TIME,
        "what": (
            lambda value: isinstance(value, tuple) and all(x in PUBLISHED for x in value),
            f"it must be a list of {', '.join(PUBLISHED)}",
        ),
    }

    every: float = 0
    what: tuple[str, ...] = PUBLISHED

    def __post_init__(self) -> None:
        every: Any = self.every
        if isinstance(every, str):
            try:
                every = read_duration(every)
            except ValueError:
                raise InvalidFieldError(
                    "every", every, "it must be a time, such as 90, 10min or 1h"
                ) from None
        whole = isinstance(every, float) and every.is_integer()
        object.__setattr__(self, "every", int(every) if whole else every)
        super().__post_init__()


@dataclass(frozen=True)
class Waits(Checked):
    """A simple model of a local scheduler: the waits of the jobs that are sent to it [1]_.

    Jobs do not affect each other's waits, which supposes that meta jobs are few.

    Parameters
    ----------
    mean : float
        Mean wait. [s]
    law : {"exponential", "constant"}
    error : float, default 0
        Error of predicted waits: standard deviation of the logarithm of predicted over real wait.

    References
    ----------
    .. [1] S. J. Chapin et al., JSSPP 1999, section 4.2.
    """

    checks: ClassVar = {
        "mean": NOT_NEGATIVE,
        "law": (lambda value: value in LAWS, f"give one of {', '.join(LAWS)}"),
        "error": NOT_NEGATIVE,
    }

    mean: float
    law: str = "exponential"
    error: float = 0


@dataclass(frozen=True)
class Site(Checked):
    """A machine with its scheduler and local load.

    Parameters
    ----------
    name : str
    procs : int, optional
        Processors; by default those that the header of the local log names.
    scheduler : str or Policy, default "easy"
        As in `workloadkit.simulate`.
    jobs : JobSource, optional
        Local jobs: a log, a model, or users without a log; by default none.
    speed : float, default 1
        A meta job runs for its run time × the speed of its home / this speed.
    price : float, default 0
        Price of a processor for an hour.
    access : Access
    publishes : Publishes
    waits : Waits, optional
        A model of the waits, in place of scheduler and local jobs. Such a site publishes a
        prediction for each job, as its "plan".
    machine : str, path or MachineDescription, optional
        Nodes, in place of `procs`: a description of a machine whose partitions share nodes, or the
        path of one, in a file relative to its folder; "log" for that of the local log.
    """

    checks: ClassVar = {
        "name": NAME,
        "procs": COUNT,
        "machine": (
            lambda value: isinstance(value, MachineDescription | PathLike) or is_text(value),
            "it must be the description of a machine, or its path",
        ),
        "speed": POSITIVE,
        "price": NOT_NEGATIVE,
        "jobs": (
            lambda value: isinstance(value, JobSource),
            "it must be a source of jobs",
        ),
        "access": (lambda value: isinstance(value, Access), "it must be an Access"),
        "publishes": (lambda value: isinstance(value, Publishes), "it must be a Publishes"),
        "waits": (lambda value: isinstance(value, Waits), "it must be a model of waits"),
    }

    name: str
    procs: int | None = None
    scheduler: Any = "easy"
    jobs: JobSource | None = None
    speed: float = 1
    price: float = 0
    access: Access = Access()
    publishes: Publishes = Publishes()
    waits: Waits | None = None
    machine: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named("scheduler", self.scheduler, schedulers.parse)
        for name in ("site", "graph"):
            if self.jobs is not None and (value := getattr(self.jobs, name)) is not None:
                raise InvalidFieldError(f"jobs.{name}", value, "it is for a meta-scheduler")
        if self.machine is not None:
            self._check_machine()
        elif self.jobs is None and self.procs is None:
            raise InvalidFieldError("procs", None, "a site without local jobs needs it")
        if self.waits is not None and self.jobs is not None:
            raise InvalidFieldError("jobs", self.jobs, "a site of modelled waits has no local jobs")

    def _check_machine(self) -> None:
        if self.procs is not None:
            raise InvalidFieldError("procs", self.procs, "machine sets the number of processors")
        if self.waits is not None:
            raise InvalidFieldError("waits", self.waits, "a site of modelled waits has no machine")
        if self.jobs is not None and self.jobs.have_no_log:
            words = "users without a log do not submit to machines of nodes"
            raise InvalidFieldError("jobs.users", self.jobs.users, words)

    @property
    def published(self) -> tuple[str, ...]:
        """What the site publishes."""
        what = self.publishes.what
        return what if self.waits is None else tuple(x for x in what if x == "plan")
