"""Which jobs may overtake: the rules of backfilling that EASY's relatives share."""

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


def overtaking_of(policy: Any) -> Overtaking:
    """Check how a policy backfills, and return which jobs may overtake.

    Parameters
    ----------
    policy : dataclass instance
        With `backfill`, `spare` and `strict` as `Ordered` has them, and `reservations` if there may
        be more than one.

    Raises
    ------
    ParameterError
    """
    known = {"backfill": ("same", "none", *BACKFILLS), "spare": SPARES}
    for name, words in known.items():
        if (value := getattr(policy, name)) not in words:
            raise ParameterError(
                f"scheduler {policy.name}: {name} is {value!r}; known: {', '.join(words)}"
            )
    overtaking = Overtaking(policy.spare == "extra", policy.strict)
    if overtaking != AS_USUAL:
        given = "spare is 'none'" if policy.strict is False else "strict is yes"
        if policy.backfill == "none":
            raise ParameterError(f"scheduler {policy.name}: {given}, but backfill is 'none'")
        if getattr(policy, "reservations", 1) > 1:
            raise ParameterError(
                f"scheduler {policy.name}: {given}, but reservations is {policy.reservations}; "
                "which jobs may overtake is a rule for one reservation"
            )
    return overtaking
