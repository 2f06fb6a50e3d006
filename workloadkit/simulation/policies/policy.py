"""The interface of built-in policies, and the rules of backfilling that EASY's relatives share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

from workloadkit import parameters
from workloadkit.custom import check_form
from workloadkit.errors import ParameterError, check_choice
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
    """Check that the parameters of a policy have their declared types."""
    parameters.check_types("scheduler", policy)


def draws(part: object) -> bool:
    """Whether a policy, a predictor, users or a population draw random numbers."""
    return getattr(part, "draws", False)


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

    return int(workload.users.agenda.at.arrived)


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


class AnotherOrder:
    """The common part of policies that are an order with certain parameters."""

    @property
    def as_order(self) -> Policy:
        """The order that it stands for."""
        raise NotImplementedError(f"{type(self).__name__} must define as_order")

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return self.as_order.plain()

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return self.as_order.compiled(workload, rules)


# The rules of backfilling that EASY's relatives share.

#: Orders of backfilling by name: settled ones that need no numbers.
BACKFILLS = ("arrival", "sjf", "ljf", "smallest", "largest")


#: Use of spare processors by jobs that run beyond the shadow time: all or none.
SPARES = ("extra", "none")


class Overtaking(NamedTuple):
    """The rule by which jobs may overtake the one with the reservation.

    Parameters
    ----------
    spares : bool
        Whether jobs may run beyond the shadow time on spare processors.
    strict : bool
        Whether a job that ends exactly at the shadow time uses spare processors as well.
    """

    spares: bool = True
    strict: bool = False


#: The usual rule of EASY.
AS_USUAL: Overtaking = Overtaking()


@dataclass(frozen=True, kw_only=True)
class Backfilling:
    """The parameters of backfilling with one reservation.

    Implementations of EASY differ in both: some use no spare processors, and in some a job that
    ends exactly at the shadow time does not start.

    Parameters
    ----------
    spare : str
        "extra": jobs that end after the shadow time may use the spare processors; "none": only jobs
        that end by the shadow time overtake.
    strict : bool
        Whether jobs must end before the shadow time, not at it. A job that ends exactly at it then
        uses spare processors, as one that ends later does. Jobs that start in one pass share the
        spare processors; the next pass computes these and the shadow time again.
    """

    spare: str = "extra"
    strict: bool = False


def overtaking_of(policy: Any) -> Overtaking:
    """Check the parameters of backfilling, and return the rule.

    Parameters
    ----------
    policy : Backfilling
        With a `name`, and with `backfill` and `reservations` if it has them.
    """
    backfill = getattr(policy, "backfill", "same")
    check_choice(f"scheduler {policy.name}: backfill", backfill, ("same", "none", *BACKFILLS))
    return rule_of(policy)


def rule_of(policy: Any) -> Overtaking:
    """Do the same for a policy whose `backfill` may be something else, too."""
    check_choice(f"scheduler {policy.name}: spare", policy.spare, SPARES)
    reservations = getattr(policy, "reservations", 1)
    if not reservations >= 1:
        raise ParameterError(f"scheduler {policy.name}: reservations is {reservations}; at least 1")
    overtaking = Overtaking(policy.spare == "extra", policy.strict)
    if overtaking != AS_USUAL:
        given = "spare is 'none'" if policy.strict is False else "strict is yes"
        if getattr(policy, "backfill", "same") == "none":
            raise ParameterError(f"scheduler {policy.name}: {given}, but backfill is 'none'")
        if reservations > 1:
            raise ParameterError(
                f"scheduler {policy.name}: {given}, but reservations is {reservations}; "
                "the rule of overtaking requires one reservation"
            )
    return overtaking
