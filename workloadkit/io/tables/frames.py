"""Frames of pandas and Polars, and tables of Arrow: the columns that a mapping uses, as Arrow."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from workloadkit.errors import FormatError, ParameterError
from workloadkit.io.tables.parts import Part, with_schema

_KNOWN = ("arrow.uuid", "arrow.json", "arrow.bool8", "arrow.opaque")  # types that extend others
_NAME = "the frame"


def arrow_of(frame: Any, used: Collection[str]) -> tuple[Any, Part]:
    """Return the used columns of a frame with the numbers of its rows, and what it has.

    Parameters
    ----------
    frame : DataFrame or Table
        The index of pandas is no column.
    used : collection of str
        Names of columns, in any case.

    Raises
    ------
    ParameterError
        If it is no frame.
    FormatError
        If columns have one name, or one has values of no known type.
    """
    import pyarrow as pa

    names, column_of = _columns(frame)
    by_name: dict[str, str] = {}
    for name in names:
        if by_name.setdefault(name.lower(), name) != name or names.count(name) > 1:
            both = f"{by_name[name.lower()]}, {name}"
            raise FormatError(
                _NAME, "two columns have one name (capitals do not matter)", text=both
            )
    wanted = {name.lower() for name in used}
    chosen = [(i, name) for i, name in enumerate(names) if name.lower() in wanted]
    columns = {name: _known(name, partial(column_of, i)) for i, name in chosen}
    n_rows = len(frame)
    table = pa.table({**columns, "_row": pa.array(range(1, n_rows + 1), pa.int64())})
    part = with_schema(Part("", _NAME, "", format="frame"), table.schema)
    return table, replace(part, columns=tuple(names))


def _columns(frame: Any) -> tuple[list[str], Callable[[int], Any]]:
    """Return the names of a frame, and what returns each column as Arrow."""
    import pyarrow as pa

    if type(frame).__name__ == "LazyFrame":
        raise ParameterError("frame", "is a LazyFrame; collect() it first")
    if hasattr(frame, "columns") and hasattr(frame, "iloc"):  # pandas
        names = [str(name) for name in frame.columns]
        return names, lambda i: pa.Table.from_pandas(
            frame.iloc[:, [i]].set_axis(["0"], axis="columns"), preserve_index=False
        ).column(0)
    if hasattr(frame, "to_arrow") and hasattr(frame, "columns"):  # Polars
        return list(frame.columns), lambda i: frame.to_series(i).to_arrow()
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return list(frame.schema.names), frame.column
    what = "is None" if frame is None else f"has the type {type(frame).__name__}"
    raise ParameterError("frame", f"{what}; it is a frame of pandas or Polars, or a table of Arrow")


def _known(name: str, convert: Callable[[], Any]) -> Any:
    """Return a column of a type that the engine knows; words are texts."""
    import pyarrow as pa

    try:
        column = convert()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        why = str(error.args[0] if error.args else error).splitlines()[0][:150]
        raise FormatError(_NAME, f"has values that cannot be read: {why}", field=name) from None
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in _KNOWN:
        why = "has a type that is not known; convert it to times, numbers or texts"
        raise FormatError(_NAME, why, field=name, text=str(kind.extension_name))
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
