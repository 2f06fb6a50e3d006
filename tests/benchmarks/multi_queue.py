"""How fast multiple queues are, and the scheduler that simulates how many are best."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, best_of, in_turn
from tests.data import DATA
from workloadkit.simulation.policies.multi_queue.compiled import CompiledMultiQueue
from workloadkit.simulation.workload import Rules, Workload, machine_size
from workloadkit.simulation.workload.from_log import make_workload

ROUNDS = 9
BLUE = "SDSC-BLUE-2000-4.2-cln"

# Ratios to the yardstick's speed: a million jobs a second where that was first measured.
GOALS = {
    "KTH-SP2-1996-2": 0.14,
    "SDSC-SP2-1998-4.2-cln": 0.15,
    BLUE: 0.17,
    "HPC2N-2002-2.2-cln": 0.20,
}

# Seconds for the whole call, by what is forecast to arrive.
SECONDS = 10
FORECASTS = ("waiting", "replay", "actual")


def rows() -> Iterator[Row]:
    """Four queues on four logs, whose schedule with one queue is EASY's; self-adaptive on one."""
    for name, goal in GOALS.items():
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        machine = machine_size(trace.header, None)
        workload = make_workload(trace, machine)
        jobs = (workload.submit, workload.run, workload.estimate, workload.procs)
        yardstick.easy(*(column[:50] for column in jobs), machine)  # compiles
        one = _schedule(workload, machine, 1)
        (naive, easy), (time, _) = in_turn(
            ROUNDS,
            lambda j=jobs, m=machine: yardstick.easy(*j, m),
            lambda w=workload, m=machine: _schedule(w, m, 4),
        )
        assert (one == easy).all()
        ratio = naive / time
        yield Row(
            "multi-queue, 4 partitions, kernel", name, f"{easy.size / time / 1e6:.2f} M jobs/s",
            f"{ratio:.2f} × the yardstick's speed", f"≥ {goal:g}", ratio >= goal,
        )  # fmt: skip
    blue = wk.read_swf(DATA / "traces" / f"{BLUE}.swf.gz")
    for forecast in FORECASTS:
        scheduler = f"self-adaptive:threshold=10,weeks=1,most=4,forecast={forecast}"
        time, schedule = best_of(2, lambda s=scheduler: wk.simulate(blue, s))
        tests = schedule.history["tests"]
        assert tests > 0
        yield Row(
            f"self-adaptive, {forecast}", BLUE, f"{time:.2f} s, {tests} weeks with simulations", "",
            f"≤ {SECONDS} s", time <= SECONDS,
        )  # fmt: skip


def _schedule(workload: Workload, machine: int, n_partitions: int) -> np.ndarray:
    how = CompiledMultiQueue(workload, Rules(machine), n_partitions)
    return how.play(how.new_state()).start
