"""How figures look: one theme, for notebooks, for files and for pages.

Figures are drawn in the colours of the light theme. In a page each colour becomes a CSS variable,
so that a figure follows the reader's light or dark theme as the text around it does.
"""

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from cycler import cycler

from workloadkit.analysis.formats import duration, printable
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID = "#1f252b", "#59636e", "#d8dce1"
BLUE, ORANGE, GREEN, PALE = "#2a6db5", "#c4570f", "#2e8555", "#a8c6e6"

#: Each colour of the figures: its CSS variable, and what it is in the dark theme.
THEME = {
    INK: ("--ink", "#e4e8ec"),
    MUTED: ("--muted", "#9aa5b1"),
    GRID: ("--grid", "#343c45"),
    BLUE: ("--blue", "#6fb0f2"),
    ORANGE: ("--orange", "#f09a56"),
    GREEN: ("--green", "#6cc492"),
    PALE: ("--pale", "#34577d"),
}

#: Distinguishable line styles, in the order of use.
LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "linestyle": dashes}
    for dashes in ("-", "--", ":")
    for colour in (BLUE, ORANGE, GREEN, MUTED)
)

LONGEST_LABEL, _LONGEST_TITLE = 32, 100  # characters of foreign names

#: Inches of a figure: about the width of a phone, so that text keeps its size there.
SIZE = (5.6, 3.1)

_SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, MUTED]),
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.5,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # a $ in a name is not mathematics
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.major.size": 0,
}

# The same figure has the same bytes whenever it is drawn.
_NO_DATE: dict[str, dict] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}

_TIMES = {
    0.001: "1 ms",
    0.01: "10 ms",
    0.1: "0.1 s",
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3600: "1 h",
    21600: "6 h",
    86400: "1 d",
    604800: "7 d",
    2592000: "30 d",
    31557600: "1 y",
    315576000: "10 y",
    3155760000: "100 y",
    31557600000: "1,000 y",
}


def current_axes(ax: "Axes | None") -> "Axes":
    """Return the given Axes, or the current Axes of pyplot."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.gca()


def theme(*, salt: str) -> Any:
    """Return a context that draws figures in the theme, with ids salted by `salt`."""
    import matplotlib as mpl

    return mpl.rc_context({**_SETTINGS, "svg.hashsalt": printable(salt) or "workloadkit"})


def draw(plot: Callable[..., "Axes"], data: pd.DataFrame, *, name: str, title: str = "") -> str:
    """Draw a figure and return it as SVG: the same bytes for the same data.

    Parameters
    ----------
    plot : callable
        ``plot(data, ax=ax)``.
    name : str
        Salt of the ids in the SVG.
    title : str, optional
        Title above the figure, for a file that stands alone; it gets a white background too.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with theme(salt=name):
        figure = Figure(figsize=SIZE)
        canvas = FigureCanvasSVG(figure)
        plot(data, ax=figure.add_subplot())
        if title:
            figure.suptitle(title, fontsize=10)
        figure.set_facecolor("white" if title else "none")
        text = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Title": printable(title or name)}
        with _any_text(figure):
            canvas.print_svg(text, metadata=metadata)  # savefig draws everything twice
    return text.getvalue()


def rendered(
    plot: Callable[..., Any], form: str, *, title: str = "", size: tuple[float, float] = (8, 4)
) -> bytes:
    """Draw a figure as svg, png or pdf, see `save_figure`: the same bytes for the same data."""
    from matplotlib.figure import Figure

    content = io.BytesIO()
    with theme(salt=title):
        figure = Figure(figsize=size)
        plot(ax=figure.add_subplot())
        figure.suptitle(title, fontsize=10)
        metadata = _NO_DATE[form]
        with _any_text(figure):
            figure.savefig(content, format=form, dpi=150, facecolor="white", metadata=metadata)
    return content.getvalue()


def _form(form: str, write: Callable[[float, int], str]) -> Any:
    """Return how the values of an axis are written; `form` names it for pages."""
    from matplotlib.ticker import FuncFormatter

    formatter: Any = FuncFormatter(write)
    formatter.form = form
    return formatter


def share_axis(axis: Any) -> None:
    """Label an axis of shares in percent."""
    axis.set_major_formatter(_form("share", lambda x, _: f"{100 * x:.4g} %"))


def count_axis(axis: Any) -> None:
    """Label an axis of numbers with thousands separators."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(_form("number", lambda x, _: f"{x:,.10g}"))


def log_axis(axis: Any, *, percent: bool = False) -> None:
    """Make an axis of positive numbers logarithmic, labelled 1, 10, 100, 1,000 or in percent."""
    low, high = _log_limits(axis)
    exponents = np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
    ticks = 10.0 ** exponents[:: 1 + exponents.size // 8]
    if ticks.size < 2:
        ticks = np.outer(10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high)), [1, 2, 5])
        ticks = ticks[(low <= ticks) & (ticks <= high)]
    if ticks.size < 2:  # below a factor of about 2, a linear axis is used
        from matplotlib.ticker import MaxNLocator

        ticks = np.asarray(MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high))
        ticks = ticks[(low <= ticks) & (ticks <= high)]
    form = "{:,.3g} %" if percent else "{:,.10g}"
    scale = 100 if percent else 1
    write = _form("share" if percent else "number", lambda x, _: form.format(x * scale))
    _fix_ticks(axis, ticks if ticks.size > 1 else [low, high], write)


def time_axis(axis: Any) -> None:
    """Make an axis of times [s] logarithmic, labelled 1 s, 1 min, 1 h, 1 d."""
    low, high = _log_limits(axis)
    ticks = [time for time in _TIMES if low * 0.999 <= time <= high * 1.001]
    ticks = ticks[:: 1 + len(ticks) // 11]
    if len(ticks) > 1:
        _fix_ticks(axis, ticks, _form("time", lambda x, _: _TIMES.get(x, "")))
    else:
        _fix_ticks(axis, [low, high], _form("time", lambda x, _: duration(x)))


def headroom(ax: "Axes") -> None:
    """Leave room between the largest value of a logarithmic y axis and the edge."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.05)


