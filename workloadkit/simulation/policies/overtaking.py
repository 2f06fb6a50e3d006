"""Which jobs may overtake: the rules of backfilling that EASY's relatives share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from workloadkit.errors import ParameterError

#: Orders of backfilling by name: settled ones that need no numbers.
BACKFILLS = ("arrival", "sjf", "ljf", "smallest", "largest")


#: What a job that overtakes may take of the processors to spare at the shadow time: all or nothing.
SPARES = ("extra", "none")


class Overtaking(NamedTuple):
    """Which jobs may overtake the one with the reservation.

    Parameters
    ----------
    spares : bool
        Whether one may run on, on processors that are to spare at the shadow time.
    strict : bool
        Whether one that ends at the shadow time needs such processors, too.
    """

    spares: bool = True
    strict: bool = False


#: As EASY is mostly understood.
AS_USUAL = Overtaking()


@dataclass(frozen=True, kw_only=True)
class Backfilling:
    """The parameters of policies with one reservation that say which jobs may overtake.

    Implementations of EASY differ in both: some use no spare processors, and in some a job that
    ends exactly at the shadow time does not start.

    Parameters
    ----------
    spare : str
        "extra": jobs that end after the shadow time may use the spare processors; "none": only jobs
        that end by the shadow time overtake.
    strict : bool
        Whether "by the shadow time" means before it. A job that ends at it then needs spare
        processors, and takes none from others.
    """

    spare: str = "extra"
    strict: bool = False


def overtaking_of(policy: Any) -> Overtaking:
    """Check how a policy backfills, and return which jobs may overtake.

    Parameters
    ----------
    policy : Backfilling
        With a `name`, and `backfill` and `reservations` as `Ordered` has them, if it has these.

    Raises
    ------
    ParameterError
    """
    backfill = getattr(policy, "backfill", "same")
    for name, value, words in (
        ("backfill", backfill, ("same", "none", *BACKFILLS)),
        ("spare", policy.spare, SPARES),
    ):
        if value not in words:
            raise ParameterError(
                f"scheduler {policy.name}: {name} is {value!r}; known: {', '.join(words)}"
            )
    overtaking = Overtaking(policy.spare == "extra", policy.strict)
    if overtaking != AS_USUAL:
        given = "spare is 'none'" if policy.strict is False else "strict is yes"
        if backfill == "none":
            raise ParameterError(f"scheduler {policy.name}: {given}, but backfill is 'none'")
        if getattr(policy, "reservations", 1) > 1:
            raise ParameterError(
                f"scheduler {policy.name}: {given}, but reservations is {policy.reservations}; "
                "which jobs may overtake is a rule for one reservation"
            )
    return overtaking
