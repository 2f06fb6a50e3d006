"""How fast jobs are scheduled with reservations, for all or for some, against the yardstick."""

from collections.abc import Iterator
from time import process_time

import numpy as np

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, in_turn
from tests.benchmarks.scheduling import mean_queue
from tests.data import DATA
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.policies.conservative import Conservative
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.policies.selective import Selective
from workloadkit.simulation.policies.slack import Slack
from workloadkit.simulation.workload import Rules, Workload, machine_size
from workloadkit.simulation.workload.from_log import make_workload

ROUNDS = 15
DEPTH = 4

# At a load that the machine cannot bear: the time compared with that of EASY, and the power of the
# queue with which the time of a job grows.
HEAVY = 1.2
ROUNDS_HEAVY = 3
MOST_EASY = 50
MOST_GROWTH = 1.3

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
    yield from _saturated("KTH-SP2-1996-2")
    yield from _others("KTH-SP2-1996-2")


def _saturated(name: str) -> Iterator[Row]:
    """Conservative backfilling against EASY, as the queue grows for a whole log."""
    trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
    machine = machine_size(trace.header, None)
    whole = make_workload(trace, machine, Arriving(offered_load=HEAVY))
    part = whole.take(np.arange(whole.submit.size // 3))

    def play(policy: Policy, workload: Workload) -> np.ndarray:
        return play_compiled(policy, workload, Rules(machine)).outcome.start

    play(Conservative(), part)  # compiles
    play(Easy(), part)  # compiles
    (short, start_of_part), (long, start), (easy, _) = in_turn(
        ROUNDS_HEAVY,
        lambda: play(Conservative(), part),
        lambda: play(Conservative(), whole),
        lambda: play(Easy(), whole),
    )
    times = short / part.submit.size, long / whole.submit.size
    queues = mean_queue(part.submit, start_of_part), mean_queue(whole.submit, start)
    growth = float(np.log(times[1] / times[0]) / np.log(queues[1] / queues[0]))
    yield Row(
        "conservative, kernel", f"{name}, load {HEAVY}",
        f"{times[1] * 1e6:.0f} µs a job, mean queue {queues[1]:,.0f}",
        f"{long / easy:.0f} × the time of EASY", f"≤ {MOST_EASY}", long / easy <= MOST_EASY,
    )  # fmt: skip
    yield Row(
        "conservative, time of a job as the queue grows", f"{name}, load {HEAVY}",
        f"{times[0] * 1e6:.0f} µs at a mean queue of {queues[0]:,.0f}",
        f"grows with its power {growth:.2f}", f"≤ {MOST_GROWTH}", growth <= MOST_GROWTH,
    )  # fmt: skip


def _others(name: str) -> Iterator[Row]:
    """Policies that plan more for each job, at the same load."""
    trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
    machine = machine_size(trace.header, None)
    whole = make_workload(trace, machine, Arriving(offered_load=HEAVY))
    policies = (Conservative(), Selective(), Slack())
    calls = [lambda p=policy: play_compiled(p, whole, Rules(machine)) for policy in policies]
    for policy in policies:  # compiles
        play_compiled(policy, whole.take(np.arange(300)), Rules(machine))
    (usual, _), *others = in_turn(1, *calls, clock=process_time)
    for policy, (time, play) in zip(policies[1:], others, strict=True):
        assert (play.outcome.start >= whole.submit).all()
        yield Row(
            f"{policy.name}, kernel", f"{name}, load {HEAVY}",
            f"{time / whole.submit.size * 1e6:.0f} µs of CPU a job",
            f"{time / usual:.1f} × the time of conservative",
        )  # fmt: skip


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
