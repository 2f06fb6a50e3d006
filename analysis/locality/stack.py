"""How soon the same values come again: the depth at which a stack holds them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis.locality.days import (
    check_shuffles,
    mean_and_range,
    plot_log_and_shuffled,
)
from analysis.locality.job_pairs import ATTRIBUTES, attribute_values
from analysis.section import Result
from workloadkit.errors import ParameterError, WorkloadError, takes_rng
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

#: How much a value may differ from one on the stack to be the same again: times need not be the
#: same to the second (Zakay 2018, section 5.2).
TOLERANCES = {"procs": 0.0, "requested_time": 0.05, "run": 0.05}


@dataclass(frozen=True, eq=False)
class StackDepths(Result):
    """How deep values are found on a stack of the values before them.

    Parameters
    ----------
    log : str
    by_attribute : DataFrame
        By `attribute`: the `tolerance`; `jobs` of known value; `hits`, those whose value was found,
        and their share `hit_share`; `values`, how many are on the stack in the end; the mean
        `depth` of the hits, and the mean depth if the same values come in random order, `shuffled`,
        with the range from `low` to `high` in which 95 % of the shuffles lie.
    curves : DataFrame
        By depth, the share of the hits that are found at most so deep: for each attribute in the
        log, and in one shuffle.
    seed : int
    """

    log: str
    by_attribute: pd.DataFrame
    curves: pd.DataFrame
    seed: int

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how deep values are found, in the log and shuffled."""
        return plot_stack_depths(self.curves, ax)


def stack_depth(values: ArrayLike, tolerance: float = 0.0) -> float:
    """Return the mean depth at which values are found on a stack of the values before them [1]_.

    Each value is looked for from the top, which has depth 0. The first entry that differs from it
    by at most `tolerance` times the entry is taken out and put on top; if there is none, the value
    itself is put on top.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN is left out.
    tolerance : float, default 0
        How much a value may differ from a stored one, as a share of the stored one.

    Returns
    -------
    float
        NaN if no value is ever found.

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
    """Return the mean stack depth of processors, requested times and run times of a log.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out; times are the same again within 5 %.

    Returns
    -------
    dict of str to float
        By attribute; NaN where the log knows none, or none comes again.

    See Also
    --------
    stack_depth : the definition.
    stack_depths : the same beside those of random order.

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
    """Measure how soon processors, requested times and run times of jobs come again.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out.
    n_shuffles : int, default 100
    rng : Generator or int, optional

    Returns
    -------
    StackDepths
        For the attributes that the log knows; times are the same again within 5 %, as in the
        source's Table VI.

    Raises
    ------
    ParameterError
        If there is no shuffle to do.
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
    from workloadkit._kernels.locality import shuffle_within

    check_trace(trace)
    check_shuffles(n_shuffles)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job ran, so there is nothing to look for")
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
            shuffle_within(mixed, np.array([0, mixed.size]), generator)
            depths, _ = search(mixed)
            means[i] = _mean_depth(depths)
        curves[f"{ATTRIBUTES[name]}, shuffled"] = depths[depths >= 0]
        share = hits / values.size
        rows[name] = (tolerance, values.size, hits, share, n_stored, mean, *mean_and_range(means))
    index = pd.Index(rows, name="attribute")
    columns = ["tolerance", "jobs", "hits", "hit_share", "values", "depth"]
    table = pd.DataFrame(list(rows.values()), index, [*columns, "shuffled", "low", "high"])
    return StackDepths(trace.name, table, _shares_at_most(curves), seed)


def plot_stack_depths(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw how deep values are found on the stack, as `StackDepths.curves` has it.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    label = "place on the stack, the top being 1"
    return plot_log_and_shuffled(data, ax, x=label, y="share of hits")


def _searched(
    values: NDArray[np.float64], tolerance: float
) -> tuple[NDArray, Callable[[NDArray], tuple[NDArray[np.int64], int]]]:
    """Values, and what finds the depth of each, -1 where it is new, and how many are stored."""
    from workloadkit._kernels.locality import exact_depths, near_depths

    if not tolerance >= 0:  # written so that NaN is refused
        raise ParameterError(f"tolerance must be 0 or more, not {tolerance:g}")
    if tolerance > 0:
        return values, lambda values: near_depths(values, float(tolerance))
    distinct, code = np.unique(values, return_inverse=True)
    return code, lambda code: exact_depths(code, distinct.size)


def _mean_depth(depths: NDArray[np.int64]) -> float:
    found = depths[depths >= 0]
    return float(found.mean()) if found.size else np.nan


def _shares_at_most(depths: dict[str, NDArray[np.int64]]) -> pd.DataFrame:
    """Shares of the hits at most so deep, by place on the stack, even on a logarithmic axis."""
    deepest = max((int(d.max(initial=0)) for d in depths.values()), default=0) + 1
    place = np.unique(np.geomspace(1, deepest, 100).round().astype(np.int64))
    curves = {
        name: np.searchsorted(np.sort(d), place - 1, side="right") / max(d.size, 1)
        for name, d in depths.items()
    }
    return pd.DataFrame(curves, index=pd.Index(place, name="place"))
