"""Choose jobs by an expression: fields, names, dates. Filters of the archive are such expressions.

An expression is parsed with positions, and never evaluated by Python. Its grammar::

    expression = all { "or" all } ;            all  = one { "and" one } ;
    one        = "not" one | "(" expression ")" | test ;
    test       = FIELD sign value | value sign FIELD [ sign value ]
               | FIELD [ "not" ] "in" "(" item { "," item } ")" | FIELD "is" [ "not" ] "unknown" ;
    item       = value [ ".." value ] ;        sign = "=" | "!=" | "<" | "<=" | ">" | ">=" ;
"""

import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as declared
from datetime import datetime, timedelta
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.errors import ParameterError, WorkloadError, near, shorten
from workloadkit.fields import BY_NAME, FIELDS, UNKNOWN
from workloadkit.job_columns import DERIVED, NUMBERED, TIMES, known_columns, words_of
from workloadkit.parameters import read_duration
from workloadkit.record_fields import RECORD_FIELDS

if TYPE_CHECKING:
    from workloadkit.trace import Trace

#: Longest accepted expression. [characters]
MAX_LENGTH = 20_000

#: Deepest accepted nesting of parentheses.
MAX_DEPTH = 50

_FEW = 10  # names that a message lists

# The archive's name of a field where it differs from ours; conditions are written with it.
_WRITTEN = {"procs": "proc", "executable": "app"}

#: Every other accepted spelling of a field.
ALIASES = {
    "jobnumber": "job",
    "jobid": "job",
    "subtime": "submit",
    "submittime": "submit",
    "waittime": "wait",
    "runtime": "run",
    "proc": "procs",
    "processors": "procs",
    "cputime": "cpu",
    "mem": "memory",
    "reqproc": "requested_procs",
    "reqprocs": "requested_procs",
    "reqtime": "requested_time",
    "estimate": "requested_time",
    "reqmem": "requested_memory",
    "reqmemory": "requested_memory",
    "uid": "user",
    "userid": "user",
    "gid": "group",
    "groupid": "group",
    "app": "executable",
    "application": "executable",
    "exe": "executable",
    "part": "partition",
    "preceding": "preceding_job",
    "thinktime": "think_time",
}
_OPERATORS: dict[str, Callable] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SAME = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RESERVED = ("and", "or", "not", "in", "is", "unknown")
_NO_VALUES = (*_RESERVED, "..", "")

_QUOTED = r"\"(?:[^\"\x00-\x1f\x7f]|\"\")*\"|'(?:[^'\x00-\x1f\x7f]|'')*'"
_TOKEN = re.compile(rf"{_QUOTED}|[<>=!]+|\.\.|[(),]|(?:(?!\.\.)[^\s()<>=!,\"'])+|\S")
_NUMBER = re.compile(r"[-+]?(?:\d|\.\d)\S*", re.ASCII)
_PLAIN_WORD = re.compile(r"[A-Za-z_](?:(?!\.\.)[\w.:/@+-])*", re.ASCII)
_DATE = re.compile(
    r"(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?)?", re.ASCII | re.IGNORECASE
)
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)([kmgt])b", re.ASCII | re.IGNORECASE)
_KB = {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}

Kind = Literal["time", "duration", "size", "number", "numbered", "word"]

#: What the fields of each kind are compared with.
COMPARED_WITH: dict[Kind, str] = {
    "time": "a date such as 2024-03-01, or a time since second 0 such as 90 or 2d",
    "duration": "a number of seconds, or a duration such as 2h",
    "size": "a number of KB, or a size such as 4GB",
    "number": "a number",
    "numbered": "a number or a name",
    "word": "a name",
}


def _kind(name: str, unit: str, *, is_word: bool = False) -> Kind:
    if name in TIMES:
        return "time"
    if name in (*NUMBERED, "status"):
        return "numbered"
    if is_word:
        return "word"
    return {"s": "duration", "KB": "size"}.get(unit, "number")  # type: ignore[return-value]


