"""The results file of an experiment: Parquet with one row per simulation, and results as JSON.

Rows are in the order of the grid, so the same simulations give the same bytes, independent of
interruptions and of the processes that ran them.
"""

import io
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from workloadkit.errors import FormatError, WorkloadError, quoted
from workloadkit.experiments.grid import AXES, NOT_RESULTS, Cell, Grid
from workloadkit.io.sidecar import table_in
from workloadkit.io.unfinished_files import locked
from workloadkit.simulation.schedule.calibration import COMPARED

if TYPE_CHECKING:
    import pyarrow as pa


#: Name of the file in its folder.
RESULTS = "results.parquet"

_GRID = b"workloadkit"  # key of the grid in the file's metadata

Row = Mapping[str, Any]


def cell_of(row: Row) -> Cell:
    """Return the simulation that a row describes."""
    return Cell(*(row[axis] for axis in AXES))


def read_file(path: Path) -> tuple[Grid, list[dict[str, Any]]]:
    """Read a file of results.

    Returns
    -------
    grid : Grid
    rows : list of dict

    Raises
    ------
    WorkloadError
        If the file cannot be read or is not a results file.
    """
    name = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WorkloadError(f"{name}: cannot be read: {error.strerror}") from error
    try:
        table = table_in(data, name)
    except FormatError:
        raise FormatError(name, NOT_RESULTS) from None
    text = (table.schema.metadata or {}).get(_GRID)
    if text is None:
        raise FormatError(name, NOT_RESULTS)
    grid = Grid.from_json(text, name)
    for column, expected in zip_longest(map(_named, table.schema), map(_named, _schema(grid))):
        if column != expected:
            raise FormatError(name, f"{NOT_RESULTS}: a column {column}, not {expected}")
    cells = set()
    rows = table.to_pylist()
    for row in rows:
        cell = cell_of(row)
        fault = _fault(grid, row, cell)
        if fault or cell in cells:
            raise FormatError(name, f"{NOT_RESULTS}: {fault or f'two rows of {quoted(cell[:])}'}")
        cells.add(cell)
    return grid, rows


def _named(column: Any) -> str:
    return f"{quoted(column.name)} of type {column.type}"


def _fault(grid: Grid, row: Row, cell: Cell) -> str:
    """Return what is wrong with a row; empty if nothing is."""
    for axis, value in zip(AXES, cell, strict=True):
        if value not in (range(grid.runs) if axis == "run" else getattr(grid, axis)):
            return f"{axis} is {quoted(value)}"
    if (known := row["calibration"]) and not (known["missing"] and _is_complete(known)):
        return f"calibration is {quoted(known)}"
    if (of_log := row["of_log"]) and None in of_log.values():
        return f"of_log is {quoted(of_log)}"
    return next((f"no {x}" for x in grid.common["metrics"] if row[x] is None), "")


def _is_complete(known: Row) -> bool:
    return None not in known.values() and None not in known["missing"]


def write_results(path: Path, grid: Grid, rows: Mapping[Cell, Row]) -> None:
    """Write a results file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from workloadkit.io.files import writing

    schema = _schema(grid).with_metadata({_GRID: grid.to_json().encode()})
    ordered = [rows[cell] for cell in grid.cells if cell in rows]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ordered, schema), buffer)
    with writing(path) as stream:
        stream.write(buffer.getvalue())


def _schema(grid: Grid) -> "pa.Schema":
    """Return the columns of the results of a grid."""
    import pyarrow as pa

    types = {"load": pa.float64(), "run": pa.int64()}
    columns = [(axis, types.get(axis, pa.string())) for axis in AXES]
    metrics = [(name, pa.float64()) for name in grid.common["metrics"]]
    missing = pa.list_(pa.field("element", pa.string()))
    numbers = ((name, pa.float64()) for name in COMPARED)
    calibration = pa.struct([("holds", pa.bool_()), *numbers, ("missing", missing)])
    known = [
        ("saturated", pa.bool_()),
        ("calibration", calibration),
        ("of_log", pa.struct(metrics)),
    ]
    return pa.schema([*columns, *known, *metrics])


@contextmanager
def made(folder: Path) -> Iterator[Path]:
    """Create a folder if necessary, and lock it for this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be created: {error.strerror}") from error
    with locked(folder):
        yield folder


# Results of tasks as JSON, which contains data only: reading it runs no code of the file's.
#
# Besides what JSON has: tuples, sets, bytes, mappings with any keys, arrays, scalars and tables,
# and
# records, which are named tuples and dataclasses of this project.

_KINDS = "biufcmMSU"  # of numpy: numbers, times and texts


class NotDataError(Exception):
    """A value that cannot be written as data, or a text that is no value."""


def encoded(value: Any) -> str:
    """Return a value as text.

    Raises
    ------
    NotDataError
        If it cannot be written.

    Examples
    --------
    >>> decoded(encoded({("easy", 1): [0.1, None]}))
    {('easy', 1): [0.1, None]}
    """
    try:
        return json.dumps(_plain(value))
    except RecursionError:
        raise NotDataError("it is nested too deeply") from None


