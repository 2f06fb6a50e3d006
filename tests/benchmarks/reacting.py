"""How fast users who react are simulated."""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA
from workloadkit.simulation.populations import Resampled
from workloadkit.simulation.users import Reopen

#: One run with drawing and schedule. [s]
GOALS = {"KTH-SP2-1996-2.1-cln": 0.015, "SDSC-BLUE-2000-4.2-cln": 0.150}

#: Logs of the table of waits of trace-based user-oriented simulation.
TABLE = (
    "SDSC-DS-2004-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "KTH-SP2-1996-2.1-cln",
    "HPC2N-2002-2.2-cln",
    "LANL-CM5-1994-4.1-cln",
)
RUNS = 100

QUEUE = 10**6  # jobs of the re-open queue


def rows() -> Iterator[Row]:
    """Resampled users who are fluid, under EASY: single runs, and a hundred for each log; a queue.

    The queue is that of users who come again, on one processor.
    """
    yield from _queue()
    for name, goal in GOALS.items():
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        ready = Resampled().prepare(trace)

        def run(ready=ready):
            return wk.simulate(None, "easy", "fluid", population=ready, rng=1)

        run()  # compiles
        took, schedule = best_of(10, run)
        assert 0.6 * trace.n_jobs < schedule.source.n_jobs < 1.6 * trace.n_jobs
        yield Row(
            "resampled and fluid users under easy, one run", name, f"{took * 1e3:.1f} ms",
            f"{schedule.source.n_jobs / took / 1e6:.2f} M jobs/s",
            goal=f"≤ {goal * 1e3:.0f} ms", met=took <= goal,
        )  # fmt: skip

    traces = [wk.read_swf(DATA / "traces" / f"{name}.swf.gz") for name in TABLE]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        begin = time.perf_counter()
        for trace in traces:
            found = wk.sweep(
                trace, ["easy"], [1.0], load_by="users", users="fluid", runs=RUNS, rng=1,
                executor=pool,
            )  # fmt: skip
            assert len(found.runs) == RUNS
        passed = time.perf_counter() - begin
    yield Row(
        f"resampled and fluid users under easy, {RUNS} runs each, 2 processes",
        f"{len(TABLE)} logs", f"{passed:.0f} s", goal="≤ 90 s", met=passed <= 90,
    )  # fmt: skip


def _queue() -> Iterator[Row]:
    """Users who arrive and go on by chance, with the log of their jobs."""
    for again, in_words in (("exp:1", "e^-r"), ("zakay", "0.8 / (0.5 r + 1)")):
        took, schedule = best_of(
            5, lambda again=again: wk.simulate(None, "fcfs", Reopen(0.5, again, jobs=QUEUE), rng=1)
        )
        assert schedule.start.size == QUEUE
        # a user more for each job that nobody goes on after: the throughput is above the arrivals
        assert 0.5 < QUEUE / schedule.end.max() < 1
        yield Row(
            f"re-open queue, p = {in_words}", f"{QUEUE:,} jobs", f"{took:.2f} s",
            f"{QUEUE / took / 1e6:.1f} M jobs/s", goal="≤ 1 s", met=took <= 1,
        )  # fmt: skip
