"""How fast simulation is: kernels and the whole call, against the yardstick."""

import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, best_of, in_turn
from tests.data import DATA
from tests.external.shortest import Shortest
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.workload import Rules, Workload, machine_size
from workloadkit.simulation.workload.from_log import make_workload

LOGS = ("KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln", "SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln")
HEAVY = 1.2
ROUNDS = 15

# Orders that are settled when a job arrives, and one that varies with time.
SETTLED = ("fcfs", "easy", "easy:backfill=sjf", "sjf")
VARYING = "wfp3"

# Ratios to the yardstick that are aimed at: of the kernel's speed, of the whole call's time.
SPEED_GOAL = {
    ("SDSC-BLUE-2000-4.2-cln", None): 1.3,
    ("HPC2N-2002-2.2-cln", None): 1.3,
    ("SDSC-BLUE-2000-4.2-cln", HEAVY): 15,
    ("HPC2N-2002-2.2-cln", HEAVY): 35,
}
TIME_GOAL = {key: 1.6 if key[1] is None else 0.1 for key in SPEED_GOAL}


def rows() -> Iterator[Row]:
    """EASY, other orders and FCFS on four logs at their load and at 1.2; the whole call; memory."""
    traces = {name: wk.read_swf(DATA / "traces" / f"{name}.swf.gz") for name in LOGS}
    for load in (None, HEAVY):
        for name, trace in traces.items():
            yield from _one_log(name, trace, load)
    kth = traces["KTH-SP2-1996-2"]
    yield from _plain("KTH-SP2-1996-2", kth)
    yield from _custom(kth)
    for name, trace in traces.items():
        yield _with_predictions(name, trace)
        yield from _scores(name, trace)
    blue = traces["SDSC-BLUE-2000-4.2-cln"]
    table = int(blue.jobs.memory_usage(index=True).sum())
    blue = replace(blue)  # nothing remembered
    tracemalloc.start()  # the large arrays are made outside the kernels, where they are seen
    assert len(wk.simulate(blue, "easy").jobs)
    needed = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_table = needed / table
    yield Row(
        "simulate(), peak memory", "SDSC-BLUE-2000-4.2-cln", f"{needed / 2**20:.0f} MiB",
        f"{of_table:.2f} × the table of the Trace", "≤ 4", of_table <= 4,
    )  # fmt: skip
    yield from _first_use()


def _plain(log: str, trace: wk.Trace) -> Iterator[Row]:
    """The engine in plain Python, against a loop in plain Python."""
    machine = machine_size(trace.header, None)
    workload = make_workload(trace, machine)
    jobs = (workload.submit, workload.run, workload.estimate, workload.procs)
    lists = [column.tolist() for column in jobs]
    (loop, start), *engine = in_turn(
        5,
        lambda: yardstick.plain(*lists, machine),
        *(lambda s=name: wk.simulate(trace, s, engine="python") for name in ("fcfs", "easy")),
        clock=process_time,
    )
    assert (engine[1][1].start == start).all()
    each = 1e6 / len(start)  # µs per job and second
    for scheduler, (spent, _) in zip(("fcfs", "easy"), engine, strict=True):
        yield Row(
            f"{scheduler}, plain-Python engine", log, f"{spent * each:.1f} µs of CPU a job",
            f"{spent / loop:.1f} × a plain loop with a heap and a list",
            "≤ 10 µs" if scheduler == "easy" else "", scheduler != "easy" or spent * each <= 10,
        )  # fmt: skip
    yield Row("plain loop with a heap and a list (easy)", log, f"{loop * each:.1f} µs of CPU a job")


def _one_log(name: str, trace: wk.Trace, load: float | None) -> Iterator[Row]:
    machine = machine_size(trace.header, None)
    workload = make_workload(trace, machine, Arriving(offered_load=load))
    jobs = (workload.submit, workload.run, workload.estimate, workload.procs)
    n_jobs, rules = workload.submit.size, Rules(machine)
    few = make_workload(trace.take(np.arange(50)), machine)
    yardstick.easy(*(column[:50] for column in jobs), machine)  # compiles

    def scheduled(scheduler: str, workload: Workload) -> np.ndarray:
        return play_compiled(schedulers.parse(scheduler), workload, rules).outcome.start

    for scheduler in (*SETTLED, VARYING):
        scheduled(scheduler, few)  # compiles
    # Taken in turn, so that all meet the same machine; for a long queue the yardstick takes
    # seconds, once is enough.
    slow = (
        lambda: yardstick.easy(*jobs, machine),
        lambda: scheduled(VARYING, workload),
    )
    quick = tuple(lambda s=s: scheduled(s, workload) for s in SETTLED)
    if load is None:
        found = in_turn(ROUNDS, *slow, *quick)
    else:
        found = in_turn(1, *slow) + in_turn(ROUNDS, *quick)
    (naive, expected), by_wait, *by_place = found
    kernels = dict(zip((*SETTLED, VARYING), (*by_place, by_wait), strict=True))
    assert (kernels["easy"][1] == expected).all()
    label = name if load is None else f"{name}, load {load}"
    for scheduler, (time, start) in kernels.items():
        aimed_at = scheduler not in ("fcfs", VARYING)
        goal = SPEED_GOAL.get((name, load), 0) if aimed_at else 0
        ratio = naive / time
        speed, queue = n_jobs / time / 1e6, mean_queue(workload.submit, start)
        yield Row(
            f"{scheduler}, kernel",
            label,
            f"{speed:.2f} M jobs/s, mean queue {queue:,.0f}",
            f"{ratio:.1f} × the yardstick's speed",
            f"≥ {goal:g}" if goal else "",
            ratio >= goal,
        )

    time, schedule = best_of(5, lambda: _whole(replace(trace), load))
    assert (schedule.start == expected).all()
    goal = TIME_GOAL.get((name, load), 0)
    ratio = time / naive
    yield Row(
        "easy, simulate() with its table", label, f"{time * 1e3:.1f} ms",
        f"{ratio:.3f} × the yardstick's time", f"≤ {goal:g}" if goal else "",
        not goal or ratio <= goal,
    )  # fmt: skip
    yield Row("yardstick (easy)", label, f"{n_jobs / naive / 1e6:.3f} M jobs/s")


