"""The settings of `add_utility` and `generate`, and of a simulated site."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from workloadkit.errors import ParameterError, check_count, check_load, check_positive, quoted
from workloadkit.parameters import Duration
from workloadkit.settings.common import a_time, a_weight, not_negative, processors, unchecked
from workloadkit.settings.setting import Setting, Settings

Formula = Literal["opposite", "paper"]
Decay = Literal["linear", "exponential", "step"]
Deadline = Literal["wait", "wait+run", "wait+requested"]
LoadBy = Literal["arrivals", "users", "machine"]
Number = TypeVar("Number", int, float)

#: The kinds of decay, in the order of drawing.
DECAYS: tuple[str, ...] = get_args(Decay)

#: The largest number of inner points.
MOST_POINTS = 1000


def _pairs(name: str, text: str, number: Callable[[str], Number]) -> dict[str, Number]:
    """Read a=1,b=2; a name alone means name=1."""
    found: dict[str, Number] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not key or bool(equals) != bool(value):
            raise ParameterError(
                f"{name} {quoted(text)}: {quoted(part)} is neither NAME nor NAME=NUMBER"
            )
        if key in found:
            raise ParameterError(f"{name} {quoted(text)}: {key} is given twice")
        try:
            found[key] = number(value or "1")
        except ValueError:
            kind = "whole numbers" if number is int else "numbers"
            raise ParameterError(f"{name} {quoted(text)}: values are {kind}") from None
    return found


def read_priorities(text: str) -> dict[int, int]:
    """Read priorities by queue.

    Examples
    --------
    >>> read_priorities("1=2,3=0")
    {1: 2, 3: 0}
    """
    if any("=" not in part for part in text.split(",")):
        raise ParameterError(f"priority {quoted(text)}: write QUEUE=PRIORITY, as in 1=2,3=0")
    try:
        return {int(queue): value for queue, value in _pairs("priority", text, int).items()}
    except ValueError:
        raise ParameterError(f"priority {quoted(text)}: queues are whole numbers") from None


def read_decays(text: str) -> dict[str, float]:
    """Read weights by kind of decay.

    Examples
    --------
    >>> read_decays("linear=2, step")
    {'linear': 2.0, 'step': 1.0}
    """
    return _pairs("decay", text, float)


@dataclass(frozen=True, kw_only=True)
class Augment(Settings):
    """The settings of `add_utility`."""

    priority: Annotated[
        Any,
        Setting(
            help="Priority of each queue, 0 the highest. By default the queue's number.",
            more="In Python a mapping. Jobs of other queues have the lowest priority; so have, by "
            "default, those of unknown queue, with a warning.",
            metavar="Q=P,...",
            read=read_priorities,
        ),
    ] = None
    formula: Annotated[
        Formula,
        Setting(
            help="Higher priorities have higher start values, or lower ones, as the paper prints "
            "the formula.",
            rare=True,
            more="See the notes.",
            recorded="always",
        ),
    ] = "opposite"
    decay: Annotated[
        Any,
        Setting(
            help="Kinds of decay with their weights, such as linear=2,step=1. By default linear, "
            "exponential and step with equal weights.",
            more="In Python a name, names, or a mapping of these to weights.",
            metavar="NAMES",
            read=read_decays,
            recorded="always",
        ),
    ] = DECAYS
    deadline: Annotated[
        Deadline,
        Setting(
            help="The deadline, at which all value is lost, is a multiple of this time in the log.",
            more="The wait of the job, its wait and run time, or its wait and requested time; an "
            "unknown wait is 0.",
            recorded="always",
        ),
    ] = "wait+run"
    deadline_factor: Annotated[
        float,
        Setting(
            help="The multiple for --deadline.",
            more="No deadline is below 10 s, the deadline of a job that did not wait.",
            metavar="F",
            recorded="always",
        ),
    ] = 2.0
    points: Annotated[
        int,
        Setting(
            help="Points between the first and the last, of functions that are no steps.",
            more="With a single one, linear and exponential functions have the same distribution: "
            "a uniform time and a uniform value.",
            metavar="K",
            rare=True,
            check=partial(check_count, most=MOST_POINTS),
            recorded="always",
        ),
    ] = 3
    table: Annotated[
        Any,
        Setting(
            help="CSV of utility functions by job, or of shapes by queue, user or shape.",
            more="Or a DataFrame. Columns `job`, `time` [s], `value`: the points of each job, by "
            "its number; nothing is drawn. Otherwise `time`, `value` and one or more of `queue`, "
            "`user` and `shape`: shapes for the jobs of a queue or user; where there are several, "
            "one is drawn. A shape, in any unit, is stretched so that its first value is the job's "
            "start value and its last time the job's deadline.",
            metavar="FILE",
        ),
    ] = None
    sd: Annotated[
        float,
        Setting(
            help="Standard deviation of the value of a processor-minute, in bins of priority.",
            metavar="X",
            rare=True,
            check=not_negative,
            recorded="always",
        ),
    ] = 0.5
    globmax: Annotated[
        float,
        Setting(
            help="Upper end of the bins: the scale of all values.",
            metavar="X",
            recorded="always",
            rare=True,
        ),
    ] = 1.0


@dataclass(frozen=True, kw_only=True)
class Generate(Settings):
    """The settings of `workloadkit generate`, common to all models."""

    jobs: Annotated[
        int | None,
        Setting(help="Number of jobs.", metavar="N", check=unchecked),  # the model checks it
    ] = None
    procs: Annotated[
        int | None,
        processors("those that the model was made for, or those of the log given by --like"),
    ] = None
    load: Annotated[
        float | None,
        Setting(
            help="Offered load as a fraction of capacity, at most 3: 0.9 for 90 %. By "
            "default that of the model or the log.",
            metavar="X",
            check=check_load,
        ),
    ] = None
    load_by: Annotated[
        LoadBy | None,
        Setting(
            help="Set the load through the inter-arrival times, the users (of a log given by "
            "--over), or the processors of the machine. By default the inter-arrival times.",
            goes_with="load",
        ),
    ] = None
    like: Annotated[
        Path | None, Setting(help="Fit the model to this log (jann97).", metavar="LOG")
    ] = None
    over: Annotated[
        Path | None,
        Setting(help="Give the jobs of this log new estimates (tsafrir).", metavar="LOG"),
    ] = None


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
