"""How fast a long log is shaken, cut into segments, and its locality changed."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

LOG = "SDSC-BLUE-2000-4.2-cln"


def rows() -> Iterator[Row]:
    """All on the longest log."""
    trace = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")

    seconds, shaken = best_of(3, lambda: wk.shake(trace, "session", rng=1))
    assert sorted(shaken.column("job")) == sorted(trace.column("job"))
    yield Row("shaking the sessions of 243,306 jobs", LOG, f"{seconds:.2f} s")

    seconds, found = best_of(3, lambda: wk.stationary_segments(trace))
    assert found["weeks"].sum() == 139
    yield Row("finding the stationary segments of 139 weeks", LOG, f"{seconds:.2f} s")

    n_tries = 50 * int(trace.ran.sum())
    seconds, reduced = best_of(3, lambda: wk.reduce_locality(trace, 1))
    np.testing.assert_array_equal(np.sort(reduced.column("run")), np.sort(trace.column("run")))
    yield Row(f"reducing locality, {n_tries / 1e6:.1f} million tries", LOG, f"{seconds:.2f} s")

    seconds, enhanced = best_of(3, lambda: wk.enhance_locality(trace, 2, 1))
    assert enhanced.n_jobs == trace.n_jobs
    yield Row("enhancing locality", LOG, f"{seconds:.2f} s")
