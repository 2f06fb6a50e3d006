"""The description of a figure for pages: marks with their data on two axes.

A ``plot_…`` function states a figure on matplotlib Axes, once for all uses; `Figure` of
`workloadkit.analysis.section` holds it. `chart_axes.charts_of` hands it Axes that only describe the
marks, a `Chart` each. `chart_forms` writes charts as static SVG, and as the data from which
`templates/charts.js` draws them in a browser.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis import style

#: A chart of a page holds at most so many points of a mark.
MOST_POINTS = 5000

Kind = Literal["line", "steps", "points", "bars", "polygon", "segments", "cells"]


def nothing() -> NDArray[np.float64]:
    """Return a column without values."""
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of one kind, in one colour.

    Parameters
    ----------
    kind : {"line", "steps", "points", "bars", "polygon", "segments", "cells"}
        Steps keep their value until the next x. Bars are rectangles and segments are straight, from
        `x`, `y` to `x_to`, `y_to`; an infinite end is the edge of the chart. Cells divide one such
        rectangle.
    x, y : ndarray of float
        NaN interrupts a line and separates polygons.
    x_to, y_to : ndarray of float
        Other ends of bars, segments and cells; empty otherwise.
    name : str
        Name in the legend; empty without.
    colours : tuple of str
        One colour as "#rrggbb", or one for each point.
    dash : {"-", "--", ":"}
    opacity : float
    marker : bool
        Whether a line has a dot at each point.
    sizes : ndarray of float
        Radius of each point, or empty.
    width : float
        Width of lines and segments.
    labels : tuple of str
        What each point or bar is, or empty.
    outlined : bool
        Whether the edges of bars are drawn, so that neighbours are seen apart.
    shares : ndarray of float, shape (rows, columns)
        How full the cells are, from 0 to 1, from the lowest row on; empty otherwise.
    """

    kind: Kind
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    x_to: NDArray[np.float64] = field(default_factory=nothing)
    y_to: NDArray[np.float64] = field(default_factory=nothing)
    name: str = ""
    colours: tuple[str, ...] = (style.BLUE,)
    dash: str = "-"
    opacity: float = 1.0
    marker: bool = False
    sizes: NDArray[np.float64] = field(default_factory=nothing)
    width: float = 1.5
    labels: tuple[str, ...] = ()
    outlined: bool = False
    shares: NDArray[np.float64] = field(default_factory=nothing)

    def reduced(self, most: int = MOST_POINTS) -> "Marks":
        """Return at most so many of the points.

        Of each part of a line its extremes; bars side by side become wider ones, as high as the
        highest of them; of other bars the largest.

        Examples
        --------
        >>> y = np.zeros(9000)
        >>> y[4321] = 7
        >>> marks = Marks("line", np.arange(9000.0), y).reduced()
        >>> marks.x.size <= 5000, float(marks.y.max())
        (True, 7.0)
        """
        n = self.x.size
        if n <= most:
            return self
        if self.kind == "bars" and not self.labels and self._side_by_side:
            return self._merged(most)
        if self.kind in ("line", "steps"):
            edges = np.linspace(0, n, most // 4 + 1).astype(np.int64)
            kept = [edges[:-1], edges[1:] - 1]
            for least, fill in ((np.argmin, np.inf), (np.argmax, -np.inf)):
                known = np.where(np.isnan(self.y), fill, self.y)
                parts = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
                kept.append(np.array([a + least(known[a:b]) for a, b in parts]))
            rows = np.unique(np.concatenate(kept))
        elif self.kind == "bars":
            areas = np.abs((self.x_to - self.x) * (self.y_to - self.y))
            rows = np.sort(np.argsort(-areas, kind="stable")[:most])
        else:
            rows = np.unique(np.linspace(0, n - 1, most).astype(np.int64))

        def chosen(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return values[rows] if values.size == n else values

        colours = tuple(np.array(self.colours)[rows]) if len(self.colours) == n else self.colours
        labels = tuple(self.labels[row] for row in rows) if self.labels else ()
        columns = map(chosen, (self.x, self.y, self.x_to, self.y_to, self.sizes))
        x, y, x_to, y_to, sizes = columns
        return replace(
            self, x=x, y=y, x_to=x_to, y_to=y_to, sizes=sizes, colours=colours, labels=labels
        )

    @property
    def _side_by_side(self) -> bool:
        """Whether each bar begins where the one before it ends."""
        gaps = self.x[1:] - self.x_to[:-1]
        return bool((np.diff(self.x) > 0).all() and (gaps <= 1e-9 * np.ptp(self.x)).all())

    def _merged(self, most: int) -> "Marks":
        """Merge bars side by side; the base and the height are the farthest of each group."""
        n = self.x.size
        first = np.unique(np.linspace(0, n, most + 1).astype(np.int64)[:-1])
        low, high = np.fmin(self.y, self.y_to), np.fmax(self.y, self.y_to)
        return replace(
            self,
            x=self.x[first],
            y=np.fmin.reduceat(low, first),
            x_to=self.x_to[np.append(first[1:], n) - 1],
            y_to=np.fmax.reduceat(high, first),
            colours=self.colours[:1],
        )


@dataclass(frozen=True, eq=False)
class Scale:
    """An axis of a chart.

    Parameters
    ----------
    label : str
    low, high : float
        Its ends; `low` is greater on an inverted axis. Dates are days since 1970.
    form : {"number", "share", "percent", "time", "date", "names"}
        How its values are written; times are in seconds.
    log : bool
    linear : float
        If above 0, the axis is linear up to it, on both sides of 0, and logarithmic beyond.
    ticks : tuple of (float, str)
    grid, labelled : bool
        Whether it has grid lines, and whether its ticks have labels.
    between : tuple of (float, str)
        Labels between the ticks.
    """

    label: str
    low: float
    high: float
    form: str = "number"
    log: bool = False
    linear: float = 0.0
    ticks: tuple[tuple[float, str], ...] = ()
    grid: bool = True
    labelled: bool = True
    between: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Chart:
    """Marks on two axes, a panel of a figure.

    Parameters
    ----------
    marks : tuple of Marks
        In the order of drawing.
    x, y : Scale
    legend : tuple of Marks
        Its entries; without data.
    texts : tuple of (float, float, str)
        Texts within the chart, at shares of its width and height.
    title : str
        Title of the panel.
    """

    marks: tuple[Marks, ...]
    x: Scale
    y: Scale
    legend: tuple[Marks, ...] = ()
    texts: tuple[tuple[float, float, str], ...] = ()
    title: str = ""

    @property
    def n_points(self) -> int:
        """Number of points."""
        return sum(marks.x.size for marks in self.marks)

    def reduced(self) -> "Chart":
        """Return the chart with at most `MOST_POINTS` points of each mark."""
        return replace(self, marks=tuple(marks.reduced() for marks in self.marks))
