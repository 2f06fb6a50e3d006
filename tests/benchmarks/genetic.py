"""How fast the genetic scheduler is, and how fast it judges an order, against the yardstick."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, best_of, in_turn
from tests.compiled import from_python
from tests.data import DATA
from workloadkit import utility
from workloadkit._kernels.record import by_reference
from workloadkit.simulation.compiled.state import Jobs
from workloadkit.simulation.policies.genetic import evaluation as genetic
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import machine_size
from workloadkit.simulation.workload.from_log import make_workload

BLUE = "SDSC-BLUE-2000-4.2-cln"
LINES = slice(4999, 10000)
HEAVY = 1.2
INDIVIDUALS, GENERATIONS = 20, 100

SECONDS = {None: 25, HEAVY: None}  # for the whole call, by the load
# By the length of the window, how fast its jobs are judged: in 5 µs on a machine on which the
# yardstick does 5.8 M jobs/s of the whole log.
GOALS = {50: 50 / 5 / 5.8, 100: None}
N_STATES, N_ORDERS = 20, 200
ROUNDS = 9

_take_in = from_python(genetic.take_in)


class Pass(NamedTuple):
    """What a search is given."""

    now: int
    free: int
    planned_ends: NDArray[np.int64]
    planned_procs: NDArray[np.int64]
    waiting: NDArray[np.int64]


def rows() -> Iterator[Row]:
    """Judging orders, in passes of the log under heavy load; scheduling it, as it is and so."""
    log = wk.read_swf(DATA / "traces" / f"{BLUE}.swf.gz")
    speed = _yardstick(log)
    log = log.take(np.arange(log.n_jobs)[LINES])
    queues = {queue: queue for queue in range(24)}
    log = wk.add_utility(log, priority=queues, points=1, rng=1)
    heavy = wk.simulate(log, "easy", offered_load=HEAVY)
    for length, goal in GOALS.items():
        yield _judging(heavy, length, goal, speed)
    wk.simulate(log.take(np.arange(50)), "genetic", rng=1)  # compiles
    for load, goal in SECONDS.items():
        time, schedule = best_of(
            1, lambda x=load: wk.simulate(log, "genetic", offered_load=x, rng=1)
        )
        easy = wk.simulate(log, "easy", offered_load=load).metrics["aggregate_utility"]
        gain = schedule.metrics["aggregate_utility"] / easy
        assert gain > 1
        n_orders = schedule.history["searches"] * (INDIVIDUALS + GENERATIONS * (INDIVIDUALS - 1))
        yield Row(
            f"genetic, {log.n_jobs:,} jobs, {INDIVIDUALS} × {GENERATIONS}",
            BLUE if load is None else f"{BLUE}, load {load}",
            f"{time:.1f} s, {time / n_orders * 1e6:.1f} µs an order",
            f"{gain:.2f} × the utility under EASY",
            f"≤ {goal} s" if goal else "",
            not goal or time <= goal,
        )


def _yardstick(log: wk.Trace) -> float:
    """Jobs a second that the yardstick schedules of the whole log."""
    machine = machine_size(log.header, None)
    w = make_workload(log, machine)
    jobs = (w.submit, w.run, w.estimate, w.procs)
    yardstick.easy(*(column[:50] for column in jobs), machine)  # compiles
    time, _ = best_of(ROUNDS, lambda: yardstick.easy(*jobs, machine))
    return w.job.size / time


def _judging(schedule: Schedule, length: int, goal: float | None, speed: float) -> Row:
    """Judge random orders of so many jobs; the yardstick does `speed` jobs a second."""
    work = schedule.workload
    assert work.utilities is not None
    jobs = Jobs(work.submit, work.run, work.estimate, work.procs, work.user, work.queue)
    rng = np.random.default_rng(1)
    orders = np.concatenate([rng.permutation(length) for _ in range(N_ORDERS)])
    search = genetic.new_search(
        genetic.SearchSettings(INDIVIDUALS, GENERATIONS, 0.1, at_start=False),
        work.utilities,
        rng,
        length=length,
        capacity=schedule.machine + 1,
        dtype=jobs.submit.dtype,
    )
    found, naive, time, slow = [], [], 0.0, 0.0
    for state in _passes(schedule, length):
        _look_at(search, state, jobs)
        _judge_all(search, orders)
        as_logs = [
            _as_log(state, orders[i : i + length], jobs) for i in range(0, orders.size, length)
        ]
        (fast, earned), (plain, starts) = in_turn(
            ROUNDS,
            lambda: _judge_all(search, orders),
            lambda logs=as_logs, m=schedule.machine: [yardstick.easy(*log, m) for log in logs],
        )
        time, slow = time + fast, slow + plain
        found.append(earned)
        naive.append([_earned(work, state, s, orders, i, length) for i, s in enumerate(starts)])
    assert np.allclose(found, naive)
    each = time / (N_STATES * N_ORDERS)
    ratio = length / each / speed
    return Row(
        f"genetic, an order of {length} judged",
        f"{BLUE}, load {HEAVY}",
        f"{each * 1e6:.1f} µs",
        f"{ratio:.1f} × the yardstick's speed at the log's own load, {slow / time:.1f} × it on the "
        "same jobs",
        f"≥ {goal:.1f}" if goal else "",
        not goal or ratio >= goal,
    )


def _passes(schedule: Schedule, length: int) -> list[Pass]:
    """Take passes of a schedule in which as many jobs wait and one fits."""
    work, start, end = schedule.workload, schedule.start, schedule.end
    rng = np.random.default_rng(0)
    found: list[Pass] = []
    for now in rng.permutation(np.unique(end)):
        running = np.flatnonzero((start < now) & (end > now))
        waiting = np.flatnonzero((work.submit <= now) & (start >= now))[:length]
        free = schedule.machine - int(work.procs[running].sum())
        if waiting.size == length and work.procs[waiting].min() <= free:
            planned = start[running] + work.estimate[running]
            falling = np.argsort(-planned, kind="stable")
            held = work.procs[running][falling]
            found.append(Pass(now, free, planned[falling], held, waiting))
        if len(found) == N_STATES:
            break
    return found


def _look_at(search: genetic.Search, state: Pass, jobs: Jobs) -> None:
    """Let a search know what runs and waits in a pass."""
    count = state.planned_ends.size
    search.now[0], search.at.n_jobs = state.now, state.waiting.size
    search.at.n_running, search.at.free = count, state.free
    search.running_ends[:count] = state.planned_ends
    search.running_procs[:count] = state.planned_procs
    for place, job in enumerate(state.waiting):
        _take_in(search, place, jobs, job, job, 0.0)


@numba.njit
def _judge_all(search, orders):
    search = by_reference(search)
    length = search.at.n_jobs
    earned = np.empty(orders.size // length)
    for i in range(earned.size):
        earned[i] = genetic.evaluate(search, orders, i * length)
    return earned


def _as_log(state: Pass, order: NDArray[np.int64], jobs: Jobs) -> tuple[Any, ...]:
    """Lay out the running jobs and those that wait as a log of jobs that all arrive now."""
    waiting = state.waiting[order]
    run = np.concatenate([state.planned_ends - state.now, jobs.estimate[waiting]])
    procs = np.concatenate([state.planned_procs, jobs.procs[waiting]])
    return np.full(run.size, state.now), run, run, procs


def _earned(work: Any, state: Pass, start: Any, orders: Any, i: int, length: int) -> float:
    """Aggregate utility of the jobs that wait, by their starts in such a log."""
    waiting = state.waiting[orders[i * length : (i + 1) * length]]
    turnaround = start[state.planned_ends.size :] + work.estimate[waiting] - work.submit[waiting]
    return float(np.nansum(utility.value(work.utilities.take(waiting), turnaround)))
