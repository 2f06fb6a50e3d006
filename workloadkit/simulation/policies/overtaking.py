"""The rules of backfilling that EASY's relatives share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from workloadkit.errors import ParameterError, check_choice

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
AS_USUAL = Overtaking()


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
        Whether "by the shadow time" means before it. A job that ends exactly at it then needs spare
        processors, as one that ends later: those that start in one pass need as many as they have
        together. The next pass computes the shadow time and the spare processors again.
    """

    spare: str = "extra"
    strict: bool = False


def overtaking_of(policy: Any) -> Overtaking:
    """Check the parameters of backfilling, and return the rule.

    Parameters
    ----------
    policy : Backfilling
        With a `name`, and with `backfill` and `reservations` if it has them.

    Raises
    ------
    ParameterError
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
