"""How much longer EASY takes where processors go down: a quarter of the machine, once a week."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit import Outage, Outages
from workloadkit.simulation import schedulers
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.machine.outages import NumberedProcessors
from workloadkit.simulation.machine.shutdowns import Shutdown, settle
from workloadkit.simulation.workload import Rules, Workload, machine_size, make_workload

LOGS = ("KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln")
HOUR, DAY, WEEK = 3600, 86400, 604800
ROUNDS = 10
GOAL = 3  # × the time without outages


def rows() -> Iterator[Row]:
    """EASY with outages of four hours that surprise, and that are announced a day ahead."""
    easy = schedulers.parse("easy")
    for name in LOGS:
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        machine = machine_size(trace.header, None)
        workload = make_workload(trace, machine)
        ways = [Rules(machine)]
        for ahead in (None, DAY):
            shutdowns = weekly(workload, machine, ahead)
            ways.append(Rules(machine, hardware=NumberedProcessors(machine, shutdowns, True)))
        plays = [lambda w=workload, r=rules: play_compiled(easy, w, r) for rules in ways]
        in_turn(1, *plays)  # compiles
        (without, _), *found = in_turn(ROUNDS, *plays)
        for what, (time, play) in zip(("surprises", "announced a day ahead"), found, strict=True):
            assert len(play.runs) >= workload.submit.size
            yield Row(
                f"easy, weekly outages, {what}", name, f"{time * 1e3:.1f} ms",
                f"{time / without:.2f} × the time without", f"≤ {GOAL}", time <= GOAL * without,
            )  # fmt: skip


def weekly(workload: Workload, machine: int, ahead: int | None) -> list[Shutdown]:
    """Return outages of a quarter of the machine, announced so long ahead, or not at all."""
    starts = range(int(workload.submit[0]) + WEEK // 2, int(workload.submit[-1]), WEEK)
    outages = (
        Outage(i, start, start + 4 * HOUR, machine // 4, (), -1 if ahead is None else start - ahead)
        for i, start in enumerate(starts, 1)
    )
    return settle(Outages(tuple(outages)), machine)
