"""Findings of a study: a scorecard, and a table of all claims."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd

from workloadkit import __version__
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.study import (
    NUMBERS,
    VERDICTS,
    Cause,
    Drawing,
    Kind,
    Reading,
    Result,
    Study,
)
from workloadkit.analysis.section import Figure, Section, Table
from workloadkit.display import Displayed, plot_counts
from workloadkit.errors import plural
from workloadkit.provenance import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Findings(Displayed):
    """The results of a study.

    Parameters
    ----------
    study : Study
    results : tuple of Result
    logs : mapping of Log to str
        The logs of the study, with the digests of their text; an empty digest for a missing log.
    reading : mapping of str to str
        The chosen option of each axis.
    provenance : mapping of str to object
        Version of workloadkit and, if the study is random, number of runs and seed.
    drawings : tuple of Drawing
        Figures of the study.
    """

    study: Study
    results: tuple[Result, ...]
    logs: Mapping[Log, str]
    reading: Reading
    provenance: Mapping[str, Any]
    drawings: tuple[Drawing, ...] = ()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the number of claims by verdict."""
        found = Counter(result.verdict for result in self.results)
        return plot_counts({verdict: found[verdict] for verdict in VERDICTS}, ax, label="claims")

    def _summary(self) -> str:
        found = Counter(result.verdict for result in self.results)
        verdicts = ", ".join(f"{verdict}: {found[verdict]}" for verdict in VERDICTS)
        return f"{self.study.name!r}, {verdicts}"

    def _table(self) -> pd.DataFrame:
        """Return one row for each result."""
        return pd.DataFrame([_row(result) for result in self.results], columns=list(_COLUMNS))

    @property
    def main(self) -> list[Result]:
        """The results for the main claims."""
        return [result for result in self.results if result.claim.main]

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """The number of results by kind of claim and verdict, main claims included."""
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in get_args(Kind)}
        for result in self.results:
            counts[result.claim.kind][result.verdict] += 1
        return {kind: of_kind for kind, of_kind in counts.items() if of_kind}

    def to_csv(self) -> str:
        """Return the results as CSV, with numbers in full precision."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for result in self.results:
            writer.writerow(f"{c:.12g}" if isinstance(c, float) else c for c in _row(result))
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the results, logs and reading as types that JSON can represent."""
        logs = {
            log.name: {"published": log.published, "version": log.version, "sha256": digest}
            for log, digest in self.logs.items()
        }
        return plain(
            {
                "study": self.study.name,
                "title": self.study.title,
                "claims": [dict(zip(_COLUMNS, _row(r), strict=True)) for r in self.results],
                "reading": self.reading,
                "logs": logs,
                "provenance": self.provenance,
            }
        )

    def to_markdown(self) -> str:
        """Return the results as a page: scorecard, readings, claims, figures and inputs."""
        title, _, text = self.study.text.strip().partition("\n")
        made_by = ", ".join(f"{name} {value}" for name, value in self.provenance.items())
        claims = ((*shown(r), r.claim.place, _note(r)) for r in self.results)
        parts = (
            f"# {title.removesuffix('.')}",
            text.strip(),
            f"Source: {self.study.source}.",
            "## Scorecard",
            markdown_table(SHOWN, map(shown, self.main)),
            markdown_table(("claims", *VERDICTS), self.count_rows()),
            "## What the source leaves open" if self.study.axes else "",
            markdown_table(("axis", "words of the source", "chosen", "meaning"), self._axis_rows()),
            "## Claims",
            markdown_table((*SHOWN, "place", "note"), claims),
            *(f"![{drawing.title}]({drawing.name}.svg)" for drawing in self.drawings),
            "## Inputs",
            markdown_table(
                ("log", "version published", "version available", "SHA-256"), self._log_rows()
            ),
            f"Made by {made_by}.",
        )
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self) -> str:
        """Return the results as a self-contained HTML page, with figures that answer the mouse."""
        from workloadkit.analysis.result_page import ResultPage

        title, _, text = self.study.text.strip().partition("\n")
        found = Counter(result.verdict for result in self.results)
        verdicts = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS)
        claims = [(*shown(r), r.claim.place, _note(r)) for r in self.results]
        drawn = tuple(
            Figure(each.name, each.title, "", each.data, each.plot, wide=True)
            for each in self.drawings
        )
        axes = ("axis", "words of the source", "chosen", "meaning")
        logs = ("log", "version published", "version available", "SHA-256")
        sections = (
            Section(
                "scorecard",
                "Scorecard",
                f"Of {plural(len(self.results), 'claim')}: {verdicts}.",
                tuple(" ".join(part.split()) for part in text.strip().split("\n\n") if part),
                tables=(
                    _words("main", "The main claims.", SHOWN, map(shown, self.main)),
                    _words("verdicts", "Claims by verdict.", ("", *VERDICTS), self.count_rows()),
                ),
            ),
            Section("figures", "Figures", figures=drawn),
            Section("open", "What the source leaves open", tables=(
                _words("axes", "Readings of the source.", axes, self._axis_rows()),)),
            Section("claims", "Claims", tables=(
                _words("claims", "All claims.", (*SHOWN, "place", "note"), claims),)),
            Section("inputs", "Inputs", tables=(
                _words("logs", "The logs.", logs, self._log_rows()),)),
        )  # fmt: skip
        filled = (x for x in sections if x.figures or any(len(t.data) for t in x.tables))
        made_by = ", ".join(f"{name} {value}" for name, value in self.provenance.items())
        lead = (("Source", f"{self.study.source}."), ("Made by", f"{made_by}."))
        return ResultPage(
            self, tuple(filled), title.removesuffix("."), f"Study {self.study.name}", lead
        ).to_html()

    def _axis_rows(self) -> list[tuple[str, ...]]:
        taken = ((axis, self.reading[axis.name]) for axis in self.study.axes)
        return [(axis.name, axis.words, name, axis.options[name]) for axis, name in taken]

    def _log_rows(self) -> list[tuple[str, ...]]:
        return [
            (log.name, log.published, log.version or "missing", digest)
            for log, digest in self.logs.items()
        ]

    def count_rows(self) -> list[tuple[str, ...]]:
        """Return the rows of a table of `counts`."""
        return [
            (kind, *(f"{of_kind[verdict]}" for verdict in VERDICTS))
            for kind, of_kind in self.counts.items()
        ]


