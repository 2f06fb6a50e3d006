"""The settings that operations have in common, and those of reports and queueing models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from workloadkit.errors import (
    ParameterError,
    check_count,
    check_load,
    check_not_negative,
    check_number,
    quoted,
)
from workloadkit.parameters import read_number
from workloadkit.settings.setting import Setting, Settings


def unchecked(_name: str, _value: object) -> None:
    """No check here: the value is checked with the log, or where it is used."""


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


def read_share(name: str, text: str) -> float:
    """Read a share such as 2% or 0.02.

    Examples
    --------
    >>> read_share("precision", "2%"), read_share("precision", "0.02")
    (0.02, 0.02)
    """
    number = text.strip().removesuffix("%")
    try:
        return read_number(number) / (100 if number != text.strip() else 1)
    except ValueError:
        raise ParameterError(name, f"is {quoted(text)}; write 2% or 0.02") from None


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
        check=unchecked,
        recorded="always",
    )


#: What sizes of jobs, and of the machine, are counted in.
JobUnit = Literal["procs", "nodes", "gpus"]
UnitOfSizes = Annotated[
    JobUnit,
    Setting(
        help="Count sizes and load in processors, nodes or GPUs; jobs that hold none are left out.",
        more="Nodes and GPUs of jobs are those of the side-car; those of the machine are MaxNodes "
        "and those of its description, or given as `procs`.",
        rare=True,
    ),
]

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
        "processors take them in turn, see `workloadkit.simulation.machine.shutdowns.settle`.",
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


# The settings of reports on logs: `analysis.characterize` and `analysis.compare_two`.

Profile = Literal["operations", "research", "full"]


@dataclass(frozen=True, kw_only=True)
class Characterize(Settings):
    """The settings of `analysis.characterize`."""

    profile: Annotated[
        Profile | None,
        Setting(
            help="What the report answers: operations (hours, waits, failures, efficiency), "
            "research (users, sessions, reactions, distributions), or both. By default operations "
            "of imported accounting, research of other logs.",
            recorded="never",  # the chosen one is recorded
        ),
    ] = None
    procs: Annotated[
        int | None,
        replace(processors("the header's MaxProcs, else MaxNodes"), recorded="changed"),
    ] = None
    unit: UnitOfSizes = "procs"
    shares: Annotated[
        Any,
        Setting(
            help="Fair-share of each account: the output of `sshare -aP`, or CSV with the columns "
            "account and shares.",
            more="A path, or a mapping of accounts to shares of the machine.",
            metavar="FILE",
            read=Path,
            check=unchecked,
            recorded="never",  # its table has the shares
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Compare(Settings):
    """The settings of `analysis.compare_two`."""

    profile: Annotated[
        Profile,
        Setting(
            help="What is compared: operations (load, waits, failures, efficiency, each account "
            "and user), research (every measure of a characterization), or both.",
        ),
    ] = "operations"
    procs: Annotated[
        int | None,
        replace(processors("the headers' MaxProcs, else MaxNodes"), recorded="changed"),
    ] = None
    unit: UnitOfSizes = "procs"


# The settings of `workloadkit queueing` and `crosscheck`, common to all models.


def _shares(name: str, value: Any) -> None:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(name, f"is {quoted(value)}; give a list of shares")
    for share in value:
        a_share(name, share)


@dataclass(frozen=True, kw_only=True)
class Queueing(Settings):
    """The settings of solving a queueing model."""

    quantiles: Annotated[
        Sequence[float],
        Setting(
            help="Quantile of the response times to show, from 0 to 1; repeat for several. By "
            "default 0.5, 0.9 and 0.99.",
            option="--quantile",
            metavar="Q",
            check=_shares,
            recorded="always",
        ),
    ] = (0.5, 0.9, 0.99)


@dataclass(frozen=True, kw_only=True)
class Crosscheck(Queueing):
    """The settings of `crosscheck`."""

    runs: Annotated[
        int,
        Setting(
            help="Number of simulation runs.",
            metavar="R",
            check=partial(check_count, least=2),
            recorded="always",
        ),
    ] = 30
    jobs: Annotated[
        int,
        Setting(
            help="Jobs of each run, including its warm-up.",
            metavar="J",
            check=partial(check_count, least=100),
            recorded="always",
        ),
    ] = 50_000
    rng: Seed = None
