"""Charts on a page: as static SVG, and as data for a browser."""

import io
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.chart import Chart, Marks, Scale
from workloadkit.analysis.formats import printable
from workloadkit.analysis.style import SIZE, THEME

_WIDTH, _HEIGHT = (72 * inches for inches in SIZE)
_LEAST = 130  # height of a panel of a wide figure
_LETTER, _LINE = 5.6, 13.0  # width and height of a character of 10 px
_DASHES = {"-": "", "--": ' stroke-dasharray="6 3"', ":": ' stroke-dasharray="2 2"'}


class _Frame:
    """Where a chart lies in its SVG: its edges, and the places of values."""

    def __init__(
        self, chart: Chart, left: float, labels: float, right: float, top: float, bottom: float
    ) -> None:
        self.left = left + labels
        self.right = right - 8
        last = chart.x.ticks[-1] if chart.x.ticks else (0.0, "")
        share = float(_shares(chart.x, last[0])) if chart.x.ticks else 0.0
        self.right -= max(0.0, _LETTER * len(last[1]) / 2 - (1 - share) * (right - self.left))
        room = right - self.left - _LETTER * (len(chart.title) + 2)
        self.legend = list(_rows(chart.legend, room))
        self.top = top + 6 + _LINE * max(len(self.legend), bool(chart.title))
        self.bottom = bottom - 18 - (_LINE if chart.x.label else 0)
        self.chart = chart

    def x(self, values: ArrayLike) -> NDArray[np.float64]:
        """Places of values of the x axis; infinite ones lie on the edge."""
        shares = np.clip(_shares(self.chart.x, values), -0.02, 1.02)
        return np.round(self.left + shares * (self.right - self.left), 1)

    def y(self, values: ArrayLike) -> NDArray[np.float64]:
        """Places of values of the y axis."""
        shares = np.clip(_shares(self.chart.y, values), -0.02, 1.02)
        return np.round(self.bottom - shares * (self.bottom - self.top), 1)


def _labels_width(chart: Chart) -> float:
    """Return the room left of a chart: for the labels of its ticks, and for its own."""
    labels = [text for _, text in chart.y.ticks] if chart.y.labelled else []
    longest = max(map(len, labels), default=0)
    return 8 + _LETTER * longest + (_LINE if chart.y.label else 0)


def _shares(scale: Scale, values: ArrayLike) -> NDArray[np.float64]:
    """Return where values lie between the ends of an axis."""
    places = np.asarray(values, dtype=np.float64)
    low, high = scale.low, scale.high
    if scale.log:
        low, high = float(np.log10(low)), float(np.log10(high))
        with np.errstate(divide="ignore"):
            places = np.log10(np.maximum(places, 0))
    elif scale.linear:
        low, high = np.arcsinh([low / scale.linear, high / scale.linear]).tolist()
        places = np.arcsinh(places / scale.linear)
    return (places - low) / ((high - low) or 1.0)


def _rows(entries: Sequence[Marks], room: float) -> Iterator[list[tuple[float, Marks]]]:
    """Yield the rows of a legend: its entries, each with its place."""
    row: list[tuple[float, Marks]] = []
    x = 0.0
    for entry in entries:
        width = 32 + _LETTER * len(entry.name)
        if row and x + width > room:
            yield row
            row, x = [], 0.0
        row.append((x, entry))
        x += width
    if row:
        yield row


