"""The settings that several operations have in common."""

from typing import Annotated, Any

from workloadkit.errors import ParameterError, check_load, check_not_negative, check_number
from workloadkit.settings.setting import Setting


def whatever(_name: str, _value: object) -> None:
    """Accept any value: it is checked together with the log, or where it is used."""


def not_negative(name: str, value: Any) -> None:
    """Check for a finite number of 0 or more."""
    check_not_negative(**{name: value})


def a_time(name: str, value: Any) -> None:
    """Check for a time of 0 or more, possibly infinite."""
    check_number(name, value)
    if not value >= 0:
        raise ParameterError(name, f"is {value:g} s; it is 0 or more")


def a_share(name: str, value: Any) -> None:
    """Check for a number between 0 and 1, exclusive."""
    check_number(name, value)
    if not 0 < value < 1:
        raise ParameterError(name, f"is {value:g}; it lies between 0 and 1")


def a_weight(name: str, value: Any) -> None:
    """Check for a number from 0 to 1, inclusive."""
    check_number(name, value)
    if not 0 <= value <= 1:
        raise ParameterError(name, f"is {value:g}; it is from 0 to 1")


def processors(by_default: str) -> Setting:
    """Return the setting of the machine's processors, with a description of its default."""
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
        help="Offered load as a fraction of capacity, at most 3: 0.9 for 90 %. Submit times are "
        "stretched or compressed until work / (processors x span) is X.",
        metavar="X",
        check=check_load,
    ),
]
DownTimes = Annotated[
    Any,
    Setting(
        help="Outages of processors, or log for LOG.outages. Schedulers plan around announced "
        "ones.",
        more="Others stop jobs. A path, or an object of Outages. After its announcement, no "
        "job starts on processors that go down before its planned end. Outages without named "
        "processors take them in turn, see `workloadkit.simulation.machine.settle`.",
        metavar="FILE",
    ),
]
Seed = Annotated[
    Any,
    Setting(
        help="Seed of the random numbers. By default a new one.",
        more="Or a numpy Generator, from which it is drawn. Results record it where anything is "
        "random.",
        option="--seed",
        metavar="S",
        read=int,
        recorded="never",  # except by what draws
    ),
]
