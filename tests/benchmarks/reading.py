"""How fast logs are read and written, compared with pandas and polars on the same text."""

import gzip
import io
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from unittest import mock

import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv

from tests.benchmarks.measure import Row, in_turn, peak_memory
from tests.data import DATA
from workloadkit.fields import NAMES
from workloadkit.header import Header
from workloadkit.io import swf
from workloadkit.io.swf import reading, writing
from workloadkit.io.wkt import read_wkt, write_wkt
from workloadkit.trace import Trace

LOGS = ("KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln")
ROUNDS = 15
GOAL = 0.4  # of pandas' time, once compiled


def rows() -> Iterator[Row]:
    """Reading, writing, the memory of reading and the first read of a process."""
    for name in LOGS:
        source = DATA / "traces" / f"{name}.swf.gz"
        if not source.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.swf"
            path.write_bytes(gzip.decompress(source.read_bytes()))
            yield from _rows(name, path)


def pandas_reads(source: Path) -> pd.DataFrame:
    """Read the columns of a log, and nothing else of it."""
    return pd.read_csv(source, sep=r"\s+", comment=";", header=None, names=list(NAMES))


def pyarrow_writes(table: pa.Table, target: Path) -> None:
    """Write the columns of a log, and nothing else of it."""
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with pa.output_stream(target.with_suffix(f".csv{target.suffix}")) as stream:
        csv.write_csv(table, stream, options)


def _rows(name: str, path: Path) -> Iterator[Row]:
    trace, table = swf.read_swf(path), pandas_reads(path)
    expected = table.sum().to_dict()
    assert trace.jobs.fillna(-1).sum().to_dict() == expected
    copy = path.with_name("copy.swf")

    (ours, _), (theirs, _) = in_turn(ROUNDS, lambda: swf.read_swf(path), lambda: pandas_reads(path))
    ratio = ours / theirs
    size = path.stat().st_size
    speed = f"{size / ours / 1e6:.0f} MB/s, {trace.n_jobs / ours / 1e6:.2f} M jobs/s"
    long = size >= reading.COMPILED_FROM
    goal = f"≤ {GOAL}" if long else ""
    yield Row(
        "read SWF" if long else "read SWF, short: not compiled",
        name,
        f"{ours * 1e3:.0f} ms, {speed}",
        f"{ratio:.2f} × pandas.read_csv",
        goal,
        not long or ratio <= GOAL,
    )

    if long:
        yield from _with_single_blanks(name, path.with_name("single.swf"), trace)

    packed = copy.with_name("copy.swf.gz")
    written = pa.table(trace.jobs.fillna(-1))
    for what, target, goal in (("write SWF", copy, 0.4), ("write SWF, gz", packed, 1.2)):
        (ours, _), (theirs, _) = in_turn(
            5, partial(swf.write_swf, trace, target), partial(pyarrow_writes, written, target)
        )
        assert swf.read_swf(target).jobs.fillna(-1).sum().to_dict() == expected
        took = ours / trace.n_jobs * 1e6
        fast = trace.n_jobs >= writing._WRITTEN_FAST_FROM
        yield Row(
            what,
            name,
            f"{ours * 1e3:.0f} ms, {took:.2f} µs a job",
            f"{ours / theirs:.2f} × pyarrow's writer of CSV",
            f"≤ {goal} µs" if fast else "",
            not fast or took <= goal,
        )

    parquet = path.with_name("log.wkt.parquet")
    write_wkt(trace, parquet)
    sources = (path, packed)
    (ours, _), *others = in_turn(
        ROUNDS, lambda: read_wkt(parquet), *(partial(swf.read_swf, source) for source in sources)
    )
    text, gz = (took / ours for took, _ in others)
    size = parquet.stat().st_size / trace.n_jobs
    yield Row(
        "read .wkt.parquet",
        name,
        f"{ours * 1e3:.0f} ms, {trace.n_jobs / ours / 1e6:.2f} M jobs/s, {size:.1f} bytes a job",
        f"{text:.1f} × as fast as .swf, {gz:.1f} × as .swf.gz",
        "≥ 3 × .swf, ≤ 15 bytes",
        text >= 3 and size <= 15,
    )

    if long:
        ours, theirs = (_growth(who, path) for who in ("ours", "pandas"))
        yield Row(
            "memory of reading SWF",
            name,
            f"{ours / 2**20:.0f} MiB",
            f"{ours / theirs:.2f} × pandas.read_csv",
            "≤ 1",
            ours <= theirs,
        )

    start, read = _fresh_process("pass", path), _fresh_process("wk.read_swf(sys.argv[1])", path)
    yield Row(
        "read SWF first in a process",
        name,
        f"{(read - start) * 1e3:.0f} ms",
        "compiled code from the cache" if long else "",
    )


def _with_single_blanks(name: str, path: Path, trace: Trace) -> Iterator[Row]:
    """Compare with readers that take single blanks between columns alone, and no comments."""
    swf.write_swf(replace(trace, header=Header(())), path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line.startswith(b";")))
    (ours, _), *others = in_turn(
        ROUNDS,
        lambda: swf.read_swf(path),
        lambda: pd.read_csv(path, sep=" ", header=None, names=list(NAMES)),
        lambda: pl.read_csv(path, separator=" ", has_header=False, new_columns=list(NAMES)),
        clock=process_time,
    )
    pandas, polars = (ours / theirs for theirs, _ in others)
    yield Row(
        "read SWF, single blanks",
        name,
        f"{ours * 1e3:.0f} ms of CPU time",
        f"{pandas:.2f} × pandas.read_csv(sep=' '), {polars:.2f} × polars.read_csv",
    )


def _growth(who: str, path: Path) -> int:
    """Bytes by which a fresh process grows at most while it reads."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(_peak, who, path).result()


def _peak(who: str, path: Path) -> int:
    if who == "pandas":
        return peak_memory(lambda: pandas_reads(path))[0]
    line = b"1 0 5 60 4" + b" -1" * 13 + b"\n"
    with mock.patch.object(reading, "COMPILED_FROM", 0):
        swf.read_swf(io.BytesIO(line))  # the compiler's own memory is not the reader's
    return peak_memory(lambda: swf.read_swf(path))[0]


def _fresh_process(statement: str, path: Path) -> float:
    """Seconds of a process that imports the toolkit and executes a statement."""
    code = f"import sys, workloadkit as wk; wk.read_swf; {statement}"
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    return perf_counter() - begin