def _words(
    name: str, caption: str, headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Table:
    """Return a table of words for a page; its first column names the rows."""
    data = pd.DataFrame(list(rows), columns=list(headings)).set_index(headings[0])
    return Table(name, caption, data, data.astype(object), first=headings[0])


#: Parts of the counts of a scorecard: heading, text, and kinds of claims.
_COUNTED: tuple[tuple[str, str, tuple[Kind, ...]], ...] = (
    (
        "Printed numbers",
        "Numbers that the sources print, alone. The margin is 10 % unless a study has a reason for "
        "another.",
        ("printed",),
    ),
    ("Bounds and directions", "What the sources state without a number of ours.",
     ("bound", "direction")),
    (
        "Our own thresholds",
        "The source uses a word such as \"close\", or is silent, and the study chose the number.",
        ("ours",),
    ),
    (
        "Numbers from no publication",
        "A separate program computed them, or the log records them (field 3).",
        ("computed",),
    ),
)  # fmt: skip


def scorecard(found: Sequence[Findings], title: str, causes: Sequence[Cause] = ()) -> str:
    """Return a page about several studies: counts by kind and verdict, main claims, and causes.

    Parameters
    ----------
    found : sequence of Findings
    title : str
    causes : sequence of Cause
        What is known of contradicted main claims; those of other claims are left out.

    Examples
    --------
    >>> from workloadkit.analysis import studies
    >>> from workloadkit.analysis.reproduction import kept_findings
    >>> kept = studies.REFERENCE
    >>> page = scorecard([kept_findings(studies.load_study("chapin"), kept)], "One study")
    >>> page.splitlines()[0]
    '# Results of the studies: One study'
    """
    counts = [
        f"## {heading}\n\n{text}\n\n{table}"
        for heading, text, kinds in _COUNTED
        if (table := markdown_table(("study", *VERDICTS), _verdicts(found, kinds)))
    ]
    main = (
        f"### {f.study.name}\n\n{f.study.title}.\n\n{markdown_table(SHOWN, map(shown, f.main))}"
        + _known(f, causes)
        for f in found
        if f.main
    )
    other = sorted(
        {
            (log.name, log.published, log.version or "missing")
            for findings in found
            for log in findings.logs
            if log.version != log.published
        }
    )
    parts = (
        f"# Results of the studies: {title}",
        "A claim is reproduced if our 95 % interval lies within its margin, contradicted if it "
        "lies outside, else too uncertain. "
        "Its input is missing if a log or a number is not available.",
        *counts,
        "## Main claims",
        "Below the main claims of a study stands what is known of each contradicted one: the "
        "cause and a run that shows it, the readings of the source that were tried, or that it is "
        "open."
        if causes
        else "",
        *main,
        "## Logs whose version differs from the source",
        markdown_table(("log", "version published", "version available"), other),
        f"Made by `workloadkit study {title}`, version {__version__}; "
        "details are on the page of each study.",
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdicts(found: Sequence[Findings], kinds: Sequence[Kind]) -> list[tuple[str, ...]]:
    """Return a row for each study with claims of some kinds, and one for all."""
    rows = [
        (findings.study.name, sum((findings.counts.get(kind, Counter()) for kind in kinds),
                                  Counter[str]()))
        for findings in found
    ]  # fmt: skip
    rows = [(name, of_study) for name, of_study in rows if of_study]
    if len(rows) > 1:
        rows.append(("all", sum((of_study for _, of_study in rows), Counter[str]())))
    return [(name, *(f"{of_study[verdict]}" for verdict in VERDICTS)) for name, of_study in rows]


def _known(findings: Findings, causes: Sequence[Cause]) -> str:
    """Return a table of what is known of the contradicted main claims of a study."""
    logs: dict[str, list[str]] = {}
    for result in findings.main:
        if result.verdict == "contradicted":
            logs.setdefault(result.claim.quantity, []).append(result.log.name)
    rows = (
        (cause.quantity, ", ".join(logs[cause.quantity]), cause.state, cause.words,
         f"`{cause.run}`" if cause.run else "")
        for cause in causes
        if cause.study == findings.study.name and cause.quantity in logs
    )  # fmt: skip
    table = markdown_table(("contradicted", "logs", "state", "what is known", "run"), rows)
    return f"\n\n{table}" if table else ""


_COLUMNS = (
    *("log", "version", "version_published", "place", "kind", "main", "quantity", "published"),
    *("agrees_from", "agrees_to", "strict", "ours", "low", "high", "difference", "percent"),
    *("verdict", "note"),
)


def _row(result: Result) -> tuple[Any, ...]:
    log, claim = result.log, result.claim
    return (
        *(log.name, log.version, log.published, claim.place, claim.kind, int(claim.main)),
        *(claim.quantity, claim.published, *claim.agrees, int(claim.strict)),
        *(result.ours, result.low, result.high, result.difference, result.percent),
        *(result.verdict, result.note),
    )


def _note(result: Result) -> str:
    other = "another version of the log" if result.log.is_other else ""
    return "; ".join(part for part in (result.note, other) if part)


#: Headings of a table for readers.
SHOWN = ("log", "quantity", "published", "ours", "difference", "verdict")


def shown(result: Result) -> tuple[str, ...]:
    """Return the cells of a result under the headings `SHOWN`.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import Log, Result, above, printed
    >>> log = Log("KTH-SP2", "KTH-SP2-1996-2")
    >>> shown(Result(log, printed("jobs", 2000, "Table 1", margin=0), 1990))
    ('KTH-SP2', 'jobs', '2,000', '1,990', '-10 (-0.50 %)', 'contradicted')
    >>> shown(Result(log, above("gain", 1, "section 2"), 1.5, 1.2, 1.9))[2:]
    ('> 1', '1.5 [1.2, 1.9]', '', 'reproduced')
    """
    claim = result.claim
    if math.isnan(result.ours):
        ours = difference = ""
    else:
        ours = digits(result.ours, 4)
        if result.low is not None and result.high is not None and not math.isnan(result.low):
            ours += f" [{digits(result.low, 4)}, {digits(result.high, 4)}]"
        difference = _difference(result) if claim.kind in NUMBERS else ""
    return (
        *(result.log.version or result.log.name, claim.quantity),
        *(_published(result), ours, difference, result.verdict),
    )


def _published(result: Result) -> str:
    """Format a printed number, or a bound with its sign."""
    claim = result.claim
    low, high = claim.agrees
    published = digits(claim.published, 4)
    if claim.kind in NUMBERS:
        return published
    if math.isinf(high):
        return f"{'>' if claim.strict else '≥'} {published}"
    if math.isinf(low):
        return f"{'<' if claim.strict else '≤'} {published}"
    return f"{digits(low, 4)} to {digits(high, 4)}"


def _difference(result: Result) -> str:
    text = digits(result.difference, 2, sign="+") if result.difference else "0"
    if result.difference and result.percent is not None:
        text += f" ({result.percent:+.2f} %)"
    return text


def digits(value: float, count: int, sign: str = "") -> str:
    """Format a number with `count` significant digits (a count in full), without an exponent.

    Examples
    --------
    >>> digits(28489, 4), digits(0.52834, 4), digits(-199.8, 2, sign="+")
    ('28,489', '0.5283', '-200')
    """
    if not isinstance(value, float):
        return f"{value:{sign},}"
    if value == 0 or not math.isfinite(value):
        return f"{value:{sign}.0f}"
    rounded = float(f"{value:.{count - 1}e}")
    decimals = max(count - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{value:{sign},.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def markdown_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as Markdown; an empty string if it has no rows."""
    lines = [tuple(headings), *map(tuple, rows)]
    if len(lines) == 1:
        return ""
    lines.insert(1, ("---",) * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
