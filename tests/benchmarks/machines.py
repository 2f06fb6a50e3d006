"""EASY on machines of nodes and of several resources, compared with one pool of processors."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.simulation import schedulers
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.pools import Pools
from workloadkit.simulation.machine.reservable import ReservablePool
from workloadkit.simulation.workload import Rules, Workload, machine_size
from workloadkit.simulation.workload.from_log import make_workload

LOGS = ("SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln")
NODES = "HPC2N-2002-2.2-cln"
ROUNDS = 10
GOALS = {2: 1.3, 4: 1.8}  # × the time of one pool, by number of resources
NODES_GOAL = 0.8e6  # jobs/s
LONG_GOAL = 0.2e6
RESERVED = ("KTH-SP2-1996-2.1-cln", "SDSC-BLUE-2000-4.2-cln")
RESERVED_GOAL = 1e6


def rows() -> Iterator[Row]:
    """EASY with resources that never run out, on nodes, and around reservations."""
    easy = schedulers.parse("easy")
    for name in LOGS:
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        machine = machine_size(trace.header, None)
        workload = make_workload(trace, machine)
        calls = [_call(easy, workload, Rules(machine))]
        for resources in GOALS:
            hardware = with_slack(workload, machine, resources - 1)
            calls.append(_call(easy, workload, Rules(machine, hardware=hardware)))
        in_turn(1, *calls)  # compiles
        (without, one), *found = in_turn(ROUNDS, *calls)
        for (resources, goal), (time, play) in zip(GOALS.items(), found, strict=True):
            assert (play.outcome.start == one.outcome.start).all()
            yield Row(
                f"easy, {resources} resources, of which one runs out", name, f"{time * 1e3:.1f} ms",
                f"{time / without:.2f} × the time of one", f"≤ {goal}", time <= goal * without,
            )  # fmt: skip
    trace = wk.read_swf(DATA / "traces" / f"{NODES}.swf.gz")
    yield _on_nodes(trace, MachineDescription(nodes=(NodeType(count=120, cores=2),)), NODES_GOAL)
    large = MachineDescription(nodes=(NodeType(count=1024, cores=8),))
    yield _on_nodes(long_queue(), large, LONG_GOAL)
    for name in RESERVED:
        yield _with_requests(wk.read_swf(DATA / "traces" / f"{name}.swf.gz"))


def _call(policy: Any, workload: Workload, rules: Rules) -> Any:
    return lambda: play_compiled(policy, workload, rules)


def with_slack(workload: Workload, procs: int, n_pools: int) -> Pools:
    """Return processors, and pools of which each job takes one and all have enough."""
    need = np.ones((workload.submit.size, n_pools), np.int64)
    return Pools(procs, [procs] * n_pools, need)


def _on_nodes(trace: wk.Trace, description: MachineDescription, goal: float) -> Row:
    machine = Described.of(description)
    workload = make_workload(trace, machine.procs)
    (part,) = machine.parts(trace, workload)
    call = _call(schedulers.parse("easy"), workload, Rules(machine.procs, hardware=part.hardware))
    in_turn(1, call)
    ((time, play),) = in_turn(3, call)
    assert len(play.runs) == workload.submit.size
    speed, name = workload.submit.size / time, trace.name.removesuffix(".swf.gz")
    return Row(
        f"easy on {description.n_nodes:,} nodes, packed", name,
        f"{speed / 1e6:.2f} M jobs/s",
        "", f"≥ {goal / 1e6:g} M jobs/s", speed >= goal,
    )  # fmt: skip


def _with_requests(trace: wk.Trace) -> Row:
    """EASY around the reservations of a tenth of the jobs."""
    machine = machine_size(trace.header, None)
    workload = make_workload(trace, machine)
    asked = wk.draw_reservations(trace, 0.1, rng=1)
    hardware = ReservablePool(machine, asked).answering(workload, "raise")
    call = _call(schedulers.parse("easy"), workload, Rules(machine, hardware=hardware))
    in_turn(1, call)
    ((time, play),) = in_turn(ROUNDS, call)
    assert play.outcome.history["reservations"]["requests"] == len(asked)
    speed, name = workload.submit.size / time, trace.name.removesuffix(".swf.gz")
    return Row(
        "easy, 10 % of the jobs request reservations", name,
        f"{speed / 1e6:.2f} M jobs/s",
        "", f"≥ {RESERVED_GOAL / 1e6:g} M jobs/s", speed >= RESERVED_GOAL,
    )  # fmt: skip


def long_queue() -> wk.Trace:
    """Return 50,000 jobs for 8,192 processors, of which some 10,000 wait."""
    rng, n = np.random.default_rng(1), 50_000
    run = rng.lognormal(7.5, 1.3, n).astype(np.int64) + 1
    procs = 2 ** rng.integers(0, 9, n)
    work = float((run * procs).sum())
    submit = np.sort(rng.integers(0, int(work / 8192 / 1.25), n))  # a load of 1.25
    columns = {"submit": submit, "run": run, "procs": procs, "requested_time": 3 * run}
    return wk.Trace.from_columns(columns, name="50,000 jobs, load 1.25")
