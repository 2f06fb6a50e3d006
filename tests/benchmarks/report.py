"""How long the report on a large log takes, and how much memory it needs."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from analysis import characterize
from tests.benchmarks.measure import Row, best_of, peak_memory
from tests.data import DATA

LOG = "SDSC-BLUE-2000-4.2-cln"
_SECONDS, _BYTES = 20, 1.5e9


def rows() -> Iterator[Row]:
    """All sections and figures of the report, as a page."""
    trace = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")
    characterize(trace.select(np.arange(trace.n_jobs) < 2000)).to_html()  # compiles
    memory, _ = peak_memory(lambda: characterize(trace).to_html())
    time, page = best_of(2, lambda: characterize(trace).to_html())
    assert page.rstrip().endswith("</html>")
    yield Row(
        "report, as a page", LOG, f"{time:.1f} s, {memory / 1e6:,.0f} MB",
        "", f"{_SECONDS} s, {_BYTES / 1e6:,.0f} MB", time <= _SECONDS and memory <= _BYTES,
    )  # fmt: skip
