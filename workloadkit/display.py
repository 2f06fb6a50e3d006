"""How results show themselves: a short `repr`, a table, a table in notebooks."""

from collections.abc import Mapping, Sized
from dataclasses import fields, is_dataclass
from math import isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.errors import plural, printable, quoted
from workloadkit.fields import FIELDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Title of an axis of time.
SINCE_BEGIN = "time since the log's begin [d]"

#: Seconds of a day.
DAY = 86400

_WIDTH = 160  # characters of a repr
_ROWS = 10  # of a table in a notebook
_COLUMNS = 12
_ITEMS = 3  # of a tuple that a repr shows

_SECONDS = (
    *("start", "end", "begin", "until", "planned_end", "first", "last", "response", "estimate"),
    *("threshold", "cut", "makespan", "tail", "gap", "period", "session_length", "activity_length"),
    *("inter_arrival", "warmup", "cooldown"),
    *("mean_wait_short", "mean_wait_medium", "mean_wait_long"),
)
_UNITS = {
    **{field.name: field.unit for field in FIELDS if field.unit},
    **dict.fromkeys(_SECONDS, "s"),
    "work": "processors × s",
    "lost_work": "processors × s",
    "tail_work": "processors × s",
    "throughput_per_hour": "1/h",
    "makespan_throughput_per_hour": "1/h",
}
_MEASURES = ("low", "high", "others", "mean", "median", "p25", "p50", "p75", "p98", "p100")


class Displayed:
    """A result that shows itself: base of the dataclasses that public functions return.

    A subclass with several tables, or none, overrides `_table`. It overrides `_summary` if its
    fields do not summarize it well. Results that a figure can show have ``plot(ax=None)``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import pandas as pd
    >>> @dataclass(frozen=True, eq=False)
    ... class Waits(Displayed):
    ...     name: str
    ...     by_user: pd.DataFrame
    >>> waits = Waits("a.swf", pd.DataFrame({"user": [1, 2], "wait": [30.0, 60.0]}))
    >>> waits
    Waits(name='a.swf', by_user=<2 rows>)
    >>> waits.to_frame().attrs["units"]
    {'wait': 's'}
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in vars(cls):  # in its place, a dataclass would write its own
            cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the class and what matters of it, on one line."""
        name = type(self).__name__
        text, room = printable(self._summary()), _WIDTH - len(name)
        return f"{name}({text if len(text) <= room else text[: room - 1] + '…'})"

    def _repr_html_(self) -> str:
        """Return name, summary and the first rows of the table, for notebooks."""
        from html import escape

        table = self.to_frame()
        units = table.attrs["units"]
        shown = table.head(_ROWS).rename(
            columns=lambda name: f"{name} [{units[name]}]" if name in units else name
        )
        named = any(name is not None for name in shown.index.names)
        cells = shown.map(_cell).to_html(border=0, max_cols=_COLUMNS, index=named)
        more = len(table) - len(shown)
        rest = f"<p>and {plural(more, 'more row')}</p>" if more > 0 else ""
        name, summary = escape(type(self).__name__), escape(printable(self._summary()))
        return f"<div><p><b>{name}</b> {summary}</p>\n{cells}\n{rest}</div>"

    def to_frame(self) -> "pd.DataFrame":
        """Return its main table.

        Returns
        -------
        DataFrame
            ``attrs["units"]`` has the units of its columns, by name.
        """
        table = self._table()
        table = table.rename(columns=str)
        table.attrs["units"] = {name: unit for name in table if (unit := unit_of(name))}
        return table

    def _summary(self) -> str:
        """Return the text between the parentheses of `repr`."""
        shown = [f for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return ", ".join(f"{f.name}={brief(getattr(self, f.name))}" for f in shown)

    def _table(self) -> "pd.DataFrame":
        """Return the first table among the fields, else the plain values as one row."""
        import pandas as pd

        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        tables = [value for value in values.values() if isinstance(value, pd.DataFrame)]
        if tables:
            return tables[0]
        plain = {name: v for name, v in values.items() if _is_plain(v)}
        return pd.DataFrame([plain])


def brief(value: Any) -> str:
    """Return a value in a few characters.

    Examples
    --------
    >>> brief(1 / 3), brief("x" * 99), brief(("fcfs", "easy")), brief({"a": 1}), brief(print)
    ('0.333333', "'xxxxxxxxxxxxxxxxxxxxxxx…'", "('fcfs', 'easy')", '<1 item>', 'print')
    """
    if isinstance(value, str):
        return quoted(value, 24)
    if isinstance(value, bool | None):
        return str(value)
    if isinstance(value, Real):
        return str(value) if isinstance(value, Integral) else f"{value:.6g}"
    if isinstance(value, tuple) and len(value) <= _ITEMS and all(map(_is_plain, value)):
        return f"({', '.join(map(brief, value))})"
    if isinstance(value, Sized) and not is_dataclass(value):
        what = "row" if hasattr(value, "iloc") else "item"
        return f"<{plural(len(value), what)}>"
    return getattr(value, "__name__", f"<{type(value).__name__}>")


def unit_of(column: str) -> str:
    """Return the unit of a column by its name, empty if it has none or is not known.

    Examples
    --------
    >>> unit_of("mean_wait"), unit_of("run_p50"), unit_of("mean_bounded_slowdown")
    ('s', 's', '')
    """
    name = column
    for _ in range(2):
        name = name.removeprefix("mean_").removeprefix("median_")
        head, _, tail = name.rpartition("_")
        name = head if tail in _MEASURES else name
    return _UNITS.get(column) or _UNITS.get(name, "")


def current_axes(ax: "Axes | None") -> "Axes":
    """Return the given Axes, else the current ones."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.gca()


def plot_counts(counts: Mapping[str, float], ax: "Axes | None", *, label: str) -> "Axes":
    """Draw a bar for each count, the first on top."""
    ax = current_axes(ax)
    ax.barh(list(counts), list(counts.values()))
    ax.invert_yaxis()
    ax.set_xlabel(label)
    ax.set_ylabel("kind")
    return ax


def plot_spans(table: "pd.DataFrame", ax: "Axes | None") -> "Axes":
    """Draw the processors that are down from each `start` to its `end`. [s]."""
    ax = current_axes(ax)
    begin, end = table["start"].to_numpy() / DAY, table["end"].to_numpy() / DAY
    ax.bar(begin, table["procs"], np.maximum(end - begin, 0), align="edge", edgecolor="C0")
    ax.set_xlabel(SINCE_BEGIN)
    ax.set_ylabel("processors down")
    return ax


def _is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, or None."""
    return isinstance(value, Real | str | None)


def _cell(value: Any) -> str:
    """Return the text of a cell of a table in a notebook."""
    if isinstance(value, float):
        return "–" if isnan(value) else f"{value:,.6g}"
    return printable(str(value))
