"""Pages on results: schedules, experiments, metasystems, studies, queueing models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from workloadkit import __version__
from workloadkit.analysis import style
from workloadkit.analysis.formats import number
from workloadkit.analysis.page import Report
from workloadkit.analysis.section import Figure, Section, Table
from workloadkit.errors import ParameterError
from workloadkit.io.files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What a figure is written as.
FORMS = ("svg", "png", "pdf", "html")


@dataclass(frozen=True, eq=False)
class ResultPage(Report):
    """A page on a result, in the form of reports on logs.

    Parameters
    ----------
    source : object
        The result.
    sections : tuple of Section
    heading : str
        Title of the page.
    about : str
        What it is about, above the title.
    lead : tuple of (str, str)
        Facts for the top of the page, each with its title.
    """

    kind: ClassVar[str] = "Result"
    all_points: ClassVar[str] = ""

    source: Any
    heading: str = ""
    about: str = ""
    lead: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Title of the page."""
        return self.heading

    @property
    def title(self) -> str:
        """Title of the page."""
        return self.heading

    @property
    def provenance(self) -> dict[str, Any]:
        """Version of workloadkit."""
        return {"workloadkit": __version__, "sha256": None, "parameters": {}}


def save_figure(
    plot: Callable[..., Any],
    path: str | PathLike[str],
    *,
    title: str = "",
    size: tuple[float, float] = (8, 4),
    tables: Mapping[str, pd.DataFrame] | None = None,
    more: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Draw a figure into a file, whole or not at all.

    Parameters
    ----------
    plot : callable
        ``plot(ax=ax)``.
    path : path
        Ends in .svg, .png, .pdf or .html, a page whose figure answers mouse and keys.
    title : str, optional
        Title above the figure.
    size : tuple of float, default (8, 4)
        Width and height of the figure, unless it is a page. [inch]
    tables : mapping of str to DataFrame, optional
        Shown on a page, by caption.
    more : mapping of str to callable, optional
        Further figures of a page, by title.

    Raises
    ------
    ParameterError
        If the suffix of the file is another format.

    Examples
    --------
    >>> import tempfile
    >>> from workloadkit import analysis, load_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "waits.svg")
    ...     analysis.save_figure(load_sample().plot, path)
    ...     path.stat().st_size > 1000
    True
    """
    form = Path(path).suffix.lower().lstrip(".")
    if form not in FORMS:
        raise ParameterError(f"{path}: a figure is written as .svg, .png, .pdf or .html")
    if form == "html":
        content = page_of({title: plot} | dict(more or {}), title, tables or {}).to_html().encode()
    else:
        content = style.rendered(plot, form, title=title, size=size)
    with writing(path) as stream:
        stream.write(content)


def page_of(
    plots: Mapping[str, Callable[..., Any]], title: str, tables: Mapping[str, pd.DataFrame]
) -> ResultPage:
    """Return a page with figures, by title, and tables, by caption."""
    figures = tuple(
        Figure(f"figure-{i}", name, "", pd.DataFrame(), _Plot(plot), alt=" ", wide=True)
        for i, (name, plot) in enumerate(plots.items())
    )
    section = Section("figures", "Figures", tables=tables_of(tables), figures=figures)
    return ResultPage(None, (section,), title, "Figures and tables" if tables else "Figures")


def tables_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Table, ...]:
    """Return tables for a page, by caption.

    Examples
    --------
    >>> tables_of({"Means.": pd.DataFrame({"log": ["a"], "mean_wait": [1 / 3]})})[0].shown
      mean wait
    a     0.333
    """
    found = []
    for i, (caption, data) in enumerate(tables.items()):
        named = data.set_index(data.columns[0]) if isinstance(data.index, pd.RangeIndex) else data
        text = named.map(_cell).rename(columns=_title)
        text.index = pd.Index([_title(name) for name in named.index])
        first = _title(named.index.name or "")
        found.append(Table(f"table-{i}", caption, data, text, first=first))
    return tuple(found)


def _title(name: Any) -> str:
    return _cell(name).replace("_", " ")


def _cell(value: Any) -> str:
    """Format a cell of any type."""
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(filter(None, map(_cell, value)))
    try:
        return number(float(value))
    except (TypeError, ValueError):
        return str(value)


@dataclass(frozen=True)
class _Plot:
    """A function that draws without data, in the form of those of figures."""

    plot: Callable[..., Any]

    def __call__(self, data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
        """Draw it."""
        return self.plot(ax=ax)
