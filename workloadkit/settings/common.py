"""The settings that several operations have in common."""

from typing import Annotated, Any

from workloadkit.errors import ParameterError, check_not_negative, check_number
from workloadkit.settings.setting import Setting


def whatever(_name: str, _value: object) -> None:
    """Refuse nothing: what can be is seen together with the log, or by what takes it."""


def not_negative(name: str, value: Any) -> None:
    """Refuse what is no finite number of 0 or more."""
    check_not_negative(**{name: value})


def a_time(name: str, value: Any) -> None:
    """Refuse what is no time of 0 or more, which may be endless."""
    check_number(name, value)
    if not value >= 0:
        raise ParameterError(f"{name} is {value:g} s; it is 0 or more")


def a_share(name: str, value: Any) -> None:
    """Refuse what does not lie between 0 and 1."""
    check_number(name, value)
    if not 0 < value < 1:
        raise ParameterError(f"{name} is {value:g}; it lies between 0 and 1")


def a_weight(name: str, value: Any) -> None:
    """Refuse what is not from 0 to 1."""
    check_number(name, value)
    if not 0 <= value <= 1:
        raise ParameterError(f"{name} is {value:g}; it is from 0 to 1")


def processors(by_default: str) -> Setting:
    """Return the setting of the machine's processors, which are so many by default."""
    return Setting(
        help=f"Processors of the machine. By default {by_default}.",
        metavar="P",
        check=whatever,
        recorded="always",
    )


Procs = Annotated[int | None, processors("the header's MaxProcs, else MaxNodes")]
OfferedLoad = Annotated[
    float | None,
    Setting(
        help="Stretch or compress submit times until work / (processors x span) is X.",
        metavar="X",
    ),
]
DownTimes = Annotated[
    Any,
    Setting(
        help="Outages of processors: announced ones are planned around, others stop jobs.",
        more="A path, or an object of Outages. From the second on at which one was announced, no "
        "job starts on processors that go down before its planned end. The processors of those "
        "that do not name theirs are taken in turn, see `workloadkit.simulation.machine.settle`.",
        metavar="FILE",
    ),
]
Seed = Annotated[
    Any,
    Setting(
        help="Seed of all that is random. By default a new one.",
        more="Or a numpy Generator, which gives it. Results tell it, where anything is random.",
        option="--seed",
        metavar="S",
        read=int,
        recorded="never",  # but by what draws
    ),
]
