"""What a rule is, what it looks at, and what breaks it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import BURST_STATUS, BY_NAME
from workloadkit.header import Header
from workloadkit.preceding import Preceding, find_preceding
from workloadkit.provenance import moved_times, operations
from workloadkit.trace import Trace

#: An error contradicts the standard; a warning is legal but suspicious; a note is worth knowing.
Severity = Literal["error", "warning", "note"]
FailOn = Literal["error", "warning", "never"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

#: So many of those that break a rule are named.
FIRST_FEW = 3

_REMOVED = re.compile(r"\((\d{1,18}) jobs? removed\)")
_LEFT_OUT = re.compile(r"jobs left out of the simulation: (\d{1,18}) of ")


@dataclass(frozen=True)
class Offender:
    """One of those that break a rule.

    Parameters
    ----------
    values : tuple of (str, value)
        What shows it: fields of the job or labels of the header, and what stands there.
    job : int, optional
        Number of the job.
    row : int, optional
        Its place in order of submission, from 1; of a partial execution, among those.
    line : int, optional
        Line of the file, from 1, where it is known.
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
        """Return it as plain Python values."""
        where = {"line": self.line, "row": self.row, "job": self.job}
        return {
            **{name: value for name, value in where.items() if value is not None},
            "values": dict(self.values),
        }


@dataclass(frozen=True)
class Breach:
    """How a log breaks a rule.

    Parameters
    ----------
    count : int
        How often.
    checked : int
        Of how many: jobs, or labels of the header.
    offenders : tuple of Offender
        The first few.
    text : str
        What is wrong, where the offenders do not tell.
    severity : {"error", "warning", "note"}, optional
        Where it is another than the rule's.
    """

    count: int
    checked: int
    offenders: tuple[Offender, ...] = ()
    text: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, eq=False)
