"""What a section of a report is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.formats import share, with_interval
from workloadkit.display import Displayed
from workloadkit.provenance import plain

#: For each column to show, its title and the function that formats a cell.
Columns = Mapping[str, tuple[str, Callable[[Any], str]]]

#: Seed of whatever is drawn for a report, so that the same log gives the same page.
SEED = 1

_HALF_PAGE = 60  # letters in a line of a table that shares the page's width with another


class Result(Displayed):
    """What a measure of logs returns: a frozen dataclass of numbers, texts and tables.

    Each draws itself by ``plot(ax=None)``, which returns the Axes.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Waits(Result):
    ...     mean: float
    ...     by_user: pd.DataFrame
    >>> Waits(3.0, pd.DataFrame({"wait": [2.0, float("nan")]})).to_dict()
    {'mean': 3.0, 'by_user': [{'index': 0, 'wait': 2.0}, {'index': 1, 'wait': None}]}
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it on the given Axes, else on the current ones."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain Python values; a table as its rows."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Table:
    """A table: its numbers, and how people read them.

    Parameters
    ----------
    name : str
        Name in the JSON.
    caption : str
        What the table shows, in a sentence.
    data : DataFrame
        The numbers, in full precision.
    shown : DataFrame of str
        The same cells, formatted; column and row labels are what the reader sees.
    words : bool, default False
        Whether cells hold words, which are aligned at the left, rather than numbers.
    folded : bool, default False
        Whether the page shows it only on demand.
    """

    name: str
    caption: str
    data: pd.DataFrame
    shown: pd.DataFrame
    words: bool = False
    folded: bool = False

    @property
    def headed(self) -> bool:
        """Whether its columns have titles."""
        return any(self.shown.columns)

    @property
    def wide(self) -> bool:
        """Whether it needs the width of a page."""
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
    """A figure: its numbers, and the function that draws them.

    Parameters
    ----------
    name : str
        Name of the file and in the JSON; unique in its section.
    title : str
        A few words.
    caption : str
        What is shown, in a sentence.
    data : DataFrame
        The numbers.
    plot : callable
        ``plot(data, ax=None) -> Axes``.
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    plot: Callable[..., Axes]

    def to_dict(self) -> dict[str, Any]:
        """Return title, caption and the columns of the data, as plain Python values."""
        columns = self.data.reset_index().to_dict("list")
        return {"title": self.title, "caption": self.caption, "data": plain(columns)}


@dataclass(frozen=True, eq=False)
class Section:
    """One aspect of a log.

    Parameters
    ----------
    name : str
        Name in the JSON, in links and in file names.
    title : str
        Heading.
    finding : str
        The aspect in one or two sentences with numbers, for the top of the page.
    notes : tuple of str
        Sentences on what the log lacks and how to read the numbers.
    values : mapping
        Single numbers by name, for the JSON. Times in seconds.
    tables : tuple of Table
    figures : tuple of Figure
    parameters : mapping
        What was chosen to compute it. Times are floats [s], counts and seeds whole numbers.
    """

    name: str
    title: str
    finding: str = ""
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the parameters, as plain Python values."""
        return {
            "title": self.title,
            "finding": self.finding,
            "notes": list(self.notes),
            "values": plain(self.values),
            "tables": {table.name: table.to_dict() for table in self.tables},
            "figures": {figure.name: figure.to_dict() for figure in self.figures},
        }


def shown(data: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return a table of formatted cells.

    Parameters
    ----------
    data : DataFrame
    columns : Columns

    Examples
    --------
    >>> from analysis.formats import duration
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

    Parameters
    ----------
    data : DataFrame
    name : str
    form : callable, optional
    limits : str, optional
        Name that the ends of the interval go by, where that is not `name`.

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
    """Return a table of two columns: what it is, and its value as people read it."""
    data = pd.DataFrame({"value": [value for value, _ in rows.values()]}, list(rows), dtype=object)
    text = pd.DataFrame({"": [text for _, text in rows.values()]}, list(rows), dtype=object)
    return Table(name, caption, data, text, words=True)


def _plain(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        return plain(value.reset_index().to_dict("records"))
    if isinstance(value, pd.Series):
        return _plain(value.to_frame(value.name if value.name is not None else "value"))
    if isinstance(value, Result):
        return value.to_dict()
    if is_dataclass(value):  # data of workloadkit
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return plain(value)
