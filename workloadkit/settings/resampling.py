"""The settings of `resample`, and of the classification of users."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError, check_count, check_number, quoted
from workloadkit.parameters import Duration, read_duration
from workloadkit.settings.common import UnitOfSizes, a_time, not_negative, processors, unchecked
from workloadkit.settings.setting import Setting, Settings

EndEffects = Literal["whole", "any"]
#: What is moved as a whole.
Moved = Literal["user", "session", "batch", "job"]
#: Where long-term users are in their activity in week 0: see `Resample`.
Start = Literal["period", "activity"]

#: A user with more time than this between first and last job is long-term (Zakay, Feitelson 2014,
#: section 4). [s]
LONG_TERM = read_duration("12w")

#: A temporary user may be cut off by an end of the log if all jobs lie this near to it. [s]
EDGE = read_duration("4w")


def read_rare(text: str) -> list[tuple[int, float, float]]:
    """Read rare behaviours.

    Examples
    --------
    >>> read_rare("50:1w-2w,38:90-1200")
    [(50, 604800.0, 1209600.0), (38, 90.0, 1200.0)]
    """
    behaviours = []
    for part in filter(None, text.split(",")):
        user, _, times = part.partition(":")
        begin, _, end = times.partition("-")
        if not (user.strip().isdecimal() and begin and end):
            raise ParameterError(f"rare {quoted(part)}; write USER:BEGIN-END, as in 374:30w-31w")
        try:
            behaviours.append((int(user), read_duration(begin), read_duration(end)))
        except ValueError as error:
            raise ParameterError(f"rare {quoted(part)}: {error} is no time") from None
    return behaviours


def read_weights(text: str) -> dict[int | str, float] | None:
    """Read classes and users with their weights.

    Examples
    --------
    >>> read_weights("long=3,13=0.5")
    {'long': 3.0, 13: 0.5}
    """
    weights: dict[int | str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, number = (word.strip() for word in part.partition("="))
        key = int(name) if name.isdecimal() else name
        if key in weights:
            raise ParameterError(f"weights {quoted(text)}; {name} is given twice")
        try:
            weights[key] = float(number)
        except ValueError:
            raise ParameterError(f"weights {quoted(part)}; write CLASS=X, as in long=3") from None
    return weights or None


@dataclass(frozen=True, kw_only=True)
class Classify(Settings):
    """The settings of `classify_users`."""

    long_term: Annotated[
        Duration,
        Setting(
            help="Users active for longer than T are long-term, others temporary. By default 12w.",
            unit="s",
            check=a_time,
            rare=True,
        ),
    ] = LONG_TERM
    edge: Annotated[
        Duration,
        Setting(
            help="Distance from an end of the log within which temporary users may be cut off. By "
            "default 4w.",
            unit="s",
            check=a_time,
            rare=True,
        ),
    ] = EDGE
    end_effects: Annotated[
        EndEffects,
        Setting(
            help="Leave out temporary users if their whole activity, or any of their jobs, lies "
            "within --edge of an end.",
            more="Whole, as in the source.",
            rare=True,
        ),
    ] = "whole"
    begin: Annotated[
        Duration | None,
        Setting(
            help="When logging began, counted from second 0 of the log. By default at the first "
            "job.",
            more="This is the first submission in the log's window; in a whole log of an archive, "
            "logging may have begun at second 0, long before.",
            unit="s",
            check=check_number,
            rare=True,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Drawn(Settings):
    """The length and the load of a new log, and what it moves."""

    weeks: Annotated[
        float | None,
        Setting(
            help="Length of the new log in weeks. By default that of the old one.",
            more="Of several logs, the length of the first.",
            metavar="W",
        ),
    ] = None
    load: Annotated[
        float,
        Setting(
            help="Factor of the number of users, not an offered load: 1.2 is 20 % more. A log of "
            "n weeks allows at most n.",
            more="On average also the factor of the load, counted in `unit`. All long-term users "
            "are taken once before any is taken twice; replicas of a user begin far apart in the "
            "user's activity.",
            metavar="F",
        ),
    ] = 1.0
    unit: UnitOfSizes = "procs"
    move: Annotated[
        Moved,
        Setting(
            help="What is moved as a whole. Others than users are moved by whole weeks within the "
            "user's activity.",
            more="Sessions, batches or jobs of the drawn users move to a uniformly drawn week of "
            "the user's activity, cyclically, with the same weekday and time of day. This measures "
            "what is lost when smaller units than users are resampled.",
            rare=True,
        ),
    ] = "user"


@dataclass(frozen=True, kw_only=True)
class Resample(Classify, _Drawn):
    """The settings of `resample`."""

    long_term_users: Annotated[
        int | None,
        Setting(
            help="Number of long-term users. By default the log's, times `load`.",
            metavar="N",
            rare=True,
            check=check_count,
        ),
    ] = None
    temporary_users: Annotated[
        float | None,
        Setting(
            help="Mean number of temporary users in the first week. By default the log's, times "
            "`load`.",
            metavar="X",
            rare=True,
            check=not_negative,
        ),
    ] = None
    arrivals: Annotated[
        float | None,
        Setting(
            help="Mean number of temporary users who arrive in each later week. By default the "
            "log's, times `load`.",
            metavar="X",
            rare=True,
            check=not_negative,
        ),
    ] = None
    rare: Annotated[
        Iterable[Any],
        Setting(
            help="Rare behaviours: jobs of a user in a period of the log, such as 374:30w-31w.",
            more="In Python a sequence of (user, first second, last second). These jobs, such as a "
            "flurry, form a separate pool.",
            metavar="USER:BEGIN-END,...",
            rare=True,
            read=read_rare,
            check=unchecked,
        ),
    ] = ()
    rare_per_week: Annotated[
        float,
        Setting(
            help="Mean number of rare behaviours that begin in a week.",
            more="Among the temporary users who arrive; the same one may begin twice in a week. "
            "The header names them as RareUsers; see `rare_users`.",
            metavar="X",
            rare=True,
            check=not_negative,
        ),
    ] = 0.0
    start: Annotated[
        Start,
        Setting(
            help="Long-term users begin anywhere in their period, so that some pause and the "
            "expected load is the same in all weeks; or all in their activity.",
            more="The period lasts from a user's first job to its regeneration; its week is drawn "
            "uniformly. If all begin in their activity, as [1]_ may be read, many pause together "
            "later: new logs begin with up to twice the average load of the old one, and jobs may "
            "wait thirty times as long.",
            rare=True,
        ),
    ] = "period"
    weights: Annotated[
        Any,
        Setting(
            help="Factor by which users of a class are drawn more often: serial, parallel, "
            "short, medium, long, heavy, light, frequent or occasional, or a user by number.",
            more="In Python a mapping of numbers of users, or names of classes of `user_table`, to "
            "factors; or a function of a row of that table that returns the factor. Users are "
            "drawn in proportion to it, both temporary and long-term ones; the numbers of users "
            "stay the same, while the load changes. With 0 a user is never drawn.",
            rare=True,
            option="--weight",
            metavar="CLASS=X,...",
            read=read_weights,
        ),
    ] = None
    procs: Annotated[
        int | None, processors("the header's MaxProcs, else MaxNodes; of several logs the largest")
    ] = None
    rescale: Annotated[
        bool,
        Setting(
            help="Scale the sizes of jobs with the size of the machine, relative to their own.",
            more="Sizes are rounded half up, to at least 1.",
            rare=True,
        ),
    ] = False