class _ShortestFirst(wk.schedulers.Scheduler):
    """The first example of the page on custom schedulers."""

    def allocate(self) -> None:
        for job in sorted(self.queue, key=lambda job: (job.estimate, job.number)):
            if job.procs <= self.free:
                self.start(job)


def _custom(kth: wk.Trace) -> Iterator[Row]:
    """A custom scheduler in plain Python, and the same in the loop's own form."""
    few = kth.take(np.arange(50))
    wk.simulate(few, Shortest())  # compiles
    (plain, schedule), (compiled, again) = in_turn(
        ROUNDS,
        lambda: wk.simulate(kth, _ShortestFirst()),
        lambda: wk.simulate(kth, Shortest()),
        clock=process_time,
    )
    assert (schedule.start == again.start).all()
    for what, time, goal in (("plain Python", plain, 60_000), ("compiled", compiled, 1_000_000)):
        speed = kth.n_jobs / time
        yield Row(
            f"custom scheduler, {what}", "KTH-SP2-1996-2", f"{speed:,.0f} jobs/s of CPU time",
            f"{time / compiled:,.0f} × the time of the compiled form",
            f"≥ {goal:,}", speed >= goal,
        )  # fmt: skip


def _with_predictions(name: str, trace: wk.Trace) -> Row:
    """EASY++ against EASY, both with jobs killed at their limits."""
    easy, predicted = (
        lambda how=how: wk.simulate(trace, overrun="kill", **how)
        for how in (
            {"scheduler": "easy"},
            {"scheduler": "easy:backfill=sjf", "predictor": "last-two,correct=increments"},
        )
    )
    (time, _), (time_predicted, schedule) = in_turn(ROUNDS, easy, predicted)
    ratio, speed = time_predicted / time, schedule.start.size / time_predicted / 1e6
    return Row(
        "EASY++, simulate()", name, f"{speed:.2f} M jobs/s",
        f"{ratio:.2f} × EASY's time", "≤ 2", ratio <= 2,
    )  # fmt: skip


def _weighed(wait: float, estimate: float, procs: float) -> float:
    """WFP3 as a score."""
    ratio = wait / estimate
    return -(ratio * ratio * ratio * procs)


def _scores(name: str, trace: wk.Trace) -> Iterator[Row]:
    """WFP3 as an expression and as a function, against the built-in one; a settled one to SJF."""
    expression, function = "order:-(wait / estimate) ** 3 * procs", wk.schedulers.Order(_weighed)
    for scheduler, others in (("wfp3", (expression, function)), ("sjf", ("order:estimate",))):
        built_in, *found = in_turn(
            3, *(lambda s=s: wk.simulate(trace, s) for s in (scheduler, *others))
        )
        for other, (time, schedule) in zip(others, found, strict=True):
            assert (schedule.start == built_in[1].start).all()
            what = other if isinstance(other, str) else "the same as a function"
            yield Row(
                f"{what}, simulate()", name, f"{schedule.start.size / time / 1e6:.2f} M jobs/s",
                f"{time / built_in[0]:.2f} × the time of {scheduler}",
            )  # fmt: skip


def _whole(trace: wk.Trace, load: float | None) -> wk.Schedule:
    schedule = wk.simulate(trace, "easy", offered_load=load)
    assert len(schedule.jobs) == schedule.start.size
    return schedule


def mean_queue(submit: np.ndarray, start: np.ndarray) -> float:
    """Mean number of waiting jobs that an arriving one finds."""
    started = np.searchsorted(np.sort(start), submit, side="right")
    return float((np.arange(submit.size) - np.minimum(started, np.arange(submit.size))).mean())


_FIRST_USE = """
import time, workloadkit as wk
trace = wk.load_sample()
begin = time.perf_counter()
wk.simulate(trace, "easy", offered_load=1.2, engine={engine})
print(time.perf_counter() - begin)
"""


def _first_use() -> Iterator[Row]:
    """Time of the first simulation in a process: in plain Python, compiling, from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        for what, engine, goal in (
            ("in plain Python", None, 2),
            ("compiling", "compiled", 10),
            ("compiled code from the cache", None, 1),
        ):
            out = subprocess.run(
                [sys.executable, "-c", _FIRST_USE.format(engine=repr(engine))],
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            value = f"{float(out):.2f} s"
            yield Row(
                f"first simulation, {what}", "sample", value, "", f"≤ {goal} s", float(out) <= goal
            )
