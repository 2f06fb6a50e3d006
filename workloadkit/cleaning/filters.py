"""Filters that select jobs to remove, in the syntax of the Parallel Workloads Archive.

Headers of the archive's cleaned logs contain them, such as
``user=374 and (job>=14969 and job<=28552) (11740 jobs removed)``.
"""

import operator
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, shorten
from workloadkit.fields import BY_NAME, UNKNOWN
from workloadkit.parameters import read_duration
from workloadkit.trace import Trace, check_trace

#: Longest accepted filter. [characters]
MAX_LENGTH = 20_000

#: Deepest accepted nesting of parentheses.
MAX_DEPTH = 50

#: Hour of the day of the submission, 0 to 23, in the log's own time zone. It is not a job field,
#: but filters of the archive use it.
HOUR = "hour"

# `_WRITTEN` has the archive's name of a field where it differs from ours; filters are written with
# it. `_ALIASES` has every other accepted spelling.
_WRITTEN = {"procs": "proc", "executable": "app"}
_ALIASES = {
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
_TOKEN = re.compile(r"[<>=!]+|[()]|[A-Za-z_]\w*|[-+]?[\d.](?:(?<=[eE])[-+]|[\w.])*|\S", re.ASCII)
_COUNT = re.compile(r"\(\s*(\d[\d,]{0,20})\s+jobs?\s+removed\s*\)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class FieldComparison:
    """A field, or the hour of the day, compared with a number."""

    field: str
    operator: str
    value: int | float

    def __str__(self) -> str:
        return f"{_WRITTEN.get(self.field, self.field)}{self.operator}{self.value}"

    def of(self, values: Callable[[str], NDArray]) -> NDArray[np.bool_]:
        """Return the jobs for which the comparison is true."""
        return _OPERATORS[self.operator](values(self.field), self.value)


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    part: "Condition"

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"

    def of(self, values: Callable[[str], NDArray]) -> NDArray[np.bool_]:
        """Return the jobs for which the negation is true."""
        return ~self.part.of(values)


@dataclass(frozen=True)
class Junction:
    """Conditions joined by "and" (all are true) or "or" (at least one is true)."""

    word: str
    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return f" {self.word} ".join(map(_bracketed, self.parts))

    def of(self, values: Callable[[str], NDArray]) -> NDArray[np.bool_]:
        """Return the jobs for which the combination is true."""
        combine = np.logical_and if self.word == "and" else np.logical_or
        held = self.parts[0].of(values).copy()
        for part in self.parts[1:]:
            combine(held, part.of(values), out=held)
        return held


Condition = FieldComparison | Not | Junction


def _bracketed(condition: Condition) -> str:
    return f"({condition})" if isinstance(condition, Junction) else str(condition)


@dataclass(frozen=True)
class Filter(Displayed):
    """Condition that selects the jobs to remove from a log, in the archive's syntax.

    An unknown value compares as -1, its code in a file. Job numbers are those of the raw log.

    Parameters
    ----------
    condition : FieldComparison, Not or Junction
        True for the jobs to remove.
    count : int, optional
        Number of jobs that it removed, as stated with it.

    Examples
    --------
    >>> found = Filter.parse("user=3 AND (proc == 1 and app = 1) (24,025 jobs removed)")
    >>> print(found)
    user=3 and (proc=1 and app=1) (24025 jobs removed)
    >>> found.count
    24025
    """

    condition: Condition
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Filter":
        """Parse a filter as the archive writes it.

        Comparisons of a field with a number (``=``, ``==``, ``!=``, ``<>``, ``<``, ``<=``, ``>``,
        ``>=``), combined by ``and``, ``or``, ``not`` and parentheses; case and blanks do not
        matter. Fields have the names of `workloadkit.fields` or those of the archive: ``proc``,
        ``app``, ``subtime``, ``runtime``; ``hour`` is the hour of the day of the submission, in
        the log's own time zone. Times may be durations (``run<1min``). The number of removed jobs
        may follow at the end.

        Raises
        ------
        ParameterError
                If the text is no filter; the message has the position of the first wrong character.
        """
        if not isinstance(text, str):
            raise ParameterError(
                f"a filter is {text!r}; it must be a string such as 'user=3 and proc=1'"
            )
        if len(text) > MAX_LENGTH:
            raise ParameterError(f"a filter has {len(text):,} characters; the maximum is 20,000")
        stated = _COUNT.search(text)
        count = int(stated[1].replace(",", "")) if stated else None
        return cls(_Parser(text, text[: stated.start()] if stated else text).whole(), count)

    def __str__(self) -> str:
        if self.count is None:
            return str(self.condition)
        return f"{self.condition} ({self.count} jobs removed)"

    def _summary(self) -> str:
        return repr(str(self))

    def _table(self) -> pd.DataFrame:
        return pd.DataFrame({"filter": [str(self.condition)], "count": [self.count]})

    def counted(self, count: int | None) -> "Filter":
        """Return the same filter with another number of removed jobs."""
        return replace(self, count=count)

    def mask(self, trace: Trace) -> NDArray[np.bool_]:
        """Return the jobs of a log that the filter removes, as a mask.

        Parameters
        ----------
        trace : Trace

        Returns
        -------
        ndarray of bool, shape (n_jobs,)

        Raises
        ------
        WorkloadError
            If the filter uses the hour of the day and the log's local time is unknown.

        Examples
        --------
        >>> trace = Trace.from_columns({"submit": [0, 5, 9], "user": [3, 3, 4]})
        >>> Filter.parse("user=3 and job>1").mask(trace).tolist()
        [False, True, False]
        """
        check_trace(trace)
        return self.condition.of(lambda name: _values(trace, name))


def _values(trace: Trace, name: str) -> NDArray:
    """Return a column with the codes of the file, or the hour of the day."""
    if name == HOUR:
        return hours(trace)
    column = trace.column(name)
    return np.where(np.isnan(column), UNKNOWN, column) if BY_NAME[name].measured else column


def hours(trace: Trace) -> NDArray[np.int64]:
    """Return the local hour of the day at which each job was submitted, shape (n_jobs,).

    Raises
    ------
    WorkloadError
        If local time is unknown.
    """
    if not trace.n_jobs:
        return np.empty(0, np.int64)
    clock = Clock.of(trace)
    if not clock.known:
        why = clock.note.split(", so local time")[0]
        raise WorkloadError(f"{trace.name}: a filter uses the hour of the day. {why}")
    return (clock.local(trace.column("submit")) % DAY // 3600).astype(np.int64)


class _Parser:
    """Recursive-descent parser of a condition: or, and, not, comparison."""

    def __init__(self, text: str, condition: str) -> None:
        self.text = text
        self.tokens = [(found[0], found.start()) for found in _TOKEN.finditer(condition)]
        self.tokens.append(("", len(condition.rstrip())))  # the end
        self.next = 0

    @property
    def token(self) -> str:
        """The next token, in lower case; empty at the end."""
        return self.tokens[self.next][0].lower()

    def take(self) -> str:
        """Consume and return the next token."""
        self.next += 1
        return self.tokens[self.next - 1][0].lower()

    def refuse(self, expected: str) -> NoReturn:
        """Raise an error that states what is expected at the next token."""
        token, at = self.tokens[self.next]
        found = shorten(token, 30) if token else "its end"
        raise ParameterError(
            f"filter {shorten(self.text)}, character {at + 1}: {expected}, not {found}"
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
            if self.token != word:
                return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))
            self.take()

    def part(self, depth: int) -> Condition:
        """Parse a comparison, a condition in parentheses, or the negation of either."""
        if depth > MAX_DEPTH:
            self.refuse(f"parentheses may be nested {MAX_DEPTH} deep at most")
        if self.token == "not":
            self.take()
            return Not(self.part(depth + 1))
        if self.token != "(":
            return self.comparison()
        self.take()
        condition = self.junction("or", depth + 1)
        if self.token != ")":
            self.refuse("'and', 'or' or a closing parenthesis is expected")
        self.take()
        return condition

    def comparison(self) -> FieldComparison:
        """Parse a field, an operator and a number, in this order or reversed."""
        if self.token[:1].isalpha():
            field, sign = self.field(), self.operator()
            return FieldComparison(field, sign, self.value(field))
        at = self.next  # the number comes first; parse it once its field is known
        if not re.match(r"[-+]?[\d.]", self.token):
            self.refuse("a field is expected")
        self.take()
        sign, field = self.operator(), self.field()
        after, self.next = self.next, at
        value = self.value(field)
        self.next = after
        return FieldComparison(field, _MIRRORED.get(sign, sign), value)

    def field(self) -> str:
        """Parse the name of a field."""
        name = _ALIASES.get(self.token, self.token)
        if name != HOUR and name not in BY_NAME:
            self.refuse("a field such as user, job, proc or app is expected")
        self.take()
        return name

    def operator(self) -> str:
        """Parse an operator."""
        sign = _SAME.get(self.token, self.token)
        if sign not in _OPERATORS:
            self.refuse("an operator such as = or >= is expected")
        self.take()
        return sign

    def value(self, field: str) -> int | float:
        """Parse a number; for times, also a duration."""
        number: int | float = inf
        if re.fullmatch(r"[-+]?\d{1,30}", self.token):
            number = int(self.token)
        elif re.match(r"[-+]?[\d.]", self.token):
            with suppress(ValueError):
                number = float(self.token.replace("_", "?"))  # Python accepts 1_000
            if number == inf and field in BY_NAME and BY_NAME[field].unit == "s":
                with suppress(ValueError):
                    number = read_duration(self.token)
        if not abs(number) < inf:
            self.refuse("a number is expected")
        self.take()
        return int(number) if abs(number) < 1e15 and number == int(number) else number
