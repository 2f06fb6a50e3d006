"""Rules, the log that they check and their breaches; the rules of form."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import BURST_STATUS, BY_NAME
from workloadkit.header import Header
from workloadkit.intake import Repair
from workloadkit.preceding import Preceding, find_preceding
from workloadkit.provenance import jobs_removed, moved_times, operations
from workloadkit.trace import Trace

#: An error contradicts the standard; a warning is legal but suspicious; a note is worth knowing.
Severity = Literal["error", "warning", "note"]
FailOn = Literal["error", "warning", "never"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

#: Number of offenders that a breach names.
FIRST_FEW = 3

#: Operations that choose jobs of a log.
_CHOOSE = {"chosen", "segment", "load set"}

_LEFT_OUT = re.compile(r"jobs left out of the simulation: (\d{1,18}) of ")


@dataclass(frozen=True)
class Offender:
    """A job or header label that violates a rule.

    Parameters
    ----------
    values : tuple of (str, value)
        The evidence: names of job fields or header labels, with their values.
    job : int, optional
        Number of the job.
    row : int, optional
        Position in order of submission, from 1; for a part, among the parts.
    line : int, optional
        Line of the file, from 1, if known.
    """

    values: tuple[tuple[str, Any], ...] = ()
    job: int | None = None
    row: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None else ""
        where = f"job {self.job}" if self.job is not None else where
        values = ", ".join(f"{name} {_shown(value)}" for name, value in self.values)
        return f"{where}: {values}" if where and values else where or values

    def to_dict(self) -> dict[str, Any]:
        """Return the offender as plain Python values."""
        where = {"line": self.line, "row": self.row, "job": self.job}
        return {
            **{name: value for name, value in where.items() if value is not None},
            "values": dict(self.values),
        }


@dataclass(frozen=True)
class Breach:
    """A violation of a rule.

    Parameters
    ----------
    count : int
        Number of violations.
    checked : int
        Number of jobs or header labels checked.
    offenders : tuple of Offender
        The first few.
    text : str
        Description, if the offenders do not suffice.
    severity : {"error", "warning", "note"}, optional
        Severity, if it differs from the rule's.
    """

    count: int
    checked: int
    offenders: tuple[Offender, ...] = ()
    text: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, eq=False)
class CheckedLog:
    """A log under test: columns by name, and properties derived from the header.

    Examples
    --------
    >>> header = Header(("; AllowOveruse: No", "; Note:  user=2 (9 jobs removed)"))
    >>> log = CheckedLog(Trace.from_columns({"submit": [0]}, header=header))
    >>> log["submit"].tolist(), log.header.overuse, log.removed
    ([0.0], False, 9)
    """

    trace: Trace

    def __getitem__(self, name: str) -> NDArray:
        """Return a column, shape (n_jobs,)."""
        return self.trace.column(name)

    @property
    def header(self) -> Header:
        """The header of the log."""
        return self.trace.header

    @property
    def n_jobs(self) -> int:
        """Number of jobs; a checkpointed job counts once."""
        return self.trace.n_jobs

    @cached_property
    def as_system(self) -> "CheckedLog":
        """The log with checkpointed jobs split into bursts, if these are valid."""
        try:
            return CheckedLog(self.trace.as_bursts()) if self.trace.n_bursts else self
        except WorkloadError:  # reported by the rules for parts
            return self

    @cached_property
    def in_parts(self) -> NDArray[np.bool_]:
        """Whether each line is a part without summary (Preemption: Yes), shape (n_jobs,)."""
        parts = (self.header.get("Preemption") or "").strip().lower() == "yes"
        return np.isin(self["status"], BURST_STATUS) if parts else np.zeros(self.n_jobs, dtype=bool)

    @cached_property
    def removed(self) -> int:
        """Number of jobs removed by the filters in the header."""
        return jobs_removed(self.header)

    @cached_property
    def left_out(self) -> int:
        """Number of jobs left out of the simulation, according to the header."""
        found = map(_LEFT_OUT.match, self.header.get_all("Note"))
        return sum(int(match[1]) for match in found if match)

    @cached_property
    def has_other_numbers(self) -> bool:
        """Whether job and user numbers may be those of the original log."""
        return bool(self.removed or self.left_out or operations(self.header))

    @cached_property
    def is_part(self) -> bool:
        """Whether the header states that jobs of a log were chosen, which keep their numbers."""
        return not _CHOOSE.isdisjoint(operations(self.header))

    @cached_property
    def is_moved(self) -> bool:
        """Whether the header states that the jobs' times were changed."""
        return bool(moved_times(self.header))

    @cached_property
    def has_other_waits(self) -> bool:
        """Whether waits are those of the original times."""
        return self.is_moved and moved_times(self.header)[-1] != "simulated"

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """End of each job [s], shape (n_jobs,); NaN if its run time is unknown."""
        return self.trace.end

    @cached_property
    def preceding(self) -> Preceding:
        """The preceding job of each job."""
        return find_preceding(self["job"], self["submit"], self["preceding_job"])

    def where(
        self,
        violating: NDArray[np.bool_],
        *fields: str,
        among: NDArray[np.bool_] | None = None,
        severity: Severity | None = None,
        also: Mapping[str, NDArray] | None = None,
    ) -> Breach | None:
        """Return the breach by a subset of the jobs; None if it is empty.

        Parameters
        ----------
        violating : ndarray of bool, shape (n_jobs,)
        *fields : str
            Fields to show for the first few.
        among : ndarray of bool, shape (n_jobs,), optional
            Jobs to which the rule applies. By default all.
        severity : {"error", "warning", "note"}, optional
            Severity, if it differs from the rule's.
        also : mapping of str to ndarray, shape (n_jobs,), optional
            Further values to show, by name.
        """
        rows = np.flatnonzero(violating)
        if not rows.size:
            return None
        checked = self.n_jobs if among is None else int(np.count_nonzero(among))
        shown = {**{name: self[name] for name in fields}, **(also or {})}
        offenders = tuple(self.offender(row, shown) for row in rows[:FIRST_FEW])
        return Breach(rows.size, checked, offenders, severity=severity)

    def by_field(
        self, violating: dict[str, NDArray[np.bool_]], *, severity: Severity | None = None
    ) -> Breach | None:
        """Return the breach by jobs with any violating field.

        Parameters
        ----------
        violating : dict of str to ndarray of bool, shape (n_jobs,)
            By name of the field.
        severity : {"error", "warning", "note"}, optional
            Severity, if it differs from the rule's.
        """
        violating = {name: mask for name, mask in violating.items() if mask.any()}
        if not violating:
            return None
        rows = np.flatnonzero(np.any([*violating.values()], axis=0))
        offenders = tuple(
            self.offender(row, {name: self[name] for name, mask in violating.items() if mask[row]})
            for row in rows[:FIRST_FEW]
        )
        text = ""
        if len(violating) > 1 or rows.size > FIRST_FEW:
            by_field = (f"{_words(name)} {mask.sum():,}" for name, mask in violating.items())
            text = f"{', '.join(by_field)}; {'; '.join(map(str, offenders))}"
        return Breach(rows.size, self.n_jobs, offenders, text, severity)

    def offender(self, row: int, shown: Mapping[str, NDArray]) -> Offender:
        """Return one job as an offender, with the given columns."""
        values = tuple((_words(name), plain(column[row])) for name, column in shown.items())
        return Offender(values, job=int(self["job"][row]), row=int(row) + 1)


