"""Trace-based user-oriented simulation (TBUOS) of a log, for comparison with models."""

import warnings
from concurrent.futures import Executor
from functools import partial

import numpy as np
import pandas as pd

from workloadkit.analysis.queue_models.predictions import COLUMNS
from workloadkit.analysis.queue_models.users_of_log import ModelledJobs
from workloadkit.errors import WorkloadWarning
from workloadkit.simulation.schedulers import Policy

#: Measures by column, as named in schedules.
_MEASURES = {
    "throughput": "throughput_per_hour",
    "response": "mean_response",
    "wait": "mean_wait",
    "utilization": "utilization",
    "queue": "mean_queue_length",
}


def simulate_users(
    jobs: ModelledJobs,
    runs: int,
    *,
    scheduler: Policy,
    rng: int | np.random.Generator | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Simulate resampled users who react, and return the predicted columns of each run.

    Throughput counts the jobs that ended while users submitted. [1/s]
    """
    from workloadkit.simulation.populations import Resampled

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # empty pools are expected here
        ready = Resampled(procs=jobs.procs).prepare(jobs.trace)
    streams = np.random.default_rng(rng).spawn(runs)
    one = partial(_simulate, jobs, scheduler, ready)
    rows = list((map if executor is None else executor.map)(one, streams))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _simulate(
    jobs: ModelledJobs, scheduler: Policy, population: object, rng: np.random.Generator
) -> dict[str, float]:
    import workloadkit as wk

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)
        schedule = wk.simulate(
            jobs.trace,
            scheduler,
            "fluid",
            population=population,
            procs=jobs.procs,
            oversize="drop",
            rng=rng,
        )
    row = {name: schedule.measure(measure) for name, measure in _MEASURES.items()}
    return row | {"throughput": row["throughput"] / 3600}
