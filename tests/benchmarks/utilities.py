"""How fast a log gets utility functions, how fast it is read with them, and what they cost."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of, in_turn
from tests.data import DATA
from workloadkit import utility

LOG = "SDSC-BLUE-2000-4.2-cln"
QUEUES = {queue: queue for queue in range(24)}
GOAL = 2.0  # seconds to augment the log
READING = 5.0  # times the time of reading the log without utility functions


def rows() -> Iterator[Row]:
    """Augmenting, reading and writing a large log; values of all jobs at once; simulating it."""
    source = DATA / "traces" / f"{LOG}.swf.gz"
    if not source.exists():
        return
    log = wk.read_swf(source)
    wk.add_utility(log, priority=QUEUES, rng=1)  # compiles
    time, made = best_of(3, lambda: wk.add_utility(log, priority=QUEUES, rng=1))
    functions = utility.pack(made.utility, made.n_jobs)
    assert functions.known.all()
    yield Row(
        "augment with utility functions",
        LOG,
        f"{time:.2f} s, {log.n_jobs / time / 1e6:.1f} M jobs/s",
        goal=f"≤ {GOAL:g} s",
        met=time <= GOAL,
    )

    at = np.random.default_rng(1).exponential(3600, log.n_jobs)
    time, values = best_of(5, lambda: utility.value(functions, at))
    few = range(0, log.n_jobs, 997)
    assert all(values[i] == utility.value_at(functions.of(i), at[i]) for i in few)
    yield Row("values of all jobs", LOG, f"{time * 1e3:.0f} ms")

    with tempfile.TemporaryDirectory() as folder:
        bare, worth = Path(folder) / "bare.swf", Path(folder) / "worth.swf"
        (write_bare, _), (write, _) = in_turn(
            2, lambda: wk.write_swf(log, bare), lambda: wk.write_swf(made, worth)
        )
        (read_bare, _), (read, again) = in_turn(
            7, lambda: wk.read_swf(bare), lambda: wk.read_swf(worth)
        )
        assert again.utility.equals(made.utility)
        size = worth.stat().st_size / bare.stat().st_size
    ratio = read / read_bare
    yield Row(
        "read SWF with utility functions",
        LOG,
        f"{read * 1e3:.0f} ms",
        f"{ratio:.1f} × without them, of {size:.1f} × the text",
        f"≤ {READING:g}",
        ratio <= READING,
    )
    yield Row(
        "write SWF with utility functions",
        LOG,
        f"{write:.1f} s",
        f"{write / write_bare:.1f} × without them",
    )

    (plain, without), (time, found) = in_turn(
        3, lambda: wk.simulate(log).metrics, lambda: wk.simulate(made).metrics
    )
    assert found["aggregate_utility"] > 0
    assert {name: found[name] for name in without} == without
    yield Row(
        "EASY, with what the jobs earn", LOG, f"{time:.2f} s", f"{time / plain:.2f} × without"
    )
