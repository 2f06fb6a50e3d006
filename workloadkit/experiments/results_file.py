"""The results file of an experiment: a Parquet file with one row per finished simulation.

Rows are in the order of the grid, so the same simulations give the same bytes, independent of
interruptions and of the processes that ran them.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.errors import FormatError, WorkloadError, quoted
from workloadkit.experiments.grid import AXES, NOT_RESULTS, Cell, Grid
from workloadkit.io.parquet import table_in
from workloadkit.io.unfinished_files import locked
from workloadkit.simulation.as_recorded import COMPARED

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
    metrics = ((name, pa.float64()) for name in grid.common["metrics"])
    missing = pa.list_(pa.field("element", pa.string()))
    numbers = ((name, pa.float64()) for name in COMPARED)
    calibration = pa.struct([("holds", pa.bool_()), *numbers, ("missing", missing)])
    known = [("saturated", pa.bool_()), ("calibration", calibration)]
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
