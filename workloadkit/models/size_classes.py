"""Classes of sizes for the model of Jann and others, and how they are fitted to a log."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, check_positive
from workloadkit.models.hyper_erlang import HyperErlang, match_moments
from workloadkit.trace import Trace, check_trace

_HIGHEST_ORDER = 200


@dataclass(frozen=True)
class SizeClass:
    """Jobs of a range of sizes.

    Parameters
    ----------
    low, high : int
        Smallest and largest size.
    full : float
        Share of the jobs with the largest size; all smaller ones are equally likely.
    gap, run : HyperErlang
        Of the gaps between arrivals of this class, and of the run times. [s]
    """

    low: int
    high: int
    full: float
    gap: HyperErlang
    run: HyperErlang


def fit_jann97(trace: Trace, *, least: int = 30) -> tuple[SizeClass, ...]:
    """Find the parameters of `jann97` for a log.

    Parameters
    ----------
    trace : Trace
        The jobs that ran are taken.
    least : int, default 30
        A class of fewer jobs is joined to the next smaller one.

    Returns
    -------
    classes : tuple of SizeClass
        In ascending order of sizes.

    Raises
    ------
    ParameterError
        If it is no log.
    WorkloadError
        If fewer jobs ran than make a class, or all were submitted at once.

    Notes
    -----
    The branches have the lowest common order, from 1 to 200, by which two of them can have the
    first three moments. Where none can, the three moments say that one branch is enough or too
    much: it is then a single Erlang branch of the nearest order, which has the mean.

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
            f"{trace.name}: {size.size} jobs ran; a class of sizes is fitted to {max(least, 3)} "
            "or more"
        )
    power = np.maximum(np.ceil(np.log2(size)), 0).astype(np.int64)
    # from the largest sizes down, powers are joined until enough jobs are together
    groups: list[list[int]] = [[]]
    for p in range(int(power.max()), -1, -1):
        groups[-1].append(p)
        if np.isin(power, groups[-1]).sum() >= least:
            groups.append([])
    if groups[-1]:  # the smallest sizes are too few: they join the next
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
    """Find two Erlang branches with the first three moments of these values, or else one."""
    mean, variance = float(values.mean()), float(values.var())
    if not mean > 0:
        raise WorkloadError(f"{what} are all 0; no distribution is fitted to them")
    moments = [float(np.mean(values**k)) for k in (1, 2, 3)]
    try:
        return match_moments(moments, range(1, _HIGHEST_ORDER + 1))
    except ParameterError:
        nearest = round(mean**2 / variance) if variance > 0 else _HIGHEST_ORDER
        order = min(max(nearest, 1), _HIGHEST_ORDER)
        return HyperErlang((1.0,), (order,), (order / mean,))
