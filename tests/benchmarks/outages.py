"""How much longer EASY takes where processors go down: a quarter of the machine, once a week."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import workloadkit as wk
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit import Outage, Outages
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.simulation import schedulers
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.outages import NumberedProcessors
from workloadkit.simulation.machine.shutdowns import Shutdown, settle
from workloadkit.simulation.workload import Rules, Workload, machine_size
from workloadkit.simulation.workload.from_log import make_workload

LOGS = ("KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln")
NODES = "HPC2N-2002-2.2-cln"
HOUR, DAY, WEEK = 3600, 86400, 604800
ROUNDS = 10
GOAL = 3  # × the time without outages


def rows() -> Iterator[Row]:
    """EASY with outages of four hours that surprise, and that are announced a day ahead."""
    for name in LOGS:
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        machine = machine_size(trace.header, None)
        workload = make_workload(trace, machine)
        shutdowns = [weekly(workload, machine, ahead) for ahead in (None, DAY)]
        failing = [NumberedProcessors(machine, down) for down in shutdowns]
        yield from _compared("easy", name, workload, [None, *failing])
    trace = wk.read_swf(DATA / "traces" / f"{NODES}.swf.gz")
    nodes = Described.of(MachineDescription(nodes=(NodeType(count=120, cores=2),)))
    workload = make_workload(trace, nodes.procs)
    (part,) = nodes.parts(trace, workload)
    shutdowns = [weekly(workload, nodes.procs, ahead) for ahead in (None, DAY)]
    failing = [replace(part.hardware, shutdowns=down) for down in shutdowns]
    yield from _compared("easy on 120 nodes", NODES, workload, [part.hardware, *failing])


def _compared(
    what: str, name: str, workload: Workload, machines: Sequence[Hardware | None]
) -> Iterator[Row]:
    """Compare machines with outages with the first one, which has none."""
    easy, (_, failing, _) = schedulers.parse("easy"), machines
    ways = [Rules(failing.procs, hardware=hardware) for hardware in machines]
    plays = [lambda rules=rules: play_compiled(easy, workload, rules) for rules in ways]
    in_turn(1, *plays)  # compiles
    (without, _), *found = in_turn(ROUNDS, *plays, clock=time.process_time)
    for how, (seconds, play) in zip(("surprises", "announced a day ahead"), found, strict=True):
        assert len(play.runs) >= workload.submit.size
        yield Row(
            f"{what}, weekly outages, {how}", name, f"{seconds * 1e3:.1f} ms",
            f"{seconds / without:.2f} × the time without", f"≤ {GOAL}", seconds <= GOAL * without,
        )  # fmt: skip


def weekly(workload: Workload, machine: int, ahead: int | None) -> list[Shutdown]:
    """Return outages of a quarter of the machine, announced so long ahead, or not at all."""
    starts = range(int(workload.submit[0]) + WEEK // 2, int(workload.submit[-1]), WEEK)
    outages = (
        Outage(i, start, start + 4 * HOUR, machine // 4, (), -1 if ahead is None else start - ahead)
        for i, start in enumerate(starts, 1)
    )
    return settle(Outages(tuple(outages)), machine)
