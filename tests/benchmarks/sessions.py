"""How fast sessions are delimited, against a plain loop over the jobs."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA
from workloadkit.analysis.sessions import compare_session_methods

LOG = "SDSC-BLUE-2000-4.2-cln"


def rows() -> Iterator[Row]:
    """Sessions by arrival on a large log, and all ways to delimit them compared."""
    trace = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")
    wk.delimit_sessions(trace)  # compiles
    time, found = best_of(5, lambda: wk.delimit_sessions(trace))
    naive, sessions = best_of(1, lambda: _count_sessions(trace))
    assert found["session"].nunique() == sessions
    yield Row(
        "sessions, arrival", LOG, f"{len(found) / time / 1e6:.1f} M jobs/s",
        f"{time / naive:.2f} × the time of a plain loop that only counts them",
    )  # fmt: skip
    compare_session_methods(trace, rng=1)  # compiles
    time, compared = best_of(3, lambda: compare_session_methods(trace, rng=1))
    assert compared.ways["sessions"]["Arrival"] == sessions
    assert compared.recommended == "Arrival"
    yield Row(
        "sessions, nine ways compared", LOG, f"{time:.1f} s",
        "15 delimitations, each with intervals over 500 resamplings of the users",
    )  # fmt: skip


def _count_sessions(trace: wk.Trace) -> int:
    last: dict[int, float] = {}
    count = 0
    users, submits = (trace.column(name)[trace.ran].tolist() for name in ("user", "submit"))
    for user, submit in zip(users, submits, strict=True):
        if user not in last or submit - last[user] > 3600:
            count += 1
        last[user] = submit
    return count
