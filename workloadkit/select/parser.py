"""Parse expressions that choose jobs, and choose the jobs."""

import re
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, near, parameter, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.parameters import MAX_LENGTH
from workloadkit.select.conditions import (
    OPERATORS,
    Condition,
    FieldComparison,
    IsUnknown,
    Junction,
    LogJobs,
    Not,
    OneOf,
    period_of,
    second_of,
)
from workloadkit.select.values import (
    ALIASES,
    COMPARED_WITH,
    KINDS,
    LIKE_A_NUMBER,
    RESERVED,
    YEAR,
    Kind,
    Range,
    Value,
    kinds_of,
    read_date,
    read_number,
    year_or_second,
)

if TYPE_CHECKING:
    from workloadkit.trace import Trace


#: Deepest accepted nesting of parentheses.
MAX_DEPTH = 50

_SAME = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NO_VALUES = (*RESERVED, "..", "")

_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"  # with the ends of lines
_QUOTED = rf"\"(?:[^\"{_CONTROLS}]|\"\")*\"|'(?:[^'{_CONTROLS}]|'')*'"
_WORD = rf"(?:(?!\.\.)[^\s()<>=!,\"'{_CONTROLS}])+"
_TOKEN = re.compile(rf"{_QUOTED}|[<>=!]+|\.\.|[(),]|{_WORD}|\S")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(f"[{_CONTROLS}]")


def parse(
    text: str,
    *,
    what: str = "filter",
    kinds: Mapping[str, Kind] = KINDS,
    coded: bool = True,
    end: int | None = None,
    dated: bool = False,
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
    dated : bool, default False
        Whether the log has dates: then a year alone is no time.

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
        raise ParameterError(
            f"{name} is {quoted(text)}; it must be a string such as 'user=3 and proc=1'"
        )
    if len(text) > MAX_LENGTH:
        raise ParameterError(f"{what} {len(text):,} characters; the maximum is {MAX_LENGTH:,}")
    if lone := _SURROGATE.search(text):
        raise ParameterError(
            f"{what} {quoted(text)}, character {lone.start() + 1}: no character of UTF-8"
        )
    return _Parser(text, text[:end], what, kinds, coded, dated).whole()


class _Parser:
    """Recursive-descent parser of a condition: or, and, not, comparison."""

    def __init__(
        self,
        text: str,
        condition: str,
        what: str,
        kinds: Mapping[str, Kind],
        coded: bool,
        dated: bool,
    ) -> None:
        self.text, self.what, self.kinds, self.coded = text, what, kinds, coded
        self.dated = dated
        self.fields = ALIASES | {name.lower(): name for name in reversed([*kinds])}
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
        found = quoted(token, 30) if token else "its end"
        raise ParameterError(
            f"{self.what} {quoted(self.text)}, character {at + 1}: {expected}, not {found}"
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
        if LIKE_A_NUMBER.match(self.token) or self.token[:1] in ('"', "'"):
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
        if _SAME.get(self.token, self.token) not in OPERATORS:
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
        if sign not in OPERATORS:
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
        if kind == "time" and self.dated and YEAR.fullmatch(text):
            self.refuse(f"write {year_or_second(text)}")
        if is_word and kind != "word" and (kind == "time" or not is_quoted):
            found = read_number(text, kind)
        if is_word and kind == "time" and found is None:
            found = read_date(text)
        is_name = kind == "word" or (kind == "numbered" and not (LIKE_A_NUMBER.match(word)))
        if is_word and text and found is None and is_name and not _CONTROL.search(text):
            found = text
        if found is None:
            self.refuse(f"{COMPARED_WITH[kind]} is expected")
        if found == UNKNOWN and kind != "time" and not self.coded:
            self.refuse(f"-1 is the code of unknown in a file; write: {name} is unknown")
        self.take()
        return found


class Choice(NamedTuple):
    """Jobs of a log that were chosen.

    Parameters
    ----------
    keep : ndarray of bool, shape (n_jobs,)
    how : str
        What chose them.
    since, until : float
        The period of submissions that can be chosen; infinite without a limit. [s]
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
    period = (-inf, inf)
    if expression is not None:
        where, dated = f"{parameter('where')}:", _has_dates(trace)
        condition = parse(expression, what=where, kinds=kinds_of(trace), coded=False, dated=dated)
        jobs = LogJobs(trace)
        keep, period = condition.of(jobs).yes, period_of(condition, jobs)
        how = [f"where {condition}"]
        place = f"where: {quoted(expression)}, character"
        absent = [f"{place} {at + 1}: {message}" for at, message in jobs.absent]
    limits = [-inf, inf]
    for i, (name, given) in enumerate((("since", since), ("until", until))):
        if given is not None:
            limits[i] = limit_of(trace, name, given)
            how.append(f"{name} {given}")
    if not limits[0] < limits[1]:
        shown = quoted(str(until)), quoted(str(since))
        raise ParameterError("until", f"is {shown[0]}; it must be after since, {shown[1]}")
    submit = trace.column("submit")
    keep = keep & (submit >= limits[0]) & (submit < limits[1])
    submitted = ""
    if submit.size and limits != [-inf, inf]:
        first, last = (trace.header.date(x) or f"second {x:g}" for x in submit[[0, -1]].tolist())
        submitted = f"; jobs were submitted from {first} to {last}"
    since, until = max(limits[0], period[0]), min(limits[1], period[1])
    return Choice(keep, ", ".join(how), since, until, tuple(absent), submitted)


def limit_of(trace: "Trace", name: str, given: object) -> float:
    """Return the second of the log that a date, or a time since second 0, names."""
    text = str(given)
    if (date := read_date(text)) is not None:
        return second_of(trace, date.begin)
    if isinstance(given, str) and _has_dates(trace) and YEAR.fullmatch(text):
        raise ParameterError(name, f"is {quoted(text)}; write {year_or_second(text)}")
    if (number := read_number(text, "time")) is not None:
        return float(number)
    raise ParameterError(
        name,
        f"is {quoted(text)}; it must be a date such as 2024-03, 2024-03-01 or "
        "2024-03-01T12:00, or a time since second 0 of the log, such as 2d",
    )


def _has_dates(trace: "Trace") -> bool:
    """Whether the date of second 0 is known, so that a year is ambiguous."""
    return trace.header.start is not None or trace.header.wall_start is not None
