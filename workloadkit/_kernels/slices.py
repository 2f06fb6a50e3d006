"""Long loops run in slices: progress is reported in between, and an interrupted loop ends soon."""

from collections.abc import Callable
from time import perf_counter

from workloadkit._kernels import notebook

#: Time of a slice. [s]
SLICE = 0.05
_FIRST, _GROWTH = 64, 4  # steps


def run_in_slices(run: Callable[[int], bool]) -> None:
    """Call a loop with the number of steps after which it pauses, as long as it returns true.

    Examples
    --------
    >>> steps = []
    >>> run_in_slices(lambda n: steps.append(n) or len(steps) < 3)
    >>> steps[0]
    64
    """
    n, goes_on = _FIRST, True
    try:
        while goes_on:
            begin = perf_counter()
            goes_on = run(n)
            took = perf_counter() - begin
            n = max(1, min(_GROWTH * n, int(n * SLICE / max(took, 1e-9))))
    finally:
        notebook.clear()
