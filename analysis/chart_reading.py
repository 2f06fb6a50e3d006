"""Charts read from the Axes that a ``plot_…`` function drew."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.category import StrCategoryFormatter
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle, StepPatch
from matplotlib.text import Annotation
from matplotlib.ticker import FixedFormatter, NullFormatter

from workloadkit.analysis import style
from workloadkit.analysis.chart import Chart, Kind, Marks, Scale, nothing
from workloadkit.analysis.formats import printable

_LONGEST_TEXT = 100  # characters


class _WithoutTicks:
    """An axis that makes no ticks, as only its locators and formatters are read."""

    majorTicks: Any = ()  # noqa: N815
    minorTicks: Any = ()  # noqa: N815

    def get_major_ticks(self, numticks: int | None = None) -> list[Any]:
        return []

    get_minor_ticks = get_major_ticks


class _XAxis(_WithoutTicks, XAxis):
    pass


class _YAxis(_WithoutTicks, YAxis):
    pass


class _Read(Axes):
    """Axes that are read, not drawn."""

    def _init_axis(self) -> None:
        self.xaxis, self.yaxis = _XAxis(self, clear=False), _YAxis(self, clear=False)
        for name, spine in self.spines.items():
            spine.register_axis(self.xaxis if name in ("bottom", "top") else self.yaxis)


def charts_of(plot: Callable[..., Axes], data: pd.DataFrame | None) -> list[list[Chart]]:
    """Return the panels of a figure, row by row.

    Parameters
    ----------
    plot : callable
        ``plot(data, ax=ax)``.
    data : DataFrame

    Examples
    --------
    >>> def plot_line(data, ax):
    ...     ax.plot(data["a"], label="load")
    ...     return ax
    >>> [[chart]] = charts_of(plot_line, pd.DataFrame({"a": [1.0, 3.0]}))
    >>> chart.marks[0].name, chart.marks[0].kind, chart.marks[0].y.tolist()
    ('load', 'line', [1.0, 3.0])
    """
    with style.theme(salt=""):
        figure = Figure(figsize=style.SIZE)
        figure.set_layout_engine("none")
        plot(data, ax=figure.add_subplot(axes_class=_Read))
        rows: dict[float, list[tuple[float, Chart]]] = {}
        for ax in figure.axes:
            box = ax.get_position()
            rows.setdefault(-round(box.y0, 3), []).append((box.x0, _chart(ax)))
    return [
        [chart for _, chart in sorted(row, key=lambda placed: placed[0])]
        for _, row in sorted(rows.items())
    ]


def _chart(ax: Axes) -> Chart:
    artists = sorted(ax.get_children(), key=lambda artist: artist.get_zorder())
    of_bars = {
        patch: str(bars.get_label())
        for bars in ax.containers
        for patch in getattr(bars, "patches", ())
    }
    of_errors = {
        part: str(bars.get_label())
        for bars in ax.containers
        if hasattr(bars, "has_yerr")
        for part in _flat(bars)
    }
    x, y = _scale(ax.xaxis), _scale(ax.yaxis)
    found: list[Marks] = []
    for artist in artists:
        name = of_bars.get(artist) or of_errors.get(artist) or str(artist.get_label())
        name = "" if name.startswith("_") else printable(name, style.LONGEST_LABEL)
        for marks in _marks(artist, ax):
            _add(found, replace(marks, name=name))
    legend = ax.get_legend()
    entries = []
    if legend is not None:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            entries.append(replace(_entry(handle), name=printable(text.get_text())))
    titles = (ax.get_title("left"), ax.get_title(), ax.get_title("right"))
    title = printable(" ".join(filter(None, titles)))
    return Chart(tuple(found), x, y, tuple(entries), tuple(_texts(ax)), title)


def _flat(parts: Any) -> Iterator[Any]:
    """Yield the artists of nested tuples."""
    for part in parts:
        if isinstance(part, tuple | list):
            yield from _flat(part)
        elif part is not None:
            yield part


def _add(found: list[Marks], marks: Marks) -> None:
    """Add marks to those before them if both are bars of the same look."""
    last = found[-1] if found else None
    if last is None or marks.kind != "bars" or last.kind != "bars":
        found.append(marks)
        return
    same = (last.name, last.colours, last.opacity) == (marks.name, marks.colours, marks.opacity)
    if not same:
        found.append(marks)
        return
    found[-1] = replace(
        last,
        x=np.append(last.x, marks.x),
        y=np.append(last.y, marks.y),
        x_to=np.append(last.x_to, marks.x_to),
        y_to=np.append(last.y_to, marks.y_to),
    )


def _marks(artist: Any, ax: Axes) -> Iterator[Marks]:
    """Read an artist; frame, axes and legend are none."""
    if not artist.get_visible() or artist is ax.patch:
        return
    if isinstance(artist, Line2D):
        yield from _of_line(artist, ax)
    elif isinstance(artist, StepPatch):
        yield _of_steps(artist)
    elif isinstance(artist, Rectangle):
        yield _of_rectangle(artist, ax)
    elif isinstance(artist, LineCollection):
        yield from _of_segments(artist, ax)
    elif isinstance(artist, PathCollection):
        offsets = np.asarray(artist.get_offsets(), dtype=np.float64)
        sizes = np.sqrt(np.broadcast_to(artist.get_sizes(), len(offsets))) / 2
        look = _look(artist.get_facecolor())
        yield Marks("points", offsets[:, 0], offsets[:, 1], sizes=sizes, **look)
    elif isinstance(artist, PolyCollection):
        vertices = [np.vstack([path.vertices, [[np.nan, np.nan]]]) for path in artist.get_paths()]
        if labels := style.labels_of(artist):
            (x, y), (x_to, y_to) = (np.array([v[i] for v in vertices]).T for i in (0, 2))
            look = _look(artist.get_facecolor())
            yield Marks("bars", x, y, x_to, y_to, labels=labels, outlined=True, **look)
        elif vertices:
            x, y = np.vstack(vertices).T
            yield Marks("polygon", x, y, **_look(artist.get_facecolor()))
    elif isinstance(artist, AxesImage):
        left, right, low, high = (np.array([end]) for end in artist.get_extent())
        image = np.asarray(artist.get_array())  # one colour, of which the opacity is the share
        look = _look(image[0, 0, :3])
        yield Marks("cells", left, low, right, high, shares=image[..., 3], **look)


def _look(colours: Any, alpha: float | None = None) -> dict[str, Any]:
    rgba = to_rgba_array(colours)
    if not len(rgba):
        rgba = to_rgba_array(style.BLUE)
    names = tuple(to_hex(colour) for colour in rgba)
    return {
        "colours": names[:1] if len(set(names)) == 1 else names,
        "opacity": float(rgba[0][3]) if alpha is None else alpha,
    }


def _dash(line_style: Any) -> str:
    text = str(line_style)
    return text if text in ("-", "--", ":") else "-" if text == "solid" else "--"


def _of_line(line: Line2D, ax: Axes) -> Iterator[Marks]:
    x, y = (np.ma.filled(np.ma.asarray(v, np.float64), np.nan) for v in line.get_data(orig=False))
    look = _look(line.get_color(), line.get_alpha()) | {"width": float(line.get_linewidth())}
    dash = _dash("--" if line.is_dashed() and line.get_linestyle() != ":" else line.get_linestyle())
    of_x, of_y = line.get_transform().contains_branch_seperately(ax.transData)
    if not (of_x and of_y):  # a line across the chart
        if x.size:
            at, to = (x[:1], x[-1:]) if of_x else (np.array([-np.inf]), np.array([np.inf]))
            low, up = (y[:1], y[-1:]) if of_y else (np.array([-np.inf]), np.array([np.inf]))
            yield Marks("segments", at, low, to, up, dash=dash, **look)
        return
    if line.get_marker() in ("|", "_"):  # the end of an interval, which is a segment
        return
    has_marker = line.get_marker() not in ("None", None, "", " ")
    if line.get_linestyle() in ("None", "", " "):
        if has_marker and x.size:
            sizes = np.full(x.size, line.get_markersize() / 2)
            look = _look(line.get_markerfacecolor(), line.get_alpha()) if _filled(line) else look
            yield Marks("points", x, y, sizes=sizes, **look)
        return
    how = line.get_drawstyle()
    if how in ("steps-pre", "steps", "steps-mid"):
        x, y = STEP_LOOKUP_MAP[how](x, y)
    yield Marks(
        "steps" if how == "steps-post" else "line", x, y, dash=dash, marker=has_marker, **look
    )


def _filled(line: Line2D) -> bool:
    return str(line.get_markerfacecolor()) not in ("none", "None", "auto")


def _of_steps(patch: StepPatch) -> Marks:
    values, edges, base = patch.get_data()
    edges, values = np.asarray(edges, np.float64), np.asarray(values, np.float64)
    if patch.get_fill():
        low = np.broadcast_to(0.0 if base is None else base, values.shape).astype(np.float64)
        return Marks("bars", edges[:-1], low, edges[1:], values, **_look(patch.get_facecolor()))
    look = _look(patch.get_edgecolor())
    return Marks(
        "steps", edges, np.append(values, values[-1:]), dash=_dash(patch.get_linestyle()), **look
    )


def _of_rectangle(patch: Rectangle, ax: Axes) -> Marks:
    (x, y), (x_to, y_to) = patch.get_xy(), (patch.get_x() + patch.get_width(), 0.0)
    y_to = y + patch.get_height()
    of_x, of_y = patch.get_transform().contains_branch_seperately(ax.transData)
    ends = [[x, x_to] if of_x else [-np.inf, np.inf], [y, y_to] if of_y else [-np.inf, np.inf]]
    (a, b), (c, d) = np.array(ends, dtype=np.float64)[:, :, None]
    return Marks("bars", a, c, b, d, **_look(patch.get_facecolor(), patch.get_alpha()))


def _of_segments(lines: LineCollection, ax: Axes) -> Iterator[Marks]:
    ends = [np.asarray(part, np.float64) for part in lines.get_segments()]
    ends = [part for part in ends if len(part) == 2]
    if ends:
        of_x, of_y = lines.get_transform().contains_branch_seperately(ax.transData)
        (x, y), (x_to, y_to) = np.stack(ends, axis=-1)
        if not of_x:
            x, x_to = np.full(x.size, -np.inf), np.full(x.size, np.inf)
        if not of_y:
            y, y_to = np.full(y.size, -np.inf), np.full(y.size, np.inf)
        dash = "-" if cast("Any", lines.get_linestyle())[0][1] is None else "--"
        width = float(np.atleast_1d(lines.get_linewidth())[0])
        look = _look(lines.get_colors(), lines.get_alpha())
        yield Marks("segments", x, y, x_to, y_to, dash=dash, width=width, **look)


def _entry(handle: Any) -> Marks:
    empty = nothing()
    if isinstance(handle, Line2D):
        look = _look(handle.get_color(), handle.get_alpha())
        if handle.get_linestyle() in ("None", "", " "):
            return Marks("points", empty, empty, **look)
        dash = (
            "--" if handle.is_dashed() and handle.get_linestyle() != ":" else handle.get_linestyle()
        )
        return Marks("line", empty, empty, dash=_dash(dash), **look)
    if isinstance(handle, Patch):
        colour = handle.get_facecolor() if handle.get_fill() else handle.get_edgecolor()
        kind: Kind = "bars" if handle.get_fill() else "line"
        line = "-" if handle.get_fill() else _dash(handle.get_linestyle())
        return Marks(kind, empty, empty, dash=line, **_look(colour))
    if isinstance(handle, LineCollection):
        return Marks("line", empty, empty, **_look(handle.get_colors()))
    return Marks("points", empty, empty, **_look(handle.get_facecolor()))


def _texts(ax: Axes) -> Iterator[tuple[float, float, str]]:
    for text in ax.texts:
        if text.get_text():
            if isinstance(text, Annotation) and text.anncoords == "offset points":
                offset = np.array(text.xyann) * ax.figure.dpi / 72
                at = ax.transData.transform(np.array(text.xy)) + offset
            else:
                at = text.get_transform().transform(text.get_unitless_position())
            x, y = ax.transAxes.inverted().transform(at)
            yield float(x), float(y), printable(text.get_text(), _LONGEST_TEXT)


def _scale(axis: Any) -> Scale:
    low, high = map(float, axis.get_view_interval())
    if axis.get_inverted():
        low, high = max(low, high), min(low, high)
    formatter, params = axis.get_major_formatter(), axis.get_tick_params()
    ticks = _labels(axis.get_majorticklocs(), formatter, low, high)
    between: tuple[tuple[float, str], ...] = ()
    if not isinstance(axis.get_minor_formatter(), NullFormatter):
        between = _labels(axis.get_minorticklocs(), axis.get_minor_formatter(), low, high)
    return Scale(
        printable(f"{axis.get_label_text()} {formatter.get_offset()}".strip(), _LONGEST_TEXT),
        low,
        high,
        _form(formatter),
        axis.get_scale() == "log",
        axis.get_transform().linthresh if axis.get_scale() == "symlog" else 0.0,
        ticks,
        bool(params.get("grid_on", params.get("gridOn", True))),
        bool(params.get("labelleft", True)) or axis.axis_name == "x",
        tuple((place, text) for place, text in between if text),
    )


def _form(formatter: Any) -> str:
    """Return how values are written; matplotlib writes given labels by a partial function."""
    given = isinstance(formatter, FixedFormatter | StrCategoryFormatter)
    if given or isinstance(getattr(formatter, "func", None), partial):
        return "names"
    return str(getattr(formatter, "form", "number"))


def _labels(places: Any, formatter: Any, low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return the ticks within an axis, with their labels."""
    first, last = sorted((low, high))
    slack = 1e-9 * (last - first)
    return tuple(
        (float(place), printable(str(text), _LONGEST_TEXT))
        for place, text in zip(places, formatter.format_ticks(places), strict=True)
        if first - slack <= place <= last + slack
    )
