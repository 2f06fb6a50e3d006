"""Measures that compare resampled logs with their original."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit.analysis import formats
from workloadkit.analysis.load.over_time import summarize_load
from workloadkit.analysis.locality.days import concentrations
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, attribute_values
from workloadkit.analysis.locality.stack import mean_depths
from workloadkit.analysis.memory.arrivals import arrivals_per_unit
from workloadkit.analysis.memory.hurst_parameter import Hurst, hurst
from workloadkit.analysis.reproduction import read_table
from workloadkit.analysis.reproduction.sources import ZAKAY_LOGS
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace

#: Time unit of the arrival counts for the Hurst parameter. [s]
UNIT = 3600

#: Estimators of the Hurst parameter: the source's, and a more robust one.
ESTIMATORS = {"rs": "R/S", "local_whittle": "local Whittle"}


class LogMeasure(NamedTuple):
    """A measure of a log: its title, and its formatter."""

    title: str
    written: Callable[[float], str]


#: Measures in the order of the page.
MEASURES: Mapping[str, LogMeasure] = {
    "jobs": LogMeasure("jobs", formats.count),
    "users": LogMeasure("users", formats.count),
    "jobs_per_week": LogMeasure("jobs per week", formats.number),
    "offered_load": LogMeasure("offered load", "{:.3f}".format),
    **{
        f"stack_depth_{name}": LogMeasure(f"stack depth, {title}", "{:.2f}".format)
        for name, title in ATTRIBUTES.items()
    },
    **{
        f"concentration_{name}": LogMeasure(
            f"share of a day's fullest bin, {title}", "{:.3f}".format
        )
        for name, title in ATTRIBUTES.items()
    },
    **{
        f"hurst_{name}": LogMeasure(f"H by {title}", "{:.3f}".format)
        for name, title in ESTIMATORS.items()
    },
}


def comparable(trace: Trace) -> Trace:
    """Return the jobs of a log that can be resampled: jobs of known users that ran."""
    keep = trace.ran & (trace.column("user") != UNKNOWN)
    return trace if keep.all() else trace.select(keep)


def measure_log(trace: Trace) -> dict[str, float]:
    """Compute the `MEASURES` of a log.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    dict of str to float
        Measures by name; NaN if unknown.

    Examples
    --------
    >>> log = {"submit": [0, 604800], "run": [60, 61], "procs": [1, 1], "user": [1, 1]}
    >>> found = measure_log(Trace.from_columns(log))
    >>> found["jobs_per_week"], found["stack_depth_run"], found["hurst_rs"]
    (2.0, 0.0, nan)
    """
    load = summarize_load(trace)
    user = trace.column("user")
    found: dict[str, float] = {
        "jobs": trace.n_jobs,
        "users": np.unique(user[user != UNKNOWN]).size,
        "jobs_per_week": trace.n_jobs / (load["submit_span"] / WEEK or np.nan),
        "offered_load": np.nan if load["offered_load"] is None else load["offered_load"],
    }
    found |= {f"stack_depth_{name}": depth for name, depth in mean_depths(trace).items()}
    for name in ATTRIBUTES:
        known = (attribute_values(trace, name) >= 0).any()
        mean = concentrations(trace, name).mean() if known else np.nan
        found[f"concentration_{name}"] = float(mean)
    for method in ESTIMATORS:
        estimate = hurst_or_none(trace, method)
        found[f"hurst_{method}"] = np.nan if estimate is None else estimate.estimate
    return {name: float(found[name]) for name in MEASURES}


def hurst_or_none(trace: Trace, method: str) -> Hurst | None:
    """Estimate the Hurst parameter of the hourly arrivals; None if that is impossible."""
    try:
        return hurst(arrivals_per_unit(trace, UNIT), method)
    except ParameterError:  # too few hours, or the same number of jobs in all of them
        return None


def pox_line(trace: Trace) -> pd.Series | None:
    """Return the line of the R/S pox plot, R/S by window size [s]; None if it is undefined."""
    estimate = hurst_or_none(trace, "rs")
    if estimate is None:
        return None
    points = estimate.points.dropna(subset="line").drop_duplicates("scale").sort_values("scale")
    return pd.Series(points["line"].to_numpy(), points["scale"].to_numpy() * UNIT)


def published(name: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the published measures of a log and its eight resampled logs.

    Parameters
    ----------
    name : str
        Name of the log, for example its file name.

    Returns
    -------
    version : str
        Version of the log in the source; empty for other logs.
    figures : dict of str to dict
        By measure: `published_original`, `published` (the mean of the resampled logs) and
        `published_sd`, from N. Zakay, D. G. Feitelson, "Workload resampling for performance
        evaluation of parallel job schedulers", 2014, Tables VI and VII.

    Examples
    --------
    >>> published("KTH-SP2-1996-2.swf.gz")[1]["hurst_rs"]
    {'published_original': 0.666, 'published': 0.648, 'published_sd': 0.04}
    """
    log = next((log for log in ZAKAY_LOGS if name.startswith(f"{log}-")), None)
    if log is None:
        return "", {}
    folder = Path(__file__).parents[1] / "studies"
    found = {}
    for row in read_table(folder / "zakay_locality_depth.csv"):
        if row["log"] == log:
            for attribute in ATTRIBUTES:
                found[f"stack_depth_{attribute}"] = _figures(row, f"{attribute}_")
    for row in read_table(folder / "zakay_hurst.csv"):
        if row["log"] == log:
            found["hurst_rs"] = _figures(row | {"sd": row["resampled_sd"]}, "")
    return ZAKAY_LOGS[log], found


def _figures(row: Mapping[str, Any], prefix: str) -> dict[str, float]:
    names = {
        "published_original": "original",
        "published": "resampled",
        "published_sd": "sd",
    }
    return {name: float(row[f"{prefix}{column}"]) for name, column in names.items()}
