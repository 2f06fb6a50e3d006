"""Combine stored results."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.grid import AXES, Cell, Grid
from workloadkit.experiments.results import Results
from workloadkit.experiments.results_file import (
    RESULTS,
    Row,
    cell_of,
    made,
    read_file,
    write_results,
)


def results_of(grid: Grid, rows: Mapping[Cell, Row], confidence: float) -> Results:
    """Return results in the order of the grid."""
    metrics = tuple(grid.common["metrics"])
    ordered = [rows[cell] for cell in grid.cells if cell in rows]
    table = pd.DataFrame(ordered, columns=[*AXES, "saturated", *metrics])
    places = ("log", "reading", "scheduler")
    known = [
        {name: row[name] for name in places} | row["calibration"]
        for row in ordered
        if row["calibration"]
    ]
    return Results(
        *(table, metrics, confidence, json.loads(grid.to_json()), grid.size), calibration=known
    )


def merge_results(
    folders: Sequence[str | os.PathLike[str]],
    into: str | os.PathLike[str] | None = None,
    *,
    confidence: float = 0.95,
) -> Results:
    """Combine the results of `Experiment.run` in several folders, such as those of shards.

    Parameters
    ----------
    folders : sequence of path
        At least one.
    into : path, optional
        A folder for the combined results; created if necessary.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Results

    Raises
    ------
    ParameterError
        If the folders have results of different experiments.
    WorkloadError
        If a file cannot be read or written.
    """
    rows: dict[Cell, Row] = {}
    files = [Path(folder) / RESULTS for folder in folders]
    parts = [read_file(file) for file in files]
    if not parts:
        raise ParameterError("no folder given")
    grid = parts[0][0]
    for file, (other, found) in zip(files, parts, strict=True):
        grid.check_contains(other, file)
        other.check_contains(grid, files[0])
        for row in found:
            known = rows.setdefault(cell_of(row), row)
            if not _same(known, row):
                place = ", ".join(
                    f"{name} {value}" for name, value in cell_of(row)._asdict().items()
                )
                raise WorkloadError(f"{file}: results differ from those in another folder: {place}")
    if into is not None:
        with made(Path(into)) as output:
            write_results(output / RESULTS, grid, rows)
    return results_of(grid, rows, confidence)


def _same(row: Row, other: Row) -> bool:
    """Whether two rows of files are equal, with NaN equal to NaN."""
    return repr(row) == repr(other)
