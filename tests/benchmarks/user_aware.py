"""How fast the schedulers are that know their users, against the yardstick."""

from collections.abc import Iterator
from dataclasses import replace

import workloadkit as wk
from tests.benchmarks import yardstick
from tests.benchmarks.measure import Row, in_turn
from tests.data import DATA
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.schedulers import Creasy, UserPriority
from workloadkit.simulation.workload import Rules, machine_size
from workloadkit.simulation.workload.from_log import make_workload

LOGS = ("SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln")
HEAVY = 1.2
ROUNDS = 7

# 2 M jobs/s, and 0.5 M where the queue is long, on a machine on which the yardstick does 5.8 M on
# the one log as it is and 5.1 M on the other.
SPEED_GOAL = {
    ("SDSC-BLUE-2000-4.2-cln", None): 2 / 5.8,
    ("HPC2N-2002-2.2-cln", None): 2 / 5.1,
    ("SDSC-BLUE-2000-4.2-cln", HEAVY): 0.5 / 5.8,
    ("HPC2N-2002-2.2-cln", HEAVY): 0.5 / 5.1,
}


def rows() -> Iterator[Row]:
    """CREASY and the User Priority Scheduler on two logs at their own load and at 1.2."""
    for name in LOGS:
        trace = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        for load in (None, HEAVY):
            yield from _one_log(name, trace, load)


def _one_log(name: str, trace: wk.Trace, load: float | None) -> Iterator[Row]:
    machine = machine_size(trace.header, None)
    own, workload = (make_workload(trace, machine, Arriving(offered_load=x)) for x in (None, load))
    light, rules = (own.submit, own.run, own.estimate, own.procs), Rules(machine)
    easy = wk.simulate(trace, "easy", offered_load=load).start
    assert (play_compiled(Creasy(0), workload, rules).outcome.start == easy).all()
    alone = replace(workload, user=0 * workload.user)
    assert (play_compiled(UserPriority(0.5), alone, rules).outcome.start == easy).all()
    yardstick.easy(*(column[:50] for column in light), machine)  # compiles
    calls = {
        "creasy, alpha 6000": lambda: play_compiled(Creasy(6000), workload, rules),
        "user-priority, by load": lambda: play_compiled(UserPriority(0.5), workload, rules),
        "user-priority, by recency": lambda: play_compiled(
            UserPriority(0.5, "recency"), workload, rules
        ),
    }
    (naive, _), *found = in_turn(ROUNDS, lambda: yardstick.easy(*light, machine), *calls.values())
    for scheduler, (time, _) in zip(calls, found, strict=True):
        goal, ratio = SPEED_GOAL[name, load], naive / time
        yield Row(
            f"{scheduler}, kernel",
            name if load is None else f"{name}, load {load}",
            f"{workload.submit.size / time / 1e6:.2f} M jobs/s",
            f"{ratio:.2f} × the yardstick's speed at the log's own load",
            f"≥ {goal:.2f}",
            ratio >= goal,
        )
