"""Applications as annotated graphs: tasks with their work, and the bytes that they pass on [1]_.

References
----------
.. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
   schedulers", JSSPP 1999, section 4.3.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.errors import among
from workloadkit.metasystem.checks import (
    COUNT,
    TEXT,
    TIME,
    Checked,
    InvalidFieldError,
    check_distinct,
    is_finite,
    is_text,
)
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.users import Replay
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


def _is_after(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(is_text, value)) and all(map(is_finite, value.values()))
    return isinstance(value, tuple) and all(map(is_text, value))


@dataclass(frozen=True)
class Task(Checked):
    """A task of an application, which is a job.

    Parameters
    ----------
    name : str
    run : float
        Run time at home. [s]
    procs : int, default 1
        Processors.
    estimate : float, optional
        Estimate of its user; by default the run time. [s]
    after : mapping of str to float, or sequence of str
        The tasks that must have ended, with the volumes that they pass to this one, by default 0.
        [bytes]
    """

    checks: ClassVar = {
        "name": TEXT,
        "run": TIME,
        "procs": COUNT,
        "estimate": TIME,
        "after": (_is_after, "it must be a list of tasks, or volumes by the names of tasks"),
    }

    name: str
    run: float
    procs: int = 1
    estimate: float | None = None
    after: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.after, Mapping):
            object.__setattr__(self, "after", dict.fromkeys(self.after, 0))


@dataclass(frozen=True)
class Graph(Checked):
    """An application: tasks, each submitted when all that it comes after have ended.

    The meta-scheduler then chooses its site, to which the volumes are moved in parallel from the
    sites where they are; there it arrives with the last one.

    Parameters
    ----------
    tasks : sequence of Task
        No task can come after itself.

    Examples
    --------
    >>> graph = Graph([Task("a", run=10), Task("b", run=5, after={"a": 1e6}), Task("c", run=7)])
    >>> graph.critical_path([10, 5, 7])
    15
    """

    name: ClassVar[str] = "graph"
    checks: ClassVar = {
        "tasks": (
            lambda value: bool(value) and all(isinstance(task, Task) for task in value),
            "it must be a list of tasks",
        ),
    }

    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        names = dict.fromkeys(task.name for task in self.tasks)
        check_distinct("tasks", [task.name for task in self.tasks])
        for i, task in enumerate(self.tasks):
            for name in task.after:
                if name not in names:
                    words = f"no such task; {among(name, names)}"
                    raise InvalidFieldError(f"tasks[{i}].after", name, words)
        if len(self._order) < len(names):
            i = min(set(range(len(names))) - set(self._order))
            raise InvalidFieldError(
                f"tasks[{i}].after", self.tasks[i].after, "these tasks wait for each other"
            )

    @cached_property
    def before(self) -> Sequence[Sequence[tuple[int, float]]]:
        """For each task, the places of those that it comes after, with the volumes. [bytes]."""
        place = {task.name: i for i, task in enumerate(self.tasks)}
        return [[(place[name], volume) for name, volume in x.after.items()] for x in self.tasks]

    @cached_property
    def following(self) -> Sequence[Sequence[int]]:
        """For each task, the places of those that come after it."""
        found: list[list[int]] = [[] for _ in self.tasks]
        for i, before in enumerate(self.before):
            for j, _ in before:
                found[j].append(i)
        return found

    @cached_property
    def _order(self) -> Sequence[int]:
        """Places of the tasks, each behind those that it comes after; none that are in a cycle."""
        missing = [len(before) for before in self.before]
        order = [i for i, n in enumerate(missing) if n == 0]
        for i in order:
            for j in self.following[i]:
                missing[j] -= 1
                if missing[j] == 0:
                    order.append(j)
        return order

    @property
    def digest(self) -> str:
        """Digest of the tasks."""
        return hashlib.sha256(repr(self.tasks).encode()).hexdigest()

    def critical_path(self, times: ArrayLike) -> Any:
        """Return the longest sum of times along a path of tasks.

        Parameters
        ----------
        times : array_like, shape (n_tasks,)
            [s]
        """
        end: list[Any] = np.asarray(times).tolist()
        for i in self._order:
            end[i] += max((end[j] for j, _ in self.before[i]), default=0)
        return max(end)

    def log(self, submit: Sequence[float]) -> Trace:
        """Return the tasks of several applications as a log, in the order of submission."""
        n, submit = len(self.tasks), sorted(submit)
        estimates = [task.run if task.estimate is None else task.estimate for task in self.tasks]
        columns = {
            "submit": np.repeat(submit, n),
            "run": np.tile([task.run for task in self.tasks], len(submit)),
            "procs": np.tile([task.procs for task in self.tasks], len(submit)),
            "requested_time": np.tile(estimates, len(submit)),
            "job": np.arange(1, n * len(submit) + 1),
        }
        return Trace.from_columns(columns, name="graph")

    def users_of(self, trace: Trace, workload: Workload) -> "Applications":
        """Return the users who submit the tasks of a log, which `log` has made."""
        return Applications(trace, workload, self)


@dataclass(frozen=True)
class Applications:
    """The user of several applications of one graph; see `SimulatedUsers`."""

    trace: Trace
    workload: Workload
    graph: Graph

    @property
    def of_log(self) -> tuple[Trace, Workload]:
        """The log of the tasks, and its jobs."""
        return self.trace, self.workload

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python."""
        return [_ApplicationUser(self.workload, self.graph)]


class _ApplicationUser(Replay):
    """A user who submits each task when all that it comes after have ended."""

    def __init__(self, workload: Workload, graph: Graph) -> None:
        super().__init__(workload)
        self.graph = graph
        self._jobs = list(self.known_jobs())
        n_applications = len(self._jobs) // len(graph.tasks)
        self._missing = [len(before) for before in graph.before] * n_applications

    def begin(self) -> None:
        """Submit the tasks that come after none."""
        for job, missing in zip(self._jobs, self._missing, strict=True):
            if missing == 0:
                self._at.add(job)

    def job_ended(self, job: Job) -> None:
        """Submit the tasks that came after this one last."""
        task = job.row % len(self.graph.tasks)
        for i in self.graph.following[task]:
            place = job.row - task + i
            self._missing[place] -= 1
            if self._missing[place] == 0:
                self._jobs[place].submit = self.now
                self._at.add(self._jobs[place])
