"""Long loops run in slices, between which Python handles signals and progress is reported."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from workloadkit._kernels.notices import report_progress
from workloadkit.simulation.compiled.state import PAUSED

#: Time between two looks at signals. [s]
SLICE = 0.05
_FIRST, _GROWTH = 64, 4  # passes


def run_in_slices(first: Callable[[], Any], others: Callable[[], Any], at: Any, total: int) -> None:
    """Run a loop until it returns for another reason than a pause.

    Parameters
    ----------
    first, others : callable
        Enter the loop, the first time and again.
    at : record
        The same as `State.at`: in how many passes the loop pauses, and why it has returned.
    total : int
        The number of jobs, for the report.
    """
    n, run = _FIRST, first
    while True:
        at.pause = at.n_passes + n
        begin = perf_counter()
        run()
        if at.why != PAUSED:
            at.pause = 0
            return
        report_progress(at.arrived - at.n_waiting, total)
        took = perf_counter() - begin
        n = max(1, min(_GROWTH * n, int(n * SLICE / max(took, 1e-9))))
        run = others
