"""What a simulation in chunks takes, against one in memory.

`python -m tests.benchmarks.in_chunks 100000000 FOLDER` measures a longer log, in chunks alone.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, in_turn, peak_memory
from tests.data import DATA
from workloadkit.io.wkt.writing import write_parts

LOG = "SDSC-BLUE-2000-4.2-cln"
N_JOBS = 1_000_000
GOAL = 1.15  # times that in memory
MOST_MEMORY = 512  # [MiB]


def write_long(path: Path, n_jobs: int) -> None:
    """Write copies of a log, one after another, each with submissions moved by some minutes."""
    log = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")
    submit, span = log.column("submit"), float(np.ptp(log.column("submit"))) + 3600

    def copies() -> Iterator[wk.Trace]:
        rng = np.random.default_rng(1)
        for number, first in enumerate(range(0, n_jobs, log.n_jobs)):
            moved = np.sort(submit - submit[0] + rng.integers(0, 1800, submit.size))
            job = 1 + first + np.arange(log.n_jobs)
            copy = log.with_columns(submit=moved + number * span, job=job)
            yield copy.take(range(min(log.n_jobs, n_jobs - first)))

    whole = log.replaced(header=log.header.with_jobs(n_jobs).without("Window"))
    write_parts(path, whole.with_columns(job=log.column("job")), copies)


def in_memory(path: Path, out: Path) -> dict[str, float]:
    """Read, simulate, measure and write a log."""
    schedule = wk.simulate(wk.read_log(path), "easy")
    wk.write_log(schedule.trace(), out)
    return schedule.metrics


def in_chunks(path: Path, out: Path) -> dict[str, float]:
    """Do the same in chunks."""
    schedule = wk.simulate(wk.open_log(path), "easy")
    schedule.write(out)
    return schedule.metrics


def rows() -> Iterator[Row]:
    """Time and memory of both."""
    with tempfile.TemporaryDirectory() as name:
        path, *out = (Path(name) / f"{x}.wkt.parquet" for x in ("log", "memory", "chunks"))
        write_long(path, N_JOBS)
        in_chunks(path, out[1])  # compiles
        (whole, metrics), (parts, same) = in_turn(
            3,
            lambda: in_memory(path, out[0]),
            lambda: in_chunks(path, out[1]),
            clock=time.process_time,
        )
        assert metrics == same
        assert out[0].read_bytes() == out[1].read_bytes()
        peaks = [
            peak_memory(partial(each, path, to))[0] / 2**20
            for each, to in ((in_chunks, out[1]), (in_memory, out[0]))
        ]
    label = f"{N_JOBS:,} jobs"
    yield Row(
        "easy in chunks: read, simulated, measured, written", label,
        f"{parts / N_JOBS * 1e6:.2f} µs of CPU a job", f"{parts / whole:.2f} × in memory",
        f"≤ {GOAL} ×", parts <= GOAL * whole,
    )  # fmt: skip
    yield Row(
        "easy in chunks, peak memory", label, f"{peaks[0]:.0f} MiB",
        f"{peaks[0] / peaks[1]:.2f} × in memory", f"≤ {MOST_MEMORY} MiB", peaks[0] <= MOST_MEMORY,
    )  # fmt: skip


if __name__ == "__main__":
    n_jobs, folder = int(sys.argv[1]), Path(sys.argv[2])
    path = folder / f"{n_jobs}.wkt.parquet"
    if not path.exists():
        write_long(path, n_jobs)
    begin = time.process_time()
    memory, metrics = peak_memory(lambda: in_chunks(path, folder / "easy.wkt.parquet"))
    spent = (time.process_time() - begin) / n_jobs * 1e6
    print(f"{n_jobs:,} jobs: {spent:.2f} µs of CPU a job, {memory / 2**20:.0f} MiB", metrics)
