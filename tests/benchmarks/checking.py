"""How long it takes to make all passes of a schedule again."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

POLICIES = ("easy", "conservative", "reservations:4", "user-priority")
GOALS = {"KTH-SP2-1996-2": 2, "SDSC-BLUE-2000-4.2-cln": 20}  # [s]
ROUNDS = 3


def rows() -> Iterator[Row]:
    """The schedules of some policies on two logs."""
    for name, goal in GOALS.items():
        log = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        for policy in POLICIES:
            schedule = wk.simulate(log, policy)
            wk.check_schedule(log, schedule)  # compiles
            time, report = best_of(ROUNDS, lambda t=log, s=schedule: wk.check_schedule(t, s))
            assert report.verdict == "proved"
            yield Row(
                f"check --policy {policy}", name, f"{time:.2f} s",
                f"{schedule.start.size / time / 1e6:.2f} M jobs/s", f"≤ {goal} s", time <= goal,
            )  # fmt: skip
