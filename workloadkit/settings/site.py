"""The settings of a site whose users need no log."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError, check_positive
from workloadkit.parameters import Duration
from workloadkit.settings.common import a_time
from workloadkit.settings.setting import Setting, Settings

Joint = Literal["independent", "joint"]
Pools = Literal["one", "three"]
#: What a job that comes again has in common with the one before.
Repeat = Literal["job", "size"]

_MOST_WEEKS = 52_000


def _some_weeks(name: str, value: Any) -> None:
    check_positive(**{name: value})
    if value > _MOST_WEEKS:
        raise ParameterError(f"{name} is {value:g}; a site is simulated for a thousand years")


@dataclass(frozen=True)
class _Drawn(Settings):
    """What jobs are drawn from, and how."""

    workpool: Annotated[
        Joint, Setting(help="Draw size and run time each by itself, or as a pair.")
    ] = "independent"
    pools: Annotated[
        Pools,
        Setting(
            help="Draw from the same jobs at all hours, or from those of days, nights or weekends."
        ),
    ] = "one"
    repeat: Annotated[
        Repeat | None,
        Setting(
            help="Whether a job that comes again has the same run time, or only the same size. By "
            "default the size; the job, if size and run time are drawn as a pair.",
            more="The size, as [1]_ has it.",
        ),
    ] = None
    longest: Annotated[
        Duration, Setting(help="Draw only run times of at most T.", unit="s", check=a_time)
    ] = inf
    distributions: Annotated[
        Any,
        Setting(
            help="What is drawn from; by default `workloadkit.site.built_in`.",
            option=None,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeat == "size" and self.workpool == "joint":
            raise ParameterError(
                "repeat='size' draws a run time for each job by itself, workpool='joint' with its "
                "size"
            )


@dataclass(frozen=True)
class _Patience(Settings):
    """How long users wait."""

    patience: Annotated[
        Duration,
        Setting(
            help="Who waits longer than T for a response takes a break.", unit="s", check=a_time
        ),
    ] = inf
    leave: Annotated[
        Duration,
        Setting(help="Who waits longer than T leaves for good.", unit="s", check=a_time),
    ] = inf


@dataclass(frozen=True)
class _Weeks(Settings):
    """For how long jobs are submitted."""

    weeks: Annotated[
        float,
        Setting(help="Weeks in which the users submit jobs.", metavar="W", check=_some_weeks),
    ] = 26.0


@dataclass(frozen=True)
class _Users(Settings):
    users: Annotated[int, Setting(help="Users of the site.", metavar="N")] = 50


@dataclass(frozen=True)
class _Sessions(Settings):
    sessions: Annotated[
        int,
        Setting(
            help="So many sessions that never end, instead of users who come and go.", metavar="N"
        ),
    ] = 10


@dataclass(frozen=True)
class StaticSite(_Drawn, _Weeks, _Sessions):
    """The settings of a site with sessions that never end."""


@dataclass(frozen=True)
class Site(_Drawn, _Patience, _Weeks, _Users):
    """The settings of a site whose users come and go."""
