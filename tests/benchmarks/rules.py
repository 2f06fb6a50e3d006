"""How fast a log is checked against the rules of the standard."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

LOG = "SDSC-BLUE-2000-4.2-cln"
_GOAL = 1.5  # [s]


def rows() -> Iterator[Row]:
    """All rules on a large log, without its reading."""
    path = DATA / "traces" / f"{LOG}.swf.gz"
    wk.read_swf(path)  # compiles
    reading, trace = best_of(2, lambda: wk.read_swf(path))
    time, report = best_of(3, lambda: wk.validate(trace))
    assert (report.jobs, report["run-requested"].count) == (243_306, 23_434)
    yield Row(
        f"validate, {report.rules} rules", LOG, f"{time:.2f} s",
        f"{time / reading:.2f} × the time to read it", f"< {_GOAL:g} s", time < _GOAL,
    )  # fmt: skip