def decoded(text: str) -> Any:
    """Return the value that `encoded` wrote.

    Raises
    ------
    NotDataError
        If it wrote no such text.
    """
    try:
        return _value(json.loads(text))
    except (
        *(ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError),
        *(OverflowError, RecursionError, WorkloadError),
    ) as error:
        raise NotDataError(str(error)) from None


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what JSON lacks is a mapping from its kind to its parts."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_plain(item) for item in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [_plain(item) for item in value]}
    if kind is dict:
        return {"dict": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if kind is np.ndarray:
        return {"array": _array(value)}
    if isinstance(value, np.generic):
        return {"scalar": _array(np.asarray(value))}
    if kind is pd.DataFrame:
        columns = [_column(value.iloc[:, i]) for i in range(value.shape[1])]
        return {"table": [_plain(value.columns), _plain(value.index), columns]}
    if kind is pd.Series:
        return {"series": [_plain(value.name), _plain(value.index), _column(value)]}
    if kind is pd.RangeIndex:
        return {"range": [value.start, value.stop, value.step, _plain(value.name)]}
    if kind is pd.MultiIndex:
        return {"levels": [_plain(list(value.names)), _plain(value.tolist())]}
    if isinstance(value, pd.Index):
        return {"index": [_plain(value.name), _column(value)]}
    if isinstance(value, pd.Categorical):
        return {"words": [_plain(value.codes), _plain(value.categories), bool(value.ordered)]}
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return {"column": [str(value.dtype), _plain(value.to_numpy(object, na_value=None))]}
    return {"record": [f"{kind.__module__}:{kind.__qualname__}", *_fields(value)]}


def _column(column: "pd.Series | pd.Index") -> Any:
    return _plain(column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array)


def _array(array: np.ndarray) -> list[Any]:
    if array.dtype == object:
        return ["object", list(array.shape), [_plain(item) for item in array.ravel()]]
    if array.dtype.kind not in _KINDS:
        raise NotDataError(f"an array of {array.dtype}")
    is_by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    order: Literal["C", "F"] = "F" if is_by_columns else "C"
    return [array.dtype.str, list(array.shape), order, b64encode(array.tobytes(order)).decode()]


def _fields(value: Any) -> list[Any]:
    """Return the fields of a record by name."""
    names = _names(type(value))
    return [{name: _plain(getattr(value, name)) for name in names}]


def _names(kind: type) -> list[str]:
    """Return the names of the fields of a record's class, which is one of this project."""
    if kind.__module__.partition(".")[0] != "workloadkit" or "<" in kind.__qualname__:
        raise NotDataError(f"a {kind.__qualname__}")
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    if is_dataclass(kind) and all(field.init for field in fields(kind)):
        return [field.name for field in fields(kind)]
    raise NotDataError(f"a {kind.__qualname__}")


def _value(data: Any) -> Any:
    """Return the value of what `_plain` returned."""
    if isinstance(data, list):
        return [_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((kind, parts),) = data.items()
    return _MADE[kind](parts)


def _made_array(parts: list[Any]) -> np.ndarray:
    dtype, shape = parts[0], tuple(parts[1])
    if dtype == "object":
        array = np.empty(len(parts[2]), object)
        for i, item in enumerate(parts[2]):
            array[i] = _value(item)
        return array.reshape(shape)
    if np.dtype(dtype).kind not in _KINDS:
        raise NotDataError(f"an array of {dtype}")
    array = np.frombuffer(b64decode(parts[3], validate=True), dtype).copy()
    return array.reshape(shape, order=parts[2])


def _made_table(parts: list[Any]) -> pd.DataFrame:
    columns, index = _value(parts[0]), _value(parts[1])
    series = {i: _made_series([None, parts[1], part]) for i, part in enumerate(parts[2])}
    table = pd.DataFrame(series, index=index)
    table.index, table.columns = index, columns
    return table


def _made_series(parts: list[Any]) -> pd.Series:
    array = _value(parts[2])
    return pd.Series(array, _value(parts[1]), dtype=array.dtype, name=_value(parts[0]))


def _made_index(parts: list[Any]) -> pd.Index:
    array = _value(parts[1])
    return pd.Index(array, dtype=array.dtype, name=_value(parts[0]))


def _made_record(parts: list[Any]) -> Any:
    module, _, name = parts[0].partition(":")
    if module.partition(".")[0] != "workloadkit":
        raise NotDataError(f"a record of {module}")
    kind: Any = sys.modules.get(module) or import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if not isinstance(kind, type) or sorted(_names(kind)) != sorted(parts[1]):
        raise NotDataError(f"a record {name}")
    return kind(**{field: _value(item) for field, item in parts[1].items()})


_MADE: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda parts: tuple(map(_value, parts)),
    "set": lambda parts: set(map(_value, parts)),
    "frozenset": lambda parts: frozenset(map(_value, parts)),
    "dict": lambda parts: {_value(key): _value(item) for key, item in parts},
    "bytes": lambda parts: b64decode(parts, validate=True),
    "array": _made_array,
    "scalar": lambda parts: _made_array(parts)[()],
    "table": _made_table,
    "series": _made_series,
    "range": lambda parts: pd.RangeIndex(*parts[:3], name=_value(parts[3])),
    "levels": lambda parts: pd.MultiIndex.from_tuples(_value(parts[1]), names=_value(parts[0])),
    "index": _made_index,
    "words": lambda parts: pd.Categorical.from_codes(
        _value(parts[0]), _value(parts[1]), ordered=parts[2]
    ),
    "column": lambda parts: pd.array(_value(parts[1]), dtype=parts[0]),
    "record": _made_record,
}