#: What every field is compared with: those of the standard, those of accounting, derived ones.
KINDS: Mapping[str, Kind] = {
    **{f.name: _kind(f.name, f.unit, is_word=f.kind in ("word", "text")) for f in RECORD_FIELDS},
    **{name: _kind(name, "") for name in DERIVED},
    **{f.name: _kind(f.name, f.unit) for f in FIELDS},
}


def kinds_of(trace: "Trace") -> dict[str, Kind]:
    """Return what the fields of a log are compared with, its own ones of the side-car included."""
    own: dict[str, Kind] = {}
    if trace.sidecar is not None:
        for name in known_columns(trace):
            if name not in KINDS:
                own[name] = "number" if trace.sidecar[name].dtype.kind in "biuf" else "word"
    return {**KINDS, **own}


@dataclass(frozen=True)
class Date:
    """A month, a day, a minute or a second of local time.

    Examples
    --------
    >>> day = Date("2024-02-29")
    >>> print(day.begin, day.end)
    2024-02-29 00:00:00 2024-03-01 00:00:00
    """

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def begin(self) -> datetime:
        """Its first second.

        Raises
        ------
        ValueError
            If there is no such date.
        """
        match = _DATE.fullmatch(self.text)
        if match is None:
            raise ValueError(self.text)
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        return datetime(year, month, day if match[3] else 1, hour, minute, second)

    @property
    def end(self) -> datetime:
        """The first second after it."""
        begin, places = self.begin, len(re.findall(r"\d+", self.text))
        if places == 2:
            return (begin + timedelta(days=31)).replace(day=1)
        return begin + {3: timedelta(1), 5: timedelta(minutes=1), 6: timedelta(seconds=1)}[places]


Value = int | float | str | Date


class Range(NamedTuple):
    """From a value to another, both included."""

    low: Value
    high: Value

    def __str__(self) -> str:
        return f"{_written(self.low)}..{_written(self.high)}"


def _written(value: "Value | Range") -> str:
    """Write a value as it is read."""
    if not isinstance(value, str):
        return str(value)
    if _PLAIN_WORD.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


class Truth(NamedTuple):
    """For which jobs a condition is true, and for which it is false; unknown for the others."""

    yes: NDArray[np.bool_]
    no: NDArray[np.bool_]


@dataclass(frozen=True)
class FieldComparison:
    """A field compared with a number, a name or a date."""

    field: str
    operator: str
    value: Value
    at: int = declared(default=0, compare=False, repr=False)  # character of the value

    def __str__(self) -> str:
        return f"{_WRITTEN.get(self.field, self.field)}{self.operator}{_written(self.value)}"

    def of(self, jobs: "Jobs") -> Truth:
        """Return for which jobs the comparison is true and false."""
        if isinstance(self.value, str):
            truth = jobs.named(self.field, self.value, self.at)
            return truth if self.operator == "=" else Truth(truth.no, truth.yes)
        if isinstance(self.value, Date):
            return jobs.numbered(self.field, self._within(*jobs.seconds(self.value)))
        compare = _OPERATORS[self.operator]
        return jobs.numbered(self.field, lambda values: compare(values, self.value))

    def _within(self, begin: float, end: float) -> Callable[[NDArray], NDArray[np.bool_]]:
        return {
            "=": lambda time: (time >= begin) & (time < end),
            "!=": lambda time: (time < begin) | (time >= end),
            "<": lambda time: time < begin,
            "<=": lambda time: time < end,
            ">": lambda time: time >= end,
            ">=": lambda time: time >= begin,
        }[self.operator]


