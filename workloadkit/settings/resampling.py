"""The settings of `resample`, and of what sorts users."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError, check_count, check_number
from workloadkit.parameters import Duration, read_duration
from workloadkit.settings.common import a_time, not_negative, processors, whatever
from workloadkit.settings.setting import Setting, Settings

EndEffects = Literal["whole", "any"]
Unit = Literal["user", "session", "batch", "job"]
#: From where on a long-term user is there in week 0: see `Resample`.
Start = Literal["period", "activity"]

#: A user whose first and last job are further apart than this is long-term (Zakay, Feitelson 2014,
#: section 4). [s]
LONG_TERM = read_duration("12w")

#: A temporary user all of whose jobs lie so near to an end of the log may be cut off by it. [s]
EDGE = read_duration("4w")


def read_rare(text: str) -> list[tuple[int, float, float]]:
    """Read rare behaviours.

    Raises
    ------
    ParameterError

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
            raise ParameterError(f"rare {part!r}; write USER:BEGIN-END, as in 374:30w-31w")
        try:
            behaviours.append((int(user), read_duration(begin), read_duration(end)))
        except ValueError as error:
            raise ParameterError(f"rare {part!r}: {error} is no time") from None
    return behaviours


def read_weights(text: str) -> dict[int | str, float] | None:
    """Read classes and users with their weights.

    Raises
    ------
    ParameterError

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
            raise ParameterError(f"weights {text!r}; {name} is there twice")
        try:
            weights[key] = float(number)
        except ValueError:
            raise ParameterError(f"weights {part!r}; write CLASS=X, as in long=3") from None
    return weights or None


@dataclass(frozen=True, kw_only=True)
class Classify(Settings):
    """The settings of `classify_users`."""

    long_term: Annotated[
        Duration,
        Setting(
            help="Users active for longer than T are long-term, the others temporary. By default "
            "12w.",
            unit="s",
            check=a_time,
        ),
    ] = LONG_TERM
    edge: Annotated[
        Duration,
        Setting(
            help="How near to an end of the log temporary users may be cut off. By default 4w.",
            unit="s",
            check=a_time,
        ),
    ] = EDGE
    end_effects: Annotated[
        EndEffects,
        Setting(
            help="Leave temporary users out if all their jobs, or any, lie so near to an end.",
            more="All, as the source says.",
        ),
    ] = "whole"
    begin: Annotated[
        Duration | None,
        Setting(
            help="When logging began, counted from second 0 of the log. By default with the first "
            "job.",
            more="It is the first submission in the log's window, whose ever it is; in a whole log "
            "of an archive logging may have begun at second 0, long before that.",
            unit="s",
            check=check_number,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Drawn(Settings):
    """How long a new log is, how heavy, and of what."""

    weeks: Annotated[
        float | None,
        Setting(
            help="Length of the new log in weeks. By default that of the old one.",
            more="Of several logs, that of the first.",
            metavar="W",
        ),
    ] = None
    load: Annotated[
        float,
        Setting(
            help="Factor of the numbers of users.",
            more="And so, on average, of the load. Long-term users are all taken once before any "
            "is twice; replicas of one begin far apart in his activity.",
            metavar="F",
        ),
    ] = 1.0
    unit: Annotated[
        Unit,
        Setting(
            help="What stays whole. All but users are moved on their own, by whole weeks within "
            "the user's activity.",
            more="Sessions, batches or jobs of the users that were drawn go to a week of their "
            "user's activity drawn uniformly, cyclically, to the same weekday and time of day. It "
            "measures what is lost when less than a user stays together.",
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
            check=check_count,
        ),
    ] = None
    temporary_users: Annotated[
        float | None,
        Setting(
            help="Mean number of temporary users in the first week. By default the log's, times "
            "`load`.",
            metavar="X",
            check=not_negative,
        ),
    ] = None
    arrivals: Annotated[
        float | None,
        Setting(
            help="Mean number of temporary users who arrive in each later week. By default the "
            "log's, times `load`.",
            metavar="X",
            check=not_negative,
        ),
    ] = None
    rare: Annotated[
        Iterable[Any],
        Setting(
            help="Rare behaviours, set apart from all else: jobs of a user in a time of the log, "
            "as in 374:30w-31w.",
            more="In Python a sequence of (user, first second, last second). The jobs, such as "
            "those of a flurry, make a pool of their own.",
            metavar="USER:BEGIN-END,...",
            read=read_rare,
            check=whatever,
        ),
    ] = ()
    rare_per_week: Annotated[
        float,
        Setting(
            help="How many of the temporary users who arrive in a week are rare behaviours.",
            more="On average; the same one may begin twice in a week. The header names them as "
            "RareUsers; see `rare_users`.",
            metavar="X",
            check=not_negative,
        ),
    ] = 0.0
    start: Annotated[
        Start,
        Setting(
            help="Where long-term users are in the first week: anywhere, so that some pause and "
            "the load to expect is the same in all weeks; or amid their activity, all of them.",
            more="Anywhere is in a week, drawn uniformly, of the whole time from a first job to "
            "its regeneration. Amid their activity alone, as the text of [1]_ may be read, many "
            "pause together later, so that the new logs begin with more load than the old one has "
            "on average (up to twice as much), and jobs may wait thirty times as long.",
        ),
    ] = "period"
    weights: Annotated[
        Any,
        Setting(
            help="How much more often users of a class are drawn than others: serial, parallel, "
            "short, medium, long, heavy, light, frequent or occasional, or a user by number.",
            more="In Python a mapping of numbers of users, or names of classes of `user_table`, to "
            "factors; or a function that tells the factor from a row of that table. Temporary "
            "users are drawn in proportion to it, and long-term users are taken in proportion to "
            "it, where otherwise each is taken equally often; so the numbers of users stay, and "
            "the load changes with what they do. At 0 a user never comes.",
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
            help="Let jobs grow by as much as the machine is larger than their own.",
            more="Sizes are rounded half up, to at least 1.",
        ),
    ] = False
