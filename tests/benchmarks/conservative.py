"""How fast jobs are scheduled with reservations, for all or for some, against the yardstick."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.policies.conservative import Conservative
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.workload import Rules, Workload, machine_size, make_workload

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
        yield from _one_log(name, workload, machine, goal)


def _one_log(name: str, workload: Workload, machine: int, goal: float) -> Iterator[Row]:
    jobs = (workload.submit, workload.run, workload.estimate, workload.procs)
    n_jobs = workload.submit.size

    def play(policy: Policy) -> np.ndarray:
        return play_compiled(policy, workload, Rules(machine)).outcome.start

    yardstick.easy(*(column[:50] for column in jobs), machine)  # compiles
    play(Conservative())  # compiles
    assert (play(Reservations(1)) == yardstick.easy(*jobs, machine)).all()
    play(Reservations(DEPTH))  # compiles
    (naive, _), (conservative, start), (some, _) = in_turn(
        ROUNDS,
        lambda: yardstick.easy(*jobs, machine),
        lambda: play(Conservative()),
        lambda: play(Reservations(DEPTH)),
    )
    assert (start >= workload.submit).all()
    ratio = naive / conservative
    yield Row(
        "conservative, kernel", name, f"{n_jobs / conservative / 1e6:.2f} M jobs/s",
        f"{ratio:.3f} × the yardstick's speed", f"≥ {goal:.3f}", ratio >= goal,
    )  # fmt: skip
    yield Row(
        f"reservations:{DEPTH}, kernel", name, f"{n_jobs / some / 1e6:.2f} M jobs/s",
        f"{naive / some:.2f} × the yardstick's speed",
    )  # fmt: skip
