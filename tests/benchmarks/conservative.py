"""How fast jobs are scheduled with reservations, for all or for some, against the yardstick."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit._kernels.conservative import schedule_conservatively
from workloadkit._kernels.reservations import schedule_with_reservations
from workloadkit._kernels.state import Jobs
from workloadkit.simulation.workload import machine_size, make_workload

ROUNDS = 15
DEPTH = 4

# Of the yardstick's speed: what makes 1.2, 0.6, 0.5 and 0.25 M jobs/s where that makes
# 7.3, 6.6, 5.8 and 5.1 M.
GOAL = {
    "KTH-SP2-1996-2": 1.2 / 7.3,
    "SDSC-SP2-1998-4.2-cln": 0.6 / 6.6,
    "SDSC-BLUE-2000-4.2-cln": 0.5 / 5.8,
    "HPC2N-2002-2.2-cln": 0.25 / 5.1,
}


def rows() -> Iterator[Row]:
    """Conservative backfilling, and a few reservations, on four logs."""
    for name, goal in GOAL.items():
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        machine = machine_size(trace.header, None)
        workload = make_workload(trace, machine)
        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        yield from _one_log(name, jobs, machine, goal)


def _one_log(name: str, jobs: Jobs, machine: int, goal: float) -> Iterator[Row]:
    n_jobs = jobs.submit.size
    arrival = np.arange(n_jobs)
    how = {"late": False, "by_event": False}

    def reserve(depth: int) -> np.ndarray:
        return schedule_with_reservations(
            jobs, machine, rank=arrival, backfill_rank=arrival, reservations=depth, **how
        )

    yardstick.easy(*(column[:50] for column in jobs), machine)  # compiles
    schedule_conservatively(jobs, machine, **how)  # compiles
    assert (reserve(1) == yardstick.easy(*jobs, machine)).all()
    (naive, _), (conservative, start), (some, _) = in_turn(
        ROUNDS,
        lambda: yardstick.easy(*jobs, machine),
        lambda: schedule_conservatively(jobs, machine, **how),
        lambda: reserve(DEPTH),
    )
    assert (start >= jobs.submit).all()
    ratio = naive / conservative
    yield Row(
        "conservative, kernel", name, f"{n_jobs / conservative / 1e6:.2f} M jobs/s",
        f"{ratio:.3f} × the yardstick's speed", f"≥ {goal:.3f}", ratio >= goal,
    )  # fmt: skip
    yield Row(
        f"reservations:{DEPTH}, kernel", name, f"{n_jobs / some / 1e6:.2f} M jobs/s",
        f"{naive / some:.2f} × the yardstick's speed",
    )  # fmt: skip
