"""How fast a table becomes a log, next to a query of the engine that writes the same columns.

Times are those of the processors, of all threads.
`python -m tests.benchmarks.tables 44000000 .tsv.gz` measures a long table in this form.
"""

import gzip
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from pyarrow import csv

import workloadkit as wk
from tests.benchmarks.measure import Row, in_turn, peak_memory
from workloadkit.io.tables import convert_table
from workloadkit.io.tables.engine import MEMORY

N_ROWS = 1_000_000
FORMS = (".parquet", ".tsv", ".tsv.gz", ".tsv.zst")
GOAL = 1.3  # times the query
_OF_PART = 1_000_000
_OTHERS = 9  # columns that the mapping does not use

_WORDS = {
    "user": [f"user{i:04}" for i in range(2000)],
    "account": [f"group{i}" for i in range(300)],
    "partition": [f"part{i}" for i in range(12)],
    "state": ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 12", "OUT_OF_MEMORY"],
}
_NUMBERS = ("submit", "eligible", "start", "end", "run", "limit", "procs", "gpus", "memory")

MAPPING = {
    "title": "a long table",
    "times": {"unit": "s"},
    "durations": {"unit": "s"},
    "fields": {
        **{name: name for name in ("id", "submit", "eligible", "start", "run", "procs", "gpus")},
        "end": '"end"',
        "requested_time": '"limit"',
        "requested_procs": "procs",
        "requested_gpus": "gpus",
        **{name: f'"{name}"' for name in _WORDS},
    },
}
_TSV = MAPPING | {"source": {"delimiter": "\t", "quote": ""}}


class Truth(NamedTuple):
    """What a table contains."""

    jobs: int
    work: float  # processor-seconds
    waits: float  # [s]


def write_parts(folder: Path, n_rows: int, suffix: str) -> Truth:
    """Write a table of 23 columns in parts; give what it contains."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    begin, work, waits = 1_700_000_000, 0.0, 0.0
    for first in range(0, n_rows, _OF_PART):
        n = min(_OF_PART, n_rows - first)
        submit = begin + np.cumsum(rng.integers(0, 2, n))
        begin = int(submit[-1])
        start = submit + rng.exponential(600, n).astype(np.int64)
        run = rng.lognormal(6, 2, n).astype(np.int64) % 400_000
        procs, user = 2 ** rng.integers(0, 7, n), rng.zipf(1.4, n) % 2000
        state = rng.choice(5, n, p=[0.7, 0.1, 0.1, 0.05, 0.05])
        codes = {"user": user, "account": user % 300, "partition": user % 12, "state": state}
        limit = 3600 * (1 + user % 48)
        numbers = (submit, submit, start, start + run, run, limit, procs, user % 3, procs * 2000)
        table = pa.table(
            {
                "id": 10**8 + first + np.arange(n),
                **dict(zip(_NUMBERS, numbers, strict=True)),
                **{name: _words(codes[name], words) for name, words in _WORDS.items()},
                **{f"other{i}": rng.integers(0, 10**6, n) for i in range(_OTHERS)},
            }
        )
        work, waits = work + float((procs * run).sum()), waits + float((start - submit).sum())
        path = folder / f"{first // _OF_PART:03}{suffix}"
        if suffix == ".parquet":
            pq.write_table(table, path)
        else:
            with _opened(path) as stream:
                stream.write("\t".join(table.column_names).encode() + b"\n")
                form = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
                csv.write_csv(table, stream, form)
    return Truth(n_rows, work, waits)


def _opened(path: Path) -> Any:
    """Open a file to write text that is compressed as its suffix states."""
    if path.suffix == ".gz":
        return gzip.open(path, "wb", 1)
    return zstandard.open(path, "wb") if path.suffix == ".zst" else path.open("wb")


def _words(codes: np.ndarray, words: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), words).cast(pa.string())


def query(folder: Path, suffix: str, out: Path) -> None:
    """Let the engine alone read, convert, sort and write the columns of the log."""
    import duckdb

    names = ["id", *_NUMBERS, *_WORDS, *(f"other{i}" for i in range(_OTHERS))]
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    form = f"auto_detect = false, delim = '\t', quote = '', header = true, columns = {{{columns}}}"
    scan = (
        f"read_parquet('{folder}/*.parquet')"
        if suffix == ".parquet"
        else f"read_csv('{folder}/*', {form})"
    )
    numbers = ", ".join(f'TRY_CAST("{name}" AS DOUBLE) AS "{name}"' for name in _NUMBERS[:-1])
    words = ", ".join(f'"{name}"' for name in _WORDS)
    con = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(out.parent)})
    con.execute(
        f"""COPY (SELECT row_number() OVER () AS job, start - submit AS wait, run AS r, procs AS p,
            procs AS requested, "limit" AS l, 1 AS status, hash("user") % 2000 AS u,
            hash("partition") % 12 AS part, 1.0 AS attempts, '' AS submit_by, procs AS wanted,
            gpus AS wanted_gpus, * FROM (SELECT row_number() OVER () AS place, CAST(id AS VARCHAR)
            AS id, {numbers}, {words} FROM {scan} ORDER BY submit))
            TO '{out}' (FORMAT parquet, COMPRESSION zstd)"""
    )
    con.close()


def rows(n_rows: int = N_ROWS, forms: Sequence[str] = FORMS) -> Iterator[Row]:
    """Time and memory of a table in Parquet and in text, compressed or not."""
    for suffix in forms:
        mapping = MAPPING if suffix == ".parquet" else _TSV
        with tempfile.TemporaryDirectory() as name:
            folder, log = Path(name) / "table", Path(name) / "log.wkt.parquet"
            truth = write_parts(folder, n_rows, suffix)

            def convert(folder=folder, mapping=mapping, log=log) -> int:
                return peak_memory(lambda: convert_table(folder, mapping, log))[0]

            def alone(folder=folder, suffix=suffix, log=log) -> None:
                query(folder, suffix, log.with_name("query.parquet"))

            rounds = 3 if n_rows <= N_ROWS else 1
            (took, memory), (bare, _) = in_turn(rounds, convert, alone, clock=time.process_time)
            _check(log, truth)
            yield Row(
                "convert a table to .wkt.parquet",
                f"{n_rows:,} rows, 23 columns, {suffix}",
                f"{took:.1f} s of CPU, {memory / 2**20:,.0f} MB",
                f"{took / bare:.2f} × a query that writes the same columns",
                f"≤ {GOAL} ×",
                took <= GOAL * bare,
            )


def _check(log: Path, truth: Truth) -> None:
    """Check that a log contains what was written."""
    names = ["submit", "wait", "run", "procs", "sidecar_start", "sidecar_submit"]
    table = pq.read_table(log, columns=names).to_pandas()
    found = Truth(len(table), float((table["procs"] * table["run"]).sum()), table["wait"].sum())
    assert found == truth
    assert table["submit"].is_monotonic_increasing
    if truth.jobs <= N_ROWS:
        assert wk.read_wkt(log).n_jobs == truth.jobs


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]), sys.argv[2:] or FORMS):
        print(row, flush=True)
