"""The cases nearest to a log, and the entries that serve them best."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.benchmark.entries import LARGER_IS_BETTER, METRICS
from workloadkit.benchmark.suite import canonical as in_the_form
from workloadkit.errors import ParameterError, WorkloadError, among, quoted
from workloadkit.models import offered_load
from workloadkit.simulation.workload import machine_size
from workloadkit.trace import Trace

# Features of a workload on a machine, by which the nearest case is found.

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
    >>> found = features_of(log, 8)
    >>> round(found["accuracy"], 2), round(found["concentration"], 2)
    (0.58, 0.93)
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


_BEST = 3  # place of the best rank among the values of a metric


def nearest_cases(
    trace: Trace,
    certificate: Mapping[str, Any],
    *,
    procs: int | None = None,
    metric: str = "mean_bounded_slowdown",
) -> pd.DataFrame:
    """Return the cases of a certificate by their distance from a log on its machine.

    The distance is Euclidean, over the features of the workload on the machine, each divided by
    its standard deviation over the cases.

    Parameters
    ----------
    trace : Trace
    certificate : mapping
        As of `certificate`, such as the `canonical` one.
    procs : int, optional
        Processors of the machine; by default the header's.
    metric : str, default "mean_bounded_slowdown"
        The metric by which entries are best.

    Returns
    -------
    DataFrame
        One row per case on a machine, the nearest first: `workload system users distance`;
        `entries`, those of which none is significantly better, the best first; and the
        features.

    Raises
    ------
    ParameterError
        If the metric is unknown.
    WorkloadError
        If the log has too few jobs, or a feature is unknown; or the certificate has no case on a
        machine.

    Examples
    --------
    >>> import workloadkit as wk
    >>> from workloadkit.benchmark import canonical
    >>> found = nearest_cases(wk.load_sample(), canonical())
    >>> found["workload"][0], found["distance"].is_monotonic_increasing
    ('sample', True)
    """
    if metric not in METRICS:
        raise ParameterError("metric", f"is {quoted(metric)}; {among(metric, METRICS)}")
    machine = machine_size(trace.header, procs)
    log = in_the_form(trace, machine, trace.name, load=None)
    if log.n_jobs < 3:
        raise WorkloadError(f"{trace.name}: has too few jobs that ran to compare them")
    ours = features_of(log, machine)
    for name, value in ours.items():
        if not np.isfinite(value):
            raise WorkloadError(f"{trace.name}: has no {name}: {FEATURES[name]}")
    rows = []
    for case, workload in certificate["workloads"].items():
        if set(FEATURES) <= set(workload["features"]):
            place = dict(zip(("workload", "system", "users"), case.split("."), strict=True))
            sign = -1 if metric in LARGER_IS_BETTER else 1
            best = [
                (sign * row[metric][0], row["entry"])
                for row in certificate["results"]
                if row["case"] == case and row[metric][_BEST] == 1
            ]
            names = [name for _, name in sorted(best)]
            rows.append({**place, "entries": names, **workload["features"]})
    if not rows:
        raise WorkloadError("the certificate has no case on a machine")
    found = pd.DataFrame(rows)
    features = found[[*FEATURES]].to_numpy(np.float64)
    spread = features.std(axis=0)
    away = (features - [ours[name] for name in FEATURES]) / np.where(spread > 0, spread, 1)
    found.insert(3, "distance", np.sqrt((away**2).sum(axis=1)))
    return found.sort_values("distance", kind="stable").reset_index(drop=True)
