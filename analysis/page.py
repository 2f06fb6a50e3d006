"""A report of a log: sections, as a page, as JSON and as figures."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.chart import MOST_POINTS
from workloadkit.analysis.chart_forms import data_of, svg_of
from workloadkit.analysis.finding import FEWEST_JOBS, Finding, ranked
from workloadkit.analysis.formats import printable
from workloadkit.analysis.section import Figure, Section
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, among, plural, quoted
from workloadkit.executors import each_done
from workloadkit.io.files import write_text
from workloadkit.provenance import provenance
from workloadkit.sample import is_sample
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from markupsafe import Markup
    from matplotlib.axes import Axes

    from workloadkit.analysis.dashboard import Dashboard

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Called with the numbers of finished and of all parts, and with the name of the next one.
Progress = Callable[[int, int, str], object]

#: The script of the page: it sorts, filters and saves tables, which are complete without it.
_TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = (_TEMPLATES / "tables.js").read_text(encoding="utf-8")

# The library that draws axes in a browser, and what draws figures with it
_LIBRARY = "uPlot-1.6.32"

_WIDTH, _INDENT = 80, 8 * " "  # of a terminal
_LONGEST = 4000  # characters of a text on a page; the JSON has all
_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z0-9])")


@dataclass(frozen=True, eq=False)
class Report(Displayed):
    """Base class of reports on a log.

    Each subclass names its kind of report in `kind`.

    Parameters
    ----------
    source : Trace
        The log.
    sections : tuple of Section
    """

    kind: ClassVar[str]
    all_points: ClassVar[str] = "--tables writes all."  # where a page draws a part of them

    source: Trace
    sections: tuple[Section, ...]

    def __getitem__(self, name: str) -> Section:
        """Return a section by its name."""
        known = {section.name: section for section in self.sections}
        if name not in known:
            raise ParameterError(f"section is {quoted(name)}; {among(name, known)}")
        return known[name]

    def __str__(self) -> str:
        """Return what matters most, in lines for a terminal."""
        lines = []
        for mark, head, effect in self.headlines:
            lines += wrap(f"{mark:6}  {head}" if mark else head, _WIDTH, subsequent_indent=_INDENT)
            lines += wrap(effect, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        return "\n".join(lines) or repr(self)

    @property
    def name(self) -> str:
        """Name of the log."""
        return self.source.name

    @property
    def about(self) -> str:
        """What the page is about, above its title."""
        return self.kind

    @property
    def title(self) -> str:
        """Title of the page: the name of the log, or that it is the built-in sample."""
        return f"The built-in sample ({self.name})" if is_sample(self.source) else self.name

    @property
    def findings(self) -> tuple[tuple[Section, str], ...]:
        """The findings, each with its section."""
        return tuple((section, section.finding) for section in self.sections if section.finding)

    @property
    def lead(self) -> tuple[tuple[str, str], ...]:
        """Facts for the top of the page, each with its title."""
        return ()

    @property
    def dashboard(self) -> "Dashboard | None":
        """What the first screen of the page shows, if it has one."""
        return None

    @property
    def ranked(self) -> tuple[Finding, ...]:
        """The measures with thresholds, the most severe first."""
        return ranked([one for section in self.sections for one in section.findings])

    @property
    def no_findings(self) -> str:
        """Why no measure has a severity; empty if one has."""
        if any(one.severity != "none" for one in self.ranked):
            return ""
        most = max((one.n for one in self.ranked), default=0)
        if most < FEWEST_JOBS:
            few = plural(most, "job is", "jobs are")
            return f"{few} too few for findings: {FEWEST_JOBS} or more are required."
        return "No measure is beyond its threshold."

    @property
    def headlines(self) -> tuple[tuple[str, str, str], ...]:
        """What matters most, for a terminal: each with its severity, in a line, and its effect.

        Without measures that have thresholds, the first sentence of each finding.
        """
        if not self.ranked:
            return tuple(
                ("", f"{section.title}: {_SENTENCE_END.split(finding)[0]}", "")
                for section, finding in self.findings
            )
        severe = [one for one in self.ranked if one.severity != "none"]
        if not severe:
            return (("", self.no_findings, ""),)
        return tuple((x.severity, f"{x.rule.title}: {x.shown}", x.effect) for x in severe)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the log as a whole, for a terminal."""
        return ()

    #: Parameters without a unit that are decimal; others are seconds.
    without_unit: ClassVar[frozenset[str]] = frozenset()

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the log cannot answer, in sentences."""
        return tuple(dict.fromkeys(gap for section in self.sections for gap in section.gaps))

    @property
    def provenance(self) -> dict[str, Any]:
        """Version of workloadkit, name and digest of the log, and parameters."""
        parameters: dict[str, Any] = {}
        for section in self.sections:
            parameters |= section.parameters
        return provenance(self.source, **parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers in full precision as JSON values; an unknown value is None."""
        judged = [one.to_dict() for one in self.ranked]
        return {
            "provenance": self.provenance,
            "findings": [finding for _, finding in self.findings],
            **({"ranked_findings": judged, "not_answered": list(self.gaps)} if judged else {}),
            **{section.name: section.to_dict() for section in self.sections},
        }

    def plot(self, ax: "Axes | None" = None, *, figure: str | None = None) -> "Axes":
        """Draw one of the figures.

        Parameters
        ----------
        figure : str, optional
            "section-figure", as its file is named; by default the first.

        Raises
        ------
        ParameterError
            If there is no such figure.
        """
        figures = {f"{s.name}-{f.name}": f for s in self.sections for f in s.figures}
        name = next(iter(figures), "") if figure is None else figure
        if name not in figures:
            raise ParameterError(f"figure is {quoted(name)}; {among(name, figures)}")
        return figures[name].plot(figures[name].data, style.current_axes(ax))

    def _summary(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        return f"{self.name!r}, sections: {names}"

    def _table(self) -> pd.DataFrame:
        """Return one row a section: its finding."""
        rows = [(section.name, section.title, section.finding) for section in self.sections]
        return pd.DataFrame(rows, columns=["section", "title", "finding"])

    def to_html(
        self, *, executor: "Executor | None" = None, progress: Progress | None = None
    ) -> str:
        """Return a self-contained HTML page.

        Parameters
        ----------
        executor : Executor, optional
            Draws the figures; by default this process. The page does not depend on it.
        progress : callable, optional
            Called with the numbers of finished and of all figures, and with the next one.
        """
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup

        environment = Environment(
            loader=PackageLoader("workloadkit.analysis"),
            autoescape=True,
            finalize=_fit,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["options"] = _with_options
        environment.filters["headline"] = _headline
        board = self.dashboard
        tasks = {
            f"dashboard-{f.name}": (f"dashboard-{f.name}", f, f.alt or f.caption)
            for f in (board.figures if board else ())
        } | {
            f"{s.name}-{f.name}": (f"{s.name}-{f.name}", f, f.alt or s.finding or f.caption)
            for s in self.sections
            for f in s.figures
        }
        drawn = each_named(_inlined, tasks, executor, progress)
        template = environment.get_template("report.html.j2")
        return template.render(
            log=self,
            board=board,
            drawn=drawn,
            theme=style.THEME,
            script=Markup(SCRIPT),
            charts=tuple(map(Markup, chart_script())) if drawn else (),
        )

    def save_tables(self, directory: str | Path) -> list[Path]:
        """Write every table as a CSV file, named by section and table, with all of its rows.

        The data of figures of which the page draws a part are written as well.

        Parameters
        ----------
        directory : str or path
            Created if it does not exist.

        Returns
        -------
        list of Path
            The files. Times are in seconds; an unknown number is empty.
        """
        folder = _folder(directory)
        paths = []
        for section in self.sections:
            large = [f for f in section.figures if len(f.data) > MOST_POINTS]
            named = {table.name: table.data for table in section.tables}
            for name, data in ({f"{f.name}-figure": f.data for f in large} | named).items():
                paths.append(folder / f"{section.name}-{name}.csv")
                label = data.index.name or "name"
                write_text(paths[-1], data.to_csv(index_label=label, lineterminator="\n"))
        return paths

    def save_figures(self, directory: str | Path) -> list[Path]:
        """Write every figure as an SVG file, named by section and figure.

        Parameters
        ----------
        directory : str or path
            Created if it does not exist.

        Returns
        -------
        list of Path
            The files.
        """
        folder = _folder(directory)
        paths = []
        for section in self.sections:
            for figure in section.figures:
                name = f"{section.name}-{figure.name}"
                title = f"{figure.title} · {self.name}"
                svg = style.draw(figure.plot, figure.data, name=name, title=title)
                paths.append(folder / f"{name}.svg")
                write_text(paths[-1], svg)
        return paths


def _folder(directory: str | Path) -> Path:
    """Make a folder, with those above it.

    Raises
    ------
    WorkloadError
        If it cannot be made.
    """
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be written: {error.strerror}") from None
    return folder


def each_named(
    function: Callable[[Task], Result],
    tasks: Mapping[str, Task],
    executor: "Executor | None" = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Call a function for each of the named tasks and return the results by name."""
    left = dict.fromkeys(tasks)
    found: dict[str, Result] = {}

    def report() -> None:
        if progress is not None:
            progress(len(found), len(tasks), next(iter(left), ""))

    report()
    for (name, _), result in each_done(partial(_call, function), tasks.items(), executor):
        found[name] = result
        del left[name]
        report()
    return found


def _call(function: Callable[[Task], Result], named: tuple[str, Task]) -> Result:
    return function(named[1])


def _inlined(named: tuple[str, Figure, str]) -> tuple[str, str, str]:
    """Return a figure for a page: its SVG, its data, and whether the data are all.

    A custom figure may use more of matplotlib than charts describe; it is a picture without data.
    """
    from workloadkit.analysis.chart_axes import charts_of

    name, figure, shows = named
    try:
        panels = charts_of(figure.plot, figure.data)
    except (AttributeError, TypeError):
        drawn = style.draw(figure.plot, figure.data, name=name, title=figure.title or name)
        label = f'<svg role="img" aria-label="{escape(printable(f"{figure.title}. {shows}"))}" '
        return drawn[drawn.index("<svg") :].replace("<svg ", label, 1), "", ""
    left = sum(marks.x.size > MOST_POINTS for row in panels for c in row for marks in c.marks)
    note = f"At most {MOST_POINTS:,} points of a series are drawn." if left else ""
    label = f"{figure.title}. {shows}"
    return svg_of(panels, name=name, label=label, wide=figure.wide), data_of(panels), note


def chart_script() -> tuple[str, str]:
    """Return the style and the script of figures in a browser."""
    names = f"{_LIBRARY}.min.css", f"{_LIBRARY}.iife.min.js", "charts.js"
    css, library, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    return css, library + script


def _fit(value: Any) -> Any:
    """Make foreign text printable and limit its length; markup is not changed."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return printable(value, _LONGEST)
    return value


def _headline(text: str) -> str:
    """Return the first sentence of a text."""
    return _SENTENCE_END.split(text)[0]


_OPTION = re.compile(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*")


def _with_options(text: str) -> "Markup":
    """Mark the options of commands in a text, so that no line breaks within them."""
    from markupsafe import Markup
    from markupsafe import escape as marked

    return Markup(_OPTION.sub(r"<code>\g<0></code>", str(marked(_fit(text)))))
