"""The settings of `add_utility` and `generate`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from workloadkit.errors import ParameterError, check_count
from workloadkit.settings.common import not_negative, processors, whatever
from workloadkit.settings.setting import Setting, Settings

Formula = Literal["opposite", "paper"]
Decay = Literal["linear", "exponential", "step"]
Deadline = Literal["wait", "wait+run", "wait+requested"]
LoadBy = Literal["arrivals", "users", "machine"]
Number = TypeVar("Number", int, float)

#: The kinds of decay, in the order in which they are drawn.
DECAYS: tuple[str, ...] = get_args(Decay)

#: More inner points than this are refused.
MOST_POINTS = 1000


def _pairs(name: str, text: str, number: Callable[[str], Number]) -> dict[str, Number]:
    """Take apart what is written as a=1,b=2; a name alone stands for name=1."""
    found: dict[str, Number] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not key or bool(equals) != bool(value):
            raise ParameterError(f"{name} {text!r}: {part!r} is neither NAME nor NAME=NUMBER")
        if key in found:
            raise ParameterError(f"{name} {text!r}: {key} is there twice")
        try:
            found[key] = number(value or "1")
        except ValueError:
            kind = "whole numbers" if number is int else "numbers"
            raise ParameterError(f"{name} {text!r}: values are {kind}") from None
    return found


def read_priorities(text: str) -> dict[int, int]:
    """Read priorities by queue.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> read_priorities("1=2,3=0")
    {1: 2, 3: 0}
    """
    if any("=" not in part for part in text.split(",")):
        raise ParameterError(f"priority {text!r}: write QUEUE=PRIORITY, as in 1=2,3=0")
    try:
        return {int(queue): value for queue, value in _pairs("priority", text, int).items()}
    except ValueError:
        raise ParameterError(f"priority {text!r}: queues are whole numbers") from None


def read_decays(text: str) -> dict[str, float]:
    """Read weights by kind of decay.

    Raises
    ------
    ParameterError

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
            help="Priority of each queue, 0 the highest. By default the queues' own numbers.",
            more="In Python a mapping. Jobs of other queues have the lowest; by default those of "
            "unknown queue, and a warning says so.",
            metavar="Q=P,...",
            read=read_priorities,
        ),
    ] = None
    formula: Annotated[
        Formula,
        Setting(
            help="Higher priorities have higher start values, or, as the formula is printed, "
            "lower ones.",
            more="See the notes.",
            recorded="always",
        ),
    ] = "opposite"
    decay: Annotated[
        Any,
        Setting(
            help="Ways to lose value, as in linear=2,step=1. By default linear, exponential and "
            "step alike.",
            more="In Python a name, names, or a mapping of these to weights.",
            metavar="NAMES",
            read=read_decays,
            recorded="always",
        ),
    ] = DECAYS
    deadline: Annotated[
        Deadline,
        Setting(
            help="What the time by which all value is lost is a multiple of, in the log.",
            more="What the job waited, that and its run time, or that and its requested time; an "
            "unknown wait is 0.",
            recorded="always",
        ),
    ] = "wait"
    deadline_factor: Annotated[
        float,
        Setting(
            help="The multiple.",
            more="No deadline is below 10 s, which is that of a job that never waited.",
            metavar="F",
            recorded="always",
        ),
    ] = 2.0
    points: Annotated[
        int,
        Setting(
            help="Points between the first and the last, of no step.",
            more="With a single one linear and exponential functions have the same law: a uniform "
            "time and a uniform value.",
            metavar="K",
            check=partial(check_count, most=MOST_POINTS),
            recorded="always",
        ),
    ] = 1
    table: Annotated[
        Any,
        Setting(
            help="CSV of utility functions by job, or of shapes by queue, user or shape.",
            more="Or a DataFrame. Columns `job`, `time` [s], `value`: the points of each job by "
            "its number, as they are; nothing is drawn. Otherwise `time`, `value` and one or more "
            "of `queue`, `user` and `shape`: shapes for the jobs of a queue or user, of which one "
            "is drawn where they have several. A shape is stretched so that its first value is the "
            "job's start value and its last time the job's deadline, in whatever units it stands.",
            metavar="FILE",
        ),
    ] = None
    sd: Annotated[
        float,
        Setting(
            help="Standard deviation of the value of a processor-minute, in bins of priority.",
            metavar="X",
            check=not_negative,
            recorded="always",
        ),
    ] = 0.5
    globmax: Annotated[
        float,
        Setting(
            help="Upper end of the bins: the scale of all values.", metavar="X", recorded="always"
        ),
    ] = 1.0


@dataclass(frozen=True, kw_only=True)
class Generate(Settings):
    """The settings of `workloadkit generate`, whatever the model."""

    jobs: Annotated[
        int | None,
        Setting(help="Number of jobs.", metavar="N", check=whatever),  # seen by the model
    ] = None
    procs: Annotated[
        int | None,
        processors("those the model was made for, or those of the log named by --like"),
    ] = None
    load: Annotated[
        float | None,
        Setting(
            help="Offered load. By default as the model, or the log, has it.",
            metavar="X",
            check=whatever,
        ),
    ] = None
    load_by: Annotated[
        LoadBy | None,
        Setting(
            help="What is changed for the load: the gaps between arrivals, as by default, the "
            "users (of a log named by --over), or the processors of the machine.",
            goes_with="load",
        ),
    ] = None
    like: Annotated[
        Path | None, Setting(help="Fit the model to this log (jann97).", metavar="LOG")
    ] = None
    over: Annotated[
        Path | None,
        Setting(help="Lay the estimates over the jobs of this log (tsafrir).", metavar="LOG"),
    ] = None
