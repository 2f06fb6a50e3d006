"""How fast the statistical models make logs."""

from collections.abc import Iterator

import numpy as np
import pytest

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of

ROUNDS = 5
N_JOBS = 1_000_000
GOAL = 1.0  # s

# Of all jobs and of both types together, on 128 processors: the share of serial jobs.
SERIAL = {"one": 0.244, "two": 0.175}


def rows() -> Iterator[Row]:
    """Make a million jobs by each model."""
    for types, serial in SERIAL.items():
        wk.models.lublin(100, types=types)  # imports
        time, made = best_of(
            ROUNDS, lambda types=types: wk.models.lublin(N_JOBS, rng=1, types=types)
        )
        assert made.n_jobs == N_JOBS
        assert (made.column("procs") == 1).mean() == pytest.approx(serial, abs=0.003)
        yield Row(
            "a million jobs of Lublin's model", f"types={types}", f"{time:.2f} s",
            goal=f"≤ {GOAL:g} s", met=time <= GOAL,
        )  # fmt: skip
    for name, model in wk.models.known().items():
        if name != "lublin":
            model(100)  # imports, and compiles
            time, made = best_of(2, lambda model=model: model(N_JOBS, rng=1))
            assert made.n_jobs == N_JOBS and (np.diff(made.column("submit")) >= 0).all()
            yield Row(f"a million jobs of {name}", "", f"{time:.2f} s")
