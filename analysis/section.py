"""Parts of a report: sections, tables and figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis.finding import Finding
from workloadkit.analysis.formats import share, with_interval
from workloadkit.display import Displayed
from workloadkit.errors import plural, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.provenance import plain
from workloadkit.trace import Trace
from workloadkit.units import UnitWords, text_in_words, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Title and cell formatter of each column to show.
Columns = Mapping[str, tuple[str, Callable[[Any], str]]]

#: Seed of all random draws in a report, so that the same log gives the same page.
SEED = 1

_HALF_PAGE = 60  # characters in a row of a table that stands next to another


class AnalysisResult(Displayed):
    """Base class of analysis results: a frozen dataclass of numbers, texts and tables.

    Subclasses draw themselves with ``plot(ax=None)``, which returns the Axes.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Waits(AnalysisResult):
    ...     mean: float
    ...     by_user: pd.DataFrame
    >>> Waits(3.0, pd.DataFrame({"wait": [2.0, float("nan")]})).to_dict()
    {'mean': 3.0, 'by_user': [{'index': 0, 'wait': 2.0}, {'index': 1, 'wait': None}]}
    """

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the result on the given Axes, or on the current Axes."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values; a table becomes a list of rows."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Table:
    """A table: its data, and the formatted text.

    Parameters
    ----------
    name : str
        Name in the JSON.
    caption : str
        What the table shows, in a sentence.
    data : DataFrame
        The numbers, in full precision.
    shown : DataFrame of str
        The same cells, formatted, with the displayed row and column labels.
    words : bool, default False
        Whether cells hold words (aligned left) instead of numbers.
    folded : bool, default False
        Whether the page shows the table collapsed.
    first : str, default ""
        Title of the names of the rows.
    """

    name: str
    caption: str
    data: pd.DataFrame
    shown: pd.DataFrame
    words: bool = False
    folded: bool = False
    first: str = ""

    @property
    def sortable(self) -> bool:
        """Whether its rows can be sorted by its columns."""
        return self.headed and len(self.shown) > 1

    @property
    def headed(self) -> bool:
        """Whether its columns have titles."""
        return any(self.shown.columns)

    @property
    def in_words(self) -> set[str]:
        """Titles of the columns with words, which are aligned left: cells that begin with a letter.

        Examples
        --------
        >>> text = pd.DataFrame({"kind": ["burst"], "length": ["1 h"], "share": ["–"]})
        >>> Table("unusual", "Unusual periods.", text, text).in_words
        {'kind'}
        """
        return {
            title for title, cells in self.shown.items() if any(str(c)[:1].isalpha() for c in cells)
        }

    @property
    def wide(self) -> bool:
        """Whether the table needs the full width of a page."""
        cells = [self.shown.index, *(column for _, column in self.shown.items())]
        letters = [max((len(str(cell)) for cell in column), default=0) for column in cells]
        titles = [0, *(len(str(title)) for title in self.shown.columns)]
        columns = [max(pair) + 2 for pair in zip(letters, titles, strict=True)]
        return not self.words and sum(columns) > _HALF_PAGE

    def to_dict(self) -> dict[str, Any]:
        """Return caption and rows, as plain Python values."""
        return {"caption": self.caption, "rows": _plain(self.data)}


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure: its data, and the function that draws it.

    Parameters
    ----------
    name : str
        Name of the file and in the JSON; unique in its section.
    title : str
        Short title.
    caption : str
        What is shown, in a sentence.
    data : DataFrame
        The numbers.
    plot : callable
        ``plot(data, ax=None) -> Axes``.
    alt : str, default ""
        What the figure shows, for readers who do not see it; by default the finding of its section.
    wide : bool, default False
        Whether it needs the full width of a page.
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    plot: Callable[..., "Axes"]
    alt: str = ""
    wide: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return title, caption and the columns of the data, as plain Python values."""
        columns = self.data.reset_index().to_dict("list")
        return {"title": self.title, "caption": self.caption, "data": plain(columns)}


