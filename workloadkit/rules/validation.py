"""Check a log against all rules."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.errors import check_choice, printable
from workloadkit.rules import (
    beside,
    bursts,
    counts,
    dates,
    header,
    machine,
    numbering,
    preceding,
    ranges,
    reading,
    requests,
    status,
)
from workloadkit.rules.rule import SEVERITIES, FailOn, Log, Offender, Rule, Severity
from workloadkit.trace import Trace, check_trace

#: Every rule, in the order in which breaches are shown.
RULES: tuple[Rule, ...] = tuple(
    rule
    for module in (
        reading,
        numbering,
        ranges,
        status,
        machine,
        requests,
        preceding,
        bursts,
        header,
        counts,
        dates,
        beside,
    )
    for rule in module.RULES
)

_WIDTH = 80  # of what is printed


@dataclass(frozen=True)
class Finding:
    """A rule that a log breaks.

    Parameters
    ----------
    rule : str
        Name of the rule.
    severity : {"error", "warning", "note"}
        An error contradicts the standard; a warning is legal but suspicious; a note is worth
        knowing.
    count : int
        How often it is broken.
    checked : int
        Of how many: jobs that could be checked, or labels of the header.
    offenders : tuple of Offender
        The first few.
    text : str
        What is wrong, where the offenders do not tell.
    sentence : str
        What the rule asks.
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
        """What is wrong, or else the first offenders, in a line."""
        return printable(self.text or "; ".join(map(str, self.offenders)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python values."""
        return {**vars(self), "offenders": [offender.to_dict() for offender in self.offenders]}


@dataclass(frozen=True)
class Validation:
    """What a log's check against the rules found.

    Parameters
    ----------
    name : str
        Name of the log.
    jobs : int
        How many jobs it has.
    records : int
        How many lines of jobs: with the parts of checkpointed jobs.
    rules : int
        How many rules were checked.
    findings : tuple of Finding
        The rules that it breaks, errors first, then warnings and notes.
    """

    name: str
    jobs: int
    records: int
    rules: int
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether no rule is broken whose breach is an error."""
        return not self.fails("error")

    def fails(self, on: FailOn) -> bool:
        """Whether a rule is broken whose breach is as severe as `on`, or more.

        Parameters
        ----------
        on : {"error", "warning", "never"}

        Raises
        ------
        ParameterError
            If it is something else.
        """
        check_choice("fail_on", on, FailOn)
        failing = {"error": ("error",), "warning": ("error", "warning"), "never": ()}[on]
        return any(finding.severity in failing for finding in self.findings)

    def __bool__(self) -> bool:
        """Return whether no rule is broken whose breach is an error."""
        return self.holds

    def __getitem__(self, rule: str) -> Finding:
        """Return the finding of a rule that is broken.

        Raises
        ------
        KeyError
            If it is not.
        """
        for finding in self.findings:
            if finding.rule == rule:
                return finding
        raise KeyError(rule)

    def __contains__(self, rule: str) -> bool:
        """Return whether a rule is broken."""
        return any(finding.rule == rule for finding in self.findings)

    @cached_property
    def counts(self) -> dict[Severity, int]:
        """How many rules are broken, by severity."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain Python values."""
        return {
            "log": self.name,
            "jobs": self.jobs,
            "records": self.records,
            "rules": self.rules,
            "holds": self.holds,
            **{f"{severity}s": count for severity, count in self.counts.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row a broken rule: rule, severity, count, checked, first job, found."""
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
        """Return the table of broken rules, what they ask, and what it comes to."""
        head = ("rule", "severity", "count", "what was found, and where first")
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
        broken = [finding for finding in self.findings if finding.severity != "note"]
        if broken:
            lines += ["", "The rules broken:"]
            lines += [
                fill(
                    f"{f.rule}: {f.sentence}", _WIDTH, initial_indent="  ", subsequent_indent="    "
                )
                for f in broken
            ]
        counts = ", ".join(
            f"{count} {severity if count == 1 else severity + 's'}"
            for severity, count in self.counts.items()
        )
        jobs = f"{self.jobs:,} {'job' if self.jobs == 1 else 'jobs'}"
        verdict = "follows the standard" if self.holds else "does not follow the standard"
        summary = f"{self.name}: {jobs}, {self.rules} rules; {counts}: {verdict}."
        return "\n".join([*(lines if rows else []), *([""] if rows else []), fill(summary, _WIDTH)])


def validate(trace: Trace) -> Validation:
    """Check a log against the consistency rules of the Standard Workload Format [1]_.

    Parameters
    ----------
    trace : Trace
        What `read_swf` put right counts as broken.

    Returns
    -------
    Validation
        It holds, and is true, if nothing contradicts the standard or the log's own header.

    Notes
    -----
    What the archive's convention for cleaned logs explains is a note: job numbers stay those of
    the raw log, so that gaps show what the filters removed, and MaxJobs, or also MaxRecords,
    counts the jobs before them. Use beyond a request is an error where AllowOveruse is No, none
    where it is Yes, and a warning where the header says nothing.

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
    log = Log(trace)
    with np.errstate(invalid="ignore", over="ignore"):  # of infinite times made by hand
        found = [
            Finding(
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
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))  # stable: then by rule
    return Validation(
        trace.name, trace.n_jobs, trace.n_jobs + len(trace.bursts), len(RULES), tuple(found)
    )
