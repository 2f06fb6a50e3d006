"""The results file of an experiment: a Parquet file with one row per finished simulation.

Rows are in the order of the grid, so the same simulations give the same bytes, independent of
interruptions and of the processes that ran them.
"""

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workloadkit.errors import WorkloadError
from workloadkit.experiments.grid import AXES, Cell, Grid

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
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(path.read_bytes()))
        text = (table.schema.metadata or {})[_GRID].decode()
        return Grid.from_json(text), table.to_pylist()
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from error
    except (pa.ArrowInvalid, KeyError, ValueError, TypeError):
        raise WorkloadError(f"{path}: not a file of an experiment's results") from None


def write_results(path: Path, grid: Grid, rows: Mapping[Cell, Row]) -> None:
    """Write a results file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from workloadkit.io.files import writing

    types = {"load": pa.float64(), "run": pa.int64(), "saturated": pa.bool_()}
    columns = [(axis, types.get(axis, pa.string())) for axis in AXES]
    columns += [
        ("saturated", types["saturated"]),
        *((name, pa.float64()) for name in grid.common["metrics"]),
    ]
    schema = pa.schema(columns, metadata={_GRID: grid.to_json().encode()})
    ordered = [rows[cell] for cell in grid.cells if cell in rows]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ordered, schema), buffer)
    with writing(path) as stream:
        stream.write(buffer.getvalue())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process, if the file system supports it.

    Raises
    ------
    WorkloadError
        If another process writes results to the folder.
    """
    try:
        import fcntl
    except ImportError:  # not available on this system
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkloadError(
                f"{folder}: another process writes results to it; use one folder per shard"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


@contextmanager
def made(folder: Path) -> Iterator[Path]:
    """Create a folder if necessary, and lock it for this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be created: {error.strerror}") from error
    with locked(folder):
        yield folder