class Log:
    """A log while it is checked: its columns by name, and what the header says of all its jobs.

    Examples
    --------
    >>> header = Header(("; AllowOveruse: No", "; Note:  user=2 (9 jobs removed)"))
    >>> log = Log(Trace.from_columns({"submit": [0]}, header=header))
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
        """Number of jobs, each checkpointed one once."""
        return self.trace.n_jobs

    @cached_property
    def as_system(self) -> "Log":
        """The log as the system saw it: checkpointed jobs as their bursts, if these are right."""
        try:
            return self if self.trace.bursts.empty else Log(self.trace.as_bursts())
        except WorkloadError:  # the rules of parts tell of it
            return self

    @cached_property
    def in_parts(self) -> NDArray[np.bool_]:
        """Which lines are parts of jobs that no line sums up (Preemption: Yes), shape (n_jobs,)."""
        told = (self.header.get("Preemption") or "").strip().lower() == "yes"
        return np.isin(self["status"], BURST_STATUS) if told else np.zeros(self.n_jobs, dtype=bool)

    @cached_property
    def removed(self) -> int:
        """Jobs that were removed by the filters which the header names."""
        return sum(map(int, _REMOVED.findall("\n".join(self.header.lines))))

    @cached_property
    def left_out(self) -> int:
        """Jobs that were left out of the simulation which the header names."""
        found = map(_LEFT_OUT.match, self.header.get_all("Note"))
        return sum(int(match[1]) for match in found if match)

    @cached_property
    def has_other_numbers(self) -> bool:
        """Whether jobs, users and so on may have the numbers of the log that this was made from."""
        return bool(self.removed or self.left_out or operations(self.header))

    @cached_property
    def is_moved(self) -> bool:
        """Whether the header says that the jobs of another log were given other times."""
        return bool(moved_times(self.header))

    @cached_property
    def has_other_waits(self) -> bool:
        """Whether jobs have waits that they had at other times."""
        return self.is_moved and moved_times(self.header)[-1] != "simulated"

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """Second at which each job ended, shape (n_jobs,); NaN if its run time is unknown."""
        return self.trace.end

    @cached_property
    def preceding(self) -> Preceding:
        """The job that each one waits for."""
        return find_preceding(self["job"], self["submit"], self["preceding_job"])

    def where(
        self,
        broken: NDArray[np.bool_],
        *fields: str,
        among: NDArray[np.bool_] | None = None,
        severity: Severity | None = None,
        also: Mapping[str, NDArray] | None = None,
    ) -> Breach | None:
        """Return the breach by some of the jobs, None if there is none.

        Parameters
        ----------
        broken : ndarray of bool, shape (n_jobs,)
        *fields : str
            What is shown of the first few.
        among : ndarray of bool, shape (n_jobs,), optional
            Which jobs can be checked at all. By default all.
        severity : {"error", "warning", "note"}, optional
            Where it is another than the rule's.
        also : mapping of str to ndarray, shape (n_jobs,), optional
            More of what is shown, by its name.
        """
        rows = np.flatnonzero(broken)
        if not rows.size:
            return None
        checked = self.n_jobs if among is None else int(np.count_nonzero(among))
        shown = {**{name: self[name] for name in fields}, **(also or {})}
        offenders = tuple(self.offender(row, shown) for row in rows[:FIRST_FEW])
        return Breach(rows.size, checked, offenders, severity=severity)

    def by_field(
        self, broken: dict[str, NDArray[np.bool_]], *, severity: Severity | None = None
    ) -> Breach | None:
        """Return the breach by jobs of which any field is broken; each shows those that are.

        Parameters
        ----------
        broken : dict of str to ndarray of bool, shape (n_jobs,)
            By the name of the field.
        severity : {"error", "warning", "note"}, optional
            Where it is another than the rule's.
        """
        broken = {name: mask for name, mask in broken.items() if mask.any()}
        if not broken:
            return None
        rows = np.flatnonzero(np.any([*broken.values()], axis=0))
        offenders = tuple(
            self.offender(row, {name: self[name] for name, mask in broken.items() if mask[row]})
            for row in rows[:FIRST_FEW]
        )
        text = ""
        if len(broken) > 1 or rows.size > FIRST_FEW:
            by_field = (f"{_words(name)} {mask.sum():,}" for name, mask in broken.items())
            text = f"{', '.join(by_field)}; {'; '.join(map(str, offenders))}"
        return Breach(rows.size, self.n_jobs, offenders, text, severity)

    def offender(self, row: int, shown: Mapping[str, NDArray]) -> Offender:
        """Return one job with values from columns by their names."""
        values = tuple((_words(name), plain(column[row])) for name, column in shown.items())
        return Offender(values, job=int(self["job"][row]), row=int(row) + 1)


@dataclass(frozen=True)
class Rule:
    """One rule.

    Parameters
    ----------
    name : str
        Short, the same for ever: scripts look for it.
    severity : {"error", "warning", "note"}
        How bad a breach is, unless the breach says otherwise.
    sentence : str
        What the rule asks.
    check : callable
        Takes a `Log`, gives a `Breach` or None.
    """

    name: str
    severity: Severity
    sentence: str
    check: Callable[[Log], Breach | None]


def in_header(
    *values: tuple[str, Any], text: str, checked: int = 1, severity: Severity | None = None
) -> Breach:
    """Return the breach by one statement of the header.

    Examples
    --------
    >>> in_header(("MaxJobs", 3), text="2 jobs").offenders[0].values
    (('MaxJobs', 3),)
    """
    return Breach(1, checked, (Offender(values),), text, severity)


def plain(value: Any) -> int | float | str | None:
    """Return a value as plain Python, an unknown one as None, a whole one as an int.

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


def known(log: Log, *fields: str) -> NDArray[np.bool_]:
    """Return where fields are known, none of them unknown, shape (n_jobs,)."""
    result = np.ones(log.n_jobs, dtype=bool)
    for name in fields:
        result &= ~np.isnan(log[name]) if BY_NAME[name].measured else log[name] != -1
    return result


def distinct(values: ArrayLike) -> int:
    """Return how many different values there are."""
    return int(np.unique(np.asarray(values)).size)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
