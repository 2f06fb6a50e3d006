"""Size classes of the model of Jann et al., and their fit to a log."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, check_positive, plural
from workloadkit.models.hyper_erlang import HyperErlang, match_moments
from workloadkit.trace import Trace, check_trace

_HIGHEST_ORDER = 200


@dataclass(frozen=True)
class SizeClass:
    """A class of jobs with similar sizes.

    Parameters
    ----------
    low, high : int
        Smallest and largest size.
    full : float
        Share of jobs with the largest size; all smaller sizes are equally likely.
    gap, run : HyperErlang
        Distributions of the gaps between arrivals of this class, and of the run times. [s]
    """

    low: int
    high: int
    full: float
    gap: HyperErlang
    run: HyperErlang


def fit_jann97(trace: Trace, *, least: int = 30) -> tuple[SizeClass, ...]:
    """Fit the parameters of `jann97` to a log.

    Parameters
    ----------
    trace : Trace
        Only jobs that ran are used.
    least : int, default 30
        A class with fewer jobs is merged with the next smaller one.

    Returns
    -------
    classes : tuple of SizeClass
        In ascending order of sizes.

    Raises
    ------
    ParameterError
        If the argument is not a log.
    WorkloadError
        If fewer jobs ran than a class needs, or all were submitted at once.

    Notes
    -----
    The two branches have the lowest common order, from 1 to 200, for which the first three moments
    are possible. If there is none, a single Erlang branch with the mean and the closest order is
    used.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> [(c.low, c.high) for c in fit_jann97(load_sample())][:4]
    [(1, 1), (2, 2), (3, 4), (6, 8)]
    """
    check_trace(trace)
    check_positive(least=least)
    ran = trace.ran
    size, submit = trace.used_procs[ran], trace.column("submit")[ran]
    run = trace.column("run")[ran]
    if size.size < max(least, 3):
        raise WorkloadError(
            f"{trace.name}: {plural(size.size, 'job')} ran; fitting a size class requires at least "
            f"{max(least, 3)}"
        )
    power = np.maximum(np.ceil(np.log2(size)), 0).astype(np.int64)
    # merge powers of two from the largest size down, until a class has enough jobs
    groups: list[list[int]] = [[]]
    for p in range(int(power.max()), -1, -1):
        groups[-1].append(p)
        if np.isin(power, groups[-1]).sum() >= least:
            groups.append([])
    if groups[-1]:  # too few jobs of the smallest sizes: merge them with the next
        last = groups.pop()
        groups[-1] += last
    else:
        groups.pop()
    found = []
    for group in reversed(groups):
        of_class = np.isin(power, group)
        high = int(size[of_class].max())
        found.append(
            SizeClass(
                low=int(size[of_class].min()),
                high=high,
                full=float((size[of_class] == high).mean()),
                gap=_with_moments(np.diff(submit[of_class]), f"{trace.name}: gaps"),
                run=_with_moments(run[of_class], f"{trace.name}: run times"),
            )
        )
    return tuple(found)


def _with_moments(values: NDArray[np.float64], what: str) -> HyperErlang:
    """Return two Erlang branches with the first three moments of the values, or else one."""
    mean, variance = float(values.mean()), float(values.var())
    if not mean > 0:
        raise WorkloadError(f"{what} are all 0; no distribution can be fitted")
    moments = [float(np.mean(values**k)) for k in (1, 2, 3)]
    try:
        return match_moments(moments, range(1, _HIGHEST_ORDER + 1))
    except ParameterError:
        nearest = round(mean**2 / variance) if variance > 0 else _HIGHEST_ORDER
        order = min(max(nearest, 1), _HIGHEST_ORDER)
        return HyperErlang((1.0,), (order,), (order / mean,))