@dataclass(frozen=True)
class OneOf:
    """A field whose value is in a set of values and ranges."""

    field: str
    items: "tuple[Value | Range, ...]"
    at: tuple[int, ...] = declared(default=(), compare=False, repr=False)  # characters of the items

    def __str__(self) -> str:
        items = ", ".join(map(_written, self.items))
        return f"{_WRITTEN.get(self.field, self.field)} in ({items})"

    def of(self, jobs: "Jobs") -> Truth:
        """Return for which jobs the value is in the set, and for which it is not."""
        places = self.at or (0,) * len(self.items)
        parts: list[Condition] = []
        for item, at in zip(self.items, places, strict=True):
            if isinstance(item, Range):
                low = FieldComparison(self.field, ">=", item.low, at)
                parts.append(Junction("and", (low, FieldComparison(self.field, "<=", item.high))))
            else:
                parts.append(FieldComparison(self.field, "=", item, at))
        return Junction("or", tuple(parts)).of(jobs)


@dataclass(frozen=True)
class IsUnknown:
    """A field whose value is unknown."""

    field: str

    def __str__(self) -> str:
        return f"{_WRITTEN.get(self.field, self.field)} is unknown"

    def of(self, jobs: "Jobs") -> Truth:
        """Return for which jobs the value is unknown."""
        known = jobs.known(self.field)
        return Truth(~known, known)


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    part: "Condition"

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"

    def of(self, jobs: "Jobs") -> Truth:
        """Return for which jobs the negation is true and false."""
        truth = self.part.of(jobs)
        return Truth(truth.no, truth.yes)


@dataclass(frozen=True)
class Junction:
    """Conditions joined by "and" (all are true) or "or" (at least one is true)."""

    word: str
    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return f" {self.word} ".join(map(_bracketed, self.parts))

    def of(self, jobs: "Jobs") -> Truth:
        """Return for which jobs the combination is true and false."""
        yes, no = self.parts[0].of(jobs)
        for part in self.parts[1:]:
            also = part.of(jobs)
            if self.word == "and":
                yes, no = yes & also.yes, no | also.no
            else:
                yes, no = yes | also.yes, no & also.no
        return Truth(yes, no)


Condition = FieldComparison | OneOf | IsUnknown | Not | Junction


def _bracketed(condition: Condition) -> str:
    return f"({condition})" if isinstance(condition, Junction) else str(condition)


class Jobs:
    """The jobs of a log, as conditions look at them.

    Parameters
    ----------
    trace : Trace
    as_coded : bool, default False
        Whether an unknown value compares as -1, its code in a file, instead of being unknown.
    """

    def __init__(self, trace: "Trace", *, as_coded: bool = False) -> None:
        self.trace, self.as_coded = trace, as_coded
        self.absent: list[tuple[int, str]] = []  # names that no job has: where, and a message

    def numbered(self, name: str, test: Callable[[NDArray], NDArray[np.bool_]]) -> Truth:
        """Return for which jobs a test of the field's numbers is true and false."""
        values = self.trace.column(name)
        known = self.known(name)
        if self.as_coded:
            yes = test(np.where(known, values, UNKNOWN))
            return Truth(yes, ~yes)
        yes = test(values)
        return Truth(yes & known, ~yes & known)

    def known(self, name: str) -> NDArray[np.bool_]:
        """Return for which jobs a field is known."""
        values = self.trace.column(name)
        if values.dtype.kind in "biu":
            return values != UNKNOWN
        return ~np.isnan(values) if values.dtype.kind == "f" else values != ""

    def named(self, name: str, word: str, at: int) -> Truth:
        """Return for which jobs the field has a name, and for which it has another."""
        words = words_of(self.trace, name)
        if words is None and name in BY_NAME:
            raise WorkloadError(f"{self.trace.name}: no {name} has a name; give its number")
        if words is None:  # all are unknown
            nothing = self.known(name)
            return Truth(nothing, ~nothing if self.as_coded else nothing)
        place = words.categories.get_indexer([word])[0]
        if place < 0:
            known = [str(each) for each in words.categories]
            few = f"known: {', '.join(known)}" if 0 < len(known) <= _FEW else ""
            meant = near(word, known) or few
            message = f"no job has the {name} {shorten(word, 40)}"
            self.absent.append((at, f"{message}; {meant}" if meant else message))
        yes = words.codes == place if place >= 0 else np.zeros(self.trace.n_jobs, bool)
        return Truth(yes, ~yes if self.as_coded else ~yes & (words.codes >= 0))

    def seconds(self, date: Date) -> tuple[float, float]:
        """Return the first second of the log on a date, and the first one after it."""
        return second_of(self.trace, date.begin), second_of(self.trace, date.end)


