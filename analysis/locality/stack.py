"""Temporal locality of values: stack depth (LRU stack distance)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.locality.days import (
    check_shuffles,
    mean_and_range,
    plot_log_and_shuffled,
)
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, attribute_values
from workloadkit.analysis.section import AnalysisResult
from workloadkit.distinct import coded, distinct
from workloadkit.errors import ParameterError, WorkloadError, takes_rng
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative tolerance for equal values on the stack: times need not be equal to the second
#: (Zakay 2018, section 5.2).
TOLERANCES = {"procs": 0.0, "requested_time": 0.05, "run": 0.05}

_MANY = 200  # different values, from which a tree finds depths faster than a look from the top


@dataclass(frozen=True, eq=False)
class StackDepths(AnalysisResult):
    """Depth of values on a stack of the preceding values.

    Parameters
    ----------
    log : str
    by_attribute : DataFrame
        By `attribute`: the `tolerance`; `jobs` with a known value; `hits`, the number of values
        found on the stack, and their share `hit_share`; `values`, the final size of the stack; the
        mean `depth` of the hits, and the mean depth in random order, `shuffled`, with the middle
        95 % range of the shuffles from `low` to `high`.
    curves : DataFrame
        By depth, the share of hits at most at this depth: for each attribute in the log, and in one
        shuffle.
    seed : int
    """

    log: str
    by_attribute: pd.DataFrame
    curves: pd.DataFrame
    seed: int

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the distributions of depth, in the log and shuffled."""
        return plot_stack_depths(self.curves, ax)


def stack_depth(values: ArrayLike, tolerance: float = 0.0) -> float:
    """Return the mean depth of values on a stack of the preceding values [1]_.

    Each value is searched from the top, at depth 0. The first entry that differs from it by at most
    `tolerance` times the entry moves to the top; if there is none, the value itself is put on top.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN is left out.
    tolerance : float, default 0
        Maximum difference from a stored value, relative to the stored value.

    Returns
    -------
    float
        NaN if no value is found.

    Raises
    ------
    ParameterError
        If the tolerance is negative.

    References
    ----------
    .. [1] N. Zakay, "Resampling with feedback: a new paradigm of using workload data for
       performance evaluation", thesis, 2018, section "Locality" and Table VI.

    Examples
    --------
    >>> stack_depth([8, 4, 8, 8])
    0.5
    >>> stack_depth([100, 104, 109], tolerance=0.05)
    0.0
    """
    values = np.asarray(values, dtype=np.float64)
    values, search = _searched(values[~np.isnan(values)], tolerance)
    return _mean_depth(search(values)[0])


def mean_depths(trace: Trace) -> dict[str, float]:
    """Return the mean stack depths of processors, requested times and run times of a log.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out; times within 5 % are equal.

    Returns
    -------
    dict of str to float
        By attribute; NaN if unknown or never repeated.

    See Also
    --------
    stack_depth : the definition.
    stack_depths : comparison with random order.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2, 3], "run": [60, 61, 900, 61], "procs": [1, 1, 4, 4]}
    >>> mean_depths(Trace.from_columns(log))
    {'procs': 0.0, 'requested_time': nan, 'run': 0.5}
    """
    values = {name: attribute_values(trace, name) for name in TOLERANCES}
    return {name: stack_depth(x[x >= 0], TOLERANCES[name]) for name, x in values.items()}


@takes_rng
def stack_depths(
    trace: Trace, *, n_shuffles: int = 100, rng: np.random.Generator | int | None = None
) -> StackDepths:
    """Measure the stack depths of processors, requested times and run times of jobs.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out.
    n_shuffles : int, default 100
    rng : Generator or int, optional

    Returns
    -------
    StackDepths
        For the attributes known in the log; times within 5 % are equal, as in Table VI of the
        source.

    Raises
    ------
    ParameterError
        If `n_shuffles` is below 1.
    WorkloadError
        If no job ran.

    See Also
    --------
    stack_depth : the definition.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2, 3], "run": [60, 61, 900, 61], "procs": [1, 1, 4, 4]}
    >>> found = stack_depths(Trace.from_columns(log), rng=1).by_attribute
    >>> found[["hits", "values", "depth"]]
               hits  values  depth
    attribute
    procs         2       2    0.0
    run           2       2    0.5
    """
    from workloadkit._kernels.statistics import shuffled_within

    check_trace(trace)
    check_shuffles(n_shuffles)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job ran, so there are no values to compare")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    rows, curves = {}, {}
    for name, tolerance in TOLERANCES.items():
        values = attribute_values(trace, name)
        values = values[values >= 0]
        if not values.size:
            continue
        values, search = _searched(values, tolerance)
        depths, n_stored = search(values)
        curves[ATTRIBUTES[name]] = depths[depths >= 0]
        hits, mean = curves[ATTRIBUTES[name]].size, _mean_depth(depths)
        means = np.empty(n_shuffles)
        mixed = values.copy()
        for i in range(n_shuffles):
            mixed = shuffled_within(mixed, np.array([0, mixed.size]), generator)
            depths, _ = search(mixed)
            means[i] = _mean_depth(depths)
        curves[f"{ATTRIBUTES[name]}, shuffled"] = depths[depths >= 0]
        share = hits / values.size
        rows[name] = (tolerance, values.size, hits, share, n_stored, mean, *mean_and_range(means))
    index = pd.Index(rows, name="attribute")
    columns = ["tolerance", "jobs", "hits", "hit_share", "values", "depth"]
    table = pd.DataFrame(list(rows.values()), index, [*columns, "shuffled", "low", "high"])
    return StackDepths(trace.name, table, _shares_at_most(curves), seed)


def plot_stack_depths(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distributions of stack depth, from `StackDepths.curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"log": [0.7, 0.3], "shuffled": [0.5, 0.5]}, index=[1, 2])
    >>> ax = plot_stack_depths(data, Figure().subplots())
    >>> ax.get_ylabel()
    'share of hits'
    """
    label = "position on the stack (1 is the top)"
    return plot_log_and_shuffled(data, ax, x=label, y="share of hits")


def _searched(
    values: NDArray[np.float64], tolerance: float
) -> tuple[NDArray, Callable[[NDArray], tuple[NDArray[np.int64], int]]]:
    """Return the values, and a function for their depths (-1: new) and the size of the stack."""
    from workloadkit._kernels.statistics import exact_depths, near_depths

    if not tolerance >= 0:  # also rejects NaN
        raise ParameterError(f"tolerance must be 0 or more, not {tolerance:g}")
    if tolerance == 0:
        numbers, code = coded(values)
        if numbers.size > _MANY:
            return code, lambda code: exact_depths(code, numbers.size)
    return values, lambda values: near_depths(values, float(tolerance))


def _mean_depth(depths: NDArray[np.int64]) -> float:
    found = depths[depths >= 0]
    return float(found.mean()) if found.size else np.nan


def _shares_at_most(depths: dict[str, NDArray[np.int64]]) -> pd.DataFrame:
    """Return cumulative shares of hits by position on the stack, at logarithmic points."""
    deepest = max((int(d.max(initial=0)) for d in depths.values()), default=0) + 1
    place = distinct(np.geomspace(1, deepest, 100).round().astype(np.int64))
    curves = {
        name: np.searchsorted(np.sort(d), place - 1, side="right") / max(d.size, 1)
        for name, d in depths.items()
    }
    return pd.DataFrame(curves, index=pd.Index(place, name="place"))
