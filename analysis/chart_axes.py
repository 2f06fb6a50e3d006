"""Axes that describe a figure instead of drawing it.

They have the part of the interface of matplotlib's Axes that ``plot_…`` functions use; its artists,
which take most of the time of importing it and of making a figure, are not needed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.cbook import STEP_LOOKUP_MAP, contiguous_regions
from matplotlib.colors import to_hex, to_rgba_array
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis import style
from workloadkit.analysis.chart import Chart, Kind, Marks, nothing
from workloadkit.analysis.chart_axis import LONGEST_TEXT, Axis
from workloadkit.analysis.formats import printable

_SHORT = {"lw": "linewidth", "ls": "linestyle", "ms": "markersize"}
_LINES = ("-", "--", "-.", ":")
_ENDS = ("None", "|", "_")  # no marker, or the end of an interval, which is a segment
_EDGE = np.array([np.inf])  # of the chart
_EDGES = (0.125, 0.11, 0.9, 0.88)  # of the panels in a figure, as of matplotlib's subplots
_GAP = 0.2  # between panels, in panels


def charts_of(plot: Callable[..., Any], data: pd.DataFrame | None) -> list[list[Chart]]:
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
    ax = _Axes()
    plot(data, ax=ax)
    return [[panel.chart() for panel in row] for row in ax.rows or [[ax]]]


class _Label:
    """The name of an entry of a legend."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_text(self) -> str:
        return self.text

    def set_text(self, text: str) -> None:
        self.text = text

    def set_parse_math(self, parse_math: bool) -> None:
        """Do nothing: no text of a chart is mathematics."""


class _Legend:
    """Entries: a mark each, and its name."""

    def __init__(self, axes: "_Axes", handles: Sequence[Any], labels: Sequence[str]) -> None:
        self.axes, self.handles, self.labels = axes, handles, [_Label(text) for text in labels]

    def get_texts(self) -> list[_Label]:
        return self.labels

    def remove(self) -> None:
        self.axes.legend_ = None

    def entries(self) -> Iterator[Marks]:
        empty = nothing()
        for handle, label in zip(self.handles, self.labels, strict=True):
            name = printable(label.text)
            if not isinstance(handle, Marks):  # a patch
                yield Marks("bars", empty, empty, name=name, **_look(handle.get_facecolor()))
                continue
            kinds: dict[Kind, Kind] = {"polygon": "bars", "segments": "line", "steps": "line"}
            look: dict[str, Any] = {
                "colours": handle.colours,
                "opacity": handle.opacity,
                "dash": handle.dash,
            }
            kind = kinds.get(handle.kind, handle.kind)
            yield Marks(kind, empty, empty, name=name, **look)


