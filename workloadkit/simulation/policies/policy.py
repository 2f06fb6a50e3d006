"""The interface of built-in policies."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

from workloadkit import parameters
from workloadkit.custom import check_form
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.workload import Rules, Workload


class Outcome(NamedTuple):
    """The result of a policy in a simulation.

    Parameters
    ----------
    start : ndarray, shape (n_jobs,)
        Start of each job. [s]
    columns : mapping of str to array_like of shape (n_jobs,)
        Further results for each job: columns of `Schedule.jobs`.
    history : mapping of str to object
        Decisions of the policy over time.
    """

    start: NDArray
    columns: Mapping[str, Any] = {}
    history: Mapping[str, Any] = {}


def check_types(policy: Any) -> None:
    """Check that the parameters of a policy have their declared types.

    Raises
    ------
    ParameterError
    """
    parameters.check_types("scheduler", policy)


def draws(policy: object) -> bool:
    """Whether a built-in policy draws random numbers."""
    return getattr(policy, "draws", False)


def plain_form(policy: Any) -> Scheduler:
    """Return a policy in plain Python, if its class defines that form.

    Raises
    ------
    ParameterError
        If a subclass overrides the compiled form only.
    """
    check_form(f"scheduler {policy.name}", policy, "plain", "compiled")
    return policy.plain()


def compiled_form(policy: Any, workload: Workload, rules: Rules) -> Any:
    """Return a policy in the compiled engine, if its class defines that form.

    Raises
    ------
    ParameterError
        If a subclass overrides the plain form only.
    """
    check_form(f"scheduler {policy.name}", policy, "compiled", "plain")
    return policy.compiled(workload, rules)


def arrived(workload: Workload) -> int:
    """Return the number of jobs that have arrived in a finished simulation."""
    if workload.users is None:
        return workload.submit.size
    from workloadkit.simulation.agenda import ARRIVED

    return int(workload.users.agenda.at[ARRIVED])


@runtime_checkable
class Policy(Protocol):
    """A scheduling policy with its parameters, in the forms of both engines.

    A policy that draws random numbers has an attribute `draws`, and receives a seed: as
    `Rules.seed`, and in plain Python as `Scheduler.rng`.
    """

    name: ClassVar[str]

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        ...

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        ...
