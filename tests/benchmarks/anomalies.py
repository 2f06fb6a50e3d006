"""How fast a log is looked through for what is not representative of it."""

from collections.abc import Iterator

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

_LOGS = {"SDSC-BLUE-2000-4.2-cln": 243_306, "HPC2N-2002-2.2-cln": 202_871}
_GOAL = 2  # [s]


def rows() -> Iterator[Row]:
    """Flurries, quiet ends, dead periods and changes, without the reading."""
    for log, n_jobs in _LOGS.items():
        path = DATA / "traces" / f"{log}.swf.gz"
        if not path.exists():
            continue
        trace = wk.read_swf(path)
        time, found = best_of(3, lambda trace=trace: wk.find_anomalies(trace))
        assert (found.n_jobs, found.sensitivity()[1.0]["dominating"]) == (n_jobs, 0)
        yield Row(
            "anomalies", log, f"{time:.2f} s", f"{len(found.items)} found",
            f"< {_GOAL:g} s", time < _GOAL,
        )  # fmt: skip
