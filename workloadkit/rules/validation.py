"""Check a log against all rules."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.display import Displayed, plot_counts
from workloadkit.errors import check_choice, plural, printable
from workloadkit.rules import header, machine, numbering, preceding
from workloadkit.rules.rule import (
    READING_RULES,
    SEVERITIES,
    CheckedLog,
    FailOn,
    LogRule,
    Offender,
    Severity,
)
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: All rules, in the order in which findings are shown.
RULES: tuple[LogRule, ...] = (
    *READING_RULES,
    *numbering.RULES,
    *numbering.RANGE_RULES,
    *numbering.STATUS_RULES,
    *machine.RULES,
    *machine.REQUEST_RULES,
    *preceding.RULES,
    *preceding.BURST_RULES,
    *header.RULES,
    *machine.COUNT_RULES,
    *header.DATE_RULES,
    *header.COMPANION_RULES,
)

_WIDTH = 80  # of the printed table


@dataclass(frozen=True)
class ViolatedRule:
    """A rule that a log violates.

    Parameters
    ----------
    rule : str
        Name of the rule.
    severity : {"error", "warning", "note"}
        An error contradicts the standard; a warning is legal but suspicious; a note is worth
        knowing.
    count : int
        Number of violations.
    checked : int
        Number of jobs that could be checked, or of header labels.
    offenders : tuple of Offender
        The first few.
    text : str
        Description, if the offenders do not suffice.
    sentence : str
        The requirement.
    """

    rule: str
    severity: Severity
    count: int
    checked: int
    offenders: tuple[Offender, ...]
    text: str
    sentence: str

    @property
    def shown(self) -> str:
        """The description, or else the first offenders, on one line."""
        return printable(self.text or "; ".join(map(str, self.offenders)))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain Python values."""
        return {**vars(self), "offenders": [offender.to_dict() for offender in self.offenders]}


