"""The settings of a simulated site, with users that need no log."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError, check_positive, quoted
from workloadkit.parameters import Duration
from workloadkit.settings.common import a_time, a_weight
from workloadkit.settings.setting import Setting, Settings

Joint = Literal["independent", "joint"]
Pools = Literal["one", "three"]
#: The classes of jobs by which users draw.
Classes = Literal["one", "hours", "kinds", "both"]
#: The curve of the probability to continue: as published, or fitted to the distributions.
GoingOn = Literal["published", "fitted"]
#: How interactive jobs are identified.
Interactive = Literal["auto", "queue", "run", "requested_time"]
#: What a repeated job has in common with the previous one.
Repeat = Literal["job", "size"]

_MOST_WEEKS = 52_000


def _some_weeks(name: str, value: Any) -> None:
    check_positive(**{name: value})
    if value > _MOST_WEEKS:
        raise ParameterError(name, f"is {value:g}; a site is simulated for a thousand years")


@dataclass(frozen=True, kw_only=True)
class Kinds(Settings):
    """The settings by which the interactive jobs of a log are identified."""

    interactive: Annotated[
        Interactive,
        Setting(
            help="How interactive jobs are identified: by queue 0, as the standard suggests, or by "
            "a time of at most --short on at most --narrow processors; auto uses the queue if any "
            "job is in queue 0, else the run time.",
            rare=True,
        ),
    ] = "auto"
    short: Annotated[
        Duration,
        Setting(
            help="The longest time of an interactive job. By default 5min.",
            rare=True,
            more="Users expect a quick response to shorter jobs [1]_, section 4.5. It makes no "
            "difference where the queue identifies them.",
            unit="s",
            check=a_time,
        ),
    ] = 300.0
    narrow: Annotated[
        int | None,
        Setting(
            help="The largest size of an interactive job, in processors. By default any.",
            metavar="N",
            rare=True,
        ),
    ] = None


@dataclass(frozen=True)
class _Drawn(Settings):
    """The distributions that jobs are drawn from."""

    workpool: Annotated[
        Joint,
        Setting(help="Draw size and run time independently, or jointly, as pairs.", rare=True),
    ] = "independent"
    pools: Annotated[
        Pools,
        Setting(
            help="Draw from one pool of jobs, or from three: days, nights and weekends.", rare=True
        ),
    ] = "one"
    classes: Annotated[
        Classes,
        Setting(
            help="Draw batches, breaks and jobs from one class, or by class: of days, nights and "
            "weekends (hours), of interactive and batch jobs (kinds), or both.",
            more="The part of the week is that of the submission; the kind depends on that of the "
            "user's previous batch; see `workloadkit.site.classes`.",
            rare=True,
        ),
    ] = "one"
    repeat: Annotated[
        Repeat | None,
        Setting(
            help="A repeated job has the same size and run time (job), or only the same size. By "
            "default the size; the job, if size and run time are drawn jointly.",
            more="The size, as in [1]_.",
            rare=True,
        ),
    ] = None
    longest: Annotated[
        Duration,
        Setting(help="Draw only run times of at most T.", unit="s", check=a_time, rare=True),
    ] = inf
    distributions: Annotated[
        Any,
        Setting(
            help="The distributions; by default `workloadkit.site.built_in`.",
            option=None,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeat == "size" and self.workpool == "joint":
            raise ParameterError(
                "repeat='size' draws the run time of each job independently, workpool='joint' "
                "together with its size"
            )
        if self.classes != "one" and self.pools != "one":
            raise ParameterError(
                f"classes={quoted(self.classes)} defines its own pools; leave out "
                f"pools={quoted(self.pools)}"
            )


@dataclass(frozen=True)
class _Reacting(Settings):
    """How users react to service."""

    patience: Annotated[
        Duration,
        Setting(
            help="Users who wait longer than T for a response take a break.",
            unit="s",
            check=a_time,
        ),
    ] = inf
    leave: Annotated[
        Duration,
        Setting(help="Users who wait longer than T leave for good.", unit="s", check=a_time),
    ] = inf
    fairness: Annotated[
        float,
        Setting(
            help="Weight, 0 to 1, of unfairness: the probability to continue falls by it times the "
            "share of the jobs submitted while a job waited that started before it.",
            rare=True,
            metavar="W",
            check=a_weight,
        ),
    ] = 0.0
    going_on: Annotated[
        GoingOn,
        Setting(
            help="The probability to continue a session: the published curve, or one fitted to "
            "the response times of each class.",
            rare=True,
        ),
    ] = "published"


@dataclass(frozen=True)
class _Weeks(Settings):
    """How long jobs are submitted."""

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
            help="Number of sessions that never end, instead of users who come and go.",
            metavar="N",
        ),
    ] = 10


@dataclass(frozen=True)
class StaticSiteSettings(_Drawn, _Weeks, _Sessions):
    """The settings of a site with sessions that never end."""


@dataclass(frozen=True)
class Site(_Drawn, _Reacting, _Weeks, _Users):
    """The settings of a site with users who arrive and leave."""
