"""How fast outages are inferred from a long log, and its waits sorted."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA
from workloadkit import analysis

LOG = "SDSC-BLUE-2000-4.2-cln"


def rows() -> Iterator[Row]:
    """All on the longest log."""
    trace = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")

    seconds, found = best_of(3, lambda: wk.infer_outages(trace))
    assert len(found.outages()) == 87
    yield Row("inferring the outages of 974 days", LOG, f"{seconds:.2f} s")

    seconds, waits = best_of(3, lambda: analysis.waits.waits_over_time(trace, "user"))
    assert waits["jobs"].sum() == 223_663
    yield Row("wait percentiles of 468 users by month", LOG, f"{seconds:.2f} s")
