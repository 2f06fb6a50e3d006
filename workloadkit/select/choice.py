"""Choose jobs of a log by an expression and a period."""

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, parameter, quoted
from workloadkit.select.conditions import Jobs, period_of, second_of
from workloadkit.select.parser import parse
from workloadkit.select.values import YEAR, kinds_of, read_date, read_number, year_or_second

if TYPE_CHECKING:
    from workloadkit.trace import Trace


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
        jobs = Jobs(trace)
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
