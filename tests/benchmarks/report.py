"""How long the report on a large log takes, and how much memory it needs."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from analysis import characterize
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

LOG = "SDSC-BLUE-2000-4.2-cln"
_SECONDS, _BYTES = 20, 1.5e9

# In a process of its own: all that it ever held, from reading the log to the page.
_MEMORY = """
import resource, sys
import workloadkit as wk
from analysis import characterize
characterize(wk.read_swf(sys.argv[1])).to_html()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def rows() -> Iterator[Row]:
    """All sections and figures of the report, as a page."""
    path = DATA / "traces" / f"{LOG}.swf.gz"
    trace = wk.read_swf(path)
    characterize(trace.select(np.arange(trace.n_jobs) < 2000)).to_html()  # compiles
    time, page = best_of(2, lambda: characterize(trace).to_html())
    assert page.rstrip().endswith("</html>")
    command = [sys.executable, "-W", "ignore", "-c", _MEMORY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    memory = int(done.stdout)
    yield Row(
        "report, as a page", LOG, f"{time:.1f} s, process of {memory / 1e6:,.0f} MB",
        "", f"≤ {_SECONDS} s, {_BYTES / 1e6:,.0f} MB", time <= _SECONDS and memory <= _BYTES,
    )  # fmt: skip
