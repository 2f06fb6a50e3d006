"""Features of a workload on a machine, by which the nearest case is found."""

import numpy as np

from workloadkit.models import offered_load
from workloadkit.trace import Trace

#: Names of the features, and what they are.
FEATURES = {
    "load": "offered load",
    "size": "mean of log2(processors / machine)",
    "size_spread": "its standard deviation",
    "length": "mean of log10(run time)",
    "length_spread": "its standard deviation",
    "accuracy": "mean of run time / estimate",
    "burstiness": "log10 of the coefficient of variation of inter-arrival times",
    "concentration": "share of the work of the most active tenth of the users",
}


def features_of(trace: Trace, procs: int) -> dict[str, float]:
    """Return the features of a log in the form of the suite, on a machine.

    Examples
    --------
    >>> jobs = {"submit": [0, 0, 80], "run": [100, 10, 10], "procs": [4, 2, 1]}
    >>> log = Trace.from_columns(jobs | {"requested_time": [100, 20, 40], "user": [1, 2, 2]})
    >>> {name: round(value, 2) for name, value in features_of(log, 8).items()}["accuracy"]
    0.58
    """
    size = np.log2(trace.column("procs") / procs)
    run = trace.column("run")
    length = np.log10(run)
    gaps = np.diff(trace.column("submit"))
    variation = gaps.std() / gaps.mean() if gaps.any() else np.nan
    user = np.unique(trace.column("user"), return_inverse=True)[1]
    work = np.sort(np.bincount(user, run * trace.column("procs")))[::-1]
    most = -(-work.size // 10)
    return {
        "load": offered_load(trace, procs),
        "size": float(size.mean()),
        "size_spread": float(size.std()),
        "length": float(length.mean()),
        "length_spread": float(length.std()),
        "accuracy": float((run / trace.column("requested_time")).mean()),
        "burstiness": float(np.log10(variation)) if variation else -np.inf,
        "concentration": float(work[:most].sum() / work.sum()),
    }
