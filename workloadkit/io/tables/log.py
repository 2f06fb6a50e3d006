"""Write the jobs of a table as a log, batch by batch: a long table need not fit into memory."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import BY_NAME, UNKNOWN
from workloadkit.header import Header
from workloadkit.intake import Intake
from workloadkit.io.assemble import (
    Extent,
    Origin,
    columns_of,
    header_of,
    intake_of,
    no_job,
    second_0,
    sidecar_of,
)
from workloadkit.io.records import ImportOptions
from workloadkit.io.swf.writing import check_writable
from workloadkit.io.tables.reading import Batches
from workloadkit.io.wkt.writing import REPEATING, SIDECAR, RowsWriter
from workloadkit.job_columns import NUMBERED
from workloadkit.metrics import UseBySecond
from workloadkit.window import window_of


class FractionError(Exception):
    """A column that began with whole numbers has a fraction."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class LogWriter:
    """Writes the jobs of a table to a file, with what the header needs to know of them.

    Parameters
    ----------
    path : str or path
    batches : Batches
        Reads the jobs.
    origin_of : callable
        Returns the origin, when some jobs have been read.
    options : ImportOptions
    fractions : set of str
        Columns that are known to have fractions.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        batches: Batches,
        origin_of: Callable[[], Origin],
        options: ImportOptions,
        fractions: set[str],
    ) -> None:
        self.path, self.batches, self.options = path, batches, options
        self._origin_of, self._fractions = origin_of, fractions
        self._start = self._n_jobs = 0
        self._submit: list[NDArray[np.float64]] = []
        self._first_end, self._last = np.inf, 0.0
        self._use = UseBySecond()
        self._names: dict[str, list[str]] = {}
        self._clusters: list[str] = []
        self._whole: set[str] = set()  # columns stored as integers

    def write(self, con: Any, count_rejects: Callable[[], None]) -> tuple[Header, Intake]:
        """Write all jobs; return the header and what became of the rows.

        Raises
        ------
        FormatError
            If there is no job.
        FractionError
            If the types of the columns were chosen wrongly.
        """
        records, rows = self.batches.records, None
        with ThreadPoolExecutor(1) as pool:  # rows are written while the next ones are read
            try:
                written = None
                for _ in self.batches.read(con):
                    columns, repeating = self._columns(records.frame())
                    if rows is None:
                        rows = RowsWriter(self.path, columns, repeating)
                    if written is not None:
                        written.result()
                    written = pool.submit(rows.write, columns)
                if rows is None or written is None:
                    count_rejects()
                    raise no_job(records, self._origin_of())
                written.result()
                count_rejects()
                header, intake = self._finish(rows)
            except BaseException as error:
                pool.shutdown()
                if rows is not None:
                    rows.__exit__(type(error), error, error.__traceback__)
                raise
            rows.__exit__(None, None, None)
        return header, intake

    def _finish(self, rows: RowsWriter) -> tuple[Header, Intake]:
        """Write the header, and return it with what became of the rows."""
        records, origin, extent = self.batches.records, self._origin_of(), self._extent()
        intake = intake_of(records, extent, origin, self.options)
        header = header_of(extent, intake, origin, self.options, records)
        rows.finish(header, "", origin.machine)
        return header, intake

    def _columns(self, table: pd.DataFrame) -> tuple[dict[str, Any], list[str]]:
        """Return some jobs as they are stored, and the columns of words."""
        import pyarrow as pa

        origin = self._origin_of()
        if not self._n_jobs:
            self._start = second_0(table, origin)
        # words are coded by first appearance, as names are numbered; 0 is the empty word
        numbers = {
            name: np.where(codes > 0, codes, UNKNOWN)
            for name in NUMBERED
            if (codes := table[name].cat.codes.to_numpy(np.int64)).any() or self._n_jobs
        }
        jobs = columns_of(table, self._start, self.batches.records)
        self._measure(table, jobs)
        n_before, self._n_jobs = self._n_jobs, self._n_jobs + len(table)
        columns: dict[str, Any] = {"job": pa.array(np.arange(n_before, self._n_jobs) + 1)}
        given = {*self.batches.columns, "wait"}
        for name, column in (jobs | numbers).items():
            if name in given:
                columns[name] = self._stored(name, column, is_first=not n_before)
        sidecar = sidecar_of(table, numbers, self.options, origin)
        words = [name for name, dtype in sidecar.dtypes.items() if dtype == "category"]
        for name in sidecar:
            column = _coded(sidecar[name]) if name in words else pa.array(sidecar[name])
            is_text = pa.types.is_large_string(column.type)
            columns[SIDECAR + name] = column.cast(pa.string()) if is_text else column
        return columns, [*(n for n in REPEATING if n in columns), *(SIDECAR + n for n in words)]

    def _stored(self, name: str, column: NDArray, *, is_first: bool) -> Any:
        """Return a column as whole numbers, if those of the first rows are."""
        import pyarrow as pa

        field = BY_NAME[name]
        check_writable(field, column)
        known = ~np.isnan(column) if field.measured else column != UNKNOWN
        filled = np.where(known, column, 0)
        whole = filled.astype(np.int64)
        is_whole = not field.measured or np.array_equal(whole, filled)
        if is_first and is_whole and name not in self._fractions:
            self._whole.add(name)
        if name in self._whole and not is_whole:
            raise FractionError(name)
        values = whole if name in self._whole else filled
        return pa.array(values, mask=None if known.all() else ~known)

    def _measure(self, table: pd.DataFrame, jobs: dict[str, NDArray]) -> None:
        """Update what the header needs."""
        self._submit.append(jobs["submit"])
        procs = jobs["procs" if "procs" in self.batches.columns else "requested_procs"]
        left = jobs["submit"] + np.nan_to_num(jobs["wait"])
        end = left + jobs["run"]
        ran = (jobs["run"] >= 0) & (procs > 0)
        self._first_end = min(self._first_end, end[ran].min(initial=np.inf))
        self._last = max(self._last, float(np.fmax(end, left).max()))
        self._use.add(left[ran], end[ran], procs[ran])
        for name in ("queue", "partition", "cluster"):
            self._names[name] = [word for word in table[name].cat.categories if word]

    def _extent(self) -> Extent:
        submit = np.concatenate(self._submit)
        end = np.array([self._first_end])
        return Extent(
            n_jobs=self._n_jobs,
            n_bursts=0,
            start=self._start,
            last=self._last,
            window=window_of(submit, end[np.isfinite(end)]),
            most=self._use.most,
            names=self._names,
            clusters=self._names["cluster"],
            suspends=self.batches.records.suspends,
        )


def _coded(column: pd.Series) -> Any:
    """Return a column of words, with the words that it has."""
    import pyarrow as pa

    codes = column.cat.codes.to_numpy()
    used = np.bincount(codes, minlength=len(column.cat.categories)) > 0
    words = pa.array(column.cat.categories[used].astype(object), pa.string())
    if used.all():
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), words)
    return pa.DictionaryArray.from_arrays((np.cumsum(used) - 1).astype(np.int32)[codes], words)
