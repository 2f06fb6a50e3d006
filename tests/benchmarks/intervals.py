"""How often intervals of means over runs hold the mean."""

from collections.abc import Iterator

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row
from tests.data import DATA
from workloadkit.experiments.intervals import mean_interval

RUNS = 400  # whose mean is taken for the true one
DRAWS = 4000
SIZES = (3, 5, 10, 20)


def rows() -> Iterator[Row]:
    """Mean waits of resampled logs under EASY, and numbers of a long tail."""
    rng = np.random.default_rng(1)
    sets = {"lognormal, sigma 1": rng.lognormal(0, 1, 10**6)}
    for name in ("KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"):
        log = wk.read_swf(DATA / "traces" / f"{name}.swf.gz")
        new = wk.resamples(log, RUNS, weeks=13, rng=1)
        waits = [wk.simulate(x, "easy", oversize="drop").metrics["mean_wait"] for x in new]
        sets[f"mean waits of 13 weeks, {name}"] = np.array(waits)
    for what, values in sets.items():
        for positive in (True, False):
            how = "of the logarithm" if positive else "plain"
            shares = (_coverage(values, n, rng, positive=positive) for n in SIZES)
            said = ", ".join(f"{x:.1%} of {n} runs" for x, n in zip(shares, SIZES, strict=True))
            yield Row(f"intervals of 95 % that hold the mean, {how}", what, said)


def _coverage(values: np.ndarray, runs: int, rng: np.random.Generator, *, positive: bool) -> float:
    """Share of the intervals, each of so many runs, that hold the mean of all."""
    ends = (mean_interval(rng.choice(values, runs), positive=positive)[1:] for _ in range(DRAWS))
    return float(np.mean([low <= values.mean() <= high for low, high in ends]))
