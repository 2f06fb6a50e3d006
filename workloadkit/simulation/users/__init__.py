"""Users: their behaviours, by the names of the command line.

A behaviour is a small frozen object: a name and its parameters. `known` lists the built-in ones;
`parse` reads ``name:param=value,...``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from workloadkit.built_in import USERS, BuiltInParts
from workloadkit.parameters import read_choice
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.plain.begun import begin_at
from workloadkit.simulation.populations.population import Notes, Present
from workloadkit.simulation.supports import NOTHING, Memories
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.simulation.users.batches import BatchUser
    from workloadkit.simulation.users.batches.closed import Adjusted, Closed, CustomUsers, Fluid
    from workloadkit.simulation.users.batches.distribution import Distribution
    from workloadkit.simulation.users.dependent import Dependent
    from workloadkit.simulation.users.queueing.kinds import Cautious, Mixed, Poisson, Reopen, Think
    from workloadkit.simulation.users.sites import DynamicSite, StaticSite


# The users of one simulation who react, in the forms of both engines.


class SimulatedUsers(Protocol):
    """Users in the forms of both engines, each for one simulation.

    In a workload of their jobs, `row` is the place of each job in the user's log, -1 for none, and
    `user` counts the users from 0. The jobs are in the order of arrival.
    """

    @property
    def of_log(self) -> tuple[Trace, Workload] | None:
        """The log of the users, and its jobs; None for users without a log."""
        ...

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs."""
        ...

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python, who draw from `rng`."""
        ...

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables with room for so many jobs, and the users who fill them in."""
        ...

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
        ...

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return the history of users in plain Python."""
        ...

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the jobs, and the jobs as a workload of that log."""
        ...


@runtime_checkable
class Behaviour(Protocol):
    """The behaviour of a log's users, in the forms of both engines.

    A behaviour that draws random numbers has an attribute `draws`. One that changes the batches of
    the users has a method `adapted`, from one `Present` to another.
    """

    name: ClassVar[str]

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python, in the order of their numbers; they share `rng`."""
        ...


@runtime_checkable
class LogBehaviour(Protocol):
    """The behaviour of users who follow fields of a log's jobs."""

    name: ClassVar[str]

    def users_of(self, trace: Trace, workload: Workload) -> SimulatedUsers:
        """Return the users of one simulation, who submit the jobs `workload` of a log."""
        ...


@runtime_checkable
class Community(Protocol):
    """Users who need no log, with their behaviour.

    `processors` is the default size of the machine.
    """

    name: ClassVar[str]
    processors: ClassVar[int]

    def simulated_users(self, machine: int) -> SimulatedUsers:
        """Return the users of one simulation."""
        ...


def is_plain_only(choice: Any) -> bool:
    """Whether a built-in behaviour contains a function that only the plain engine can run."""
    return getattr(choice, "plain_only", False)


# Users who do not react: each job is submitted at its recorded time.


@dataclass(frozen=True)
class OpenUsers:
    """Jobs arrive at their recorded times, whatever the scheduler does."""

    name: ClassVar[str] = "open"

    def plain(
        self, workload: Workload, begin: float | None = None, memory: Memories = NOTHING
    ) -> list[User]:
        """Return the users of a workload in plain Python, for one simulation."""
        return [Replay(workload, begin, memory)]


def is_of_log(behaviour: object) -> bool:
    """Whether users submit the jobs of a log."""
    return isinstance(behaviour, OpenUsers | Behaviour | LogBehaviour)


class Replay(User):
    """A user who submits the jobs of all users at their recorded times.

    With a time at which the simulation begins, jobs submitted before it are there, see
    `Workload.begun`.
    """

    def __init__(self, workload: Workload, begins: Any = None, memory: Memories = NOTHING) -> None:
        super().__init__()
        self.workload, self.begins, self.memory = workload, begins, memory

    def begin(self) -> None:
        """Submit every job for its recorded time."""
        jobs = self.known_jobs()
        if self.begins is not None:
            begun, none = self.workload.begun, never(self.workload.submit.dtype)
            assert begun is not None  # as the simulation begins at a time
            there = list(islice(jobs, int(np.searchsorted(self.workload.submit, self.begins))))
            for job, start in zip(there, begun.tolist(), strict=False):
                job.start = None if start == none else start
            begin_at(self._at, self.begins, there, self.memory)
        self._at.add_all(jobs)

    def known_jobs(self) -> Iterator[Job]:
        """Return the jobs, in the order of their submissions."""
        w = self.workload
        columns = (w.user, w.procs, w.run, w.estimate, w.submit, w.job, w.killed, w.queue, w.wait)
        utility = repeat(()) if w.utilities is None else map(w.utilities.of, range(w.submit.size))
        groups = [repeat(None) if c is None else c.tolist() for c in (w.group, w.partition)]
        groups.append(w.tiers.tolist())
        jobs = map(Job, repeat(self), *(c.tolist() for c in columns), utility, *groups, count())
        return jobs if w.leaves is None else map(_leaving, jobs, w.leaves.tolist())


def _leaving(job: Job, time: float) -> Job:
    """Set when a job leaves the queue, unless it does not."""
    job.leaves = None if time == never(np.asarray(time).dtype) else time
    return job


# Users: their behaviours, by the names of the command line.


__all__ = [
    "Adjusted",
    "BatchUser",
    "Cautious",
    "Closed",
    "CustomUsers",
    "Dependent",
    "Distribution",
    "DynamicSite",
    "Fluid",
    "Mixed",
    "OpenUsers",
    "Poisson",
    "Reopen",
    "StaticSite",
    "Think",
    "User",
    "known",
    "parse",
]

__getattr__ = USERS.class_named


def __dir__() -> list[str]:
    return __all__


def known() -> BuiltInParts:
    """Return the built-in behaviours, by name.

    Examples
    --------
    >>> "fluid" in known()
    True
    """
    return USERS


def parse(text: str) -> Any:
    """Make a behaviour from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; the message lists the known ones.

    Examples
    --------
    >>> parse("open")
    OpenUsers()
    """
    behaviour, values = read_choice("users", known(), text)
    return behaviour(**values)
