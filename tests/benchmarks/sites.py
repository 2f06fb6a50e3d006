"""How fast a site is simulated."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA
from workloadkit.simulation.users import DynamicSite
from workloadkit.site import site_distributions

USERS, WEEKS = 250, 26
LOGS = (
    "CTC-SP2-1996-3.1-cln",
    "KTH-SP2-1996-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "SDSC-Par-1996-3.1-cln",
)
#: Run times up to here make so many jobs as the source had. [s]
LONGEST = 1800.0
GOAL = 1.5


def rows() -> Iterator[Row]:
    """The largest site of the source, half a year, under CREASY."""
    logs = [wk.read_swf(DATA / "traces" / f"{name}.swf.gz") for name in LOGS]
    site = DynamicSite(USERS, WEEKS, longest=LONGEST, distributions=site_distributions(logs))

    def run():
        return wk.simulate(None, "creasy", site, procs=128, rng=1)

    run()  # compiles
    took, schedule = best_of(5, run)
    assert 200_000 < schedule.source.n_jobs < 400_000
    assert schedule.jobs["submit"].max() < WEEKS * 7 * 86400
    yield Row(
        f"site of {USERS} users, {WEEKS} weeks, under creasy", "five logs", f"{took:.2f} s",
        f"{schedule.source.n_jobs / took / 1e6:.2f} M jobs/s",
        goal=f"≤ {GOAL:g} s", met=took <= GOAL,
    )  # fmt: skip