class _Axes:
    """Axes that hold marks; the methods are those of matplotlib's Axes."""

    name = "rectilinear"
    transAxes = "axes"  # noqa: N815  # the places of texts are shares of the axes

    def __init__(
        self, size: tuple[float, float] | None = None, y: SimpleNamespace | None = None
    ) -> None:
        left, bottom, right, top = _EDGES
        self.size = size or (
            72 * (right - left) * style.SIZE[0],
            72 * (top - bottom) * style.SIZE[1],
        )
        self.xaxis, self.yaxis = Axis(self, "x"), Axis(self, "y", y)
        self.figure = SimpleNamespace(get_figwidth=lambda: style.SIZE[0], set_figheight=np.abs)
        self.rows: list[list[_Axes]] = []
        self.legend_: _Legend | None = None
        self._marks: list[tuple[float, Marks]] = []
        self._entries: dict[str, list[tuple[str, Marks]]] = {"marks": [], "groups": []}
        self._texts: list[tuple[tuple[float, float], tuple[float, float] | None, str]] = []
        self._titles = {"left": "", "center": "", "right": ""}
        colours = [line["color"] for line in style.LINES[:4]]
        self._colours = {"lines": cycle(colours), "areas": cycle(colours)}

    def split(self, n_panels: int, rows: int, *, share_y: bool) -> "list[_Axes]":
        """Divide the axes into panels, row by row."""
        columns = -(-n_panels // rows)
        width, height = (
            length / (n + _GAP * (n - 1))
            for length, n in zip(self.size, (columns, rows), strict=True)
        )
        panels: list[_Axes] = []
        for _ in range(n_panels):
            shared = panels[0].yaxis.state if share_y and panels else None
            panels.append(_Axes((width, height), shared))
        self.rows = [panels[i : i + columns] for i in range(0, n_panels, columns)]
        return panels

    def chart(self) -> Chart:
        """Return the description: the marks in the order of drawing, and the axes."""
        marks: list[Marks] = []
        for _, each in sorted(self._marks, key=lambda pair: pair[0]):
            _join(marks, each)
        x, y = self.xaxis.described(), self.yaxis.described()
        legend = tuple(self.legend_.entries()) if self.legend_ else ()
        texts = tuple(
            (*self._place(at, offset), printable(text, LONGEST_TEXT))
            for at, offset, text in self._texts
            if text
        )
        title = printable(" ".join(filter(None, self._titles.values())))
        return Chart(tuple(marks), x, y, legend, texts, title)

    def _place(
        self, at: tuple[float, float], offset: tuple[float, float] | None
    ) -> tuple[float, float]:
        """Return a place as shares of width and height."""
        if offset is None:
            return at
        shares = []
        for axis, value, points, size in zip(
            (self.xaxis, self.yaxis), at, offset, self.size, strict=True
        ):
            low, high = axis.get_view_interval()
            place, low, high = axis.get_transform().transform([value, low, high]).tolist()
            shares.append((place - low) / (high - low) + points / size)
        return shares[0], shares[1]

    # Marks

    def _mark(
        self,
        kind: Kind,
        options: dict[str, Any],
        *columns: NDArray[np.float64],
        zorder: float = 1,
        entry: str = "marks",
        is_drawn: bool = True,
        **more: Any,
    ) -> Marks:
        """Add marks, with their entry of a legend; names that begin with _ are none."""
        colour = options.get("facecolor", options.get("color"))
        if colour is None:
            of_lines = kind in ("line", "steps", "points")
            colour = next(self._colours["lines" if of_lines else "areas"])
        label = str(options.get("label") or "")
        named = not label.startswith("_")
        more["name"] = printable(label, style.LONGEST_LABEL) if named else ""
        more |= zip(("x", "y", "x_to", "y_to"), columns, strict=False)
        marks = Marks(kind, **more, **_look(colour, options.get("alpha")))
        if is_drawn:
            self._marks.append((options.get("zorder", zorder), marks))
        if label and named and entry:
            self._entries[entry].append((label, marks))
        self.update_datalim(np.stack([marks.x, marks.y], axis=-1))
        if marks.x_to.size:
            for x, y in ((marks.x_to, marks.y_to), (marks.x, marks.y_to), (marks.x_to, marks.y)):
                self.update_datalim(np.stack([x, y], axis=-1))
        return marks

    def update_datalim(self, points: ArrayLike) -> None:
        """Count points in the limits, if both of their numbers are known."""
        points = np.reshape(np.asarray(points, dtype=np.float64), (-1, 2))
        x, y = points[np.isfinite(points).all(axis=1)].T
        self.xaxis.add(x)
        self.yaxis.add(y)

    def plot(self, *values: Any, entry: str = "marks", **options: Any) -> list[Marks]:
        if isinstance(values[-1], str):
            *values, form = values  # type: ignore[assignment]
            options |= {"linestyle": form} if form in _LINES else {"marker": form, "linestyle": ""}
        if len(values) == 1:
            y = values[0]
            values = (y.index if isinstance(y, pd.Series) else np.arange(len(y)), y)
        options, x, y = _in_full(options), *self._numbers(*values)
        marker, how = options.get("marker") or "None", options.get("drawstyle", "default")
        kind: Kind = "steps" if how == "steps-post" else "line"
        more: dict[str, Any] = {"zorder": 2, "entry": entry}
        if options.get("linestyle", "-") in ("", " ", "none", "None"):
            kind, more["sizes"] = "points", np.full(x.size, options.get("markersize", 6) / 2)
            more["is_drawn"] = marker not in _ENDS and x.size > 0
        else:
            if how in ("steps-pre", "steps", "steps-mid"):
                x, y = STEP_LOOKUP_MAP[how](x, y)
            more |= {"marker": marker != "None", **_stroke(options)}
        line = self._mark(kind, options, x, y, **more)
        self._request_fit()
        return [line]

    def step(self, x: Any, y: Any, *, where: str = "pre", **options: Any) -> list[Marks]:
        return self.plot(x, y, drawstyle=f"steps-{where}", **options)

    def stairs(
        self, values: Any, edges: Any, *, baseline: Any = 0, fill: bool = False, **options: Any
    ) -> Marks:
        x, y = self._numbers(edges, values)
        ends, options = (x[:-1], x[1:]), _in_full(options)
        options["color"] = options.get("color") or next(self._colours["lines"])
        base = np.broadcast_to(np.nan if baseline is None else baseline, y.shape).astype(np.float64)
        for at in ends:  # also the base
            self.update_datalim(np.stack([at, y], axis=-1))
            self.update_datalim(np.stack([at, base], axis=-1))
        self.yaxis.state.sticky += [] if baseline is None else [float(np.min(baseline))]
        self._request_fit()
        if fill:
            return self._mark("bars", options, ends[0], base, ends[1], y)
        dash = _stroke(options)["dash"]
        return self._mark("steps", options, x, np.append(y, y[-1:]), dash=dash)

    def bar(self, x: Any, height: Any, width: Any = 0.8, bottom: Any = 0, **options: Any) -> Marks:
        x, height, bottom = (*self._numbers(x, height), self.yaxis.numbers(bottom))
        x, height, width, y = np.broadcast_arrays(np.atleast_1d(x), height, width, bottom)
        left = x - width / 2 if options.get("align") != "edge" else x
        self.yaxis.state.sticky += y.tolist()
        return self._bars(left, y, left + width, y + height, options, left + width / 2, y + height)

    def barh(self, y: Any, width: Any, height: Any = 0.8, left: Any = 0, **options: Any) -> Marks:
        width, y, left = (*self._numbers(width, y), self.xaxis.numbers(left))
        y, width, height, x = np.broadcast_arrays(np.atleast_1d(y), width, height, left)
        low = y - height / 2 if options.get("align") != "edge" else y
        self.xaxis.state.sticky += x.tolist()
        return self._bars(x, low, x + width, low + height, options, x + width, low + height / 2)

    def _bars(self, x: Any, y: Any, x_to: Any, y_to: Any, options: Any, *ends: Any) -> Marks:
        """Add bars, and intervals at their ends."""
        marks = self._mark("bars", _in_full(options), x, y, x_to, y_to, entry="groups")
        if len(marks.colours) > 1:  # a mark for each bar, as pages draw a mark in one colour
            order, _ = self._marks.pop()
            for *corners, colour in zip(x, y, x_to, y_to, marks.colours, strict=True):
                names = zip(("x", "y", "x_to", "y_to"), map(np.atleast_1d, corners), strict=True)
                one: dict[str, Any] = {**dict(names), "colours": (colour,)}
                self._marks.append((order, replace(marks, **one)))
        limits: dict[str, Any] = {n: options[n] for n in ("xerr", "yerr") if n in options}
        if limits:
            limits |= {"ecolor": "black", "fmt": "none", **options.get("error_kw", {})}
            self.errorbar(ends[0], ends[1], **limits)
        self._request_fit()
        return marks

    def errorbar(
        self, x: Any, y: Any, yerr: Any = None, xerr: Any = None, fmt: str = "-", **options: Any
    ) -> None:
        options, x, y = _in_full(options), *self._numbers(x, y)
        options["color"] = (
            options.get("ecolor") or options.get("color") or next(self._colours["lines"])
        )
        zorder = options.pop("zorder", 2)
        if fmt != "none":
            self.plot(x, y, fmt, zorder=zorder + 0.1, entry="", **options)
        width = options.get("elinewidth") or options.get("linewidth", 1.5)
        for ends, is_x in ((xerr, True), (yerr, False)):
            if ends is not None:
                low, high = (x if is_x else y) + np.array([[-1], [1]]) * np.asarray(
                    ends, np.float64
                )
                line = (low, y, high, y) if is_x else (x, low, x, high)
                self._segments(line, options | {"linewidth": width, "linestyle": "-"}, "groups")
        self._request_fit()

    def hlines(self, y: Any, xmin: Any, xmax: Any, **options: Any) -> Marks:
        low, high = map(self.xaxis.numbers, (xmin, xmax))
        places = np.broadcast_arrays(low, np.atleast_1d(self.yaxis.numbers(y)), high)
        return self._segments((*places, places[1]), options)

    def vlines(self, x: Any, ymin: Any, ymax: Any, **options: Any) -> Marks:
        low, high = map(self.yaxis.numbers, (ymin, ymax))
        at, low, high = np.broadcast_arrays(np.atleast_1d(self.xaxis.numbers(x)), low, high)
        return self._segments((at, low, at, high), options)

    def _segments(self, ends: Any, options: dict[str, Any], entry: str = "marks") -> Marks:
        options = {"color": style.BLUE, **_in_full(options)}
        ends = np.stack(ends)
        ends = ends[:, ~np.isnan(ends).any(axis=0)]
        more = {**_stroke(options), "entry": entry, "zorder": 2, "is_drawn": ends.size > 0}
        marks = self._mark("segments", options, *ends, **more)
        self._request_fit()
        return marks

    def axhline(self, y: Any, **options: Any) -> Marks:
        return self._across(self.yaxis, y, options)

    def axvline(self, x: Any, **options: Any) -> Marks:
        return self._across(self.xaxis, x, options)

    def _across(self, axis: Axis, value: Any, options: dict[str, Any]) -> Marks:
        """Add a line across the chart."""
        options = {"color": style.BLUE, **_in_full(options)}
        place, (low, high) = axis.numbers([value]), sorted(axis.get_view_interval())
        axis.add(place)
        if not low <= place[0] <= high:
            axis.request_fit()
        ends = (
            (place, -_EDGE, place, _EDGE) if axis is self.xaxis else (-_EDGE, place, _EDGE, place)
        )
        return self._mark("segments", options, *ends, zorder=2, **_stroke(options))

    def axvspan(self, xmin: Any, xmax: Any, **options: Any) -> Marks:
        ends = self.xaxis.numbers([xmin, xmax])
        self.xaxis.add(ends)
        self.xaxis.request_fit()
        return self._mark("bars", options, ends[:1], -_EDGE, ends[1:], _EDGE)

    def fill_between(
        self, x: Any, y1: Any, y2: Any = 0, *, step: str | None = None, **options: Any
    ) -> Marks:
        columns = np.broadcast_arrays(*self._numbers(x, y1), self.yaxis.numbers(y2))
        parts = [np.empty((0, 2))]
        for first, end in contiguous_regions(np.isfinite(np.stack(columns)).all(axis=0)):
            at, one, other = (column[first:end] for column in columns)
            if step is not None:
                at, one, other = STEP_LOOKUP_MAP[f"steps-{step}"](at, one, other)
            there, back = np.stack((at, one), axis=1), np.stack((at, other), axis=1)[::-1]
            gap = np.full((1, 2), np.nan)
            parts += [back[-1:], there, back[:1], back, back[-1:], gap]
        is_drawn = len(parts) > 1
        marks = self._mark("polygon", options, *np.concatenate(parts).T, is_drawn=is_drawn)
        self._request_fit()
        return marks

    def scatter(self, x: Any, y: Any, areas: Any, **options: Any) -> Marks:
        marks = self._mark("points", options, *self._numbers(x, y), sizes=np.sqrt(areas) / 2)
        self._request_fit()
        return marks

    def add_collection(self, polygons: Any) -> None:
        """Add rectangles with what each is, see `style.label_each`."""
        corners = np.stack([path.vertices[[0, 2]] for path in polygons.get_paths()])
        options = {"label": polygons.get_label(), "color": polygons.get_facecolor()}
        ends, labels = corners.reshape(-1, 4).T, style.labels_of(polygons)
        self._mark("bars", options, *ends, labels=labels, outlined=True)
        self._request_fit()

    def imshow(self, image: NDArray[Any], *, extent: Any, **_: Any) -> Any:
        """Add cells of one colour, of which the opacity is the share; rows from the lowest."""
        left, right, low, high = np.array(extent, dtype=np.float64)[:, None]
        options = {"color": image[0, 0, :3]}
        self._mark("cells", options, left, low, right, high, zorder=0, shares=image[..., 3])
        self.xaxis.state.sticky += [left[0], right[0]]
        self.yaxis.state.sticky += [low[0], high[0]]
        self._request_fit()
        order, cells = self._marks[-1]
        at = len(self._marks) - 1

        def set_label(label: str) -> None:
            self._marks[at] = order, replace(cells, name=label)

        return SimpleNamespace(set_label=set_label)

    def text(self, x: float, y: float, text: str, *, transform: Any = None, **_: Any) -> None:
        self._texts.append(((x, y), None if transform else (0, 0), text))

    def annotate(self, text: str, xy: Any, xytext: Any = (0, 0), **_: Any) -> None:
        """Add a text next to a point, `xytext` [points] from it."""
        self._texts.append((xy, xytext, text))

    def _numbers(self, x: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.xaxis.numbers(x), self.yaxis.numbers(y)

    def _request_fit(self) -> None:
        self.xaxis.request_fit()
        self.yaxis.request_fit()

    # Axes, legend and title

    def __getattr__(self, name: str) -> Any:
        """Return a method of an axis: `get_xlim`, `set_yticks`."""
        if not (method := re.fullmatch(r"([gs]et)_([xy])(lim|label|ticks|scale)", name)):
            raise AttributeError(f"axes of charts have no {name}")
        verb, axis, noun = method.groups()
        noun = {"label": "label_text", "lim": "view_interval" if verb == "get" else "lim"}.get(
            noun, noun
        )
        return getattr(self.xaxis if axis == "x" else self.yaxis, f"{verb}_{noun}")

    def set(self, **values: Any) -> None:
        for name, value in values.items():
            getattr(self, f"set_{name}")(value)

    def set_title(self, text: str, *, loc: str = "center", **_: Any) -> None:
        self._titles[loc] = text

    def invert_yaxis(self) -> None:
        self.yaxis.invert()

    def margins(self, *, x: float) -> None:
        self.xaxis.state.margin = x
        self.xaxis.request_fit()

    def grid(self, visible: bool | None = None, *, axis: str = "both") -> None:
        for each in (self.xaxis, self.yaxis):
            if axis in ("both", each.axis_name):
                each.grid = not each.grid if visible is None else visible

    def tick_params(self, *, labelleft: bool = True, **_: Any) -> None:
        self.yaxis.labelled &= labelleft

    def get_legend_handles_labels(self) -> tuple[list[Marks], list[str]]:
        entries = [*self._entries["marks"], *self._entries["groups"]]
        return [marks for _, marks in entries], [label for label, _ in entries]

    def legend(
        self, handles: Sequence[Any] | None = None, labels: Sequence[str] | None = None, **_: Any
    ) -> _Legend:
        if handles is None:
            handles, labels = self.get_legend_handles_labels()
        elif labels is None:
            labels = [one.name if isinstance(one, Marks) else one.get_label() for one in handles]
        self.legend_ = _Legend(self, handles, labels or [])
        return self.legend_

    def get_legend(self) -> _Legend | None:
        return self.legend_


def _in_full(options: dict[str, Any]) -> dict[str, Any]:
    """Return options by their full names."""
    return {_SHORT.get(name, name): value for name, value in options.items()}


def _look(colours: Any, alpha: float | None = None) -> dict[str, Any]:
    rgba = to_rgba_array(colours)
    if not len(rgba):
        rgba = to_rgba_array(style.BLUE)
    names = tuple(to_hex(colour) for colour in rgba)
    return {
        "colours": names[:1] if len(set(names)) == 1 else names,
        "opacity": float(rgba[0][3]) if alpha is None else alpha,
    }


def _stroke(options: dict[str, Any]) -> dict[str, Any]:
    dash = options.get("linestyle", "-")
    dash = dash if dash in ("-", "--", ":") else "-" if dash == "solid" else "--"
    return {"dash": dash, "width": float(options.get("linewidth", 1.5))}


def _join(found: list[Marks], marks: Marks) -> None:
    """Add marks to those before them if both are bars of the same look."""
    last = found[-1] if found else marks
    look = [(m.kind, m.name, m.colours, m.opacity, m.labels) for m in (last, marks)]
    if last is marks or marks.kind != "bars" or look[0] != look[1]:
        found.append(marks)
        return
    ends = ("x", "y", "x_to", "y_to")
    joined: dict[str, Any] = {
        name: np.append(getattr(last, name), getattr(marks, name)) for name in ends
    }
    found[-1] = replace(last, **joined)