@dataclass(frozen=True, eq=False)
class Section:
    """A section of a report.

    Parameters
    ----------
    name : str
        Name in the JSON, in links and in file names.
    title : str
        Heading.
    finding : str
        One or two sentences with the main numbers, for the top of the page.
    notes : tuple of str
        Sentences on missing data and on how to read the numbers.
    values : mapping
        Single numbers by name, for the JSON. Times in seconds.
    tables : tuple of Table
    figures : tuple of Figure
    parameters : mapping
        Parameters of the computation. Times are floats [s], counts and seeds integers.
    findings : tuple of Finding
        Measures with thresholds, which the page ranks.
    gaps : tuple of str
        Sentences on what the log cannot answer, for the top of the page.
    """

    name: str
    title: str
    finding: str = ""
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    gaps: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Name the section and begin its finding, on one line."""
        return f"Section({self.name!r}, {quoted(self.finding or self.title, 120)})"

    def to_dict(self) -> dict[str, Any]:
        """Return title, finding, notes, values, tables and figures, as plain Python values."""
        return {
            "title": self.title,
            "finding": self.finding,
            "notes": list(self.notes),
            "values": plain(self.values),
            "tables": {table.name: table.to_dict() for table in self.tables},
            "figures": {figure.name: figure.to_dict() for figure in self.figures},
        }


#: A part of a section, which `joined` adds to others.
part = partial(Section, "", "")


def joined(*parts: Section) -> Section:
    """Join the parts of a section, in order; what the log cannot answer is among its last notes.

    Name and title are those of the first part.

    Examples
    --------
    >>> joined(Section("load", "Load", gaps=("Why?",)), part("It was high.", ("!",))).notes
    ('!', 'Why?')
    """
    together: dict[str, Any] = {
        name: tuple(one for part in parts for one in getattr(part, name))
        for name in ("notes", "tables", "figures", "findings", "gaps")
    }
    together["notes"] += together["gaps"]
    return replace(
        parts[0],
        finding=" ".join(part.finding for part in parts if part.finding),
        values={name: value for part in parts for name, value in part.values.items()},
        parameters={name: value for part in parts for name, value in part.parameters.items()},
        **together,
    )


# The words of a section whose log is seen in another unit than processors.


def in_words_of(section: Section, trace: Trace) -> Section:
    """Return a section on a log with the words of its unit, where it has processors.

    Examples
    --------
    >>> from workloadkit.header import Header
    >>> from workloadkit.units import in_unit
    >>> table = pd.DataFrame({"processors": ["8"]}, ["most processors"])
    >>> log = Trace.from_columns({"submit": [0]}, header=Header(("; MaxNodes: 9",)))
    >>> log = in_unit(log.with_columns(procs=[8]), "nodes")
    >>> made = in_words_of(Section("load", "Load", tables=(Table("a", "", table, table),)), log)
    >>> made.tables[0].shown.to_dict()
    {'nodes': {'most nodes': '8'}}
    """
    if trace.counting is None:
        return section
    write = partial(text_in_words, words_of(trace))
    tables = tuple(table_in_words(words_of(trace), table) for table in section.tables)
    figures = tuple(
        replace(
            figure,
            title=write(figure.title),
            caption=write(figure.caption),
            alt=write(figure.alt),
            plot=partial(_plot_in_words, words_of(trace), figure.plot),
        )
        for figure in section.figures
    )
    findings = tuple(
        replace(
            one,
            rule=one.rule._replace(title=write(one.rule.title), reason=write(one.rule.reason)),
            effect=write(one.effect),
            series_title=write(one.series_title),
        )
        for one in section.findings
    )
    return replace(
        section,
        finding=write(section.finding),
        notes=tuple(map(write, section.notes)),
        tables=tables,
        figures=figures,
        findings=findings,
        gaps=tuple(map(write, section.gaps)),
    )


def table_in_words(words: UnitWords, table: Table) -> Table:
    """Return a table with the words of a unit instead of processors."""
    write = partial(text_in_words, words)
    text = table.shown.rename(index=write, columns=write)
    return replace(table, caption=write(table.caption), shown=text)


def _plot_in_words(
    words: UnitWords, plot: Callable[..., "Axes"], data: pd.DataFrame, ax: "Axes | None" = None
) -> "Axes":
    """Draw a figure whose axes, ticks and legend have the words of a unit."""
    ax = plot(data, ax)
    for axis in (ax.xaxis, ax.yaxis):
        places = axis.get_majorticklocs().tolist()
        texts = axis.get_major_formatter().format_ticks(places)
        written = [text_in_words(words, text) for text in texts]
        if written != texts:
            axis.set_ticks(places, written)
    ax.set_xlabel(text_in_words(words, ax.get_xlabel()))
    ax.set_ylabel(text_in_words(words, ax.get_ylabel()))
    legend = ax.get_legend()
    for label in legend.get_texts() if legend is not None else ():
        label.set_text(text_in_words(words, label.get_text()))
    return ax


def why_no_users(trace: Trace) -> str:
    """Return why a log has no users to report; empty if it has."""
    if not trace.ran.any():
        return "No job of this log ran"
    return "" if (trace.ran & (trace.column("user") != UNKNOWN)).any() else "No user is known"


def unknown_users(trace: Trace) -> tuple[str, ...]:
    """Return the note on jobs of unknown users that are left out, if there are any."""
    n_jobs = int((trace.ran & (trace.column("user") == UNKNOWN)).sum())
    return (f"Left out: {plural(n_jobs, 'job')} of unknown users.",) if n_jobs else ()


def unanswered(name: str, title: str, gap: str) -> Section:
    """Return a section that only states why the log cannot answer it."""
    return Section(name, title, notes=(gap,), gaps=(gap,))


def shown(data: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return a table of formatted cells.

    Examples
    --------
    >>> from workloadkit.analysis.formats import duration
    >>> shown(pd.DataFrame({"run": [90.0]}), {"run": ("run time", duration)})
         run time
    0  1 min 30 s
    """
    cells = {title: [form(x) for x in data[name]] for name, (title, form) in columns.items()}
    return pd.DataFrame(cells, index=data.index, dtype=object)