def svg_of(panels: Sequence[Sequence[Chart]], *, label: str, name: str, wide: bool = False) -> str:
    """Return a figure as an SVG element in the colours of the page.

    Parameters
    ----------
    panels : sequence of sequences of Chart
        Rows of panels, from `charts_of`.
    label : str
        What a reader hears who does not see it; text, escaped here.
    name : str
        Prefix of the ids, unique in the page.
    wide : bool
        Whether the figure is as wide as the page, not as half of it.
    """
    n_rows = max(len(panels), 1)
    all_width = _WIDTH * (2 if wide else 1)
    height = _HEIGHT / n_rows if not wide else max(_HEIGHT / n_rows, _LEAST)
    width_class = ' class="wide"' if wide else ""
    parts = [
        f'<svg viewBox="0 0 {all_width:g} {n_rows * height:g}" role="img" '
        f'aria-label="{escape(printable(label))}" font-size="10"{width_class}>'
    ]
    for i, row in enumerate(panels):
        width = all_width / len(row)
        for j, chart in enumerate(row):
            labels = max(_labels_width(other[j]) for other in panels if j < len(other))
            edges = j * width, labels, (j + 1) * width, i * height, (i + 1) * height
            frame = _Frame(chart, *edges)
            parts += _panel(frame, f"{name}-{i}-{j}")
    return "".join([*parts, "</svg>"])


def _panel(frame: _Frame, name: str) -> Iterator[str]:
    chart = frame.chart
    yield from _axes(frame)
    width, height = frame.right - frame.left, frame.bottom - frame.top
    yield (
        f'<clipPath id="{name}"><rect x="{frame.left - 4:.1f}" y="{frame.top - 4:.1f}" '
        f'width="{width + 8:.1f}" height="{height + 8:.1f}"/></clipPath>'
        f'<g clip-path="url(#{name})" stroke-linejoin="round">'
    )
    for i, marks in enumerate(chart.marks):
        if marks.kind == "cells":
            yield from _cells(frame, marks, f"{name}-{i}")
        else:
            yield from _SHAPES[marks.kind](frame, marks.reduced())
    yield "</g>"
    if chart.title:
        yield _text(frame.right, frame.top - 6, chart.title, "end", "var(--ink)")
    for x, y, text in chart.texts:
        at = frame.left + x * width, frame.bottom - y * height
        anchor = "middle" if x == 0.5 else "start"
        yield _text(*at, text, anchor, "var(--ink)")
    for i, row in enumerate(frame.legend):
        y = frame.top - 6 - _LINE * (len(frame.legend) - i - 1)
        for x, entry in row:
            yield from _entry(frame.left + x, y, entry)


def _entry(x: float, y: float, entry: Marks) -> Iterator[str]:
    colour = _colour(entry.colours[0])
    if entry.kind == "points":
        yield f'<circle cx="{x + 8:.1f}" cy="{y - 3:.1f}" r="3" fill="{colour}"/>'
    elif entry.kind == "line":
        yield f'<path d="M{x:.1f} {y - 3:.1f}h16" {_stroke(entry)}/>'
    else:
        yield f'<rect x="{x:.1f}" y="{y - 7:.1f}" width="16" height="7" fill="{colour}"/>'
    yield _text(x + 20, y, entry.name, "start", "var(--ink)")


def _axes(frame: _Frame) -> Iterator[str]:
    chart, bottom, left = frame.chart, frame.bottom, frame.left
    across = frame.x([place for place, _ in chart.x.ticks]).tolist()
    up = frame.y([place for place, _ in chart.y.ticks]).tolist()
    grid = "".join(f"M{x:g} {frame.top:.1f}V{bottom:.1f}" for x in across if chart.x.grid)
    grid += "".join(f"M{left:.1f} {y:g}H{frame.right:.1f}" for y in up if chart.y.grid)
    yield f'<path d="{grid}" stroke="var(--grid)" stroke-width=".6"/>' if grid else ""
    yield (
        f'<path d="M{left:.1f} {frame.top:.1f}V{bottom:.1f}H{frame.right:.1f}" '
        'fill="none" stroke="var(--muted)" stroke-width=".6"/>'
    )
    across += frame.x([place for place, _ in chart.x.between]).tolist()
    labels = [text for _, text in chart.x.ticks + chart.x.between]
    free = -np.inf  # a label that would touch the one before it is left out
    for x, text in sorted(zip(across, labels, strict=True)):
        half = _LETTER * len(text) / 2 + 1
        if text and x - half >= free:
            free = x + half
            yield _text(x, bottom + 15, text, "middle")
    if chart.y.labelled:
        for y, (_, text) in zip(up, chart.y.ticks, strict=True):
            yield _text(left - 4, y + 3, text, "end")
    if chart.x.label:
        yield _text((left + frame.right) / 2, bottom + 15 + _LINE, chart.x.label, "middle")
    if chart.y.label:
        x = left - _labels_width(chart) + _LINE - 2
        middle = (frame.top + bottom) / 2
        yield (
            f'<text transform="translate({x:.1f} {middle:.1f})rotate(-90)" fill="var(--muted)" '
            f'text-anchor="middle">{escape(chart.y.label)}</text>'
        )


