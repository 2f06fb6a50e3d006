"""Findings: a measure, the threshold that it exceeds and why, its severity and its effect."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from workloadkit.provenance import plain

Severity = Literal["high", "medium", "low", "none"]

#: The most severe first.
SEVERITIES: tuple[str, ...] = get_args(Severity)


#: With fewer jobs, single ones decide every measure.
FEWEST_JOBS = 20


class Rule(NamedTuple):
    """What makes a measure a finding.

    Parameters
    ----------
    title : str
        The measure.
    medium, high : float
        Thresholds of a finding and of a severe one; None if there is no severe one.
    reason : str
        Why these are the thresholds, a sentence.
    form : callable
        Formats the measure.
    is_share : bool
        Whether the measure is a share, which a bar shows.
    least : bool
        Whether the finding is a measure below the thresholds.
    severity : {"medium", "low"}
        Severity beyond the first threshold.
    """

    title: str
    medium: float
    high: float | None
    reason: str
    form: Callable[[float], str]
    is_share: bool = True
    least: bool = False
    severity: Literal["medium", "low"] = "medium"

    def judge(self, value: float) -> Severity:
        """Return the severity of a measure; NaN is none.

        Examples
        --------
        >>> rule = Rule("lost", 0.1, 0.25, "A tenth matters.", str)
        >>> [rule.judge(value) for value in (0.05, 0.1, 0.3, float("nan"))]
        ['none', 'medium', 'high', 'none']
        """
        sign = -1 if self.least else 1
        if self.high is not None and sign * value >= sign * self.high:
            return "high"
        return self.severity if sign * value >= sign * self.medium else "none"


@dataclass(frozen=True)
class Finding:
    """A measure compared with its rule.

    Parameters
    ----------
    name : str
        Name of the measure.
    rule : Rule
    value : float
    effect : str
        What follows for the site, one or two sentences with numbers.
    section : str
        Name of the section with the evidence.
    n : int
        Number of jobs that were measured; with fewer than `FEWEST_JOBS` there is no severity.
    weight : float, default 0
        Share of the machine's work or of the waiting that it concerns: orders findings of the same
        severity.
    series : sequence of float
        The measure over time, for a sparkline.
    series_title : str
        What the series shows.

    Examples
    --------
    >>> rule = Rule("Core-hours lost", 0.1, 0.25, "A tenth matters.", "{:.0%}".format)
    >>> found = Finding("lost", rule, 0.12, "12 % were lost.", "failures", 900)
    >>> found.severity, found.to_dict()["threshold"]
    ('medium', 0.1)
    """

    name: str
    rule: Rule
    value: float
    effect: str
    section: str
    n: int
    weight: float = 0.0
    series: Sequence[float] = ()
    series_title: str = ""

    @property
    def severity(self) -> Severity:
        """Its severity, `none` if the measure is within its threshold or few jobs were measured."""
        return self.rule.judge(self.value) if self.n >= FEWEST_JOBS else "none"

    @property
    def threshold(self) -> float:
        """The threshold that decides its severity."""
        high = self.rule.high
        return high if self.severity == "high" and high is not None else self.rule.medium

    @property
    def shown(self) -> str:
        """The formatted measure."""
        return self.rule.form(self.value)

    @property
    def limit(self) -> str:
        """The thresholds in words."""
        rule = self.rule
        high = "" if rule.high is None else f" (high: {rule.form(rule.high)})"
        return f"{'at most' if rule.least else 'from'} {rule.form(rule.medium)}{high}"

    @property
    def bar(self) -> float | None:
        """The filled share of a bar, None if the measure is not a share."""
        return min(max(self.value, 0.0), 1.0) if self.rule.is_share else None

    @property
    def points(self) -> str:
        """The points of a sparkline in a box of 100 × 20."""
        values = [value if value == value else 0.0 for value in self.series]
        if len(values) < 2:
            return ""
        top = max(values) or 1.0
        step = 100 / (len(values) - 1)
        return " ".join(f"{i * step:.4g},{19 - 18 * v / top:.3g}" for i, v in enumerate(values))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "measure": self.name,
            "title": self.rule.title,
            "value": plain(self.value),
            "threshold": self.threshold,
            "reason": self.rule.reason,
            "severity": self.severity,
            "effect": self.effect,
            "n": self.n,
            "section": self.section,
        }


def ranked(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Order the known measures: the most severe first, then those of most weight."""
    known = [one for one in findings if not math.isnan(one.value)]
    return tuple(sorted(known, key=lambda one: (SEVERITIES.index(one.severity), -one.weight)))
