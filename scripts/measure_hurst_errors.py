"""Measure the bias and standard deviation of the estimators of the Hurst parameter.

Writes analysis/memory/estimators/sampling.csv, the table for their confidence intervals, from a
seed. Takes about 15 minutes on one core.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from workloadkit.analysis.memory.arrivals import fractional_gaussian_noise
from workloadkit.analysis.memory.estimators import methods
from workloadkit.analysis.memory.estimators.methods import METHODS, check_series

SEED = 1951
N_SERIES = {256: 1000, 1024: 1000, 4096: 1000, 16384: 800, 65536: 300}


def main() -> int:
    """Write the table."""
    path = Path(methods.__file__).with_name("sampling.csv")
    rng = np.random.default_rng(SEED)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", "n", "H", "n_series", "bias", "sd"])
        for n in methods.LENGTHS:
            for H in methods.PARAMETERS:
                results: dict[str, list[float]] = {method: [] for method in METHODS}
                for _ in range(N_SERIES[n]):
                    series = check_series(fractional_gaussian_noise(n, H, rng))
                    for name, method in METHODS.items():
                        results[name].append(method(series).estimate)
                for name, estimates in results.items():
                    bias, sd = np.mean(estimates) - H, np.std(estimates, ddof=1)
                    writer.writerow([name, n, H, N_SERIES[n], f"{bias:.5f}", f"{sd:.5f}"])
                print(n, H, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