def shown_intervals(
    data: pd.DataFrame, name: str, form: Callable[[float], str] = share, *, limits: str = ""
) -> list[str]:
    """Return formatted cells of a column with its interval, `name_low` to `name_high`.

    `limits` is the prefix of the interval's columns, if it is not `name`.

    Examples
    --------
    >>> data = pd.DataFrame({"part": [0.5], "part_low": [0.4], "part_high": [0.65]})
    >>> shown_intervals(data, "part")
    ['50 % [40, 65]']
    """
    ends = [f"{limits or name}_{end}" for end in ("low", "high")]
    rows = data[[name, *ends]].to_numpy(dtype=np.float64)
    return [with_interval(value, low, high, form) for value, low, high in rows]


def facts(name: str, caption: str, rows: Mapping[str, tuple[Any, str]]) -> Table:
    """Return a table of two columns: the quantity, and its formatted value."""
    data = pd.DataFrame({"value": [value for value, _ in rows.values()]}, list(rows), dtype=object)
    text = pd.DataFrame({"": [text for _, text in rows.values()]}, list(rows), dtype=object)
    return Table(name, caption, data, text, words=True)


def _plain(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        return plain(value.reset_index().to_dict("records"))
    if isinstance(value, pd.Series):
        return _plain(value.to_frame(value.name if value.name is not None else "value"))
    if isinstance(value, AnalysisResult):
        return value.to_dict()
    if is_dataclass(value):  # data of workloadkit
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return plain(value)