def second_of(trace: "Trace", moment: datetime) -> float:
    """Return the first second of a log at a local time.

    Raises
    ------
    WorkloadError
        If the log's local time is unknown.
    """
    local = (moment - datetime(1970, 1, 1)).total_seconds()
    about = local - (trace.header.start or 0)
    clock = Clock.between(trace.header, about - 2 * DAY, about + 2 * DAY)
    if not clock.known:
        why = clock.note.split(", so local time")[0]
        raise WorkloadError(f"{trace.name}: {moment} is a date, but local time is unknown. {why}")
    return float(clock.seconds(local + 3 * DAY))  # local time starts on a Monday


def parse(
    text: str,
    *,
    what: str = "filter",
    kinds: Mapping[str, Kind] = KINDS,
    coded: bool = True,
    end: int | None = None,
) -> Condition:
    """Parse an expression.

    Parameters
    ----------
    text : str
    what : str, default "filter"
        What it is, for messages.
    kinds : mapping of str to Kind
        The known fields.
    coded : bool, default True
        Whether -1, the code of unknown in a file, is accepted as a value.
    end : int, optional
        Where it ends in the text.

    Raises
    ------
    ParameterError
        If the text is no expression; the message has the position of the first wrong character.

    Examples
    --------
    >>> print(parse("16 <= procs < 64 and not (user in (3, 5..9) or run>2h)"))
    (proc>=16 and proc<64) and not (user in (3, 5..9) or run>7200)
    >>> parse("user=3 und job=1")
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: filter 'user=3 und job=1', character 8: 'and', 'or' or the
    end is expected, not 'und'
    """
    if not isinstance(text, str):
        name = what.rstrip(":")
        raise ParameterError(f"{name} is {text!r}; it must be a string such as 'user=3 and proc=1'")
    if len(text) > MAX_LENGTH:
        raise ParameterError(f"{what} {len(text):,} characters; the maximum is {MAX_LENGTH:,}")
    return _Parser(text, text[:end], what, kinds, coded).whole()


