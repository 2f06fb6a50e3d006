"""How results show themselves: a short `repr`, and a table in notebooks."""

from collections.abc import Sized
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 160  # characters of a repr
_ROWS = 10  # of a table in a notebook


class DisplayedResult:
    """A result that shows itself: base of the dataclasses that public functions return.

    Its table is `to_frame`; those that are functions of a number have ``plot(ax=None)``.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in vars(cls):  # in its place, a dataclass would write its own
            cls.__repr__ = DisplayedResult.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the class and its fields, on one line."""
        name = type(self).__name__.lstrip("_")
        text, room = self._summary(), _WIDTH - len(name)
        return f"{name}({text if len(text) <= room else text[: room - 1] + '…'})"

    def __str__(self) -> str:
        """Return name, summary and the first rows of the table."""
        table = self.to_frame()
        cells = table.head(_ROWS).to_string(index=False, float_format="{:,.6g}".format)
        more = len(table) - _ROWS
        return "\n".join([repr(self), cells, *([f"and {more:,} more rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        """Return name, summary and the first rows of the table, for notebooks."""
        table = self.to_frame()
        cells = table.head(_ROWS).to_html(border=0, index=False, float_format="{:,.6g}".format)
        more = len(table) - _ROWS
        rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        name = type(self).__name__.lstrip("_")
        return f"<div><p><b>{name}</b> {escape(self._summary())}</p>\n{cells}\n{rest}</div>"

    def to_frame(self) -> "pd.DataFrame":
        """Return a table, one row a point: the fields that are numbers."""
        import pandas as pd

        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        known = {name: np.asarray(v) for name, v in values.items() if v is not None}
        given = {name: v for name, v in known.items() if v.dtype.kind in "biuf"}
        together = np.broadcast_arrays(*given.values())
        return pd.DataFrame({name: v.ravel() for name, v in zip(given, together, strict=True)})

    def _summary(self) -> str:
        shown = [f for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return ", ".join(f"{f.name}={_brief(getattr(self, f.name))}" for f in shown)


def _brief(value: Any) -> str:
    """Return a value in a few characters."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"<{value.size:,} values>"
    if isinstance(value, float | np.ndarray):
        return f"{float(value):.6g}"
    if isinstance(value, Sized) and not isinstance(value, str | DisplayedResult):
        return f"<{len(value):,} items>"
    return f"<{type(value).__name__}>" if isinstance(value, DisplayedResult) else repr(value)