@dataclass(frozen=True)
class LogRule:
    """One rule.

    Parameters
    ----------
    name : str
        Short and stable, because scripts use it.
    severity : {"error", "warning", "note"}
        Severity of a breach, unless the breach has its own.
    sentence : str
        The requirement.
    check : callable
        Takes a `CheckedLog`, returns a `Breach` or None.
    """

    name: str
    severity: Severity
    sentence: str
    check: Callable[[CheckedLog], Breach | None]


def in_header(
    *values: tuple[str, Any], text: str, checked: int = 1, severity: Severity | None = None
) -> Breach:
    """Return the breach by values in the header.

    Examples
    --------
    >>> in_header(("MaxJobs", 3), text="2 jobs").offenders[0].values
    (('MaxJobs', 3),)
    """
    return Breach(1, checked, (Offender(values),), text, severity)


def plain(value: Any) -> int | float | str | None:
    """Return a value as a plain Python type; unknown as None, a whole number as int.

    Examples
    --------
    >>> plain(np.float64(3)), plain(np.float64("nan")), plain(2.5)
    (3, None, 2.5)
    """
    if isinstance(value, str):
        return value
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        if not np.isfinite(number):
            return None if np.isnan(number) else str(number)
        return int(number) if number.is_integer() else number
    return number


def known(log: CheckedLog, *fields: str) -> NDArray[np.bool_]:
    """Return whether all given fields of each job are known, shape (n_jobs,)."""
    result = np.ones(log.n_jobs, dtype=bool)
    for name in fields:
        result &= ~np.isnan(log[name]) if BY_NAME[name].measured else log[name] != -1
    return result


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


# Rules of form, checked by the repairs that were made while reading.

# Prefixes of the kinds of `Trace.repairs`, by the rule that they violate.
_KINDS = {
    "submit-order": ("jobs out of order",),
    "columns": ("missing columns", "columns after the 18th", "the file is truncated"),
    "identifiers-whole": ("identifiers with a decimal point",),
    "comments-first": ("comments among the jobs",),
    "plain-text": ("byte order mark",),
}
# Kinds that the rules on ranges, submit times and utilities find in the jobs themselves.
_FOUND_ELSEWHERE = ("negative numbers", "unknown submit times")


def _repaired(name: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check for repairs that violate one rule."""
    return lambda log: _breach(log, [r for r in log.trace.repairs if _is_of(r, _KINDS[name])])


def _otherwise(log: CheckedLog) -> Breach | None:
    all_kinds = (*(kind for kinds in _KINDS.values() for kind in kinds), *_FOUND_ELSEWHERE)
    return _breach(log, [r for r in log.trace.repairs if not _is_of(r, all_kinds)])


def _breach(log: CheckedLog, repairs: list[Repair]) -> Breach | None:
    if not repairs:
        return None
    count = sum(repair.count for repair in repairs)
    return Breach(
        count,
        max(count, log.n_jobs + log.trace.n_bursts),  # there may be more comments than jobs
        tuple(
            Offender(((repair.kind, repair.count),), line=repair.first_line) for repair in repairs
        ),
        "; ".join(map(str, repairs)),
    )


def _is_of(repair: Repair, kinds: tuple[str, ...]) -> bool:
    return repair.kind.startswith(kinds)


READING_RULES: tuple[LogRule, ...] = (
    LogRule(
        "submit-order",
        "error",
        "Lines are in ascending order of submit time.",
        _repaired("submit-order"),
    ),
    LogRule("columns", "error", "Every line has 18 columns.", _repaired("columns")),
    LogRule(
        "identifiers-whole",
        "error",
        "The numbers of jobs, users and so on, and the status, are integers.",
        _repaired("identifiers-whole"),
    ),
    LogRule(
        "comments-first",
        "warning",
        "Comments precede the jobs, on lines of their own.",
        _repaired("comments-first"),
    ),
    LogRule("plain-text", "warning", "The file has no byte order mark.", _repaired("plain-text")),
    LogRule("reading", "warning", "Reading requires no other repairs.", _otherwise),
)