class _Parser:
    """Recursive-descent parser of a condition: or, and, not, comparison."""

    def __init__(
        self, text: str, condition: str, what: str, kinds: Mapping[str, Kind], coded: bool
    ) -> None:
        self.text, self.what, self.kinds, self.coded = text, what, kinds, coded
        self.fields = {name.lower(): name for name in reversed([*kinds])} | {
            alias: name for alias, name in ALIASES.items() if alias not in kinds
        }
        self.tokens = [(found[0], found.start()) for found in _TOKEN.finditer(condition)]
        self.tokens.append(("", len(condition.rstrip())))  # the end
        self.next = 0

    @property
    def token(self) -> str:
        """The next token, in lower case; empty at the end."""
        return self.tokens[self.next][0].lower()

    @property
    def at(self) -> int:
        """Place of the next token."""
        return self.tokens[self.next][1]

    def take(self) -> str:
        """Consume and return the next token, as it is written."""
        self.next += 1
        return self.tokens[self.next - 1][0]

    def accept(self, word: str) -> bool:
        """Consume the next token if it is this word."""
        if self.token != word:
            return False
        self.take()
        return True

    def expect(self, word: str, expected: str) -> None:
        """Consume this word, which must be next."""
        if not self.accept(word):
            self.refuse(expected)

    def refuse(self, expected: str) -> NoReturn:
        """Raise an error that states what is expected at the next token."""
        token, at = self.tokens[self.next]
        found = shorten(token, 30) if token else "its end"
        raise ParameterError(
            f"{self.what} {shorten(self.text)}, character {at + 1}: {expected}, not {found}"
        )

    def whole(self) -> Condition:
        """Parse the whole condition."""
        condition = self.junction("or", 0)
        if self.token:
            self.refuse("'and', 'or' or the end is expected")
        return condition

    def junction(self, word: str, depth: int) -> Condition:
        """Parse conditions joined by "or", each of which may join several by "and"."""
        parts = []
        while True:
            parts.append(self.junction("and", depth) if word == "or" else self.part(depth))
            if not self.accept(word):
                return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def part(self, depth: int) -> Condition:
        """Parse a test, a condition in parentheses, or the negation of either."""
        if depth > MAX_DEPTH:
            self.refuse(f"parentheses may be nested {MAX_DEPTH} deep at most")
        if self.accept("not"):
            return Not(self.part(depth + 1))
        if not self.accept("("):
            return self.test()
        condition = self.junction("or", depth + 1)
        self.expect(")", "'and', 'or' or a closing parenthesis is expected")
        return condition

    def test(self) -> Condition:
        """Parse a test of a field."""
        if _NUMBER.match(self.token) or self.token[:1] in ('"', "'"):
            return self.reversed()
        name = self.field()
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("unknown", "unknown is expected")
            return Not(IsUnknown(name)) if negated else IsUnknown(name)
        if self.token in ("in", "not"):
            negated = self.accept("not")
            self.expect("in", "in is expected")
            return Not(self.set_of(name)) if negated else self.set_of(name)
        sign, at = self.operator(), self.at
        return self.compared(name, sign, self.value(name), at)

    def reversed(self) -> Condition:
        """Parse a value, an operator and a field; for a range, also an operator and a value."""
        first = self.next  # parsed once its field is known
        self.take()
        sign, name = self.operator(), self.field()
        after, self.next = self.next, first
        at = self.at
        low = self.compared(name, _MIRRORED.get(sign, sign), self.value(name), at)
        self.next = after
        if _SAME.get(self.token, self.token) not in _OPERATORS:
            return low
        sign, at = self.operator(), self.at
        return Junction("and", (low, self.compared(name, sign, self.value(name), at)))

    def compared(self, name: str, sign: str, value: Value, at: int) -> FieldComparison:
        """Return a comparison; names have no order."""
        if isinstance(value, str) and sign not in ("=", "!="):
            self.next = next(i for i, token in enumerate(self.tokens) if token[1] == at)
            self.refuse(f"names are compared by = or !=; for {name} {sign}, a number is expected")
        return FieldComparison(name, sign, value, at)

    def set_of(self, name: str) -> OneOf:
        """Parse the values and ranges of a set."""
        self.expect("(", "a set in parentheses is expected")
        items: list[Value | Range] = []
        places = []
        while True:
            places.append(self.at)
            low = self.value(name)
            if self.token != "..":
                items.append(low)
            elif isinstance(low, str):
                self.refuse("names have no ranges; a comma or a closing parenthesis is expected")
            else:
                self.take()
                items.append(Range(low, self.value(name)))
            if not self.accept(","):
                break
        self.expect(")", "a comma or a closing parenthesis is expected")
        return OneOf(name, tuple(items), tuple(places))

    def field(self) -> str:
        """Parse the name of a field."""
        if self.token not in self.fields:
            meant = near(self.token, self.kinds)
            expected = "a field such as user, job, proc or app is expected"
            self.refuse(f"{expected} ({meant})" if meant else expected)
        return self.fields[self.take().lower()]

    def operator(self) -> str:
        """Parse an operator."""
        sign = _SAME.get(self.token, self.token)
        if sign not in _OPERATORS:
            self.refuse("an operator such as = or >= is expected")
        self.take()
        return sign

    def value(self, name: str) -> Value:
        """Parse what a field is compared with."""
        kind, word = self.kinds[name], self.tokens[self.next][0]
        is_quoted = len(word) > 1 and word[0] in "\"'"
        text = word[1:-1].replace(word[0] * 2, word[0]) if is_quoted else word
        is_word = is_quoted or not (word.lower() in _NO_VALUES or word[0] in "()<>=!,\"'")
        found: Value | None = None
        if is_word and kind != "word" and (kind == "time" or not is_quoted):
            found = _number(text, kind)
        if is_word and kind == "time" and found is None:
            found = _date(text)
        is_name = kind == "word" or (kind == "numbered" and not (_NUMBER.match(word)))
        if is_word and text and found is None and is_name:
            found = text
        if found is None:
            self.refuse(f"{COMPARED_WITH[kind]} is expected")
        if found == UNKNOWN and kind != "time" and not self.coded:
            self.refuse(f"-1 is the code of unknown in a file; write: {name} is unknown")
        self.take()
        return found


