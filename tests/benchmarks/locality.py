"""How fast locality is measured, against plain loops over the jobs."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA
from workloadkit.analysis.locality import shuffled_similarity, stack_depth
from workloadkit.analysis.locality.job_pairs import attribute_values
from workloadkit.analysis.locality.stack import TOLERANCES

LOGS = ("SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln")
SHUFFLES = 100


def rows() -> Iterator[Row]:
    """Stack depths, and the similarity of shuffled jobs, on large logs."""
    for log in LOGS:
        trace = wk.read_swf(DATA / "traces" / f"{log}.swf.gz")
        for name, tolerance in TOLERANCES.items():
            values = attribute_values(trace, name)
            stack_depth(values[:9], tolerance)  # compiles
            time, _ = best_of(3, lambda v=values, t=tolerance: stack_depth(v, t))
            few = values[:20_000]
            compiled, found = best_of(3, lambda v=few, t=tolerance: stack_depth(v, t))
            naive, expected = best_of(1, lambda v=few, t=tolerance: _naive_depth(v, t))
            assert np.isclose(found, expected)
            yield Row(
                f"stack depth, {name}", log, f"{1000 * time:.0f} ms",
                f"{naive / compiled:.0f} × as fast as a plain loop", "≤ 1 s", time <= 1,
            )  # fmt: skip
        shuffled_similarity(trace, n_shuffles=1)  # compiles
        time, found = best_of(1, lambda t=trace: shuffled_similarity(t, n_shuffles=SHUFFLES, rng=1))
        assert (found.test["p"] <= 0.05).all()  # jobs of a session are alike in every way
        whole = time * 1000 / SHUFFLES
        yield Row(
            "similarity of 1,000 shuffles", log, f"{whole:.0f} s",
            f"{1000 * time / SHUFFLES:.0f} ms a shuffle, three attributes", "≤ 30 s", whole <= 30,
        )  # fmt: skip


def _naive_depth(values: np.ndarray, tolerance: float) -> float:
    stack: list[float] = []
    depths = []
    for value in values.tolist():
        for depth, stored in enumerate(stack):
            if abs(value - stored) <= tolerance * stored:
                depths.append(depth)
                value = stack.pop(depth)
                break
        stack.insert(0, value)
    return sum(depths) / len(depths)