def calendar_axis(axis: Any) -> None:
    """Label an axis of dates: the month with every day, the year once at its end."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=7)
    formatter: Any = ConciseDateFormatter(
        locator,
        formats=["%Y", "%b", "%-d %b", "%H:%M", "%H:%M", "%S"],
        zero_formats=["", "%b %Y", "%-d %b", "%-d %b", "%H:%M", "%H:%M"],
        offset_formats=["", "%Y", "%Y", "%Y", "%-d %b %Y", "%-d %b %Y"],
    )
    formatter.form = "date"
    axis.set_major_locator(locator)
    axis.set_major_formatter(formatter)


def date_axis(axis: Any, data: pd.DataFrame) -> None:
    """Label an axis of the log's time: dates if known, otherwise days since second 0."""
    if "date" in data:
        calendar_axis(axis)
        axis.set_label_text("")
    else:
        count_axis(axis)
        axis.set_label_text("days since second 0 of the log")


def date_edges(data: pd.DataFrame) -> np.ndarray:
    """Return the edges of intervals in the units of `date_axis`.

    Parameters
    ----------
    data : DataFrame
        With `begin` and `end` [s], and, where known, the local `date` of the beginning.
    """
    days = np.append(data["begin"], data["end"].iloc[-1]) / 86400
    if "date" not in data:
        return days
    from matplotlib.dates import date2num

    dates = date2num(data["date"].to_numpy())
    width = days[-1] - days[-2]  # days of 23 or 25 hours count as one
    return np.append(dates, dates[-1] + (np.round(width) if width > 0.5 else width))


def label(name: str) -> str:
    """Return a name as a legend label: matplotlib hides labels that start with _.

    Examples
    --------
    >>> label("chemistry"), label("_apt").isprintable()
    ('chemistry', False)
    """
    return f"\N{ZERO WIDTH SPACE}{name}" if name.startswith("_") else name


def label_each(artist: Any, labels: Sequence[str]) -> None:
    """Say what each rectangle of a PolyCollection is; pages show it under the mouse."""
    artist.labels_of_each = tuple(printable(text, _LONGEST_TITLE) for text in labels)


def labels_of(artist: Any) -> tuple[str, ...]:
    """Return the labels of `label_each`; none if they are not given."""
    found: tuple[str, ...] = getattr(artist, "labels_of_each", ())
    return found


def legend_above(ax: "Axes") -> None:
    """Put the legend above the Axes, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    labels = [printable(label, LONGEST_LABEL) for label in labels]
    if len(labels) > 1:
        # In characters: the width of the figure without axis labels, and of a legend handle.
        room, handle = 11 * ax.figure.get_figwidth() - 8, 6  # type: ignore[union-attr]
        widths = [handle + len(label) for label in labels]
        for columns in range(min(len(labels), 5), 0, -1):
            # Like matplotlib, give the first columns one more entry if they do not divide evenly.
            if sum(max(column) for column in np.array_split(widths, columns)) <= room:
                break
        legend(ax, handles, labels, columns=columns)


def legend(ax: "Axes", handles: Sequence[Any], labels: Sequence[str], *, columns: int) -> None:
    """Put a legend above the Axes, with shortened labels and without mathematics."""
    drawn = ax.legend(
        handles,
        [printable(label, LONGEST_LABEL) for label in labels],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        borderaxespad=0.2,
    )
    for text in drawn.get_texts():
        text.set_parse_math(False)


def panels(ax: "Axes", n_panels: int, *, rows: int = 1, share_y: bool = False) -> "list[Axes]":
    """Replace one Axes by several, side by side, in a number of rows."""
    if split := getattr(ax, "split", None):  # axes that are described, not drawn
        described: list[Axes] = split(n_panels, rows, share_y=share_y)
        for other in described[1:] if share_y else ():
            other.tick_params(labelleft=False)
        return described
    figure, place = ax.figure, ax.get_subplotspec()
    if place is None:
        raise ParameterError("only Axes of a grid of subplots can be split into panels")
    columns = -(-n_panels // rows)
    grid = place.subgridspec(rows, columns)
    ax.remove()
    axes: list[Axes] = []
    for i in range(n_panels):
        cell = grid[divmod(i, columns)]
        axes.append(figure.add_subplot(cell, sharey=axes[0] if share_y and axes else None))
        if share_y and len(axes) > 1:
            axes[-1].tick_params(labelleft=False)
    return axes


@contextmanager
def _any_text(figure: "Figure") -> Iterator[None]:
    """Prepare texts of unknown origin for drawing: names of logs, users, queues."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if (fit := printable(text.get_text(), _LONGEST_TITLE)) != text.get_text():
            text.set_text(fit)
    with warnings.catch_warnings():
        # an SVG uses the reader's fonts; other formats show a box
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        yield


def _log_limits(axis: Any) -> tuple[float, float]:
    low, high = axis.get_data_interval()
    if not (np.isfinite(low) and np.isfinite(high)):  # nothing is drawn
        low, high = 1.0, 10.0
    elif high <= low * 1.001:  # one value only
        low, high = low / 2, high * 2
    if axis.axis_name == "x":
        axis.axes.set_xscale("log")
        axis.axes.set_xlim(low, high)
    else:
        axis.axes.set_yscale("log")
        axis.axes.set_ylim(low, high)
    return low, high


def _fix_ticks(axis: Any, ticks: Any, form: Any) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(form)
