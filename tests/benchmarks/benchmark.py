"""How fast entries of the benchmark are played and checked, of policies and of processes."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Row
from workloadkit.benchmark import Entry, cases, run_benchmark
from workloadkit.benchmark.entries import built_in, play

RUNS = 2

#: Answers each state with no start but that of the first job that waits, if it fits.
FCFS = """
import sys
for line in sys.stdin:
    word, *values = line.split()
    if word == "now":
        free, queue = int(values[1]), []
    elif word == "waiting":
        queue.append((int(values[3]), values[0]))
    elif word == "decide":
        started = []
        for procs, job in queue:
            if procs > free:
                break
            free -= procs
            started.append(job)
        print("start", *started, flush=True)
"""


def rows() -> Iterator[Row]:
    """Entries in cases of the suite, with the checks of their schedules."""
    for system, kind in (("busy", "policy"), ("grid", "meta-policy")):
        among = [case for case in cases(chosen=("mixed", system)) if case.users == "open"]
        entries = [entry for entry in built_in() if entry.kind == kind]
        run_benchmark(entries, among=among, runs=1)  # compiles
        begin = time.perf_counter()
        results = run_benchmark(entries, among=among, runs=RUNS)
        taken = time.perf_counter() - begin
        assert not results.refused
        each = taken / RUNS / len(entries)
        yield Row(
            f"benchmark, {len(entries)} built-in entries, played and checked", among[0].name,
            f"{each:.2f} s a run of an entry", f"{taken:.1f} s for {RUNS} runs of all",
        )  # fmt: skip
    (case,) = (case for case in cases(chosen=("sample", "busy", "open")))
    log = case.run(0)
    with TemporaryDirectory() as folder:
        (Path(folder) / "fcfs.py").write_text(FCFS)
        process = Entry("mine", "process", f"{sys.executable} {folder}/fcfs.py")
        begin = time.perf_counter()
        played = play(process, case, log, 0)
        taken = time.perf_counter() - begin
    assert played == play(Entry("fcfs", "policy", "fcfs"), case, log, 0)
    yield Row(
        "benchmark, FCFS as a process in Python", case.name,
        f"{log.n_jobs / taken / 1e3:.1f} thousand jobs/s",
    )  # fmt: skip
