"""The classes for custom parts of a simulation, and what the compiled engine makes of them.

A custom *scheduler* derives from `Scheduler`, or from an order of `workloadkit.schedulers`, and
receives jobs as `JobView`. Custom *users* derive from `BatchUser` if they follow a log, otherwise
from `User`, and submit a `Job`. A *predictor* has the two forms of `Predictor`; its plain form has
the methods of `PlainPredictor`, and may have ``correct(job)``, which returns the planned run time
of a job that has outlived it. A *machine* derives from `Hardware`; its plain form is a `Machine`
with a `Level`. `Policy`, `Behaviour`, `LogBehaviour` and `Community` are the protocols of the
built-in schedulers and users. The class of a scheduler declares what it supports by `supporting`.
"""

from typing import Any, Protocol, runtime_checkable

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.engine import HiddenError, Job, JobView, Scheduler, User
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    is_full,
    may_pass,
    passes,
    release_all,
    reserve,
    start_job,
)
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.plain.simulation import Simulation
from workloadkit.simulation.policies.arrivals import (
    WaitingList,
    forget_started,
    job_ended,
    job_left,
    job_returned,
    new_arrivals,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.users import Behaviour, Community, LogBehaviour
from workloadkit.simulation.users.batches import BatchUser
from workloadkit.simulation.workload import Workload

__all__ = [
    "BatchUser",
    "Behaviour",
    "Community",
    "CompiledPolicy",
    "Hardware",
    "HiddenError",
    "Job",
    "JobView",
    "Level",
    "LogBehaviour",
    "Machine",
    "Memory",
    "PlainPredictor",
    "Policy",
    "Predictor",
    "Scheduler",
    "Simulation",
    "State",
    "User",
    "WaitingList",
    "bare",
    "changes_ahead",
    "fits",
    "forget_started",
    "inline",
    "is_full",
    "job_ended",
    "job_left",
    "job_returned",
    "may_pass",
    "new_arrivals",
    "passes",
    "plans_void",
    "register_functions",
    "release_all",
    "reserve",
    "some_fit",
    "start_job",
    "supporting",
]


def __dir__() -> list[str]:
    return __all__


@runtime_checkable
class PlainPredictor(Protocol):
    """A predictor in the plain-Python engine."""

    def plan(self, job: JobView) -> float:
        """Return the planned run time of a job that arrives. [s]."""
        ...

    def learn(self, job: JobView) -> Any:
        """Learn from a job that has ended."""
        ...


@runtime_checkable
class Predictor(Protocol):
    """A predictor of run times, in the forms of both engines."""

    def plain(self) -> PlainPredictor:
        """Return the predictor in plain Python, for one simulation."""
        ...

    def compiled(self, workload: Workload) -> Any:
        """Return the part of the compiled state, a NamedTuple."""
        ...


@runtime_checkable
class Level(Protocol):
    """The free resources of a machine, in the plain-Python engine. Levels compare by ``==``."""

    def fits(self, job: Job | JobView) -> bool:
        """Whether enough is free for a job."""
        ...

    def take(self, job: Job | JobView) -> Any:
        """Take the needs of a job."""
        ...

    def give_back(self, job: Job | JobView) -> Any:
        """Return the needs of a job."""
        ...

    def copy(self) -> "Level":
        """Return an independent level with equal resources."""
        ...
