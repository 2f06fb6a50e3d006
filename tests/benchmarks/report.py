"""How long the report on a log takes, by one process and by two, and how much memory."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from tests.benchmarks.measure import Row
from tests.data import trace_path

_GOALS = {"KTH-SP2-1996-2.1-cln": 4.0, "SDSC-BLUE-2000-4.2-cln": 10.0}  # by two processes
_BYTES = 1.5e9


def rows() -> Iterator[Row]:
    """All sections and figures of the report, as a page, by the whole command."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for log, goal in _GOALS.items():
            _characterize(log, 2, page)  # compiles what was not yet
            one, of_one = _characterize(log, 1, page)
            two, of_two = _characterize(log, 2, page)
            assert of_one == of_two
            yield Row(
                "characterize, two processes", log,
                f"{two:.1f} s, {one:.1f} s by one",
                f"{two / one:.2f} × the time of one", f"≤ {goal:.0f} s", two <= goal,
            )  # fmt: skip
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    yield Row(
        "characterize, memory of the largest process", log, f"{memory / 1e6:,.0f} MB",
        "", f"≤ {_BYTES / 1e6:,.0f} MB", memory <= _BYTES,
    )  # fmt: skip


def _characterize(log: str, workers: int, page: Path) -> tuple[float, str]:
    """Return the time of the command, and its page."""
    command = (sys.executable, "-m", "workloadkit", "characterize", str(trace_path(log)))
    begin = perf_counter()
    options = ("--workers", str(workers), "-o", str(page))
    subprocess.run([*command, *options], check=True, capture_output=True)
    return perf_counter() - begin, page.read_text()
