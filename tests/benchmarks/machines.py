"""EASY on machines of nodes and of several resources, compared with one pool of processors."""

from collections.abc import Iterator
from time import process_time
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
LONG_GOAL = 0.6e6
PLACING_GOALS = {256: 0.28, 1024: 0.30, 4096: 0.43}  # µs a job, by number of nodes
LARGEST = 10_000  # nodes
LARGEST_GOAL = 0.2  # × the speed on 1,024
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
    yield _on_nodes(long_queue(1024), _of_nodes(1024), LONG_GOAL)
    yield _on_largest()
    for n_nodes, goal in PLACING_GOALS.items():
        yield _placing(n_nodes, goal)
    for name in RESERVED:
        yield _with_requests(wk.read_swf(DATA / "traces" / f"{name}.swf.gz"))


def _call(policy: Any, workload: Workload, rules: Rules) -> Any:
    return lambda: play_compiled(policy, workload, rules)


def with_slack(workload: Workload, procs: int, n_pools: int) -> Pools:
    """Return processors, and pools of which each job takes one and all have enough."""
    need = np.ones((workload.submit.size, n_pools), np.int64)
    return Pools(procs, [procs] * n_pools, need)


def _of_nodes(count: int) -> MachineDescription:
    return MachineDescription(nodes=(NodeType(count=count, cores=8),))


def _play(trace: wk.Trace, description: MachineDescription) -> Any:
    """Return a call of EASY on nodes, compiled."""
    machine = Described.of(description)
    workload = make_workload(trace, machine.procs)
    (part,) = machine.parts(trace, workload)
    call = _call(schedulers.parse("easy"), workload, Rules(machine.procs, hardware=part.hardware))
    assert len(call().runs) == trace.n_jobs
    return call


def _on_nodes(trace: wk.Trace, description: MachineDescription, goal: float) -> Row:
    ((time, _),) = in_turn(3, _play(trace, description), clock=process_time)
    speed, name = trace.n_jobs / time, trace.name.removesuffix(".swf.gz")
    return Row(
        f"easy on {description.n_nodes:,} nodes, packed", name,
        f"{speed / 1e6:.2f} M jobs/s of CPU",
        "", f"≥ {goal / 1e6:g} M jobs/s", speed >= goal,
    )  # fmt: skip


def _on_largest() -> Row:
    """As many jobs on as many more nodes."""
    calls = [_play(long_queue(count), _of_nodes(count)) for count in (1024, LARGEST)]
    (usual, _), (time, _) = in_turn(ROUNDS, *calls, clock=process_time)
    log = long_queue(LARGEST)
    return Row(
        f"easy on {LARGEST:,} nodes, packed", log.name,
        f"{log.n_jobs / time / 1e6:.2f} M jobs/s of CPU",
        f"{usual / time:.2f} × the speed on 1,024", f"≥ {LARGEST_GOAL}",
        usual >= LARGEST_GOAL * time,
    )  # fmt: skip


def _placing(n_nodes: int, goal: float) -> Row:
    """A load at which no job waits, so that most of the time goes into finding nodes."""
    trace = long_queue(n_nodes, 20_000, 0.25)
    procs = 8 * n_nodes
    pool = _call(schedulers.parse("easy"), make_workload(trace, procs), Rules(procs))
    pool()
    (alone, _), (time, _) = in_turn(
        ROUNDS, pool, _play(trace, _of_nodes(n_nodes)), clock=process_time
    )
    each = time / trace.n_jobs * 1e6
    return Row(
        f"easy on {n_nodes:,} nodes, packed", trace.name, f"{each:.2f} µs of CPU a job",
        f"{time / alone:.1f} × the time of one pool", f"≤ {goal} µs", each <= goal,
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


def long_queue(n_nodes: int, n_jobs: int = 50_000, load: float = 1.25) -> wk.Trace:
    """Return jobs for nodes of 8 processors; by default, some 10,000 wait on 1,024 nodes."""
    rng = np.random.default_rng(1)
    run = rng.lognormal(7.5, 1.3, n_jobs).astype(np.int64) + 1
    procs = 2 ** rng.integers(0, 9, n_jobs)
    work = float((run * procs).sum())
    submit = np.sort(rng.integers(0, int(work / (8 * n_nodes) / load), n_jobs))
    columns = {"submit": submit, "run": run, "procs": procs, "requested_time": 3 * run}
    return wk.Trace.from_columns(columns, name=f"{n_jobs:,} jobs, load {load:g}")