@dataclass(frozen=True)
class Validation(Displayed):
    """Result of checking a log against the rules.

    Parameters
    ----------
    name : str
        Name of the log.
    jobs : int
        Number of jobs.
    records : int
        Number of job lines, including the parts of checkpointed jobs.
    rules : int
        Number of rules checked.
    findings : tuple of ViolatedRule
        Violated rules: errors first, then warnings and notes.
    """

    name: str
    jobs: int
    records: int
    rules: int
    findings: tuple[ViolatedRule, ...]

    @property
    def holds(self) -> bool:
        """Whether no rule of severity error is violated."""
        return not self.fails("error")

    def fails(self, on: FailOn) -> bool:
        """Whether a rule of severity `on` or higher is violated.

        Parameters
        ----------
        on : {"error", "warning", "never"}

        Raises
        ------
        ParameterError
            If `on` is anything else.
        """
        check_choice("fail_on", on, FailOn)
        failing = {"error": ("error",), "warning": ("error", "warning"), "never": ()}[on]
        return any(finding.severity in failing for finding in self.findings)

    def __bool__(self) -> bool:
        """Return whether no rule of severity error is violated."""
        return self.holds

    def __getitem__(self, rule: str) -> ViolatedRule:
        """Return the finding of a violated rule.

        Raises
        ------
        KeyError
            If the rule is satisfied.
        """
        for finding in self.findings:
            if finding.rule == rule:
                return finding
        raise KeyError(rule)

    def __contains__(self, rule: str) -> bool:
        """Return whether a rule is violated."""
        return any(finding.rule == rule for finding in self.findings)

    @cached_property
    def counts(self) -> dict[Severity, int]:
        """Number of violated rules, by severity."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python values."""
        return {
            "log": self.name,
            "jobs": self.jobs,
            "records": self.records,
            "rules": self.rules,
            "holds": self.holds,
            **{f"{severity}s": count for severity, count in self.counts.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how often each rule is violated."""
        ax = plot_counts({f.rule: f.count for f in self.findings}, ax, label="violations")
        ax.set_ylabel("rule")
        return ax

    def _summary(self) -> str:
        found = ", ".join(plural(count, severity) for severity, count in self.counts.items())
        return f"{self.name!r}, {plural(self.jobs, 'job')}, {self.rules} rules: {found}"

    def _table(self) -> "pd.DataFrame":
        """Return one row per violated rule: rule, severity, count, checked, first job, finding."""
        import pandas as pd

        rows = [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "count": finding.count,
                "checked": finding.checked,
                "first_job": finding.offenders[0].job if finding.offenders else None,
                "found": finding.shown,
            }
            for finding in self.findings
        ]
        columns = ("rule", "severity", "count", "checked", "first_job", "found")
        frame = pd.DataFrame(rows, columns=columns)
        return frame.astype({"first_job": "Int64"})

    def __str__(self) -> str:
        """Return the table of violated rules, their requirements, and a summary."""
        head = ("rule", "severity", "count", "finding, with the first jobs")
        rows = [(f.rule, f.severity, f"{f.count:,}", f.shown) for f in self.findings]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)][:3]
        margin = " " * (sum(widths) + 6)
        lines = [
            fill(
                f"{rule:{widths[0]}}  {severity:{widths[1]}}  {count:>{widths[2]}}  {found}",
                _WIDTH,
                subsequent_indent=margin,
            )
            for rule, severity, count, found in (head, *rows)
        ]
        violated = [finding for finding in self.findings if finding.severity != "note"]
        if violated:
            lines += ["", "Warnings, from rules:" if self.holds else "Violated rules:"]
            lines += [
                fill(
                    f"{f.rule}: {f.sentence}", _WIDTH, initial_indent="  ", subsequent_indent="    "
                )
                for f in violated
            ]
        machine = ", ".join(plural(count, severity) for severity, count in self.counts.items())
        jobs = plural(self.jobs, "job")
        verdict = "follows the standard" if self.holds else "does not follow the standard"
        summary = f"{self.name}: {jobs}, {self.rules} rules; {machine}: {verdict}."
        return "\n".join([*(lines if rows else []), *([""] if rows else []), fill(summary, _WIDTH)])


def validate(trace: Trace) -> Validation:
    """Check a log against the consistency rules of the Standard Workload Format [1]_.

    Parameters
    ----------
    trace : Trace
        Repairs made by `read_swf` count as violations.

    Returns
    -------
    Validation
        `holds` is true if nothing contradicts the standard or the log's own header.

    Notes
    -----
    Deviations that the archive's convention for cleaned logs explains are notes: job numbers stay
    those of the raw log, so gaps show what the filters removed, and MaxJobs, possibly MaxRecords,
    counts the jobs before cleaning. Use beyond a request is an error if AllowOveruse is No,
    allowed if it is Yes, and a warning if the header does not state it.

    References
    ----------
    .. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
       schedulers", JSSPP 1999, section 2.3; version 2.2 of the format, Parallel Workloads Archive.

    Examples
    --------
    >>> from workloadkit import Header
    >>> log = {"submit": [0, 5], "run": [9, 9], "procs": [4, 16], "user": [1, 1]}
    >>> report = validate(Trace.from_columns(log, header=Header(("; MaxProcs: 8",))))
    >>> report.holds, report["procs-machine"].count
    (False, 1)
    >>> print(report["procs-machine"].offenders[0])
    job 2: procs 16, MaxProcs 8
    """
    check_trace(trace)
    log = CheckedLog(trace)
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # columns built by hand may have infinite times
        found = [
            ViolatedRule(
                rule.name,
                breach.severity or rule.severity,
                breach.count,
                breach.checked,
                breach.offenders,
                breach.text,
                rule.sentence,
            )
            for rule in RULES
            if (breach := rule.check(log)) is not None
        ]
    found.sort(
        key=lambda finding: SEVERITIES.index(finding.severity)
    )  # a stable sort keeps the order of rules
    return Validation(
        trace.name,
        trace.n_jobs,
        trace.n_jobs + trace.n_bursts,
        len(RULES),
        tuple(found),
    )
