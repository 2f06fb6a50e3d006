"""The settings of `add_utility` and `generate`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from workloadkit.errors import ParameterError, check_count, check_load, quoted
from workloadkit.settings.common import not_negative, processors, unchecked
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
    ] = "wait"
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
    ] = 1
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
