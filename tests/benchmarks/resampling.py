"""How fast new logs are drawn, written and simulated, and what memory a stream of them needs."""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of, peak_memory
from tests.data import DATA
from workloadkit.resample.runs import Resampling, prepare

LOG = "KTH-SP2-1996-2.1-cln"
RUNS = 1000
CHUNK = 20


def rows() -> Iterator[Row]:
    """A year of KTH-SP2: drawn, written, a thousand times simulated, and streamed."""
    trace = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")
    prepared = prepare(trace)
    wk.simulate(prepared.run(0))  # compiles

    drawn, new = best_of(100, lambda: prepared.run(1))
    assert 0.8 * trace.n_jobs < new.n_jobs < 1.2 * trace.n_jobs
    yield Row(
        "resampling, a year in memory", LOG, f"{drawn * 1e3:.1f} ms",
        goal="≤ 5 ms", met=drawn <= 0.005,
    )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.swf.gz"
        written, _ = best_of(5, lambda: wk.write_swf(prepared.run(1), path))
        assert wk.read_swf(path).jobs.equals(new.jobs)
        yield Row(
            "resampling, a year drawn and written as gz", LOG, f"{written:.2f} s",
            goal="≤ 0.3 s", met=written <= 0.3,
        )  # fmt: skip

        few, many = (
            peak_memory(partial(_stream, trace, count, Path(folder) / "new.swf"))[0] / 1e6
            for count in (10, 100)
        )
        yield Row(
            "resampling, memory of a stream of 100", LOG, f"{many:.0f} MB",
            f"of 10: {few:.0f} MB", goal="≤ 10 MB more", met=many <= few + 10,
        )  # fmt: skip

    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        chunks = [range(at, at + CHUNK) for at in range(0, RUNS, CHUNK)]
        work = partial(_simulate, prepared)
        list(pool.map(work, [range(1)] * 8))  # starts both, loads their kernels
        begin = time.perf_counter()
        jobs = sum(pool.map(work, chunks))
        passed = time.perf_counter() - begin
    assert 0.95 * RUNS * trace.n_jobs < jobs < 1.05 * RUNS * trace.n_jobs
    yield Row(
        f"resampling, {RUNS:,} years drawn and simulated under EASY, 2 processes", LOG,
        f"{passed:.1f} s", goal="≤ 8 s", met=passed <= 8,
    )  # fmt: skip


def _stream(trace: wk.Trace, count: int, path: Path) -> None:
    for new in wk.resamples(trace, count, rng=1):
        wk.write_swf(new, path)


def _simulate(prepared: Resampling, runs: range) -> int:
    """Simulate some of the new logs; gives their jobs."""
    schedules = (wk.simulate(prepared.run_of(run, 1), "easy") for run in runs)
    return sum(schedule.metrics["jobs"] for schedule in schedules)