def _number(text: str, kind: Kind) -> int | float | None:
    """Return a number; a time also of a duration, a size also of one with its unit."""
    number: float = inf
    if re.fullmatch(r"[-+]?\d{1,30}", text, re.ASCII):
        return _plain(int(text))
    if _NUMBER.match(text):
        with suppress(ValueError):
            number = float(text.replace("_", "?"))  # Python accepts 1_000
    if number == inf and kind in ("time", "duration") and text.lower() != "inf":
        with suppress(ValueError):
            number = read_duration(text)
    if number == inf and kind == "size" and (size := _SIZE.fullmatch(text)):
        number = float(size[1]) * _KB[size[2].lower()]
    return _plain(number) if abs(number) < inf else None


def _plain(number: float) -> int | float:
    return int(number) if abs(number) < 1e15 and number == int(number) else number


def _date(text: str) -> Date | None:
    date = Date(text.upper().replace(" ", "T"))
    try:
        date.end  # noqa: B018  # whether there is such a date
    except (ValueError, OverflowError):
        return None
    return date


class Choice(NamedTuple):
    """Jobs of a log that were chosen.

    Parameters
    ----------
    keep : ndarray of bool, shape (n_jobs,)
    how : str
        What chose them.
    since, until : float
        Submitted at or after the one and before the other; infinite without a limit. [s]
    absent : tuple of str
        Names in the expression that no job has, each as a message.
    submitted : str
        When the jobs of the log were submitted, for messages; empty without a limit.
    """

    keep: NDArray[np.bool_]
    how: str
    since: float
    until: float
    absent: tuple[str, ...]
    submitted: str


def choose(
    trace: "Trace", expression: str | None, since: object = None, until: object = None
) -> Choice:
    """Choose jobs of a log; see `Trace.where`."""
    keep, absent, how = np.ones(trace.n_jobs, bool), [], []
    if expression is not None:
        condition = parse(expression, what="where:", kinds=kinds_of(trace), coded=False)
        jobs = Jobs(trace)
        keep, how = condition.of(jobs).yes, [f"where {condition}"]
        place = f"where: {shorten(expression)}, character"
        absent = [f"{place} {at + 1}: {message}" for at, message in jobs.absent]
    limits = [-inf, inf]
    for i, (name, given) in enumerate((("since", since), ("until", until))):
        if given is not None:
            limits[i] = _limit(trace, name, given)
            how.append(f"{name} {given}")
    if not limits[0] < limits[1]:
        raise ParameterError(f"until is {str(until)!r}; it must be after since, {str(since)!r}")
    submit = trace.column("submit")
    keep = keep & (submit >= limits[0]) & (submit < limits[1])
    submitted = ""
    if submit.size and limits != [-inf, inf]:
        first, last = (trace.header.date(x) or f"second {x:g}" for x in submit[[0, -1]].tolist())
        submitted = f"; jobs were submitted from {first} to {last}"
    return Choice(keep, ", ".join(how), limits[0], limits[1], tuple(absent), submitted)


def _limit(trace: "Trace", name: str, given: object) -> float:
    """Return the second of the log that a date, or a time since second 0, names."""
    text = str(given)
    if (date := _date(text)) is not None:
        return second_of(trace, date.begin)
    if (number := _number(text, "time")) is not None:
        return float(number)
    raise ParameterError(
        f"{name} is {text!r}; it must be a date such as 2024-03, 2024-03-01 or 2024-03-01T12:00, "
        "or a time since second 0 of the log, such as 2d"
    )
