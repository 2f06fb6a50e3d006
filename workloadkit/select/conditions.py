"""The conditions of an expression, and for which jobs of a log they are true."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as declared
from datetime import datetime
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.errors import WorkloadError, near, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.job_columns import words_of
from workloadkit.select.values import Date, Range, Value, written

if TYPE_CHECKING:
    from workloadkit.trace import Trace

_FEW = 10  # names that a message lists

# The archive's name of a field where it differs from ours; conditions are written with it.
_WRITTEN = {"procs": "proc", "executable": "app"}

OPERATORS: dict[str, Callable] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


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
        return f"{_WRITTEN.get(self.field, self.field)}{self.operator}{written(self.value)}"

    def of(self, jobs: "LogJobs") -> Truth:
        """Return for which jobs the comparison is true and false."""
        if isinstance(self.value, str):
            truth = jobs.named(self.field, self.value, self.at)
            return truth if self.operator == "=" else Truth(truth.no, truth.yes)
        if isinstance(self.value, Date):
            return jobs.numbered(self.field, self._within(*jobs.seconds(self.value)))
        compare = OPERATORS[self.operator]
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
        items = ", ".join(map(written, self.items))
        return f"{_WRITTEN.get(self.field, self.field)} in ({items})"

    def of(self, jobs: "LogJobs") -> Truth:
        """Return for which jobs the value is in the set, and for which it is not."""
        return Junction("or", tuple(self.tests())).of(jobs)

    def tests(self) -> "Iterator[Condition]":
        """Yield the comparison with each value, or with the ends of a range."""
        places = self.at or (0,) * len(self.items)
        for item, at in zip(self.items, places, strict=True):
            if isinstance(item, Range):
                low = FieldComparison(self.field, ">=", item.low, at)
                yield Junction("and", (low, FieldComparison(self.field, "<=", item.high)))
            else:
                yield FieldComparison(self.field, "=", item, at)


@dataclass(frozen=True)
class IsUnknown:
    """A field whose value is unknown."""

    field: str

    def __str__(self) -> str:
        return f"{_WRITTEN.get(self.field, self.field)} is unknown"

    def of(self, jobs: "LogJobs") -> Truth:
        """Return for which jobs the value is unknown."""
        known = jobs.known(self.field)
        return Truth(~known, known)


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    part: "Condition"

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"

    def of(self, jobs: "LogJobs") -> Truth:
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

    def of(self, jobs: "LogJobs") -> Truth:
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


def period_of(condition: Condition, jobs: "LogJobs") -> tuple[float, float]:
    """Return the seconds from the first to the last submission that a condition can choose."""
    if isinstance(condition, Junction):
        parts = [period_of(part, jobs) for part in condition.parts]
        begins, ends = zip(*parts, strict=True)
        if condition.word == "and":
            return max(begins), min(ends)
        return min(begins), max(ends)
    if isinstance(condition, OneOf) and condition.field == "submit":
        return period_of(Junction("or", tuple(condition.tests())), jobs)
    if not isinstance(condition, FieldComparison) or condition.field != "submit":
        return -inf, inf
    begin, end = jobs.seconds(condition.value)
    return {
        "=": (begin, end),
        "!=": (-inf, inf),
        "<": (-inf, begin),
        "<=": (-inf, end),
        ">": (end, inf),
        ">=": (begin, inf),
    }[condition.operator]


class LogJobs:
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
        self.words = cache(partial(words_of, trace))

    def numbered(self, name: str, test: Callable[[NDArray], NDArray[np.bool_]]) -> Truth:
        """Return for which jobs a test of the field's numbers is true and false."""
        values = self.trace.column(name)
        if values.dtype.kind not in "biuf":
            raise WorkloadError(f"{self.trace.name}: {name} has names, not numbers")
        known = self.known(name)
        if self.as_coded:
            yes = test(np.where(known, values, UNKNOWN))
            return Truth(yes, ~yes)
        yes = test(values)
        return Truth(yes & known, ~yes & known)

    def known(self, name: str) -> NDArray[np.bool_]:
        """Return for which jobs a field is known."""
        values = self.trace.column(name)
        if values.dtype.kind in "biuf":
            return ~np.isnan(values) if values.dtype.kind == "f" else values != UNKNOWN
        words = self.words(name)
        return np.zeros(values.size, bool) if words is None else words.codes >= 0

    def named(self, name: str, word: str, at: int) -> Truth:
        """Return for which jobs the field has a name, and for which it has another."""
        words = self.words(name)
        if words is None and self.trace.column(name).dtype.kind in "biuf":
            raise WorkloadError(f"{self.trace.name}: no {name} has a name; give its number")
        if words is None:  # all are unknown
            nothing = np.zeros(self.trace.n_jobs, bool)
            return Truth(nothing, ~nothing if self.as_coded else nothing)
        place = words.categories.get_indexer([word])[0]
        if place < 0:
            known = [str(each) for each in words.categories]
            few = f"known: {', '.join(known)}" if 0 < len(known) <= _FEW else ""
            meant = near(word, known) or few
            message = f"no job has the {name} {quoted(word, 40)}"
            self.absent.append((at, f"{message}; {meant}" if meant else message))
        yes = words.codes == place if place >= 0 else np.zeros(self.trace.n_jobs, bool)
        return Truth(yes, ~yes if self.as_coded else ~yes & (words.codes >= 0))

    def seconds(self, value: Value) -> tuple[float, float]:
        """Return the first second of the log on a date and the first one after it, or a number."""
        if isinstance(value, Date):
            return second_of(self.trace, value.begin), second_of(self.trace, value.end)
        return float(value), float(value)


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