def _text(x: float, y: float, text: str, anchor: str, colour: str = "var(--muted)") -> str:
    if not text:
        return ""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{where}>{escape(text)}</text>'


def _colour(colour: str) -> str:
    return f"var({THEME[colour][0]})" if colour in THEME else colour


def _stroke(marks: Marks) -> str:
    return (
        f'fill="none" stroke="{_colour(marks.colours[0])}" stroke-width="{marks.width:g}"'
        f"{_DASHES[marks.dash]}{_opacity(marks)}"
    )


def _opacity(marks: Marks) -> str:
    return "" if marks.opacity == 1 else f' opacity="{marks.opacity:.2g}"'


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return the path through points, with gaps where one is unknown."""
    words, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if a == a and b == b:
            words.append(f"{pen}{a:g} {b:g}")
            pen = "L"
        else:
            pen = "M"
    return "".join(words)


def _line(frame: _Frame, marks: Marks) -> Iterator[str]:
    x, y = frame.x(marks.x), frame.y(marks.y)
    if marks.kind == "steps":
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    yield f'<path d="{_path(x, y)}" {_stroke(marks)}/>'
    if marks.marker:
        yield from _circles(x, y, np.full(x.size, 1.8), marks)


def _points(frame: _Frame, marks: Marks) -> Iterator[str]:
    sizes = marks.sizes if marks.sizes.size else np.full(marks.x.size, 2.0)
    yield from _circles(frame.x(marks.x), frame.y(marks.y), sizes, marks)


def _circles(
    x: NDArray[np.float64], y: NDArray[np.float64], sizes: NDArray[np.float64], marks: Marks
) -> Iterator[str]:
    """Yield dots, as a group of one look if all have one colour."""
    alike = len(marks.colours) == 1
    yield f'<g fill="{_colour(marks.colours[0])}"{_opacity(marks)}>'
    colours = marks.colours * (x.size if alike else 1)
    columns = (x.tolist(), y.tolist(), np.round(sizes, 1).tolist(), colours)
    for a, b, size, colour in zip(*columns, strict=True):
        if a == a and b == b:
            own = "" if alike else f' fill="{_colour(colour)}"'
            yield f'<circle cx="{a:g}" cy="{b:g}" r="{size:g}"{own}/>'
    yield "</g>"


def _bars(frame: _Frame, marks: Marks) -> Iterator[str]:
    x, x_to, y, y_to = frame.x(marks.x), frame.x(marks.x_to), frame.y(marks.y), frame.y(marks.y_to)
    ends = zip(x.tolist(), y.tolist(), x_to.tolist(), y_to.tolist(), strict=True)
    shapes = "".join(f"M{a:g} {b:g}H{c:g}V{d:g}H{a:g}z" for a, b, c, d in ends if b == b and d == d)
    edge = ' stroke="var(--page)" stroke-width=".4"' if marks.outlined else ""
    yield f'<path d="{shapes}" fill="{_colour(marks.colours[0])}"{edge}{_opacity(marks)}/>'


def _cells(frame: _Frame, marks: Marks, name: str) -> Iterator[str]:
    """Yield cells as an image that masks their colour, which is that of the page."""
    (left, right), (low, high) = (
        frame.x([*marks.x, *marks.x_to]),
        frame.y([*marks.y, *marks.y_to]),
    )
    box = f'x="{left:g}" y="{high:g}" width="{right - left:g}" height="{low - high:g}"'
    image = np.ones((*marks.shares.shape, 4))
    image[..., 3] = marks.shares[::-1]
    file = io.BytesIO()
    from matplotlib.image import imsave

    imsave(file, image, format="png", metadata={"Software": ""})
    address = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    yield (
        f'<mask id="{name}"><image {box} href="{address}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated"/></mask>'
        f'<rect {box} fill="{_colour(marks.colours[0])}" mask="url(#{name})"/>'
    )


def _polygon(frame: _Frame, marks: Marks) -> Iterator[str]:
    shape = _path(frame.x(marks.x), frame.y(marks.y))
    yield f'<path d="{shape}" fill="{_colour(marks.colours[0])}"{_opacity(marks)}/>'


def _segments(frame: _Frame, marks: Marks) -> Iterator[str]:
    x, x_to, y, y_to = frame.x(marks.x), frame.x(marks.x_to), frame.y(marks.y), frame.y(marks.y_to)
    ends = list(zip(x.tolist(), y.tolist(), x_to.tolist(), y_to.tolist(), strict=True))
    if len(marks.colours) == len(ends) > 1:
        for colour, (a, b, c, d) in zip(marks.colours, ends, strict=True):
            stroke = f'stroke="{_colour(colour)}" stroke-width="{marks.width:g}"'
            yield f'<path d="M{a:g} {b:g}L{c:g} {d:g}" {stroke}/>'
        return
    lines = "".join(f"M{a:g} {b:g}L{c:g} {d:g}" for a, b, c, d in ends if b == b and d == d)
    yield f'<path d="{lines}" {_stroke(marks)}/>'


_SHAPES = {
    "line": _line,
    "steps": _line,
    "points": _points,
    "bars": _bars,
    "polygon": _polygon,
    "segments": _segments,
}


def data_of(panels: Sequence[Sequence[Chart]]) -> str:
    """Return a figure as JSON for a script of the page; numbers have five digits.

    Examples
    --------
    >>> data_of([])
    '[]'
    """
    found = [[_panel_data(chart) for chart in row] for row in panels]
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _panel_data(chart: Chart) -> dict[str, Any]:
    return {
        "x": _scale_data(chart.x),
        "y": _scale_data(chart.y),
        "marks": [_marks_data(marks.reduced()) for marks in chart.marks],
        "legend": [_marks_data(entry) for entry in chart.legend],
        "texts": chart.texts,
        "title": chart.title,
    }


def _scale_data(scale: Scale) -> dict[str, Any]:
    return {
        "label": scale.label,
        "range": [scale.low, scale.high],
        "form": scale.form,
        "log": scale.log,
        "linear": scale.linear,
        "ticks": scale.ticks,
        "grid": scale.grid,
        "labelled": scale.labelled,
        "between": scale.between,
    }


def _marks_data(marks: Marks) -> dict[str, Any]:
    columns = {n: getattr(marks, n) for n in ("x", "y", "x_to", "y_to", "sizes")}
    percent = np.atleast_2d(np.round(99 * marks.shares).astype(np.int64))
    more = {
        "labels": marks.labels,
        "outlined": marks.outlined,
        "shares": ["".join(f"{cell:02d}" for cell in row) for row in percent.tolist() if row],
    }
    return {
        "kind": marks.kind,
        "name": marks.name,
        "colours": [THEME[c][0] if c in THEME else c for c in marks.colours],
        "dash": marks.dash,
        "opacity": marks.opacity,
        "marker": marks.marker,
        "width": marks.width,
        **{name: _numbers(values) for name, values in columns.items() if values.size},
        **{name: value for name, value in more.items() if value},
    }


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Round to what a screen shows; infinite and unknown values are None."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    spread = float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
    digits = 5 + (int(np.log10(largest / spread)) if 0 < spread < largest else 0)
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in values.tolist()]
