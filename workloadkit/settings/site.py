"""The settings of a site whose users need no log."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError, check_positive
from workloadkit.parameters import Duration
from workloadkit.settings.common import a_time, a_weight
from workloadkit.settings.setting import Setting, Settings

Joint = Literal["independent", "joint"]
Pools = Literal["one", "three"]
#: What users draw from by class of jobs, and by which classes.
Classes = Literal["one", "hours", "kinds", "both"]
#: How users go on: by the published curve, or by those that fit what they draw from.
GoingOn = Literal["published", "fitted"]
#: How interactive jobs are identified.
Interactive = Literal["auto", "queue", "run", "requested_time"]
#: What a job that comes again has in common with the one before.
Repeat = Literal["job", "size"]

_MOST_WEEKS = 52_000


def _some_weeks(name: str, value: Any) -> None:
    check_positive(**{name: value})
    if value > _MOST_WEEKS:
        raise ParameterError(f"{name} is {value:g}; a site is simulated for a thousand years")


@dataclass(frozen=True, kw_only=True)
class Kinds(Settings):
    """The settings by which the interactive jobs of a log are identified."""

    interactive: Annotated[
        Interactive,
        Setting(
            help="How interactive jobs are identified: by queue 0, as the standard suggests, or by "
            "a time of at most T on at most N processors (short, narrow); auto takes the queue "
            "where any job is in queue 0, else the run time.",
        ),
    ] = "auto"
    short: Annotated[
        Duration,
        Setting(
            help="The longest time of an interactive job. By default 5 min.",
            more="Of shorter jobs users expect a quick response [1]_, section 4.5. It makes no "
            "difference where the queue identifies them.",
            unit="s",
            check=a_time,
        ),
    ] = 300.0
    narrow: Annotated[
        int | None,
        Setting(
            help="The most processors of an interactive job. By default any number.", metavar="N"
        ),
    ] = None


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
    classes: Annotated[
        Classes,
        Setting(
            help="Draw batches, pauses and jobs from those of one class: of days, nights and "
            "weekends (hours), of interactive and batch jobs (kinds), or of both.",
            more="The part of the week is that of the submission, the kind is drawn by that of the "
            "user's batch before; see `workloadkit.site.classes`.",
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
        if self.classes != "one" and self.pools != "one":
            raise ParameterError(
                f"classes={self.classes!r} has pools of its own; leave out pools={self.pools!r}"
            )


@dataclass(frozen=True)
class _Reacting(Settings):
    """How users react, and how long they wait."""

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
    fairness: Annotated[
        float,
        Setting(
            help="How much users mind that their job is overtaken: the probability to continue "
            "falls by this weight, 0 to 1, times the share of the jobs submitted while it waited "
            "that were started before it.",
            metavar="W",
            check=a_weight,
        ),
    ] = 0.0
    going_on: Annotated[
        GoingOn,
        Setting(
            help="The curve by which users continue a session: the published one, or the one "
            "fitted to the response times of each class.",
        ),
    ] = "published"


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
class Site(_Drawn, _Reacting, _Weeks, _Users):
    """The settings of a site whose users come and go."""
