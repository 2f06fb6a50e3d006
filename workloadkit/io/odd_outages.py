"""Legal but suspicious outages."""

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING

from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN

if TYPE_CHECKING:
    from workloadkit.io.outages import Outage

_SHOWN = 5  # number of outages listed in a warning


def oddities_of(
    outages: "Iterable[Outage]", name: str, of_users: Container[int], types: Container[int]
) -> list[str]:
    """Return a line for each kind of suspicious outage, given those of users, and known types."""
    kinds: tuple[tuple[str, Callable[[Outage], bool]], ...] = (
        (
            "announced after its start and cannot be planned around",
            lambda o: o.announced > o.start > UNKNOWN,
        ),
        ("of length 0", lambda o: o.end == o.start > UNKNOWN),
        ("without processors", lambda o: o.procs == 0 and o.number not in of_users),
        ("of an unknown type", lambda o: o.type != UNKNOWN and o.type not in types),
    )
    lines = []
    for what, is_odd in kinds:
        odd = [str(outage.number) for outage in outages if is_odd(outage)]
        if odd:
            n_odd = plural(len(odd), "outage is", "outages are each")
            more = f" and {len(odd) - _SHOWN:,} more" if len(odd) > _SHOWN else ""
            lines.append(f"{name}: {n_odd} {what}: {', '.join(odd[:_SHOWN])}{more}")
    return lines
